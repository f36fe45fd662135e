//! The two copies of a kernel of which a group runs one: with and without checks.

use schism_llvm::{AtomicOrdering, Block, Builder, Opcode, Value};

use crate::ir::clone;

/// How many instructions a kernel may have to be cloned.
const KERNEL: usize = 1500;

/// The metadata at the branch that chooses: to the copy without checks, else to the one with them.
const VERSIONS: &str = "schism.versions";

/// Where the copies begin.
#[derive(Clone, Copy)]
pub(crate) struct Versions<'m> {
    /// The branch in front of both.
    pub front: Value<'m>,
    pub unchecked: Block<'m>,
    pub checked: Block<'m>,
}

impl<'m> Versions<'m> {
    /// The copies that a kernel has, until LLVM's passes run over it.
    pub fn of(kernel: Value<'m>) -> Option<Self> {
        let front = kernel.entry().end();
        front.named_kind_metadata(VERSIONS)?;
        let [unchecked, checked] = [0, 1].map(|index| front.successor(index));
        Some(Versions { front, unchecked, checked })
    }
}

/// Whether a kernel can be cloned, and is small enough.
pub(crate) fn can_clone(kernel: Value<'_>) -> bool {
    let (instructions, entry) = (kernel.instructions(), kernel.entry());
    let stays = |one: &&Value<'_>| !is_local(**one) || one.block() != entry;
    instructions.len() <= KERNEL && instructions.iter().filter(stays).all(|it| is_duplicable(*it))
}

/// Clones a kernel behind `front`, a branch to its first block that stands in front of it; the
/// condition decides for a whole group that the original runs.
pub(crate) fn clone_kernel<'m>(front: Value<'m>, condition: Value<'m>) -> Versions<'m> {
    let kernel = front.parent_function();
    let unchecked = front.successor(0);
    let mut blocks = kernel.blocks();
    blocks.retain(|&block| block != front.block());
    for local in unchecked.instructions().into_iter().filter(|it| is_local(*it)) {
        local.remove_from_block();
        Builder::before(front.block().begin()).insert(local);
    }
    let cloned = clone::clone_blocks(&blocks);
    let checked = cloned.block(unchecked);
    let chooses = Builder::before(front).cond_br(condition, unchecked, checked);
    front.erase();
    let context = kernel.context();
    chooses.set_metadata(context.metadata_kind(VERSIONS), context.md_node(&[]).as_value(context));
    // LLVM, and that of a driver, would let both copies end in common code, which comes after checks
    // then. A fence is not moved there.
    let scope = context.sync_scope("block");
    for end in blocks.iter().map(|&block| cloned.block(block).end()) {
        if end.opcode() == Some(Opcode::Return) {
            Builder::before(end).fence(AtomicOrdering::AcquireRelease, scope);
        }
    }
    Versions { front: chooses, unchecked, checked }
}

fn is_local(one: Value<'_>) -> bool {
    one.opcode() == Some(Opcode::Alloca)
}

/// Whether there may be several copies of an instruction, if a group comes to one of them as a
/// whole.
fn is_duplicable(instruction: Value<'_>) -> bool {
    let is_barrier = instruction.callee().is_some_and(|callee| callee.is_intrinsic());
    clone::is_duplicable(instruction) || is_barrier
}
