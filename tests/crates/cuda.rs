//! Uses devices of the fake driver, see `fake_cuda.rs`. The argument says what to do; the test sets the environment.
//!
//! The fake driver runs no kernels. A function of this program does in their place: it knows a launch by the types and the order of
//! its parameters, which are those of the closure.

use std::env;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Mutex;

use schism::prelude::*;
use schism::{BufferError, DeviceError, Error, ImageError};

fn main() {
    let what = env::args().nth(1).expect("what to do");
    match &*what {
        "devices" => devices(),
        "no-device" => no_device(),
        "memory" => memory(),
        "large-copies" => large_copies(),
        "large-copies-plain" => large_copies_plain(),
        "large-copies-fail" => large_copies_fail(),
        "large-copies-lost" => large_copies_lost(),
        "mirrors" => mirrors(),
        "out-of-memory" => out_of_memory(),
        "pool" => pool(),
        "parameters" => parameters(),
        "shapes" => shapes(),
        "lost" => lost(),
        "refused-launch" => refused_launch(),
        "refused-code" => refused_code(),
        "second-fails" => second_fails(),
        "foreign" => foreign(),
        "lines" => lines(),
        "own-mathematics" => sine().expect("it runs"),
        "no-libdevice" => {
            let error = sine().expect_err("this is no library").to_string();
            let error = format!("{error}{:?}", sine().expect_err("the same again"));
            assert!(error.contains("libdevice"), "{error}");
        }
        "order" => order(),
        "driver-calls" => driver_calls(),
        "facts" => facts(),
        "group-sizes" => group_sizes(),
        "off" => off(),
        "background" => background(false),
        "background-fails" => background(true),
        "driver-version" => driver_version(),
        "panics" => panics(),
        "panics-unread" => panics_unread(),
        "stage2" => stage2(),
        other => panic!("{other} is not known"),
    }
    println!("{what} is as it should be");
}

// The fake driver's own functions.

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type OnLaunch = extern "C" fn(*const c_char, *const c_uint, *const c_uint, c_uint, *mut *mut c_void);

fn fake(name: &str) -> *mut c_void {
    let path = CString::new(env::var("SCHISM_CUDA").expect("the fake driver")).expect("a path");
    let name = CString::new(name).expect("a name");
    let found = unsafe { dlsym(dlopen(path.as_ptr(), 2), name.as_ptr()) };
    assert!(!found.is_null());
    found
}

fn on_launch(run: OnLaunch) {
    let set: extern "C" fn(OnLaunch) = unsafe { std::mem::transmute(fake("fake_on_launch")) };
    set(run);
}

fn calls(function: &str) -> u64 {
    let function = CString::new(function).expect("a name");
    let calls: extern "C" fn(*const c_char) -> u64 =
        unsafe { std::mem::transmute(fake("fake_calls")) };
    calls(function.as_ptr())
}

/// The PTX that was loaded last, and how often any was.
fn code() -> (String, u64) {
    let code: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(fake("fake_code")) };
    let text = unsafe { std::ffi::CStr::from_ptr(code()) }.to_string_lossy().into_owned();
    (text, calls("cuModuleLoadDataEx"))
}

fn device_memory() -> usize {
    let memory: extern "C" fn() -> usize = unsafe { std::mem::transmute(fake("fake_memory")) };
    memory()
}

/// The values of a launch's parameters.
struct Parameters(*mut *mut c_void);

impl Parameters {
    fn get<T: Copy>(&self, index: usize) -> T {
        unsafe { self.0.add(index).read().cast::<T>().read_unaligned() }
    }

    fn elements<T>(&self, address: usize, len: usize) -> &'static mut [T] {
        unsafe { slice::from_raw_parts_mut(self.get::<*mut T>(address), len) }
    }
}

fn queue(device: &str) -> Queue {
    Queue::on(&Device::by_name(device).expect("a device")).expect("a queue")
}

fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| {
        payload.downcast_ref::<&str>().expect("a text").to_string()
    })
}

fn devices() {
    let all: Vec<_> = Device::all().iter().map(ToString::to_string).collect();
    assert_eq!(all, ["cpu", "native", "cuda:0", "cuda:1"]);
    let device = Device::by_name("cuda:1").expect("there are two");
    assert_eq!((device.name(), device.kind()), ("cuda:1", schism::DeviceKind::Cuda));
    assert!(device.description().contains("A GPU that is none, sm_90, 1 GiB"));
    assert_eq!((device.max_group_size(), device.local_memory_size()), (1024, 227 << 10));
    assert_eq!(Device::by_name("cuda").expect("the first"), Device::by_name("cuda:0").unwrap());
    assert_ne!(device, Device::by_name("cuda:0").unwrap());
    let error = Device::by_name("cuda:2").expect_err("there are two").to_string();
    assert!(error.contains("`cuda:2`") && error.contains("cuda:0, cuda:1"), "{error}");
    for name in ["cuda:", "cuda:x", "cuda1", "gpu"] {
        let error = Device::by_name(name).expect_err("no name");
        assert!(matches!(error, DeviceError::Unknown { .. }), "{error}");
        assert!(error.to_string().contains("cuda:1"), "{error}");
    }
    for number in 0..2 {
        let queue = queue(&format!("cuda:{number}"));
        assert_eq!(Buffer::from_slice(&queue, &[number]).expect("memory").to_vec(), [number]);
    }
}

