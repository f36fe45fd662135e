//! The heap of kernels that allocate: blocks come from a region that host and device share.
//!
//! ```llvm
//!   %block = call ptr @__schism_host_alloc(i64 24, i64 8)
//! ```
//! becomes
//! ```llvm
//!   %heap = call ptr @schism.heap()
//!   %item = call i64 @__schism_global_id_x()
//!   %block = call ptr @schism.heap.take(ptr %heap, i64 24, i64 8, i64 %item)
//! ```
//! and where that is null, the work-item tells that the launch gives up, and ends. The functions that it calls are Rust
//! (`schism_jit_abi::heap`, which the build script compiles to bitcode), and stay functions: they are
//! large beside what uses a block.

use std::fmt::Write;
use std::mem::offset_of;

use schism_jit_abi::{GPU_STATE_EXHAUSTED, GpuMessageBuffer};
use schism_llvm::Context;

use super::message::{self, END};
use crate::JitError;
use crate::common::image::{GLOBAL_ID, HOST_HEAP};
use crate::common::module::Module;

/// The bitcode of `heap.rs`.
static HEAP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder/heap.bc"));

/// Whether a module allocates or frees.
pub(super) fn is_used(module: &Module<'_>) -> bool {
    let functions = HOST_HEAP.iter().filter_map(|name| module.function(name));
    functions.into_iter().any(|function| !function.users().is_empty())
}

/// Adds the functions of the heap, if the module declares them.
pub(super) fn link<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let heap = Module::from_bitcode(context, HEAP).map_err(JitError::Internal)?;
    heap.set_target_of(module);
    message::link_functions(context, module, heap).map(drop)
}

/// The allocator's functions, as LLVM's assembly.
pub(super) fn bodies(o: &mut String) -> std::fmt::Result {
    let [alloc, alloc_zeroed, dealloc, realloc] = HOST_HEAP;
    let state = offset_of!(GpuMessageBuffer, state);
    let known = format!(
        "  %heap = call ptr @schism.heap()
           %item = call i64 @{}()
",
        GLOBAL_ID[0]
    );
    let end = format!(
        "end:
           %messages = call ptr @schism.messages()
           %state = getelementptr inbounds i8, ptr %messages, i64 {state}
           store atomic i32 {GPU_STATE_EXHAUSTED}, ptr %state syncscope(\"device\") monotonic, align 4
           call void @{END}()
           unreachable"
    );
    let there = "  %is.there = icmp ne ptr %block, null
           br i1 %is.there, label %done, label %end
         done:";
    writeln!(
        o,
        "declare ptr @schism.heap.take(ptr, i64, i64, i64) nounwind
         declare zeroext i1 @schism.heap.give(ptr, ptr, i64, i64) nounwind
         declare ptr @schism.heap.change(ptr, ptr, i64, i64, i64, i64) nounwind
         declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
         define ptr @{alloc}(i64 %size, i64 %align) alwaysinline {{
         {known}
           %block = call ptr @schism.heap.take(ptr %heap, i64 %size, i64 %align, i64 %item)
         {there}
           ret ptr %block
         {end}
         }}
         define ptr @{alloc_zeroed}(i64 %size, i64 %align) alwaysinline {{
         {known}
           %block = call ptr @schism.heap.take(ptr %heap, i64 %size, i64 %align, i64 %item)
         {there}
           call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %size, i1 false)
           ret ptr %block
         {end}
         }}
         define void @{dealloc}(ptr %block, i64 %size, i64 %align) alwaysinline {{
         {known}
           %is.given = call zeroext i1 @schism.heap.give(ptr %heap, ptr %block, i64 %size, i64 %align)
           br i1 %is.given, label %done, label %end
         done:
           ret void
         {end}
         }}
         define ptr @{realloc}(ptr %old, i64 %size, i64 %align, i64 %new.size) alwaysinline {{
         {known}
           %block = call ptr @schism.heap.change(ptr %heap, ptr %old, i64 %size, i64 %align, i64 %new.size, i64 %item)
         {there}
           ret ptr %block
         {end}
         }}"
    )
}
