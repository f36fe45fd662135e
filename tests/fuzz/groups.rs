//! Kernels with work-groups: steps between barriers, written once for the device and once for the
//! host.
//!
//! In a step each work-item reads what others have left in local memory, and leaves something
//! itself. The host does a step for all work-items of a group before it begins the next. Loops and
//! branches around steps depend on what the whole group knows, so that all of its work-items meet
//! at the same barriers; within a step anything goes.

use super::generator::Generator;
use super::node::Node;
use super::types::{U64, USIZE};

/// The sizes of a launch with groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    /// Of a group: x, y.
    size: [usize; 2],
    /// Groups: x, y.
    count: [usize; 2],
}

/// The same steps, for the two sides.
#[derive(Debug, Default)]
struct Steps {
    device: String,
    host: String,
}

impl Groups {
    pub(crate) fn random(generator: &mut Generator) -> Self {
        let rng = &mut generator.rng;
        if rng.bool() {
            let size = [1, 2, 3, 8, 16, 17, 32][rng.usize(..7)];
            return Self { size: [size, 1], count: [rng.usize(1..5), 1] };
        }
        Self { size: [rng.usize(1..7), rng.usize(1..5)], count: [rng.usize(1..4), rng.usize(1..3)] }
    }

    pub(crate) const fn range(&self) -> [usize; 3] {
        [self.size[0] * self.count[0], self.size[1] * self.count[1], 1]
    }
}

impl Generator {
    /// The function of the steps, the host's results and the launch.
    pub(crate) fn group_launch(
        &mut self,
        groups: Groups,
        captures: &[(String, super::types::Type)],
        result: &str,
    ) -> (Node, String) {
        self.budget = 40;
        let body = self.inside(&U64, |this| {
            for (name, ty) in captures {
                this.bind(name, ty);
            }
            this.bind("i", &USIZE);
            for name in ["gs", "ga", "gb"] {
                this.bind(name, &U64);
            }
            this.body_of(&U64, 2, 3)
        });
        let mut steps = Steps::default();
        self.steps(&mut steps, 2);
        let [lx, ly] = groups.size;
        let [gx, gy] = groups.count;
        let (size, [nx, ny, _]) = (lx * ly, groups.range());
        let filler = self.rng.u32(..);
        // Local memory by the launch, or declared by the kernel; one dimension or two.
        let range = if ly == 1 && gy == 1 {
            format!("NdRange::new({nx}_usize, {lx}_usize)?")
        } else {
            format!("NdRange::new([{ny}_usize, {nx}], [{ly}_usize, {lx}])?")
        };
        let (launch, tiles) = if self.rng.bool() {
            let arrays = format!("(local::<u64>({size}), local::<u64>({size}))");
            (format!("for_each_in({range}, {arrays}, move |item, (mut x, mut y)|"), String::new())
        } else {
            let array = format!("schism::local_array!(item, u64; {size})");
            let tiles = format!("let (mut x, mut y) = ({array}, {array});\n");
            (format!("parallel_for({range}, move |item|"), tiles)
        };
        let text = format!(
            "h.groups([{lx}, {ly}], [{gx}, {gy}], &|i| f(i, [i, 0, 0], es[i], &vs).1 ^ i as u64, &g, &mut |group, grp| {{\n{host}}},\n\
             &|i, s, to| (f(i, [i, 0, 0], es[i], &vs).0, s).digest(to));\n\
             h.compare(&mut |queue| {{\n\
             let (eb, vb) = (Buffer::from_slice(queue, &es)?, Buffer::from_slice(queue, &vs)?);\n\
             let mut out = Buffer::filled(queue, n, make_one::<({result}, u64)>({filler}))?;\n\
             let (ev, vv, to) = (eb.view(), vb.view(), out.view_mut());\n\
             let status = queue.{launch} {{\n\
             let (l, grp, size) = (item.local_linear_id(), item.group_linear_id(), item.group_size());\n\
             let i = grp * size + l;\n{tiles}let acc = schism::local_array!(item, u64; 1);\n\
             let r = f(i, [i, 0, 0], ev[i], &vv);\nlet mut s = r.1 ^ i as u64;\nx.set(l, s);\nitem.barrier();\n{device}\
             unsafe {{ to.set_unchecked(i, (r.0, s)) }}\n}});\nOk((status, digests(&out.to_vec())))\n}});\n",
            host = steps.host,
            device = steps.device,
        );
        let function = "let g = move |i: usize, gs: u64, ga: u64, gb: u64| -> u64 {\nlet trace = &Cell::new(0);\n$\n};\n";
        (Node::group(function, [body]), text)
    }

    fn steps(&mut self, to: &mut Steps, depth: u32) {
        for _ in 0..self.rng.u32(1..4) {
            match self.rng.u32(..8) {
                0 | 1 if depth > 0 => {
                    let head = match self.rng.u32(..3) {
                        0 => format!("for round in 0..{}_usize {{\n", self.rng.u32(1..5)),
                        1 => format!("for round in 0..grp % {} {{\n", self.rng.u32(1..4)),
                        _ => format!("if grp % 2 == {} {{\n", self.rng.u32(..2)),
                    };
                    to.device += &head;
                    to.host += &head;
                    self.steps(to, depth - 1);
                    to.device += "}\n";
                    to.host += "}\n";
                }
                2 => {
                    to.device += "if l == 0 { acc.set(0, 0); }\nitem.barrier();\nacc.as_atomics()[0].fetch_add(s, Relaxed);\n\
                                  item.barrier();\ns ^= acc.get(0);\nitem.barrier();\n";
                    to.host += "group.sum();\n";
                }
                3..6 => {
                    let shift = self.rng.u32(..9);
                    to.device += &format!(
                        "let (a, b) = (x.get((l + {shift}) % size), x.get(size - 1 - l));\nitem.barrier();\n\
                         s = g(i, s, a, b);\nx.set(l, s);\nitem.barrier();\n"
                    );
                    to.host += &format!("group.step({shift}, false);\n");
                }
                _ => {
                    // One barrier, because what is read and what is written are not the same.
                    let shift = self.rng.u32(..9);
                    to.device += &format!(
                        "s = g(i, s, x.get((l + {shift}) % size), x.get(size - 1 - l));\ny.set(l, s);\nitem.barrier();\n\
                         std::mem::swap(&mut x, &mut y);\n"
                    );
                    to.host += &format!("group.step({shift}, true);\n");
                }
            }
        }
    }
}
