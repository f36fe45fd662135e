//! Turns specialization constants into loads from a buffer that kernels take.
//!
//! Before, as [`crate::frontend::declare_spec_constants`] has left it:
//! ```llvm
//! @SCALE = externally_initialized constant [32 x i8] c"...", align 8
//! @TILE = externally_initialized constant [32 x i8] c"...", align 8
//! define void @kernel(ptr %out) {
//!   call void @work(ptr %out)
//!   ret void
//! }
//! define internal void @work(ptr %out) {
//!   %tile = load i32, ptr @TILE
//!   ...
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %out, ptr noalias readonly nonnull align 8 dereferenceable(12) %constants) {
//!   call void @work(ptr %out, ptr %constants)
//!   ret void
//! }
//! define internal void @work(ptr %out, ptr %constants) {
//!   %TILE = getelementptr inbounds i8, ptr %constants, i64 8
//!   %tile = load i32, ptr %TILE
//!   ...
//! }
//! ```
//!
//! One buffer has the values of all constants, each at the offset that [`Buffer`] gives; a launch
//! that says nothing passes the defaults. A kernel that reads no constant takes no buffer.

use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use llvm_sys::LLVMLinkage;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use thiserror::Error;

use crate::ir;
use crate::ir::parameters::{ByAddress, Copies, with_callers};
use crate::spec::kernel::SpecConstant;
use crate::specialize::spec_constants;

/// What stands for the buffer's address while functions are cloned.
const ADDRESS: &std::ffi::CStr = c"schism.constants";

/// The buffer of a container's constants: each at the next multiple of its alignment, in the container's order.
///
/// ```
/// use schism_passes::SpecConstant;
/// use schism_passes::emulate_constants::Buffer;
///
/// let constant = |align, default: &[u8]| SpecConstant {
///     symbol: String::new(), static_size: 32, align, default: default.to_vec(),
/// };
/// let buffer = Buffer::of(&[constant(1, &[7]), constant(4, &[1, 2, 3, 4]), constant(2, &[5, 6])]);
/// assert_eq!(buffer.offsets, [0, 4, 8]);
/// assert_eq!(buffer.defaults, [7, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
/// assert_eq!(buffer.align, 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where each constant is.
    pub offsets: Vec<u64>,
    /// The buffer's bytes, with the defaults.
    pub defaults: Vec<u8>,
    /// The buffer's alignment.
    pub align: u64,
}

impl Buffer {
    /// The buffer of these constants.
    pub fn of(constants: &[SpecConstant]) -> Self {
        let mut buffer = Self { offsets: Vec::new(), defaults: Vec::new(), align: 1 };
        for constant in constants {
            let begin = buffer.defaults.len().next_multiple_of(constant.align.max(1) as usize);
            buffer.defaults.resize(begin, 0);
            buffer.defaults.extend(&constant.default);
            buffer.offsets.push(begin as u64);
            buffer.align = buffer.align.max(constant.align);
        }
        buffer
    }
}

/// Why constants cannot be read from a buffer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EmulateError {
    /// A function that reads one is called through a pointer, which could not pass the buffer.
    #[error("`{function}` reads specialization constants, and is called through a pointer")]
    ByAddress {
        /// The function's symbol.
        function: String,
    },
    /// A static refers to one, so its address would have to be known before the launch.
    #[error("a static refers to the specialization constant `{symbol}`")]
    InStatic {
        /// The constant's symbol.
        symbol: String,
    },
}

/// Runs the pass; `kernels` are the names of the kernel functions.
///
/// # Errors
/// See [`EmulateError`]; LLVM's message, if its pass manager fails.
pub fn run(
    module: &Module<'_>,
    constants: &[SpecConstant],
    kernels: &HashSet<&str>,
) -> Result<Result<(), EmulateError>, String> {
    let buffer = Buffer::of(constants);
    // SAFETY: the module is live and held by the caller.
    match unsafe { take_from_buffer(module.as_mut_ptr(), constants, &buffer, kernels) } {
        Err(error) => Ok(Err(error)),
        Ok(copies) => {
            ir::run_llvm_passes(module, "globaldce")?;
            // What no kernel reaches is gone now, copies too.
            let alive: HashSet<LLVMValueRef> =
                ir::functions(module.as_mut_ptr()).into_iter().collect();
            for (copy, name) in copies {
                if alive.contains(&copy) {
                    // SAFETY: the copy is alive; its original is gone, and with it the name.
                    unsafe { LLVMSetValueName2(copy, name.as_ptr().cast(), name.len()) };
                }
            }
            Ok(Ok(()))
        }
    }
}

