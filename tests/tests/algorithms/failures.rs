//! Lengths that do not fit, closures that panic, orders that are none.

use std::cmp::Ordering;

use schism::algorithms;
use schism::prelude::*;

use crate::{on_every_device, values};

/// What a launch says of the operand `source_index`, which has another length than it should have.
fn is_length<R>(result: Result<R, LaunchError>, index: usize, [needed, has]: [usize; 2]) -> bool {
    matches!(
        result,
        Err(LaunchError::Length { source_index, expected, found })
            if (source_index, expected, found) == (index, needed, has)
    )
}

#[test]
fn lengths_that_differ_are_errors() {
    on_every_device(|queue| {
        let (a, b, mut out) = ([1, 2, 3], [4, 5], [0; 2]);
        let add = |a: i32, b: i32| a + b;
        assert!(is_length(algorithms::inclusive_scan(queue, &a, &mut out, add), 1, [3, 2]));
        assert!(is_length(algorithms::exclusive_scan(queue, &a, &mut out, 0, add), 1, [3, 2]));
        assert!(is_length(algorithms::adjacent_difference(queue, &a, &mut out, add), 1, [3, 2]));
        let dot = algorithms::transform_reduce_zip(queue, &a, &b, 0, add, add);
        assert!(is_length(dot, 1, [3, 2]));
        assert!(is_length(algorithms::transform(queue, &a, &mut out, |x| x), 1, [3, 2]));
        assert!(is_length(algorithms::transform_zip(queue, &a, &a, &mut out, add), 2, [3, 2]));
        assert!(is_length(algorithms::transform_zip(queue, &a, &b, &mut out, add), 1, [3, 2]));
        assert!(is_length(algorithms::copy(queue, &a, &mut out), 1, [3, 2]));
        assert!(is_length(algorithms::swap_ranges(queue, &mut a.clone(), &mut out), 1, [3, 2]));
        assert!(is_length(algorithms::reverse_copy(queue, &a, &mut out), 1, [3, 2]));
        assert!(is_length(algorithms::rotate_copy(queue, &a, 0, &mut out), 1, [3, 2]));
        assert!(is_length(algorithms::merge(queue, &a, &b, &mut out, i32::cmp), 2, [5, 2]));
        assert!(is_length(algorithms::merge(queue, &a, &b, &mut [0; 6], i32::cmp), 2, [5, 6]));
        let sorted = algorithms::sort_pairs(queue, &mut a.clone(), &mut out, i32::cmp);
        assert!(is_length(sorted, 1, [3, 2]));
        let sorted = algorithms::radix_sort_pairs(queue, &mut a.clone(), &mut out);
        assert!(is_length(sorted, 1, [3, 2]));
        assert_eq!(out, [0; 2], "nothing was written");
    });
}

#[test]
fn outputs_without_room_are_errors_and_stay_as_they_are() {
    on_every_device(|queue| {
        let data = values::<i32>(5000, 1);
        let mut out = vec![-1; 4999];
        assert!(is_length(algorithms::copy_if(queue, &data, &mut out, |_| true), 1, [5000, 4999]));
        let all = algorithms::unique_copy(queue, &data, &mut out, |_, _| false);
        assert!(is_length(all, 1, [5000, 4999]));
        let (a, b) = ([1, 2, 3], [4]);
        let union = algorithms::set_union(queue, &a, &b, &mut out[..3], i32::cmp);
        assert!(is_length(union, 2, [4, 3]));
        assert_eq!(out, [-1; 4999], "nothing was written");
        let parts = algorithms::partition_copy(queue, &data, &mut [], &mut out, |_| false);
        assert!(is_length(parts, 2, [5000, 4999]));
    });
}

#[test]
fn places_behind_the_end_are_errors() {
    on_every_device(|queue| {
        let mut data = [3, 1, 2];
        assert!(is_length(algorithms::nth_element(queue, &mut data, 3, i32::cmp), 0, [4, 3]));
        let last = algorithms::nth_element(queue, &mut data, usize::MAX, i32::cmp);
        assert!(is_length(last, 0, [usize::MAX, 3]));
        assert!(is_length(algorithms::partial_sort(queue, &mut data, 4, i32::cmp), 0, [4, 3]));
        assert!(is_length(algorithms::inplace_merge(queue, &mut data, 4, i32::cmp), 0, [4, 3]));
        assert!(is_length(algorithms::rotate(queue, &mut data, 4), 0, [4, 3]));
        let rotated = algorithms::rotate_copy(queue, &data, 4, &mut [0; 3]);
        assert!(is_length(rotated, 0, [4, 3]));
        assert_eq!(data, [3, 1, 2], "nothing was written");
    });
}

