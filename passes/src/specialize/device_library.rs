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
//! do, and divisions of such integers, which they do bit by bit:
//! ```llvm
//!   %q = udiv i128 %x, %y
//!   %r = urem i128 %x, %y
//! ```
//! becomes
//! ```llvm
//!   %q = call i128 @schism.lib.__udivti3(i128 %x, i128 %y)
//!   %1 = call i128 @schism.lib.__udivti3(i128 %x, i128 %y)   ; LLVM merges it with the first
//!   %2 = mul i128 %1, %y
//!   %r = sub i128 %x, %2
//! ```
//!
//! [`TargetLibraryInfo`] says what a kind of device computes by itself, and whether that is
//! correctly rounded. Where the launch allows functions to be approximated (`afn`), a device's
//! approximation stays. Numbers of 16 bits are widened for the call; vectors go element by element.
//! What is of another type (`fp128`, a `sin` of integers) is left alone.

use schism_llvm::{Builder, ContextRef, ModuleRef, Opcode, Type, TypeKind, Value, fast_math};

use crate::spec::target_library::{INTRINSICS, NUMBERS, PREFIX, Shape, TargetLibraryInfo, single};

/// Runs the pass.
pub fn run(module: ModuleRef<'_>, device: &TargetLibraryInfo) {
    for function in module.functions() {
        if !function.is_declaration() {
            for instruction in function.instructions() {
                match instruction.opcode() {
                    Some(Opcode::FRem) => {
                        replace(module, instruction, "fmod", Shape::Numbers(2));
                    }
                    _ if device.wide => {}
                    Some(Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem) => {
                        divide(module, instruction);
                    }
                    _ => convert(module, instruction),
                }
            }
        } else if function.intrinsic_id() != 0 {
            lower(module, function, device);
        } else {
            rename(module, function, device);
        }
    }
}

/// Makes calls of an intrinsic calls of the library, where the device does not have it.
fn lower<'m>(module: ModuleRef<'m>, intrinsic: Value<'m>, device: &TargetLibraryInfo) {
    let name = intrinsic.name();
    let Some((name, types)) = name.strip_prefix("llvm.").and_then(|name| name.split_once('.'))
    else {
        return;
    };
    let function =
        INTRINSICS.iter().find(|(other, _)| *other == name).map_or(name, |(_, function)| *function);
    let Some(&(function, shape)) = NUMBERS.iter().find(|(known, _)| *known == function) else {
        return;
    };
    if device.correctly_rounded.contains(&name) {
        return;
    }
    let approximate = device.approximate.contains(&&*format!("{name}.{types}"));
    for call in intrinsic.users() {
        if approximate
            && call.has_fast_math()
            && call.fast_math_flags() & fast_math::APPROXIMATE != 0
        {
            continue;
        }
        replace(module, call, function, shape);
    }
}

/// Makes what uses a function of C use the library's, if it is one and has the right type.
fn rename<'m>(module: ModuleRef<'m>, declaration: Value<'m>, device: &TargetLibraryInfo) {
    let name = declaration.name();
    if device.functions.contains(&&*name) {
        return;
    }
    let context = module.context();
    let Some(expected) = type_of(context, &name) else { return };
    if declaration.value_type() != expected {
        return;
    }
    let function = declare(module, &name, expected);
    declaration.replace_uses(function);
    declaration.delete_function();
}

/// The type of a function of the library, by its name in C.
fn type_of<'m>(context: ContextRef<'m>, name: &str) -> Option<Type<'m>> {
    let pointer = context.pointer_type(0);
    let (int, size) = (context.int_type(32), context.int_type(64));
    let function =
        |result: Type<'m>, parameters: Vec<Type<'m>>| result.function(&parameters, false);
    match name {
        "memcpy" | "memmove" => return Some(function(pointer, vec![pointer, pointer, size])),
        "memset" => return Some(function(pointer, vec![pointer, int, size])),
        "memcmp" | "bcmp" => return Some(function(int, vec![pointer, pointer, size])),
        _ => {}
    }
    let (shape, number) = NUMBERS.iter().find_map(|(double, shape)| {
        if *double == name {
            Some((*shape, context.double_type()))
        } else {
            (single(double) == name).then(|| (*shape, context.float_type()))
        }
    })?;
    Some(match shape {
        Shape::Numbers(count) => function(number, vec![number; count]),
        Shape::WithInteger => function(number, vec![number, int]),
        Shape::WithPlace => function(number, vec![number, pointer]),
    })
}

/// The declaration of a function of the library.
fn declare<'m>(module: ModuleRef<'m>, name: &str, ty: Type<'m>) -> Value<'m> {
    let symbol = format!("{PREFIX}{name}");
    module.function(&symbol).unwrap_or_else(|| module.add_function(&symbol, ty))
}

