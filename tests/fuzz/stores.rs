//! Stores to the launch's memory, some of them right before a panic: what a work-item has stored
//! then is there afterwards.
//!
//! The memory is `mem: &mut [u64]` of [`LEN`] words, a parameter of the kernel's function.

use super::generator::Generator;
use super::node::Node;
use super::types::{BOOL, U64, USIZE};

/// Words of memory that a work-item has.
pub(crate) const LEN: usize = 8;

impl Generator {
    /// A statement that stores. Places are outside every so often.
    pub(crate) fn store(&mut self, depth: u32) -> Node {
        let depth = depth.min(2);
        let place = self.rng.usize(..LEN);
        match self.rng.u32(..10) {
            0 => Node::part(&format!("mem[{place}] = $;\n"), [self.expr(&U64, depth)]),
            1 => {
                let end = if self.chance(25) { LEN + 1 } else { LEN };
                let parts = [self.expr(&USIZE, depth.min(1)), self.expr(&U64, depth)];
                Node::part(&format!("mem[$ % {end}] = $;\n"), parts)
            }
            // One store after the other to one place, and a reason to panic between them.
            2 | 3 => {
                let parts = [self.expr(&U64, 0), self.expr(&U64, depth.max(1))];
                Node::part(&format!("mem[{place}] = $;\nmem[{place}] = $;\n"), parts)
            }
            4 => {
                let parts = [self.expr(&U64, 0), self.expr(&BOOL, depth), self.expr(&USIZE, 0)];
                let text = ["said so", "at {}"][self.rng.usize(..2)];
                let shown = if text.contains('{') { ", mem[0]" } else { "" };
                let template = format!(
                    "mem[{place}] = $;\nif $ && $ % 3 == 1 {{ panic!(\"{text}\"{shown}); }}\nmem[{place}] ^= 5;\n"
                );
                Node::part(&template, parts)
            }
            5 => {
                let operator = ["^=", "|=", "&="][self.rng.usize(..3)];
                Node::part(&format!("mem[{place}] {operator} $;\n"), [self.expr(&U64, depth)])
            }
            // What a loop stores to may become a register, and be stored when the loop ends.
            6 | 7 => {
                let end = if self.chance(30) { LEN + 2 } else { LEN };
                let body = [
                    "mem[k] = mem[k / 2].rotate_left(3) ^ x;\n",
                    "mem[@] = mem[@].wrapping_add(mem[k]);\n",
                    "mem[@] = k as u64;\nmem[@] = mem[k] ^ x;\n",
                    "mem[k] = x;\nif mem[@] & 15 == 3 { break; }\nmem[@] ^= mem[k].rotate_left(k as u32);\n",
                    "mem[@] += mem[k] & 7;\nmem[k] = 1;\n",
                ];
                let body = body[self.rng.usize(..body.len())].replace('@', &place.to_string());
                let range = ["0..n", "(0..n).rev()", "(0..n).step_by(2)"][self.rng.usize(..3)];
                let parts = [self.expr(&USIZE, depth.min(1)), self.expr(&U64, depth.min(1))];
                let template = format!(
                    "{{\nlet (n, x) = ($ % {}, $);\nfor k in {range} {{\n{body}}}\n}}\n",
                    end + 1
                );
                Node::part(&template, parts)
            }
            _ => {
                let callee = ["put", "put_deep", "put_one_of(i + 1)", "put_one_of(i)"];
                let callee = callee[self.rng.usize(..callee.len())];
                let end = if self.chance(30) { LEN + 1 } else { LEN };
                let parts = [self.expr(&USIZE, depth.min(1)), self.expr(&U64, depth.min(1))];
                Node::part(
                    &format!(
                        "mem[{place}] = 3;\n{callee}(mem, $ % {end}, $);\nmem[{place}] ^= 9;\n"
                    ),
                    parts,
                )
            }
        }
    }
}
