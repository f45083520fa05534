//! The one clock. Time since boot orders facts; the wall clock is only shown to people.

use reseat_core::fact::Stamp;
use reseat_core::process::Boot;
use rustix::time::{ClockId, clock_gettime};

/// Returns CLOCK_BOOTTIME in nanoseconds: since boot, counting sleep, never set back.
pub fn boottime_ns() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the wall clock in milliseconds since 1970.
pub fn wall_ms() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// Returns 64 random bits.
pub fn nonce() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The standard library's map keys are seeded by the kernel and differ for each state made.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(boottime_ns());
    hasher.write_u32(std::process::id());
    hasher.finish() >> 1
}

/// Returns a stamp of this moment.
pub fn stamp(boot: &Boot, boot_number: u64) -> Stamp {
    Stamp {
        boot: boot.clone(),
        boot_number,
        ns: boottime_ns(),
        pid: std::process::id(),
        nonce: nonce(),
        wall_ms: wall_ms(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_boot_goes_on_and_nonces_differ() {
        let first = boottime_ns();
        assert!(boottime_ns() >= first);
        assert_ne!(nonce(), nonce());
    }
}
