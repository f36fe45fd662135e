//! Kernels that take stack, launched from a thread whose stack is as small as the command line says
//! and has a canary behind it.
//!
//! `stacks BYTES CASE…` prints a line for each case: its name, and `right`, `wrong`, or what the
//! launch says. A case that must not end well comes last. `BYTES` is the size of the launching
//! thread's stack; the thread is one that the standard library did not make. With `main` it is the
//! program's first thread, with `std` one of the standard library's.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{read_volatile, write_volatile};

use schism::prelude::*;

unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn mprotect(at: *mut u8, len: usize, prot: i32) -> i32;
    fn pthread_attr_init(attr: *mut [u64; 8]) -> i32;
    fn pthread_attr_setstack(attr: *mut [u64; 8], stack: *mut u8, len: usize) -> i32;
    fn pthread_create(
        thread: *mut u64,
        attr: *const [u64; 8],
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        data: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: u64, result: *mut *mut c_void) -> i32;
    fn setrlimit(resource: i32, limit: *const [u64; 2]) -> i32;
}

const PAGE: usize = 4096;
/// What lies behind the guard page of the launching thread's stack, as another thread's stack
/// would.
const CANARY: usize = 24 << 20;
const PATTERN: u64 = 0x5ca1_ab1e_0ddb_a11c;

/// Runs `run` on a thread with a stack of `size` bytes, a guard page below it, and a canary below
/// that. Whether the canary is whole.
fn on_thread<F: FnMut()>(size: usize, mut run: F) -> bool {
    extern "C" fn start<F: FnMut()>(data: *mut c_void) -> *mut c_void {
        // SAFETY: `on_thread` passes the address of its closure, and waits for the thread.
        unsafe { (*data.cast::<F>())() };
        std::ptr::null_mut()
    }
    // SAFETY: new memory, whose parts are used for one thing each; the thread is joined before the
    // closure goes.
    unsafe {
        let memory = mmap(std::ptr::null_mut(), CANARY + PAGE + size, 3, 0x22, -1, 0);
        assert!(memory.addr() != usize::MAX, "memory");
        let canary = std::slice::from_raw_parts_mut(memory.cast::<u64>(), CANARY / 8);
        canary.fill(PATTERN);
        assert_eq!(mprotect(memory.add(CANARY), PAGE, 0), 0);
        let (mut attributes, mut thread) = ([0; 8], 0);
        assert_eq!(pthread_attr_init(&mut attributes), 0);
        let stack = memory.add(CANARY + PAGE);
        assert_eq!(pthread_attr_setstack(&mut attributes, stack, size), 0);
        let data = (&raw mut run).cast();
        assert_eq!(pthread_create(&mut thread, &attributes, start::<F>, data), 0);
        assert_eq!(pthread_join(thread, std::ptr::null_mut()), 0);
        canary.iter().all(|word| *word == PATTERN)
    }
}

/// All of a private array, in an order that depends on the data.
#[inline(never)]
fn touched<const WORDS: usize>(seed: u32) -> u32 {
    let mut array = [seed; WORDS];
    let mut value = seed;
    for element in &mut array {
        value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *element ^= value;
    }
    for _ in 0..64 {
        let place = value as usize % WORDS;
        value = value.wrapping_add(array[place]).rotate_left(7);
        array[place] = value;
    }
    value
}

/// The lowest word of a private array of which nothing else is touched.
#[inline(never)]
fn untouched<const WORDS: usize>(seed: u32) -> u32 {
    let mut array = [const { MaybeUninit::<u32>::uninit() }; WORDS];
    // The first, which is not known before.
    let place = (seed >> 24) as usize % WORDS;
    // SAFETY: an element of the array, which is written before it is read.
    unsafe {
        write_volatile(array.as_mut_ptr().add(place).cast::<u32>(), seed);
        read_volatile(array.as_ptr().add(place).cast::<u32>())
    }
}

