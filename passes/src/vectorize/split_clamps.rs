//! Divides work-item loops where the clamps of indices begin and cease to matter. Runs in stage 2 on the
//! CPU, before checks are taken out of loops.
//!
//! Neighbours of a pixel are looked up within the picture:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
//!   %right = add i64 %x, 1
//!   %right.in = call i64 @llvm.umin.i64(i64 %right, i64 %last)
//!   %left.in = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
//!   …
//! ```
//! A clone of the loop computes the work-items of which no clamp changes an index, and the loop those before
//! and those behind ([`apart`](super::apart)). In the clone:
//! ```llvm
//!   %right = add i64 %x, 1
//!   %left = sub nuw nsw i64 %x, 1
//! ```
//! These lie side by side from work-item to work-item, and so checks of them can be made for the whole
//! loop.
//!
//! **What is a clamp.** `umin`, `umax`, `smin`, `smax` of the work-item's number plus a constant, and of a
//! value that is the same for all work-items; `usub.sat` and `uadd.sat` of it and a constant; and what these
//! give, again. Another value that is the same for all may be added, where a range begins. Numbers may be cut
//! to 32 bits and extended again: then the clone computes work-items below 2³¹ only.

use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{Block, Builder, IntPredicate, IntoValue, Opcode, TypeKind, Value};

use super::apart::{Clone, Part, take_apart};
use super::region::Region;
use super::{forget_parts, latches_of, prepare};
use crate::ir::cfg::Cfg;
use crate::ir::clone::is_cloneable;
use crate::llvm_passes;

/// How many instructions a loop may have to be cloned.
const SIZE: usize = 400;

/// Constants of this size are added to a work-item's number at most.
const FAR: i64 = 1 << 20;

/// The clone computes no work-items from here on, so that none of their sums wraps.
const MOST: i64 = 1 << 60;

/// The same if numbers are cut to 32 bits.
const MOST_CUT: i64 = (1 << 31) - FAR;

/// How many operations an index is followed through.
const DEPTH: usize = 12;

/// What clamps do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Not above a value.
    Most,
    /// Not below a value.
    Least,
    Sub,
    Add,
}

/// What a number has more than the work-item's: a value that is the same for all, and a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
struct More<'m> {
    base: Option<Value<'m>>,
    constant: i64,
}

impl More<'_> {
    fn plus(self, more: i64) -> Option<Self> {
        let constant = self.constant.checked_add(more).filter(|more| more.abs() <= FAR)?;
        Some(Self { constant, ..self })
    }
}

/// A clamp of a work-item's number and something more.
#[derive(Clone, Copy, Debug)]
struct Clamp<'m> {
    value: Value<'m>,
    kind: Kind,
    is_signed: bool,
    /// Which operand is clamped.
    at: u32,
    more: More<'m>,
    /// To what.
    with: Value<'m>,
}

impl Clamp<'_> {
    /// Whether another clamp never matters where this one does not.
    fn decides(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|it| (it.kind, it.is_signed, it.with, it.more.base));
        let (own_more, other_more) = (self.more.constant, other.more.constant);
        own == others
            && match self.kind {
                Kind::Most => own_more > other_more,
                Kind::Least | Kind::Sub => own_more < other_more,
                Kind::Add => false,
            }
    }
}

/// What is known of the numbers of a loop.
struct Numbers<'a, 'm> {
    region: &'a Region<'m>,
    /// What numbers have more than the work-item's, if they are such where no clamp matters.
    known: HashMap<Value<'m>, Option<More<'m>>>,
    clamps: Vec<Clamp<'m>>,
    /// Whether one of them has 32 bits.
    is_cut: bool,
}

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub(crate) fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions().map(IntoValue::value) {
        let clamps = function.instructions().into_iter().any(|one| kind_of(one).is_some());
        if !clamps || latches_of(function).is_empty() {
            continue;
        }
        prepare(function)?;
        let mut any = false;
        for latch in latches_of(function) {
            any |= divide(function, latch);
        }
        if any {
            function.run_passes(llvm_passes::AFTER_SPLIT_RANGE)?;
            forget_parts(function);
        }
    }
    Ok(())
}

/// What a call clamps.
fn kind_of(one: Value<'_>) -> Option<(Kind, bool)> {
    if one.opcode() != Some(Opcode::Call) || one.ty().kind() != TypeKind::Integer {
        return None;
    }
    let name = one.callee()?.name();
    let (name, bits) = name.strip_prefix("llvm.")?.rsplit_once(".i")?;
    if !matches!(bits, "32" | "64") {
        return None;
    }
    Some(match name {
        "umin" => (Kind::Most, false),
        "smin" => (Kind::Most, true),
        "umax" => (Kind::Least, false),
        "smax" => (Kind::Least, true),
        "usub.sat" => (Kind::Sub, false),
        "uadd.sat" => (Kind::Add, false),
        _ => return None,
    })
}

