//! Functions and traits.

use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Not};

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("closures in closures", closures_in_closures),
    case("closures that change what they capture (`FnMut`)", fn_mut),
    case("closures that are called once (`FnOnce`)", fn_once),
    case("generic functions", generics),
    case("const generics", const_generics),
    case("`impl Trait` in arguments and results", impl_trait),
    case("traits with provided methods and supertraits", provided_methods),
    case("associated constants and types", associated),
    case("blanket and generic implementations", blanket),
    case("overloaded operators", operators),
    case("indexing of own types", indexing),
    case("`dyn Trait` made in the kernel", trait_objects),
    case("`dyn Fn` made in the kernel", dyn_fn),
    case("upcasting of trait objects, `dyn Any`", upcasting),
    case("function pointers made in the kernel", function_pointers),
    case("enums of function pointers and numbers", functions_or_numbers),
    case("recursion", recursion),
    case("mutual recursion", mutual_recursion),
    case("inline consts, consts and `const fn`", consts),
    case("`PhantomData` and typed units", phantom),
    case("`#[inline(never)]`, `#[cold]` and `#[track_caller]` functions", attributes),
    case("macros", macros),
    case("newtypes with `Deref`", deref),
    case("functions of the C calling convention", extern_c),
];

fn closures_in_closures() {
    agrees(|mut input| {
        let (a, b) = (input.bits(), input.bits() % 9);
        let outer = |x: u64| {
            let inner = |y: u64| y.rotate_left(b as u32) ^ a;
            inner(x).wrapping_add(inner(inner(b)))
        };
        outer(outer(input.index as u64))
    });
}

fn fn_mut() {
    fn times(n: usize, mut f: impl FnMut(usize)) {
        for i in 0..n {
            f(i);
        }
    }
    agrees(|mut input| {
        let mut sum = 0_u64;
        let mut last = None;
        times(input.index % 13, |i| {
            sum = sum.wrapping_add(input.bits());
            last = Some(i);
        });
        (sum, last)
    });
}

fn fn_once() {
    struct Token(u64);
    fn consume(f: impl FnOnce() -> Token) -> u64 {
        f().0
    }
    agrees(|mut input| {
        let token = Token(input.bits());
        consume(move || token)
    });
}

fn generics() {
    fn largest<T: PartialOrd + Copy>(of: &[T]) -> Option<T> {
        let mut best = *of.first()?;
        for &x in of {
            if x > best {
                best = x;
            }
        }
        Some(best)
    }
    agrees(|mut input| {
        let whole = [input.bits(), input.bits(), input.bits()];
        let real = [input.unit(), input.unit()];
        (largest(&whole), largest(&real), largest::<u8>(&[]))
    });
}

fn const_generics() {
    #[derive(Clone, Copy)]
    struct Matrix<const R: usize, const C: usize>([[i32; C]; R]);
    impl<const R: usize, const C: usize> Matrix<R, C> {
        fn times<const K: usize>(self, other: Matrix<C, K>) -> Matrix<R, K> {
            let mut product = Matrix([[0; K]; R]);
            for r in 0..R {
                for k in 0..K {
                    for c in 0..C {
                        let term = self.0[r][c].wrapping_mul(other.0[c][k]);
                        product.0[r][k] = product.0[r][k].wrapping_add(term);
                    }
                }
            }
            product
        }
    }
    agrees(|mut input| {
        let a = Matrix([[1, 2, 3], [input.bits() as i32, 5, 6]]);
        let b = Matrix([[input.bits() as i32], [8], [9]]);
        a.times(b).0
    });
}

fn impl_trait() {
    fn multiples(of: u32, below: u32) -> impl Iterator<Item = u32> + Clone {
        (0..below).filter(move |x| x.is_multiple_of(of))
    }
    fn total(numbers: impl IntoIterator<Item = u32>) -> u32 {
        numbers.into_iter().sum()
    }
    agrees(|mut input| {
        let numbers = multiples(1 + input.below(7) as u32, input.index as u32 % 50);
        (total(numbers.clone()), total(numbers.skip(2)))
    });
}

fn provided_methods() {
    trait Named {
        const LETTER: char;
        fn size(&self) -> u32;
        fn doubled(&self) -> u32 {
            self.size().wrapping_mul(2)
        }
    }
    trait Pretty: Named {
        fn pretty(&self) -> (char, u32) {
            (Self::LETTER, self.doubled() ^ self.size())
        }
    }
    struct One(u32);
    struct Other(u32);
    impl Named for One {
        const LETTER: char = 'o';
        fn size(&self) -> u32 {
            self.0
        }
    }
    impl Named for Other {
        const LETTER: char = 'ø';
        fn size(&self) -> u32 {
            !self.0
        }
        fn doubled(&self) -> u32 {
            self.0
        }
    }
    impl Pretty for One {}
    impl Pretty for Other {}
    agrees(|mut input| (One(input.bits() as u32).pretty(), Other(input.bits() as u32).pretty()));
}

