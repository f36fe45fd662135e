//! `SCHISM_STDPAR`: what the user of a program has chosen.

use std::sync::OnceLock;

use schism::__private::warn;

/// The environment variable that chooses.
const VARIABLE: &str = "SCHISM_STDPAR";

/// Where pipelines run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Auto,
    Always,
    Never,
}

/// What the program's user has chosen.
pub(crate) fn setting() -> Setting {
    static SETTING: OnceLock<Setting> = OnceLock::new();
    *SETTING.get_or_init(|| {
        let Some(word) = std::env::var_os(VARIABLE) else { return Setting::Auto };
        match word.to_str().map(str::trim) {
            Some("" | "auto") => Setting::Auto,
            Some("always") => Setting::Always,
            Some("never") => Setting::Never,
            _ => {
                let word = word.display();
                warn(format_args!("{VARIABLE} is `{word}`; use auto, always or never"));
                Setting::Auto
            }
        }
    })
}

/// Whether all pipelines stay with rayon.
#[inline]
pub(crate) fn is_off() -> bool {
    setting() == Setting::Never
}
