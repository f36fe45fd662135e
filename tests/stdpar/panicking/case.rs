//! One case: which items panic, how, and an account of all values.

use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};

/// Numbers that depend on a seed alone.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

pub fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// What a form's keys are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One for each item of the pipeline.
    Items,
    /// `width` for each item, which has a collection.
    Rows,
    /// One for each item, and at most one is bad.
    OneBad,
}

pub type Form = (&'static str, Shape, fn(&'static Case));

/// How a bad item panics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Text,
    Format,
    Index,
    Divide,
    Expect,
    Slice,
    Capacity,
}

const KINDS: [Kind; 7] = [
    Kind::Text,
    Kind::Format,
    Kind::Index,
    Kind::Divide,
    Kind::Expect,
    Kind::Slice,
    Kind::Capacity,
];

/// How a bad item panics in forms that choose the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    Number,
    Owned,
    Load,
    Token,
    Nothing,
    Error,
    Closure,
    Resumed,
    Unwrap,
    Compare,
}

const PAYLOADS: [Payload; 10] = [
    Payload::Number,
    Payload::Owned,
    Payload::Load,
    Payload::Token,
    Payload::Nothing,
    Payload::Error,
    Payload::Closure,
    Payload::Resumed,
    Payload::Unwrap,
    Payload::Compare,
];

/// A payload that owns a value.
pub struct Load(pub Item);

/// A large payload with an alignment.
#[derive(PartialEq, Debug)]
#[repr(align(64))]
pub struct Token(pub [u64; 20]);

/// A payload of no bytes.
pub struct Nothing;

#[derive(Debug)]
struct BadItem(usize);

impl std::fmt::Display for BadItem {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "no item {}", self.0)
    }
}

impl std::error::Error for BadItem {}

type Failure = Box<dyn std::error::Error + Send>;
type Later = Box<dyn Fn() -> usize + Send>;

/// Which keys are bad.
#[derive(Debug)]
struct Bad {
    keys: [usize; 3],
    step: usize,
    offset: usize,
}

impl Bad {
    fn new(random: &mut Random, space: usize, one: bool) -> Self {
        let mut bad = Self { keys: [usize::MAX; 3], step: 0, offset: 0 };
        match random.below(if one { 4 } else { 8 }) {
            0 => {}
            1 => bad.keys[0] = random.below(space),
            2 => bad.keys[0] = 0,
            3 => bad.keys[0] = space.saturating_sub(1),
            4 | 5 => bad.keys = std::array::from_fn(|_| random.below(space)),
            6 => {
                bad.step = 1 + random.below(50);
                bad.offset = random.below(bad.step);
            }
            _ => bad.step = 1,
        }
        bad
    }

    fn has(&self, key: usize) -> bool {
        self.keys.contains(&key) || self.step != 0 && key % self.step == self.offset
    }
}

/// How often each value of a case was dropped.
pub struct Ledger {
    born: AtomicUsize,
    drops: Vec<AtomicU8>,
}

impl Ledger {
    pub fn new() -> Self {
        let drops = (0..1 << 21).map(|_| AtomicU8::new(0)).collect();
        Self { born: AtomicUsize::new(0), drops }
    }
}

pub struct Case {
    pub name: &'static str,
    pub number: usize,
    seed: u64,
    /// Items of the pipeline.
    pub count: usize,
    /// The most elements of an item's collection.
    pub width: usize,
    bad: Bad,
    kind: Kind,
    payload: Payload,
    /// Bad items panic only while the pipeline runs.
    armed: AtomicBool,
    used: AtomicUsize,
    ledger: &'static Ledger,
    /// The hook's calls so far, where they are counted.
    hook: Option<&'static AtomicUsize>,
    pub failed: AtomicBool,
    pub panicked: AtomicBool,
}

const SIZES: [usize; 16] = [0, 1, 1, 2, 3, 7, 33, 63, 64, 100, 100, 101, 777, 1000, 1001, 10_000];

impl Case {
    pub fn new(
        &(name, shape, _): &Form,
        number: usize,
        seed: u64,
        ledger: &'static Ledger,
        hook: Option<&'static AtomicUsize>,
    ) -> Self {
        let mut random = Random::new(seed);
        let count = SIZES[random.below(SIZES.len())];
        let width = if count < 1000 { 1 + random.below(40) } else { 1 + random.below(6) };
        let space = if shape == Shape::Rows { count * width } else { count };
        let bad = Bad::new(&mut random, space, shape == Shape::OneBad);
        let kind = KINDS[random.below(KINDS.len())];
        let payload = PAYLOADS[random.below(PAYLOADS.len())];
        let [armed, failed, panicked] = std::array::from_fn(|_| AtomicBool::new(false));
        let used = ledger.born.swap(0, Relaxed);
        ledger.drops[..used].iter().for_each(|drops| drops.store(0, Relaxed));
        Self {
            name,
            number,
            seed,
            count,
            width,
            bad,
            kind,
            payload,
            armed,
            used: AtomicUsize::new(0),
            ledger,
            hook,
            failed,
            panicked,
        }
    }

