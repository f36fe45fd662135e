//! Computes addresses that differ by a 32-bit stride from each other. Runs in stage 2, after
//! [`product_reuse`](crate::nvptx::product_reuse).
//!
//! Before:
//! ```llvm
//! %wide = zext i32 %width to i64
//! %a = getelementptr float, ptr addrspace(1) %p, i64 %row
//! %x = load float, ptr addrspace(1) %a
//! %second = add i64 %row, %wide
//! %b = getelementptr float, ptr addrspace(1) %p, i64 %second
//! %y = load float, ptr addrspace(1) %b
//! %twice = mul i64 %wide, 2
//! %third = add i64 %row, %twice
//! %c = getelementptr float, ptr addrspace(1) %p, i64 %third
//! %z = load float, ptr addrspace(1) %c
//! ```
//! After:
//! ```llvm
//! %step = call i64 asm "mul.wide.u32 $0, $1, 4;", "=l,r"(i32 %width)
//! %a = getelementptr float, ptr addrspace(1) %p, i64 %row
//! %x = load float, ptr addrspace(1) %a
//! %b = getelementptr i8, ptr addrspace(1) %a, i64 %step
//! %y = load float, ptr addrspace(1) %b
//! %c = getelementptr i8, ptr addrspace(1) %b, i64 %step
//! %z = load float, ptr addrspace(1) %c
//! ```
//!
//! NVIDIA's GPUs multiply 32 bits by 32 and add 64 in one instruction. Their assembler forms it
//! from `mul.wide` and an addition, so a stride costs one instruction and one register; 64-bit
//! strides cost two instructions, with a carry, and two registers. The multiplication is inline
//! assembly, so that LLVM's code generator does not rewrite it.
//!
//! Loads of memory that the kernel's parameters say is constant are marked `invariant`: LLVM would
//! not look through that many strides.

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMInlineAsmDialect, LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::spec::target::{NVPTX, PTX_KERNEL};

/// The mark of a load that gives the same whenever it is made.
const INVARIANT: &str = "invariant.load";

/// How many steps a sum may have that are of one number.
const STEPS: u32 = 64;

/// How far the beginning of an address is looked for.
const DEPTH: u32 = 8;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    let mut steps = Steps::default();
    for block in ir::blocks(function) {
        let mut rows: Vec<Row> = Vec::new();
        for address in ir::instructions_of(block).into_iter().filter_map(address) {
            if !rows.iter_mut().any(|row| row.add(&address)) {
                rows.push(Row::of(address));
            }
        }
        for Row { first, addresses } in rows {
            let Some(factor) = first.factor else { continue };
            let (mut at, mut multiple) = addresses[0];
            for (next, other) in addresses.into_iter().skip(1) {
                let elements = other.checked_sub(multiple);
                let bytes = elements.and_then(|elements| elements.checked_mul(first.size));
                if let Some(bytes @ 1..) = bytes.and_then(|bytes| u32::try_from(bytes).ok()) {
                    // SAFETY: both are addresses of this block, `at` before `next`, and differ by so many times the factor.
                    at = unsafe { step(&mut steps, at, next, factor, bytes) };
                    multiple = other;
                }
            }
        }
    }
}

/// An address: `pointer + size * index`, where the index is `rest + multiple * factor`.
struct Address {
    value: LLVMValueRef,
    pointer: LLVMValueRef,
    size: u64,
    index: LLVMValueRef,
    rest: LLVMValueRef,
    multiple: u64,
    /// The number of 32 bits; none if the multiple is 0.
    factor: Option<LLVMValueRef>,
}

/// Addresses that differ by multiples of one number, as they come.
struct Row {
    /// The first one's parts; its multiple is 0 as long as there is no factor.
    first: Address,
    /// Each one, and its multiple.
    addresses: Vec<(LLVMValueRef, u64)>,
}

impl Row {
    fn of(first: Address) -> Self {
        Row { addresses: vec![(first.value, first.multiple)], first }
    }

