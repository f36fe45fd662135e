//! Which mathematics a target computes by itself, and which the device library has.

/// What comes before a function's name in C, in the name of its symbol.
pub const PREFIX: &str = "schism.lib.";

/// What a kind of device computes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetLibraryInfo {
    /// Intrinsics of LLVM, without `llvm.` and type, that give the correctly rounded result for 32
    /// and 64 bits.
    pub correctly_rounded: &'static [&'static str],
    /// Intrinsics with their types that give some approximation.
    pub approximate: &'static [&'static str],
    /// Functions of C that can be called by their names.
    pub functions: &'static [&'static str],
    /// Whether integers of 128 bits can be converted to numbers and back.
    pub wide: bool,
}

/// What rounds to an integer, or is one operation on the processors of today.
const ROUNDED: &[&str] = &["sqrt", "fma", "floor", "ceil", "trunc", "rint", "round"];

impl TargetLibraryInfo {
    /// A processor that takes its mathematics from the library, and from C only what moves memory.
    pub const CPU: Self = Self {
        correctly_rounded: ROUNDED,
        approximate: &[],
        functions: &["memcpy", "memmove", "memset", "memcmp", "bcmp"],
        wide: true,
    };

    /// NVIDIA's GPUs, as LLVM generates code for them: for what is missing here it has no
    /// instruction, or (`frem`, and some of the rest without `afn`) one that gives something else.
    pub const PTX: Self = Self {
        correctly_rounded: ROUNDED,
        approximate: &["sin.f32", "cos.f32", "exp2.f32"],
        functions: &[],
        wide: false,
    };

    /// OpenCL's devices, whose library rounds these correctly, and AMD's GPUs, for which LLVM generates
    /// instructions, or sequences of some, that do.
    pub const ROUNDING: Self =
        Self { correctly_rounded: ROUNDED, approximate: &[], functions: &[], wide: false };

    /// Nothing but the operations of LLVM that are no functions.
    pub const NOTHING: Self =
        Self { correctly_rounded: &[], approximate: &[], functions: &[], wide: false };
}

/// The parameters and the result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many numbers to a number.
    Numbers(usize),
    /// A number and an `i32` to a number.
    WithInteger,
    /// A number, and the place of an `i32`, to a number.
    WithPlace,
}

/// The library's functions of numbers: the name of the one for 64 bits, and the shape. The name for
/// 32 bits ends in `f`, except where the table says another.
pub(crate) const NUMBERS: &[(&str, Shape)] = &[
    ("acos", Shape::Numbers(1)),
    ("acosh", Shape::Numbers(1)),
    ("asin", Shape::Numbers(1)),
    ("asinh", Shape::Numbers(1)),
    ("atan", Shape::Numbers(1)),
    ("atan2", Shape::Numbers(2)),
    ("atanh", Shape::Numbers(1)),
    ("cbrt", Shape::Numbers(1)),
    ("ceil", Shape::Numbers(1)),
    ("cos", Shape::Numbers(1)),
    ("cosh", Shape::Numbers(1)),
    ("erf", Shape::Numbers(1)),
    ("erfc", Shape::Numbers(1)),
    ("exp", Shape::Numbers(1)),
    ("exp2", Shape::Numbers(1)),
    ("exp10", Shape::Numbers(1)),
    ("expm1", Shape::Numbers(1)),
    ("fdim", Shape::Numbers(2)),
    ("floor", Shape::Numbers(1)),
    ("fma", Shape::Numbers(3)),
    ("fmod", Shape::Numbers(2)),
    ("hypot", Shape::Numbers(2)),
    ("ldexp", Shape::WithInteger),
    ("lgamma_r", Shape::WithPlace),
    ("log", Shape::Numbers(1)),
    ("log10", Shape::Numbers(1)),
    ("log1p", Shape::Numbers(1)),
    ("log2", Shape::Numbers(1)),
    ("pow", Shape::Numbers(2)),
    ("rint", Shape::Numbers(1)),
    ("round", Shape::Numbers(1)),
    ("sin", Shape::Numbers(1)),
    ("sinh", Shape::Numbers(1)),
    ("sqrt", Shape::Numbers(1)),
    ("tan", Shape::Numbers(1)),
    ("tanh", Shape::Numbers(1)),
    ("tgamma", Shape::Numbers(1)),
    ("trunc", Shape::Numbers(1)),
    ("__powidf2", Shape::WithInteger),
];

/// The library's functions of memory. The first two take two places, the third a place and an
/// `i32`; then comes a number of bytes, and the result is the first place. The others compare two
/// places, to an `i32`.
const MEMORY: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// The intrinsics that the library has a function for: other names than the function's.
pub(crate) const INTRINSICS: &[(&str, &str)] = &[("powi", "__powidf2"), ("nearbyint", "rint")];

/// The name for 32 bits of a function whose name for 64 bits is given.
pub(crate) fn single(name: &str) -> String {
    match name {
        "__powidf2" => "__powisf2".to_owned(),
        "lgamma_r" => "lgammaf_r".to_owned(),
        _ => format!("{name}f"),
    }
}

/// All functions of the library, by their names in C.
#[must_use]
pub fn functions() -> Vec<String> {
    let numbers = NUMBERS.iter().flat_map(|(name, _)| [(*name).to_owned(), single(name)]);
    numbers.chain(MEMORY.map(str::to_owned)).collect()
}

/// Whether it has a function of that name in C.
#[must_use]
pub fn is_function(name: &str) -> bool {
    MEMORY.contains(&name)
        || NUMBERS.iter().any(|(double, _)| *double == name || single(double) == name)
}
