//! The text of each error. Who adds a kind of error adds its text: the lists below do not compile
//! without.

use std::error::Error as _;

use super::*;

fn driver() -> Box<DriverError> {
    let (name, text) = (text("CUDA_ERROR_UNKNOWN"), text("unknown error"));
    Box::new(DriverError { call: "cuInit", code: 999, name, text })
}

fn text(from: &str) -> String {
    from.to_owned()
}

/// The number of an error's kind, and how many there are. A new kind has no number yet.
macro_rules! numbered {
    ($function:ident, $type:ty: $($pattern:pat),* $(,)?) => {
        fn $function(error: &$type) -> (usize, usize) {
            const PATTERNS: &[&str] = &[$(stringify!($pattern)),*];
            let found = [$(matches!(error, $pattern)),*];
            // The match is what makes the compiler look for all of them.
            match error { $($pattern)|* => {} }
            (found.iter().position(|found| *found).unwrap_or(PATTERNS.len()), PATTERNS.len())
        }
    };
}
numbered!(device, DeviceError:
    DeviceError::Unknown { .. }, DeviceError::Stage2 { .. }, DeviceError::Stage2Version { .. }, DeviceError::NoGpu { .. }, DeviceError::NoOpenCl { .. }, DeviceError::Driver { .. }, DeviceError::Forked { .. }, DeviceError::Threads { .. }, DeviceError::CpuStack { .. }, DeviceError::CpuLanes { .. }, DeviceError::CpuMath { .. });
numbered!(buffer, BufferError:
    BufferError::TooLarge { .. }, BufferError::OutOfMemory { .. }, BufferError::AddressSpace { .. }, BufferError::Driver { .. }, BufferError::Forked { .. }, BufferError::DeviceLost { .. }, BufferError::Length { .. }, BufferError::Range { .. }, BufferError::Unavailable { .. }, BufferError::Permutation { .. }, BufferError::Rectangle { .. }, BufferError::PartlyPresent { .. }, BufferError::NotPresent { .. });
numbered!(launch, LaunchError:
    LaunchError::RangeOverflow { .. }, LaunchError::EmptyGroup { .. }, LaunchError::UnevenGroups { .. },
    LaunchError::GroupTooLarge { .. }, LaunchError::LocalMemory { .. }, LaunchError::DivergentBarrier { .. },
    LaunchError::DivergentSubGroup { .. }, LaunchError::Stack { .. }, LaunchError::NoStack { .. }, LaunchError::NoThread { .. }, LaunchError::NoLength, LaunchError::EmptyChunks { .. }, LaunchError::Rows { .. }, LaunchError::Source { .. }, LaunchError::Length { .. },
    LaunchError::InsideKernel, LaunchError::Forked { .. }, LaunchError::NoDeviceCode { .. }, LaunchError::Image { .. }, LaunchError::ForeignBuffer { .. }, LaunchError::HostMemory { .. }, LaunchError::Driver { .. }, LaunchError::DeviceLost { .. }, LaunchError::Memory(_), LaunchError::Race(_), LaunchError::Panicked(_));
numbered!(image, ImageError:
    ImageError::Container(_), ImageError::Version { .. }, ImageError::Mismatch { .. }, ImageError::NoKernel, ImageError::NoImage { .. }, ImageError::OnlyInProcess, ImageError::HostSymbols,
    ImageError::Lacks { .. }, ImageError::AmbiguousConstant { .. }, ImageError::MissingImport { .. }, ImageError::AmbiguousImport { .. }, ImageError::Stage2 { .. }, ImageError::NoAotCode { .. }, ImageError::Driver { .. }, ImageError::Compile { .. });

/// Compares the texts, and looks whether every kind has one.
fn check<E: std::error::Error>(cases: Vec<(E, &str)>, number: impl Fn(&E) -> (usize, usize)) {
    for (index, (error, expected)) in cases.iter().enumerate() {
        assert_eq!(error.to_string(), *expected);
        let of_driver = |source: &(dyn std::error::Error + 'static)| {
            source.is::<DriverError>() || source.is::<Box<DriverError>>()
        };
        assert!(error.source().is_none_or(of_driver), "the text is whole: {error}");
        let all = (index, cases.len());
        assert_eq!(number(error), all, "a kind has no text, or this one stands elsewhere: {error}");
    }
}

