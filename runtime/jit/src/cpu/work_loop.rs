//! The loop nest around a kernel; see the description of the parent module.

use std::collections::HashSet;
use std::fmt::Write;
use std::mem::offset_of;

use schism_jit_abi::{CpuGroup, PARAM_BYTES, Param};

use schism_passes::cpu::split_at_barriers::{GROUP_FIRST, GROUP_LOCAL_MEMORY, GROUP_SIZE};
use schism_passes::vectorize::MARK as WORK_ITEM_LOOP;

use crate::common::entry_text::{
    AXES, LOOP, copy_parameter_attributes, known_value, needs_groups, offset_values, type_text,
};
use crate::common::image::KERNEL;
use crate::common::module::Module;
use crate::{JitError, Request};
use schism_llvm::{Context, Value};

/// Called once for each work-item with the nest's values, until these become the
/// builtins' values (`resolve`).
pub const ITEM: &str = "schism.item";

/// Names the metadata node for all work-items' memory accesses.
pub const ITEMS: &std::ffi::CStr = c"schism.items";

/// The types of the loop function's parameters.
pub fn loop_parameters(request: &Request, groups: bool) -> Vec<String> {
    request
        .params
        .iter()
        .map(type_text)
        .chain(offset_values(request).map(|_| "i64".to_owned()))
        .chain((0..request.dimensions * 3).map(|_| "i64".to_owned()))
        .chain(groups.then(|| "ptr".to_owned()))
        .chain(["ptr".to_owned(), "ptr".to_owned()])
        .collect()
}

/// The types of the marker's operands: id and range, the record for panics, the context; with
/// groups also local id, local range, group id, group range, local memory and the group.
pub fn item_parameters(groups: bool) -> Vec<&'static str> {
    let mut types = vec!["i64"; 6];
    types.extend(["ptr", "ptr"]);
    if groups {
        types.extend(["i64"; 12]);
        types.extend(["ptr", "ptr"]);
    }
    types
}

/// Adds the loop function, which calls the kernel, and makes the kernel internal.
pub fn wrap<'c>(
    context: &'c Context,
    module: &Module<'c>,
    kernel: Value,
    request: &Request,
) -> Result<(), JitError> {
    let groups = needs_groups(module);
    let text =
        text(request, groups).map_err(|_| JitError::Internal("no memory for a text".to_owned()))?;
    let nest = Module::from_text(context, &text).map_err(JitError::Internal)?;
    nest.set_target_of(module);
    let outer = nest.function(LOOP).ok_or_else(|| missing(LOOP))?;
    if groups {
        describe_group(outer, request.group);
    }
    copy_parameter_attributes(kernel, outer, &request.params);
    module.link(context, nest).map_err(JitError::InvalidImage)?;
    kernel.set_internal();
    Ok(())
}

/// An error for a function that this module has added and does not find again.
pub fn missing(name: &str) -> JitError {
    JitError::Internal(format!("`{name}` is gone"))
}

