//! The worker in a thread, with a supervisor of the test's own. What only a process can show is in `tests/process.rs`.

mod faults;
mod identity;
mod streams;

use crate::Echo;
use nereid_worker::{
    proto::{
        inference::{DataType, ModelConfig, ModelInput, ModelOutput, ModelParameter, ModelTransactionPolicy},
        worker::{Failure, Model},
    },
    rig::Rig,
};

type Tensor<'a> = (&'a str, DataType, &'a [i64]);

fn config(backend: &str, inputs: &[Tensor<'_>], outputs: &[Tensor<'_>]) -> ModelConfig {
    let input = |&(name, data_type, dims): &Tensor<'_>| ModelInput {
        name: name.to_owned(),
        data_type: data_type.into(),
        dims: dims.to_vec(),
        ..ModelInput::default()
    };
    let output = |&(name, data_type, dims): &Tensor<'_>| ModelOutput {
        name: name.to_owned(),
        data_type: data_type.into(),
        dims: dims.to_vec(),
        ..ModelOutput::default()
    };
    ModelConfig {
        backend: backend.to_owned(),
        input: inputs.iter().map(input).collect(),
        output: outputs.iter().map(output).collect(),
        ..ModelConfig::default()
    }
}

fn with(mut config: ModelConfig, parameters: &[(&str, &str)]) -> ModelConfig {
    config.parameters.extend(parameters.iter().map(|&(name, value)| {
        let value = ModelParameter { string_value: value.to_owned() };
        (name.to_owned(), value)
    }));
    config
}

fn decoupled(mut config: ModelConfig) -> ModelConfig {
    config.model_transaction_policy = Some(ModelTransactionPolicy { decoupled: true });
    config
}

fn model(config: ModelConfig) -> Model {
    Model { name: "m".to_owned(), config: Some(config), ..Model::default() }
}

fn load(config: ModelConfig) -> Rig {
    let mut rig = Rig::start(Echo::default());
    assert_eq!(rig.load(model(config)).map(|_| ()), Ok(()));
    rig
}

fn refused(config: ModelConfig) -> Failure {
    Rig::start(Echo::default()).load(model(config)).unwrap_err()
}
