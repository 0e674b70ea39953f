//! One batch: requests become Python objects, the model runs, its responses become answers.

use crate::{
    backend::PythonBackend,
    exceptions::{Fault, type_text},
    exchange::{Bell, Exchange},
    ffi::{current, lent::Lent, memory::Memory},
    leave,
    request::InferenceRequest,
    response::InferenceResponse,
    tensor::Tensor,
};
use nereid_worker::{Batch, InputTensor, Level, Request, WorkerError};
use pyo3::{prelude::*, types::PyList};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Whether a model is in its `execute`, for the calls that it may make only there.
static RUNNING: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// The batch's large inputs, watched until it ends.
#[derive(Debug, Default)]
struct Loans {
    lent: Vec<Arc<Lent>>,
    copied: Vec<Arc<()>>,
}

impl PythonBackend {
    pub(crate) fn run_batch(&mut self, batch: &mut Batch<'_>) {
        Python::attach(|py| {
            self.aside.restore();
            let exchange = Exchange::new(self.is_decoupled, batch.requests().len());
            let mut loans = Loans::default();
            RUNNING.store(true, Ordering::Relaxed);
            let ran = self.run(py, batch, &exchange, &mut loans);
            RUNNING.store(false, Ordering::Relaxed);
            exchange.close();
            if let Err(fault) = ran {
                self.fail(py, batch, &fault);
                // A traceback holds the frames, and they hold the requests: let go before looking who keeps inputs.
                drop(fault);
            }
            self.settle(batch, loans);
        });
    }

    fn run(
        &self,
        py: Python<'_>,
        batch: &mut Batch<'_>,
        exchange: &Arc<Exchange>,
        loans: &mut Loans,
    ) -> Result<(), Fault> {
        let execute = self.execute.as_ref().ok_or_else(|| Fault::Rule(self.no_execute()))?.bind(py);
        let mut requests = Vec::with_capacity(batch.requests().len());
        for (index, request) in batch.requests().iter().enumerate() {
            let inputs = request.inputs().iter().map(|input| self.input(py, input, loans));
            let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
            let line = (Arc::clone(exchange), index);
            requests.push(Py::new(py, InferenceRequest::received(request, inputs, line))?);
        }
        // The model may change the list; ours stays.
        let list = PyList::new(py, &requests)?;
        batch.mark_input_done();
        let returned = current::enter(batch, || execute.call1((list,)));
        let returned = self.result(py, batch, exchange, returned?)?;
        batch.mark_infer_done();
        exchange.deliver(py, batch)?;
        self.take_responses(batch, exchange, &requests, &returned)?;
        if exchange.is_open() {
            exchange.wait(py, batch, || Ok(!exchange.is_open()))?;
            batch.mark_infer_done();
        }
        Ok(())
    }

    fn input(&self, py: Python<'_>, input: &InputTensor, loans: &mut Loans) -> PyResult<Py<Tensor>> {
        let view = input.view();
        let len = view.len();
        let memory = if self.retention.lends(len, self.aside.len()) && self.aside.is_clear(view) {
            let lent = Lent::new(view.clone());
            loans.lent.push(Arc::clone(&lent));
            Memory::lend(lent)
        } else {
            let token = self.retention.watches(len).then(|| Arc::new(()));
            loans.copied.extend(token.clone());
            Memory::copy(self.aside.copy(view), token)
        };
        Py::new(py, Tensor::over(py, input.name(), (input.datatype(), input.shape()), memory)?)
    }

