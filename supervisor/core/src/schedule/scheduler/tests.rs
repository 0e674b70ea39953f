use super::super::policy::{BatchPolicy, LevelPolicy, TimeoutAction};
use super::*;
use crate::time::Duration;

mod direct;
mod dynamic;

const A: InstanceId = InstanceId(0);
const B: InstanceId = InstanceId(1);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn request(ticket: u64) -> QueuedRequest {
    QueuedRequest { ticket: Ticket(ticket), batch_size: 1, shape_key: 0, priority: 0, timeout: None }
}

/// Times out after 10 ms.
fn timed(timeout_action: TimeoutAction) -> LevelPolicy {
    LevelPolicy { default_timeout: ms(10), timeout_action, ..LevelPolicy::default() }
}

fn up(instance: InstanceId) -> Event {
    Event::InstanceUp { instance, slots: 1 }
}

fn finished(instance: InstanceId, batch: u64) -> Event {
    Event::Finished { instance, batch: BatchId(batch) }
}

fn run(instance: InstanceId, batch: u64, tickets: &[u64]) -> Action {
    let tickets = tickets.iter().copied().map(Ticket).collect();
    Action::Run { instance, batch: BatchId(batch), tickets }
}

fn reject(ticket: u64, reason: RejectReason) -> Action {
    Action::Reject { ticket: Ticket(ticket), reason }
}

fn lost(ticket: u64, instance: InstanceId) -> Action {
    Action::Lost { ticket: Ticket(ticket), instance }
}

/// A scheduler that is asked for its actions after each step.
struct Bench(Scheduler);

impl Bench {
    fn direct(level: LevelPolicy) -> Self {
        Self(Scheduler::new(SchedulerConfig::direct(level)))
    }

    fn dynamic(policy: BatchPolicy) -> Self {
        Self(Scheduler::new(SchedulerConfig::dynamic(policy, LevelPolicy::default())))
    }

    fn on(&mut self, millis: u64, event: Event) -> Vec<Action> {
        self.0.handle(at(millis), event);
        self.actions()
    }

    fn enqueue(&mut self, millis: u64, ticket: u64) -> Vec<Action> {
        self.on(millis, Event::Enqueue(request(ticket)))
    }

    fn expire(&mut self, millis: u64) -> Vec<Action> {
        self.0.expire(at(millis));
        self.actions()
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.0.poll()).collect()
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }
}
