//! A kernel for each pass that looks for patterns in LLVM's output, in a function of the pass's
//! name, or for each of its patterns. `tests/compiler/pass_effects.rs` compiles them with and without the pass.

use std::sync::atomic::Ordering::Relaxed;

use schism::local_array;
use schism::prelude::*;

type Outcome = Result<(), LaunchError>;

const GROUP: usize = 256;
const TILE: usize = 16;

/// The trip count of a loop over a launch's range, which LLVM computes to unroll it.
fn narrow_integers_division(
    queue: &Queue,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    sums: &mut Buffer<f32>,
) -> Outcome {
    let range = NdRange::new(sums.len() * GROUP, GROUP)?;
    queue.for_each_in(range, (whole(a), whole(b), per_group(sums)), |item, (a, b, group_sum)| {
        let b = &b[..a.len()];
        let [stride] = item.global_range();
        let mut sum = 0.0;
        let mut place = item.x();
        while place < a.len() {
            sum += a[place] * b[place];
            place += stride;
        }
        let sum = item.reduce_add(sum);
        if let Some(group_sum) = group_sum {
            *group_sum = sum;
        }
    })
}

/// Its own table for each work-item, which begins as zeros.
fn expand_mem_intrinsics(queue: &Queue, seeds: &mut Buffer<u64>) -> Outcome {
    queue.for_each(seeds, |seed| {
        let mut table = [0_u64; 64];
        for k in 0..200 {
            let place = (*seed >> (k % 50)) as usize % 64;
            table[place] += k;
            *seed = seed.wrapping_mul(3).wrapping_add(table[(place * 7 + 1) % 64]);
        }
    })
}

/// A row by a column, for a width that is a multiple of 16 in the code's version.
fn infer_alignment(queue: &Queue, a: &Buffer<f32>, c: &mut Buffer<f32>, side: usize) -> Outcome {
    queue.for_each_in([side, side], (c, whole(a)), move |item, (c, a)| {
        let [row, column] = item.id();
        let mut sum = 0.0;
        for (k, x) in a[row * side..][..side].iter().enumerate() {
            sum += x * a[k * side + column];
        }
        *c = sum;
    })
}

/// A step of a sorting network: neighbours in local memory change places.
fn nvptx_prepare_relaxed(queue: &Queue, from: &Buffer<u32>, to: &mut Buffer<u32>) -> Outcome {
    let range = NdRange::new(TILE, TILE)?;
    queue.for_each_in(range, (whole(from), to), |item, (from, to)| {
        let tile = local_array!(item, u32; 2 * TILE);
        let own = item.local_x();
        tile.set(own, from[own]);
        tile.set(own + TILE, from[own + TILE]);
        for round in 0..2 {
            item.barrier();
            let (a, b) = (tile.get(2 * own), tile.get(2 * own + 1));
            if (a > b) == (round == 0) {
                tile.set(2 * own, b);
                tile.set(2 * own + 1, a);
            }
        }
        item.barrier();
        *to = tile.get(own);
    })
}

/// A root, and a quotient of what is loaded behind it.
fn superblocks_loads(queue: &Queue, a: &Buffer<f32>, to: &mut Buffer<f32>) -> Outcome {
    queue.for_each((to, a), |(to, a)| {
        let root = a.sqrt();
        *to = root + 1.0 / *to;
    })
}

/// Functions with rare cases, one after the other.
fn superblocks_rare_cases(queue: &Queue, values: &mut Buffer<f32>) -> Outcome {
    queue.for_each(values, |x| {
        let power = x.exp();
        let root = (1.0 + power).sqrt();
        *x = power.ln() / root + (-*x).exp();
    })
}

fn stencil(from: &[f32], side: usize, [y, x]: [usize; 2]) -> f32 {
    let at = y * side + x;
    if y == 0 || x == 0 || y == side - 1 || x == side - 1 {
        from[at]
    } else {
        0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - side] + from[at + side])
    }
}

/// Checks of places in a plane that has less than 2³¹ elements in the code's version.
fn narrow_integers_checks(queue: &Queue, from: &Buffer<f32>, to: &mut Buffer<f32>, side: usize) -> Outcome {
    queue.for_each_in([side, side], (to, whole(from)), move |item, (to, from)| {
        *to = stencil(from, side, item.id());
    })
}

/// Several checks of places in one row.
fn merge_checks(queue: &Queue, from: &Buffer<f32>, to: &mut Buffer<f32>, side: usize) -> Outcome {
    let from = from.view();
    queue.for_each((0.., to), move |(i, to)| {
        let at = i * side;
        *to = from[at] + from[at + side] + from[at + 2 * side] + from[at + 3 * side];
    })
}

