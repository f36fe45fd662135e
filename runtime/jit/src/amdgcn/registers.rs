//! Special registers, barriers and sub-groups: what `gpu::builtins` names.
//!
//! Before:
//! ```llvm
//!   %tid = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   %ntid = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
//!   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
//! ```
//! After:
//! ```llvm
//!   %tid = call range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
//!   %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
//!   %at = getelementptr inbounds i8, ptr addrspace(4) %implicit, i64 12
//!   %size = load i16, ptr addrspace(4) %at, align 4, !invariant.load !0
//!   %ntid = zext i16 %size to i32
//!   fence syncscope("workgroup") release
//!   call void @llvm.amdgcn.s.barrier()
//!   fence syncscope("workgroup") acquire
//! ```
//!
//! A sub-group has 32 work-items on every device. Where a wave has 64, it holds two sub-groups, and
//! each operation stays in the half that the work-item is in:
//! ```llvm
//!   %all = call i64 @llvm.amdgcn.ballot.i64(i1 %flag)
//!   %half = lshr i64 %all, %first                 ; 0 or 32
//!   %result = trunc i64 %half to i32
//! ```
//! The hidden arguments that the driver adds to a kernel's own are those of code object version 5:
//! the number of groups is at 0, 4 and 8, and the size of a group at 12, 14 and 16.

use std::fmt::Write;

use schism_llvm::{AsModule, Context};
use schism_passes::llvm_passes;

use super::arch::Processor;
use crate::JitError;
use crate::common::entry_text::AXES;
use crate::common::module::Module;
use crate::gpu::builtins::{
    DEVICE_BALLOT, DEVICE_BARRIER, DEVICE_EXIT, DEVICE_GROUP_COUNT, DEVICE_GROUP_ID,
    DEVICE_GROUP_SIZE, DEVICE_LANE, DEVICE_LOCAL_ID, DEVICE_PREFIX, DEVICE_SHUFFLE,
    DEVICE_SHUFFLE_DOWN, DEVICE_SHUFFLE_UP, DEVICE_SHUFFLE_XOR, DEVICE_SUB_GROUP_BARRIER,
};

/// The start of the names of what replaces them.
const OWN: &str = "schism.amdgcn.";

/// Lowers the intrinsics that a module uses. May run several times.
pub fn lower<'c>(
    context: &'c Context,
    module: &Module<'c>,
    processor: Processor,
) -> Result<(), JitError> {
    let used: Vec<String> = module
        .functions()
        .into_iter()
        .filter(|function| !function.users().is_empty())
        .map(|function| function.name())
        // The end of a work-item is lowered when everything is in the entry.
        .filter(|name| name.starts_with(DEVICE_PREFIX) && name != DEVICE_EXIT)
        .collect();
    if used.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for name in &used {
        body(&mut text, name, processor)
            .map_err(|_| JitError::Internal("no memory for a text".to_owned()))?;
    }
    text += &declarations(&text);
    let bodies = Module::from_text(context, &text).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::Internal)?;
    for name in used {
        let own = format!("{OWN}{}", &name[DEVICE_PREFIX.len()..]);
        let (Some(old), Some(new)) = (module.function(&name), module.function(&own)) else {
            return Err(JitError::Internal(format!("`{name}` is not lowered")));
        };
        if old.value_type() != new.value_type() {
            return Err(JitError::Internal(format!("`{name}` has another type")));
        }
        new.set_internal();
        old.replace_uses(new);
        old.delete_function();
    }
    module.run_passes(llvm_passes::INLINE_BODIES, None).map_err(JitError::Internal)?;
    debug_assert!(module.handle().verify().is_ok());
    Ok(())
}

/// Declarations of the intrinsics that a text calls.
fn declarations(text: &str) -> String {
    let known = [
        "i32 @llvm.amdgcn.workitem.id.x()",
        "i32 @llvm.amdgcn.workitem.id.y()",
        "i32 @llvm.amdgcn.workitem.id.z()",
        "i32 @llvm.amdgcn.workgroup.id.x()",
        "i32 @llvm.amdgcn.workgroup.id.y()",
        "i32 @llvm.amdgcn.workgroup.id.z()",
        "ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()",
        "void @llvm.amdgcn.s.barrier()",
        "void @llvm.amdgcn.wave.barrier()",
        "i32 @llvm.amdgcn.mbcnt.lo(i32, i32)",
        "i32 @llvm.amdgcn.mbcnt.hi(i32, i32)",
        "i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
        "i32 @llvm.amdgcn.ballot.i32(i1)",
        "i64 @llvm.amdgcn.ballot.i64(i1)",
    ];
    let name =
        |known: &str| known[known.find('@').unwrap_or(0)..known.find('(').unwrap_or(0)].to_owned();
    let name_of = |declared: &&str| {
        // The first parenthesis may be an address space's.
        let from = declared.find('@').unwrap_or(0);
        name(&declared[from..])
    };
    let called = known.iter().filter(|declared| text.contains(&format!("{}(", name_of(declared))));
    called.map(|declared| format!("declare {declared}\n")).collect()
}

