//! Memory for values that live across barriers: one array for each value, indexed by the
//! work-item's linear position in the group, or one place for a value that all share.

use std::collections::HashMap;

use schism_llvm::{Builder, ContextRef, DataLayout, IntPredicate, Type, TypeKind, Value};

use super::body::Body;
use super::group;
use super::interface::GROUP_MEMORY;
use super::refusal::Refusal;

/// Arrays begin at multiples of as many bytes, and have a multiple of as many elements.
const ALIGN: u64 = 64;

/// The most memory of a work-item. Beyond that, stacks of their own are no worse.
const MOST: u64 = 64 << 10;

/// An array with one element for each work-item.
#[derive(Clone, Copy)]
pub(super) struct Array<'m> {
    base: Value<'m>,
    /// The type of the value, and that of the elements.
    ty: Type<'m>,
    element: Type<'m>,
}

/// The memory of a group.
pub(super) struct Memory<'m> {
    context: ContextRef<'m>,
    layout: DataLayout<'m>,
    function: Value<'m>,
    /// Work-items of the group, and in each dimension.
    pub items: Value<'m>,
    pub sizes: Vec<Value<'m>>,
    /// The same, as a multiple of [`ALIGN`].
    rounded: Value<'m>,
    /// The memory. Its size is known at the end.
    block: Value<'m>,
    /// The check that there is memory.
    missing: Value<'m>,
    per_item: u64,
    arrays: HashMap<Value<'m>, Array<'m>>,
    /// Values in the arrays of others.
    in_place_of: HashMap<Value<'m>, Value<'m>>,
    /// The places of values that all work-items share.
    shared: HashMap<Value<'m>, Value<'m>>,
    /// The arrays of local variables.
    locals: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Memory<'m> {
    /// Takes the group's memory before the nest.
    pub(super) fn take(
        body: &Body<'m>,
        group: Value<'m>,
        in_place_of: HashMap<Value<'m>, Value<'m>>,
    ) -> Self {
        let module = body.function.module();
        let context = module.context();
        let word = context.int_type(64);
        let builder = Builder::before(body.before.end());
        let mut items: Option<Value<'m>> = None;
        let sizes = group::sizes_of_axes(body);
        for &size in &sizes {
            items = Some(items.map_or(size, |items| builder.mul(items, size)));
        }
        let items = items.unwrap_or_else(|| word.const_int(1, false)).with_name("items");
        let more = builder.add(items, word.const_int(ALIGN - 1, false));
        let rounded = builder.and(more, word.const_int(!(ALIGN - 1), false));
        let rounded = rounded.with_name("items.rounded");
        let pointer = context.pointer_type(0);
        let ty = pointer.function(&[pointer, word], false);
        let take = module.function(GROUP_MEMORY).unwrap_or_else(|| {
            let function = module.add_function(GROUP_MEMORY, ty);
            function.add_attribute_at(0, "noalias", 0);
            function.add_function_attribute("nounwind", 0);
            function
        });
        let block = builder.call_function(take, &[group, word.zero()]).with_name("memory");
        let missing = builder.icmp(IntPredicate::EQ, block, pointer.zero());
        Self {
            context,
            layout: module.data_layout(),
            function: body.function,
            items,
            sizes,
            rounded,
            block,
            missing,
            per_item: 0,
            arrays: HashMap::new(),
            in_place_of,
            shared: HashMap::new(),
            locals: HashMap::new(),
        }
    }

    /// The array of a value.
    pub(super) fn array(&mut self, value: Value<'m>) -> Array<'m> {
        let value = self.in_place_of.get(&value).copied().unwrap_or(value);
        if let Some(&array) = self.arrays.get(&value) {
            return array;
        }
        let ty = value.ty();
        // LLVM does not vectorise accesses of single bits.
        let is_odd = ty.kind() == TypeKind::Integer && ty.int_width() < 8;
        let element = if is_odd { self.context.int_type(8) } else { ty };
        let base = self.reserve(self.layout.abi_size(element)).with_name("kept");
        let array = Array { base, ty, element };
        self.arrays.insert(value, array);
        array
    }

    /// Whether two values have one array.
    pub(super) fn is_one_array(&self, phi: Value<'m>, value: Value<'m>) -> bool {
        self.in_place_of.get(&value) == Some(&phi)
    }

    /// An array of 32-bit numbers.
    pub(super) fn words(&mut self, name: &str) -> Value<'m> {
        self.reserve(4).with_name(name)
    }

    /// The array of a local variable: its bytes for one work-item after the other. Returns its
    /// address for the work-item with an index.
    pub(super) fn local(
        &mut self,
        builder: &Builder<'m>,
        local: Value<'m>,
        index: Value<'m>,
    ) -> Value<'m> {
        let stride = stride(&self.layout, local);
        let base = match self.locals.get(&local) {
            Some(&base) => base,
            None => {
                let base = self.reserve(stride).with_name("locals");
                self.locals.insert(local, base);
                base
            }
        };
        let bytes = self.context.int_type(8).array(stride);
        builder.inbounds_gep(bytes, base, &[index]).with_name("local")
    }

    fn reserve(&mut self, bytes: u64) -> Value<'m> {
        let offset = self.context.int_type(64).const_int(self.per_item, false);
        self.per_item += bytes;
        let end = self.missing.block().end();
        let builder = Builder::before(end);
        let at = builder.mul(self.rounded, offset);
        builder.inbounds_gep(self.context.int_type(8), self.block, &[at])
    }

    /// The place of a value that all work-items share; it becomes an SSA value later.
    pub(super) fn shared(&mut self, value: Value<'m>) -> Value<'m> {
        if let Some(&place) = self.shared.get(&value) {
            return place;
        }
        let place = self.place(value.ty());
        self.shared.insert(value, place);
        place
    }

    /// A place on the stack.
    pub(super) fn place(&self, ty: Type<'m>) -> Value<'m> {
        Builder::before(self.function.entry().begin()).alloca(ty)
    }

    /// When all arrays are known: the size, and what happens if there is no memory.
    pub(super) fn finish(self, failed: impl FnOnce() -> schism_llvm::Block<'m>) {
        let word = self.context.int_type(64);
        if self.per_item == 0 {
            self.block.replace_uses(self.context.pointer_type(0).poison());
            self.missing.erase();
            let take = self.block.direct_callee();
            self.block.erase();
            if let Some(take) = take.filter(|take| !take.is_used()) {
                take.delete_function();
            }
            return;
        }
        let bytes = word.const_int(self.per_item, false);
        let size = Builder::before(self.block).mul(self.rounded, bytes).with_name("memory.size");
        self.block.set_operand(1, size);
        let end = self.missing.block().end();
        let head = end.split_before();
        head.as_value().set_name("group.begin");
        let branch = head.end();
        let go_on = branch.successor(0);
        Builder::before(branch).cond_br(self.missing, failed(), go_on);
        branch.erase();
    }
}

/// Bytes of a local in its array.
fn stride(layout: &DataLayout<'_>, local: Value<'_>) -> u64 {
    let align = u64::from(local.alignment()).max(1);
    layout.abi_size(local.allocated_type()).max(1).next_multiple_of(align)
}

/// Refuses locals that an array cannot have as elements, and too much memory.
pub(super) fn check<'m>(
    layout: &DataLayout<'m>,
    locals: &[Value<'m>],
    values: impl Iterator<Item = Value<'m>>,
) -> Result<(), Refusal> {
    let is_one =
        |local: &Value<'m>| !local.is_dynamic_alloca() && local.operand(0).as_unsigned() == Some(1);
    let is_bad = |local: &Value<'m>| !is_one(local) || u64::from(local.alignment()) > ALIGN;
    if locals.iter().any(is_bad) {
        return Err(Refusal::Instruction("a local of unusual size".to_owned()));
    }
    let locals = locals.iter().map(|&local| stride(layout, local));
    let values = values.map(|value| layout.abi_size(value.ty()));
    let bytes = locals.chain(values).fold(0, u64::saturating_add);
    if bytes > MOST { Err(Refusal::Memory(bytes)) } else { Ok(()) }
}

impl<'m> Array<'m> {
    fn at(&self, builder: &Builder<'m>, index: Value<'m>) -> Value<'m> {
        builder.inbounds_gep(self.element, self.base, &[index])
    }

    /// Loads a work-item's value.
    pub(super) fn load(&self, builder: &Builder<'m>, index: Value<'m>) -> Value<'m> {
        let value = builder.load(self.element, self.at(builder, index));
        if self.element == self.ty { value } else { builder.int_cast(value, self.ty, false) }
    }

    /// Stores a work-item's value.
    pub(super) fn store(&self, builder: &Builder<'m>, value: Value<'m>, index: Value<'m>) {
        let value = if self.element == self.ty {
            value
        } else {
            builder.int_cast(value, self.element, false)
        };
        builder.store(value, self.at(builder, index));
    }
}
