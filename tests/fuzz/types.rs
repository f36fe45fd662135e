//! The types that generated kernels use, and their literals.

use fastrand::Rng;

/// A scalar type of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prim {
    Int { signed: bool, bits: u32 },
    Size { signed: bool },
    Float(u32),
    Bool,
    Char,
}

/// A type whose values are `Copy` and without borrows; but for slices, which only variables have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Prim(Prim),
    Tuple(Vec<Type>),
    Array(Box<Type>, usize),
    Option(Box<Type>),
    Result(Box<Type>, Box<Type>),
    /// A struct or enum of the kernel.
    Adt(usize),
    /// `&[T]`.
    Slice(Box<Type>),
}

/// A struct or an enum.
#[derive(Clone, Debug)]
pub(crate) struct Adt {
    pub(crate) name: String,
    pub(crate) kind: AdtKind,
}

#[derive(Clone, Debug)]
pub(crate) enum AdtKind {
    Struct { fields: Vec<Type>, packed: bool },
    Enum { variants: Vec<Vec<Type>> },
}

pub(crate) const BOOL: Type = Type::Prim(Prim::Bool);
pub(crate) const CHAR: Type = Type::Prim(Prim::Char);
pub(crate) const USIZE: Type = Type::Prim(Prim::Size { signed: false });
pub(crate) const U8: Type = int(false, 8);
pub(crate) const U32: Type = int(false, 32);
pub(crate) const U64: Type = int(false, 64);

pub(crate) const fn int(signed: bool, bits: u32) -> Type {
    Type::Prim(Prim::Int { signed, bits })
}

impl Prim {
    pub(crate) const INTEGERS: [Self; 12] = [
        Self::Int { signed: false, bits: 8 },
        Self::Int { signed: false, bits: 16 },
        Self::Int { signed: false, bits: 32 },
        Self::Int { signed: false, bits: 64 },
        Self::Int { signed: false, bits: 128 },
        Self::Size { signed: false },
        Self::Int { signed: true, bits: 8 },
        Self::Int { signed: true, bits: 16 },
        Self::Int { signed: true, bits: 32 },
        Self::Int { signed: true, bits: 64 },
        Self::Int { signed: true, bits: 128 },
        Self::Size { signed: true },
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Int { signed, bits } => format!("{}{bits}", if signed { 'i' } else { 'u' }),
            Self::Size { signed } => if signed { "isize" } else { "usize" }.to_owned(),
            Self::Float(bits) => format!("f{bits}"),
            Self::Bool => "bool".to_owned(),
            Self::Char => "char".to_owned(),
        }
    }

    /// Bits and sign of an integer type.
    pub(crate) const fn integer(self) -> Option<(bool, u32)> {
        match self {
            Self::Int { signed, bits } => Some((signed, bits)),
            Self::Size { signed } => Some((signed, 64)),
            _ => None,
        }
    }

    pub(crate) fn random_integer(rng: &mut Rng) -> Self {
        Self::INTEGERS[rng.usize(..Self::INTEGERS.len())]
    }

    pub(crate) fn random(rng: &mut Rng) -> Self {
        match rng.u32(..20) {
            0..12 => Self::random_integer(rng),
            12..14 => Self::Float(32),
            14..16 => Self::Float(64),
            16..18 => Self::Bool,
            _ => Self::Char,
        }
    }

    /// A value, as source text in parentheses where it needs them.
    pub(crate) fn literal(self, rng: &mut Rng) -> String {
        let name = self.name();
        match self {
            Self::Bool => rng.bool().to_string(),
            Self::Char => {
                let all = ['a', 'Z', '0', ' ', 'é', 'ß', '漢', '\u{10FFFF}', '\0', '~'];
                format!("{:?}", all[rng.usize(..all.len())])
            }
            Self::Float(bits) => {
                let special = ["NAN", "INFINITY", "NEG_INFINITY", "MAX", "MIN_POSITIVE", "EPSILON"];
                match rng.u32(..10) {
                    0 => format!("{name}::{}", special[rng.usize(..special.len())]),
                    1 => format!("(-0.0_{name})"),
                    2 => format!(
                        "(1.0e{}_{name})",
                        rng.i32(if bits == 32 { -30..30 } else { -300..300 })
                    ),
                    3..6 => format!("({:?}_{name})", f64::from(rng.i32(-64..64)) / 8.0),
                    _ => format!("({:?}_{name})", f64::from(rng.i32(0..40)) * 0.5),
                }
            }
            Self::Int { .. } | Self::Size { .. } => {
                let (signed, bits) = self.integer().expect("an integer");
                match rng.u32(..12) {
                    0 => format!("{name}::MAX"),
                    1 => format!("{name}::MIN"),
                    2 if signed => format!("(-{}_{name})", rng.u32(1..100)),
                    3 => format!("(1_{name} << {})", rng.u32(..bits)),
                    4 => {
                        let value = rng.u128(..) >> (128 - bits + u32::from(signed));
                        format!("{value}_{name}")
                    }
                    _ => format!("{}_{name}", rng.u32(..12)),
                }
            }
        }
    }
}

