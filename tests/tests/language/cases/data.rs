//! Data.

use std::mem::MaybeUninit;

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("arrays, arrays of arrays", arrays),
    case("tuples and structs, nested, with update syntax", tuples),
    case("slices and sub-slices of arrays", slices),
    case(
        "`split_at`, `split_first`, `chunks_exact`, `copy_from_slice`, `fill`, `swap`, `rotate_left`",
        slice_methods,
    ),
    case("enums with data, discriminants, `repr(u8)`", enums),
    case("`Option` of references, niches", niches),
    case("strings and chars", strings),
    case("bytes of numbers, in either order", bytes),
    case("immutable statics, with pointers to others", statics),
    case("types without size", zero_sized),
    case("`repr(C)`, packed, aligned and transparent types", layouts),
    case("unions", unions),
    case("`MaybeUninit`", maybe_uninit),
    case("`Ordering`, comparison of tuples and arrays", ordering),
    case("`derive`d traits", derived),
    case("bool and unit", bool_and_unit),
];

fn arrays() {
    agrees(|mut input| {
        let mut grid = [[0_u16; 5]; 4];
        for _ in 0..12 {
            let (row, column) = (input.below(4), input.below(5));
            grid[row][column] ^= input.bits() as u16;
        }
        let doubled = grid.map(|row| row.map(|x| x.wrapping_mul(2)));
        (grid[1], doubled[3], [input.index; 3], std::array::from_fn::<u8, 4, _>(|i| i as u8 * 3))
    });
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Particle {
    place: (f32, f32),
    kind: u8,
    spin: Option<i16>,
}

fn tuples() {
    agrees(|mut input| {
        let first = Particle { place: (input.unit() as f32, 2.0), kind: 3, spin: None };
        let second = Particle { spin: Some(input.bits() as i16), ..first };
        let Particle { place: (x, _), ref kind, .. } = second;
        ((first, second), ((x, *kind), [(); 2]))
    });
}

fn slices() {
    fn sum(of: &[u32]) -> u32 {
        of.iter().fold(0, |a, b| a.wrapping_mul(3) ^ b)
    }
    agrees(|mut input| {
        let numbers = [input.bits() as u32, 2, 3, input.bits() as u32, 5, 6];
        let (from, to) = (input.below(4), 4 + input.below(3));
        let inner = &numbers[from..to];
        let last = inner.last().copied();
        (sum(inner), sum(&inner[..=0]), inner.len(), last, numbers.get(from..9).is_none())
    });
}

fn slice_methods() {
    agrees(|mut input| {
        let mut numbers = [1_u32, 2, 3, 4, 5, 6, 7, input.bits() as u32];
        let (left, right) = numbers.split_at_mut(4);
        left.swap_with_slice(right);
        left[1..3].copy_from_slice(&right[2..]);
        right[..2].fill(input.index as u32);
        numbers.rotate_left(input.below(8));
        numbers.swap(0, input.index % 8);
        let (first, rest) = numbers.split_first().unwrap_or((&0, &[]));
        let sum: u32 = rest.chunks_exact(3).map(|c| c[0] ^ c[2]).fold(*first, u32::wrapping_add);
        let found =
            (numbers.contains(&3), numbers.starts_with(&[2]), numbers.iter().position(|x| *x == 6));
        (numbers, sum, found, numbers.concat_len())
    });
}

trait ConcatLen {
    fn concat_len(&self) -> usize;
}
impl<const N: usize> ConcatLen for [u32; N] {
    fn concat_len(&self) -> usize {
        N * 2
    }
}

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    #[default]
    Low = 3,
    Middle = 10,
    High = 200,
}

fn enums() {
    #[derive(Clone, Copy)]
    enum Tree<'a> {
        Leaf(u32),
        Node(&'a Tree<'a>, &'a Tree<'a>),
    }
    fn sum(tree: &Tree<'_>) -> u32 {
        match *tree {
            Tree::Leaf(x) => x,
            Tree::Node(left, right) => sum(left).wrapping_mul(2).wrapping_add(sum(right)),
        }
    }
    agrees(|mut input| {
        let levels = [Level::Low, Level::Middle, Level::High];
        let level = levels[input.below(3)];
        let leaves = [Tree::Leaf(input.bits() as u32), Tree::Leaf(input.index as u32)];
        let node = Tree::Node(&leaves[0], &leaves[1]);
        let root = Tree::Node(&node, &leaves[input.below(2)]);
        (level, level as u8, level > Level::Low, sum(&root))
    });
}

fn niches() {
    use std::num::NonZeroU32;
    agrees(|mut input| {
        let numbers = [input.bits() as u32, 7];
        let chosen: Option<&u32> = numbers.get(input.below(3));
        let nonzero = NonZeroU32::new(input.bits() as u32 % 3);
        let letter: Option<char> = char::from_u32(0xd7f0 + input.below(32) as u32);
        let nested: Option<Option<bool>> = [None, Some(None), Some(Some(true))][input.below(3)];
        (chosen.copied(), nonzero.map(NonZeroU32::get), letter, nested)
    });
}

fn strings() {
    const TEXT: &str = "Grüße, wörld: αβγ 日本 🦀!";
    agrees(|mut input| {
        let letter = TEXT.chars().nth(input.below(24)).unwrap_or('x');
        let mut utf8 = [0_u8; 4];
        let length = letter.encode_utf8(&mut utf8).len();
        let words = TEXT.split(' ').map(str::len).max().unwrap_or(0);
        (
            (letter, length, utf8, letter.is_ascii_punctuation(), letter.to_ascii_uppercase()),
            (words, TEXT.find(letter), TEXT.bytes().filter(|b| b % 2 == 1).count()),
            TEXT.char_indices().rev().nth(input.index % 5),
            (TEXT.trim_end_matches('!').len(), TEXT.starts_with("Gr"), letter.len_utf16()),
        )
    });
}

