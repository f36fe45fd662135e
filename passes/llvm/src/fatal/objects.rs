//! What the loader says of a shared object.

use std::ffi::{c_int, c_void};

/// A shared object that is loaded.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    /// What is added to the addresses in its headers.
    pub(super) base: usize,
    headers: &'a [libc::Elf64_Phdr],
}

impl Object<'_> {
    /// Its segments of a kind, by their first and their last address but one.
    pub(super) fn segments(&self, kind: u32) -> impl Iterator<Item = (usize, usize)> {
        self.headers_of(kind).map(|header| self.range(header))
    }

    /// Its executable segments.
    pub(super) fn code(&self) -> Vec<(usize, usize)> {
        self.headers_of(libc::PT_LOAD)
            .filter(|header| header.p_flags & libc::PF_X != 0)
            .map(|header| self.range(header))
            .collect()
    }

    fn headers_of(&self, kind: u32) -> impl Iterator<Item = &libc::Elf64_Phdr> {
        self.headers.iter().filter(move |header| header.p_type == kind)
    }

    fn range(&self, header: &libc::Elf64_Phdr) -> (usize, usize) {
        let begin = self.base + header.p_vaddr as usize;
        (begin, begin + header.p_memsz as usize)
    }
}

/// Calls a function with the object that has this address; `None` if there is none.
pub(super) fn with<R, F: FnOnce(&Object<'_>) -> R>(address: usize, call: F) -> Option<R> {
    struct Search<R, F> {
        address: usize,
        call: Option<F>,
        found: Option<R>,
    }

    unsafe extern "C" fn look<R, F: FnOnce(&Object<'_>) -> R>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes the description of an object, and what it was given.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<R, F>>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the object has so many program headers.
        let headers =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let object = Object { base: info.dlpi_addr as usize, headers };
        let contains = |(begin, end)| (begin..end).contains(&search.address);
        if object.segments(libc::PT_LOAD).any(contains)
            && let Some(call) = search.call.take()
        {
            search.found = Some(call(&object));
        }
        c_int::from(search.found.is_some())
    }

    let mut search = Search { address, call: Some(call), found: None };
    // SAFETY: the function has the signature that is asked for, and gets a place that lives during
    // the call. What it calls does not unwind: it reads what the loader has described.
    unsafe { libc::dl_iterate_phdr(Some(look::<R, F>), (&raw mut search).cast()) };
    search.found
}
