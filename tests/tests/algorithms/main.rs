//! Algorithms: each on every device, with several types and sizes, compared with the host's.

#![forbid(unsafe_code)]

mod elements;
mod failures;
mod numbers;
mod orders;
mod places;
mod selections;

use std::cmp::Ordering;
use std::fmt::Debug;

use schism::DeviceKind;
use schism::prelude::*;
use schism_tests::sub_groups::random;

/// Sizes for all types, and one of several chunks on every device for one type.
const SIZES: [usize; 7] = [0, 1, 2, 31, 32, 33, 1000];
const LARGE: usize = 1 << 20;

/// The forms for GPUs, on the device `cpu`, wait at many barriers; so many are more than two blocks
/// of their look-back.
const LARGE_FOR_GROUPS: usize = (1 << 17) + 777;

/// The variable that chooses these forms.
const FORM: &str = "SCHISM_ALGORITHMS";

fn in_groups() -> bool {
    std::env::var_os(FORM).is_some_and(|form| form == "groups")
}

/// Whether all types are tested: of forms that a test has started for the device `cpu`, some, as what
/// types differ in was tested in the other forms.
fn has_all_types() -> bool {
    !in_groups() || schism_tests::lab::full()
}

fn large() -> usize {
    if in_groups() { LARGE_FOR_GROUPS } else { LARGE }
}

/// Runs a case on every device. `native` has no forms for groups: what it does was tested without the
/// variable.
fn on_every_device(mut case: impl FnMut(&Queue)) {
    schism_tests::sub_groups::on_every_device(|queue| {
        if !in_groups() || queue.device().kind() != DeviceKind::Native {
            case(queue);
        }
    });
}

/// The forms of the algorithms that GPUs run, on the device `cpu`.
#[test]
fn forms_for_groups_on_the_cpu() {
    if std::env::var_os(FORM).is_some() {
        // This is the process that the test has started, or the user has chosen a form.
        return;
    }
    let this = std::env::current_exe().expect("a path");
    let mut tests = std::process::Command::new(this);
    tests.args([
        "numbers::",
        "selections::",
        "orders::radix",
        "orders::sort",
        "failures::panics",
        "failures::orders",
    ]);
    tests.env(FORM, "groups").env("SCHISM_DEVICE", "cpu").env("SCHISM_CUDA", "");
    let output = tests.output().expect("this program");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("orders::radix_sorts ... ok"), "{text}");
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// The table of `docs/algorithms.md` has a row for each of C++'s algorithms, and what its rows name
/// exists.
#[test]
fn the_table_is_true() {
    let table = include_str!("../../../docs/algorithms.md");
    let functions = include_str!("../../../runtime/src/algorithms/mod.rs");
    let (_, functions) = functions.split_once("pub use").expect("what the module exports");
    let tests = [
        ("elements", include_str!("elements.rs")),
        ("numbers", include_str!("numbers.rs")),
        ("orders", include_str!("orders.rs")),
        ("places", include_str!("places.rs")),
        ("selections", include_str!("selections.rs")),
    ];
    let is_word = |byte: char| byte.is_alphanumeric() || byte == '_';
    let (mut rows, mut named) = (0, std::collections::BTreeSet::new());
    for row in table.lines().filter(|line| line.starts_with("| `") && line.contains("::")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, own, _, test, _] = cells[..] else { panic!("five lines: {row}") };
        rows += 1;
        for function in own.split("algorithms::").skip(1) {
            let function = function.split(|byte| !is_word(byte)).next().unwrap_or_default();
            assert!(functions.split(|byte| !is_word(byte)).any(|word| word == function), "{row}");
            named.insert(function);
        }
        let (file, test) = test.trim_matches('`').split_once("::").expect("a file and a test");
        let (_, code) = tests.iter().find(|(name, _)| *name == file).expect("a file of tests");
        assert!(code.contains(&format!("#[test]\nfn {test}()")), "{row}");
    }
    assert_eq!(rows, 86, "C++ has as many");
    let exported = functions.split("pub use").filter(|line| !line.contains("operand"));
    let exported = exported.filter_map(|line| Some(line.split_once("::")?.1));
    for function in exported.flat_map(|names| names.split(|byte| !is_word(byte))) {
        let is_type = function.starts_with(char::is_uppercase);
        assert!(
            function.is_empty() || is_type || named.contains(function),
            "`{function}` is in no row"
        );
    }
}

