//! Expressions of every type.

use super::generator::{Generator, LIBRARY};
use super::node::Node;
use super::types::{AdtKind, BOOL, CHAR, Prim, Type, U8, U32, U64, USIZE};

impl Generator {
    /// An expression of type `ty` that changes nothing outside of itself.
    pub(crate) fn expr(&mut self, ty: &Type, depth: u32) -> Node {
        self.budget -= 1;
        if depth == 0 || self.budget <= 0 || self.chance(12) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        if self.chance(30)
            && let Some(node) = self.any_type(ty, depth)
        {
            return node;
        }
        match ty {
            Type::Prim(prim) => match prim {
                Prim::Bool => self.boolean(depth),
                Prim::Char => self.character(depth),
                Prim::Float(bits) => self.float(*bits, depth),
                Prim::Int { .. } | Prim::Size { .. } => self.integer(ty, depth),
            },
            Type::Slice(_) => self.leaf(ty),
            _ => self.composite(ty, depth),
        }
    }

    /// A variable, a part of one, or a literal.
    pub(crate) fn leaf(&mut self, ty: &Type) -> Node {
        if self.chance(82)
            && let Some(place) = self.place(ty, false)
        {
            return place;
        }
        // A variable of another type is better than a constant.
        if let Some(prim) = ty.prim()
            && prim.integer().is_some()
            && self.chance(70)
        {
            let other = self.random_integer();
            if let Some(place) = self.place(&other, false) {
                return Node::expr(ty, &format!("($ as {})", prim.name()), [place]);
            }
        }
        self.literal(ty)
    }

