//! The message of a panic in a kernel. Every device reports what the same closure reports on the
//! host, with its location, and the work-item.

use std::cell::RefCell;
use std::num::{NonZero, Wrapping};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Once;

use schism::LaunchError;
use schism::prelude::*;
use schism_tests::lab::{Lab, clean_command, source, text};

thread_local! {
    /// Where the thread's last panic was, while it calls closures for comparison.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Message and place of a call's panic on this thread.
fn said(f: impl FnOnce()) -> Option<(String, String)> {
    PLACE.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(f));
    let place = PLACE.take().unwrap_or_default();
    let payload = result.err()?;
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    Some((text.unwrap_or_else(|| "Box<dyn Any>".to_owned()), place))
}

/// Before the runtime sets its own hook, which leaves other threads' panics to this one.
fn quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let comparing = PLACE.with_borrow_mut(|place| match place {
                Some(place) => {
                    *place = info.location().map(ToString::to_string).unwrap_or_default();
                    true
                }
                None => false,
            });
            if !comparing {
                before(info);
            }
        }));
    });
}

const ITEMS: usize = 8;

/// Work-items of `f` panic, and each device says of one of them what the host says of it. Returns
/// the first one's message.
fn same<T>(f: impl Fn(usize) -> T + Send + Sync + Copy + Capture) -> String
where
    T: Element + Default,
{
    same_where(|_| true, f)
}

/// The same on some devices.
fn same_where<T>(
    runs: impl Fn(&Device) -> bool,
    f: impl Fn(usize) -> T + Send + Sync + Copy + Capture,
) -> String
where
    T: Element + Default,
{
    quiet();
    let on_host: Vec<_> = (0..ITEMS)
        .map(|i| {
            said(|| {
                std::hint::black_box(f(i));
            })
        })
        .collect();
    let first = on_host.iter().flatten().next().expect("a work-item panics").0.clone();
    assert!(on_host.iter().any(Option::is_none), "each panics: {first}");
    for device in schism_tests::devices::listed().into_iter().filter(runs) {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, ITEMS, T::default()).expect("memory");
        let result = queue.for_each((0.., &mut out), move |(i, out)| *out = f(i));
        let Err(LaunchError::Panicked(panic)) = result else {
            panic!("on {device}: expected `{first}`, got {result:?}");
        };
        let [item] = panic.work_item.as_deref().expect("every device knows")[..] else {
            panic!("{panic:?}")
        };
        let (message, place) = on_host[item].as_ref().expect("the work-item panics on the host");
        assert_eq!(panic.message, *message, "on {device}");
        assert_eq!(panic.location.as_ref(), Some(place), "on {device}: {message}");
        assert_eq!(panic.local_id, None);
        let text = panic.to_string();
        let end =
            format!("` panicked at {place}:\n{message}\nwork-item [{item}] on device `{device}`");
        assert!(text.starts_with("kernel `") && text.ends_with(&end), "{text}");
        // The queue continues.
        queue.for_each((0.., &mut out), |(_, out)| *out = T::default()).expect("no panic");
    }
    first
}