impl Type {
    pub(crate) const fn prim(&self) -> Option<Prim> {
        match self {
            Self::Prim(prim) => Some(*prim),
            _ => None,
        }
    }

    pub(crate) fn integer(&self) -> Option<(bool, u32)> {
        self.prim().and_then(Prim::integer)
    }

    pub(crate) const fn is_float(&self) -> bool {
        matches!(self, Self::Prim(Prim::Float(_)))
    }

    /// Whether the derived order is total: no floats, and nothing of the kernel's own.
    pub(crate) fn is_ord(&self) -> bool {
        match self {
            Self::Prim(prim) => !matches!(prim, Prim::Float(_)),
            Self::Tuple(types) => types.iter().all(Self::is_ord),
            Self::Array(ty, _) | Self::Option(ty) => ty.is_ord(),
            _ => false,
        }
    }

    /// How it is written.
    pub(crate) fn name(&self, adts: &[Adt]) -> String {
        match self {
            Self::Prim(prim) => prim.name(),
            Self::Tuple(types) => {
                let types: Vec<String> =
                    types.iter().map(|ty| format!("{},", ty.name(adts))).collect();
                format!("({})", types.concat())
            }
            Self::Array(ty, len) => format!("[{}; {len}]", ty.name(adts)),
            Self::Option(ty) => format!("Option<{}>", ty.name(adts)),
            Self::Result(ok, error) => format!("Result<{}, {}>", ok.name(adts), error.name(adts)),
            Self::Adt(index) => adts[*index].name.clone(),
            Self::Slice(ty) => format!("&[{}]", ty.name(adts)),
        }
    }

    /// A random type.
    pub(crate) fn random(rng: &mut Rng, adts: usize, depth: u32) -> Self {
        if depth == 0 || rng.u32(..100) < 55 {
            return Self::Prim(Prim::random(rng));
        }
        match rng.u32(..10) {
            0..3 => {
                let count = rng.usize(1..4);
                Self::Tuple((0..count).map(|_| Self::random(rng, adts, depth - 1)).collect())
            }
            3..5 => {
                let ty = Self::random(rng, adts, depth - 1);
                Self::Array(Box::new(ty), rng.usize(1..9))
            }
            5..7 => Self::Option(Box::new(Self::random(rng, adts, depth - 1))),
            7 => {
                let ok = Self::random(rng, adts, depth - 1);
                Self::Result(Box::new(ok), Box::new(Self::Prim(Prim::random(rng))))
            }
            _ if adts > 0 => Self::Adt(rng.usize(..adts)),
            _ => Self::Prim(Prim::random(rng)),
        }
    }

    /// A value, as source text; with `zero` the simplest one.
    pub(crate) fn literal(&self, adts: &[Adt], rng: &mut Rng, zero: bool) -> String {
        let mut part = |ty: &Self| ty.literal(adts, rng, zero);
        match self {
            Self::Prim(prim) if zero => match prim {
                Prim::Bool => "false".to_owned(),
                Prim::Char => "'a'".to_owned(),
                Prim::Float(bits) => format!("0.0_f{bits}"),
                _ => format!("0_{}", prim.name()),
            },
            Self::Prim(prim) => prim.literal(rng),
            Self::Tuple(types) => {
                let parts: Vec<String> = types.iter().map(|ty| format!("{},", part(ty))).collect();
                format!("({})", parts.concat())
            }
            Self::Array(ty, len) => {
                if zero || *len > 4 {
                    format!("[{}; {len}]", part(ty))
                } else {
                    let parts: Vec<String> = (0..*len).map(|_| part(ty)).collect();
                    format!("[{}]", parts.join(", "))
                }
            }
            Self::Option(ty) => {
                if zero || rng.u32(..4) == 0 {
                    format!("None::<{}>", ty.name(adts))
                } else {
                    format!("Some({})", ty.literal(adts, rng, zero))
                }
            }
            Self::Result(ok, error) => {
                let (name, value) = if zero || rng.u32(..4) > 0 {
                    ("Ok", ok.literal(adts, rng, zero))
                } else {
                    ("Err", error.literal(adts, rng, zero))
                };
                format!("{name}::<{}, {}>({value})", ok.name(adts), error.name(adts))
            }
            Self::Adt(index) => {
                let name = &adts[*index].name;
                match &adts[*index].kind {
                    AdtKind::Struct { fields, .. } => {
                        let fields: Vec<String> = fields
                            .iter()
                            .enumerate()
                            .map(|(i, ty)| format!("f{i}: {}", ty.literal(adts, rng, zero)))
                            .collect();
                        format!("({name} {{ {} }})", fields.join(", "))
                    }
                    AdtKind::Enum { variants } => {
                        let variant = if zero { 0 } else { rng.usize(..variants.len()) };
                        let fields: Vec<String> = variants[variant]
                            .iter()
                            .map(|ty| ty.literal(adts, rng, zero))
                            .collect();
                        if fields.is_empty() {
                            format!("{name}::V{variant}")
                        } else {
                            format!("{name}::V{variant}({})", fields.join(", "))
                        }
                    }
                }
            }
            Self::Slice(ty) => format!("&[{}]", ty.literal(adts, rng, zero)),
        }
    }
}
