//! The supervisor: performs what the core decides. Read in the order in which a request travels: [`frontend`],
//! [`serve`], `fleet`.

pub mod serve;
