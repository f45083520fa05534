//! Benchmarks.

pub(crate) fn run() -> Result<(), String> {
    Err("no benchmark is written yet".into())
}
