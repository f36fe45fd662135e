//! What `tests/opencl.rs` runs. The first argument says what:
//!
//! | argument | what |
//! |---|---|
//! | `run` | kernels on the device that `SCHISM_DEVICE` names, compared with the host |
//! | `device` | prints the error of that device, or its name |
//! | `names` | prints the names of the devices of OpenCL |
//! | `launch KIND` | launches a kernel that needs something, and prints the error, or `ok` |

use std::sync::atomic::{AtomicI16, AtomicU8, Ordering::Relaxed};

use schism::prelude::*;
use schism::{AtomicF32, Device, DeviceKind, Error, LaunchError, local};

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run"] => {
            let queue = Queue::new().expect("the device");
            plain(&queue);
            groups(&queue);
            negations(&queue);
            // A driver that has none of that size says so, and others are tested.
            if matches!(launch("sub-groups"), Err(Error::Launch(LaunchError::Image { .. }))) {
                eprintln!("{} has no sub-groups of 32 work-items", queue.device());
            } else {
                sub_groups(&queue);
            }
            atomics(&queue);
            wide_numbers(&queue);
            choices(&queue);
            sides(&queue);
            rows(&queue);
            shared_rows(&queue);
            chains(&queue);
            fills(&queue);
            panics(&queue);
            times(&queue);
            println!("opencl is as it should be");
        }
        ["device"] => match Device::default_device() {
            Ok(device) => println!("{}", device.name()),
            Err(error) => println!("{error}"),
        },
        ["names"] => {
            let all = Device::all();
            let opencl = all.iter().filter(|device| device.kind() == DeviceKind::OpenCl);
            println!("{:?}", opencl.map(Device::name).collect::<Vec<_>>());
        }
        ["launch", kind] => match launch(kind) {
            Ok(()) => println!("ok"),
            Err(error) => println!("{error}"),
        },
        _ => panic!("{arguments:?}"),
    }
}

fn launch(kind: &str) -> Result<(), Error> {
    let queue = Queue::new()?;
    let mut doubles = Buffer::filled(&queue, 64, 1.5_f64)?;
    let mut longs = Buffer::filled(&queue, 64, 1_u64)?;
    let mut words = Buffer::filled(&queue, 64, 1_u32)?;
    let launched = match kind {
        "plain" => {
            let to = words.view_mut();
            // SAFETY: each work-item writes its own element.
            queue.parallel_for(64, move |item| unsafe { to.set_unchecked(item.x(), 7) })
        }
        "doubles" => {
            let to = doubles.view_mut();
            queue.parallel_for(64, move |item| {
                let value = item.x() as f64 * 0.1;
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.x(), value) }
            })
        }
        "long-atomics" => {
            let sums = longs.atomic_view();
            queue.parallel_for(64, move |_| {
                sums[0].fetch_add(1, Relaxed);
            })
        }
        "sub-groups" => {
            let to = words.view_mut();
            queue.parallel_for(NdRange::new(64, 32).expect("even groups"), move |item| {
                let value = item.sub_group().shuffle_xor(item.x() as u32, 1);
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.x(), value) }
            })
        }
        "local-memory" => {
            let to = words.view_mut();
            let range = NdRange::new(64, 16).expect("even groups");
            queue.for_each_in(range, local::<u32>(4096), move |item, own| {
                own.set(item.local_x(), 3_u32);
                item.barrier();
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.x(), own.get(15 - item.local_x())) }
            })
        }
        "groups" => {
            let to = words.view_mut();
            queue.parallel_for(NdRange::new(64, 64).expect("even groups"), move |item| {
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.x(), item.local_x() as u32) }
            })
        }
        "twice" => {
            if let Err(first) = queue.for_each(&mut words, |word| *word = 7) {
                println!("{first}");
            }
            queue.for_each(&mut words, |word| *word = 8)
        }
        "clock" => queue.for_each(&mut longs, |long| *long = schism::device_clock()),
        "time" => queue.for_each(&mut longs, |long| *long = schism::device_time()),
        "recursion" => queue.for_each(&mut longs, |long| *long = ackermann(2, *long)),
        _ => panic!("{kind}"),
    };
    Ok(launched?)
}

