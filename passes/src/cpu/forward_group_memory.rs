//! Keeps in registers what work-items leave in a group's memory for each other.
//!
//! Where the size of a group is known, so is which work-item reads what another one has stored. The
//! vector loops of a tree's levels, unrolled:
//! ```llvm
//!   %tile = call ptr @schism.local_memory(ptr %group)
//!   store <8 x i32> %a, ptr %tile
//!   %second = getelementptr i8, ptr %tile, i64 32
//!   store <8 x i32> %b, ptr %second
//!   %half = getelementptr i8, ptr %tile, i64 4
//!   %c = load <8 x i32>, ptr %half
//!   %d = add <8 x i32> %a, %c
//!   store <8 x i32> %d, ptr %tile
//! ```
//! After the pass, if nothing else reads that memory:
//! ```llvm
//!   %c = shufflevector <8 x i32> %a, <8 x i32> %b, <8 x i32> <i32 1, i32 2, …, i32 8>
//!   %d = add <8 x i32> %a, %c
//! ```
//!
//! The memory is that of local arrays, and of values that live across barriers. Only the group's
//! thread has it, and only by these addresses, unless one of them goes to a function or to memory:
//! then it stays as it is. Contents are known from a store or a load on to where control flow
//! meets. LLVM's own passes stop after a hundred instructions, and load no vector of two stores.
//!
//! Before that, updates of such memory become plain accesses:
//! ```llvm
//!   %old = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") monotonic
//! ```
//! becomes
//! ```llvm
//!   %old = load i32, ptr %bin
//!   %new = add i32 %old, 1
//!   store i32 %new, ptr %bin
//! ```
//! `split-at-barriers` gives that scope to relaxed updates of memory that belongs to one thread. The
//! processor's atomic instruction would wait for all stores before it. Runs behind `vectorize`: that
//! pass may reorder plain accesses of different work-items, and leaves updates in their order. What
//! is made has no access group, so LLVM takes no loop with it for a parallel one.

use std::collections::{BTreeMap, HashMap, HashSet};

use schism_llvm::{
    AtomicOrdering, Block, Builder, DataLayout, FUNCTION_INDEX, IntPredicate, Opcode, Type, Value,
};

use super::split_at_barriers::{CUT, GROUP_MEMORY, GROUP_SIZE, LOCAL_MEMORY};
use crate::gpu::demote_private_atomics::update;
use crate::ir::cfg::Cfg;
use crate::llvm_passes;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(function: Value<'_>) -> Result<(), String> {
    function.instructions().into_iter().filter(is_own_update).for_each(update);
    let has = |name| function.string_attribute(FUNCTION_INDEX, name).is_some();
    if !has(CUT) || !has(GROUP_SIZE) {
        return Ok(());
    }
    function.run_passes(llvm_passes::BEFORE_FORWARD_GROUP_MEMORY)?;
    for base in bases(function) {
        if let Some(addresses) = Addresses::of(base) {
            forward(function, &addresses);
            remove_dead_stores(&addresses);
            remove_unused(base);
        }
    }
    Ok(())
}

/// Whether an instruction is a relaxed update of memory that belongs to one thread.
fn is_own_update(instruction: &Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::AtomicRMW)
        && instruction.has_sync_scope("singlethread")
        && instruction.ordering() == AtomicOrdering::Monotonic
        && !instruction.is_volatile()
}

/// The calls that give its own group memory.
fn bases(function: Value<'_>) -> Vec<Value<'_>> {
    let is_base = |it: &Value<'_>| {
        it.direct_callee().is_some_and(|callee| {
            let name = callee.name();
            name == LOCAL_MEMORY || name == GROUP_MEMORY
        })
    };
    function.instructions().into_iter().filter(is_base).collect()
}

/// All addresses in a piece of memory, and how many bytes behind its begin they are, if that is
/// known.
struct Addresses<'m> {
    offsets: HashMap<Value<'m>, Option<u64>>,
    layout: DataLayout<'m>,
}

