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
        matches!(target, Target::Ptx(processor) if processor.runs_on(self.capability))
    }

    fn reads(&self, image: &ImageRef<'_>) -> bool {
        // Without a version, the driver decides when it loads the code.
        self.isa == 0 || ptx_version(image.data).is_none_or(|version| version <= self.isa)
    }

    fn name(&self) -> String {
        let (major, minor) = self.capability;
        format!("ptx:sm_{major}{minor}")
    }
}

/// The version in the header of a PTX text, times ten.
pub(crate) fn ptx_version(text: &[u8]) -> Option<u32> {
    // It is the first line that is no comment.
    let head = str::from_utf8(&text[..text.len().min(4096)]).ok()?;
    let mut lines =
        head.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.is_empty());
    let (major, minor) = lines.next()?.strip_prefix(".version")?.trim().split_once('.')?;
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}
