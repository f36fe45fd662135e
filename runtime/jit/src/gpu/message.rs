//! Messages of panics and prints: a work-item writes them to the message buffer of its launch.
//!
//! **Panics with plain values** (`schism_passes::gpu::panic_sites`) call nothing and use no memory
//! of their own. During optimisation each is one call that does not return:
//! ```llvm
//!   call void @__schism_panic_site.1(ptr %schism.messages, ptr @schism.shape, ptr @location, i64 %index)
//!   unreachable
//! ```
//! Afterwards all of a function go to one block (`schism_passes::gpu::merge_panic_exits`), where
//! the call is lowered: the first work-item writes its ids, which it reads again from the special
//! registers, and the words; each work-item ends with `exit`. The host reads the constants after
//! the launch.
//!
//! **All others**
//! ```llvm
//!   call void @__schism_panic(ptr %text, i64 4, ptr @location)
//!   unreachable
//! ```
//! become, at their place,
//! ```llvm
//!   call void @schism.panic(ptr %schism.messages, ptr %text, ptr inttoptr (i64 9 to ptr), ptr @location, i64 %x, i64 0, i64 0)
//!   unreachable
//! ```
//! and that function, which is never inlined, copies the message and ends the work-item. The
//! copying itself is Rust (`recorder.rs`, which the build script compiles to bitcode): it follows
//! the message's template, its arguments and their descriptors. The host formats from the copies
//! (`schism_message::buffer`). Kernels without such messages contain none of it.

use std::fmt::Write;

use std::mem::{offset_of, size_of};

use schism_jit_abi::{
    GPU_MESSAGE_COMPLETE, GPU_MESSAGE_IN_GROUP, GPU_MESSAGE_SHAPED, GPU_STATE_CLAIMED,
    GPU_STATE_COMPLETE, GPU_STATE_FREE, GpuMessage, GpuMessageBuffer,
};
use schism_message::{Kind, MAGIC, recorder};

use super::builtins::{DEVICE_EXIT, DEVICE_GROUP_ID, DEVICE_GROUP_SIZE, DEVICE_LOCAL_ID};
use super::options::GpuOptions;
use crate::common::entry_text::AXES;
use crate::common::image::{self, GLOBAL_ID, PANIC, PANIC_FORMAT, PANIC_SHAPED, PANIC_SITE, PRINT};
use crate::common::module::Module;
use crate::{JitError, Request};
use schism_llvm::{Context, Opcode, Value};
use schism_passes::gpu::merge_panic_exits::{Fences, Joins};
use schism_passes::llvm_passes;

/// The bitcode of `recorder.rs`.
static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder/recorder.bc"));

/// The functions of [`RECORDER`]: for messages of all values, and for those of plain ones.
const COPY_PANIC: [&str; 2] = ["__schism_gpu_panic", "__schism_gpu_panic_plain"];
const COPY_PRINT: [&str; 2] = ["__schism_gpu_print", "__schism_gpu_print_plain"];

/// The function that prints call.
pub const PRINTS: &str = "schism.print";

/// Ends a work-item that has written a message. It has a body only after optimisation: until then
/// to LLVM it may unwind, and so may everything that panics
/// (`schism_passes::frontend::lower_unwind`).
pub(super) const END: &str = "schism.end";

/// What the functions are called that write messages of plain values, and that return whether to
/// call them again: never.
const WRITE: &str = "schism.write";

/// What the state of a message buffer never is.
const NO_STATE: i32 = -1;

/// Adds the code that copies messages, if the module declares it.
pub fn link<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let internal = JitError::Internal;
    let recorder = Module::from_bitcode(context, RECORDER).map_err(internal)?;
    recorder.set_target_of(module);
    // A kernel's work-items have as many registers as any function that the kernel may call. So
    // these functions keep in memory what lives longer than a block, and volatile: the driver's
    // compiler would promote it to registers again.
    recorder.run_passes(llvm_passes::REGISTERS_TO_MEMORY, None).map_err(internal)?;
    for instruction in recorder.functions().into_iter().flat_map(Value::instructions) {
        keep_in_local(instruction);
    }
    for function in link_functions(context, module, recorder)? {
        // It is small code already, and runs at most once: optimised with the kernel it would take
        // most of the kernel's compile time, here and in the driver.
        function.add_function_attribute("optnone", 0);
    }
    Ok(())
}

