//! What every generated program begins with: test data, a way to compare any value bit for bit, and
//! the comparison itself.
//!
//! Rust leaves some things open, and kernels must not see them: the bits of a NaN, and which zero
//! `min` and `max` give. So every NaN is digested as the same one, and kernels look at a float's
//! bits through the functions below.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use schism::prelude::*;
use schism::{Device, LaunchError, SpecConst};

// What kernels use.

pub fn bits32(x: f32) -> u32 {
    if x.is_nan() { 0x7FC0_0000 } else { x.to_bits() }
}
pub fn bits64(x: f64) -> u64 {
    if x.is_nan() { 0x7FF8_0000_0000_0000 } else { x.to_bits() }
}
pub fn quiet32(x: f32) -> f32 {
    if x.is_nan() { f32::NAN } else { x }
}
pub fn quiet64(x: f64) -> f64 {
    if x.is_nan() { f64::NAN } else { x }
}
/// Without the NaNs, whose sign is open.
pub fn real32(x: f32) -> f32 {
    if x.is_nan() { 3.0 } else { x }
}
pub fn real64(x: f64) -> f64 {
    if x.is_nan() { 3.0 } else { x }
}
/// A compiler that knows the argument may round the result of a function better than the library.
#[inline(always)]
pub fn opaque<T>(x: T) -> T {
    std::hint::black_box(x)
}
pub fn call<A, R>(f: impl Fn(A) -> R, a: A) -> R {
    f(a)
}
#[inline(never)]
pub fn call_dyn<A, R>(f: &dyn Fn(A) -> R, a: A) -> R {
    f(a)
}

/// Stores before and after a place that may be outside.
#[inline(never)]
pub fn put(mem: &mut [u64], at: usize, x: u64) {
    mem[0] = x;
    mem[at] = x ^ 5;
    mem[0] = 7;
}
/// The same from within calls of itself, so that it is its own function on every device.
pub fn put_deep(mem: &mut [u64], at: usize, x: u64) {
    mem[1] = x;
    if x & 7 > 0 {
        put_deep(mem, at, x - 1);
        mem[1] ^= 2;
    } else {
        mem[2] = 1;
        mem[2] = mem[at];
    }
}
pub fn put_one_of(which: usize) -> fn(&mut [u64], usize, u64) {
    if opaque(which) % 2 == 0 { put } else { put_deep }
}

/// Its drop can be seen.
pub struct Guard<'a>(pub &'a Cell<u64>, pub u64);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().wrapping_mul(31).wrapping_add(self.1));
    }
}

pub trait Mix: Copy + PartialEq {
    const OTHER: Self;
    fn mix(self, with: Self) -> Self;
}

macro_rules! mix_integers {
    ($($ty:ident)*) => {$(
        impl Mix for $ty {
            const OTHER: Self = $ty::MAX / 3;
            fn mix(self, with: Self) -> Self {
                self.rotate_left(3).wrapping_add(with ^ Self::OTHER)
            }
        }
    )*};
}
mix_integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! mix_floats {
    ($($ty:ident)*) => {$(
        impl Mix for $ty {
            const OTHER: Self = 0.75;
            fn mix(self, with: Self) -> Self {
                self * Self::OTHER - with
            }
        }
    )*};
}
mix_floats!(f32 f64);

impl Mix for bool {
    const OTHER: Self = true;
    fn mix(self, with: Self) -> Self {
        self ^ with ^ Self::OTHER
    }
}

impl Mix for char {
    const OTHER: Self = 'x';
    fn mix(self, with: Self) -> Self {
        if self > with { self } else { Self::OTHER }
    }
}

pub fn mix_all<T: Mix>(a: T, b: T) -> T {
    let mut all = [a, b, T::OTHER, a];
    for i in 1..all.len() {
        all[i] = all[i].mix(all[i - 1]);
    }
    all[3]
}

pub fn mix_each<T: Mix, const N: usize>(all: [T; N]) -> T {
    all.iter().copied().fold(T::OTHER, T::mix)
}

pub struct Pair<T> {
    pub a: T,
    pub b: T,
}

impl<T: Mix> Pair<T> {
    pub fn both(&self) -> T {
        if self.a == self.b { T::OTHER } else { self.a.mix(self.b) }
    }
}

// Test data.

pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Values that programs go wrong with, more often than others.
pub trait Make {
    fn make(rng: &mut Random) -> Self;
}

