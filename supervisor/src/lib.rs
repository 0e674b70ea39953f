//! The supervisor: performs what the core decides. Read in the order in which a request travels: [`frontend`],
//! [`serve`], [`fleet`].

#![forbid(unsafe_code)]

pub mod admin;
pub mod cli;
pub mod clock;
pub mod exit;
pub mod fleet;
pub mod frontend;
pub mod limits;
pub mod observe;
pub mod options;
pub mod repository;
pub mod serve;
pub mod server;
pub mod shutdown;
pub mod signals;