fn ackermann(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

/// Without divisions and square roots of `f32`, which a driver may round otherwise.
fn plain(queue: &Queue) {
    for count in [1, 31, 1000, 100_000] {
        let from: Vec<f32> = (0..count).map(|i| i as f32 * 0.37).collect();
        let from = Buffer::from_slice(queue, &from).expect("memory");
        let mut to = Buffer::filled(queue, count, 0.0_f32).expect("memory");
        let (view, out) = (from.view(), to.view_mut());
        let kernel = move |i: usize, x: f32| x * 0.3 + x.sin() * i as f32;
        queue
            .parallel_for(count, move |item| {
                let i = item.x();
                // SAFETY: each work-item writes its own element.
                unsafe { out.set_unchecked(i, kernel(i, view[i])) }
            })
            .expect("it runs");
        let device = Device::by_name("cpu").expect("there is a compiler");
        let other = Queue::on(&device).expect("a queue");
        let same = Buffer::from_slice(&other, &from.to_vec()).expect("memory");
        let mut expected = Buffer::filled(&other, count, 0.0_f32).expect("memory");
        let (view, out) = (same.view(), expected.view_mut());
        other
            .parallel_for(count, move |item| {
                let i = item.x();
                // SAFETY: each work-item writes its own element.
                unsafe { out.set_unchecked(i, kernel(i, view[i])) }
            })
            .expect("it runs");
        let bits = |numbers: Vec<f32>| numbers.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(to.to_vec()), bits(expected.to_vec()), "{count} numbers as on `cpu`");
    }
}

fn groups(queue: &Queue) {
    let mut to = Buffer::filled(queue, 6 * 64, 0_u32).expect("memory");
    let out = to.view_mut();
    let range = NdRange::new(6 * 64, 64).expect("even groups");
    queue
        .for_each_in(range, local::<u32>(64), move |item, own| {
            own.set(item.local_x(), item.x() as u32);
            item.barrier();
            // SAFETY: each work-item writes its own element.
            unsafe { out.set_unchecked(item.x(), own.get(63 - item.local_x())) }
        })
        .expect("it runs");
    let expected: Vec<u32> = (0..6 * 64).map(|i| i / 64 * 64 + 63 - i % 64).collect();
    assert_eq!(to.to_vec(), expected);
}

/// Negated numbers that are needed after a barrier.
fn negations(queue: &Queue) {
    for [height, width] in [[1, 1], [1, 64], [4, 1], [8, 8], [3, 7]] {
        let count = height * width * 4;
        let from: Vec<(f32, f64)> = (0..count).map(|i| (i as f32, i as f64 * 0.5)).collect();
        let buffer = Buffer::from_slice(queue, &from).expect("memory");
        let mut to = Buffer::filled(queue, count, (0_f32, 0_f64, 0_f32)).expect("memory");
        let (view, out) = (buffer.view(), to.view_mut());
        let range = NdRange::new([2 * height, 2 * width], [height, width]).expect("even groups");
        queue
            .for_each_in(range, local::<f32>(64), move |item, own| {
                let l = item.local_linear_id();
                let at = item.group_linear_id() * item.group_size() + l;
                let (a, b) = view[at];
                let (less, fewer) = (-a, -b);
                own.set(l, a.abs() + 1.0);
                item.barrier();
                let other = -own.get(item.group_size() - 1 - l);
                item.barrier();
                // SAFETY: each work-item writes its own element.
                unsafe { out.set_unchecked(at, (less, fewer, other)) }
            })
            .expect("it runs");
        let size = height * width;
        let expected = from.iter().enumerate().map(|(at, &(a, b))| {
            let other = from[at / size * size + size - 1 - at % size].0;
            (-a, -b, -(other + 1.0))
        });
        assert_eq!(to.to_vec(), expected.collect::<Vec<_>>(), "{height} by {width}");
    }
}

