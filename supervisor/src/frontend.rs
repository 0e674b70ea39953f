//! What a frontend may do: decode, hand over, encode.
//!
//! A frontend turns bytes of a protocol into an [`InferRequest`](crate::serve::request::InferRequest) or a question,
//! gives it to the [`Upstream`] behind it and turns the answer into bytes. [`listen`] accepts connections and drains
//! them at the end; [`http`], [`grpc`] and [`metrics`] are what is spoken on them; [`status`] is the one table from
//! kinds of error to what clients see.
//!
//! Deliberately not here: any check against a model's configuration, any queue, any tensor memory beyond the request's
//! own bytes.

mod bounds;
mod datatype;
pub mod forward;
pub mod grpc;
pub mod http;
mod http1;
pub mod listen;
pub mod metrics;
pub mod restrict;
mod room;
mod rope;
pub mod status;
pub mod upstream;
mod version;
mod work;

#[cfg(test)]
mod fake;

pub use upstream::Upstream;
