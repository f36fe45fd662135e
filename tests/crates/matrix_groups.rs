//! Work-groups in three dimensions: barriers, local memory, elements, beginnings, and a panic.

use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::local_array;

const GLOBAL: [usize; 3] = [4, 6, 10];
const LOCAL: [usize; 3] = [2, 3, 5];
const ITEMS: usize = 240;
const GROUP: usize = 30;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    value: u64,
    weight: f32,
    tag: u8,
}

trait Rule: Sync {
    fn next(&self, cell: Cell, before: Cell, after: Cell) -> Cell;
}

struct Mean;
struct Twist(u64);

impl Rule for Mean {
    fn next(&self, cell: Cell, before: Cell, after: Cell) -> Cell {
        let weight = (before.weight + cell.weight * 2.0 + after.weight) / 4.0;
        Cell { weight, tag: cell.tag.max(before.tag).wrapping_add(1), ..cell }
    }
}

impl Rule for Twist {
    fn next(&self, cell: Cell, before: Cell, after: Cell) -> Cell {
        let wide = u128::from(cell.value) * u128::from(before.value | 1) + u128::from(self.0);
        let value = (wide >> 17) as u64 ^ after.value.rotate_left(u32::from(cell.tag) % 64);
        Cell { value, ..cell }
    }
}

#[inline(never)]
fn rule(round: usize, twist: &Twist) -> &dyn Rule {
    if round % 3 == 2 { &Mean } else { twist }
}

fn start(index: usize) -> Cell {
    let value = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Cell { value, weight: index as f32 * 0.37 - 20.0, tag: index as u8 }
}

/// The same on the host, group by group.
fn expected(rounds: usize, twist: &Twist) -> Vec<Cell> {
    let mut all = vec![Cell::default(); ITEMS];
    for group in 0..ITEMS / GROUP {
        let origin = [group / 4 * 2, group / 2 % 2 * 3, group % 2 * 5];
        let place = |i: usize| {
            let [z, y, x] = [origin[0] + i / 15, origin[1] + i / 5 % 3, origin[2] + i % 5];
            (z * GLOBAL[1] + y) * GLOBAL[2] + x
        };
        let mut cells: Vec<Cell> = (0..GROUP).map(|i| start(place(i))).collect();
        for round in 0..rounds {
            cells = (0..GROUP)
                .map(|i| {
                    let (before, after) = ((i + GROUP - 1) % GROUP, (i + 1) % GROUP);
                    rule(round, twist).next(cells[i], cells[before], cells[after])
                })
                .collect();
        }
        for (i, cell) in cells.into_iter().enumerate() {
            all[place(i)] = cell;
        }
    }
    all
}

pub fn run(queue: &Queue) -> Result<String, schism::Error> {
    let rounds = 7;
    let twist = 0x1234_5678_9abc;
    let expected = expected(rounds, &Twist(twist));
    let mut cells = Buffer::from_slice(queue, &(0..ITEMS).map(start).collect::<Vec<_>>())?;
    let mut sums = Buffer::filled(queue, ITEMS / GROUP, [0_u64; 2])?;
    let mut visits = Buffer::filled(queue, 1, 0_u32)?;
    for begin in [[0, 0, 0], [3, 1 << 34, 17]] {
        cells.write(&(0..ITEMS).map(start).collect::<Vec<_>>())?;
        let range: [_; 3] = std::array::from_fn(|at| begin[at]..begin[at] + GLOBAL[at]);
        let range = NdRange::new(range, LOCAL)?;
        let counts = visits.atomic_view();
        let sources = (&mut cells, per_group(&mut sums));
        queue.for_each_in(range, (local::<u64>(GROUP), sources), move |item, (tile, elements)| {
            let (cell, sum) = elements;
            // SAFETY: each work-item writes its own element, with barriers between writing and
            // reading.
            let (first, second) =
                (local_array!(item, Cell; 30).as_mut_ptr(), local_array!(item, Cell; 30).as_mut_ptr());
            let twist = Twist(twist);
            let i = item.local_linear_id();
            let (mut from, mut to) = (first, second);
            unsafe { *from.add(i) = *cell }
            item.barrier();
            for round in 0..rounds {
                let (before, after) = ((i + GROUP - 1) % GROUP, (i + 1) % GROUP);
                // SAFETY: as above.
                unsafe {
                    *to.add(i) =
                        rule(round, &twist).next(*from.add(i), *from.add(before), *from.add(after));
                }
                item.barrier();
                (from, to) = (to, from);
            }
            // SAFETY: as above.
            *cell = unsafe { *from.add(i) };
            tile.set(i, cell.value);
            item.barrier();
            if let Some(sum) = sum {
                let all = (0..tile.len()).map(|i| tile.get(i)).fold(0, u64::wrapping_add);
                *sum = [all, item.group_linear_id() as u64];
            }
            let [z, y, x] = item.global_id();
            let [dz, dy, dx] = item.offset();
            if (z - dz) * 60 + (y - dy) * 10 + (x - dx) == item.global_linear_id() {
                counts[0].fetch_add(1, Relaxed);
            }
        })?;
        assert_eq!(cells.to_vec(), expected);
        for (group, [_, number]) in sums.to_vec().into_iter().enumerate() {
            assert_eq!(number, group as u64);
        }
    }
    assert_eq!(visits.to_vec(), [2 * ITEMS as u32]);
    let sum = sums.to_vec().iter().fold(0_u64, |sum, [all, _]| sum.wrapping_add(*all));
    let all = expected.iter().fold(0_u64, |sum, cell| sum.wrapping_add(cell.value));
    assert_eq!(sum, all);
    Ok(format!("{sum:#x} {}", expected.iter().map(|cell| cell.weight).sum::<f32>()))
}