fn sub_groups(queue: &Queue) {
    // In groups of two dimensions sub-groups go over rows.
    for [height, width] in [[1, 64], [8, 8], [5, 20], [3, 7]] {
        let count = height * width * 4;
        let mut to = Buffer::filled(queue, count, [0_u32; 3]).expect("memory");
        let out = to.view_mut();
        let range = NdRange::new([2 * height, 2 * width], [height, width]).expect("even groups");
        queue
            .parallel_for(range, move |item| {
                let place = item.local_linear_id() as u32;
                let sub_group = item.sub_group();
                let value = [
                    sub_group.shuffle(place, 0),
                    sub_group.reduce_add(place),
                    sub_group.ballot(place % 3 == 0),
                ];
                let at = item.group_linear_id() * item.group_size() + item.local_linear_id();
                // SAFETY: each work-item writes its own element.
                unsafe { out.set_unchecked(at, value) }
            })
            .expect("it runs");
        let size = height * width;
        for (at, found) in to.to_vec().into_iter().enumerate() {
            let first = at % size / 32 * 32;
            let lanes = first..size.min(first + 32);
            let bits = lanes.clone().filter(|lane| lane % 3 == 0);
            let ballot = bits.fold(0, |bits, lane| bits | 1 << (lane - first));
            let expected = [first as u32, lanes.sum::<usize>() as u32, ballot];
            assert_eq!(found, expected, "{height} by {width}: {at}");
        }
    }
}

fn atomics(queue: &Queue) {
    let mut bytes = Buffer::filled(queue, 8, 0_u8).expect("memory");
    let mut shorts = Buffer::filled(queue, 8, 0_i16).expect("memory");
    let mut floats = Buffer::filled(queue, 2, 0_f32).expect("memory");
    let (a, b, c) = (bytes.atomic_view(), shorts.atomic_view(), floats.atomic_view());
    queue
        .parallel_for(1000, move |item| {
            let i = item.x();
            let byte: &AtomicU8 = &a[i % 8];
            byte.fetch_add(1, Relaxed);
            let short: &AtomicI16 = &b[i % 8];
            short.fetch_min(-(i as i16), Relaxed);
            let float: &AtomicF32 = &c[i % 2];
            float.fetch_add(0.5, Relaxed);
        })
        .expect("it runs");
    assert_eq!(bytes.to_vec(), [125; 8]);
    assert_eq!(shorts.to_vec(), [-992, -993, -994, -995, -996, -997, -998, -999]);
    assert_eq!(floats.to_vec(), [250.0; 2]);
}

fn wide_numbers(queue: &Queue) {
    let numbers: Vec<[u64; 2]> = (0..200_u64)
        .map(|i| {
            let mixed = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            [mixed.rotate_left(i as u32), if i % 3 == 0 { 0 } else { mixed ^ i << 50 }]
        })
        .collect();
    let compute = |[low, high]: [u64; 2], by: usize| {
        let a = u128::from(low) | u128::from(high) << 64;
        let b = a.rotate_left(by as u32 % 128) >> (by % 100) | 1;
        let signed = a as i128 / (b as i128 | 2) ^ a as i128 % (b as i128 | 2);
        let sum = a.wrapping_mul(b) ^ (a / b) ^ (a % b) ^ signed as u128;
        let (product, lost) = a.overflowing_mul(b);
        let number = (a as f64) + (b as i128 as f32) as f64;
        let back = number as u128 ^ u128::from(lost) ^ product;
        let ends = u128::from(sum.leading_zeros() + sum.count_ones() + back.trailing_zeros());
        let chosen = match a >> 60 {
            0 => 1_u128,
            9 => 1 << 70,
            0x1_0000_0000_0000_0000.. => sum,
            other => other << 3,
        };
        let exact = match a {
            0 => 5,
            0x7F4A_7C15 => 6,
            0x9E37_79B9_7F4A_7C15_0000_0000_0000_0001 => 7,
            _ => u128::MAX,
        };
        let all = sum ^ back.swap_bytes() ^ ends ^ chosen ^ exact;
        [all as u64, (all >> 64) as u64]
    };
    let from = Buffer::from_slice(queue, &numbers).expect("memory");
    let mut to = Buffer::filled(queue, numbers.len(), [0_u64; 2]).expect("memory");
    let (view, out) = (from.view(), to.view_mut());
    queue
        .parallel_for(numbers.len(), move |item| {
            let i = item.x();
            // SAFETY: each work-item writes its own element.
            unsafe { out.set_unchecked(i, compute(view[i], i)) }
        })
        .expect("it runs");
    let expected: Vec<_> = numbers.iter().enumerate().map(|(i, &x)| compute(x, i)).collect();
    assert_eq!(to.to_vec(), expected);
}

