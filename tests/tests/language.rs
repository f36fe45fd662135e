//! What a kernel can say: each case computes on every device and compares with the host's loop.
//!
//! The closures run as plain Rust on the host, so the host is the oracle: exactly, floats included.

use std::fmt::Debug;

use schism::prelude::*;
use schism::{Device, LaunchError};

/// Runs `f` once for each index on every device, and compares.
fn agrees<T>(n: usize, f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + PartialEq + Debug + Default,
{
    let host: Vec<T> = (0..n).map(f).collect();
    for device in Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, n, T::default()).expect("memory");
        queue.for_each((0.., &mut out), move |(i, out)| *out = f(i)).expect("no panic");
        assert_eq!(out.to_vec(), host, "on {device}");
    }
}

/// Runs `f` once for each index on every device; it must panic with a message and in a work-item.
fn panics<T>(message: &str, item: usize, f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + Default,
{
    for device in Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, 64, T::default()).expect("memory");
        let result = queue.for_each((0.., &mut out), move |(i, out)| *out = f(i));
        let Err(LaunchError::Panicked(panic)) = result else {
            panic!("on {device}: expected a panic, got {result:?}");
        };
        let text = panic.to_string();
        assert!(text.contains(message), "on {device}: {text}");
        assert!(text.contains(file!()), "on {device}: {text}");
        if device.to_string() != "native" {
            assert!(text.contains(&format!("[{item}]")), "on {device}: {text}");
        }
        // The queue goes on.
        queue.for_each((0.., &mut out), |(_, out)| *out = T::default()).expect("no panic");
    }
}

#[test]
fn enums_and_matches() {
    #[derive(Clone, Copy)]
    enum Op {
        Add(i64),
        Mul(i64),
        Neg,
    }
    fn apply(op: Op, v: i64) -> i64 {
        match op {
            Op::Add(x) => v.wrapping_add(x),
            Op::Mul(x) => v.wrapping_mul(x),
            Op::Neg => v.wrapping_neg(),
        }
    }
    agrees(100, |i| {
        let ops = [Op::Add(3), Op::Mul(i as i64), Op::Neg];
        ops.iter().fold(i as i64, |v, op| apply(*op, v))
    });
}

#[test]
fn recursion() {
    fn fibonacci(n: u64) -> u64 {
        if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
    }
    agrees(15, |i| fibonacci(i as u64));
}

#[test]
fn trait_objects_made_in_the_kernel() {
    trait Shape {
        fn area(&self) -> f64;
    }
    struct Square(f64);
    struct Circle(f64);
    impl Shape for Square {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
    impl Shape for Circle {
        fn area(&self) -> f64 {
            self.0 * self.0 * std::f64::consts::PI
        }
    }
    agrees(33, |i| {
        let (square, circle) = (Square(i as f64), Circle(i as f64));
        let shape: &dyn Shape = if i % 2 == 0 { &square } else { &circle };
        shape.area()
    });
}

#[test]
fn function_pointers_made_in_the_kernel() {
    agrees(33, |i| {
        let functions: [fn(f32) -> f32; 2] = [f32::sqrt, f32::floor];
        functions[i % 2](i as f32 * 1.5)
    });
}

#[test]
fn wide_integers() {
    agrees(33, |i| {
        let x = (i as i128 + 1) << 70;
        (x / 7 + x % 13, x as u64)
    });
}

#[test]
fn narrow_integers() {
    agrees(300, |i| {
        (
            (i as u8).saturating_add(100),
            (i as i8).leading_zeros(),
            (i as u32).rotate_left(5).swap_bytes(),
        )
    });
}

#[test]
fn mathematics() {
    agrees(1000, |i| {
        let x = i as f64 * 0.37;
        (
            x.sin() + x.cos().exp(),
            x.powf(1.3),
            (x + 1.0).ln().atan2(x),
            x.powi(5),
            (x as f32).tanh().cbrt(),
        )
    });
}

#[test]
fn statics() {
    static TABLE: [u32; 4] = [3, 1, 4, 1];
    static NAMES: [&str; 3] = ["one", "three", "seventeen"];
    agrees(33, |i| TABLE[i % 4] as usize + NAMES[i % 3].len());
}

#[test]
fn iterator_chains() {
    agrees(33, |i| {
        (0..i)
            .filter(|x| x % 3 != 0)
            .map(|x| x * x)
            .zip((0..i).rev())
            .take_while(|(a, _)| *a < 400)
            .map(|(a, b)| a ^ b)
            .sum::<usize>()
    });
}

#[test]
fn windows_and_chunks() {
    agrees(33, |i| {
        let bytes = [1_u8, 5, 2, 8, 3, i as u8];
        let steps = bytes.windows(2).map(|w| w[0].abs_diff(w[1])).max();
        (steps, bytes.chunks(4).map(<[u8]>::len).sum::<usize>())
    });
}

#[test]
fn sorting_a_private_array() {
    agrees(33, |i| {
        let mut numbers = [5_u32, 3, 9, 1, (i as u32 * 7) % 11, 2, 8];
        numbers.sort_unstable();
        numbers
    });
}

#[test]
fn options_and_early_return() {
    agrees(33, |i| -> Option<u32> {
        let x = (i as u32).checked_sub(5)?;
        x.checked_mul(1 << 28)
    });
}

#[test]
fn strings_and_chars() {
    agrees(33, |i| "héllo wörld".chars().nth(i % 11).unwrap_or('x'));
}

#[test]
fn bytes_of_numbers() {
    agrees(33, |i| u32::from_be_bytes((i as f32).to_le_bytes()));
}

#[test]
fn packed_captures() {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed {
        small: u8,
        wide: u128,
        odd: u16,
        float: f64,
    }
    let packed = Packed { small: 3, wide: 1 << 100, odd: 500, float: 0.5 };
    let pair = (7_u8, packed, 9_u32);
    agrees(33, move |i| {
        let Packed { small, wide, odd, float } = pair.1;
        (wide / (i as u128 + 1) + u128::from(small), f64::from(odd) * float, pair.0, pair.2)
    });
}

#[test]
fn drop_runs() {
    struct Counter<'a>(&'a std::cell::Cell<u32>);
    impl Drop for Counter<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    agrees(33, |i| {
        let count = std::cell::Cell::new(0);
        for _ in 0..i {
            let _counter = Counter(&count);
        }
        count.get()
    });
}

