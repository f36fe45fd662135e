//! Several threads, several queues, several launches at once.

use std::thread;

use schism::prelude::*;

fn queue() -> Queue {
    Queue::new().expect("a device")
}

#[test]
fn threads_share_a_queue() {
    let queue = &queue();
    thread::scope(|scope| {
        for thread in 0..8_u32 {
            scope.spawn(move || {
                for round in 0..50 {
                    let n = 1000 * (1 + round % 40);
                    let mut data = Buffer::filled(queue, n, thread).expect("memory");
                    queue.for_each((0.., &mut data), |(i, x)| *x += i as u32).expect("a launch");
                    assert!(data.to_vec().iter().enumerate().all(|(i, x)| *x == thread + i as u32));
                }
            });
        }
    });
}

#[test]
fn every_thread_has_a_queue() {
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let queue = queue();
                let mut sums = Buffer::filled(&queue, 1, 0_u64).expect("memory");
                for _ in 0..20 {
                    let sum = sums.atomic_view();
                    queue
                        .parallel_for([100, 100], move |item| {
                            sum[0].fetch_add(
                                item.linear_id() as u64,
                                std::sync::atomic::Ordering::Relaxed,
                            );
                        })
                        .expect("a launch");
                }
                assert_eq!(sums.to_vec(), [20 * 49_995_000]);
            });
        }
    });
}

/// Launches of a scope follow one another, each with all effects of those before.
#[test]
fn a_scope_is_in_order() {
    let queue = queue();
    let n = 20_000;
    let mut data = Buffer::filled(&queue, n, 0_u64).expect("memory");
    let mut copy = Buffer::filled(&queue, n, 0_u64).expect("memory");
    let rounds = 200;
    queue
        .scope(|scope| {
            let (mut data, mut copy) = (scope.lend(&mut data), scope.lend(&mut copy));
            for round in 0..rounds {
                scope.for_each(&mut data, move |x| *x = x.wrapping_mul(3).wrapping_add(round))?;
                // Each element comes from another place, so that order between threads matters.
                scope.for_each((0.., &mut copy, data.whole()), |(i, to, data)| {
                    *to = data[data.len() - 1 - i];
                })?;
                scope.for_each((data.chunks_mut(7), copy.chunks(7)), |(data, copy)| {
                    data.copy_from_slice(copy);
                    data[0] = data[0].wrapping_add(1);
                })?;
            }
            Ok(())
        })
        .expect("launches");
    let mut expected = vec![0_u64; n];
    for round in 0..rounds {
        expected.iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(round));
        expected.reverse();
        expected.iter_mut().step_by(7).for_each(|x| *x = x.wrapping_add(1));
    }
    assert!(data.to_vec() == expected);
}

/// A blocking launch takes its turn after what was submitted before it.
#[test]
fn blocking_launches_take_their_turn() {
    let queue = queue();
    let n = 100_000;
    let mut sums = Buffer::filled(&queue, 1, 0_u64).expect("memory");
    for _ in 0..20 {
        let sum = sums.atomic_view();
        let add = move |item: Item<1>| {
            sum[0].fetch_add(item.x() as u64, std::sync::atomic::Ordering::Relaxed);
        };
        queue
            .scope(|scope| {
                let submitted = scope.parallel_for(n, add)?;
                queue.parallel_for(n, add)?;
                assert!(submitted.is_complete());
                Ok(())
            })
            .expect("launches");
    }
    assert_eq!(sums.to_vec(), [40 * (n as u64 - 1) * n as u64 / 2]);
}