trait Shape {
    fn area(&self, scale: u64) -> u64;
}

struct Square(u64);
struct Oblong(u64, u64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self, scale: u64) -> u64 {
        self.0 * self.0 * scale
    }
}

impl Shape for Oblong {
    #[inline(never)]
    fn area(&self, scale: u64) -> u64 {
        self.0 * self.1 + scale
    }
}

/// Calls through vtables, and through pointers to functions.
fn choices(queue: &Queue) {
    fn double(x: u64) -> u64 {
        x * 2
    }
    fn square(x: u64) -> u64 {
        x * x
    }
    let compute = |i: usize| {
        let (square_of, oblong) = (Square(i as u64), Oblong(i as u64, 7));
        let shapes: [&dyn Shape; 2] = [&square_of, &oblong];
        let functions: [fn(u64) -> u64; 2] = [double, square];
        let area = std::hint::black_box(shapes)[i % 2].area(3);
        std::hint::black_box(functions)[i / 2 % 2](area)
    };
    let mut to = Buffer::filled(queue, 100, 0_u64).expect("memory");
    let out = to.view_mut();
    queue
        .parallel_for(100, move |item| {
            // SAFETY: each work-item writes its own element.
            unsafe { out.set_unchecked(item.x(), compute(item.x())) }
        })
        .expect("it runs");
    assert_eq!(to.to_vec(), (0..100).map(compute).collect::<Vec<_>>());
}

/// Sides of a branch with control flow of their own, which leave numbers for what comes behind.
fn sides(queue: &Queue) {
    let own: Vec<u8> = (0..64_usize).map(|i| u8::from(i * i * 7 / 3 % 5 < 3)).collect();
    let compute = |i: usize, own: u8, table: &[u32], marks: &mut dyn FnMut()| {
        let (mut x, mut n, mut y) = (1_u32, table[(i + 1) % 3], table[i % 3]);
        if own != 0 {
            loop {
                if n & 1 == 1 {
                    x = x.wrapping_mul(y).wrapping_add(table[2]);
                }
                n >>= 1;
                y = y.wrapping_mul(y);
                if n == 0 {
                    break;
                }
            }
            (0, x)
        } else {
            if i >= 1009 {
                marks();
            }
            (3, table[0])
        }
    };
    let table = [4, 11, 5];
    let buffers = (Buffer::from_slice(queue, &own), Buffer::from_slice(queue, &table));
    let (owns, tables) = (buffers.0.expect("memory"), buffers.1.expect("memory"));
    let mut to = Buffer::filled(queue, 64, (9_u32, 9_u32)).expect("memory");
    let mut marked = Buffer::filled(queue, 64, 0_u32).expect("memory");
    let (out, marks) = (to.view_mut(), marked.view_mut());
    let (owns, tables) = (owns.view(), tables.view());
    queue
        .parallel_for(64, move |item| {
            let i = item.x();
            // SAFETY: each work-item writes its own elements.
            let mut mark = || unsafe { marks.set_unchecked(i % 64, 1) };
            let result = compute(i, owns[i], &tables, &mut mark);
            // SAFETY: as above.
            unsafe { out.set_unchecked(i, result) }
        })
        .expect("it runs");
    let expected: Vec<_> =
        own.iter().enumerate().map(|(i, &own)| compute(i, own, &table, &mut || ())).collect();
    assert_eq!(to.to_vec(), expected);
}