#[test]
fn devices() {
    let cases = vec![
        (
            DeviceError::Unknown { requested: text("cuda:7"), available: text("cpu, native") },
            "no device `cuda:7`; SCHISM_DEVICE and `Device::by_name` take one of this machine's: cpu, native",
        ),
        (
            DeviceError::Stage2 {
                device: text("cpu"),
                reason: text("/x/libschism_jit.so: no such file"),
            },
            "the device `cpu` was asked for, but its compiler cannot be loaded: /x/libschism_jit.so: no such file; run `cargo schism \
             setup`, point SCHISM_JIT at libschism_jit.so, build with `cargo schism build --targets host,ptx:sm_80`, or use SCHISM_DEVICE=native",
        ),
        (
            DeviceError::Stage2Version {
                device: text("cuda:0"),
                path: "/x/libschism_jit.so".into(),
                found: Some(3),
                expected: 4,
            },
            "the device `cuda:0` was asked for, but its compiler /x/libschism_jit.so speaks version 3 of the interface, and this program \
             speaks version 4: they belong to different versions of schism; run `cargo schism setup` and build the program again, both with \
             one version, point SCHISM_JIT at the libschism_jit.so of the program's version, or use SCHISM_DEVICE=native",
        ),
        (
            DeviceError::NoGpu { device: text("cuda"), reason: text("there is no libcuda.so.1") },
            "the device `cuda` was asked for, but there is no libcuda.so.1; use SCHISM_DEVICE=cpu, or point SCHISM_CUDA at the driver",
        ),
        (
            DeviceError::NoOpenCl {
                device: text("opencl:1"),
                reason: text("the drivers have only opencl:0"),
            },
            "the device `opencl:1` was asked for, but the drivers have only opencl:0; use SCHISM_DEVICE=cpu, or point SCHISM_OPENCL at \
             the loader libOpenCL.so.1",
        ),
        (
            DeviceError::Driver { device: text("cuda"), source: driver() },
            "the device `cuda` cannot be used: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999)",
        ),
        (
            DeviceError::Forked {
                device: text("cuda:0"),
                reason: text("`cuda:0` is its parent's"),
            },
            "the device `cuda:0` cannot be used, because this process was forked, and `cuda:0` is its parent's; use it in the parent \
             only, fork before the device is first asked for, or start another program with `std::process::Command`",
        ),
        (
            DeviceError::Threads { reason: text("resource temporarily unavailable") },
            "the worker threads of the host devices cannot be started: resource temporarily unavailable; SCHISM_CPU_THREADS sets \
             their number",
        ),
        (
            DeviceError::CpuStack { value: text("8G"), least: 65_536, most: 268_435_456 },
            "SCHISM_CPU_STACK is `8G`: the stack of a work-item on the host devices has 65536 to 268435456 bytes, written as a number, or as \
             one with K or M behind it",
        ),
        (
            DeviceError::CpuLanes { value: text("7") },
            "SCHISM_CPU_LANES is `7`: it can be `auto`, `off`, `4`, `8`, `16` or `32`",
        ),
        (
            DeviceError::CpuMath { value: text("fast") },
            "SCHISM_CPU_MATH is `fast`: the device `cpu` can take its mathematics from the `host` or from schism's own, `portable`, \
             library",
        ),
    ];
    check(cases, device);
}

