//! Computes in 32 bits the indices of elements that do not follow each other from work-item to
//! work-item. Runs in stage 2 after optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//!   %begin = zext i32 %begin.32 to i64           ; loaded
//!   %row = getelementptr inbounds nuw i32, ptr addrspace(1) %columns, i64 %begin
//!   %at = getelementptr inbounds i32, ptr addrspace(1) %row, i64 %k
//!   %column = load i32, ptr addrspace(1) %at
//! ```
//! After:
//! ```llvm
//!   %index.32 = add i32 %begin.32, %k.32
//!   %index = sext i32 %index.32 to i64
//!   %at = getelementptr i32, ptr addrspace(1) %columns, i64 %index
//!   %column = load i32, ptr addrspace(1) %at
//! ```
//! A driver for processors loads such elements by an instruction that takes one address and a vector
//! of indices. With those of 32 bits one instruction loads twice as many elements. It extends them by
//! their sign: indices below 2³¹ are, too, or a driver would have to move them.
//!
//! **That nothing is lost.** The access lies in a slice that the kernel is passed, whose length is
//! below 2³¹, as the launch promises; so the index is, whatever it is the sum of. An access that is
//! not made may have any address. Other accesses need an index that is below 2³² by what it is
//! computed of.
//!
//! **What is left alone.** Indices that are not certainly irregular (`irregular.rs`): elements that
//! follow each other are loaded at once, and of a sum of 32 bits, which may wrap, a driver does not
//! know that they do.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, Opcode, Type, TypeKind, Value};

use super::irregular::Irregular;
use super::short_numbers::{Facts, LowerHalves, SHORT};
use crate::ir::cfg::Cfg;
use crate::spec::slices::{self, Extent, Slice};

/// How many steps an address may have.
const STEPS: usize = 8;

/// Runs the pass over a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    module.handle().functions().into_iter().try_for_each(run_on)
}

fn run_on(function: Value<'_>) -> Result<(), String> {
    if function.is_declaration() || function.num_params() == 0 {
        return Ok(());
    }
    let cfg = Cfg::of(function);
    let slices = slices::of(function);
    let (mut irregular, mut halves) = (Irregular::default(), LowerHalves::default());
    let mut changed = false;
    for (number, block) in cfg.blocks.iter().enumerate() {
        let mut facts = None;
        for access in block.instructions() {
            let place = match access.opcode() {
                Some(Opcode::Load) => 0,
                Some(Opcode::Store) => 1,
                _ => continue,
            };
            if access.is_volatile() || access.is_atomic() {
                continue;
            }
            let Some(address) = Address::of(access.operand(place), accessed_size(access), &slices)
            else {
                continue;
            };
            if !address.terms.iter().any(|(term, _)| irregular.is_irregular(*term)) {
                continue;
            }
            let facts = facts.get_or_insert_with(|| Facts::at(&cfg, number));
            if let Some(narrow) = address.narrow(access, facts, &mut halves) {
                access.set_operand(place, narrow);
                changed = true;
            }
        }
    }
    if changed { function.run_passes("dce") } else { Ok(()) }
}

/// An address as a sum: a parameter, numbers of elements, and a constant number of bytes.
struct Address<'m> {
    base: Value<'m>,
    /// The size of an element.
    size: u64,
    /// If the parameter is a slice of fewer than 2³² elements: how many it has at most.
    length: Option<u64>,
    terms: Vec<(Value<'m>, u64)>,
    bytes: i64,
}

