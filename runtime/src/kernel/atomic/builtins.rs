//! The builtins of scoped atomics: what the device half calls, and functions with the same names
//! for the host half to link, which call the standard library.
//!
//! The last arguments are an order and a scope, numbered as in
//! `schism_passes::frontend::lower_scoped_atomics`.

macro_rules! updates {
    ($($name:ident: $number:ident $atomic:ident $method:ident;)*) => {
        unsafe extern "C" {
            $(pub(super) fn $name(at: *mut $number, value: $number, order: u32, scope: u32) -> $number;)*
        }
        mod host_updates {
            use std::sync::atomic::*;
            $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(at: *mut $number, value: $number, _: u32, _: u32) -> $number {
                // SAFETY: the caller has an atomic there.
                unsafe { $atomic::from_ptr(at) }.$method(value, Ordering::SeqCst)
            }
            )*
        }
    };
}
updates! {
    __schism_atomic_xchg_i32: u32 AtomicU32 swap;
    __schism_atomic_add_i32: u32 AtomicU32 fetch_add;
    __schism_atomic_sub_i32: u32 AtomicU32 fetch_sub;
    __schism_atomic_and_i32: u32 AtomicU32 fetch_and;
    __schism_atomic_or_i32: u32 AtomicU32 fetch_or;
    __schism_atomic_xor_i32: u32 AtomicU32 fetch_xor;
    __schism_atomic_umin_i32: u32 AtomicU32 fetch_min;
    __schism_atomic_umax_i32: u32 AtomicU32 fetch_max;
    __schism_atomic_min_i32: i32 AtomicI32 fetch_min;
    __schism_atomic_max_i32: i32 AtomicI32 fetch_max;
    __schism_atomic_xchg_i64: u64 AtomicU64 swap;
    __schism_atomic_add_i64: u64 AtomicU64 fetch_add;
    __schism_atomic_sub_i64: u64 AtomicU64 fetch_sub;
    __schism_atomic_and_i64: u64 AtomicU64 fetch_and;
    __schism_atomic_or_i64: u64 AtomicU64 fetch_or;
    __schism_atomic_xor_i64: u64 AtomicU64 fetch_xor;
    __schism_atomic_umin_i64: u64 AtomicU64 fetch_min;
    __schism_atomic_umax_i64: u64 AtomicU64 fetch_max;
    __schism_atomic_min_i64: i64 AtomicI64 fetch_min;
    __schism_atomic_max_i64: i64 AtomicI64 fetch_max;
}

macro_rules! accesses {
    ($($number:ident $atomic:ident: $load:ident $store:ident $exchange:ident;)*) => {
        unsafe extern "C" {
            $(
            pub(super) fn $load(at: *mut $number, order: u32, scope: u32) -> $number;
            pub(super) fn $store(at: *mut $number, value: $number, order: u32, scope: u32);
            pub(super) fn $exchange(
                at: *mut $number,
                current: $number,
                new: $number,
                success: u32,
                failure: u32,
                scope: u32,
            ) -> $number;
            )*
        }
        mod host_accesses {
            use std::sync::atomic::*;
            $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $load(at: *mut $number, _: u32, _: u32) -> $number {
                // SAFETY: the caller has an atomic there.
                unsafe { $atomic::from_ptr(at) }.load(Ordering::SeqCst)
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $store(at: *mut $number, value: $number, _: u32, _: u32) {
                // SAFETY: as above.
                unsafe { $atomic::from_ptr(at) }.store(value, Ordering::SeqCst);
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $exchange(
                at: *mut $number,
                current: $number,
                new: $number,
                _: u32,
                _: u32,
                _: u32,
            ) -> $number {
                // SAFETY: as above.
                let atomic = unsafe { $atomic::from_ptr(at) };
                let result =
                    atomic.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst);
                result.unwrap_or_else(|found| found)
            }
            )*
        }
    };
}
accesses! {
    u32 AtomicU32: __schism_atomic_load_i32 __schism_atomic_store_i32 __schism_atomic_cmpxchg_i32;
    u64 AtomicU64: __schism_atomic_load_i64 __schism_atomic_store_i64 __schism_atomic_cmpxchg_i64;
}

unsafe extern "C" {
    pub(super) fn __schism_atomic_fadd_f32(at: *mut f32, value: f32, order: u32, scope: u32)
    -> f32;
    pub(super) fn __schism_atomic_fadd_f64(at: *mut f64, value: f64, order: u32, scope: u32)
    -> f64;
    pub(super) safe fn __schism_fence(order: u32, scope: u32);
}

mod host_floats {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    use crate::kernel::atomic::float::{add_f32, add_f64};

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __schism_atomic_fadd_f32(at: *mut f32, value: f32, _: u32, _: u32) -> f32 {
        // SAFETY: the caller has an atomic there.
        add_f32(unsafe { AtomicU32::from_ptr(at.cast()) }, value, Ordering::SeqCst)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __schism_atomic_fadd_f64(at: *mut f64, value: f64, _: u32, _: u32) -> f64 {
        // SAFETY: as above.
        add_f64(unsafe { AtomicU64::from_ptr(at.cast()) }, value, Ordering::SeqCst)
    }

    #[unsafe(no_mangle)]
    extern "C" fn __schism_fence(_: u32, _: u32) {
        fence(Ordering::SeqCst);
    }
}
