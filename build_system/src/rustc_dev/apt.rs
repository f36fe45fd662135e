//! The release's source from the distribution's `rustc` source package, through apt.
//!
//! apt checks signatures and hashes, knows the proxy and the mirror. It works in directories of
//! ours, on a list of ours made from the system's own, so it needs no root and changes nothing of
//! the system's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, FileContext, Result};
use crate::home::Home;
use crate::progress;
use crate::toolchain::Toolchain;

/// A fetched source archive.
pub struct Package {
    /// The upstream archive.
    pub archive: PathBuf,
    /// The package, for `doctor`.
    pub description: String,
}

/// Fetches the source of the toolchain's release. `Err` says what was tried, a line each.
pub fn fetch(home: &Home, toolchain: &Toolchain) -> Result<Package, Vec<String>> {
    let release = &toolchain.version.release;
    let mut tried = Vec::new();
    let apt = Apt::new(home);
    let system = system_mirrors();
    if system.is_empty() {
        return Err(vec![
            "no package mirror in /etc/apt/sources.list or /etc/apt/sources.list.d".to_owned(),
        ]);
    }
    progress::step(
        "Looking",
        &format!("for the source of rustc {release} at the distribution's package mirror"),
    );
    for source in &system {
        for suite in suites(&source.suite) {
            match apt.fetch_from(source, suite, release) {
                Ok(Some(package)) => return Ok(package),
                Ok(None) => tried.push(format!("{} {suite} has no rustc {release}", source.uri)),
                Err(error) => {
                    let first = error.to_string().lines().take(3).collect::<Vec<_>>().join(" ");
                    tried.push(format!("{} {suite}: {first}", source.uri));
                    if matches!(error, Error::Tool { .. }) {
                        return Err(tried); // no apt here
                    }
                }
            }
        }
    }
    Err(tried)
}

/// A mirror in the system's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Its address.
    pub uri: String,
    /// The suite that the system takes from it.
    pub suite: String,
    /// The file with its key, if the list names one.
    pub signed_by: Option<String>,
}

/// The distribution's own mirrors, as the system's lists name them.
pub fn system_mirrors() -> Vec<Mirror> {
    system_sources(Path::new("/etc/apt"))
}

/// Suites that may hold the release: a stable distribution has an older compiler, its development
/// suites newer ones.
fn suites(system: &str) -> Vec<&str> {
    const UBUNTU: &[&str] = &["jammy", "noble", "plucky", "questing", "resolute"];
    let named: &[&str] =
        if UBUNTU.contains(&system) { &["devel"] } else { &["sid", "forky", "trixie"] };
    let mut suites = vec![system];
    suites.extend(named.iter().filter(|name| **name != system));
    suites
}

/// The distribution's own mirrors, without updates, security and other people's repositories.
fn system_sources(etc: &Path) -> Vec<Mirror> {
    let mut files = vec![etc.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(etc.join("sources.list.d")) {
        let mut more: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        more.sort();
        files.extend(more);
    }
    let mut mirrors: Vec<Mirror> = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let found = match file.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => deb822(&text),
            Some("list") => one_line(&text),
            _ => continue,
        };
        for mirror in found {
            // A distribution's archive ends in its name; a vendor's repository has other paths.
            let path = mirror.uri.trim_end_matches('/');
            let ours = path.ends_with("/debian") || path.ends_with("/ubuntu");
            let plain = !mirror.suite.contains(['-', '/']);
            if ours && plain && !mirrors.iter().any(|known| known.uri == mirror.uri) {
                mirrors.push(mirror);
            }
        }
    }
    mirrors
}

