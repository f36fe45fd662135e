//! The lengths of a launch's sources.

use std::any::TypeId;
use std::ptr::NonNull;

use crate::data::host_range::{HostAccess, HostRange, HostRanges};
use crate::error::LaunchError;
use crate::hal::address_window;
use crate::kernel::atomic::is_atomic;
use crate::kernel::element::Element;

/// Collects the lengths of sources, from the first to the last.
#[derive(Debug, Default)]
pub struct Lengths {
    common: Option<usize>,
    sources: usize,
    /// The launch's range in the order x, y, z, if it has one.
    range: Option<[usize; 3]>,
    /// Of a launch with groups.
    groups: usize,
    sub_groups: usize,
    /// A source is in memory that the host does not reach.
    device_memory: bool,
    /// The sources in the host's memory, for a launch on a device that does not reach that.
    host_ranges: Option<HostRanges>,
    /// One of these is a view of atomics, of which there can be no copy.
    host_atomics: bool,
}

impl Lengths {
    /// For sources that have to fit a range of `size` work-items.
    pub(crate) const fn of_range(size: usize) -> Self {
        Self::of_range_in_groups(size, 0, 0)
    }

    /// For sources that have to fit a range of `size` work-items in `groups` groups, with
    /// `sub_groups` in all.
    pub(crate) const fn of_range_in_groups(size: usize, groups: usize, sub_groups: usize) -> Self {
        let common = Some(size);
        Self {
            common,
            sources: 0,
            range: None,
            groups,
            sub_groups,
            device_memory: false,
            host_ranges: None,
            host_atomics: false,
        }
    }

    /// With the launch's range in the order x, y, z.
    #[inline]
    pub(crate) const fn over(mut self, range: [usize; 3]) -> Self {
        self.range = Some(range);
        self
    }

    /// With a list of the sources in the host's memory, if the device does not reach that.
    #[inline]
    pub(crate) fn listing_host_ranges(mut self, lists: bool) -> Self {
        self.host_ranges = lists.then(HostRanges::new);
        self
    }

    /// The sources in the host's memory, if they were to be listed.
    pub(crate) fn host_ranges(&self) -> &[HostRange] {
        self.host_ranges.as_deref().unwrap_or(&[])
    }

    /// The same, which are not listed any more.
    pub(crate) fn take_host_ranges(&mut self) -> HostRanges {
        self.host_ranges.take().unwrap_or_default()
    }

    /// For those of the sources that have to fit the groups.
    pub(crate) fn of_groups(
        &mut self,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        self.of_length(self.groups, check)
    }

    /// For those of the sources that have to fit the sub-groups.
    pub(crate) fn of_sub_groups(
        &mut self,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        self.of_length(self.sub_groups, check)
    }

    /// For those of the sources that have to fit another range, in the order x, y, z.
    pub(crate) fn of_another_range(
        &mut self,
        range: [usize; 3],
        items: usize,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let own = self.range.replace(range);
        let checked = self.of_length(items, check);
        self.range = own;
        checked
    }

    /// For those of the sources that have to fit another length than that of the launch.
    pub(crate) fn of_length(
        &mut self,
        length: usize,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let common = self.common.replace(length);
        let checked = check(self);
        self.common = common;
        checked
    }

    /// A source has its elements there. If they are the host's, only the host's kernels reach them.
    pub(crate) fn elements_at<T>(&mut self, elements: *const T) {
        self.device_memory |= address_window::is_in_window(elements.addr());
    }

