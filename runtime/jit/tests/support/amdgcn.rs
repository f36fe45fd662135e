//! Kernels from text, compiled for AMD's GPUs through the C interface.

use std::fmt;

use schism_jit_abi::*;

use super::code_object::{self, KernelObject};
use super::gpu::Gpu;
use super::{Source, api};

/// The names of the processors.
pub const PROCESSORS: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"];

/// A kernel as a code object, or as assembly.
pub struct Amdgcn {
    pub bytes: Vec<u8>,
    pub entry: String,
    pub flags: u32,
}

impl fmt::Debug for Amdgcn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Amdgcn({} bytes of `{}`)", self.bytes.len(), self.entry)
    }
}

/// What to compile for a processor.
pub fn source(source: Source, processor: &str) -> Gpu {
    let mut gpu = Gpu::new(source).arch(processor);
    gpu.target = TARGET_CODE_OBJECT;
    gpu
}

impl Gpu {
    /// Compiles, and gives a code object or the code and the text of the error.
    pub fn amdgcn(&self) -> Result<Amdgcn, (u32, String)> {
        let out = self.request()?;
        // SAFETY: the library made the kernel, which is released once, after the copies.
        let code = unsafe {
            let code = Amdgcn {
                bytes: out.code.as_slice().to_vec(),
                entry: String::from_utf8_lossy(out.entry.as_slice()).into_owned(),
                flags: out.flags,
            };
            (api().release_gpu)(out.handle);
            code
        };
        Ok(code)
    }

    /// Compiles a kernel that must be good to a code object, which is read and checked.
    pub fn code_object(&self) -> (Amdgcn, KernelObject) {
        let code = self.amdgcn().unwrap_or_else(|(code, text)| panic!("error {code}: {text}"));
        let object = code_object::read(&code.bytes, &self.arch, &code.entry);
        (code, object)
    }

    /// The assembly of a kernel that must be good.
    pub fn assembly(&self) -> String {
        let mut gpu = self.clone();
        gpu.target = TARGET_AMD_ASSEMBLY;
        let code = gpu.amdgcn().unwrap_or_else(|(code, text)| panic!("error {code}: {text}"));
        String::from_utf8(code.bytes).expect("text")
    }
}