/// Links functions of Rust, which kernels call and have no copies of; returns those that a kernel needs.
pub(super) fn link_functions<'m, 'c>(
    context: &'c Context,
    module: &'m Module<'c>,
    functions: Module<'c>,
) -> Result<Vec<Value<'m>>, JitError> {
    let names: Vec<String> = functions
        .functions()
        .into_iter()
        .filter(|function| !function.is_declaration())
        .map(|function| function.name())
        .collect();
    module.link(context, functions).map_err(JitError::Internal)?;
    let linked: Vec<Value<'m>> = names.iter().filter_map(|name| module.function(name)).collect();
    for function in &linked {
        function.set_internal();
        function.remove_unwinding();
        image::normalise(*function);
        function.add_function_attribute("nounwind", 0);
        function.remove_function_attribute("optsize");
        function.add_function_attribute("noinline", 0);
    }
    Ok(linked)
}

/// Makes an access of a local volatile, so that the local stays in memory; ignores other
/// instructions.
fn keep_in_local(instruction: Value<'_>) {
    let address = match instruction.opcode() {
        Some(Opcode::Load) => instruction.get_operand(0),
        Some(Opcode::Store) => instruction.get_operand(1),
        _ => None,
    };
    if address.is_some_and(Value::is_alloca) {
        instruction.set_volatile(true);
    }
}

/// Whether all values in a module's messages are plain. The code that copies only those needs fewer
/// registers, which all of a kernel's work-items reserve.
pub fn is_plain(module: &Module<'_>) -> bool {
    let mut descriptors =
        module.globals().into_iter().filter_map(|global| match global.initial_fields()[..] {
            [Some(kind), Some(magic), ..] if magic == u64::from(MAGIC) => Some(kind),
            _ => None,
        });
    // The trait is in the bits above the kind.
    descriptors.all(|kind| Kind::from_number(kind as u8).is_some_and(recorder::is_plain))
}

/// The builtins that write messages, as LLVM's assembly.
pub fn bodies(o: &mut String, groups: bool, plain: bool) -> std::fmt::Result {
    let copy_panic = COPY_PANIC[usize::from(plain)];
    let copy_print = COPY_PRINT[usize::from(plain)];
    let in_group = i32::from(groups);
    let ids = "i64 %x, i64 %y, i64 %z";
    let places = "i32 %i, i32 %j, i32 %k";
    let mut locals = String::new();
    for (value, axis) in [("i", "x"), ("j", "y"), ("k", "z")] {
        writeln!(locals, "  %{value} = call i32 @{DEVICE_LOCAL_ID}.{axis}()")?;
    }
    let types = "i64, i64, i64, i32, i32, i32, i1 zeroext";
    writeln!(o, "declare void @{copy_panic}(ptr, ptr, ptr, ptr, {types}) nounwind")?;
    writeln!(o, "declare void @{copy_print}(ptr, ptr, ptr, {types}) nounwind")?;
    writeln!(
        o,
        "define internal void @schism.panic(ptr %messages, ptr %template, ptr %args, ptr %location, {ids}) cold noinline noreturn {{
         {locals}
           call void @{copy_panic}(ptr %messages, ptr %template, ptr %args, ptr %location, {ids}, {places}, i1 zeroext {in_group})
           call void @{END}()
           unreachable
         }}
         define internal void @{PRINTS}(ptr %messages, ptr %template, ptr %args, {ids}) cold noinline nounwind {{
         {locals}
           call void @{copy_print}(ptr %messages, ptr %template, ptr %args, {ids}, {places}, i1 zeroext {in_group})
           ret void
         }}"
    )?;
    let mut known = "  %messages = call ptr @schism.messages()\n".to_owned();
    for (value, builtin) in ["x", "y", "z"].into_iter().zip(GLOBAL_ID) {
        writeln!(known, "  %{value} = call i64 @{builtin}()")?;
    }
    // A text is a template whose second word is twice its length plus one.
    writeln!(
        o,
        "define void @{PANIC}(ptr %text, i64 %len, ptr %location) alwaysinline cold noreturn {{
         {known}
           %twice = shl i64 %len, 1
           %odd = or disjoint i64 %twice, 1
           %args = inttoptr i64 %odd to ptr
           call void @schism.panic(ptr %messages, ptr %text, ptr %args, ptr %location, {ids})
           unreachable
         }}
         define void @{PANIC_FORMAT}(ptr %template, ptr %args, ptr %location) alwaysinline cold noreturn {{
         {known}
           call void @schism.panic(ptr %messages, ptr %template, ptr %args, ptr %location, {ids})
           unreachable
         }}
         define void @{PRINT}(ptr %template, ptr %args) alwaysinline nounwind {{
         {known}
           call void @{PRINTS}(ptr %messages, ptr %template, ptr %args, {ids})
           ret void
         }}"
    )
}