    /// A source reads `len` elements there.
    #[inline]
    pub(crate) fn reads<T: 'static>(&mut self, elements: *const T, len: usize) {
        self.uses(elements.cast_mut(), len, HostAccess::Reads, Some(TypeId::of::<T>()));
    }

    /// A source reads `len` elements there, which later launches may change.
    #[inline]
    pub(crate) fn reads_lent<T>(&mut self, elements: *const T, len: usize) {
        self.uses(elements.cast_mut(), len, HostAccess::ReadsLent, None);
    }

    /// A source reads and changes `len` elements there.
    #[inline]
    pub(crate) fn changes<T>(&mut self, elements: *mut T, len: usize) {
        self.uses(elements, len, HostAccess::Changes, None);
    }

    /// A source uses `len` elements there, of a type which may be that of atomics.
    #[inline]
    fn uses<T>(&mut self, elements: *mut T, len: usize, access: HostAccess, of: Option<TypeId>) {
        let bytes = len.wrapping_mul(size_of::<T>());
        self.uses_bytes(elements.cast(), (bytes, align_of::<T>()), access, of);
    }

    fn uses_bytes(
        &mut self,
        begin: *mut u8,
        (bytes, align): (usize, usize),
        access: HostAccess,
        of: Option<TypeId>,
    ) {
        self.elements_at(begin);
        if let Some(ranges) = &mut self.host_ranges
            && let Some(range) = HostRange::of_bytes(begin, bytes, align, access)
        {
            self.host_atomics |= of.is_some_and(is_atomic);
            ranges.push(range);
        }
    }

    /// A source writes `len` elements there, and reads none.
    ///
    /// # Safety
    /// If they are in the host's memory, they can be read.
    #[inline]
    pub(crate) unsafe fn writes<T: Element>(&mut self, elements: NonNull<T>, len: usize) {
        if self.lists(elements.as_ptr().cast()) && len.wrapping_mul(size_of::<T>()) != 0 {
            // SAFETY: there is an element, of the host's, and the caller's promise.
            self.list(unsafe { HostRange::written(elements, len) });
        }
    }

    /// Whether elements are listed that begin there.
    #[inline(never)]
    fn lists(&mut self, begin: *const u8) -> bool {
        self.elements_at(begin);
        self.host_ranges.is_some() && !address_window::is_in_window(begin.addr())
    }

    #[inline(never)]
    fn list(&mut self, range: HostRange) {
        self.host_ranges.get_or_insert_default().push(range);
    }

    /// Whether a source is a view of atomics in the host's memory.
    pub(crate) const fn has_host_atomics(&self) -> bool {
        self.host_atomics
    }

    /// Whether a source is in memory that the host does not reach.
    pub(crate) const fn is_in_device_memory(&self) -> bool {
        self.device_memory
    }

    /// A source that goes with any length.
    pub(crate) const fn any(&mut self) {
        self.sources += 1;
    }

    pub(crate) fn add(&mut self, found: usize) -> Result<(), LaunchError> {
        let expected = *self.common.get_or_insert(found);
        if found != expected {
            return Err(LaunchError::Length { source_index: self.sources, expected, found });
        }
        self.sources += 1;
        Ok(())
    }

    /// A source with an element for each of `items`, which are those of a launch over this range alone, in
    /// the order x, y, z; the error calls them `what`.
    pub(crate) fn add_all_of(
        &mut self,
        range: [usize; 3],
        items: usize,
        what: &str,
    ) -> Result<(), LaunchError> {
        if self.range != Some(range) {
            self.refuse(Err(format!("its {what} are not those of the launch")))?;
        }
        self.add(items)
    }

    /// A source of chunks of `size` elements each.
    pub(crate) fn add_chunks(&mut self, elements: usize, size: usize) -> Result<(), LaunchError> {
        if size == 0 {
            return Err(LaunchError::EmptyChunks { source_index: self.sources });
        }
        self.add(elements.div_ceil(size))
    }

    /// A source of tiles of so many rows and columns, of a matrix in rows of `width`.
    pub(crate) fn add_tiles(
        &mut self,
        elements: usize,
        width: usize,
        [rows, columns]: [usize; 2],
    ) -> Result<(), LaunchError> {
        if elements == 0 {
            return self.add(0);
        }
        if elements.checked_rem(width) != Some(0) {
            return Err(LaunchError::Rows { source_index: self.sources, elements, width });
        }
        // No more than there are elements.
        self.add((elements / width).div_ceil(rows).wrapping_mul(width.div_ceil(columns)))
    }

    /// Refuses a source for its own reason.
    pub(crate) fn refuse(&self, reason: Result<(), String>) -> Result<(), LaunchError> {
        reason.map_err(|reason| LaunchError::Source { source_index: self.sources, reason })
    }

    /// The common length.
    pub(crate) const fn length(&self) -> Result<usize, LaunchError> {
        match self.common {
            Some(length) => Ok(length),
            None => Err(LaunchError::NoLength),
        }
    }
}
