//! What a pass is: its name, its function, what it is given, and how it fails.

use std::collections::HashSet;
use std::error::Error;
use std::time::{Duration, Instant};

use inkwell::module::Module;

use crate::spec::device::DeviceSpec;
use crate::spec::image::KernelImage;
use crate::spec::report::{CallSite, Lints, Violation};

/// One pass: its name, what it does, and how to run it.
#[derive(Debug)]
pub struct Pass {
    /// Its name: that of its file, with `-` for `_`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Whether code is right without it: then `SCHISM_DISABLE_PASSES` may name it.
    pub optional: bool,
    pub(crate) run: fn(&Module<'_>, &mut PassContext<'_>) -> Result<(), Failure>,
}

pub(crate) const fn pass(
    name: &'static str,
    about: &'static str,
    run: fn(&Module<'_>, &mut PassContext<'_>) -> Result<(), Failure>,
) -> Pass {
    Pass { name, about, optional: false, run }
}

/// A pass that only makes code faster.
pub(crate) const fn optional(
    name: &'static str,
    about: &'static str,
    run: fn(&Module<'_>, &mut PassContext<'_>) -> Result<(), Failure>,
) -> Pass {
    Pass { name, about, optional: true, run }
}

/// What the user asks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassOptions {
    /// The optional passes that do not run.
    pub disabled: Vec<&'static str>,
    /// The steps after which the module is printed.
    pub print_after: Vec<String>,
    /// Whether LLVM's verifier runs after each step, not only at the end.
    pub verify_each: bool,
    /// The passes that panic instead of running, for tests.
    pub failing: Vec<&'static str>,
}

impl PassOptions {
    /// Whether the module is printed after a step.
    pub(crate) fn prints_after(&self, step: &str) -> bool {
        self.print_after.iter().any(|name| name == step || name == "all")
    }
}

/// What passes are given beside the module, and where they leave what they find out.
#[derive(Debug)]
pub struct PassContext<'a> {
    /// What stage 1 knows of the module.
    pub spec: &'a DeviceSpec,
    /// What no device has. A pass that adds to it is the last one to run.
    pub violations: Vec<Violation>,
    /// Where each instruction comes from, if the module is numbered.
    pub sites: Vec<CallSite>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
    /// What makes kernels slow.
    pub lints: Lints,
    /// What became of loops that a pass looked at, for people.
    pub remarks: Vec<String>,
    /// In stage 2: the alignment that local memory needs at least.
    pub least_local_align: u64,
    /// What the user asks of the run.
    pub options: PassOptions,
    /// The step that runs, or ran last.
    pub step: &'static str,
    /// How long each pass took; nothing is measured without it.
    pub times: Option<Vec<(&'static str, Duration)>>,
}

impl<'a> PassContext<'a> {
    /// Work that has not begun.
    pub fn new(spec: &'a DeviceSpec) -> Self {
        let kernels = spec.kernels.iter().map(|kernel| KernelImage::new(&kernel.name)).collect();
        let options = PassOptions { verify_each: cfg!(debug_assertions), ..PassOptions::default() };
        PassContext {
            spec,
            violations: Vec::new(),
            sites: Vec::new(),
            kernels,
            lints: Lints::default(),
            remarks: Vec::new(),
            least_local_align: 1,
            options,
            step: "",
            times: None,
        }
    }

    /// The names of the kernels, and of their variants.
    pub fn kernels(&self) -> HashSet<&str> {
        let variants = self.kernels.iter().filter_map(|kernel| kernel.offset_variant.as_deref());
        self.kernels.iter().map(|kernel| kernel.name.as_str()).chain(variants).collect()
    }

    /// The names of all functions that other modules see: the kernels, their variants, and the
    /// functions that are exported.
    pub fn roots(&self) -> HashSet<&str> {
        let exports = self.spec.exports.iter().map(String::as_str);
        self.kernels().into_iter().chain(exports).collect()
    }

    /// The alignment that the local memory of the kernels needs.
    pub(crate) fn local_align(&self) -> u64 {
        let aligns = self.kernels.iter().filter_map(|kernel| kernel.groups);
        aligns.map(|groups| groups.local_align).fold(self.least_local_align, u64::max)
    }

    /// The time, if times are asked for.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.times.is_some().then(Instant::now)
    }

    /// Notes how long something took that began at `start`.
    pub(crate) fn note(&mut self, what: &'static str, start: Option<Instant>) {
        if let (Some(times), Some(start)) = (&mut self.times, start) {
            times.push((what, start.elapsed()));
        }
    }

    /// Notes what no device has.
    pub fn refuse(&mut self, violations: Vec<Violation>) {
        self.violations.extend(violations);
    }
}

/// A pass that could not do its work.
#[derive(Debug, thiserror::Error)]
#[error("pass `{pass}` failed: {source}")]
pub struct PassError {
    /// The pass.
    pub pass: &'static str,
    /// Why.
    pub source: Failure,
}

/// Why a pass could not do its work: an error of the pass's own, or LLVM's message.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Why the parameters of a kernel could not be changed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum KernelError {
    /// LLVM's own passes failed.
    #[error("LLVM says: {0}")]
    Llvm(String),
    /// Other code calls a kernel or takes its address, and so relies on its parameters.
    #[error("the kernel `{0}` is used by other code, so its parameters cannot change")]
    KernelIsUsed(String),
}

impl From<String> for KernelError {
    fn from(message: String) -> Self {
        KernelError::Llvm(message)
    }
}
