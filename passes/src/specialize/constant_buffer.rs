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
use schism_llvm::{AsModule, Builder, Linkage, ModuleRef, Opcode, Value};
use thiserror::Error;

use crate::ir::parameters::{ByAddress, Copies, with_callers};
use crate::spec::kernel::SpecConstant;
use crate::specialize::spec_constants;

/// What stands for the buffer's address while functions are cloned.
const ADDRESS: &str = "schism.constants";

/// The buffer of a container's constants: each at the next multiple of its alignment, in the
/// container's order.
///
/// ```
/// use schism_passes::SpecConstant;
/// use schism_passes::specialize::constant_buffer::Buffer;
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
    /// A constant expression uses one, and the pass does not know its operation.
    #[error("a constant expression (`{operation:?}`) uses the specialization constant `{symbol}`")]
    InExpression {
        /// The constant's symbol.
        symbol: String,
        /// The expression's operation.
        operation: Opcode,
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
    match take_from_buffer(module.handle(), constants, &buffer, kernels) {
        Err(error) => Ok(Err(error)),
        Ok(copies) => {
            module.handle().run_passes("globaldce")?;
            // What no kernel reaches is gone now, copies too.
            let alive: HashSet<Value<'_>> = module.handle().functions().into_iter().collect();
            for (copy, name) in copies {
                if alive.contains(&copy) {
                    copy.set_name(&name);
                }
            }
            Ok(Ok(()))
        }
    }
}

/// Makes the functions that take the buffer. Returns them with the names that they get when the
/// originals, which nothing uses any more, are gone.
fn take_from_buffer<'m>(
    module: ModuleRef<'m>,
    constants: &[SpecConstant],
    buffer: &Buffer,
    kernels: &HashSet<&str>,
) -> Result<Vec<(Value<'m>, String)>, EmulateError> {
    let context = module.context();
    let (byte, long) = (context.int_type(8), context.int_type(64));
    let pointer = context.pointer_type(0);
    let address_type = pointer.function(&[], false);
    let address = module.add_function(ADDRESS, address_type);
    let builder = Builder::new(context);
    let mut readers: HashSet<Value<'m>> = HashSet::new();
    let mut result = Ok(Vec::new());
    for (constant, offset) in constants.iter().zip(&buffer.offsets) {
        let symbol = constant.symbol.as_str();
        let constant = module.global(symbol).filter(|&global| spec_constants::is_constant(global));
        let Some(global) = constant else { continue };
        let expressions = match expressions_of(global, symbol) {
            Ok(expressions) => expressions,
            Err(error) => {
                result = Err(error);
                break;
            }
        };
        let mut places: HashMap<Value<'m>, Value<'m>> = HashMap::new();
        for &expression in &expressions {
            for user in expression.users() {
                if user.opcode().is_none() {
                    continue;
                }
                let function = user.parent_function();
                let place = *places.entry(function).or_insert_with(|| {
                    let first = function.entry().begin();
                    builder.position_before(first);
                    let index = long.const_int(*offset, false);
                    let base = builder.call(address_type, address, &[]);
                    let place = builder.inbounds_gep(byte, base, &[index]);
                    place.set_name(symbol);
                    place
                });
                let expansion = Expansion { builder: &builder, expressions: &expressions, place };
                expansion.replace_in(user, expression);
                readers.insert(function);
            }
        }
        global.replace_uses(pointer.zero());
        global.delete_global();
    }
    if result.is_ok() {
        result = with_callers(module, readers)
            .map(|functions| copy(module, address, &functions, buffer, kernels))
            .map_err(|ByAddress(function)| EmulateError::ByAddress { function: function.name() });
    }
    result
}

/// Copies the functions, with the buffer as one more parameter.
fn copy<'m>(
    module: ModuleRef<'m>,
    address: Value<'m>,
    functions: &[Value<'m>],
    buffer: &Buffer,
    kernels: &HashSet<&str>,
) -> Vec<(Value<'m>, String)> {
    let pointer = module.context().pointer_type(0);
    let copies = Copies::declare(module, functions, ".constants", &[("constants", pointer)]);
    for &function in functions {
        copies.fill(function, |instruction, added| {
            (instruction.callee() == Some(address)).then(|| added[0])
        });
    }
    let mut made = Vec::new();
    for &function in functions {
        let name = function.name();
        let Some(copy) = copies.of(function) else { continue };
        function.set_linkage(Linkage::Internal);
        if kernels.contains(name.as_str()) {
            let last = copy.num_params();
            for (attribute, value) in [
                ("noalias", 0),
                ("readonly", 0),
                ("nonnull", 0),
                ("align", buffer.align),
                ("dereferenceable", buffer.defaults.len() as u64),
            ] {
                copy.add_attribute_at(last, attribute, value);
            }
        } else {
            copy.set_linkage(Linkage::Internal);
        }
        made.push((copy, name));
    }
    made
}

