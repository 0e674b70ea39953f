//! Fills in the backend, the platform and the file name of a model from what lies in its version directory: the part
//! of completion that needs no worker.
//!
//! The caller lists the directory; nothing is opened here. Tensors and batch sizes are the worker's part
//! ([`super::complete`]).

use super::{RawConfig, versions};
use crate::error::ServeError;

/// What one entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
}

/// The entries of a version directory.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub entries: Vec<(String, EntryKind)>,
}

impl Listing {
    fn kind(&self, name: &str) -> Option<EntryKind> {
        self.entries.iter().find(|(entry, _)| entry == name).map(|(_, kind)| *kind)
    }
}

pub(super) const TENSORFLOW: &str = "tensorflow";
pub(super) const TENSORRT: &str = "tensorrt";
pub(super) const ONNXRUNTIME: &str = "onnxruntime";
pub(super) const PYTORCH: &str = "pytorch";
pub(super) const OPENVINO: &str = "openvino";
pub(super) const PYTHON: &str = "python";

pub(super) const ENSEMBLE_PLATFORM: &str = "ensemble";
pub(super) const SAVEDMODEL_PLATFORM: &str = "tensorflow_savedmodel";
pub(super) const GRAPHDEF_PLATFORM: &str = "tensorflow_graphdef";
pub(super) const TENSORRT_PLATFORM: &str = "tensorrt_plan";
pub(super) const ONNX_PLATFORM: &str = "onnxruntime_onnx";
pub(super) const LIBTORCH_PLATFORM: &str = "pytorch_libtorch";
/// Tells the backend, but is no platform of its own: validation refuses it.
const LIBTORCH_PLATFORM_ALIAS: &str = "libtorch";
pub(super) const AOTI_PLATFORM: &str = "torch_aoti";

/// The directory of a model whose content [`autofill`] wants to see: the first version in the order of text, so `10`
/// comes before `2`. Directories that are no versions (`configs`, `warmup`) tell nothing about the model.
#[must_use]
pub fn directory_to_list<'a>(model_entries: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    model_entries.into_iter().filter(|name| versions::parse_name(name).is_ok()).min()
}

/// Completes `raw` from the model's directory name and the listing of a version directory, if there is one.
pub fn autofill(raw: &mut RawConfig, model_name: &str, listing: Option<&Listing>) -> Result<(), ServeError> {
    if raw.name.is_empty() {
        model_name.clone_into(&mut raw.name);
    }
    let empty = Listing::default();
    let listing = listing.unwrap_or(&empty);
    let known = tensorflow(raw, listing)
        || tensorrt(raw, listing)
        || onnxruntime(raw, listing)
        || openvino(raw, listing)
        || pytorch(raw, listing)
        || python(raw, listing);
    if known { Ok(()) } else { custom(raw, model_name) }
}

/// Whether the configuration leaves it to the files what the model is.
fn unspecified(raw: &RawConfig) -> bool {
    raw.backend.is_empty() && raw.platform.is_empty() && raw.default_model_filename.is_empty()
}

fn set_if_empty(field: &mut String, value: &str) {
    if field.is_empty() {
        value.clone_into(field);
    }
}

fn tensorflow(raw: &mut RawConfig, listing: &Listing) -> bool {
    let open = raw.platform.is_empty() && (raw.backend.is_empty() || raw.backend == TENSORFLOW);
    if open {
        let graph = (GRAPHDEF_PLATFORM, "model.graphdef", EntryKind::File);
        let saved = (SAVEDMODEL_PLATFORM, "model.savedmodel", EntryKind::Directory);
        // Where both lie there, the graph wins.
        for (platform, file, kind) in [graph, saved] {
            let scanned = raw.default_model_filename.is_empty() && listing.kind(file) == Some(kind);
            if raw.default_model_filename == file || scanned {
                platform.clone_into(&mut raw.platform);
                break;
            }
        }
    }
    let file = match raw.platform.as_str() {
        SAVEDMODEL_PLATFORM => "model.savedmodel",
        GRAPHDEF_PLATFORM => "model.graphdef",
        _ => return false,
    };
    set_if_empty(&mut raw.backend, TENSORFLOW);
    set_if_empty(&mut raw.default_model_filename, file);
    true
}

