//! Which AOT code runs on an NVIDIA GPU.

use schism_hcf::{ImageRef, Target};

use crate::code::aot::AotTarget;

/// The properties of a GPU that AOT code depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PtxTarget {
    /// The compute capability: major and minor.
    pub(crate) capability: (u32, u32),
    /// The newest PTX version that the driver reads, times ten; 0 if that is unknown.
    pub(crate) isa: u32,
}

impl AotTarget for PtxTarget {
    fn runs(&self, target: Target) -> bool {
        match target {
            Target::Ptx(processor) => processor.runs_on(self.capability),
            Target::Sass(processor) => processor.machine_code_runs_on(self.capability),
            _ => false,
        }
    }

    fn reads(&self, image: &ImageRef<'_>) -> bool {
        if image.code.as_ref().is_some_and(|code| matches!(code.target, Target::Sass(_))) {
            return is_cubin(image.data);
        }
        // Without a version, the driver decides when it loads the code.
        self.isa == 0 || ptx_version(image.data).is_none_or(|version| version <= self.isa)
    }

    fn name(&self) -> String {
        let (major, minor) = self.capability;
        format!("ptx:sm_{major}{minor}")
    }
}

/// Whether bytes are a complete file of NVIDIA's machine code, by its header. The driver is
/// told no length.
pub(crate) fn is_cubin(bytes: &[u8]) -> bool {
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u64::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    // Both tables of a 64-bit file lie in it: where each begins, the size of an entry, how many.
    let table = |begin: usize, size: usize| {
        let end = word(begin)?.checked_add(half(size)? * half(size + 2)?)?;
        (end <= bytes.len() as u64).then_some(())
    };
    let read = || {
        let is_elf =
            bytes.starts_with(b"\x7fELF\x02\x01") && half(18)? == MACHINE && bytes.len() >= HEADER;
        table(32, 54)?;
        table(40, 58)?;
        Some(is_elf)
    };
    read().unwrap_or(false)
}

/// Bytes of the header of a 64-bit ELF file.
const HEADER: usize = 64;

/// ELF's number of NVIDIA's GPUs.
const MACHINE: u64 = 190;

/// The version in the header of a PTX text, times ten.
pub(crate) fn ptx_version(text: &[u8]) -> Option<u32> {
    // It is the first line that is no comment.
    let head = str::from_utf8(&text[..text.len().min(4096)]).ok()?;
    let mut lines =
        head.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.is_empty());
    let (major, minor) = lines.next()?.strip_prefix(".version")?.trim().split_once('.')?;
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}
