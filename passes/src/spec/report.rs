//! What the passes report to the user: what no device has, what makes kernels slow, and where in
//! the source both come from.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Everything that was found in a module, with what a diagnostic needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, in the order of the module.
    pub violations: Vec<Violation>,
    /// Where each function is used, by symbol.
    pub uses: BTreeMap<String, Vec<Use>>,
    /// What the indices in [`Use::call_path`] mean.
    pub sites: Vec<CallSite>,
    /// The names of the kernels.
    pub kernels: Vec<String>,
}

/// Something in a kernel that no device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What it is.
    pub what: ViolationKind,
    /// The instructions that use it.
    pub uses: Vec<Use>,
}

/// An instruction that uses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The function that it stands in, by symbol.
    pub function: String,
    /// The global through whose value it uses it, if it does not name it itself.
    pub through: Option<String>,
    /// Where it comes from: its own site first, then the call through which that was inlined, and
    /// so on. Empty when the module was not numbered.
    pub call_path: Vec<usize>,
}

/// The kinds of violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// A function without a body that no target provides.
    ExternalFunction(String),
    /// A global without a value.
    ExternalStatic(String),
    /// An intrinsic of LLVM that belongs to one CPU or that no target lowers.
    Intrinsic(String),
    /// Inline assembly.
    InlineAssembly,
    /// A thread-local variable.
    ThreadLocal(String),
    /// A static whose value can change: the device would have its own copy.
    MutableStatic(String),
    /// A call through a pointer that was a number: whatever it names lives on the host.
    UnknownFunction,
    /// A call through a pointer that the launch passes in, itself or in memory.
    HostFunction,
    /// A function that needs to know where the launch begins, and whose address is taken.
    OffsetByAddress(String),
    /// A function with a body that takes a variable number of arguments.
    VariadicFunction(String),
    /// A function that is exported needs what only a kernel has: the builtin or the specialization
    /// constant.
    OfKernels(String),
    /// Functions that call each other in a circle, in the order of the calls, where a target has no
    /// stack.
    Recursion(Vec<String>),
}

impl ViolationKind {
    /// The symbol that it is about, if it is about one.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::ExternalFunction(symbol)
            | Self::ExternalStatic(symbol)
            | Self::Intrinsic(symbol)
            | Self::ThreadLocal(symbol)
            | Self::MutableStatic(symbol)
            | Self::VariadicFunction(symbol)
            | Self::OfKernels(symbol)
            | Self::OffsetByAddress(symbol) => Some(symbol),
            Self::Recursion(circle) => circle.first().map(String::as_str),
            Self::InlineAssembly | Self::UnknownFunction | Self::HostFunction => None,
        }
    }
}

impl Report {
    /// The functions on the shortest path from the one that contains `place` to a kernel, both
    /// included.
    #[must_use]
    pub fn chain(&self, place: &Use) -> Vec<String> {
        let mut came_from = vec![(place.function.as_str(), usize::MAX)];
        let mut seen = HashSet::from([place.function.as_str()]);
        let mut next = 0;
        while let Some(&(function, _)) = came_from.get(next) {
            if self.kernels.iter().any(|kernel| kernel == function) {
                let mut chain = Vec::new();
                let mut index = next;
                while let Some(&(function, previous)) = came_from.get(index) {
                    chain.push(function.to_owned());
                    index = previous;
                }
                chain.reverse();
                return chain;
            }
            for place in self.uses.get(function).into_iter().flatten() {
                if seen.insert(&place.function) {
                    came_from.push((&place.function, next));
                }
            }
            next += 1;
        }
        vec![place.function.clone()]
    }
}

impl fmt::Display for Report {
    /// How many there are, then a line for each use: the functions on the path to a kernel, and in
    /// a numbered module the calls through which the instruction came to where it stands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses = |violation: &Violation| violation.uses.len().max(1);
        let count: usize = self.violations.iter().map(uses).sum();
        write!(f, "{count} use(s) of what no device has")?;
        for violation in &self.violations {
            if violation.uses.is_empty() {
                write!(f, "\nviolation: {:?}, in constants alone", violation.what)?;
            }
            for place in &violation.uses {
                let chain = self.chain(place);
                write!(f, "\nviolation: {:?}, chain: {chain:?}", violation.what)?;
                for site in place.call_path.iter().filter_map(|&index| self.sites.get(index)) {
                    write!(f, ", {site}")?;
                }
            }
        }
        Ok(())
    }
}

/// Everything that was found in a module, with what a diagnostic needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lints {
    /// What was found, in the order of the module.
    pub findings: Vec<Lint>,
    /// Where each function is used, by symbol; empty without findings.
    pub uses: BTreeMap<String, Vec<Use>>,
    /// What the indices in [`Use::call_path`] mean; empty without findings.
    pub sites: Vec<CallSite>,
}

/// Something that makes kernels slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// What it is.
    pub what: LintKind,
    /// The instructions that it is about.
    pub uses: Vec<Use>,
}

/// The kinds of finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LintKind {
    /// The formatting machinery of the standard library, by its symbol.
    Formatting(String),
    /// The locals of one function.
    PrivateMemory {
        /// How many bytes they are, all together.
        bytes: u64,
    },
    /// What a kernel captures by value.
    Captures {
        /// How many bytes it is.
        bytes: u64,
    },
    /// Divisions in 64 bits by what is no constant, for an address.
    DivisionInAddress,
}

impl LintKind {
    /// The symbol that it is about, if it is about one.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::Formatting(symbol) => Some(symbol),
            Self::PrivateMemory { .. } | Self::Captures { .. } | Self::DivisionInAddress => None,
        }
    }

    /// How many bytes of private memory it is about; 0 if it is about something else.
    #[must_use]
    pub fn private_bytes(&self) -> u64 {
        match self {
            Self::PrivateMemory { bytes } | Self::Captures { bytes } => *bytes,
            Self::Formatting(_) | Self::DivisionInAddress => 0,
        }
    }
}

impl fmt::Display for Lint {
    /// One line: what it is, then the function of each use, and in a numbered module where it comes
    /// from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lint: {:?}", self.what)?;
        for place in &self.uses {
            write!(f, " in {}", place.function)?;
        }
        Ok(())
    }
}

/// One place in the unoptimised module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function that it stands in, by symbol.
    pub caller: String,
    /// What it does there.
    pub kind: SiteKind,
    /// How many calls of the same function by the same caller the compiler made before this one;
    /// for what is no direct call, how many of its kind stand before it.
    pub ordinal: u32,
    /// The place in the source, if the crate was built with debug information.
    pub location: Option<SourceLocation>,
}

/// What an instruction does that a report may be about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// It calls a function, by symbol.
    Call(String),
    /// It calls through a pointer.
    CallPointer,
    /// It is inline assembly.
    Assembly,
    /// Something else.
    Other,
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SiteKind::Call(callee) => write!(f, "{} calls {callee} #{}", self.caller, self.ordinal),
            SiteKind::CallPointer => write!(f, "{} calls a pointer #{}", self.caller, self.ordinal),
            SiteKind::Assembly => write!(f, "{} has assembly #{}", self.caller, self.ordinal),
            SiteKind::Other => write!(f, "in {}", self.caller),
        }?;
        match &self.location {
            Some(SourceLocation { file, line, column }) => write!(f, " at {file}:{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Directory and file as the compiler recorded them.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}