    /// Adds an address, if it is one of the row.
    fn add(&mut self, next: &Address) -> bool {
        let first = &mut self.first;
        if (first.pointer, first.size) != (next.pointer, next.size) {
            return false;
        }
        // The first one's index may be a sum itself, of which the others know nothing.
        if self.addresses.len() == 1 && next.rest == first.index {
            (first.rest, first.multiple, first.factor) = (first.index, 0, next.factor);
            self.addresses[0].1 = 0;
        }
        let multiple = match next.index == first.rest {
            true => 0,
            false if (next.rest, next.factor) == (first.rest, first.factor) => next.multiple,
            false => return false,
        };
        self.addresses.push((next.value, multiple));
        true
    }
}

/// An address in global memory, taken apart.
fn address(value: LLVMValueRef) -> Option<Address> {
    let (pointer, index, size) = ir::element(value)?;
    // SAFETY: the index is a live value.
    let is_constant = unsafe { LLVMIsConstant(index) != 0 };
    if is_constant || ir::address_space(pointer) != Some(NVPTX.global) {
        return None;
    }
    let (mut rest, mut multiple, mut factor) = (index, 0_u64, None);
    for _ in 0..STEPS {
        let Some((other, of, more)) = sum(rest) else { break };
        if factor.is_some_and(|factor| factor != of) {
            break;
        }
        (rest, factor, multiple) = (other, Some(of), multiple.wrapping_add(more));
    }
    Some(Address { value, pointer, size, index, rest, multiple, factor })
}

/// A number and a constant times a number of 32 bits: the three.
fn sum(value: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef, u64)> {
    if ir::opcode(value) != Some(LLVMOpcode::LLVMAdd) {
        return None;
    }
    let parts: Vec<LLVMValueRef> = ir::operands(value).collect();
    let orders = [(parts[0], parts[1]), (parts[1], parts[0])];
    orders.into_iter().find_map(|(rest, part)| product(part).map(|(of, times)| (rest, of, times)))
}

/// A constant times a number of 32 bits that has 64: that number, and the constant.
fn product(value: LLVMValueRef) -> Option<(LLVMValueRef, u64)> {
    // SAFETY: the value is live; operands are those of its kind, and a constant of 64 bits is asked for its value.
    unsafe {
        match ir::opcode(value)? {
            LLVMOpcode::LLVMZExt => {
                let narrow = LLVMGetOperand(value, 0);
                let ty = LLVMTypeOf(narrow);
                let fits = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind
                    && LLVMGetIntTypeWidth(ty) == 32
                    && ir::opcode(narrow) != Some(LLVMOpcode::LLVMPHI);
                fits.then_some((narrow, 1))
            }
            operation @ (LLVMOpcode::LLVMMul | LLVMOpcode::LLVMShl) => {
                let constant = LLVMGetOperand(value, 1);
                if LLVMIsAConstantInt(constant).is_null() {
                    return None;
                }
                let (factor, one) = product(LLVMGetOperand(value, 0))?;
                let constant = LLVMConstIntGetZExtValue(constant);
                let times = match operation {
                    LLVMOpcode::LLVMMul => constant,
                    _ => 1_u64.checked_shl(u32::try_from(constant).ok()?)?,
                };
                Some((factor, one.checked_mul(times)?))
            }
            _ => None,
        }
    }
}

/// The steps that there are: a number, how many bytes each of it counts, and their product.
type Steps = Vec<(LLVMValueRef, u32, LLVMValueRef)>;

