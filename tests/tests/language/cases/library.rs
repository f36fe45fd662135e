//! The standard library beyond operators and iterators, also where it comes without MIR.

use std::fmt::Write;

use super::{Case, Input, agrees, agrees_where_text_is_formatted, case};

pub const CASES: &[Case] = &[
    case("`sort_unstable`, `sort_unstable_by_key`, `select_nth_unstable`", sorting),
    case("`binary_search`, `partition_point`", searching),
    case("`str::from_utf8`", utf8),
    case("`parse` of integers", parse_integers),
    case("`parse` of floats, bools and chars", parse_floats),
    case("`write!` of integers and strings into a buffer on the stack", format_integers),
    case("`write!` of floats", format_floats),
    case("`{:?}` of structs, enums, arrays and options", format_debug),
    case("classes and cases of Unicode chars", unicode),
    case("`char::from_digit`, `to_digit`, escapes", digits),
    case("ASCII: `is_ascii`, `eq_ignore_ascii_case`, `make_ascii_uppercase`", ascii),
    case("`str`: `split`, `lines`, `trim`, `strip_prefix`, `find`, `rsplit_once`", text),
    case("`Duration` arithmetic", durations),
    case("`Range` and `Bound` arguments", bounds),
    case("`IpAddr` and other plain types of `core::net`", addresses),
];

/// Text on the stack.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; 96],
    length: usize,
}

impl Text {
    fn new() -> Self {
        Text { bytes: [0; 96], length: 0 }
    }

    /// Its length, and a number that tells texts apart.
    fn sum(&self) -> (usize, u64) {
        let bytes = &self.bytes[..self.length];
        (self.length, bytes.iter().fold(7, |sum: u64, b| sum.wrapping_mul(31) ^ u64::from(*b)))
    }
}