impl<'m> Addresses<'m> {
    /// None if an address goes where it cannot be followed.
    fn of(base: Value<'m>) -> Option<Self> {
        let layout = base.parent_function().module().data_layout();
        let mut this = Self { offsets: HashMap::from([(base, Some(0))]), layout };
        let mut open = vec![base];
        while let Some(address) = open.pop() {
            for user in address.users() {
                match user.opcode()? {
                    Opcode::GetElementPtr if user.operand(0) == address => {
                        let own = this.offsets[&address];
                        let offset = own.and_then(|own| this.offset_of(user, own));
                        if this.offsets.insert(user, offset).is_none() {
                            open.push(user);
                        }
                    }
                    Opcode::Phi | Opcode::Select => {
                        if this.offsets.insert(user, None).is_none() {
                            open.push(user);
                        }
                    }
                    Opcode::Load | Opcode::ICmp | Opcode::AtomicRMW
                        if user.opcode() != Some(Opcode::AtomicRMW)
                            || user.operand(1) != address => {}
                    Opcode::Store if user.operand(0) != address => {}
                    Opcode::Call if is_known_call(user) => {}
                    _ => return None,
                }
            }
        }
        Some(this)
    }

    /// The offset of an address that is computed of another one.
    fn offset_of(&self, address: Value<'m>, from: u64) -> Option<u64> {
        from.checked_add_signed(self.layout.constant_offset(address)?)
    }

    /// The bytes of an access of a type.
    fn bytes(&self, address: Value<'m>, ty: Type<'m>) -> Option<(u64, u64)> {
        let begin = self.offsets.get(&address).copied().flatten()?;
        Some((begin, begin.checked_add(store_size(self.layout, ty))?))
    }
}

/// Whether a call uses addresses only to read or write there: LLVM's own for vectors and memory.
fn is_known_call(call: Value<'_>) -> bool {
    call.calls_intrinsic(&[
        "masked.load.",
        "masked.store.",
        "masked.gather.",
        "masked.scatter.",
        "memset.",
        "memcpy.",
        "memmove.",
    ])
}

/// Some bytes of a value.
#[derive(Clone, Copy)]
struct Piece<'m> {
    end: u64,
    value: Value<'m>,
    /// The first of the value's bytes.
    from: u64,
}

/// What is known to be in memory: pieces by their first bytes.
#[derive(Clone, Default)]
struct Contents<'m>(BTreeMap<u64, Piece<'m>>);

impl<'m> Contents<'m> {
    /// Forgets bytes.
    fn forget(&mut self, begin: u64, end: u64) {
        let reaches =
            |(at, piece): (&u64, &Piece<'m>)| (*at < end && piece.end > begin).then_some(*at);
        let touched: Vec<u64> = self.0.range(..end).filter_map(reaches).collect();
        for at in touched {
            let Some(piece) = self.0.remove(&at) else { continue };
            if at < begin {
                self.0.insert(at, Piece { end: begin, ..piece });
            }
            if piece.end > end {
                self.0.insert(end, Piece { from: piece.from + (end - at), ..piece });
            }
        }
    }

    fn put(&mut self, begin: u64, end: u64, value: Value<'m>) {
        self.forget(begin, end);
        self.0.insert(begin, Piece { end, value, from: 0 });
    }

    /// The pieces of bytes, if all are known: the first byte of each.
    fn of(&self, begin: u64, end: u64) -> Option<Vec<(u64, Piece<'m>)>> {
        let (mut found, mut at) = (Vec::new(), begin);
        while at < end {
            let (&first, &piece) = self.0.range(..=at).next_back()?;
            if piece.end <= at {
                return None;
            }
            found.push((at, Piece { from: piece.from + (at - first), ..piece }));
            at = piece.end;
        }
        Some(found)
    }
}

/// Lets loads have what is known to be there.
fn forward<'m>(function: Value<'m>, addresses: &Addresses<'m>) {
    let cfg = Cfg::of(function);
    let mut at_end: Vec<Option<Contents<'m>>> = vec![None; cfg.blocks.len()];
    let mut done = HashSet::new();
    // In reverse post-order: a block stands behind its only predecessor.
    for (&block, number) in cfg.blocks.iter().zip(0..) {
        let mut contents = match cfg.predecessors[number][..] {
            [only] if done.contains(&only) => at_end[only].clone().unwrap_or_default(),
            _ => Contents::default(),
        };
        pass_block(block, addresses, &mut contents);
        at_end[number] = Some(contents);
        done.insert(number);
    }
}

