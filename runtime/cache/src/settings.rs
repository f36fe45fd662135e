//! Settings from the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use schism_trust::Home;

use crate::Problem;
use crate::variables::{CACHE, CACHE_DIR, CACHE_SIZE};

/// The default limit, in bytes.
pub const DEFAULT_LIMIT: u64 = 512 << 20;

/// Where entries are stored, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The folder; `None` if nothing is stored on disk.
    pub folder: Option<PathBuf>,
    /// The maximum size on disk, in bytes.
    pub limit: u64,
}

impl Settings {
    /// Reads `SCHISM_CACHE`, `SCHISM_CACHE_DIR`, `SCHISM_CACHE_SIZE` and the variables for home
    /// folders. Invalid values are reported, and defaults are used instead.
    pub fn from_environment(report: &dyn Fn(&Problem)) -> Self {
        let privileged = schism_trust::is_privileged();
        Self::from_variables(|name| std::env::var_os(name), privileged, report)
    }

    /// Reads the variables by `get`; in a `privileged` program nothing is stored on disk.
    pub fn from_variables(
        get: impl Fn(&str) -> Option<OsString>,
        privileged: bool,
        report: &dyn Fn(&Problem),
    ) -> Self {
        let text = |name| get(name).map(|value| value.to_string_lossy().trim().to_owned());
        let mut limit = DEFAULT_LIMIT;
        if let Some(value) = text(CACHE_SIZE).filter(|value| !value.is_empty()) {
            match size(&value) {
                Some(size) => limit = size,
                None => report(&Problem::Setting {
                    variable: CACHE_SIZE,
                    value,
                    expected: "use a number of bytes, or one with K, M or G",
                }),
            }
        }
        match text(CACHE).as_deref() {
            None | Some("" | "1") => {}
            Some("0") => return Self { folder: None, limit },
            Some(other) => report(&Problem::Setting {
                variable: CACHE,
                value: other.to_owned(),
                expected: "use 0 or 1",
            }),
        }
        if privileged {
            report(&Problem::Privileged);
            return Self { folder: None, limit };
        }
        let named = get(CACHE_DIR).filter(|value| !value.is_empty());
        let folder = match named {
            Some(named) => {
                let path = PathBuf::from(&named);
                if path.is_absolute() {
                    Some(path)
                } else {
                    report(&Problem::Setting {
                        variable: CACHE_DIR,
                        value: named.to_string_lossy().into_owned(),
                        expected: "it is no path from the root; use the whole path",
                    });
                    None
                }
            }
            None => {
                let home = Home::from_variables(get);
                for told in home.told() {
                    report(&Problem::Home(told));
                }
                if home.path.is_none() {
                    report(&Problem::NoHome);
                }
                home.path.map(|home| home.join("kernels"))
            }
        };
        Self { folder, limit }
    }
}

/// A number of bytes: `1000`, `64K`, `512M`, `2G`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn settings(variables: &[(&str, &str)]) -> (Option<String>, u64, String) {
        let said = RefCell::new(String::new());
        let get = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let report = |problem: &Problem| said.borrow_mut().push_str(&problem.to_string());
        let Settings { folder, limit } = Settings::from_variables(get, false, &report);
        (folder.map(|folder| folder.display().to_string()), limit, said.into_inner())
    }

    #[test]
    fn the_nearest_folder_wins() {
        let all = [
            ("SCHISM_CACHE_DIR", "/d"),
            ("SCHISM_HOME", "/s"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        let folder = |from: usize| settings(&all[from..]).0.unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(folder),
            ["/d", "/s/kernels", "/x/schism/kernels", "/h/.cache/schism/kernels"]
        );
        let (folder, _, said) = settings(&[]);
        assert!(folder.is_none() && said.contains("no home"), "{said}");
        let (folder, _, said) = settings(&[("SCHISM_CACHE_DIR", "here"), ("HOME", "/h")]);
        assert!(folder.is_none() && said.contains("`here`"), "{said}");
    }

    #[test]
    fn relative_homes_are_told() {
        let (folder, _, said) = settings(&[("SCHISM_HOME", "here"), ("HOME", "/h")]);
        assert_eq!(folder.as_deref(), Some("/h/.cache/schism/kernels"));
        assert!(said.contains("SCHISM_HOME is `here`, which is no path from the root"), "{said}");
    }

    #[test]
    fn a_privileged_program_keeps_nothing() {
        let said = RefCell::new(String::new());
        let report = |problem: &Problem| said.borrow_mut().push_str(&problem.to_string());
        let get = |name: &str| (name != "SCHISM_CACHE").then(|| OsString::from("/attacker"));
        assert_eq!(Settings::from_variables(get, true, &report).folder, None);
        assert!(said.borrow().contains("obeys no variable that names a folder"));
    }

    #[test]
    fn it_can_be_off() {
        assert_eq!(settings(&[("SCHISM_CACHE", "0")]), (None, DEFAULT_LIMIT, String::new()));
        for on in ["", "1"] {
            assert!(settings(&[("SCHISM_CACHE", on), ("HOME", "/h")]).0.is_some());
        }
        let (folder, _, said) = settings(&[("SCHISM_CACHE", "maybe"), ("HOME", "/h")]);
        assert!(folder.is_some() && said.contains("`maybe`; use 0 or 1"), "{said}");
    }

    #[test]
    fn sizes() {
        let limit = |text| settings(&[("HOME", "/h"), ("SCHISM_CACHE_SIZE", text)]).1;
        assert_eq!(["1000", "3k", "2M", "5G"].map(limit), [1000, 3 << 10, 2 << 20, 5 << 30]);
        for wrong in ["much", "-1", "1T", "M", "99999999999G", "1 M", "ü"] {
            let (_, limit, said) = settings(&[("HOME", "/h"), ("SCHISM_CACHE_SIZE", wrong)]);
            assert_eq!(limit, DEFAULT_LIMIT);
            assert!(said.contains(wrong) && said.contains("number of bytes"), "{said}");
        }
    }
}
