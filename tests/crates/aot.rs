//! Launches of every kind, and what came of each, on its own line. Which code ran them is
//! `aot.rs`'s to know.

use schism::prelude::*;
use schism::{DeviceError, Error, LaunchError, Math};

static SCALE: SpecConst<f32> = SpecConst::new(0.5);
static STEPS: SpecConst<u32> = SpecConst::new(3);

/// Waits in the pool of constants that only the other kernel reads.
static OTHER: SpecConst<[u16; 3]> = SpecConst::new([1, 2, 3]);

/// A kernel over elements, with calls of the mathematics library. A remainder has one result in all
/// libraries; sines have not, and only their signs get into the sum, where zeros have none.
fn elements(queue: &Queue) -> Result<u64, Error> {
    let x: Vec<f32> = (0..10_007).map(|i| i as f32 * 0.37).collect();
    let input = Buffer::from_slice(queue, &x)?;
    let mut out = Buffer::filled(queue, x.len(), 0.0_f32)?;
    let a = 1.25;
    queue.for_each((&mut out, &input), move |(out, x)| {
        *out = a * (x % 0.75) + x.sqrt() + 0.0 * x.sin();
    })?;
    Ok(bits(&out.to_vec()))
}

/// Three dimensions, atomics, integers of 128 bits.
fn wide(queue: &Queue) -> Result<u64, Error> {
    let out = Buffer::filled(queue, 3 * 5 * 7, 0_u64)?;
    let mut out = out;
    let to = out.view_mut();
    queue.parallel_for([3, 5, 7], move |item| {
        let [z, y, x] = item.id();
        let product = (z as u128 + 1) * (y as u128 + (1 << 70)) / (x as u128 + 1);
        // SAFETY: each work-item has its own element.
        unsafe { to.set_unchecked(item.linear_id(), (product >> 3) as u64) }
    })?;
    Ok(out.to_vec().iter().fold(0, |sum, value| sum.rotate_left(5) ^ value))
}

/// A launch that may begin elsewhere.
fn shifted(queue: &Queue, begin: usize) -> Result<u64, Error> {
    let mut out = Buffer::filled(queue, 100, 0_u32)?;
    let to = out.view_mut();
    queue.parallel_for(begin..begin + 50, move |item| {
        // SAFETY: each work-item has its own element.
        unsafe { to.set_unchecked(item.x(), item.x() as u32 * 3 + 1) }
    })?;
    Ok(out.to_vec().iter().fold(0, |sum, value| sum * 7 % 1_000_003 + u64::from(*value)))
}

/// Work-groups that wait for each other, with local memory.
fn groups(queue: &Queue) -> Result<u64, Error> {
    let mut out = Buffer::filled(queue, 64, 0_u32)?;
    let to = out.view_mut();
    let range = NdRange::new(64 * 8, 8)?;
    queue.for_each_in(range, local::<u32>(8), move |item, tile| {
        let i = item.local_x();
        tile.set(i, item.x() as u32);
        item.barrier();
        if i == 0 {
            let sum = (0..8).map(|at| tile.get(at)).sum();
            // SAFETY: one work-item of each group has the group's element.
            unsafe { to.set_unchecked(item.group_x(), sum) }
        }
    })?;
    Ok(out.to_vec().iter().fold(0, |sum, value| sum * 3 % 1_000_003 + u64::from(*value)))
}

/// Reads constants in a loop and in a function.
fn constants(queue: &Queue) -> Result<u64, Error> {
    #[inline(never)]
    fn scaled(x: f32) -> f32 {
        x * SCALE.get()
    }
    let mut out = Buffer::filled(queue, 1000, 0.0_f32)?;
    queue.for_each((0.., &mut out), |(i, out)| {
        let mut value = i as f32;
        for _ in 0..STEPS.get() {
            value = scaled(value) + 1.0;
        }
        *out = value;
    })?;
    Ok(bits(&out.to_vec()))
}

/// A constant of another type.
fn other_constant(queue: &Queue) -> Result<u64, Error> {
    let mut out = Buffer::filled(queue, 30, 0_u32)?;
    queue.for_each((0.., &mut out), |(i, out)| *out = u32::from(OTHER.get()[i % 3]) * i as u32)?;
    Ok(out.to_vec().iter().map(|value| u64::from(*value)).sum())
}

fn panics(queue: &Queue) -> Result<u64, Error> {
    let table = [1_u32, 2, 3];
    let index = Buffer::from_slice(queue, &[0_usize, 2, 7])?;
    let mut out = Buffer::filled(queue, 3, 0_u32)?;
    queue.for_each((&mut out, &index), move |(out, index)| *out = table[*index])?;
    Ok(out.to_vec().iter().map(|value| u64::from(*value)).sum())
}

fn prints(queue: &Queue) -> Result<u64, Error> {
    queue.parallel_for(3, |item| {
        if item.x() == 1 {
            schism::dprintln!("work-item {} of {:?}", item.x(), Some(2.5_f32));
        }
    })?;
    Ok(0)
}

fn bits(numbers: &[f32]) -> u64 {
    numbers.iter().fold(0, |sum, number| sum.rotate_left(7) ^ u64::from(number.to_bits()))
}

fn main() {
    let queue = match Queue::new() {
        Ok(queue) => queue,
        Err(error @ DeviceError::Stage2 { .. }) => return println!("no compiler: {error}"),
        Err(error) => return println!("no device: {error}"),
    };
    eprintln!("{}: {}", queue.device(), queue.device().description());
    let tell = |name: &str, result: Result<u64, Error>| match result {
        Ok(value) => println!("{name} {value:x}"),
        Err(Error::Launch(LaunchError::Panicked(panic))) => {
            let place = panic.location.as_deref().unwrap_or_default();
            let place = place.rsplit('/').next().unwrap_or_default();
            println!("{name} {} at {place} in {:?}", panic.message, panic.work_item);
        }
        Err(error) => println!("{name}: {error}"),
    };
    tell("elements", elements(&queue));
    tell("wide", wide(&queue));
    tell("shifted by 0", shifted(&queue, 0));
    tell("shifted by 50", shifted(&queue, 50));
    tell("groups", groups(&queue));
    tell("default constants", constants(&queue));
    tell("constants", constants(&queue.with_constant(&SCALE, 0.75).with_constant(&STEPS, 9)));
    tell("one constant", constants(&queue.with_constant(&STEPS, 0)));
    tell("other constant", other_constant(&queue.with_constant(&OTHER, [7, 8, 9])));
    tell("panics", panics(&queue));
    tell("prints", prints(&queue));
    // Of relaxed mathematics only that there is some.
    let relaxed = queue.with_math(Math::Relaxed);
    println!("relaxed {}", if elements(&relaxed).is_ok() { "runs" } else { "does not run" });
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    println!("{}", if maps.contains("libLLVM") { "compiled" } else { "not compiled" });
}
