//! Decides checks of clamped indices by the sizes that they are clamped to. Runs in stage 2, for
//! GPUs, behind [`merge_checks`](super::merge_checks).
//!
//! Before, with `%last` and `%side` the same for all work-items:
//! ```llvm
//!   %y = call i64 @llvm.umin.i64(i64 %y.any, i64 %last)
//!   %x = call i64 @llvm.umin.i64(i64 %x.any, i64 %last)
//!   %row = mul i64 %y, %side
//!   %place = add i64 %row, %x
//!   %inside = icmp ult i64 %place, %len
//!   …                                                  ; and so for each neighbour
//!   br i1 %all.inside, label %go, label %checked
//! ```
//! After:
//! ```llvm
//!   %row.most = mul i64 %last, %side
//!   %most = add i64 %row.most, %last
//!   %fits = icmp ult i64 %most, %len
//!   …                                                  ; and %last and %side are small
//!   br i1 %all.fit, label %go, label %slow
//! slow:
//!   br i1 %all.inside, label %go, label %checked
//! ```
//!
//! What an index is at most is computed from what it is clamped to: sums and products of numbers
//! below 2^31 do not wrap. That is one comparison for all neighbours of a stencil, and it is the same
//! for all work-items. Where it does not hold, everything is checked as before.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Value};

use crate::analysis::cold_paths::panics_anyway;
use crate::analysis::effects::is_index_arithmetic;
use crate::analysis::value_range::is_long;
use crate::ir::cfg::Cfg;
use crate::ir::clone;

/// Sizes are small if they are below this: a product of two is below 2^62.
const SMALL: u64 = 1 << 31;

/// Factors of a product, and products of a sum, so that sums of small numbers do not wrap.
const FACTORS: usize = 2;
const TERMS: usize = 3;

/// Checks are worth it from so many on.
const LEAST: usize = 2;

/// Different comparisons that may stand for them.
const MOST: usize = 4;

/// Values that are looked at to tell whether one is the same for all work-items.
const LOOKS: usize = 32;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    if function.has_function_attribute("optnone") {
        return;
    }
    let cfg = Cfg::of(function);
    for (number, &block) in cfg.blocks.iter().enumerate() {
        let &[yes, no] = &cfg.successors[number][..] else { continue };
        let end = block.end();
        let is_check = end.opcode() == Some(Opcode::Br)
            && yes != no
            && !panics_anyway(&cfg, yes)
            && panics_anyway(&cfg, no);
        if let Some(guards) = is_check.then(|| Guards::of(end.condition())).flatten() {
            apply(&cfg, end, &guards);
        }
    }
}

/// A sum of products: what an index is at most.
type Bound<'m> = Vec<Vec<Value<'m>>>;

/// What stands for some checks.
struct Guards<'m> {
    /// Bounds, and what each must be less than. No two are the same.
    bounds: Vec<(Bound<'m>, Value<'m>)>,
    /// The other checks, in their order.
    rest: Vec<Value<'m>>,
    /// All of them.
    all: Vec<Value<'m>>,
}

impl<'m> Guards<'m> {
    /// Of a condition that all of some checks hold.
    fn of(condition: Value<'m>) -> Option<Self> {
        let all = checks(condition);
        let mut guards = Self { bounds: Vec::new(), rest: Vec::new(), all: Vec::new() };
        let mut count = 0;
        for &check in &all {
            let Some(bound) = bound_of(check) else {
                guards.rest.push(check);
                continue;
            };
            count += 1;
            let is_known =
                |(other, len): &(Bound<'m>, Value<'m>)| *len == bound.1 && is_same(other, &bound.0);
            if !guards.bounds.iter().any(is_known) {
                guards.bounds.push(bound);
            }
        }
        guards.all = all;
        (count >= LEAST && guards.bounds.len() <= MOST && guards.bounds.len() < count)
            .then_some(guards)
    }
}

