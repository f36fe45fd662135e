//! The entry around a kernel, and the builtins of a GPU. The parent module's description shows
//! both.

use std::collections::HashSet;
use std::fmt::Write;

use schism_jit_abi::{
    ALIGNED, ASSUME_DIVISIBLE, ASSUME_INDEX_32, GPU_BARRIER, GPU_GROUPS, GPU_HEAP, GPU_MESSAGES,
    GPU_PRINT, GPU_RANGE, NARROW, PARAM_BYTES, PARAM_INTEGER, PARAM_POINTER, Param,
};
use schism_passes::nvptx::launch_bounds::BLOCK;
use schism_passes::spec::target::THREAD_ID;

use super::builtins::{
    DEVICE_BARRIER, DEVICE_GROUP_COUNT, DEVICE_GROUP_ID, DEVICE_GROUP_SIZE, DEVICE_LOCAL_ID,
    MAX_GROUP_SIZE,
};
use super::options::GpuOptions;
use super::{heap, message, sub_group};
use crate::common::entry_text::{
    AXES, copy_parameter_attributes, known_value, needs_groups, offset_values, type_text,
};
use crate::common::image::{
    BARRIER, GLOBAL_ID, GLOBAL_RANGE, GROUP_ID, GROUP_RANGE, KERNEL, LOCAL_ID, LOCAL_RANGE, PANIC,
    PANIC_FORMAT, PRINT, builtins,
};
use crate::common::kinds::{TypeKind, param_kinds};
use crate::common::module::Module;
use crate::{JitError, Request};
use schism_llvm::{Context, Opcode, Value};
use schism_passes::llvm_passes;

/// Passes values known in the entry only to functions that are not inlined into it.
const KEEP: &str = "schism.keep";

/// Values known in the entry only: its hidden parameters, by the names of the functions that return
/// them.
const HIDDEN: [&str; 8] = [
    "schism.range.x",
    "schism.range.y",
    "schism.range.z",
    "schism.base.x",
    "schism.base.y",
    "schism.base.z",
    "schism.messages",
    "schism.heap",
];

/// The entry under construction.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the code.
    pub name: String,
    /// What it needs and takes: a sum of `GPU_` constants.
    pub flags: u32,
    /// The parameter of each of [`HIDDEN`].
    hidden: [Option<u32>; HIDDEN.len()],
}

/// Determines what the kernel needs.
fn plan(module: &Module<'_>, request: &Request, options: &GpuOptions) -> Entry {
    let uses = |names: &[&str]| {
        let known = names.iter().filter_map(|name| module.function(name));
        known.into_iter().any(|function| !function.users().is_empty())
    };
    let mut flags = 0;
    let mut add = |flag, is_so| flags |= if is_so { flag } else { 0 };
    let groups = needs_groups(module);
    add(GPU_GROUPS, groups);
    add(GPU_BARRIER, uses(&[BARRIER]));
    let range = if groups {
        // Otherwise the grid is the range.
        options.base && (uses(&GLOBAL_RANGE) || uses(&GROUP_RANGE))
    } else {
        options.assumptions & ASSUME_DIVISIBLE == 0 || uses(&GLOBAL_RANGE)
    };
    add(GPU_RANGE, range);
    let allocates = heap::is_used(module);
    add(GPU_HEAP, allocates);
    let messages = uses(&[PANIC, PANIC_FORMAT, PRINT]) || !message::shaped(module).is_empty();
    add(GPU_MESSAGES, messages || allocates);
    add(GPU_PRINT, uses(&[PRINT]));

    let mut next = request.params.len() as u32 + if request.offset { 3 } else { 0 };
    let mut hidden = [None; HIDDEN.len()];
    let mut take = |places: std::ops::Range<usize>| {
        for place in places {
            hidden[place] = Some(next);
            next += 1;
        }
    };
    if range {
        take(0..request.dimensions as usize);
    }
    if options.base {
        take(3..6);
    }
    if flags & GPU_MESSAGES != 0 {
        take(6..7);
    }
    if allocates {
        take(7..8);
    }
    Entry { name: entry_name(&request.kernel), flags, hidden }
}

/// A kernel's name in a form that PTX allows.
fn entry_name(kernel: &str) -> String {
    let name: String = kernel
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '$') { c } else { '_' })
        .take(1000)
        .collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("k{name}"),
    }
}