pub fn make_one<T: Make>(seed: u32) -> T {
    T::make(&mut Random(u64::from(seed)))
}

pub fn make_all<T: Make>(seed: u32, len: usize) -> Vec<T> {
    let mut rng = Random(u64::from(seed) << 8);
    (0..len).map(|_| T::make(&mut rng)).collect()
}

macro_rules! make_integers {
    ($($ty:ident)*) => {$(
        impl Make for $ty {
            fn make(rng: &mut Random) -> Self {
                match rng.below(8) {
                    0 => $ty::MAX,
                    1 => $ty::MIN,
                    2 => (1 as $ty).wrapping_shl(rng.next() as u32),
                    3..6 => rng.below(20) as $ty,
                    6 => (0 as $ty).wrapping_sub(rng.below(20) as $ty),
                    _ => (rng.next() as u128 | (rng.next() as u128) << 64) as $ty,
                }
            }
        }
        impl Digest for $ty {
            fn digest(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
        }
    )*};
}
make_integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! make_floats {
    ($($ty:ident $bits:ident $quiet:ident)*) => {$(
        impl Make for $ty {
            fn make(rng: &mut Random) -> Self {
                let special =
                    [0.0, -0.0, $ty::NAN, $ty::INFINITY, $ty::NEG_INFINITY, $ty::MAX, $ty::MIN_POSITIVE, $ty::MIN_POSITIVE / 2.0];
                match rng.below(8) {
                    0 => special[rng.below(8) as usize],
                    1..4 => rng.below(40) as $ty * 0.25,
                    4..6 => (rng.below(2000) as $ty - 1000.0) / 7.0,
                    _ => $quiet($ty::from_bits(rng.next() as _)),
                }
            }
        }
        impl Digest for $ty {
            fn digest(&self, to: &mut Vec<u8>) {
                to.extend($bits(*self).to_le_bytes());
            }
        }
    )*};
}
make_floats!(f32 bits32 quiet32 f64 bits64 quiet64);

impl Make for bool {
    fn make(rng: &mut Random) -> Self {
        rng.below(2) == 1
    }
}

impl Make for char {
    fn make(rng: &mut Random) -> Self {
        let end = [0x80, 0x800, 0x11_0000][rng.below(3) as usize];
        char::from_u32(rng.below(end) as u32).unwrap_or('\u{10FFFF}')
    }
}

impl<T: Make, const N: usize> Make for [T; N] {
    fn make(rng: &mut Random) -> Self {
        std::array::from_fn(|_| T::make(rng))
    }
}

impl<T: Make> Make for Option<T> {
    fn make(rng: &mut Random) -> Self {
        (rng.below(3) > 0).then(|| T::make(rng))
    }
}

impl<T: Make, E: Make> Make for Result<T, E> {
    fn make(rng: &mut Random) -> Self {
        if rng.below(3) > 0 { Ok(T::make(rng)) } else { Err(E::make(rng)) }
    }
}

// What is compared.

/// All of a value that a program may see, as bytes.
pub trait Digest {
    fn digest(&self, to: &mut Vec<u8>);
}

impl Digest for bool {
    fn digest(&self, to: &mut Vec<u8>) {
        // Not by its value: a bool that is neither must not look like one.
        // SAFETY: a bool is one byte.
        to.push(unsafe { std::ptr::from_ref(self).cast::<u8>().read() });
    }
}

impl Digest for char {
    fn digest(&self, to: &mut Vec<u8>) {
        u32::from(*self).digest(to);
    }
}

impl<T: Digest, const N: usize> Digest for [T; N] {
    fn digest(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|item| item.digest(to));
    }
}

impl<T: Digest> Digest for Option<T> {
    fn digest(&self, to: &mut Vec<u8>) {
        to.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.digest(to);
        }
    }
}

impl<T: Digest, E: Digest> Digest for Result<T, E> {
    fn digest(&self, to: &mut Vec<u8>) {
        to.push(u8::from(self.is_ok()));
        match self {
            Ok(value) => value.digest(to),
            Err(error) => error.digest(to),
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Digest),*> Digest for ($($name,)*) {
            fn digest(&self, to: &mut Vec<u8>) {
                let ($($name,)*) = self;
                $($name.digest(to);)*
            }
        }
        impl<$($name: Make),*> Make for ($($name,)*) {
            fn make(rng: &mut Random) -> Self {
                ($($name::make(rng),)*)
            }
        }
    )*};
}
tuples!((A) (A B) (A B C) (A B C D));

