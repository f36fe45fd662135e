//! Leaves out destructors of static objects that LLVM constructs while it compiles.
//!
//! LLVM registers each such destructor by a call of `__cxa_atexit`, and `exit` would call it before
//! the function that stops compile threads, which was registered earlier ([`stop`](super::stop)). So
//! the entry of LLVM's global offset table for that function is replaced by one that registers
//! nothing: the end of the process frees the objects. Other libraries are not affected.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::objects::{self, Object};

/// The function that registers a destructor (Itanium C++ ABI, 3.3.6.3).
const REGISTER: &CStr = c"__cxa_atexit";

/// An address in the object that has LLVM.
pub(super) fn of_llvm() -> usize {
    llvm_sys::core::LLVMGetVersion as *const () as usize
}

/// Has LLVM register no destructors from now on. Returns whether that is so.
pub(super) fn leave_out() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(|| {
        let own = leave_out as *const () as usize;
        let is_own = |object: &Object<'_>| {
            object.segments(libc::PT_LOAD).any(|(begin, end)| (begin..end).contains(&own))
        };
        // Where LLVM is part of this object, its entry is that of others, too.
        let replace = |object: &Object<'_>| !is_own(object) && replace(object);
        objects::with(of_llvm(), replace).unwrap_or(false)
    })
}

/// Stands in for the function: the object is never destroyed.
extern "C" fn register_nothing(_: *const (), _: *mut c_void, _: *mut c_void) -> c_int {
    0
}

/// Entries of an object's dynamic section (System V ABI, "Dynamic Linking").
const DT_NULL: usize = 0;
const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_PLTREL: usize = 20;
const DT_JMPREL: usize = 23;

/// A relocation with an addend.
#[repr(C)]
struct Rela {
    offset: usize,
    info: u64,
    addend: i64,
}

/// The kinds of relocations that stand for an entry with a function's address: `GLOB_DAT` and
/// `JUMP_SLOT`.
#[cfg(target_arch = "x86_64")]
const KINDS: [u32; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const KINDS: [u32; 2] = [1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const KINDS: [u32; 0] = [];

/// Replaces the entries for the function, and says whether there are any.
fn replace(object: &Object<'_>) -> bool {
    let Some((dynamic, _)) = object.segments(libc::PT_DYNAMIC).next() else { return false };
    let entry = |wanted: usize| {
        let mut at = dynamic as *const [usize; 2];
        loop {
            // SAFETY: the section is an array of pairs that ends with `DT_NULL`, and the object is
            // loaded: the loader holds its lock meanwhile.
            match unsafe { at.read() } {
                [DT_NULL, _] => return None,
                [tag, value] if tag == wanted => return Some(value),
                // SAFETY: as above.
                _ => at = unsafe { at.add(1) },
            }
        }
    };
    // Some loaders write addresses there, others leave offsets.
    let address =
        |tag| entry(tag).map(|value| if value < object.base { value + object.base } else { value });
    let (Some(symbols), Some(names)) = (address(DT_SYMTAB), address(DT_STRTAB)) else {
        return false;
    };
    let of_calls = entry(DT_PLTREL)
        .filter(|kind| *kind == DT_RELA)
        .and_then(|_| address(DT_JMPREL).zip(entry(DT_PLTRELSZ)));
    let of_data = address(DT_RELA).zip(entry(DT_RELASZ));
    let mut is_replaced = false;
    for (begin, bytes) in [of_calls, of_data].into_iter().flatten() {
        // SAFETY: the dynamic section says that there are so many bytes of relocations.
        let relocations =
            unsafe { std::slice::from_raw_parts(begin as *const Rela, bytes / size_of::<Rela>()) };
        for relocation in relocations {
            let (symbol, kind) = ((relocation.info >> 32) as usize, relocation.info as u32);
            if symbol == 0 || !KINDS.contains(&kind) {
                continue;
            }
            // SAFETY: a relocation has a symbol's number, and a symbol has the offset of its name.
            let name = unsafe {
                let symbol = &*(symbols as *const libc::Elf64_Sym).add(symbol);
                CStr::from_ptr((names as *const c_char).add(symbol.st_name as usize))
            };
            is_replaced |= name == REGISTER && write(object, object.base + relocation.offset);
        }
    }
    is_replaced
}

/// Writes the address of the function that registers nothing.
fn write(object: &Object<'_>, place: usize) -> bool {
    let is_read_only = object
        .segments(libc::PT_GNU_RELRO)
        .any(|(begin, end)| (begin..end.next_multiple_of(page())).contains(&place));
    let page_of_place = (place / page() * page()) as *mut c_void;
    // SAFETY: it is a page of the object's data, which becomes what the loader had it be while it
    // wrote there.
    let protect = |how| unsafe { libc::mprotect(page_of_place, page(), how) } == 0;
    if is_read_only && !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the relocation says that there is an address, aligned as such; calls read all of it at
    // once.
    unsafe { &*(place as *const AtomicUsize) }
        .store(register_nothing as *const () as usize, Ordering::Release);
    if is_read_only {
        protect(libc::PROT_READ);
    }
    true
}

/// Bytes of a page.
fn page() -> usize {
    // SAFETY: a query without side effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
