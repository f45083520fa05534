//! A tiny deterministic source of randomness (splitmix64): one seed, one world, on every machine.

/// The generator.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

impl Rng {
    /// Begins at a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed ^ 0x5EED_0F57_EA75_u64)
    }

    /// The next 64 bits.
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// A number from `low` up to and without `high`.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    /// True in `percent` of a hundred cases.
    pub(super) const fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len() as u64) as usize].clone()) }
    }

    /// Puts the items in a random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}
