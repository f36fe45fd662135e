//! Descriptions of types as constants: what a target reads in order to format a value.
//!
//! ```llvm
//! @schism.type.0 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 18, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
//! ```
//!
//! The layout is that of [`schism_message::Descriptor`], and of [`schism_message::Part`] for the
//! parts. A constant is named by its index in [`DeviceSpec::types`](crate::DeviceSpec::types), so
//! that passes that need the same one share it.

use schism_llvm::{ContextRef, Linkage, ModuleRef, Type, UnnamedAddress, Value};
use schism_message::MAGIC;

use crate::spec::messages::TypeDescription;

/// Makes descriptions in a module.
pub(crate) struct Descriptors<'a, 'm> {
    module: ModuleRef<'m>,
    context: ContextRef<'m>,
    types: &'a [TypeDescription],
}

impl<'a, 'm> Descriptors<'a, 'm> {
    pub(crate) fn new(module: ModuleRef<'m>, types: &'a [TypeDescription]) -> Self {
        Descriptors { module, context: module.context(), types }
    }

    /// The constant of a type, made if need be; null for an index that there is not.
    pub(crate) fn get(&self, index: usize) -> Value<'m> {
        let Some(described) = self.types.get(index) else { return self.null() };
        let name = format!("schism.type.{index}");
        if let Some(known) = self.module.global(&name) {
            return known;
        }
        let (int, long, pointer) = self.field_types();
        let ty = self.context.struct_type(&[int, int, pointer, long, pointer, long], false);
        let global = private(self.module.add_global(ty, &name));
        let (name, name_len) = self.text(&described.name);
        let parts: Vec<_> = described
            .parts
            .iter()
            .map(|part| {
                let (name, name_len) = self.text(&part.name);
                let name_len = if part.name.is_empty() { self.long(part.size) } else { name_len };
                let of = part.ty.map_or_else(|| self.null(), |index| self.get(index));
                let fields = [self.long(part.value), of, name, name_len];
                self.context.const_struct(&fields, false)
            })
            .collect();
        let kind = described.kind as u64 | (described.by as u64) << 8;
        let values = [
            int.const_int(kind, false),
            int.const_int(MAGIC.into(), false),
            name,
            name_len,
            self.list(parts),
            self.long(described.parts.len() as u64),
        ];
        let value = self.context.const_struct(&values, false);
        global.set_initializer(value);
        global
    }

    /// A private constant with bytes.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Value<'m> {
        let value = self.context.const_bytes(bytes);
        let global = private(self.module.add_global(value.ty(), "schism.panic"));
        global.set_initializer(value);
        global.set_unnamed_address(UnnamedAddress::Global);
        global.set_alignment(1);
        global
    }

    /// A text and its length.
    fn text(&self, text: &str) -> (Value<'m>, Value<'m>) {
        let at = if text.is_empty() { self.null() } else { self.bytes(text.as_bytes()) };
        (at, self.long(text.len() as u64))
    }

    fn list(&self, elements: Vec<Value<'m>>) -> Value<'m> {
        let Some(&first) = elements.first() else { return self.null() };
        let value = first.ty().const_array(&elements);
        let global = private(self.module.add_global(value.ty(), "schism.type.parts"));
        global.set_initializer(value);
        global.set_unnamed_address(UnnamedAddress::Global);
        global
    }

    fn field_types(&self) -> (Type<'m>, Type<'m>, Type<'m>) {
        (self.context.int_type(32), self.context.int_type(64), self.context.pointer_type(0))
    }

    fn long(&self, value: u64) -> Value<'m> {
        self.field_types().1.const_int(value, false)
    }

    fn null(&self) -> Value<'m> {
        self.field_types().2.zero()
    }
}

fn private(global: Value<'_>) -> Value<'_> {
    global.set_global_constant(true);
    global.set_linkage(Linkage::Private);
    global
}
