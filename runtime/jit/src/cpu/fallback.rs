//! Kernels on which LLVM's loop vectoriser works for ever.
//!
//! LLVM 22 asks of each value in a loop whether it is the same in all iterations, and to answer that, the same of its operands, without
//! taking note of what it has asked before (`vputils::isUniformAcrossVFsAndUFs`). In a chain of such values of which each is used twice
//! by the next (`h = (h ^ x).rotate_left(23)`, x loaded from a place that the loop may write to), that doubles the time with each step: a
//! chain of 20 takes seconds, one of 40 takes years, by plain rustc as well.
//!
//! LLVM cannot be stopped, and other kernels take their time, too. So after [`LIMIT`] the kernel is compiled a second time, without the
//! loop vectoriser. Whichever comes to an end first counts. The thread of the other one goes on at the lowest priority.

use std::time::Duration;

use schism_llvm::fatal::Isolated;
use schism_llvm::fatal::Running;

/// Processor time after which a kernel is compiled a second time. Kernels of hundreds of loops take less.
pub const LIMIT: Duration = Duration::from_secs(20);

/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

/// The result of `compile(true)`, or that of `compile(false)` if the first has taken more processor time than the limit, and the second
/// ends before it.
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
            return outcome;
        }
        if let Some(outcome) = first.wait_for(Duration::ZERO) {
            second.give_way();
            return outcome;
        }
    }
}