/// There is no driver, or it has no device.
fn no_device() {
    let reason = env::args().nth(2).expect("what is said");
    let error = Device::by_name("cuda:0").expect_err("no device");
    assert!(matches!(error, DeviceError::NoGpu { .. }), "{error}");
    assert!(error.to_string().contains(&reason), "{error}");
    assert!(Device::all().iter().all(|device| !device.name().starts_with("cuda")));
    // Without a demand, programs run elsewhere.
    Queue::new().expect("the host").parallel_for(1, |_| ()).expect("it runs");
}

fn memory() {
    let queue = queue("cuda:0");
    let numbers: Vec<u32> = (0..100_000).collect();
    let mut buffer = Buffer::from_slice(&queue, &numbers).expect("memory");
    assert_eq!(buffer.to_vec(), numbers);
    let reversed: Vec<u32> = numbers.iter().rev().copied().collect();
    buffer.write(&reversed).expect("as long");
    let mut back = vec![0; numbers.len()];
    buffer.read(&mut back).expect("as long");
    assert_eq!(back, reversed);
    assert!(matches!(buffer.read(&mut back[1..]), Err(BufferError::Length { .. })));

    for value in [0, 0x0101_0101, 0xdead_beef_u32] {
        for len in [0, 1, 2, 3, 1000, 70_000] {
            let filled = Buffer::filled(&queue, len, value).expect("memory");
            assert_eq!(filled.to_vec(), vec![value; len]);
        }
    }
    let odd = [(7_u8, 0x1234_u16, 3_u8); 5000];
    assert_eq!(Buffer::filled(&queue, 5000, odd[0]).expect("memory").to_vec(), odd);
    let large = Buffer::filled(&queue, 10, [3_u64; 2000]).expect("memory");
    assert_eq!(large.to_vec(), [[3; 2000]; 10]);
    assert_eq!(Buffer::from_slice(&queue, &[(); 5]).expect("nothing").to_vec(), [(); 5]);
    assert_eq!(Buffer::<u8>::from_slice(&queue, &[]).expect("nothing").to_vec(), []);
    assert_eq!(format!("{:?}", Buffer::from_slice(&queue, &[1, 2]).expect("memory")), "[1, 2]");
}

extern "C" fn add_one(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    for number in Parameters(parameters).elements::<u32>(0, 4) {
        *number += 1;
    }
}

/// What staging does, in bytes: pieces, and the least that it takes.
const PIECE: usize = 2 << 20;
const LEAST: usize = 2 * PIECE;

/// Numbers that follow no pattern that a piece could have.
fn numbers(bytes: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state
    };
    (0..bytes / 8).map(next).collect()
}

/// There and back, by all ways.
fn there_and_back(queue: &Queue, bytes: usize, seed: u64) {
    let numbers = numbers(bytes, seed);
    let mut buffer = Buffer::from_slice(queue, &numbers).expect("memory");
    assert!(buffer.to_vec() == numbers, "{bytes} bytes");
    assert!(*buffer.view() == *numbers, "{bytes} bytes, by a view");
    let others: Vec<u64> = numbers.iter().map(|number| !number).collect();
    buffer.write(&others).expect("as many");
    let mut back = vec![0; others.len()];
    buffer.read(&mut back).expect("as many");
    assert!(back == others, "{bytes} bytes, written");
}

fn large_copies() {
    let queue = queue("cuda:0");
    let count = || [calls("cuMemcpyHtoDAsync_v2"), calls("cuMemcpyDtoHAsync_v2"), calls("cuMemHostAlloc")];
    there_and_back(&queue, LEAST - 8, 1);
    assert_eq!(count(), [2, 3, 0], "small copies go as they are");
    there_and_back(&queue, LEAST, 2);
    assert_eq!(count(), [2 + 4, 3 + 6, 1], "pieces of one lane");
    for (bytes, seed) in [LEAST + 8, 3 * PIECE - 8, 3 * PIECE, 4 * PIECE + 8, 15 * PIECE + 24].into_iter().zip(3..) {
        there_and_back(&queue, bytes, seed);
    }
    // More lanes, by several threads at once: no more of them than there may be.
    std::thread::scope(|threads| {
        for seed in 0..3 {
            let queue = &queue;
            threads.spawn(move || {
                let mut random = seed;
                for bytes in [64 << 20, 35 << 20, LEAST] {
                    random = (random * 7 + 3) % 1000;
                    there_and_back(queue, bytes + 8 * random, random as u64);
                }
            });
        }
    });
    assert!((1..=4).contains(&count()[2]), "{:?}", count());
    // What a kernel changes comes back.
    on_launch(double_all);
    let mut buffer = Buffer::from_slice(&queue, &vec![3_u64; (9 * PIECE + 8) / 8]).expect("memory");
    queue.for_each(&mut buffer, |x| *x *= 2).expect("it runs");
    assert!(buffer.to_vec().iter().all(|x| *x == 6));
}

extern "C" fn double_all(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    for x in Parameters(parameters).elements::<u64>(0, (9 * PIECE + 8) / 8) {
        *x *= 2;
    }
}

/// There is no memory for staging.
fn large_copies_plain() {
    let queue = queue("cuda:0");
    there_and_back(&queue, 5 * PIECE + 8, 7);
    assert_eq!((calls("cuMemcpyHtoDAsync_v2"), calls("cuMemcpyDtoHAsync_v2")), (2, 3));
}

