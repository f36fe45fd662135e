//! Loop metadata: the node at the latch of a loop.

use schism_llvm::Value;

/// LLVM's name for what is known of a loop.
const LOOP: &str = "llvm.loop";

/// Tells a property of a loop, and a number if it has one, unless something is told of the loop already.
pub(crate) fn mark(end: Value<'_>, property: &str, number: Option<usize>) {
    let context = end.ty().context();
    let kind = context.metadata_kind(LOOP);
    if end.metadata(kind).is_some() {
        return;
    }
    let mut parts = vec![context.md_string(property)];
    parts.extend(number.map(|number| {
        let number = context.int_type(32).const_int(number as u64, false);
        number.as_metadata()
    }));
    let told = context.md_node(&parts);
    let itself = context.temporary_node();
    let node = context.md_node(&[itself.metadata(), told]);
    itself.replace_with(node);
    end.set_metadata(kind, node.as_value(context));
}
