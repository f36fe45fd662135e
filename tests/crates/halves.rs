//! Kernels that reach code by all ways there are, among code that only the host reaches.

use schism::prelude::*;

#[inline(never)]
fn only_on_the_host(text: &str) -> usize {
    println!("host: {text}");
    std::env::args().count()
}

/// Reached by the host only, though it looks like kernel code.
#[inline(never)]
pub fn unused_by_kernels(x: u32) -> u32 {
    x.wrapping_mul(77)
}

#[inline(never)]
fn called_directly(x: u32) -> u32 {
    x ^ 0x5555
}

#[inline(never)]
fn in_a_table_a(x: u32) -> u32 {
    x + 1
}

#[inline(never)]
fn in_a_table_b(x: u32) -> u32 {
    x + 2
}

static TABLE: [fn(u32) -> u32; 2] = [in_a_table_a, in_a_table_b];
static HOST_TABLE: [fn(u32) -> u32; 1] = [unused_by_kernels];

trait Shape {
    fn corners(&self) -> u32;
}

struct Triangle;
struct Polygon(u32);
struct HostShape;

impl Shape for Triangle {
    #[inline(never)]
    fn corners(&self) -> u32 {
        3
    }
}

impl Shape for Polygon {
    #[inline(never)]
    fn corners(&self) -> u32 {
        self.0
    }
}

impl Shape for HostShape {
    #[inline(never)]
    fn corners(&self) -> u32 {
        only_on_the_host("shape") as u32
    }
}

#[inline(never)]
fn corners(shape: &dyn Shape) -> u32 {
    shape.corners()
}

/// Told by its number, wherever it is inlined.
#[inline(never)]
fn branch_of_the_device(x: u32) -> u32 {
    x.wrapping_mul(1_000_003)
}

#[inline(never)]
fn branch_of_the_host(x: u32) -> u32 {
    x.wrapping_mul(1_000_033) + only_on_the_host("way") as u32
}

#[inline(never)]
pub fn split(x: u32) -> u32 {
    if schism::is_device() { branch_of_the_device(x) } else { branch_of_the_host(x) }
}

/// The host's and the device's branch, as a value and in a loop.
#[inline]
fn branches(x: u32) -> u32 {
    let device = schism::is_device();
    let mut sum = 0;
    let mut i = 0;
    while i < x % 8 && device {
        sum += i;
        i += 1;
    }
    match (device, sum) {
        (true, 0) => 1,
        (true, n) => n,
        (false, _) => 2,
    }
}

pub fn run(n: usize) -> Result<Vec<u32>, schism::Error> {
    let queue = Queue::new()?;
    let input = Buffer::from_slice(&queue, &(0..n as u32).collect::<Vec<_>>())?;
    let mut output = Buffer::from_slice(&queue, &vec![0_u32; n])?;
    let (from, to) = (input.view(), output.view_mut());
    queue.parallel_for(n, move |item| {
        let i = item.x();
        let x = from[i];
        let shape: &dyn Shape = if x % 2 == 0 { &Triangle } else { &Polygon(x) };
        let value = called_directly(x)
            .wrapping_add(TABLE[i % 2](x))
            .wrapping_add(corners(shape))
            .wrapping_add(split(x))
            .wrapping_add(branches(x));
        // SAFETY: i < n, each item writes its own element.
        unsafe { to.set_unchecked(i, value) }
    })?;
    Ok(output.to_vec())
}

pub fn host_part() -> u32 {
    HOST_TABLE[only_on_the_host("table") % 1](5) + corners(&HostShape)
}
