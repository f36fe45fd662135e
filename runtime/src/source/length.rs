//! The lengths of a launch's sources.

use crate::error::LaunchError;

/// Collects the lengths of sources, from the first to the last.
#[derive(Debug, Default)]
pub struct Lengths {
    common: Option<usize>,
    sources: usize,
}

impl Lengths {
    /// For sources that have to fit a range of `size` work-items.
    pub(crate) const fn of_range(size: usize) -> Self {
        Self { common: Some(size), sources: 0 }
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

    /// A source of chunks of `size` elements each.
    pub(crate) fn add_chunks(&mut self, elements: usize, size: usize) -> Result<(), LaunchError> {
        if size == 0 {
            return Err(LaunchError::EmptyChunks { source_index: self.sources });
        }
        self.add(elements.div_ceil(size))
    }

    /// The common length.
    pub(crate) const fn length(self) -> Result<usize, LaunchError> {
        match self.common {
            Some(length) => Ok(length),
            None => Err(LaunchError::NoLength),
        }
    }
}
