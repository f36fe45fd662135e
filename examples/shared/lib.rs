//! Code that the examples share: arguments, pictures, the comparison with the host, and the plain
//! Rust functions that their kernels call. Nothing in here depends on schism.
//!
//! The examples themselves are the files in the folder above; each is one program:
//!
//! ```text
//! cargo schism run --release --example saxpy
//! cargo schism run --release --example mandelbrot -- mandelbrot.png
//! cargo schism run --release --example image_filter -- IN.png OUT.png
//! cargo schism run --release --example nbody
//! cargo schism run --release --example histogram -- FILE
//! cargo schism run --release --example matrix_multiply
//! ```
//!
//! With `--check` each also runs a plain loop on the host and compares.

pub mod air;
pub mod animation;
pub mod arguments;
pub mod blur;
pub mod fractal;
pub mod gravity;
pub mod picture;

use std::error::Error;

/// Compares a device's results with the host's, bit by bit.
///
/// # Errors
/// The first difference, with its place.
pub fn compare<T: PartialEq + std::fmt::Debug>(
    what: &str,
    device: &[T],
    host: &[T],
) -> Result<(), Box<dyn Error>> {
    if device.len() != host.len() {
        return Err(format!("{what}: {} results, {} expected", device.len(), host.len()).into());
    }
    match device.iter().zip(host).position(|(device, host)| device != host) {
        None => {
            println!("check: {what}: {} results equal the host's", host.len());
            Ok(())
        }
        Some(at) => Err(format!(
            "{what}: result {at} is {:?} on the device and {:?} on the host",
            device[at], host[at]
        )
        .into()),
    }
}
