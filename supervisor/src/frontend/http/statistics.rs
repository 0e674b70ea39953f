//! Model statistics.

use http::StatusCode;
use nereid_core::error::ServeError;
use nereid_proto::inference::{
    InferBatchStatistics, InferResponseStatistics, InferStatistics, MemoryUsage, ModelStatistics,
    StatisticDuration,
};

use super::json::number::{write_signed, write_unsigned};
use super::json::write::{write_array, write_string};
use super::reply::{Reply, json};
use super::router::ModelPath;
use crate::frontend::{Upstream, version};

/// The statistics of one model or, without a path, of all.
pub(crate) fn statistics<U: Upstream>(
    upstream: &U,
    path: Option<ModelPath<'_>>,
) -> Result<Reply, ServeError> {
    let version = version::parse(path.map_or("", |path| path.version))?;
    let statistics = upstream.statistics(path.map(|path| path.name), version)?;
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"model_stats\":");
    write_array(&mut out, &statistics, write_model);
    out.push(b'}');
    Ok(json(StatusCode::OK, out))
}

/// Appends `,"name":` or, as the first member, `{"name":`.
fn key(out: &mut Vec<u8>, first: bool, name: &str) {
    out.push(if first { b'{' } else { b',' });
    write_string(out, name.as_bytes());
    out.push(b':');
}

fn counter(out: &mut Vec<u8>, name: &str, value: u64) {
    key(out, false, name);
    write_unsigned(out, value);
}

fn write_model(out: &mut Vec<u8>, model: &ModelStatistics) {
    key(out, true, "name");
    write_string(out, model.name.as_bytes());
    key(out, false, "version");
    write_string(out, model.version.as_bytes());
    counter(out, "last_inference", model.last_inference);
    counter(out, "inference_count", model.inference_count);
    counter(out, "execution_count", model.execution_count);
    key(out, false, "inference_stats");
    write_inference(out, &model.inference_stats.unwrap_or_default());
    key(out, false, "response_stats");
    out.push(b'{');
    for (index, (name, response)) in model.response_stats.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, name.as_bytes());
        out.push(b':');
        write_response(out, response);
    }
    out.push(b'}');
    key(out, false, "batch_stats");
    write_array(out, &model.batch_stats, write_batch);
    key(out, false, "memory_usage");
    write_array(out, &model.memory_usage, write_memory);
    out.push(b'}');
}

fn write_durations(out: &mut Vec<u8>, first: bool, durations: &[(&str, Option<&StatisticDuration>)]) {
    for (index, &(name, duration)) in durations.iter().enumerate() {
        let (count, ns) = duration.map_or((0, 0), |duration| (duration.count, duration.ns));
        key(out, first && index == 0, name);
        key(out, true, "count");
        write_unsigned(out, count);
        counter(out, "ns", ns);
        out.push(b'}');
    }
    out.push(b'}');
}

fn write_inference(out: &mut Vec<u8>, stats: &InferStatistics) {
    let durations = [
        ("success", stats.success.as_ref()),
        ("fail", stats.fail.as_ref()),
        ("queue", stats.queue.as_ref()),
        ("compute_input", stats.compute_input.as_ref()),
        ("compute_infer", stats.compute_infer.as_ref()),
        ("compute_output", stats.compute_output.as_ref()),
        ("cache_hit", stats.cache_hit.as_ref()),
        ("cache_miss", stats.cache_miss.as_ref()),
    ];
    write_durations(out, true, &durations);
}

fn write_response(out: &mut Vec<u8>, stats: &InferResponseStatistics) {
    let durations = [
        ("compute_infer", stats.compute_infer.as_ref()),
        ("compute_output", stats.compute_output.as_ref()),
        ("success", stats.success.as_ref()),
        ("fail", stats.fail.as_ref()),
        ("empty_response", stats.empty_response.as_ref()),
        ("cancel", stats.cancel.as_ref()),
    ];
    write_durations(out, true, &durations);
}

fn write_batch(out: &mut Vec<u8>, batch: &InferBatchStatistics) {
    key(out, true, "batch_size");
    write_unsigned(out, batch.batch_size);
    let durations = [
        ("compute_input", batch.compute_input.as_ref()),
        ("compute_infer", batch.compute_infer.as_ref()),
        ("compute_output", batch.compute_output.as_ref()),
    ];
    write_durations(out, false, &durations);
}

fn write_memory(out: &mut Vec<u8>, usage: &MemoryUsage) {
    key(out, true, "type");
    write_string(out, usage.r#type.as_bytes());
    key(out, false, "id");
    write_signed(out, usage.id);
    counter(out, "byte_size", usage.byte_size);
    out.push(b'}');
}