/// Makes the functions that take the buffer. Returns them with the names that they get when the originals, which nothing uses
/// any more, are gone.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
unsafe fn take_from_buffer(
    module: LLVMModuleRef,
    constants: &[SpecConstant],
    buffer: &Buffer,
    kernels: &HashSet<&str>,
) -> Result<Vec<(LLVMValueRef, String)>, EmulateError> {
    // SAFETY: everything is read from, or made in, the live module; a constant is deleted after its last use is replaced.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let (byte, long) = (LLVMInt8TypeInContext(context), LLVMInt64TypeInContext(context));
        let pointer = LLVMPointerTypeInContext(context, 0);
        let address_type = LLVMFunctionType(pointer, std::ptr::null_mut(), 0, 0);
        let address = LLVMAddFunction(module, ADDRESS.as_ptr(), address_type);
        let builder = LLVMCreateBuilderInContext(context);
        let mut readers: HashSet<LLVMValueRef> = HashSet::new();
        let mut result = Ok(Vec::new());
        for (constant, offset) in constants.iter().zip(&buffer.offsets) {
            let symbol = constant.symbol.as_str();
            let global = LLVMGetNamedGlobalWithLength(module, symbol.as_ptr().cast(), symbol.len());
            if global.is_null() || !spec_constants::is_constant(global) {
                continue;
            }
            let Some(expressions) = expressions_of(global) else {
                result = Err(EmulateError::InStatic { symbol: symbol.to_owned() });
                break;
            };
            let mut places: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
            for &expression in &expressions {
                for user in ir::users(expression) {
                    if ir::opcode(user).is_none() {
                        continue;
                    }
                    let function = ir::parent_function(user);
                    let place = *places.entry(function).or_insert_with(|| {
                        let first = LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(function));
                        LLVMPositionBuilderBefore(builder, first);
                        let mut index = [LLVMConstInt(long, *offset, 0)];
                        let (none, name) = (std::ptr::null_mut(), c"".as_ptr());
                        let base = LLVMBuildCall2(builder, address_type, address, none, 0, name);
                        let index = index.as_mut_ptr();
                        let place = LLVMBuildInBoundsGEP2(builder, byte, base, index, 1, name);
                        LLVMSetValueName2(place, symbol.as_ptr().cast(), symbol.len());
                        place
                    });
                    let expansion = Expansion { builder, expressions: &expressions, place };
                    expansion.replace_in(user, expression);
                    readers.insert(function);
                }
            }
            LLVMReplaceAllUsesWith(global, LLVMConstNull(pointer));
            LLVMDeleteGlobal(global);
        }
        LLVMDisposeBuilder(builder);
        if result.is_ok() {
            result = with_callers(module, readers)
                .map(|functions| copy(module, address, &functions, buffer, kernels))
                .map_err(|ByAddress(function)| EmulateError::ByAddress {
                    function: ir::name_of(function),
                });
        }
        result
    }
}