/// A piece is refused, and a wait.
fn large_copies_fail() {
    let queue = queue("cuda:0");
    let numbers = numbers(40 * PIECE, 1);
    let error = Buffer::from_slice(&queue, &numbers).expect_err("a piece is refused");
    assert!(matches!(error, BufferError::Driver { .. }), "{error}");
    assert!(error.to_string().contains("cuMemcpyHtoDAsync_v2"), "{error}");
    let buffer = Buffer::from_slice(&queue, &numbers).expect("the next is not");
    let mut back = vec![0; numbers.len()];
    let error = buffer.read(&mut back).expect_err("a piece is refused");
    assert!(matches!(error, BufferError::Driver { .. }), "{error}");
    assert!(error.to_string().contains("cuMemcpyDtoHAsync_v2"), "{error}");
    buffer.read(&mut back).expect("it works again");
    assert!(back == numbers);
    there_and_back(&queue, 40 * PIECE, 2);
}

/// The context goes while pieces are on their way.
fn large_copies_lost() {
    let first = queue("cuda:0");
    let numbers = numbers(40 * PIECE, 1);
    let error = Buffer::from_slice(&first, &numbers).expect_err("the context is lost");
    assert!(matches!(error, BufferError::DeviceLost { .. }), "{error}");
    let error = Buffer::from_slice(&first, &numbers).expect_err("it stays lost");
    assert!(matches!(error, BufferError::DeviceLost { .. }), "{error}");
    there_and_back(&queue("cuda:0"), 40 * PIECE, 2);
}

/// What the host reads through views.
fn mirrors() {
    on_launch(add_one);
    let queue = queue("cuda:0");
    let mut buffer = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
    {
        let view = buffer.view();
        let copies = calls("cuMemcpyDtoHAsync_v2");
        assert_eq!(view.len(), 4);
        assert_eq!(&*view, [1, 2, 3, 4]);
        let (slice, part) = (view.as_slice(), view.slice(1..3).expect("a part"));
        assert_eq!((part[0], &part[..], slice[3]), (2, &[2, 3][..], 4));
        assert_eq!(view.slice(4..).expect("nothing").as_slice(), []);
        assert_eq!(calls("cuMemcpyDtoHAsync_v2"), copies + 1);
        assert_eq!(slice.as_ptr(), view.as_slice().as_ptr());
    }
    let increase = |source: ViewMut<'_, u32>| {
        queue.for_each(source, |number| *number += 1).expect("it runs");
    };
    increase(buffer.view_mut());
    assert_eq!(&*buffer.view(), [2, 3, 4, 5]);
    {
        // Launches in between, while the buffer stays borrowed.
        let mut view = buffer.view_mut();
        increase(view.reborrow());
        assert_eq!(&*view.reborrow().into_view(), [3, 4, 5, 6]);
        queue.for_each(&mut view, |number| *number += 1).expect("it runs");
        assert_eq!(&*view.reborrow().into_view(), [4, 5, 6, 7]);
        increase(view);
    }
    assert_eq!(&*buffer.view(), [5, 6, 7, 8]);
    {
        let (first, mut second) = buffer.view_mut().split_at(2).expect("a half");
        let first = first.into_view();
        let seen = first.as_slice();
        assert_eq!(seen, [5, 6]);
        // The stand-in changes four numbers, so it would go beyond the half.
        second = second.slice(..).expect("all");
        drop(second);
        assert_eq!(seen, [5, 6]);
    }
    buffer.write(&[9, 8, 7, 6]).expect("as long");
    assert_eq!(&*buffer.view(), [9, 8, 7, 6]);

    // Atomics are where the device is, and out of reach for the host.
    let message = panic_of(|| {
        buffer.atomic_view()[0].fetch_add(1, Relaxed);
    });
    assert!(message.contains("atomics") && message.contains("`cuda:0`"), "{message}");
    assert_eq!(&*buffer.view(), [9, 8, 7, 6]);
    let message = panic_of(|| {
        let view = buffer.view_mut();
        // SAFETY: the element is there, and nobody else uses it.
        unsafe { view.set(0, 1) }
    });
    assert!(message.contains("out of the host's reach"), "{message}");
    assert_eq!(buffer.to_vec(), [9, 8, 7, 6]);
}

fn out_of_memory() {
    let queue = queue("cuda:0");
    let half = 40 << 20;
    let first = Buffer::filled(&queue, half, 1_u8).expect("there are 64 MiB");
    let error = Buffer::filled(&queue, half, 1_u8).expect_err("there are 64 MiB");
    let expected = BufferError::OutOfMemory {
        bytes: half,
        device: "cuda:0".to_owned(),
        available: Some(24 << 20),
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("41943040 bytes (25165824 bytes are free)"), "{error}");
    // What is left can be had, though no whole block is.
    let rest = Buffer::filled(&queue, 20 << 20, 2_u8).expect("24 MiB are left");
    drop(first);
    let again = Buffer::filled(&queue, half, 3_u8).expect("the first one is gone");
    drop(rest);
    drop(again);
    // All of it is free, and goes back for a buffer that needs it all.
    let all = Buffer::filled(&queue, 64 << 20, 4_u8).expect("everything");
    assert_eq!((all.len(), device_memory()), (64 << 20, 64 << 20));
    let error = Buffer::<u8>::with_len(&queue, isize::MAX as usize / 2).expect_err("too much");
    assert!(matches!(error, BufferError::OutOfMemory { .. } | BufferError::AddressSpace { .. }));
}