/// A panic of a closure is an error of the launch, and the data and the queue stay usable.
#[test]
fn panics_of_closures_are_errors() {
    on_every_device(|queue| {
        let data = values::<i32>(5000, 2);
        let mut sorted = data.clone();
        let result = algorithms::stable_sort(queue, &mut sorted, |a, b| {
            assert!(*a != 50, "no fifty");
            a.cmp(b)
        });
        let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
        assert!(panic.to_string().contains("no fifty"), "{panic}");
        assert!(sorted.iter().all(|own| data.contains(own)), "elements are whole");
        let result = algorithms::reduce(queue, &data, 0, |a, b| {
            assert!(b != 50, "no fifty");
            a.max(b)
        });
        assert!(matches!(result, Err(LaunchError::Panicked(_))), "{result:?}");
        let result = algorithms::remove_if(queue, &mut sorted, |own| {
            assert!(*own != 50, "no fifty");
            true
        });
        assert!(matches!(result, Err(LaunchError::Panicked(_)) | Ok(0)), "{result:?}");
        let mut sorted = data.clone();
        algorithms::stable_sort(queue, &mut sorted, i32::cmp).expect("a launch");
        assert!(sorted.is_sorted());
    });
}

/// Groups that wait for one that has ended give up, wherever it was.
#[test]
fn panics_of_scans_are_errors() {
    on_every_device(|queue| {
        let mut data = values::<i32>(200_000, 7);
        for place in [0, 100_000, 199_999] {
            let old = std::mem::replace(&mut data[place], -1);
            let mut out = vec![0; data.len()];
            let own = |own: i32| {
                assert!(own >= 0, "less than zero");
                own
            };
            let add = |a: i32, b: i32| a.wrapping_add(b);
            let result = algorithms::transform_inclusive_scan(queue, &data, &mut out, add, own);
            let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
            assert!(panic.to_string().contains("less than zero"), "{panic}");
            let result = algorithms::copy_if(queue, &data, &mut out, move |x| own(*x) % 2 == 0);
            let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
            assert!(panic.to_string().contains("less than zero"), "{panic}");
            data[place] = old;
        }
        let mut out = vec![0; data.len()];
        algorithms::inclusive_scan(queue, &data, &mut out, |a, b| a + b).expect("a launch");
        assert_eq!(out.last().copied(), Some(data.iter().sum()));
    });
}

/// Whatever an order says, nothing is accessed behind the end, and sorts come to theirs.
#[test]
fn orders_that_are_none_do_no_harm() {
    on_every_device(|queue| {
        let data = values::<i32>(5000, 3);
        for number in 0..4 {
            let order = move |a: &i32, b: &i32| match number {
                0 => Ordering::Less,
                1 => Ordering::Greater,
                2 => (a.wrapping_mul(0x9e37_79b9_u32 as i32) ^ b).cmp(&0),
                _ if a % 3 == b % 5 => Ordering::Less,
                _ => a.cmp(b),
            };
            let mut found = data.clone();
            algorithms::stable_sort(queue, &mut found, order).expect("a launch");
            assert!(found.iter().all(|own| data.contains(own)));
            algorithms::nth_element(queue, &mut found, 2500, order).expect("a launch");
            algorithms::inplace_merge(queue, &mut found, 2500, order).expect("a launch");
            let mut out = vec![0; 10_000];
            // Parts may overlap, so there may be more than in both.
            let united = algorithms::set_union(queue, &data, &found, &mut out, order);
            assert!(matches!(united, Ok(_) | Err(LaunchError::Length { .. })), "{united:?}");
            algorithms::includes(queue, &data, &found, order).expect("a launch");
        }
    });
}

/// Closures may capture what kernels capture.
#[test]
fn closures_capture_numbers_and_views() {
    on_every_device(|queue| {
        let data = values::<u8>(3000, 4);
        let table: Vec<u32> = values::<i32>(256, 5).into_iter().map(|own| own as u32).collect();
        let ranks = Buffer::from_slice(queue, &table).expect("memory");
        let view = ranks.view();
        let mut found = data.clone();
        let order = move |a: &u8, b: &u8| view[usize::from(*a)].cmp(&view[usize::from(*b)]);
        algorithms::stable_sort(queue, &mut found, order).expect("a launch");
        let mut expected = data;
        expected.sort_by_key(|own| table[usize::from(*own)]);
        assert_eq!(found, expected);
    });
}