/// A row of a sparse matrix: the places of elements are loaded, and checked.
fn strip_mine(
    queue: &Queue,
    [rows, columns]: [&Buffer<u32>; 2],
    [values, x]: [&Buffer<f32>; 2],
    y: &mut Buffer<f32>,
) -> Outcome {
    let matrix = (whole(rows), whole(columns), whole(values));
    queue.for_each((0.., y, matrix, whole(x)), |(row, y, (rows, columns, values), x)| {
        let elements = rows[row] as usize..rows[row + 1] as usize;
        let mut sum = 0.0;
        for (column, value) in columns[elements.clone()].iter().zip(&values[elements]) {
            sum += value * x[*column as usize];
        }
        *y = sum;
    })
}

/// A column of a matrix, whose places are checked.
fn loop_versioning(
    queue: &Queue,
    from: &Buffer<f32>,
    sums: &mut Buffer<f32>,
    width: usize,
) -> Outcome {
    let from = from.view();
    queue.for_each((0.., sums), move |(column, sum)| {
        let mut own = 0.0;
        for row in 0..width {
            own += from[row * width + column];
        }
        *sum = own;
    })
}

/// Rounds over the words of a private array.
fn unroll_policy_private_arrays(queue: &Queue, from: &Buffer<u32>, to: &mut Buffer<u32>) -> Outcome {
    queue.for_each((from, to), |(from, to)| {
        let mut words = [*from; 64];
        for i in 16..64 {
            let (early, late) = (words[i - 15], words[i - 2]);
            let early = early.rotate_left(7) ^ early.rotate_left(18) ^ early >> 3;
            let late = late.rotate_left(17) ^ late.rotate_left(19) ^ late >> 10;
            words[i] = words[i - 16].wrapping_add(early ^ words[i - 7].wrapping_mul(5)) ^ late;
        }
        *to = words.iter().fold(0, |all, word| all ^ word);
    })
}

/// The determinant of a small matrix, whose rows are swapped for the largest pivot.
fn select_elements(queue: &Queue, from: &Buffer<f32>, to: &mut Buffer<f32>) -> Outcome {
    queue.for_each((from, to), |(from, to)| {
        let mut rows: [[f32; 3]; 3] =
            std::array::from_fn(|y| std::array::from_fn(|x| from * (3 * y + x) as f32 % 0.7));
        let mut product = 1.0;
        for column in 0..3 {
            let mut pivot = column;
            for row in column + 1..3 {
                if rows[row][column].abs() > rows[pivot][column].abs() {
                    pivot = row;
                }
            }
            rows.swap(column, pivot);
            product *= if pivot == column { rows[column][column] } else { -rows[column][column] };
            for row in column + 1..3 {
                let factor = rows[row][column] / rows[column][column];
                for k in column..3 {
                    rows[row][k] -= factor * rows[column][k];
                }
            }
        }
        *to = product;
    })
}

/// How often the bytes of a word occur in many others.
fn nvptx_prepare_bytes(queue: &Queue, words: &Buffer<[u8; 16]>, to: &mut Buffer<u32>) -> Outcome {
    queue.for_each((to, words, whole(words)), |(to, word, words)| {
        let mut counts = [0_u32; 16];
        for other in words {
            for (count, byte) in counts.iter_mut().zip(word) {
                *count += u32::from(*byte == other[0]);
            }
        }
        *to = counts.iter().fold(0, |all, count| all * 31 + count);
    })
}

/// Hashes of the words of a text.
fn unroll_hints(
    queue: &Queue,
    ends: &Buffer<u32>,
    text: &Buffer<u8>,
    to: &mut Buffer<u32>,
) -> Outcome {
    queue.for_each((0.., to, whole(ends), whole(text)), |(word, to, ends, text)| {
        let word = &text[ends[word] as usize..ends[word + 1] as usize];
        *to = word.iter().fold(5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(31));
    })
}

/// Sums of many numbers each.
fn nvptx_prepare_bounds(queue: &Queue, rows: &Buffer<[f32; 24]>, to: &mut Buffer<f32>) -> Outcome {
    queue.for_each((to, rows), |(to, row)| *to = row.iter().sum())
}