fn pool() {
    let queue = queue("cuda:0");
    let mut kept = Vec::new();
    for round in 0..50 {
        let buffers: Vec<_> = (0..40)
            .map(|number| {
                Buffer::filled(&queue, 1 + number * 100, round * 40 + number).expect("memory")
            })
            .collect();
        for (number, buffer) in buffers.iter().enumerate() {
            assert!(buffer.to_vec().iter().all(|found| *found == round * 40 + number));
        }
        kept.extend(buffers.into_iter().nth(round % 40));
    }
    for (round, buffer) in kept.iter().enumerate() {
        assert!(buffer.to_vec().iter().all(|found| *found == round * 40 + round % 40));
    }
    assert_eq!(calls("cuMemAlloc_v2"), 1);
}

extern "C" fn saxpy(
    _: *const c_char,
    grid: *const c_uint,
    block: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    let parameters = Parameters(parameters);
    // Sources first: the address of `y`; address and length of `x`. Then the closure's factor.
    let len: usize = parameters.get(2);
    let (y, x) = (parameters.elements::<f32>(0, len), parameters.elements::<f32>(1, len));
    let factor: f32 = parameters.get(3);
    let range: u64 = parameters.get(4);
    assert_eq!(range as usize, len);
    let (grid, block) = unsafe { (grid.read(), block.read()) };
    assert!((grid as usize * block as usize) >= len && block % 32 == 0);
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * *x;
    }
}

/// Values and addresses come where the kernel expects them.
fn parameters() {
    on_launch(saxpy);
    let queue = queue("cuda:0");
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let device_x = Buffer::from_slice(&queue, &x).expect("memory");
    let mut device_y = Buffer::filled(&queue, 1000, 1.0_f32).expect("memory");
    let factor = 2.5;
    queue
        .for_each((&mut device_y, &device_x), move |(y, x)| *y += factor * *x)
        .expect("it runs");
    let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.5 * x).collect();
    assert_eq!(device_y.to_vec(), expected);
    // A part of a buffer has an address in the middle.
    queue
        .for_each(
            (
                device_y.slice_mut(10..20).expect("a part"),
                device_x.slice(500..510).expect("a part"),
            ),
            move |(y, x)| *y += factor * *x,
        )
        .expect("it runs");
    let found = device_y.to_vec();
    assert_eq!(found[10], expected[10] + 2.5 * 500.0);
    assert_eq!((found[9], found[20]), (expected[9], expected[20]));
}

static SEEN: Mutex<Vec<([u32; 3], [u32; 3], u32, String)>> = Mutex::new(Vec::new());

extern "C" fn note(
    name: *const c_char,
    grid: *const c_uint,
    block: *const c_uint,
    shared: c_uint,
    _: *mut *mut c_void,
) {
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let (grid, block) = unsafe { (grid.cast::<[u32; 3]>().read(), block.cast::<[u32; 3]>().read()) };
    SEEN.lock().unwrap().push((grid, block, shared, name));
}

fn take_seen() -> Vec<([u32; 3], [u32; 3], u32, String)> {
    std::mem::take(&mut SEEN.lock().unwrap())
}

fn shapes() {
    on_launch(note);
    let queue = queue("cuda:0");
    let covers = |range: [usize; 3]| {
        let [(grid, block, 0, _)]: [_; 1] = take_seen().try_into().expect("one launch") else {
            panic!("no local memory")
        };
        for axis in 0..3 {
            let threads = grid[axis] as usize * block[axis] as usize;
            assert!((range[axis]..range[axis] + block[axis] as usize).contains(&threads));
        }
        assert!(block.iter().product::<u32>() <= 1024);
    };
    for n in [1, 31, 33, 1000, 1 << 20, (1 << 33) + 1] {
        queue.parallel_for(n, |_| ()).expect("it runs");
        covers([n, 1, 1]);
        queue.parallel_for([3, n], |_| ()).expect("it runs");
        covers([n, 3, 1]);
        queue.parallel_for([5, 2, n], |_| ()).expect("it runs");
        covers([n, 2, 5]);
    }
    queue.parallel_for(0, |_| ()).expect("it runs");
    assert_eq!(take_seen().len(), 0);
    // More rows than a grid has: in pieces.
    queue.parallel_for([40_000_000, 1], |_| ()).expect("it runs");
    let seen = take_seen();
    let rows: usize = seen.iter().map(|(grid, block, ..)| (grid[1] * block[1]) as usize).sum();
    assert!(seen.len() > 1 && (40_000_000..40_001_000).contains(&rows));

    let range = NdRange::new([4, 64, 96], [2, 8, 32]).expect("even groups");
    queue
        .parallel_for_groups(range, local::<u32>(100), |item, tile| {
            tile.set(item.local_x(), 1);
            schism::local_array!(item, u64; 7).set(0, 1);
            item.barrier();
        })
        .expect("it runs");
    let seen = take_seen();
    assert_eq!((seen[0].0, seen[0].1), ([3, 8, 2], [32, 8, 2]));
    assert!((400 + 56..1000).contains(&seen[0].2), "{} bytes", seen[0].2);
    let most = queue.device().local_memory_size();
    let range = NdRange::new(32, 32).expect("one group");
    let launch = |bytes| {
        queue.parallel_for_groups(range, local::<u8>(bytes), |item, tile| tile.set(item.x(), 1))
    };
    launch(most).expect("just as much");
    assert_eq!(calls("cuFuncSetAttribute"), 1);
    assert!(matches!(launch(most + 1), Err(LaunchError::LocalMemory { limit, .. }) if limit == most));
    for local in [[2048, 1, 1], [1, 1024, 2], [128, 1, 1]] {
        let range = NdRange::new(local, local).expect("one group");
        let result = queue.parallel_for_groups(range, (), |item, ()| item.barrier());
        assert!(matches!(result, Err(LaunchError::GroupTooLarge { .. })), "{local:?}");
    }
}

