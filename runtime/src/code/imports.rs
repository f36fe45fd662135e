//! What a kernel has of other crates' device code: the images that are linked to its own before it is compiled.

use schism_hcf::{KernelRef, ObjectId};

use crate::code::images::{self, Exporter};
use crate::error::ImageError;

/// The images that define what a kernel imports, and what those import.
#[derive(Debug, Default)]
pub(crate) struct Linked(Vec<Exporter>);

impl Linked {
    /// Looks for the images among those of the program.
    ///
    /// # Errors
    /// If a symbol that the kernel imports is exported by none of them; if several export one. A symbol that only another image imports
    /// may be missing: what the kernel reaches of that image may do without it, and stage 2 says if not.
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
        // The same program links the same images in the same order, whatever order its shared objects were loaded in.
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
