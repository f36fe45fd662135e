//! One kernel for each kind of capture; the function's name is in the kernel's display name.

use schism::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Pair {
    pub small: u8,
    pub large: f64,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Nested {
    pub pair: Pair,
    pub tail: u16,
}

#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Unit {
    One = 1,
    Two = 2,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub enum Data {
    Number(u64),
    Byte(u8),
}

macro_rules! kernels {
    ($($name:ident($($capture:ident: $ty:ty),*) $use:expr;)*) => {$(
        pub fn $name(queue: &Queue, mut out: ViewMut<'_, u64>, $($capture: $ty),*) {
            let to = out.reborrow();
            let kernel = move |item: Item<1>| {
                // Whole values: of a struct, a closure captures only the fields that it names.
                $(let $capture = $capture;)*
                let value: u64 = $use;
                // SAFETY: never run.
                unsafe { to.set_unchecked(item.x(), value) }
            };
            queue.parallel_for(1, kernel).unwrap();
        }
    )*};
}

kernels! {
    nothing() 7;
    slice(a: View<'_, f32>) a[0] as u64;
    scalars(a: u8, b: i16, c: u32, d: u64, e: f32, f: f64, g: bool, h: char)
        a as u64 + b as u64 + c as u64 + d + e as u64 + f as u64 + g as u64 + h as u64;
    wide(a: u128) a as u64;
    structure(a: Nested) a.pair.small as u64 + a.pair.large as u64 + a.tail as u64;
    tuple(a: (u32, f64)) a.0 as u64 + a.1 as u64;
    unit_enum(a: Unit) a as u64;
    data_enum(a: Data) match a { Data::Number(n) => n, Data::Byte(b) => b as u64 };
    short_array(a: [u16; 3]) a.iter().map(|x| *x as u64).sum();
    long_array(a: [u16; 100]) a.iter().map(|x| *x as u64).sum();
    option(a: Option<u32>) a.map_or(0, |x| x as u64);
}

pub fn planes(queue: &Queue) {
    queue.parallel_for([2, 3], |_item| ()).unwrap();
}