fn is_lost(error: &BufferError) -> bool {
    matches!(error, BufferError::DeviceLost { device, source }
        if device == "cuda:0" && source.code == 700 && source.name == "CUDA_ERROR_ILLEGAL_ADDRESS")
}

/// The launch's wait fails as after an illegal address: see the test's environment.
fn lost() {
    let before = queue("cuda:0");
    let mut buffer = Buffer::filled(&before, 100, 1_u32).expect("memory");
    let other = Buffer::filled(&before, 100, 2_u32).expect("memory");
    assert_eq!(other.view()[3], 2);
    let error = before.for_each(&mut buffer, |number| *number += 1).expect_err("it is lost");
    let LaunchError::DeviceLost { device, source, .. } = &error else { panic!("{error}") };
    assert_eq!((&**device, source.code), ("cuda:0", 700));
    assert!(error.to_string().contains("make a new queue"), "{error}");

    // All that was there says so.
    assert!(is_lost(&buffer.try_to_vec().expect_err("it is lost")));
    assert!(is_lost(&buffer.write(&[0; 100]).expect_err("it is lost")));
    assert!(is_lost(&buffer.read(&mut [0; 100]).expect_err("it is lost")));
    assert!(is_lost(&Buffer::filled(&before, 1, 1).expect_err("it is lost")));
    let error = before.parallel_for(1, |_| ()).expect_err("it is lost");
    assert!(matches!(error, LaunchError::DeviceLost { .. }), "{error}");
    assert!(panic_of(|| drop(buffer.to_vec())).contains("was lost"));
    // What the host has read stays.
    assert_eq!(other.view()[3], 2);
    assert!(panic_of(|| assert_eq!(buffer.view()[0], 0)).contains("was lost"));

    // The process goes on with a new queue.
    let after = queue("cuda:0");
    let mut new = Buffer::from_slice(&after, &[1, 2, 3]).expect("memory");
    after.for_each(&mut new, |number| *number += 1).expect("it runs");
    assert_eq!(new.to_vec(), [1, 2, 3]);
    let error = after.for_each(&mut buffer, |number| *number += 1).expect_err("it was lost");
    assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
    assert_eq!(calls("cuCtxDestroy_v2"), 0);
    drop((buffer, other, before));
    assert_eq!(calls("cuCtxDestroy_v2"), 1);
    assert_eq!(new.to_vec(), [1, 2, 3]);
}

/// Driver errors that leave the context alone.
fn refused_launch() {
    let queue = queue("cuda:0");
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    let LaunchError::Driver { source, .. } = &error else { panic!("{error}") };
    assert_eq!((source.call, source.code), ("cuLaunchKernel", 1));
    assert!(error.to_string().contains("CUDA_ERROR_INVALID_VALUE"), "{error}");
    queue.parallel_for(1, |_| ()).expect("the next one is not");
    // A code that nobody knows.
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("error 12345"), "{error}");
}

fn refused_code() {
    let queue = queue("cuda:0");
    let launch = || queue.parallel_for(1, |_| ());
    for _ in 0..2 {
        let error = launch().expect_err("the driver refuses the code");
        let LaunchError::Image { cause, .. } = &error else { panic!("{error}") };
        let ImageError::Driver { source, log, .. } = &**cause else { panic!("{error}") };
        assert_eq!((source.call, source.code), ("cuModuleLoadDataEx", 218));
        assert!(log.contains("told to refuse"), "{log}");
        assert!(error.to_string().ends_with("told to refuse this"), "{error}");
    }
    // Other kernels are fine.
    queue.parallel_for(1, |item| assert!(item.x() == 0)).expect("it runs");
}

fn second_fails() {
    let error = Queue::on(&Device::by_name("cuda:1").expect("it is listed")).expect_err("it fails");
    assert!(matches!(&error, DeviceError::Driver { device, .. } if device == "cuda:1"), "{error}");
    assert!(error.to_string().contains("CUDA_ERROR_INVALID_DEVICE"), "{error}");
    let queue = queue("cuda:0");
    let mut buffer = Buffer::from_slice(&queue, &[1]).expect("memory");
    queue.for_each(&mut buffer, |number| *number += 1).expect("it runs");
    assert_eq!(buffer.to_vec(), [1]);
}