/// What the compiler does not see through.
fn opaque<T>(value: T) -> T {
    std::hint::black_box(value)
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn operators() {
    same(|i| 7 / (i as i32 - 3));
    same(|i| 7 % (i as u8).wrapping_sub(3));
    same(|i| i32::MIN / (if i == 2 { -1 } else { 1 }));
    same(|i| i64::MIN % (if i == 2 { -1 } else { 1 }));
    same(|i| [1_u32, 2, 3, 4, 5, 6, 7][opaque(i)]);
    same(|i| (if i == 6 { None } else { Some(1_u64) }).unwrap());
    same(|i| 1_i32.strict_add(if i == 5 { i32::MAX } else { 1 }));
    same(|i| 10_u32.ilog2() + (if i == 1 { 0_u32 } else { 4 }).ilog10());
    same(|i| (if i == 1 { -1_i32 } else { 4 }).isqrt());
    if cfg!(debug_assertions) {
        same(|i| opaque(i as u8) + 251);
        same(|i| i.wrapping_add(1) as u32 - if i == 0 { 2 } else { 1 });
        same(|i| (i as i64 + 1) * (if i == 7 { i64::MAX } else { 2 }));
        same(|i| -(if i == 4 { i16::MIN } else { 3 }));
        same(|i| 1_u32 << (if i == 3 { 32 } else { 31 }));
        same(|i| 1_i64 >> (if i == 3 { 64 } else { 31 }));
        same(|i| (if i == 3 { i32::MIN } else { -7 }).abs());
    }
}

#[test]
fn explicit() {
    same(|i| if i == 3 { panic!() } else { 0_u32 });
    same(|i| if i == 3 { panic!("plain") } else { 0_u32 });
    same(|i| if i == 3 { panic!("i is {i}") } else { 0_u32 });
    same(|i| if i == 3 { unreachable!() } else { 0_u32 });
    same(|i| if i == 3 { unreachable!("at {i:>4}") } else { 0_u32 });
    same(|i| if i == 3 { todo!() } else { 0_u32 });
    same(|i| if i == 3 { todo!("later, {}", i as f32 / 2.0) } else { 0_u32 });
    same(|i| if i == 3 { unimplemented!("never") } else { 0_u32 });
    same(|i| if i == 3 { std::panic::panic_any("any") } else { 0_u32 });
    same(|i| if i == 3 { std::panic::panic_any(5_u32) } else { 0_u32 });
    same(|i| {
        assert!(i != 4);
        0_u8
    });
    same(|i| {
        assert!(i != 4, "{i} is four, says {}", "the assertion");
        0_u8
    });
    same(|i| {
        debug_or_not(i);
        0_u8
    });
}

fn debug_or_not(i: usize) {
    assert_eq!(i / 7, 0, "with a message: {:?}", (i, -1.5_f32));
}

#[test]
fn assertions_with_values() {
    same(|i| {
        assert_eq!(i, i.min(6));
        0_u8
    });
    same(|i| {
        assert_ne!(i as f32, 2.0);
        0_u8
    });
    same(|i| {
        assert_eq!((i, "text", 'c', true), (i.min(6), "text", 'c', true));
        0_u8
    });
    same(|i| {
        assert_eq!(Some(i), if i == 1 { None } else { Some(i) }, "at {i:03}");
        0_u8
    });
    same(|i| {
        assert_eq!([i; 3], [i.min(6); 3]);
        0_u8
    });
    same(|i| {
        let all = [1.5_f64, 2.5, 3.5];
        assert_eq!(&all[..i % 3], &all[..if i == 5 { 0 } else { i % 3 }]);
        0_u8
    });
    same(|i| {
        assert_eq!(Wrapping(i as u8), Wrapping(i.min(3) as u8));
        0_u8
    });
    same(|i| {
        assert_eq!(
            NonZero::new(i + 1).unwrap(),
            NonZero::new(if i == 5 { 1 } else { i + 1 }).unwrap()
        );
        0_u8
    });
    same(|i| {
        assert_eq!(0..i, 0..i.min(6));
        0_u8
    });
}

#[test]
fn options_and_results() {
    same(|i| (i != 5).then_some(i as u32).expect("not five"));
    same(|i| if i == 5 { Err(i as i8) } else { Ok(i as u32) }.unwrap());
    same(|i| if i == 5 { Err("a text") } else { Ok(i as u32) }.expect("a message"));
    same(|i| if i == 5 { Ok(i as i8) } else { Err(i as u32) }.unwrap_err());
    same(|i| if i == 5 { Ok((i, 'x')) } else { Err(i as u32) }.expect_err("an error"));
    same(|i| u8::try_from(opaque(i) * 40).unwrap());
    same(|i| u32::try_from(opaque(i as i64) - 4).unwrap());
    same(|i| char::try_from(if i == 5 { 0xd800_u32 } else { 65 }).unwrap() as u32);
    same(|i| char::from_digit(i as u32, if i == 5 { 40 } else { 10 }).unwrap_or('x') as u32);
    same(|i| <[u8; 2]>::try_from(&[1_u8, 2, 3][..if i == 5 { 3 } else { 2 }]).unwrap()[0]);
    same(|i| if i == 5 { "12x" } else { "12" }.parse::<u32>().unwrap());
    same(|i| if i == 5 { "" } else { "12" }.parse::<i8>().unwrap());
}

#[test]
fn slices_and_texts() {
    const ALL: [u32; 6] = [0, 1, 2, 3, 4, 5];
    same(|i| ALL[opaque(i).min(7)..].len() as u32);
    same(|i| ALL[..opaque(i)].len() as u32);
    same(|i| ALL[if i == 2 { 4 } else { 1 }..opaque(3)].len() as u32);
    same(|i| ALL[if i == 2 { 8 } else { 1 }..=opaque(3)].len() as u32);
    same(|i| {
        let mut to = [0_u32; 4];
        to.copy_from_slice(&ALL[..if i == 2 { 3 } else { 4 }]);
        to[0]
    });
    same(|i| ALL.split_at(if i == 3 { 9 } else { 3 }).0.len() as u32);
    same(|i| ALL.chunks(if i == 3 { 0 } else { 3 }).len() as u32);
    same(|i| "aé€".split_at(if i == 3 { 2 } else { 1 }).0.len() as u32);
    same(|i| opaque("aé€")[..if i == 3 { 2 } else { 1 }].len() as u32);
    same(|i| opaque("aé€")[if i == 3 { 9 } else { 1 }..].len() as u32);
    same(|i| opaque("aé€")[if i == 3 { 3 } else { 1 }..opaque(1)].len() as u32);
    same(|i| {
        let cell = RefCell::new(i);
        let first = cell.borrow_mut();
        let second = if i == 4 { *cell.borrow() } else { *first };
        second as u32
    });
    same(|i| {
        let cell = RefCell::new(i);
        let first = cell.borrow();
        if i == 4 {
            *cell.borrow_mut() = 3;
        }
        *first as u32
    });
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "read by Debug")]
struct Point {
    x: f32,
    y: (u8, i64),
    kind: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "read by Debug")]