/// Makes a conversion between an integer of 128 bits and a number a call of the library.
fn convert<'m>(module: ModuleRef<'m>, instruction: Value<'m>) {
    let (signed, to_number) = match instruction.opcode() {
        Some(Opcode::SIToFP) => (true, true),
        Some(Opcode::UIToFP) => (false, true),
        Some(Opcode::FPToSI) => (true, false),
        Some(Opcode::FPToUI) => (false, false),
        Some(Opcode::Call) => {
            let Some(callee) = instruction.callee() else { return };
            let name = callee.name();
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
    let context = module.context();
    let operand = instruction.operand(0);
    let (from, to) = (operand.ty(), instruction.ty());
    let (wide, number) = if to_number { (from, to) } else { (to, from) };
    let double = match number.kind() {
        TypeKind::Double => true,
        TypeKind::Float => false,
        _ => return,
    };
    if wide != context.int_type(128) {
        return;
    }
    let name = match (to_number, signed) {
        (true, true) => ["__floattisf", "__floattidf"],
        (true, false) => ["__floatuntisf", "__floatuntidf"],
        (false, true) => ["__fixsfti", "__fixdfti"],
        (false, false) => ["__fixunssfti", "__fixunsdfti"],
    };
    let ty = to.function(&[from], false);
    let callee = declare(module, name[usize::from(double)], ty);
    let builder = Builder::before(instruction);
    let result = builder.call(ty, callee, &[operand]);
    instruction.replace_uses(result);
    instruction.erase();
}

/// Makes a division of integers of 128 bits a call of the library: LLVM's own expansion has one
/// iteration for each bit. A remainder is what the quotient leaves, so a kernel that wants both
/// divides once. A division by a power of two stays.
fn divide<'m>(module: ModuleRef<'m>, instruction: Value<'m>) {
    let (name, is_remainder) = match instruction.opcode() {
        Some(Opcode::UDiv) => ("__udivti3", false),
        Some(Opcode::SDiv) => ("__divti3", false),
        Some(Opcode::URem) => ("__udivti3", true),
        Some(Opcode::SRem) => ("__divti3", true),
        _ => return,
    };
    let (context, wide) = (module.context(), instruction.ty());
    let (dividend, divisor) = (instruction.operand(0), instruction.operand(1));
    let builder = Builder::before(instruction);
    if wide != context.int_type(128) || is_power_of_two(&builder, divisor) {
        return;
    }
    let ty = wide.function(&[wide, wide], false);
    let quotient = builder.call(ty, declare(module, name, ty), &[dividend, divisor]);
    let result =
        if is_remainder { builder.sub(dividend, builder.mul(quotient, divisor)) } else { quotient };
    instruction.replace_uses(result);
    instruction.erase();
}

/// Whether an integer of 128 bits is a constant power of two.
fn is_power_of_two<'m>(builder: &Builder<'m>, number: Value<'m>) -> bool {
    if !number.is_constant_int() {
        return false;
    }
    let ty = number.ty();
    let above = builder.lshr(number, ty.const_int(64, false));
    // The builder folds constants.
    let words = [number, above].map(|word| builder.trunc(word, ty.context().int_type(64)));
    words.into_iter().filter_map(Value::as_unsigned).map(u64::count_ones).sum::<u32>() == 1
}

/// Puts a call of the library in the place of an instruction, if its type is one that the library
/// has.
fn replace<'m>(module: ModuleRef<'m>, instruction: Value<'m>, function: &str, shape: Shape) {
    let context = module.context();
    let ty = instruction.ty();
    let is_vector = ty.kind() == TypeKind::Vector;
    let element = if is_vector { ty.element_type() } else { ty };
    let (name, number) = match element.kind() {
        TypeKind::Double => (function.to_owned(), element),
        TypeKind::Float => (single(function), element),
        TypeKind::Half => (single(function), context.float_type()),
        _ => return,
    };
    let int = context.int_type(32);
    let (count, second) = match shape {
        Shape::Numbers(count) => (count, number),
        Shape::WithInteger => (2, int),
        Shape::WithPlace => return,
    };
    let operands: Vec<_> = (0..count).map(|index| instruction.operand(index as u32)).collect();
    if shape == Shape::WithInteger {
        let exponent = operands[1].ty();
        let vector = exponent.kind() == TypeKind::Vector;
        if (if vector { exponent.element_type() } else { exponent }) != int {
            return;
        }
    }
    let mut parameters = vec![number; count];
    if let Some(parameter) = parameters.get_mut(1) {
        *parameter = second;
    }
    let function_type = number.function(&parameters, false);
    let callee = declare(module, &name, function_type);
    let builder = Builder::before(instruction);
    let lanes = if is_vector { ty.vector_size() } else { 1 };
    let mut result = ty.poison();
    for lane in 0..lanes {
        let lane = int.const_int(u64::from(lane), false);
        let arguments: Vec<_> = operands
            .iter()
            .zip(&parameters)
            .map(|(&operand, &parameter)| {
                // An exponent may be one for all elements.
                let operand_type = operand.ty().kind();
                let argument = if operand_type == TypeKind::Vector {
                    builder.extract_element(operand, lane)
                } else {
                    operand
                };
                if parameter == number && element != number {
                    builder.fpext(argument, number)
                } else {
                    argument
                }
            })
            .collect();
        let mut value = builder.call(function_type, callee, &arguments);
        if element != number {
            value = builder.fptrunc(value, element);
        }
        result = if is_vector { builder.insert_element(result, value, lane) } else { value };
    }
    instruction.replace_uses(result);
    instruction.erase();
}
