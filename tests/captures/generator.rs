//! Types that a kernel captures, and values of them.

use std::fmt::Write;

use fastrand::Rng;

/// A type of a capture.
enum Ty {
    /// A type without parts: its name.
    Plain(&'static str),
    /// The words of a buffer.
    View,
    /// Generic types of the prelude, and the standard library's: name and parts.
    Of(&'static str, Vec<Self>),
    Tuple(Vec<Self>),
    Array(Box<Self>, usize),
    /// A struct of the kernel's own.
    Struct(String, Vec<Self>),
    /// An enum of the kernel's own.
    Enum(String, Vec<Vec<Self>>),
}

/// What is written for one kernel.
pub(super) struct Generator {
    random: Rng,
    types: String,
    made: usize,
    name: String,
}

const NUMBERS: [&str; 12] =
    ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "u128", "f32", "f64"];
const OTHERS: [&str; 8] = [
    "bool",
    "char",
    "NonZeroU8",
    "NonZeroU32",
    "NonZeroU64",
    "NonZeroU128",
    "()",
    "PhantomData<AtomicU8>",
];

/// The text of a kernel: the types of its capture, and the value of it.
pub(super) fn kernel(seed: u64, number: usize) -> String {
    let random = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number as u64);
    let name = format!("k{number}");
    let mut generator = Generator { random, types: String::new(), made: 0, name };
    let depth = generator.random.usize(1..=4);
    let ty = generator.ty(depth);
    let value = generator.value(&ty);
    let Generator { types, name, .. } = generator;
    format!("{types}kernel!({name}, {}, |env| {value});\n", text(&ty))
}

fn text(ty: &Ty) -> String {
    let list = |types: &[Ty]| types.iter().map(text).collect::<Vec<_>>().join(", ");
    match ty {
        Ty::Plain(name) => (*name).to_owned(),
        Ty::View => "Words".to_owned(),
        Ty::Of(name, parts) => format!("{name}<{}>", list(parts)),
        Ty::Tuple(parts) => format!("({})", list(parts)),
        Ty::Array(element, len) => format!("[{}; {len}]", text(element)),
        Ty::Struct(name, _) | Ty::Enum(name, _) => name.clone(),
    }
}

impl Generator {
    fn ty(&mut self, depth: usize) -> Ty {
        if depth == 0 {
            return match self.random.usize(0..10) {
                0..4 => Ty::View,
                4..8 => Ty::Plain(self.random.choice(NUMBERS).unwrap_or("u64")),
                _ => Ty::Plain(self.random.choice(OTHERS).unwrap_or("bool")),
            };
        }
        let depth = self.random.usize(0..depth);
        let part = |this: &mut Self| this.ty(depth);
        match self.random.usize(0..20) {
            0..4 => Ty::Of("Option", vec![part(self)]),
            4 | 5 => Ty::Of("Result", vec![part(self), part(self)]),
            6 => Ty::Of("Only", vec![part(self)]),
            7 => Ty::Of("Maybe", vec![part(self)]),
            8 | 9 => Ty::Of("Packed", vec![part(self), part(self)]),
            10 => Ty::Of("Wide", vec![part(self)]),
            11 => Ty::Of("Specialized", vec![part(self)]),
            12 | 13 => {
                let parts = (0..self.random.usize(2..4)).map(|_| part(self)).collect();
                Ty::Tuple(parts)
            }
            14 => {
                // Long ones of small elements only: a launch takes 4 KiB of captures.
                let long = if depth < 2 { [16, 17, 30] } else { [1, 2, 3] };
                let len =
                    if self.random.bool() { 2 } else { self.random.choice(long).unwrap_or(2) };
                Ty::Array(Box::new(part(self)), len)
            }
            15 | 16 => {
                let fields: Vec<Ty> = (0..self.random.usize(0..5)).map(|_| part(self)).collect();
                self.define_struct(fields)
            }
            _ => {
                let variants: Vec<Vec<Ty>> = (0..self.random.usize(1..5))
                    .map(|_| (0..self.random.usize(0..3)).map(|_| part(self)).collect())
                    .collect();
                self.define_enum(variants)
            }
        }
    }

    fn new_name(&mut self) -> String {
        self.made += 1;
        format!("{}T{}", self.name, self.made)
    }

    fn define_struct(&mut self, fields: Vec<Ty>) -> Ty {
        let name = self.new_name();
        let (representation, packed) = match self.random.usize(0..5) {
            0 => ("#[repr(C)]\n", false),
            1 => ("#[repr(packed)]\n", true),
            2 => ("#[repr(C, packed(2))]\n", true),
            _ => ("", false),
        };
        let list: Vec<_> = fields.iter().map(|ty| format!("pub {}", text(ty))).collect();
        let mut walk = String::new();
        for index in 0..fields.len() {
            // What is packed has no references.
            let place =
                if packed { format!("{{ self.{index} }}") } else { format!("self.{index}") };
            let _ = write!(walk, "let field = &{place}; field.walk(sink); ");
        }
        let _ = write!(
            self.types,
            "#[derive(Clone, Copy)]\n{representation}pub struct {name}({});\nimpl Walk for {name} {{ fn walk(&self, sink: &mut Sink) {{ let _ = &sink; {walk}}} }}\n",
            list.join(", ")
        );
        Ty::Struct(name, fields)
    }

