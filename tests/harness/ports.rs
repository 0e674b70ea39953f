//! Ports for one server, without a race between tests that run at once.
//!
//! The kernel's own choice (port 0) cannot be passed on, and a port of its range that is free now may be some client's
//! in a moment. So ports come from below that range, and each block of them is reserved by the name of an abstract
//! socket, which the kernel frees when the test ends, however it ends.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process;

/// Below the kernel's range for clients (32768 and up).
const FIRST: u16 = 20_000;
/// Blocks of ports, each for one server.
const BLOCKS: u32 = 3_000;
/// Ports in a block.
const BLOCK: u16 = 4;

/// Three free ports that are ours as long as this lives.
#[derive(Debug)]
pub struct Ports {
    /// KServe over HTTP.
    pub http: u16,
    /// KServe over gRPC.
    pub grpc: u16,
    /// Prometheus metrics.
    pub metrics: u16,
    _reservation: UnixListener,
}

impl Ports {
    /// Reserves a block. Panics when all are taken.
    pub fn reserve() -> Self {
        let start = process::id().wrapping_mul(7919);
        for attempt in 0..BLOCKS {
            let block = u16::try_from(start.wrapping_add(attempt) % BLOCKS).expect("fewer blocks than ports");
            let first = FIRST + block * BLOCK;
            let name =
                SocketAddr::from_abstract_name(format!("nereid-test-ports-{first}")).expect("a short name");
            let Ok(reservation) = UnixListener::bind_addr(&name) else { continue };
            let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
            if (first..first + 3).all(free) {
                return Self { http: first, grpc: first + 1, metrics: first + 2, _reservation: reservation };
            }
        }
        panic!("no {BLOCK} ports in a row are free from {FIRST} on");
    }
}
