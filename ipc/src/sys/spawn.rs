//! The one place where a process is made.
//!
//! A worker begins with standard input from `/dev/null`, output and errors in pipes, its control socket as fd 3 and its
//! execution socket as fd 4, and nothing else open; in its own process group; killed by the kernel when the supervisor
//! dies; without core dumps; unable to gain privileges; and in its sandbox, if it gets one.
//!
//! The kernel sends the parent-death signal when the *thread* that forked ends, not the process. So all spawning is
//! done by one thread that never ends, whoever asks.
#![expect(unsafe_code, reason = "what runs between fork and exec")]

use super::{
    fds::{CONTROL_FD, EXECUTION_FD},
    prctl,
    sandbox::{Confinement, Level, Sandbox},
    worker_process::WorkerProcess,
    workers::{MARKER, Registration},
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    sys::{
        resource::{Resource, getrlimit, rlim_t, setrlimit},
        stat::fstat,
    },
    unistd::Pid,
};
use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

/// The first fd that a worker does not get.
const FIRST_CLOSED: RawFd = EXECUTION_FD + 1;
/// The soft limit of a worker's core dumps. Writing one takes seconds for a large process, and until then its death is
/// not noticed. The kernel writes no file below a page, and, unlike for 0, starts no core dump helper for 1 byte.
/// The hard limit stays: a worker that wants a dump can raise its own.
const CORE_BYTES: rlim_t = 1;
/// Spawns that may wait for the spawning thread; whoever comes later waits to wait.
const QUEUE: usize = 16;

/// A worker to be started.
#[derive(Debug)]
pub struct WorkerCommand {
    command: Command,
    confinement: Confinement,
    /// Where it writes "0" to enter its control group.
    group: Option<OwnedFd>,
}

impl WorkerCommand {
    /// A worker that runs `program`, which is looked up in `PATH` if it has no slash.
    #[expect(clippy::disallowed_methods, reason = "the one place")]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let confinement = Confinement { level: Level::Off, ..Default::default() };
        Self { command, confinement, group: None }
    }

    /// Adds an argument.
    pub fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = A>) -> &mut Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable of its environment, which is otherwise inherited.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Inherits no environment.
    pub fn env_clear(&mut self) -> &mut Self {
        self.command.env_clear();
        self
    }

    /// Sets the directory in which it starts.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(directory);
        self
    }

    /// Sets what it may not do. Nothing is refused by default.
    pub fn confine(&mut self, confinement: Confinement) -> &mut Self {
        self.confinement = confinement;
        self
    }

    /// Starts it in a control group, given by its opened `cgroup.procs`.
    pub fn group(&mut self, entrance: OwnedFd) -> &mut Self {
        self.group = Some(entrance);
        self
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        self.command.get_program()
    }

    /// Starts it with these sockets. Blocks until `exec` has succeeded or failed, some milliseconds.
    pub fn spawn(mut self, control: OwnedFd, execution: OwnedFd) -> io::Result<WorkerProcess> {
        let mut registration = Registration::begin();
        self.command.env(MARKER, registration.marker());
        for socket in [&control, &execution] {
            registration.add_inode(inode(socket.as_fd())?);
        }
        let (reply, answer) = sync_channel(1);
        let sandbox = Sandbox::prepare(&self.confinement)?;
        let group = self.group.map(above_sockets).transpose()?;
        let order =
            Order { command: self.command, bonds: Bonds { sandbox, group }, control, execution, reply };
        spawner()?.send(order).map_err(|_| io::Error::other("the spawning thread has ended"))?;
        let child = answer.recv().map_err(|_| io::Error::other("the spawning thread has ended"))??;
        for pipe in [child.stdout.as_ref().map(AsFd::as_fd), child.stderr.as_ref().map(AsFd::as_fd)] {
            pipe.and_then(|pipe| inode(pipe).ok())
                .into_iter()
                .for_each(|inode| registration.add_inode(inode));
        }
        registration.born(child.id());
        WorkerProcess::new(child, registration)
    }
}

fn inode(fd: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(fstat(fd)?.st_ino)
}

/// What binds a worker before it runs its own program.
struct Bonds {
    sandbox: Option<Sandbox>,
    group: Option<OwnedFd>,
}

struct Order {
    command: Command,
    bonds: Bonds,
    control: OwnedFd,
    execution: OwnedFd,
    reply: SyncSender<io::Result<Child>>,
}

