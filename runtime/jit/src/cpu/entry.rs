//! The function that the runtime calls, added after optimisation: straight-line code that needs
//! none.

use std::fmt::Write;
use std::mem::{offset_of, size_of};

use schism_jit_abi::code::{CURRENT, ENTRY, ItemContext, PERSONALITY, SWAP};
use schism_jit_abi::{CPU_BARRIER, CPU_GROUPS, CPU_UNWINDS, CPU_WHOLE_GROUP, CpuChunk};

use super::group_operations;
use super::work_loop::loop_parameters;
use crate::common::entry_text::{AXES, LOOP, offset_values, type_text};
use crate::common::image::{PANIC, PANIC_FORMAT};
use crate::common::module::Module;
use crate::{JitError, Request};
use schism_llvm::Context;

/// Adds the entry function. Only a kernel that reads its work-item's context gets one, and only one
/// that can panic outside the loop function gets a landing point. Returns the kernel's flags.
pub fn add<'c>(
    context: &'c Context,
    module: &Module<'c>,
    request: &Request,
    unwinds: bool,
) -> Result<u32, JitError> {
    let used = |name: &str| module.function(name).is_some_and(|f| !f.users().is_empty());
    let params = module.function(LOOP).map_or_else(Vec::new, |outer| outer.params());
    // The context is the loop function's last parameter.
    let stored = params.last().is_some_and(|context| !context.users().is_empty());
    let groups = params.len() == loop_parameters(request, true).len();
    let landing = !unwinds && (used(PANIC) || used(PANIC_FORMAT));
    let needs = Needs { context: stored || used(CURRENT), landing, unwinds, groups };
    let text =
        text(request, needs).map_err(|_| JitError::Internal("no memory for a text".to_owned()))?;
    let entry = Module::from_text(context, &text).map_err(JitError::Internal)?;
    entry.set_target_of(module);
    module.link(context, entry).map_err(JitError::InvalidImage)?;
    if let Some(outer) = module.function(LOOP) {
        outer.set_internal();
    }
    let waits = group_operations::waits(module);
    let cut = group_operations::is_cut(module);
    let flags = [
        (groups, CPU_GROUPS),
        (waits && !cut, CPU_BARRIER),
        (cut, CPU_WHOLE_GROUP),
        (unwinds, CPU_UNWINDS),
    ];
    Ok(flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, flag)| flag).sum())
}

#[derive(Clone, Copy)]
struct Needs {
    context: bool,
    landing: bool,
    unwinds: bool,
    groups: bool,
}