/// A constant, and what uses it among constant expressions, and among structures, arrays and
/// vectors of constants.
///
/// # Errors
/// A static uses it, or an expression for which there is no instruction here.
fn expressions_of<'m>(constant: Value<'m>, symbol: &str) -> Result<Vec<Value<'m>>, EmulateError> {
    let mut found = vec![constant];
    let mut next = 0;
    while let Some(&value) = found.get(next) {
        next += 1;
        for user in value.users() {
            if user.opcode().is_some() || found.contains(&user) {
                continue;
            }
            if user.is_constant_expression() {
                let operation = user.const_opcode();
                if !is_known(operation) {
                    let symbol = symbol.to_owned();
                    return Err(EmulateError::InExpression { symbol, operation });
                }
            } else if !is_aggregate(user) {
                return Err(EmulateError::InStatic { symbol: symbol.to_owned() });
            }
            found.push(user);
        }
    }
    Ok(found)
}

/// Whether [`Expansion::value_of`] has an instruction for a constant expression's operation. LLVM
/// has one more, `shufflevector`, which it folds unless vectors are scalable: no device has those.
fn is_known(operation: Opcode) -> bool {
    use Opcode::*;
    matches!(
        operation,
        GetElementPtr
            | InsertElement
            | ExtractElement
            | Add
            | Sub
            | Xor
            | Trunc
            | PtrToInt
            | PtrToAddr
            | IntToPtr
            | BitCast
            | AddrSpaceCast
    )
}

/// Whether this is a structure, an array or a vector of constants.
fn is_aggregate(value: Value<'_>) -> bool {
    value.is_constant_struct() || value.is_constant_array() || value.is_constant_vector()
}

/// What takes the place of a constant in one function.
struct Expansion<'a, 'm> {
    builder: &'a Builder<'m>,
    /// The constant, and the expressions that use it.
    expressions: &'a [Value<'m>],
    /// The constant's address, an instruction of the function.
    place: Value<'m>,
}

impl<'m> Expansion<'_, 'm> {
    /// Replaces an operand of an instruction.
    fn replace_in(&self, user: Value<'m>, operand: Value<'m>) {
        let is_phi = user.opcode() == Some(Opcode::Phi);
        let mut made: HashMap<Value<'m>, Value<'m>> = HashMap::new();
        for index in 0..user.num_operands() {
            if user.operand(index) == operand {
                let before = match is_phi {
                    true => user.incoming_block(index).end(),
                    false => user,
                };
                let value = *made.entry(before).or_insert_with(|| {
                    self.builder.position_before(before);
                    self.value_of(operand)
                });
                user.set_operand(index, value);
            }
        }
    }

    /// What one of the expressions is, by instructions at the builder's place.
    fn value_of(&self, expression: Value<'m>) -> Value<'m> {
        if expression == self.expressions[0] {
            return self.place;
        }
        let count = expression.num_operands();
        let operands: Vec<_> = (0..count)
            .map(|index| expression.operand(index))
            .map(|operand| match self.expressions.contains(&operand) {
                true => self.value_of(operand),
                false => operand,
            })
            .collect();
        let builder = self.builder;
        if is_aggregate(expression) {
            let parts = (0_u32..).zip(operands);
            let context = expression.context();
            let empty = expression.ty().poison();
            return parts.fold(empty, |aggregate, (index, part)| {
                if expression.is_constant_vector() {
                    let index = context.int_type(64).const_int(index.into(), false);
                    builder.insert_element(aggregate, part, index)
                } else {
                    builder.insert_value(aggregate, part, index)
                }
            });
        }
        let opcode = expression.const_opcode();
        match opcode {
            Opcode::GetElementPtr => builder.gep_with_flags(
                expression.gep_source_type(),
                operands[0],
                &operands[1..],
                expression.gep_flags(),
            ),
            Opcode::InsertElement => builder.insert_element(operands[0], operands[1], operands[2]),
            Opcode::ExtractElement => builder.extract_element(operands[0], operands[1]),
            _ if count == 1 => builder.cast(opcode, operands[0], expression.ty()),
            _ => builder.binary(opcode, operands[0], operands[1]),
        }
    }
}
