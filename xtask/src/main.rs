//! Runs the tests, the benchmarks and the real-agent runs.
fn main() {}
