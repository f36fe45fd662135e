//! Targets: their address spaces, and what LLVM knows of the processors that stage 2 generates code
//! for.

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::targets::{
    CodeModel, FileType, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
};
use schism_llvm::initialize_targets;

use super::target_library::TargetLibraryInfo;

/// Makes LLVM's code generators known that are used: the host's, and those of the devices. May be
/// called often.
pub fn initialise() {
    initialize_targets();
}

/// The machine for a module's triple, with a processor of which all newer ones understand the code.
///
/// # Errors
/// What LLVM says when it has no code generator for the triple.
pub fn of_module(module: &Module<'_>) -> Result<TargetMachine, String> {
    of_triple(&module.get_triple().as_str().to_string_lossy())
}

/// The machine for a triple, with a processor of which all newer ones understand the code.
///
/// # Errors
/// What LLVM says when it has no code generator for the triple.
pub fn of_triple(name: &str) -> Result<TargetMachine, String> {
    initialise();
    let name = if name == SPIRV_TRIPLE { STAND_IN } else { name };
    let triple = TargetTriple::create(name);
    let processor = find(name).map_or("", |target| target.processor);
    let target = LlvmTarget::from_triple(&triple).map_err(|message| message.to_string())?;
    machine(&target, &triple, processor).ok_or_else(|| format!("no code generator for `{name}`"))
}

fn machine(target: &LlvmTarget, triple: &TargetTriple, processor: &str) -> Option<TargetMachine> {
    let level = OptimizationLevel::Aggressive;
    target.create_target_machine(triple, processor, "", level, RelocMode::PIC, CodeModel::Default)
}

/// The assembly of a module, for its own triple.
///
/// # Errors
/// What LLVM says when it cannot generate code.
pub fn assembly(module: &Module<'_>) -> Result<String, String> {
    let machine = of_module(module)?;
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|message| message.to_string())?;
    Ok(String::from_utf8_lossy(buffer.as_slice()).trim_end_matches('\0').to_owned())
}

/// The triple of SPIR-V for OpenCL.
pub const SPIRV_TRIPLE: &str = "spirv64-unknown-unknown";

/// The triple that LLVM knows instead of [`SPIRV_TRIPLE`], as it has no code generator for that: of
/// a GPU with the same generic address space.
pub const STAND_IN: &str = "nvptx64-nvidia-cuda";

/// The address spaces of a kind of target; generic pointers are in 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSpaces {
    /// What a kernel's pointers point into.
    pub global: u32,
    /// The memory of a work-group.
    pub local: u32,
    /// Where globals are that can change.
    pub variables: u32,
    /// Where globals are that cannot.
    pub constants: u32,
    /// Where a kernel finds an aggregate that is passed by value, if the target wants `byref`;
    /// others take `byval` as it is.
    pub by_reference: Option<u32>,
    /// LLVM's number for the calling convention of kernels.
    pub kernel_convention: u32,
    /// The data layout, where it is not that of LLVM's code generator.
    pub layout: Option<&'static str>,
}

/// LLVM's number of the calling convention of a kernel in PTX.
pub(crate) const PTX_KERNEL: u32 = 71;

/// LLVM's place of a work-item in the grid along an axis, where the device has it as a value.
pub const THREAD_ID: &str = "llvm.spv.thread.id.i64";

/// LLVM's barrier of a whole group on [`NVPTX`], which [`SPIRV`] has from there.
pub const GROUP_BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";

/// NVIDIA's GPUs, as PTX numbers its state spaces. Constants are in global memory: the constant
/// bank reads one place at a time, and work-items look up tables at places of their own.
pub const NVPTX: AddressSpaces = AddressSpaces {
    global: 1,
    local: 3,
    variables: 1,
    constants: 1,
    by_reference: None,
    kernel_convention: PTX_KERNEL,
    layout: None,
};

/// SPIR-V, in the numbers of [`NVPTX`]. Locals are in address space 5, which is private memory.
pub const SPIRV: AddressSpaces =
    AddressSpaces { layout: Some("e-i64:64-i128:128-v16:16-v32:32-n8:16:32:64-A5"), ..NVPTX };

/// AMD's GPUs. Locals are in address space 5, as the data layout says.
pub const AMDGCN: AddressSpaces = AddressSpaces {
    global: 1,
    local: 3,
    variables: 1,
    constants: 4,
    by_reference: Some(4),
    kernel_convention: 91,
    layout: None,
};

/// What is known of the targets of a kind of triple.
#[derive(Debug)]
pub struct Target {
    /// The pipeline of stage 2, which has the target's name.
    pub pipeline: &'static str,
    /// The triple.
    pub triple: &'static str,
    /// A processor of which all newer ones understand the code.
    pub processor: &'static str,
    /// The address spaces; `None` with one memory.
    pub spaces: Option<&'static AddressSpaces>,
    /// The mathematics that it computes by itself.
    pub library: TargetLibraryInfo,
}

/// The targets.
pub static TARGETS: &[Target] = &[
    Target {
        pipeline: "cpu",
        triple: "x86_64",
        processor: "",
        spaces: None,
        library: TargetLibraryInfo::CPU,
    },
    Target {
        pipeline: "ptx",
        triple: STAND_IN,
        processor: "sm_70",
        spaces: Some(&NVPTX),
        library: TargetLibraryInfo::PTX,
    },
    Target {
        pipeline: "spirv",
        triple: SPIRV_TRIPLE,
        processor: "",
        spaces: Some(&SPIRV),
        library: TargetLibraryInfo::ROUNDING,
    },
    Target {
        pipeline: "amdgcn",
        triple: "amdgcn-amd-amdhsa",
        processor: "gfx906",
        spaces: Some(&AMDGCN),
        library: TargetLibraryInfo::ROUNDING,
    },
];

/// The target of a triple, by the architecture that it begins with.
#[must_use]
pub fn find(triple: &str) -> Option<&'static Target> {
    let architecture = |triple: &'_ str| triple.split('-').next().map(str::to_owned);
    TARGETS.iter().find(|target| architecture(target.triple) == architecture(triple))
}

/// The mathematics that the target of a triple computes; without one, the CPU's.
#[must_use]
pub fn library_of(triple: &str) -> TargetLibraryInfo {
    if triple.is_empty() {
        return TargetLibraryInfo::CPU;
    }
    find(triple).map_or(TargetLibraryInfo::NOTHING, |target| target.library)
}

/// The architectures that LLVM has intrinsics of: the first part of their names.
pub(crate) const ARCHITECTURES: [&str; 14] = [
    "aarch64",
    "amdgcn",
    "arm",
    "bpf",
    "hexagon",
    "loongarch",
    "mips",
    "nvvm",
    "ppc",
    "r600",
    "riscv",
    "s390",
    "wasm",
    "x86",
];

impl AddressSpaces {
    /// The map for a triple; `None` for targets with one memory.
    #[must_use]
    pub fn of_triple(triple: &str) -> Option<&'static Self> {
        find(triple)?.spaces
    }
}
