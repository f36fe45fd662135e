//! The program's own symbols, for kernels that run in its process.
//!
//! The image names what it declares, and the program has a table of the addresses in the same order.
//! The linker has filled it: the address is null if there is no such symbol. Before the table
//! stands the address of a function that each program has: it is null if link-time optimisation has
//! made all symbols local.

use std::borrow::Cow;

use schism_hcf::ImageRef;

use crate::error::ImageError;

/// The symbols that one image declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSymbols<'a> {
    names: &'a [Cow<'a, str>],
    addresses: &'a [*const ()],
}

impl<'a> HostSymbols<'a> {
    /// The symbols of an image, by the table of its program.
    ///
    /// # Errors
    /// [`ImageError::HostSymbols`] if there is no table, or nothing in it.
    ///
    /// # Safety
    /// `table` is null, or points to the table that stage 1 made for this image, as long as the
    /// result is used.
    pub(crate) unsafe fn of(
        image: &'a ImageRef<'a>,
        table: *const *const (),
    ) -> Result<Self, ImageError> {
        // SAFETY: the caller's promise; the table has an entry in front.
        if table.is_null() || unsafe { *table }.is_null() {
            return Err(ImageError::HostSymbols);
        }
        let names = image.imported_symbols.as_slice();
        // SAFETY: the caller's promise: as many addresses follow.
        let addresses = unsafe { std::slice::from_raw_parts(table.add(1), names.len()) };
        Ok(Self { names, addresses })
    }

    /// The address of a symbol, if the program has it.
    pub(crate) fn find(&self, name: &str) -> Option<*const ()> {
        let at = self.names.binary_search_by(|known| (**known).cmp(name)).ok()?;
        Some(self.addresses[at]).filter(|address| !address.is_null())
    }
}
