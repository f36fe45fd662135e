//! `cargo schism test --rustc RELEASE`: tries a release of rustc that the distribution has, in a
//! separate root file system.
//!
//! debootstrap makes the root once, and it is kept in schism's home. Compiler, cargo and the
//! compiler's source come from the distribution's packages. The checkout is seen inside at its own
//! path, and cargo's registry is shared with its locks, so little is downloaded twice. All mounts
//! are made in a new mount namespace and go with the last process in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use cargo_schism::home::Home;
use cargo_schism::progress;
use cargo_schism::rustc_dev::{Mirror, system_mirrors};
use cargo_schism::sources::Sources;

use crate::debian::unpack;

/// Suites with newer compilers than a stable distribution's, the root's own first. The backports
/// have one that the first suite no longer has.
const SUITES: [&str; 3] = ["sid", "experimental", "trixie-backports"];

/// Besides the compiler: what its programs, and schism's tests, are built with.
const PACKAGES: &str = "gcc libc6-dev make binutils git ca-certificates";

/// What is run inside when nothing else is asked for. `split` has the byte identity of crates
/// without kernels.
const SUITE: &[&str] = &[
    "cargo schism setup",
    "cargo schism doctor",
    "cargo schism run --release --example mandelbrot -- /tmp/in.png --check",
    "cargo schism run --release --example image_filter -- /tmp/in.png /tmp/out.png --check",
    "cargo schism test --no-fail-fast -p schism-tests --test compiler -- split:: launches:: matrix::",
    "cargo schism test --no-fail-fast -p schism-tests --test language",
];

/// The release of `--rustc RELEASE` before a test's arguments, and the rest.
pub fn take(arguments: &[OsString]) -> Option<(String, Vec<OsString>)> {
    let (first, rest) = arguments.split_first()?;
    if let Some(release) = first.to_str()?.strip_prefix("--rustc=") {
        return Some((release.to_owned(), rest.to_vec()));
    }
    let (release, rest) = rest.split_first()?;
    (first == "--rustc").then(|| Some((release.to_str()?.to_owned(), rest.to_vec())))?
}

/// Runs the suite, or `cargo schism test` with the arguments if there are any. `--command TEXT`
/// runs a shell's commands instead.
pub fn test(release: &str, arguments: &[OsString]) -> Result<ExitCode> {
    let sensible = release.split('.').count() == 3
        && release.split('.').all(|part| part.parse::<u32>().is_ok());
    if !sensible {
        return Err(Error::Usage(format!("`--rustc {release}`: a release is needed, as 1.97.1")));
    }
    let Sources::Checkout(checkout) = Sources::find()? else {
        return Err(Error::Usage("`--rustc` tests a checkout of schism: start it in one".into()));
    };
    if !is_root() {
        return Err(Error::Usage(format!(
            "`--rustc` makes a root file system, which only root may: sudo -E cargo schism test \
             --rustc {release}"
        )));
    }
    let home = Home::from_environment()?;
    let root = home.root().join("roots").join(release);
    make(&home, &root, release)?;
    let script = script(arguments);
    let mut inside = enter(&root, &checkout);
    inside.arg(&script);
    progress::step("Running", &format!("{script} with rustc {release}, in {}", root.display()));
    let status = command::status(inside, "to run in another root", INSTALL)?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}

/// What the shell inside runs.
fn script(arguments: &[OsString]) -> String {
    match arguments {
        [] => SUITE.join(" && "),
        [option, text] if option == "--command" => text.to_string_lossy().into_owned(),
        _ => {
            let mut script = String::from("cargo schism test");
            arguments.iter().for_each(|word| script.push_str(&format!(" {}", quoted(word))));
            script
        }
    }
}

/// Whether this process is root's: its own folder in `/proc` is.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

const INSTALL: &str = "Install it as root: apt install util-linux wget.";

/// Makes the root if it is not there. One that is there is complete.
fn make(home: &Home, root: &Path, release: &str) -> Result<()> {
    let done = root.join("schism-root");
    if done.is_file() {
        return Ok(());
    }
    let Some(mirror) = system_mirrors().into_iter().find(|mirror| mirror.uri.contains("debian"))
    else {
        return Err(Error::Usage(
            "`--rustc` needs a Debian mirror in /etc/apt/sources.list or sources.list.d".into(),
        ));
    };
    if root.exists() {
        std::fs::remove_dir_all(root).at("remove", root)?; // of an interrupted attempt
    }
    cargo_schism::publish::create_parent(root)?;
    progress::step("Making", &format!("a root with rustc {release} in {}", root.display()));
    let mut debootstrap = debootstrap(home, &mirror)?;
    if let Some(key) = &mirror.signed_by {
        debootstrap.arg(format!("--keyring={key}"));
    }
    debootstrap.args(["--variant=minbase", SUITES[0]]).arg(root).arg(&mirror.uri);
    command::capture(debootstrap, "to make a root", INSTALL)?;
    let list = root.join("etc/apt/sources.list");
    std::fs::write(&list, sources_list(&mirror)).at("write", &list)?;
    let mut install = Command::new("chroot");
    install.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C").arg(root);
    install.args(["sh", "-ec", &install_script(release)]);
    command::capture(install, "to install the compiler in the root", INSTALL)?;
    std::fs::write(&done, format!("{release}\n")).at("write", &done)
}

