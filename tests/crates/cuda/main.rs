//! Uses devices of the fake driver, see `../fake_cuda.rs`. The argument says what to do; the test
//! sets the environment.
//!
//! The fake driver runs no kernels. A function of this program does in their place: it knows a
//! launch by the types and the order of its parameters, which are those of the closure.
//!
//! | file | concern |
//! |---|---|
//! | `fake.rs` | the fake driver's own functions, and what stands in a kernel's place |
//! | `devices.rs` | which devices there are, and what belongs to them |
//! | `memory.rs`, `large_copies.rs` | buffers and copies |
//! | `algorithms.rs` | where the operands of algorithms are |
//! | `launches.rs` | what a launch asks of the driver |
//! | `code.rs` | which code launches have made |
//! | `defaults.rs` | the device of programs that choose none, and launches that it refuses |
//! | `panics.rs`, `errors.rs` | what goes wrong in kernels, and in the driver |
//! | `forks.rs` | processes that are forked |

mod algorithms;
mod code;
mod defaults;
mod devices;
mod errors;
mod fake;
mod forks;
mod large_copies;
mod launches;
mod memory;
mod panics;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schism::prelude::*;

fn main() {
    let what = env::args().nth(1).expect("what to do");
    match &*what {
        "devices" => devices::devices(),
        "no-device" => devices::no_device(),
        "algorithms" => algorithms::algorithms(),
        "no-memory-for-algorithms" => algorithms::no_memory_for_algorithms(),
        "memory" => memory::memory(),
        "large-copies" => large_copies::large_copies(),
        "large-copies-plain" => large_copies::large_copies_plain(),
        "large-copies-fail" => large_copies::large_copies_fail(),
        "large-copies-lost" => large_copies::large_copies_lost(),
        "host_copies" => memory::host_copies(),
        "out-of-memory" => memory::out_of_memory(),
        "pool" => memory::pool(),
        "parameters" => launches::parameters(),
        "repeated" => launches::repeated(),
        "shapes" => launches::shapes(),
        "lost" => errors::lost(),
        "lost-for-good" => errors::lost_for_good(),
        "refused-launch" => errors::refused_launch(),
        "refused-code" => errors::refused_code(),
        "no-memory-once" => errors::no_memory_once(),
        "no-memory" => errors::no_memory(),
        "forked" => forks::forked(),
        "forked-before" => forks::forked_before(),
        "first-fails" => devices::first_fails(),
        "second-fails" => devices::second_fails(),
        "second-lost" => errors::second_lost(),
        "foreign" => devices::foreign(),
        "lines" => code::lines(),
        "own-mathematics" => code::sine().expect("it runs"),
        "no-libdevice" => {
            let error = code::sine().expect_err("this is no library").to_string();
            let error = format!("{error}{:?}", code::sine().expect_err("the same again"));
            assert!(error.contains("libdevice"), "{error}");
        }
        "order" => launches::order(),
        "driver-calls" => launches::driver_calls(),
        "assumptions" => code::assumptions(),
        "group-sizes" => code::group_sizes(),
        "off" => code::off(),
        "background" => code::background(false),
        "background-fails" => code::background(true),
        "processor" => code::processor(),
        "driver-version" => code::driver_version(),
        "panics" => panics::panics(),
        "panics-unread" => panics::panics_unread(),
        "stage2" => devices::stage2(),
        "default" => defaults::default(),
        "default-fails" => defaults::default_fails(),
        "default-forked" => defaults::forked(),
        "refused-default" => defaults::refused(),
        "refused-once" => defaults::refused_once(),
        "no-room-for-default" => defaults::no_room(),
        "two-queues" => defaults::two_queues(),
        "no-context" => defaults::no_context(),
        other => panic!("{other} is not known"),
    }
    println!("{what} is as it should be");
}

/// Whether the fake driver is HIP.
fn is_hip() -> bool {
    env::var_os("SCHISM_HIP").is_some_and(|path| !path.is_empty())
}

/// The prefix of the devices' names.
fn gpus() -> &'static str {
    if is_hip() { "hip" } else { "cuda" }
}

/// The name of a device of the fake driver.
fn gpu(number: usize) -> String {
    format!("{}:{number}", gpus())
}

/// What a function or an error of CUDA's is called where the fake driver is HIP.
fn named(name: &'static str) -> &'static str {
    const OF_HIP: [(&str, &str); 9] = [
        ("cuLaunchKernel", "hipModuleLaunchKernel"),
        ("cuModuleLoadDataEx", "hipModuleLoadDataEx"),
        ("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"),
        ("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"),
        ("cuDeviceGet", "hipDeviceGet"),
        ("cuInit", "hipInit"),
        ("CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue"),
        ("CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress"),
    ];
    let found = OF_HIP.iter().find(|(cuda, _)| is_hip() && *cuda == name);
    found.map_or(name, |(_, hip)| hip)
}

fn queue(device: &str) -> Queue {
    Queue::on(&Device::by_name(device).expect("a device")).expect("a queue")
}

fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    payload
        .downcast_ref::<String>()
        .cloned()
        .unwrap_or_else(|| payload.downcast_ref::<&str>().expect("a text").to_string())
}