/// A builtin that panics with that many words.
#[derive(Debug)]
pub struct Shaped {
    /// Its name.
    pub name: String,
    words: usize,
}

/// Those that a module uses.
pub fn shaped(module: &Module<'_>) -> Vec<Shaped> {
    with_words(module, PANIC_SHAPED)
}

/// The used functions with that name, for all numbers of words.
fn with_words(module: &Module<'_>, name: &str) -> Vec<Shaped> {
    let functions = module.functions().into_iter().filter(|f| !f.users().is_empty());
    functions
        .filter_map(|function| {
            let full = function.name();
            let words = full.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?;
            Some(Shaped { name: full, words })
        })
        .collect()
}

/// The operands before a site's words: `%messages`, the first ids of this sub-grid of the launch if
/// there are several, `%shape`, `%location`.
fn site_parameters(base: bool, words: usize) -> String {
    let base = if base { ", i64 %base.x, i64 %base.y, i64 %base.z" } else { "" };
    let words: String = (0..words).map(|word| format!(", i64 %w{word}")).collect();
    format!("ptr %messages{base}, ptr %shape, ptr %location{words}")
}

impl Shaped {
    /// Its body, as LLVM's assembly: a call of the site. `base` are the functions that return the
    /// first ids of a sub-grid.
    ///
    /// It may read all memory, and it may unwind, so that stores before the panic stay: also to
    /// memory that only the kernel's caller knows.
    pub fn body(&self, o: &mut String, base: Option<&[&str]>) -> std::fmt::Result {
        let Self { name, words } = self;
        let all = site_parameters(base.is_some(), *words);
        let own: String = (0..*words).map(|word| format!(", i64 %w{word}")).collect();
        let effects = "cold noreturn memory(read, inaccessiblemem: readwrite)";
        writeln!(o, "declare void @{PANIC_SITE}.{words}({all}) {effects}")?;
        writeln!(
            o,
            "define void @{name}(ptr %shape, ptr %location{own}) alwaysinline cold noreturn {{
               %messages = call ptr @schism.messages()"
        )?;
        for (name, axis) in base.into_iter().flatten().zip(AXES) {
            writeln!(o, "  %base.{axis} = call i64 @{name}()")?;
        }
        writeln!(o, "  call void @{PANIC_SITE}.{words}({all})\n  unreachable\n}}")
    }
}

/// Where the code is that writes the message of a panic with plain values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// In the function that panics.
    InPlace,
    /// In a function that is never inlined, for compilers that compute several work-items in the
    /// lanes of vectors: they compute what is in the function that panics for all lanes, and its
    /// atomic access for one lane after the other. The call is in a loop that is never repeated,
    /// which they do not know: a loop that no lane enters they skip, and other code they do not.
    Called,
}

/// After optimisation: lowers panics with plain values to messages, and ends all that panic. Kernels
/// with groups write where in its group a work-item is.
pub fn leave<'c>(
    context: &'c Context,
    module: &Module<'c>,
    request: &Request,
    options: &GpuOptions,
    (groups, writing): (bool, Writing),
) -> Result<(), JitError> {
    let fences = match writing {
        Writing::InPlace => Fences::Yes,
        Writing::Called => Fences::No,
    };
    let joins = match options.global_ids {
        true => Joins::WithoutBarriers,
        false => Joins::All,
    };
    module.merge_panic_exits(fences, joins);
    let sites = with_words(module, PANIC_SITE);
    let ends = module.function(END).is_some();
    if sites.is_empty() && !ends {
        return Ok(());
    }
    let mut text = format!("declare void @{DEVICE_EXIT}()\n");
    if ends {
        text += &format!(
            "define void @{END}() alwaysinline cold noreturn nounwind {{\n  call void @{DEVICE_EXIT}()\n  unreachable\n}}\n"
        );
    }
    for name in [DEVICE_LOCAL_ID, DEVICE_GROUP_ID, DEVICE_GROUP_SIZE] {
        for axis in AXES {
            text += &format!("declare i32 @{name}.{axis}()\n");
        }
    }
    for site in &sites {
        site.leave(&mut text, request, options, (groups, writing))
            .map_err(|_| JitError::Internal("no memory for a text".to_owned()))?;
    }
    let bodies = Module::from_text(context, &text).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::Internal)?;
    let names = sites.iter().map(|site| &*site.name).chain([END]);
    for function in names.filter_map(|name| module.function(name)) {
        function.set_internal();
    }
    module.run_passes(llvm_passes::INLINE_BODIES, None).map_err(JitError::Internal)
}