/// Calls itself.
#[inline(never)]
fn deep<const WORDS: usize>(depth: u32, seed: u32) -> u32 {
    let mut array = [seed; WORDS];
    // SAFETY: an element of the array.
    unsafe { write_volatile(&raw mut array[seed as usize % WORDS], depth) };
    if depth == 0 {
        return array[depth as usize];
    }
    let below = deep::<WORDS>(depth - 1, seed.wrapping_mul(3) ^ depth);
    array[below as usize % WORDS].wrapping_add(below)
}

/// Functions that call each other, not around.
#[inline(never)]
fn third(seed: u32) -> u32 {
    touched::<{ 512 << 8 }>(seed).wrapping_add(seed)
}
#[inline(never)]
fn second(seed: u32) -> u32 {
    third(touched::<{ 256 << 8 }>(seed)) ^ seed
}

trait Step {
    fn step(&self, seed: u32) -> u32;
}
struct Small;
struct Large;
impl Step for Small {
    fn step(&self, seed: u32) -> u32 {
        touched::<256>(seed)
    }
}
impl Step for Large {
    fn step(&self, seed: u32) -> u32 {
        touched::<{ 300 << 8 }>(seed)
    }
}

const ITEMS: usize = 64;
const GROUP: usize = 8;

/// Runs a function in each work-item, and compares with what it gives on the host.
macro_rules! plain {
    ($queue:ident, $seed:ident => $value:expr) => {{
        let mut out = Buffer::with_len($queue, ITEMS).expect("memory");
        let result = $queue.for_each((&mut out, 0..), move |(out, i): (&mut u32, usize)| {
            let $seed = i as u32 + 1;
            *out = $value;
        });
        if result.is_err() {
            return (result, false);
        }
        let expected = host(|i| {
            let $seed = i as u32 + 1;
            $value
        });
        (result, out.to_vec() == expected)
    }};
}

