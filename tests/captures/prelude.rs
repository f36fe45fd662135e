//! What programs with random captures have before their kernels: see `mod.rs` in the folder
//! that this comes from.
//!
//! A kernel folds all that its capture holds into a number: each number, the tag of each enum, each
//! element of each view. The host does the same with the value that it made, and the numbers must
//! be equal.
//!
//! Without `CAPTURES_CLOSURES` the GPUs are real ones, and kernels run there; there may be one
//! only.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::env;
use std::ffi::{c_char, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU8;
use std::num::{NonZero, NonZeroU8, NonZeroU32, NonZeroU64, NonZeroU128};

use schism::prelude::*;
use schism::{LaunchError, Specialized};

use fake::on_launch;

pub type Words = View<'static, u32>;

/// What a value holds.
pub struct Sink {
    hash: u64,
    /// Views that refer to something, and those of them that lie in a union.
    views: u32,
    uncertain: u32,
    in_union: bool,
    /// The host reads elements of a GPU's buffer by addresses that stand for them. What arrives on
    /// a GPU has other addresses.
    on_gpu: bool,
}

impl Sink {
    fn new(on_gpu: bool) -> Self {
        Self { hash: 0x243F_6A88_85A3_08D3, views: 0, uncertain: 0, in_union: false, on_gpu }
    }

    pub fn add(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
    }

    fn of(value: &impl Walk) -> Self {
        let mut sink = Self::new(false);
        value.walk(&mut sink);
        sink
    }
}

pub trait Walk {
    fn walk(&self, sink: &mut Sink);
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(impl Walk for $ty {
        fn walk(&self, sink: &mut Sink) {
            sink.add(*self as u64);
        }
    })*};
}
numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize bool char);

macro_rules! nonzero {
    ($($ty:ident)*) => {$(impl Walk for NonZero<$ty> {
        fn walk(&self, sink: &mut Sink) {
            self.get().walk(sink);
        }
    })*};
}
nonzero!(u8 u16 u32 u64 u128);

impl Walk for u128 {
    fn walk(&self, sink: &mut Sink) {
        sink.add(*self as u64);
        sink.add((*self >> 64) as u64);
    }
}

impl Walk for f32 {
    fn walk(&self, sink: &mut Sink) {
        sink.add(u64::from(self.to_bits()));
    }
}

impl Walk for f64 {
    fn walk(&self, sink: &mut Sink) {
        sink.add(self.to_bits());
    }
}

impl Walk for Words {
    fn walk(&self, sink: &mut Sink) {
        // SAFETY: a view is an address and a length.
        let words = unsafe { std::mem::transmute::<Words, [usize; 2]>(*self) };
        if sink.on_gpu && words.iter().any(|word| *word >> 44 == 3) {
            return sink.add(u64::MAX);
        }
        let elements = self.as_slice();
        sink.add(elements.len() as u64);
        for element in elements {
            sink.add(u64::from(*element));
        }
        // An empty buffer is nowhere.
        if elements.as_ptr() as usize >> 16 != 0 {
            sink.views += 1;
            sink.uncertain += u32::from(sink.in_union);
        }
    }
}

impl Walk for () {
    fn walk(&self, _: &mut Sink) {}
}

impl<T> Walk for PhantomData<T> {
    fn walk(&self, _: &mut Sink) {}
}

impl<T: Walk + Copy> Walk for Specialized<T> {
    fn walk(&self, sink: &mut Sink) {
        self.get().walk(sink);
    }
}

impl<T: Walk> Walk for Option<T> {
    fn walk(&self, sink: &mut Sink) {
        match self {
            None => sink.add(0),
            Some(value) => {
                sink.add(1);
                value.walk(sink);
            }
        }
    }
}

impl<T: Walk, U: Walk> Walk for Result<T, U> {
    fn walk(&self, sink: &mut Sink) {
        match self {
            Ok(value) => {
                sink.add(2);
                value.walk(sink);
            }
            Err(value) => {
                sink.add(3);
                value.walk(sink);
            }
        }
    }
}

impl<T: Walk, U: Walk> Walk for (T, U) {
    fn walk(&self, sink: &mut Sink) {
        self.0.walk(sink);
        self.1.walk(sink);
    }
}

impl<T: Walk, U: Walk, V: Walk> Walk for (T, U, V) {
    fn walk(&self, sink: &mut Sink) {
        self.0.walk(sink);
        self.1.walk(sink);
        self.2.walk(sink);
    }
}

impl<T: Walk, const N: usize> Walk for [T; N] {
    fn walk(&self, sink: &mut Sink) {
        for element in self {
            element.walk(sink);
        }
    }
}

/// A struct that is nothing but its field, and has its layout.
#[derive(Clone, Copy)]
pub struct Only<T>(pub T);

impl<T: Walk> Walk for Only<T> {
    fn walk(&self, sink: &mut Sink) {
        self.0.walk(sink);
    }
}

#[derive(Clone, Copy)]
#[repr(C, packed)]
pub struct Packed<T, U>(pub T, pub U);

