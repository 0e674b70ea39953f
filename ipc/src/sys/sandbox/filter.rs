//! Which system calls a worker cannot make: a list for seccomp, as a program for the kernel. Pure.
//!
//! It is a list of what is refused, not of what is allowed: a model may be any program, and an unknown call is more likely
//! a new version of the C library than an attack. Other interfaces of the same kernel (32-bit, x32) are refused whole,
//! since their calls have other numbers.

use super::Level;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
/// Numbers from here on belong to the x32 interface. Other architectures have none as high.
const X32: u32 = 0x4000_0000;

/// In what the kernel hands to the program.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The lower half of the first argument; both architectures are little-endian.
const ARGUMENT_AT: u32 = 16;

/// New user namespaces come with all privileges inside, and with the parts of the kernel that those reach.
const CLONE_NEWUSER: u32 = 0x1000_0000;
const UNIX_SOCKETS: u32 = 1;

/// When a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// Unless the first argument is this.
    Unless(u32),
    /// If the first argument has one of these bits.
    HasBits(u32),
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    number: libc::c_long,
    when: When,
    errno: libc::c_int,
}

const fn refuse(number: libc::c_long, when: When) -> Rule {
    Rule { number, when, errno: libc::EPERM }
}

/// Refused in any case.
const CALLS: &[libc::c_long] = &[
    // Other processes: their memory, their fds, their secrets.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Being a server. Landlock refuses the choice of a port; a socket that listens without one gets a port all the same,
    // and of which kind a socket is cannot be seen here.
    libc::SYS_listen,
    // A second way to make most calls, which is not looked at.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Files by number, past the folders above them.
    libc::SYS_open_by_handle_at,
    // The tree of file systems.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_quotactl,
    libc::SYS_fanotify_init,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Refused in some cases.
const CONDITIONS: &[Rule] = &[
    // The limits and the memory of this process are its own; those of others are not.
    refuse(libc::SYS_prlimit64, When::Unless(0)),
    refuse(libc::SYS_move_pages, When::Unless(0)),
    refuse(libc::SYS_migrate_pages, When::Unless(0)),
    refuse(libc::SYS_unshare, When::HasBits(CLONE_NEWUSER)),
    refuse(libc::SYS_clone, When::HasBits(CLONE_NEWUSER)),
    // Its arguments cannot be seen; the C library goes on with `clone` when it is not there.
    Rule { number: libc::SYS_clone3, when: When::Always, errno: libc::ENOSYS },
];

/// The program for a level.
pub(super) fn program(level: Level) -> Vec<libc::sock_filter> {
    if level == Level::Off {
        return Vec::new();
    }
    let refused = libc::SECCOMP_RET_ERRNO | errno_bits(libc::EPERM);
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        answer(refused),
        load(NUMBER_AT),
        jump(libc::BPF_JGE, X32, 0, 1),
        answer(refused),
    ];
    let mut add = |rule: &Rule| {
        let number = u32::try_from(rule.number).unwrap_or(u32::MAX);
        let refused = libc::SECCOMP_RET_ERRNO | errno_bits(rule.errno);
        match rule.when {
            When::Always => program.extend([jump(libc::BPF_JEQ, number, 0, 1), answer(refused)]),
            When::Unless(value) => {
                program.extend(conditional(number, jump(libc::BPF_JEQ, value, 1, 0), refused))
            }
            When::HasBits(bits) => {
                program.extend(conditional(number, jump(libc::BPF_JSET, bits, 0, 1), refused))
            }
        }
    };
    CALLS.iter().for_each(|&number| add(&refuse(number, When::Always)));
    CONDITIONS.iter().for_each(&mut add);
    if level == Level::Strict {
        add(&refuse(libc::SYS_socket, When::Unless(UNIX_SOCKETS)));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// If it is this call: look at the argument; `test` skips the refusal or does not.
fn conditional(number: u32, test: libc::sock_filter, refused: u32) -> [libc::sock_filter; 5] {
    [
        jump(libc::BPF_JEQ, number, 0, 4),
        load(ARGUMENT_AT),
        test,
        answer(refused),
        // The number is not loaded any more, so this is the end.
        answer(libc::SECCOMP_RET_ALLOW),
    ]
}

fn errno_bits(errno: libc::c_int) -> u32 {
    errno.unsigned_abs() & libc::SECCOMP_RET_DATA
}

fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Skips so many instructions if it is true, and so many if not.
fn jump(test: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | test | libc::BPF_K, if_true, if_false, value)
}

fn answer(value: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, value)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    // All codes are below 256.
    libc::sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

#[cfg(test)]
mod tests;
