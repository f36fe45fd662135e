//! Random ranges and data, against host loops.

use proptest::collection::vec;
use proptest::prelude::*;
use schism::prelude::*;

fn queue() -> Queue {
    Queue::new().expect("a device")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn map(data in vec(any::<i32>(), 0..5000), factor: i32) {
        let queue = queue();
        let input = Buffer::from_slice(&queue, &data).expect("memory");
        let mut output = Buffer::filled(&queue, data.len(), 0).expect("memory");
        queue
            .for_each((&input, &mut output), move |(from, to)| *to = from.wrapping_mul(factor))
            .expect("a launch");
        let expected: Vec<_> = data.iter().map(|x| x.wrapping_mul(factor)).collect();
        prop_assert_eq!(output.to_vec(), expected);
    }

    #[test]
    fn transpose(height in 0_usize..70, width in 0_usize..70) {
        let queue = queue();
        let input: Vec<_> = (0..height * width).collect();
        let buffer = Buffer::from_slice(&queue, &input).expect("memory");
        let mut output = Buffer::filled(&queue, input.len(), usize::MAX).expect("memory");
        let view = buffer.view();
        queue
            .for_each_in([width, height], &mut output, move |item, to| {
                let [x, y] = item.id();
                *to = view[y * width + x];
            })
            .expect("a launch");
        let expected: Vec<_> =
            (0..width).flat_map(|x| (0..height).map(move |y| y * width + x)).collect();
        prop_assert_eq!(output.to_vec(), expected);
    }

    #[test]
    fn chunks(len in 0_usize..3000, size in 1_usize..200) {
        let queue = queue();
        let mut buffer = Buffer::filled(&queue, len, (0, 0)).expect("memory");
        queue
            .for_each((0.., buffer.chunks_mut(size)), |(i, chunk)| {
                let len = chunk.len();
                chunk.fill((i, len));
            })
            .expect("a launch");
        let mut expected = vec![(0, 0); len];
        for (i, chunk) in expected.chunks_mut(size).enumerate() {
            let len = chunk.len();
            chunk.fill((i, len));
        }
        prop_assert_eq!(buffer.to_vec(), expected);
    }

    /// Uneven work: each point is visited once, whatever it costs.
    #[test]
    fn uneven(costs in vec(0_u32..2000, 1..600), planes in 1_usize..4) {
        let queue = queue();
        let n = costs.len();
        let costs_buffer = Buffer::from_slice(&queue, &costs).expect("memory");
        let mut sums = Buffer::filled(&queue, n * planes, 0_u32).expect("memory");
        let view = costs_buffer.view();
        queue
            .for_each_in([planes, 1, n], &mut sums, move |item, sum| {
                let [z, _, x] = item.id();
                for step in 0..view[x] {
                    *sum = sum.wrapping_mul(31).wrapping_add(step ^ z as u32);
                }
            })
            .expect("a launch");
        for (at, sum) in sums.to_vec().into_iter().enumerate() {
            let mut expected = 0_u32;
            for step in 0..costs[at % n] {
                expected = expected.wrapping_mul(31).wrapping_add(step ^ (at / n) as u32);
            }
            prop_assert_eq!(sum, expected);
        }
    }
}
