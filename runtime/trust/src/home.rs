//! Schism's home: the folder of the installation and of cached kernels.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::variables::HOME;

/// The location of schism's home: `$SCHISM_HOME`, or `schism` in the user's cache folder,
/// `${XDG_CACHE_HOME:-$HOME/.cache}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The folder, if the environment names one.
    pub path: Option<PathBuf>,
    /// Variables without an absolute path, with their values. They are ignored.
    pub relative: Vec<(&'static str, OsString)>,
}

impl Home {
    /// Reads the environment; nothing, if it must be ignored
    /// ([`is_privileged`](crate::is_privileged)).
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(crate::variable)
    }

    /// Reads the variables.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut relative = Vec::new();
        let mut folder = |name| {
            let value = get(name).filter(|value| !value.is_empty())?;
            let path = PathBuf::from(value);
            if path.is_absolute() {
                return Some(path);
            }
            relative.push((name, path.into_os_string()));
            None
        };
        let path = folder(HOME)
            .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("schism")))
            .or_else(|| folder("HOME").map(|home| home.join(".cache/schism")));
        Self { path, relative }
    }

    /// Warnings for the user about ignored variables: one text for each.
    pub fn told(&self) -> impl Iterator<Item = String> {
        self.relative.iter().map(|(name, value)| {
            format!(
                "{name} is `{}`, which is no path from the root, so it is passed over; use the whole path",
                value.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(variables: &[(&str, &str)]) -> (Option<PathBuf>, Vec<&'static str>) {
        let home = Home::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        });
        assert_eq!(home.told().count(), home.relative.len());
        (home.path, home.relative.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn the_nearest_variable_wins() {
        let all = [("SCHISM_HOME", "/s"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        let paths = ["/s", "/x/schism", "/h/.cache/schism"];
        for (first, path) in paths.into_iter().enumerate() {
            assert_eq!(home(&all[first..]), (Some(path.into()), vec![]));
        }
        assert_eq!(home(&[]), (None, vec![]));
    }

    #[test]
    fn relative_values_are_told_and_empty_ones_are_none() {
        let variables = [("SCHISM_HOME", "here"), ("XDG_CACHE_HOME", ""), ("HOME", "/h")];
        assert_eq!(home(&variables), (Some("/h/.cache/schism".into()), vec!["SCHISM_HOME"]));
        let variables = [("SCHISM_HOME", "./a"), ("XDG_CACHE_HOME", "b"), ("HOME", "..")];
        assert_eq!(home(&variables), (None, vec!["SCHISM_HOME", "XDG_CACHE_HOME", "HOME"]));
    }
}