/// Adds the entry, which calls the kernel, and the bodies of the builtins.
pub fn wrap<'c>(
    context: &'c Context,
    module: &Module<'c>,
    kernel: Value,
    request: &Request,
    options: &GpuOptions,
) -> Result<Entry, JitError> {
    let mut entry = plan(module, request, options);
    while module.function(&entry.name).is_some() {
        entry.name.push('_');
    }
    let shaped = message::shaped(module);
    // Messages that are not lowered to static sites need the code that copies messages.
    let copies = [PANIC, PANIC_FORMAT, PRINT]
        .iter()
        .filter_map(|name| module.function(name))
        .any(|function| !function.users().is_empty());
    let copied = copies.then(|| message::is_plain(module));
    let text = text(&entry, request, options, copied, &shaped)
        .map_err(|_| JitError::Internal("no memory for a text".to_owned()))?;
    let around = Module::from_text(context, &text).map_err(JitError::Internal)?;
    around.set_target_of(module);
    let outer = around.function(&entry.name).ok_or_else(|| missing(&entry.name))?;
    for (param, index) in request.params.iter().zip(0..) {
        if param.kind == PARAM_POINTER && options.is_aligned(index) {
            kernel.align_parameter(index, ALIGNED);
        }
    }
    copy_parameter_attributes(kernel, outer, &request.params);
    module.link(context, around).map_err(JitError::InvalidImage)?;
    kernel.set_internal();
    if copies {
        message::link(context, module)?;
    }
    if entry.flags & GPU_HEAP != 0 {
        heap::link(context, module)?;
    }
    let shaped = shaped.iter().filter_map(|shaped| module.function(&shaped.name));
    for function in builtins().filter_map(|name| module.function(name)).chain(shaped) {
        if !function.is_declaration() {
            function.set_internal();
        }
    }
    Ok(entry)
}

fn missing(name: &str) -> JitError {
    JitError::Internal(format!("`{name}` is gone"))
}