/// Rows of a sparse matrix, some of them empty: the sums are the host's, to the bit, and of several
/// columns that there are not, a row's first one is told.
fn rows(queue: &Queue) {
    let mut begins = vec![0_u32];
    for row in 0..1000_u32 {
        begins.push(begins[row as usize] + row * 7919 % 23 % 20);
    }
    let count = begins[1000] as usize;
    let mut columns: Vec<u32> = (0..count as u32).map(|at| at * 7907 % 500).collect();
    let values: Vec<f32> = (0..count).map(|at| (at % 97) as f32 / 7.0 - 5.0).collect();
    let x: Vec<f32> = (0..500).map(|at| (at % 89) as f32 / 3.0 - 11.0).collect();
    let multiply = |columns: &[u32], x: &[f32]| {
        let begins = Buffer::from_slice(queue, &begins).expect("memory");
        let columns = Buffer::from_slice(queue, columns).expect("memory");
        let values = Buffer::from_slice(queue, &values).expect("memory");
        let x = Buffer::from_slice(queue, x).expect("memory");
        let mut y = Buffer::filled(queue, 1000, 77.0_f32).expect("memory");
        let (begins, columns, values, x) = (begins.view(), columns.view(), values.view(), x.view());
        let launched = queue.for_each((&mut y, 0..1000), move |(y, row)| {
            let row = begins[row] as usize..begins[row + 1] as usize;
            let mut sum = 0.0;
            for (column, value) in columns[row.clone()].iter().zip(&values[row]) {
                sum += value * x[*column as usize];
            }
            *y = sum;
        });
        launched.map(|()| y.to_vec())
    };
    let found = multiply(&columns, &x).expect("it runs");
    let expected = begins.windows(2).map(|row| {
        let row = row[0] as usize..row[1] as usize;
        let terms = row.map(|at| values[at] * x[columns[at] as usize]);
        terms.fold(0.0, |sum: f32, term| sum + term)
    });
    let bits = |numbers: Vec<f32>| numbers.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected.collect()));
    let row = (0..1000).find(|&row| begins[row + 1] - begins[row] > 10).expect("a long row");
    let begin = begins[row] as usize;
    for (at, column) in [(2, 600), (4, u32::MAX), (5, 501), (9, 700)] {
        columns[begin + at] = column;
    }
    let told = |columns: &[u32], x: &[f32]| match multiply(columns, x) {
        Err(LaunchError::Panicked(panic)) => panic.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        told(&columns, &x),
        "index out of bounds: the len is 500 but the index is 600"
    );
    columns[begin + 2] = 3;
    let message = told(&columns, &x);
    assert_eq!(message, format!("index out of bounds: the len is 500 but the index is {}", u32::MAX));
    assert!(told(&columns, &[]).starts_with("index out of bounds: the len is 0 but the index is"));
}

