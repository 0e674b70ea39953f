//! Clients that send one request after another until they are stopped, and count what becomes of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::json;

use crate::http::{Client, Response};

/// What the clients of a load have seen.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Requests with the right answer.
    pub succeeded: usize,
    /// Requests with another answer: status and text.
    pub refused: Vec<(u16, String)>,
    /// Requests without an answer.
    pub broken: Vec<String>,
}

impl Outcome {
    /// All requests that did not succeed.
    pub fn lost(&self) -> usize {
        self.refused.len() + self.broken.len()
    }
}

/// Some clients at work.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    outcome: Arc<Mutex<Outcome>>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// This many clients, each with its own connection, send FP32 values to an echo model and check the answers.
    pub fn start(port: u16, model: &str, clients: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let outcome = Arc::new(Mutex::new(Outcome::default()));
        let client = |number| {
            let (stop, outcome, model) = (Arc::clone(&stop), Arc::clone(&outcome), model.to_owned());
            thread::spawn(move || drive(port, &model, number, &stop, &outcome))
        };
        let clients = (0..clients).map(client).collect();
        Self { stop, outcome, clients }
    }

    /// Requests that have succeeded so far.
    pub fn succeeded(&self) -> usize {
        self.outcome.lock().expect("no client panics").succeeded
    }

    /// Ends the clients after the requests that they wait for, and tells what they have seen.
    pub fn stop(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("no client panics");
        }
        std::mem::take(&mut *self.outcome.lock().expect("no client panics"))
    }
}

/// Sends `values` to an echo model.
pub fn echo(client: &mut Client, model: &str, values: &[f64]) -> io::Result<Response> {
    let body = json!({
        "inputs": [{"name": "INPUT0", "shape": [1, values.len()], "datatype": "FP32", "data": values}]
    });
    client.post(&format!("/v2/models/{model}/infer"), &body)
}

/// The first output's values, from an answer in JSON.
pub fn values_of(response: &Response) -> Vec<f64> {
    let body = response.json();
    let data = body["outputs"][0]["data"].as_array().unwrap_or_else(|| panic!("no outputs in {body}"));
    data.iter().map(|value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))).collect()
}

fn drive(port: u16, model: &str, number: usize, stop: &AtomicBool, outcome: &Mutex<Outcome>) {
    let mut client = None;
    let mut count = 0_u16;
    while !stop.load(Ordering::Relaxed) {
        count = count.wrapping_add(1);
        let values = [f64::from(count), number_as_float(number), 0.5, -1.0];
        let connection = match client.take() {
            Some(connection) => Ok(connection),
            None => Client::connect(port),
        };
        let result = connection.and_then(|mut connection| {
            let response = echo(&mut connection, model, &values)?;
            Ok((connection, response))
        });
        let mut seen = outcome.lock().expect("no client panics");
        match result {
            Ok((connection, response)) => {
                client = Some(connection);
                if response.status == 200 && values_of(&response) == values {
                    seen.succeeded += 1;
                } else {
                    seen.refused.push((response.status, response.text()));
                }
            }
            Err(error) => seen.broken.push(error.to_string()),
        }
    }
}

fn number_as_float(number: usize) -> f64 {
    f64::from(u16::try_from(number).unwrap_or(u16::MAX))
}
