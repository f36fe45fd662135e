//! Imports: the images of other crates that are linked to a kernel's own before it is compiled.

use schism_hcf::{KernelRef, ObjectId};

use crate::code::images::{self, Exporter};
use crate::error::ImageError;

/// The images that define what a kernel imports, transitively.
#[derive(Debug, Default)]
pub(crate) struct Linked(Vec<Exporter>);

impl Linked {
    /// Searches the program's images.
    ///
    /// # Errors
    /// If no image exports a symbol that the kernel imports, or if several do. A symbol that only
    /// another image imports may be missing: the kernel may not need it, and stage 2 reports it
    /// otherwise.
    pub(crate) fn of(kernel: &KernelRef<'_>) -> Result<Self, ImageError> {
        let mut linked: Vec<Exporter> = Vec::new();
        let mut open: Vec<(String, bool)> =
            kernel.imports.iter().map(|symbol| (symbol.to_string(), true)).collect();
        let mut looked_for: Vec<String> = Vec::new();
        while let Some((symbol, needed)) = open.pop() {
            if looked_for.contains(&symbol) {
                continue;
            }
            let mut found = images::exporters(&symbol);
            if found.len() > 1 {
                let mut crates: Vec<_> = found.iter().map(|image| image.krate.clone()).collect();
                crates.sort();
                return Err(ImageError::AmbiguousImport { symbol, crates: crates.join(", ") });
            }
            match found.pop() {
                None if needed => return Err(ImageError::MissingImport { symbol }),
                None => {}
                Some(image) => {
                    open.extend(image.imports.iter().map(|symbol| (symbol.clone(), false)));
                    let is_same = |known: &Exporter| {
                        (known.object, &known.name) == (image.object, &image.name)
                    };
                    if !linked.iter().any(is_same) {
                        linked.push(image);
                    }
                }
            }
            looked_for.push(symbol);
        }
        // The same program links the same images in the same order, whatever order its shared
        // objects were loaded in.
        linked.sort_by(|a, b| {
            (&a.krate, &a.name, a.object.as_bytes()).cmp(&(&b.krate, &b.name, b.object.as_bytes()))
        });
        Ok(Self(linked))
    }

    /// The images.
    pub(crate) fn images(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|image| image.data.as_slice())
    }

    /// The containers that they are in.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &ObjectId> {
        self.0.iter().map(|image| &image.object)
    }
}
