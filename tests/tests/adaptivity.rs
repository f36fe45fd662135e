//! Versions of kernels: which are specialized, which are requested in the background, and that none
//! of them changes a result.

use std::any::type_name_of_val;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use schism::prelude::*;
use schism::{Adaptivity, Capture, Device, Specialized};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What the runtime tells while these tests run.
static LOG: Mutex<String> = Mutex::new(String::new());

/// The device `cpu`'s code that assumes nothing of a launch, as the trace describes it.
const GENERAL: &str = "math=portable";

struct Writer;

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of the trace that are about a closure. The first call begins the trace.
fn told<F>(kernel: &F) -> Vec<String> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| Writer);
        let only = Targets::new().with_target("schism", LevelFilter::DEBUG);
        tracing_subscriber::registry().with(layer).with(only).init();
    });
    // The name of a closure of the runtime's differs from the compiler's in its numbers.
    let name = type_name_of_val(kernel);
    let function = name.trim_end_matches("::{{closure}}").rsplit("::").next().unwrap_or(name);
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.lines().filter(|line| line.contains(&format!("{function}::"))).map(str::to_owned).collect()
}

/// Lines that begin versions.
fn versions(lines: &[String]) -> Vec<String> {
    let is_version = |line: &&String| line.contains(" version kernel=");
    let word = |line: &String| {
        let (_, rest) = line.split_once("version=")?;
        Some(rest.split(" from=").next()?.to_owned())
    };
    lines.iter().filter(is_version).filter_map(word).collect()
}

