use super::*;

mod life;
mod pairs;
mod property;

const FIRST: Generation = Generation(1);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An instance, and the time that has come.
struct Bench {
    instance: Instance,
    now: Instant,
}

impl Bench {
    fn new(config: InstanceConfig) -> Self {
        Self { instance: Instance::new(config), now: at(0) }
    }

    /// Spawned and greeted.
    fn loading(config: InstanceConfig) -> Self {
        let mut bench = Self::new(config);
        bench.on(Event::Start);
        bench.hello();
        bench
    }

    fn ready(config: InstanceConfig) -> Self {
        let mut bench = Self::loading(config);
        bench.loaded();
        bench
    }

    fn on(&mut self, event: Event) -> Vec<Action> {
        self.instance.handle(self.now, event);
        self.actions()
    }

    /// Goes to the instance's deadline, which is to be `millis` from now.
    fn expire_after(&mut self, millis: u64) -> Vec<Action> {
        let deadline = self.instance.next_deadline().expect("something is due");
        assert_eq!(deadline - self.now, Duration::from_millis(millis));
        self.now = deadline;
        self.instance.expire(self.now);
        self.actions()
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.instance.poll()).collect()
    }

    fn generation(&self) -> Generation {
        self.instance.generation()
    }

    fn hello(&mut self) -> Vec<Action> {
        let generation = self.generation();
        self.on(Event::Hello { generation })
    }

    fn loaded(&mut self) -> Vec<Action> {
        let generation = self.generation();
        self.on(Event::Loaded { generation })
    }

    fn exited(&mut self, cause: ExitCause) -> Vec<Action> {
        let generation = self.generation();
        self.on(Event::Exited { generation, cause })
    }

    fn stop_within(&mut self, time: Duration) -> Vec<Action> {
        let deadline = self.now + time;
        self.on(Event::Stop { deadline })
    }
}