impl Write for Text {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        let end = self.length + piece.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(piece.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Formats into text on the stack.
macro_rules! formatted {
    ($($argument:tt)*) => {{
        let mut text = Text::new();
        let whole = write!(text, $($argument)*).is_ok();
        (whole, text.sum())
    }};
}

fn numbers<const N: usize>(input: &mut Input) -> [u32; N] {
    std::array::from_fn(|_| input.bits() as u32 % 1000)
}

fn sorting() {
    agrees(|mut input| {
        let mut few: [u32; 9] = numbers(&mut input);
        let mut many: [u32; 80] = numbers(&mut input);
        few.sort_unstable();
        many.sort_unstable_by_key(|x| (x % 10, *x));
        let sum = many.iter().fold(0_u64, |sum, x| sum.wrapping_mul(31) ^ u64::from(*x));
        let mut other: [u32; 30] = numbers(&mut input);
        let middle = *other.select_nth_unstable(15).1;
        let mut reals = few.map(|x| f64::from(x) * input.unit());
        reals.sort_unstable_by(f64::total_cmp);
        (few, sum, middle, reals)
    });
}

fn searching() {
    agrees(|mut input| {
        let mut sorted: [u32; 33] = numbers(&mut input);
        sorted.sort_unstable();
        let wanted = input.bits() as u32 % 1000;
        (
            sorted.binary_search(&wanted).unwrap_or_else(|at| at + 1000),
            sorted.binary_search_by_key(&(wanted / 2), |x| x / 2).is_ok(),
            sorted.partition_point(|x| *x < wanted),
        )
    });
}

fn utf8() {
    agrees(|mut input| {
        let mut bytes = *"aß日🦀 and a longer tail of plain letters"
            .as_bytes()
            .first_chunk::<40>()
            .unwrap_or(&[0; 40]);
        if input.index % 2 == 0 {
            bytes[input.below(40)] = input.bits() as u8;
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => (text.chars().count(), 0, None),
            Err(error) => (1000, error.valid_up_to(), error.error_len()),
        }
    });
}

/// Digits of a number as text; sometimes spoilt.
fn spelt(input: &mut Input, text: &mut Text, spoilt: bool) {
    let _ = write!(text, "{}", input.bits() as i64 >> input.below(60));
    if spoilt {
        text.bytes[input.below(3)] = b"+-x 9"[input.below(5)];
    }
}

fn parse_integers() {
    agrees_where_text_is_formatted(|mut input| {
        let mut text = Text::new();
        let spoilt = input.index % 3 == 0;
        spelt(&mut input, &mut text, spoilt);
        let text = std::str::from_utf8(&text.bytes[..text.length]).unwrap_or("");
        (
            (text.parse::<i64>().ok(), text.parse::<u8>().ok(), text.parse::<i128>().ok()),
            (u64::from_str_radix(text, 16).ok(), i32::from_str_radix(text, 36).is_ok()),
        )
    });
}

fn parse_floats() {
    const TEXTS: [&str; 8] = [
        "1e400",
        "-0.0",
        "NaN",
        ".5",
        "0x1",
        "123456789012345678901234567890e-30",
        "inf",
        "1.7976931348623157e308",
    ];
    agrees_where_text_is_formatted(|mut input| {
        let mut text = Text::new();
        let _ = write!(text, "{:e}", input.unit() * 1e5);
        let text = std::str::from_utf8(&text.bytes[..text.length]).unwrap_or("");
        // Both take turns, so that the kernel has the code for each type once.
        let text = if input.index % 2 == 0 { text } else { TEXTS[input.below(8)] };
        (
            text.parse::<f64>().ok().map(f64::to_bits),
            text.parse::<f32>().ok().map(f32::to_bits),
            ("true".parse::<bool>().ok(), text.parse::<char>().is_err()),
        )
    });
}

fn format_integers() {
    agrees_where_text_is_formatted(|mut input| {
        let (a, b) = (input.bits(), input.bits() as i16);
        (
            formatted!("{a} {b:+} {:>8}|{:<6}|{:^7}|", a % 1000, b, 5),
            formatted!("{a:#x} {b:X} {:#010b} {:o} {:08.3}", a as u8, a % 512, 1.5_f32),
            formatted!("{}{}{:?}", "text", 'c', "quoted\n\"text\""),
            formatted!("{:*^w$}", a % 77, w = 3 + input.below(9)),
            formatted!("{0}{0}{0}{0}{0}{0}{0}{0}", i128::MAX).0,
        )
    });
}

fn format_floats() {
    agrees_where_text_is_formatted(|mut input| {
        let x = input.unit() * 10_f64.powi(input.below(30) as i32 - 15);
        (
            formatted!("{x} {:.3} {:e} {x:?}", x, x as f32),
            formatted!("{:+.0} {:>12.2} {} {}", x, x, f32::NAN, f64::NEG_INFINITY),
            formatted!("{} {}", x as f32, (x * 1e5).round()),
        )
    });
}

fn format_debug() {
    #[derive(Clone, Copy, Debug)]
    #[expect(dead_code, reason = "read by `Debug` only")]
    struct Point {
        x: i32,
        y: Option<u8>,
    }
    #[derive(Clone, Copy, Debug)]
    #[expect(dead_code, reason = "read by `Debug` only")]
    enum Kind {
        Unit,
        Tuple(u8, char),
    }
    agrees_where_text_is_formatted(|mut input| {
        let point = Point { x: input.bits() as i32, y: (input.index % 2 == 0).then_some(4) };
        let kind = if input.index % 3 == 0 { Kind::Unit } else { Kind::Tuple(3, 'ä') };
        (
            formatted!("{point:?} {kind:?}"),
            formatted!("{kind:#?}"),
            formatted!("{:?} {:?}", [1, 2, input.index], (Some("x"), ())),
        )
    });
}

fn unicode() {
    agrees(|mut input| {
        let letter = char::from_u32(input.bits() as u32 % 0x3000).unwrap_or('x');
        (
            (letter, letter.is_alphabetic(), letter.is_numeric(), letter.is_whitespace()),
            (
                letter.is_lowercase(),
                letter.is_uppercase(),
                letter.is_control(),
                letter.is_alphanumeric(),
            ),
            (
                letter.to_uppercase().count(),
                letter.to_uppercase().next(),
                letter.to_lowercase().next(),
            ),
        )
    });
}

fn digits() {
    agrees(|mut input| {
        let letter = char::from(input.bits() as u8 % 128);
        (
            (
                letter.to_digit(36),
                letter.to_digit(10),
                char::from_digit(input.below(36) as u32, 36),
            ),
            (
                letter.escape_default().count(),
                letter.escape_unicode().count(),
                letter.is_ascii_hexdigit(),
            ),
        )
    });
}

fn ascii() {
    agrees(|mut input| {
        let mut bytes: [u8; 20] = std::array::from_fn(|_| input.bits() as u8 % 130);
        let plain = bytes.is_ascii();
        let same = bytes.eq_ignore_ascii_case(&bytes.map(|b| b.to_ascii_lowercase()));
        bytes.make_ascii_uppercase();
        (plain, same, bytes, bytes.trim_ascii().len(), "Straße".is_ascii())
    });
}

fn text() {
    const LINES: &str = "key = value\n  indented: 7  \nlast line without end";
    agrees(|mut input| {
        let line = LINES.lines().nth(input.below(3)).unwrap_or("");
        let key =
            line.split_once([':', '=']).map(|(key, value)| (key.trim().len(), value.trim().len()));
        (
            (line.len(), line.trim().len(), key, line.find(' '), line.rfind("in")),
            (LINES.split_whitespace().count(), line.strip_prefix("key").map(str::len)),
            (line.rsplit_once('i').map(|(_, tail)| tail.len()), line.matches('e').count()),
            (line.contains("line"), line.split("in").count(), line.char_indices().rev().nth(2)),
        )
    });
}

fn durations() {
    use std::time::Duration;
    agrees(|mut input| {
        let a = Duration::from_millis(input.bits() % 100_000);
        let b = Duration::from_secs_f64(input.unit().abs());
        ((a + b).as_nanos(), a.checked_sub(b).is_some(), (a * 3).subsec_micros(), b.as_secs_f32())
    });
}

fn bounds() {
    use std::ops::{Bound, RangeBounds};
    fn length(range: impl RangeBounds<usize>) -> usize {
        let end = match range.end_bound() {
            Bound::Included(end) => end + 1,
            Bound::Excluded(end) => *end,
            Bound::Unbounded => 100,
        };
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(start) => start + 1,
            Bound::Unbounded => 0,
        };
        end.saturating_sub(start)
    }
    agrees(|mut input| {
        let (a, b) = (input.below(50), input.below(50));
        (length(a..b), length(..=a), length(b..), length(..), (a..=b).contains(&25))
    });
}

fn addresses() {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    agrees_where_text_is_formatted(|mut input| {
        let four = Ipv4Addr::from_bits(input.bits() as u32);
        let six = Ipv6Addr::from_bits(u128::from(input.bits()) << 64);
        let address = if input.index % 2 == 0 { IpAddr::V4(four) } else { IpAddr::V6(six) };
        (
            four.octets(),
            four.is_private(),
            six.segments(),
            address.is_loopback(),
            formatted!("{address}"),
        )
    });
}
