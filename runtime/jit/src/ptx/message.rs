//! What a work-item does that panics or prints: it leaves a message in the launch's record.
//!
//! ```llvm
//!   call void @__schism_panic(ptr @text, i64 4, ptr @location)
//!   unreachable
//! ```
//! becomes, where it stands,
//! ```llvm
//!   call void @schism.panic(ptr %schism.record, ptr @text, ptr inttoptr (i64 9 to ptr), ptr @location, i64 %x, i64 0, i64 0)
//!   unreachable
//! ```
//! and that function, which is never inlined, copies the message and ends the work-item with `exit`. The copying itself is Rust
//! (`recorder.rs`, of which the build script makes bitcode): it follows the message's template, its arguments and their descriptors.
//! The host formats from the copies (`schism_message::record`).

use std::fmt::Write;

use schism_message::{Kind, MAGIC, recorder};

use crate::JitError;
use crate::image::{self, GLOBAL_ID, PANIC, PANIC_FORMAT, PRINT};
use crate::llvm::{Context, Module, Value};

/// The bitcode of `recorder.rs`.
static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder/recorder.bc"));

/// The functions of [`RECORDER`]: for messages of all values, and for those of plain ones.
const COPY_PANIC: [&str; 2] = ["__schism_gpu_panic", "__schism_gpu_panic_plain"];
const COPY_PRINT: [&str; 2] = ["__schism_gpu_print", "__schism_gpu_print_plain"];

/// What prints become calls of.
pub const PRINTS: &str = "schism.print";

/// Adds what copies messages, once the module declares it.
pub fn link<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let internal = JitError::Internal;
    let recorder = Module::from_bitcode(context, RECORDER).map_err(internal)?;
    recorder.set_target_of(module);
    // A kernel's work-items have as many registers as any function that the kernel may call. So these keep in memory what lives
    // longer than a block, and volatile: the driver's compiler would make registers of it again.
    recorder.run_passes(c"function(reg2mem)", None).map_err(internal)?;
    for instruction in recorder.functions().into_iter().flat_map(Value::instructions) {
        instruction.keep_in_local();
    }
    let names: Vec<String> = recorder
        .functions()
        .into_iter()
        .filter(|function| !function.is_declaration())
        .map(|function| function.name())
        .collect();
    module.link(context, recorder).map_err(internal)?;
    for function in names.iter().filter_map(|name| module.function(name)) {
        function.set_internal();
        function.remove_unwinding(context);
        image::normalise(context, function);
        // It is small code already, and runs at most once: optimised with the kernel it takes most of the time that a kernel takes to
        // compile, here and in the driver.
        function.remove_function_attribute("optsize");
        function.add_function_attribute(context, "noinline");
        function.add_function_attribute(context, "optnone");
    }
    Ok(())
}

/// Whether all values that the messages of a module show are plain. What copies only those needs fewer registers, and all of a kernel's
/// work-items set registers aside for it.
pub fn is_plain(module: &Module<'_>) -> bool {
    let mut descriptors =
        module.globals().into_iter().filter_map(|global| match global.initial_fields()[..] {
            [Some(kind), Some(magic), ..] if magic == u64::from(MAGIC) => Some(kind),
            _ => None,
        });
    // Above the kind stands the trait.
    descriptors.all(|kind| Kind::from_number(kind as u8).is_some_and(recorder::is_plain))
}

/// The builtins that leave messages, as LLVM's assembly.
pub fn bodies(o: &mut String, groups: bool, plain: bool) -> std::fmt::Result {
    let copy_panic = COPY_PANIC[usize::from(plain)];
    let copy_print = COPY_PRINT[usize::from(plain)];
    let in_group = i32::from(groups);
    let ids = "i64 %x, i64 %y, i64 %z";
    let places = "i32 %i, i32 %j, i32 %k";
    let mut locals = String::new();
    for (value, axis) in [("i", "x"), ("j", "y"), ("k", "z")] {
        writeln!(locals, "  %{value} = call i32 @llvm.nvvm.read.ptx.sreg.tid.{axis}()")?;
    }
    let types = "i64, i64, i64, i32, i32, i32, i1 zeroext";
    writeln!(o, "declare void @llvm.nvvm.exit()")?;
    writeln!(o, "declare void @{copy_panic}(ptr, ptr, ptr, ptr, {types}) nounwind")?;
    writeln!(o, "declare void @{copy_print}(ptr, ptr, ptr, {types}) nounwind")?;
    writeln!(
        o,
        "define internal void @schism.panic(ptr %record, ptr %template, ptr %args, ptr %location, {ids}) cold noinline noreturn nounwind {{
         {locals}
           call void @{copy_panic}(ptr %record, ptr %template, ptr %args, ptr %location, {ids}, {places}, i1 zeroext {in_group})
           call void @llvm.nvvm.exit()
           unreachable
         }}
         define internal void @{PRINTS}(ptr %record, ptr %template, ptr %args, {ids}) cold noinline nounwind {{
         {locals}
           call void @{copy_print}(ptr %record, ptr %template, ptr %args, {ids}, {places}, i1 zeroext {in_group})
           ret void
         }}"
    )?;
    let mut known = "  %record = call ptr @schism.record()\n".to_owned();
    for (value, builtin) in ["x", "y", "z"].into_iter().zip(GLOBAL_ID) {
        writeln!(known, "  %{value} = call i64 @{builtin}()")?;
    }
    // A text is a template whose second word is twice its length and one.
    writeln!(
        o,
        "define void @{PANIC}(ptr %text, i64 %len, ptr %location) alwaysinline cold noreturn nounwind {{
         {known}
           %twice = shl i64 %len, 1
           %odd = or disjoint i64 %twice, 1
           %args = inttoptr i64 %odd to ptr
           call void @schism.panic(ptr %record, ptr %text, ptr %args, ptr %location, {ids})
           unreachable
         }}
         define void @{PANIC_FORMAT}(ptr %template, ptr %args, ptr %location) alwaysinline cold noreturn nounwind {{
         {known}
           call void @schism.panic(ptr %record, ptr %template, ptr %args, ptr %location, {ids})
           unreachable
         }}
         define void @{PRINT}(ptr %template, ptr %args) alwaysinline nounwind {{
         {known}
           call void @{PRINTS}(ptr %record, ptr %template, ptr %args, {ids})
           ret void
         }}"
    )
}