/// Rows of a sparse matrix, each shared by 32 work-items that add up what they have: a column that there
/// is not is told with its work-item, though its group reaches the barrier before that.
fn shared_rows(queue: &Queue) {
    const LANES: usize = 32;
    let mut begins = vec![0_u32];
    for row in 0..64_u32 {
        begins.push(begins[row as usize] + row * 7919 % 97);
    }
    let count = begins[64] as usize;
    let mut columns: Vec<u32> = (0..count as u32).map(|at| at * 7907 % 500).collect();
    let values: Vec<f32> = (0..count).map(|at| (at % 97) as f32 / 7.0 - 5.0).collect();
    let x: Vec<f32> = (0..500).map(|at| (at % 89) as f32 / 3.0 - 11.0).collect();
    let range = NdRange::new(64 * LANES, 256).expect("even groups");
    let multiply = |begins: &[u32], columns: &[u32]| {
        let begins = Buffer::from_slice(queue, begins).expect("memory");
        let columns = Buffer::from_slice(queue, columns).expect("memory");
        let values = Buffer::from_slice(queue, &values).expect("memory");
        let x = Buffer::from_slice(queue, &x).expect("memory");
        let mut y = Buffer::filled(queue, 64, 77.0_f32).expect("memory");
        let (begins, columns, values, x) = (begins.view(), columns.view(), values.view(), x.view());
        let out = y.view_mut();
        let launched = queue.for_each_in(range, local::<f32>(256), move |item, sums| {
            let (place, row) = (item.local_x(), item.x() / LANES);
            let lane = place % LANES;
            let (begin, end) = (begins[row] as usize, begins[row + 1] as usize);
            let (columns, values) = (&columns[begin..end], &values[begin..end]);
            let mut sum = 0.0;
            let mut k = lane;
            while k < columns.len() {
                sum += values[k] * x[columns[k] as usize];
                k += LANES;
            }
            sums.set(place, sum);
            item.barrier();
            let mut half = LANES / 2;
            while half > 0 {
                if lane < half {
                    sums.set(place, sums.get(place) + sums.get(place + half));
                }
                item.barrier();
                half /= 2;
            }
            if lane == 0 {
                // SAFETY: one of the work-items of each row writes its element.
                unsafe { out.set_unchecked(row, sums.get(place)) }
            }
        });
        launched.map(|()| y.to_vec())
    };
    let expected: Vec<f32> = begins
        .windows(2)
        .map(|row| {
            let mut sums = [0.0_f32; LANES];
            for (place, at) in (row[0] as usize..row[1] as usize).enumerate() {
                sums[place % LANES] += values[at] * x[columns[at] as usize];
            }
            for half in [16, 8, 4, 2, 1] {
                (0..half).for_each(|lane| sums[lane] += sums[lane + half]);
            }
            sums[0]
        })
        .collect();
    let bits = |numbers: &[f32]| numbers.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
    let works = |columns: &[u32]| {
        assert_eq!(bits(&multiply(&begins, columns).expect("it runs")), bits(&expected));
    };
    works(&columns);
    let row = (8..64).find(|&row| begins[row + 1] - begins[row] > 70).expect("a long row");
    let at = begins[row] as usize + 33;
    let old = std::mem::replace(&mut columns[at], 501);
    let Err(LaunchError::Panicked(panic)) = multiply(&begins, &columns) else { panic!("it ran") };
    assert_eq!(panic.message, "index out of bounds: the len is 500 but the index is 501");
    assert_eq!(panic.work_item, Some(vec![row * LANES + 1]));
    columns[at] = old;
    works(&columns);
    let mut wrong = begins.clone();
    wrong[row + 1] = count as u32 + 1;
    let Err(LaunchError::Panicked(panic)) = multiply(&wrong, &columns) else { panic!("it ran") };
    assert!(panic.message.starts_with("range end index"), "{}", panic.message);
    works(&columns);
}

/// Each work-item follows what another one of its group has found, twice: a check before each
/// barrier, and one behind the last.
fn chains(queue: &Queue) {
    let next: Vec<u32> = (0..300).map(|at| (at * 37 + 11) % 300).collect();
    let range = NdRange::new(256, 64).expect("even groups");
    let follow = |next: &[u32]| {
        let next = Buffer::from_slice(queue, next).expect("memory");
        let mut to = Buffer::filled(queue, 256, 0_u32).expect("memory");
        let (next, out) = (next.view(), to.view_mut());
        let launched = queue.for_each_in(range, local::<u32>(64), move |item, found| {
            let (place, other) = (item.local_x(), 63 - item.local_x());
            let first = next[item.x()];
            found.set(place, first);
            item.barrier();
            let second = next[found.get(other) as usize];
            item.barrier();
            found.set(place, second + first);
            item.barrier();
            let third = next[(found.get(other) - first % 2) as usize % 300];
            // SAFETY: each work-item writes its own element.
            unsafe { out.set_unchecked(item.x(), third) }
        });
        launched.map(|()| to.to_vec())
    };
    let expected = |at: usize| {
        let other = |at: usize| at / 64 * 64 + 63 - at % 64;
        let second = |at: usize| next[next[other(at)] as usize] + next[at];
        next[(second(other(at)) - next[at] % 2) as usize % 300]
    };
    assert_eq!(follow(&next).expect("it runs"), (0..256).map(expected).collect::<Vec<u32>>());
    for (at, wrong) in [(70, 300), (70, 1000)] {
        let mut next = next.clone();
        next[at] = wrong;
        let Err(LaunchError::Panicked(panic)) = follow(&next) else { panic!("it ran") };
        let message = format!("index out of bounds: the len is 300 but the index is {wrong}");
        assert_eq!(panic.message, message);
    }
}

