//! Makes one access of relaxed atomic ones to neighbours in local memory. Runs in stage 2, for
//! NVIDIA's GPUs, right before PTX is written.
//!
//! Before:
//! ```llvm
//! %a = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
//! %q = getelementptr i8, ptr addrspace(3) %p, i64 4
//! %b = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
//! ```
//! After:
//! ```llvm
//! %both = call { i32, i32 } asm sideeffect "ld.relaxed.gpu.shared.v2.b32 {$0, $1}, [$2];",
//!   "=r,=r,l,~{memory}"(ptr addrspace(3) %p)
//! %a = extractvalue { i32, i32 } %both, 0
//! %b = extractvalue { i32, i32 } %both, 1
//! ```
//!
//! LLVM combines no atomic accesses. Work-items that access two neighbours each, one after the
//! other, use every second bank of the memory twice; an access of both at once uses all of them.
//!
//! **Why it is sound.** PTX defines a vector access as accesses of its elements in no particular
//! order (PTX ISA, "Vector Data-types" of the memory consistency model), each of which is relaxed
//! and has the scope that is there. Relaxed accesses of different places have no order anyway.
//! Those of one place have, so only accesses with the same base and other offsets may stand between
//! the ones that are combined, and nothing else that touches memory.

use schism_llvm::{AsmDialect, AtomicOrdering, Builder, Opcode, Type, TypeKind, Value};

use crate::analysis::effects::touches_no_memory;
use crate::ir::address::base_and_offset;
use crate::llvm_passes;
use crate::spec::target::NVPTX;

/// Numbers of elements in one access that PTX has, with the widest of their elements in bits.
const VECTORS: [(usize, u32); 2] = [(4, 32), (2, 64)];

/// Changes a function with a body.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub(super) fn run(function: Value<'_>) -> Result<(), String> {
    let accesses = function.instructions().into_iter().filter_map(Access::of);
    if accesses.take(2).count() < 2 {
        return Ok(());
    }
    // Passes before this one compute the same address twice.
    function.run_passes(llvm_passes::EQUAL_ADDRESSES)?;
    for block in function.blocks() {
        let mut run = Vec::new();
        for instruction in block.instructions() {
            match Access::of(instruction) {
                Some(access) => {
                    if !run.last().is_none_or(|last: &Access<'_>| last.goes_with(&access)) {
                        combine(std::mem::take(&mut run));
                    }
                    run.push(access);
                }
                None if touches_memory(instruction) => combine(std::mem::take(&mut run)),
                None => {}
            }
        }
        combine(run);
    }
    Ok(())
}

/// A relaxed atomic load or store of local memory.
#[derive(Clone, Copy)]
struct Access<'m> {
    instruction: Value<'m>,
    is_store: bool,
    scope: &'static str,
    /// The bits of an element.
    width: u32,
    base: Value<'m>,
    /// The bytes from there.
    offset: i64,
}

impl<'m> Access<'m> {
    fn of(instruction: Value<'m>) -> Option<Self> {
        let (address, value) = instruction.loaded_or_stored()?;
        let is_store = instruction.opcode() == Some(Opcode::Store);
        let is_relaxed = instruction.ordering() == AtomicOrdering::Monotonic
            && !instruction.is_volatile()
            && address.ty().address_space() == NVPTX.local;
        if !is_relaxed {
            return None;
        }
        let scope = match () {
            () if instruction.has_sync_scope("block") => "cta",
            () if instruction.has_sync_scope("device") => "gpu",
            () => return None,
        };
        let width = width_of(value.ty())?;
        let (base, offset) = base_and_offset(address);
        Some(Self { instruction, is_store, scope, width, base, offset })
    }

    /// Whether both may be part of one access, and have no order of their own.
    fn goes_with(&self, other: &Self) -> bool {
        self.is_store == other.is_store
            && self.scope == other.scope
            && self.width == other.width
            && self.base == other.base
    }

    fn value_type(&self) -> Type<'m> {
        if self.is_store { self.instruction.operand(0).ty() } else { self.instruction.ty() }
    }
}

/// The bits of a number that PTX accesses in vectors.
fn width_of(ty: Type<'_>) -> Option<u32> {
    match ty.kind() {
        TypeKind::Integer => Some(ty.int_width()).filter(|width| matches!(width, 32 | 64)),
        TypeKind::Float => Some(32),
        TypeKind::Double => Some(64),
        _ => None,
    }
}

