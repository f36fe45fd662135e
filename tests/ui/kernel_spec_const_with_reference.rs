//! Specialization constants beside a reference, which no device can follow.

use schism::prelude::*;

struct Settings {
    name: &'static str,
    radius: SpecConst<u32>,
}

static SETTINGS: Settings = Settings { name: "blur", radius: SpecConst::new(3) };

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u32; 8]).unwrap();
    println!("{}", SETTINGS.name);
    queue.for_each(&mut out, |out| *out = SETTINGS.radius.get()).unwrap();
}