fn text(request: &Request, needs: Needs) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let o = &mut out;
    let types = loop_parameters(request, needs.groups);
    writeln!(o, "declare i32 @{LOOP}({})", types.join(", "))?;
    writeln!(o, "declare ptr @{SWAP}(ptr) nounwind")?;
    writeln!(o, "declare ptr @llvm.frameaddress.p0(i32)")?;
    writeln!(o, "declare ptr @llvm.stacksave.p0()")?;
    writeln!(o, "declare i32 @llvm.eh.sjlj.setjmp(ptr)")?;
    let frame = if needs.landing { " \"frame-pointer\"=\"all\"" } else { "" };
    let unwinding = if request.in_process || needs.unwinds { "" } else { " nounwind" };
    // The context is replaced again by the one that it has replaced, while the panic unwinds.
    let cleans_up = needs.unwinds && needs.context;
    let personality =
        if cleans_up { format!(" personality ptr @{PERSONALITY}") } else { String::new() };
    if cleans_up {
        writeln!(o, "declare i32 @{PERSONALITY}(...)")?;
    }
    writeln!(
        o,
        "define i32 @{ENTRY}(ptr %closure, ptr %chunk, ptr %panic){unwinding}{frame}{personality} {{\nstart:"
    )?;

    let mut arguments = Vec::new();
    for (index, param) in request.params.iter().enumerate() {
        let ty = type_text(param);
        if param.kind == schism_jit_abi::PARAM_BYTES {
            address(o, &format!("p{index}"), "%closure", param.offset)?;
        } else {
            address(o, &format!("p{index}.at"), "%closure", param.offset)?;
            writeln!(o, "  %p{index} = load {ty}, ptr %p{index}.at, align {}", param.align)?;
        }
        arguments.push(format!("{ty} %p{index}"));
    }
    for (value, index) in offset_values(request).zip(0..) {
        let offset = offset_of!(CpuChunk, offset) + 8 * index;
        address(o, &format!("offset.{index}.at"), "%chunk", offset as u64)?;
        writeln!(o, "  {value} = load i64, ptr %offset.{index}.at")?;
        arguments.push(format!("i64 {value}"));
    }
    let fields = [
        ("begin", offset_of!(CpuChunk, begin)),
        ("end", offset_of!(CpuChunk, end)),
        ("range", offset_of!(CpuChunk, range)),
    ];
    for (axis, index) in AXES.iter().zip(0..request.dimensions as usize) {
        for (field, offset) in fields {
            let name = format!("{axis}.{field}");
            address(o, &format!("{name}.at"), "%chunk", (offset + 8 * index) as u64)?;
            writeln!(o, "  %{name} = load i64, ptr %{name}.at")?;
            arguments.push(format!("i64 %{name}"));
        }
    }
    if needs.groups {
        address(o, "group.at", "%chunk", offset_of!(CpuChunk, group) as u64)?;
        writeln!(o, "  %group = load ptr, ptr %group.at")?;
        arguments.push("ptr %group".to_owned());
    }
    arguments.push("ptr %panic".to_owned());
    let call = |context: &str| {
        format!("  %status = call i32 @{LOOP}({}, ptr {context})", arguments.join(", "))
    };
    if !needs.context {
        writeln!(o, "{}\n  ret i32 %status\n}}", call("null"))?;
        return Ok(out);
    }

    writeln!(o, "  %context = alloca [{} x i8], align 16", size_of::<ItemContext>())?;
    address(o, "context.panic", "%context", offset_of!(ItemContext, panic) as u64)?;
    writeln!(o, "  store ptr %panic, ptr %context.panic")?;
    if needs.groups {
        address(o, "context.group", "%context", offset_of!(ItemContext, group) as u64)?;
        writeln!(o, "  store ptr %group, ptr %context.group")?;
    }
    for (axis, index) in AXES.iter().zip(0..) {
        let used = index < request.dimensions as usize;
        let range = if used { format!("%{axis}.range") } else { "1".to_owned() };
        let offset = offset_of!(ItemContext, range) + 8 * index;
        address(o, &format!("context.range.{axis}"), "%context", offset as u64)?;
        writeln!(o, "  store i64 {range}, ptr %context.range.{axis}")?;
    }
    // In memory, not in a register: it is needed after the jump back.
    writeln!(o, "  %previous = call ptr @{SWAP}(ptr %context)")?;
    address(o, "context.previous", "%context", offset_of!(ItemContext, previous) as u64)?;
    writeln!(o, "  store ptr %previous, ptr %context.previous")?;
    if needs.landing {
        // The frame's address goes to the first word and the stack's to the third; LLVM fills the
        // second.
        let jump = offset_of!(ItemContext, jump) as u64;
        address(o, "jump", "%context", jump)?;
        address(o, "jump.stack", "%context", jump + 16)?;
        writeln!(o, "  %frame = call ptr @llvm.frameaddress.p0(i32 0)")?;
        writeln!(o, "  store ptr %frame, ptr %jump")?;
        writeln!(o, "  %stack = call ptr @llvm.stacksave.p0()")?;
        writeln!(o, "  store ptr %stack, ptr %jump.stack")?;
        writeln!(o, "  %landed = call i32 @llvm.eh.sjlj.setjmp(ptr %jump)")?;
        writeln!(o, "  %first = icmp eq i32 %landed, 0")?;
        writeln!(o, "  br i1 %first, label %run, label %done")?;
    } else {
        writeln!(o, "  br label %run")?;
    }
    if cleans_up {
        let call = call("%context").replacen(" call ", " invoke ", 1);
        writeln!(o, "run:\n{call}\n      to label %done unwind label %unwinding")?;
        writeln!(o, "unwinding:\n  %pad = landingpad {{ ptr, i32 }} cleanup")?;
        writeln!(o, "  %again = load volatile ptr, ptr %context.previous")?;
        writeln!(o, "  %unwound = call ptr @{SWAP}(ptr %again)")?;
        writeln!(o, "  resume {{ ptr, i32 }} %pad")?;
    } else {
        writeln!(o, "run:\n{}\n  br label %done", call("%context"))?;
    }
    let landed = if needs.landing {
        format!(", [ {}, %start ]", schism_jit_abi::RUN_PANICKED)
    } else {
        String::new()
    };
    writeln!(o, "done:\n  %result = phi i32 [ %status, %run ]{landed}")?;
    writeln!(o, "  %restore = load volatile ptr, ptr %context.previous")?;
    writeln!(o, "  %ours = call ptr @{SWAP}(ptr %restore)")?;
    writeln!(o, "  ret i32 %result\n}}")?;
    Ok(out)
}

fn address(out: &mut String, name: &str, base: &str, offset: u64) -> std::fmt::Result {
    writeln!(out, "  %{name} = getelementptr inbounds i8, ptr {base}, i64 {offset}")
}
