//! One case for each line of `docs/language.md`.
//!
//! A case computes on every device and compares with the host's loop over the same closure: the
//! closures run as plain Rust on the host, so the host is the oracle, exactly, floats included.

// A case writes what it is about, also where a shorter form exists.
#![allow(
    clippy::clone_on_copy,
    clippy::double_ended_iterator_last,
    clippy::explicit_auto_deref,
    clippy::let_unit_value,
    clippy::manual_contains,
    clippy::needless_borrow,
    clippy::question_mark,
    clippy::unnecessary_lazy_evaluations,
    clippy::useless_conversion,
    clippy::cast_nan_to_int
)]

mod atomics;
mod control;
mod data;
mod floats;
mod functions;
mod integers;
mod iterators;
mod library;
mod memory;

use std::fmt::Debug;

use schism::prelude::*;
use schism::{Capture, Device, DeviceKind};

/// A part of the table.
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// The file with its cases.
    pub file: &'static str,
    /// Its lines.
    pub cases: &'static [Case],
}

/// A line of the table, of what works.
pub struct Case {
    /// What the line says.
    pub title: &'static str,
    /// Panics if it does not work.
    pub run: fn(),
}

/// A line of the table, of what is an error.
pub struct Refused {
    /// What the line says.
    pub title: &'static str,
    /// The program in `tests/ui/` that is refused for it.
    pub program: &'static str,
}

const fn case(title: &'static str, run: fn()) -> Case {
    Case { title, run }
}

/// All that works.
pub const SECTIONS: &[Section] = &[
    Section { title: "Functions and traits", file: "functions.rs", cases: functions::CASES },
    Section { title: "Control flow", file: "control.rs", cases: control::CASES },
    Section { title: "Data", file: "data.rs", cases: data::CASES },
    Section { title: "Memory", file: "memory.rs", cases: memory::CASES },
    Section { title: "Iterators", file: "iterators.rs", cases: iterators::CASES },
    Section { title: "Integers", file: "integers.rs", cases: integers::CASES },
    Section { title: "Floating point", file: "floats.rs", cases: floats::CASES },
    Section { title: "Atomics", file: "atomics.rs", cases: atomics::CASES },
    Section { title: "The standard library", file: "library.rs", cases: library::CASES },
];

const fn refused(title: &'static str, program: &'static str) -> Refused {
    Refused { title, program }
}

/// All that is an error.
pub const REFUSED: &[Refused] = &[
    refused("allocation: `Box`, `Vec`", "kernel_allocates"),
    refused("`String`, `format!`, `to_string`", "kernel_formats"),
    refused("`HashMap`, `HashSet`", "kernel_hashes"),
    refused("inline assembly", "kernel_assembly"),
    refused("functions for one kind of CPU: `core::arch`", "kernel_cpu"),
    refused("foreign functions", "kernel_calls_foreign"),
    refused("calling what `unsafe` code brings in as a function of the host", "kernel_calls_host"),
    refused("calling a number", "kernel_calls_number"),
    refused(
        "statics whose value can change, [also on `cpu`](design/compiler.md): `static` with atomics or cells",
        "kernel_mutable_static",
    ),
    refused("`static mut`", "kernel_static_mut"),
    refused("input and output: `println!`", "kernel_prints"),
    refused("files", "kernel_reads_files"),
    refused("clocks: `Instant::now`", "kernel_reads_time"),
    refused("threads, channels", "kernel_threads"),
    refused("locks: `Mutex`", "kernel_locks"),
    refused("thread-locals", "kernel_thread_local"),
    refused("`catch_unwind`, panic hooks", "kernel_catches"),
    refused("`process::exit`, `abort`", "kernel_ends_process"),
    refused("capturing a raw pointer", "capture_pointer"),
    refused("capturing a function pointer of the host", "capture_function_pointer"),
    refused("capturing a trait object of the host", "capture_dyn"),
    refused("capturing a collection: `Vec`", "capture_vec"),
    refused("capturing a `String`", "capture_string"),
    refused("capturing an `Rc`", "capture_rc"),
    refused("capturing a struct with a reference to the host", "capture_struct"),
    refused("capturing a buffer in place of its view", "capture_buffer"),
    refused("capturing an atomic by value", "capture_atomic"),
    refused("capturing a reference to an atomic of the host", "capture_atomic_reference"),
    refused("capturing what holds a cell, an atomic or a lock", "capture_cell"),
    refused("specialization constants in an enum", "kernel_spec_const_in_enum"),
    refused(
        "specialization constants beside a reference, in one `static`",
        "kernel_spec_const_with_reference",
    ),
    refused("elements that hold references", "element_reference"),
    refused("elements that hold function pointers", "element_function_pointer"),
    refused("a closure that borrows the host's variables", "missing_move"),
];

