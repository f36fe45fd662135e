//! Builtins and panics in functions that are not part of the loop function: recursive ones, or
//! called by pointer.
//!
//! The entry function creates an [`ItemContext`] on its stack and a thread-local of the process
//! points to it while the box runs. The loop stores each work-item's id there; builtins read it; a
//! panic stores its record and jumps back to the entry function.
//!
//! Kernels that unwind have no landing point: a panic of theirs raises an exception.
//!
//! The jump skips frames of generated code only. They have nothing to clean up that
//! a program would notice. During optimisation it is a call of [`END`], which to LLVM may unwind: so stores before the panic stay before the jump.

use std::mem::offset_of;

use schism_jit_abi::CpuGroup;
use schism_jit_abi::code::{CURRENT, ItemContext, RAISE, RECORD_FORMAT, RECORD_TEXT};

use super::group_operations;
use super::message::{raise_declaration, record_declarations};
use super::work_loop::{ITEM, item_parameters};
use crate::JitError;
use crate::common::image::{
    GLOBAL_ID, GLOBAL_RANGE, GROUP_ID, GROUP_RANGE, LOCAL_ID, LOCAL_MEMORY, LOCAL_RANGE, PANIC,
    PANIC_FORMAT, builtins,
};
use crate::common::module::Module;
use schism_llvm::Context;

/// Jumps to the landing point. It has no body while the module is optimised.
const END: &str = "schism.end";

/// `store` of a value at a byte offset. The value's text without its `%` and spaces names the
/// address.
fn store(value: &str, base: &str, offset: usize) -> String {
    let at = format!("%{}.to.{offset}", value.replace(['%', ' '], "."));
    format!(
        "  {at} = getelementptr inbounds i8, ptr {base}, i64 {offset}\n  store {value}, ptr {at}\n"
    )
}

/// `load` of a value from a byte offset.
fn load(value: &str, ty: &str, base: &str, offset: usize) -> String {
    format!(
        "  %{value}.at = getelementptr inbounds i8, ptr {base}, i64 {offset}\n  %{value} = load {ty}, ptr %{value}.at\n"
    )
}

/// Gives the builtins, the panic and the marker of the nest bodies that work in any function.
pub fn add<'c>(
    context: &'c Context,
    module: &Module<'c>,
    groups: bool,
    unwinds: bool,
) -> Result<(), JitError> {
    // The loop function changes what the builtins read, so attributes inferred from their
    // declarations no longer hold.
    for function in module.functions() {
        if function.is_intrinsic() {
            continue;
        }
        for name in ["memory", "speculatable"] {
            function.remove_function_attribute(name);
            for call in function.users() {
                if call.direct_callee() == Some(function) {
                    call.remove_call_attribute(name);
                }
            }
        }
    }
    let bodies =
        Module::from_text(context, &bodies_text(groups, unwinds)).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::InvalidImage)?;
    let names = builtins().chain([ITEM]);
    let functions = names.filter_map(|name| module.function(name));
    for function in functions.filter(|function| !function.is_declaration()) {
        function.set_internal();
    }
    Ok(())
}

/// After optimisation: gives the panic's jump a body.
pub fn add_end<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    if module.function(END).is_none() {
        return Ok(());
    }
    let text = format!(
        "declare void @llvm.eh.sjlj.longjmp(ptr)
         define void @{END}(ptr %jump) cold noreturn nounwind {{
           call void @llvm.eh.sjlj.longjmp(ptr %jump)
           unreachable
         }}\n"
    );
    let body = Module::from_text(context, &text).map_err(JitError::Internal)?;
    body.set_target_of(module);
    module.link(context, body).map_err(JitError::Internal)?;
    if let Some(function) = module.function(END) {
        function.set_internal();
    }
    Ok(())
}