/// The checks that a condition is made of, in their order.
fn checks(condition: Value<'_>) -> Vec<Value<'_>> {
    let (mut checks, mut open) = (Vec::new(), vec![condition]);
    while let Some(value) = open.pop() {
        let both = match value.opcode() {
            Some(Opcode::And) => Some((value.operand(0), value.operand(1))),
            Some(Opcode::Freeze) => {
                open.push(value.operand(0));
                continue;
            }
            Some(Opcode::Select) if value.operand(2).as_unsigned() == Some(0) => {
                Some((value.operand(0), value.operand(1)))
            }
            _ => None,
        };
        match both {
            Some((first, second)) => open.extend([second, first]),
            None => checks.push(value),
        }
    }
    checks
}

/// What the index of a check is at most, and the length that it must be less than.
fn bound_of(check: Value<'_>) -> Option<(Bound<'_>, Value<'_>)> {
    if check.opcode() != Some(Opcode::ICmp) {
        return None;
    }
    let (index, len) = match check.icmp_predicate() {
        IntPredicate::ULT => (check.operand(0), check.operand(1)),
        IntPredicate::UGT => (check.operand(1), check.operand(0)),
        _ => return None,
    };
    if !is_long(index) || is_uniform(index) {
        return None;
    }
    Some((most(index)?, len))
}

/// Whether two bounds are sums of the same products, in any order.
fn is_same(a: &Bound<'_>, b: &Bound<'_>) -> bool {
    let in_order = |bound: &Bound<'_>| {
        let mut sums: Vec<Vec<usize>> = bound
            .iter()
            .map(|product| {
                let mut factors: Vec<usize> =
                    product.iter().map(|factor| factor.raw().addr()).collect();
                factors.sort_unstable();
                factors
            })
            .collect();
        sums.sort_unstable();
        sums
    };
    in_order(a) == in_order(b)
}

