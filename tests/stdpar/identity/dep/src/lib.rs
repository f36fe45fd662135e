//! Statics of a dependency, behind functions of every kind.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, OnceLock};

static PLAIN: AtomicUsize = AtomicUsize::new(0);
static GENERIC: AtomicUsize = AtomicUsize::new(0);
static INLINE: AtomicUsize = AtomicUsize::new(0);

/// A static that everybody sees.
pub static SHARED: AtomicUsize = AtomicUsize::new(0);

/// A sentinel that is known by its place.
pub struct Node(pub u64);

static NIL: Node = Node(0);

pub fn nil() -> &'static Node {
    &NIL
}

pub fn is_nil(node: &Node) -> bool {
    std::ptr::eq(node, &NIL)
}

#[inline]
pub fn is_nil_inline(node: &Node) -> bool {
    std::ptr::eq(node, &NIL)
}

pub fn is_nil_of<T: AsRef<Node>>(node: T) -> bool {
    std::ptr::eq(node.as_ref(), &NIL)
}

impl AsRef<Node> for Node {
    fn as_ref(&self) -> &Node {
        self
    }
}

pub fn count_plain() -> usize {
    PLAIN.fetch_add(1, Relaxed)
}

pub fn count_generic<T>(_: T) -> usize {
    GENERIC.fetch_add(size_of::<T>(), Relaxed)
}

#[inline(always)]
pub fn count_inline() -> usize {
    INLINE.fetch_add(1, Relaxed)
}

/// What the host counts, and sets to zero.
pub fn counts() -> [usize; 4] {
    [&PLAIN, &GENERIC, &INLINE, &SHARED].map(|count| count.swap(0, Relaxed))
}

/// A number that is made once.
pub fn made_once() -> &'static (usize, String) {
    static ONCE: OnceLock<(usize, String)> = OnceLock::new();
    static TIMES: AtomicUsize = AtomicUsize::new(0);
    ONCE.get_or_init(|| (TIMES.fetch_add(1, Relaxed), "made once".to_owned()))
}

/// The same text has the same place.
pub fn intern(text: &str) -> &'static str {
    static TEXTS: LazyLock<Mutex<Vec<&'static str>>> = LazyLock::new(Mutex::default);
    let mut texts = TEXTS.lock().unwrap();
    if let Some(found) = texts.iter().find(|found| **found == text) {
        return found;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.push(new);
    new
}

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

pub fn count_in_thread() {
    CALLS.set(CALLS.get() + 1);
}

pub fn take_thread_count() -> usize {
    CALLS.take()
}

/// Bytes that know how they are copied by the place of a table.
pub struct Bytes {
    table: &'static Table,
    text: &'static str,
}

struct Table {
    name: &'static str,
    length: fn(&str) -> usize,
}

static STATIC_TABLE: Table = Table { name: "static", length: str::len };
static CHARS_TABLE: Table = Table { name: "chars", length: |text| text.chars().count() };

impl Bytes {
    pub fn new(text: &'static str) -> Self {
        let table = if text.is_ascii() { &STATIC_TABLE } else { &CHARS_TABLE };
        Self { table, text }
    }

    pub fn is_static(&self) -> bool {
        std::ptr::eq(self.table, &STATIC_TABLE)
    }

    pub fn describe(&self) -> (&'static str, usize) {
        (self.table.name, (self.table.length)(self.text))
    }
}
