//! Copies parts of private arrays element by element, before work-items are computed in the lanes of
//! vectors.
//!
//! Before:
//! ```llvm
//!   %rows = alloca [4 x [5 x double]]
//!   ...
//!   %pivot.at = getelementptr [5 x double], ptr %rows, i64 %pivot
//!   call void @llvm.memcpy.p0.p0.i64(ptr align 8 %row, ptr align 8 %pivot.at, i64 40, i1 false)
//!   ...
//!   %first = load double, ptr %rows
//! ```
//! After:
//! ```llvm
//!   %0 = load double, ptr %pivot.at, align 8
//!   %1 = getelementptr i8, ptr %pivot.at, i64 8
//!   %2 = load double, ptr %1, align 8
//!   ...
//!   store double %0, ptr %row, align 8
//!   ...
//! ```
//! An array whose accesses all have one size is interleaved in lanes: what all lanes access at one index is one
//! vector. A copy of bytes has no size of that kind, and keeps each lane's array whole, so that each access
//! gathers. All elements are loaded before one is stored, since the arrays may be the same.
//!
//! The elements are what the program loads and stores in one of the arrays. Long copies stay.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, DataLayout, Type, Value};

use crate::analysis::local_elements::{Elements, elements_of, is_copy};
use crate::gpu::expand_mem_intrinsics::alignment;
use crate::ir::address::base;

/// How many elements a copy may have, and all copies of a function.
const ELEMENTS: u64 = 32;
const MOST: u64 = 256;

/// Through how many arrays that are only copied a type is handed on.
const ROUNDS: usize = 3;

/// Expands the copies of a module.
pub(super) fn run(module: &Module<'_>) {
    let layout = module.handle().data_layout();
    for function in module.handle().functions() {
        if !function.is_declaration() {
            run_on(function, &layout);
        }
    }
}

fn run_on(function: Value<'_>, layout: &DataLayout<'_>) {
    let copies: Vec<Value<'_>> =
        function.instructions().into_iter().filter(|it| is_copy(*it)).collect();
    let mut elements = HashMap::new();
    for local in function.allocas() {
        if let Some(found) = elements_of(local, layout) {
            elements.insert(local, found);
        }
    }
    // One that is only copied has the elements of what it is copied from or to.
    for _ in 0..ROUNDS {
        for &copy in &copies {
            let [a, b] = sides(copy);
            for (known, other) in [(a, b), (b, a)] {
                let Some(&Elements(Some(ty))) = elements.get(&known) else { continue };
                if let Some(Elements(unknown @ None)) = elements.get_mut(&other) {
                    *unknown = Some(ty);
                }
            }
        }
    }
    let mut left = MOST;
    for copy in copies {
        let known = sides(copy).into_iter().find_map(|side| elements.get(&side)?.0);
        let Some(ty) = known else { continue };
        let size = layout.abi_size(ty);
        let Some(bytes) = copy.operand(2).as_unsigned() else { continue };
        let count = bytes / size;
        if bytes.is_multiple_of(size) && count <= ELEMENTS.min(left) {
            left -= count;
            expand(copy, ty, size, count);
        }
    }
}

/// The memory that a copy writes, and that it reads.
fn sides<'m>(copy: Value<'m>) -> [Value<'m>; 2] {
    [0, 1].map(|at| base(copy.operand(at)))
}

/// Makes loads and stores of a copy.
fn expand(copy: Value<'_>, ty: Type<'_>, size: u64, count: u64) {
    let builder = Builder::before(copy);
    let context = copy.context();
    let (byte, long) = (context.int_type(8), context.int_type(64));
    let at = |address, index: u64| match index {
        0 => address,
        _ => builder.gep(byte, address, &[long.const_int(index * size, false)]),
    };
    let [to, from] = [0, 1].map(|side| copy.operand(side));
    let [to_align, from_align] = [1, 2].map(|side| alignment(copy, side).clamp(1, size) as u32);
    let loads: Vec<Value<'_>> = (0..count)
        .map(|index| {
            let load = builder.load(ty, at(from, index));
            load.set_alignment(from_align);
            load
        })
        .collect();
    for (load, index) in loads.into_iter().zip(0..) {
        builder.store(load, at(to, index)).set_alignment(to_align);
    }
    copy.erase();
}
