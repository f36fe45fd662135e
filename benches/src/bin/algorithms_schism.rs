//! schism's algorithms on the default device.

use schism::algorithms::{self, Function, RadixKey};
use schism::prelude::*;
use schism_bench::algorithms::{Number, any, checksum, measure, places, sizes, small};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new()?;
    println!("device: {}, {}", queue.device().name(), queue.device().description());
    for log2 in sizes()? {
        sums::<u32>(&queue, log2, u32::wrapping_add)?;
        sums::<f32>(&queue, log2, |a, b| a + b)?;
        sums::<f64>(&queue, log2, |a, b| a + b)?;
        filter(&queue, log2)?;
        sorts::<u32>(&queue, log2)?;
        sorts::<u64>(&queue, log2)?;
        sorts::<f32>(&queue, log2)?;
        sorts::<f64>(&queue, log2)?;
        comparison_sort(&queue, log2)?;
    }
    Ok(())
}

/// The checksum of what is in a buffer.
fn of<T: Number + Element>(buffer: &Buffer<T>) -> u64 {
    checksum(&buffer.to_vec())
}

fn sums<T: Number + Element>(
    queue: &Queue,
    log2: u32,
    add: impl Fn(T, T) -> T + Function,
) -> Result<(), schism::Error> {
    let input = Buffer::from_slice(queue, &small::<T>(log2))?;
    measure(
        &format!("scan_{}", T::NAME),
        log2,
        Buffer::filled(queue, input.len(), T::default())?,
        |_| (),
        |output| algorithms::inclusive_scan(queue, &input, output, add).expect("a launch"),
        of,
    );
    measure(
        &format!("reduce_{}", T::NAME),
        log2,
        T::default(),
        |_| (),
        |sum| *sum = algorithms::reduce(queue, &input, T::default(), add).expect("a launch"),
        |sum| sum.bits(),
    );
    Ok(())
}

fn filter(queue: &Queue, log2: u32) -> Result<(), schism::Error> {
    let input = Buffer::from_slice(queue, &any::<u32>(log2))?;
    let is_even = |own: &u32| own.is_multiple_of(2);
    measure(
        "copy_if_u32",
        log2,
        (Buffer::filled(queue, input.len(), 0_u32)?, 0),
        |_| (),
        |(output, count)| {
            *count = algorithms::copy_if(queue, &input, output, is_even).expect("a launch");
        },
        |(output, count)| checksum(&output.to_vec()[..*count]),
    );
    Ok(())
}

fn sorts<T: Number + RadixKey>(queue: &Queue, log2: u32) -> Result<(), schism::Error> {
    let input = Buffer::from_slice(queue, &any::<T>(log2))?;
    measure(
        &format!("sort_{}", T::NAME),
        log2,
        Buffer::filled(queue, input.len(), T::default())?,
        |keys| keys.copy_from(&input).expect("as long"),
        |keys| algorithms::radix_sort(queue, keys).expect("a launch"),
        of,
    );
    let places = Buffer::from_slice(queue, &places(log2))?;
    let buffers =
        (Buffer::filled(queue, input.len(), T::default())?, Buffer::filled(queue, input.len(), 0)?);
    measure(
        &format!("sort_pairs_{}", T::NAME),
        log2,
        buffers,
        |(keys, values)| {
            keys.copy_from(&input).expect("as long");
            values.copy_from(&places).expect("as long");
        },
        |(keys, values)| algorithms::radix_sort_pairs(queue, keys, values).expect("a launch"),
        |(_, values)| of(values),
    );
    Ok(())
}

fn comparison_sort(queue: &Queue, log2: u32) -> Result<(), schism::Error> {
    let input = Buffer::from_slice(queue, &any::<u32>(log2))?;
    measure(
        "stable_sort_u32",
        log2,
        Buffer::filled(queue, input.len(), 0)?,
        |keys| keys.copy_from(&input).expect("as long"),
        |keys| algorithms::stable_sort(queue, keys, u32::cmp).expect("a launch"),
        of,
    );
    Ok(())
}