/// debootstrap: the system's, or else one in a folder of ours. It is a script.
fn debootstrap(home: &Home, mirror: &Mirror) -> Result<Command> {
    let is_there = |folder: PathBuf| folder.join("debootstrap").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(is_there) {
        return Ok(Command::new("debootstrap"));
    }
    let folder = home.apt().join("debootstrap");
    let script = folder.join("usr/sbin/debootstrap");
    if !script.is_file() {
        unpack(home, mirror, "debootstrap", &folder)?;
    }
    let mut command = Command::new("sh");
    command.env("DEBOOTSTRAP_DIR", folder.join("usr/share/debootstrap")).arg(script);
    Ok(command)
}

/// All suites, from one mirror.
fn sources_list(mirror: &Mirror) -> String {
    SUITES.map(|suite| format!("deb {} {suite} main\n", mirror.uri)).concat()
}

/// Installs the compiler's packages of exactly this release, and the linker of its LLVM, which code
/// for AMD's GPUs needs.
fn install_script(release: &str) -> String {
    // A mirror that lags has lists whose date is over; the signatures hold all the same.
    format!(
        "apt='apt-get -q -y -o Acquire::Check-Valid-Until=false --no-install-recommends'\n\
         $apt update\n\
         version=$(apt-cache madison rustc | sed -n 's/^ *rustc | *\\({}[+~-][^ ]*\\) .*/\\1/p' | head -1)\n\
         [ -n \"$version\" ] || {{ echo 'the mirror has no rustc {release}' >&2; exit 1; }}\n\
         $apt install rustc=$version cargo=$version rust-src=$version libstd-rust-dev=$version \
         {PACKAGES}\n\
         llvm=$(rustc -vV | sed -n 's/^LLVM version: \\([0-9]*\\).*/\\1/p')\n\
         $apt install lld-$llvm\n\
         apt-get clean\n",
        release.replace('.', "\\.")
    )
}

/// A shell in the root, without its script: the checkout and cargo's registry are at their places.
fn enter(root: &Path, checkout: &Path) -> Command {
    let mounts = "set -e; root=$1; checkout=$2; cargo=$3; script=$4\n\
        mkdir -p \"$root$checkout\" \"$root/root/.cargo/registry\" \"$root/schism-home\"\n\
        mount -t proc proc \"$root/proc\"\n\
        mount --rbind /dev \"$root/dev\"\n\
        mount --bind \"$checkout\" \"$root$checkout\"\n\
        if [ -d \"$cargo/registry\" ]; then\n\
          mount --bind \"$cargo/registry\" \"$root/root/.cargo/registry\"\n\
          for lock in .package-cache .package-cache-mutate; do\n\
            touch \"$cargo/$lock\" \"$root/root/.cargo/$lock\"\n\
            mount --bind \"$cargo/$lock\" \"$root/root/.cargo/$lock\"\n\
          done\n\
        fi\n\
        for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do\n\
          [ ! -e $file ] || cp -L $file \"$root$file\"\n\
        done\n\
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        SCHISM_HOME=/schism-home CARGO_TARGET_DIR=/schism-target CARGO_INCREMENTAL=0 \
        chroot \"$root\" sh -ec 'cd \"$1\"; eval \"$2\"' sh \"$checkout\" \"$script\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", mounts, "sh"]);
    command.arg(root).arg(checkout).arg(cargo_home());
    command
}

fn cargo_home() -> PathBuf {
    std::env::var_os("CARGO_HOME").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cargo")
    })
}

/// A word as the shell reads it back.
fn quoted(word: &OsString) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_option_comes_first_in_either_form() {
        for line in ["--rustc 1.97.1 -p x", "--rustc=1.97.1 -p x"] {
            assert_eq!(take(&words(line)), Some(("1.97.1".into(), words("-p x"))), "{line}");
        }
        assert_eq!(take(&words("-p x --rustc 1.97.1")), None);
        assert_eq!(take(&words("--rustc")), None);
        assert_eq!(take(&[]), None);
    }

    #[test]
    fn what_is_no_release_is_refused_before_anything_is_made() {
        for wrong in ["1.97", "nightly", "1.97.1;reboot", "1.97.1.2", ""] {
            let error = test(wrong, &[]).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{wrong}: {error}");
        }
    }

    /// The shell finds the version among the mirror's, and not a neighbour's.
    #[test]
    fn the_packages_of_this_release_are_chosen() {
        let script = install_script("1.97.1");
        let line = script.lines().find(|line| line.starts_with("version=")).unwrap();
        let chosen = |madison: &str| {
            let line = line.replace("apt-cache madison rustc", &format!("printf '{madison}'"));
            let script = format!("{line}\necho $version");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let sid = "     rustc | 1.97.1+dfsg1-1 | http://m sid/main amd64 Packages\\n";
        let other = "     rustc | 1.98.1+dfsg1-1~exp1 | http://m experimental/main\\n";
        assert_eq!(chosen(&format!("{other}{sid}")), "1.97.1+dfsg1-1");
        assert_eq!(chosen(other), "");
        assert_eq!(chosen(&sid.replace("1.97.1", "1.97.10")), "");
    }

    #[test]
    fn words_reach_the_inner_shell_whole() {
        assert_eq!(quoted(&"it's".into()), "'it'\\''s'");
        assert_eq!(script(&words("-p x")), "cargo schism test '-p' 'x'");
        let text = OsString::from("echo \"$HOME\"; exit 3");
        assert_eq!(script(&["--command".into(), text.clone()]), text.to_str().unwrap());
        assert!(script(&[]).starts_with("cargo schism setup && "));
    }
}