/// The same before and after a barrier, with what the work-item of the neighbour has found.
macro_rules! grouped {
    ($queue:ident, $seed:ident => $value:expr) => {{
        let mut out = Buffer::filled($queue, ITEMS, 0_u32).expect("memory");
        let to = out.view_mut();
        let range = NdRange::new(ITEMS, GROUP).expect("even groups");
        let result = $queue.for_each_in(range, local::<u32>(GROUP), move |item, tile| {
            let $seed = item.x() as u32 + 1;
            tile.set(item.local_x(), $value);
            item.barrier();
            let $seed = tile.get((item.local_x() + 1) % GROUP) | 1;
            let value: u32 = $value;
            item.barrier();
            // SAFETY: each work-item writes its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        });
        if result.is_err() {
            return (result, false);
        }
        let expected = host(|i| {
            let $seed = (i / GROUP * GROUP + (i % GROUP + 1) % GROUP) as u32 + 1;
            let $seed = $value | 1;
            $value
        });
        (result, out.to_vec() == expected)
    }};
}

/// What the host finds, on a stack for all.
fn host(value: impl Fn(usize) -> u32 + Send + Sync) -> Vec<u32> {
    std::thread::scope(|scope| {
        let run = || (0..ITEMS).map(&value).collect();
        let thread = std::thread::Builder::new().stack_size(512 << 20);
        thread.spawn_scoped(scope, run).expect("a thread").join().expect("the host's result")
    })
}

/// The depth that recursion without end has: no stack is enough.
fn without_end() -> u32 {
    std::env::args().len() as u32 | 0x4000_0000
}

/// Lets the process have so many bytes of addresses more, and nothing beyond.
fn limit_memory(more: u64) {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("it says what it has");
    let pages: u64 = statm.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number");
    let limit = pages * PAGE as u64 + more;
    // SAFETY: the limit on addresses (`RLIMIT_AS`), which is read from two numbers.
    assert_eq!(unsafe { setrlimit(9, &[limit, limit]) }, 0);
}

fn run(queue: &Queue, case: &str) -> (Result<(), LaunchError>, bool) {
    macro_rules! sizes {
        ($($name:literal $words:expr;)*) => {
            match case {
                $(
                    concat!("touched-", $name) => return plain!(queue, seed => touched::<{ $words }>(seed)),
                    concat!("untouched-", $name) => return plain!(queue, seed => untouched::<{ $words }>(seed)),
                    concat!("barrier-touched-", $name) => return grouped!(queue, seed => touched::<{ $words }>(seed)),
                    concat!("barrier-untouched-", $name) => return grouped!(queue, seed => untouched::<{ $words }>(seed)),
                )*
                _ => {}
            }
        };
    }
    sizes! {
        "1K" 1 << 8;
        "60K" 60 << 8;
        "500K" 500 << 8;
        "3M" 3 << 18;
        "16M" 16 << 18;
        "300M" 300 << 18;
    }
    let (short, long) = (20, 10_000);
    let endless = without_end();
    match case {
        "calls" => plain!(queue, seed => second(seed)),
        "barrier-calls" => grouped!(queue, seed => second(seed)),
        "pointer" => plain!(queue, seed => {
            let steps: [&dyn Step; 2] = [&Small, &Large];
            steps[seed as usize % 2].step(seed)
        }),
        "barrier-pointer" => grouped!(queue, seed => {
            let steps: [&dyn Step; 2] = [&Small, &Large];
            steps[seed as usize % 2].step(seed)
        }),
        "recursion-short" => plain!(queue, seed => deep::<{ 24 << 8 }>(short, seed)),
        "barrier-recursion-short" => grouped!(queue, seed => deep::<{ 24 << 8 }>(short, seed)),
        "recursion-long" => plain!(queue, seed => deep::<4>(long, seed)),
        "barrier-recursion-long" => grouped!(queue, seed => deep::<4>(long, seed)),
        "recursion-endless" => {
            let result = queue.parallel_for(ITEMS, move |item| {
                assert!(deep::<{ 24 << 8 }>(endless, item.x() as u32) != 1);
            });
            (result, false)
        }
        "recursion-endless-small" => {
            let result = queue.parallel_for(ITEMS, move |item| {
                assert!(deep::<4>(endless, item.x() as u32) != 1);
            });
            (result, false)
        }
        "barrier-recursion-endless" => {
            let range = NdRange::new(ITEMS, GROUP).expect("even groups");
            let result = queue.parallel_for(range, move |item| {
                item.barrier();
                assert!(deep::<{ 24 << 8 }>(endless, item.x() as u32) != 1);
            });
            (result, false)
        }
        "limit" => {
            // The canary of the next case takes most of it.
            limit_memory(CANARY as u64 + (10 << 20));
            (Ok(()), true)
        }
        "null" => {
            // SAFETY: there is nothing at that address, which is what the case is about: the
            // program ends by the system's signal.
            unsafe { write_volatile(std::ptr::without_provenance_mut::<u32>(64), 1) };
            (Ok(()), false)
        }
        _ => panic!("no case `{case}`"),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let size = arguments.next().expect("a size");
    let cases: Vec<String> = arguments.collect();
    let queue = Queue::new().expect("a queue");
    for case in &cases {
        let mut outcome = None;
        let mut launch = || {
            println!("{case}:");
            outcome = Some(run(&queue, case));
        };
        match size.as_str() {
            "main" => launch(),
            "std" => std::thread::scope(|scope| scope.spawn(launch).join().expect("no panic")),
            size => {
                let whole = on_thread(size.parse().expect("a number"), launch);
                assert!(whole, "{case} has overwritten what lies behind the stack of the thread");
            }
        }
        let outcome = match outcome.expect("it was run") {
            (Ok(()), true) => "right".to_owned(),
            (Ok(()), false) => "wrong".to_owned(),
            (Err(error), _) => error.to_string(),
        };
        println!("  {outcome}");
    }
}
