//! The protocol definitions of Nereid and the Rust types generated from them.
//!
//! Everything that crosses a process boundary as protobuf is defined in the `.proto` files beside
//! this crate's manifest; one module here per package. With the feature `service`, each module
//! also has the gRPC client and server of its package.
//!
//! Deliberately not here: validation, defaults, conversions, and any other behaviour. A message
//! says what was sent, not whether it makes sense. Without `service` the crate needs no runtime.
//!
//! `bytes` fields are [`bytes::Bytes`], so that decoding from one does not copy tensor data; maps
//! are ordered, so that encoding is deterministic.

/// Every file of this crate as an encoded `google.protobuf.FileDescriptorSet`, without comments.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

pub mod datatype;

/// gRPC's health protocol: `grpc.health.v1`.
pub use generated::grpc::health::v1 as health;
/// Inference protocol and model configuration: `inference`.
pub use generated::inference;
/// Administration of a running server: `nereid.admin.v1`.
pub use generated::nereid::admin::v1 as admin;
/// Between the supervisor and its workers: `nereid.worker.v1`.
pub use generated::nereid::worker::v1 as worker;

/// Nested as the packages are: the generated code refers from one to another by `super`.
#[cfg_attr(
    feature = "service",
    expect(unused_qualifications, clippy::allow_attributes, reason = "generated")
)]
mod generated {
    pub mod inference {
        include!(concat!(env!("OUT_DIR"), "/inference.rs"));
    }
    pub(crate) mod grpc {
        pub(crate) mod health {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/grpc.health.v1.rs"));
            }
        }
    }
    pub(crate) mod nereid {
        pub(crate) mod worker {
            #[expect(clippy::large_enum_variant, reason = "control messages, few and short-lived")]
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/nereid.worker.v1.rs"));
            }
        }
        pub(crate) mod admin {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/nereid.admin.v1.rs"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
