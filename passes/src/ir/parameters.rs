//! Parameter propagation: clones of functions with additional parameters, passed down from the
//! kernels to where they are used.
//!
//! Some values belong to a launch (its offset, values of constants). A function in the middle of a
//! kernel gets them only through its callers. So each caller is cloned with the parameters
//! appended, and the clones pass them to each other. Bodies are cloned instruction by instruction;
//! attributes of functions and of calls stay, also those of `byval` arguments.

use std::collections::{HashMap, HashSet};

use schism_llvm::{
    Builder, FUNCTION_INDEX, ModuleRef, Opcode, RETURN_INDEX, TailCallKind, Type, Value,
};

/// A function that is used other than by calls with its own parameters: its callers are not known,
/// nor their arguments.
#[derive(Debug)]
pub(crate) struct ByAddress<'m>(pub Value<'m>);

/// Whether `user` calls `function` and uses it for nothing else.
pub(crate) fn only_calls<'m>(user: Value<'m>, function: Value<'m>) -> bool {
    if user.callee() != Some(function) {
        return false;
    }
    user.called_type() == function.value_type()
        && (0..user.num_args()).all(|index| user.operand(index) != function)
}

/// The given functions and all that call them, directly or not, in the order of the module.
pub(crate) fn with_callers<'m>(
    module: ModuleRef<'m>,
    functions: HashSet<Value<'m>>,
) -> Result<Vec<Value<'m>>, ByAddress<'m>> {
    let mut stack: Vec<Value<'m>> = functions.iter().copied().collect();
    let mut found = functions;
    let mut by_address = HashSet::new();
    while let Some(function) = stack.pop() {
        if function.value_type().is_variadic() {
            by_address.insert(function);
        }
        for user in function.users() {
            if !only_calls(user, function) {
                by_address.insert(function);
            } else if found.insert(user.parent_function()) {
                stack.push(user.parent_function());
            }
        }
    }
    let in_order = |set: &HashSet<Value<'m>>| {
        module.functions().into_iter().filter(|function| set.contains(function)).collect()
    };
    let by_address: Vec<_> = in_order(&by_address);
    match by_address.first() {
        Some(function) => Err(ByAddress(*function)),
        None => Ok(in_order(&found)),
    }
}

/// The copies of some functions.
pub(crate) struct Copies<'m> {
    copies: HashMap<Value<'m>, Value<'m>>,
    added: usize,
}

