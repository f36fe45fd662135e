//! Panics that show plain values pass them on, and no memory. Runs in stage 2, for devices whose memory the host reads afterwards.
//!
//! Before:
//! ```llvm
//!   store i64 %index, ptr %value
//!   store ptr %value, ptr %arguments                            ; { value, description }
//!   %description = getelementptr i8, ptr %arguments, i64 8
//!   store ptr @schism.type.0, ptr %description
//!   call void @__schism_panic_format(ptr @template, ptr %arguments, ptr @location)
//!   unreachable
//! ```
//! After:
//! ```llvm
//!   call void @__schism_panic_shaped.1(ptr @schism.shape, ptr @location, i64 %index)
//!   unreachable
//! ```
//! with all else of the message in a constant, its shape (`schism_message::shape`), and nothing left that needs the locals.
//!
//! A panic qualifies if everything that its message refers to is a constant, or a local of which every store is known and which only
//! holds, at this place, constants, addresses of such locals, and numbers. A local that changes is read right before the panic. Any
//! other panic stays as it is: one that shows what it has by reference, or by the program's own code.

use std::collections::HashMap;
use std::ffi::CString;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement};
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMUnnamedAddr};
use schism_message::shape::{MOST_PARTS, MOST_WORDS, PART_CONSTANT, PART_ROOM, PART_WORD, ROOM};
use schism_message::{ARGUMENT_SIZE, Kind, MAGIC, recorder};

use crate::{builtins, ir};

/// How deep values are followed.
const DEPTH: u32 = 8;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run_raw(module.as_mut_ptr()) };
}

/// Runs the pass over a module.
///
/// # Safety
/// The module is live, and nobody else changes it during the call.
pub unsafe fn run_raw(module: LLVMModuleRef) {
    let mut shapes = HashMap::new();
    for block in ir::functions(module).into_iter().flat_map(ir::blocks) {
        // What stands behind a panic goes with it.
        let Some((call, is_text)) = ir::instructions_of(block).into_iter().find_map(panic_of)
        else {
            continue;
        };
        // SAFETY: the call is live: it is the only one of its block that is looked at.
        unsafe {
            if let Some(message) = Message::of(module, call, is_text) {
                message.replace(module, call, &mut shapes);
            }
        }
    }
}

/// A call that panics, and whether it is with a text.
fn panic_of(call: LLVMValueRef) -> Option<(LLVMValueRef, bool)> {
    let name = ir::name_of(ir::callee(call)?);
    match &*name {
        builtins::PANIC => Some((call, true)),
        builtins::PANIC_FORMAT => Some((call, false)),
        _ => None,
    }
}

/// What is known of some bytes of the room.
#[derive(Clone, Copy)]
enum Bytes {
    /// A number or an address that never changes.
    Constant(LLVMValueRef),
    /// The address of bytes of a local.
    Local(usize, u64),
    /// A word with this number.
    Word(usize),
}

/// Where a word comes from: a value, or a local's bytes right before the panic; of wide ones, the second half.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word {
    source: Source,
    high: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Value(LLVMValueRef),
    Load(LLVMValueRef, u64, LLVMTypeRef),
    /// Twice a length, and one.
    Length(LLVMValueRef),
}

/// A local that the message refers to.
struct Local {
    alloca: LLVMValueRef,
    size: u64,
    /// Where it is in the room.
    place: u64,
    /// What it holds: offset, bytes, content.
    content: Vec<(u64, u64, Bytes)>,
}

/// What uses a local.
struct Uses {
    /// The instruction, the offset, the value.
    stores: Vec<(LLVMValueRef, u64, LLVMValueRef)>,
    is_read: bool,
    /// Locals that hold its address.
    holders: Vec<LLVMValueRef>,
}

/// A message that qualifies.
struct Message {
    /// The two words of its `core::fmt::Arguments`.
    head: [Bytes; 2],
    location: LLVMValueRef,
    locals: Vec<Local>,
    words: Vec<Word>,
}

