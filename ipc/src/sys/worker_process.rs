//! A running worker process: signalled as a group, waited for, and never left behind.
//!
//! What the exit means, and when to signal, is decided elsewhere.

#[cfg(feature = "tokio")]
use super::reactor::Registered;
use super::{pidfd::PidFd, socket::wait_fd, workers::Registration};
use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{Child, ExitStatus},
    thread,
    time::Duration,
};

/// A worker. Dropping it kills it and what is left of its process group.
#[derive(Debug)]
pub struct WorkerProcess {
    pidfd: PidFd,
    child: Child,
    status: Option<ExitStatus>,
    /// Until it has been reaped.
    registration: Option<Registration>,
    /// The reactor's watch over the end of the process, once somebody asked for it.
    #[cfg(feature = "tokio")]
    watched: Option<Registered>,
}

impl WorkerProcess {
    pub(super) fn new(mut child: Child, registration: Registration) -> io::Result<Self> {
        match PidFd::open(child.id()) {
            Ok(pidfd) => Ok(Self {
                pidfd,
                child,
                status: None,
                registration: Some(registration),
                #[cfg(feature = "tokio")]
                watched: None,
            }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The number of the process, and of its process group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The reading end of its standard output, once. In blocking mode.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.child.stdout.take().map(OwnedFd::from)
    }

    /// The reading end of its standard errors, once. In blocking mode.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.child.stderr.take().map(OwnedFd::from)
    }

    /// Signals the worker and every process of its group. Nothing happens once it has been reaped, since its number
    /// may then mean another group.
    pub fn signal_group(&self, signal: Signal) -> io::Result<()> {
        if self.status.is_some() {
            return Ok(());
        }
        let group = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        match killpg(Pid::from_raw(group), signal) {
            Err(Errno::ESRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_timeout(Duration::ZERO)
    }

    /// Waits for its end, at most that long.
    pub fn wait_timeout(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() && wait_fd(&self.pidfd, Some(timeout))? {
            self.reap()?;
        }
        Ok(self.status)
    }

    /// Lets the reactor of the current runtime watch it, once in its life. Call it at its birth: what can fail of
    /// [`Self::exited`] fails here, while nothing depends on the worker yet.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[cfg(feature = "tokio")]
    pub fn watch(&mut self) -> io::Result<()> {
        if self.watched.is_none() {
            // A copy, because the other must stay usable without a runtime.
            let pidfd = self.pidfd.as_fd().try_clone_to_owned()?;
            self.watched = Some(Registered::new(pidfd, tokio::io::Interest::READABLE)?);
        }
        Ok(())
    }

    /// Waits for its end. After [`Self::watch`], an error means that it has ended and its exit status is lost.
    #[cfg(feature = "tokio")]
    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        self.watch()?;
        if let Some(watched) = &self.watched {
            // The guard is dropped without clearing the readiness: an ended process stays ended.
            match watched.get().readable().await {
                Ok(guard) => drop(guard),
                // The runtime is going down, which says nothing of the process.
                Err(_) => std::future::pending().await,
            }
        }
        self.reap()
    }

    /// Takes the exit status of a worker that has ended. What is left of its group is killed first: until the status is
    /// taken, the number of the group cannot be given to another.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        // A process that may not be signalled shall not keep the exit status from being taken.
        let _ = self.signal_group(Signal::SIGKILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        self.registration = None;
        Ok(status)
    }
}

impl AsFd for WorkerProcess {
    /// Readable when the worker has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Errors have nobody to go to; the parent-death signal remains.
        let _ = self.signal_group(Signal::SIGKILL);
        if matches!(self.try_wait(), Ok(None)) {
            // It may take a while to die, for example in a device driver. A runtime's thread may not wait for that.
            let Ok(waiting) = self.pidfd.as_fd().try_clone_to_owned() else { return };
            let child = self.child.id();
            let registration = self.registration.take();
            let reaper = move || {
                let ended = wait_fd(&waiting, None);
                debug_assert!(ended.is_ok(), "waiting for the end of worker {child}");
                let _ = nix::sys::wait::waitid(
                    nix::sys::wait::Id::PIDFd(waiting.as_fd()),
                    nix::sys::wait::WaitPidFlag::WEXITED,
                );
                drop(registration);
            };
            let _ = thread::Builder::new().name("nereid-reap".to_owned()).spawn(reaper);
        }
    }
}