/// The entry and the builtins as LLVM's assembly.
fn text(
    entry: &Entry,
    request: &Request,
    options: &GpuOptions,
    copied: Option<bool>,
    shaped: &[message::Shaped],
) -> Result<String, std::fmt::Error> {
    let groups = entry.flags & GPU_GROUPS != 0;
    let axes = &AXES[..request.dimensions as usize];
    let mut out = String::new();
    let o = &mut out;
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    let mut declared = Vec::new();
    let (mut wide, mut even) = (Vec::new(), Vec::new());
    for (param, index) in request.params.iter().zip(0_u32..) {
        let Param { size, align, kind, .. } = *param;
        let ty = match kind {
            PARAM_BYTES => format!("ptr byval([{size} x i8]) align {align}"),
            _ => type_text(param),
        };
        // The driver passes every parameter: each has one value, even if the kernel knows it.
        let in_range = options.is_narrow(index) && options.global_ids;
        let is_narrow = options.is_narrow(index) && !in_range;
        let is_even = kind == PARAM_INTEGER && options.is_aligned(index);
        parameters.push(match kind {
            PARAM_BYTES => format!("{ty} %p{index}"),
            _ if in_range => format!("{SMALL} %p{index}"),
            _ if is_narrow => format!("{} %p{index}", narrow_type()),
            _ => format!("{ty} noundef %p{index}"),
        });
        arguments.push(match known_value(o, request, index)? {
            Some(known) => known,
            None if is_narrow && is_even => {
                wide.push(format!("p{index}"));
                even.push(format!("p{index}.wide"));
                format!("i64 %p{index}.wide.even")
            }
            None if is_narrow => {
                wide.push(format!("p{index}"));
                format!("i64 %p{index}.wide")
            }
            None if is_even => {
                even.push(format!("p{index}"));
                format!("i64 %p{index}.even")
            }
            None => format!("{ty} %p{index}"),
        });
        declared.push(ty);
    }
    for value in offset_values(request) {
        parameters.push(format!("i64 {value}"));
        arguments.push(format!("i64 {value}"));
        declared.push("i64".to_owned());
    }
    let small = options.assumptions & ASSUME_INDEX_32 != 0;
    let mut kept = Vec::new();
    for (name, place) in HIDDEN.iter().zip(&entry.hidden) {
        let ty = hidden_type(name);
        if place.is_none() {
            kept.push(format!("{ty} zeroinitializer"));
            continue;
        }
        kept.push(match *name {
            "schism.messages" | "schism.heap" => {
                parameters.push(format!("{ty} noundef nonnull align 16 %{name}"));
                format!("{ty} %{name}")
            }
            _ if small && options.global_ids => {
                parameters.push(format!("{SMALL} %{name}"));
                format!("{ty} %{name}")
            }
            _ if small => {
                parameters.push(format!("{} %{name}", narrow_type()));
                wide.push((*name).to_owned());
                format!("{ty} %{name}.wide")
            }
            _ => {
                parameters.push(format!("{ty} noundef range(i64 0, {}) %{name}", i64::MIN));
                format!("{ty} %{name}")
            }
        });
    }

    writeln!(o, "declare void @{KERNEL}({})", declared.join(", "))?;
    writeln!(o, "declare void @{KEEP}({}) convergent nounwind", keep_types())?;
    for name in HIDDEN {
        writeln!(o, "declare {} @{name}() nounwind willreturn memory(none)", hidden_type(name))?;
    }
    for name in [DEVICE_LOCAL_ID, DEVICE_GROUP_ID, DEVICE_GROUP_SIZE, DEVICE_GROUP_COUNT] {
        for axis in AXES {
            writeln!(o, "declare i32 @{name}.{axis}()")?;
        }
    }
    writeln!(o, "declare i64 @{THREAD_ID}(i32)")?;
    writeln!(o, "declare void @{DEVICE_BARRIER}(i32) convergent nounwind")?;
    let allocates = entry.flags & GPU_HEAP != 0;
    if copied.is_some() || allocates {
        writeln!(o, "declare void @{}() cold noreturn", message::END)?;
    }
    if let Some(plain) = copied {
        message::bodies(o, groups, plain)?;
    }
    if allocates {
        heap::bodies(o)?;
    }
    for shaped in shaped {
        shaped.body(o, options.base.then_some(&HIDDEN[3..6]))?;
    }
    writeln!(o, "declare void @llvm.assume(i1)")?;
    builtin_bodies(o, request, options, groups)?;
    sub_group::bodies(o, &options.arch)?;

    let [x, y, z] = options.group;
    let bounds = match (x, groups) {
        // A group may have any size that a device supports.
        (0, true) => format!("\"{MAX_GROUP_SIZE}\"=\"1024\""),
        // That many threads share the registers. No block size is required of the launch: then a
        // driver has nothing to compare at each launch, and the code does not depend on it.
        (0, false) => String::new(),
        (_, false) if x * y * z <= 256 => format!("\"{BLOCK}\"=\"{x},{y},{z}\""),
        _ => format!("\"{MAX_GROUP_SIZE}\"=\"{x},{y},{z}\" \"{BLOCK}\"=\"{x},{y},{z}\""),
    };
    writeln!(o, "define void @{}({}) {bounds} {{\nstart:", entry.name, parameters.join(", "))?;
    for name in wide {
        writeln!(o, "  %{name}.wide = zext nneg i32 %{name} to i64")?;
    }
    // The bits that are known to be zero, in a form that every analysis of LLVM understands.
    for name in even {
        writeln!(o, "  %{name}.even = and i64 %{name}, {}", ALIGNED.cast_signed().wrapping_neg())?;
    }
    writeln!(o, "  call void @{KEEP}({})", kept.join(", "))?;
    if !groups && options.assumptions & ASSUME_DIVISIBLE == 0 {
        for (index, axis) in axes.iter().enumerate() {
            writeln!(o, "  %{axis} = call i64 @{}()", GLOBAL_ID[index])?;
            let range = match small && !options.global_ids {
                true => format!("{}.wide", HIDDEN[index]),
                false => HIDDEN[index].into(),
            };
            writeln!(o, "  %{axis}.inside = icmp ult i64 %{axis}, %{range}")?;
            writeln!(o, "  br i1 %{axis}.inside, label %{axis}.go, label %done\n{axis}.go:")?;
        }
    }
    writeln!(o, "  call void @{KERNEL}({}) alwaysinline", arguments.join(", "))?;
    writeln!(o, "  br label %done\ndone:\n  ret void\n}}")?;
    Ok(out)
}

