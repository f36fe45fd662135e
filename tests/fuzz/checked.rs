//! Loops over a slice whose indices are computed from the loop's counter: steps, both directions,
//! nested, of lengths that are known or not. And loops over tables of indices, which load what
//! their elements name.

use super::generator::Generator;
use super::node::Node;
use super::types::{U64, USIZE};

/// The elements of the array that the slice is of: more than any index that is not risky.
const LEN: usize = 80;

impl Generator {
    /// A loop that reads and changes a slice. What it did becomes a variable.
    pub(crate) fn checked_loop(&mut self) -> Node {
        let numbers: Vec<Node> = (0..5).map(|_| self.expr(&USIZE, 0)).collect();
        let risky = self.risk > 0 && self.chance(60);
        // Without a risk the slice is the whole array.
        let len = if risky { format!("% {}", LEN + 1) } else { format!("* 0 + {LEN}") };
        let index = |this: &mut Self| {
            let safe = [
                "k",
                "k + b",
                "k * a + b",
                "(k as u32 * a as u32) as usize",
                "11 - k",
                "k * 2 + 1",
            ];
            let bold = [
                "n.wrapping_sub(1).wrapping_sub(k)",
                "b.wrapping_sub(k)",
                "k.wrapping_mul(a).wrapping_sub(b)",
                "(k as u32).wrapping_mul(a as u32).wrapping_sub(3) as usize",
                "!k",
            ];
            match risky && this.chance(25) {
                true => bold[this.rng.usize(..bold.len())],
                false => safe[this.rng.usize(..safe.len())],
            }
        };
        let mut body = String::new();
        for _ in 0..self.rng.u32(1..4) {
            let (one, other) = (index(self), index(self));
            body += &match self.rng.u32(..5) {
                0 => format!("s[{one}] = s[{other}].wrapping_add(k as u64);\n"),
                1 => format!("s[{one}] ^= 5;\n"),
                2 => format!("if s[{one}] & 7 == 6 {{ break; }}\n"),
                3 => format!("let x = s[{one}] as usize % 12; sum = sum.rotate_left(5) ^ s[x];\n"),
                _ => format!("sum = sum.wrapping_mul(31).wrapping_add(s[{one}]);\n"),
            };
        }
        let walk = match self.rng.u32(..8) {
            0 | 1 => "for k in from..to {\n@}\n",
            2 => "for k in (from..to).rev() {\n@}\n",
            3 => "for k in (from..to).step_by(3) {\n@}\n",
            4 => "let mut k = from;\nwhile k < to {\n@k += 2;\n}\n",
            5 => "let mut k = to;\nwhile k > from {\nk -= 1;\n@}\n",
            6 => "for j in 0..2 {\nfor k in j..to {\n@}\n}\n",
            _ => {
                "for k in from as u32..=to as u32 {\nlet k = k as usize;\nif k > 11 { break; }\n@}\n"
            }
        };
        let walk = walk.replace('@', &body);
        let name = self.declare("v", &U64, true);
        let template = format!(
            "let mut {name}: u64 = {{\nlet mut data: [u64; {LEN}] = std::array::from_fn(|i| i as u64 * 7);\n\
             let (n, a, b) = ($ {len}, $ % 5, $ % 9);\nlet (from, to) = ($ % 4, $ % 12);\n\
             let s = &mut data[..n];\nlet mut sum = 0_u64;\n{walk}\
             for x in data {{ sum = sum.wrapping_mul(31).wrapping_add(x); }}\nsum\n}};\n"
        );
        Node::part(&template, numbers)
    }

    /// A loop over a table of indices, or over two tables, that sums up what the indices name. The
    /// sum becomes a variable.
    pub(crate) fn gathering_loop(&mut self) -> Node {
        let numbers: Vec<Node> = (0..4).map(|_| self.expr(&USIZE, 0)).collect();
        let types = ["u8", "u16", "u32", "u64", "usize"];
        let (index, weight) = (self.rng.usize(..types.len()), self.rng.usize(..types.len()));
        // Which elements are there; without a risk, all that are named.
        let len = match self.risk > 0 && self.chance(60) {
            true => format!("% {}", LEN + 1),
            false => format!("* 0 + {LEN}"),
        };
        let turn = [
            "sum = sum.wrapping_mul(31).wrapping_add(s[*i as usize]);\n",
            "sum = sum.rotate_left(7) ^ s[*i as usize].wrapping_mul(*w as u64);\n",
            "if *w & 1 == 0 { sum = sum.rotate_left(9).wrapping_add(s[*i as usize]); }\n",
            "sum = sum.wrapping_add(s[*i as usize]).rotate_left(3) ^ last;\nlast = *w as u64;\n",
            "sum = sum.rotate_left(5) ^ s[*i as usize + *w as usize % 2];\n",
        ];
        let body = turn[self.rng.usize(..turn.len())];
        let walk = [
            "for (i, w) in INDICES[from..to].iter().zip(&WEIGHTS[from..to]) {\n@}\n",
            "for (i, w) in INDICES[from..to].iter().zip(&WEIGHTS[from..to]).rev() {\n@}\n",
            "for k in from..to {\nlet (i, w) = (&INDICES[k], &WEIGHTS[k + 1]);\n@}\n",
            "let mut k = from;\nwhile k < to {\nlet (i, w) = (&INDICES[k], &WEIGHTS[to - k]);\n@k += 3;\n}\n",
            "for i in &INDICES[from..to] {\nlet w = i;\n@}\n",
        ];
        let walk = walk[self.rng.usize(..walk.len())].replace('@', body);
        let (step, first) = (self.rng.u32(1..70), self.rng.u32(..70));
        let table = |name: &str, ty: &str, step: u32| {
            format!(
                "static {name}: [{ty}; 160] = {{\nlet mut t = [0; 160];\nlet mut i = 0;\n\
                 while i < 160 {{\nt[i] = ((i * {step} + {first}) % {}) as {ty};\ni += 1;\n}}\nt\n}};\n",
                LEN - 1
            )
        };
        let tables = table("INDICES", types[index], step) + &table("WEIGHTS", types[weight], 11);
        let name = self.declare("v", &U64, true);
        let template = format!(
            "let mut {name}: u64 = {{\n{tables}static ALL: [u64; {0}] = {{\nlet mut t = [0; {0}];\nlet mut i = 0;\n\
             while i < {0} {{\nt[i] = i as u64 * 0x9e37_79b9;\ni += 1;\n}}\nt\n}};\n\
             let n = $ {len};\nlet s = &ALL[..n];\nlet from = $ % 50;\nlet to = from + $ % 70 + $ % 30;\n\
             let (mut sum, mut last) = (0_u64, 1_u64);\n{walk}sum ^ last\n}};\n",
            LEN
        );
        Node::part(&template, numbers)
    }
}