/// Divides the loop with this latch. Returns whether there are clamps.
fn divide<'m>(function: Value<'m>, latch: Block<'m>) -> bool {
    let cfg = Cfg::of(function);
    let Some(&latch) = cfg.index.get(&latch) else { return false };
    let Ok(region) = Region::of(cfg, function, latch) else { return false };
    let blocks = region.blocks();
    let all: Vec<_> = blocks.iter().flat_map(|block| block.instructions()).collect();
    let is_fine = |one: &Value<'m>| is_cloneable(*one) && region.stays_inside(*one);
    if all.len() > SIZE || !all.iter().all(is_fine) {
        return false;
    }
    let mut numbers =
        Numbers { region: &region, known: HashMap::new(), clamps: Vec::new(), is_cut: false };
    for &one in all.iter().filter(|one| kind_of(**one).is_some()) {
        numbers.more_than_item(one, DEPTH);
    }
    if !numbers.clamps.iter().any(|clamp| is_index(clamp.value)) {
        return false;
    }
    // What was cut.
    let is_extension = |one: &&Value<'m>| matches!(one.opcode(), Some(Opcode::SExt | Opcode::ZExt));
    for &one in all.iter().filter(is_extension) {
        numbers.more_than_item(one, DEPTH);
    }
    let Numbers { known, clamps, is_cut, .. } = numbers;
    let is_number = |one: &&Value<'m>| known.get(*one).copied().flatten().is_some();
    let extended: Vec<_> = all.iter().filter(is_number).filter(is_extension).collect();
    let mut all_more: Vec<More<'m>> = Vec::new();
    for more in all.iter().filter_map(|one| known.get(one).copied().flatten()) {
        if !all_more.contains(&more) {
            all_more.push(more);
        }
    }
    let cloned = take_apart(&region, Clone::Loop, |builder| {
        part_of(&region, builder, &clamps, &all_more, is_cut)
    });
    let Some(cloned) = cloned else { return false };
    for &one in extended {
        let (Some(&own), Some(Some(more))) = (cloned.values.get(&one), known.get(&one)) else {
            continue;
        };
        // The counter is the clone's only phi in its header.
        let item = cloned.block(region.cfg.blocks[region.header]).begin();
        let builder = Builder::before(own);
        let mut new = builder.add(item, item.ty().const_int(more.constant as u64, true));
        if let Some(base) = more.base {
            new = builder.add(new, builder.int_cast(base, item.ty(), false));
        }
        own.replace_uses(new);
    }
    for clamp in &clamps {
        let own = cloned.value(clamp.value);
        // In the clone that may be what an inner clamp has become.
        let of = own.operand(clamp.at);
        let builder = Builder::before(own);
        let new = match clamp.kind {
            Kind::Most | Kind::Least => of,
            Kind::Sub => builder.sub(of, clamp.with),
            Kind::Add => builder.add(of, clamp.with),
        };
        if matches!(clamp.kind, Kind::Sub | Kind::Add) && new.is_instruction() {
            new.set_nuw(true);
            new.set_nsw(true);
        }
        own.replace_uses(new);
    }
    true
}

/// Whether an element's address is computed from a value.
fn is_index(value: Value<'_>) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![value]);
    while let Some(value) = open.pop() {
        if seen.len() > 64 || !seen.insert(value) {
            continue;
        }
        if value.opcode() == Some(Opcode::GetElementPtr) {
            return true;
        }
        open.extend(value.users());
    }
    false
}

