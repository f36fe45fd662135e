//! The processors, and the PTX versions that they support.

use schism_jit_abi::PTX_PROCESSORS as PROCESSORS;

use crate::JitError;

/// The PTX versions that this LLVM supports, times ten.
const VERSIONS: [u32; 26] = [
    60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88,
    89, 90,
];

/// The PTX version to emit for a processor: the newest up to `isa`, or the first that supports the
/// processor if `isa` is 0.
fn version(arch: &str, isa: u32) -> Result<u32, JitError> {
    let known = PROCESSORS.iter().find(|(name, _)| *name == arch);
    let &(_, least) = known.ok_or_else(|| {
        let names: Vec<&str> = PROCESSORS.iter().map(|(name, _)| *name).collect();
        JitError::InvalidRequest(format!(
            "there is no processor `{arch}`; known are {}",
            names.join(", ")
        ))
    })?;
    if isa == 0 {
        return Ok(least);
    }
    if isa < least {
        return Err(JitError::InvalidRequest(format!(
            "PTX {} does not know {arch}, which needs PTX {} or a newer one",
            dotted(isa),
            dotted(least)
        )));
    }
    Ok(VERSIONS.into_iter().filter(|&version| version <= isa).max().unwrap_or(least))
}

fn dotted(version: u32) -> String {
    format!("{}.{}", version / 10, version % 10)
}

/// The maximum number of bytes of an entry's parameters, before version [`LARGE`] and from then on.
const PARAMETERS: [u64; 2] = [4352, 32764];

/// The first version with large parameters, times ten.
const LARGE: u32 = 81;

/// The PTX version for an entry with that many bytes of parameters: that of [`version`], or a newer
/// one if the entry needs it and none was requested. `Err` with the maximum if they are too many.
pub fn version_for(arch: &str, isa: u32, parameters: u64) -> Result<Result<u32, u64>, JitError> {
    let mut version = version(arch, isa)?;
    if isa == 0 && parameters > PARAMETERS[0] {
        version = version.max(LARGE);
    }
    let most = PARAMETERS[usize::from(version >= LARGE)];
    Ok(if parameters > most { Err(most) } else { Ok(version) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::machine;

    #[test]
    fn the_version_is_the_newest_that_both_sides_know() {
        assert_eq!(version("sm_90", 0), Ok(78));
        assert_eq!(version("sm_90a", 0), Ok(80));
        assert_eq!(version("sm_90", 84), Ok(84));
        assert_eq!(version("sm_80", 79), Ok(78));
        assert_eq!(version("sm_120", 132), Ok(90));
        let error = version("sm_90", 75).unwrap_err().to_string();
        assert!(error.contains("PTX 7.5 does not know sm_90, which needs PTX 7.8"), "{error}");
        let error = version("sm_99", 0).unwrap_err().to_string();
        assert!(error.contains("`sm_99`") && error.contains("sm_90, sm_90a"), "{error}");
    }

    #[test]
    fn llvm_knows_every_processor_in_its_first_version() {
        for (arch, least) in PROCESSORS {
            assert!(machine::nvptx(arch, least).is_ok(), "{arch}");
        }
    }
}