pub fn digests<T: Digest>(items: &[T]) -> Vec<Vec<u8>> {
    let digest = |item: &T| {
        let mut bytes = Vec::new();
        item.digest(&mut bytes);
        bytes
    };
    items.iter().map(digest).collect()
}

// The comparison.

#[derive(Clone, Debug, Default, PartialEq)]
struct Thrown {
    message: String,
    location: String,
}

thread_local! {
    static THROWN: RefCell<Thrown> = RefCell::default();
}

static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// What a launch returned, and what was in its outputs then.
pub type Ran = Result<(Result<(), LaunchError>, Vec<Vec<u8>>), schism::Error>;

pub struct Harness {
    queues: Vec<Queue>,
    kernel: u64,
    range: [usize; 3],
    begin: [usize; 3],
    chunk: usize,
    /// The size of a group, and how many there are.
    group: Option<([usize; 2], [usize; 2])>,
    outcomes: Vec<Result<Vec<u8>, Thrown>>,
    /// What an item that panics leaves, if that is said.
    left: Vec<Vec<u8>>,
    outputs: Option<Vec<Vec<u8>>>,
    differences: usize,
}

impl Harness {
    /// The host's results, item by item: what `run` adds to the bytes, or, if it panics, has added
    /// before.
    pub fn expect(&mut self, range: [usize; 3], run: &mut dyn FnMut(usize, [usize; 3], &mut Vec<u8>)) {
        self.range = range;
        for z in 0..range[2] {
            for y in 0..range[1] {
                for x in 0..range[0] {
                    let mut bytes = Vec::new();
                    let i = (z * range[1] + y) * range[0] + x;
                    let id = [x + self.begin[0], y + self.begin[1], z + self.begin[2]];
                    let result = catch_unwind(AssertUnwindSafe(|| run(i, id, &mut bytes)));
                    self.left.push(if result.is_err() { bytes.clone() } else { Vec::new() });
                    self.outcomes.push(result.map(|()| bytes).map_err(|_| THROWN.take()));
                }
            }
        }
    }

    /// Where the range begins.
    pub fn begin_at(&mut self, begin: [usize; 3]) {
        self.begin = begin;
    }

    /// Each work-item does this many of the host's items.
    pub fn chunks(&mut self, size: usize) {
        self.chunk = size;
    }

    /// What the outputs are, if not one for each item.
    pub fn outputs(&mut self, outputs: Vec<Vec<u8>>) {
        self.outputs = Some(outputs);
    }

    fn summary(&self) -> String {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut eat = |bytes: &[u8]| {
            for byte in bytes.iter().chain([&0xFF]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
            }
        };
        let mut panics = 0;
        for outcome in &self.outcomes {
            match outcome {
                Ok(bytes) => eat(bytes),
                Err(thrown) => {
                    panics += 1;
                    eat(thrown.message.as_bytes());
                    eat(thrown.location.as_bytes());
                }
            }
        }
        self.left.iter().for_each(|left| eat(left));
        format!("items={} panics={panics} hash={hash:016x}", self.outcomes.len())
    }

    fn difference(&mut self, device: &str, what: &str) {
        self.differences += 1;
        println!("difference {} on {device}: {}", self.kernel, what.replace('\n', " "));
    }

    /// Runs the kernel on every device.
    pub fn compare(&mut self, run: &mut dyn FnMut(&Queue) -> Ran) {
        println!("kernel {} {}", self.kernel, self.summary());
        for queue in self.queues.clone() {
            let device = queue.device().to_string();
            match catch_unwind(AssertUnwindSafe(|| run(&queue))) {
                Err(_) => self.difference(&device, &format!("the launch panicked: {:?}", THROWN.take())),
                Ok(Err(error)) => self.difference(&device, &format!("the launch failed: {error}")),
                Ok(Ok((status, outputs))) => self.check(&device, status, outputs),
            }
        }
    }

    /// Whether a work-item that panics nowhere on the host may do so on a device: it continues behind a
    /// barrier where the host has stopped, because another one of its group has panicked before it.
    fn goes_on(&self, device: &str, item: usize) -> bool {
        let Some(([lx, ly], _)) = self.group else { return false };
        let first = item / (lx * ly) * lx * ly;
        let group = self.outcomes.get(first..(first + lx * ly).min(self.outcomes.len())).unwrap_or_default();
        let is_host = device == "cpu" || device == "native";
        !is_host && self.outcomes.get(item).is_some_and(Result::is_ok) && group.iter().any(Result::is_err)
    }

