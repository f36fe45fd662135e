//! What a launch costs: a kernel that does nothing.

use std::time::Instant;

use crate::Outcome;
use crate::measure::{Bench, Case, Times};
use crate::settings::Clock;

/// Launches that one timed run submits.
const LAUNCHES: usize = 1000;

/// Measures `launch_wait`, a launch that is waited for, and `launch_submit`, a launch among many that are waited for together. Both
/// are the host's time for one launch.
pub fn run(bench: &Bench) -> Outcome {
    let case = |kernel| Case { kernel, element: "none", size: 1, bytes: 0 };
    // Not the runs' own queues, whose launches are timed one by one.
    let queue = bench.queue();
    let samples = bench.settings().runs * 10;
    for run in bench.runs(case("launch_wait")).filter(|run| run.is_precise()) {
        let once = || -> Outcome<f64> {
            let start = Instant::now();
            queue.parallel_for(1, |_| ())?;
            Ok(start.elapsed().as_secs_f64())
        };
        let first = once()?;
        (0..samples).try_for_each(|_| once().map(drop))?;
        let times = (0..samples).map(|_| once()).collect::<Outcome<_>>()?;
        run.report_values::<u32>(&Times::new(first, times, Clock::Host), &[]);
    }
    for run in bench.runs(case("launch_submit")).filter(|run| run.is_precise()) {
        let once = || -> Outcome<f64> {
            let start = Instant::now();
            queue.scope(|scope| {
                (0..LAUNCHES)
                    .try_for_each(|_| scope.parallel_for(1, |_| ()).map(drop))
                    .map_err(Into::into)
            })?;
            Ok(start.elapsed().as_secs_f64() / LAUNCHES as f64)
        };
        let first = once()?;
        let times = (0..bench.settings().runs).map(|_| once()).collect::<Outcome<_>>()?;
        run.report_values::<u32>(&Times::new(first, times, Clock::Host), &[]);
    }
    Ok(())
}
