//! The lengths of a launch's sources.

use crate::error::LaunchError;
use crate::hal::address_window;

/// Collects the lengths of sources, from the first to the last.
#[derive(Debug, Default)]
pub struct Lengths {
    common: Option<usize>,
    sources: usize,
    /// Of a launch with groups.
    groups: usize,
    sub_groups: usize,
    /// A source is in memory that the host does not reach.
    device_memory: bool,
}

impl Lengths {
    /// For sources that have to fit a range of `size` work-items.
    pub(crate) const fn of_range(size: usize) -> Self {
        Self { common: Some(size), sources: 0, groups: 0, sub_groups: 0, device_memory: false }
    }

    /// For sources that have to fit a range of `size` work-items in `groups` groups, with
    /// `sub_groups` in all.
    pub(crate) const fn of_range_in_groups(size: usize, groups: usize, sub_groups: usize) -> Self {
        Self { common: Some(size), sources: 0, groups, sub_groups, device_memory: false }
    }

    /// For those of the sources that have to fit the groups.
    pub(crate) fn of_groups(
        &mut self,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        self.others(self.groups, check)
    }

    /// For those of the sources that have to fit the sub-groups.
    pub(crate) fn of_sub_groups(
        &mut self,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        self.others(self.sub_groups, check)
    }

    fn others(
        &mut self,
        length: usize,
        check: impl FnOnce(&mut Self) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let mut lengths = Self { common: Some(length), ..*self };
        check(&mut lengths)?;
        self.sources = lengths.sources;
        self.device_memory = lengths.device_memory;
        Ok(())
    }

    /// A source has its elements there.
    pub(crate) fn elements_at<T>(&mut self, elements: *const T) {
        self.device_memory |= address_window::is_in_window(elements.addr());
    }

    /// Whether a source is in memory that the host does not reach.
    pub(crate) const fn is_in_device_memory(&self) -> bool {
        self.device_memory
    }

    /// A source that goes with any length.
    pub(crate) const fn any(&mut self) {
        self.sources += 1;
    }

    #[inline]
    pub(crate) fn add(&mut self, found: usize) -> Result<(), LaunchError> {
        let expected = *self.common.get_or_insert(found);
        if found != expected {
            return Err(LaunchError::Length { source_index: self.sources, expected, found });
        }
        self.sources += 1;
        Ok(())
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
    pub(crate) const fn length(self) -> Result<usize, LaunchError> {
        match self.common {
            Some(length) => Ok(length),
            None => Err(LaunchError::NoLength),
        }
    }
}
