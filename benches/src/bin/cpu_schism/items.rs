//! Workloads whose work-items do not meet.

use schism::prelude::*;
use schism_bench::cpu::{
    ACROSS, BLOCKS, BODIES, COUNT, DOWN, HEIGHT, ROWS, STREAM, WIDTH, Workload, options, point,
    ray, sparse, spheres, table, units, weights, words,
};
use schism_bench::items::{black_scholes, escape, search, sha256, smooth, sparse_row, trace};
use schism_bench::{blur, image};
use schism_examples::blur::{Gray, luminance};
use schism_examples::gravity::disc;

use crate::workload;

/// Makes a workload's inputs, if it is one of these.
pub(crate) fn open(queue: &Queue, name: &str) -> Result<Option<Workload>, schism::Report> {
    let q = queue.clone();
    let filled = |count: usize| Buffer::filled(queue, count, 0.0_f32);
    let numbers = |count: usize| Buffer::filled(queue, count, 0_u32);
    Ok(match name {
        "launch_1" | "launch_million" => {
            let count = if name == "launch_1" { 1 } else { 1_000_000 };
            workload(numbers(count)?, move |values| q.for_each(values, |value| *value += 2))
        }
        "saxpy" => {
            let x = Buffer::from_slice(queue, &units(STREAM, 0))?;
            let a = std::hint::black_box(0.5_f32);
            workload(filled(STREAM)?, move |y| q.for_each((y, &x), move |(y, x)| *y += a * *x))
        }
        "triad" => {
            let b = Buffer::from_slice(queue, &units(STREAM, 0))?;
            let c = Buffer::from_slice(queue, &units(STREAM, 1))?;
            let scale = std::hint::black_box(3.0_f32);
            workload(filled(STREAM)?, move |a| {
                q.for_each((a, &b, &c), move |(a, b, c)| *a = *b + scale * *c)
            })
        }
        "mandelbrot" => workload(numbers(WIDTH * HEIGHT)?, move |out| {
            q.for_each((0.., out), |(index, out)| {
                let (x, y) = point(index);
                *out = escape(x, y);
            })
        }),
        "nbody" => {
            let bodies = disc(BODIES);
            let now = Buffer::from_slice(queue, &bodies)?;
            workload(Buffer::from_slice(queue, &bodies)?, move |out| {
                q.for_each((out, &now, whole(&now)), |(out, body, all)| *out = body.moved(all))
            })
        }
        "black_scholes" => {
            let [p, s, t] = options();
            let p = Buffer::from_slice(queue, &p)?;
            let s = Buffer::from_slice(queue, &s)?;
            let t = Buffer::from_slice(queue, &t)?;
            workload(Buffer::filled(queue, COUNT, [0.0_f32; 2])?, move |out| {
                q.for_each((out, &p, &s, &t), |(out, p, s, t)| *out = black_scholes(*p, *s, *t))
            })
        }
        "image_filter" => image_filter(queue)?,
        "convolution" => {
            let picture = Buffer::from_slice(queue, &units(WIDTH * HEIGHT, 0))?;
            let weights = weights();
            workload(filled(WIDTH * HEIGHT)?, move |out| {
                q.for_each((0.., out, whole(&picture)), move |(index, out, picture)| {
                    *out = smooth(index, WIDTH, HEIGHT, picture, &weights);
                })
            })
        }
        "ray_spheres" => {
            let spheres = Buffer::from_slice(queue, &spheres())?;
            workload(filled(WIDTH * HEIGHT)?, move |out| {
                q.for_each((0.., out, whole(&spheres)), move |(index, out, spheres)| {
                    let (x, y) = ray(index);
                    *out = trace(x, y, spheres);
                })
            })
        }
        "sha256" => workload(numbers(BLOCKS)?, move |out| {
            q.for_each((0.., out), |(index, out)| *out = sha256(index as u32))
        }),
        "spmv" => {
            let matrix = sparse();
            let starts = Buffer::from_slice(queue, &matrix.starts)?;
            let columns = Buffer::from_slice(queue, &matrix.columns)?;
            let values = Buffer::from_slice(queue, &matrix.values)?;
            let x = Buffer::from_slice(queue, &matrix.x)?;
            workload(filled(ROWS)?, move |out| {
                let inputs = (0.., out, whole(&starts), whole(&columns), whole(&values), whole(&x));
                q.for_each(inputs, |(row, out, starts, columns, values, x)| {
                    *out = sparse_row(row, starts, columns, values, x);
                })
            })
        }
        "binary_search" => {
            let keys = Buffer::from_slice(queue, &words())?;
            let table = Buffer::from_slice(queue, &table())?;
            workload(numbers(COUNT)?, move |out| {
                q.for_each((out, &keys, whole(&table)), |(out, key, table)| {
                    *out = search(table, *key);
                })
            })
        }
        _ => None,
    })
}

/// Gray, blurred along both axes, and its edges: one work-item for a pixel.
fn image_filter(queue: &Queue) -> Result<Option<Workload>, schism::Report> {
    let q = queue.clone();
    let (pixels, blur) = (Buffer::from_slice(queue, &image())?, blur());
    let mut gray = Buffer::filled(queue, ACROSS * DOWN, 0.0_f32)?;
    let mut soft = Buffer::filled(queue, ACROSS * DOWN, 0.0_f32)?;
    fn of(values: &[f32]) -> Gray<'_> {
        Gray { values, width: ACROSS, height: DOWN }
    }
    Ok(workload(Buffer::filled(queue, ACROSS * DOWN, [0_u8; 3])?, move |edges| {
        q.for_each((&mut gray, &pixels), |(gray, pixel)| *gray = luminance(*pixel))?;
        q.for_each((0.., &mut soft, whole(&gray)), move |(at, soft, gray)| {
            *soft = of(gray).blur_along_x(&blur, at % ACROSS, at / ACROSS);
        })?;
        q.for_each((0.., &mut gray, whole(&soft)), move |(at, gray, soft)| {
            *gray = of(soft).blur_along_y(&blur, at % ACROSS, at / ACROSS);
        })?;
        q.for_each((0.., edges, whole(&gray)), move |(at, edge, gray)| {
            *edge = of(gray).edge(at % ACROSS, at / ACROSS);
        })
    }))
}
