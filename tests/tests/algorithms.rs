//! Algorithms, compared with the host's.

#![forbid(unsafe_code)]

use schism::algorithms;
use schism::prelude::*;
use schism_tests::sub_groups::{on_every_device, random};

const SIZES: [usize; 8] = [0, 1, 2, 31, 32, 33, 1000, 1 << 20];

#[test]
fn inclusive_scan() {
    on_every_device(|queue| {
        for n in SIZES {
            let data: Vec<i32> = random(1).take(n).map(|x| x as i32).collect();
            let mut output = vec![0; n];
            algorithms::inclusive_scan(queue, &data, &mut output, i32::wrapping_add).unwrap();
            let expected: Vec<i32> = data
                .iter()
                .scan(0_i32, |sum, x| {
                    *sum = sum.wrapping_add(*x);
                    Some(*sum)
                })
                .collect();
            assert_eq!(output, expected);
        }
    });
}