/// The type and the attributes of a narrow parameter where a launch sets each parameter, and a
/// parameter of another size would be an error.
const SMALL: &str = "i64 noundef range(i64 0, 2147483648)";
const _: () = assert!(NARROW == 2_147_483_648);

/// The type and the attributes of a narrow parameter.
fn narrow_type() -> String {
    format!("i32 noundef range(i32 0, {})", (NARROW as u32).cast_signed())
}

fn hidden_type(name: &str) -> &'static str {
    if matches!(name, "schism.messages" | "schism.heap") { "ptr" } else { "i64" }
}

fn keep_types() -> String {
    HIDDEN.map(hidden_type).join(", ")
}

/// The bodies of the builtins for ids and ranges, and of the barrier.
fn builtin_bodies(
    o: &mut String,
    request: &Request,
    options: &GpuOptions,
    groups: bool,
) -> std::fmt::Result {
    let small = options.assumptions & ASSUME_INDEX_32 != 0;
    let used = request.dimensions as usize;
    let mut define = |name: &str, lines: String, result: &str| {
        writeln!(o, "define i64 @{name}() alwaysinline nounwind {{\n{lines}  ret i64 {result}\n}}")
    };
    // A special register as a 64-bit value. Block sizes and indices fit into 31 bits, and are below
    // the block size, if that is known.
    let register = |value: &str, name: &str, axis: &str| {
        let block = AXES.into_iter().zip(options.group).find(|(of, _)| *of == axis);
        let block = block.map_or(0, |(_, size)| size);
        let limit = match name {
            DEVICE_LOCAL_ID if block > 0 => block,
            DEVICE_GROUP_ID if small && block > 0 => (NARROW as u32).div_ceil(block),
            DEVICE_GROUP_COUNT if small && block > 0 => (NARROW as u32).div_ceil(block) + 1,
            _ => NARROW as u32,
        };
        // No grid has more blocks in these dimensions.
        let limit = match name {
            DEVICE_GROUP_ID if axis != "x" => limit.min(65_535),
            DEVICE_GROUP_COUNT if axis != "x" => limit.min(65_536),
            _ => limit,
        };
        format!(
            "  %{value}.32 = call range(i32 0, {}) i32 @{name}.{axis}()
               %{value} = zext nneg i32 %{value}.32 to i64\n",
            limit.cast_signed()
        )
    };
    let block = |value: &str, index: usize| match options.group[index] {
        0 => register(value, DEVICE_GROUP_SIZE, AXES[index]),
        known => format!(
            "  %{value}.32 = add i32 {known}, 0
               %{value} = add i64 {known}, 0\n"
        ),
    };
    let base = |value: &str, index: usize| match options.base {
        true => format!("  %{value} = call i64 @{}()\n", HIDDEN[3 + index]),
        false => format!("  %{value} = add i64 0, 0\n"),
    };
    for (axis, index) in AXES.into_iter().zip(0..) {
        if index >= used {
            define(GLOBAL_ID[index], String::new(), "0")?;
            define(GLOBAL_RANGE[index], String::new(), "1")?;
            define(LOCAL_ID[index], String::new(), "0")?;
            define(LOCAL_RANGE[index], String::new(), "1")?;
            define(GROUP_ID[index], String::new(), "0")?;
            define(GROUP_RANGE[index], String::new(), "1")?;
            continue;
        }
        let range = format!("  %range = call i64 @{}()\n", HIDDEN[index]);

        // In groups, a sub-grid begins at a group, otherwise at a work-item.
        let id = if options.global_ids {
            let unit =
                if groups { block("size", index) } else { "  %size = add i64 1, 0\n".into() };
            let limit = if small { NARROW } else { 1 << 62 };
            format!(
                "  %place = call range(i64 0, {limit}) i64 @{THREAD_ID}(i32 {index})\n{}{unit}  %first = mul nuw nsw i64 %base, %size
                   %id = add nuw nsw i64 %place, %first\n",
                base("base", index)
            )
        } else {
            let mut id =
                register("tid", DEVICE_LOCAL_ID, axis) + &register("block", DEVICE_GROUP_ID, axis);
            id += &block("size", index);
            id += &base("base", index);
            id += &match (small, groups) {
                (true, true) => "  %base.32 = trunc i64 %base to i32
                %group.32 = add nuw i32 %block.32, %base.32
                %first = mul nuw i32 %group.32, %size.32
                %id.32 = add nuw i32 %first, %tid.32
                %id = zext i32 %id.32 to i64\n"
                    .to_owned(),
                (true, false) => "  %base.32 = trunc i64 %base to i32
                %first = mul nuw i32 %block.32, %size.32
                %place = add nuw i32 %first, %tid.32
                %id.32 = add nuw i32 %place, %base.32
                %id = zext i32 %id.32 to i64\n"
                    .to_owned(),
                (false, true) => "  %group = add nuw nsw i64 %block, %base
                %first = mul nuw nsw i64 %group, %size
                %id = add nuw nsw i64 %first, %tid\n"
                    .to_owned(),
                (false, false) => "  %first = mul nuw nsw i64 %block, %size
                %place = add nuw nsw i64 %first, %tid
                %id = add nuw nsw i64 %place, %base\n"
                    .to_owned(),
            };
            id
        };
        define(GLOBAL_ID[index], id, "%id")?;
        define(LOCAL_ID[index], register("tid", DEVICE_LOCAL_ID, axis), "%tid")?;
        define(LOCAL_RANGE[index], block("size", index), "%size")?;
        define(
            GROUP_ID[index],
            register("block", DEVICE_GROUP_ID, axis)
                + &base("base", index)
                + "  %group = add nuw nsw i64 %block, %base\n",
            "%group",
        )?;
        let whole = !options.base;
        match (groups, whole) {
            (false, _) | (true, false) => define(GLOBAL_RANGE[index], range.clone(), "%range")?,
            (true, true) => define(
                GLOBAL_RANGE[index],
                register("blocks", DEVICE_GROUP_COUNT, axis)
                    + &block("size", index)
                    + "  %range = mul nuw nsw i64 %blocks, %size\n",
                "%range",
            )?,
        }
        match whole {
            true => {
                define(GROUP_RANGE[index], register("blocks", DEVICE_GROUP_COUNT, axis), "%blocks")?
            }
            false => define(
                GROUP_RANGE[index],
                range + &block("size", index) + "  %blocks = udiv exact i64 %range, %size\n",
                "%blocks",
            )?,
        }
    }
    writeln!(
        o,
        "define void @{BARRIER}() alwaysinline convergent nounwind {{
           call void @{DEVICE_BARRIER}(i32 0)
           ret void
         }}"
    )
}