fn bytes() {
    agrees(|mut input| {
        let x = input.bits();
        (
            u64::from_be_bytes(x.to_le_bytes()),
            u32::from_ne_bytes((x as f32).to_be_bytes()),
            f64::from_bits(x & 0x7fef_ffff_ffff_ffff),
            i16::from_le_bytes([x as u8, (x >> 8) as u8]),
        )
    });
}

static TABLE: [u32; 4] = [3, 1, 4, 1];
static NAMES: [&str; 3] = ["one", "three", "seventeen"];
static FIRST: &u32 = &TABLE[2];
struct List {
    value: u32,
    next: Option<&'static List>,
}
static LIST: List = List { value: 5, next: Some(&List { value: 8, next: Some(&TAIL) }) };
static TAIL: List = List { value: 13, next: None };
static FUNCTIONS: [fn(u32) -> u32; 2] = [u32::reverse_bits, |x| x + 1];

fn statics() {
    agrees(|mut input| {
        let (mut list, mut sum) = (Some(&LIST), 0);
        while let Some(List { value, next }) = list {
            sum = sum * 2 + value;
            list = *next;
        }
        let name = NAMES[input.below(3)];
        (TABLE[input.below(4)] + *FIRST, name.len(), sum, FUNCTIONS[input.below(2)](sum))
    });
}

fn zero_sized() {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Unit;
    agrees(|mut input| {
        let units = [Unit; 10];
        let count = units.iter().filter(|unit| **unit == Unit).count();
        let sliced = &units[input.below(10)..];
        (count, sliced.len(), size_of_val(sliced), Unit, ())
    });
}

fn layouts() {
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct C {
        a: u8,
        b: u32,
        c: u16,
    }
    #[repr(C, packed)]
    #[derive(Clone, Copy, Default)]
    struct Packed {
        a: u8,
        b: u64,
    }
    #[repr(align(32))]
    #[derive(Clone, Copy, Default)]
    struct Aligned(u8);
    #[repr(transparent)]
    #[derive(Clone, Copy, Default)]
    struct Transparent(f32);
    agrees(|mut input| {
        let c = C { a: 1, b: input.bits() as u32, c: 3 };
        let mut packed = [Packed { a: 4, b: input.bits() }; 3];
        packed[input.below(3)].b ^= 0xff;
        let b = packed[1].b;
        let aligned = [Aligned(input.bits() as u8); 2];
        let address = &raw const aligned[1] as usize;
        let sizes = (size_of::<C>(), size_of::<Packed>(), size_of::<[Aligned; 2]>());
        (c, b, packed[0].a, aligned[1].0, address % 32, sizes, Transparent(1.5).0)
    });
}

fn unions() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    union Number {
        bits: u32,
        real: f32,
        bytes: [u8; 4],
    }
    agrees(|mut input| {
        let mut number = Number { real: input.unit() as f32 };
        // SAFETY: all fields have the same size, and any bits are a value of each.
        unsafe {
            number.bits ^= 1 << 31;
            number.bytes[0] = input.index as u8;
            (number.bits, number.bytes, number.real.to_bits())
        }
    });
}

fn maybe_uninit() {
    agrees(|mut input| {
        let mut numbers = [const { MaybeUninit::<u64>::uninit() }; 6];
        let count = input.below(7);
        for slot in &mut numbers[..count] {
            slot.write(input.bits());
        }
        // SAFETY: the first `count` have just been written.
        numbers[..count].iter().map(|slot| unsafe { slot.assume_init() }).fold(0, |a, b| a ^ b)
    });
}

fn ordering() {
    use std::cmp::{Ordering, Reverse};
    agrees(|mut input| {
        let (a, b) = ((input.bits() % 3, input.unit()), (input.bits() % 3, input.unit()));
        let three = [input.bits() as u8 % 4, 2, input.bits() as u8];
        (
            a.partial_cmp(&b).map(|ordering| ordering as i8),
            three.cmp(&[2, 2, 100]) == Ordering::Less,
            Reverse(a.0).cmp(&Reverse(b.0)).then(Ordering::Greater) as i8,
            (a.0.max(b.0), a.1.min(b.1), three[0].clamp(1, 2), a.1.total_cmp(&b.1) as i8),
        )
    });
}

fn derived() {
    use std::hash::{Hash, Hasher};
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Key {
        level: Level2,
        number: u16,
    }
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    enum Level2 {
        #[default]
        None,
        Some(char),
    }
    struct Sum(u64);
    impl Hasher for Sum {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = self.0.rotate_left(7) ^ u64::from(*byte);
            }
        }
    }
    agrees(|mut input| {
        let one = Key { level: Level2::Some('ä'), number: input.bits() as u16 };
        let other = if input.index % 3 == 0 { Key::default() } else { one.clone() };
        let mut hasher = Sum(5);
        one.hash(&mut hasher);
        (one, one == other, one > other, hasher.finish())
    });
}

fn bool_and_unit() {
    agrees(|mut input| {
        let (a, b) = (input.bits() & 1 == 1, input.bits() & 1 == 1);
        let unit = if a {};
        (a ^ b, a & !b, a.then_some(3), b.then(|| 4), a as u8 + b as u8, unit)
    });
}
