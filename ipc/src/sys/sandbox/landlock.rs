//! Which files, ports and processes a worker can reach.
//!
//! The rules are made with the `landlock` crate, best effort: what the kernel does not know yet is left out. Only the last
//! step, and the rule for `/proc/self`, are the child's own, in bare system calls.

use super::{Confinement, Level};
use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use nix::errno::Errno;
use std::{
    io,
    os::fd::{OwnedFd, RawFd},
    path::{Path, PathBuf},
    ptr,
};

/// The newest interface that the rules here were written for.
const WRITTEN_FOR: ABI = ABI::V7;
/// Truncation is a right of its own from this version on; before, it cannot be refused.
const TRUNCATES_FROM: u32 = 3;

const WRITE_FILE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
const RULE_PATH_BENEATH: libc::c_int = 1;
const CREATE_RULESET_VERSION: libc::c_uint = 1;

/// What a worker may read and run with [`Level::Strict`], whatever it is.
const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/nix/store",
    "/proc",
    "/sys",
    "/dev",
];

/// The version of the interface, if the kernel has it and it is switched on.
pub(super) fn version() -> Option<u32> {
    let nothing = ptr::null::<u8>();
    // SAFETY: with this flag the kernel looks at no memory.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, CREATE_RULESET_VERSION) };
    u32::try_from(version).ok().filter(|&version| version > 0)
}

/// The rules. None if the kernel knows nothing of what is asked for.
pub(super) fn ruleset(confinement: &Confinement) -> io::Result<Option<OwnedFd>> {
    build(confinement).map(Option::from).map_err(io::Error::other)
}

fn build(confinement: &Confinement) -> Result<RulesetCreated, RulesetError> {
    let is_strict = confinement.level == Level::Strict;
    let writing = AccessFs::from_write(WRITTEN_FOR);
    let reading = AccessFs::from_read(WRITTEN_FOR);
    let handled = if is_strict { reading | writing } else { writing };
    let mut ports: BitFlags<AccessNet> = AccessNet::BindTcp.into();
    if is_strict {
        ports |= AccessNet::ConnectTcp;
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled)?
        .handle_access(ports)?
        .scope(Scope::from_all(WRITTEN_FOR))?
        .create()?;
    rules = allow_writing(rules, &confinement.writable, handled)?;
    if is_strict {
        for path in SYSTEM {
            rules = allow(rules, Path::new(path), reading)?;
        }
        for path in &confinement.readable {
            rules = allow(rules, path, reading)?;
        }
    }
    Ok(rules)
}

/// Confines the calling thread further.
pub(super) fn write_only_to(paths: &[PathBuf]) -> io::Result<()> {
    let confine = || {
        let handled = AccessFs::from_write(WRITTEN_FOR);
        let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(handled)?;
        let rules = allow_writing(rules.create()?, paths, handled)?;
        let own = AccessFs::WriteFile | AccessFs::Truncate;
        allow(rules, Path::new("/proc/self"), own)?.restrict_self()
    };
    confine().map(drop).map_err(|error: RulesetError| io::Error::other(error))
}

/// Allows `access`, which includes writing, to some places, and what every confined process may write.
fn allow_writing(
    mut rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        rules = allow(rules, path, access)?;
    }
    // Devices that exist may be used; none may be made.
    let devices = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    rules = allow(rules, Path::new("/dev"), devices)?;
    allow(rules, Path::new("/dev/shm"), access)
}

/// Allows it for what lies at the path and below. What does not exist needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    // For what is no folder, the kernel knows fewer rights.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(WRITTEN_FOR) };
    rules.add_rule(PathBeneath::new(place, access))
}

/// What a process may do to its own entry in `/proc`, as this version of the interface tells it.
pub(super) fn own_process_access(version: u32) -> u64 {
    if version >= TRUNCATES_FROM { WRITE_FILE | TRUNCATE } else { WRITE_FILE }
}

#[repr(C, packed)]
struct PathBeneathAttribute {
    allowed_access: u64,
    parent_fd: RawFd,
}

/// Adds the rule that only this process can make, and enters. System calls only.
pub(super) fn enter(ruleset: RawFd, own_process: u64) -> Result<(), Errno> {
    // SAFETY: the path is a constant that ends with a zero.
    let place = unsafe { libc::open(c"/proc/self".as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
    // Without /proc there is nothing to allow.
    if let Ok(place) = Errno::result(place) {
        let attribute = PathBeneathAttribute { allowed_access: own_process, parent_fd: place };
        // SAFETY: the attribute lives through the call.
        let added = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &raw const attribute, 0)
        };
        Errno::result(added)?;
    }
    // SAFETY: numbers only.
    Errno::result(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })?;
    Ok(())
}