enum Shape {
    Empty,
    Circle(f64),
    Box { wide: u16, name: Option<&'static str> },
}

#[test]
fn every_option() {
    macro_rules! formats {
        ($($value:expr => $($format:literal)*;)*) => {
            $($(same(|i| {
                let value = $value;
                if i == 3 { panic!($format, value) } else { 0_u8 }
            });)*)*
        };
    }
    formats! {
        opaque(-1234_i32) => "{}" "{:?}" "{:x}" "{:#X}" "{:#012b}" "{:o}" "{:+}" "{:>10}|" "{:*^12}|" "{:08}" "{:e}" "{:#x?}";
        opaque(u128::MAX) => "{}" "{:#034x}";
        opaque(i8::MIN) => "{}" "{:+05}";
        opaque(1.5_f32) => "{}" "{:?}" "{:.3}" "{:08.3}" "{:+e}" "{:E}" "{:<9}|";
        opaque(f64::NAN) => "{}" "{:8}|";
        opaque(1e300_f64) => "{:?}" "{:e}" "{:.1}";
        opaque('ß') => "{}" "{:?}" "{:>3}";
        opaque(true) => "{}" "{:?}" "{:>7}";
        opaque("a\ttext") => "{}" "{:?}" "{:.3}" "{:é>10}|" "{:<10}|";
        &&&opaque(5_u64) => "{}" "{:?}" "{:#?}" "{:x}";
        () => "{:?}" "{:#?}";
        [opaque(1_u8), 2, 3] => "{:?}" "{:#?}" "{:02x?}" "{:4?}";
        Some(Some(opaque(3_usize))) => "{:?}" "{:#?}" "{:3?}";
        (opaque(1_i16), [0.5_f32], "x") => "{:?}" "{:#?}";
        std::cmp::Ordering::Less => "{:?}";
        Point { x: opaque(0.5), y: (7, -8), kind: Shape::Empty } => "{:?}" "{:#?}" "{:5?}";
        Point { x: opaque(0.5), y: (7, -8), kind: Shape::Circle(2.0) } => "{:?}" "{:#?}";
        Point { x: opaque(0.5), y: (7, -8), kind: Shape::Box { wide: 3, name: Some("n") } } => "{:?}" "{:#?}";
        format_args!("{}-{}", opaque(1), opaque("two")) => "{}" "<{:?}>";
    }
    same(|i| {
        let (width, precision) = (opaque(9), opaque(2));
        if i == 2 { panic!("{:width$.precision$}|{:>1$}|{:.*}", 1.23456, 7, 3, 2.5) } else { 0_u8 }
    });
}

/// A type with handwritten code to format it, which no device runs.
struct Own;

impl std::fmt::Display for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("own code")
    }
}

