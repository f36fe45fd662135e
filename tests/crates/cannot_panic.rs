//! Kernels that cannot panic, in every form of launch.

use std::sync::atomic::Ordering::Relaxed;

use schism::local_array;
use schism::prelude::*;

#[derive(Clone, Copy, Default)]
pub struct Point {
    pub x: f32,
    pub y: f32,
    pub weight: u32,
}

#[inline(never)]
fn mix(a: u32, b: u32) -> u32 {
    a.rotate_left(5).wrapping_mul(31) ^ b.checked_div(7).unwrap_or(0)
}

pub fn run(queue: &Queue, n: usize) -> Result<(), schism::Error> {
    let mut points = Buffer::filled(queue, n, Point::default())?;
    let mut sums = Buffer::filled(queue, n, 1_u32)?;
    let mut of_groups = Buffer::filled(queue, n / 8, 0_u64)?;
    let (scale, shift) = (2.5_f32, 7_u32);

    queue.for_each((&mut points, &sums, 0..), move |(point, sum, i)| {
        point.x += scale * *sum as f32;
        point.y = if i % 2 == 0 { point.x.sqrt() } else { f32::from(i as u8) };
        point.weight = mix(point.weight, *sum).wrapping_shl(shift);
    })?;

    queue.for_each_in([n / 4, 4], (&mut sums, points.chunks(4)), |item, (sum, points)| {
        let [y, x] = item.id();
        *sum ^= (y as u32).wrapping_add(x as u32);
        for point in points.iter().filter(|point| point.weight > 3) {
            *sum = mix(*sum, point.weight).saturating_add(item.linear_id() as u32);
        }
        *sum = sum.checked_rem(points.len() as u32).map_or(u32::MAX, |rest| rest + (rest == 0) as u32);
    })?;

    let counts = sums.atomic_view();
    queue.parallel_for([1..n, 5..9], move |item| {
        if let Some(count) = counts.get(item.y()) {
            count.fetch_add(item.x() as u32, Relaxed);
        }
    })?;

    let view = sums.view_mut();
    queue.parallel_for(n, move |item| {
        let shapes: [&dyn Fn(u32) -> u32; 2] = [&|x| x ^ shift, &|x| x.count_ones()];
        for shape in shapes {
            // SAFETY: each work-item its own element.
            unsafe { view.set_unchecked(item.x(), shape(view.get_unchecked(item.x()))) }
        }
    })?;

    let range = NdRange::new(n, 8)?;
    let sources = (&sums, per_group(&mut of_groups));
    queue.for_each_in(range, sources, move |item, (sum, of_group)| {
        let total = local_array!(item, u32; 1).as_mut_ptr();
        // SAFETY: one work-item writes, with barriers around it.
        unsafe {
            if of_group.is_some() {
                *total = *sum;
            }
            item.barrier();
            if let Some(of_group) = of_group {
                *of_group = u64::from(*total) + item.group_x() as u64;
            }
        }
    })?;
    Ok(())
}
