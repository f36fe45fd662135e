//! Ranges of one to three dimensions, and what cannot be a range.

use std::sync::atomic::Ordering;

use schism::{BufferError, prelude::*};

fn queue() -> Queue {
    Queue::new().expect("a device")
}

/// Every point of a range is visited once, and its element is the row-major one.
#[test]
fn three_dimensions() {
    let queue = queue();
    for [depth, height, width] in
        [[1, 1, 1], [2, 3, 5], [1, 1, 1000], [1000, 1, 1], [1, 1000, 1], [37, 41, 43]]
    {
        let n = depth * height * width;
        let mut points = Buffer::filled(&queue, n, [usize::MAX; 4]).expect("memory");
        let mut visits = Buffer::filled(&queue, n, 0_u32).expect("memory");
        queue
            .for_each_in(
                [depth, height, width],
                (&mut points, &mut visits),
                |item, (to, visits)| {
                    let [z, y, x] = item.id();
                    *to = [z, y, x, item.linear_id()];
                    *visits += 1;
                },
            )
            .expect("a launch");
        assert!(visits.to_vec().iter().all(|visits| *visits == 1));
        let points = points.to_vec();
        let mut at = 0;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    assert_eq!(points[at], [z, y, x, at]);
                    at += 1;
                }
            }
        }
    }
}

#[test]
fn two_dimensions_see_their_range() {
    let queue = queue();
    let mut points = Buffer::with_len(&queue, 6).expect("memory");
    queue
        .for_each_in(Range([2, 3]), &mut points, |item, to| {
            *to = (item.id(), item.range(), item.size(), (item.x(), item.y(), item.z()));
        })
        .expect("a launch");
    assert_eq!(points.to_vec()[5], ([1, 2], [2, 3], 6, (2, 1, 0)));
}

#[test]
fn one_dimension() {
    let queue = queue();
    let mut sums = Buffer::filled(&queue, 1, 0_u64).expect("memory");
    let sum = sums.atomic_view();
    queue
        .parallel_for([1000], move |item: Item<1>| {
            sum[0].fetch_add(item.id()[0] as u64, Ordering::Relaxed);
        })
        .expect("a launch");
    assert_eq!(sums.to_vec(), [499_500]);
}

#[test]
fn nothing_to_do() {
    let queue = queue();
    queue.parallel_for(0, |_| panic!("no work-item")).expect("an empty range is fine");
    queue.parallel_for([5, 0], |_| panic!("no work-item")).expect("an empty range is fine");
    // The product is zero, whatever the others are.
    queue.parallel_for([usize::MAX, 0, usize::MAX], |_| panic!("no work-item")).expect("empty");
    let mut empty = Buffer::from_slice(&queue, &[0_u8; 0]).expect("no memory is needed");
    queue.for_each(&mut empty, |_| panic!("no work-item")).expect("an empty buffer is fine");
    queue.for_each(7..7, |_| panic!("no work-item")).expect("an empty range is fine");
    assert!(empty.is_empty() && empty.to_vec().is_empty());
}

#[test]
fn ranges_that_overflow() {
    let queue = queue();
    let never = |_| panic!("no work-item");
    for range in [[usize::MAX, 2], [1 << 32, 1 << 32], [1 << 62, 2], [usize::MAX, usize::MAX]] {
        match queue.parallel_for(range, |_| panic!("no work-item")) {
            Err(LaunchError::RangeOverflow { range: told }) => assert_eq!(told, range),
            other => panic!("{range:?}: {other:?}"),
        }
    }
    assert!(matches!(
        queue.parallel_for(usize::MAX, never),
        Err(LaunchError::RangeOverflow { range }) if range == [usize::MAX]
    ));
    let launched = queue.scope(|scope| Ok(scope.parallel_for([1 << 40; 3], |_| ())?));
    assert!(matches!(
        launched,
        Err(schism::Error::Launch(LaunchError::RangeOverflow { range })) if range == [1 << 40; 3]
    ));
    assert!(matches!(Range([1 << 40; 2]).size(), Err(LaunchError::RangeOverflow { .. })));
    assert_eq!(Range([3, 4]).size().expect("small"), 12);
}

#[test]
fn sources_that_do_not_fit() {
    let queue = queue();
    let short = Buffer::filled(&queue, 9, 1).expect("memory");
    let mut long = Buffer::filled(&queue, 10, 1).expect("memory");
    let length = |launched| match launched {
        Err(LaunchError::Length { source_index, expected, found }) => {
            (source_index, expected, found)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(length(queue.for_each((&mut long, &short), |_| ())), (1, 10, 9));
    assert_eq!(length(queue.for_each((0.., 0..9, &mut long), |_| ())), (2, 9, 10));
    assert_eq!(length(queue.for_each_in([3, 4], &mut long, |_, _| ())), (0, 12, 10));
    assert_eq!(length(queue.for_each((long.chunks_mut(3), &short), |_| ())), (1, 4, 9));
    assert!(matches!(
        queue.for_each((&short, long.chunks_mut(0)), |_| ()),
        Err(LaunchError::EmptyChunks { source_index: 1 })
    ));
    assert!(matches!(queue.for_each((0.., whole(&short)), |_| ()), Err(LaunchError::NoLength)));
    // Nothing of that has run, and everything still works.
    queue.for_each((&mut long, 0..10), |(x, i)| *x += i as i32).expect("a launch");
    assert_eq!(long.to_vec(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn copies_that_do_not_fit() {
    let queue = queue();
    let mut buffer = Buffer::from_slice(&queue, &[1, 2, 3]).expect("memory");
    assert_eq!(buffer.write(&[1, 2]), Err(BufferError::Length { buffer: 3, host: 2 }));
    assert_eq!(buffer.read(&mut [0; 4]), Err(BufferError::Length { buffer: 3, host: 4 }));
    let outside = BufferError::Range { begin: 1, end: 4, inclusive: false, len: 3 };
    assert_eq!(buffer.slice(1..4).map(|_| ()), Err(outside.clone()));
    assert_eq!(buffer.slice_mut(1..=3).map(|_| ()), Err(outside));
    assert!(buffer.slice(..=usize::MAX).is_err());
    assert!(
        buffer.slice((std::ops::Bound::Excluded(usize::MAX), std::ops::Bound::Unbounded)).is_err()
    );
    assert!(buffer.view_mut().split_at(4).is_err());
    assert_eq!(buffer.to_vec(), [1, 2, 3]);
}

#[test]
fn memory_that_there_is_not() {
    let queue = queue();
    assert!(matches!(
        Buffer::filled(&queue, usize::MAX, 0_u32),
        Err(BufferError::TooLarge { len: usize::MAX, element_size: 4 })
    ));
    let half = 1 << 62;
    assert!(matches!(
        Buffer::filled(&queue, half, 0_u8),
        Err(BufferError::OutOfMemory { bytes, .. }) if bytes == half
    ));
}
