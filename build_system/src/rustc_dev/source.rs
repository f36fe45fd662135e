//! The release's source: where it is found, and unpacking the part that is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::digest::Came;
use super::{apt, debian, digest};
use crate::command;
use crate::error::{Error, FileContext, Result};
use crate::home::Home;
use crate::progress;
use crate::publish::Draft;
use crate::toolchain::Toolchain;
use crate::variables;

/// What the compiler's workspace needs of the whole source, which is fifty times as big.
const NEEDED: &[&str] =
    &["compiler", "library/proc_macro", "Cargo.toml", "Cargo.lock", "git-commit-hash"];

/// What is needed besides of a distribution's source, which names no commit.
const NEEDED_OF_DISTRIBUTION: &[&str] = &["src/version", debian::PATCHES];

/// What of that is of no use: separate workspaces.
const LEFT_OUT: &[&str] = &["compiler/rustc_codegen_cranelift", "compiler/rustc_codegen_gcc"];

/// The source, unpacked and checked, in a directory of ours that may be changed.
pub struct Source {
    /// Its root.
    pub root: PathBuf,
    /// Where it was found, for `doctor`.
    pub origin: String,
}

/// Finds the source and unpacks it below `work`. `None` if there is none; `tried` then says what
/// was tried. A source that the user named and that is not the right one is an error.
pub fn find(
    home: &Home,
    toolchain: &Toolchain,
    work: &Path,
    tried: &mut Vec<String>,
) -> Result<Option<Source>> {
    let root = work.join("source");
    let pinned = digest::pinned(toolchain);
    if let Ok(origin) = std::fs::read_to_string(root.join("schism-origin")) {
        return Ok(Some(Source { root, origin })); // a set-up was interrupted after this
    }
    match std::env::var_os(variables::RUSTC_SRC).filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = PathBuf::from(path);
            if !path.exists() {
                tried.push(format!("  - SCHISM_RUSTC_SRC: there is no {}", path.display()));
            } else {
                let origin = path.display().to_string();
                return unpack(&path, Came::ByUser, &root, toolchain, pinned, origin).map(Some);
            }
        }
        None => tried.push("  - SCHISM_RUSTC_SRC: not set".to_owned()),
    }
    // Where the distribution's package has it. rustup's component of the same name has no compiler.
    let beside = toolchain.sysroot.join("lib/rustlib/src/rust");
    if beside.join("compiler/rustc/Cargo.toml").is_file() && debian::is_source(&beside) {
        let origin = beside.canonicalize().unwrap_or_else(|_| beside.clone());
        let origin = format!("the package rust-src, {}", origin.display());
        return unpack(&beside, Came::WithPackage, &root, toolchain, pinned, origin).map(Some);
    }
    tried.push(format!("  - the package rust-src: no compiler's source in {}", beside.display()));
    match apt::fetch(home, toolchain) {
        Ok(package) => {
            let (from, origin) = (package.archive, package.description);
            let source = unpack(&from, Came::ByApt, &root, toolchain, pinned, origin)?;
            // 90 MB that are not needed again.
            let _ = std::fs::remove_dir_all(home.apt());
            Ok(Some(source))
        }
        Err(lines) => {
            tried.extend(
                lines
                    .into_iter()
                    .map(|line| format!("  - the distribution's source package: {line}")),
            );
            Ok(None)
        }
    }
}

fn unpack(
    from: &Path,
    came: Came,
    root: &Path,
    toolchain: &Toolchain,
    pinned: Option<&str>,
    origin: String,
) -> Result<Source> {
    let vouched = came.vouched(from)?;
    progress::step("Unpacking", &format!("the compiler's source from {origin}"));
    let draft = Draft::new(root)?;
    if from.is_dir() {
        copy_needed(from, draft.path())?;
    } else {
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(from).arg("-C").arg(draft.path());
        tar.args([
            "--strip-components=1",
            "--anchored",
            "--wildcards",
            "--no-wildcards-match-slash",
        ]);
        tar.args(LEFT_OUT.iter().map(|path| format!("--exclude=*/{path}")));
        // The first component is the release's name.
        tar.args(NEEDED.iter().map(|path| format!("*/{path}")));
        command::capture(
            tar,
            "to unpack the compiler's source",
            "Install tar and xz (apt install tar xz-utils).",
        )?;
    }
    let version = &toolchain.version;
    let (kind, found, needed) = if debian::is_source(draft.path()) {
        ("release", read(draft.path(), "src/version"), &version.release)
    } else {
        ("commit", read(draft.path(), "git-commit-hash"), &version.commit)
    };
    if found != *needed {
        return Err(Error::WrongSource {
            path: from.to_owned(),
            found: format!("{kind} {found}"),
            needed: format!("{kind} {needed}"),
        });
    }
    digest::check(draft.path(), pinned, vouched.as_deref(), toolchain, &origin)?;
    only_the_compiler(draft.path())?;
    let label = draft.path().join("schism-origin");
    std::fs::write(&label, &origin).at("write", &label)?;
    draft.publish()?;
    Ok(Source { root: root.to_owned(), origin })
}

/// What a file of the source says of its release.
fn read(root: &Path, file: &str) -> String {
    let text = std::fs::read_to_string(root.join(file));
    text.map_or_else(|_| format!("unknown (no {file} in it)"), |text| text.trim().to_owned())
}

