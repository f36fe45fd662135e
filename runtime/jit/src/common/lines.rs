//! Source locations.
//!
//! An image with debug information describes its functions, and each instruction has its source
//! location. A function that stage 2 puts around a kernel has no description, and code generators
//! emit no locations in such a function. So after inlining the kernel, it takes over the kernel's
//! description:
//! ```llvm
//! define ptx_kernel void @entry(ptr %0) {
//!   store i32 1, ptr %0, !dbg !8
//! !8 = !DILocation(line: 2, column: 3, scope: !4)
//! ```
//! becomes
//! ```llvm
//! define ptx_kernel void @entry(ptr %0) !dbg !4 {
//!   store i32 1, ptr %0, !dbg !8
//! ```
//! Instructions that are not from the kernel keep no location.

use schism_llvm::{Metadata, Value};

use crate::common::module::Module;

impl Module<'_> {
    /// Makes a function take over the description of what was inlined into it. Modules without
    /// locations do not change.
    pub fn adopt_lines(&self, function: &str) {
        let Some(function) = self.function(function) else { return };
        let instructions = function.instructions();
        let Some(description) = instructions.iter().find_map(|&at| origin(at)) else { return };
        let is_taken = |other: Value<'_>| other.subprogram() == Some(description);
        let taken = self.functions().into_iter().any(is_taken);
        if !taken {
            function.set_subprogram(description);
        }
        for instruction in instructions {
            if taken || origin(instruction) != Some(description) {
                instruction.set_debug_loc(None);
            }
        }
    }
}

/// The description of the function that an instruction was in before inlining; `None` if it has no
/// location.
fn origin(instruction: Value<'_>) -> Option<Metadata<'_>> {
    let mut place = instruction.debug_loc()?;
    while let Some(outer) = place.inlined_at() {
        place = outer;
    }
    // Stage 1 keeps no other scopes.
    Some(place.scope()).filter(|scope| scope.is_subprogram())
}
