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
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::ir::cfg::Cfg;

/// How many numbers a sum may have.
const PARTS: usize = 4;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    if ir::blocks(function).is_empty() {
        return;
    }
    let cfg = Cfg::of(function);
    let mut groups: HashMap<Key, Vec<Product>> = HashMap::new();
    for &block in &cfg.blocks {
        for product in ir::instructions_of(block).into_iter().filter_map(product) {
            groups.entry(product.key.clone()).or_default().push(product);
        }
    }
    // In the order of the code, so that the result does not depend on addresses.
    let mut groups: Vec<Vec<Product>> = groups.into_values().filter(|all| all.len() > 1).collect();
    let places: HashMap<LLVMValueRef, usize> =
        ir::instructions(function).into_iter().zip(0..).collect();
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
                // SAFETY: as promised by the caller; the first product comes before the others: its block dominates theirs, or is
                // theirs, where it comes first.
                unsafe { share(&group, &mut shared) };
            }
        }
    }
    for product in shared.into_keys() {
        // SAFETY: as promised by the caller; nothing uses the product any more, and each comes up once.
        unsafe { LLVMInstructionEraseFromParent(product) };
    }
}

/// What is multiplied, without the constant: the parts of the sum in some order, and the factor.
type Key = (Vec<LLVMValueRef>, LLVMValueRef);

/// A product of a sum and a factor.
#[derive(Clone)]
struct Product {
    value: LLVMValueRef,
    key: Key,
    /// The parts of the sum as they come, which does not depend on addresses.
    parts: Vec<LLVMValueRef>,
    /// What of the sum is constant.
    constant: u64,
}

/// A multiplication of 64 bits by what is no constant.
fn product(value: LLVMValueRef) -> Option<Product> {
    // SAFETY: the value is a live instruction; an integer is asked for its width, a multiplication for its two operands.
    let (a, b) = unsafe {
        let ty = LLVMTypeOf(value);
        let is_long = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(ty) == 64;
        if ir::opcode(value) != Some(LLVMOpcode::LLVMMul) || !is_long {
            return None;
        }
        (LLVMGetOperand(value, 0), LLVMGetOperand(value, 1))
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
    // SAFETY: the values are live.
    let is_number = unsafe { LLVMIsConstant(factor) != 0 };
    let fits = !is_number && !parts.is_empty() && parts.len() <= PARTS;
    let mut sorted = parts.clone();
    sorted.sort_unstable();
    fits.then_some(Product { value, key: (sorted, factor), parts, constant })
}

/// How far a sum is followed.
const DEPTH: u32 = 8;

/// What of that a phi costs, and how many ways may lead to it: each is followed.
const PHI: u32 = 4;
const WAYS: u32 = 4;

/// What a number is the sum of.
fn add_parts(value: LLVMValueRef, parts: &mut Vec<LLVMValueRef>, constant: &mut u64, depth: u32) {
    // SAFETY: the value is live; a constant of 64 bits has such a value, and only an `or` is asked.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null() {
            *constant = constant.wrapping_add(LLVMConstIntGetZExtValue(value));
            return;
        }
        let sums = match ir::opcode(value) {
            Some(LLVMOpcode::LLVMAdd) => true,
            Some(LLVMOpcode::LLVMOr) => LLVMGetIsDisjoint(value) != 0,
            _ => false,
        };
        if sums && depth > 0 && parts.len() < PARTS {
            return ir::operands(value)
                .for_each(|part| add_parts(part, parts, constant, depth - 1));
        }
        if depth >= PHI
            && ir::opcode(value) == Some(LLVMOpcode::LLVMPHI)
            && LLVMCountIncoming(value) <= WAYS
            && let Some((same, more)) = on_all_ways(value, depth - PHI)
        {
            parts.extend(same);
            *constant = constant.wrapping_add(more);
            return;
        }
    }
    parts.push(value);
}

/// What a phi is the sum of, if that is the same on all ways. Then its parts are there where the phi is: they are on each way.
fn on_all_ways(phi: LLVMValueRef, depth: u32) -> Option<(Vec<LLVMValueRef>, u64)> {
    let mut found = None;
    // SAFETY: the value is a live phi, and each index is below the number of its edges.
    for incoming in unsafe { (0..LLVMCountIncoming(phi)).map(|at| LLVMGetIncomingValue(phi, at)) } {
        let (mut parts, mut constant) = (Vec::new(), 0);
        add_parts(incoming, &mut parts, &mut constant, depth);
        let mut sorted = parts.clone();
        sorted.sort_unstable();
        let same = |(_, other, more): &(_, Vec<_>, _)| *other == sorted && *more == constant;
        if found.as_ref().is_some_and(|other| !same(other)) || parts.contains(&phi) {
            return None;
        }
        // In the order of the first way, which does not depend on addresses.
        found = found.or(Some((parts, sorted, constant)));
    }
    found.map(|(parts, _, constant)| (parts, constant))
}

/// Makes one product, and the others of it. What has taken the place of a product is noted in `shared`: the product may be a part or the
/// factor of others, and stays until all are made.
///
/// # Safety
/// The first product dominates the others; all are of one live function, and of the same sum but for the constant.
unsafe fn share(group: &[Product], shared: &mut HashMap<LLVMValueRef, LLVMValueRef>) {
    let now = |value: &LLVMValueRef| shared.get(value).copied().unwrap_or(*value);
    let (parts, factor) = (&group[0].parts, &group[0].key.1);
    let (parts, factor) = (&parts.iter().map(now).collect::<Vec<_>>(), &now(factor));
    // SAFETY: as promised by the caller. Parts and factor dominate the first product, since it is made of them; what takes a product's
    // place stands right before it.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(*factor));
        let long = LLVMInt64TypeInContext(context);
        let builder = LLVMCreateBuilderInContext(context);
        let name = c"".as_ptr();
        LLVMPositionBuilderBefore(builder, group[0].value);
        let mut sum = parts[0];
        for &part in &parts[1..] {
            sum = LLVMBuildAdd(builder, sum, part, name);
        }
        let common = LLVMBuildMul(builder, sum, *factor, name);
        for product in group {
            LLVMPositionBuilderBefore(builder, product.value);
            let value = match product.constant {
                0 => common,
                constant => {
                    let constant = LLVMConstInt(long, constant, 0);
                    let more = LLVMBuildMul(builder, *factor, constant, name);
                    LLVMBuildAdd(builder, common, more, name)
                }
            };
            LLVMReplaceAllUsesWith(product.value, value);
            shared.insert(product.value, value);
        }
        LLVMDisposeBuilder(builder);
    }
}
