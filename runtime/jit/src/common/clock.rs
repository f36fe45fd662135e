//! Implements the clock builtins.
//!
//! Before:
//! ```llvm
//! %ticks = call i64 @__schism_clock()
//! ```
//! After, when the body is inlined:
//! ```llvm
//! %ticks = call i64 @llvm.readcyclecounter()
//! ```
//! These are `rdtsc` on x86-64, and the register `%clock64` in PTX. The time in nanoseconds is
//! `%globaltimer` in PTX; a CPU calls the process that has loaded the code.

use schism_jit_abi::code;

use crate::JitError;
use crate::common::image::{self, CLOCK, TIME};
use crate::common::module::Module;
use schism_llvm::Context;

/// The source of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The process that has loaded the code.
    Process,
    /// An instruction of the target.
    Target,
}

/// Gives the builtins bodies, which are always inlined.
pub fn add<'c>(context: &'c Context, module: &Module<'c>, time: Time) -> Result<(), JitError> {
    let source = match time {
        Time::Process => code::TIME,
        Time::Target => "llvm.readsteadycounter",
    };
    call(context, module, CLOCK, "llvm.readcyclecounter")?;
    call(context, module, TIME, source)
}

/// Gives a builtin that the module uses a body that calls a function.
pub fn call<'c>(
    context: &'c Context,
    module: &Module<'c>,
    builtin: &str,
    source: &str,
) -> Result<(), JitError> {
    let text = format!(
        "declare i64 @{source}() nounwind
         define i64 @{builtin}() alwaysinline nounwind {{
           %value = call i64 @{source}()
           ret i64 %value
         }}\n"
    );
    image::define_builtin(context, module, builtin, &text)
}
