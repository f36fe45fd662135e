//! Kernels that the program launches and parallel iterators that may become some, over the same data.

use rayon::prelude::*;
use schism::directives::acc;
use schism::{Buffer, Queue};

const LEN: usize = 10_000;

/// The bits of a sine on the queue's device.
fn sine(queue: &Queue) -> Result<u64, schism::Error> {
    let mut sines = [0.7_f64; 100];
    queue.for_each(&mut sines, |x| *x = x.sin())?;
    Ok(sines[0].to_bits())
}

/// The sum of a row that a launch fills.
fn row(number: usize) -> Result<usize, schism::Error> {
    let mut row = vec![0; 100];
    Queue::new()?.for_each((0.., &mut row), move |(i, element)| *element = i ^ number)?;
    Ok(row.iter().sum())
}

/// A loop that a directive makes a kernel.
#[acc]
fn add_index(numbers: &mut [u64]) {
    #[acc(parallel, loop)]
    for i in 0..numbers.len() {
        numbers[i] += i as u64;
    }
}

fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let before = sine(&queue)?;

    // From a parallel iterator into launches: by a buffer, and in place.
    let mut squares: Vec<u64> = (0..LEN as u64).into_par_iter().map(|x| x * x % 1009).collect();
    let buffer = Buffer::from_slice(&queue, &squares)?;
    let mut result = Buffer::filled(&queue, LEN, 0_u64)?;
    queue.for_each((0.., &mut result, &buffer), |(i, to, x)| *to = 3 * x + i as u64)?;
    queue.for_each(&mut squares, |x| *x += 1)?;

    // From launches into parallel iterators: the vector, a copy of the buffer, and the buffer where
    // it is.
    println!("{}", squares.par_iter().sum::<u64>());
    println!("{}", result.to_vec().par_iter().filter(|x| *x % 2 == 0).count());
    let view = result.view();
    println!("{:?}", view.par_iter().max());
    let elements = view.as_slice();
    let pairs = (0..LEN / 2).into_par_iter().map(|i| elements[2 * i] ^ elements[LEN - 1 - i]);
    println!("{}", pairs.sum::<u64>());
    println!("{}", (0..LEN).into_par_iter().map(|i| view[i] / 3).sum::<u64>());

    // Kernels of a library, in the program and in its build script.
    println!("{} {}", kernels::cubes(1000)?.par_iter().sum::<u64>(), env!("CUBES"));

    // A parallel iterator in a launch, which each work-item runs as a loop, and launches in a
    // parallel iterator.
    let mut sums = Buffer::filled(&queue, 100, 0)?;
    queue.for_each((0.., &mut sums), |(i, sum)| *sum = (0..i).into_par_iter().sum::<usize>())?;
    println!("{}", sums.to_vec().par_iter().sum::<usize>());
    let rows: Result<Vec<usize>, _> = (0..50).into_par_iter().map(row).collect();
    println!("{:?}", rows?);

    add_index(&mut squares);
    println!("{}", squares.par_iter().sum::<u64>());

    // Errors are those of each.
    let error = queue.for_each((0.., &mut sums), |(i, _)| assert!(i != 7, "at {i}"));
    println!("{}", error.is_err_and(|error| error.to_string().contains("at 7")));
    let panics = || (0..LEN).into_par_iter().for_each(|i| assert!(i < LEN / 2, "beyond"));
    let caught = std::panic::catch_unwind(panics);
    println!("{:?}", caught.is_err_and(|payload| payload.downcast_ref() == Some(&"beyond")));

    // Functions such as `sin` are the host's in one, and schism's in the other, at any time.
    let sines: Vec<f64> = (0..LEN).into_par_iter().map(|i| (i as f64 / 7.0).sin()).collect();
    println!("{:x}", sines.iter().fold(0, |all, x| all ^ x.to_bits()));
    println!("{}", before == sine(&queue)?);
    Ok(())
}
