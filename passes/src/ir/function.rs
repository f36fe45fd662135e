//! Clones a function with other parameters.

use schism_llvm::{FUNCTION_INDEX, Type, Value};

/// One parameter of the new function.
pub(crate) struct NewParameter<'m> {
    /// Its type.
    pub ty: Type<'m>,
    /// The old parameter whose attributes and name it has.
    pub from: Option<u32>,
}

/// A function in place of another one, with other parameters: linkage, attributes, metadata, name
/// and body are the old one's. The body still uses the old function's parameters, so the caller
/// replaces those, then erases the old function.
pub(crate) fn with_parameters<'m>(old: Value<'m>, parameters: &[NewParameter<'m>]) -> Value<'m> {
    let module = old.module();
    let old_type = old.value_type();
    let types: Vec<Type<'m>> = parameters.iter().map(|new| new.ty).collect();
    let ty = old_type.return_type().function(&types, old_type.is_variadic());
    let new = module.add_function("", ty);
    new.set_linkage(old.linkage());
    new.set_visibility(old.visibility());
    new.set_unnamed_address(old.unnamed_address());
    new.set_call_conv(old.call_conv());
    new.set_alignment(old.alignment());
    new.set_section(&old.section());
    copy_attributes(old, FUNCTION_INDEX, new, FUNCTION_INDEX);
    for (place, parameter) in parameters.iter().enumerate() {
        let Some(from) = parameter.from else { continue };
        copy_attributes(old, from + 1, new, place as u32 + 1);
        new.param(place as u32).copy_name(old.param(from));
    }
    for (kind, node) in old.global_metadata() {
        new.set_global_metadata(kind, node);
    }
    old.clear_global_metadata();
    for block in old.blocks() {
        block.move_to(new);
    }
    new.take_name(old);
    new
}

fn copy_attributes<'m>(from: Value<'m>, index: u32, to: Value<'m>, to_index: u32) {
    for attribute in from.attributes(index) {
        to.add_attribute(to_index, attribute);
    }
}
