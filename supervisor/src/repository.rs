//! The model directory: what lies in it ([`scan`]), and how a model of it comes to be served ([`load`]).

pub mod load;
pub mod scan;