fn bodies_text(groups: bool, unwinds: bool) -> String {
    let id = offset_of!(ItemContext, id);
    let range = offset_of!(ItemContext, range);
    let mut out = record_declarations();
    // The pointer is the same throughout the loop function.
    out += &format!("declare ptr @{CURRENT}() nounwind willreturn memory(none)\n");
    if unwinds {
        out += &raise_declaration();
    } else {
        out += &format!("declare void @{END}(ptr) cold noreturn\n");
    }
    for (names, base) in [(GLOBAL_ID, id), (GLOBAL_RANGE, range)] {
        for (name, index) in names.into_iter().zip(0..) {
            out += &format!(
                "define i64 @{name}() nounwind willreturn {{\n  %context = call ptr @{CURRENT}()\n"
            );
            out += &load("value", "i64", "%context", base + 8 * index);
            out += "  ret i64 %value\n}\n";
        }
    }
    if groups {
        out += &group_bodies_text();
    }
    let names = ["x", "y", "z", "nx", "ny", "nz", "panic", "context"];
    let parameters: Vec<String> = item_parameters(groups)
        .into_iter()
        .enumerate()
        .map(|(index, ty)| match names.get(index) {
            Some(name) => format!("{ty} %{name}"),
            None => format!("{ty} %more.{index}"),
        })
        .collect();
    out += &format!(
        "define void @{ITEM}({}) alwaysinline nounwind willreturn {{\n",
        parameters.join(", ")
    );
    for (value, index) in ["i64 %x", "i64 %y", "i64 %z"].into_iter().zip(0..) {
        out += &store(value, "%context", id + 8 * index);
    }
    out += "  ret void\n}\n";
    for (name, record, second) in
        [(PANIC, RECORD_TEXT, "i64"), (PANIC_FORMAT, RECORD_FORMAT, "ptr")]
    {
        out += &format!(
            "define void @{name}(ptr %message, {second} %second, ptr %location) cold noinline noreturn {{
               %context = call ptr @{CURRENT}()\n"
        );
        out += &load("record", "ptr", "%context", offset_of!(ItemContext, panic));
        for (value, index) in ["x", "y", "z"].into_iter().zip(0..) {
            out += &load(value, "i64", "%context", id + 8 * index);
        }
        out += &format!(
            "  call void @{record}(ptr %record, ptr %message, {second} %second, ptr %location, i64 %x, i64 %y, i64 %z)\n"
        );
        out += &if unwinds {
            format!("  call void @{RAISE}()\n")
        } else {
            format!(
                "  %jump = getelementptr inbounds i8, ptr %context, i64 {}
                   call void @{END}(ptr %jump)\n",
                offset_of!(ItemContext, jump)
            )
        };
        out += "  unreachable\n}\n";
    }
    out
}

/// The builtins that read the group.
fn group_bodies_text() -> String {
    let mut out = String::new();
    let mut find = format!("  %context = call ptr @{CURRENT}()\n");
    find += &load("group", "ptr", "%context", offset_of!(ItemContext, group));
    let begin = |out: &mut String, ty: &str, name: &str| {
        *out += &format!("define {ty} @{name}() nounwind {{\n{find}");
    };
    for (name, index) in LOCAL_ID.into_iter().zip(0..) {
        begin(&mut out, "i64", name);
        out += &load("id", "i64", "%context", offset_of!(ItemContext, id) + 8 * index);
        out += &load("first", "i64", "%group", offset_of!(CpuGroup, first) + 8 * index);
        out += "  %value = sub nuw nsw i64 %id, %first\n  ret i64 %value\n}\n";
    }
    for (names, base) in [
        (LOCAL_RANGE, offset_of!(CpuGroup, local_range)),
        (GROUP_ID, offset_of!(CpuGroup, id)),
        (GROUP_RANGE, offset_of!(CpuGroup, range)),
    ] {
        for (name, index) in names.into_iter().zip(0..) {
            begin(&mut out, "i64", name);
            out += &load("value", "i64", "%group", base + 8 * index);
            out += "  ret i64 %value\n}\n";
        }
    }
    begin(&mut out, "ptr", LOCAL_MEMORY);
    out += &load("value", "ptr", "%group", offset_of!(CpuGroup, local_memory));
    out += "  ret ptr %value\n}\n";
    out + &group_operations::bodies_text(&find)
}
