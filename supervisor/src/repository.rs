//! The model directory: what lies in it ([`scan`]), how a model of it comes to be served ([`load`]), and
//! what is served for now ([`running`]).

pub mod load;
pub mod running;
pub mod scan;