#[test]
fn functions_of_the_standard_library_without_mir() {
    struct Text {
        bytes: [u8; 64],
        length: usize,
    }
    impl std::fmt::Write for Text {
        fn write_str(&mut self, piece: &str) -> std::fmt::Result {
            let end = self.length + piece.len();
            let place = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
            place.copy_from_slice(piece.as_bytes());
            self.length = end;
            Ok(())
        }
    }
    fn formatted(i: usize) -> (usize, u64) {
        use std::fmt::Write;
        let mut text = Text { bytes: [0; 64], length: 0 };
        let _ = write!(text, "{i:>5}|{:.3}|{:e}|{:?}", i as f64 / 7.0, i as f32, Some(-(i as i32)));
        let hash = text.bytes.iter().fold(7_u64, |h, b| h.wrapping_mul(31) ^ u64::from(*b));
        (text.length, hash)
    }
    agrees(70, |i| {
        let digits = [b'1', b'0' + (i % 10) as u8, b'.', if i == 5 { 0xff } else { b'7' }];
        let text = std::str::from_utf8(&digits).ok();
        let number = text.and_then(|text| text.parse::<f64>().ok());
        let letter = char::from_u32(0x3b1 + (i % 20) as u32).and_then(|c| c.to_uppercase().next());
        (number, letter, letter.is_some_and(char::is_alphabetic), formatted(i))
    });
}

#[test]
fn which_half_runs() {
    for device in Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, 3, false).expect("memory");
        queue.for_each(&mut out, |out| *out = schism::is_device()).expect("no panic");
        let expected = device.to_string() != "native";
        assert_eq!(out.to_vec(), [expected; 3], "on {device}");
    }
    assert!(!schism::is_device());
}

#[test]
fn panics_with_a_place() {
    panics("index out of bounds", 3, |i| [1, 2, 3][std::hint::black_box(i)]);
    panics("unwrap()", 7, |i| (i != 7).then_some(1_u32).unwrap());
    panics("no seven", 7, |i| (if i == 7 { Err(3_u32) } else { Ok(1_u32) }).expect("no seven"));
    panics("nine", 9, |i| if i == 9 { panic!("nine") } else { i });
    panics("panic", 9, |i| if i == 9 { std::panic!("i is {i}") } else { i });
    // Two instances of a generic panic function.
    panics("assert", 4, |i| {
        assert_ne!(i, 4);
        i
    });
    panics("assert", 6, |i| {
        assert_ne!(i as u8, 6);
        i
    });
    panics("divide by zero", 5, |i| 100 / (5 - i as i32).max(0));
    panics("", 17, |i| [1_u8; 16][i..].len());
}