/// The way to the spawning thread, which is started at the first use and lives as long as the process.
fn spawner() -> io::Result<SyncSender<Order>> {
    static SPAWNER: OnceLock<SyncSender<Order>> = OnceLock::new();
    static START: Mutex<()> = Mutex::new(());
    let _one_starts = START.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(spawner) = SPAWNER.get() {
        return Ok(spawner.clone());
    }
    let (orders, inbox) = sync_channel(QUEUE);
    thread::Builder::new().name("nereid-spawn".to_owned()).spawn(move || spawn_orders(&inbox))?;
    Ok(SPAWNER.get_or_init(|| orders).clone())
}

fn spawn_orders(inbox: &Receiver<Order>) {
    for order in inbox {
        let Order { command, bonds, control, execution, reply } = order;
        let child = spawn_now(command, bonds, control.as_fd(), execution.as_fd());
        // The sockets are the child's now. Nobody to tell: then the `Child` is dropped, and the worker meets EOF.
        drop((control, execution));
        let _ = reply.send(child);
    }
}

fn spawn_now(
    mut command: Command,
    bonds: Bonds,
    control: BorrowedFd<'_>,
    execution: BorrowedFd<'_>,
) -> io::Result<Child> {
    let sources = [copy_above(control)?, copy_above(execution)?];
    let [control, execution] = sources.each_ref().map(AsRawFd::as_raw_fd);
    let (_, core_max) = getrlimit(Resource::RLIMIT_CORE)?;
    let birth = Birth { parent: Pid::this(), control, execution, fd_limit: fd_limit()?, core_max };
    // SAFETY: `run` makes system calls only, all of which may be made after a fork.
    unsafe { command.pre_exec(move || birth.run(&bonds).map_err(io::Error::from)) };
    command.spawn()
}

/// The same, if its number is above those that the child gives its sockets, else a copy that has one.
pub(super) fn above_sockets(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() >= FIRST_CLOSED { Ok(fd) } else { copy_above(fd.as_fd()) }
}

/// A copy above the numbers that the child gives its sockets, so that neither `dup2` hits the other's source.
fn copy_above(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let copy = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(FIRST_CLOSED))?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// One more than the highest fd that this process can have.
fn fd_limit() -> io::Result<RawFd> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(RawFd::try_from(soft).unwrap_or(RawFd::MAX))
}

/// What happens between `fork` and `exec`: system calls only.
///
/// The pipe through which the standard library tells of a failed `exec` is open meanwhile. It has a number above those of
/// the sockets, because the five fds of the child's input, output and errors are opened before it.
#[derive(Clone, Copy)]
struct Birth {
    parent: Pid,
    control: RawFd,
    execution: RawFd,
    fd_limit: RawFd,
    core_max: rlim_t,
}

impl Birth {
    fn run(self, bonds: &Bonds) -> Result<(), Errno> {
        if let Some(group) = &bonds.group {
            // First, so that whatever comes after counts for it.
            nix::unistd::write(group, b"0")?;
        }
        prctl::die_with_parent(self.parent)?;
        prctl::no_new_privileges()?;
        // One system call.
        setrlimit(Resource::RLIMIT_CORE, CORE_BYTES.min(self.core_max), self.core_max)?;
        // SAFETY: numbers only. The copies are not close-on-exec; what was there is not needed in the child.
        Errno::result(unsafe { libc::dup2(self.control, CONTROL_FD) })?;
        // SAFETY: as above.
        Errno::result(unsafe { libc::dup2(self.execution, EXECUTION_FD) })?;
        self.close_the_rest_on_exec()?;
        // Last, since it may refuse what was done before.
        bonds.sandbox.as_ref().map_or(Ok(()), Sandbox::enter)
    }

    /// Not closed at once: the standard library still has to tell a failed `exec` through one of them.
    fn close_the_rest_on_exec(self) -> Result<(), Errno> {
        let (first, last) = (FIRST_CLOSED, libc::c_uint::MAX);
        // SAFETY: numbers only.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
        if Errno::result(done).is_ok() {
            return Ok(());
        }
        // Linux before 5.11.
        for fd in first..self.fd_limit {
            // SAFETY: numbers only; one that is not open gives an error that does not matter.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        Ok(())
    }
}
