//! What `cargo schism emit` writes of a kernel.

/// The verbs that lower the kernels of a file, and the kind of `emit` that each is.
pub const OF_FILE: &[(&str, &str)] =
    &[("llvm-to-amdgcn", "code-object"), ("llvm-to-ptx", "ptx"), ("llvm-to-spirv", "spirv")];

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// LLVM IR of the image, reduced to the kernel.
    DeviceIr,
    Ptx,
    /// NVIDIA's machine code.
    Sass,
    /// The CPU's assembly.
    Asm,
    /// A binary module for OpenCL's drivers.
    Spirv,
    /// The assembly of AMD's GPUs.
    AmdAssembly,
    /// A binary module for the driver of AMD's GPUs.
    CodeObject,
    /// What passes say of the kernel on the CPU.
    Remarks,
}

/// The names on the command line.
pub const KINDS: [(&str, What); 8] = [
    ("device-ir", What::DeviceIr),
    ("ptx", What::Ptx),
    ("sass", What::Sass),
    ("asm", What::Asm),
    ("spirv", What::Spirv),
    ("amdgcn", What::AmdAssembly),
    ("code-object", What::CodeObject),
    ("remarks", What::Remarks),
];

impl What {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, what)| *what == self).map_or("", |(name, _)| name)
    }

    /// How files with it end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::DeviceIr => "ll",
            Self::Ptx => "ptx",
            Self::Sass => "sass",
            Self::Asm | Self::AmdAssembly => "s",
            Self::CodeObject => "hsaco",
            Self::Spirv => "spv",
            Self::Remarks => "txt",
        }
    }

    /// How a comment in it begins; binary modules have none.
    pub const fn comment(self) -> Option<&'static str> {
        match self {
            Self::DeviceIr | Self::AmdAssembly => Some(";"),
            Self::Asm => Some("#"),
            Self::Ptx | Self::Sass => Some("//"),
            Self::Spirv | Self::CodeObject => None,
            Self::Remarks => Some("kernel"),
        }
    }
}
