//! Divides a device module into images that are compiled, and shipped, apart.
//!
//! Before:
//! ```llvm
//! @table = internal constant [1 x ptr] [ptr @helper]
//! define void @a() { ... @table ... }
//! define void @b() { ... }
//! define internal void @helper() { ... }
//! ```
//! After, the part of `b`; the part of `a` has everything else:
//! ```llvm
//! define void @b() { ... }
//! ```
//!
//! Stage 2 reads and checks a whole image before it takes one kernel out of it, and a kernel that a
//! device cannot run must not keep others from it. So a crate with many kernels may want several
//! images; each has what its kernels reach, and what two images reach is in both. By default there
//! is one: most crates have few kernels, and these share most of their code.

use std::collections::{BTreeSet, HashSet};

use inkwell::module::{Linkage, Module};
use schism_llvm::{AsModule, IntoValue};

use crate::llvm_passes;
use crate::spec::image::{Capability, KernelImage};
use crate::spec::kernel::KernelSpec;
use crate::spec::options::SplitMode;

/// What kernels of one image have in common.
#[derive(PartialEq, Eq)]
enum Key<'a> {
    All,
    Kernel(usize),
    Source(&'a str),
    Capabilities(&'a BTreeSet<Capability>),
}

/// The kernels of each image, by their indices; images are in the order of their first kernels.
pub fn parts(mode: SplitMode, specs: &[KernelSpec], kernels: &[KernelImage]) -> Vec<Vec<usize>> {
    let mut parts: Vec<(Key<'_>, Vec<usize>)> = Vec::new();
    for (index, (spec, kernel)) in specs.iter().zip(kernels).enumerate() {
        let key = match mode {
            SplitMode::Off => Key::All,
            SplitMode::PerKernel => Key::Kernel(index),
            SplitMode::PerSource => Key::Source(&spec.source),
            SplitMode::Auto => Key::Capabilities(&kernel.capabilities),
        };
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, part)) => part.push(index),
            None => parts.push((key, vec![index])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Reduces a module to some of its kernels and what they reach. `keep` names these kernels and
/// their variants; every other function that can be seen from outside is hidden, and goes if
/// nothing uses it.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn keep(module: &Module<'_>, keep: &HashSet<&str>) -> Result<(), String> {
    for function in module.get_functions() {
        if function.count_basic_blocks() > 0 && !keep.contains(function.value().name().as_str()) {
            function.set_linkage(Linkage::Internal);
        }
    }
    module.handle().run_passes(llvm_passes::GLOBAL_DCE_AND_DECLARATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, source: &str, capabilities: &[Capability]) -> (KernelSpec, KernelImage) {
        let spec = KernelSpec {
            name: name.to_owned(),
            entry: String::new(),
            source: source.to_owned(),
            closure_size: 0,
            closure_align: 1,
            parameters: Vec::new(),
        };
        let capabilities = capabilities.iter().copied().collect();
        (spec, KernelImage { capabilities, ..KernelImage::new(name) })
    }

    #[test]
    fn kernels_are_divided_as_asked_for() {
        let (specs, kernels): (Vec<_>, Vec<_>) = [
            kernel("a", "main", &[]),
            kernel("b", "blur", &[Capability::Fp64]),
            kernel("c", "main", &[Capability::Fp64]),
            kernel("d", "blur", &[]),
        ]
        .into_iter()
        .unzip();
        let parts = |mode: &str| parts(mode.parse().unwrap(), &specs, &kernels);
        assert_eq!(parts("off"), [vec![0, 1, 2, 3]]);
        assert_eq!(parts("per-kernel"), [[0], [1], [2], [3]]);
        assert_eq!(parts("per-source"), [[0, 2], [1, 3]]);
        assert_eq!(parts("auto"), [[0, 3], [1, 2]]);
        assert!("kernel".parse::<SplitMode>().unwrap_err().to_string().contains("per-kernel"));
    }
}
