//! What a work-item has stored when it panics, on every device: what the same function has stored
//! on the host.

use std::panic::{AssertUnwindSafe, catch_unwind};

use schism::{DeviceKind, LaunchError};
use schism::prelude::*;

/// The memory of a work-item.
type Memory = [u32; 40];

fn opaque<T>(x: T) -> T {
    std::hint::black_box(x)
}

#[inline(never)]
fn set(o: &mut Memory, v: &[u32], x: usize) {
    o[0] = 9;
    o[0] = v[x];
}

/// Its own function on every device.
fn deep(o: &mut Memory, v: &[u32], x: usize, left: usize) -> u32 {
    o[1] = left as u32;
    if left == 0 {
        o[0] = 9;
        o[0] = v[x];
        return o[0];
    }
    let below = deep(o, v, x, left - 1).wrapping_mul(left as u32);
    o[1] = below;
    below
}

fn element(v: &[u32], x: usize) -> u32 {
    match x {
        0..4 => element(v, x + 100),
        _ => v[x],
    }
}

/// Its own memory is not the caller's before it returns.
fn filled(v: &[u32]) -> Memory {
    let mut all = [7; 40];
    for (i, one) in all.iter_mut().enumerate() {
        *one = v[i];
    }
    all
}

#[inline(never)]
fn both(a: &mut [u32], b: &mut [u32], v: &[u32], x: usize) {
    a[0] = 1;
    b[0] = 2;
    a[0] = v[x];
    b[0] = v[x + 1];
}

/// Stores when it is dropped.
struct Mark<'a>(&'a mut u32);

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        *self.0 = 77;
    }
}

#[inline(never)]
fn guarded(o: &mut Memory, v: &[u32], x: usize) {
    let (first, rest) = o.split_at_mut(1);
    let _mark = Mark(&mut first[0]);
    rest[0] = 5;
    rest[0] = v[x];
}

/// What a function leaves in memory that panics on the host.
fn on_host(f: &dyn Fn(&mut Memory)) -> Memory {
    let mut memory = [0; 40];
    assert!(catch_unwind(AssertUnwindSafe(|| f(&mut memory))).is_err());
    memory
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    // The slice has eight elements.
    let (n, x) = (5, opaque(8_usize));
    let numbers: Vec<u32> = (1..9).collect();
    let mut wrong = 0;
    for device in schism::Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let data = Buffer::from_slice(&queue, &numbers).expect("memory");
        let view = data.view();
        let mut check =
            |name: &str,
             f: &dyn Fn(&mut Memory),
             launch: &dyn Fn(&Queue, &mut Buffer<Memory>) -> Result<(), LaunchError>| {
                let expected = on_host(f);
                let mut out = Buffer::filled(&queue, n, [0_u32; 40]).expect("memory");
                let Err(LaunchError::Panicked(panic)) = launch(&queue, &mut out) else {
                    panic!("{name} does not panic on {device}")
                };
                let item = panic.work_item.expect("every device knows")[0];
                let found = out.to_vec()[item];
                if found != expected {
                    println!("{name} on {device}: {found:?} instead of {expected:?}");
                    wrong += 1;
                }
            };
        macro_rules! case {
            ($name:literal, |$o:ident, $v:ident, $x:ident| $body:expr) => {{
                let f = |$o: &mut Memory, $v: &[u32], $x: usize| $body;
                check($name, &|o| f(o, &numbers, x), &|queue, out| {
                    queue.for_each((out,), move |(o,)| f(o, &view, x))
                });
            }};
        }
        case!("a store before an index", |o, v, x| {
            o[0] = 9;
            o[0] = v[x];
        });
        case!("in a function", |o, v, x| set(o, v, x));
        // OpenCL has no recursion.
        if device.kind() != DeviceKind::OpenCl {
            case!("in a recursive function", |o, v, x| {
                o[2] = deep(o, v, x, x);
            });
            case!("before a recursive function", |o, v, x| {
                o[0] = 8;
                let mut own = [0; 40];
                o[0] = deep(&mut own, v, x, x);
            });
            case!("before a recursive function that reads", |o, v, x| {
                o[0] = 8;
                o[0] = element(v, x - 7);
            });
        }
        case!("through a pointer", |o, v, x| {
            let f: fn(&mut Memory, &[u32], usize) = if x > 100 { |o, _, _| o[0] = 1 } else { set };
            o[1] = 5;
            f(o, v, x);
            o[1] = 6;
        });
        case!("a message with values", |o, v, x| {
            o[0] = 3;
            if x > 7 {
                panic!("{x} and {v:?}");
            }
            o[0] = 4;
        });
        case!("a message without", |o, v, x| {
            o[0] = v[0];
            assert!(x < 8, "no");
            o[0] = 4;
        });
        case!("a sum in a loop", |o, v, x| {
            for i in 0..2 * x {
                o[0] += 1 + v[i];
            }
        });
        case!("a loop that stores twice", |o, v, x| {
            for i in 0..2 * x {
                o[i & 3] = i as u32 + 5;
                o[i & 3] = v[i];
            }
        });
        case!("a loop of calls", |o, v, x| {
            for i in 0..2 * x {
                o[0] += 1;
                o[1] ^= element(v, i + 4);
            }
        });
        case!("a loop that fills", |o, v, x| {
            for i in 0..40 {
                o[i] = 6;
                assert!(i < v.len() + x);
            }
        });
        case!("a loop over loaded indices", |o, v, x| {
            for i in 0..x {
                o[i] = 4;
                o[i] = v[v[i] as usize];
            }
        });
        case!("several indices in a row", |o, v, x| {
            o[0] = v[x - 3];
            o[1] = v[x - 2];
            o[2] = v[x - 1];
            o[3] = v[x];
            o[4] = v[x + 1];
        });
        case!("a large value", |o, v, x| {
            o[x] = 1;
            *o = filled(v);
        });
        case!("two places", |o, v, x| {
            let (a, b) = o.split_at_mut(x);
            both(a, b, v, x - 1);
        });
        case!("a division", |o, v, x| {
            o[0] = 2;
            o[0] = 7 / (x as u32 - v[7]);
        });
        // On the processors of the host kernels unwind; others end the work-item, and run no
        // destructors.
        let left = |o: &mut Memory| match device.name() {
            "native" | "cpu" => guarded(o, &numbers, x),
            _ => {
                o[1] = 5;
                panic!()
            }
        };
        check("a destructor", &left, &|queue, out| {
            queue.for_each((out,), move |(o,)| guarded(o, &view, x))
        });
        let f = |o: &mut Memory, v: &[u32], x: usize| {
            o[0] = 9;
            o[0] = v[x];
        };
        check("with work-groups", &|o| f(o, &numbers, x), &|queue, out| {
            let to = out.view_mut();
            let range = NdRange::new(n, n).expect("a range");
            queue.parallel_for(range, move |item| {
                item.barrier();
                // SAFETY: each work-item takes its own element, once.
                f(unsafe { to.get_unchecked_mut(item.global_linear_id()) }, &view, x);
            })
        });
    }
    assert_eq!(wrong, 0);
    println!("all stores are there");
}