    /// Forms that every type has.
    fn any_type(&mut self, ty: &Type, depth: u32) -> Option<Node> {
        match self.rng.u32(..16) {
            0..3 => {
                let condition = self.expr(&BOOL, depth);
                let (yes, no) = (self.expr(ty, depth), self.expr(ty, depth));
                Some(Node::expr(ty, "(if $ { $ } else { $ })", [condition, yes, no]))
            }
            3 if self.uses(0) => Some(self.match_expression(ty, depth)),
            4 if self.uses(1) => Some(self.block_expression(ty, depth)),
            5 if self.uses(2) => Some(self.loop_expression(ty, depth)),
            6..9 => self.call(ty, depth),
            9 if self.uses(3) => Some(self.closure_call(ty, depth)),
            10 if self.uses(4) => {
                let option = Type::Option(Box::new(ty.clone()));
                let (value, other) = (self.expr(&option, depth), self.expr(ty, depth));
                if self.risky() {
                    let how = ["($.unwrap())", "($.expect(\"a value\"))"][self.rng.usize(..2)];
                    return Some(Node::expr(ty, how, [value]));
                }
                Some(Node::expr(ty, "($.unwrap_or($))", [value, other]))
            }
            11 if self.uses(5) => {
                let array = Type::Array(Box::new(ty.clone()), self.rng.usize(1..5));
                let Type::Array(_, len) = array else { return None };
                let (value, index) = (self.expr(&array, depth), self.expr(&USIZE, depth));
                let bound = if self.risky() { String::new() } else { format!(" % {len}") };
                Some(Node::expr(ty, &format!("($[($){bound}])"), [value, index]))
            }
            12 if self.uses(6) => {
                // Field of a tuple.
                let (first, second) = (ty.clone(), self.random_prim());
                let tuple = Type::Tuple(vec![second, first]);
                let value = self.expr(&tuple, depth);
                Some(Node::expr(ty, "($.1)", [value]))
            }
            13 if self.uses(7) => self.iterator_result(ty, depth),
            14 if self.uses(8) => {
                let error = self.random_prim();
                let result = Type::Result(Box::new(ty.clone()), Box::new(error.clone()));
                let value = self.expr(&result, depth);
                let name = self.fresh("e");
                let other = self.inside(ty, |this| {
                    this.bind(&name, &error);
                    this.expr(ty, depth)
                });
                Some(Node::expr(ty, &format!("($.unwrap_or_else(|{name}| $))"), [value, other]))
            }
            15 if self.uses(9) => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let how = [
                    "({ let mut a = $; let mut b = $; std::mem::swap(&mut a, &mut b); a })",
                    "({ let mut a = $; let old = std::mem::replace(&mut a, $); if schism::is_device() { old } else { old } })",
                    "({ let cell = std::cell::Cell::new($); let old = cell.replace($); let _ = cell.get(); old })",
                    "(std::hint::black_box(($, $)).1)",
                    "({ let mut a = std::mem::MaybeUninit::uninit(); a.write($); let _b = $; unsafe { a.assume_init() } })",
                    "(*std::cell::RefCell::new(($, $)).borrow()).0",
                ];
                let how = how[self.rng.usize(..how.len())];
                Some(Node::expr(ty, how, [a, b]))
            }
            _ => None,
        }
    }

    fn binary_operand(&mut self, ty: &Type, depth: u32) -> (Node, Node) {
        (self.expr(ty, depth), self.expr(ty, depth))
    }

    fn integer(&mut self, ty: &Type, depth: u32) -> Node {
        let (signed, bits) = ty.integer().expect("an integer type");
        let name = self.name_of(ty);
        match self.rng.u32(..100) {
            0..14 => {
                let op = ["+", "-", "*"][self.rng.usize(..3)];
                let (a, b) = self.binary_operand(ty, depth);
                if self.risky() {
                    Node::expr(ty, &format!("($ {op} $)"), [a, b])
                } else {
                    let method = match op {
                        "+" => "wrapping_add",
                        "-" => "wrapping_sub",
                        _ => "wrapping_mul",
                    };
                    Node::expr(ty, &format!("($.{method}($))"), [a, b])
                }
            }
            14..22 => {
                let op = ["/", "%"][self.rng.usize(..2)];
                let (a, b) = self.binary_operand(ty, depth);
                if self.risky() {
                    return Node::expr(ty, &format!("($ {op} $)"), [a, b]);
                }
                let method = match (op, self.chance(30)) {
                    ("/", false) => "wrapping_div",
                    ("/", true) => "wrapping_div_euclid",
                    (_, false) => "wrapping_rem",
                    (_, true) => "wrapping_rem_euclid",
                };
                Node::expr(ty, &format!("($.{method}($ | 1))"), [a, b])
            }
            22..32 => {
                let op = ["&", "|", "^"][self.rng.usize(..3)];
                let (a, b) = self.binary_operand(ty, depth);
                Node::expr(ty, &format!("($ {op} $)"), [a, b])
            }
            32..40 => {
                let op = ["<<", ">>"][self.rng.usize(..2)];
                let (a, by) = (self.expr(ty, depth), self.random_integer());
                let by = self.expr(&by, depth);
                if self.risky() {
                    return Node::expr(ty, &format!("($ {op} $)"), [a, by]);
                }
                match self.rng.u32(..3) {
                    0 => {
                        Node::expr(ty, &format!("($ {op} ($ & {}))", (bits - 1).min(127)), [a, by])
                    }
                    1 => {
                        let method = if op == "<<" { "wrapping_shl" } else { "wrapping_shr" };
                        Node::expr(ty, &format!("($.{method}($ as u32))"), [a, by])
                    }
                    _ => {
                        let method = if op == "<<" { "checked_shl" } else { "overflowing_shr" };
                        let tail = if op == "<<" { ".unwrap_or(1)" } else { ".0" };
                        Node::expr(ty, &format!("($.{method}($ as u32){tail})"), [a, by])
                    }
                }
            }
            40..46 => {
                let a = self.expr(ty, depth);
                let op = match self.rng.u32(..4) {
                    0 if signed && self.risky() => "(-$)",
                    0 => "($.wrapping_neg())",
                    _ => "(!$)",
                };
                Node::expr(ty, op, [a])
            }
            46..58 => self.cast(ty, depth),
            58..72 => self.integer_method(ty, signed, depth),
            72..78 => {
                // To u32, then to the type.
                let methods = [
                    "leading_zeros()",
                    "trailing_zeros()",
                    "count_ones()",
                    "leading_ones()",
                    "trailing_ones()",
                    "count_zeros()",
                    "checked_ilog2().unwrap_or(77)",
                    "checked_ilog10().unwrap_or(77)",
                ];
                let method = methods[self.rng.usize(..methods.len())];
                let from = self.random_integer();
                let a = self.expr(&from, depth);
                Node::expr(ty, &format!("($.{method} as {name})"), [a])
            }
            78..84 => {
                let from = self.random_type(1);
                if !from.is_ord() {
                    return self.cast(ty, depth);
                }
                let (a, b) = self.binary_operand(&from, depth);
                Node::expr(ty, &format!("($.cmp(&$) as i8 as {name})"), [a, b])
            }
            84..88 => {
                let text = self.text(depth);
                let how = [
                    "len()",
                    "chars().fold(0, |n, c| n + c.len_utf8() % 3)",
                    "bytes().fold(7, |a, b| a * 3 % 1021 + b as usize)",
                    "chars().count()",
                    "trim().len()",
                    "split(' ').count()",
                    "find('n').unwrap_or(40)",
                    "rfind(char::is_whitespace).unwrap_or(40)",
                    "parse::<u16>().unwrap_or(3)",
                    "parse::<i64>().unwrap_or(-3)",
                    "char_indices().map(|(i, _)| i).last().unwrap_or(50)",
                ];
                let how = how[self.rng.usize(..how.len())];
                Node::expr(ty, &format!("($.{how} as {name})"), [text])
            }
            88..91 => {
                let from = self.random_integer();
                let a = self.expr(&from, depth);
                let other = self.leaf(ty);
                if self.risky() {
                    return Node::expr(ty, &format!("({name}::try_from($).unwrap())"), [a]);
                }
                Node::expr(ty, &format!("({name}::try_from($).unwrap_or($))"), [a, other])
            }
            91..94 => {
                let from = if self.chance(50) { 32 } else { 64 };
                let a = self.expr(&Type::Prim(Prim::Float(from)), depth);
                Node::expr(ty, &format!("(bits{from}($) as {name})"), [a])
            }
            94..97 => {
                let a = self.expr(ty, depth);
                let order = ["be", "le", "ne"];
                let (to, from) = (order[self.rng.usize(..3)], order[self.rng.usize(..3)]);
                Node::expr(ty, &format!("({name}::from_{from}_bytes($.to_{to}_bytes()))"), [a])
            }
            _ => match self.iterator_result(ty, depth) {
                Some(node) => node,
                None => self.leaf(ty),
            },
        }
    }

    fn integer_method(&mut self, ty: &Type, signed: bool, depth: u32) -> Node {
        let name = self.name_of(ty);
        let common = [
            "$.saturating_add($)",
            "$.saturating_sub($)",
            "$.saturating_mul($)",
            "$.checked_add($).unwrap_or(3)",
            "$.checked_sub($).unwrap_or(5)",
            "$.checked_mul($).unwrap_or(7)",
            "$.checked_div($).unwrap_or(9)",
            "$.checked_rem($).unwrap_or(11)",
            "$.overflowing_add($).0",
            "$.overflowing_sub($).0",
            "$.overflowing_mul($).0",
            "$.overflowing_add($).1 as #",
            "$.overflowing_mul($).1 as #",
            "$.checked_div_euclid($).unwrap_or(2)",
            "$.checked_rem_euclid($).unwrap_or(4)",
            "$.abs_diff($) as #",
            "$.min($)",
            "$.max($)",
            "$.midpoint($)",
            "$.rotate_left($ as u32)",
            "$.rotate_right($ as u32)",
            "$.wrapping_pow($ as u32 & 15)",
            "$.checked_pow($ as u32 & 7).unwrap_or(13)",
            "$.saturating_pow($ as u32 & 7)",
            "$.wrapping_add($).swap_bytes()",
            "$.wrapping_sub($).reverse_bits()",
            "$.wrapping_mul($).to_be()",
        ];
        let signed_only = [
            "$.wrapping_abs() ^ $",
            "$.unsigned_abs() as # | $",
            "$.signum() ^ $",
            "$.checked_abs().unwrap_or($)",
            "$.checked_neg().unwrap_or($)",
            "$.saturating_neg() & $",
            "$.is_negative() as # + ($ & 1)",
            "$.wrapping_sub($).cast_unsigned() as #",
        ];
        let unsigned_only = [
            "$.isqrt() ^ $",
            "$.checked_next_power_of_two().unwrap_or($)",
            "$.is_power_of_two() as # + ($ & 1)",
            "$.div_ceil($ | 1)",
            "$.checked_next_multiple_of($).unwrap_or(1)",
            "$.saturating_sub($ >> 1)",
            "$.wrapping_sub($).cast_signed() as #",
            "$.checked_ilog($).unwrap_or(3) as #",
        ];
        let risky = [
            "$.pow($ as u32 & 3)",
            "$.div_euclid($)",
            "$.rem_euclid($)",
            "$.ilog2() as # ^ ($ & 1)",
        ];
        if self.risky() {
            let method = risky[self.rng.usize(..risky.len())];
            let (a, b) = self.binary_operand(ty, depth);
            return Node::expr(ty, &format!("({})", method.replace('#', &name)), [a, b]);
        }
        let special: &[&str] = if signed { &signed_only } else { &unsigned_only };
        let method = if self.chance(30) {
            special[self.rng.usize(..special.len())]
        } else {
            common[self.rng.usize(..common.len())]
        };
        let (a, b) = self.binary_operand(ty, depth);
        Node::expr(ty, &format!("({})", method.replace('#', &name)), [a, b])
    }

    /// `as` from any type that has it.
    fn cast(&mut self, ty: &Type, depth: u32) -> Node {
        let name = self.name_of(ty);
        let from = match (ty.is_float(), self.rng.u32(..10)) {
            (_, 0..5) => self.random_integer(),
            (_, 5..7) => Type::Prim(Prim::Float(32)),
            (_, 7..9) => Type::Prim(Prim::Float(64)),
            (false, 9) if self.chance(50) => BOOL,
            (false, _) => CHAR,
            (true, _) => U64,
        };
        let value = self.expr(&from, depth);
        Node::expr(ty, &format!("($ as {name})"), [value])
    }

    fn float(&mut self, bits: u32, depth: u32) -> Node {
        let ty = &Type::Prim(Prim::Float(bits));
        let name = self.name_of(ty);
        match self.rng.u32(..100) {
            0..35 => {
                let op = ["+", "-", "*", "/", "%"][self.rng.usize(..5)];
                let (a, b) = self.binary_operand(ty, depth);
                Node::expr(ty, &format!("($ {op} $)"), [a, b])
            }
            35..50 => self.cast(ty, depth),
            50..68 => {
                // Of one argument, exact.
                let methods = [
                    "sqrt",
                    "abs",
                    "floor",
                    "ceil",
                    "round",
                    "trunc",
                    "fract",
                    "round_ties_even",
                    "recip",
                    "to_degrees",
                    "to_radians",
                ];
                let method = methods[self.rng.usize(..methods.len())];
                let a = self.expr(ty, depth);
                Node::expr(ty, &format!("($.{method}())"), [a])
            }
            68..78 => {
                // Of two. Which zero `min` gives is not specified, nor the sign of a NaN, nor how
                // `powi` rounds: a compiler rounds the power of a constant once.
                let methods = [
                    "($ + 0.0).min($ + 0.0)",
                    "($ + 0.0).max($ + 0.0)",
                    "real@($).copysign(real@($))",
                    "$.rem_euclid($)",
                    "$.div_euclid($)",
                    "$.midpoint($)",
                    "real@($).signum() * $",
                    "$.mul_add(1.5, $)",
                    "quiet@(#::from_bits(bits@($) ^ (bits@($) >> 3)))",
                    "opaque($).powi(7) - $",
                    "$.next_up() - $",
                    "$.clamp(-2.0, 9.0) - $",
                ];
                let method = methods[self.rng.usize(..methods.len())];
                let method = method.replace('#', &name).replace('@', &bits.to_string());
                let (a, b) = self.binary_operand(ty, depth);
                Node::expr(ty, &format!("({method})"), [a, b])
            }
            78..92 if self.uses(LIBRARY) => {
                // The mathematics library. A compiler may know the result of a constant argument
                // better.
                let methods = [
                    "sin()", "cos()", "tan()", "exp()", "ln()", "exp2()", "log2()", "log10()",
                    "tanh()", "sinh()", "cosh()", "atan()", "asin()", "acos()", "cbrt()",
                    "exp_m1()", "ln_1p()",
                ];
                let two = ["powf", "atan2", "hypot", "log"];
                if self.chance(30) {
                    let method = two[self.rng.usize(..two.len())];
                    let (a, b) = self.binary_operand(ty, depth);
                    let template = format!("(opaque($).{method}(opaque($)))");
                    return Node::expr(ty, &template, [a, b]);
                }
                let method = methods[self.rng.usize(..methods.len())];
                let a = self.expr(ty, depth);
                Node::expr(ty, &format!("(opaque($).{method})"), [a])
            }
            _ => {
                let a = self.expr(ty, depth);
                Node::expr(ty, "(-$)", [a])
            }
        }
    }

    fn boolean(&mut self, depth: u32) -> Node {
        match self.rng.u32(..100) {
            0..40 => {
                let ty = if self.chance(75) { self.random_prim() } else { self.random_type(2) };
                let ordered = ty.prim().is_some() || ty.is_ord();
                let ops = ["==", "!=", "<", "<=", ">", ">="];
                let op = ops[self.rng.usize(..if ordered { 6 } else { 2 })];
                let (a, b) = self.binary_operand(&ty, depth);
                Node::expr(&BOOL, &format!("($ {op} $)"), [a, b])
            }
            40..58 => {
                let op = ["&&", "||", "&", "|", "^"][self.rng.usize(..5)];
                let (a, b) = self.binary_operand(&BOOL, depth);
                Node::expr(&BOOL, &format!("($ {op} $)"), [a, b])
            }
            58..66 => {
                let a = self.expr(&BOOL, depth);
                Node::expr(&BOOL, "(!$)", [a])
            }
            66..74 => {
                let inner = self.random_type(1);
                let option = Type::Option(Box::new(inner));
                let a = self.expr(&option, depth);
                let how = ["($.is_some())", "($.is_none())"][self.rng.usize(..2)];
                Node::expr(&BOOL, how, [a])
            }
            74..82 => {
                let ty = Type::Prim(Prim::Float(if self.chance(50) { 32 } else { 64 }));
                let bits = if ty == Type::Prim(Prim::Float(32)) { 32 } else { 64 };
                let a = self.expr(&ty, depth);
                let how = [
                    "($.is_nan())".to_owned(),
                    "($.is_finite())".to_owned(),
                    "($.is_normal())".to_owned(),
                    "($.is_infinite())".to_owned(),
                    format!("(real{bits}($).is_sign_negative())"),
                ];
                let how = &how[self.rng.usize(..how.len())];
                Node::expr(&BOOL, how, [a])
            }
            82..88 => {
                let a = self.expr(&CHAR, depth);
                let how = [
                    "($.is_ascii_digit())",
                    "($.is_ascii_alphabetic())",
                    "($.is_ascii_punctuation())",
                    "(matches!($, 'a'..='m' | 'Z' | '\\u{80}'..))",
                    "($.is_ascii())",
                    "($.is_alphabetic())",
                    "($.is_numeric())",
                    "($.is_whitespace())",
                    "($.is_uppercase())",
                ];
                Node::expr(&BOOL, how[self.rng.usize(..how.len())], [a])
            }
            88..92 => {
                let (a, b) = (self.text(depth), self.text(0));
                let how = ["($ == $)", "($ < $)", "($.starts_with($))"];
                Node::expr(&BOOL, how[self.rng.usize(..how.len())], [a, b])
            }
            _ => match self.iterator_result(&BOOL, depth) {
                Some(node) => node,
                None => self.leaf(&BOOL),
            },
        }
    }

    fn character(&mut self, depth: u32) -> Node {
        match self.rng.u32(..10) {
            0..3 => {
                let a = self.expr(&U32, depth);
                Node::expr(&CHAR, "(char::from_u32($ & 0xFFFF).unwrap_or('?'))", [a])
            }
            3 => {
                let a = self.expr(&U8, depth);
                Node::expr(&CHAR, "($ as char)", [a])
            }
            4 => {
                let a = self.expr(&U32, depth);
                Node::expr(&CHAR, "(char::from_digit($ % 36, 36).unwrap_or('?'))", [a])
            }
            5 => {
                let a = self.expr(&CHAR, depth);
                let how = [
                    "($.to_ascii_uppercase())",
                    "($.to_ascii_lowercase())",
                    "($.to_uppercase().next().unwrap_or('u'))",
                ];
                Node::expr(&CHAR, how[self.rng.usize(..how.len())], [a])
            }
            6..8 => {
                let (text, at) = (self.text(depth), self.expr(&USIZE, depth));
                Node::expr(&CHAR, "($.chars().nth($ % 5).unwrap_or('-'))", [text, at])
            }
            _ => self.leaf(&CHAR),
        }
    }

    /// A string slice.
    pub(crate) fn text(&mut self, depth: u32) -> Node {
        let texts = ["", "a", "schism", "Grüße", "漢字 und so", "12345", "no\\tyes"];
        let text = format!("{:?}", texts[self.rng.usize(..texts.len())]).replace("\\\\t", "\\t");
        match self.rng.u32(..6) {
            0 if depth > 0 => {
                let at = self.expr(&USIZE, depth - 1);
                Node::group("[\"one\", \"zwei\", \"três\", \"\"][$ % 4]", [at])
            }
            1 if depth > 0 => {
                let condition = self.expr(&BOOL, depth - 1);
                Node::group(&format!("(if $ {{ {text} }} else {{ \"other\" }})"), [condition])
            }
            2 => Node::group("\"  trimmed \".trim()", []),
            _ => Node::text(text),
        }
    }

    fn composite(&mut self, ty: &Type, depth: u32) -> Node {
        match ty {
            Type::Tuple(types) => {
                let template = format!("({})", "$,".repeat(types.len()));
                let parts: Vec<Node> = types.iter().map(|ty| self.expr(ty, depth)).collect();
                Node::expr(ty, &template, parts)
            }
            Type::Array(inner, len) => self.array(ty, inner, *len, depth),
            Type::Option(inner) => self.option(ty, inner, depth),
            Type::Result(ok, error) => self.result_expression(ty, ok, error, depth),
            Type::Adt(index) => {
                let adt = self.adts[*index].clone();
                let name = &adt.name;
                match adt.kind {
                    AdtKind::Struct { fields, .. } => {
                        let values: Vec<Node> =
                            fields.iter().map(|ty| self.expr(ty, depth)).collect();
                        let fields: Vec<String> =
                            (0..fields.len()).map(|i| format!("f{i}: $")).collect();
                        Node::expr(ty, &format!("({name} {{ {} }})", fields.join(", ")), values)
                    }
                    AdtKind::Enum { variants } => {
                        let variant = self.rng.usize(..variants.len());
                        let values: Vec<Node> =
                            variants[variant].iter().map(|ty| self.expr(ty, depth)).collect();
                        let fields = vec!["$"; values.len()].join(", ");
                        let fields =
                            if values.is_empty() { String::new() } else { format!("({fields})") };
                        Node::expr(ty, &format!("{name}::V{variant}{fields}"), values)
                    }
                }
            }
            _ => self.leaf(ty),
        }
    }

    fn array(&mut self, ty: &Type, inner: &Type, len: usize, depth: u32) -> Node {
        match self.rng.u32(..10) {
            0..4 if len <= 5 => {
                let template = format!("[{}]", vec!["$"; len].join(", "));
                let parts: Vec<Node> = (0..len).map(|_| self.expr(inner, depth)).collect();
                Node::expr(ty, &template, parts)
            }
            0..6 => {
                let value = self.expr(inner, depth);
                Node::expr(ty, &format!("[$; {len}]"), [value])
            }
            6..8 if self.uses(11) => {
                let name = self.fresh("k");
                let value = self.inside(inner, |this| {
                    this.bind(&name, &USIZE);
                    this.expr(inner, depth)
                });
                let inner = self.name_of(inner);
                let template = format!("(std::array::from_fn::<{inner}, {len}, _>(|{name}| $))");
                Node::expr(ty, &template, [value])
            }
            8 if self.uses(12) => {
                let from = self.random_prim();
                let array = Type::Array(Box::new(from.clone()), len);
                let (value, name) = (self.expr(&array, depth), self.fresh("k"));
                let body = self.inside(inner, |this| {
                    this.bind(&name, &from);
                    this.expr(inner, depth)
                });
                Node::expr(ty, &format!("($.map(|{name}| $))"), [value, body])
            }
            _ => self.leaf(ty),
        }
    }

    fn option(&mut self, ty: &Type, inner: &Type, depth: u32) -> Node {
        if inner.integer().is_some() && self.chance(35) {
            let methods = [
                "($.checked_add($))",
                "($.checked_sub($))",
                "($.checked_mul($))",
                "($.checked_div($))",
                "($.checked_rem($))",
                "($.checked_shl($ as u32))",
                "($.checked_pow($ as u32 & 7))",
            ];
            let (a, b) = self.binary_operand(inner, depth);
            return Node::expr(ty, methods[self.rng.usize(..methods.len())], [a, b]);
        }
        match self.rng.u32(..10) {
            0..4 => {
                let value = self.expr(inner, depth);
                Node::expr(ty, "Some($)", [value])
            }
            4..6 => {
                let condition = self.expr(&BOOL, depth);
                let (how, value) = if self.chance(50) {
                    ("($.then_some($))", self.expr(inner, depth))
                } else {
                    ("($.then(|| $))", self.inside(inner, |this| this.expr(inner, depth)))
                };
                Node::expr(ty, how, [condition, value])
            }
            6 | 7 if self.uses(13) => {
                let from = self.random_prim();
                let option = Type::Option(Box::new(from.clone()));
                let (value, name) = (self.expr(&option, depth), self.fresh("o"));
                let and_then = self.chance(40);
                let to = if and_then { ty } else { inner };
                let body = self.inside(to, |this| {
                    this.bind(&name, &from);
                    this.expr(to, depth)
                });
                let method = if and_then { "and_then" } else { "map" };
                Node::expr(ty, &format!("($.{method}(|{name}| $))"), [value, body])
            }
            8 => {
                let (a, b) = self.binary_operand(ty, depth);
                let how = ["($.or($))", "($.and($))", "($.xor($))"][self.rng.usize(..3)];
                Node::expr(ty, how, [a, b])
            }
            9 if self.uses(14) => {
                // The question mark.
                self.inside(ty, |this| {
                    let (a, b) = (this.expr(ty, depth), this.expr(ty, depth));
                    let (a_name, b_name) = (this.fresh("q"), this.fresh("q"));
                    for name in [&a_name, &b_name] {
                        this.bind(name, inner);
                    }
                    let value = this.expr(inner, depth);
                    let written = this.name_of(ty);
                    let template = format!(
                        "((|| -> {written} {{ let {a_name} = $?; let {b_name} = $?; Some($) }})())"
                    );
                    Node::expr(ty, &template, [a, b, value])
                })
            }
            _ => match self.iterator_result(ty, depth) {
                Some(node) => node,
                None => self.leaf(ty),
            },
        }
    }

    fn result_expression(&mut self, ty: &Type, ok: &Type, error: &Type, depth: u32) -> Node {
        let (ok_name, error_name) = (self.name_of(ok), self.name_of(error));
        match self.rng.u32(..6) {
            0..2 => {
                let value = self.expr(ok, depth);
                Node::expr(ty, &format!("Ok::<{ok_name}, {error_name}>($)"), [value])
            }
            2 => {
                let value = self.expr(error, depth);
                Node::expr(ty, &format!("Err::<{ok_name}, {error_name}>($)"), [value])
            }
            3 | 4 => {
                let option = Type::Option(Box::new(ok.clone()));
                let (value, error) = (self.expr(&option, depth), self.expr(error, depth));
                Node::expr(ty, "($.ok_or($))", [value, error])
            }
            _ => {
                let from = Type::Result(Box::new(U8), Box::new(error.clone()));
                let name = self.fresh("r");
                let value = self.inside(ty, |this| this.expr(&from, depth));
                let body = self.inside(ty, |this| {
                    this.bind(&name, &U8);
                    this.expr(ok, depth)
                });
                let template = format!(
                    "((|| -> Result<{ok_name}, {error_name}> {{ let {name} = $?; Ok($) }})())"
                );
                Node::expr(ty, &template, [value, body])
            }
        }
    }
}
