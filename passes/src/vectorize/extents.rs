//! Which addresses an access takes in the loops inside of a loop.
//! ```llvm
//! column:
//!   %j = phi i64 [ 0, %before ], [ %j.next, %column.latch ]
//!   %at = getelementptr double, ptr %b, i64 %j
//!   br label %term
//! term:
//!   %k = phi i64 [ 0, %column ], [ %k.next, %term ]
//!   %row = mul i64 %k, %n
//!   %place = getelementptr double, ptr %at, i64 %row
//!   %factor = load double, ptr %place
//!   …
//!   %is.last = icmp eq i64 %k.next, %n
//!   br i1 %is.last, label %column.latch, label %term
//! ```
//! In iteration `j` of the loop over columns, the address is `%b + 8 * j` and up to `%n - 1` steps of `8 * %n`
//! from there.

use schism_llvm::{IntPredicate, Value};

use crate::analysis::scev::{AddRec, Expr, Step, Values};
use crate::analysis::trip_count::{TripCount, trip_count};
use crate::ir::cfg::{Cfg, Loop};

/// How far an address goes in a loop inside of another one, which counts the same in all iterations of that.
#[derive(Clone)]
pub(super) struct Extent<'m> {
    pub(super) step: Step<'m>,
    pub(super) trip_count: TripCount<'m>,
}

/// The address of an access as a function of a loop's iteration, and how far it goes in the loops in between,
/// if each of those counts the same in all iterations.
pub(super) fn of_access<'m>(
    (cfg, loops): (&Cfg<'m>, &[Loop]),
    of: &Loop,
    values: &mut Values<'_, 'm>,
    (access, address): (Value<'m>, Value<'m>),
) -> Option<(AddRec<'m>, Vec<Extent<'m>>)> {
    let block = cfg.block_of(access);
    // From the innermost on.
    let mut inside: Vec<&Loop> = loops
        .iter()
        .filter(|one| one.blocks.contains(&block) && one.blocks.len() < of.blocks.len())
        .filter(|one| one.blocks.is_subset(&of.blocks))
        .collect();
    inside.sort_by_key(|one| one.blocks.len());
    let mut inside = inside.into_iter().peekable();
    let mut address = Values::new(cfg, inside.peek()?).add_rec(address)?;
    let mut extents = Vec::new();
    while let Some(own) = inside.next() {
        if !address.no_wrap.is_empty() {
            return None;
        }
        if !address.is_fixed() {
            let step = match &address.step {
                Step::Up(step) => Step::Up(fixed(values, step)?),
                Step::Down(step) => Step::Down(fixed(values, step)?),
                Step::None => Step::None,
            };
            let mut counts = own.blocks.iter().filter_map(|&block| {
                let count = trip_count(cfg, own, &mut Values::new(cfg, own), block)?;
                in_outer(values, count)
            });
            extents.push(Extent { step, trip_count: counts.next()? });
        }
        address = match inside.peek() {
            Some(outer) => Values::new(cfg, outer).of_expression(&address.base)?,
            None => values.of_expression(&address.base)?,
        };
    }
    Some((address, extents))
}

/// What an expression is in a loop that does not change it.
fn fixed<'m>(values: &mut Values<'_, 'm>, expr: &Expr<'m>) -> Option<Expr<'m>> {
    values.of_expression(expr).filter(AddRec::is_fixed).map(|value| value.base)
}

/// The trip count of a loop inside of another one, if it is the same in all iterations of that.
fn in_outer<'m>(values: &mut Values<'_, 'm>, count: TripCount<'m>) -> Option<TripCount<'m>> {
    let [first, bound] = [&count.value.base, &count.bound].map(|expr| values.of_expression(expr));
    let (first, bound) = (first?, bound?);
    // What goes from a number to another one goes as far where both change by the same.
    let is_same = match count.predicate {
        IntPredicate::NE => first.step == bound.step,
        _ => first.is_fixed() && bound.is_fixed(),
    };
    let no_wrap = [&count.value, &first, &bound].iter().all(|value| value.no_wrap.is_empty());
    (is_same && no_wrap).then(|| TripCount {
        value: AddRec { base: first.base, step: count.value.step, no_wrap: Vec::new() },
        bound: bound.base,
        ..count
    })
}