/// Buffers of one device and queues of another.
fn foreign() {
    on_launch(add_one);
    let [cpu, native, first, second] = ["cpu", "native", "cuda:0", "cuda:1"].map(queue);
    let is_foreign = |result: Result<(), LaunchError>, memory: &str| {
        let error = result.expect_err("it is elsewhere");
        assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
        assert!(error.to_string().contains(memory), "{error}");
    };
    let mut on_host = Buffer::from_slice(&cpu, &[1_u32; 4]).expect("memory");
    let mut on_first = Buffer::from_slice(&first, &[1_u32; 4]).expect("memory");
    let mut on_second = Buffer::from_slice(&second, &[1_u32; 4]).expect("memory");
    for queue in [&first, &second] {
        is_foreign(queue.for_each(&mut on_host, |x| *x += 1), "the host");
        let view = on_host.view();
        is_foreign(queue.parallel_for(4, move |item| assert!(view[item.x()] == 1)), "the host");
    }
    is_foreign(first.for_each(&mut on_second, |x| *x += 1), "another device");
    is_foreign(second.for_each(&mut on_first, |x| *x += 1), "another device");
    for queue in [&cpu, &native] {
        is_foreign(queue.for_each(&mut on_first, |x| *x += 1), "a GPU");
        is_foreign(queue.for_each((0..4, &on_first), |_| ()), "a GPU");
        is_foreign(queue.for_each(on_first.chunks_mut(2), |_| ()), "a GPU");
        let whole = schism::whole(&on_first);
        is_foreign(queue.for_each_in(4, whole, |_, _| ()), "a GPU");
        let result = queue.scope(|scope| {
            let mut lent = scope.lend(&mut on_first);
            scope.for_each(&mut lent, |x| *x += 1)?;
            Ok(())
        });
        assert!(matches!(result, Err(Error::Launch(LaunchError::ForeignBuffer { .. }))));
    }
    let view = on_first.view();
    is_foreign(cpu.parallel_for(4, move |item| assert!(view[item.x()] == 1)), "a GPU");
    // The native device runs host code, which reads a copy.
    let mut copy = Buffer::filled(&native, 4, 0_u32).expect("memory");
    native.for_each((0..4, &mut copy), move |(i, to)| *to = view[i]).expect("it runs");
    assert_eq!(copy.to_vec(), [1; 4]);
    let view = on_first.view_mut();
    // SAFETY: each work-item has its element.
    let result = native.parallel_for(4, move |item| unsafe { view.set(item.x(), 2) });
    assert!(matches!(result, Err(LaunchError::Panicked(_))), "{result:?}");
    // And all that is where it belongs.
    first.for_each(&mut on_first, |x| *x += 1).expect("it runs");
    second.for_each(&mut on_second, |x| *x += 1).expect("it runs");
    assert_eq!((on_first.to_vec(), on_second.to_vec()), (vec![2; 4], vec![2; 4]));
    // Empty buffers are nowhere.
    let mut empty = Buffer::<u32>::from_slice(&cpu, &[]).expect("nothing");
    first.for_each(&mut empty, |x| *x += 1).expect("nothing to do");
    let empty = empty.view();
    let add = move |item: Item<1>| assert!(empty.len() + item.x() < 100);
    on_launch(note);
    first.parallel_for(1, add).expect("it runs");
}

fn order() {
    on_launch(note);
    let queue = queue("cuda:0");
    let mut buffer = Buffer::filled(&queue, 300, 1_u32).expect("memory");
    queue
        .scope(|scope| {
            let mut lent = scope.lend(&mut buffer);
            let mut events = Vec::new();
            for _ in 0..100 {
                events.push(scope.for_each(&mut lent, |x| *x += 1)?);
                events.push(scope.parallel_for([2, 3], |_| ())?);
            }
            assert_eq!(calls("cuStreamSynchronize"), 1, "the copy; launches are not waited for");
            while !events[77].is_complete() {}
            events[3].wait()?;
            Ok(())
        })
        .expect("they run");
    let seen = take_seen();
    assert_eq!(seen.len(), 200);
    assert!(seen.chunks(2).all(|pair| pair[0].3 == seen[0].3 && pair[1].3 == seen[1].3));
    assert_ne!(seen[0].3, seen[1].3);
    let (timed, untimed) = queue
        .scope(|scope| Ok(scope.parallel_for(1, |_| ())?))
        .and_then(|untimed| {
            let timed = queue.timed().scope(|scope| Ok(scope.parallel_for(1, |_| ())?))?;
            Ok((timed, untimed))
        })
        .expect("they run");
    assert_eq!(timed.duration(), Some(std::time::Duration::from_micros(1500)));
    assert_eq!(untimed.duration(), None);
    assert_eq!(take_seen().len(), 2);
    // An error of one is the scope's, and the others run.
    let mut foreign = Buffer::filled(&self::queue("cpu"), 3, 1_u32).expect("memory");
    let result = queue.scope(|scope| {
        scope.parallel_for(1, |_| ())?;
        scope.for_each(&mut foreign, |x| *x += 1)?;
        scope.parallel_for(1, |_| ())?;
        Ok(())
    });
    assert!(matches!(result, Err(Error::Launch(LaunchError::ForeignBuffer { .. }))));
    assert_eq!(take_seen().len(), 2);
}

/// A kernel with a function of C.
fn sine() -> Result<(), LaunchError> {
    on_launch(note);
    let queue = queue("cuda:0");
    let mut numbers = Buffer::filled(&queue, 10, 1.0_f32).expect("memory");
    queue.for_each(&mut numbers, |x| *x = x.sin())
}

/// The program was compiled with lines.
fn lines() {
    on_launch(note);
    queue("cuda:0").parallel_for(1, |item| assert!(item.x() < 100)).expect("it runs");
    let (text, _) = code();
    let file = text.lines().find(|line| line.contains(".file") && line.contains("/cuda.rs\""));
    let number = file.and_then(|line| line.split_whitespace().nth(1)).expect("this file");
    assert!(text.contains(&format!(".loc\t{number} ")), "{text}");
}

