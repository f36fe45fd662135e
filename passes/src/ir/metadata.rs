//! Loop metadata: the node at the latch of a loop.

use schism_llvm::{Metadata, Value};

/// LLVM's name for what is known of a loop.
const LOOP: &str = "llvm.loop";

/// What the names of the properties begin with that are about unrolling.
const UNROLL: &str = "llvm.loop.unroll.";

/// The property of loops that are not unrolled.
pub(crate) const UNROLL_DISABLE: &str = "llvm.loop.unroll.disable";

/// The property of loops that become straight code.
pub(crate) const UNROLL_FULL: &str = "llvm.loop.unroll.full";

/// The property of loops that are unrolled by a number of iterations.
pub(crate) const UNROLL_COUNT: &str = "llvm.loop.unroll.count";

/// The property of loops whose iterations may be computed in any order, and several at once: none
/// reads what another one writes, but for the loop's own variables.
pub(crate) const INDEPENDENT_ITERATIONS: &str = "schism.independent_iterations";

/// The property of loops that keep their checks beside clones without them, which run in their place
/// unless a check fails.
pub(crate) const CHECKED: &str = "schism.checked";

/// The property of loops that LLVM does not vectorise, as they are vectorised already.
pub(crate) const IS_VECTORIZED: &str = "llvm.loop.isvectorized";

/// Tells a property of a loop, and a number if it has one, unless something is told of the loop
/// already.
pub(crate) fn mark(end: Value<'_>, property: &str, number: Option<usize>) {
    if end.named_kind_metadata(LOOP).is_none() {
        tell(&[end], &[], property, number.map(|number| number as u64));
    }
}

/// Tells a property about unrolling a loop whose latches end in `ends`, in the place of all others
/// about that. What else is told of the loop stays.
pub(crate) fn set_unroll(ends: &[Value<'_>], property: &str, number: Option<u32>) {
    tell(ends, &others(ends, Some(UNROLL)), property, number.map(u64::from));
}

/// Forgets what is told of a loop about unrolling.
pub(crate) fn forget_unroll(end: Value<'_>) {
    forget(end, UNROLL);
}

/// Tells one more property of a loop.
pub(crate) fn add(ends: &[Value<'_>], property: &str) {
    tell(ends, &others(ends, None), property, None);
}

/// Tells the end of a loop's new latch what the old one's was told.
pub(crate) fn hand_on(old: Value<'_>, new: Value<'_>) {
    if old.named_kind_metadata(LOOP).is_some() {
        set(&[new], &others(&[old], None));
    }
}

/// Forgets a property of a loop, or all whose names begin so.
pub(crate) fn forget(end: Value<'_>, property: &str) {
    if end.named_kind_metadata(LOOP).is_some() {
        set(&[end], &others(&[end], Some(property)));
    }
}

/// Tells a property with a number in the place of another one, whose name is given. What else is
/// told of the loop stays.
pub(crate) fn replace(end: Value<'_>, old: &str, property: &str, number: u64) {
    tell(&[end], &others(&[end], Some(old)), property, Some(number));
}

/// What is told of a loop, but for what is told by names that begin so.
fn others<'m>(ends: &[Value<'m>], name: Option<&str>) -> Vec<Metadata<'m>> {
    let known = ends.iter().find_map(|end| end.named_kind_metadata(LOOP));
    let all = known.into_iter().flat_map(properties);
    let others = all.filter(|&one| name.is_none_or(|name| !is_about(one, name)));
    others.map(Value::as_metadata).collect()
}

/// Whether something is told about unrolling a loop whose latch ends in `end`.
pub(crate) fn is_told_of_unrolling(end: Value<'_>) -> bool {
    has(end, UNROLL)
}

/// Whether a loop whose latch ends in `end` has a property.
pub(crate) fn has(end: Value<'_>, property: &str) -> bool {
    let known = end.named_kind_metadata(LOOP);
    known.into_iter().flat_map(properties).any(|one| is_about(one, property))
}

/// The properties in a loop's node, whose first operand is the node itself.
fn properties(node: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    node.md_operands().into_iter().skip(1).flatten()
}

/// Whether a property's name begins so. Places in the source are no properties, but stand among
/// them.
fn is_about(property: Value<'_>, name: &str) -> bool {
    let first = property.is_metadata().then(|| property.md_operands().into_iter().next());
    let text = first.flatten().flatten().and_then(Value::md_text);
    text.is_some_and(|text| text.starts_with(name.as_bytes()))
}

/// Gives the ends of a loop's latches one node, with properties and a new one.
fn tell<'m>(ends: &[Value<'m>], kept: &[Metadata<'m>], property: &str, number: Option<u64>) {
    let Some(first) = ends.first() else { return };
    let context = first.ty().context();
    let mut parts = vec![context.md_string(property)];
    parts.extend(number.map(|number| context.int_type(32).const_int(number, false).as_metadata()));
    let told = context.md_node(&parts);
    set(ends, &[kept, &[told]].concat());
}

/// Gives the ends of a loop's latches one node with these properties.
fn set<'m>(ends: &[Value<'m>], properties: &[Metadata<'m>]) {
    let Some(first) = ends.first() else { return };
    let context = first.ty().context();
    let itself = context.temporary_node();
    let node = context.md_node(&[&[itself.metadata()], properties].concat());
    itself.replace_with(node);
    for end in ends {
        end.set_metadata(context.metadata_kind(LOOP), node.as_value(context));
    }
}