fn pass_block<'m>(block: Block<'m>, addresses: &Addresses<'m>, contents: &mut Contents<'m>) {
    for one in block.instructions() {
        match one.opcode() {
            Some(Opcode::Load) if addresses.offsets.contains_key(&one.operand(0)) => {
                let plain = one.is_simple() && is_plain(one.ty());
                let bytes = addresses.bytes(one.operand(0), one.ty());
                let Some((begin, end)) = bytes.filter(|_| plain) else { continue };
                let pieces = contents.of(begin, end);
                let known = pieces.and_then(|pieces| made_of(addresses.layout, one, &pieces));
                if let Some(value) = known {
                    one.replace_uses(value);
                    one.erase();
                } else {
                    contents.put(begin, end, one);
                }
            }
            Some(Opcode::Store) if addresses.offsets.contains_key(&one.operand(1)) => {
                let value = one.operand(0);
                match addresses.bytes(one.operand(1), value.ty()) {
                    Some((begin, end)) if is_plain(value.ty()) => contents.put(begin, end, value),
                    Some((begin, end)) => contents.forget(begin, end),
                    None => contents.0.clear(),
                }
            }
            Some(Opcode::AtomicRMW | Opcode::Call) => {
                let mut operands = one.operands();
                // A vector of addresses is none of these, but is computed of them.
                let is_of_memory = is_known_call(one) || one.opcode() == Some(Opcode::AtomicRMW);
                let concerns =
                    |it: Value<'m>| addresses.offsets.contains_key(&it) || it.ty().is_vector();
                if is_of_memory && operands.any(concerns) {
                    contents.0.clear();
                }
            }
            _ => {}
        }
    }
}

/// Whether the bytes of a type in memory are those of its elements, one behind the other.
fn is_plain(ty: Type<'_>) -> bool {
    let element = if ty.is_vector() { ty.element_type() } else { ty };
    element.is_plain_number()
}

/// The bytes of a value in memory.
fn store_size<'m>(layout: DataLayout<'m>, ty: Type<'m>) -> u64 {
    layout.size_in_bits(ty).div_ceil(8)
}

/// The elements of a type: what they are, and how many.
fn elements(ty: Type<'_>) -> (Type<'_>, u64) {
    if ty.is_vector() { (ty.element_type(), ty.vector_size().into()) } else { (ty, 1) }
}