/// A launch is one call of the driver, whoever changes the thread's context meanwhile.
fn driver_calls() {
    const LAUNCHES: usize = 5000;
    const FUNCTIONS: [&str; 5] = [
        "cuLaunchKernel", "cuCtxSetCurrent", "cuStreamSynchronize", "cuEventQuery", "cuEventRecord",
    ];
    on_launch(note);
    let queues = [queue("cuda:0"), queue("cuda:1")];
    for queue in &queues {
        queue.parallel_for(1, |_| ()).expect("it runs");
    }
    let [queue, other] = &queues;
    let launch = |item: Item<1>| assert!(item.x() < 100);
    queue.parallel_for(1, launch).expect("it runs");
    let before = FUNCTIONS.map(calls);
    queue
        .scope(|scope| {
            (0..LAUNCHES).try_for_each(|_| scope.parallel_for(1, launch).map(drop))?;
            Ok(())
        })
        .expect("they run");
    let after = FUNCTIONS.map(calls);
    let made: [u64; 5] = std::array::from_fn(|function| after[function] - before[function]);
    assert_eq!((made[0], made[2]), (LAUNCHES as u64, 1));
    let others = made[1] + made[3] + made[4];
    assert!(others < LAUNCHES as u64 / 20, "{made:?}");
    take_seen();

    // Another library of the program's makes another context the thread's, or none.
    let set: extern "C" fn(usize) -> u32 = unsafe { std::mem::transmute(fake("cuCtxSetCurrent")) };
    let get: extern "C" fn(*mut usize) -> u32 = unsafe { std::mem::transmute(fake("cuCtxGetCurrent")) };
    other.parallel_for(1, launch).expect("it runs");
    let mut of_other = 0;
    assert_eq!((get(&mut of_other), of_other == 0), (0, false));
    take_seen();
    for context in [0, of_other] {
        queue.parallel_for(1, launch).expect("it runs");
        assert_eq!(set(context), 0);
        queue.parallel_for(1, launch).expect("it runs");
        let event = queue.scope(|scope| {
            let event = scope.parallel_for(1, launch)?;
            assert_eq!(set(context), 0);
            while !event.is_complete() {}
            let timed = queue.timed();
            assert_eq!(set(context), 0);
            let timed = timed.scope(|scope| Ok(scope.parallel_for(1, launch)?))?;
            assert!(timed.duration().is_some());
            let event = scope.parallel_for(1, launch)?;
            assert_eq!(set(context), 0);
            event.wait()?;
            Ok(event)
        });
        assert!(event.expect("they run").is_complete());
        // Launches that the driver refused because of the context are not among these.
        assert_eq!(take_seen().len(), 5);
    }
    // On other threads, too.
    std::thread::scope(|threads| {
        threads.spawn(|| queue.parallel_for(1, launch).expect("it runs"));
        threads.spawn(|| other.parallel_for(1, launch).expect("it runs"));
    });
    assert_eq!(take_seen().len(), 2);
}

/// Sums of pairs, from the one with that number on.
fn sums(queue: &Queue, len: usize, from: usize) {
    let mut to = Buffer::filled(queue, len, 0.0_f32).expect("memory");
    let pairs = Buffer::filled(queue, len + from, [0.5_f32; 2]).expect("memory");
    let pairs = pairs.slice(from..).expect("a part");
    queue.for_each((&mut to, pairs), |(to, pair)| *to = pair[0] + pair[1]).expect("it runs");
}

/// What code is made for.
fn facts() {
    on_launch(note);
    let queue = queue("cuda:0");
    let run = |len: usize, from: usize| {
        sums(&queue, len, from);
        assert_eq!(take_seen().len(), 1);
        code()
    };
    // The first launch: its block, all of it, addresses that are multiples of 16.
    let (first, loaded) = run(32, 0);
    assert!(first.contains("ld.global.v2") && !first.contains("setp"), "{first}");
    assert!(!first.contains("ntid"), "{first}");
    assert_eq!(run(32, 0).1, loaded);
    // Not all of the block: it is asked for, and the range is a parameter again.
    let (second, count) = run(20, 0);
    assert!(!second.contains("%ntid") && second.contains("setp"), "{second}");
    assert_eq!(count, loaded + 1);
    // Other blocks, and an odd address.
    let (third, count) = run(1 << 20, 1);
    assert!(third.contains("%ntid"), "{third}");
    assert!(!third.contains(".v2") && third.contains("setp"), "{third}");
    assert_eq!(count, loaded + 2);
    // That is for all launches, and the others are for those that they are made for.
    for (len, from) in [(1 << 20, 0), (1000, 3), (64, 0), (32, 0), (20, 0)] {
        assert_eq!(run(len, from).1, loaded + 2);
    }
    // Only where ids need more bits.
    let launch = |len: usize| queue.parallel_for([1, len], |_| ()).expect("it runs");
    launch(1 << 20);
    let (_, loaded) = code();
    launch(1 << 21);
    assert_eq!(code().1, loaded);
    launch(1 << 32);
    assert_eq!(code().1, loaded + 1);
}

/// Each size of groups has its code.
fn group_sizes() {
    on_launch(note);
    let queue = queue("cuda:0");
    let launch = |size: usize| {
        let range = NdRange::new(4 * size, size).expect("even groups");
        queue
            .parallel_for_groups(range, local::<u32>(size), |item, tile| {
                tile.set(item.local_x(), 1);
                let mut half = item.group_size() / 2;
                while half > 0 {
                    item.barrier();
                    half /= 2;
                }
            })
            .expect("it runs");
        code()
    };
    // Loops that depend on the size alone are unrolled.
    for size in [32, 64, 128, 256, 512, 1024, 16, 8] {
        let (text, _) = launch(size);
        assert!(text.contains(&format!(".maxntid {size}")) && !text.contains("%ntid"), "{text}");
        let barriers = text.matches("barrier.sync").count() + text.matches("bar.sync").count();
        assert_eq!(barriers, size.ilog2() as usize, "{text}");
    }
    let (_, loaded) = code();
    launch(64);
    assert_eq!(code().1, loaded);
    // There are enough now: one for all others.
    let (text, _) = launch(96);
    assert!(text.contains(".maxntid 1024") && text.contains("%ntid"), "{text}");
    for size in [2, 3, 4, 5, 6, 7] {
        assert_eq!(launch(size).1, loaded + 1);
    }
}

