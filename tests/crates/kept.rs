//! Launches the kernels that it is asked for, from as many threads as it is asked for, and says
//! whether it had to compile. Compiled with `--cfg changed`, another kernel than `same` is another,
//! everything stands elsewhere, and there are more.

use schism::prelude::*;
use schism::{Error, Math};

#[cfg(changed)]
fn one_more(queue: &Queue) -> Result<u32, Error> {
    run(queue, move |item| item.x() as u32 / 3)
}

fn other(queue: &Queue) -> Result<u32, Error> {
    #[cfg(changed)]
    return run(queue, move |item| 5 * shared(item.x() as u32));
    #[cfg(not(changed))]
    run(queue, move |item| 4 * shared(item.x() as u32))
}

fn same(queue: &Queue) -> Result<u32, Error> {
    run(queue, move |item| shared(item.x() as u32) + u32::from(schism::is_device()))
}

fn panics(queue: &Queue) -> Result<u32, Error> {
    // One work-item alone: which of several comes first is up to the device.
    let table = [1, 2, 3];
    run(queue, move |item| table[if item.x() == 7 { 3 } else { item.x() % 3 }])
}

fn prints(queue: &Queue) -> Result<u32, Error> {
    run(queue, move |item| {
        if item.x() == 7 {
            schism::dprintln!("seven is {:?}", Some(item.x()));
        }
        1
    })
}

fn relaxed(queue: &Queue) -> Result<u32, Error> {
    run(&queue.with_math(Math::Relaxed), move |item| (item.x() as f32 * 2.0 + 1.0) as u32)
}

static FACTOR: SpecConst<u32> = SpecConst::new(2);

fn constant(queue: &Queue) -> Result<u32, Error> {
    run(&queue.with_constant(&FACTOR, 7), move |item| item.x() as u32 * FACTOR.get())
}

fn default_constant(queue: &Queue) -> Result<u32, Error> {
    run(queue, move |item| item.x() as u32 * FACTOR.get())
}

#[inline(never)]
fn shared(x: u32) -> u32 {
    (0..x % 50).fold(x, |sum, next| sum.wrapping_mul(3) ^ next)
}

/// The sum of what a kernel makes of the first numbers.
fn run(queue: &Queue, kernel: impl Fn(Item<1>) -> u32 + Send + Sync + Capture) -> Result<u32, Error> {
    let mut out = Buffer::filled(queue, 1000, 0_u32)?;
    queue.for_each_in(1000, &mut out, move |item, out| *out = kernel(item))?;
    Ok(out.to_vec().into_iter().fold(0, u32::wrapping_add))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads: usize = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(1);
    let names: Vec<String> = arguments.collect();
    let all = || {
        let queue = Queue::new().expect("a device");
        let results = names.iter().map(|name| {
            let result = match name.as_str() {
                "same" => same(&queue),
                "other" => other(&queue),
                "panics" => panics(&queue),
                "prints" => prints(&queue),
                "relaxed" => relaxed(&queue),
                "constant" => constant(&queue),
                "default-constant" => default_constant(&queue),
                #[cfg(changed)]
                "one-more" => one_more(&queue),
                _ => panic!("no kernel {name}"),
            };
            match result {
                Ok(sum) => format!("{name} {sum}"),
                Err(error) => format!("{name}: {error}"),
            }
        });
        results.collect::<Vec<_>>()
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(all)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    assert!(results.iter().all(|other| *other == results[0]), "{results:?}");
    println!("{}", results[0].join("\n"));
    // LLVM is opened only to compile.
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    println!("{}", if maps.contains("libLLVM") { "compiled" } else { "found" });
}