/// What a number of 64 bits is at most, provided that all factors are small.
fn most(value: Value<'_>) -> Option<Bound<'_>> {
    if let Some(number) = value.as_unsigned() {
        return (number < SMALL).then(|| vec![vec![value]]);
    }
    if is_uniform(value) {
        return Some(vec![vec![value]]);
    }
    let operands: Vec<Value<'_>> = value.operands().collect();
    match value.opcode()? {
        Opcode::Call => {
            let name = value.callee()?.name();
            match name.as_str() {
                "llvm.umin.i64" => {
                    let both = operands.iter().take(2);
                    both.filter_map(|one| most(*one)).min_by_key(Vec::len)
                }
                "llvm.usub.sat.i64" => most(operands[0]),
                _ => None,
            }
        }
        Opcode::Add => {
            let sum = [most(operands[0])?, most(operands[1])?].concat();
            (sum.len() <= TERMS).then_some(sum)
        }
        Opcode::Mul => {
            let (a, b) = (most(operands[0])?, most(operands[1])?);
            let ([a], [b]) = (&a[..], &b[..]) else { return None };
            let product = [&a[..], &b[..]].concat();
            (product.len() <= FACTORS).then(|| vec![product])
        }
        // Zero instead is no more.
        Opcode::Select => match [1, 2].map(|arm| operands[arm].as_unsigned() == Some(0)) {
            [true, false] => most(operands[2]),
            [false, true] => most(operands[1]),
            _ => None,
        },
        // What is divided by something is no more than before.
        Opcode::LShr | Opcode::UDiv => most(operands[0]),
        _ => None,
    }
}

/// Whether a value is the same for all work-items: it is computed from parameters and constants.
fn is_uniform(value: Value<'_>) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![value]);
    while let Some(value) = open.pop() {
        if value.is_constant() || value.is_argument() || !seen.insert(value) {
            continue;
        }
        let is_arithmetic = value.opcode().is_some()
            && value.is_integer_arithmetic()
            && value.opcode() != Some(Opcode::Call);
        if !is_arithmetic || seen.len() > LOOKS {
            return false;
        }
        open.extend(value.operands());
    }
    true
}

/// Puts the comparisons of sizes before the checks of a branch.
fn apply<'m>(cfg: &Cfg<'m>, end: Value<'m>, guards: &Guards<'m>) {
    let block = end.block();
    let (go, checked) = (end.successor(0), end.successor(1));
    let slow = block.function().append_block("");
    slow.move_after(block);
    // Both come from the new block, too, with the same values.
    for next in [go, checked] {
        for phi in next.phis() {
            if let Some(value) = phi.incoming(block) {
                phi.add_incoming(value, slow);
            }
        }
    }
    let builder = Builder::before(end);
    let wide = block.function().ty().context().int_type(64);
    let small = wide.const_int(SMALL, false);
    let half = wide.const_int(u64::from(u32::MAX), false);
    let mut sizes: HashSet<Value<'m>> = HashSet::new();
    let mut all = None;
    // A size may be poison where an earlier check fails. That check's own comparison fails, too.
    let mut add = |one: Value<'m>| {
        let one = builder.freeze(one);
        all = Some(all.map_or(one, |all| builder.and(all, one)));
    };
    for (bound, len) in &guards.bounds {
        let mut sum = None;
        for product in bound {
            for &factor in product {
                if !factor.is_constant() && sizes.insert(factor) {
                    add(builder.icmp(IntPredicate::ULT, factor, small));
                }
            }
            // A product of two numbers of 32 bits is one instruction. If a factor has more, it is not
            // small either.
            let factors = product.iter().map(|factor| builder.and(*factor, half));
            let product = factors.reduce(|a, b| builder.mul(a, b));
            let product = product.expect("a product has factors");
            sum = Some(sum.map_or(product, |sum| builder.add(sum, product)));
        }
        add(builder.icmp(IntPredicate::ULT, sum.expect("a bound has terms"), *len));
    }
    let mut fit = all.expect("there are bounds");
    let no = block.function().ty().context().int_type(1).const_int(0, false);
    for &check in &guards.rest {
        fit = builder.select(fit, check, no);
    }
    if !guards.rest.is_empty() {
        fit = builder.freeze(fit);
    }
    builder.position_at_end(slow);
    let mut inside = None;
    let mut again = HashMap::new();
    let is_here = |value: Value<'m>| value.block() == block && is_index_arithmetic(value);
    for &check in &guards.all {
        let check = clone::compute_again(&builder, check, &is_here, &mut again);
        inside = Some(inside.map_or(check, |inside| builder.select(inside, check, no)));
    }
    let inside = builder.freeze(inside.expect("there are checks"));
    builder.cond_br(inside, go, checked);
    // What has failed uses what is computed where it is found out.
    let behind = cfg.index[&checked];
    if cfg.predecessors[behind].len() == 1 {
        for (&value, &again) in &again {
            clone::replace_uses_in(value, again, |at| {
                cfg.index.get(&at).is_some_and(|&at| cfg.dominates(behind, at))
            });
        }
    }
    builder.position_before(end);
    builder.cond_br(fit, go, slow);
    let condition = end.condition();
    end.erase();
    checked.forget_edge(block);
    // Comparisons that are left would be found, and used in the place of the new ones.
    let mut open = vec![condition];
    while let Some(value) = open.pop() {
        let is_condition = matches!(
            value.opcode(),
            Some(Opcode::Select | Opcode::And | Opcode::Freeze | Opcode::ICmp)
        );
        if is_condition && value.users().is_empty() {
            let operands: Vec<Value<'m>> = value.operands().collect();
            value.erase();
            // One that is there twice is erased once.
            open.retain(|other| *other != value);
            for operand in operands {
                if !open.contains(&operand) {
                    open.push(operand);
                }
            }
        }
    }
    let ahead = cfg.index[&go];
    if cfg.predecessors[ahead].len() == 1 {
        sink(cfg, block, ahead);
    }
}

/// Moves arithmetic to the block that alone needs it: it would be kept in registers for the other
/// one.
fn sink<'m>(cfg: &Cfg<'m>, block: Block<'m>, ahead: usize) {
    let go = cfg.blocks[ahead];
    for instruction in block.instructions().into_iter().rev() {
        let is_ahead =
            |at: &Block<'m>| cfg.index.get(at).is_some_and(|&at| cfg.dominates(ahead, at));
        let uses = instruction.use_blocks();
        if is_index_arithmetic(instruction) && !uses.is_empty() && uses.iter().all(is_ahead) {
            instruction.remove_from_block();
            Builder::before(go.first_non_phi()).insert(instruction);
        }
    }
}
