//! Clones blocks. The clones use each other's results.

use std::collections::{BTreeSet, HashMap};

use schism_llvm::{Block, Builder, Opcode, TypeKind, Value};

use crate::ir::cfg::{Cfg, Loop};

/// What became of blocks and of the values in them.
#[derive(Default)]
pub(crate) struct ClonedBlocks<'m> {
    pub blocks: HashMap<Block<'m>, Block<'m>>,
    pub values: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> ClonedBlocks<'m> {
    /// The copy of a value, or the value itself if it was not cloned.
    pub fn value(&self, value: Value<'m>) -> Value<'m> {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// The copy of a block, or the block itself if it was not cloned.
    pub fn block(&self, block: Block<'m>) -> Block<'m> {
        self.blocks.get(&block).copied().unwrap_or(block)
    }
}

/// Whether an instruction may be cloned into a block that only some work-items of a group reach.
pub(crate) fn is_cloneable(instruction: Value<'_>) -> bool {
    if instruction.opcode() != Some(Opcode::Call) {
        return is_duplicable(instruction);
    }
    is_duplicable(instruction)
        && (instruction.calls_intrinsic(&["assume"]) || instruction.bundle_tags().is_empty())
        && !instruction.has_attribute_of_call("nomerge")
}

/// Whether there may be several copies of an instruction, of which a work-item runs what it ran
/// before.
pub(crate) fn is_duplicable(instruction: Value<'_>) -> bool {
    if instruction.ty().kind() == TypeKind::Token {
        return false;
    }
    match instruction.opcode() {
        // Assembly may define a symbol.
        Some(Opcode::Call) => {
            !instruction.called_value().is_inline_assembly()
                && !["convergent", "noduplicate", "returns_twice"]
                    .into_iter()
                    .any(|name| instruction.has_attribute_of_call(name))
        }
        Some(
            Opcode::Alloca
            | Opcode::Invoke
            | Opcode::IndirectBr
            | Opcode::CallBr
            | Opcode::LandingPad
            | Opcode::Resume
            | Opcode::CatchSwitch
            | Opcode::CatchPad
            | Opcode::CleanupPad
            | Opcode::CatchRet
            | Opcode::CleanupRet,
        )
        | None => false,
        Some(_) => true,
    }
}

/// Clones a loop. What its exits lead to gets the clones' values from the clones.
pub(crate) fn clone_loop<'m>(cfg: &Cfg<'m>, of: &Loop) -> ClonedBlocks<'m> {
    let blocks: Vec<Block<'m>> = of.blocks.iter().map(|&number| cfg.blocks[number]).collect();
    let cloned = clone_blocks(&blocks);
    let next = of.blocks.iter().flat_map(|&inside| cfg.successors[inside].iter().copied());
    let out: BTreeSet<usize> = next.filter(|next| !of.blocks.contains(next)).collect();
    for phi in out.into_iter().flat_map(|next| cfg.blocks[next].phis()) {
        for index in 0..phi.num_incoming() {
            let from = phi.incoming_block(index);
            let Some(&clone) = cloned.blocks.get(&from) else { continue };
            phi.add_incoming(cloned.value(phi.incoming_value(index)), clone);
        }
    }
    cloned
}

/// Copies blocks, behind the last of them. Edges between them lead to copies; edges out of them
/// lead where they led, and phis there are the caller's business. A phi has an edge from whatever
/// it had one from, or from its copy.
pub(crate) fn clone_blocks<'m>(blocks: &[Block<'m>]) -> ClonedBlocks<'m> {
    let mut cloned = ClonedBlocks::default();
    let mut phis = Vec::new();
    let Some(&last) = blocks.last() else { return cloned };
    let function = last.function();
    let context = function.ty().context();
    let builder = Builder::new(context);
    let mut behind = last;
    for &block in blocks {
        let new = function.append_block("");
        new.move_after(behind);
        behind = new;
        cloned.blocks.insert(block, new);
        builder.position_at_end(new);
        for instruction in block.instructions() {
            let clone = if instruction.opcode() == Some(Opcode::Phi) {
                let clone = builder.phi(instruction.ty());
                if instruction.has_fast_math() {
                    clone.set_fast_math_flags(instruction.fast_math_flags());
                }
                phis.push((instruction, clone));
                clone
            } else {
                let clone = instruction.duplicate();
                builder.insert(clone);
                clone
            };
            if instruction.ty().kind() != TypeKind::Void {
                cloned.values.insert(instruction, clone);
            }
        }
    }
    for (phi, clone) in phis {
        for index in 0..phi.num_incoming() {
            let value = cloned.value(phi.incoming_value(index));
            let from = cloned.block(phi.incoming_block(index));
            clone.add_incoming(value, from);
        }
    }
    for block in blocks {
        for clone in cloned.blocks[block].instructions() {
            if clone.opcode() != Some(Opcode::Phi) {
                redirect(clone, &cloned);
            }
        }
    }
    cloned
}

/// Lets a copy use copies.
fn redirect<'m>(clone: Value<'m>, cloned: &ClonedBlocks<'m>) {
    for index in 0..clone.num_operands() {
        let operand = clone.operand(index);
        if let Some(&new) = cloned.values.get(&operand) {
            clone.set_operand(index, new);
        }
    }
    if clone.is_terminator() {
        for index in 0..clone.num_successors() {
            let next = clone.successor(index);
            if let Some(&new) = cloned.blocks.get(&next) {
                clone.set_successor(index, new);
            }
        }
    }
}

/// Inserts a copy of an instruction that has other operands.
pub(crate) fn insert_copy<'m>(
    builder: &Builder<'m>,
    instruction: Value<'m>,
    operands: &[Value<'m>],
) -> Value<'m> {
    let copy = instruction.duplicate();
    builder.insert(copy);
    for (&operand, index) in operands.iter().zip(0..) {
        copy.set_operand(index, operand);
    }
    copy
}

/// Computes a value once more, with what it is made of for which `is_copied` holds. `known` are the values
/// that were computed before.
pub(crate) fn compute_again<'m>(
    builder: &Builder<'m>,
    value: Value<'m>,
    is_copied: &dyn Fn(Value<'m>) -> bool,
    known: &mut HashMap<Value<'m>, Value<'m>>,
) -> Value<'m> {
    if !value.is_instruction() || !is_copied(value) {
        return value;
    }
    if let Some(&known) = known.get(&value) {
        return known;
    }
    let operands = value.operands();
    let operands: Vec<Value<'m>> =
        operands.map(|operand| compute_again(builder, operand, is_copied, known)).collect();
    let copy = insert_copy(builder, value, &operands);
    known.insert(value, copy);
    copy
}

/// Replaces the uses of a value in the blocks for which `is_place` holds: that of a phi is in the block that
/// the value comes from.
pub(crate) fn replace_uses_in<'m>(
    value: Value<'m>,
    new: Value<'m>,
    is_place: impl Fn(Block<'m>) -> bool,
) {
    for user in value.users() {
        for index in 0..user.num_operands() {
            if user.operand(index) == value && is_place(user.used_at(index)) {
                user.set_operand(index, new);
            }
        }
    }
}
