//! The door to the operating system: processes, locks, atomic files, clocks.
