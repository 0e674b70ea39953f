//! The loop: receive, execute, answer. One thread for control and execution, so a pong proves that work goes on.

use crate::{
    backend::Backend,
    batch::Batch,
    end::End,
    error::WorkerError,
    late,
    log::Logger,
    model::ModelContext,
    panics,
    request::Request,
    session::{Session, Work},
    startup::About,
    text::cut,
    watch::Watch,
};
use nereid_proto::worker::{
    Description, Execute, Executed, Loaded, Model, Readiness, Response, control_to_supervisor,
    control_to_worker, execution_to_supervisor, heartbeat::Stage as WireStage,
};
use std::time::Instant;

/// How far the model has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Described,
    Loaded,
    /// The load failed; nothing is left to do but to stop.
    Failed,
}

/// One worker: a backend between two sockets.
pub(crate) struct Server<B> {
    session: Session,
    backend: B,
    logger: Logger,
    stage: Stage,
    /// It was started before it was known what for, and has not learned of its model.
    is_early: bool,
    /// Emptied after each batch, kept for their memory.
    requests: Vec<Request>,
    responses: Vec<Response>,
}

impl<B: Backend> Server<B> {
    pub(crate) fn new(session: Session, backend: B) -> Result<Self, End> {
        let logger = Logger::new(session.control(), session.identity().clone())?;
        let is_early = !session.identity().is_known();
        let (requests, responses) = (Vec::new(), Vec::new());
        Ok(Self { session, backend, logger, stage: Stage::New, is_early, requests, responses })
    }

    /// Serves until the end, tells the reason if there is one to tell.
    pub(crate) fn run(mut self, about: &About) -> End {
        let end = self.serve(about).unwrap_or_else(|end| end);
        if let Some(words) = end.last_words() {
            self.session.say_last_words(words);
        }
        end
    }

    fn serve(&mut self, about: &About) -> Result<End, End> {
        about.greet(&mut self.session)?;
        loop {
            match self.session.next()? {
                Work::Batch(execute) => self.execute(execute)?,
                Work::Order(order) => {
                    if let control_to_worker::Message::Stop(_) = *order {
                        return self.stop();
                    }
                    self.obey(*order)?;
                }
            }
        }
    }

    fn obey(&mut self, order: control_to_worker::Message) -> Result<(), End> {
        use control_to_supervisor::Message as Reply;
        use control_to_worker::Message as Order;
        let reply = match order {
            Order::Describe(describe) => self.describe(describe.model)?,
            Order::Load(load) => self.load(load.model)?,
            Order::CheckReady(check) => self.check_ready(check.nonce)?,
            // The session answers pings itself, and the loop knows how to stop.
            Order::Ping(ping) => Reply::Pong(self.session.progress.pong(ping.nonce)),
            Order::Hello(_) => return Err(End::broken("a second Hello")),
            Order::Stop(_) => return Err(End::broken("a Stop out of place")),
        };
        self.session.tell(reply)
    }

    fn describe(&mut self, model: Option<Model>) -> Result<control_to_supervisor::Message, End> {
        if self.stage != Stage::New {
            return Err(End::broken("a Describe after another, or after Load"));
        }
        self.stage = Stage::Described;
        let model = self.context(model)?;
        let described = self.during(WireStage::Describe, "describe", |backend| backend.describe(&model))?;
        Ok(match described {
            Ok(proposal) => {
                control_to_supervisor::Message::Description(Description { proposal: Some(proposal) })
            }
            Err(error) => control_to_supervisor::Message::Failed(error.into()),
        })
    }

    fn load(&mut self, model: Option<Model>) -> Result<control_to_supervisor::Message, End> {
        if matches!(self.stage, Stage::Loaded | Stage::Failed) {
            return Err(End::broken("a second Load"));
        }
        let model = self.context(model)?;
        let begin = Instant::now();
        let loaded = self.during(WireStage::Load, "load", |backend| backend.load(&model))?;
        let duration_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(match loaded {
            Ok(()) => {
                self.stage = Stage::Loaded;
                control_to_supervisor::Message::Loaded(Loaded { duration_ns })
            }
            Err(error) => {
                self.stage = Stage::Failed;
                control_to_supervisor::Message::Failed(error.into())
            }
        })
    }

    /// Calls the backend, and says meanwhile what for.
    fn during<R>(&mut self, stage: WireStage, name: &str, call: impl FnOnce(&mut B) -> R) -> Result<R, End> {
        self.session.progress.enter(stage);
        let result = panics::catch(name, || call(&mut self.backend)).map_err(End::Panicked)?;
        self.session.progress.enter(WireStage::Idle);
        Ok(result)
    }

    fn context(&mut self, model: Option<Model>) -> Result<ModelContext, End> {
        let model = model.ok_or_else(|| End::broken("an order without its model"))?;
        if std::mem::take(&mut self.is_early) {
            late::settle(&model)?;
        }
        Ok(ModelContext::new(model, self.logger.clone(), Watch::new(self.session.execution())?))
    }

    fn check_ready(&mut self, nonce: u64) -> Result<control_to_supervisor::Message, End> {
        let ready = if self.stage == Stage::Loaded {
            panics::catch("is_ready", || self.backend.is_ready()).map_err(End::Panicked)?
        } else {
            Err(not_loaded())
        };
        let mut readiness = Readiness { nonce, ready: ready.is_ok(), ..Readiness::default() };
        if let Err(error) = ready {
            readiness.set_code(error.code);
            readiness.message = cut(error.message);
        }
        Ok(control_to_supervisor::Message::Readiness(readiness))
    }

    fn execute(&mut self, execute: Execute) -> Result<(), End> {
        if self.stage != Stage::Loaded {
            return self.refuse(execute);
        }
        let Self { session, backend, logger, requests, .. } = self;
        for request in execute.requests {
            requests.push(Request::new(request, &session.memory)?);
        }
        let mut batch = Batch::new(session, execute.batch, requests, logger);
        if !batch.requests().is_empty() {
            panics::catch("execute", || backend.execute(&mut batch)).map_err(End::Panicked)?;
        }
        self.responses = batch.finish(std::mem::take(&mut self.responses))?;
        self.requests.clear();
        Ok(())
    }

    /// The supervisor should not have sent it, but a late batch is no reason to leave requests without an answer.
    fn refuse(&mut self, execute: Execute) -> Result<(), End> {
        let responses = execute.requests.iter().map(|request| Response {
            ticket: request.ticket,
            error: Some(not_loaded().into()),
            r#final: true,
            ..Response::default()
        });
        let executed = Executed { batch: execute.batch, responses: responses.collect(), timing: None };
        self.session.answer(execution_to_supervisor::Message::Executed(executed)).map(drop)
    }

    /// Finishes what was received, then lets the model go.
    fn stop(&mut self) -> Result<End, End> {
        while let Some(batch) = self.session.next_received_batch()? {
            self.execute(batch)?;
        }
        if self.stage == Stage::Loaded {
            self.during(WireStage::Unload, "unload", B::unload)?;
        }
        Ok(End::Stopped)
    }
}

fn not_loaded() -> WorkerError {
    WorkerError::unavailable("the model is not loaded in this worker")
}
