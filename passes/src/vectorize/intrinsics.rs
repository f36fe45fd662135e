//! What functions are in lanes: LLVM's intrinsics that take vectors, and functions whose result
//! depends on their arguments only.

use schism_llvm::{FUNCTION_INDEX, Type, Value, enum_kind};

use crate::analysis::effects::touches_no_memory;
use crate::spec::target_library::{PREFIX, is_function};

/// How an intrinsic is made for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All operands and the result are of one type, by which it is named. The last operands, so
    /// many, stay the constants that they are.
    Lanewise { constants: usize },
    /// It is named by the types of its result and its first operand.
    Converts,
    /// It only tells LLVM something, and is left out.
    Dropped,
}

/// The intrinsics, without `llvm.` and types, and how many of their last operands are constants.
const LANEWISE: &[(&str, usize)] = &[
    ("abs", 1),
    ("bitreverse", 0),
    ("bswap", 0),
    ("canonicalize", 0),
    ("ceil", 0),
    ("copysign", 0),
    ("ctlz", 1),
    ("ctpop", 0),
    ("cttz", 1),
    ("fabs", 0),
    ("floor", 0),
    ("fma", 0),
    ("fmuladd", 0),
    ("fshl", 0),
    ("fshr", 0),
    ("is.fpclass", 1),
    ("maximum", 0),
    ("maximumnum", 0),
    ("maxnum", 0),
    ("minimum", 0),
    ("minimumnum", 0),
    ("minnum", 0),
    ("nearbyint", 0),
    ("rint", 0),
    ("round", 0),
    ("roundeven", 0),
    ("sadd.sat", 0),
    ("sadd.with.overflow", 0),
    ("smax", 0),
    ("smin", 0),
    ("smul.with.overflow", 0),
    ("sqrt", 0),
    ("sshl.sat", 0),
    ("ssub.sat", 0),
    ("ssub.with.overflow", 0),
    ("trunc", 0),
    ("uadd.sat", 0),
    ("uadd.with.overflow", 0),
    ("umax", 0),
    ("umin", 0),
    ("umul.with.overflow", 0),
    ("ushl.sat", 0),
    ("usub.sat", 0),
    ("usub.with.overflow", 0),
];

const CONVERTS: &[&str] = &["fptosi.sat", "fptoui.sat", "scmp", "ucmp"];

const DROPPED: &[&str] = &[
    "assume",
    "donothing",
    "experimental.noalias.scope.decl",
    "lifetime.end",
    "lifetime.start",
    "sideeffect",
];

/// Intrinsics that are functions of the host's library: each lane calls one.
const CALLED: &[&str] = &[
    "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "exp10", "exp2", "expect", "ldexp",
    "log", "log10", "log2", "pow", "powi", "sin", "sinh", "tan", "tanh",
];

/// An intrinsic's name without `llvm.` and types.
fn stem(callee: Value<'_>) -> Option<String> {
    if !callee.is_intrinsic() {
        return None;
    }
    let name = callee.name();
    let all: Vec<&str> = name.strip_prefix("llvm.")?.split('.').collect();
    let is_type = |part: &&str| {
        let number = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        *part == "bf16"
            || matches!(part.chars().next(), Some('i' | 'f' | 'v' | 'p'))
                && !number.is_empty()
                && number.chars().next().is_some_and(|c| c.is_ascii_digit())
    };
    let count = all.iter().take_while(|part| !is_type(part)).count();
    Some(all[..count].join("."))
}

/// How an intrinsic is made for vectors; `None` if it is not.
pub(super) fn form(callee: Value<'_>) -> Option<Form> {
    let stem = stem(callee)?;
    let stem = stem.as_str();
    if let Some(&(_, constants)) = LANEWISE.iter().find(|(name, _)| *name == stem) {
        return Some(Form::Lanewise { constants });
    }
    if CONVERTS.contains(&stem) {
        return Some(Form::Converts);
    }
    DROPPED.contains(&stem).then_some(Form::Dropped)
}

/// Whether a function is an intrinsic that has a form for vectors and does nothing but compute.
pub(super) fn is_plain(callee: Value<'_>) -> bool {
    matches!(form(callee), Some(Form::Lanewise { .. } | Form::Converts))
}

/// Whether a call is of the intrinsic.
pub(super) fn is_called(callee: Value<'_>, name: &str) -> bool {
    stem(callee).is_some_and(|stem| stem == name)
}

/// Whether a call returns, does nothing else, and gives what its arguments say.
pub(super) fn is_pure(call: Value<'_>, callee: Value<'_>) -> bool {
    if stem(callee).is_some_and(|stem| CALLED.contains(&stem.as_str())) {
        return true;
    }
    let name = callee.name();
    let math = name.strip_prefix(PREFIX).unwrap_or(&name);
    const MEMORY: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];
    let takes_numbers = callee.value_type().param_types().into_iter().all(is_number);
    if is_function(math) && !MEMORY.contains(&math) && takes_numbers {
        return true;
    }
    call.has_attribute_of_call("nounwind")
        && touches_no_memory(call, callee)
        && call.bundle_tags().is_empty()
}

/// Whether a call returns, and does nothing but read and write where its arguments point to.
pub(super) fn is_confined(call: Value<'_>, callee: Value<'_>) -> bool {
    /// What of an attribute `memory` is about the memory of arguments; all else must be zero.
    const OF_ARGUMENTS: u64 = 0b11;
    let confined = |one: schism_llvm::Attribute<'_>| {
        one.kind() == Some(enum_kind("memory")) && one.value() & !OF_ARGUMENTS == 0
    };
    let mut attributes = [callee.attributes(FUNCTION_INDEX), call.call_attributes(FUNCTION_INDEX)]
        .into_iter()
        .flatten();
    let has = |name: &str| call.has_attribute_of_call(name);
    attributes.any(confined)
        && has("nounwind")
        && has("willreturn")
        && !has("convergent")
        && !callee.is_intrinsic()
        && call.bundle_tags().is_empty()
}

/// Whether a call has one of these two properties.
pub(super) fn is_pure_or_plain(call: Value<'_>, callee: Value<'_>) -> bool {
    is_plain(callee) || is_pure(call, callee)
}

fn is_number(ty: Type<'_>) -> bool {
    use schism_llvm::TypeKind::{Double, Float, Half, Integer};
    matches!(ty.kind(), Half | Float | Double | Integer)
}