#[test]
fn buffers() {
    let cases = vec![
        (
            BufferError::TooLarge { len: 1 << 62, element_size: 8 },
            "a buffer of 4611686018427387904 elements of 8 bytes is larger than any memory; work in smaller pieces",
        ),
        (
            BufferError::OutOfMemory {
                bytes: 1 << 45,
                device: text("cuda"),
                available: Some(1 << 30),
            },
            "device `cuda` has no room for a buffer of 35184372088832 bytes (1073741824 bytes are free); free buffers or work in smaller pieces",
        ),
        (
            BufferError::AddressSpace { bytes: 1 << 45, reason: text("out of memory") },
            "the host has no 35184372088832 bytes of address space for a buffer on a device: out of memory",
        ),
        (
            BufferError::Driver { device: text("cuda"), source: driver() },
            "a buffer on device `cuda`: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999)",
        ),
        (
            BufferError::Forked {
                device: text("cuda:0"),
                reason: text("`cuda:0` is its parent's"),
            },
            "a buffer on device `cuda:0` cannot be used, because this process was forked, and `cuda:0` is its parent's; use it in the \
             parent only",
        ),
        (
            BufferError::DeviceLost { device: text("cuda"), source: driver() },
            "a buffer on device `cuda`, which was lost: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999); make a new queue and new buffers",
        ),
        (
            BufferError::Length { buffer: 3, host: 4 },
            "a buffer of 3 elements cannot be copied from or to a slice of 4; copy part of it, or make the lengths equal",
        ),
        (
            BufferError::Range { begin: 5, end: 9, inclusive: false, len: 7 },
            "elements 5..9 are not part of 7 elements; a range ends at 7 at most, and does not end before it begins",
        ),
        (
            BufferError::Unavailable { device: text("cuda:0"), reason: text("the driver refuses") },
            "no buffer can be made on device `cuda:0`: the driver refuses",
        ),
        (
            BufferError::Permutation { index: 7, reason: "is twice there" },
            "the list is no permutation: index 7 is twice there; each index below the length has to be there once",
        ),
        (
            BufferError::Rectangle { rows: 1..4, columns: 0..9, width: 8, len: 24 },
            "rows 1..4 and columns 0..9 are not part of a matrix of 24 elements in rows of 8",
        ),
        (
            BufferError::PartlyPresent {
                slice: 0x1000..0x1400,
                present: 0x1200..0x2000,
                device: text("cuda:0"),
            },
            "the bytes at 0x1000..0x1400 are in part on device `cuda:0`, where a region keeps those at 0x1200..0x2000; keep all of the slice, or use the parts one by one",
        ),
        (
            BufferError::NotPresent {
                slice: 0x1000..0x1400,
                nearest: Some(0x1800..0x2000),
                device: text("cuda:0"),
            },
            "the bytes at 0x1000..0x1400 are not on device `cuda:0`, and the nearest that are have the addresses 0x1800..0x2000; put the directive into a region that has the array, or say `if_present`",
        ),
    ];
    check(cases, buffer);
    let nothing =
        BufferError::NotPresent { slice: 0x1000..0x1400, nearest: None, device: text("cuda:0") };
    assert!(nothing.to_string().contains("`cuda:0`, nor is anything else; put"));
}