impl<T: Walk + Copy, U: Walk + Copy> Walk for Packed<T, U> {
    fn walk(&self, sink: &mut Sink) {
        let (first, second) = (self.0, self.1);
        first.walk(sink);
        second.walk(sink);
    }
}

#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Wide<T>(pub T);

impl<T: Walk> Walk for Wide<T> {
    fn walk(&self, sink: &mut Sink) {
        self.0.walk(sink);
    }
}

/// A value in a union, or none.
#[derive(Clone, Copy)]
pub struct Maybe<T: Copy> {
    there: bool,
    value: MaybeUninit<T>,
}

impl<T: Copy> Maybe<T> {
    pub fn some(value: T) -> Self {
        Self { there: true, value: MaybeUninit::new(value) }
    }

    pub fn none() -> Self {
        Self { there: false, value: MaybeUninit::uninit() }
    }
}

impl<T: Walk + Copy> Walk for Maybe<T> {
    fn walk(&self, sink: &mut Sink) {
        sink.add(u64::from(self.there));
        if self.there {
            let before = std::mem::replace(&mut sink.in_union, true);
            // SAFETY: it is there.
            unsafe { self.value.assume_init_ref() }.walk(sink);
            sink.in_union = before;
        }
    }
}

/// What values are made of on one device.
pub struct Env {
    queue: Queue,
    views: Vec<Words>,
}

impl Env {
    fn on(device: &str) -> Self {
        let device = Device::by_name(device).expect("a device");
        let queue = Queue::on(&device).expect("a queue");
        let view = |number: u32| {
            let len = if number == 3 { 0 } else { 64 };
            let elements: Vec<u32> = (0..len).map(|i| 1000 * number + i).collect();
            &*Box::leak(Box::new(Buffer::from_slice(&queue, &elements).expect("memory")))
        };
        let views = (0..4).map(|number| view(number).view()).collect();
        Self { queue, views }
    }

    /// A part of a buffer.
    pub fn view(&self, number: usize, begin: usize, end: usize) -> Words {
        let view = self.views[number % 4];
        let (begin, end) = (begin.min(view.len()), end.min(view.len()));
        view.slice(begin..end.max(begin)).expect("a part")
    }

    /// A number that is the address of such a part.
    pub fn address(&self, number: usize, begin: usize) -> u64 {
        let view = self.view(number % 3, begin, 64);
        // SAFETY: both are two words.
        let [first, second] = unsafe { std::mem::transmute::<Words, [usize; 2]>(view) };
        if second == view.len() { first as u64 } else { second as u64 }
    }
}

