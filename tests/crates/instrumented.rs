//! Kernels whose code an instrumented build has much to add to: branches, loops, calls of all
//! kinds, arrays on the stack. Prints each result beside the host's, from `main` on; a wrong one
//! ends the program.

use schism::prelude::*;

#[inline(never)]
fn branches(x: u32) -> u32 {
    match x % 5 {
        0 => x.wrapping_mul(3),
        1 if x > 100 => x ^ 0xFF,
        1 => x + 7,
        2 | 3 => x.rotate_left(x % 7),
        _ => !x,
    }
}

#[inline(never)]
fn on_the_stack(x: u32) -> u32 {
    let mut array = [0_u32; 64];
    for (at, slot) in array.iter_mut().enumerate() {
        *slot = x.wrapping_add(at as u32 * x);
    }
    let at = (x as usize * 7) % array.len();
    array[at..].iter().fold(x, |sum, value| sum.rotate_left(3) ^ value)
}

trait Step {
    fn step(&self, x: u32) -> u32;
}

struct Add(u32);
struct Xor(u32);

impl Step for Add {
    #[inline(never)]
    fn step(&self, x: u32) -> u32 {
        x.wrapping_add(self.0)
    }
}

impl Step for Xor {
    #[inline(never)]
    fn step(&self, x: u32) -> u32 {
        x ^ self.0
    }
}

static TABLE: [fn(u32) -> u32; 2] = [branches, on_the_stack];

fn by_table_and_object(x: u32) -> u32 {
    let object: &dyn Step = if x & 4 == 0 { &Add(x) } else { &Xor(0x55) };
    object.step(TABLE[x as usize % TABLE.len()](x))
}

fn compare(name: &str, found: &[u32], f: fn(u32) -> u32) {
    let expected: Vec<u32> = (0..found.len() as u32).map(f).collect();
    assert_eq!(found, expected, "{name}");
    println!("{name}: {}", found.len());
}

/// Also where this is a library.
pub fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let mut out = Buffer::filled(&queue, 1000, 0_u32)?;
    queue.for_each((0.., &mut out), |(i, out)| *out = branches(i as u32))?;
    compare("branches", &out.to_vec(), branches);
    queue.for_each((0.., &mut out), |(i, out)| *out = on_the_stack(i as u32))?;
    compare("on the stack", &out.to_vec(), on_the_stack);
    queue.for_each((0.., &mut out), |(i, out)| *out = by_table_and_object(i as u32))?;
    compare("by table and object", &out.to_vec(), by_table_and_object);
    let limit = std::env::args().count() + 10;
    let outcome = queue.for_each((0.., &mut out), move |(i, out)| {
        assert!(i < limit, "no more than {limit}");
        *out = i as u32;
    });
    let message = outcome.expect_err("a panic").to_string();
    assert!(message.contains("no more than 11"), "{message}");
    println!("panicked");
    Ok(())
}
