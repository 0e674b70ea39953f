//! What an instance's task tells others: the model's task, the version's, the log, the records, and those who look on.
//!
//! Deliberately not here: when, which is the lifecycle machine's decision.

use std::sync::Arc;

use nereid_core::ids::Generation;
use nereid_core::lifecycle::ExitCause;
use nereid_core::lifecycle::instance::Event;
use nereid_core::machine::Machine;
use nereid_ipc::channel::AsyncChannel;
use tokio::sync::oneshot;

use super::{Report, Setup, Task};
use crate::clock;
use crate::fleet::connection::Connection;
use crate::fleet::life::Crash;
use crate::observe::events::{Severity, Subject};
use crate::serve::model::Message;

impl Task {
    pub(super) async fn report_stopped(&mut self) {
        self.stopped = true;
        // The server may end right after this: the crash report has to be out.
        self.last_lines().await;
        self.report(Report::Stopped { instance: self.setup.number, killed: self.killed }).await;
    }

    /// The last lines of the worker that died, when its crash report is out.
    pub(super) async fn last_lines(&mut self) -> String {
        match self.crash_report.take() {
            // A panic there has been told.
            Some(report) => report.await.unwrap_or_default(),
            None => String::new(),
        }
    }

    pub(super) async fn announce_up(&mut self, generation: Generation) {
        let now = clock::now();
        let (model, instance) = (&self.setup.described.name, &self.setup.spec.name);
        if self.setup.spec.passive {
            // Loaded and kept, but the scheduler never hears of it.
            tracing::info!(model, instance, %generation, "passive instance is loaded");
            self.publish(Severity::Info, "worker_ready", "passive".to_owned());
            return self.report(Report::Up(self.setup.number)).await;
        }
        tracing::info!(model, instance, %generation, "instance is ready");
        self.publish(Severity::Info, "worker_ready", String::new());
        let Some(execution) = self.life.as_mut().and_then(|life| life.execution.take()) else { return };
        let channel = match AsyncChannel::new(execution) {
            Ok(channel) => channel,
            Err(error) => {
                let what = format!("has no usable execution socket: {error}");
                return self.machine.handle(now, Event::Misbehaved { generation, what });
            }
        };
        let connection = Connection::new(
            self.setup.number,
            generation,
            channel,
            self.setup.arena_bytes_max,
            self.order_sender.clone(),
        );
        self.tell(Message::InstanceUp(Box::new(connection))).await;
        self.report(Report::Up(self.setup.number)).await;
    }

    pub(super) async fn announce_down(&mut self, generation: Generation, cause: &ExitCause) {
        let (held, receiver) = oneshot::channel();
        self.held = Some(receiver);
        let (instance, cause) = (self.setup.number, cause.to_string());
        self.tell(Message::InstanceDown { instance, generation, cause, held }).await;
        self.report(Report::Down(instance)).await;
    }

    /// Tells those who look on.
    pub(super) fn publish(&self, severity: Severity, kind: &str, message: String) {
        let Setup { described, spec, events, .. } = &self.setup;
        let subject = Subject {
            model: &described.name,
            version: described.version,
            instance: &spec.name,
            generation: self.machine.generation().0,
        };
        events.publish(severity, kind, subject, message);
    }

    /// Tells the model's task, if there is one yet.
    pub(super) async fn tell(&self, message: Message) {
        let inbox = self.setup.prepared.borrow().as_ref().map(|prepared| prepared.inbox.clone());
        if let Some(inbox) = inbox {
            // Ended together with the version: then nobody needs to know.
            let _ = inbox.send(message).await;
        }
    }

    /// Tells the version's task, which outlives its instances.
    pub(super) async fn report(&self, report: Report) {
        let _ = self.setup.reports.send(report).await;
    }

    pub(super) fn report_exit(
        &mut self,
        generation: Generation,
        cause: &ExitCause,
        age: std::time::Duration,
        expected: bool,
    ) {
        let life = self.life.take();
        let pid = life.as_ref().map_or(0, |life| life.process.id());
        let held = self.held.take();
        let severity = if expected { Severity::Info } else { Severity::Error };
        self.publish(severity, "worker_exited", format!("worker {cause}"));
        let Setup { described, spec, status, .. } = &self.setup;
        if expected {
            tracing::info!(model = described.name, instance = spec.name, %generation, pid, "worker {cause}");
        } else {
            let crash = Crash {
                origin: self.origin(generation),
                version: described.version,
                pid,
                age,
                cause: cause.to_string(),
                kind: cause.kind(),
                held,
            };
            // Whoever waits for the worker's requests shall not wait for its last lines as well.
            self.crash_report = Some(tokio::spawn(crash.report(life, Arc::clone(&self.setup.crashes))));
        }
        status.update(|status| {
            status.pid = 0;
            status.born = None;
            status.last_exit = cause.to_string();
        });
    }
}
