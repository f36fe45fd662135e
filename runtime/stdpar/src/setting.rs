//! `SCHISM_STDPAR`: where the user wants pipelines to run.

use std::sync::OnceLock;

use schism::__private::variables::STDPAR;
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

/// Whether all pipelines stay with rayon.
#[inline]
pub(crate) fn is_off() -> bool {
    setting() == Setting::Never
}