impl<'m> Copies<'m> {
    /// Makes the copies, without bodies: each is called like its original with `suffix`, and takes
    /// parameters of these names and types after the original's own. They are external; the
    /// caller decides which stay so.
    pub(crate) fn declare(
        module: ModuleRef<'m>,
        functions: &[Value<'m>],
        suffix: &str,
        added: &[(&str, Type<'m>)],
    ) -> Self {
        let mut copies = HashMap::new();
        for &function in functions {
            let ty = function.value_type();
            let own = ty.num_param_types();
            let mut types = ty.param_types();
            types.extend(added.iter().map(|(_, ty)| *ty));
            let returns = ty.return_type();
            let ty = returns.function(&types, false);
            let copy = module.add_function("", ty);
            let name = function.name() + suffix;
            copy.set_name(&name);
            copy.set_call_conv(function.call_conv());
            copy.set_unnamed_address(function.unnamed_address());
            copy.set_alignment(function.alignment());
            let places = [FUNCTION_INDEX, RETURN_INDEX];
            for place in places.into_iter().chain(1..=own) {
                for attribute in function.attributes(place) {
                    copy.add_attribute(place, attribute);
                }
            }
            for index in 0..own {
                let name = function.param(index).name();
                let param = copy.param(index);
                param.set_name(&name);
            }
            for ((name, _), index) in added.iter().zip(own..) {
                let param = copy.param(index);
                param.set_name(name);
            }
            copies.insert(function, copy);
        }
        Self { copies, added: added.len() }
    }

    /// The copy of a function.
    pub(crate) fn of(&self, function: Value<'m>) -> Option<Value<'m>> {
        self.copies.get(&function).copied()
    }

    /// The parameters that a copy has more than its original.
    fn added(&self, copy: Value<'m>) -> Vec<Value<'m>> {
        let count = copy.num_params();
        (count - self.added as u32..count).map(|index| copy.param(index)).collect()
    }

    /// Copies the body of `function` into its copy. Where `replace` gives a value for an
    /// instruction, made of the added parameters, that stands for the instruction.
    pub(crate) fn fill(
        &self,
        function: Value<'m>,
        replace: impl Fn(Value<'m>, &[Value<'m>]) -> Option<Value<'m>>,
    ) {
        let copy = self.copies[&function];
        let context = function.module().context();
        let builder = Builder::new(context);
        let added = self.added(copy);
        let mut values: HashMap<Value<'m>, Value<'m>> = HashMap::new();
        copy.copy_personality(function);
        for index in 0..function.num_params() {
            values.insert(function.param(index), copy.param(index));
        }
        let mut blocks = HashMap::new();
        for block in function.blocks() {
            let new = copy.append_block(&block.name());
            blocks.insert(block, new);
            values.insert(block.as_value(), new.as_value());
        }
        let (mut made, mut phis) = (Vec::new(), Vec::new());
        for block in function.blocks() {
            builder.position_at_end(blocks[&block]);
            for old in block.instructions() {
                if let Some(value) = replace(old, &added) {
                    values.insert(old, value);
                    continue;
                }
                if old.opcode() == Some(Opcode::Phi) {
                    let phi = builder.phi(old.ty());
                    finish(old, phi);
                    phis.push((old, phi));
                    values.insert(old, phi);
                    continue;
                }
                let callee = old.callee().and_then(|callee| self.of(callee));
                let new = match callee {
                    Some(callee) => call(&builder, old, callee, &added),
                    None => {
                        let new = old.duplicate();
                        builder.insert(new);
                        new.set_debug_loc(old.debug_loc());
                        loosen(new);
                        new
                    }
                };
                let name = old.name();
                new.set_name(&name);
                made.push(new);
                values.insert(old, new);
            }
        }
        for new in made {
            for index in 0..new.num_operands() {
                if let Some(&value) = values.get(&new.operand(index)) {
                    new.set_operand(index, value);
                }
            }
        }
        for (old, phi) in phis {
            for index in 0..old.num_incoming() {
                let value = old.incoming_value(index);
                let value = values.get(&value).copied().unwrap_or(value);
                let block = blocks[&old.incoming_block(index)];
                phi.add_incoming(value, block);
            }
        }
    }
}

/// Calls the copy of a function as `old` calls the function, with the added parameters. The other
/// operands are still the original's.
fn call<'m>(
    builder: &Builder<'m>,
    old: Value<'m>,
    copy: Value<'m>,
    added: &[Value<'m>],
) -> Value<'m> {
    let mut arguments = old.args();
    arguments.extend(added);
    let new = builder.call_like(old, copy.value_type(), copy, &arguments, |_| true);
    new.set_instruction_call_conv(old.instruction_call_conv());
    if old.opcode() == Some(Opcode::Call) {
        new.set_tail_call_kind(old.tail_call_kind());
    }
    new.copy_call_attributes(old);
    finish(old, new);
    new
}

/// Gives an instruction what the one that it stands for has beside its operands: flags, metadata,
/// place, name.
fn finish<'m>(old: Value<'m>, new: Value<'m>) {
    if old.has_fast_math() {
        new.set_fast_math_flags(old.fast_math_flags());
    }
    let context = old.context();
    for (kind, node) in old.metadata_entries() {
        new.set_metadata(kind, node.as_value(context));
    }
    new.set_debug_loc(old.debug_loc());
    let name = old.name();
    new.set_name(&name);
}

/// A call that must reuse its caller's frame needs parameters like its caller's, which has more of
/// them now.
fn loosen(instruction: Value<'_>) {
    if instruction.opcode() == Some(Opcode::Call)
        && instruction.tail_call_kind() == TailCallKind::MustTail
    {
        instruction.set_tail_call_kind(TailCallKind::Tail);
    }
}
