//! Temporary model folders, removed when the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A folder of models.
#[derive(Debug)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// An empty one.
    pub fn new() -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("nereid-test-{}-{number}", process::id()));
        fs::create_dir_all(&path).expect("the folder for temporary files is writable");
        Self { path }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, given by its path in the repository, and the folders above it.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().expect("the file lies in the repository")).expect("writable");
        fs::write(path, content).expect("writable");
    }

    /// Adds a model with a version folder 1 that holds nothing.
    pub fn add(&self, model: &str, config: &str) {
        self.write(&format!("{model}/config.pbtxt"), config);
        fs::create_dir_all(self.path.join(model).join("1")).expect("writable");
    }

    /// Adds an echo model that gives its FP32 values back, with this many instances and further configuration.
    pub fn add_echo(&self, model: &str, instances: u32, further: &str) {
        self.add(model, &config("echo", instances, further));
    }

    /// Adds a Python model with the tensors of [`Repository::add_echo`]. Its `execute` is the body of a function of
    /// `value`, the first number of a request; what that returns becomes the output.
    pub fn add_python(&self, model: &str, instances: u32, body: &str) {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        self.add_python_source(
            model,
            instances,
            &format!(
                "import os, signal, sys, time\n\
                 import numpy as np\n\
                 import triton_python_backend_utils as pb_utils\n\
                 \n\
                 def answer(value):\n{body}\
                 \n\
                 class TritonPythonModel:\n\
                 \u{20}   def execute(self, requests):\n\
                 \u{20}       responses = []\n\
                 \u{20}       for request in requests:\n\
                 \u{20}           given = pb_utils.get_input_tensor_by_name(request, \"INPUT0\").as_numpy()\n\
                 \u{20}           result = answer(float(given.flat[0]))\n\
                 \u{20}           output = np.full(given.shape, result, dtype=np.float32)\n\
                 \u{20}           responses.append(pb_utils.InferenceResponse([pb_utils.Tensor(\"OUTPUT0\", output)]))\n\
                 \u{20}       return responses\n"
            ),
        );
    }

    /// Adds a Python model with the tensors of [`Repository::add_echo`] and this `model.py`.
    pub fn add_python_source(&self, model: &str, instances: u32, source: &str) {
        self.add(model, &config("python", instances, ""));
        self.write(&format!("{model}/1/model.py"), source);
    }

    /// Sets a parameter in a model's configuration.
    pub fn set_parameter(&self, model: &str, key: &str, value: &str) {
        let file = self.path.join(model).join("config.pbtxt");
        let mut config = fs::read_to_string(&file).expect("the model has a configuration");
        config.push_str(&format!("parameters {{ key: \"{key}\" value: {{ string_value: \"{value}\" }} }}\n"));
        fs::write(file, config).expect("writable");
    }

    /// Adds a model of the folder `model_repository/`, whole.
    pub fn add_sample(&self, model: &str) {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model_repository");
        copy(&samples.join(model), &self.path.join(model));
    }
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A model that takes and gives FP32 values, up to eight rows at once.
fn config(backend: &str, instances: u32, further: &str) -> String {
    format!(
        "backend: \"{backend}\"\nmax_batch_size: 8\n\
         input [{{ name: \"INPUT0\" data_type: TYPE_FP32 dims: [ -1 ] }}]\n\
         output [{{ name: \"OUTPUT0\" data_type: TYPE_FP32 dims: [ -1 ] }}]\n\
         instance_group [{{ kind: KIND_CPU count: {instances} }}]\n{further}\n"
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())).flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("writable");
        }
    }
}
