//! Programs from Debian's packages, unpacked and not installed.

use std::path::Path;
use std::process::Command;

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use cargo_schism::home::Home;
use cargo_schism::rustc_dev::{Apt, INSTALL_APT, Mirror};
use cargo_schism::toolchain::find_in;

/// Unpacks a binary package of the distribution into a folder, and installs nothing.
pub fn unpack(home: &Home, mirror: &Mirror, package: &str, folder: &Path) -> Result<()> {
    let apt = Apt::new(home);
    let why = format!("to fetch {package}");
    apt.update(mirror, &mirror.suite, "deb", &why)?;
    let download = apt.downloads();
    let package_in = |folder: &Path| find_in(folder, &format!("{package}_"), ".deb");
    if let Some(old) = package_in(&download) {
        std::fs::remove_file(&old).at("remove", old)?;
    }
    command::capture(apt.command("apt-get", &["download", package]), &why, INSTALL_APT)?;
    let archive = package_in(&download).ok_or_else(|| Error::Missing {
        what: "what apt has fetched".to_owned(),
        path: download.join(format!("{package}_*.deb")),
    })?;
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(&archive).arg(folder);
    command::capture(extract, "to unpack it", INSTALL_APT).map(drop)
}
