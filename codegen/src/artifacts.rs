//! Removes what earlier plugins have left in a target folder.
//!
//! cargo makes what `schism-rustc -vV` prints part of each artifact's name, and with it the
//! plugin's content hash. So all artifacts of an earlier plugin stay when a new one is used, and
//! cargo never removes any. This module does, where cargo's folders are as they have always been:
//!
//! ```text
//! target/debug/deps/libfoo-<hash>.rlib, foo-<hash>.d ...
//!              examples/foo-<hash>
//!              build/<package>-<hash>/           a build script, or what one has written
//!              incremental/foo-<id>/
//!              .fingerprint/<package>-<hash>/
//!              .schism/<plugin>/foo-<hash>       a record of this module
//! ```
//!
//! The driver writes a record of each crate that it compiles for cargo. When a plugin compiles its
//! first crate for a folder, the artifacts in the records of all plugins but the last few go. So
//! nothing goes but what a plugin has made: the hash in the name of an artifact of plain rustc is
//! another, since that prints another version. cargo locks the folder meanwhile.
//!
//! What cannot be written or removed stays: it costs space, and does no harm.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use rustc_middle::ty::TyCtxt;
use rustc_span::def_id::LOCAL_CRATE;

use crate::rayon::inject;

/// The folder of all records.
const RECORDS: &str = ".schism";

/// The folder by which cargo's own are known.
const FINGERPRINTS: &str = ".fingerprint";

/// As many plugins before this one keep their artifacts.
const KEPT: usize = 2;

/// What the folder of a plugin is called before its content hash.
const PLUGIN: &str = "plugin-";

/// Records what this session makes, and removes what is too old.
pub(crate) fn note(tcx: TyCtxt<'_>) {
    let Some(artifact) = Artifact::of(tcx) else { return };
    let plugin = std::env::current_exe().ok();
    let plugin = plugin.as_deref().and_then(Path::parent).and_then(Path::file_name);
    let Some(plugin) = plugin.and_then(OsStr::to_str).and_then(|name| name.strip_prefix(PLUGIN))
    else {
        return;
    };
    let records = artifact.profile.join(RECORDS);
    let own = records.join(plugin);
    let is_first = fs::create_dir_all(&records).is_ok() && fs::create_dir(&own).is_ok();
    let _ = fs::write(own.join(&artifact.name), artifact.folders.as_bytes());
    // One process of this cargo has made the folder; the others have found it there.
    if is_first {
        for old in old_ones(&records, &own) {
            remove(&artifact.profile, &old);
        }
    }
}

/// What a session makes for cargo.
struct Artifact {
    /// The folder that cargo locks: `target/debug`, for example.
    profile: PathBuf,
    /// The name that files of it begin with, but for `lib`.
    name: String,
    /// The folders of it, relative to the profile's, a line each.
    folders: String,
}

impl Artifact {
    fn of(tcx: TyCtxt<'_>) -> Option<Self> {
        let sess = tcx.sess;
        let package = std::env::var("CARGO_PKG_NAME").ok()?;
        let hash = sess.opts.cg.extra_filename.strip_prefix('-').filter(|hash| is_hash(hash))?;
        let place = sess.io.output_dir.as_deref()?;
        let parent = place.parent()?;
        let profile = match place.file_name()?.to_str()? {
            "deps" | "examples" => parent,
            _ if parent.file_name()? == "build" => parent.parent()?,
            _ => return None,
        };
        let fingerprint = format!("{FINGERPRINTS}/{package}-{hash}");
        if !profile.join(&fingerprint).is_dir() {
            return None;
        }
        let mut folders = format!("{fingerprint}\nbuild/{package}-{hash}\n");
        // What the package's build script has written, which is of this plugin, too.
        let written = std::env::var_os("OUT_DIR").map(PathBuf::from);
        let written = written.as_deref().and_then(Path::parent).and_then(Path::file_name);
        let of_script = written
            .and_then(OsStr::to_str)
            .filter(|name| name.rsplit_once('-').is_some_and(|(_, hash)| is_hash(hash)));
        if let Some(name) = of_script {
            let _ = write!(folders, "{FINGERPRINTS}/{name}\nbuild/{name}\n");
        }
        let incremental = sess.incr_comp_session_dir_opt();
        let incremental = incremental.as_deref().and_then(|session| session.parent()?.file_name());
        if let Some(name) = incremental.and_then(OsStr::to_str) {
            let _ = writeln!(folders, "incremental/{name}");
        }
        if let Some(library) = inject::library() {
            let _ = writeln!(folders, "deps/{}", inject::folder_beside_rayon(&library));
        }
        let name = format!("{}-{hash}", tcx.crate_name(LOCAL_CRATE));
        Some(Self { profile: profile.to_owned(), name, folders })
    }
}

/// Whether a word is one of cargo's hashes.
fn is_hash(word: &str) -> bool {
    word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The records of plugins whose artifacts go: those that have compiled nothing for the longest
/// time.
fn old_ones(records: &Path, own: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    let mut others: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .filter(|(_, path)| path != own)
        .collect();
    others.sort();
    others.reverse();
    others.into_iter().skip(KEPT).map(|(_, path)| path).collect()
}

/// Removes the artifacts in a plugin's records, and then the records.
fn remove(profile: &Path, records: &Path) {
    let mut names: HashSet<String> = HashSet::new();
    for record in fs::read_dir(records).into_iter().flatten().flatten() {
        let Ok(folders) = fs::read_to_string(record.path()) else { continue };
        for folder in folders.lines() {
            let folder = Path::new(folder);
            let mut parts = folder.components();
            // Two names below the profile's folder, and nothing that leads out of it.
            if parts.clone().count() == 2 && parts.all(|part| matches!(part, Component::Normal(_)))
            {
                let _ = fs::remove_dir_all(profile.join(folder));
            }
        }
        names.extend(record.file_name().into_string());
    }
    for folder in ["deps", "examples"] {
        for file in fs::read_dir(profile.join(folder)).into_iter().flatten().flatten() {
            let name = file.file_name();
            let stem = name.to_str().and_then(|name| name.split('.').next()).unwrap_or_default();
            let of_library = stem.strip_prefix("lib").unwrap_or(stem);
            if names.contains(stem) || names.contains(of_library) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
    let _ = fs::remove_dir_all(records);
}