/// Reads `deb [signed-by=KEY …] URI SUITE COMPONENT…` lines.
fn one_line(text: &str) -> Vec<Mirror> {
    let mut mirrors = Vec::new();
    for line in text.lines() {
        let Some(rest) =
            line.trim().strip_prefix("deb ").or_else(|| line.trim().strip_prefix("deb-src "))
        else {
            continue;
        };
        let rest = rest.trim_start();
        let (options, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((options, rest)) => (options, rest),
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        if let (Some(uri), Some(suite)) = (words.next(), words.next()) {
            let key =
                options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
            mirrors.push(Mirror {
                uri: uri.to_owned(),
                suite: suite.to_owned(),
                signed_by: key.map(str::to_owned),
            });
        }
    }
    mirrors
}

/// Reads stanzas of `URIs:`, `Suites:`, `Signed-By:` (a path; a key in the file itself is left to
/// the system's own trust).
fn deb822(text: &str) -> Vec<Mirror> {
    let mut mirrors = Vec::new();
    for stanza in text.split("\n\n") {
        let field = |name: &str| {
            stanza.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        if field("Enabled").is_some_and(|value| value.eq_ignore_ascii_case("no")) {
            continue;
        }
        let (Some(uris), Some(suites)) = (field("URIs"), field("Suites")) else { continue };
        let key = field("Signed-By").filter(|key| key.starts_with('/'));
        for uri in uris.split_whitespace() {
            for suite in suites.split_whitespace() {
                mirrors.push(Mirror {
                    uri: uri.to_owned(),
                    suite: suite.to_owned(),
                    signed_by: key.map(str::to_owned),
                });
            }
        }
    }
    mirrors
}

/// apt with its state in a folder of ours.
pub struct Apt {
    root: PathBuf,
}

/// What to do where no apt is.
pub const INSTALL: &str = "The system has no apt; what it would fetch has to come from elsewhere.";

impl Apt {
    /// The one in schism's home.
    pub fn new(home: &Home) -> Apt {
        Apt { root: home.apt() }
    }

    /// Where it downloads to.
    pub fn downloads(&self) -> PathBuf {
        self.root.join("download")
    }

    /// Reads what a mirror has in a suite: `deb` packages, or sources, `deb-src`.
    pub fn update(&self, mirror: &Mirror, suite: &str, kind: &str, why: &str) -> Result<()> {
        let list = self.root.join("sources.list");
        for directory in ["state/lists/partial", "cache/archives/partial", "download"] {
            let path = self.root.join(directory);
            std::fs::create_dir_all(&path).at("create", path)?;
        }
        let options =
            mirror.signed_by.as_ref().map(|key| format!("[signed-by={key}] ")).unwrap_or_default();
        let line = format!("{kind} {options}{} {suite} main\n", mirror.uri);
        std::fs::write(&list, line).at("write", &list)?;
        let update = self.command("apt-get", &["update", "--error-on=any"]);
        command::capture(update, why, INSTALL).map(drop)
    }

    fn fetch_from(&self, mirror: &Mirror, suite: &str, release: &str) -> Result<Option<Package>> {
        self.update(mirror, suite, "deb-src", "to fetch the compiler's source")?;
        // Older distributions number the package's name.
        for name in [
            "rustc".to_owned(),
            format!("rustc-{}", release.rsplit_once('.').map_or(release, |(minor, _)| minor)),
        ] {
            let Ok(records) = command::capture(
                self.command("apt-cache", &["showsrc", "--only-source", &name]),
                "",
                INSTALL,
            ) else {
                continue;
            };
            let Some(version) = version_of(&records, release) else { continue };
            let wanted = format!("{name}={version}");
            progress::step(
                "Fetching",
                &format!("source package {wanted} from {} {suite} (90 MB)", mirror.uri),
            );
            let download = self.command(
                "apt-get",
                &["source", "--download-only", "--tar-only", "--only-source", &wanted],
            );
            command::capture(download, "to fetch the compiler's source", INSTALL)?;
            let found = crate::toolchain::find_in(
                &self.downloads(),
                &format!("{name}_{release}"),
                ".orig.tar.xz",
            );
            if let Some(archive) = found {
                let description =
                    format!("source package {name} {version} of {} {suite}", mirror.uri);
                return Ok(Some(Package { archive, description }));
            }
        }
        Ok(None)
    }

    /// A command of apt's, or `apt-cache`, that works there.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.downloads()).env("LC_ALL", "C");
        for (key, value) in [
            ("Dir::Etc::sourcelist", self.root.join("sources.list")),
            ("Dir::Etc::sourceparts", "-".into()),
            ("Dir::State", self.root.join("state")),
            ("Dir::State::lists", self.root.join("state/lists")),
            ("Dir::State::status", "/dev/null".into()),
            ("Dir::Cache", self.root.join("cache")),
            ("Acquire::Languages", "none".into()),
            ("Acquire::Retries", "2".into()),
            // Started as root, apt would fetch as another user, who cannot write here.
            ("APT::Sandbox::User", "".into()),
        ] {
            command.arg("-o").arg(format!("{key}={}", value.display()));
        }
        command.args(arguments);
        command
    }
}

/// The package version of a release in `apt-cache showsrc`'s records: `1.95.0+dfsg1-2` for
/// `1.95.0`.
fn version_of(records: &str, release: &str) -> Option<String> {
    records
        .lines()
        .filter_map(|line| line.strip_prefix("Version: "))
        .find(|version| {
            version.strip_prefix(release).is_some_and(|rest| {
                !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '~')
            })
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn only_the_distributions_own_archive_is_used() {
        let scratch = Scratch::new("apt");
        std::fs::create_dir(scratch.path().join("sources.list.d")).unwrap();
        std::fs::write(
            scratch.path().join("sources.list"),
            "# deb http://old/debian buster main\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror/debian bookworm main contrib\n",
        )
        .unwrap();
        std::fs::write(
            scratch.path().join("sources.list.d/a.sources"),
            "Types: deb\nURIs: http://two/debian\nSuites: trixie trixie-updates\nComponents: main\nSigned-By: /d.gpg\n\n\
             Types: deb\nURIs: http://two/debian-security\nSuites: trixie-security\n\n\
             Enabled: no\nURIs: http://off/debian\nSuites: sid\n",
        )
        .unwrap();
        std::fs::write(
            scratch.path().join("sources.list.d/vendor.list"),
            "deb https://vendor/apt stable main\n",
        )
        .unwrap();
        let mirror = |uri: &str, suite: &str, key: &str| Mirror {
            uri: uri.into(),
            suite: suite.into(),
            signed_by: Some(key.into()),
        };
        assert_eq!(
            system_sources(scratch.path()),
            [
                mirror("http://mirror/debian", "bookworm", "/k.gpg"),
                mirror("http://two/debian", "trixie", "/d.gpg")
            ]
        );
        assert_eq!(system_sources(&scratch.path().join("nowhere")), []);
    }

    #[test]
    fn the_systems_suite_comes_first_and_once() {
        assert_eq!(suites("bookworm"), ["bookworm", "sid", "forky", "trixie"]);
        assert_eq!(suites("sid"), ["sid", "forky", "trixie"]);
        assert_eq!(suites("noble"), ["noble", "devel"]);
    }

    #[test]
    fn the_release_is_told_from_its_neighbours() {
        let records = "Package: rustc\nVersion: 1.95.01-1\nVersion: 1.95.0~beta.3-1\nVersion: 1.94.0+dfsg1-1\nVersion: 1.95.0+dfsg1-2\n";
        assert_eq!(version_of(records, "1.95.0").as_deref(), Some("1.95.0+dfsg1-2"));
        assert_eq!(version_of(records, "1.93.0"), None);
    }
}