    fn check(&mut self, device: &str, status: Result<(), LaunchError>, outputs: Vec<Vec<u8>>) {
        let panics = self.outcomes.iter().any(Result::is_err);
        match status {
            Ok(()) if panics => {
                let first = self.outcomes.iter().position(Result::is_err);
                let what = first.map(|i| format!("item {i} should panic: {:?}", self.outcomes[i]));
                self.difference(device, &what.unwrap_or_default());
            }
            Ok(()) => {
                let expected = self.outputs.clone().unwrap_or_else(|| {
                    self.outcomes.iter().map(|outcome| outcome.clone().unwrap_or_default()).collect()
                });
                for (i, (expected, found)) in expected.iter().zip(&outputs).enumerate() {
                    if expected != found {
                        return self.difference(device, &format!("item {i}: expected {expected:02x?}, found {found:02x?}"));
                    }
                }
                if expected.len() != outputs.len() {
                    self.difference(device, "the number of outputs");
                }
            }
            Err(LaunchError::Panicked(panic)) => {
                let found = Thrown {
                    message: panic.message.clone(),
                    location: panic.location.clone().unwrap_or_default(),
                };
                let mut item = None;
                let expected: Vec<&Thrown> = match &panic.work_item {
                    Some(id) => {
                        let fastest_first: Vec<usize> = id.iter().rev().copied().collect();
                        let at = |d: usize| fastest_first.get(d).copied().unwrap_or(0).wrapping_sub(self.begin[d]);
                        let row = at(2).wrapping_mul(self.range[1]).wrapping_add(at(1));
                        let i = row.wrapping_mul(self.range[0]).wrapping_add(at(0)).min(self.outcomes.len());
                        let i = match self.group {
                            Some(([lx, ly], [gx, _])) => {
                                let (x, y) = (at(0), at(1));
                                (y / ly * gx + x / lx) * lx * ly + y % ly * lx + x % lx
                            }
                            None => i,
                        };
                        item = Some(i);
                        let items = i * self.chunk..(i + 1) * self.chunk;
                        let items = items.start.min(self.outcomes.len())..items.end.min(self.outcomes.len());
                        self.outcomes[items].iter().filter_map(|outcome| outcome.as_ref().err()).take(1).collect()
                    }
                    None => self.outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect(),
                };
                if !expected.iter().any(|expected| same(expected, &found)) && !item.is_some_and(|i| self.goes_on(device, i)) {
                    let what = format!("expected one of {:?}, found {found:?} in {:?}", &expected[..expected.len().min(4)], panic.work_item);
                    return self.difference(device, &what);
                }
                // What other work-items have stored then is not compared.
                let left = item.and_then(|i| Some((i, self.left.get(i)?, outputs.get(i)?)));
                if let Some((i, expected, found)) = left.filter(|(_, expected, found)| !expected.is_empty() && expected != found) {
                    let what = format!("item {i} leaves when it panics: expected {expected:02x?}, found {found:02x?}");
                    self.difference(device, &what);
                }
            }
            Err(error) if is_beyond(device, &error) => println!("skipped {} on {device}", self.kernel),
            Err(error) => self.difference(device, &format!("the launch failed: {error}")),
        }
    }
}

/// One work-group, as the host runs it.
pub struct Group<'a> {
    g: &'a dyn Fn(usize, u64, u64, u64) -> u64,
    base: usize,
    state: Vec<u64>,
    tiles: [Vec<u64>; 2],
    thrown: Vec<Option<Thrown>>,
}

impl Group<'_> {
    /// Whether the group has come to its end: one of its work-items has panicked.
    fn over(&self) -> bool {
        self.thrown.iter().any(Option::is_some)
    }

    fn each(&mut self, tile: usize, next: &dyn Fn(&Self, usize) -> u64) {
        if self.over() {
            return;
        }
        let results: Vec<_> = (0..self.state.len())
            .map(|l| catch_unwind(AssertUnwindSafe(|| next(self, l))).map_err(|_| THROWN.take()))
            .collect();
        for (l, result) in results.into_iter().enumerate() {
            match result {
                Ok(state) => {
                    self.state[l] = state;
                    self.tiles[tile][l] = state;
                }
                Err(thrown) => self.thrown[l] = Some(thrown),
            }
        }
    }

    /// Each work-item looks at two others' values and makes its own.
    pub fn step(&mut self, shift: usize, swap: bool) {
        let size = self.state.len();
        self.each(usize::from(swap), &|this, l| {
            let (a, b) = (this.tiles[0][(l + shift) % size], this.tiles[0][size - 1 - l]);
            (this.g)(this.base + l, this.state[l], a, b)
        });
        if swap {
            self.tiles.swap(0, 1);
        }
    }

    /// Each work-item gets the sum of all.
    pub fn sum(&mut self) {
        let sum = self.state.iter().fold(0_u64, |sum, s| sum.wrapping_add(*s));
        self.state.iter_mut().for_each(|s| *s ^= sum);
    }
}

