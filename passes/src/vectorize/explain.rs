//! What people are told of a loop that is vectorised, beside its lanes: why these are not more,
//! how memory is accessed, what is masked.
//!
//! `cargo schism explain` prints it, and so does `SCHISM_TIME_PASSES=1` of a running program.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schism_llvm::{FUNCTION_INDEX, Opcode, Value};

use super::cost::Width;
use super::intrinsics;
use super::plan::{Access, Plan, is_dead_end};
use super::private::Layout;
use super::region::Part;
use super::shape::Shape;
use crate::cpu::split_at_barriers::{CUT, INTERCHANGED, UNCUT};

/// A line each.
pub(super) fn of(plan: &Plan<'_>, width: &Width) -> Vec<String> {
    let mut lines = vec![width.to_string()];
    lines.extend(memory(plan));
    lines.extend(locals(plan));
    lines.extend(control_flow(plan));
    lines.extend(calls(plan));
    lines
}

/// What a kernel's barriers have become: loops over work-items, between which arrays with a place for
/// each work-item hold what lives across a barrier; or why it still waits on stacks.
pub(super) fn barriers(function: Value<'_>, loops: usize) -> Option<String> {
    if let Some(reason) = function.string_attribute(FUNCTION_INDEX, UNCUT) {
        let reason = reason.string_value().unwrap_or_default();
        return Some(format!("barriers: work-items wait on stacks of their own: {reason}"));
    }
    function.string_attribute(FUNCTION_INDEX, CUT)?;
    let instructions = function.instructions();
    // The addresses of these arrays have names, with a number behind where there are several.
    let count = |name: &str| {
        let named = |one: &&Value<'_>| {
            let of = one.name();
            of.strip_prefix(name).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        };
        instructions.iter().filter(named).count()
    };
    let mut text = format!(
        "barriers: cut into {loops} loops over work-items; in memory in between: {} values, {} locals",
        count("kept"),
        count("locals")
    );
    if let Some(strides) = function.string_attribute(FUNCTION_INDEX, INTERCHANGED) {
        let strides = strides.string_value().unwrap_or_default();
        write!(text, "; loops over strides that all do step by step: {strides}")
            .expect("writing to a string");
    }
    Some(text)
}

/// How often there is each of some things, the first first.
fn counted(all: &BTreeMap<(usize, String), usize>) -> String {
    let mut text = String::new();
    for ((_, what), count) in all {
        let comma = if text.is_empty() { "" } else { ", " };
        write!(text, "{comma}{count} {what}").expect("writing to a string");
    }
    text
}

/// Loads and stores by how the lanes' elements lie.
fn memory(plan: &Plan<'_>) -> Option<String> {
    let mut all: [BTreeMap<(usize, String), usize>; 2] = Default::default();
    for one in instructions(plan) {
        let Some((address, _, access)) = plan.access(one) else { continue };
        if plan.privates.of(address).is_some() {
            continue;
        }
        let kind = usize::from(one.opcode() == Some(Opcode::Store));
        let single = ["gathered", "scattered"][kind];
        let form = match access {
            Access::Same => (1, "of one element for all lanes".to_owned()),
            Access::Consecutive | Access::Packed(_) => (0, "of whole vectors".to_owned()),
            Access::Apart(step) if kind == 0 => (2, format!("of every {step}th element")),
            Access::Apart(_) | Access::Any => (3, single.to_owned()),
            Access::Single => (4, "by one lane after the other".to_owned()),
        };
        *all[kind].entry(form).or_default() += 1;
    }
    let kinds = ["loads", "stores"].into_iter().zip(&all).filter(|(_, all)| !all.is_empty());
    let kinds: Vec<_> = kinds.map(|(kind, all)| format!("{kind}: {}", counted(all))).collect();
    (!kinds.is_empty()).then(|| format!("memory: {}", kinds.join("; ")))
}

/// Locals that are left in memory.
fn locals(plan: &Plan<'_>) -> Option<String> {
    let mut all = BTreeMap::new();
    for private in plan.privates.all.values() {
        let form = match private.layout {
            Layout::Interleaved(_) => (0, "interleaved by lane".to_owned()),
            Layout::Copies(_) => (1, "whole for each lane".to_owned()),
        };
        *all.entry(form).or_default() += 1;
    }
    (!all.is_empty()).then(|| format!("private memory: locals: {}", counted(&all)))
}

/// What lanes do not do together.
fn control_flow(plan: &Plan<'_>) -> Vec<String> {
    let region = &plan.region;
    let mut lines = Vec::new();
    let blocks = |masked: bool| {
        let all = region.loops.iter().enumerate().flat_map(|(index, of)| {
            of.nodes.iter().enumerate().map(move |(at, node)| (index, at, node.part))
        });
        all.filter(|&(index, at, part)| {
            matches!(part, Part::Block(_)) && plan.shapes.is_full(region, index, at) != masked
        })
        .count()
    };
    let masked = blocks(true);
    let (loops, divergent) = (region.loops.len() - 1, plan.shapes.divergent_loops.len());
    if masked > 0 {
        lines.push(format!("masked: {masked} of {} blocks", masked + blocks(false)));
    }
    if loops > 0 {
        lines.push(format!("loops inside: {loops}, of which lanes leave {divergent} one by one"));
    }
    let tested = region.loop_of.keys().flat_map(|&block| region.side_exits(block));
    let tested = tested.filter(|&exit| !is_dead_end(region.cfg.blocks[exit])).count();
    if tested > 0 {
        lines.push(format!("panics: {tested} tests for any lane"));
    }
    lines
}

/// The functions that each lane calls by itself, and other work of that kind.
fn calls(plan: &Plan<'_>) -> Option<String> {
    let mut all = BTreeMap::new();
    for one in instructions(plan) {
        let what = match one.opcode() {
            Some(Opcode::AtomicRMW) => "atomic operations".to_owned(),
            Some(Opcode::Call) => {
                let Some(callee) = one.callee() else { continue };
                let is_uniform = plan.shapes.get(one) == Shape::Uniform;
                if is_uniform || intrinsics::form(callee).is_some() {
                    continue;
                }
                format!("`{}`", callee.name())
            }
            _ => continue,
        };
        *all.entry((0, what)).or_default() += 1;
    }
    (!all.is_empty()).then(|| format!("once for each lane: {}", counted(&all)))
}

fn instructions<'m>(plan: &Plan<'m>) -> impl Iterator<Item = Value<'m>> {
    plan.region.cfg.instructions(plan.region.loop_of.keys())
}