impl<'m> Numbers<'_, 'm> {
    /// What a number has more than the work-item's where no clamp matters. Collects the clamps.
    fn more_than_item(&mut self, value: Value<'m>, depth: usize) -> Option<More<'m>> {
        if value == self.region.item {
            return Some(More { base: None, constant: 0 });
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let depth = depth.checked_sub(1)?;
        if !self.region.has(value) {
            return None;
        }
        let more = self.computed(value, depth);
        self.known.insert(value, more);
        if more.is_some() && value.ty().int_width() == 32 {
            self.is_cut = true;
        }
        if more.is_some() && kind_of(value).is_some() {
            self.add_clamp(value, depth);
        }
        more
    }

    fn computed(&mut self, value: Value<'m>, depth: usize) -> Option<More<'m>> {
        let ty = value.ty();
        if ty.kind() != TypeKind::Integer || !matches!(ty.int_width(), 32 | 64) {
            return None;
        }
        let operand = |at: u32| value.operand(at);
        let constant = |at: u32| operand(at).as_signed();
        match value.opcode()? {
            Opcode::Add => {
                let at = u32::from(self.region.has(operand(1)));
                let (of, more) = (operand(at), operand(1 - at));
                let of = self.more_than_item(of, depth)?;
                match more.as_signed() {
                    Some(more) => of.plus(more),
                    // Once, and not of what may have a sign.
                    None => (of.base.is_none() && ty.int_width() == 64 && !self.region.has(more))
                        .then_some(More { base: Some(more), ..of }),
                }
            }
            Opcode::Or if value.is_disjoint() => {
                let more = constant(1)?;
                self.more_than_item(operand(0), depth)?.plus(more)
            }
            Opcode::Sub => {
                let less = constant(1)?.checked_neg()?;
                self.more_than_item(operand(0), depth)?.plus(less)
            }
            Opcode::Trunc | Opcode::SExt | Opcode::ZExt => {
                let is_cut = |ty: schism_llvm::Type<'m>| matches!(ty.int_width(), 32 | 64);
                if !is_cut(operand(0).ty()) {
                    return None;
                }
                self.more_than_item(operand(0), depth)
            }
            Opcode::Call => {
                let (kind, _) = kind_of(value)?;
                let (at, with) = self.sides(value, kind, depth)?;
                let more = self.more_than_item(operand(at), depth)?;
                match kind {
                    Kind::Most | Kind::Least => Some(more),
                    Kind::Sub => more.plus(-distance(with)?),
                    Kind::Add => more.plus(distance(with)?),
                }
            }
            _ => None,
        }
    }

    /// Which operand a call clamps, and to what.
    fn sides(&mut self, call: Value<'m>, kind: Kind, depth: usize) -> Option<(u32, Value<'m>)> {
        let may_turn = matches!(kind, Kind::Most | Kind::Least | Kind::Add);
        let sides = if may_turn { 0..2 } else { 0..1 };
        for at in sides {
            let (of, with) = (call.operand(at), call.operand(1 - at));
            if !self.region.has(with) && self.more_than_item(of, depth).is_some() {
                return Some((at, with));
            }
        }
        None
    }

    fn add_clamp(&mut self, value: Value<'m>, depth: usize) {
        let Some((kind, is_signed)) = kind_of(value) else { return };
        let Some((at, with)) = self.sides(value, kind, depth) else { return };
        let Some(more) = self.more_than_item(value.operand(at), depth) else { return };
        self.clamps.push(Clamp { value, kind, is_signed, at, more, with });
    }
}

/// A constant that is not negative, and not large.
fn distance(value: Value<'_>) -> Option<i64> {
    value.as_signed().filter(|number| (0..=FAR).contains(number))
}

/// The work-items of which no clamp matters. All numbers that are computed of one of these are not negative,
/// and have 31 bits if they are cut to 32.
fn part_of<'m>(
    region: &Region<'m>,
    builder: &Builder<'m>,
    clamps: &[Clamp<'m>],
    all_more: &[More<'m>],
    is_cut: bool,
) -> Part<'m> {
    use IntPredicate::{SGT, SLT, UGT, ULT};
    let ty = region.begin.ty();
    let number = |number: i64| ty.const_int(number as u64, true);
    let choose = |predicate, a, b| builder.select(builder.icmp(predicate, a, b), a, b);
    // A value beyond all work-items may be any that is.
    let high = number(MOST + 2 * FAR);
    let mut bases: Vec<(Value<'m>, Value<'m>)> = Vec::new();
    for base in all_more.iter().filter_map(|more| more.base) {
        if bases.iter().all(|(known, _)| *known != base) {
            bases.push((base, choose(ULT, builder.freeze(base), high)));
        }
    }
    let limited = |base: Value<'m>| bases.iter().find(|(known, _)| *known == base);
    // Which work-item's number and something more is a number.
    let item_of = |value: Value<'m>, more: More<'m>| {
        let less = builder.sub(value, number(more.constant));
        let base = more.base.and_then(limited);
        base.map_or(less, |(_, base)| builder.sub(less, *base))
    };
    let most = number(if is_cut { MOST_CUT } else { MOST });
    let (mut least, mut behind) = (number(0), most);
    for &(_, base) in &bases {
        behind = choose(SLT, behind, builder.sub(most, base));
    }
    for &more in all_more {
        if more.constant < 0 {
            least = choose(SGT, least, number(-more.constant));
        }
    }
    for clamp in clamps {
        let more = clamp.more;
        if clamps.iter().any(|other| other.decides(clamp)) {
            continue;
        }
        match clamp.kind {
            Kind::Sub => {
                let with = number(distance(clamp.with).unwrap_or_default());
                least = choose(SGT, least, item_of(with, more));
            }
            Kind::Add => {}
            Kind::Most | Kind::Least => {
                let with = builder.freeze(builder.int_cast(clamp.with, ty, clamp.is_signed));
                let below = if clamp.is_signed { SLT } else { ULT };
                let with = choose(below, with, high);
                let with = match clamp.is_signed {
                    true => choose(SGT, with, number(-MOST)),
                    false => with,
                };
                let item = item_of(with, more);
                if clamp.kind == Kind::Least {
                    least = choose(SGT, least, item);
                } else {
                    behind = choose(SLT, behind, builder.add(item, number(1)));
                }
            }
        }
    }
    let behind = choose(SGT, behind, number(0));
    let first = choose(UGT, region.begin, least);
    let behind = choose(ULT, region.end, behind);
    Part { first, behind, is_there: builder.icmp(ULT, first, behind) }
}
