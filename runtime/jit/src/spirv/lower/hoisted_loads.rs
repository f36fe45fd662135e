//! Loads that a driver hoists to where the kernel begins.
//!
//! Intel's compiler for processors computes what is the same in all work-items of a group and is
//! needed after a barrier once, at the kernel's begin: also a load before which a kernel looks
//! whether there is something at its address, of OpenCL C too.
//!
//! ```text
//!   if (at >= n) return;
//!   x = p[at];
//!   barrier(CLK_LOCAL_MEM_FENCE);
//!   out[get_global_id(0)] = x;
//! ```
//! So the address of such a load becomes one of which that compiler believes that each work-item
//! has its own:
//!
//! ```text
//!   %offset = OpLoad %v3ulong %GlobalOffset
//!     %zero = OpCompositeExtract %ulong %offset 0
//!       %id = OpLoad %v3ulong %LocalInvocationId
//!        %x = OpCompositeExtract %ulong %id 0
//!   %nothing = OpIMul %ulong %zero %x
//!        %at = OpPtrAccessChain %_ptr_CrossWorkgroup_uchar %p %nothing
//! ```
//! Launches have no offset of OpenCL's.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::{BuiltIn, Op, Word};
use schism_llvm::{Block, Opcode, Value};

use super::registers::is_barrier;
use super::{Lowered, Lowering, registers};

impl<'m> Lowering<'m> {
    /// The same address, which no compiler believes to be that of all work-items.
    pub fn own_address(&mut self, pointer: Word, space: u32) -> Lowered<Word> {
        let (long, ty) = (self.int(64), self.pointer(space)?);
        let zero = self.hidden_zero()?;
        let id = self.axis_of(BuiltIn::LocalInvocationId, 0)?;
        let nothing = self.emit_of(Op::IMul, long, &[zero, id]);
        Ok(self.emit_of(Op::PtrAccessChain, ty, &[pointer, nothing]))
    }
}

/// The loads that may be hoisted, of a function whose blocks are in reverse post-order.
pub fn find<'m>(order: &[Block<'m>]) -> HashSet<Value<'m>> {
    let positions = Positions::of(order);
    let mut varying = HashMap::new();
    let mut found = HashSet::new();
    if positions.barriers.is_empty() {
        return found;
    }
    // What the first block loads is loaded by every work-item.
    for block in order.iter().skip(1) {
        for load in block.instructions() {
            let is_load = load.opcode() == Some(Opcode::Load) && !load.is_atomic();
            if is_load
                && !varies(load.operand(0), &mut varying)
                && positions.outlives_barrier(load, &mut varying)
            {
                found.insert(load);
            }
        }
    }
    found
}

/// Where barriers and other instructions are.
struct Positions<'m> {
    /// The number of each instruction in its block.
    numbers: HashMap<Value<'m>, usize>,
    /// The numbers of each block's barriers.
    barriers: HashMap<Block<'m>, Vec<usize>>,
}

impl<'m> Positions<'m> {
    fn of(order: &[Block<'m>]) -> Self {
        let (mut numbers, mut barriers) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for &block in order {
            for (instruction, number) in block.instructions().into_iter().zip(0..) {
                numbers.insert(instruction, number);
                if is_barrier(instruction) {
                    barriers.entry(block).or_default().push(number);
                }
            }
        }
        Self { numbers, barriers }
    }

    /// Whether what is loaded is needed after a barrier, or what is computed of it and is the same in
    /// all work-items, too: what differs between work-items is kept where it was computed.
    fn outlives_barrier(&self, load: Value<'m>, varying: &mut HashMap<Value<'m>, bool>) -> bool {
        let (from, first) = (load.block(), self.numbers[&load]);
        // Blocks that are reachable from the load, and whether a barrier is on some way.
        let mut crossed: HashMap<Block<'m>, bool> = HashMap::new();
        let mut open = vec![(from, self.has_barrier(from, first..usize::MAX))];
        while let Some((block, after)) = open.pop() {
            for next in block.successors().into_iter().filter(|next| *next != from) {
                let known = crossed.get(&next).copied();
                if known.is_none() || (after && known == Some(false)) {
                    crossed.insert(next, after);
                    open.push((next, after || self.has_barrier(next, 0..usize::MAX)));
                }
            }
        }
        // A use at a place of a block.
        let is_after = |block: Block<'m>, number: usize| {
            if block == from {
                return self.has_barrier(from, first..number);
            }
            crossed.get(&block).is_some_and(|&after| after || self.has_barrier(block, 0..number))
        };
        let mut seen = HashSet::from([load]);
        let mut values = vec![load];
        while let Some(value) = values.pop() {
            for user in value.users().into_iter().filter(|user| user.is_instruction()) {
                let after = if user.opcode() == Some(Opcode::Phi) {
                    let mut edges = user.incoming_edges().into_iter();
                    edges.any(|(it, from)| it == value && is_after(from, usize::MAX))
                } else {
                    let number = self.numbers.get(&user);
                    number.is_some_and(|&number| is_after(user.block(), number))
                };
                if after {
                    return true;
                }
                if is_computed(user) && !varies(user, varying) && seen.insert(user) {
                    values.push(user);
                }
            }
        }
        false
    }

    fn has_barrier(&self, block: Block<'m>, within: std::ops::Range<usize>) -> bool {
        let barriers = self.barriers.get(&block).map(Vec::as_slice).unwrap_or_default();
        barriers.iter().any(|number| within.contains(number))
    }
}

/// Whether an instruction computes something of its operands alone, so that a compiler may compute
/// it later.
fn is_computed(it: Value<'_>) -> bool {
    use Opcode::*;
    let is_other = matches!(it.opcode(), Some(Phi | Load | Store | AtomicRMW | AtomicCmpXchg));
    let is_memory = is_other || matches!(it.opcode(), Some(Alloca | Fence));
    let is_call = it.opcode() == Some(Call) && !it.callee().is_some_and(Value::is_intrinsic);
    !is_memory && !is_call && !it.is_terminator()
}

/// Whether work-items have different values, because of their ids or private memory.
fn varies<'m>(value: Value<'m>, known: &mut HashMap<Value<'m>, bool>) -> bool {
    if !value.is_instruction() {
        return false;
    }
    if let Some(&known) = known.get(&value) {
        return known;
    }
    // A phi that depends on itself varies only if something else does.
    known.insert(value, false);
    let own = match value.opcode() {
        Some(Opcode::Alloca | Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => true,
        Some(Opcode::Call) => value.callee().is_none_or(|it| registers::varies(&it.name())),
        _ => false,
    };
    let varies = own || value.operands().any(|operand| varies(operand, known));
    known.insert(value, varies);
    varies
}
