//! Replaces calls of panic functions by `__schism_panic`, `__schism_panic_format` or `__schism_abort`.
//!
//! Before:
//! ```llvm
//!   call void @core::panicking::panic(ptr @text, i64 14, ptr @location)
//!   unreachable
//! ...
//!   call void @core::panicking::panic_fmt(ptr %template, ptr %arguments, ptr @location)
//!   unreachable
//! ...
//!   call void @core::panicking::panic_bounds_check(i64 %index, i64 %len, ptr @location)
//!   unreachable
//! ```
//! After:
//! ```llvm
//!   call void @__schism_panic(ptr @text, i64 14, ptr @location)
//!   unreachable
//! ...
//!   call void @__schism_panic_format(ptr %template, ptr %arguments, ptr @location)
//!   unreachable
//! ...
//!   store i64 %index, ptr %value.0
//!   store ptr %value.0, ptr %arguments                           ; { value, description } twice
//!   ...
//!   call void @__schism_panic_format(ptr @template, ptr %arguments, ptr @location)
//!   unreachable
//! ```
//!
//! An invoke becomes an invoke, with the same landing pad. `__schism_abort` is called where a panic may
//! not unwind because another one does: it ends the process.
//!
//! The message of a function that formats it from its own arguments is made here in the same form:
//! a template, and an array of values with their
//! [descriptions](crate::frontend::type_descriptions). Everything that this takes stands in the
//! block that panics; only the room for it is made when the function begins.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, ModuleRef, Opcode, Type, TypeKind, Value};
use schism_message::ARGUMENT_SIZE;

use crate::frontend::lower_formatters;
use crate::frontend::type_descriptions::Descriptors;
use crate::spec::builtins;
use crate::spec::messages::{Formatter, PanicFunction, PanicMessage, PanicValue, TypeDescription};

/// Runs the pass: formatting functions become descriptions, and every call of a panic
/// function a call of a builtin.
pub fn run(
    module: &Module<'_>,
    formatters: &[Formatter],
    panics: &[PanicFunction],
    types: &[TypeDescription],
) {
    let module = module.handle();
    lower_formatters::lower(module, formatters, types);
    let mut lowering = Lowering::new(module, types);
    for panic in panics {
        let Some(function) = module.function(&panic.symbol) else { continue };
        for user in function.users() {
            if user.callee() == Some(function) {
                lowering.lower(user, panic);
            }
        }
    }
}

struct Lowering<'a, 'm> {
    module: ModuleRef<'m>,
    descriptors: Descriptors<'a, 'm>,
    pointer: Type<'m>,
    long: Type<'m>,
    /// Private constants by their bytes.
    texts: HashMap<Vec<u8>, Value<'m>>,
}

impl<'a, 'm> Lowering<'a, 'm> {
    fn new(module: ModuleRef<'m>, types: &'a [TypeDescription]) -> Self {
        let context = module.context();
        Lowering {
            module,
            descriptors: Descriptors::new(module, types),
            pointer: context.pointer_type(0),
            long: context.int_type(64),
            texts: HashMap::new(),
        }
    }

    fn lower(&mut self, call: Value<'m>, panic: &PanicFunction) {
        let _context = self.module.context();
        let builder = Builder::before(call);
        let arguments = call.num_args();
        let is_pointer = |index| call.operand(index).ty() == self.pointer;
        let location = if panic.located && arguments > 0 && is_pointer(arguments - 1) {
            call.operand(arguments - 1)
        } else {
            self.pointer.zero()
        };
        let two_words = arguments >= 2 && is_pointer(0);
        let (name, first, second) = match &panic.message {
            PanicMessage::Text if two_words && call.operand(1).ty() == self.long => {
                (builtins::PANIC, call.operand(0), call.operand(1))
            }
            PanicMessage::Arguments if two_words && is_pointer(1) => {
                (builtins::PANIC_FORMAT, call.operand(0), call.operand(1))
            }
            PanicMessage::Template { template, unless_null, values }
                if fit(call, values, unless_null.as_ref().map(|(index, _)| *index)) =>
            {
                let mut text = self.text(template);
                if let Some((index, other)) = unless_null {
                    let other = self.text(other);
                    let is_null = builder.is_null(call.operand(*index));
                    text = builder.select(is_null, text, other);
                }
                (builtins::PANIC_FORMAT, text, self.array(&builder, call, values))
            }
            PanicMessage::Static(text) => self.plain(text),
            PanicMessage::Abort(text) => {
                let (_, text, length) = self.plain(text);
                (builtins::ABORT, text, length)
            }
            _ => self.plain("explicit panic"),
        };
        let (panic_type, panic_function) = self.builtin(name);
        let message = [first, second, location];
        if call.opcode() == Some(Opcode::Invoke) {
            // With the destinations of the old one: the normal one is never reached.
            builder.call_like(call, panic_type, panic_function, &message, |_| false);
            call.erase();
        } else {
            builder.call(panic_type, panic_function, &message);
            call.cut_block();
        }
    }

