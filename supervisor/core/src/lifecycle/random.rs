//! Numbers that look random and are not: from a seed that the caller passes in.
//!
//! For jitter and for simulation. Deliberately not for anything that somebody must not guess.

/// The splitmix64 generator.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The same seed gives the same numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when that is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        match self.next_u64().checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }
}