#[test]
fn code_of_its_own_is_shown_by_name() {
    quiet();
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let result = queue.parallel_for(4, |item| {
            if item.x() == 2 {
                panic!("[{}] {}", Own, item.x());
            }
        });
        let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
        let expected = match panic.device.as_str() {
            "native" => "[own code] 2",
            _ => "[<Own>] 2",
        };
        assert_eq!(panic.message, expected);
    }
}

#[test]
fn from_deep_inside() {
    #[inline(never)]
    fn sum(depth: usize, i: usize) -> usize {
        assert!(depth < 20 || i != 6, "depth {depth} at {i}");
        if depth == 30 { 0 } else { depth + sum(depth + 1, i) }
    }
    let message = same_where(schism_tests::devices::has_recursion, |i| sum(0, i) as u64);
    assert_eq!(message, "depth 20 at 6");
    same(|i| {
        let functions: [fn(usize) -> u64; 2] =
            [|i| i as u64, |i| panic!("by pointer {i}, {:?}", Some(i as f32))];
        functions[usize::from(i == 5)](i)
    });
}

#[test]
fn one_record_of_many_panics() {
    quiet();
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        for _ in 0..20 {
            let result = queue.parallel_for([100, 100], |item| {
                panic!("{} {}", item.y(), item.x());
            });
            let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
            let id = panic.work_item.expect("every device knows");
            assert_eq!(panic.message, format!("{} {}", id[0], id[1]));
        }
    }
}

#[test]
fn a_long_message_is_cut() {
    quiet();
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let result = queue.parallel_for(1, |_| panic!("{:60000}{0:60000}", opaque(1_u8)));
        let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
        assert!(panic.message.trim_start().starts_with('1'));
        assert!(panic.message.len() > 60_000);
    }
}

/// From the second level of optimisation on LLVM knows of a kernel's `&mut` that nothing else
/// accesses its memory. Some code is made ahead of time.
#[test]
fn stores_before_a_panic_are_there_afterwards() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    for (level, targets) in [("0", None), ("2", None), ("3", Some("host")), ("s", None)] {
        let folder = lab.folder(&format!("panic-stores-{level}"));
        let mut rustc = lab.rustc_with_runtime(&folder);
        rustc.arg(source("crates/panic_stores.rs")).arg(format!("-Copt-level={level}"));
        if let Some(targets) = targets {
            rustc.env("SCHISM_TARGETS", targets);
        }
        text(&mut rustc);
        let mut program = clean_command(folder.join("panic_stores"));
        if let Some(jit) = std::env::var_os("SCHISM_JIT") {
            program.env("SCHISM_JIT", jit);
        }
        let said = text(&mut program);
        assert!(said.ends_with("all stores are there\n"), "at level {level}: {said}");
    }
}

/// What ends the process on the host: the checks of unsafe code, which programs with debug
/// assertions have.
type Aborts = (&'static str, fn(&Queue) -> Result<(), LaunchError>, fn());

/// A case: on a device, and on the host for the work-item that panics.
macro_rules! aborts {
    ($name:literal, $f:expr) => {
        (
            $name,
            |queue| {
                let mut out = Buffer::filled(queue, ITEMS, 0_u64).expect("memory");
                queue.for_each((0.., &mut out), |(i, out)| *out = $f(i) as u64)
            },
            || {
                std::hint::black_box($f(5));
            },
        )
    };
}

#[repr(u8)]
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "made from numbers")]
enum Small {
    A = 1,
    B,
    C = 9,
}

