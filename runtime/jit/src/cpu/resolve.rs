//! Builtins and panics in the loop function become the values of its nest; those elsewhere are left
//! to `out_of_line_builtins`.

use super::message::{INNER_FORMAT, INNER_TEXT, RAISE_FORMAT, RAISE_TEXT};
use super::work_loop::{ITEM, calls_in, missing};
use super::{group_operations, message, out_of_line_builtins};
use crate::JitError;
use crate::common::entry_text::LOOP;
use crate::common::image::{
    ABORT, GLOBAL_ID, GLOBAL_RANGE, GROUP_ID, GROUP_RANGE, LOCAL_ID, LOCAL_MEMORY, LOCAL_RANGE,
    PANIC, PANIC_FORMAT, PRINT, builtins,
};
use crate::common::module::Module;
use schism_llvm::{Builder, Context, Opcode, Value};

/// The values of builtins in the loop function, and the corresponding operands of the marker.
fn values() -> impl Iterator<Item = (&'static str, u32)> {
    let before = GLOBAL_ID.into_iter().chain(GLOBAL_RANGE).zip(0..);
    let groups = [LOCAL_ID, LOCAL_RANGE, GROUP_ID, GROUP_RANGE].into_iter().flatten();
    before.chain(groups.chain([LOCAL_MEMORY]).zip(8..))
}

/// The marker's operand that is the group.
const GROUP_OPERAND: u32 = 21;

/// Whether what the nest runs unwinds, and the program notices. More is known of that now than when the
/// kernel was a separate function.
pub fn unwinds(module: &Module<'_>) -> Result<bool, JitError> {
    let outer = module.function(LOOP).ok_or_else(|| missing(LOOP))?;
    module.still_unwinds(outer).map_err(JitError::Internal)
}

/// Replaces builtins and panics of the loop function by the nest's values; `out_of_line_builtins`
/// handles those elsewhere.
pub fn resolve<'c>(
    context: &'c Context,
    module: &Module<'c>,
    unwinds: bool,
) -> Result<(), JitError> {
    let outer = module.function(LOOP).ok_or_else(|| missing(LOOP))?;
    let item = module.function(ITEM).ok_or_else(|| missing(ITEM))?;
    let marker = item
        .users()
        .into_iter()
        .find(|user| user.direct_callee() == Some(item) && user.parent_function() == outer)
        .ok_or_else(|| missing(ITEM))?;
    let value = |index: u32| marker.get_operand(index).ok_or_else(|| missing(ITEM));

    for (name, index) in values() {
        let Some(builtin) = module.function(name) else { continue };
        let value = value(index)?;
        for call in calls_in(outer, builtin) {
            call.replace_uses(value);
            call.erase();
        }
    }

    let groups = item.params().len() > GROUP_OPERAND as usize;
    group_operations::resolve(context, module, outer, || value(GROUP_OPERAND))?;

    let panics = match unwinds {
        false => [(PANIC, INNER_TEXT), (PANIC_FORMAT, INNER_FORMAT)],
        true => [(PANIC, RAISE_TEXT), (PANIC_FORMAT, RAISE_FORMAT)],
    };
    if panics.iter().any(|(name, _)| module.function(name).is_some()) {
        let text = if unwinds { message::raise_bodies() } else { message::record_bodies() };
        let record = Module::from_text(context, &text).map_err(JitError::Internal)?;
        record.set_target_of(module);
        module.link(context, record).map_err(JitError::InvalidImage)?;
    }
    for (name, record) in panics {
        let Some(record) = module.function(record) else { continue };
        record.set_internal();
        let Some(panic) = module.function(name) else { continue };
        for call in calls_in(outer, panic) {
            if unwinds {
                let own: Vec<Value> = call.args();
                let [first, second, location] = own[..] else { continue };
                let id = [value(0)?, value(1)?, value(2)?];
                let all = [value(6)?, first, second, location, id[0], id[1], id[2]];
                let builder = Builder::before(call);
                builder.call_like(call, record.value_type(), record, &all, |_| false);
                call.erase();
                continue;
            }
            let next = call.next();
            let Some(end) = next.filter(|i| i.opcode() == Some(Opcode::Unreachable)) else {
                continue;
            };
            let builder = Builder::before(call);
            let message = (call.get_operand(0), call.get_operand(1), call.get_operand(2));
            let (Some(first), Some(second), Some(location)) = message else { continue };
            let id = (value(0)?, value(1)?, value(2)?);
            builder.call_function(record, &[value(6)?, first, second, location, id.0, id.1, id.2]);
            let number = record.context().int_type(32);
            builder.ret(number.const_int(schism_jit_abi::RUN_PANICKED.into(), false));
            end.erase();
            call.erase();
        }
    }

    let out_of_line = builtins()
        .filter(|name| ![PRINT, ABORT].contains(name))
        .filter_map(|name| module.function(name))
        .any(|function| !function.users().is_empty());
    if out_of_line {
        out_of_line_builtins::add(context, module, groups, unwinds)?;
    } else {
        marker.erase();
    }
    Ok(())
}
