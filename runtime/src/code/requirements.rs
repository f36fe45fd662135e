//! What a launch asks of a kernel's code.

use crate::code::assumptions::{Assumptions, ConstantArgument};
use crate::code::compiler_path;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::LaunchDesc;
use crate::launch::options::{Math, Options};

/// What a launch asks for beside its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchRequirements<'a> {
    /// It begins elsewhere than at zero.
    pub(crate) offset: bool,
    pub(crate) options: Option<&'a Options>,
    pub(crate) adaptivity: Adaptivity,
    /// The launch is larger than the device's largest one, and comes in sub-grids.
    pub(crate) sub_grids: bool,
    /// What holds for it, but for its addresses.
    pub(crate) assumptions: Assumptions,
    /// Its blocks are groups, which kernels ask for.
    pub(crate) groups: bool,
    /// Only code for these blocks will do.
    pub(crate) demands_block: bool,
}

impl<'a> LaunchRequirements<'a> {
    /// Those of a launch on a device whose code counts on nothing.
    #[inline]
    pub(crate) fn of(launch: &LaunchDesc<'a>) -> Self {
        Self {
            offset: launch.has_offset(),
            options: launch.options(),
            adaptivity: launch.adaptivity,
            sub_grids: false,
            assumptions: Assumptions::default(),
            groups: false,
            demands_block: false,
        }
    }
}

impl LaunchRequirements<'_> {
    /// How precise mathematics is.
    #[inline]
    pub(crate) fn math(&self) -> Math {
        self.options.map_or(Math::Precise, |options| options.math)
    }

    /// Whether it gives values to specialization constants.
    #[inline]
    pub(crate) fn has_values(&self) -> bool {
        self.options.is_some_and(|options| !options.values().is_empty())
    }
}

/// What a launch says to choose a version by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionRequest {
    /// What holds for it.
    pub(crate) assumptions: Assumptions,
    pub(crate) closure: *const u8,
    /// Its blocks are groups, which kernels ask for.
    pub(crate) groups: bool,
    /// Only a version for these blocks will do.
    pub(crate) demands_block: bool,
    /// Only a version with these assumptions will do, or one with known values.
    pub(crate) demands_assumptions: bool,
    pub(crate) adaptivity: Adaptivity,
}

impl VersionRequest {
    /// Asks for the best of the code that was made ahead of time, which has these assumptions. What
    /// else holds is of no use, and code that assumes less is no reason to go without better code:
    /// loading that takes little. Without stage 2 there will be no other code.
    #[inline]
    pub(crate) fn ask_for_aot(&mut self, versions: &[Assumptions]) {
        let launch = self.assumptions;
        let best = versions.iter().find(|version| version.hold_for(launch));
        self.assumptions = best.copied().unwrap_or_default();
        if self.demands_block {
            self.assumptions.block = launch.block;
        }
        self.demands_assumptions = true;
        self.groups = false;
        if !compiler_path::is_there() {
            self.adaptivity = Adaptivity::Off;
        }
    }
}

/// A version that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecializationKey {
    pub(crate) assumptions: Assumptions,
    /// By their parameters.
    pub(crate) values: Vec<ConstantArgument>,
}
