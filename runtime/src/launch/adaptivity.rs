//! How far code is specialized for the launches that occur.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::util::variables::ADAPTIVITY;
use crate::util::warn_once;

/// How far kernels are specialized for the launches that occur: see
/// [`Queue::with_adaptivity`](crate::Queue::with_adaptivity).
///
/// Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Adaptivity {
    /// One version of a kernel for all launches. Values of [`Specialized`](crate::Specialized) are
    /// not made constants either.
    Off,
    /// A GPU's code is compiled for the block size, for ranges that it divides, and for aligned
    /// buffers, as launches have them. When a kernel was launched many times with the same numbers,
    /// those that make code simpler (0, 1, -1, powers of two) become constants of another version,
    /// which is compiled in the background.
    #[default]
    Basic,
    /// Like [`Basic`](Self::Basic), also on the device `cpu`, and every number that stays the same
    /// becomes a constant.
    Full,
}

impl Adaptivity {
    /// The value of `SCHISM_ADAPTIVITY`.
    pub(crate) fn from_environment() -> Self {
        static ASKED: OnceLock<Adaptivity> = OnceLock::new();
        *ASKED.get_or_init(|| {
            let value = ADAPTIVITY.get();
            read(value).unwrap_or_else(|| {
                let value = value.unwrap_or_default();
                warn_once::warn(format_args!(
                    "{ADAPTIVITY} is `{}`; use off, basic or full",
                    value.display()
                ));
                Self::default()
            })
        })
    }
}

fn read(value: Option<&OsStr>) -> Option<Adaptivity> {
    match value.map(|value| value.to_str()) {
        None | Some(Some("" | "basic")) => Some(Adaptivity::Basic),
        Some(Some("off" | "0")) => Some(Adaptivity::Off),
        Some(Some("full")) => Some(Adaptivity::Full),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let read = |value: &str| read(Some(value.as_ref()));
        assert_eq!(super::read(None), Some(Adaptivity::Basic));
        assert_eq!(
            ["", "basic", "off", "full", "more"].map(read),
            [
                Some(Adaptivity::Basic),
                Some(Adaptivity::Basic),
                Some(Adaptivity::Off),
                Some(Adaptivity::Full),
                None
            ]
        );
        assert!(Adaptivity::Off < Adaptivity::Basic && Adaptivity::Basic < Adaptivity::Full);
    }
}