fn associated() {
    trait Field: Copy {
        type Wide;
        const BITS: u32;
        fn widen(self) -> Self::Wide;
    }
    impl Field for u8 {
        type Wide = u16;
        const BITS: u32 = 8;
        fn widen(self) -> u16 {
            u16::from(self) << Self::BITS
        }
    }
    impl Field for u32 {
        type Wide = u64;
        const BITS: u32 = 32;
        fn widen(self) -> u64 {
            u64::from(self) << Self::BITS
        }
    }
    fn widened<F: Field>(value: F) -> (F::Wide, u32) {
        (value.widen(), F::BITS)
    }
    agrees(|mut input| (widened(input.bits() as u8), widened(input.bits() as u32)));
}

fn blanket() {
    trait Squared {
        fn squared(self) -> Self;
    }
    impl<T: Mul<Output = T> + Copy> Squared for T {
        fn squared(self) -> T {
            self * self
        }
    }
    agrees(|mut input| (input.unit().squared(), (input.bits() as u8 as u32).squared()));
}

fn operators() {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Complex {
        re: f64,
        im: f64,
    }
    impl Add for Complex {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Complex { re: self.re + other.re, im: self.im + other.im }
        }
    }
    impl Mul for Complex {
        type Output = Self;
        fn mul(self, other: Self) -> Self {
            Complex {
                re: self.re * other.re - self.im * other.im,
                im: self.re * other.im + self.im * other.re,
            }
        }
    }
    impl Neg for Complex {
        type Output = Self;
        fn neg(self) -> Self {
            Complex { re: -self.re, im: -self.im }
        }
    }
    impl Not for Complex {
        type Output = Self;
        fn not(self) -> Self {
            Complex { re: self.re, im: -self.im }
        }
    }
    impl AddAssign<f64> for Complex {
        fn add_assign(&mut self, real: f64) {
            self.re += real;
        }
    }
    agrees(|mut input| {
        let (a, b) = (
            Complex { re: input.unit(), im: input.unit() },
            Complex { re: input.unit(), im: input.unit() },
        );
        let mut c = a * b + -a * !b;
        c += 0.5;
        c
    });
}

fn indexing() {
    struct Ring([u32; 5]);
    impl Index<usize> for Ring {
        type Output = u32;
        fn index(&self, at: usize) -> &u32 {
            &self.0[at % 5]
        }
    }
    impl IndexMut<usize> for Ring {
        fn index_mut(&mut self, at: usize) -> &mut u32 {
            &mut self.0[at % 5]
        }
    }
    agrees(|mut input| {
        let mut ring = Ring([1, 2, 3, 4, 5]);
        for _ in 0..9 {
            let (from, to) = (input.below(100), input.below(100));
            ring[to] = ring[to].wrapping_mul(3) ^ ring[from];
        }
        ring.0
    });
}

trait Shape {
    fn area(&self) -> f64;
    fn corners(&self) -> u32 {
        0
    }
}
struct Square(f64);
struct Circle(f64);
impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
    fn corners(&self) -> u32 {
        4
    }
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        self.0 * self.0 * std::f64::consts::PI
    }
}

fn trait_objects() {
    agrees(|mut input| {
        let (square, circle) = (Square(input.unit()), Circle(input.unit()));
        let shapes: [&dyn Shape; 3] = [&square, &circle, &square];
        let shape = shapes[input.below(3)];
        let mut sum = 0.0;
        for shape in shapes {
            sum += shape.area();
        }
        (shape.area(), shape.corners(), sum)
    });
}

fn dyn_fn() {
    fn apply(f: &dyn Fn(u64) -> u64, twice: bool, x: u64) -> u64 {
        if twice { f(f(x)) } else { f(x) }
    }
    agrees(|mut input| {
        let (a, b) = (input.bits(), input.bits());
        let mut count = 0;
        let mut note: &mut dyn FnMut(u64) = &mut |x| count += x % 3;
        note(a);
        (&mut note)(b);
        let (xor, add) = (|x| x ^ a, |x: u64| x.wrapping_add(b));
        let chosen: &dyn Fn(u64) -> u64 = if input.index % 3 == 0 { &xor } else { &add };
        (apply(chosen, input.index % 2 == 0, 7), count)
    });
}

fn upcasting() {
    use std::any::Any;
    trait Base {
        fn id(&self) -> u64;
    }
    trait Derived: Base {
        fn more(&self) -> u64;
    }
    struct It(u64);
    impl Base for It {
        fn id(&self) -> u64 {
            self.0
        }
    }
    impl Derived for It {
        fn more(&self) -> u64 {
            !self.0
        }
    }
    agrees(|mut input| {
        let it = It(input.bits());
        let derived: &dyn Derived = &it;
        let base: &dyn Base = derived;
        let (one, other) = (3_u32, 'c');
        let any: &dyn Any = if input.index % 2 == 0 { &one } else { &other };
        (base.id(), derived.more(), any.downcast_ref::<u32>().copied(), any.is::<char>())
    });
}

