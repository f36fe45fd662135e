//! Functions for the kernels of crates that know nothing of this one but declarations.

static TABLE: [u32; 4] = [3, 5, 7, 11];

#[repr(C)]
pub struct Pair {
    pub small: u8,
    pub large: u64,
}

#[inline(never)]
fn helper(pair: &Pair) -> u64 {
    pair.large.rotate_left(u32::from(pair.small))
}

#[unsafe(no_mangle)]
pub extern "C" fn exported_scale(x: f32, by: f32) -> f32 {
    x * by + 0.5
}

#[unsafe(no_mangle)]
pub extern "C" fn exported_pair(pair: &Pair, at: usize) -> u64 {
    helper(pair) ^ u64::from(TABLE[at % TABLE.len()])
}

/// Panics where there is no such number.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn exported_number(at: usize) -> u32 {
    TABLE[at]
}

/// Whether this is a device's code.
#[unsafe(no_mangle)]
pub extern "C" fn exported_half() -> bool {
    schism::is_device()
}

schism::export_to_device!(exported_scale, exported_pair, exported_number, exported_half);