/// A kernel that is launched often gets code that knows more, and the launches that it is not for the one that there was. If the
/// driver refuses it, they go on as they were.
fn background(is_refused: bool) {
    on_launch(note);
    let queue = queue("cuda:0");
    let mut numbers = Buffer::filled(&queue, 100, 1_u32).expect("memory");
    let mut launch = |stride: u32, other: u32| {
        queue
            .for_each(&mut numbers, move |number| *number = number.wrapping_mul(stride) ^ other)
            .expect("it runs");
        let (text, count) = code();
        (text.contains("mul.lo"), count)
    };
    for other in 0..50 {
        assert_eq!(launch(8, 3 + other), (true, 1));
    }
    let begin = std::time::Instant::now();
    let mut other = 0;
    while launch(8, 3 + other).1 < 2 {
        other += 1;
        assert!(begin.elapsed().as_secs() < 60, "nothing comes of the background");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(other >= 48, "{other} launches are not often");
    // A stride that is a power of two takes no multiplication.
    assert_eq!(launch(8, 3).0, is_refused);
    for other in 0..500 {
        assert_eq!(launch(if other % 2 == 0 { 8 } else { 7 }, other).1, 2);
    }
}

/// Nothing is counted on.
fn off() {
    on_launch(note);
    let queue = queue("cuda:0");
    for len in [32, 20, 1 << 20] {
        sums(&queue, len, 0);
        let (text, count) = code();
        assert!(text.contains("%ntid"), "{text}");
        assert!(!text.contains(".v2") && text.contains("setp"), "{text}");
        assert_eq!(count, 1);
    }
    assert_eq!(take_seen().len(), 3);
    // A launch that would like more takes what is there.
    sums(&queue.with_adaptivity(schism::Adaptivity::Basic), 32, 0);
    assert_eq!(code().1, 1);
}

/// A kernel, which is found or compiled: the test looks at what is kept.
fn driver_version() {
    on_launch(note);
    let queue = queue("cuda:0");
    queue.parallel_for(100, |_| ()).expect("it runs");
}

/// The address of a variable of the loaded code.
fn variable(name: &str) -> u64 {
    let name = CString::new(name).expect("a name");
    let variable: extern "C" fn(*const c_char) -> u64 =
        unsafe { std::mem::transmute(fake("fake_variable")) };
    variable(name.as_ptr())
}

/// Leaves the message of a work-item that was outside of a buffer, in the place of the kernel of `panic_on_the_device`: the shape and
/// the location are those of its code.
extern "C" fn leave_a_panic(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    // The record is the last one.
    let count = code().0.matches("\t.param .").count();
    let record = Parameters(parameters).get::<*mut u64>(count - 1);
    // What the interface to stage 2 says of records, in words: the state; a message's size and flags, the first id, the shape, the
    // location, and the words.
    let (shape, location) = (variable("schism_$_shape"), variable("__unnamed_2"));
    unsafe {
        *record |= 2;
        for (index, word) in
            [(4, 96 | 9 << 32), (5, 4), (11, shape), (13, location), (14, 3), (15, 4)]
        {
            record.add(index).write(word);
        }
    }
}

fn panic_on_the_device(asynchronous: bool) -> (schism::KernelPanic, u32) {
    on_launch(leave_a_panic);
    let queue = queue("cuda:0");
    let numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3]).expect("memory");
    let mut out = Buffer::filled(&queue, 5, 0_u32).expect("memory");
    let numbers = numbers.view();
    let line = line!() + 1;
    let kernel = move |(out, i): (&mut u32, usize)| *out = numbers[i];
    let error = if asynchronous {
        let result = queue.scope(|scope| {
            let first = scope.for_each((&mut out, 0..), kernel)?;
            while !first.is_complete() {}
            first.wait()?;
            Ok(())
        });
        let Err(Error::Launch(error)) = result else { panic!("{result:?}") };
        error
    } else {
        queue.for_each((&mut out, 0..), kernel).expect_err("it panics")
    };
    let LaunchError::Panicked(panic) = error else { panic!("{error}") };
    // The queue and its context go on.
    assert_eq!(out.to_vec(), [0; 5]);
    (*panic, line)
}

/// What a panic left, and the constants of the kernel that it refers to, make its message.
fn panics() {
    for asynchronous in [false, true, false] {
        let (panic, line) = panic_on_the_device(asynchronous);
        assert_eq!(panic.message, "index out of bounds: the len is 3 but the index is 4");
        let location = panic.location.expect("it is known");
        assert!(location.contains(&format!("cuda.rs:{line}:")), "{location}");
        assert_eq!((panic.work_item, panic.local_id), (Some(vec![4]), None));
    }
}

/// The device refuses to be read.
fn panics_unread() {
    let (panic, _) = panic_on_the_device(true);
    assert_eq!((&*panic.message, panic.location), ("…", None));
    assert_eq!(panic.work_item, Some(vec![4]));
}

/// Without its compiler, there is no such device.
fn stage2() {
    let error = Device::by_name("cuda:0").expect_err("no compiler");
    assert!(matches!(&error, DeviceError::Stage2 { device, .. } if device == "cuda:0"), "{error}");
    assert_eq!(Device::all().len(), 1);
}
