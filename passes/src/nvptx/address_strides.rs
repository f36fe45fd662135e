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
use schism_llvm::{
    AsModule, AsmDialect, AtomicOrdering, Builder, FUNCTION_INDEX, Opcode, TypeKind, Value,
    enum_kind,
};

use crate::spec::target::{NVPTX, PTX_KERNEL};

/// The mark of a load that gives the same whenever it is made.
const INVARIANT: &str = "invariant.load";

/// How many steps a sum may have that are of one number.
const STEPS: u32 = 64;

/// How far the beginning of an address is looked for.
const DEPTH: u32 = 8;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
pub fn run_on(function: Value<'_>) {
    let mut steps = Steps::default();
    for block in function.blocks() {
        let mut rows: Vec<Row> = Vec::new();
        for address in block.instructions().into_iter().filter_map(address) {
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
                    at = step(&mut steps, at, next, factor, bytes);
                    multiple = other;
                }
            }
        }
    }
}

/// An address: `pointer + size * index`, where the index is `rest + multiple * factor`.
struct Address<'m> {
    value: Value<'m>,
    pointer: Value<'m>,
    size: u64,
    index: Value<'m>,
    rest: Value<'m>,
    multiple: u64,
    /// The number of 32 bits; none if the multiple is 0.
    factor: Option<Value<'m>>,
}

/// Addresses that differ by multiples of one number, as they come.
struct Row<'m> {
    /// The first one's parts; its multiple is 0 as long as there is no factor.
    first: Address<'m>,
    /// Each one, and its multiple.
    addresses: Vec<(Value<'m>, u64)>,
}

impl<'m> Row<'m> {
    fn of(first: Address<'m>) -> Self {
        Row { addresses: vec![(first.value, first.multiple)], first }
    }

    /// Adds an address, if it is one of the row.
    fn add(&mut self, next: &Address<'m>) -> bool {
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
fn address(value: Value<'_>) -> Option<Address<'_>> {
    let (pointer, index, size) = value.element()?;
    let is_constant = index.is_constant();
    if is_constant || pointer.address_space() != Some(NVPTX.global) {
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
fn sum(value: Value<'_>) -> Option<(Value<'_>, Value<'_>, u64)> {
    if value.opcode() != Some(Opcode::Add) {
        return None;
    }
    let parts: Vec<Value<'_>> = value.operands().collect();
    let orders = [(parts[0], parts[1]), (parts[1], parts[0])];
    orders.into_iter().find_map(|(rest, part)| product(part).map(|(of, times)| (rest, of, times)))
}

/// A constant times a number of 32 bits that has 64: that number, and the constant.
fn product(value: Value<'_>) -> Option<(Value<'_>, u64)> {
    match value.opcode()? {
        Opcode::ZExt => {
            let narrow = value.operand(0);
            let ty = narrow.ty();
            let fits = ty.kind() == TypeKind::Integer
                && ty.int_width() == 32
                && narrow.opcode() != Some(Opcode::Phi);
            fits.then_some((narrow, 1))
        }
        operation @ (Opcode::Mul | Opcode::Shl) => {
            let constant = value.operand(1);
            if !constant.is_constant_int() {
                return None;
            }
            let (factor, one) = product(value.operand(0))?;
            let constant = constant.zext_value();
            let times = match operation {
                Opcode::Mul => constant,
                _ => 1_u64.checked_shl(u32::try_from(constant).ok()?)?,
            };
            Some((factor, one.checked_mul(times)?))
        }
        _ => None,
    }
}

/// The steps that there are: a number, how many bytes each of it counts, and their product.
type Steps<'m> = Vec<(Value<'m>, u32, Value<'m>)>;

/// Makes `next` one step from `at`, and gives what stands for it now.
fn step<'m>(
    steps: &mut Steps<'m>,
    at: Value<'m>,
    next: Value<'m>,
    factor: Value<'m>,
    bytes: u32,
) -> Value<'m> {
    let context = at.ty().context();
    let builder = Builder::new(context);
    let known = steps.iter().find(|(of, size, _)| (*of, *size) == (factor, bytes));
    let step = if let Some((.., step)) = known {
        *step
    } else {
        let behind = match factor.opcode() {
            Some(_) => factor.next().expect("a block has an end"),
            None => at.parent_function().entry().begin(),
        };
        builder.position_before(behind);
        let step = wide_product(&builder, factor, bytes);
        steps.push((factor, bytes, step));
        step
    };
    builder.position_before(next);
    let byte = context.int_type(8);
    let new = builder.gep(byte, at, &[step]);
    mark_loads(next);
    next.replace_uses(new);
    next.erase();
    new
}

/// `factor * bytes` in 64 bits, in PTX's words.
fn wide_product<'m>(builder: &Builder<'m>, factor: Value<'m>, bytes: u32) -> Value<'m> {
    let short = factor.ty();
    let context = short.context();
    let long = context.int_type(64);
    let ty = long.function(&[short], false);
    let words = format!("mul.wide.u32 $0, $1, {bytes};");
    let assembly = ty.inline_assembly(&words, "=l,r", false, false, AsmDialect::Att);
    let call = builder.call(ty, assembly, &[factor]);
    for (name, value) in [("memory", 0), ("nounwind", 0)] {
        let attribute = context.enum_attribute(enum_kind(name), value);
        call.add_call_attribute_at(FUNCTION_INDEX, attribute);
    }
    call
}

/// Marks the loads at an address, if nobody changes what they load.
fn mark_loads(address: Value<'_>) {
    if !is_unchanged(address) {
        return;
    }
    let context = address.ty().context();
    let kind = context.metadata_kind(INVARIANT);
    let nothing = context.md_node(&[]);
    let is_plain = |user: &Value<'_>| {
        user.opcode() == Some(Opcode::Load)
            && !user.is_volatile()
            && user.ordering() == AtomicOrdering::NotAtomic
    };
    for load in address.users().into_iter().filter(is_plain) {
        load.set_metadata(kind, nothing.as_value(context));
    }
}

/// Whether an address lies in memory that a kernel's parameter promises is only read.
fn is_unchanged(address: Value<'_>) -> bool {
    let mut at = address;
    for _ in 0..DEPTH {
        if at.opcode() != Some(Opcode::GetElementPtr) {
            break;
        }
        at = at.operand(0);
    }
    let promises = ["noalias", "readonly"];
    let is_kernels = at.is_argument() && at.param_function().call_conv() == PTX_KERNEL;
    is_kernels && promises.iter().all(|name| at.parameter_attribute(name).is_some())
}
