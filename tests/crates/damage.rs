//! Launches twice and prints what came of it: the device, a sum, and which half ran; or the errors,
//! each with the kinds of its sources. With the argument `devices` it lists the devices first,
//! twice.

use std::error::Error;

use schism::prelude::*;

fn run() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    for _ in 0..2 {
        let mut out = Buffer::from_slice(&queue, &[0_u32; 100])?;
        let to = out.view_mut();
        queue.parallel_for(100, move |item| {
            let value = item.x() as u32 * 2 + u32::from(schism::is_device());
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })?;
        let sum = out.to_vec().iter().sum::<u32>();
        println!("half {}", if sum == 10000 { "device" } else { "host" });
        assert!(sum == 10000 || sum == 9900);
    }
    Ok(())
}

fn kind(error: &schism::Error) -> &'static str {
    use schism::{DeviceError, LaunchError};
    match error {
        schism::Error::Device(DeviceError::Unknown { .. }) => "unknown device",
        schism::Error::Device(DeviceError::Stage2 { .. }) => "no stage 2",
        schism::Error::Device(DeviceError::Stage2Version { .. }) => "another version",
        schism::Error::Launch(LaunchError::Image { .. }) => "image",
        schism::Error::Launch(LaunchError::NoDeviceCode { .. }) => "no device code",
        _ => "other",
    }
}

fn main() {
    if std::env::args().nth(1).is_some_and(|argument| argument == "devices") {
        for _ in 0..2 {
            let names: Vec<_> = Device::all().iter().map(ToString::to_string).collect();
            println!("devices {}", names.join(" "));
        }
    }
    if let Err(error) = run() {
        println!("error {}", kind(&error));
        let mut next: Option<&dyn Error> = Some(&error);
        while let Some(error) = next {
            eprintln!("{error}");
            next = error.source();
        }
        std::process::exit(3);
    }
}