fn copy_needed(from: &Path, to: &Path) -> Result<()> {
    let more = if debian::is_source(from) { NEEDED_OF_DISTRIBUTION } else { &[] };
    for path in NEEDED.iter().chain(more) {
        let (source, target) = (from.join(path), to.join(path));
        if !source.exists() {
            continue; // the check of the commit, or cargo, says it better
        }
        crate::publish::create_parent(&target)?;
        let mut cp = Command::new("cp");
        cp.arg("-R").arg(&source).arg(&target);
        command::capture(cp, "to copy the compiler's source", "")?;
    }
    for path in LEFT_OUT.iter().map(|path| to.join(path)).filter(|path| path.exists()) {
        std::fs::remove_dir_all(&path).at("remove", &path)?;
    }
    Ok(())
}

/// Reduces the workspace to the compiler. Package ids are relative to the workspace's root, so this
/// changes none.
fn only_the_compiler(root: &Path) -> Result<()> {
    let path = root.join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path).at("read", &path)?;
    std::fs::write(&path, reduced(&manifest)).at("write", &path)
}

fn reduced(manifest: &str) -> String {
    let mut result = String::new();
    let mut skipping = false;
    for line in manifest.lines() {
        if line.starts_with("members = [") {
            result.push_str("members = [\"compiler/rustc\"]\n");
            skipping = true;
        }
        if !skipping {
            result.push_str(line);
            result.push('\n');
        }
        if line.starts_with(']') || line.starts_with("members") && line.contains(']') {
            skipping = false;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn toolchain() -> Toolchain {
        Toolchain::find().unwrap()
    }

    fn tree(scratch: &Scratch, commit: &str) -> PathBuf {
        let root = scratch.path().join("rustc-1.95.0-src");
        for directory in [
            "compiler/rustc",
            "compiler/rustc_codegen_gcc",
            "library/proc_macro",
            "library/std",
            "src/tools/x/compiler",
            "vendor/y",
        ] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
            std::fs::write(root.join(directory).join("Cargo.toml"), "").unwrap();
        }
        std::fs::write(
            root.join("Cargo.toml"),
            "[workspace]\nmembers = [\n  \"a\",\n]\nexclude = [\n \"b\",\n]\n",
        )
        .unwrap();
        std::fs::write(root.join("Cargo.lock"), "").unwrap();
        std::fs::write(root.join("git-commit-hash"), format!("{commit}\n")).unwrap();
        root
    }

    fn archive(scratch: &Scratch, root: &Path) -> PathBuf {
        let file = scratch.path().join("source.tar");
        let mut tar = Command::new("tar");
        tar.arg("-cf").arg(&file).arg("-C").arg(scratch.path()).arg(root.file_name().unwrap());
        assert!(tar.status().unwrap().success());
        file
    }

    #[test]
    fn an_archive_and_a_directory_give_the_same_part() {
        let scratch = Scratch::new("source");
        let tree = tree(&scratch, &toolchain().version.commit);
        let mut digests = Vec::new();
        for (from, name) in [(archive(&scratch, &tree), "a"), (tree.clone(), "d")] {
            let root = scratch.path().join(name);
            let source =
                unpack(&from, Came::ByUser, &root, &toolchain(), None, "somewhere".into()).unwrap();
            digests.push(digest::of(&root).unwrap());
            assert_eq!(source.origin, "somewhere");
            for there in [
                "compiler/rustc/Cargo.toml",
                "library/proc_macro/Cargo.toml",
                "Cargo.lock",
                "schism-origin",
            ] {
                assert!(root.join(there).is_file(), "{name}: {there}");
            }
            for absent in ["library/std", "vendor", "src", "compiler/rustc_codegen_gcc"] {
                assert!(!root.join(absent).exists(), "{name}: {absent}");
            }
            let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
            assert_eq!(
                manifest,
                "[workspace]\nmembers = [\"compiler/rustc\"]\nexclude = [\n \"b\",\n]\n"
            );
        }
        assert_eq!(digests[0], digests[1]);
    }

    #[test]
    fn a_source_with_other_contents_is_refused_before_anything_is_built_from_it() {
        let scratch = Scratch::new("changed-source");
        let tree = tree(&scratch, &toolchain().version.commit);
        let good = {
            // As it is unpacked: without what is not needed.
            let part = scratch.path().join("part");
            std::fs::create_dir(&part).unwrap();
            copy_needed(&tree, &part).unwrap();
            digest::of(&part).unwrap()
        };
        let root = scratch.path().join("out");
        let unpack = |from: &Path| {
            let result =
                unpack(from, Came::ByUser, &root, &toolchain(), Some(&good), "a mirror".into());
            result.map(|source| source.root).map_err(|error| error.to_string())
        };
        unpack(&archive(&scratch, &tree)).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::write(tree.join("compiler/rustc/build.rs"), "fn main() { evil() }").unwrap();
        for from in [archive(&scratch, &tree), tree] {
            let error = unpack(&from).unwrap_err();
            assert!(error.contains("from a mirror") && error.contains(&good), "{error}");
            assert!(!root.exists());
        }
    }

    #[test]
    fn the_pinned_compilers_source_has_a_digest() {
        let digest = digest::pinned(&toolchain()).unwrap();
        assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn another_releases_source_is_refused_and_leaves_nothing() {
        let scratch = Scratch::new("wrong-source");
        let tree = tree(&scratch, "0123");
        let root = scratch.path().join("out");
        let error = unpack(&tree, Came::ByUser, &root, &toolchain(), None, String::new())
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("0123") && error.contains(&toolchain().version.commit), "{error}");
        assert!(!root.exists());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_no_archive_is_an_error_that_names_it() {
        let scratch = Scratch::new("no-archive");
        let file = scratch.path().join("not-an-archive.tar.xz");
        std::fs::write(&file, "hello").unwrap();
        let root = scratch.path().join("out");
        let error = unpack(&file, Came::ByUser, &root, &toolchain(), None, String::new())
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("not-an-archive.tar.xz") && error.contains("tar"), "{error}");
    }
}
