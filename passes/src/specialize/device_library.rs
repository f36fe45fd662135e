//! Replaces mathematics that the target does not compute by calls of the device library. Runs in
//! stage 2.
//!
//! Before:
//! ```llvm
//!   %s = call float @llvm.sin.f32(float %x)
//!   %t = call double @tan(double %y)
//!   %r = frem double %y, %t
//!   %q = call double @llvm.sqrt.f64(double %r)
//! ```
//! After, for a GPU, which has square roots:
//! ```llvm
//!   %s = call float @schism.lib.sinf(float %x)
//!   %t = call double @schism.lib.tan(double %y)
//!   %r = call double @schism.lib.fmod(double %y, double %t)
//!   %q = call double @llvm.sqrt.f64(double %r)
//! ```
//!
//! The library is C's mathematics, compiled from Rust: stage 2 links what is called from here. Its
//! names keep LLVM from replacing calls by what the machine that compiles would have computed.
//!
//! So do conversions between integers of 128 bits and numbers, which some code generators cannot
//! do.
//!
//! [`TargetLibraryInfo`] says what a kind of device computes by itself, and whether that is exact.
//! Where the launch allows functions to be approximated (`afn`), a device's approximation stays.
//! Numbers of 16 bits are widened for the call; vectors go element by element. What is of another
//! type (`fp128`, a `sin` of integers) is left alone.

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMFastMathApproxFunc, LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::spec::target_library::{INTRINSICS, NUMBERS, PREFIX, Shape, TargetLibraryInfo, single};

/// Runs the pass over a module.
pub fn run_on(module: &Module<'_>, device: &TargetLibraryInfo) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run(module.as_mut_ptr(), device) }
}

/// Runs the pass.
///
/// # Safety
/// `module` is a live module that verifies and that nobody else changes during the call.
pub unsafe fn run(module: LLVMModuleRef, device: &TargetLibraryInfo) {
    for function in ir::functions(module) {
        // SAFETY: the function is live until it is removed below, which is done last.
        unsafe {
            if LLVMIsDeclaration(function) == 0 {
                for instruction in ir::instructions(function) {
                    if ir::opcode(instruction) == Some(LLVMOpcode::LLVMFRem) {
                        replace(module, instruction, "fmod", Shape::Numbers(2));
                    } else if !device.wide {
                        convert(module, instruction);
                    }
                }
            } else if LLVMGetIntrinsicID(function) != 0 {
                lower(module, function, device);
            } else {
                rename(module, function, device);
            }
        }
    }
}

/// Makes calls of an intrinsic calls of the library, where the device does not have it.
///
/// # Safety
/// As for [`run`]; `intrinsic` is an intrinsic's declaration in the module.
unsafe fn lower(module: LLVMModuleRef, intrinsic: LLVMValueRef, device: &TargetLibraryInfo) {
    let name = ir::name_of(intrinsic);
    let Some((name, types)) = name.strip_prefix("llvm.").and_then(|name| name.split_once('.'))
    else {
        return;
    };
    let function =
        INTRINSICS.iter().find(|(other, _)| *other == name).map_or(name, |(_, function)| *function);
    let Some(&(function, shape)) = NUMBERS.iter().find(|(known, _)| *known == function) else {
        return;
    };
    if device.exact.contains(&name) {
        return;
    }
    let approximate = device.approximate.contains(&&*format!("{name}.{types}"));
    for call in ir::users(intrinsic) {
        // SAFETY: the users of an intrinsic are calls of it, which are live; flags are read where LLVM has some.
        unsafe {
            if approximate
                && LLVMCanValueUseFastMathFlags(call) != 0
                && LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc != 0
            {
                continue;
            }
            replace(module, call, function, shape);
        }
    }
}

