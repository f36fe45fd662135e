//! Rewrites products that differ by a constant multiple of one factor as sums. Runs in stage 2,
//! after optimisation.
//!
//! Before:
//! ```llvm
//! %row.8 = or disjoint i64 %row, 8
//! %a = mul i64 %row, %width
//! %b = mul i64 %row.8, %width
//! ```
//! After:
//! ```llvm
//! %a = mul i64 %row, %width
//! %more = mul i64 %width, 8
//! %b = add i64 %a, %more
//! ```
//!
//! Such products index the elements of a column, in an unrolled loop. Each address is then another
//! one plus a constant multiple of the width, which is one multiply-add; LLVM finds the common part
//! of the addresses by itself. The sums wrap as before: `(x + c) * y` is `x * y + c * y` modulo
//! 2^64.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, Opcode, TypeKind, Value};

use crate::ir::cfg::Cfg;

/// How many numbers a sum may have.
const PARTS: usize = 4;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
pub fn run_on(function: Value<'_>) {
    if function.blocks().is_empty() {
        return;
    }
    let cfg = Cfg::of(function);
    let mut groups: HashMap<Key, Vec<Product>> = HashMap::new();
    for &block in &cfg.blocks {
        for product in block.instructions().into_iter().filter_map(product) {
            groups.entry(product.key.clone()).or_default().push(product);
        }
    }
    // In the order of the code, so that the result does not depend on addresses.
    let mut groups: Vec<Vec<Product>> = groups.into_values().filter(|all| all.len() > 1).collect();
    let places: HashMap<Value<'_>, usize> = function.instructions().into_iter().zip(0..).collect();
    for group in &mut groups {
        group.sort_by_key(|product| places[&product.value]);
    }
    groups.sort_by_key(|group| places[&group[0].value]);
    let mut shared = HashMap::new();
    for mut rest in groups {
        while rest.len() > 1 {
            let first = cfg.block_of(rest[0].value);
            let (group, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|product| {
                let block = cfg.block_of(product.value);
                block == first || cfg.dominates(first, block)
            });
            rest = others;
            if group.iter().any(|product| product.constant != group[0].constant) {
                share(&group, &mut shared);
            }
        }
    }
    for product in shared.into_keys() {
        product.erase();
    }
}

/// What is multiplied, without the constant: the parts of the sum in some order, and the factor.
type Key<'m> = (Vec<Value<'m>>, Value<'m>);

/// A product of a sum and a factor.
#[derive(Clone)]
struct Product<'m> {
    value: Value<'m>,
    key: Key<'m>,
    /// The parts of the sum as they come, which does not depend on addresses.
    parts: Vec<Value<'m>>,
    /// What of the sum is constant.
    constant: u64,
}

/// A multiplication of 64 bits by what is no constant.
fn product(value: Value<'_>) -> Option<Product<'_>> {
    let (a, b) = {
        let ty = value.ty();
        let is_long = ty.kind() == TypeKind::Integer && ty.int_width() == 64;
        if value.opcode() != Some(Opcode::Mul) || !is_long {
            return None;
        }
        (value.operand(0), value.operand(1))
    };
    // What has a constant is the sum; the other one is the factor.
    let sums = [(a, b), (b, a)].map(|(sum, factor)| {
        let mut parts = Vec::new();
        let mut constant = 0_u64;
        add_parts(sum, &mut parts, &mut constant, DEPTH);
        (parts, constant, factor)
    });
    let [first, second] = sums;
    let (parts, constant, factor) =
        if second.0.len() + usize::from(second.1 != 0) > 1 { second } else { first };
    let is_number = factor.is_constant();
    let fits = !is_number && !parts.is_empty() && parts.len() <= PARTS;
    let mut sorted = parts.clone();
    sorted.sort_unstable();
    fits.then_some(Product { value, key: (sorted, factor), parts, constant })
}

/// How far a sum is followed.
const DEPTH: u32 = 8;

/// What of that a phi costs, and how many incoming values it may have: each is followed.
const PHI: u32 = 4;
const INCOMING: u32 = 4;

/// What a number is the sum of.
fn add_parts<'m>(value: Value<'m>, parts: &mut Vec<Value<'m>>, constant: &mut u64, depth: u32) {
    if value.is_constant_int() {
        *constant = constant.wrapping_add(value.zext_value());
        return;
    }
    let sums = match value.opcode() {
        Some(Opcode::Add) => true,
        Some(Opcode::Or) => value.is_disjoint(),
        _ => false,
    };
    if sums && depth > 0 && parts.len() < PARTS {
        return value.operands().for_each(|part| add_parts(part, parts, constant, depth - 1));
    }
    if depth >= PHI
        && value.opcode() == Some(Opcode::Phi)
        && value.num_incoming() <= INCOMING
        && let Some((same, more)) = of_all_incoming(value, depth - PHI)
    {
        parts.extend(same);
        *constant = constant.wrapping_add(more);
        return;
    }
    parts.push(value);
}

/// What a phi is the sum of, if that is the same for all incoming values. Then its parts dominate the phi.
fn of_all_incoming(phi: Value<'_>, depth: u32) -> Option<(Vec<Value<'_>>, u64)> {
    let mut found = None;
    for incoming in (0..phi.num_incoming()).map(|at| phi.incoming_value(at)) {
        let (mut parts, mut constant) = (Vec::new(), 0);
        add_parts(incoming, &mut parts, &mut constant, depth);
        let mut sorted = parts.clone();
        sorted.sort_unstable();
        let same = |(_, other, more): &(_, Vec<_>, _)| *other == sorted && *more == constant;
        if found.as_ref().is_some_and(|other| !same(other)) || parts.contains(&phi) {
            return None;
        }
        // In the order of the first incoming value, which does not depend on addresses.
        found = found.or(Some((parts, sorted, constant)));
    }
    found.map(|(parts, _, constant)| (parts, constant))
}

/// Makes one product, and the others of it. What has taken the place of a product is noted in `shared`: the product may be a part or the
/// factor of others, and stays until all are made.
fn share<'m>(group: &[Product<'m>], shared: &mut HashMap<Value<'m>, Value<'m>>) {
    let now = |value: &Value<'m>| shared.get(value).copied().unwrap_or(*value);
    let (parts, factor) = (&group[0].parts, &group[0].key.1);
    let (parts, factor) = (&parts.iter().map(now).collect::<Vec<_>>(), &now(factor));
    let context = factor.ty().context();
    let long = context.int_type(64);
    let builder = Builder::before(group[0].value);
    let mut sum = parts[0];
    for &part in &parts[1..] {
        sum = builder.add(sum, part);
    }
    let common = builder.mul(sum, *factor);
    for product in group {
        builder.position_before(product.value);
        let value = match product.constant {
            0 => common,
            constant => {
                let constant = long.const_int(constant, false);
                let more = builder.mul(*factor, constant);
                builder.add(common, more)
            }
        };
        product.value.replace_uses(value);
        shared.insert(product.value, value);
    }
}
