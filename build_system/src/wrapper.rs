//! Programs that cargo starts in rustc's place: `RUSTC_WRAPPER`, such as a cache of compilations.
//!
//! A wrapper is given the compiler and its arguments. Some know compilers by their file names, as
//! `sccache` does, and refuse one called `schism-rustc`: these are given the same program by the name `rustc`.
//! Each wrapper is tried as cargo tries it, by `WRAPPER COMPILER -vV`. One that cannot do that, which cargo
//! would report without a word of schism or of a remedy, is left out, with a warning. One that cannot be
//! started at all is cargo's to report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::artifacts::Installed;
use crate::{command, publish};

/// The variable of each kind of wrapper, the one that stands for a line of cargo's configuration, and
/// that line's key.
const KINDS: [(&str, &str, &str); 2] = [
    ("RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "rustc-wrapper"),
    ("RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", "rustc-workspace-wrapper"),
];

/// The line that the driver adds to what it says of its version.
const OWN_LINE: &str = "schism: ";

/// Of what a wrapper says, as many characters.
const LONGEST: usize = 200;

/// Another name of the driver, beside it, for wrappers that know compilers by their file names.
const USUAL_NAME: &str = "rustc";

/// Names the plugin to wrappers that keep what compilers make: they tell compilers apart by the
/// program that they start, which is the same for many plugins, and by variables of this prefix.
const COMPILER: &str = "CARGO_SCHISM_COMPILER";

/// Makes `cargo` start a compiler through the wrappers of the user, and leaves out those that cannot run it.
pub fn apply(cargo: &mut Command, installed: &Installed) {
    let driver = installed.driver();
    cargo.env("RUSTC", &driver);
    let found = KINDS.map(|(variable, line, key)| Some((variable, find(variable, line, key)?)));
    let found: Vec<_> = found.into_iter().flatten().collect();
    if found.is_empty() {
        return;
    }
    cargo.env(COMPILER, &installed.plugin_hash);
    let refusals = |driver: &Path| -> Vec<Option<String>> {
        found.iter().map(|(_, (wrapper, _))| refusal(wrapper, driver)).collect()
    };
    let refused = refusals(&driver);
    if refused.iter().any(Option::is_some) {
        let other = driver.with_file_name(USUAL_NAME);
        let name = Path::new(driver.file_name().unwrap_or(driver.as_os_str()));
        // Where it cannot be made, the wrapper is left out.
        if publish::link(&other, name).is_ok() && refusals(&other).iter().all(Option::is_none) {
            cargo.env("RUSTC", &other);
            return;
        }
    }
    for ((variable, (wrapper, named_by)), why) in found.iter().zip(refused) {
        let Some(why) = why else { continue };
        eprintln!(
            "warning: {named_by} is `{}`, which cannot run schism's compiler, `{}` ({why}); this build does without it",
            wrapper.display(),
            driver.file_name().unwrap_or(driver.as_os_str()).display(),
        );
        // An empty value overrides cargo's configuration.
        cargo.env(*variable, "");
    }
}

/// The wrapper of a kind, and what names it, in cargo's order.
fn find(variable: &str, line: &str, key: &str) -> Option<(OsString, String)> {
    for name in [variable, line] {
        if let Some(value) = std::env::var_os(name) {
            return (!value.is_empty()).then(|| (value, name.to_owned()));
        }
    }
    let current = std::env::current_dir().ok()?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(PathBuf::from(home).join(".cargo"))
    });
    let folders = current.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    for folder in folders {
        for file in ["config.toml", "config"].map(|name| folder.join(name)) {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let Some(value) = value_in(&text, key) else { continue };
            if value.is_empty() {
                return None;
            }
            let mut wrapper = PathBuf::from(value);
            // A path is one from the folder with the configuration's own folder.
            if wrapper.components().count() > 1
                && let Some(beside) = folder.parent()
            {
                wrapper = beside.join(wrapper);
            }
            return Some((wrapper.into(), format!("`build.{key}` in {}", file.display())));
        }
    }
    None
}

/// The text that a configuration has for a key of the table `build`.
fn value_in<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut table = "";
    text.lines().map(str::trim).find_map(|line| {
        if let Some(name) = line.strip_prefix('[') {
            table = name.split(']').next().unwrap_or_default().trim();
            return None;
        }
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_it = match table {
            "build" => name == key,
            "" => name.strip_prefix("build.") == Some(key),
            _ => false,
        };
        let value = value.trim();
        let quote = value.chars().next().filter(|first| is_it && ['"', '\''].contains(first))?;
        value[1..].split(quote).next()
    })
}

/// Why a wrapper cannot run the compiler; `None` if it can, or cannot be started.
fn refusal(wrapper: &OsString, driver: &Path) -> Option<String> {
    let mut tried = Command::new(wrapper);
    tried.arg(driver).arg("-vV").stdin(Stdio::null());
    tracing::debug!(command = command::describe(&tried), "tried the wrapper of rustc");
    let output = tried.output().ok()?;
    let says_version =
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with(OWN_LINE));
    if output.status.success() && says_version {
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // The cause stands last.
    let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
    Some(match last {
        Some(last) => format!("it says: {}", last.chars().take(LONGEST).collect::<String>()),
        None if output.status.success() => "it runs another compiler".to_owned(),
        None => output.status.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::value_in;

    #[test]
    fn configurations_name_wrappers_in_their_table() {
        let text = "[net]\nrustc-wrapper = \"a\"\n[build] # ours\nrustc-wrapper = \"/x/sccache\" # cache\n";
        assert_eq!(value_in(text, "rustc-wrapper"), Some("/x/sccache"));
        assert_eq!(value_in(text, "rustc-workspace-wrapper"), None);
        assert_eq!(value_in("build.rustc-wrapper = 'b'", "rustc-wrapper"), Some("b"));
        assert_eq!(value_in("[build]\n#rustc-wrapper = 'b'", "rustc-wrapper"), None);
        assert_eq!(value_in("[build]\nrustc-wrapper = \"\"", "rustc-wrapper"), Some(""));
    }
}