    fn define_enum(&mut self, variants: Vec<Vec<Ty>>) -> Ty {
        let name = self.new_name();
        let representation = *self
            .random
            .choice(["", "", "", "u8", "i16", "u32", "i64", "C", "C, u8"].as_slice())
            .unwrap_or(&"");
        // Discriminants of the program's own need a type.
        let own = matches!(representation, "i16" | "i64") && self.random.bool();
        let mut list = String::new();
        let mut walk = String::new();
        for (fields, index) in variants.iter().zip(0..) {
            let types: Vec<_> = fields.iter().map(text).collect();
            let names: Vec<_> = (0..fields.len()).map(|field| format!("f{field}")).collect();
            let discriminant = if own { format!(" = {}", index * 37 - 50) } else { String::new() };
            let _ = write!(list, "V{index}({}){discriminant}, ", types.join(", "));
            let walks: String = names.iter().map(|name| format!("{name}.walk(sink); ")).collect();
            let _ = write!(
                walk,
                "Self::V{index}({}) => {{ sink.add({index}); {walks}}} ",
                names.join(", ")
            );
        }
        let representation = match representation {
            "" => String::new(),
            name => format!("#[repr({name})]\n"),
        };
        let _ = write!(
            self.types,
            "#[derive(Clone, Copy)]\n{representation}pub enum {name} {{ {list}}}\nimpl Walk for {name} {{ fn walk(&self, sink: &mut Sink) {{ match self {{ {walk}}} }} }}\n"
        );
        Ty::Enum(name, variants)
    }

    fn value(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Plain(name) => self.plain(name),
            Ty::View => {
                let begin = self.random.usize(0..60);
                let end = begin + self.random.usize(0..5);
                format!("env.view({}, {begin}, {end})", self.random.usize(0..4))
            }
            Ty::Of(name, parts) => self.generic(name, parts),
            Ty::Tuple(parts) => format!("({})", self.values(parts)),
            Ty::Array(element, len) if *len <= 3 => {
                let values: Vec<_> = (0..*len).map(|_| self.value(element)).collect();
                format!("[{}]", values.join(", "))
            }
            Ty::Array(element, _) => {
                let (first, second) = (self.value(element), self.value(element));
                format!("std::array::from_fn(|i| if i % 3 == 1 {{ {first} }} else {{ {second} }})")
            }
            Ty::Struct(name, fields) => format!("{name}({})", self.values(fields)),
            Ty::Enum(name, variants) => {
                let index = self.random.usize(0..variants.len());
                format!("{name}::V{index}({})", self.values(&variants[index]))
            }
        }
    }

    fn values(&mut self, types: &[Ty]) -> String {
        let values: Vec<_> = types.iter().map(|ty| self.value(ty)).collect();
        values.join(", ")
    }

    fn generic(&mut self, name: &str, parts: &[Ty]) -> String {
        match name {
            "Option" if self.random.usize(0..3) == 0 => "None".to_owned(),
            "Option" => format!("Some({})", self.value(&parts[0])),
            "Result" if self.random.bool() => format!("Ok({})", self.value(&parts[0])),
            "Result" => format!("Err({})", self.value(&parts[1])),
            "Maybe" if self.random.usize(0..3) == 0 => "Maybe::none()".to_owned(),
            "Maybe" => format!("Maybe::some({})", self.value(&parts[0])),
            "Specialized" => format!("Specialized::new({})", self.value(&parts[0])),
            _ => format!("{name}({})", self.values(parts)),
        }
    }

    fn plain(&mut self, name: &str) -> String {
        // An address of the devices' part of the address space, which must arrive as any other
        // number.
        let address = |this: &mut Self| {
            format!("env.address({}, {})", this.random.usize(0..3), this.random.usize(0..60))
        };
        let is_address = self.random.usize(0..2) == 0;
        match name {
            "u64" | "i64" | "usize" | "u128" if is_address => {
                format!("({} as {name})", address(self))
            }
            "NonZeroU64" if is_address => {
                format!("NonZeroU64::new({}).expect(\"not 0\")", address(self))
            }
            "f64" if is_address => format!("f64::from_bits({})", address(self)),
            "f32" | "f64" => format!("{}.5", self.random.u8(..)),
            "bool" => self.random.bool().to_string(),
            "char" => format!("'{}'", self.random.char('a'..='z')),
            "()" => "()".to_owned(),
            "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64" | "usize" | "u128" => {
                self.random.u8(..120).to_string()
            }
            _ if name.starts_with("NonZero") => {
                format!("{name}::new({}).expect(\"not 0\")", self.random.u8(1..))
            }
            _ => "PhantomData".to_owned(),
        }
    }
}
