//! rustup's `rustc-dev` component.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::environment;
use crate::progress;
use crate::toolchain::Toolchain;

/// Asks rustup for the component. `Err` says why there is none.
pub fn install(toolchain: &Toolchain) -> Result<(), String> {
    let Some(name) = toolchain.rustup_name() else {
        return Err(format!(
            "rustup component add rustc-dev: {} is not rustup's",
            toolchain.sysroot.display()
        ));
    };
    if let Some(switch) = downloads_are_off(std::env::var_os("RUSTUP_AUTO_INSTALL"), settings()) {
        return Err(format!(
            "rustup component add rustc-dev: not tried, rustup's downloads are turned off ({switch})"
        ));
    }
    progress::step("Installing", &format!("rustup's component rustc-dev for {name}"));
    let mut command = Command::new("rustup");
    command
        .args(["component", "add", "rustc-dev", "--toolchain", name])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    environment::restore(&mut command, toolchain);
    let output = command
        .output()
        .map_err(|error| format!("rustup component add rustc-dev: cannot start rustup: {error}"))?;
    if output.status.success() && toolchain.has_rustc_dev() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(format!(
        "rustup component add rustc-dev --toolchain {name}: {}: {}",
        output.status,
        last.trim()
    ))
}

fn settings() -> Option<String> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")))?;
    std::fs::read_to_string(home.join("settings.toml")).ok()
}

/// Which switch keeps rustup from downloading by itself: the variable if it is set, else
/// the setting.
fn downloads_are_off(
    variable: Option<std::ffi::OsString>,
    settings: Option<String>,
) -> Option<&'static str> {
    if let Some(value) = variable {
        return (value == "0").then_some("RUSTUP_AUTO_INSTALL=0");
    }
    let disabled = settings?.lines().any(|line| {
        line.split_once('=').is_some_and(|(key, value)| {
            key.trim() == "auto_install" && value.trim().trim_matches('"') == "disable"
        })
    });
    disabled.then_some("rustup set auto-install disable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_decides_before_the_setting() {
        let disabled = || Some("version = \"12\"\nauto_install = \"disable\"\n".to_owned());
        assert_eq!(downloads_are_off(Some("0".into()), None), Some("RUSTUP_AUTO_INSTALL=0"));
        assert_eq!(downloads_are_off(Some("1".into()), disabled()), None);
        assert_eq!(downloads_are_off(None, disabled()), Some("rustup set auto-install disable"));
        assert_eq!(downloads_are_off(None, Some("auto_install = \"enable\"".to_owned())), None);
        assert_eq!(downloads_are_off(None, None), None);
    }
}