/// The loop nest as LLVM's assembly.
fn text(request: &Request, groups: bool) -> Result<String, std::fmt::Error> {
    let axes = &AXES[..request.dimensions as usize];
    let mut out = String::new();
    let o = &mut out;
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    for (param, index) in request.params.iter().zip(0_u32..) {
        let Param { size, align, kind, .. } = *param;
        let ty = type_text(param);
        if kind == PARAM_BYTES {
            parameters.push(format!(
                "ptr noalias readonly captures(none) dereferenceable({size}) align {align} %p{index}"
            ));
        } else {
            parameters.push(format!("{ty} %p{index}"));
        }
        arguments.push(match known_value(o, request, index)? {
            Some(known) => known,
            None if kind == PARAM_BYTES => {
                format!("ptr byval([{size} x i8]) align {align} %p{index}")
            }
            None => format!("{ty} %p{index}"),
        });
    }
    for value in offset_values(request) {
        parameters.push(format!("i64 {value}"));
        arguments.push(format!("i64 {value}"));
    }
    for axis in axes {
        parameters.push(format!("i64 %{axis}.begin, i64 %{axis}.end, i64 %{axis}.range"));
    }
    let declared: Vec<String> = request
        .params
        .iter()
        .map(|param| match param.kind {
            PARAM_BYTES => format!("ptr byval([{} x i8]) align {}", param.size, param.align),
            _ => type_text(param),
        })
        .chain(offset_values(request).map(|_| "i64".to_owned()))
        .collect();

    if groups {
        parameters.push("ptr %group".to_owned());
    }

    writeln!(o, "declare void @{KERNEL}({})", declared.join(", "))?;
    writeln!(o, "declare void @{ITEM}({})", item_parameters(groups).join(", "))?;
    writeln!(o, "declare void @llvm.assume(i1)")?;
    writeln!(
        o,
        "define i32 @{LOOP}({}ptr noalias captures(none) %panic, ptr %context) {{\nstart:",
        parameters.iter().map(|p| format!("{p}, ")).collect::<String>()
    )?;
    for axis in axes {
        writeln!(o, "  %{axis}.ordered = icmp ule i64 %{axis}.begin, %{axis}.end")?;
        writeln!(o, "  call void @llvm.assume(i1 %{axis}.ordered)")?;
        writeln!(o, "  %{axis}.inside = icmp ule i64 %{axis}.end, %{axis}.range")?;
        writeln!(o, "  call void @llvm.assume(i1 %{axis}.inside)")?;
        writeln!(o, "  %{axis}.limited = icmp sge i64 %{axis}.range, 0")?;
        writeln!(o, "  call void @llvm.assume(i1 %{axis}.limited)")?;
    }
    if groups {
        load_group(o)?;
    }
    let outermost = axes[axes.len() - 1];
    writeln!(o, "  br label %{outermost}.head")?;
    for (index, axis) in axes.iter().enumerate().rev() {
        let (from, out_to) = match axes.get(index + 1) {
            Some(outer) => (format!("{outer}.head"), format!("{outer}.next")),
            None => ("start".to_owned(), "done".to_owned()),
        };
        let into = match index.checked_sub(1) {
            Some(inner) => format!("{}.head", axes[inner]),
            None => "item".to_owned(),
        };
        writeln!(o, "{axis}.head:")?;
        writeln!(
            o,
            "  %{axis} = phi i64 [ %{axis}.begin, %{from} ], [ %{axis}.after, %{axis}.next ]"
        )?;
        writeln!(o, "  %{axis}.more = icmp ult i64 %{axis}, %{axis}.end")?;
        writeln!(o, "  br i1 %{axis}.more, label %{into}, label %{out_to}")?;
    }
    let value = |suffix: &str, unused: &str| -> String {
        AXES.iter()
            .map(|axis| match axes.contains(axis) {
                true => format!("i64 %{axis}{suffix}, "),
                false => format!("i64 {unused}, "),
            })
            .collect()
    };
    writeln!(o, "item:")?;
    let mut of_group = String::new();
    if groups {
        for axis in axes {
            writeln!(o, "  %{axis}.local = sub nuw nsw i64 %{axis}, %{axis}.group.first")?;
        }
        of_group += ", ";
        of_group += &value(".local", "0");
        of_group.extend(AXES.iter().zip(request.group).map(|(axis, items)| match items {
            0 => format!("i64 %{axis}.group.local.range, "),
            items => format!("i64 {items}, "),
        }));
        for field in [".group.id", ".group.range"] {
            of_group.extend(AXES.map(|axis| format!("i64 %{axis}{field}, ")));
        }
        of_group += "ptr %group.memory, ptr %group";
    }
    writeln!(
        o,
        "  call void @{ITEM}({}{}ptr %panic, ptr %context{of_group})",
        value("", "0"),
        value(".range", "1")
    )?;
    writeln!(o, "  call void @{KERNEL}({})", arguments.join(", "))?;
    writeln!(o, "  br label %x.next")?;
    for (index, axis) in axes.iter().enumerate() {
        writeln!(o, "{axis}.next:")?;
        writeln!(o, "  %{axis}.after = add nuw nsw i64 %{axis}, 1")?;
        writeln!(o, "  br label %{axis}.head, !llvm.loop !{}", index + 2)?;
    }
    writeln!(o, "done:\n  ret i32 0\n}}")?;
    writeln!(o, "!{} = !{{!0}}", ITEMS.to_string_lossy())?;
    writeln!(o, "!0 = distinct !{{}}")?;
    writeln!(o, "!1 = !{{!\"llvm.loop.parallel_accesses\", !0}}")?;
    let mark = axes.len() + 2;
    for index in 0..axes.len() {
        // The innermost loop is the one whose work-items become lanes.
        let marked = if index == 0 { format!(", !{mark}") } else { String::new() };
        writeln!(o, "!{0} = distinct !{{!{0}, !1{marked}}}", index + 2)?;
    }
    writeln!(o, "!{mark} = !{{!\"{WORK_ITEM_LOOP}\"}}")?;
    Ok(out)
}

/// Tells `split-at-barriers` what it needs to know of groups.
fn describe_group(outer: Value, group: [u32; 3]) {
    let fields = [
        (GROUP_FIRST, offset_of!(CpuGroup, first)),
        (GROUP_LOCAL_MEMORY, offset_of!(CpuGroup, local_memory)),
    ];
    for (name, offset) in fields {
        outer.add_string_attribute(name, &offset.to_string());
    }
    if group != [0; 3] {
        let [x, y, z] = group;
        outer.add_string_attribute(GROUP_SIZE, &format!("{x},{y},{z}"));
    }
}

/// Loads a group's values, once for the whole box.
fn load_group(o: &mut String) -> std::fmt::Result {
    let fields = [
        ("first", offset_of!(CpuGroup, first)),
        ("local.range", offset_of!(CpuGroup, local_range)),
        ("id", offset_of!(CpuGroup, id)),
        ("range", offset_of!(CpuGroup, range)),
    ];
    for (field, offset) in fields {
        for (axis, index) in AXES.iter().zip(0..) {
            let name = format!("{axis}.group.{field}");
            let at = offset + 8 * index;
            writeln!(o, "  %{name}.at = getelementptr inbounds i8, ptr %group, i64 {at}")?;
            writeln!(o, "  %{name} = load i64, ptr %{name}.at")?;
        }
    }
    let at = offset_of!(CpuGroup, local_memory);
    writeln!(o, "  %group.memory.at = getelementptr inbounds i8, ptr %group, i64 {at}")?;
    writeln!(o, "  %group.memory = load ptr, ptr %group.memory.at")
}

/// The calls of `callee` in `caller`, each once.
pub fn calls_in<'m>(caller: Value<'m>, callee: Value<'m>) -> Vec<Value<'m>> {
    let mut seen = HashSet::new();
    callee
        .users()
        .into_iter()
        .filter(|user| user.callee() == Some(callee) && user.parent_function() == caller)
        .filter(|user| user.called_type() == callee.value_type())
        .filter(|user| seen.insert(*user))
        .collect()
}