impl Message {
    /// Looks at a call.
    ///
    /// # Safety
    /// It is a call of a builtin that panics, in a live module.
    unsafe fn of(module: LLVMModuleRef, call: LLVMValueRef, is_text: bool) -> Option<Self> {
        // SAFETY: the caller promises such a call; every value that is reached is live.
        unsafe {
            let [template, args, location] = [0, 1, 2].map(|index| LLVMGetOperand(call, index));
            if !is_constant_memory(template, DEPTH) {
                return None;
            }
            let nothing = Bytes::Word(0);
            let mut this =
                Self { head: [nothing; 2], location, locals: Vec::new(), words: Vec::new() };
            this.head[0] = if LLVMIsConstant(template) != 0 {
                Bytes::Constant(template)
            } else {
                this.word(Source::Value(template), false)?
            };
            this.head[1] = if is_text && !LLVMIsAConstantInt(args).is_null() {
                let len = LLVMConstIntGetZExtValue(args);
                Bytes::Constant(LLVMConstInt(LLVMTypeOf(args), len << 1 | 1, 0))
            } else if is_text {
                this.word(Source::Length(args), false)?
            } else if LLVMIsConstant(args) != 0 {
                Bytes::Constant(args)
            } else {
                let (alloca, offset) = local_of(module, args)?;
                Bytes::Local(this.local(module, alloca)?, offset)
            };
            let mut next = 0;
            while next < this.locals.len() {
                this.fill(module, call, next)?;
                next += 1;
            }
            let parts: usize = this.locals.iter().map(|local| local.content.len()).sum();
            let fits = parts + 2 <= MOST_PARTS;
            let arguments = match this.head[1] {
                Bytes::Local(index, 0) => this.locals[index].size / ARGUMENT_SIZE as u64,
                Bytes::Local(..) => return None,
                _ => 0,
            };
            let shown = (0..arguments).all(|index| this.shows_argument(index));
            (fits && shown).then_some(this)
        }
    }

    fn word(&mut self, source: Source, high: bool) -> Option<Bytes> {
        let word = Word { source, high };
        let known = self.words.iter().position(|&other| other == word);
        let index = known.unwrap_or(self.words.len());
        if known.is_none() {
            self.words.push(word);
        }
        (index < MOST_WORDS).then_some(Bytes::Word(index))
    }

    /// The number of a local.
    ///
    /// # Safety
    /// It is a live `alloca` of the module.
    unsafe fn local(&mut self, module: LLVMModuleRef, alloca: LLVMValueRef) -> Option<usize> {
        if let Some(known) = self.locals.iter().position(|local| local.alloca == alloca) {
            return Some(known);
        }
        // SAFETY: as promised by the caller; an `alloca` has one operand, the number of elements.
        let size = unsafe {
            let count = LLVMGetOperand(alloca, 0);
            if LLVMIsAConstantInt(count).is_null() || LLVMConstIntGetZExtValue(count) != 1 {
                return None;
            }
            LLVMABISizeOfType(LLVMGetModuleDataLayout(module), LLVMGetAllocatedType(alloca))
        };
        let end = |local: &Local| (local.place + local.size).next_multiple_of(16);
        let place = self.locals.last().map_or(16, end);
        if place.checked_add(size)? > ROOM as u64 {
            return None;
        }
        self.locals.push(Local { alloca, size, place, content: Vec::new() });
        Some(self.locals.len() - 1)
    }