    /// A message without values.
    fn plain(&mut self, text: &str) -> (&'static str, Value<'m>, Value<'m>) {
        let len = self.long.const_int(text.len() as u64, false);
        (builtins::PANIC, self.text(text.as_bytes()), len)
    }

    /// The arguments of a message, filled in before the call.
    fn array(&self, builder: &Builder<'m>, call: Value<'m>, values: &[PanicValue]) -> Value<'m> {
        let begin = call.parent_function().entry();
        let room = Builder::before(begin.begin());
        let words = (values.len() * ARGUMENT_SIZE / 8) as u64;
        let array_type = self.long.array(words);
        let array = room.alloca(array_type).with_name("panic.arguments");
        for (value, index) in values.iter().zip(0..) {
            let at = self.value(builder, &room, call, value);
            let size = ARGUMENT_SIZE as u64;
            builder.store(at, self.byte(builder, array, index * size));
            let descriptor = self.descriptors.get(value.ty);
            builder.store(descriptor, self.byte(builder, array, index * size + 8));
        }
        array
    }

    /// A value in memory.
    fn value(
        &self,
        builder: &Builder<'m>,
        room: &Builder<'m>,
        call: Value<'m>,
        value: &PanicValue,
    ) -> Value<'m> {
        let operand = |index| call.operand(value.argument + index);
        let first = operand(0).ty();
        let ty =
            if value.arguments == 1 { first } else { self.long.array(u64::from(value.arguments)) };
        let at = room.alloca(ty).with_name("panic.value");
        for index in 0..value.arguments {
            let to = self.byte(builder, at, u64::from(index) * 8);
            builder.store(operand(index), to);
        }
        at
    }

    /// An address some bytes further on.
    fn byte(&self, builder: &Builder<'m>, base: Value<'m>, offset: u64) -> Value<'m> {
        if offset == 0 {
            return base;
        }
        let byte = self.module.context().int_type(8);
        builder.inbounds_gep(byte, base, &[self.long.const_int(offset, false)])
    }

    /// A builtin's type and declaration.
    fn builtin(&self, name: &str) -> (Type<'m>, Value<'m>) {
        let context = self.module.context();
        let is_text = name != builtins::PANIC_FORMAT;
        let second = if is_text { self.long } else { self.pointer };
        let ty = context.void_type().function(&[self.pointer, second, self.pointer], false);
        if let Some(known) = self.module.function(name) {
            return (ty, known);
        }
        let function = self.module.add_function(name, ty);
        // Those that panic are not `nounwind`: see `lower_unwind`.
        let ends = (name == builtins::ABORT).then_some("nounwind");
        for attribute in ["noreturn", "cold"].into_iter().chain(ends) {
            function.add_function_attribute(attribute, 0);
        }
        (ty, function)
    }

    /// A private constant with bytes, each made once.
    fn text(&mut self, bytes: &[u8]) -> Value<'m> {
        if let Some(&known) = self.texts.get(bytes) {
            return known;
        }
        let global = self.descriptors.bytes(bytes);
        self.texts.insert(bytes.to_owned(), global);
        global
    }
}

/// Whether a call has the arguments that values consist of: words, if there are several to one
/// value.
fn fit(call: Value<'_>, values: &[PanicValue], null: Option<u32>) -> bool {
    let arguments = call.num_args();
    let kind = |index| {
        let ty = call.operand(index).ty();
        (ty.kind(), ty)
    };
    let is_pointer = |index| kind(index).0 == TypeKind::Pointer;
    let fits = |value: &PanicValue| {
        let Some(end) = value.argument.checked_add(value.arguments) else { return false };
        if value.arguments == 0 || end > arguments {
            return false;
        }
        (value.argument..end).all(|index| match kind(index) {
            (TypeKind::Pointer, _) => true,
            (TypeKind::Integer, ty) => match ty.int_width() {
                64 => true,
                8 | 16 | 32 | 128 => value.arguments == 1,
                _ => false,
            },
            _ => false,
        })
    };
    null.is_none_or(|index| index < arguments && is_pointer(index)) && values.iter().all(fits)
}
