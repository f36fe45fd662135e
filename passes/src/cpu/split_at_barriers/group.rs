//! What is known of the group that a loop function runs, and what follows once its box is a whole
//! group.

use schism_llvm::{Builder, FUNCTION_INDEX, Opcode, Value};

use super::body::Body;
use super::interface::{GROUP_FIRST, GROUP_LOCAL_MEMORY, GROUP_SIZE, LOCAL_MEMORY};

/// The work-items of a group in each dimension, if the code is for such groups only.
pub(super) fn size_of(function: Value<'_>) -> Option<[u64; 3]> {
    let text = function.string_attribute(FUNCTION_INDEX, GROUP_SIZE)?.string_value()?;
    let mut sizes = text.split(',').map(|size| size.parse().ok());
    let all = [sizes.next()??, sizes.next()??, sizes.next()??];
    all.iter().all(|size| *size > 0).then_some(all)
}

/// The sizes of a body's dimensions, as values before its nest.
pub(super) fn sizes_of_axes<'m>(body: &Body<'m>) -> Vec<Value<'m>> {
    let known = size_of(body.function);
    let builder = Builder::before(body.before.end());
    let axes = body.axes.iter().enumerate();
    axes.map(|(at, axis)| match known {
        Some(sizes) => axis.begin.ty().const_int(sizes[at], false),
        None => builder.sub(axis.end, axis.begin).with_name(&format!("{}.size", axis.name)),
    })
    .collect()
}

/// Uses the first id of the box for that of the group: they are the same now.
pub(super) fn begin_at_first<'m>(body: &Body<'m>, group: Value<'m>) {
    let Some(first) = offset(body.function, GROUP_FIRST) else { return };
    for (axis, at) in body.axes.iter().zip(0..) {
        for load in loads_of_field(body, group, first + 8 * at) {
            if load.ty() == axis.begin.ty() {
                load.replace_uses(axis.begin);
                load.erase();
            }
        }
    }
}

/// Takes the group's local memory by a function whose result aliases nothing else. While the group
/// runs, only its work-items access that memory, and only by this address; what they leave there is
/// not read any more.
pub(super) fn own_local_memory<'m>(body: &Body<'m>, group: Value<'m>) {
    let Some(at) = offset(body.function, GROUP_LOCAL_MEMORY) else { return };
    let loads = loads_of_field(body, group, at);
    if loads.is_empty() {
        return;
    }
    let module = body.function.module();
    let context = module.context();
    let pointer = context.pointer_type(0);
    let take = module.add_function(LOCAL_MEMORY, pointer.function(&[pointer], false));
    take.add_attribute_at(0, "noalias", 0);
    take.add_function_attribute("noinline", 0);
    take.add_function_attribute("nounwind", 0);
    take.set_internal();
    let builder = Builder::at_end(take.append_block("start"));
    let offset = context.int_type(64).const_int(at, false);
    let place = builder.inbounds_gep(context.int_type(8), take.param(0), &[offset]);
    builder.ret(builder.load(pointer, place));

    let mut begin = body.function.entry().begin();
    while let Some(next) = begin.next().filter(|_| begin.is_alloca()) {
        begin = next;
    }
    let memory = Builder::before(begin).call_function(take, &[group]).with_name("local.memory");
    debug_assert!(body.block_of(memory).is_none(), "it is new");
    for load in loads {
        load.replace_uses(memory);
        load.erase();
    }
}

fn offset(function: Value<'_>, name: &str) -> Option<u64> {
    function.string_attribute(FUNCTION_INDEX, name)?.string_value()?.parse().ok()
}

/// The loads from a place in the group, before the nest.
fn loads_of_field<'m>(body: &Body<'m>, group: Value<'m>, offset: u64) -> Vec<Value<'m>> {
    let layout = body.function.module().data_layout();
    let is_there = |address: Value<'m>| {
        if address == group {
            return offset == 0;
        }
        let is_gep = address.opcode() == Some(Opcode::GetElementPtr)
            && address.operand(0) == group
            && address.num_operands() == 2;
        is_gep
            && address.operand(1).as_unsigned().is_some_and(|index| {
                index.checked_mul(layout.abi_size(address.gep_source_type())) == Some(offset)
            })
    };
    let loads = body.function.instructions().into_iter().filter(|&it| {
        body.block_of(it).is_none()
            && it.opcode() == Some(Opcode::Load)
            && !it.is_volatile()
            && is_there(it.operand(0))
    });
    loads.collect()
}
