//! The program `nereid`: parse, build, run, exit code.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use nereid::cli::{self, Command};
use nereid::exit::Exit;
use nereid::fleet::orphans;
use nereid::observe::logging;
use nereid::options::Options;
use nereid::server;

fn main() -> ExitCode {
    let exit = match cli::parse(std::env::args_os()) {
        Ok(Command::Serve(options)) => serve(*options),
        Ok(Command::Print(text)) => {
            // A closed stdout is the reader's choice.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Exit::Ok
        }
        Err(error) => fail(&format!("{error}\nSee `nereid serve --help`.")),
    };
    exit.into()
}

fn serve(options: Options) -> Exit {
    let log = match logging::start(options.levels) {
        Ok(log) => log,
        Err(error) => return fail(&format!("error: creating server: no thread for the log: {error}")),
    };
    nereid_ipc::sys::heap::give_back_large_blocks();
    let runtime = match runtime_builder().enable_all().thread_name("nereid").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("error: creating server: no runtime: {error}")),
    };
    let exit = runtime.block_on(server::run(options));
    // Workers that are still there are killed by the kernel when this process ends.
    runtime.shutdown_background();
    orphans::finish();
    // The last lines come before the last words.
    drop(log);
    exit.unwrap_or_else(|error| fail(&format!("error: creating server: {error}")))
}

/// One thread up to this many processors: measured on two, a second thread costs a third more for each request,
/// since a request then hops between threads several times.
const SINGLE_THREAD_CPUS_MAX: usize = 2;

fn runtime_builder() -> tokio::runtime::Builder {
    match std::thread::available_parallelism() {
        Ok(cpus) if cpus.get() > SINGLE_THREAD_CPUS_MAX => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    }
}

fn fail(message: &str) -> Exit {
    // Nowhere else to say it.
    let _ = writeln!(std::io::stderr(), "{message}");
    Exit::Failed
}
