//! Control flow.

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("`match` with literals, ranges, guards and bindings", matches),
    case("`match` on nested enums, tuples and references", nested_patterns),
    case("patterns of slices and arrays", slice_patterns),
    case("`if let`, `let else`, chains of `let`", let_forms),
    case("`loop`, `while`, `while let`, `for`", loops),
    case("labelled breaks and continues, loops with values, labelled blocks", labels),
    case("early return", early_return),
    case("`?` on `Option` and `Result`, with conversion of errors", question_mark),
    case("combinators of `Option` and `Result`", combinators),
    case("shadowing", shadowing),
    case("short-circuit operators", short_circuit),
    case("loops whose length depends on the data", collatz),
];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Op {
    Add(i64),
    Mul {
        by: i64,
    },
    #[default]
    Neg,
    Pair((u8, i8), bool),
}

fn op(bits: u64) -> Op {
    match bits % 4 {
        0 => Op::Add(bits as i64),
        1 => Op::Mul { by: (bits >> 7) as i64 },
        2 => Op::Neg,
        _ => Op::Pair(((bits >> 9) as u8, (bits >> 3) as i8), bits & 64 != 0),
    }
}

fn matches() {
    agrees(|mut input| {
        let x = input.bits() as u8;
        match x {
            0 | 7 => 1,
            small @ 1..=6 => u32::from(small) * 2,
            100.. if input.index % 2 == 0 => 5,
            even if even % 2 == 0 => u32::from(even),
            b'a'..=b'c' => 99,
            _ => 0,
        }
    });
}

fn nested_patterns() {
    agrees(|mut input| {
        let ops = [op(input.bits()), op(input.bits()), Op::default()];
        let mut value = 3_i64;
        for op in &ops {
            value = match op {
                Op::Add(x @ 0..) => value.wrapping_add(*x),
                &Op::Add(x) => value.wrapping_sub(x),
                Op::Mul { by } => value.wrapping_mul(*by),
                Op::Neg => value.wrapping_neg(),
                Op::Pair((a, b), true) => value ^ i64::from(*a) << (b & 7),
                Op::Pair((.., b), _) => value.wrapping_add(i64::from(*b)),
            };
        }
        match (ops[0], ops[1]) {
            (Op::Add(a), Op::Add(b)) if a > b => (value, 1),
            (Op::Pair((1..=9, _), _), _) => (value, 2),
            (_, Op::Mul { .. }) => (value, 3),
            _ => (value, 4),
        }
    });
}

fn slice_patterns() {
    fn score(bytes: &[u8]) -> u32 {
        match bytes {
            [] => 0,
            [one] => u32::from(*one),
            [b'x', .., b'y'] => 1000,
            [first, middle @ .., last] if first == last => 10 + middle.len() as u32,
            [first, rest @ ..] => u32::from(*first) + score(rest),
        }
    }
    agrees(|mut input| {
        let bytes = [b'x', input.bits() as u8 % 3, 2, input.bits() as u8 % 3, b'y'];
        let from = input.below(6);
        let [a, .., z] = bytes;
        (score(&bytes[from..]), score(&bytes[..from]), a, z)
    });
}

fn let_forms() {
    fn parse(x: u64) -> Option<u64> {
        let Some(y) = x.checked_sub(5) else { return None };
        if let 0..=9 = y { Some(y) } else { y.checked_mul(1 << 60) }
    }
    agrees(|mut input| {
        let x = input.bits() % 30;
        let chained = if let Some(a) = parse(x)
            && a > 2
            && let Some(b) = parse(a)
        {
            b
        } else {
            77
        };
        (parse(x), chained)
    });
}

fn loops() {
    agrees(|mut input| {
        let mut n = input.bits() % 1000;
        let mut steps = 0_u32;
        while n > 3 {
            n /= 3;
            steps += 1;
        }
        for i in (0..input.index % 20).rev() {
            steps = steps.wrapping_mul(3) ^ i as u32;
        }
        let mut left = Some(input.index % 7);
        while let Some(x) = left {
            left = x.checked_sub(2);
            steps += 1;
        }
        let found = loop {
            n = n.wrapping_mul(5) + 1;
            if n % 16 == 11 || n > 1 << 40 {
                break n;
            }
        };
        (steps, found)
    });
}

fn labels() {
    agrees(|mut input| {
        let (target, mut count) = (input.bits() % 60, 0);
        let place = 'search: {
            'rows: for i in 0..10_u64 {
                'columns: for j in 0..10_u64 {
                    count += 1;
                    if j > i {
                        continue 'rows;
                    }
                    if i * j == target {
                        break 'search Some((i, j));
                    }
                    if j == 8 {
                        break 'columns;
                    }
                }
            }
            None
        };
        (place, count)
    });
}

fn early_return() {
    fn find(x: u64) -> u32 {
        for bit in 0..64 {
            if x >> bit & 5 == 5 {
                return bit;
            }
            if x >> bit == 0 {
                return 100 + bit;
            }
        }
        64
    }
    agrees(|mut input| find(input.bits()));
}

fn question_mark() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Wrong {
        Small(u8),
        Large,
    }
    struct Inner(u8);
    impl From<Inner> for Wrong {
        fn from(inner: Inner) -> Self {
            Wrong::Small(inner.0)
        }
    }
    fn inner(x: u8) -> Result<u8, Inner> {
        if x < 40 { Err(Inner(x)) } else { Ok(x - 40) }
    }
    fn outer(x: u8) -> Result<u32, Wrong> {
        let y = inner(x)?;
        let z = y.checked_mul(2).ok_or(Wrong::Large)?;
        Ok(u32::from(z) + 1)
    }
    fn both(x: u8) -> Option<u32> {
        let doubled = outer(x).ok()?;
        doubled.checked_sub(100)
    }
    agrees(|mut input| {
        let x = input.bits() as u8;
        let code = match outer(x) {
            Ok(value) => value,
            Err(Wrong::Small(x)) => 1000 + u32::from(x),
            Err(Wrong::Large) => 2000,
        };
        (code, both(x))
    });
}

fn combinators() {
    agrees(|mut input| {
        let x = Some(input.bits() % 50);
        let a = x.filter(|x| x % 2 == 0).map(|x| x * 3).or(Some(1)).and_then(|x| x.checked_sub(9));
        let mut slot = None;
        let b = *slot.get_or_insert(input.index);
        let c = slot.take().xor(None).zip(a);
        let d: Result<u64, u8> = a.ok_or(3).map_err(|e: u8| e + 1);
        (a, b, c, d.unwrap_or_else(u64::from), slot.is_none_or(|x| x > 1), x.map_or(0, |x| x + 1))
    });
}

fn shadowing() {
    agrees(|mut input| {
        let x = input.bits();
        let x = x as u32;
        let y = {
            let x = x.leading_zeros();
            x + 1
        };
        let x = (x, y);
        let (y, x) = x;
        (x, y)
    });
}

fn short_circuit() {
    agrees(|mut input| {
        let mut calls = 0;
        let mut ask = |answer: bool| {
            calls += 1;
            answer
        };
        let bits = input.bits();
        let one = ask(bits & 1 == 1) && ask(bits & 2 == 2) || ask(bits & 4 == 4);
        let other = ask(bits & 8 == 8) | ask(bits & 16 == 16) & ask(true);
        (one, other, calls)
    });
}

fn collatz() {
    agrees(|mut input| {
        let (mut n, mut steps) = (input.bits() % 10_000 + 1, 0_u32);
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    });
}
