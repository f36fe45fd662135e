//! Calls of functions that are known only when they run: there are no addresses of functions in
//! SPIR-V, so each such function gets a constant whose address stands for it, and a call compares.
//!
//! ```llvm
//! @vtable = constant [1 x ptr] [ptr @area]
//!   %area = call i64 %function(ptr %shape)
//! ```
//! becomes
//! ```llvm
//! @schism.function.0 = internal constant [40 x i8] zeroinitializer, align 8
//! @vtable = constant [1 x ptr] [ptr @schism.function.0]
//!   %area = call i64 @schism.dispatch.0(ptr %function, ptr %shape)
//!
//! define internal i64 @schism.dispatch.0(ptr %function, ptr %0) {
//!   %is.0 = icmp eq ptr %function, @schism.function.0
//!   br i1 %is.0, label %call.0, label %next.0
//! call.0:
//!   %result.0 = call i64 @area(ptr %0)
//!   ret i64 %result.0
//! next.0:
//!   unreachable
//! }
//! ```
//! All functions whose address is taken are known: a kernel gets no others from the host. A call
//! chooses among those of its type. Runs before functions are inlined, so that what calls
//! choose is inlined, and may end its work-item, as everything else.
//!
//! A constant is as large as a descriptor of a message's argument, because the code that copies
//! messages looks whether there is one at a function's address (see `ptx::code`).

use std::fmt::Write;

use schism_llvm::{AsModule, Builder, Context, IntPredicate, Type, TypeKind, Value};
use schism_passes::check::recursion;

use crate::JitError;
use crate::common::module::Module;

/// The bytes of a descriptor.
const DESCRIPTOR: usize = 40;

/// Replaces addresses of functions, and calls through them.
pub fn dispatch<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let is_taken = |function: &Value| {
        !function.is_intrinsic() && function.users().into_iter().any(|user| !user.calls(*function))
    };
    let taken: Vec<Value> = module.functions().into_iter().filter(is_taken).collect();
    let mut text = String::new();
    for index in 0..taken.len() {
        let _ = writeln!(
            text,
            "@schism.function.{index} = constant [{DESCRIPTOR} x i8] zeroinitializer, align 8"
        );
    }
    let constants = Module::from_text(context, &text).map_err(JitError::Internal)?;
    constants.set_target_of(module);
    module.link(context, constants).map_err(JitError::Internal)?;
    let mut known = Vec::new();
    for (&function, index) in taken.iter().zip(0..) {
        let name = format!("schism.function.{index}");
        let constant = module.globals().into_iter().find(|global| global.name() == name);
        let constant = constant.ok_or_else(|| JitError::Internal(format!("`{name}` is gone")))?;
        constant.set_internal();
        function.replace_address(constant);
        known.push((function, constant));
    }
    let mut dispatchers: Vec<(Type, Value)> = Vec::new();
    for call in module.functions().into_iter().flat_map(Value::instructions) {
        if !call.is_indirect_call() {
            continue;
        }
        let ty = call.called_type();
        let found = dispatchers.iter().find(|(of, _)| *of == ty).map(|(_, found)| *found);
        let dispatcher = found.unwrap_or_else(|| {
            let made = dispatcher(module, ty, dispatchers.len(), &known);
            dispatchers.push((ty, made));
            made
        });
        let mut args = vec![call.called_value()];
        args.extend(call.args());
        let result = Builder::before(call).call_function(dispatcher, &args);
        call.replace_with(result);
    }
    Ok(())
}

/// A function that calls the one that its first argument stands for, of a type.
fn dispatcher<'m>(
    module: &'m Module<'_>,
    ty: Type<'m>,
    number: usize,
    known: &[(Value<'m>, Value<'m>)],
) -> Value<'m> {
    let module = module.handle();
    let mut params = vec![module.context().pointer_type(0)];
    params.extend(ty.param_types());
    let result = ty.return_type();
    let dispatcher =
        module.add_function(&format!("schism.dispatch.{number}"), result.function(&params, false));
    dispatcher.set_internal();
    // What it calls may wait for other work-items.
    dispatcher.add_function_attribute("convergent", 0);
    let (function, args) = (dispatcher.param(0), &dispatcher.params()[1..]);
    let mut builder = Builder::at_end(dispatcher.append_block("start"));
    let candidates = known.iter().filter(|(function, _)| function.value_type() == ty);
    let names: Vec<String> = candidates.clone().map(|(function, _)| function.name()).collect();
    dispatcher.add_string_attribute(recursion::CHOOSES, &names.join(" "));
    for ((callee, constant), index) in candidates.zip(0..) {
        let [chosen, next] =
            ["call", "next"].map(|name| dispatcher.append_block(&format!("{name}.{index}")));
        let is_it = builder.icmp(IntPredicate::EQ, function, *constant);
        builder.cond_br(is_it, chosen, next);
        let inside = Builder::at_end(chosen);
        let call = inside.call_function(*callee, args);
        call.set_instruction_call_conv(callee.call_conv());
        match result.kind() {
            TypeKind::Void => inside.ret_void(),
            _ => inside.ret(call),
        };
        builder = Builder::at_end(next);
    }
    builder.unreachable();
    dispatcher
}