/// Makes what uses a function of C use the library's, if it is one and has the right type.
///
/// # Safety
/// As for [`run`]; `declaration` is that of a function that is no intrinsic. It may be removed.
unsafe fn rename(module: LLVMModuleRef, declaration: LLVMValueRef, device: &TargetLibraryInfo) {
    let name = ir::name_of(declaration);
    if device.functions.contains(&&*name) {
        return;
    }
    // SAFETY: as promised by the caller. The two functions have one type, so one can stand for the other.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let Some(expected) = type_of(context, &name) else { return };
        if LLVMGlobalGetValueType(declaration) != expected {
            return;
        }
        let function = declare(module, &name, expected);
        LLVMReplaceAllUsesWith(declaration, function);
        LLVMDeleteFunction(declaration);
    }
}

/// The type of a function of the library, by its name in C.
fn type_of(context: LLVMContextRef, name: &str) -> Option<LLVMTypeRef> {
    // SAFETY: the context is live, and types of one context are put together.
    unsafe {
        let pointer = LLVMPointerTypeInContext(context, 0);
        let (int, size) = (LLVMInt32TypeInContext(context), LLVMInt64TypeInContext(context));
        let function = |result, mut parameters: Vec<LLVMTypeRef>| {
            LLVMFunctionType(result, parameters.as_mut_ptr(), parameters.len() as u32, 0)
        };
        match name {
            "memcpy" | "memmove" => return Some(function(pointer, vec![pointer, pointer, size])),
            "memset" => return Some(function(pointer, vec![pointer, int, size])),
            "memcmp" | "bcmp" => return Some(function(int, vec![pointer, pointer, size])),
            _ => {}
        }
        let (shape, number) = NUMBERS.iter().find_map(|(double, shape)| {
            if *double == name {
                Some((*shape, LLVMDoubleTypeInContext(context)))
            } else {
                (single(double) == name).then(|| (*shape, LLVMFloatTypeInContext(context)))
            }
        })?;
        Some(match shape {
            Shape::Numbers(count) => function(number, vec![number; count]),
            Shape::WithInteger => function(number, vec![number, int]),
            Shape::WithPlace => function(number, vec![number, pointer]),
        })
    }
}

/// The declaration of a function of the library.
///
/// # Safety
/// As for [`run`]; `ty` is the function's type.
unsafe fn declare(module: LLVMModuleRef, name: &str, ty: LLVMTypeRef) -> LLVMValueRef {
    let symbol = format!("{PREFIX}{name}\0");
    // SAFETY: as promised by the caller; the name ends with a NUL.
    unsafe {
        let known = LLVMGetNamedFunction(module, symbol.as_ptr().cast());
        if known.is_null() { LLVMAddFunction(module, symbol.as_ptr().cast(), ty) } else { known }
    }
}

/// Makes a conversion between an integer of 128 bits and a number a call of the library.
///
/// # Safety
/// As for [`run`]; the instruction is live. It may be erased.
unsafe fn convert(module: LLVMModuleRef, instruction: LLVMValueRef) {
    // SAFETY: as promised by the caller; operands are asked for where there is one, and the call's types are the instruction's.
    unsafe {
        let (signed, to_number) = match ir::opcode(instruction) {
            Some(LLVMOpcode::LLVMSIToFP) => (true, true),
            Some(LLVMOpcode::LLVMUIToFP) => (false, true),
            Some(LLVMOpcode::LLVMFPToSI) => (true, false),
            Some(LLVMOpcode::LLVMFPToUI) => (false, false),
            Some(LLVMOpcode::LLVMCall) => {
                let Some(callee) = ir::callee(instruction) else { return };
                let name = ir::name_of(callee);
                // Of the two, what the first says is what the second leaves open.
                if name.starts_with("llvm.fptosi.sat.i128.") {
                    (true, false)
                } else if name.starts_with("llvm.fptoui.sat.i128.") {
                    (false, false)
                } else {
                    return;
                }
            }
            _ => return,
        };
        let context = LLVMGetModuleContext(module);
        let operand = LLVMGetOperand(instruction, 0);
        let (from, to) = (LLVMTypeOf(operand), LLVMTypeOf(instruction));
        let (wide, number) = if to_number { (from, to) } else { (to, from) };
        let double = match LLVMGetTypeKind(number) {
            LLVMTypeKind::LLVMDoubleTypeKind => true,
            LLVMTypeKind::LLVMFloatTypeKind => false,
            _ => return,
        };
        if wide != LLVMIntTypeInContext(context, 128) {
            return;
        }
        let name = match (to_number, signed) {
            (true, true) => ["__floattisf", "__floattidf"],
            (true, false) => ["__floatuntisf", "__floatuntidf"],
            (false, true) => ["__fixsfti", "__fixdfti"],
            (false, false) => ["__fixunssfti", "__fixunsdfti"],
        };
        let ty = LLVMFunctionType(to, [from].as_mut_ptr(), 1, 0);
        let callee = declare(module, name[usize::from(double)], ty);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, instruction);
        let result = LLVMBuildCall2(builder, ty, callee, [operand].as_mut_ptr(), 1, c"".as_ptr());
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(instruction, result);
        LLVMInstructionEraseFromParent(instruction);
    }
}

