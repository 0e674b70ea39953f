//! The tensors that a sequence batcher adds: control inputs, and states that come out and go in again.
//!
//! Deliberately not here: what a configuration may say about them without regard to the model.

use super::{find, refuse, shape_text, unexpected_output};
use crate::{ffi::session::Session, session::datatype};
use nereid_ipc::DataType;
use nereid_proto::inference::{
    ModelConfig, ModelSequenceBatching, model_config::SchedulingChoice, model_sequence_batching::Control,
};
use nereid_worker::WorkerError;

fn sequence_batching(config: &ModelConfig) -> Option<&ModelSequenceBatching> {
    match &config.scheduling_choice {
        Some(SchedulingChoice::SequenceBatching(batching)) => Some(batching),
        _ => None,
    }
}

/// Checks the control inputs and counts them.
pub(super) fn check_controls(config: &ModelConfig, session: &Session) -> Result<usize, WorkerError> {
    let Some(batching) = sequence_batching(config) else { return Ok(0) };
    let mut count = 0;
    for input in batching.control_input.iter().filter(|input| !input.control.is_empty()) {
        let name = &input.name;
        let Some(port) = find(session.inputs(), name) else {
            return Err(WorkerError::internal(format!(
                "configuration specified sequence control '{name}', but model does not provide that input"
            )));
        };
        let skip = usize::from(config.max_batch_size > 0).min(port.shape.len());
        let dims = &port.shape[skip..];
        if dims != [1] {
            let dims = shape_text(dims);
            let what = format!("sequence control '{name}' in model has dims {dims} but dims [1] is expected");
            return Err(refuse(config, &what));
        }
        let provided = datatype(port)?;
        for control in &input.control {
            let Some(wanted) = control_type(control) else { continue };
            if wanted != provided {
                let what = format!(
                    "sequence control '{name}', the model expects data-type {} but the model configuration specifies \
                     data-type {}",
                    provided.wire_name(),
                    wanted.config_name()
                );
                return Err(refuse(config, &what));
            }
        }
        count += 1;
    }
    Ok(count)
}

fn control_type(control: &Control) -> Option<DataType> {
    if !control.int32_false_true.is_empty() {
        Some(DataType::Int32)
    } else if !control.fp32_false_true.is_empty() {
        Some(DataType::Fp32)
    } else if !control.bool_false_true.is_empty() {
        Some(DataType::Bool)
    } else {
        u32::try_from(control.data_type).ok().and_then(DataType::from_number)
    }
}

/// Checks the states that come out and counts those that go in.
pub(super) fn check_states(config: &ModelConfig, session: &Session) -> Result<usize, WorkerError> {
    let Some(batching) = sequence_batching(config) else { return Ok(0) };
    for state in &batching.state {
        let name = &state.output_name;
        let port = find(session.outputs(), name).ok_or_else(|| unexpected_output(session, name))?;
        let provided = datatype(port)?;
        if u32::try_from(state.data_type).ok() != Some(provided.number()) {
            let wanted = u32::try_from(state.data_type).ok().and_then(DataType::from_number);
            let what = format!(
                "configuration expects datatype {} for output state '{name}', model provides TYPE_{}",
                wanted.map_or("TYPE_INVALID", DataType::config_name),
                provided.wire_name()
            );
            return Err(refuse(config, &what));
        }
    }
    Ok(batching.state.len())
}