    /// Finds out what a local holds when the message is left.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn fill(
        &mut self,
        module: LLVMModuleRef,
        call: LLVMValueRef,
        index: usize,
    ) -> Option<()> {
        let Local { alloca, size, .. } = self.locals[index];
        // SAFETY: as promised by the caller; operands are those of the instructions' kinds.
        unsafe {
            let uses = uses(module, alloca)?;
            // Nobody gets the address, but what only reads.
            let mut holders = uses.holders;
            let mut seen = Vec::new();
            while let Some(holder) = holders.pop() {
                if !seen.contains(&holder) {
                    seen.push(holder);
                    let of_holder = self::uses(module, holder)?;
                    if of_holder.is_read {
                        return None;
                    }
                    holders.extend(of_holder.holders);
                }
            }
            let block = LLVMGetInstructionParent(call);
            let mut keys: Vec<(u64, LLVMTypeRef)> = Vec::new();
            for &(_, offset, value) in &uses.stores {
                let key = (offset, LLVMTypeOf(value));
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            keys.sort_unstable_by_key(|key| key.0);
            let mut end = 0;
            for (offset, ty) in keys {
                let bytes = size_of_scalar(ty)?;
                if offset < end || offset.checked_add(bytes)? > size {
                    return None;
                }
                end = offset + bytes;
                let stores = uses.stores.iter().filter(|store| store.1 == offset);
                let stores: Vec<_> = stores.map(|&(store, _, value)| (store, value)).collect();
                // The last one in front of the panic; or one that nothing but it can have been.
                let before = |&(store, _): &(LLVMValueRef, LLVMValueRef)| {
                    LLVMGetInstructionParent(store) == block && comes_before(store, call)
                };
                let last =
                    stores.iter().copied().filter(before).reduce(|last, store| {
                        if comes_before(last.0, store.0) { store } else { last }
                    });
                let is_fixed = |value| {
                    LLVMIsConstant(value) != 0
                        || is_pointer(ty) && local_of(module, value).is_some()
                };
                let value = last.map(|(_, value)| value).or(match stores[..] {
                    [(_, value)] if is_fixed(value) => Some(value),
                    _ => None,
                });
                self.hold(module, index, offset, ty, value)?;
            }
        }
        Some(())
    }

    /// Notes what bytes of a local are: a value, or whatever the local has there.
    ///
    /// # Safety
    /// As for [`Self::of`]; the value is of that type.
    unsafe fn hold(
        &mut self,
        module: LLVMModuleRef,
        index: usize,
        offset: u64,
        ty: LLVMTypeRef,
        value: Option<LLVMValueRef>,
    ) -> Option<()> {
        // SAFETY: as promised by the caller.
        unsafe {
            let bytes = size_of_scalar(ty)?;
            let content = match value {
                Some(value) if is_pointer(ty) && LLVMIsConstant(value) != 0 => {
                    if !is_constant_memory(value, DEPTH) {
                        return None;
                    }
                    Bytes::Constant(value)
                }
                Some(value) if bytes <= 8 && !LLVMIsAConstantInt(value).is_null() => {
                    Bytes::Constant(value)
                }
                Some(value) => match local_of(module, value).filter(|_| is_pointer(ty)) {
                    Some((alloca, offset)) => Bytes::Local(self.local(module, alloca)?, offset),
                    None => self.word(Source::Value(value), false)?,
                },
                None => self.word(Source::Load(self.locals[index].alloca, offset, ty), false)?,
            };
            self.locals[index].content.push((offset, bytes.min(8), content));
            if let (Bytes::Word(low), 9..) = (content, bytes) {
                let source = self.words[low].source;
                let high = self.word(source, true)?;
                self.locals[index].content.push((offset + 8, bytes - 8, high));
            }
        }
        Some(())
    }

    fn content(&self, local: usize, offset: u64) -> Option<Bytes> {
        let known = self.locals[local].content.iter().find(|(at, ..)| *at == offset);
        known.map(|&(.., bytes)| bytes)
    }

    /// Whether the host can show an argument.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn shows_argument(&self, index: u64) -> bool {
        let at = index * ARGUMENT_SIZE as u64;
        let Bytes::Local(arguments, _) = self.head[1] else { return false };
        // SAFETY: as promised by the caller.
        unsafe {
            match (self.content(arguments, at), self.content(arguments, at + 8)) {
                // A number that is a width has no address.
                (Some(Bytes::Constant(value)), Some(_)) if LLVMIsNull(value) != 0 => true,
                (Some(Bytes::Constant(_)), Some(Bytes::Constant(described))) => {
                    Described::of(described).is_some()
                }
                (Some(Bytes::Local(local, offset)), Some(Bytes::Constant(described))) => {
                    self.shows(described, local, offset, DEPTH)
                }
                _ => false,
            }
        }
    }

    /// Whether the host can show a value in a local.
    ///
    /// # Safety
    /// As for [`Self::of`].
    unsafe fn shows(&self, described: LLVMValueRef, local: usize, at: u64, depth: u32) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let Some(of) = Described::of(described).filter(|_| depth != 0) else { return false };
            if of.is_flat(depth) {
                return true;
            }
            match of.kind {
                Kind::Reference => {
                    let Some((_, to)) = of.part(0) else { return false };
                    let kind = Described::of(to).map(|to| to.kind);
                    let described = match (kind, self.content(local, at + 8)) {
                        (Some(Kind::Dyn), Some(Bytes::Constant(vtable))) => {
                            initializer(vtable).and_then(|vtable| element(vtable, 3))
                        }
                        (Some(Kind::Dyn), _) => None,
                        (Some(Kind::Slice), _) => {
                            Described::of(to).and_then(|to| to.part(0)).map(|part| part.1)
                        }
                        _ => Some(to),
                    };
                    let Some(described) = described else { return false };
                    match self.content(local, at) {
                        Some(Bytes::Constant(_)) => Described::of(described).is_some(),
                        Some(Bytes::Local(..)) if kind == Some(Kind::Slice) => {
                            Described::of(described).is_some_and(|of| of.is_flat(depth))
                        }
                        Some(Bytes::Local(local, at)) => {
                            self.shows(described, local, at, depth - 1)
                        }
                        _ => false,
                    }
                }
                Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper => of.all_parts(|part| {
                    at.checked_add(part.0)
                        .is_some_and(|at| self.shows(part.1, local, at, depth - 1))
                }),
                _ => false,
            }
        }
    }

    /// Puts the new call in the place of the old one.
    ///
    /// # Safety
    /// As for [`Self::of`], of the call that this was made of.
    unsafe fn replace(
        &self,
        module: LLVMModuleRef,
        call: LLVMValueRef,
        shapes: &mut HashMap<LLVMValueRef, LLVMValueRef>,
    ) {
        // SAFETY: as promised by the caller; everything is made in front of the call, which goes with what follows it.
        unsafe {
            let context = LLVMGetModuleContext(module);
            let initial = self.shape(context);
            let shape = *shapes.entry(initial).or_insert_with(|| {
                let global = LLVMAddGlobal(module, LLVMTypeOf(initial), c"schism.shape".as_ptr());
                LLVMSetInitializer(global, initial);
                LLVMSetGlobalConstant(global, 1);
                LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
                LLVMSetUnnamedAddress(global, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
                LLVMSetAlignment(global, 8);
                global
            });
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, call);
            let mut operands = vec![shape, self.location];
            for &word in &self.words {
                operands.push(build_word(builder, context, word));
            }
            let (ty, function) = declare(module, self.words.len());
            let count = operands.len() as u32;
            LLVMBuildCall2(builder, ty, function, operands.as_mut_ptr(), count, c"".as_ptr());
            LLVMDisposeBuilder(builder);
        }
        ir::cut_block_at(call);
    }

    /// The shape as a constant: `schism_message::shape` has its layout.
    ///
    /// # Safety
    /// The context is the module's.
    unsafe fn shape(&self, context: LLVMContextRef) -> LLVMValueRef {
        let head = [(0, 8, self.head[0]), (8, 8, self.head[1])].into_iter();
        let parts = head.chain(self.locals.iter().flat_map(|local| {
            local.content.iter().map(|&(offset, size, bytes)| (local.place + offset, size, bytes))
        }));
        // SAFETY: as promised by the caller.
        unsafe {
            let int = |bits, value| LLVMConstInt(LLVMIntTypeInContext(context, bits), value, 0);
            let mut count = 0;
            let mut fields = vec![int(32, self.words.len() as u64), int(32, 0)];
            for (offset, size, bytes) in parts {
                let (kind, value) = match bytes {
                    Bytes::Constant(value) if !LLVMIsAConstantInt(value).is_null() => {
                        (PART_CONSTANT, int(64, LLVMConstIntGetZExtValue(value)))
                    }
                    Bytes::Constant(value) => (PART_CONSTANT, value),
                    Bytes::Word(index) => (PART_WORD, int(64, index as u64)),
                    Bytes::Local(local, offset) => {
                        (PART_ROOM, int(64, self.locals[local].place.wrapping_add(offset)))
                    }
                };
                let head = [int(8, kind.into()), int(8, size), int(16, 0), int(32, offset)];
                fields.extend(head.into_iter().chain([value]));
                count += 1;
            }
            fields[1] = int(32, count);
            LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0)
        }
    }
}

