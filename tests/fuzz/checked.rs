//! Loops over a slice whose indices are computed from the loop's counter: steps, both directions, nested, of lengths that are known or not.

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
}