    pub fn describe(&self) -> String {
        format!(
            "case {}, {}, {} items of {}, {:?} {:?}, {:?}",
            self.number, self.name, self.count, self.width, self.kind, self.payload, self.bad
        )
    }

    /// Printed at once: what follows may end the process.
    pub fn fail(&self, why: &str) {
        if !self.failed.swap(true, Relaxed) {
            println!("failed: {}: {why}", self.describe());
        }
    }

    pub fn check(&self, holds: bool, why: &str) {
        if !holds {
            self.fail(why);
        }
    }

    pub fn is_bad(&self, key: usize) -> bool {
        self.bad.has(key)
    }

    /// Whether one of these keys is bad.
    pub fn bad_in(&self, mut keys: Range<usize>) -> bool {
        keys.any(|key| self.bad.has(key))
    }

    /// Whether an item is bad.
    pub fn bad_items(&self) -> bool {
        self.bad_in(0..self.count)
    }

    /// Whether there is a bad element in a collection of so many.
    pub fn bad_rows(&self, least: usize) -> bool {
        (0..self.count).any(|row| self.keys(row).len() >= least && self.bad_in(self.keys(row)))
    }

    /// Panics for bad keys.
    #[inline]
    pub fn trip(&self, key: usize) {
        if self.armed.load(Relaxed) && self.bad.has(key) {
            self.panic(key);
        }
    }

    fn panic(&self, key: usize) {
        // What is computed is used, so that nothing is left out.
        let used = match self.kind {
            Kind::Text => panic!("a bad item"),
            Kind::Format => panic!("item {key} is bad"),
            Kind::Index => self.bad.keys[key + 3],
            Kind::Divide => key / (self.width - self.width.max(1)),
            Kind::Expect => *self.bad.keys.get(key + 3).expect("there is an item"),
            Kind::Slice => self.bad.keys[key + 4..].len(),
            Kind::Capacity => Vec::<[u64; 8]>::with_capacity(usize::MAX - key).capacity(),
        };
        self.used.fetch_add(used, Relaxed);
    }

    /// Panics for bad keys with a payload of some type.
    #[inline]
    pub fn trip_with_payload(&'static self, key: usize) {
        if self.armed.load(Relaxed) && self.bad.has(key) {
            self.panic_with_payload(key);
        }
    }

    fn panic_with_payload(&'static self, key: usize) {
        match self.payload {
            Payload::Number => panic_any(key as u64),
            Payload::Owned => panic_any(text_of(key)),
            Payload::Load => panic_any(Load(self.item(key))),
            Payload::Token => panic_any(Token([key as u64; 20])),
            Payload::Nothing => panic_any(Nothing),
            Payload::Error => panic_any(Box::new(BadItem(key)) as Failure),
            Payload::Closure => panic_any(Box::new(move || key + 1) as Later),
            Payload::Resumed => resume_unwind(Box::new(Token([!(key as u64); 20]))),
            Payload::Unwrap => Err::<(), _>(key).unwrap(),
            Payload::Compare => assert_eq!(key, usize::MAX, "items of {}", self.width),
        }
    }

    /// Runs a pipeline that panics if `bad`, as [`Self::trip`] does.
    pub fn run<R>(&'static self, bad: bool, work: impl FnOnce() -> R) -> Option<R> {
        self.run_as(Some(bad), |key| self.panic(key), self.hook.is_some(), work)
    }

    /// The same for a pipeline that may or may not come to the bad items.
    pub fn run_perhaps<R>(&'static self, bad: bool, work: impl FnOnce() -> R) -> Option<R> {
        let expected = if bad { None } else { Some(false) };
        self.run_as(expected, |key| self.panic(key), self.hook.is_some(), work)
    }

    /// The same for a pipeline that panics as [`Self::trip_with_payload`] does.
    pub fn run_with_payload<R>(&'static self, bad: bool, work: impl FnOnce() -> R) -> Option<R> {
        let hooked = self.hook.is_some() && self.payload != Payload::Resumed;
        self.run_as(Some(bad), |key| self.panic_with_payload(key), hooked, work)
    }

    fn run_as<R>(
        &self,
        expected: Option<bool>,
        panic: impl Fn(usize),
        hooked: bool,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let calls = || self.hook.map_or(0, |calls| calls.load(Relaxed));
        let before = calls();
        self.armed.store(true, Relaxed);
        let result = catch_unwind(AssertUnwindSafe(work));
        self.armed.store(false, Relaxed);
        match result {
            Ok(result) => {
                self.check(expected != Some(true), "it should panic");
                Some(result)
            }
            Err(payload) => {
                self.panicked.store(true, Relaxed);
                let found = show(&*payload);
                self.check(expected != Some(false), &format!("it should not panic: {found}"));
                self.check(!hooked || calls() > before, "the hook was not called");
                self.check_payload(&found, panic);
                None
            }
        }
    }

