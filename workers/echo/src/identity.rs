//! Returns its inputs, after a delay if asked.
//!
//! An output `OUTPUT<x>` is the input `INPUT<x>`. That is the rule of Triton's identity backend; an `echo` model may
//! use any names, and then the places in the configuration decide. Shapes, types and lengths are taken from the
//! request as they are, so ragged batches need nothing special.

use crate::config::{Tensor, check, number, shape_text};
use nereid_worker::{
    Batch, InputTensor, ModelContext, Pause, Request, Value, WorkerError,
    proto::inference::model_instance_group::Kind,
};
use std::time::Duration;

const INPUT: &str = "INPUT";
const OUTPUT: &str = "OUTPUT";

/// The behaviour.
#[derive(Debug)]
pub(crate) struct Identity {
    pairs: Vec<Pair>,
    delay: Duration,
    /// Exactly as Triton's backend does it.
    strict: bool,
}

/// Which input an output is.
#[derive(Debug)]
struct Pair {
    input: String,
    output: String,
}

impl Identity {
    /// With the rules of Triton's identity backend.
    pub(crate) fn strict(model: &ModelContext) -> Result<Self, WorkerError> {
        let pairs = strict_pairs(model)?;
        check(model.kind() != Kind::Gpu, || "'identity' backend only supports CPU instances".to_owned())?;
        Ok(Self { pairs, delay: delay(model)?, strict: true })
    }

    /// With whatever inputs and outputs the configuration pairs.
    pub(crate) fn lenient(model: &ModelContext) -> Result<Self, WorkerError> {
        Ok(Self { pairs: lenient_pairs(model)?, delay: delay(model)?, strict: false })
    }

    pub(crate) fn execute(&self, batch: &mut Batch<'_>) {
        batch.mark_input_done();
        let delay = self.delay_of(batch.requests());
        if !delay.is_zero() && batch.pause(delay) == Pause::SupervisorGone {
            return;
        }
        for (index, request) in batch.requests().iter().enumerate() {
            if let Err(error) = self.answer(batch, index, request) {
                batch.respond_error(index, error);
            }
        }
    }

    /// The longest that any of the requests asks for.
    fn delay_of(&self, requests: &[Request]) -> Duration {
        if self.strict {
            return self.delay;
        }
        requests.iter().filter_map(own_delay).fold(self.delay, Duration::max)
    }

    fn answer(&self, batch: &mut Batch<'_>, index: usize, request: &Request) -> Result<(), WorkerError> {
        if self.pairs.is_empty() {
            request
                .inputs()
                .iter()
                .try_for_each(|input| mirror(batch, index, input, &output_name(input.name())))?;
        }
        for pair in self.pairs.iter().filter(|pair| request.wants(&pair.output)) {
            let input = request
                .input(&pair.input)
                .ok_or_else(|| WorkerError::unsupported(format!("failed to get input '{}'", pair.input)))?;
            mirror(batch, index, input, &pair.output)?;
        }
        if self.strict {
            for (name, value) in strict_parameters() {
                batch.set_parameter(index, name, value)?;
            }
        }
        batch.complete(index)
    }
}

/// Triton's backend adds these to every response, to show that it can.
fn strict_parameters() -> [(&'static str, Value); 3] {
    [
        ("param0", Value::StringValue("an example string parameter".to_owned())),
        ("param1", Value::Int64Value(42)),
        ("param2", Value::BoolValue(false)),
    ]
}

fn mirror(batch: &mut Batch<'_>, index: usize, input: &InputTensor, output: &str) -> Result<(), WorkerError> {
    let bytes = input.bytes();
    let place = (input.datatype(), input.shape());
    batch.output_with_len(index, output, place, bytes.len())?.copy_from_slice(bytes);
    Ok(())
}

/// The name of the output for an input, where the configuration has none.
fn output_name(input: &str) -> String {
    match input.strip_prefix(INPUT) {
        Some(index) => format!("{OUTPUT}{index}"),
        None => input.to_owned(),
    }
}

fn own_delay(request: &Request) -> Option<Duration> {
    let milliseconds = match request.parameter("execute_delay_ms")? {
        Value::Int64Value(number) => u64::try_from(*number).ok(),
        Value::StringValue(text) => text.parse().ok(),
        _ => None,
    };
    milliseconds.map(Duration::from_millis)
}

fn delay(model: &ModelContext) -> Result<Duration, WorkerError> {
    let milliseconds = number(model, "execute_delay_ms")?.unwrap_or(0);
    // Later devices take longer, so that tests can tell instances apart.
    let by_instance = number(model, "instance_wise_delay_multiplier")?.unwrap_or(0) > 0;
    let multiplier = if by_instance { u64::try_from(model.device_id()).unwrap_or(0).max(1) } else { 1 };
    Ok(Duration::from_millis(milliseconds.saturating_mul(multiplier)))
}

fn strict_pairs(model: &ModelContext) -> Result<Vec<Pair>, WorkerError> {
    let (inputs, outputs) = (&model.config().input, &model.config().output);
    check(inputs.len() == outputs.len(), || {
        "model configuration must have equal input/output pairs".to_owned()
    })?;
    for (input, output) in inputs.iter().zip(outputs) {
        check(input.name.starts_with(INPUT), || {
            format!("expected input name to follow INPUT<index> pattern, got '{}'", input.name)
        })?;
        check(output.name.starts_with(OUTPUT), || {
            format!("expected output name to follow OUTPUT<index> pattern, got '{}'", output.name)
        })?;
    }
    let pair = |output: &_| {
        let output = Tensor::from(output);
        let name = format!("{INPUT}{}", &output.name[OUTPUT.len()..]);
        let input = inputs.iter().map(Tensor::from).find(|input| input.name == name);
        let input = input
            .ok_or_else(|| WorkerError::invalid_argument("expected input and output indices to match"))?;
        check_datatypes(input, output)?;
        check(input.shape() == output.shape(), || {
            let (input, output) = (shape_text(input.shape()), shape_text(output.shape()));
            format!("expected input and output shape to match, got {input} and {output}")
        })?;
        Ok(Pair { input: name, output: output.name.to_owned() })
    };
    outputs.iter().map(pair).collect()
}

fn lenient_pairs(model: &ModelContext) -> Result<Vec<Pair>, WorkerError> {
    let (inputs, outputs) = (&model.config().input, &model.config().output);
    let pair = |(place, output)| {
        let output = Tensor::from(output);
        let named = output.name.strip_prefix(OUTPUT).map(|index| format!("{INPUT}{index}"));
        let input =
            inputs.iter().find(|input| Some(&input.name) == named.as_ref()).or_else(|| inputs.get(place));
        let input = input.map(Tensor::from).ok_or_else(|| {
            WorkerError::invalid_argument(format!(
                "output '{}' has no input to echo: add one at the same place of the configuration",
                output.name
            ))
        })?;
        check_datatypes(input, output)?;
        Ok(Pair { input: input.name.to_owned(), output: output.name.to_owned() })
    };
    outputs.iter().enumerate().map(pair).collect()
}

fn check_datatypes(input: Tensor<'_>, output: Tensor<'_>) -> Result<(), WorkerError> {
    check(input.datatype == output.datatype, || {
        let (input, output) = (input.datatype.as_str_name(), output.datatype.as_str_name());
        format!("expected input and output datatype to match, got {input} and {output}")
    })
}
