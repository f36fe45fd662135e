//! The call that stands in a panic's place: the shape as a constant, the builtin, the words.

use std::collections::HashMap;

use schism_llvm::{Builder, ContextRef, Linkage, ModuleRef, Type, TypeKind, UnnamedAddress, Value};
use schism_message::shape::{PART_CONSTANT, PART_ROOM, PART_WORD};

use super::{Bytes, Message, Source, Word};
use crate::spec::builtins;

impl<'m> Message<'m> {
    /// Puts the new call in the place of the old one.
    pub(super) fn replace(
        &self,
        module: ModuleRef<'m>,
        call: Value<'m>,
        shapes: &mut HashMap<Value<'m>, Value<'m>>,
    ) {
        let context = module.context();
        let initial = self.shape(context);
        let shape = *shapes.entry(initial).or_insert_with(|| {
            let global = module.add_global(initial.ty(), "schism.shape");
            global.set_initializer(initial);
            global.set_global_constant(true);
            global.set_linkage(Linkage::Private);
            global.set_unnamed_address(UnnamedAddress::Global);
            global.set_alignment(8);
            global
        });
        let builder = Builder::before(call);
        let mut operands = vec![shape, self.location];
        for &word in &self.words {
            operands.push(build_word(&builder, context, word));
        }
        let (ty, function) = declare(module, self.words.len());
        builder.call(ty, function, &operands);
        call.cut_block();
    }

    /// The shape as a constant: `schism_message::shape` has its layout.
    fn shape(&self, context: ContextRef<'m>) -> Value<'m> {
        let head = [(0, 8, self.head[0]), (8, 8, self.head[1])].into_iter();
        let parts = head.chain(self.locals.iter().flat_map(|local| {
            local.content.iter().map(|&(offset, size, bytes)| (local.place + offset, size, bytes))
        }));
        let int = |bits, value| context.int_type(bits).const_int(value, false);
        let mut count = 0;
        let mut fields = vec![int(32, self.words.len() as u64), int(32, 0)];
        for (offset, size, bytes) in parts {
            let (kind, value) = match bytes {
                Bytes::Constant(value) if value.is_constant_int() => {
                    (PART_CONSTANT, int(64, value.zext_value()))
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
        context.const_struct(&fields, false)
    }
}

/// The builtin that takes so many words.
fn declare(module: ModuleRef<'_>, words: usize) -> (Type<'_>, Value<'_>) {
    let name = format!("{}.{words}", builtins::PANIC_SHAPED);
    let context = module.context();
    let mut parameters = vec![context.pointer_type(0); 2];
    parameters.resize(2 + words, context.int_type(64));
    let ty = context.void_type().function(&parameters, false);
    if let Some(known) = module.function(&name) {
        return (ty, known);
    }
    let function = module.add_function(&name, ty);
    // Not `nounwind`: see `lower_unwind`.
    for attribute in ["noreturn", "cold"] {
        function.add_function_attribute(attribute, 0);
    }
    (ty, function)
}

/// A word as 64 bits.
fn build_word<'m>(builder: &Builder<'m>, context: ContextRef<'m>, word: Word<'m>) -> Value<'m> {
    let long = context.int_type(64);
    let value = match word.source {
        Source::Value(value) => value,
        Source::Load(alloca, offset, ty) => {
            let index = [long.const_int(offset, false)];
            let byte = context.int_type(8);
            let at = match offset {
                0 => alloca,
                _ => builder.inbounds_gep(byte, alloca, &index),
            };
            let load = builder.load(ty, at);
            load.set_alignment(1);
            load
        }
        Source::Length(len) => {
            let twice = builder.shl(len, long.const_int(1, false));
            builder.or(twice, long.const_int(1, false))
        }
    };
    let ty = value.ty();
    let bits = match ty.kind() {
        TypeKind::Pointer => {
            return builder.ptrtoint(value, long);
        }
        TypeKind::Integer => ty.int_width(),
        TypeKind::Double => 64,
        TypeKind::Float => 32,
        _ => 16,
    };
    let int = context.int_type(bits);
    let value = builder.bitcast(value, int);
    if bits <= 64 {
        return builder.zext(value, long);
    }
    let half = match word.high {
        true => builder.lshr(value, int.const_int(64, false)),
        false => value,
    };
    builder.trunc(half, long)
}
