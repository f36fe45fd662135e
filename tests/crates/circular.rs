//! Kernels that reach statics which refer to each other in circles, and to themselves; and one that
//! reaches none.

use schism::DeviceKind;
use schism::prelude::*;

struct Node {
    value: u32,
    next: &'static Node,
}

static RING: [Node; 2] = [Node { value: 3, next: &RING[1] }, Node { value: 5, next: &LATER }];
static LATER: Node = Node { value: 7, next: &RING[0] };
static ALONE: Node = Node { value: 11, next: &ALONE };

/// Leads into the others, and none of them leads to it.
static START: Node = Node { value: 13, next: &RING[1] };

struct Step {
    run: fn(u32) -> u32,
    next: &'static Step,
}

fn twice(x: u32) -> u32 {
    x.wrapping_mul(2)
}

fn and_one(x: u32) -> u32 {
    // A function that a static in a circle refers to refers to one itself.
    x.wrapping_add(ALONE.next.value - 10)
}

static FIRST: Step = Step { run: twice, next: &SECOND };
static SECOND: Step = Step { run: and_one, next: &FIRST };

fn around(start: &'static Node, steps: u32) -> u32 {
    let mut node = start;
    let mut sum = 0_u32;
    for _ in 0..steps {
        sum = sum.wrapping_mul(31).wrapping_add(node.value);
        node = node.next;
    }
    sum
}

fn nodes(x: u32) -> u32 {
    let start = [&START, &ALONE, &LATER, &RING[1]][x as usize % 4];
    around(start, x % 50)
}

fn steps(x: u32) -> u32 {
    let mut step = if x % 2 == 0 { &FIRST } else { &SECOND };
    let mut value = x;
    for _ in 0..x % 20 {
        value = (step.run)(value);
        step = step.next;
    }
    value
}

fn plain(x: u32) -> u32 {
    x.rotate_left(5) ^ 0xABCD
}

fn compare(name: &str, found: &[u32], f: fn(u32) -> u32) {
    let expected: Vec<u32> = (0..found.len() as u32).map(f).collect();
    assert_eq!(found, expected, "{name}");
    println!("{name}: {}", found.len());
}

fn main() -> Result<(), schism::Error> {
    for device in Device::all() {
        // SPIR-V has no variables that contain their own address.
        if device.kind() == DeviceKind::OpenCl {
            continue;
        }
        println!("on {device}");
        let queue = Queue::on(&device)?;
        let mut out = Buffer::filled(&queue, 1000, 0_u32)?;
        queue.for_each((0.., &mut out), |(i, out)| *out = nodes(i as u32))?;
        compare("nodes", &out.to_vec(), nodes);
        queue.for_each((0.., &mut out), |(i, out)| *out = steps(i as u32))?;
        compare("steps", &out.to_vec(), steps);
        queue.for_each((0.., &mut out), |(i, out)| *out = plain(i as u32))?;
        compare("plain", &out.to_vec(), plain);
    }
    Ok(())
}
