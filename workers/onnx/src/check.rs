//! Whether a model configuration agrees with the model, before the first request does not.
//!
//! The rules and the texts are those of Triton's ONNX Runtime backend, which operators know and tests look for.
//! Deliberately not here: what can be checked without the model, which the server has done.

mod controls;
mod dims;
#[cfg(test)]
mod tests;

use crate::{
    ffi::session::{Port, Session},
    session::datatype,
};
use controls::{check_controls, check_states};
use dims::{check_dims, check_scalar_dims};
use nereid_ipc::DataType;
use nereid_proto::inference::{ModelConfig, ModelInput, ModelTensorReshape};
use nereid_worker::WorkerError;
use std::collections::BTreeSet;

/// Refuses a configuration that does not fit the session.
pub(crate) fn check(config: &ModelConfig, session: &Session) -> Result<(), WorkerError> {
    let controls = check_controls(config, session)?;
    let states = check_states(config, session)?;
    check_input_count(config, session, controls + states)?;
    config.input.iter().try_for_each(|input| check_input(config, session, input))?;
    check_outputs(config, session)
}

fn check_input_count(config: &ModelConfig, session: &Session, others: usize) -> Result<(), WorkerError> {
    let configured = config.input.iter().filter(|input| !input.optional).count();
    let made: usize = config.batch_input.iter().map(|input| input.target_name.len()).sum();
    let expected = configured + made + others;
    // Types are asked for here, so that a model which no request can feed says so and nothing else.
    for port in session.inputs() {
        datatype(port)?;
    }
    // Optional inputs are initialisers of the graph, which are not among its inputs.
    let provided = session.inputs().len();
    if provided == expected {
        return Ok(());
    }
    Err(refuse(config, &format!("configuration expects {expected} inputs, model provides {provided}")))
}

fn check_input(config: &ModelConfig, session: &Session, input: &ModelInput) -> Result<(), WorkerError> {
    let name = &input.name;
    if input.optional && config.max_batch_size != 0 {
        let what = format!("optional input '{name}' is not supported for models that support batching");
        return Err(refuse(config, &what));
    }
    let port = find(session.all_inputs(), name).ok_or_else(|| {
        let allowed = names(session.all_inputs());
        let message = format!("unexpected inference input '{name}', allowed inputs are: {allowed}");
        WorkerError::invalid_argument(message)
    })?;
    check_type(config, port, input.data_type, "input")?;
    if input.allow_ragged_batch {
        return check_ragged(config, port, input.optional);
    }
    let dims = effective(input.reshape.as_ref(), &input.dims);
    if port.shape.is_empty() {
        return check_scalar_dims(config, name, dims);
    }
    check_dims(config, port, dims, false)
}

fn check_ragged(config: &ModelConfig, port: &Port, optional: bool) -> Result<(), WorkerError> {
    let name = &port.name;
    if optional {
        return Err(refuse(
            config,
            &format!(
                "configuration expects model provides input with shape [-1] for ragged input '{name}', which is not \
                 supported for optional input"
            ),
        ));
    }
    if port.shape == [-1] {
        return Ok(());
    }
    let shape = shape_text(&port.shape);
    Err(refuse(
        config,
        &format!(
            "configuration expects model provides input with shape [-1]  for ragged input '{name}', model provides \
             {shape}"
        ),
    ))
}

fn check_outputs(config: &ModelConfig, session: &Session) -> Result<(), WorkerError> {
    for output in &config.output {
        let name = &output.name;
        let port = find(session.outputs(), name).ok_or_else(|| unexpected_output(session, name))?;
        check_type(config, port, output.data_type, "output")?;
        // What is split by the shapes of an input need not look like a batch.
        if config.batch_output.iter().any(|batch| batch.target_name.contains(name)) {
            continue;
        }
        let dims = effective(output.reshape.as_ref(), &output.dims);
        if port.shape.is_empty() {
            check_scalar_dims(config, name, dims)?;
        } else {
            check_dims(config, port, dims, true)?;
        }
    }
    Ok(())
}

fn check_type(config: &ModelConfig, port: &Port, configured: i32, what: &str) -> Result<(), WorkerError> {
    let provided = datatype(port)?;
    let wanted = u32::try_from(configured).ok().and_then(DataType::from_number);
    let Some(wanted) = wanted else {
        return Err(WorkerError::internal(format!(
            "unsupported datatype {configured} for {what} '{}' for model '{}'",
            port.name, config.name
        )));
    };
    if wanted == provided {
        return Ok(());
    }
    Err(refuse(
        config,
        &format!(
            "configuration expects datatype {} for {what} '{}', model provides TYPE_{}",
            wanted.config_name(),
            port.name,
            provided.wire_name()
        ),
    ))
}

fn unexpected_output(session: &Session, name: &str) -> WorkerError {
    let allowed = names(session.outputs());
    WorkerError::invalid_argument(format!(
        "unexpected inference output '{name}', allowed outputs are: {allowed}"
    ))
}

fn refuse(config: &ModelConfig, what: &str) -> WorkerError {
    WorkerError::invalid_argument(format!("unable to load model '{}', {what}", config.name))
}

fn find<'a>(ports: &'a [Port], name: &str) -> Option<&'a Port> {
    ports.iter().find(|port| port.name == name)
}

/// The names in their order, separated by commas.
fn names(ports: &[Port]) -> String {
    let names: BTreeSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The shape that the model sees, without the batch dimension.
pub(crate) fn effective<'a>(reshape: Option<&'a ModelTensorReshape>, dims: &'a [i64]) -> &'a [i64] {
    reshape.map_or(dims, |reshape| &reshape.shape)
}

/// "[-1,16]".
pub(crate) fn shape_text(shape: &[i64]) -> String {
    let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", sizes.join(","))
}