/// The body of what replaces an intrinsic, as LLVM's assembly. An unknown one gets none.
fn body(o: &mut String, name: &str, processor: Processor) -> std::fmt::Result {
    let own = format!("{OWN}{}", &name[DEVICE_PREFIX.len()..]);
    let end = "alwaysinline nounwind";
    for (axis, index) in AXES.into_iter().zip(0_u32..) {
        let register = |register: &str| format!("{register}.{axis}");
        if name == register(DEVICE_LOCAL_ID) || name == register(DEVICE_GROUP_ID) {
            let what = if name == register(DEVICE_LOCAL_ID) { "workitem" } else { "workgroup" };
            return writeln!(
                o,
                "define i32 @{own}() {end} {{
                   %id = call i32 @llvm.amdgcn.{what}.id.{axis}()
                   ret i32 %id
                 }}"
            );
        }
        if name == register(DEVICE_GROUP_COUNT) {
            return implicit(o, &own, "i32", 4 * index, end);
        }
        if name == register(DEVICE_GROUP_SIZE) {
            return implicit(o, &own, "i16", 12 + 2 * index, end);
        }
    }
    let group = "alwaysinline convergent nounwind";
    match name {
        DEVICE_BARRIER => writeln!(
            o,
            "define void @{own}(i32 %number) {group} {{
               fence syncscope(\"workgroup\") release
               call void @llvm.amdgcn.s.barrier()
               fence syncscope(\"workgroup\") acquire
               ret void
             }}"
        ),
        DEVICE_SUB_GROUP_BARRIER => writeln!(
            o,
            "define void @{own}(i32 %mask) {group} {{
               fence syncscope(\"wavefront\") release
               call void @llvm.amdgcn.wave.barrier()
               fence syncscope(\"wavefront\") acquire
               ret void
             }}"
        ),
        DEVICE_LANE => writeln!(
            o,
            "define i32 @{own}() {end} {{
             {}
               ret i32 %lane
             }}",
            lane(processor)
        ),
        DEVICE_BALLOT if processor.wave == 32 => writeln!(
            o,
            "define i32 @{own}(i32 %mask, i1 %flag) {group} {{
               %result = call i32 @llvm.amdgcn.ballot.i32(i1 %flag)
               ret i32 %result
             }}"
        ),
        DEVICE_BALLOT => writeln!(
            o,
            "define i32 @{own}(i32 %mask, i1 %flag) {group} {{
             {}
               %all = call i64 @llvm.amdgcn.ballot.i64(i1 %flag)
               %first.wide = zext nneg i32 %first to i64
               %half = lshr i64 %all, %first.wide
               %result = trunc i64 %half to i32
               ret i32 %result
             }}",
            lane(processor)
        ),
        DEVICE_SHUFFLE => shuffle(o, &own, processor, "  %from = and i32 %argument, 31"),
        DEVICE_SHUFFLE_XOR => shuffle(
            o,
            &own,
            processor,
            "  %by = and i32 %argument, 31
               %from = xor i32 %lane, %by",
        ),
        DEVICE_SHUFFLE_UP => shuffle(
            o,
            &own,
            processor,
            "  %by = and i32 %argument, 31
               %other = sub i32 %lane, %by
               %is.there = icmp uge i32 %lane, %by
               %from = select i1 %is.there, i32 %other, i32 %lane",
        ),
        DEVICE_SHUFFLE_DOWN => shuffle(
            o,
            &own,
            processor,
            "  %by = and i32 %argument, 31
               %other = add i32 %lane, %by
               %is.there = icmp ult i32 %other, 32
               %from = select i1 %is.there, i32 %other, i32 %lane",
        ),
        _ => Ok(()),
    }
}

/// A function that reads a hidden argument.
fn implicit(
    o: &mut String,
    own: &str,
    ty: &str,
    offset: u32,
    attributes: &str,
) -> std::fmt::Result {
    let (read, align) = match ty {
        "i16" => ("zext i16 %read to i32", if offset.is_multiple_of(4) { 4 } else { 2 }),
        _ => ("add i32 %read, 0", 4),
    };
    writeln!(
        o,
        "define i32 @{own}() {attributes} {{
           %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
           %at = getelementptr inbounds i8, ptr addrspace(4) %implicit, i64 {offset}
           %read = load {ty}, ptr addrspace(4) %at, align {align}, !invariant.load !{{}}
           %value = {read}
           ret i32 %value
         }}"
    )
}

/// Computes `%lane`, the place in the sub-group, and with waves of 64 `%first`, the place of the
/// sub-group in the wave.
fn lane(processor: Processor) -> &'static str {
    match processor.wave {
        32 => "  %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)",
        _ => {
            "  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
               %place = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
               %lane = and i32 %place, 31
               %first = and i32 %place, 32"
        }
    }
}

/// A shuffle; `from` computes the lane `%from` of `%lane` and `%argument`.
fn shuffle(o: &mut String, own: &str, processor: Processor, from: &str) -> std::fmt::Result {
    // In bytes, of the whole wave.
    let index = match processor.wave {
        32 => "  %index = shl nuw nsw i32 %from, 2",
        _ => {
            "  %in.wave = or disjoint i32 %from, %first
               %index = shl nuw nsw i32 %in.wave, 2"
        }
    };
    writeln!(
        o,
        "define i32 @{own}(i32 %mask, i32 %value, i32 %argument, i32 %end) alwaysinline convergent nounwind {{
         {}
         {from}
         {index}
           %result = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %value)
           ret i32 %result
         }}",
        lane(processor)
    )
}