/// Makes `next` one step from `at`, and gives what stands for it now.
///
/// # Safety
/// Both are addresses of one block of a live module, `at` before `next`, which is `bytes * factor` bytes behind.
unsafe fn step(
    steps: &mut Steps,
    at: LLVMValueRef,
    next: LLVMValueRef,
    factor: LLVMValueRef,
    bytes: u32,
) -> LLVMValueRef {
    // SAFETY: as promised by the caller. The step stands right behind the number, so before all that is made of that.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(at));
        let builder = LLVMCreateBuilderInContext(context);
        let known = steps.iter().find(|(of, size, _)| (*of, *size) == (factor, bytes));
        let step = if let Some((.., step)) = known {
            *step
        } else {
            let behind = match ir::opcode(factor) {
                Some(_) => LLVMGetNextInstruction(factor),
                None => LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(ir::parent_function(at))),
            };
            LLVMPositionBuilderBefore(builder, behind);
            let step = wide_product(builder, factor, bytes);
            steps.push((factor, bytes, step));
            step
        };
        LLVMPositionBuilderBefore(builder, next);
        let byte = LLVMInt8TypeInContext(context);
        let new = LLVMBuildGEP2(builder, byte, at, [step].as_mut_ptr(), 1, c"".as_ptr());
        LLVMDisposeBuilder(builder);
        mark_loads(next);
        LLVMReplaceAllUsesWith(next, new);
        LLVMInstructionEraseFromParent(next);
        new
    }
}

/// `factor * bytes` in 64 bits, in PTX's words.
///
/// # Safety
/// The builder stands where `factor`, a number of 32 bits, is there.
unsafe fn wide_product(builder: LLVMBuilderRef, factor: LLVMValueRef, bytes: u32) -> LLVMValueRef {
    // SAFETY: as promised by the caller; the assembly takes one number of 32 bits and gives one of 64.
    unsafe {
        let short = LLVMTypeOf(factor);
        let context = LLVMGetTypeContext(short);
        let long = LLVMInt64TypeInContext(context);
        let ty = LLVMFunctionType(long, [short].as_mut_ptr(), 1, 0);
        let words = format!("mul.wide.u32 $0, $1, {bytes};");
        let places = "=l,r";
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        let (text, places, len) = (words.as_ptr().cast(), places.as_ptr().cast(), places.len());
        let assembly = LLVMGetInlineAsm(ty, text, words.len(), places, len, 0, 0, dialect, 0);
        let mut operand = [factor];
        let call = LLVMBuildCall2(builder, ty, assembly, operand.as_mut_ptr(), 1, c"".as_ptr());
        for (name, value) in [("memory", 0), ("nounwind", 0)] {
            let attribute = LLVMCreateEnumAttribute(context, ir::enum_kind(name), value);
            LLVMAddCallSiteAttribute(call, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
        call
    }
}

/// Marks the loads at an address, if nobody changes what they load.
///
/// # Safety
/// `address` is one of a live module.
unsafe fn mark_loads(address: LLVMValueRef) {
    if !is_unchanged(address) {
        return;
    }
    // SAFETY: as promised by the caller; users of a live value are live, and a load may have that mark.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(address));
        let (name, len) = (INVARIANT.as_ptr().cast(), INVARIANT.len() as u32);
        let kind = LLVMGetMDKindIDInContext(context, name, len);
        let nothing = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
        let is_plain = |user: &LLVMValueRef| {
            ir::opcode(*user) == Some(LLVMOpcode::LLVMLoad)
                && LLVMGetVolatile(*user) == 0
                && LLVMGetOrdering(*user) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
        };
        for load in ir::users(address).into_iter().filter(is_plain) {
            LLVMSetMetadata(load, kind, LLVMMetadataAsValue(context, nothing));
        }
    }
}

/// Whether an address lies in memory that a kernel's parameter promises is only read.
fn is_unchanged(address: LLVMValueRef) -> bool {
    let mut at = address;
    for _ in 0..DEPTH {
        if ir::opcode(at) != Some(LLVMOpcode::LLVMGetElementPtr) {
            break;
        }
        // SAFETY: a `getelementptr` has a pointer.
        at = unsafe { LLVMGetOperand(at, 0) };
    }
    let promises = ["noalias", "readonly"];
    // SAFETY: the value is live; only a parameter is asked for its function.
    let is_kernels = unsafe {
        !LLVMIsAArgument(at).is_null()
            && LLVMGetFunctionCallConv(LLVMGetParamParent(at)) == PTX_KERNEL
    };
    is_kernels && promises.iter().all(|name| ir::parameter_attribute(at, name).is_some())
}
