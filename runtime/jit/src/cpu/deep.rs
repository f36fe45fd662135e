//! Builtins and panics in functions that are not part of the loop function: recursive ones, or called by pointer.
//!
//! The entry function makes an [`ItemContext`] on its stack and a thread-local points to it while the box runs. The loop
//! stores each work-item's id there; builtins read it; a panic stores its record and jumps back to the entry function.
//!
//! The jump skips frames of generated code only. Those have nothing to clean up: a kernel's panics do not unwind.

use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::null_mut;

use schism_jit_abi::{Bytes, PanicRecord};

use super::work_loop::{ITEM, RECORD};
use crate::JitError;
use crate::image::{GLOBAL_ID, GLOBAL_RANGE, PANIC};
use crate::llvm::{Context, Module};

/// Where a thread's running work-item is described. Generated code has the offsets built in.
#[repr(C, align(16))]
pub struct ItemContext {
    /// What `llvm.eh.sjlj.setjmp` saves.
    pub jump: [usize; 5],
    /// The work-item's id: x, y, z.
    pub id: [u64; 3],
    /// The launch's range: x, y, z.
    pub range: [u64; 3],
    /// Where a panic's record goes.
    pub panic: *mut PanicRecord,
    /// The context that this one replaces until the box has run.
    pub previous: *mut ItemContext,
}

/// The symbol of [`current`].
pub const CURRENT: &str = "__schism_cpu_context";
/// The symbol of [`swap`].
pub const SWAP: &str = "__schism_cpu_swap_context";

thread_local! {
    static CONTEXT: Cell<*mut ItemContext> = const { Cell::new(null_mut()) };
}

/// Called by generated code: the thread's context.
pub extern "C" fn current() -> *mut ItemContext {
    CONTEXT.get()
}

/// Called by generated code: sets the thread's context and gives the one before.
pub extern "C" fn swap(context: *mut ItemContext) -> *mut ItemContext {
    CONTEXT.replace(context)
}

/// The function that stores a panic's record, as LLVM's assembly.
pub fn record_text() -> String {
    let message = offset_of!(PanicRecord, message);
    let file = offset_of!(PanicRecord, file);
    let (ptr, len) = (offset_of!(Bytes, ptr), offset_of!(Bytes, len));
    let line = offset_of!(PanicRecord, line);
    let column = offset_of!(PanicRecord, column);
    let id = offset_of!(PanicRecord, global_id);
    let mut out = format!(
        "define void @{RECORD}(ptr %record, ptr %message, i64 %len, ptr %location, i64 %x, i64 %y, i64 %z)
             cold noinline nounwind minsize optsize {{
         start:\n"
    );
    for (value, offset) in [
        ("ptr %message", message + ptr),
        ("i64 %len", message + len),
        ("i64 %x", id),
        ("i64 %y", id + 8),
        ("i64 %z", id + 16),
    ] {
        out += &store(value, "%record", offset);
    }
    out += "  %known = icmp ne ptr %location, null
              br i1 %known, label %place, label %no.place
            place:\n";
    for (value, ty, from, to) in [
        ("file", "ptr", 0, file + ptr),
        ("file.len", "i64", 8, file + len),
        ("line", "i32", 16, line),
        ("column", "i32", 20, column),
    ] {
        out += &load(value, ty, "%location", from);
        out += &store(&format!("{ty} %{value}"), "%record", to);
    }
    out += "  ret void\nno.place:\n";
    for (value, offset) in
        [("ptr null", file + ptr), ("i64 0", file + len), ("i32 0", line), ("i32 0", column)]
    {
        out += &store(value, "%record", offset);
    }
    out += "  ret void\n}\n";
    out
}

/// `store` of a value at a byte offset. The value's text without its `%` and spaces names the address.
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

/// Gives the builtins, the panic and the marker of the nest bodies that work anywhere.
pub fn add<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    // The loop function changes what the builtins read, so what was inferred from their declarations is no longer so.
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
    let bodies = Module::from_text(context, &bodies_text()).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::InvalidImage)?;
    let names = GLOBAL_ID.into_iter().chain(GLOBAL_RANGE).chain([PANIC, ITEM]);
    for function in names.filter_map(|name| module.function(name)) {
        function.set_internal();
    }
    Ok(())
}

fn bodies_text() -> String {
    let id = offset_of!(ItemContext, id);
    let range = offset_of!(ItemContext, range);
    let mut out = format!("declare void @{RECORD}(ptr, ptr, i64, ptr, i64, i64, i64)\n");
    // The pointer is the same all through the loop function.
    out += &format!("declare ptr @{CURRENT}() nounwind willreturn memory(none)\n");
    out += "declare void @llvm.eh.sjlj.longjmp(ptr) noreturn nounwind\n";
    for (names, base) in [(GLOBAL_ID, id), (GLOBAL_RANGE, range)] {
        for (name, index) in names.into_iter().zip(0..) {
            out += &format!(
                "define i64 @{name}() nounwind willreturn {{\n  %context = call ptr @{CURRENT}()\n"
            );
            out += &load("value", "i64", "%context", base + 8 * index);
            out += "  ret i64 %value\n}\n";
        }
    }
    out += &format!(
        "define void @{ITEM}(i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz, ptr %panic, ptr %context)
             alwaysinline nounwind willreturn {{\n"
    );
    for (value, index) in ["i64 %x", "i64 %y", "i64 %z"].into_iter().zip(0..) {
        out += &store(value, "%context", id + 8 * index);
    }
    out += "  ret void\n}\n";
    out += &format!(
        "define void @{PANIC}(ptr %message, i64 %len, ptr %location) cold noinline noreturn nounwind {{
           %context = call ptr @{CURRENT}()\n"
    );
    out += &load("record", "ptr", "%context", offset_of!(ItemContext, panic));
    for (value, index) in ["x", "y", "z"].into_iter().zip(0..) {
        out += &load(value, "i64", "%context", id + 8 * index);
    }
    out += &format!(
        "  call void @{RECORD}(ptr %record, ptr %message, i64 %len, ptr %location, i64 %x, i64 %y, i64 %z)
           %jump = getelementptr inbounds i8, ptr %context, i64 {}
           call void @llvm.eh.sjlj.longjmp(ptr %jump)
           unreachable
         }}\n",
        offset_of!(ItemContext, jump)
    );
    out
}