/// Copies the functions, with the buffer as one more parameter.
///
/// # Safety
/// All are definitions of the live `module`, and `address` is what stands for the buffer in them.
unsafe fn copy(
    module: LLVMModuleRef,
    address: LLVMValueRef,
    functions: &[LLVMValueRef],
    buffer: &Buffer,
    kernels: &HashSet<&str>,
) -> Vec<(LLVMValueRef, String)> {
    // SAFETY: as promised by the caller.
    unsafe {
        let pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(module), 0);
        let copies = Copies::declare(module, functions, ".constants", &[("constants", pointer)]);
        for &function in functions {
            copies.fill(function, |instruction, added| {
                (ir::callee(instruction) == Some(address)).then(|| added[0])
            });
        }
        let mut made = Vec::new();
        for &function in functions {
            let name = ir::name_of(function);
            let Some(copy) = copies.of(function) else { continue };
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            if kernels.contains(name.as_str()) {
                let last = LLVMCountParams(copy);
                for (attribute, value) in [
                    ("noalias", 0),
                    ("readonly", 0),
                    ("nonnull", 0),
                    ("align", buffer.align),
                    ("dereferenceable", buffer.defaults.len() as u64),
                ] {
                    ir::add_attribute_at(copy, last, attribute, value);
                }
            } else {
                LLVMSetLinkage(copy, LLVMLinkage::LLVMInternalLinkage);
            }
            made.push((copy, name));
        }
        made
    }
}

/// A constant and the constant expressions that use it. `None` if something else that is constant does: a static.
fn expressions_of(constant: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let mut found = vec![constant];
    let mut next = 0;
    while let Some(&value) = found.get(next) {
        next += 1;
        for user in ir::users(value) {
            if ir::opcode(user).is_some() || found.contains(&user) {
                continue;
            }
            // SAFETY: the query accepts any value.
            if unsafe { LLVMIsAConstantExpr(user).is_null() } {
                return None;
            }
            found.push(user);
        }
    }
    Some(found)
}

/// What takes the place of a constant in one function.
struct Expansion<'a> {
    builder: LLVMBuilderRef,
    /// The constant, and the expressions that use it.
    expressions: &'a [LLVMValueRef],
    /// The constant's address, an instruction of the function.
    place: LLVMValueRef,
}

impl Expansion<'_> {
    /// Replaces an operand of an instruction.
    ///
    /// # Safety
    /// Both are live, and the operand is one of the expressions.
    unsafe fn replace_in(&self, user: LLVMValueRef, operand: LLVMValueRef) {
        // SAFETY: as promised by the caller. What a phi node takes from a block is made at the block's end, once for each
        // block: a phi node may name a block twice, with one value.
        unsafe {
            let is_phi = ir::opcode(user) == Some(LLVMOpcode::LLVMPHI);
            let mut made: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
            for index in 0..LLVMGetNumOperands(user) as u32 {
                if LLVMGetOperand(user, index) == operand {
                    let before = match is_phi {
                        true => LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, index)),
                        false => user,
                    };
                    let value = *made.entry(before).or_insert_with(|| {
                        LLVMPositionBuilderBefore(self.builder, before);
                        self.value_of(operand)
                    });
                    LLVMSetOperand(user, index, value);
                }
            }
        }
    }

    /// What one of the expressions is, by instructions at the builder's place.
    ///
    /// # Safety
    /// The expression is live, and the builder has a place in the function.
    unsafe fn value_of(&self, expression: LLVMValueRef) -> LLVMValueRef {
        if expression == self.expressions[0] {
            return self.place;
        }
        // SAFETY: as promised by the caller; the operands are the expression's own, in their order. One of them is no constant
        // any more, so the builder does not fold them back into one.
        unsafe {
            let count = LLVMGetNumOperands(expression) as u32;
            let mut operands: Vec<_> = (0..count)
                .map(|index| LLVMGetOperand(expression, index))
                .map(|operand| match self.expressions.contains(&operand) {
                    true => self.value_of(operand),
                    false => operand,
                })
                .collect();
            let (builder, name) = (self.builder, c"".as_ptr());
            let opcode = LLVMGetConstOpcode(expression);
            match opcode {
                LLVMOpcode::LLVMGetElementPtr => LLVMBuildGEPWithNoWrapFlags(
                    builder,
                    LLVMGetGEPSourceElementType(expression),
                    operands[0],
                    operands[1..].as_mut_ptr(),
                    count - 1,
                    name,
                    LLVMGEPGetNoWrapFlags(expression),
                ),
                _ if count == 1 => {
                    LLVMBuildCast(builder, opcode, operands[0], LLVMTypeOf(expression), name)
                }
                _ => LLVMBuildBinOp(builder, opcode, operands[0], operands[1], name),
            }
        }
    }
}