/// Puts a call of the library in the place of an instruction, if its type is one that the library has.
///
/// # Safety
/// As for [`run`]; the instruction is live, and its operands are the function's arguments. It is erased.
unsafe fn replace(module: LLVMModuleRef, instruction: LLVMValueRef, function: &str, shape: Shape) {
    // SAFETY: as promised by the caller. Types are asked what their kinds have, the builder has a place, and what it makes is
    // of the instruction's type, so users of one can use the other.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let ty = LLVMTypeOf(instruction);
        let is_vector = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind;
        let element = if is_vector { LLVMGetElementType(ty) } else { ty };
        let (name, number) = match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMDoubleTypeKind => (function.to_owned(), element),
            LLVMTypeKind::LLVMFloatTypeKind => (single(function), element),
            LLVMTypeKind::LLVMHalfTypeKind => (single(function), LLVMFloatTypeInContext(context)),
            _ => return,
        };
        let int = LLVMInt32TypeInContext(context);
        let (count, second) = match shape {
            Shape::Numbers(count) => (count, number),
            Shape::WithInteger => (2, int),
            Shape::WithPlace => return,
        };
        let operands: Vec<_> =
            (0..count).map(|index| LLVMGetOperand(instruction, index as u32)).collect();
        if shape == Shape::WithInteger {
            let exponent = LLVMTypeOf(operands[1]);
            let vector = LLVMGetTypeKind(exponent) == LLVMTypeKind::LLVMVectorTypeKind;
            if (if vector { LLVMGetElementType(exponent) } else { exponent }) != int {
                return;
            }
        }
        let mut parameters = vec![number; count];
        if let Some(parameter) = parameters.get_mut(1) {
            *parameter = second;
        }
        let function_type =
            LLVMFunctionType(number, parameters.as_mut_ptr(), parameters.len() as u32, 0);
        let callee = declare(module, &name, function_type);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, instruction);
        let lanes = if is_vector { LLVMGetVectorSize(ty) } else { 1 };
        let mut result = LLVMGetPoison(ty);
        for lane in 0..lanes {
            let lane = LLVMConstInt(int, u64::from(lane), 0);
            let mut arguments: Vec<_> = operands
                .iter()
                .zip(&parameters)
                .map(|(&operand, &parameter)| {
                    // An exponent may be one for all elements.
                    let operand_type = LLVMGetTypeKind(LLVMTypeOf(operand));
                    let argument = if operand_type == LLVMTypeKind::LLVMVectorTypeKind {
                        LLVMBuildExtractElement(builder, operand, lane, c"".as_ptr())
                    } else {
                        operand
                    };
                    if parameter == number && element != number {
                        LLVMBuildFPExt(builder, argument, number, c"".as_ptr())
                    } else {
                        argument
                    }
                })
                .collect();
            let mut value = LLVMBuildCall2(
                builder,
                function_type,
                callee,
                arguments.as_mut_ptr(),
                arguments.len() as u32,
                c"".as_ptr(),
            );
            if element != number {
                value = LLVMBuildFPTrunc(builder, value, element, c"".as_ptr());
            }
            result = if is_vector {
                LLVMBuildInsertElement(builder, result, value, lane, c"".as_ptr())
            } else {
                value
            };
        }
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(instruction, result);
        LLVMInstructionEraseFromParent(instruction);
    }
}