/// The lengths with which each case runs: none, one, odd, and several chunks.
const LENGTHS: [usize; 4] = [0, 1, 67, 1001];

/// What a work-item computes on: its index, and numbers that look random.
#[derive(Clone, Copy)]
pub struct Input {
    /// The index of the work-item.
    pub index: usize,
    state: u64,
}

impl Input {
    fn new(index: usize) -> Self {
        Input { index, state: index as u64 ^ 0x5851_f42d_4c95_7f2d }
    }

    /// Any 64 bits (SplitMix64: Steele, Lea, Flood).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// Between -1 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Whether a device has not what a kernel needs: OpenCL has no recursion, which is also in sorting
/// and in formatting, and stage 2 makes no numbers of 256 bits for it, which LLVM makes of divisions
/// of such of 128.
fn is_beyond(device: &Device, error: &schism::LaunchError) -> bool {
    let text = error.to_string();
    let lacks = |what: &str| text.contains(&format!("uses {what}"));
    device.kind() == DeviceKind::OpenCl
        && (lacks("recursion (") || lacks("an integer of 256 bits,"))
}

/// Runs `f` for each work-item on every device, with every length, and compares.
pub fn agrees<T>(f: impl Fn(Input) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    agrees_on(&Device::all(), f);
}

/// The same but on OpenCL's devices, for kernels that format text: there everything is inlined into
/// one function, for which LLVM takes minutes.
pub fn agrees_where_text_is_formatted<T>(f: impl Fn(Input) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    let mut devices = Device::all();
    devices.retain(|device| {
        let has = device.kind() != DeviceKind::OpenCl;
        if !has {
            eprintln!("skipped on {device}: code that formats takes minutes there");
        }
        has
    });
    agrees_on(&devices, f);
}

/// The same on the devices that call the host's mathematics library; others differ in the last
/// bits.
pub fn agrees_with_the_library<T>(f: impl Fn(Input) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    let mut devices = Device::all();
    let calls_hosts = |device: &Device| match device.kind() {
        DeviceKind::Native => true,
        DeviceKind::Cpu => std::env::var_os("SCHISM_CPU_MATH").is_some_and(|it| it == "host"),
        _ => false,
    };
    devices.retain(calls_hosts);
    agrees_on(&devices, f);
}

fn agrees_on<T>(devices: &[Device], f: impl Fn(Input) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    'devices: for device in devices {
        let queue = Queue::on(device).expect("a device that is listed");
        for length in LENGTHS {
            let host: Vec<T> = (0..length).map(|i| f(Input::new(i))).collect();
            let mut out = Buffer::filled(&queue, length, T::default()).expect("memory");
            let ran = queue.for_each((0.., &mut out), move |(i, out)| *out = f(Input::new(i)));
            match ran {
                Ok(()) => {}
                Err(error) if is_beyond(device, &error) => {
                    eprintln!("skipped on {device}: {error}");
                    continue 'devices;
                }
                Err(error) => panic!("no panic: {error:?}"),
            }
            let found = out.to_vec();
            for (index, (found, host)) in found.iter().zip(&host).enumerate() {
                assert_eq!(found, host, "item {index} of {length} on {device}");
            }
        }
    }
}