    /// Whether a payload is that of a bad item: the same as this thread's own.
    fn check_payload(&self, found: &str, panic: impl Fn(usize)) {
        let numbers = found.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        let around = numbers.flat_map(|n: usize| n.saturating_sub(4)..=n.saturating_add(1));
        let backwards = found.rsplit('é').next().map(|text| text.chars().rev().collect::<String>());
        let backwards = backwards.and_then(|text| text.parse().ok());
        let inverse = found.split(' ').next_back().and_then(|n| n.parse::<u64>().ok());
        let inverse = inverse.map(|n| !n as usize);
        let capacity = self.count * self.width;
        let any = (0..capacity.max(self.count)).find(|key| self.bad.has(*key));
        let mut keys = around.chain(backwards).chain(inverse).chain(any);
        let is_own = |key: usize| {
            let own = catch_unwind(AssertUnwindSafe(|| panic(key)));
            show(&*own.expect_err("it panics")) == found
        };
        let is_known = keys.any(|key| self.bad.has(key) && is_own(key));
        self.check(is_known, &format!("no bad item panics with {found}"));
    }

    pub fn item(&'static self, key: usize) -> Item {
        let id = self.ledger.born.fetch_add(1, Relaxed);
        Item { key, id, text: text_of(key), case: self }
    }

    pub fn items(&'static self) -> Vec<Item> {
        (0..self.count).map(|key| self.item(key)).collect()
    }

    /// The keys of an item's collection.
    pub fn keys(&self, row: usize) -> Range<usize> {
        let length = mix(self.seed ^ row as u64) as usize % (self.width + 1);
        row * self.width..row * self.width + length
    }

    pub fn row(&'static self, row: usize) -> Vec<Item> {
        self.keys(row).map(|key| self.item(key)).collect()
    }

    /// Whether these values are there, each once, and have the contents that they had. Returns how
    /// many there are.
    pub fn alive<'a>(&self, items: impl IntoIterator<Item = &'a Item>) -> usize {
        let mut ids = Vec::new();
        let mut blocks = Vec::new();
        for item in items {
            let drops = self.ledger.drops.get(item.id).map(|drops| drops.load(Relaxed));
            self.check(drops == Some(0), "a value is there that was dropped");
            self.check(std::ptr::eq(item.case, self), "a value is overwritten");
            self.check(item.text == text_of(item.key), "a value has another text");
            ids.push(item.id);
            blocks.push(item.text.as_ptr());
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        self.check(ids.len() == count, "a value is there twice");
        blocks.sort_unstable();
        blocks.dedup();
        self.check(blocks.len() == count, "a string has two owners");
        count
    }

    /// Whether each value was dropped once.
    pub fn end(&self) {
        let born = self.ledger.born.load(Relaxed);
        let drops = || self.ledger.drops[..born].iter().map(|drops| drops.load(Relaxed));
        let lost = drops().filter(|drops| *drops == 0).count();
        let twice = drops().filter(|drops| *drops > 1).count();
        let why = format!("of {born} values {lost} were not dropped, {twice} more than once");
        self.check(lost + twice == 0, &why);
    }
}

/// A value that counts its drops and owns a block.
pub struct Item {
    pub key: usize,
    id: usize,
    pub text: String,
    pub case: &'static Case,
}

impl Item {
    /// A place in an order that is not that of the keys.
    pub fn rank(&self) -> u64 {
        mix(self.key as u64)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.case.ledger.drops[self.id].fetch_add(1, Relaxed);
    }
}

/// Panics if the item is bad.
impl Clone for Item {
    fn clone(&self) -> Self {
        self.case.trip(self.key);
        self.case.item(self.key)
    }
}

/// An item whose comparisons panic if it is bad.
pub struct Ranked(pub Item);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.case.trip(self.0.key);
        self.0.case.trip(other.0.key);
        self.0.rank().cmp(&other.0.rank())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// A text of the key's digits, the last first. It is made without formatting.
pub fn text_of(mut key: usize) -> String {
    let mut text = String::from("item é");
    loop {
        text.push(char::from(b'0' + (key % 10) as u8));
        key /= 10;
        if key == 0 {
            break text;
        }
    }
}

/// Type and value of a payload.
pub fn show(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        format!("&str {text}")
    } else if let Some(text) = payload.downcast_ref::<String>() {
        format!("String {text}")
    } else if let Some(number) = payload.downcast_ref::<u64>() {
        format!("u64 {number}")
    } else if let Some(load) = payload.downcast_ref::<Load>() {
        format!("Load {}", load.0.text)
    } else if let Some(token) = payload.downcast_ref::<Token>() {
        let whole = token.0.iter().all(|word| *word == token.0[0]);
        let aligned = std::ptr::from_ref(token).addr() % 64 == 0;
        format!("Token {whole} {aligned} {}", token.0[0])
    } else if let Some(item) = payload.downcast_ref::<Item>() {
        format!("Item {}", item.text)
    } else if payload.is::<Nothing>() {
        "Nothing".to_owned()
    } else if let Some(error) = payload.downcast_ref::<Failure>() {
        format!("Error {error} {error:?}")
    } else if let Some(later) = payload.downcast_ref::<Later>() {
        format!("closure {}", later())
    } else {
        "of an unknown type".to_owned()
    }
}
