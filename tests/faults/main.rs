//! What happens when workers die, misbehave or cannot start. Each test is a row of `docs/FAULTS.md`.

mod broken;
mod crash;
mod flood;
mod kill;
mod lie;
mod orphans;
mod sandbox;