/// The builtin that takes so many words.
///
/// # Safety
/// The module is live.
unsafe fn declare(module: LLVMModuleRef, words: usize) -> (LLVMTypeRef, LLVMValueRef) {
    let name = format!("{}.{words}", builtins::PANIC_SHAPED);
    // SAFETY: as promised by the caller; the declaration is made in the module.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let mut parameters = vec![LLVMPointerTypeInContext(context, 0); 2];
        parameters.resize(2 + words, LLVMInt64TypeInContext(context));
        let (void, count) = (LLVMVoidTypeInContext(context), parameters.len() as u32);
        let ty = LLVMFunctionType(void, parameters.as_mut_ptr(), count, 0);
        let known = LLVMGetNamedFunctionWithLength(module, name.as_ptr().cast(), name.len());
        if !known.is_null() {
            return (ty, known);
        }
        let name = CString::new(name).expect("no NUL in a builtin's name");
        let function = LLVMAddFunction(module, name.as_ptr(), ty);
        for attribute in ["noreturn", "nounwind", "cold"] {
            let index = llvm_sys::LLVMAttributeFunctionIndex;
            ir::add_attribute_at(function, index, attribute, 0);
        }
        (ty, function)
    }
}

/// A word as 64 bits.
///
/// # Safety
/// The builder stands where the word's value is known.
unsafe fn build_word(builder: LLVMBuilderRef, context: LLVMContextRef, word: Word) -> LLVMValueRef {
    let name = c"".as_ptr();
    // SAFETY: as promised by the caller; every value is of a scalar type.
    unsafe {
        let long = LLVMInt64TypeInContext(context);
        let value = match word.source {
            Source::Value(value) => value,
            Source::Load(alloca, offset, ty) => {
                let mut index = [LLVMConstInt(long, offset, 0)];
                let byte = LLVMInt8TypeInContext(context);
                let at = match offset {
                    0 => alloca,
                    _ => LLVMBuildInBoundsGEP2(builder, byte, alloca, index.as_mut_ptr(), 1, name),
                };
                let load = LLVMBuildLoad2(builder, ty, at, name);
                LLVMSetAlignment(load, 1);
                load
            }
            Source::Length(len) => {
                let twice = LLVMBuildShl(builder, len, LLVMConstInt(long, 1, 0), name);
                LLVMBuildOr(builder, twice, LLVMConstInt(long, 1, 0), name)
            }
        };
        let ty = LLVMTypeOf(value);
        let bits = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind => {
                return LLVMBuildPtrToInt(builder, value, long, name);
            }
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty),
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            _ => 16,
        };
        let int = LLVMIntTypeInContext(context, bits);
        let value = LLVMBuildBitCast(builder, value, int, name);
        if bits <= 64 {
            return LLVMBuildZExt(builder, value, long, name);
        }
        let half = match word.high {
            true => LLVMBuildLShr(builder, value, LLVMConstInt(int, 64, 0), name),
            false => value,
        };
        LLVMBuildTrunc(builder, half, long, name)
    }
}