/// Neighbours in a plane, at its border those of the border.
fn clamped_checks(
    queue: &Queue,
    from: &Buffer<f32>,
    to: &mut Buffer<f32>,
    side: usize,
) -> Outcome {
    queue.for_each_in([side, side], (to, whole(from)), move |item, (to, from)| {
        let [y, x] = item.id();
        let at = |y: usize, x: usize| from[y.min(side - 1) * side + x.min(side - 1)];
        *to = at(y, x.saturating_sub(1)) + at(y, x + 1) + at(y.saturating_sub(1), x) + at(y + 1, x);
    })
}

/// A chain whose `next` finds out each time which piece it is in.
fn thread_headers(queue: &Queue, from: &Buffer<f32>, by: &Buffer<f32>, to: &mut Buffer<f32>) -> Outcome {
    queue.for_each((0.., to, whole(from), whole(by)), |(row, to, from, by)| {
        let pieces = from[row * 64..][..64].chunks_exact(8);
        let last = pieces.flat_map(|piece| piece.iter().rev().take(3));
        *to = last.zip(by).map(|(a, b)| a * b).sum();
    })
}

/// Updates whose previous values are unused, in a loop with a check.
fn nvptx_prepare_atomics(queue: &Queue, places: &Buffer<u32>, counts: &mut Buffer<u32>) -> Outcome {
    let counts = counts.atomic_view();
    queue.for_each((0.., places, whole(places)), move |(first, _, places)| {
        for place in &places[first..] {
            counts[*place as usize].fetch_min(7, Relaxed);
        }
    })
}

/// A sorting network.
fn unroll_policy_barrier_nests(queue: &Queue, from: &Buffer<f32>, to: &mut Buffer<f32>) -> Outcome {
    let range = NdRange::new(GROUP, GROUP)?;
    queue.for_each_in(range, (whole(from), to), |item, (from, to)| {
        let tile = local_array!(item, f32; GROUP);
        let place = item.local_x();
        tile.set(place, from[item.x()]);
        let mut size = 2;
        while size <= GROUP {
            let mut distance = size / 2;
            while distance > 0 {
                item.barrier();
                let other = place ^ distance;
                let (a, b) = (tile.get(place), tile.get(other));
                item.barrier();
                let is_first = (place < other) == (place & size == 0);
                tile.set(place, if is_first { a.min(b) } else { a.max(b) });
                distance /= 2;
            }
            size *= 2;
        }
        *to = tile.get(place);
    })
}

fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let side = TILE;
    let from = Buffer::filled(&queue, 4 * side * side, 1.0)?;
    let mut to = Buffer::filled(&queue, side * side, 0.0)?;
    let mut row = Buffer::filled(&queue, side, 0.0)?;
    let numbers = Buffer::from_slice(&queue, &(0..side as u32 + 1).collect::<Vec<_>>())?;
    narrow_integers_division(&queue, &from, &from, &mut row)?;
    expand_mem_intrinsics(&queue, &mut Buffer::filled(&queue, side, 7)?)?;
    infer_alignment(&queue, &from, &mut to, side)?;
    let keys = Buffer::filled(&queue, 2 * side, 7)?;
    nvptx_prepare_relaxed(&queue, &keys, &mut Buffer::filled(&queue, side, 0)?)?;
    superblocks_rare_cases(&queue, &mut to)?;
    superblocks_loads(&queue, &from, &mut to)?;
    narrow_integers_checks(&queue, &from, &mut to, side)?;
    merge_checks(&queue, &from, &mut row, side)?;
    strip_mine(&queue, [&numbers, &numbers], [&from, &from], &mut row)?;
    select_elements(&queue, &from, &mut Buffer::filled(&queue, from.len(), 0.0)?)?;
    let text = Buffer::filled(&queue, side, 7)?;
    unroll_hints(&queue, &numbers, &text, &mut Buffer::filled(&queue, side, 0)?)?;
    nvptx_prepare_bounds(&queue, &Buffer::filled(&queue, side, [1.0; 24])?, &mut row)?;
    let texts = Buffer::filled(&queue, side, [7; 16])?;
    nvptx_prepare_bytes(&queue, &texts, &mut Buffer::filled(&queue, side, 0)?)?;
    clamped_checks(&queue, &from, &mut to, side)?;
    thread_headers(&queue, &from, &from, &mut row)?;
    let mut words = Buffer::filled(&queue, side + 1, 0)?;
    unroll_policy_private_arrays(&queue, &numbers, &mut words)?;
    nvptx_prepare_atomics(&queue, &numbers, &mut words)?;
    unroll_policy_barrier_nests(&queue, &from, &mut to)?;
    loop_versioning(&queue, &from, &mut row, side).map_err(Into::into)
}
