//! Places in the source.
//!
//! An image that was made with them describes its functions, and each instruction has the place that it is from. A function that stage 2
//! puts around a kernel is described by nothing, and code generators name no places in such a function. So when it has taken in the
//! kernel, it takes over the kernel's description:
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
//! What is not from the kernel keeps no place.

use schism_llvm::{Metadata, Value};

use crate::module::Module;

impl Module<'_> {
    /// Has a function take over the description of what it has taken in. Code of modules without places does not change.
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

/// The description of the function that an instruction was in before others took it in; `None` if it has no place.
fn origin(instruction: Value<'_>) -> Option<Metadata<'_>> {
    let mut place = instruction.debug_loc()?;
    while let Some(outer) = place.inlined_at() {
        place = outer;
    }
    // Stage 1 leaves no other scopes.
    Some(place.scope()).filter(|scope| scope.is_subprogram())
}