/// A type of elements.
trait Value: Element + PartialEq + Debug {
    /// Any value, by random bits; of few different ones, so that some are equal.
    fn of(bits: u64) -> Self;

    /// An order in which values may be equal that differ.
    fn order(a: &Self, b: &Self) -> Ordering;

    /// An associative operation.
    fn combine(a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Value for $integer {
            fn of(bits: u64) -> Self {
                (bits % 101) as Self
            }

            fn order(a: &Self, b: &Self) -> Ordering {
                a.cmp(b)
            }

            fn combine(a: Self, b: Self) -> Self {
                a.wrapping_mul(3).wrapping_add(b).wrapping_sub(a.wrapping_mul(2))
            }
        }
    )*};
}
integers! { u8 i32 }

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Value for $float {
            fn of(bits: u64) -> Self {
                (bits % 101) as Self - 50.0
            }

            fn order(a: &Self, b: &Self) -> Ordering {
                a.total_cmp(b)
            }

            // Sums of whole numbers that are exact, so that it is associative.
            fn combine(a: Self, b: Self) -> Self {
                a + b
            }
        }
    )*};
}
floats! { f32 f64 }

impl Value for (u32, f32) {
    fn of(bits: u64) -> Self {
        ((bits % 101) as u32, (bits >> 40) as f32)
    }

    fn order(a: &Self, b: &Self) -> Ordering {
        a.0.cmp(&b.0)
    }

    // Not commutative.
    fn combine(a: Self, b: Self) -> Self {
        (a.0.wrapping_add(b.0), b.1)
    }
}

/// A struct with padding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    key: i16,
    tag: u8,
    number: u64,
}

impl Value for Record {
    fn of(bits: u64) -> Self {
        Self { key: (bits % 101) as i16 - 50, tag: (bits >> 8) as u8, number: bits >> 16 }
    }

    fn order(a: &Self, b: &Self) -> Ordering {
        b.key.cmp(&a.key)
    }

    // Composition of functions x -> number * x + tag, which does not commute.
    fn combine(a: Self, b: Self) -> Self {
        let number = a.number.wrapping_mul(b.number);
        Self { key: b.key, tag: a.tag.wrapping_mul(b.number as u8).wrapping_add(b.tag), number }
    }
}

/// Random values.
fn values<T: Value>(n: usize, seed: u64) -> Vec<T> {
    random(seed + 1).take(n).map(T::of).collect()
}

/// Random values in their order.
fn sorted<T: Value>(n: usize, seed: u64) -> Vec<T> {
    let mut sorted = values(n, seed);
    sorted.sort_by(T::order);
    sorted
}

/// Like `PartialEq::eq`, as a closure's value for a generic function.
fn same<T: Value>(a: &T, b: &T) -> bool {
    a == b
}

/// Holds for some values.
fn is_some<T: Value>(value: &T) -> bool {
    T::order(value, &T::of(40)).is_lt()
}

/// Calls a function for all types and sizes, on every device.
macro_rules! every {
    ($case:ident) => {
        crate::on_every_device(|queue| {
            for n in crate::SIZES {
                if crate::has_all_types() {
                    $case::<u8>(queue, n);
                    $case::<i32>(queue, n);
                    $case::<f32>(queue, n);
                    $case::<f64>(queue, n);
                }
                $case::<(u32, f32)>(queue, n);
                $case::<crate::Record>(queue, n);
            }
            $case::<i32>(queue, crate::large());
        })
    };
}
pub(crate) use every;
