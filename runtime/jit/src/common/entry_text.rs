//! What the functions around a kernel have in common: names and types in their text, and what they
//! take over from the kernel.

use std::fmt::Write;

use schism_jit_abi::{PARAM_BYTES, PARAM_FLOAT, PARAM_INTEGER, Param};
use schism_llvm::{Value, enum_kind};

use super::image::group_builtins;
use super::module::Module;
use crate::Request;

/// The dimensions' names, fastest first.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// The function with the loop nest around a kernel, on the CPU.
pub const LOOP: &str = "schism.loop";

/// Attributes of a kernel's parameter that hold during the whole launch, and so for the loop's.
/// Others describe one call, such as that it writes before it reads, and a nest over no ids makes
/// no call.
const KEPT_ATTRIBUTES: [&str; 13] = [
    "noalias",
    "readonly",
    "readnone",
    "writeonly",
    "nonnull",
    "noundef",
    "align",
    "dereferenceable",
    "dereferenceable_or_null",
    "captures",
    "nofree",
    "zeroext",
    "signext",
];

/// A parameter's type as text. An aggregate is a pointer into the closure.
pub fn type_text(param: &Param) -> String {
    match (param.kind, param.size) {
        (PARAM_INTEGER, size) => format!("i{}", size * 8),
        (PARAM_FLOAT, 2) => "half".to_owned(),
        (PARAM_FLOAT, 4) => "float".to_owned(),
        (PARAM_FLOAT, _) => "double".to_owned(),
        _ => "ptr".to_owned(),
    }
}

/// The argument for a parameter whose value is known; an aggregate becomes a constant of the
/// module.
pub fn known_value(
    o: &mut String,
    request: &Request,
    index: u32,
) -> Result<Option<String>, std::fmt::Error> {
    let Some(known) = request.values.iter().find(|known| known.param == index) else {
        return Ok(None);
    };
    let param = &request.params[index as usize];
    let Param { size, align, kind, .. } = *param;
    if kind == PARAM_BYTES {
        write!(o, "@schism.known.{index} = private constant [{size} x i8] c\"")?;
        for byte in &known.bytes {
            write!(o, "\\{byte:02X}")?;
        }
        writeln!(o, "\", align {align}")?;
        return Ok(Some(format!("ptr byval([{size} x i8]) align {align} @schism.known.{index}")));
    }
    let mut wide = [0; 16];
    wide[..known.bytes.len()].copy_from_slice(&known.bytes);
    let (number, ty) = (u128::from_le_bytes(wide), type_text(param));
    Ok(Some(match kind {
        PARAM_FLOAT => format!("{ty} bitcast (i{} {number} to {ty})", size * 8),
        _ => format!("{ty} {number}"),
    }))
}

/// The names of the values of the launch's offset, for a kernel that takes it.
pub fn offset_values(request: &Request) -> impl Iterator<Item = String> {
    let axes = if request.offset { &AXES[..] } else { &[] };
    axes.iter().map(|axis| format!("%{axis}.offset"))
}

/// Whether a module has a kernel that needs a work-group.
pub fn needs_groups(module: &Module<'_>) -> bool {
    group_builtins()
        .filter_map(|name| module.function(name))
        .any(|builtin| !builtin.users().is_empty())
}

/// Copies attributes from the kernel's parameters to those of the function around it, which are the
/// same.
pub fn copy_parameter_attributes<'m>(kernel: Value<'m>, outer: Value<'m>, params: &[Param]) {
    let kept = KEPT_ATTRIBUTES.map(enum_kind);
    for (index, param) in params.iter().enumerate() {
        if param.kind == PARAM_BYTES {
            continue;
        }
        let place = index as u32 + 1;
        for attribute in kernel.attributes(place) {
            if attribute.kind().is_some_and(|kind| kept.contains(&kind)) {
                outer.add_attribute(place, attribute);
            }
        }
    }
}