/// Whether accesses of memory must keep their place beside an instruction. Most calls are barriers,
/// or functions that LLVM does not know.
fn touches_memory(instruction: Value<'_>) -> bool {
    use Opcode::{AtomicCmpXchg, AtomicRMW, Call, Fence, Load, Store};
    match instruction.opcode() {
        Some(Load | Store | AtomicRMW | AtomicCmpXchg | Fence) => true,
        Some(Call) => {
            let callee = instruction.direct_callee();
            callee.is_none_or(|callee| !touches_no_memory(instruction, callee))
        }
        _ => false,
    }
}

/// Makes one access each of neighbours among accesses that stand behind each other in a block.
fn combine(mut run: Vec<Access<'_>>) {
    // In the order of the block, for where the one access stands.
    let order: Vec<Value<'_>> = run.iter().map(|access| access.instruction).collect();
    run.sort_by_key(|access| access.offset);
    // Two accesses of one place keep their order.
    if run.windows(2).any(|two| two[1].offset - two[0].offset < i64::from(two[0].width / 8)) {
        return;
    }
    let mut rest = &run[..];
    while let Some(first) = rest.first() {
        let count = VECTORS.into_iter().find_map(|(count, widest)| {
            let fits = first.width <= widest && is_vector(rest.get(..count)?);
            fits.then_some(count)
        });
        if let Some(count) = count {
            replace(&rest[..count], &order);
        }
        rest = &rest[count.unwrap_or(1)..];
    }
}

/// Whether accesses are to neighbours, the first of which is aligned for all of them.
fn is_vector(accesses: &[Access<'_>]) -> bool {
    let first = accesses[0];
    let bytes = i64::from(first.width / 8);
    let are_neighbours = accesses.windows(2).all(|two| two[1].offset - two[0].offset == bytes);
    let size = bytes * accesses.len() as i64;
    are_neighbours && i64::from(first.instruction.alignment()) >= size
}

/// Puts one access in the place of neighbours: of loads where the first one is, of stores where the
/// last one is.
fn replace<'m>(accesses: &[Access<'m>], order: &[Value<'m>]) {
    let first = accesses[0];
    let is_one = |&at: &Value<'m>| accesses.iter().any(|access| access.instruction == at);
    let at = if first.is_store {
        order.iter().rev().copied().find(is_one)
    } else {
        order.iter().copied().find(is_one)
    };
    let Some(at) = at else { return };
    let builder = Builder::before(at);
    let context = first.base.context();
    let offset = context.int_type(64).const_int(first.offset.cast_unsigned(), true);
    let address = match first.offset {
        0 => first.base,
        _ => builder.gep(context.int_type(8), first.base, &[offset]),
    };
    let registers: Vec<&str> =
        accesses.iter().map(|access| register(access.value_type())).collect();
    let numbered = |from: usize| {
        let places = (from..from + accesses.len()).map(|number| format!("${number}"));
        places.collect::<Vec<_>>().join(", ")
    };
    let kind = format!("relaxed.{}.shared.v{}.b{}", first.scope, accesses.len(), first.width);
    let values: Vec<Type<'m>> = accesses.iter().map(Access::value_type).collect();
    if first.is_store {
        let text = format!("st.{kind} [$0], {{{}}};", numbered(1));
        let constraints = format!("l,{},~{{memory}}", registers.join(","));
        let mut types = vec![address.ty()];
        types.extend(values);
        let ty = context.void_type().function(&types, false);
        let mut operands = vec![address];
        operands.extend(accesses.iter().map(|access| access.instruction.operand(0)));
        let assembly = ty.inline_assembly(&text, &constraints, true, false, AsmDialect::Att);
        builder.call(ty, assembly, &operands);
    } else {
        let text = format!("ld.{kind} {{{}}}, [${}];", numbered(0), accesses.len());
        let outputs: Vec<String> = registers.iter().map(|one| format!("={one}")).collect();
        let constraints = format!("{},l,~{{memory}}", outputs.join(","));
        let ty = context.struct_type(&values, false).function(&[address.ty()], false);
        let assembly = ty.inline_assembly(&text, &constraints, true, false, AsmDialect::Att);
        let all = builder.call(ty, assembly, &[address]);
        for (access, number) in accesses.iter().zip(0..) {
            let value = builder.extract_value(all, number);
            access.instruction.replace_uses(value);
        }
    }
    accesses.iter().for_each(|access| access.instruction.erase());
}

/// The constraint of a register for a number.
fn register(ty: Type<'_>) -> &'static str {
    match (ty.kind(), width_of(ty)) {
        (TypeKind::Float, _) => "f",
        (TypeKind::Double, _) => "d",
        (_, Some(64)) => "l",
        _ => "r",
    }
}