/// What a load would give, made of pieces; before the load.
fn made_of<'m>(
    layout: DataLayout<'m>,
    load: Value<'m>,
    pieces: &[(u64, Piece<'m>)],
) -> Option<Value<'m>> {
    let builder = Builder::before(load);
    let ty = load.ty();
    if let [(_, Piece { value, from: 0, .. })] = pieces
        && store_size(layout, value.ty()) == store_size(layout, ty)
    {
        return Some(if value.ty() == ty { *value } else { builder.bitcast(*value, ty) });
    }
    let (element, count) = elements(ty);
    let size = store_size(layout, element);
    // The element of a value that each element is.
    let mut sources: Vec<(Value<'m>, u32)> = Vec::new();
    for (at, &(begin, piece)) in pieces.iter().enumerate() {
        let (own, _) = elements(piece.value.ty());
        let last = pieces.get(at + 1).map_or(pieces[0].0 + count * size, |next| next.0);
        let bytes = last.min(piece.end) - begin;
        let fits = store_size(layout, own) == size
            && piece.from.is_multiple_of(size)
            && bytes.is_multiple_of(size);
        if !fits {
            return None;
        }
        let first = piece.from / size;
        sources.extend((first..first + bytes / size).map(|index| (piece.value, index as u32)));
    }
    if sources.len() as u64 != count {
        return None;
    }
    if !ty.is_vector() {
        return Some(element_of(&builder, sources[0], ty));
    }
    let mut vectors: Vec<Value<'m>> = Vec::new();
    for &(value, _) in &sources {
        if !vectors.contains(&value) {
            vectors.push(value);
        }
    }
    let first = vectors[0].ty();
    if vectors.len() <= 2 && vectors.iter().all(|it| it.ty() == first) && first.is_vector() {
        let other = vectors.get(1).copied().unwrap_or_else(|| first.poison());
        let behind = |value: Value<'m>| if value == vectors[0] { 0 } else { first.vector_size() };
        let mask: Vec<u32> = sources.iter().map(|&(value, index)| index + behind(value)).collect();
        let shuffled = builder.shuffle(vectors[0], other, &mask);
        return Some(if shuffled.ty() == ty { shuffled } else { builder.bitcast(shuffled, ty) });
    }
    let mut all = ty.poison();
    for (source, at) in sources.into_iter().zip(0_u64..) {
        let number = load.context().int_type(32).const_int(at, false);
        let one = element_of(&builder, source, element);
        all = builder.insert_element(all, one, number);
    }
    Some(all)
}

/// An element of a value, as another type of the same size.
fn element_of<'m>(
    builder: &Builder<'m>,
    (value, index): (Value<'m>, u32),
    ty: Type<'m>,
) -> Value<'m> {
    let one = if value.ty().is_vector() {
        let number = value.context().int_type(32).const_int(index.into(), false);
        builder.extract_element(value, number)
    } else {
        value
    };
    if one.ty() == ty { one } else { builder.bitcast(one, ty) }
}

/// Removes stores of bytes that nothing reads.
fn remove_dead_stores<'m>(addresses: &Addresses<'m>) {
    let mut read: Vec<(u64, u64)> = Vec::new();
    let mut stores: Vec<(Value<'m>, Option<(u64, u64)>)> = Vec::new();
    let mut seen = HashSet::new();
    for &address in addresses.offsets.keys() {
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::Load) => match addresses.bytes(address, user.ty()) {
                    Some(bytes) => read.push(bytes),
                    None => return,
                },
                Some(Opcode::Store) if !user.is_simple() => {}
                Some(Opcode::Store) if seen.insert(user) => {
                    stores.push((user, addresses.bytes(address, user.operand(0).ty())));
                }
                Some(Opcode::Call | Opcode::AtomicRMW) => return,
                _ => {}
            }
        }
    }
    for (store, bytes) in stores {
        let is_read = match bytes {
            Some((begin, end)) => read.iter().any(|&(from, to)| from < end && begin < to),
            None => !read.is_empty(),
        };
        if !is_read {
            store.erase();
        }
    }
}

/// Removes what asks for memory that nothing uses any more.
fn remove_unused(base: Value<'_>) {
    loop {
        let users = base.parent_function().instructions();
        let is_unused =
            |it: &&Value<'_>| it.opcode() == Some(Opcode::GetElementPtr) && !it.is_used();
        let unused: Vec<Value<'_>> = users.iter().filter(is_unused).copied().collect();
        if unused.is_empty() {
            break;
        }
        unused.into_iter().for_each(Value::erase);
    }
    // Only whether there is memory.
    let users = base.users();
    let asks = |user: &Value<'_>| {
        user.opcode() == Some(Opcode::ICmp)
            && user.icmp_predicate() == IntPredicate::EQ
            && user.operands().any(Value::is_zero)
    };
    if users.iter().all(asks) {
        for user in users {
            user.replace_uses(user.ty().zero());
            user.erase();
        }
        base.erase();
    }
}