    /// What the model returned in the end: a coroutine is awaited.
    fn result<'py>(
        &self,
        py: Python<'py>,
        batch: &mut Batch<'_>,
        exchange: &Arc<Exchange>,
        returned: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        if returned.is_none() || returned.is_instance_of::<PyList>() {
            return Ok(returned);
        }
        let future = self.host.bind(py).call_method1("start", (&returned,))?;
        if future.is_none() {
            return Ok(returned);
        }
        future.call_method1("add_done_callback", (Bell(Arc::clone(exchange)),))?;
        exchange.wait(py, batch, || future.call_method0("done")?.is_truthy())?;
        Ok(future.call_method0("result")?)
    }

    fn take_responses(
        &self,
        batch: &mut Batch<'_>,
        exchange: &Exchange,
        requests: &[Py<InferenceRequest>],
        returned: &Bound<'_, PyAny>,
    ) -> Result<(), Fault> {
        if returned.is_none() {
            return refuse_rescheduled(batch, requests);
        }
        if self.is_decoupled {
            return Err(Fault::Rule(format!(
                "Python model '{}' is using the decoupled mode and the execute function must return None.",
                self.instance_name
            )));
        }
        let responses = returned.cast::<PyList>().map_err(|_| {
            Fault::Rule(format!(
                "Expected a list in the execute return, found type '{}'.",
                type_text(returned)
            ))
        })?;
        if responses.len() != requests.len() {
            return Err(Fault::Rule(format!(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. \
                 InferenceRequest(s) size is:{}, and InferenceResponse(s) size is:{}",
                requests.len(),
                responses.len()
            )));
        }
        // All are looked at before any is written: an error of one fails the whole batch.
        let responses =
            responses.iter().zip(requests).map(|(response, request)| checked(response, request.get()));
        let responses = responses.collect::<Result<Vec<_>, _>>()?;
        for (index, response) in responses.iter().enumerate() {
            if let Some(response) = response {
                exchange.note_returned(index)?;
                response.get().write(returned.py(), batch, index)?;
            }
        }
        refuse_rescheduled(batch, requests)
    }

    /// Answers every request that has no answer yet.
    fn fail(&self, py: Python<'_>, batch: &mut Batch<'_>, fault: &Fault) {
        if let Fault::Raised(error) = fault {
            leave::leave_if_asked(py, error);
        }
        let text = format!(
            "Failed to process the request(s) for model '{}', message: {}",
            self.instance_name,
            self.text(py, fault)
        );
        batch.logger().log(Level::Error, text.clone());
        batch.respond_error_to_all(&WorkerError::internal(text));
    }

    /// Looks what the model keeps of the inputs, and sees to it that it stays what it is.
    fn settle(&mut self, batch: &Batch<'_>, loans: Loans) {
        let mut kept = loans.copied.iter().filter(|token| Arc::strong_count(token) > 1).count();
        let held: Vec<_> = loans.lent.into_iter().filter(|lent| Arc::strong_count(lent) > 1).collect();
        kept += held.len();
        if let Err(error) = self.aside.set_apart(held) {
            batch.logger().log(
                Level::Error,
                format!(
                    "model instance '{}' keeps an input array, and its memory could not be set apart ({error}): the \
                     array may change with a later request",
                    self.instance_name
                ),
            );
        }
        self.retention.batch_ended(kept);
        if kept > 0 && !self.told_retention {
            self.told_retention = true;
            batch.logger().log(
                Level::Info,
                format!(
                    "model instance '{}' keeps input arrays beyond execute; its large inputs are copied from now on",
                    self.instance_name
                ),
            );
        }
    }

    pub(crate) fn no_execute(&self) -> String {
        format!("Python model {} does not implement `execute` method.", self.model_path)
    }
}

/// The response at one place of the list; None where a sender answers, or the request is to be queued again.
fn checked(
    response: Bound<'_, PyAny>,
    request: &InferenceRequest,
) -> Result<Option<Py<InferenceResponse>>, Fault> {
    if response.is_none() {
        return Ok(None);
    }
    if request.is_rescheduled() {
        return Err(Fault::Rule(format!(
            "Expected a None object in the execute function return list for reschduled request, found type '{}'.",
            type_text(&response)
        )));
    }
    match response.cast_into::<InferenceResponse>() {
        Ok(response) => Ok(Some(response.unbind())),
        Err(error) => Err(Fault::Rule(format!(
            "Expected an 'InferenceResponse' object in the execute function return list, found type '{}'.",
            type_text(&error.into_inner())
        ))),
    }
}

/// Requests that the model wants queued again: the server cannot do that yet.
fn refuse_rescheduled(batch: &mut Batch<'_>, requests: &[Py<InferenceRequest>]) -> Result<(), Fault> {
    for (index, request) in requests.iter().enumerate() {
        if request.get().is_rescheduled() {
            let id = batch.requests().get(index).map_or("", Request::id);
            let error = format!("request '{id}' cannot be rescheduled: this server does not offer it yet");
            batch.respond_error(index, WorkerError::unsupported(error));
        }
    }
    Ok(())
}
