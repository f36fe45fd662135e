//! Kernels that panic in every way, each followed by one that does not. Prints what the launches
//! return.

use schism::prelude::*;

fn report(what: &str, result: Result<(), schism::LaunchError>) {
    match result {
        Ok(()) => println!("{what}: ok"),
        Err(schism::LaunchError::Panicked(panic)) => {
            println!("{what}: panicked: {}", panic.message)
        }
        Err(error) => println!("{what}: {error}"),
    }
}

fn sound(queue: &Queue) {
    let mut out = Buffer::from_slice(queue, &[1_u32; 64]).unwrap();
    let to = out.view_mut();
    // SAFETY: in range, its own element.
    queue.parallel_for(64, move |item| unsafe { to.set_unchecked(item.x(), item.x() as u32) }).unwrap();
    assert_eq!(out.to_vec(), (0..64).collect::<Vec<u32>>());
}

fn main() {
    let queue = Queue::new().unwrap();
    let data = Buffer::from_slice(&queue, &[0_u32; 8]).unwrap();
    let zeros = data.view();

    report(
        "bounds",
        queue.parallel_for(100, move |item| {
            std::hint::black_box(zeros[item.x()]);
        }),
    );
    sound(&queue);
    report(
        "division",
        queue.parallel_for(8, move |item| {
            std::hint::black_box(7 / zeros[item.x()]);
        }),
    );
    sound(&queue);
    report(
        "unwrap",
        queue.parallel_for(8, move |item| {
            std::hint::black_box(Some(item.x()).filter(|x| *x != 5).unwrap());
        }),
    );
    sound(&queue);
    report(
        "message",
        queue.parallel_for(8, move |item| {
            if item.x() == 3 {
                panic!("said by the kernel");
            }
        }),
    );
    sound(&queue);
    report("assert", queue.parallel_for(8, move |item| assert!(item.x() < 7)));
    sound(&queue);
    report("every item", queue.parallel_for([100, 100], |_| panic!("all of them")));
    sound(&queue);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let queue = queue.clone();
            std::thread::spawn(move || {
                queue.parallel_for(1000, move |item| assert!(item.x() != 10 * number)).is_err()
            })
        })
        .collect();
    let errors = threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|error| *error);
    println!("threads: {} errors", errors.count());
    sound(&queue);
    println!("alive");
}
