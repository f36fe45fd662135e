//! `SCHISM_CPU_LANES`: how many work-items are computed at once, in the lanes of vectors.

use schism_jit_abi::variables::CPU_LANES;
use schism_passes::spec::lanes::Lanes;

use super::host;
use crate::JitError;

/// The lanes for a processor, by the name that [`host::machine`] takes, and by the setting.
pub fn of(processor: &str, setting: &str) -> Result<Option<Lanes>, JitError> {
    from(setting, host::register_bits(processor))
}

fn from(value: &str, register_bits: u32) -> Result<Option<Lanes>, JitError> {
    let forced = match value.trim() {
        "" | "auto" => None,
        "off" => return Ok(None),
        "4" => Some(4),
        "8" => Some(8),
        "16" => Some(16),
        "32" => Some(32),
        other => {
            return Err(JitError::InvalidOptions(format!(
                "{CPU_LANES} is `{other}`: it can be `auto`, `off`, `4`, `8`, `16` or `32`"
            )));
        }
    };
    Ok(Some(Lanes { register_bits, forced }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let forced = |value| from(value, 256).unwrap().map(|lanes| lanes.forced);
        assert_eq!(forced(""), Some(None));
        assert_eq!(forced("auto"), Some(None));
        assert_eq!(forced("off"), None);
        assert_eq!(forced(" 8"), Some(Some(8)));
        let error = from("3", 256).unwrap_err().to_string();
        assert!(error.contains("SCHISM_CPU_LANES is `3`"), "{error}");
    }
}
