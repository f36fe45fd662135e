//! Expands large memset and memcpy intrinsics into loops of words. Runs in stage 2, for GPUs, after
//! optimisation.
//!
//! Before:
//! ```llvm
//!   call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 1024, i1 false)
//! ```
//! After:
//! ```llvm
//! before:
//!   br label %words
//! words:
//!   %offset = phi i64 [ 0, %before ], [ %next, %words ]
//!   %to = getelementptr i8, ptr addrspace(5) %at, i64 %offset
//!   %to.0 = getelementptr i8, ptr addrspace(5) %to, i64 0
//!   store i64 0, ptr addrspace(5) %to.0, align 8
//!   %to.1 = getelementptr i8, ptr addrspace(5) %to, i64 8
//!   store i64 0, ptr addrspace(5) %to.1, align 8
//!   …                                              ; eight words in all
//!   %next = add nuw nsw i64 %offset, 64
//!   %more = icmp ult i64 %next, 1024
//!   br i1 %more, label %words, label %rest, !llvm.loop !0
//! rest:
//! ```
//!
//! For a GPU LLVM expands these into loops of bytes, whatever the alignment. Such a loop has eight
//! times as many accesses, and NVIDIA's assembler spends long on unrolling it. LLVM writes what is
//! smaller than `LARGE` word by word itself.

use schism_llvm::{Builder, ContextRef, IntPredicate, Opcode, Type, Value, enum_kind};

use crate::ir::metadata;

/// Bytes from which on LLVM makes a loop.
const LARGE: u64 = 128;

/// The largest word, in bytes.
const WORD: u64 = 8;

/// Words per iteration.
const WORDS: u64 = 8;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    if function.has_function_attribute("optnone") {
        return;
    }
    for call in function.instructions() {
        if let Some(fill) = fill_of(call) {
            expand(call, &fill);
        }
    }
}

/// What is filled or cloned.
struct Fill<'m> {
    to: Value<'m>,
    from: From<'m>,
    length: u64,
    /// The bytes of a word.
    word: u64,
}

/// What memory is filled with.
enum From<'m> {
    /// Bytes that are all the same.
    Byte(u8),
    /// Other memory.
    Memory(Value<'m>),
}

/// What a call fills or copies, if it is of a known size and large.
fn fill_of(call: Value<'_>) -> Option<Fill<'_>> {
    let name = call.callee()?.name();
    let is_copy = name.starts_with("llvm.memcpy.p");
    if !is_copy && !name.starts_with("llvm.memset.p") {
        return None;
    }
    let operand = |index| call.operand(index);
    let constant = |value: Value<'_>| value.is_constant_int().then(|| value.zext_value());
    let length = constant(operand(2))?;
    if length < LARGE || length > i64::MAX as u64 || constant(operand(3))? != 0 {
        return None;
    }
    let (to, other) = (operand(0), operand(1));
    let (from, align) = match is_copy {
        true => (From::Memory(other), alignment(call, 1).min(alignment(call, 2))),
        false => (From::Byte(constant(other)? as u8), alignment(call, 1)),
    };
    Some(Fill { to, from, length, word: align.min(WORD) })
}

/// The alignment that a call says of an argument, counted from 1.
pub(crate) fn alignment(call: Value<'_>, argument: u32) -> u64 {
    let attribute = call.call_enum_attribute(argument, enum_kind("align"));
    attribute.map_or(1, |attribute| attribute.value().max(1))
}

/// Makes the loop in the place of the call.
fn expand<'m>(call: Value<'m>, fill: &Fill<'m>) {
    let rest = call.block();
    let context = call.ty().context();
    let builder = Builder::new(context);
    let before = rest.insert_before("");
    let words = rest.insert_before("");
    let end = rest.end();
    end.remove_from_block();
    rest.as_value().replace_uses(before.as_value());
    builder.position_at_end(rest);
    builder.insert(end);
    builder.position_at_end(before);
    let mut is_early = true;
    for instruction in rest.instructions() {
        is_early &= instruction != call;
        // Variables stay in the block that a function begins with: only there they have a place of
        // their own.
        if is_early || instruction.opcode() == Some(Opcode::Alloca) {
            instruction.remove_from_block();
            builder.insert(instruction);
        }
    }
    builder.br(words);

    let emitter = FillEmitter { context, builder: &builder, fill };
    let stride = WORDS * fill.word;
    let whole = fill.length / stride * stride;
    builder.position_at_end(words);
    let offset = builder.phi(emitter.long());
    emitter.words(offset, (0..WORDS).map(|word| (word * fill.word, fill.word)));
    let next = builder.nuw_add(offset, emitter.number(stride));
    next.set_nsw(true);
    let more = builder.icmp(IntPredicate::ULT, next, emitter.number(whole));
    let end = builder.cond_br(more, words, rest);
    offset.add_incoming(emitter.number(0), before);
    offset.add_incoming(next, words);
    // Neither here nor by the assembler.
    metadata::mark(end, metadata::UNROLL_DISABLE, None);

    builder.position_before(call);
    let left = fill.length - whole;
    let bytes = left / fill.word * fill.word..left;
    let words = (0..left / fill.word).map(|word| (word * fill.word, fill.word));
    emitter.words(emitter.number(whole), words.chain(bytes.map(|byte| (byte, 1))));
    call.erase();
}

/// Makes the instructions.
struct FillEmitter<'a, 'm> {
    context: ContextRef<'m>,
    builder: &'a Builder<'m>,
    fill: &'a Fill<'m>,
}

impl<'m> FillEmitter<'_, 'm> {
    fn long(&self) -> Type<'m> {
        self.context.int_type(64)
    }

    fn number(&self, value: u64) -> Value<'m> {
        self.long().const_int(value, false)
    }

    /// Fills words, which are so many bytes behind an offset and have so many bytes. All are loaded
    /// before the first is stored.
    fn words(&self, offset: Value<'m>, words: impl Iterator<Item = (u64, u64)>) {
        let at = |memory, offset| {
            let byte = self.context.int_type(8);
            let offsets = [offset];
            self.builder.gep(byte, memory, &offsets)
        };
        let to = at(self.fill.to, offset);
        let from = match self.fill.from {
            From::Byte(byte) => From::Byte(byte),
            From::Memory(memory) => From::Memory(at(memory, offset)),
        };
        let values: Vec<_> = words
            .map(|(place, size)| {
                let ty = self.context.int_type(8 * size as u32);
                let value = match from {
                    From::Byte(byte) => {
                        let word = u64::from_ne_bytes([byte; 8]);
                        ty.const_int(word & (u64::MAX >> (64 - 8 * size)), false)
                    }
                    From::Memory(memory) => {
                        let place = at(memory, self.number(place));
                        let load = self.builder.load(ty, place);
                        load.set_alignment(size as u32);
                        load
                    }
                };
                (place, size, value)
            })
            .collect();
        for (place, size, value) in values {
            let place = at(to, self.number(place));
            let store = self.builder.store(value, place);
            store.set_alignment(size as u32);
        }
    }
}