fn on_every_device(mut test: impl FnMut(&Queue)) {
    for device in schism_tests::devices::listed() {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

fn on_cpu() -> Queue {
    Queue::on(&Device::by_name("cpu").expect("it is there")).expect("a queue")
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Filter {
    // With room between the fields.
    on: bool,
    weights: [f32; 3],
    wide: i128,
    name: char,
    shift: u8,
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn specialized_values_of_every_kind() {
    let filter =
        Filter { on: true, weights: [0.25, -0.0, f32::NAN], wide: -5, name: 'ß', shift: 3 };
    let filters = [filter, Filter { on: false, wide: i128::MIN, ..filter }, filter];
    on_every_device(|queue| {
        for (number, filter) in filters.into_iter().enumerate() {
            let table: [u16; 40] = std::array::from_fn(|i| (i * number) as u16);
            let (filter, table) = (Specialized::new(filter), Specialized::new(table));
            let (half, none) = (Specialized::from(0.5_f64), Specialized::new(None::<u32>));
            let (byte, unit, plain) =
                (Specialized::new(number as i8 - 1), Specialized::new(()), 7_u64);
            let mut out = Buffer::filled(queue, 100, (0, 0, 0, 0.0, 0)).expect("memory");
            queue
                .for_each((0.., &mut out), move |(i, out)| {
                    let () = *unit;
                    let bits = filter.weights.map(f32::to_bits);
                    let shifted = if filter.on { bits[i % 3] >> filter.shift } else { 1 };
                    let wide = (filter.wide >> 3) as u64 ^ u64::from(u32::from(filter.get().name));
                    let entry = table[i % 40] + u16::from(none.is_some());
                    *out = (
                        shifted,
                        wide,
                        entry,
                        *half * i as f64,
                        plain + byte.unsigned_abs() as u64,
                    );
                })
                .expect("it runs");
            for (i, found) in out.to_vec().into_iter().enumerate() {
                let shifted = if filter.on { filter.weights[i % 3].to_bits() >> 3 } else { 1 };
                let wide = (filter.wide >> 3) as u64 ^ u64::from(u32::from('ß'));
                let entry = ((i % 40) * number) as u16;
                let byte = (number as i8 - 1).unsigned_abs();
                let expected = (shifted, wide, entry, 0.5 * i as f64, 7 + u64::from(byte));
                assert_eq!(found, expected, "{i} of {number}");
            }
        }
    });
}

#[test]
fn specialized_values_are_known_to_the_code() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    let queue = on_cpu();
    let mut out = Buffer::filled(&queue, 100, 0_u64).expect("memory");
    let mut kernel = None;
    let mut launch = |queue: &Queue, factor: u32, addend: u64| {
        let factor = Specialized::new(factor);
        let run = move |out: &mut u64| *out = addend + u64::from(*factor);
        if kernel.replace(run).is_none() {
            told(&run);
        }
        queue.for_each(&mut out, run).expect("it runs");
        assert_eq!(out.to_vec(), [addend + u64::from(factor.get()); 100]);
        versions(&told(&run))
    };
    assert_eq!(launch(&queue, 0x0102_0304, 1).len(), 1);
    assert_eq!(launch(&queue, 0x0102_0304, 2).len(), 1);
    let two = launch(&queue, 5, 2);
    assert!(two[0].contains("=0x01020304") && two[1].contains("=0x00000005"), "{two:?}");
    assert_eq!(two.len(), 2);
    assert_eq!(launch(&queue, 0x0102_0304, 2).len(), 2);
    // One for all values, if nothing is to be adapted.
    let off = queue.with_adaptivity(Adaptivity::Off);
    let three = launch(&off, 77, 3);
    assert_eq!((three.len(), &*three[2]), (3, GENERAL));
    assert_eq!(launch(&off, 78, 3).len(), 3);
    // And when there were too many.
    let most = 32;
    for value in 0..2 * most {
        launch(&queue, 1000 + value, 1);
    }
    let all = launch(&queue, 5, 1);
    assert_eq!(all.len() as u32, most + 1);
}

/// Launches until the trace says so.
fn until(what: &str, mut launch: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !launch() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn kernels_that_are_launched_often_know_what_stays_the_same() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    let queue = on_cpu().with_adaptivity(Adaptivity::Full);
    let mut out = Buffer::filled(&queue, 10, 0_u32).expect("memory");
    let mut launch = |queue: &Queue, stays: u32, changes: u32| {
        let run = move |out: &mut u32| *out = stays.wrapping_mul(3) ^ changes;
        told(&run);
        queue.for_each(&mut out, run).expect("it runs");
        assert_eq!(out.to_vec(), [stays.wrapping_mul(3) ^ changes; 10]);
        told(&run)
    };
    // Not for a few launches, and not unless it is asked for.
    let basic = queue.with_adaptivity(Adaptivity::Basic);
    for changes in 0..200 {
        launch(&basic, 8, changes);
    }
    for changes in 0..50 {
        launch(&queue, 77, changes);
    }
    assert_eq!(versions(&launch(&queue, 77, 0)), [GENERAL]);
    let mut changes = 0;
    until("a better version", || {
        changes += 1;
        versions(&launch(&queue, 77, changes)).len() > 1
    });
    let known = versions(&launch(&queue, 77, 1))[1].clone();
    assert!(known.contains("=0x0000004d") && known.matches("=0x").count() == 1, "{known}");
    // It is taken for the value that it is for.
    let last = |lines: Vec<String>| {
        let launched = |line: &&String| line.contains("launched");
        lines.iter().rev().find(launched).cloned().expect("a launch")
    };
    until("its launch", || {
        changes += 1;
        last(launch(&queue, 77, changes)).contains(&known)
    });
    assert!(last(launch(&queue, 78, 3)).contains(&format!("version=\"{GENERAL}\"")));
    assert!(last(launch(&queue, 77, 3)).contains(&known));
}

/// Launches a kernel for each of these values, in their order, and compares with the host's
/// results.
fn sequence<T: Element + PartialEq + std::fmt::Debug>(
    queue: &Queue,
    values: &[(u8, i64, f32, usize)],
    kernel: impl Fn((u8, i64, f32, usize), usize) -> T + Copy + Send + Sync + Capture,
) {
    let mut out = Buffer::filled(queue, 33, kernel(values[0], 0)).expect("memory");
    for (number, value) in values.iter().copied().enumerate() {
        queue.for_each((0.., &mut out), move |(i, out)| *out = kernel(value, i)).expect("it runs");
        let expected: Vec<T> = (0..33).map(|i| kernel(value, i)).collect();
        assert_eq!(out.to_vec(), expected, "launch {number}: {value:?}");
    }
}

/// A number's bits; which of its bits a NaN has is up to the device.
fn bits(number: f32) -> u32 {
    if number.is_nan() { f32::NAN.to_bits() } else { number.to_bits() }
}

/// Values that stay the same for a while, and change one by one.
fn drifting(rng: &mut Rng, launches: usize) -> Vec<(u8, i64, f32, usize)> {
    let mut value = (1, 2, 1.0, 16);
    let mut values = Vec::new();
    while values.len() < launches {
        match rng.u8(..5) {
            0 => value.0 = [0, 1, 7, 255][rng.usize(..4)],
            1 => value.1 = [0, -1, 1 << 40, i64::MIN, 3][rng.usize(..5)],
            2 => {
                value.2 =
                    [0.0, -0.0, 1.0, -1.0, 0.1, f32::INFINITY, f32::MIN_POSITIVE][rng.usize(..7)]
            }
            3 => value.3 = [1, 2, 16, 31, 33, 1000][rng.usize(..6)],
            _ => {}
        }
        let stays = if rng.bool() { rng.usize(..5) } else { rng.usize(100..250) };
        values.extend(std::iter::repeat_n(value, stays));
    }
    values
}

#[test]
fn results_do_not_depend_on_adaptivity() {
    let mut rng = Rng::with_seed(7);
    on_every_device(|queue| {
        for adaptivity in [Adaptivity::Off, Adaptivity::Basic, Adaptivity::Full] {
            let queue = queue.with_adaptivity(adaptivity);
            let values = drifting(&mut rng.fork(), 1500);
            sequence(&queue, &values, |(byte, long, _, len), i| {
                let mut sum = long;
                for step in 0..i % len {
                    sum = sum.wrapping_mul(i64::from(byte)).wrapping_add(step as i64);
                }
                sum.wrapping_shr(u32::from(byte))
            });
            let values = drifting(&mut rng.fork(), 1500);
            sequence(&queue, &values, |(byte, _, float, len), i| {
                let x = (i as f32 - 16.0) * float + f32::from(byte) / float;
                (bits(x * float), bits(x - float), i / len, i % len)
            });
        }
    });
}