impl Shaped {
    /// The body of a site, as LLVM's assembly.
    fn leave(
        &self,
        o: &mut String,
        request: &Request,
        options: &GpuOptions,
        (groups, writing): (bool, Writing),
    ) -> std::fmt::Result {
        const HEAD: usize = size_of::<GpuMessageBuffer>();
        let Self { name, words } = self;
        let all = site_parameters(options.base, *words);
        let writer = format!("{WRITE}.{words}");
        let is_called = writing == Writing::Called;
        let repeated = if is_called { "%again" } else { "false" };
        writeln!(
            o,
            "define void @{name}({all}) alwaysinline cold noreturn nounwind {{
             start:
               br label %write
             write:
               %again = call i1 @{writer}({all})
               br i1 {repeated}, label %write, label %written
             written:
               call void @{DEVICE_EXIT}()
               unreachable
             }}"
        )?;
        let inlining = if is_called { "noinline" } else { "alwaysinline" };
        writeln!(
            o,
            "define internal i1 @{writer}({all}) {inlining} cold nounwind {{
               %state = getelementptr inbounds i8, ptr %messages, i64 {}
               %claim = cmpxchg ptr %state, i32 {GPU_STATE_FREE}, i32 {GPU_STATE_CLAIMED} syncscope(\"device\") monotonic monotonic
               %won = extractvalue {{ i32, i1 }} %claim, 1
               br i1 %won, label %leave, label %end
             leave:",
            offset_of!(GpuMessageBuffer, state)
        )?;
        let mut stores = 0;
        let mut store = |o: &mut String, ty: &str, value: &str, offset: usize| {
            stores += 1;
            writeln!(
                o,
                "  %at.{stores} = getelementptr inbounds i8, ptr %messages, i64 {}
                   store {ty} {value}, ptr %at.{stores}, align {}",
                HEAD + offset,
                if ty == "i32" { 4 } else { 8 },
            )
        };
        // The host ensures that everything that is not written is 0.
        for (index, axis) in AXES.into_iter().enumerate().take(request.dimensions as usize) {
            let size = match options.group[index] {
                0 => format!("call i32 @{DEVICE_GROUP_SIZE}.{axis}()"),
                known => format!("add i32 {known}, 0"),
            };
            let base = if options.base { format!("%base.{axis}") } else { "0".to_owned() };
            // A sub-grid begins at a group, or at a work-item.
            let [of_groups, of_items] = if groups { [&*base, "0"] } else { ["0", &base] };
            writeln!(
                o,
                "  %tid.{axis}.32 = call i32 @{DEVICE_LOCAL_ID}.{axis}()
                   %tid.{axis} = zext nneg i32 %tid.{axis}.32 to i64
                   %block.{axis}.32 = call i32 @{DEVICE_GROUP_ID}.{axis}()
                   %block.{axis} = zext nneg i32 %block.{axis}.32 to i64
                   %size.{axis}.32 = {size}
                   %size.{axis} = zext nneg i32 %size.{axis}.32 to i64
                   %group.{axis} = add i64 %block.{axis}, {of_groups}
                   %first.{axis} = mul i64 %group.{axis}, %size.{axis}
                   %place.{axis} = add i64 %first.{axis}, %tid.{axis}
                   %id.{axis} = add i64 %place.{axis}, {of_items}"
            )?;
            let place = 8 * index;
            store(o, "i64", &format!("%id.{axis}"), offset_of!(GpuMessage, global_id) + place)?;
            if groups {
                let local = format!("%tid.{axis}");
                store(o, "i64", &local, offset_of!(GpuMessage, local_id) + place)?;
            }
        }
        store(o, "ptr", "%shape", offset_of!(GpuMessage, template))?;
        store(o, "ptr", "%location", offset_of!(GpuMessage, location))?;
        for word in 0..*words {
            store(o, "i64", &format!("%w{word}"), size_of::<GpuMessage>() + 8 * word)?;
        }
        let size = (size_of::<GpuMessage>() + 8 * words).next_multiple_of(16);
        let in_group = if groups { GPU_MESSAGE_IN_GROUP } else { 0 };
        let flags = GPU_MESSAGE_COMPLETE | GPU_MESSAGE_SHAPED | in_group;
        store(o, "i32", &size.to_string(), offset_of!(GpuMessage, size))?;
        store(o, "i32", &flags.to_string(), offset_of!(GpuMessage, flags))?;
        writeln!(
            o,
            "  store atomic i32 {GPU_STATE_COMPLETE}, ptr %state syncscope(\"device\") release, align 4
               br label %end
             end:
               %state.before = extractvalue {{ i32, i1 }} %claim, 0
               %again = icmp eq i32 %state.before, {NO_STATE}
               ret i1 %again
             }}"
        )
    }
}
