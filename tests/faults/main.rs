//! What happens when workers die, misbehave or cannot start. Each test is a row of `docs/FAULTS.md`.

mod broken;
mod crash;
mod flood;
mod groups;
mod kill;
mod lie;
mod memory;
mod orphans;
mod sandbox;