fn function_pointers() {
    fn half(x: f64) -> f64 {
        x / 2.0
    }
    const TABLE: [fn(f64) -> f64; 4] = [f64::sqrt, f64::floor, half, |x| x * x];
    agrees(|mut input| {
        let f = TABLE[input.below(4)];
        let g: fn(f64) -> f64 = if input.index % 2 == 0 { half } else { f64::abs };
        f(g(input.index as f64 * 1.5))
    });
}

fn functions_or_numbers() {
    #[derive(Clone, Copy)]
    enum Step {
        Add(usize),
        Call(fn(usize) -> usize),
    }
    #[inline(never)]
    fn run(step: Step, x: usize) -> usize {
        match step {
            Step::Add(y) => x.wrapping_add(y),
            Step::Call(f) => f(x),
        }
    }
    agrees(|mut input| {
        let x = input.bits() as usize;
        let steps = [
            Step::Add(x >> 3),
            Step::Call(|x| x ^ 55),
            Step::Call(usize::swap_bytes),
            Step::Add(9),
        ];
        let first = steps[input.below(4)];
        let second =
            if x.is_multiple_of(2) { Step::Add(x) } else { Step::Call(|x| x.rotate_left(9)) };
        // An address as a number, and back.
        let number = usize::reverse_bits as fn(usize) -> usize as usize;
        // SAFETY: it is the address of such a function.
        let back = unsafe { std::mem::transmute::<usize, fn(usize) -> usize>(number) };
        back(run(second, run(first, x)))
    });
}

fn recursion() {
    fn ackermann(m: u64, n: u64) -> u64 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    fn depth(bits: u64) -> u32 {
        if bits == 0 { 0 } else { 1 + depth(bits & (bits - 1)) }
    }
    agrees(|mut input| (ackermann(2, input.index as u64 % 6), depth(input.bits())));
}

fn mutual_recursion() {
    fn even(n: u32) -> bool {
        n == 0 || odd(n - 1)
    }
    fn odd(n: u32) -> bool {
        n != 0 && even(n - 1)
    }
    agrees(|input| (even(input.index as u32 % 90), odd(input.index as u32 % 90)));
}

fn consts() {
    const fn triangle(n: usize) -> usize {
        if n == 0 { 0 } else { n + triangle(n - 1) }
    }
    const ROW: [usize; 6] = {
        let mut row = [0; 6];
        let mut i = 0;
        while i < 6 {
            row[i] = triangle(i * 3);
            i += 1;
        }
        row
    };
    fn size<T>() -> usize {
        const { size_of::<T>() * 3 }
    }
    agrees(|mut input| ROW[input.below(6)] + size::<u16>() + const { triangle(100) });
}

fn phantom() {
    #[derive(Clone, Copy)]
    struct Metre;
    #[derive(Clone, Copy)]
    struct Length<U> {
        value: f32,
        unit: PhantomData<U>,
    }
    impl<U> Add for Length<U> {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Length { value: self.value + other.value, unit: PhantomData }
        }
    }
    agrees(|mut input| {
        let mut one = || Length::<Metre> { value: input.unit() as f32, unit: PhantomData };
        (one() + one()).value
    });
}

fn attributes() {
    #[inline(never)]
    fn never(x: u64) -> u64 {
        x.wrapping_mul(0x9e37_79b9)
    }
    #[cold]
    fn cold(x: u64) -> u64 {
        x >> 3
    }
    #[track_caller]
    fn line() -> u32 {
        std::panic::Location::caller().line()
    }
    agrees(|mut input| {
        let x = input.bits();
        (if x % 5 == 0 { cold(x) } else { never(x) }, line())
    });
}

fn macros() {
    macro_rules! sum {
        ($first:expr $(, $rest:expr)*) => { $first $( .wrapping_add($rest) )* };
    }
    agrees(|mut input| sum!(input.bits(), input.bits(), 3));
}

fn deref() {
    use std::ops::{Deref, DerefMut};
    struct Guarded([u16; 4]);
    impl Deref for Guarded {
        type Target = [u16];
        fn deref(&self) -> &[u16] {
            &self.0
        }
    }
    impl DerefMut for Guarded {
        fn deref_mut(&mut self) -> &mut [u16] {
            &mut self.0
        }
    }
    agrees(|mut input| {
        let mut guarded = Guarded([input.bits() as u16, 2, 3, 4]);
        guarded[1] ^= 0x55;
        guarded.reverse();
        (guarded.len(), guarded.first().copied(), guarded.iter().max().copied())
    });
}

fn extern_c() {
    extern "C" fn mixed(a: u8, b: f32, c: u64) -> f64 {
        f64::from(a) + f64::from(b) + (c % 100) as f64
    }
    agrees(|mut input| {
        let f: extern "C" fn(u8, f32, u64) -> f64 = mixed;
        f(input.bits() as u8, input.unit() as f32, input.bits())
    });
}
