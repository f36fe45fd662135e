//! Replaces markers of `schism::unroll` and its like by metadata of the loops around them.
//!
//! Before:
//! ```llvm
//! loop:
//!   ...
//!   %unused = call i64 asm "/* schism: unroll 4 $0 */", "=&r,0,..."(i64 0)
//!   br label %loop
//! ```
//! After:
//! ```llvm
//! loop:
//!   ...
//!   br label %loop, !llvm.loop !0
//!
//! !0 = distinct !{!0, !1}
//! !1 = !{!"llvm.loop.unroll.count", i32 4}
//! ```
//!
//! `schism::__private::independent_iterations` has a marker of the same kind, which becomes the
//! property `schism.independent_iterations`: it says that iterations may be computed in any order,
//! and [`vectorize`](crate::vectorize) does so.
//!
//! A marker is inline assembly without an instruction ([`MARK`]). LLVM removes it as soon as it
//! simplifies code, since its result is unused; so this pass runs before LLVM's passes, over the
//! IR that rustc has made, and nothing has been inlined yet.
//!
//! **Which loop.** The smallest natural loop that contains the marker. A marker in no loop of its
//! function belongs to the loops around the direct calls of that function, as it would after
//! inlining: `schism::unroll` itself, and closures that an iterator calls, are such functions. A
//! marker that is in no loop there either has no effect. Of several hints for a loop `disable`
//! counts before `full`, that before the greatest count, and each of them before independence.
//!
//! **What the loop gets.** All latches get the same node, as LLVM expects. Other properties of the
//! loop stay. What rebuilds loops later keeps the metadata on the latches: a clone of a loop has
//! the original's hint. [`unroll_hints`](crate::gpu::unroll_hints) leaves loops alone that have a
//! hint, and [`strip_mine`](crate::bounds::strip_mine) those that must not be unrolled.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, Block, Opcode, Value};

use crate::ir::cfg::{Cfg, NaturalLoop};
use crate::ir::metadata;

/// What the text of a marker begins with; `full`, `disable` or the count follows.
pub const MARK: &str = "/* schism: unroll ";

/// What the text of a marker of independent iterations begins with.
const INDEPENDENT: &str = "/* schism: independent iterations ";

/// What a marker asks for; the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hint {
    Disable,
    Full,
    Count(Reverse<u32>),
    /// Iterations have nothing to do with each other.
    Independent,
}

impl Hint {
    /// What the text of inline assembly asks for, if it is a marker's.
    fn of_text(text: &str) -> Option<Self> {
        if text.starts_with(INDEPENDENT) {
            return Some(Self::Independent);
        }
        match text.strip_prefix(MARK)?.split(' ').next()? {
            "disable" | "1" => Some(Self::Disable),
            "full" => Some(Self::Full),
            count => count.parse().ok().filter(|&count| count > 1).map(Reverse).map(Self::Count),
        }
    }

    /// The loop's property, and its number.
    const fn property(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Disable => (metadata::UNROLL_DISABLE, None),
            Self::Full => ("llvm.loop.unroll.full", None),
            Self::Count(Reverse(count)) => (metadata::UNROLL_COUNT, Some(count)),
            Self::Independent => (metadata::INDEPENDENT_ITERATIONS, None),
        }
    }
}

/// The loops of a function, with their hints.
struct Loops<'m> {
    cfg: Cfg<'m>,
    /// Smaller ones first.
    loops: Vec<(NaturalLoop, Option<Hint>)>,
}

impl<'m> Loops<'m> {
    fn of(function: Value<'m>) -> Self {
        let cfg = Cfg::of(function);
        let mut loops = cfg.natural_loops();
        loops.sort_by_key(|one| one.blocks.len());
        Self { cfg, loops: loops.into_iter().map(|one| (one, None)).collect() }
    }

    /// Gives the innermost loop around a block a hint; false if there is none.
    fn add(&mut self, block: Block<'m>, hint: Hint) -> bool {
        let number = self.cfg.index[&block];
        let found = self.loops.iter_mut().find(|(one, _)| one.blocks.contains(&number));
        let Some((_, strongest)) = found else { return false };
        *strongest = Some(strongest.map_or(hint, |other| other.min(hint)));
        true
    }
}

/// Lowers the markers of a module.
pub(super) fn run(module: &Module<'_>) {
    let functions = module.handle().functions();
    let mut markers = Vec::new();
    for instruction in functions.iter().flat_map(|function| function.instructions()) {
        if let Some(hint) = hint(instruction) {
            markers.push((instruction, hint));
        }
    }
    if markers.is_empty() {
        return;
    }
    let mut loops: HashMap<Value<'_>, Loops<'_>> = HashMap::new();
    // Calls that stand where a hint applies, and the functions whose calls have been looked for.
    let mut open = markers.clone();
    let mut seen = HashSet::new();
    while let Some((call, hint)) = open.pop() {
        let function = call.parent_function();
        let loops = loops.entry(function).or_insert_with(|| Loops::of(function));
        if !loops.add(call.block(), hint) && seen.insert((function, hint)) {
            let calls = function.users().into_iter().filter(|user| user.callee() == Some(function));
            open.extend(calls.map(|call| (call, hint)));
        }
    }
    for function in functions {
        let Some(Loops { cfg, loops }) = loops.get(&function) else { continue };
        for (one, hint) in loops {
            let Some((property, number)) = hint.map(Hint::property) else { continue };
            let ends: Vec<_> = one.latches.iter().map(|&latch| cfg.blocks[latch].end()).collect();
            metadata::set_unroll(&ends, property, number);
        }
    }
    for (marker, _) in markers {
        marker.replace_with(marker.operand(0));
    }
}

/// What a marker asks for; `None` of all other instructions.
fn hint(instruction: Value<'_>) -> Option<Hint> {
    if instruction.opcode() != Some(Opcode::Call) {
        return None;
    }
    let called = instruction.called_value();
    let returns_argument =
        |call: Value<'_>| call.num_args() == 1 && call.operand(0).ty() == call.ty();
    if !called.is_inline_assembly() || !returns_argument(instruction) {
        return None;
    }
    Hint::of_text(std::str::from_utf8(&called.assembly_text()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(Hint::of_text("/* schism: unroll 1 ${0:q} */"), Some(Hint::Disable));
        assert_eq!(Hint::of_text("/* schism: unroll disable ${0:q} */"), Some(Hint::Disable));
        assert_eq!(Hint::of_text("/* schism: unroll full ${0:q} */"), Some(Hint::Full));
        let count = Hint::of_text("/* schism: unroll 16 ${0:q} */");
        assert_eq!(count, Some(Hint::Count(Reverse(16))));
        for other in ["nop", "/* schism: convergent */", "/* schism: unroll 0 ${0:q} */"] {
            assert_eq!(Hint::of_text(other), None, "{other}");
        }
        assert!(Hint::Disable < Hint::Full && Some(Hint::Full) < count);
        let independent = Hint::of_text("/* schism: independent iterations ${0:q} */");
        assert_eq!(independent, Some(Hint::Independent));
        assert!(count < independent);
        assert!(count < Some(Hint::Count(Reverse(8))));
    }
}