/// The bytes of a value that becomes words; `None` for other types.
///
/// # Safety
/// The type is live.
unsafe fn size_of_scalar(ty: LLVMTypeRef) -> Option<u64> {
    // SAFETY: as promised by the caller.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind if LLVMGetPointerAddressSpace(ty) == 0 => Some(8),
            LLVMTypeKind::LLVMDoubleTypeKind => Some(8),
            LLVMTypeKind::LLVMFloatTypeKind => Some(4),
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => Some(2),
            LLVMTypeKind::LLVMIntegerTypeKind => match LLVMGetIntTypeWidth(ty) {
                1 => Some(1),
                bits @ (8 | 16 | 32 | 64 | 128) => Some(u64::from(bits / 8)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// # Safety
/// The type is live.
unsafe fn is_pointer(ty: LLVMTypeRef) -> bool {
    // SAFETY: as promised by the caller.
    unsafe { LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind }
}

/// Whether one instruction of a block stands in front of another one of it.
///
/// # Safety
/// Both are live instructions of one block.
unsafe fn comes_before(first: LLVMValueRef, second: LLVMValueRef) -> bool {
    let mut next = first;
    while !next.is_null() && next != second {
        // SAFETY: as promised by the caller; the walk stays in the block.
        next = unsafe { LLVMGetNextInstruction(next) };
    }
    next == second && first != second
}

/// Everything that uses a local; `None` if something may do with it what is not known.
///
/// # Safety
/// It is a live `alloca` of the module.
unsafe fn uses(module: LLVMModuleRef, alloca: LLVMValueRef) -> Option<Uses> {
    let mut found = Uses { stores: Vec::new(), is_read: false, holders: Vec::new() };
    let mut open = vec![(alloca, 0)];
    // SAFETY: as promised by the caller; operands are asked of the instructions that have them.
    unsafe {
        while let Some((address, offset)) = open.pop() {
            for user in ir::users(address) {
                match ir::opcode(user)? {
                    LLVMOpcode::LLVMGetElementPtr => {
                        open.push((user, offset_of(module, user)?.checked_add(offset)?));
                    }
                    LLVMOpcode::LLVMLoad if LLVMGetVolatile(user) == 0 => found.is_read = true,
                    LLVMOpcode::LLVMStore if LLVMGetVolatile(user) == 0 => {
                        let [value, to] = [0, 1].map(|index| LLVMGetOperand(user, index));
                        if value == address {
                            found.holders.push(local_of(module, to)?.0);
                        }
                        if to == address {
                            found.stores.push((user, offset, value));
                        }
                    }
                    LLVMOpcode::LLVMCall => {
                        let name = ir::name_of(ir::callee(user)?);
                        let reads = [builtins::PANIC_FORMAT, builtins::PRINT].contains(&&*name);
                        if !reads && !name.starts_with("llvm.lifetime.") {
                            return None;
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    found.stores.sort_unstable();
    found.stores.dedup();
    Some(found)
}

/// The local that an address lies in, and where.
///
/// # Safety
/// The address is a live value of the module.
unsafe fn local_of(module: LLVMModuleRef, address: LLVMValueRef) -> Option<(LLVMValueRef, u64)> {
    let (mut address, mut offset) = (address, 0_u64);
    loop {
        // SAFETY: as promised by the caller; the first operand is what an address is computed from.
        unsafe {
            match ir::opcode(address)? {
                LLVMOpcode::LLVMAlloca => return Some((address, offset)),
                LLVMOpcode::LLVMGetElementPtr => {
                    offset = offset.checked_add(offset_of(module, address)?)?;
                    address = LLVMGetOperand(address, 0);
                }
                _ => return None,
            }
        }
    }
}

/// How many bytes an address is behind the one that it is computed from, if that is always the same.
///
/// # Safety
/// It is a live `getelementptr` of the module.
unsafe fn offset_of(module: LLVMModuleRef, gep: LLVMValueRef) -> Option<u64> {
    // SAFETY: as promised by the caller; indices are constants of the types that they lead through.
    unsafe {
        let layout = LLVMGetModuleDataLayout(module);
        let mut ty = LLVMGetGEPSourceElementType(gep);
        let mut offset = 0_u64;
        for index in 1..LLVMGetNumOperands(gep) as u32 {
            let value = LLVMGetOperand(gep, index);
            if LLVMIsAConstantInt(value).is_null() {
                return None;
            }
            let value = u64::try_from(LLVMConstIntGetSExtValue(value)).ok()?;
            if index > 1 {
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMArrayTypeKind => ty = LLVMGetElementType(ty),
                    LLVMTypeKind::LLVMStructTypeKind => {
                        let field = u32::try_from(value).ok()?;
                        offset = offset.checked_add(LLVMOffsetOfElement(layout, ty, field))?;
                        ty = LLVMStructGetTypeAtIndex(ty, field);
                        continue;
                    }
                    _ => return None,
                }
            }
            offset = offset.checked_add(value.checked_mul(LLVMABISizeOfType(layout, ty))?)?;
        }
        Some(offset)
    }
}

/// Whether an address is that of a constant, or a number; whichever it is of several.
///
/// # Safety
/// It is a live value.
unsafe fn is_constant_memory(address: LLVMValueRef, depth: u32) -> bool {
    // SAFETY: as promised by the caller; operands are asked of what has them.
    unsafe {
        if depth == 0 {
            return false;
        }
        if LLVMIsNull(address) != 0 {
            return true;
        }
        if !LLVMIsAGlobalVariable(address).is_null() {
            return LLVMIsGlobalConstant(address) != 0;
        }
        if !LLVMIsAConstantExpr(address).is_null() {
            return match LLVMGetConstOpcode(address) {
                LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMAddrSpaceCast => {
                    is_constant_memory(LLVMGetOperand(address, 0), depth - 1)
                }
                LLVMOpcode::LLVMIntToPtr => {
                    !LLVMIsAConstantInt(LLVMGetOperand(address, 0)).is_null()
                }
                _ => false,
            };
        }
        match ir::opcode(address) {
            Some(LLVMOpcode::LLVMSelect) => [1, 2]
                .into_iter()
                .all(|index| is_constant_memory(LLVMGetOperand(address, index), depth - 1)),
            Some(LLVMOpcode::LLVMPHI) => (0..LLVMCountIncoming(address))
                .all(|index| is_constant_memory(LLVMGetIncomingValue(address, index), depth - 1)),
            _ => false,
        }
    }
}

/// A description of a type, as a constant of the module.
#[derive(Clone, Copy)]
struct Described {
    kind: Kind,
    /// The list of its parts, or null.
    parts: LLVMValueRef,
    count: u64,
}

impl Described {
    /// # Safety
    /// It is a live value.
    unsafe fn of(described: LLVMValueRef) -> Option<Self> {
        // SAFETY: as promised by the caller.
        unsafe {
            let value = initializer(described)?;
            let number = |index| {
                let number = element(value, index)?;
                (!LLVMIsAConstantInt(number).is_null()).then(|| LLVMConstIntGetZExtValue(number))
            };
            if number(1)? != u64::from(MAGIC) {
                return None;
            }
            let kind = Kind::from_number(number(0)? as u8)?;
            Some(Self { kind, parts: element(value, 4)?, count: number(5)? })
        }
    }

    /// A part's number and what describes it.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn part(self, index: u64) -> Option<(u64, LLVMValueRef)> {
        // SAFETY: as promised by the caller.
        unsafe {
            if index >= self.count {
                return None;
            }
            let part = element(initializer(self.parts)?, u32::try_from(index).ok()?)?;
            let value = element(part, 0)?;
            if LLVMIsAConstantInt(value).is_null() {
                return None;
            }
            Some((LLVMConstIntGetZExtValue(value), element(part, 1)?))
        }
    }

    /// # Safety
    /// The module is live.
    unsafe fn all_parts(self, holds: impl Fn((u64, LLVMValueRef)) -> bool) -> bool {
        // SAFETY: as promised by the caller.
        (0..self.count).all(|index| unsafe { self.part(index) }.is_some_and(&holds))
    }

    /// Whether a value of the type is all in its own bytes.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn is_flat(self, depth: u32) -> bool {
        // SAFETY: as promised by the caller.
        let flat = |(_, part): (u64, LLVMValueRef)| unsafe {
            LLVMIsNull(part) != 0
                || depth != 0 && Self::of(part).is_some_and(|part| part.is_flat(depth - 1))
        };
        match self.kind {
            Kind::Opaque => true,
            Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper | Kind::Enum => {
                // SAFETY: as promised by the caller.
                unsafe { self.all_parts(flat) }
            }
            // SAFETY: as promised by the caller.
            Kind::Array => unsafe { self.part(0) }.is_some_and(flat),
            kind => recorder::is_plain(kind),
        }
    }
}

/// What a constant is.
///
/// # Safety
/// It is a live value.
unsafe fn initializer(global: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: as promised by the caller; only a global variable is asked.
    unsafe {
        if LLVMIsAGlobalVariable(global).is_null() || LLVMIsGlobalConstant(global) == 0 {
            return None;
        }
        let value = LLVMGetInitializer(global);
        (!value.is_null()).then_some(value)
    }
}

/// An element of a constant struct or array.
///
/// # Safety
/// It is a live constant.
unsafe fn element(value: LLVMValueRef, index: u32) -> Option<LLVMValueRef> {
    // SAFETY: as promised by the caller.
    unsafe {
        let kind = LLVMGetTypeKind(LLVMTypeOf(value));
        if !matches!(kind, LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind) {
            return None;
        }
        let element = LLVMGetAggregateElement(value, index);
        (!element.is_null()).then_some(element)
    }
}
