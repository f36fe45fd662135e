//! Floats of 16 and of 128 bits, as values, captures and elements. Prints the device.
#![feature(f128, f16)]

use schism::prelude::*;

fn half(i: usize, k: f16) -> [u32; 4] {
    let x = i as f16 * 0.1;
    let y = x.mul_add(k, 1.5) / (x + 3.0) - x.sqrt() + (x % 0.3);
    let narrowed = (f32::from_bits(i as u32 * 77_777) as f16, (i as f64 * 0.001) as f16);
    [u32::from(y.to_bits()), (y as f32).to_bits(), y as i32 as u32, {
        u32::from(narrowed.0.to_bits()) << 16 | u32::from(narrowed.1.to_bits())
    }]
}

fn quad(i: usize, k: f128) -> [u64; 4] {
    let x = i as f128 * 0.1;
    let y = x * k / (x + 3.0) - x + if x < k { 2.0 } else { (x % 0.3) as f64 as f128 };
    let bits = y.to_bits();
    [bits as u64, (bits >> 64) as u64, y as i64 as u64, (y as f32).to_bits().into()]
}

fn main() {
    let queue = Queue::new().unwrap();
    let n = 1000;
    let (k, wide): (f16, f128) = (0.75, 0.7);
    let halves: Vec<f16> = (0..n).map(|i| i as f16 * k).collect();
    let halves = Buffer::from_slice(&queue, &halves).unwrap();
    let mut out = Buffer::filled(&queue, n, ([0; 4], [0; 4], 0.0_f128, 0)).unwrap();
    queue
        .for_each((0.., &halves, &mut out), move |(i, from, out)| {
            let both = u32::from((*from + k).to_bits()) << 1 | u32::from(schism::is_device());
            *out = (half(i, k), quad(i, wide), i as f128 + wide, both);
        })
        .unwrap();
    let device = u32::from(queue.device().name() != "native");
    for (i, found) in out.to_vec().into_iter().enumerate() {
        let both = u32::from((i as f16 * k + k).to_bits()) << 1 | device;
        assert!(found == (half(i, k), quad(i, wide), i as f128 + wide, both), "{i}: {found:?}");
    }
    println!("{}", queue.device());
}