#[repr(i32)]
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "made from numbers")]
enum Signed {
    A = -7,
    B = 3,
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned([u32; 4]);

fn small(i: usize) -> Small {
    // SAFETY: there is none, that is the case.
    unsafe { std::mem::transmute::<u8, Small>(if i == 5 { 0x2a } else { 9 }) }
}

fn signed(i: usize) -> Signed {
    // SAFETY: there is none, that is the case.
    unsafe { std::mem::transmute::<i32, Signed>(if i == 5 { -3 } else { -7 }) }
}

fn null(i: usize) -> u32 {
    let value = 7;
    let pointer = if i == 5 { std::ptr::null() } else { &raw const value };
    // SAFETY: there is none, that is the case.
    unsafe { *opaque(pointer) }
}

fn null_write(i: usize) -> u32 {
    let mut value = 7;
    let pointer = if i == 5 { std::ptr::null_mut() } else { &raw mut value };
    // SAFETY: there is none, that is the case.
    unsafe { *opaque(pointer) = 8 }
    value
}

/// An address that is the same on every device; nothing is read from it.
fn misaligned(i: usize) -> u32 {
    let value = [7_u32; 2];
    let address = if i == 5 { std::ptr::without_provenance(0x1003) } else { value.as_ptr() };
    // SAFETY: there is none, that is the case.
    unsafe { *opaque(address) }
}

fn misaligned_reference(i: usize) -> u32 {
    let value = Aligned([3; 4]);
    let address = if i == 5 { std::ptr::without_provenance(0x1008) } else { &raw const value };
    // SAFETY: there is none, that is the case.
    let reference: &Aligned = unsafe { &*opaque(address) };
    std::ptr::from_ref(reference).addr() as u32 % 16
}

fn unchecked(i: usize) -> u32 {
    let all = [1_u32, 2, 3, 4, 5];
    // SAFETY: there is none, that is the case.
    unsafe { *all.get_unchecked(opaque(i.min(5)) / if i == 5 { 1 } else { 2 }) }
}

fn unreachable_hint(i: usize) -> u32 {
    if i == 5 {
        // SAFETY: there is none, that is the case.
        unsafe { std::hint::unreachable_unchecked() }
    }
    3
}

const ABORTS: &[Aborts] = &[
    aborts!("enum", small),
    aborts!("signed enum", |i| signed(i) as i32),
    aborts!("null", null),
    aborts!("null write", null_write),
    aborts!("misaligned", misaligned),
    aborts!("misaligned reference", misaligned_reference),
    aborts!("unchecked index", unchecked),
    aborts!("unreachable", unreachable_hint),
];

/// The variable that tells a child which case to run on the host.
const CASE: &str = "SCHISM_TEST_ABORTS";

/// On the host these end the process, so a child runs them there; devices other than the native one
/// survive, and say the same.
#[test]
fn what_ends_the_process_on_the_host() {
    if let Ok(case) = std::env::var(CASE) {
        let (.., on_host) = ABORTS.iter().find(|(name, ..)| *name == case).expect("a case");
        return on_host();
    }
    if !cfg!(debug_assertions) {
        return;
    }
    for (name, on_device, _) in ABORTS {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program);
        child.args(["--exact", "what_ends_the_process_on_the_host", "--nocapture"]);
        let child = child.env(CASE, name).env("RUST_BACKTRACE", "0").output().expect("it starts");
        let errors = String::from_utf8_lossy(&child.stderr).into_owned();
        assert_eq!(child.status.signal(), Some(6), "{name}: {errors}");
        let said = errors.split_once(" panicked at ").expect("a panic").1;
        let (place, said) = said.split_once(":\n").expect("a place");
        let message = said.split_once("\nnote: ").expect("the end of the message").0;
        for device in
            schism_tests::devices::listed().into_iter().filter(|device| device.name() != "native")
        {
            let queue = Queue::on(&device).expect("a device that is listed");
            let result = on_device(&queue);
            let Err(LaunchError::Panicked(panic)) = result else { panic!("{name}: {result:?}") };
            assert_eq!(panic.message, message, "{name} on {device}");
            assert_eq!(panic.location.as_deref(), Some(place), "{name} on {device}");
            assert_eq!(panic.work_item, Some(vec![5]), "{name} on {device}");
        }
    }
}