#[test]
fn launches() {
    let (kernel, device) = (|| text("saxpy::main::{closure#0}"), || text("cpu"));
    let panic = KernelPanic {
        kernel: kernel(),
        device: device(),
        message: text("attempt to divide by zero"),
        location: Some(text("src/main.rs:7:21")),
        work_item: Some(vec![2, 7]),
        local_id: Some(vec![0, 3]),
        payload: Default::default(),
    };
    let cases = vec![
        (
            LaunchError::RangeOverflow { range: vec![1 << 40, 1 << 40] },
            "the range [1099511627776, 1099511627776] has more than 9223372036854775807 work-items; launch it in parts",
        ),
        (
            LaunchError::EmptyGroup { local: vec![4, 0] },
            "a work-group of [4, 0] has no work-items; use at least 1 in each dimension",
        ),
        (
            LaunchError::UnevenGroups {
                global: vec![100],
                local: vec![32],
                rounded: vec![128],
                dividing: vec![25],
            },
            "the range [100] is no multiple of the work-group [32]; round the range up to [128]: the surplus work-items must access no \
             elements, and must not return early, but come to the same barriers and operations of groups and sub-groups as the others; \
             or use groups of [25], which fill it",
        ),
        (
            LaunchError::GroupTooLarge {
                local: vec![64, 32],
                items: 2048,
                limit: 1024,
                device: device(),
            },
            "a work-group of [64, 32] has 2048 work-items, and device `cpu` allows 1024; use smaller groups",
        ),
        (
            LaunchError::LocalMemory {
                kernel: kernel(),
                bytes: 70_000,
                limit: 65_536,
                device: device(),
            },
            "the local arrays of kernel `saxpy::main::{closure#0}` take 70000 bytes, and device `cpu` has 65536 for a work-group; use \
             smaller arrays or groups",
        ),
        (
            LaunchError::DivergentBarrier {
                kernel: kernel(),
                device: device(),
                group: vec![1, 2],
                waiting: 3,
                ended: 5,
            },
            "kernel `saxpy::main::{closure#0}` has a barrier that not all work-items of a group come to: on device `cpu`, in group \
             [1, 2], 3 waited when 5 had ended; put the barrier where all or none of a group come by",
        ),
        (
            LaunchError::DivergentSubGroup {
                kernel: kernel(),
                device: device(),
                group: vec![1, 2],
                sub_group: 4,
                waiting: 3,
                elsewhere: 5,
            },
            "kernel `saxpy::main::{closure#0}` has an operation of a sub-group that not all of its work-items come to: on device `cpu`, \
             in sub-group 4 of group [1, 2], 3 waited when 5 had ended or waited for something else; put the operation where all or \
             none of a sub-group come by",
        ),
        (
            LaunchError::Stack {
                kernel: kernel(),
                device: text("cpu"),
                bytes: 314_704_384,
                items: 1,
                limit: 268_435_456,
            },
            "kernel `saxpy::main::{closure#0}` needs 314704384 bytes of stack for a work-item, and device `cpu` has 268435456; put large \
             arrays into buffers or local memory",
        ),
        (
            LaunchError::NoStack {
                kernel: kernel(),
                device: text("cpu"),
                bytes: 262_144,
                reason: text("out of memory"),
            },
            "kernel `saxpy::main::{closure#0}` has no stack of 262144 bytes on device `cpu`: out of memory; put large arrays into buffers, \
             use smaller groups or fewer threads (SCHISM_CPU_THREADS), or allow the process more memory",
        ),
        (
            LaunchError::NoThread {
                kernel: kernel(),
                device: text("native"),
                reason: text("resource temporarily unavailable"),
            },
            "kernel `saxpy::main::{closure#0}` has no thread for a work-item that waits at a barrier, on device `native`: resource \
             temporarily unavailable; use smaller groups, allow the process more threads, or launch it on the device `cpu`",
        ),
        (
            LaunchError::NoLength,
            "no source of the launch has a length; add one that has, or use `for_each_in` with a range",
        ),
        (
            LaunchError::EmptyChunks { source_index: 1 },
            "source 1 of the launch is cut into chunks of 0 elements; use at least 1",
        ),
        (
            LaunchError::Rows { source_index: 0, elements: 10, width: 4 },
            "source 0 of the launch is a matrix of 10 elements, which are no rows of 4; give the width of a row in elements",
        ),
        (
            LaunchError::Source { source_index: 3, reason: text("it is too long") },
            "source 3 of the launch cannot be used: it is too long",
        ),
        (
            LaunchError::Length { source_index: 2, expected: 4, found: 3 },
            "source 2 of the launch has 3 elements where 4 are needed; slice it, or make the lengths equal",
        ),
        (
            LaunchError::InsideKernel,
            "a kernel can neither launch kernels nor wait for them; do that on the host, after the launch",
        ),
        (
            LaunchError::Forked { reason: text("the launch is its parent's") },
            "nothing is launched, because this process was forked, and the launch is its parent's; launch in the parent, fork when no \
             other thread uses schism, or start another program with `std::process::Command`",
        ),
        (
            LaunchError::NoDeviceCode { kernel: kernel(), device: device() },
            "kernel `saxpy::main::{closure#0}` has no code for device `cpu`: the program was compiled by plain rustc; build it with \
             `cargo schism build`, or use SCHISM_DEVICE=native",
        ),
        (
            LaunchError::Image {
                kernel: kernel(),
                device: device(),
                cause: Box::new(ImageError::Version { found: 2, expected: 1 }),
            },
            "kernel `saxpy::main::{closure#0}` cannot run on device `cpu`: it was built by a code generator with interface version 2, \
             and this runtime needs 1; build everything with one version of schism",
        ),
        (
            LaunchError::ForeignBuffer {
                kernel: kernel(),
                device: text("cuda"),
                memory: text("the host"),
            },
            "kernel `saxpy::main::{closure#0}` is launched on device `cuda` with a buffer in the memory of the host; make the buffer with a queue on `cuda`",
        ),
        (
            LaunchError::HostMemory {
                device: text("cuda"),
                reason: text("its memory at 0x1000..0x2000 (/data) cannot be made visible: no"),
            },
            "the device `cuda` cannot use all of this program's memory: its memory at 0x1000..0x2000 (/data) cannot be made visible: no",
        ),
        (
            LaunchError::Driver { kernel: kernel(), device: text("cuda"), source: driver() },
            "kernel `saxpy::main::{closure#0}` on device `cuda`: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999)",
        ),
        (
            LaunchError::DeviceLost { kernel: kernel(), device: text("cuda"), source: driver() },
            "kernel `saxpy::main::{closure#0}`: the device `cuda` was lost: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999); make a new queue and new buffers, or start the program again if the driver refuses that. If an address was illegal, look at `unsafe` code of kernels first, then at how deep they call themselves",
        ),
        (
            LaunchError::Memory(BufferError::TooLarge { len: usize::MAX, element_size: 4 }),
            "a buffer of 18446744073709551615 elements of 4 bytes is larger than any memory; work in smaller pieces",
        ),
        (
            LaunchError::Race(Box::new(Race {
                array: text("y"),
                index: 7,
                first: RacingAccess {
                    iteration: text("i = 3"),
                    text: text("y[order[i]]"),
                    is_write: true,
                },
                second: RacingAccess {
                    iteration: text("i = 5"),
                    text: text("y[i]"),
                    is_write: false,
                },
            })),
            "a race at element 7 of `y`: iteration `i = 3` writes it at `y[order[i]]`, and iteration `i = 5` reads it at `y[i]`; so the loop is not `unsafe(independent)`",
        ),
        (
            LaunchError::Panicked(Box::new(panic)),
            "kernel `saxpy::main::{closure#0}` panicked at src/main.rs:7:21:\nattempt to divide by zero\nwork-item [2, 7] ([0, 3] in \
             its group) on device `cpu`",
        ),
    ];
    check(cases, launch);
}

