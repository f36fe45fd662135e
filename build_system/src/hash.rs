//! Content hashes: BLAKE3, in hexadecimal digits. Names of what we make ourselves have its first
//! 128 bits; what comes from elsewhere is compared by all of it.

use std::path::Path;

use crate::error::{FileContext, Result};

/// Hashes a sequence of fields; where one ends and the next begins counts.
#[derive(Default)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Adds one field.
    pub fn field(&mut self, bytes: &[u8]) -> &mut Hasher {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds the contents of a file as one field.
    pub fn file(&mut self, path: &Path) -> Result<&mut Hasher> {
        let contents = std::fs::read(path).at("read", path)?;
        Ok(self.field(&contents))
    }

    /// The hash of all fields, in full.
    pub fn finish_whole(self) -> String {
        self.0.finalize().to_hex().to_string()
    }

    /// The first half of the hash of all fields.
    pub fn finish(self) -> String {
        let mut text = self.finish_whole();
        text.truncate(32);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kept_apart() {
        let hash = |fields: &[&str]| {
            let mut hasher = Hasher::default();
            for field in fields {
                hasher.field(field.as_bytes());
            }
            hasher.finish()
        };
        assert_eq!(hash(&["ab", "c"]).len(), 32);
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
    }
}