thread_local! {
    /// The flattened parameters of the next launch, by offset and size; and the closure that
    /// arrived.
    static PARAMETERS: RefCell<(usize, Vec<(usize, usize)>)> = const { RefCell::new((0, Vec::new())) };
    static ARRIVED: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

/// In a kernel's place: puts the closure together from its parameters.
extern "C" fn collect(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    PARAMETERS.with_borrow(|(size, parts)| {
        let mut closure = vec![u128::from_ne_bytes([0xAA; 16]); size.div_ceil(16)];
        for (index, (offset, size)) in parts.iter().enumerate() {
            // SAFETY: each parameter is as large as its part of the closure.
            unsafe {
                let from = parameters.add(index).read().cast::<u8>();
                from.copy_to_nonoverlapping(closure.as_mut_ptr().cast::<u8>().add(*offset), *size);
            }
        }
        ARRIVED.set(closure);
    });
}

pub struct Harness {
    cpu: Env,
    native: Env,
    gpu: Env,
    other_gpu: Option<Env>,
    /// The driver is the fake one.
    fake: bool,
    /// Of each kernel, what the container says of its closure.
    closures: HashMap<String, (usize, Vec<(usize, usize)>)>,
    /// Those that are asked for; all, if there is none.
    names: Vec<String>,
    checked: Cell<usize>,
}

const ITEMS: usize = 3;

impl Harness {
    fn new() -> Self {
        let path = env::var_os("CAPTURES_CLOSURES");
        let fake = path.is_some();
        let text = path.map(|path| std::fs::read_to_string(path).expect("a text"));
        let text = text.unwrap_or_default();
        let closures = text.lines().map(|line| {
            let mut words = line.split(' ');
            let name = words.next().expect("a name").to_owned();
            let numbers: Vec<usize> = words.map(|word| word.parse().expect("a number")).collect();
            let parameters = numbers[1..].chunks(2).map(|pair| (pair[0], pair[1])).collect();
            (name, (numbers[0], parameters))
        });
        if fake {
            on_launch(collect);
        }
        let has_other = fake || Device::by_name("cuda:1").is_ok();
        Self {
            cpu: Env::on("cpu"),
            native: Env::on("native"),
            gpu: Env::on("cuda:0"),
            other_gpu: has_other.then(|| Env::on("cuda:1")),
            fake,
            closures: closures.collect(),
            names: env::args().skip(1).collect(),
            checked: Cell::new(0),
        }
    }

    /// What a launch of the kernel leaves, with a value of one device on the queue of another.
    fn launch<T, K>(
        &self,
        queue: &Queue,
        value: T,
        kernel: impl FnOnce(T, ViewMut<'static, u64>, bool) -> K,
        after: impl FnOnce(),
    ) -> Result<Vec<u64>, LaunchError>
    where
        K: Fn(Item<1>) + Send + Sync + Capture,
    {
        let mut out = Buffer::filled(queue, ITEMS, 0_u64).expect("memory");
        // SAFETY: the view goes with the kernel, before the buffer does.
        let to = unsafe { std::mem::transmute::<ViewMut<'_, u64>, ViewMut<'static, u64>>(out.view_mut()) };
        let on_gpu = queue.device().name() == "cuda:0";
        queue.parallel_for(ITEMS, kernel(value, to, on_gpu))?;
        after();
        Ok(out.to_vec())
    }

    /// Launches a kernel on every device, with values of that device and of others.
    pub fn check<T: Walk + Copy, K>(
        &self,
        name: &str,
        make: fn(&Env) -> T,
        kernel: fn(T, ViewMut<'static, u64>, bool) -> K,
    ) where
        K: Fn(Item<1>) + Send + Sync + Capture,
    {
        if !self.names.is_empty() && self.names.iter().all(|wanted| wanted != name) {
            return;
        }
        self.checked.set(self.checked.get() + 1);
        let complain = |what: &str| println!("{name}: {what}");
        for (env, device) in [(&self.cpu, "cpu"), (&self.native, "native")] {
            let value = make(env);
            let expected = Sink::of(&value).hash;
            match self.launch(&env.queue, value, kernel, || ()) {
                Ok(out) if out == [expected; ITEMS] => {}
                Ok(_) => complain(&format!("another value on {device}")),
                Err(error) => complain(&format!("on {device}: {error}")),
            }
        }
        let value = make(&self.gpu);
        let of_gpu = Sink::of(&value);
        if self.fake {
            let (size, parameters) = self.closures.get(name).expect("the container has it").clone();
            assert!(size >= size_of::<K>(), "the closure is what the container says");
            PARAMETERS.set((size, parameters));
        }
        let native = &self.native.queue;
        // What arrived on the GPU refers to the fake driver's memory, which is this program's: the
        // host's own code can read it.
        let replay = || {
            if !self.fake {
                return;
            }
            let arrived = ARRIVED.take();
            // SAFETY: it is put together from the parts of such a closure.
            let kernel = unsafe { arrived.as_ptr().cast::<K>().read() };
            native.parallel_for(ITEMS, kernel).expect("a launch");
        };
        match self.launch(&self.gpu.queue, value, kernel, replay) {
            Ok(out) if out == [of_gpu.hash; ITEMS] => {}
            Ok(_) => complain("another value on cuda:0"),
            Err(error) => complain(&format!("on cuda:0: {error}")),
        }
        let refused = |queue: &Queue, value: T, memory: &str, expected: bool| {
            let device = queue.device().name().to_owned();
            match self.launch(queue, value, kernel, || ()) {
                Err(LaunchError::ForeignBuffer { .. }) if expected => {}
                Err(error) => complain(&format!("{device}, of {memory}: {error}")),
                Ok(_) if expected => complain(&format!("{device} takes addresses of {memory}")),
                Ok(_) => {}
            }
        };
        refused(&self.cpu.queue, value, "cuda:0", of_gpu.views != 0);
        if let Some(other) = &self.other_gpu {
            let value = make(other);
            refused(&self.gpu.queue, value, "cuda:1", Sink::of(&value).views != 0);
        }
        let value = make(&self.cpu);
        let found = Sink::of(&value);
        let is_refused = found.views != found.uncertain;
        // What lies in a union may be a number, so a launch takes it; a GPU that read there would
        // be lost.
        if is_refused || self.fake {
            refused(&self.gpu.queue, value, "cpu", is_refused);
        }
    }

    fn finish(&self) {
        println!("{} kernels", self.checked.get());
    }
}

/// One kernel, and the value that it captures.
#[macro_export]
macro_rules! kernel {
    ($name:ident, $ty:ty, $make:expr) => {
        pub mod $name {
            use super::*;

            fn make(env: &Env) -> $ty {
                let make: fn(&Env) -> $ty = $make;
                make(env)
            }

            fn kernel(
                value: $ty,
                to: ViewMut<'static, u64>,
                on_gpu: bool,
            ) -> impl Fn(Item<1>) + Send + Sync + Capture {
                move |item: Item<1>| {
                    let mut sink = Sink::new(on_gpu);
                    value.walk(&mut sink);
                    // SAFETY: each work-item has its own element.
                    unsafe { to.set_unchecked(item.x(), sink.hash) };
                }
            }

            pub fn check(harness: &Harness) {
                harness.check(stringify!($name), make, kernel);
            }
        }
    };
}