/// Arrays that are filled and moved within themselves.
fn fills(queue: &Queue) {
    let compute = |i: usize| {
        let mut bytes = [0_u8; 100];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (at * i) as u8;
        }
        let (length, by) = (i % 60, i % 37);
        std::hint::black_box(&mut bytes).copy_within(by..by + length, i % 40);
        std::hint::black_box(&mut bytes)[i % 50..i % 50 + length / 2].fill(i as u8);
        bytes.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte))
    };
    let mut to = Buffer::filled(queue, 300, 0_u64).expect("memory");
    let out = to.view_mut();
    queue
        .parallel_for(300, move |item| {
            // SAFETY: each work-item writes its own element.
            unsafe { out.set_unchecked(item.x(), compute(item.x())) }
        })
        .expect("it runs");
    assert_eq!(to.to_vec(), (0..300).map(compute).collect::<Vec<_>>());
}

fn panics(queue: &Queue) {
    let error = queue.parallel_for(100, |item| assert!(item.x() != 77, "not {}", item.x()));
    let Err(LaunchError::Panicked(panic)) = error else { panic!("{error:?}") };
    assert_eq!((panic.message.as_str(), panic.work_item), ("not 77", Some(vec![77])));
    assert_eq!(panic.device, queue.device().name());
    let few = Buffer::filled(queue, 5, 0_u32).expect("memory");
    let view = few.view();
    let error = queue.parallel_for(6, move |item| {
        std::hint::black_box(view[item.x()]);
    });
    let Err(LaunchError::Panicked(panic)) = error else { panic!("{error:?}") };
    assert_eq!(panic.message, "index out of bounds: the len is 5 but the index is 5");
    // Before a barrier, all work-items panic, and what is not there is not loaded.
    let mut to = Buffer::filled(queue, 64, 0_u32).expect("memory");
    let (out, at) = (to.view_mut(), std::hint::black_box(1 << 40));
    let range = NdRange::new(64, 16).expect("even groups");
    let error = queue.for_each_in(range, local::<u32>(16), move |item, own| {
        let value = view[at];
        own.set(item.local_x(), 3_u32);
        item.barrier();
        // SAFETY: each work-item writes its own element.
        unsafe { out.set_unchecked(item.x(), value + own.get(15 - item.local_x())) }
    });
    let Err(LaunchError::Panicked(panic)) = error else { panic!("{error:?}") };
    assert_eq!(panic.message, format!("index out of bounds: the len is 5 but the index is {at}"));
    // The device continues.
    plain(queue);
}

fn times(queue: &Queue) {
    let mut to = Buffer::filled(queue, 1 << 16, 0_u32).expect("memory");
    let out = to.view_mut();
    let timed = queue.with_timing();
    let duration = timed.scope(|scope| {
        // SAFETY: each work-item writes its own element.
        let kernel = move |item: schism::Item<1>| unsafe { out.set_unchecked(item.x(), 1) };
        let event = scope.parallel_for(1 << 16, kernel)?;
        event.wait()?;
        Ok(event.duration())
    });
    assert!(duration.expect("it runs").is_some(), "the driver says how long it ran");
    assert_eq!(to.to_vec(), vec![1; 1 << 16]);
}
