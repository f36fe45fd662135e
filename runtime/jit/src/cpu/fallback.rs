//! A second compilation for kernels on which LLVM's loop vectoriser does not terminate.
//!
//! LLVM 22 checks for each value in a loop whether it is uniform, and recursively the same for its
//! operands, without memoization (`vputils::isUniformAcrossVFsAndUFs`). In a chain of values each
//! of which is used twice by the next (`h = (h ^ x).rotate_left(23)`, with x loaded from memory
//! that the loop may write), the time doubles with each step: a chain of 20 takes seconds, one of
//! 40 takes years, also under plain rustc.
//!
//! LLVM cannot be interrupted, and other kernels legitimately take long. So after [`LIMIT`] the
//! kernel is compiled a second time, without the loop vectoriser. The first to finish wins. The
//! other thread continues at the lowest priority, and ends with the step of the pipeline that it is
//! in, or with the process ([`Running::abandon`]).

use std::time::Duration;

use schism_llvm::fatal::Isolated;
use schism_llvm::fatal::Running;

/// Processor time after which a kernel is compiled a second time. Kernels of hundreds of loops take
/// less.
pub const LIMIT: Duration = Duration::from_secs(20);

/// The polling interval.
const LOOK: Duration = Duration::from_millis(100);

/// The result of `compile(true)`, or that of `compile(false)` if the first has used more processor
/// time than the limit, and the second finishes first.
pub fn first_of<T>(
    compile: impl Fn(bool) -> Result<Running<T>, Isolated>,
    limit: Duration,
) -> Result<T, Isolated> {
    let first = compile(true)?;
    while first.processor_time() < limit {
        if let Some(outcome) = first.wait_for(LOOK) {
            return outcome;
        }
    }
    let Ok(second) = compile(false) else { return first.wait() };
    first.give_way();
    loop {
        if let Some(outcome) = second.wait_for(LOOK) {
            first.abandon();
            return outcome;
        }
        if let Some(outcome) = first.wait_for(Duration::ZERO) {
            second.abandon();
            return outcome;
        }
    }
}
