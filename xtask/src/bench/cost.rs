//! What other programs take: the time that passes, and the processor time.

use std::path::Path;
use std::time::Instant;

use cargo_schism::error::{FileContext, Result};

/// What a build or a run took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Seconds from its begin to its end.
    pub(super) wall: f64,
    /// Processor time of all its processes; its unit cancels out.
    pub(super) processor: f64,
}

impl Cost {
    /// Runs what starts other programs and waits for them; gives what they took, too.
    pub(super) fn of<T>(run: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
        let before = processor_ticks()?;
        let start = Instant::now();
        let value = run()?;
        let wall = start.elapsed().as_secs_f64();
        Ok((Self { wall, processor: processor_ticks()? - before }, value))
    }
}

/// Processor time of this process's children that have ended, and of theirs, in ticks of the clock
/// (`man 5 proc`).
fn processor_ticks() -> Result<f64> {
    let path = Path::new("/proc/self/stat");
    let text = std::fs::read_to_string(path).at("read", path)?;
    // The second field is a name in parentheses, which may have spaces in it. User and system time
    // of the children are the fields 16 and 17.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    Ok(fields.split_whitespace().skip(13).take(2).flat_map(str::parse::<f64>).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_schism::command;

    #[test]
    fn other_programs_take_time() {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo $i"]);
        let (cost, printed) = Cost::of(|| command::capture(shell, "to test", "")).unwrap();
        assert_eq!(printed, "200000\n");
        assert!(cost.wall > 0.0 && cost.processor > 0.0, "{cost:?}");
    }
}
