//! The index, read when it is first asked for.

use std::sync::OnceLock;

use super::index::{self, Index};
use super::module::StdBodiesError;

/// Bodies for a device module; reads its index when it is first asked.
#[derive(Default)]
pub struct StdBodies {
    text: String,
    index: OnceLock<Index>,
}

impl PartialEq for StdBodies {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for StdBodies {}

impl std::fmt::Debug for StdBodies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StdBodies({})", self.text.lines().next().unwrap_or("nothing"))
    }
}

impl StdBodies {
    /// The bodies of an index that [`StdBodies::text`] gave.
    ///
    /// # Errors
    /// If the text is damaged.
    pub fn from_text(text: String) -> Result<Self, StdBodiesError> {
        index::check(&text)?;
        Ok(Self { text, index: OnceLock::new() })
    }

    /// The bodies of an index that was just made.
    pub fn from_index(index: Index) -> Self {
        Self { text: index.to_text(), index: OnceLock::from(index) }
    }

    /// The index as text, for a file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The index.
    ///
    /// # Errors
    /// If a line of it means nothing: the text then was not written by this version.
    pub fn index(&self) -> Result<&Index, StdBodiesError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = Index::from_text(&self.text)?;
        Ok(self.index.get_or_init(|| index))
    }
}