/// A hidden parameter with the requested number of bits.
fn as_hidden<'m>(param: &Value<'m>, kinds: &[TypeKind], place: u32) -> Option<Value<'m>> {
    match kinds.get(place as usize)? {
        TypeKind::Integer(32) => {
            param.users().into_iter().find(|user| user.opcode() == Some(Opcode::ZExt))
        }
        _ => Some(*param),
    }
}

/// Passes the values that only the entry knows: as the entry's own parameters in the entry, and
/// elsewhere (in functions that were not inlined) through the block's shared memory, which the
/// first work-item writes while the others wait before they begin.
pub fn resolve<'c>(
    context: &'c Context,
    module: &Module<'c>,
    entry: &Entry,
) -> Result<(), JitError> {
    let outer = module.function(&entry.name).ok_or_else(|| missing(&entry.name))?;
    let (params, kinds) = (outer.params(), param_kinds(outer));
    let mut deep = false;
    for (name, place) in HIDDEN.iter().zip(entry.hidden) {
        let Some(function) = module.function(name) else { continue };
        for call in calls_in(outer, function) {
            let value =
                place.and_then(|place| as_hidden(params.get(place as usize)?, &kinds, place));
            call.replace_uses(value.ok_or_else(|| missing(name))?);
            call.erase();
        }
        deep |= !function.users().is_empty();
    }
    let keep = module.function(KEEP).ok_or_else(|| missing(KEEP))?;
    if !deep {
        for call in calls_in(outer, keep) {
            call.erase();
        }
        return Ok(());
    }
    // Attributes inferred from the declarations of builtins do not hold for these bodies, which
    // read memory.
    for function in module.functions().into_iter().filter(|function| !function.is_intrinsic()) {
        for name in ["memory", "speculatable"] {
            function.remove_function_attribute(name);
            for call in function.users() {
                if call.direct_callee() == Some(function) {
                    call.remove_call_attribute(name);
                }
            }
        }
    }
    let bodies = deep_bodies();
    let bodies = Module::from_text(context, &bodies).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::InvalidImage)?;
    for function in HIDDEN.into_iter().chain([KEEP]).filter_map(|name| module.function(name)) {
        function.set_internal();
    }
    module.run_passes(llvm_passes::INLINE_BODIES, None).map_err(JitError::Internal)
}

