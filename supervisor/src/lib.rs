//! The supervisor: performs what the core decides. Read in the order in which a request travels: [`frontend`],
//! [`serve`], [`fleet`].

pub mod clock;
pub mod exit;
pub mod fleet;
// pub mod frontend;
pub mod observe;
pub mod repository;
pub mod serve;
pub mod shutdown;
pub mod signals;
