//! The devices that tests run on, and which of them this machine has not.

use std::sync::Once;

use schism::{Device, DeviceKind, LaunchError, Queue};

/// All devices. If there is no GPU, the first call in a process says so and why: where output of tests
/// is captured, on standard error itself, since a test that ran on fewer devices passes all the same.
#[must_use]
pub fn listed() -> Vec<Device> {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        if let Err(reason) = Device::by_name("cuda:0") {
            crate::skip::say(&format!("no test runs on cuda, because {reason}"));
        }
    });
    Device::all()
}

/// As [`listed`], and the device `cpu:copies`, which copies slices of the host as a GPU does.
///
/// # Panics
/// If there is no such device.
#[must_use]
pub fn with_copies() -> Vec<Device> {
    let mut all = listed();
    all.push(Device::by_name("cpu:copies").expect("every machine has it"));
    all
}

/// Whether a device has its own memory, so that slices of the host are copied.
#[must_use]
pub fn copies(device: &Device) -> bool {
    matches!(device.kind(), DeviceKind::Cuda | DeviceKind::Hip) || device.name() == "cpu:copies"
}

/// The queue of a device that every machine has.
///
/// # Panics
/// If there is no such device.
#[must_use]
pub fn queue_on(name: &str) -> Queue {
    let device = listed().into_iter().find(|listed| listed.to_string() == name);
    Queue::on(&device.expect("every machine has it")).expect("a device that is listed")
}

/// Whether a device has functions that call themselves. Where it has none, that is printed.
#[must_use]
pub fn has_recursion(device: &Device) -> bool {
    let has = device.kind() != DeviceKind::OpenCl;
    if !has {
        println!("skipped on {device}: OpenCL has no recursion");
    }
    has
}

/// Whether a device has not what a kernel needs, as the error of its launch says: OpenCL has no
/// recursion. Where that is so, it is printed.
#[must_use]
pub fn is_beyond(device: &Device, error: &LaunchError) -> bool {
    let text = error.to_string();
    let is_beyond = device.kind() == DeviceKind::OpenCl && text.contains("uses recursion (");
    if is_beyond {
        println!("skipped on {device}: {text}");
    }
    is_beyond
}

/// Whether kernels can read a clock on a device. Where they cannot, that is printed.
#[must_use]
pub fn has_clocks(device: &Device) -> bool {
    let has = device.kind() != DeviceKind::OpenCl;
    if !has {
        println!("skipped on {device}: OpenCL has no clock");
    }
    has
}

/// Whether a device says itself when its kernels ran.
#[must_use]
pub fn has_own_clock(device: &Device) -> bool {
    matches!(device.kind(), DeviceKind::Cuda | DeviceKind::Hip | DeviceKind::OpenCl)
}

/// Whether a device notices that not all work-items come to where they wait for each other. Where
/// it does not, that is printed.
#[must_use]
pub fn notices_who_does_not_come(device: &Device) -> bool {
    let notices = matches!(device.kind(), DeviceKind::Cpu | DeviceKind::Native);
    if !notices {
        println!("skipped on {device}: a GPU does not notice");
    }
    notices
}

#[cfg(test)]
mod tests {
    use schism::DeviceKind;

    #[test]
    fn a_gpu_is_listed_or_skipped() {
        let has_gpu = super::listed().iter().any(|device| device.kind() == DeviceKind::Cuda);
        assert_eq!(has_gpu, schism::Device::by_name("cuda:0").is_ok());
    }
}
