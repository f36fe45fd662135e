//! A library whose functions come without bodies that the compiler could show: it is compiled with
//! the backend, without the driver.

/// Takes steps of the Collatz sequence.
#[inline(never)]
pub fn steps(mut x: u64) -> u32 {
    let mut steps = 0;
    while x > 1 {
        x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
        steps += 1;
    }
    steps
}

schism::export_to_device!(steps);
