//! What a frontend hands over for an inference and what it gets back. Protocol matters (JSON or binary, which HTTP
//! header) stay in the frontends; arenas, batches and workers stay behind [`super::Serving`].

use bytes::Bytes;
use nereid_proto::inference::DataType;

use super::admission::InflightBytes;
use super::tensor_data::TensorData;

/// One inference request, decoded but not yet checked against the model's configuration.
#[derive(Debug, Default)]
pub struct InferRequest {
    pub model: String,
    /// `None`: the version policy decides.
    pub version: Option<i64>,
    /// The client's name for the request, may be empty.
    pub id: String,
    pub correlation: Correlation,
    pub sequence_start: bool,
    pub sequence_end: bool,
    /// 0: the model's default.
    pub priority: u64,
    /// Microseconds, 0 for none.
    pub timeout_us: u64,
    pub inputs: Vec<InputTensor>,
    /// Names of the outputs that are wanted. Empty: all of them.
    pub outputs: Vec<String>,
    /// Custom parameters for the model.
    pub parameters: Vec<(String, ParameterValue)>,
    /// The share of the bytes in flight that was taken while the request arrived. `None`: taken when it is served.
    pub reserved: Option<InflightBytes>,
}

/// Which sequence a request belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Correlation {
    #[default]
    None,
    Number(u64),
    Text(String),
}

/// A tensor as it came from the network.
#[derive(Clone, Debug)]
pub struct InputTensor {
    pub name: String,
    /// `TypeInvalid` for a name that is no data type; the check against the configuration refuses it.
    pub datatype: DataType,
    pub shape: Vec<i64>,
    /// Little-endian elements in row-major order; BYTES elements have a 4-byte little-endian length before each.
    pub data: TensorData,
}

/// A custom parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    Bool(bool),
    Int64(i64),
    Double(f64),
    String(String),
    Bytes(Bytes),
}

/// One response of a model.
#[derive(Debug, Default)]
pub struct InferResponse {
    pub model: String,
    pub version: i64,
    pub id: String,
    pub parameters: Vec<(String, ParameterValue)>,
    /// In the order in which the model gave them.
    pub outputs: Vec<OutputTensor>,
}

/// A tensor on its way to the network.
#[derive(Debug)]
pub struct OutputTensor {
    pub name: String,
    pub datatype: DataType,
    pub shape: Vec<i64>,
    /// As in [`InputTensor::data`]. May lie in the worker's output arena until it is dropped.
    pub data: Bytes,
}