impl Harness {
    /// The host's results of groups of a size, of as many along each dimension. Panics of a group
    /// are those of the first step in which there are any.
    pub fn groups(
        &mut self,
        size: [usize; 2],
        count: [usize; 2],
        first: &dyn Fn(usize) -> u64,
        g: &dyn Fn(usize, u64, u64, u64) -> u64,
        steps: &mut dyn FnMut(&mut Group, usize),
        last: &dyn Fn(usize, u64, &mut Vec<u8>),
    ) {
        self.group = Some((size, count));
        let items = size[0] * size[1];
        for grp in 0..count[0] * count[1] {
            let base = grp * items;
            let mut group =
                Group { g, base, state: vec![0; items], tiles: [vec![0; items], vec![0; items]], thrown: vec![None; items] };
            group.each(0, &|this, l| first(this.base + l));
            steps(&mut group, grp);
            for l in 0..items {
                let mut bytes = Vec::new();
                let over = group.over();
                self.outcomes.push(match group.thrown[l].take() {
                    Some(thrown) => {
                        group.thrown[l] = Some(thrown.clone());
                        Err(thrown)
                    }
                    None => {
                        if !over {
                            last(base + l, group.state[l], &mut bytes);
                        }
                        Ok(bytes)
                    }
                });
            }
        }
    }
}

fn same(expected: &Thrown, found: &Thrown) -> bool {
    expected.location == found.location && same_message(&expected.message, &found.message)
}

/// Whether a device has not what a kernel needs: OpenCL has no recursion, and no numbers of more than
/// 128 bits.
fn is_beyond(device: &str, error: &LaunchError) -> bool {
    let text = error.to_string();
    let lacks = |what: &str| text.contains(&format!("uses {what}"));
    device.starts_with("opencl:") && (lacks("recursion (") || lacks("an integer of 256 bits,"))
}

/// Whether devices have the whole text of a panic.
const MESSAGES: bool = true;

fn same_message(expected: &str, found: &str) -> bool {
    !MESSAGES || expected == found
}

/// Runs the kernels from the one that the second argument counts, on the devices that the first one
/// names. Exit status 1: there were differences, 3: a kernel did not end.
pub fn run(kernels: &[(u64, fn(&mut Harness))]) {
    std::panic::set_hook(Box::new(|info| {
        let message = match info.payload_as_str() {
            Some(text) => text.to_owned(),
            None => "(a panic without a text)".to_owned(),
        };
        let location = info.location().map(ToString::to_string).unwrap_or_default();
        THROWN.set(Thrown { message, location });
    }));
    let mut arguments = std::env::args().skip(1);
    let devices = arguments.next().unwrap_or_default();
    let start: usize = arguments.next().map_or(0, |start| start.parse().expect("a number"));
    let queues: Vec<Queue> = Device::all()
        .iter()
        .filter(|device| devices.is_empty() || devices == "all" || device.to_string() == devices)
        .map(|device| Queue::on(device).expect("threads"))
        .collect();
    std::thread::spawn(|| {
        let mut before = PROGRESS.load(Relaxed);
        loop {
            std::thread::sleep(std::time::Duration::from_secs(30));
            let now = PROGRESS.load(Relaxed);
            if now == before {
                std::process::exit(3);
            }
            before = now;
        }
    });
    let mut differences = 0;
    for (number, kernel) in &kernels[start..] {
        println!("begin {number}");
        let queues = queues.clone();
        let mut harness = Harness {
            queues, kernel: *number, range: [0; 3], begin: [0; 3], chunk: 1, group: None, outcomes: Vec::new(), left: Vec::new(), outputs: None, differences: 0,
        };
        kernel(&mut harness);
        differences += harness.differences;
        PROGRESS.fetch_add(1, Relaxed);
    }
    println!("done");
    std::process::exit(i32::from(differences > 0));
}