#[test]
fn images() {
    let container = schism_hcf::records(b"no container")
        .find_map(Result::err)
        .expect("twelve bytes that are no container");
    let damaged = format!(
        "its device code is damaged or was stripped: {container}; build the program again, and keep its section `hcf`"
    );
    let cases = vec![
        (ImageError::from(container), damaged.as_str()),
        (
            ImageError::Version { found: 2, expected: 1 },
            "it was built by a code generator with interface version 2, and this runtime needs 1; build everything with one version of \
             schism",
        ),
        (
            ImageError::Mismatch { reason: text("the kernel has another size") },
            "its container does not fit the program (the kernel has another size); build the program again",
        ),
        (
            ImageError::NoKernel,
            "its container has no such kernel; build the program again",
        ),
        (
            ImageError::NoImage { available: text("ptx.sm_90") },
            "its container has no image for this device, only ptx.sm_90; build the program with `cargo schism build`",
        ),
        (
            ImageError::OnlyInProcess,
            "it uses what only the program's own process has, such as its statics, locks or allocator",
        ),
        (
            ImageError::HostSymbols,
            "the program has not the symbols that it needs, as where the linker optimises (`-C linker-plugin-lto`); build it without that",
        ),
        (
            ImageError::Lacks { what: "floating-point numbers of 128 bits" },
            "it needs floating-point numbers of 128 bits, which this device does not have; use other types in it, or launch it on the \
             device `cpu`",
        ),
        (
            ImageError::AmbiguousConstant { first: text("A"), second: text("B") },
            "the specialization constants `A` and `B` are declared at the same place, so their values cannot be told apart; give them \
             names with `SpecConst::named`",
        ),
        (
            ImageError::MissingImport { symbol: text("f") },
            "it imports the function `f`, and no device code of this program exports that; list it with `schism::export_to_device!` in the \
             crate that defines it, build that crate with `cargo schism build`, and see that it is linked or loaded",
        ),
        (
            ImageError::AmbiguousImport { symbol: text("f"), crates: text("a, b") },
            "it imports the function `f`, and device code of several crates of this program exports that: a, b; give the functions \
             different names, or export one of them",
        ),
        (
            ImageError::Stage2 { reason: text("there is none") },
            "its compiler cannot be loaded: there is none; run `cargo schism setup` or point SCHISM_JIT at libschism_jit.so",
        ),
        (
            ImageError::NoAotCode {
                available: text("ptx:sm_80"),
                wanted: text("host"),
                reason: text("there is none"),
            },
            "it was compiled ahead of time for ptx:sm_80, which does not serve host, and its compiler cannot be loaded: there is none; add a \
             target to `cargo schism build --targets`, or ship the compiler with the program (`cargo schism bundle --jit`)",
        ),
        (
            ImageError::Driver { source: driver(), log: text("ptxas: no") },
            "the driver refuses its code: `cuInit` failed: unknown error (CUDA_ERROR_UNKNOWN, code 999)
ptxas: no",
        ),
        (
            ImageError::Compile { code: 3, reason: text("it calls `gone`") },
            "it cannot be compiled (code 3): it calls `gone`",
        ),
    ];
    check(cases, image);
}

/// The error of the crate says what its parts say, and no more.
#[test]
fn any_error() {
    let part = LaunchError::NoLength;
    let error = Error::from(part.clone());
    assert_eq!(error.to_string(), part.to_string());
    assert!(error.source().is_none());
}