impl<'m> Address<'m> {
    fn of(address: Value<'m>, accessed: u64, slices: &[Slice<'m>]) -> Option<Self> {
        let (mut base, mut parts, mut bytes) = (address, Vec::new(), 0_i64);
        for _ in 0..STEPS {
            let Some((before, index, size)) = base.element() else { break };
            if index.ty().int_width() != 64 {
                return None;
            }
            match index.as_signed() {
                Some(index) => {
                    bytes = bytes.checked_add(index.checked_mul(size.try_into().ok()?)?)?;
                }
                None => parts.push((index, size)),
            }
            base = before;
        }
        base.param_index().filter(|_| !parts.is_empty())?;
        let extent = slices.iter().find(|slice| slice.address == base).map(|slice| slice.extent);
        let of_slice = match extent {
            Some(Extent::Elements { length, size }) => {
                Some((Facts::default().most(length), size)).filter(|it| it.0 <= SHORT)
            }
            _ => None,
        };
        let size = of_slice.map_or(accessed, |it| it.1);
        let terms = parts.into_iter().map(|(index, by)| elements(index, by, size));
        let terms = terms.collect::<Option<Vec<_>>>()?;
        Some(Address { base, size, length: of_slice.map(|it| it.0), terms, bytes })
    }

    /// The same address by an index of 32 bits, computed in front of an access.
    fn narrow(
        self,
        access: Value<'m>,
        facts: &Facts<'m>,
        halves: &mut LowerHalves<'m>,
    ) -> Option<Value<'m>> {
        let most = self.terms.iter().try_fold(0_u64, |most, &(term, by)| {
            most.checked_add(facts.most(term).checked_mul(by)?)
        });
        let most = most.filter(|&most| most <= SHORT);
        if most.is_none() && self.length.is_none() {
            return None;
        }
        // An index of a slice is less than its length.
        let is_signed = self.length.or(most).is_some_and(|most| most <= SHORT >> 1);
        let context = access.context();
        let [half, long, byte] = [32, 64, 8].map(|bits| context.int_type(bits));
        let builder = Builder::before(access);
        let mut index: Option<Value<'m>> = None;
        for (term, by) in self.terms {
            let mut term = halves.of(term);
            if by != 1 {
                term = builder.mul(term, half.const_int(by & SHORT, false));
            }
            index = Some(index.map_or(term, |index| builder.add(index, term)));
        }
        let mut index = index?;
        let mut bytes = self.bytes;
        if self.length.is_some() {
            // Only with it the sum is an index of the slice.
            let size = i64::try_from(self.size).ok()?;
            let elements = bytes.div_euclid(size);
            bytes = bytes.rem_euclid(size);
            if elements != 0 {
                let elements = half.const_int(elements.cast_unsigned() & SHORT, false);
                index = builder.add(index, elements);
            }
        }
        let index = builder.int_cast(index, long, is_signed);
        let accessed = accessed(access);
        let is_number =
            matches!(accessed.kind(), TypeKind::Integer | TypeKind::Float | TypeKind::Double);
        let address = if is_number && accessed_size(access) == self.size {
            builder.gep(accessed, self.base, &[index])
        } else {
            builder.gep(byte.array(self.size), self.base, &[index])
        };
        if bytes == 0 {
            return Some(address);
        }
        Some(builder.gep(byte, address, &[long.const_int(bytes.cast_unsigned(), true)]))
    }
}

/// The type of what an access loads or stores.
fn accessed(access: Value<'_>) -> Type<'_> {
    match access.opcode() {
        Some(Opcode::Store) => access.operand(0).ty(),
        _ => access.ty(),
    }
}

/// How many bytes lie between two of those in an array.
fn accessed_size(access: Value<'_>) -> u64 {
    access.parent_function().module().data_layout().abi_size(accessed(access))
}

/// A number of things of some bytes as one of elements.
fn elements<'m>(index: Value<'m>, by: u64, size: u64) -> Option<(Value<'m>, u64)> {
    if by.is_multiple_of(size) {
        return Some((index, by / size));
    }
    let factor = index.get_operand(1).and_then(|factor| factor.as_unsigned());
    let factor = match index.opcode() {
        Some(Opcode::Shl) => 1_u64.checked_shl(u32::try_from(factor?).ok()?)?,
        Some(Opcode::Mul) => factor?,
        _ => return None,
    };
    let by = by.checked_mul(factor)?;
    by.is_multiple_of(size).then(|| (index.operand(0), by / size))
}
