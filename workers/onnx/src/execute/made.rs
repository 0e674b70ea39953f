//! Batch inputs: tensors made of the shapes of another input over the whole batch, so that a model can tell where each
//! request's elements lie when they come one after the other.
//!
//! Deliberately not here: joining those elements (`super::inputs`).

use super::{Group, inputs::missing};
use nereid_worker::{
    InputTensor, WorkerError,
    proto::inference::{BatchInput, DataType, batch_input::Kind},
};

/// The shape and the bytes of a batch input.
pub(super) fn make(config: &BatchInput, group: Group<'_>) -> Result<(Vec<i64>, Vec<u8>), WorkerError> {
    let source = config.source_input.first().map_or("", String::as_str);
    let tensors =
        group.requests.iter().map(|request| request.input(source).ok_or_else(|| missing(source, request)));
    let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
    let counts = tensors.iter().map(|tensor| count(tensor));
    let sums = counts.clone().scan(0_i64, |sum, count| {
        *sum = sum.saturating_add(count);
        Some(*sum)
    });
    let (shape, values): (Vec<i64>, Vec<i64>) = match config.kind() {
        Kind::BatchElementCount => flat(counts.collect()),
        Kind::BatchAccumulatedElementCount => flat(sums.collect()),
        Kind::BatchAccumulatedElementCountWithZero => flat(std::iter::once(0).chain(sums).collect()),
        // The shape is the message; the contents mean nothing.
        Kind::BatchMaxElementCountAsShape => {
            let largest = counts.max().unwrap_or(0);
            flat(vec![0; usize::try_from(largest).unwrap_or(0)])
        }
        Kind::BatchItemShape => {
            let values = item_shapes(&tensors);
            let rank = tensors.first().map_or(0, |tensor| tensor.shape().len().saturating_sub(1));
            (vec![group.rows, as_size(rank)], values)
        }
        Kind::BatchItemShapeFlatten => flat(item_shapes(&tensors)),
    };
    Ok((shape, encode(config.data_type(), &values)?))
}

fn count(tensor: &InputTensor) -> i64 {
    i64::try_from(tensor.elements()).unwrap_or(i64::MAX)
}

fn flat(values: Vec<i64>) -> (Vec<i64>, Vec<i64>) {
    (vec![as_size(values.len())], values)
}

fn as_size(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// One row for each row of the batch: the shape of what it holds.
fn item_shapes(tensors: &[&InputTensor]) -> Vec<i64> {
    let mut values = Vec::new();
    for tensor in tensors {
        let Some((rows, item)) = tensor.shape().split_first() else { continue };
        for _ in 0..*rows {
            values.extend_from_slice(item);
        }
    }
    values
}

fn encode(datatype: DataType, values: &[i64]) -> Result<Vec<u8>, WorkerError> {
    match datatype {
        #[expect(clippy::cast_precision_loss, reason = "the configuration asks for floats of counts")]
        DataType::TypeFp32 => Ok(values.iter().flat_map(|&value| (value as f32).to_ne_bytes()).collect()),
        DataType::TypeInt32 => {
            let values = values.iter().map(|&value| i32::try_from(value));
            let values = values.collect::<Result<Vec<_>, _>>();
            let values = values
                .map_err(|_| WorkerError::internal("a batch input counts more than 32 bits can tell"))?;
            Ok(values.into_iter().flat_map(i32::to_ne_bytes).collect())
        }
        _ => Err(WorkerError::invalid_argument("batch input data type must be TYPE_INT32 or TYPE_FP32")),
    }
}
