//! Loops that combine floating-point numbers from one iteration to the next, such as sums.
//!
//! Intel's compiler for processors adds in another order than the program says: it makes a vector of
//! partial sums, also of OpenCL C, and whatever options and decorations say. It does so only if it
//! can compute how often the loop runs. So that is hidden: a loop is left on a condition that is
//! compared with something that is always 0 and that no compiler knows.
//!
//! ```text
//!      %end = OpIEqual %bool %i %n
//!             OpBranchConditional %end %after %loop
//! ```
//! becomes
//! ```text
//!   %offset = OpLoad %v3ulong %GlobalOffset             ; at the function's begin
//!      %one = OpCompositeExtract %ulong %offset 0
//!   %hidden = OpINotEqual %bool %one %ulong_0
//!      …
//!      %end = OpIEqual %bool %i %n
//!     %also = OpLogicalNotEqual %bool %end %hidden
//!             OpBranchConditional %also %after %loop
//! ```
//! Launches have no offset of OpenCL's.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::{Op, Word};
use schism_llvm::{Block, Opcode, Type, TypeKind, Value};

use super::{Lowered, Lowering};

impl<'m> Lowering<'m> {
    /// Something that is always false and that no compiler knows. Emitted where it is called.
    pub fn hidden_false(&mut self) -> Lowered<Word> {
        let (long, bool) = (self.int(64), self.bool());
        let hidden = self.hidden_zero()?;
        let zero = self.null(long);
        Ok(self.emit_of(Op::INotEqual, bool, &[hidden, zero]))
    }
}

/// The blocks that may leave a loop which combines numbers, of a function whose blocks are in
/// reverse post-order.
pub fn exits<'m>(order: &[Block<'m>]) -> HashSet<Block<'m>> {
    let place: HashMap<Block<'m>, usize> = order.iter().copied().zip(0..).collect();
    let mut predecessors: HashMap<Block<'m>, Vec<Block<'m>>> = HashMap::new();
    for &block in order {
        for next in block.successors() {
            predecessors.entry(next).or_default().push(block);
        }
    }
    let mut found = HashSet::new();
    for &header in order {
        let from = predecessors.get(&header).map(Vec::as_slice).unwrap_or_default();
        let latches = from.iter().copied().filter(|from| place[from] >= place[&header]);
        let latches: Vec<_> = latches.collect();
        if latches.is_empty() || !header.phis().into_iter().any(|phi| combines(phi, &latches)) {
            continue;
        }
        let mut blocks = HashSet::from([header]);
        let mut open = latches;
        while let Some(block) = open.pop() {
            if blocks.insert(block) {
                open.extend(predecessors.get(&block).into_iter().flatten());
            }
        }
        let leaves = |block: &&Block<'m>| block.successors().iter().any(|it| !blocks.contains(it));
        found.extend(blocks.iter().filter(leaves).copied());
    }
    found
}

/// Whether the numbers of a phi are computed of those of the iteration before.
fn combines<'m>(phi: Value<'m>, latches: &[Block<'m>]) -> bool {
    if !is_float(phi.ty()) {
        return false;
    }
    let mut open: Vec<_> = latches.iter().filter_map(|latch| phi.incoming(*latch)).collect();
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        // A number that stays the same is none that is combined.
        if value == phi {
            if !seen.is_empty() {
                return true;
            }
            continue;
        }
        let is_computed =
            value.opcode().is_some_and(|opcode| opcode != Opcode::Load && is_float(value.ty()));
        if is_computed && seen.insert(value) {
            open.extend(value.operands().filter(|operand| is_float(operand.ty())));
        }
    }
    false
}

fn is_float(ty: Type<'_>) -> bool {
    let one = if ty.is_vector() { ty.element_type() } else { ty };
    matches!(one.kind(), TypeKind::Half | TypeKind::Float | TypeKind::Double)
}