fn tensorrt(raw: &mut RawConfig, listing: &Listing) -> bool {
    let file = "model.plan";
    if raw.backend.is_empty() {
        let named = raw.platform == TENSORRT_PLATFORM || raw.default_model_filename == file;
        if named || (unspecified(raw) && listing.kind(file) == Some(EntryKind::File)) {
            TENSORRT.clone_into(&mut raw.backend);
        }
    }
    let known = raw.backend == TENSORRT;
    if known {
        set_if_empty(&mut raw.platform, TENSORRT_PLATFORM);
        set_if_empty(&mut raw.default_model_filename, file);
    }
    known
}

fn onnxruntime(raw: &mut RawConfig, listing: &Listing) -> bool {
    let file = "model.onnx";
    if raw.backend.is_empty() {
        let named = raw.platform == ONNX_PLATFORM || raw.default_model_filename == file;
        // A model with its weights in files of their own is a directory.
        if named || (unspecified(raw) && listing.kind(file).is_some()) {
            ONNXRUNTIME.clone_into(&mut raw.backend);
        }
    }
    let known = raw.backend == ONNXRUNTIME;
    if known {
        set_if_empty(&mut raw.platform, ONNX_PLATFORM);
        set_if_empty(&mut raw.default_model_filename, file);
    }
    known
}

fn openvino(raw: &mut RawConfig, listing: &Listing) -> bool {
    by_file(raw, listing, OPENVINO, "model.xml")
}

fn python(raw: &mut RawConfig, listing: &Listing) -> bool {
    by_file(raw, listing, PYTHON, "model.py")
}

/// For the backends that have no platform.
fn by_file(raw: &mut RawConfig, listing: &Listing, backend: &str, file: &str) -> bool {
    if raw.backend.is_empty() {
        let named = raw.default_model_filename == file;
        if named || (unspecified(raw) && listing.kind(file).is_some()) {
            backend.clone_into(&mut raw.backend);
        }
    }
    let known = raw.backend == backend;
    if known {
        set_if_empty(&mut raw.default_model_filename, file);
    }
    known
}

fn pytorch(raw: &mut RawConfig, listing: &Listing) -> bool {
    let (script, compiled) = ("model.pt", "model.pt2");
    if raw.backend.is_empty() {
        let platforms = [LIBTORCH_PLATFORM, LIBTORCH_PLATFORM_ALIAS, AOTI_PLATFORM];
        let file = raw.default_model_filename.as_str();
        if platforms.contains(&raw.platform.as_str()) || file == script || file == compiled {
            // A compiled package is not TorchScript, also where only its file is named.
            if raw.platform.is_empty() && file == compiled {
                AOTI_PLATFORM.clone_into(&mut raw.platform);
            }
            PYTORCH.clone_into(&mut raw.backend);
        } else if unspecified(raw) {
            let found = [(LIBTORCH_PLATFORM, script), (AOTI_PLATFORM, compiled)]
                .into_iter()
                .find(|(_, file)| listing.kind(file) == Some(EntryKind::File));
            if let Some((platform, _)) = found {
                PYTORCH.clone_into(&mut raw.backend);
                platform.clone_into(&mut raw.platform);
            }
        }
    }
    if raw.backend != PYTORCH {
        return false;
    }
    // Where TorchScript is known from elsewhere than the backend, its file's name is left to the worker.
    if raw.platform.is_empty() {
        LIBTORCH_PLATFORM.clone_into(&mut raw.platform);
        set_if_empty(&mut raw.default_model_filename, script);
    } else if raw.platform == AOTI_PLATFORM {
        set_if_empty(&mut raw.default_model_filename, compiled);
    }
    true
}

/// A model of a backend that is not known here names it after the first dot of its own name.
fn custom(raw: &mut RawConfig, model_name: &str) -> Result<(), ServeError> {
    if !unspecified(raw) {
        return Ok(());
    }
    let Some((_, backend)) = model_name.split_once('.') else {
        return Err(ServeError::invalid(format!(
            "Invalid model name: Could not determine backend for model '{model_name}' with no backend in model \
             configuration. Expected model name of the form 'model.<backend_name>'."
        )));
    };
    backend.clone_into(&mut raw.backend);
    raw.default_model_filename = format!("model.{backend}");
    Ok(())
}

#[cfg(test)]
mod tests;
