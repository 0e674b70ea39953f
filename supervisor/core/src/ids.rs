//! The names of things: newtypes, so that a ticket is never taken for an instance.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// One admitted request. Unique in the life of the supervisor.
    Ticket(u64)
);
id!(
    /// An instance of one model version, counted from zero over all its groups.
    InstanceId(u32)
);
id!(
    /// One life of an instance's worker, counted from 1.
    Generation(u64)
);
id!(
    /// One execution, counted from 1 in a scheduler.
    BatchId(u64)
);
id!(
    /// A model version's number.
    Version(i64)
);

impl Generation {
    /// The next life.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
