//! The rules of an ensemble that its own configuration can break: steps, maps, and whether its data flows from its
//! inputs to its outputs.

use super::Findings;
use crate::config::RawConfig;
use crate::config::autofill::ENSEMBLE_PLATFORM;
use nereid_proto::inference::{ModelEnsembling, model_ensembling::Step};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(raw: &RawConfig, ensemble: &ModelEnsembling, findings: &mut Findings) {
    let name = &raw.name;
    findings.invalid_if(raw.platform != ENSEMBLE_PLATFORM, || {
        format!(
            "ensemble scheduling cannot be set for model '{name}' whose platform is not {ENSEMBLE_PLATFORM}"
        )
    });
    findings.invalid_if(!raw.instance_group.is_empty(), || {
        format!("instance group should not be specified for ensemble '{name}'")
    });
    findings.invalid_if(raw.optimization.is_some(), || {
        format!("optimization should not be specified for ensemble '{name}'")
    });
    findings.invalid_if(!raw.model_warmup.is_empty(), || {
        format!("model_warmup can not be specified for ensemble '{name}'")
    });
    findings.invalid_if(ensemble.step.is_empty(), || format!("must specify 'step' for ensemble '{name}'"));

    let already = findings.errors.len();
    check_steps(name, &ensemble.step, findings);
    // The flow of data through steps that are wrong in themselves says nothing.
    if findings.errors.len() == already && !ensemble.step.is_empty() {
        check_flow(raw, &ensemble.step, findings);
    }
}

fn check_steps(name: &str, steps: &[Step], findings: &mut Findings) {
    let mut written = BTreeSet::new();
    for (index, step) in steps.iter().enumerate() {
        let parts = [
            ("model_name", step.model_name.is_empty()),
            ("input_map", step.input_map.is_empty()),
            ("output_map", step.output_map.is_empty()),
        ];
        for (part, missing) in parts {
            findings.invalid_if(missing, || {
                format!("must specify '{part}' in step {index} of ensemble '{name}'")
            });
        }
        for tensor in step.output_map.values() {
            findings.invalid_if(!written.insert(tensor), || {
                format!(
                    "ensemble tensor '{tensor}' can appear in an output map only once for ensemble '{name}' step {index}"
                )
            });
        }
    }
}

/// A tensor of the ensemble: what it is made from, and who uses it.
#[derive(Default)]
struct Tensor<'a> {
    /// The inputs of the step that writes it; `None` when no step does.
    sources: Option<Vec<&'a str>>,
    read: bool,
    ready: bool,
}

fn graph<'a>(steps: &'a [Step]) -> BTreeMap<&'a str, Tensor<'a>> {
    let mut tensors: BTreeMap<&str, Tensor<'_>> = BTreeMap::new();
    for step in steps {
        let sources: Vec<&str> = step.input_map.values().map(String::as_str).collect();
        for source in &sources {
            tensors.entry(source).or_default().read = true;
        }
        for target in step.output_map.values() {
            tensors.entry(target).or_default().sources = Some(sources.clone());
        }
    }
    tensors
}

/// The stray quotation mark in two of the texts is Triton's.
fn check_flow(raw: &RawConfig, steps: &[Step], findings: &mut Findings) {
    let name = &raw.name;
    let mut tensors = graph(steps);
    for input in &raw.input {
        match tensors.get_mut(input.name.as_str()) {
            Some(tensor) => tensor.ready = true,
            None => {
                findings.invalid(format!("ensemble input '{}' for ensemble {name}' is not used", input.name))
            }
        }
    }
    propagate(&mut tensors);
    for output in &raw.output {
        let Some(tensor) = tensors.get(output.name.as_str()) else {
            findings.invalid(format!("ensemble output '{}' for ensemble {name}' is not used", output.name));
            continue;
        };
        if !tensor.ready {
            let cause = cause(&tensors, &output.name)
                .map(|source| {
                    format!(": at least one of its depending tensors, '{source}', is not connected")
                })
                .unwrap_or_default();
            findings.invalid(format!("output '{}' for ensemble '{name}' is not written{cause}", output.name));
        }
    }
    for (tensor, state) in &tensors {
        let is_output = raw.output.iter().any(|output| output.name == *tensor);
        let used = state.read && state.ready;
        findings.invalid_if(!used && !is_output, || {
            format!("ensemble tensor '{tensor}' is unused in ensemble '{name}'")
        });
    }
}

/// Marks what can be computed, until nothing more can.
fn propagate(tensors: &mut BTreeMap<&str, Tensor<'_>>) {
    loop {
        let next: Vec<&str> = tensors
            .iter()
            .filter(|(_, tensor)| {
                let sources = tensor.sources.as_deref().unwrap_or_default();
                !tensor.ready
                    && tensor.sources.is_some()
                    && sources.iter().all(|source| tensors.get(source).is_some_and(|source| source.ready))
            })
            .map(|(name, _)| *name)
            .collect();
        if next.is_empty() {
            return;
        }
        for name in next {
            if let Some(tensor) = tensors.get_mut(name) {
                tensor.ready = true;
            }
        }
    }
}

/// The tensor that `output` waits for in the end: follows what is not ready back to where nothing comes from.
fn cause<'a>(tensors: &BTreeMap<&'a str, Tensor<'a>>, output: &'a str) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    let mut last = output;
    loop {
        let sources = tensors.get(last)?.sources.as_deref().unwrap_or_default();
        let waiting = |source: &&&str| tensors.get(**source).is_some_and(|tensor| !tensor.ready);
        match sources.iter().filter(waiting).find(|source| !seen.contains(*source)) {
            Some(source) => {
                seen.insert(source);
                last = source;
            }
            None => return (last != output).then_some(last),
        }
    }
}
