//! Kernels that call functions of which they have no more than declarations. Prints what came of
//! each launch on every device.

use schism::prelude::*;
use schism::{DeviceKind, ImageError, LaunchError};

#[cfg(with_exporter)]
extern crate exporter as _;
#[cfg(with_between)]
extern crate between as _;
#[cfg(with_again)]
extern crate again as _;

#[repr(C)]
struct Pair {
    small: u8,
    large: u64,
}

unsafe extern "C" {
    #[cfg(not(mismatch))]
    fn exported_scale(x: f32, by: f32) -> f32;
    #[cfg(mismatch)]
    fn exported_scale(x: f32, by: u32) -> f32;
    fn exported_pair(pair: &Pair, at: usize) -> u64;
    fn exported_half() -> bool;
    fn exported_twice(x: f32) -> f32;
}

unsafe extern "C-unwind" {
    fn exported_number(at: usize) -> u32;
}

schism::import_to_device!(exported_scale, exported_pair, exported_number);
schism::import_to_device!(exported_half, exported_twice);

#[cfg(not(mismatch))]
fn scale(x: f32) -> f32 {
    // SAFETY: safe Rust, with this type.
    unsafe { exported_scale(x, 1.5) }
}

#[cfg(mismatch)]
fn scale(x: f32) -> f32 {
    // SAFETY: not so: the type is another, and no such launch may happen.
    unsafe { exported_scale(x, 1) }
}

fn pair(at: usize) -> u64 {
    let pair = Pair { small: at as u8, large: 0x0123_4567_89AB_CDEF };
    // SAFETY: safe Rust, with this type.
    unsafe { exported_pair(&pair, at) }
}

fn said(name: &str, outcome: Result<bool, LaunchError>) {
    match outcome {
        Ok(right) => println!("{name}: {}", if right { "right" } else { "wrong" }),
        Err(LaunchError::Image { cause, .. }) => match &*cause {
            ImageError::MissingImport { symbol } => println!("{name}: missing {symbol}: {cause}"),
            ImageError::AmbiguousImport { crates, .. } => println!("{name}: several {crates}: {cause}"),
            ImageError::Compile { code, .. } => println!("{name}: code {code}: {cause}"),
            other => println!("{name}: other: {other}"),
        },
        Err(LaunchError::Panicked(panic)) => println!("{name}: panicked: {panic}"),
        Err(other) => println!("{name}: error: {other}"),
    }
}

fn run(queue: &Queue, kind: DeviceKind) -> Result<(), schism::Error> {
    let mut floats = Buffer::filled(queue, 100, 0.0_f32)?;
    let outcome = queue.for_each((0.., &mut floats), |(i, out)| *out = scale(i as f32));
    let expected = if cfg!(mismatch) { Vec::new() } else { (0..100).map(|i| scale(i as f32)).collect() };
    said("scale", outcome.map(|()| floats.to_vec() == expected));

    let mut long = Buffer::filled(queue, 100, 0_u64)?;
    let outcome = queue.for_each((0.., &mut long), |(i, out)| *out = pair(i));
    let expected: Vec<u64> = (0..100).map(pair).collect();
    said("pair", outcome.map(|()| long.to_vec() == expected));

    let mut halves = Buffer::filled(queue, 10, 7_u32)?;
    // SAFETY: safe Rust, with this type.
    let outcome = queue.for_each(&mut halves, |out| *out = u32::from(unsafe { exported_half() }));
    let device = u32::from(kind != DeviceKind::Native);
    said("half", outcome.map(|()| halves.to_vec() == [device; 10]));

    #[cfg(with_between)]
    {
        // SAFETY: safe Rust, with this type.
        let twice = |x: f32| unsafe { exported_twice(x) };
        let outcome = queue.for_each((0.., &mut floats), move |(i, out)| *out = twice(i as f32));
        let expected: Vec<f32> = (0..100).map(|i| twice(i as f32)).collect();
        said("twice", outcome.map(|()| floats.to_vec() == expected));
    }

    // A kernel that imports nothing depends on no other crate.
    let outcome = queue.for_each((0.., &mut long), |(i, out)| *out = i as u64 * 3);
    said("own", outcome.map(|()| long.to_vec().iter().zip(0..).all(|(found, i)| *found == i * 3)));

    let mut numbers = Buffer::filled(queue, 8, 0_u32)?;
    // SAFETY: safe Rust, with this type.
    let outcome = queue.for_each((0.., &mut numbers), |(i, out)| *out = unsafe { exported_number(i) });
    said("number", outcome.map(|()| false));
    Ok(())
}

fn main() -> Result<(), schism::Error> {
    for device in Device::all() {
        println!("on {device}");
        run(&Queue::on(&device)?, device.kind())?;
    }
    Ok(())
}
