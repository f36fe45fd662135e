//! What the passes find out about each kernel, for the container.

use std::collections::BTreeSet;
use std::fmt;

/// What the passes found out about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Its name.
    pub name: String,
    /// Whether it reaches a panic.
    pub can_panic: bool,
    /// What it asks of work-groups, if it needs them.
    pub groups: Option<GroupNeeds>,
    /// The variant of it that takes where the launch begins, if it reads that.
    pub offset_variant: Option<String>,
    /// What it needs that not every device has.
    pub capabilities: BTreeSet<Capability>,
    /// In stage 2: the parameters that are left, by their indices, if not all are.
    pub passed: Option<Vec<u32>>,
    /// Symbols of the specialization constants that it may read, in the order of the specification.
    pub spec_constants: Vec<String>,
    /// Functions that other images must define, sorted.
    pub imports: Vec<String>,
    /// What it is, as a hash, once the image is finished.
    pub structural_hash: Option<StructuralHash>,
}

impl KernelImage {
    /// A kernel of which nothing is known yet.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        KernelImage {
            name,
            can_panic: false,
            groups: None,
            offset_variant: None,
            capabilities: BTreeSet::new(),
            passed: None,
            spec_constants: Vec::new(),
            imports: Vec::new(),
            structural_hash: None,
        }
    }
}

impl fmt::Display for KernelImage {
    /// One line: the name, then what is found out, if anything is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}:", self.name)?;
        if self.can_panic {
            write!(f, " can-panic")?;
        }
        if let Some(GroupNeeds { local_size, local_align }) = self.groups {
            write!(f, " groups with {local_size} bytes at multiples of {local_align}")?;
        }
        if let Some(variant) = &self.offset_variant {
            write!(f, " offset-variant={variant}")?;
        }
        if !self.capabilities.is_empty() {
            write!(f, " needs")?;
        }
        for capability in &self.capabilities {
            write!(f, " {capability}")?;
        }
        if let Some(passed) = &self.passed {
            write!(f, " passes {passed:?}")?;
        }
        for symbol in &self.spec_constants {
            write!(f, " spec-constant={symbol}")?;
        }
        for symbol in &self.imports {
            write!(f, " import={symbol}")?;
        }
        Ok(())
    }
}

/// Something that not every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Atomic operations on eight bytes or more.
    Atomic64,
    /// Addresses of constants that the host can use: the kernel puts some into the host's memory.
    ConstantAddresses,
    /// Addresses that are made of numbers: only of kernels whose only effect is their result, by their types.
    ForgedAddresses,
    /// 128-bit floating-point numbers.
    Fp128,
    /// 16-bit floating-point numbers.
    Fp16,
    /// 64-bit floating-point numbers.
    Fp64,
    /// Work-groups: barriers or local memory.
    Groups,
    /// Updates of atomics in the host's memory, while the host may update them too.
    HostAtomics,
    /// The program's allocator on the host, and a heap on other devices.
    HostHeap,
    /// Calls through pointers.
    IndirectCalls,
    /// Integers of more than 64 bits.
    Int128,
    /// A function that calls itself, directly or through others.
    Recursion,
    /// Destructors while it unwinds: they change memory that is not the kernel's own.
    Unwinding,
}

impl Capability {
    /// Its name in a container.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Capability::Atomic64 => "atomic64",
            Capability::ConstantAddresses => "constant-addresses",
            Capability::ForgedAddresses => "forged-addresses",
            Capability::Fp128 => "fp128",
            Capability::Fp16 => "fp16",
            Capability::Fp64 => "fp64",
            Capability::Groups => "groups",
            Capability::HostAtomics => "host-atomics",
            Capability::HostHeap => "host-heap",
            Capability::IndirectCalls => "indirect-calls",
            Capability::Int128 => "int128",
            Capability::Recursion => "recursion",
            Capability::Unwinding => "unwinding",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a kernel asks of its work-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNeeds {
    /// Bytes of local memory before what a launch adds.
    pub local_size: u64,
    /// Alignment of the group's memory.
    pub local_align: u64,
}

/// The hash of what a kernel is.
pub type StructuralHash = [u8; 32];
