//! Gives private arrays the type of their elements. Runs in stage 2 after optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//!   %row = alloca [132 x i8], align 4
//!   %one = getelementptr i8, ptr %row, i64 4
//!   store i32 1, ptr %one, align 4
//!   %at = getelementptr i32, ptr %row, i64 %j
//!   %old = load i32, ptr %at, align 4
//! ```
//! After:
//! ```llvm
//!   %row = alloca [33 x i32], align 4
//!   %one = getelementptr [33 x i32], ptr %row, i64 0, i64 1
//!   store i32 1, ptr %one, align 4
//!   %at = getelementptr [33 x i32], ptr %row, i64 0, i64 %j
//!   %old = load i32, ptr %at, align 4
//! ```
//! For rustc and LLVM a local is so many bytes, and an address a number of bytes from another one. A driver for
//! processors computes work-items in the lanes of vectors and interleaves the lanes' arrays, so that what all
//! lanes access at one index is one vector. It does so for arrays whose elements are accessed by their index.
//! Others stay whole, and each access gathers or scatters.
//!
//! An array qualifies if all its accesses have one size (`analysis::local_elements`), and are a number of elements
//! from its begin.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, DataLayout, Opcode, Type, Value, intrinsic_id};

use crate::analysis::local_elements::{Elements, elements_of};
use crate::gpu::expand_mem_intrinsics::alignment;

/// Elements of a fill that becomes a store of each.
const FILLED: u64 = 64;

/// Runs the pass over a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    let layout = module.handle().data_layout();
    for function in module.handle().functions() {
        if function.is_declaration() {
            continue;
        }
        let mut changed = false;
        for local in function.allocas() {
            if let Some(Elements(Some(ty))) = elements_of(local, &layout) {
                changed |= give_type(local, ty, &layout);
            }
        }
        if changed {
            // The addresses that were there before.
            function.run_passes("dce")?;
        }
    }
    Ok(())
}

/// Makes a local an array of elements; whether it could.
fn give_type<'m>(local: Value<'m>, ty: Type<'m>, layout: &DataLayout<'m>) -> bool {
    let (bytes, size) = (layout.abi_size(local.allocated_type()), layout.abi_size(ty));
    let is_one = local.operand(0).as_unsigned() == Some(1);
    if !is_one || local.is_dynamic_alloca() || bytes == 0 || !bytes.is_multiple_of(size) {
        return false;
    }
    let mut places = Vec::new();
    if !find_places(local, size, None, &mut places) {
        return false;
    }
    for address in places.iter().map(|place| place.address).chain([local]) {
        for user in address.users() {
            store_elements(user, ty, size);
        }
    }
    // With those of the fills.
    places.clear();
    find_places(local, size, None, &mut places);
    let array = ty.array(bytes / size);
    let new = Builder::before(local).alloca(array);
    new.set_alignment(local.alignment());
    // Those that others are computed from come first; these have what they need in their own place.
    for place in places {
        let at = Builder::before(place.address);
        let index = place.index(&at);
        let zero = index.ty().const_int(0, false);
        let address = at.gep_with_flags(array, new, &[zero, index], place.flags);
        place.address.replace_uses(address);
    }
    local.replace_uses(new);
    local.erase();
    true
}

/// Makes stores of a short fill.
fn store_elements<'m>(fill: Value<'m>, ty: Type<'m>, size: u64) {
    let id = fill.callee().map_or(0, Value::intrinsic_id);
    if id == 0 || id != intrinsic_id("llvm.memset") || !fill.operand(3).is_zero() {
        return;
    }
    let (address, byte, bytes) = (fill.operand(0), fill.operand(1), fill.operand(2));
    let (Some(byte), Some(bytes)) = (byte.as_unsigned(), bytes.as_unsigned()) else { return };
    if !bytes.is_multiple_of(size) || bytes / size > FILLED {
        return;
    }
    let builder = Builder::before(fill);
    let bits = 8 * size as u32;
    let repeated = (byte & 0xFF).wrapping_mul(0x0101_0101_0101_0101) >> (64 - bits);
    let value = builder.bitcast(fill.context().int_type(bits).const_int(repeated, false), ty);
    for element in 0..bytes / size {
        let index = fill.context().int_type(64).const_int(element, false);
        let at = if element == 0 { address } else { builder.gep(ty, address, &[index]) };
        builder.store(value, at).set_alignment(alignment(fill, 1).clamp(1, size) as u32);
    }
    fill.erase();
}

/// An address of an element.
#[derive(Clone)]
struct Place<'m> {
    address: Value<'m>,
    /// The elements from the array's begin: numbers, each times another one, and a constant.
    terms: Vec<(Value<'m>, u64)>,
    constant: u64,
    flags: u32,
}

impl<'m> Place<'m> {
    /// The index of the element.
    fn index(&self, builder: &Builder<'m>) -> Value<'m> {
        let long = self.address.context().int_type(64);
        let mut sum = None;
        for &(number, factor) in &self.terms {
            let term = match factor {
                1 => number,
                _ => builder.mul(number, long.const_int(factor, false)),
            };
            sum = Some(sum.map_or(term, |sum| builder.add(sum, term)));
        }
        let constant = long.const_int(self.constant, false);
        match sum {
            Some(sum) if self.constant == 0 => sum,
            Some(sum) => builder.add(sum, constant),
            None => constant,
        }
    }
}

/// Adds all addresses that are computed from one; whether all are a number of elements apart.
fn find_places<'m>(
    from: Value<'m>,
    size: u64,
    before: Option<&Place<'m>>,
    places: &mut Vec<Place<'m>>,
) -> bool {
    for address in from.users() {
        if address.opcode() != Some(Opcode::GetElementPtr) {
            continue;
        }
        let Some((_, index, step)) = address.element() else { return false };
        let mut place = match before {
            Some(before) => Place { address, ..before.clone() },
            None => Place { address, terms: Vec::new(), constant: 0, flags: address.gep_flags() },
        };
        place.flags &= address.gep_flags();
        match index.as_signed() {
            Some(number) => {
                let bytes = number.wrapping_mul(step.cast_signed());
                if bytes % size.cast_signed() != 0 {
                    return false;
                }
                let elements = (bytes / size.cast_signed()).cast_unsigned();
                place.constant = place.constant.wrapping_add(elements);
            }
            // In fewer bits a sum or a product may wrap.
            None if step.is_multiple_of(size) && index.ty().int_width() == 64 => {
                place.terms.push((index, step / size));
            }
            None => return false,
        }
        places.push(place.clone());
        if !find_places(address, size, Some(&place), places) {
            return false;
        }
    }
    true
}
