//! `SCHISM_STDPAR`: where the user wants pipelines to run.

use std::sync::OnceLock;

use schism::__private::variables::{STDPAR, STDPAR_EXCLUDE};
use schism::__private::warn;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Auto,
    Always,
    Never,
}

#[inline]
pub(crate) fn setting() -> Setting {
    static SETTING: OnceLock<Setting> = OnceLock::new();
    *SETTING.get_or_init(|| {
        let Some(word) = STDPAR.get() else { return Setting::Auto };
        match word.to_str().map(str::trim) {
            Some("" | "auto") => Setting::Auto,
            Some("always") => Setting::Always,
            Some("never") => Setting::Never,
            _ => {
                let word = word.display();
                warn(format_args!("{STDPAR} is `{word}`; use auto, always or never"));
                Setting::Auto
            }
        }
    })
}

/// Whether the user keeps a pipeline of this name with rayon.
pub(crate) fn excludes(name: &str) -> bool {
    parts().iter().any(|part| name.contains(part))
}

/// Whether the user keeps any with rayon.
#[inline]
pub(crate) fn excludes_some() -> bool {
    !parts().is_empty()
}

/// The parts of names in `SCHISM_STDPAR_EXCLUDE`.
#[inline]
fn parts() -> &'static [&'static str] {
    static PARTS: OnceLock<Vec<&'static str>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let Some(list) = STDPAR_EXCLUDE.set() else { return Vec::new() };
        let Some(list) = list.to_str() else {
            warn(format_args!("{STDPAR_EXCLUDE} is `{}`, which is no text", list.display()));
            return Vec::new();
        };
        list.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    })
}

/// Whether all pipelines stay with rayon.
#[inline]
pub(crate) fn is_off() -> bool {
    setting() == Setting::Never
}
