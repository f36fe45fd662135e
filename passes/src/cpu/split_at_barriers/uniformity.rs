//! Which values are the same for all work-items of a group, given that all come to the same
//! barriers.
//!
//! A value varies if an operand does; memory may hold anything. Where work-items part at a branch
//! on a value that varies, each phi between the branch and the block where all meet again varies
//! too. So does a loop's counter if work-items leave the loop in different iterations, which makes
//! what is computed of it vary behind the loop.

use std::collections::HashSet;

use schism_llvm::{Opcode, Value};

use super::body::{Body, Next};
use crate::analysis::effects;
use crate::ir::address::is_constant_memory;
use crate::ir::graph::{Dominators, reached};

/// The values of a body that may differ between work-items.
pub(super) struct Varying<'m>(HashSet<Value<'m>>);

impl<'m> Varying<'m> {
    pub(super) fn of(body: &Body<'m>) -> Self {
        let mut varying = Varying(body.axes.iter().map(|axis| axis.id).collect());
        let meets = meeting_points(body);
        loop {
            let before = varying.0.len();
            for (block, number) in body.blocks.iter().zip(0..) {
                for instruction in block.instructions() {
                    if !varying.has(instruction) && varying.varies_by_itself(instruction) {
                        varying.0.insert(instruction);
                    }
                }
                if varying.parts(body, number) {
                    let influenced = influenced(body, number, meets[number]);
                    for &between in &influenced {
                        let mut phis = body.blocks[between].phis();
                        if Some(between) == meets[number] {
                            phis.retain(|&phi| chooses(body, phi, number, &influenced));
                        }
                        varying.0.extend(phis);
                    }
                }
            }
            if varying.0.len() == before {
                return varying;
            }
        }
    }

    /// Whether a value may differ between work-items.
    pub(super) fn has(&self, value: Value<'m>) -> bool {
        self.0.contains(&value)
    }

    /// Whether work-items may go on differently at the end of a block, those that panic aside.
    pub(super) fn parts(&self, body: &Body<'m>, block: usize) -> bool {
        let end = body.blocks[block].end();
        let ways: HashSet<Option<usize>> =
            body.next[block].iter().filter_map(|&next| way(body, next)).collect();
        ways.len() > 1 && self.has(end.operand(0))
    }

    /// Whether all work-items come to a block, those that panic aside, as often as any of them does.
    pub(super) fn come_together(&self, body: &Body<'m>, block: usize) -> bool {
        let meets = meeting_points(body);
        (0..body.blocks.len()).filter(|&branch| self.parts(body, branch)).all(|branch| {
            Some(block) == meets[branch]
                || !influenced(body, branch, meets[branch]).contains(&block)
        })
    }

    fn varies_by_itself(&self, instruction: Value<'m>) -> bool {
        match instruction.opcode() {
            Some(Opcode::Load) => {
                let address = instruction.operand(0);
                !instruction.is_simple() || !is_constant_memory(address) || self.has(address)
            }
            Some(Opcode::Phi) => {
                let mut values = instruction.incoming_edges().into_iter().map(|(value, _)| value);
                values.any(|value| self.has(value) || value.is_alloca())
            }
            _ if is_pure(instruction) || instruction.opcode() == Some(Opcode::Freeze) => {
                instruction.operands().any(|operand| self.has(operand) || operand.is_alloca())
            }
            _ => true,
        }
    }
}

/// Where an edge leads, if a work-item that takes it can still end: a block, or its end.
fn way(body: &Body<'_>, next: Next) -> Option<Option<usize>> {
    match next {
        Next::Block(block) => body.lives[block].then_some(Some(block)),
        Next::End => Some(None),
        Next::Outside => None,
    }
}

/// For each block the one where all work-items that part there meet again; `None` is their end.
fn meeting_points(body: &Body<'_>) -> Vec<Option<usize>> {
    let end = body.blocks.len();
    let mut backwards = vec![Vec::new(); end + 1];
    for (next, block) in body.next.iter().zip(0..) {
        for way in next.iter().filter_map(|&next| way(body, next)) {
            backwards[way.unwrap_or(end)].push(block);
        }
    }
    let dominators = Dominators::of(end, &backwards);
    (0..end).map(|block| dominators.immediate(block).filter(|&meet| meet != end)).collect()
}

/// The blocks between a branch and where all meet again, with that one.
fn influenced(body: &Body<'_>, branch: usize, meet: Option<usize>) -> HashSet<usize> {
    let alive = |block: usize| {
        let next = body.successors[block].iter().copied();
        next.filter(|&next| body.lives[next])
    };
    let until = |block: usize| alive(block).filter(move |_| Some(block) != meet);
    reached(alive(branch).chain(meet), until)
}

/// Whether a phi where all meet again depends on how a work-item came there from a branch.
fn chooses(body: &Body<'_>, phi: Value<'_>, branch: usize, influenced: &HashSet<usize>) -> bool {
    let meet = body.block_of(phi);
    let comes_from =
        |block: &usize| *block == branch || influenced.contains(block) && Some(*block) != meet;
    let edges = phi.incoming_edges().into_iter();
    let own = edges.filter(|(_, block)| body.index.get(block).is_some_and(comes_from));
    let values: HashSet<Value<'_>> = own.map(|(value, _)| value).collect();
    values.len() > 1
}

/// Whether an instruction only computes its result, of its operands alone. A division may trap.
pub(super) fn is_pure(instruction: Value<'_>) -> bool {
    use Opcode::{SDiv, SRem, UDiv, URem};
    matches!(instruction.opcode(), Some(UDiv | SDiv | URem | SRem)) || effects::is_pure(instruction)
}

/// Whether an instruction is cheaper to compute again than to keep its result in memory. It cannot
/// trap.
pub(super) fn is_cheap(instruction: Value<'_>) -> bool {
    use Opcode::{ExtractValue, GetElementPtr, InsertValue, IntToPtr};
    instruction.is_integer_arithmetic()
        || matches!(
            instruction.opcode(),
            Some(GetElementPtr | IntToPtr | ExtractValue | InsertValue)
        )
}

/// Whether an instruction does nothing where a group runs a block once: the barrier itself, and what
/// only tells LLVM something.
pub(super) fn is_skipped<'m>(body: &Body<'m>, block: usize, instruction: Value<'m>) -> bool {
    instruction.calls_intrinsic(&["lifetime.", "assume", "dbg.", "experimental.noalias.scope"])
        || body.barrier[block] == Some(instruction)
}
