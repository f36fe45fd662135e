//! The workloads as rayon loops, as one writes them for rayon.

use rayon::prelude::*;
use schism_bench::cpu::{
    ACROSS, Ask, BLOCKS, BODIES, Bytes, COUNT, DOWN, HEIGHT, ROWS, STREAM, WIDTH, Workload,
    options, point, ray, sparse, spheres, table, units, weights, words,
};
use schism_bench::items::{black_scholes, escape, search, sha256, smooth, sparse_row, trace};
use schism_bench::{GROUP, SCANNED, SIDE, TILE, blur, image, keys, matrices};
use schism_examples::blur::{Gray, luminance};
use schism_examples::gravity::disc;

/// Words that are counted into counts of their own.
const COUNTED: usize = 1 << 14;

/// A workload of elements that a loop fills.
fn workload<T: 'static>(mut result: Vec<T>, mut run: impl FnMut(&mut [T]) + 'static) -> Workload
where
    [T]: Bytes,
{
    Box::new(move |ask| {
        if ask == Ask::Result {
            return result.bytes();
        }
        run(&mut result);
        Vec::new()
    })
}

/// A workload of which each element depends on its number.
fn each<T: Clone + Default + Send + 'static>(
    count: usize,
    item: impl Fn(usize) -> T + Sync + 'static,
) -> Workload
where
    [T]: Bytes,
{
    workload(vec![T::default(); count], move |out| {
        out.par_iter_mut().enumerate().for_each(|(index, out)| *out = item(index));
    })
}

/// Makes a workload's inputs.
pub(crate) fn open(name: &str) -> Option<Workload> {
    Some(match name {
        "launch_1" | "launch_million" => {
            let count = if name == "launch_1" { 1 } else { 1_000_000 };
            workload(vec![0_u32; count], |values| {
                values.par_iter_mut().for_each(|value| *value += 2);
            })
        }
        "saxpy" => {
            let (x, a) = (units(STREAM, 0), std::hint::black_box(0.5_f32));
            workload(vec![0.0_f32; STREAM], move |y| {
                y.par_iter_mut().zip(&x).for_each(|(y, x)| *y += a * *x);
            })
        }
        "triad" => {
            let (b, c) = (units(STREAM, 0), units(STREAM, 1));
            let scale = std::hint::black_box(3.0_f32);
            workload(vec![0.0_f32; STREAM], move |a| {
                a.par_iter_mut().zip(&b).zip(&c).for_each(|((a, b), c)| *a = b + scale * c);
            })
        }
        "mandelbrot" => each(WIDTH * HEIGHT, |index| {
            let (x, y) = point(index);
            escape(x, y)
        }),
        "nbody" => {
            let bodies = disc(BODIES);
            each(BODIES, move |index| bodies[index].moved(&bodies))
        }
        "black_scholes" => {
            let [p, s, t] = options();
            each(COUNT, move |i| black_scholes(p[i], s[i], t[i]))
        }
        "image_filter" => image_filter(),
        "convolution" => {
            let (picture, weights) = (units(WIDTH * HEIGHT, 0), weights());
            each(WIDTH * HEIGHT, move |i| smooth(i, WIDTH, HEIGHT, &picture, &weights))
        }
        "ray_spheres" => {
            let spheres = spheres();
            each(WIDTH * HEIGHT, move |index| {
                let (x, y) = ray(index);
                trace(x, y, &spheres)
            })
        }
        "sha256" => each(BLOCKS, |index| sha256(index as u32)),
        "spmv" => {
            let matrix = sparse();
            each(ROWS, move |row| {
                sparse_row(row, &matrix.starts, &matrix.columns, &matrix.values, &matrix.x)
            })
        }
        "binary_search" => {
            let (keys, table) = (words(), table());
            each(COUNT, move |index| search(&table, keys[index]))
        }
        _ => return open_group(name),
    })
}

/// What kernels compute with barriers.
fn open_group(name: &str) -> Option<Workload> {
    Some(match name {
        "reduction" => {
            let from = keys(SCANNED);
            workload(vec![0_u32; SCANNED / GROUP], move |sums| {
                sums.par_iter_mut().zip(from.par_chunks(GROUP)).for_each(|(sum, chunk)| {
                    *sum = chunk.iter().fold(0, |sum, key| sum.wrapping_add(*key));
                });
            })
        }
        "scan" => {
            let from = keys(SCANNED);
            workload(vec![0_u32; SCANNED], move |to| {
                to.par_chunks_mut(GROUP).zip(from.par_chunks(GROUP)).for_each(|(to, from)| {
                    let mut sum = 0_u32;
                    for (to, from) in to.iter_mut().zip(from) {
                        sum = sum.wrapping_add(*from);
                        *to = sum;
                    }
                });
            })
        }
        "transpose" => {
            let a = matrices().0;
            workload(vec![0.0_f32; SIDE * SIDE], move |c| {
                c.par_chunks_mut(SIDE * TILE).enumerate().for_each(|(tile, rows)| {
                    for first in (0..SIDE).step_by(TILE) {
                        for (column, row) in rows.chunks_mut(SIDE).enumerate() {
                            for k in first..first + TILE {
                                row[k] = a[k * SIDE + tile * TILE + column];
                            }
                        }
                    }
                });
            })
        }
        "sgemm" => {
            let (a, b) = matrices();
            workload(vec![0.0_f32; SIDE * SIDE], move |c| {
                c.par_chunks_mut(SIDE).zip(a.par_chunks(SIDE)).for_each(|(c, a)| {
                    c.fill(0.0);
                    for (k, a) in a.iter().enumerate() {
                        for (c, b) in c.iter_mut().zip(&b[k * SIDE..][..SIDE]) {
                            *c += a * b;
                        }
                    }
                });
            })
        }
        "histogram" => {
            let words = words();
            workload(vec![0_u32; 256], move |counts| {
                let all = words.par_chunks(COUNTED).map(|words| {
                    let mut bins = [0_u32; 256];
                    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
                        bins[usize::from(byte)] += 1;
                    }
                    bins
                });
                let sum = |a: [u32; 256], b: [u32; 256]| std::array::from_fn(|bin| a[bin] + b[bin]);
                counts.copy_from_slice(&all.reduce(|| [0; 256], sum));
            })
        }
        _ => return None,
    })
}

/// Gray, blurred along both axes, and its edges, row by row.
fn image_filter() -> Workload {
    let (pixels, blur) = (image(), blur());
    let mut gray = vec![0.0_f32; ACROSS * DOWN];
    let mut soft = gray.clone();
    workload(vec![[0_u8; 3]; ACROSS * DOWN], move |edges| {
        gray.par_iter_mut().zip(&pixels).for_each(|(gray, pixel)| *gray = luminance(*pixel));
        soft.par_chunks_mut(ACROSS).enumerate().for_each(|(row, soft)| {
            let gray = Gray { values: &gray, width: ACROSS, height: DOWN };
            for (column, soft) in soft.iter_mut().enumerate() {
                *soft = gray.blur_along_x(&blur, column, row);
            }
        });
        gray.par_chunks_mut(ACROSS).enumerate().for_each(|(row, gray)| {
            let soft = Gray { values: &soft, width: ACROSS, height: DOWN };
            for (column, gray) in gray.iter_mut().enumerate() {
                *gray = soft.blur_along_y(&blur, column, row);
            }
        });
        edges.par_chunks_mut(ACROSS).enumerate().for_each(|(row, edges)| {
            let gray = Gray { values: &gray, width: ACROSS, height: DOWN };
            for (column, edge) in edges.iter_mut().enumerate() {
                *edge = gray.edge(column, row);
            }
        });
    })
}
