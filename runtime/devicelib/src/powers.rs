//! Integer powers, computed as compilers do.
//!
//! A power is not rounded once, but in each multiplication. So the order of multiplications is part
//! of the result; it is that of `f64::powi` on hosts: squaring, for the bits of the exponent, from
//! the lowest.

/// The support function behind `f64::powi`.
#[unsafe(export_name = "schism.lib.__powidf2")]
#[must_use]
pub extern "C" fn __powidf2(mut x: f64, n: i32) -> f64 {
    let mut bits = n.unsigned_abs();
    let mut power = 1.0;
    loop {
        if bits & 1 != 0 {
            power *= x;
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
        x *= x;
    }
    if n < 0 { 1.0 / power } else { power }
}

/// The support function behind `f32::powi`.
#[unsafe(export_name = "schism.lib.__powisf2")]
#[must_use]
pub extern "C" fn __powisf2(mut x: f32, n: i32) -> f32 {
    let mut bits = n.unsigned_abs();
    let mut power = 1.0;
    loop {
        if bits & 1 != 0 {
            power *= x;
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
        x *= x;
    }
    if n < 0 { 1.0 / power } else { power }
}
