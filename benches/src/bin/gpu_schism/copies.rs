//! What a copy costs between the memory of the host, as programs have it, and that of the device.

use std::time::Instant;

use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, Times, WARM_UP};
use crate::settings::Clock;

/// Measures `copy_in`, from a slice to a buffer, and `copy_out`, from a buffer to a slice, both on the host's clock. All memory has been
/// used before.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["copy_in", "copy_out"]) {
        return Ok(());
    }
    let numbers = bench.settings().size(1 << 26, 1 << 16);
    let case = |kernel| Case { kernel, element: "f32", size: numbers, bytes: 4 * numbers };
    let from = between(3, numbers, 0.0, 1.0);
    let mut buffer = Buffer::filled(bench.queue(), numbers, 0.0_f32)?;
    for run in bench.runs(case("copy_in")).filter(|run| run.is_precise()) {
        let times = time(bench, || Ok(buffer.write(&from)?))?;
        run.report(&times, &buffer)?;
        run.check(&buffer, 0.0, || from.clone());
    }
    buffer.write(&from)?;
    let mut to = vec![0.0_f32; numbers];
    for run in bench.runs(case("copy_out")).filter(|run| run.is_precise()) {
        let times = time(bench, || Ok(buffer.read(&mut to)?))?;
        run.report_values(&times, &to);
        run.check_near(&to, 0.0, || from.clone());
    }
    Ok(())
}

/// Times something that returns when it is done.
fn time(bench: &Bench, mut run: impl FnMut() -> Outcome) -> Outcome<Times> {
    let mut once = || -> Outcome<f64> {
        let start = Instant::now();
        run()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let first = once()?;
    for _ in 1..WARM_UP {
        once()?;
    }
    let times = (0..bench.settings().runs).map(|_| once()).collect::<Outcome<_>>()?;
    Ok(Times::new(first, times, Clock::Host))
}