/// After optimisation: removes hidden parameters that are unused after all.
pub fn trim(module: &Module<'_>, entry: &mut Entry) -> Result<(), JitError> {
    let outer = module.function(&entry.name).ok_or_else(|| missing(&entry.name))?;
    let params = outer.params();
    let is_used =
        |place: &u32| params.get(*place as usize).is_none_or(|param| !param.users().is_empty());
    let mut unused = Vec::new();
    for (flag, places) in [(GPU_RANGE, 0..3), (GPU_MESSAGES, 6..7), (GPU_HEAP, 7..8)] {
        let places: Vec<u32> = entry.hidden[places].iter().flatten().copied().collect();
        if entry.flags & flag != 0 && !places.iter().any(is_used) {
            entry.flags &= !flag;
            unused.extend(places);
        }
    }
    if module.function(message::PRINTS).is_none_or(|function| function.users().is_empty()) {
        entry.flags &= !GPU_PRINT;
    }
    if !unused.is_empty() {
        module.remove_unused_parameters(&entry.name, &unused);
    }
    Ok(())
}

/// Stores the values that only the entry knows, and loads them again.
fn deep_bodies() -> String {
    let slot = "ptr addrspace(3) @schism.launch";
    let at = |index: usize| {
        format!("  %at.{index} = getelementptr inbounds i8, {slot}, i64 {}\n", 8 * index)
    };
    let mut out = format!(
        "@schism.launch = internal addrspace(3) global [{} x i64] poison, align 8\n",
        HIDDEN.len()
    );
    for (name, index) in HIDDEN.iter().zip(0..) {
        let ty = hidden_type(name);
        out += &format!("define {ty} @{name}() alwaysinline nounwind {{\n{}", at(index));
        out += &format!("  %value = load {ty}, ptr addrspace(3) %at.{index}, align 8\n");
        out += &format!("  ret {ty} %value\n}}\n");
    }
    let parameters: Vec<String> =
        HIDDEN.iter().zip(0..).map(|(name, i)| format!("{} %v{i}", hidden_type(name))).collect();
    for axis in AXES {
        out += &format!("declare i32 @{DEVICE_LOCAL_ID}.{axis}()\n");
    }
    out += &format!("declare void @{DEVICE_BARRIER}(i32) convergent nounwind\n");
    out += &format!(
        "define void @{KEEP}({}) alwaysinline convergent nounwind {{\n",
        parameters.join(", ")
    );
    for axis in AXES {
        out += &format!("  %{axis} = call i32 @{DEVICE_LOCAL_ID}.{axis}()\n");
    }
    out += "  %xy = or i32 %x, %y\n  %xyz = or i32 %xy, %z\n  %is.first = icmp eq i32 %xyz, 0\n";
    out += "  br i1 %is.first, label %first, label %all\nfirst:\n";
    for (name, index) in HIDDEN.iter().zip(0..) {
        out += &at(index);
        out += &format!(
            "  store {} %v{index}, ptr addrspace(3) %at.{index}, align 8\n",
            hidden_type(name)
        );
    }
    out += "  br label %all\nall:\n";
    out += &format!("  call void @{DEVICE_BARRIER}(i32 0)\n");
    out + "  ret void\n}\n"
}

/// The calls of `callee` in `caller`, each once.
fn calls_in<'m>(caller: Value<'m>, callee: Value<'m>) -> Vec<Value<'m>> {
    let mut seen = HashSet::new();
    callee
        .users()
        .into_iter()
        .filter(|user| user.direct_callee() == Some(callee) && user.parent_function() == caller)
        .filter(|user| seen.insert(*user))
        .collect()
}
