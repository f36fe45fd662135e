//! Puts the crate `schism-stdpar` in sight of crates that are given rayon, and its runtime in the
//! place of the one that a crate is given.
//!
//! The crate is compiled against the very rayon that cargo has built, once for each, into a folder
//! beside it:
//!
//! ```text
//! target/release/deps/librayon-<hash>.rlib
//! target/release/deps/schism-stdpar-<library>/
//!     librayon-<hash>.stamp            the rayon that it was compiled against
//!     libschism_stdpar-<hash>.rlib
//!     libschism-<hash>.rlib ...        the runtime, of `cargo schism`
//! ```
//!
//! So what a target folder needs of it lies in that folder, and goes with it. `cargo schism` has
//! the source and the runtime ready in the folder that [`STDPAR_LIBRARY`] names.
//!
//! A program that launches kernels itself depends on a runtime that cargo has built as well. Each crate
//! that is given it gets the one of `schism-stdpar`, which has the same source (`cargo schism` compares
//! them). So a program has one runtime, with one set of devices, threads and compiled kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use rustc_session::EarlyDiagCtxt;
use rustc_session::config::{CrateType, ExternEntry, ExternLocation, Externs, Options};
use rustc_session::search_paths::{PathKind, SearchPath};
use rustc_session::utils::CanonicalizedPath;
use rustc_target::spec::PanicStrategy;

use crate::rayon::types::{CRATE, RAYON};
use crate::session::RUNTIME;
use crate::variables::{STDPAR_BUILD, STDPAR_LIBRARY};

/// What [`STDPAR_BUILD`] says for notes on each pipeline.
pub(crate) const EXPLAIN: &str = "explain";

/// The backend's name in such a session. It is part of every crate's hash: what a crate exports
/// depends on the mode ([`super::statics`]), and incremental compilation must see that.
const BACKEND: &str = "schism-stdpar";

/// In that folder: the libraries, and the source.
const LIBRARIES: &str = "lib";
const SOURCE: &str = "src/lib.rs";

/// Changes the options of a session, if they are those of a crate whose parallel iterators may
/// become kernels.
pub(crate) fn change(options: &mut Options) {
    let Some(library) = library() else { return };
    options.unstable_opts.codegen_backend = Some(BACKEND.to_owned());
    let beside = |folder: &Path| folder.join(folder_beside_rayon(&library));
    // For crates that see it through others: build scripts and macros, too, which may use crates
    // that the program uses.
    let folders: Vec<PathBuf> = options
        .search_paths
        .iter()
        .filter(|path| matches!(path.kind, PathKind::Dependency | PathKind::All))
        .map(|path| beside(&path.dir))
        .collect();
    if runs_here(options)
        && let Err(error) = share_runtime(options, &library, beside)
    {
        EarlyDiagCtxt::new(options.error_format).early_fatal(format!(
            "the runtime of {} cannot be taken in the place of the program's: {error}",
            library.display()
        ));
    }
    if is_for(options)
        && let Some(rayon) = options.externs.iter().find_map(|(_, entry)| file_of(entry, RAYON))
        && let Some(folder) = rayon.parent().map(&beside)
    {
        match compiled(&library, &folder, &rayon, &options.target_triple.to_string()) {
            Ok(rlib) => see(options, &rlib),
            Err(error) => eprintln!(
                "warning: parallel iterators stay with rayon: the crate that makes kernels of them \
                 cannot be compiled for {}: {error}",
                rayon.display()
            ),
        }
    }
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        options.search_paths.push(SearchPath::new(PathKind::Dependency, folder));
    }
}

/// The folder that [`STDPAR_LIBRARY`] names, if parallel iterators may become kernels.
pub(crate) fn library() -> Option<PathBuf> {
    std::env::var_os(STDPAR_LIBRARY).filter(|library| !library.is_empty()).map(PathBuf::from)
}

/// The name of the folder beside rayon.
pub(crate) fn folder_beside_rayon(library: &Path) -> String {
    let name = library.file_name().unwrap_or(OsStr::new("library")).to_string_lossy();
    format!("schism-stdpar-{name}")
}

/// Whether a crate runs in the end. Build scripts and macros run when something is built.
pub(crate) fn is_worth_a_kernel(name: &str, types: &[CrateType]) -> bool {
    !types.contains(&CrateType::ProcMacro) && !name.starts_with("build_script_")
}

/// Whether a session makes code that the runtime can be linked with.
fn runs_here(options: &Options) -> bool {
    options.output_types.should_codegen()
        // The runtime unwinds.
        && matches!(options.cg.panic, None | Some(PanicStrategy::Unwind))
        && options.target_triple.tuple() == rustc_session::config::host_tuple()
}

/// Whether a session makes code that may have kernels.
fn is_for(options: &Options) -> bool {
    let name = options.crate_name.as_deref().unwrap_or_default();
    runs_here(options)
        && is_worth_a_kernel(name, &options.crate_types)
        && ![CRATE, RUNTIME, RAYON, "rayon_core"].contains(&name)
}

/// The file of a crate that a session is given, if it is the one of this name, under whatever other.
fn file_of(entry: &ExternEntry, name: &str) -> Option<PathBuf> {
    let is_named = |file: &Path| {
        let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let extension = file.extension().and_then(OsStr::to_str).unwrap_or_default();
        stem.strip_prefix("lib").and_then(|name| name.split('-').next()) == Some(name)
            && ["rlib", "rmeta"].contains(&extension)
    };
    match &entry.location {
        ExternLocation::FoundInLibrarySearchDirectories => None,
        ExternLocation::ExactPaths(files) => {
            let mut files = files.iter().map(|file| file.original().clone());
            files.find(|file| is_named(file))
        }
    }
}

/// Where a crate is that is exactly this file.
fn exactly(file: &Path) -> ExternLocation {
    ExternLocation::ExactPaths(BTreeSet::from([CanonicalizedPath::new(file.to_owned())]))
}

/// The crates that a session is given.
fn given(options: &Options) -> BTreeMap<String, ExternEntry> {
    options.externs.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

/// Has a crate that is given a runtime get that of `schism-stdpar`. Build scripts and macros, too: they
/// may use crates that the program uses.
fn share_runtime(
    options: &mut Options,
    library: &Path,
    beside: impl Fn(&Path) -> PathBuf,
) -> io::Result<()> {
    let mut externs = given(options);
    for entry in externs.values_mut() {
        if let Some(file) = file_of(entry, RUNTIME)
            && let Some(folder) = file.parent().map(&beside)
        {
            entry.location = exactly(&runtime_in(library, &folder)?);
            options.search_paths.push(SearchPath::new(PathKind::Dependency, folder));
        }
    }
    options.externs = Externs::new(externs);
    Ok(())
}

/// Has the crate loaded, although no source names it.
fn see(options: &mut Options, rlib: &Path) {
    let mut externs = given(options);
    let entry = ExternEntry {
        location: exactly(rlib),
        is_private_dep: false,
        add_prelude: false,
        nounused_dep: true,
        force: true,
    };
    externs.insert(CRATE.to_owned(), entry);
    options.externs = Externs::new(externs);
    let folder = rlib.parent().unwrap_or(Path::new(".")).to_owned();
    options.search_paths.push(SearchPath::new(PathKind::Dependency, folder));
}

/// The crate's rlib for a rayon, compiled by the first session that needs it.
fn compiled(library: &Path, folder: &Path, rayon: &Path, target: &str) -> io::Result<PathBuf> {
    let stem = rayon.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    // What cargo adds to names of files makes them unique among all that lies beside.
    let hash = stem.split_once('-').map_or(RAYON, |(_, hash)| hash);
    let rlib = folder.join(format!("lib{CRATE}-{hash}.rlib"));
    let stamp = folder.join(format!("{stem}.stamp"));
    let expected = stamp_of(rayon)?;
    let is_current =
        || rlib.is_file() && fs::read_to_string(&stamp).is_ok_and(|written| written == expected);
    if is_current() {
        return Ok(rlib);
    }
    fs::create_dir_all(folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    // Another session may have made it, or failed.
    if is_current() {
        return Ok(rlib);
    }
    let failed = format!("{expected}failed\n");
    if fs::read_to_string(&stamp).is_ok_and(|written| written == failed) {
        return Err(io::Error::other("it is of a version that schism does not know"));
    }
    let runtime = runtime_in(library, folder)?;
    let mut hasher = DefaultHasher::new();
    (library, hash).hash(&mut hasher);
    let with = |prefix: &str, path: &Path| {
        let mut argument = std::ffi::OsString::from(prefix);
        argument.push(path);
        argument
    };
    let mut rustc = Command::new(std::env::current_exe()?);
    rustc
        .args(["--crate-name", CRATE, "--crate-type", "rlib", "--edition", "2024"])
        .args(["-Copt-level=3", "-Cembed-bitcode=yes", "--cap-lints", "allow", "--target", target])
        .arg(format!("-Cmetadata={:016x}", hasher.finish()))
        .arg(format!("-Cextra-filename=-{hash}"))
        .arg(with("--extern=rayon=", rayon))
        .arg(with("--extern=schism=", &runtime))
        .arg(with("-Ldependency=", rayon.parent().unwrap_or(Path::new("."))))
        .arg(with("-Ldependency=", folder))
        .arg("--out-dir")
        .arg(folder)
        .arg(library.join(SOURCE))
        .env_remove(STDPAR_BUILD)
        .env_remove(STDPAR_LIBRARY);
    let output = rustc.output()?;
    if !output.status.success() {
        fs::write(&stamp, &failed)?;
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.insert(0, '\n');
        return Err(io::Error::other(text));
    }
    fs::write(&stamp, &expected)?;
    Ok(rlib)
}

/// The runtime's rlib in a folder, where it is put with those that it depends on.
fn runtime_in(library: &Path, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let lock = File::create(folder.join("libraries.lock"))?;
    lock.lock()?;
    let prefix = format!("lib{RUNTIME}-");
    let mut runtime = None;
    for entry in fs::read_dir(library.join(LIBRARIES))? {
        let entry = entry?;
        let (from, name) = (entry.path(), entry.file_name());
        let to = folder.join(&name);
        if !to.is_file() && fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to)?;
        }
        if name.to_str().is_some_and(|name| name.starts_with(&prefix)) {
            runtime = Some(to);
        }
    }
    runtime.ok_or_else(|| {
        let missing = format!("{} has no runtime", library.display());
        io::Error::new(io::ErrorKind::NotFound, missing)
    })
}

/// What tells this rayon from an earlier one of the same name. Its metadata is there before its
/// code is.
fn stamp_of(rayon: &Path) -> io::Result<String> {
    let metadata = rayon.with_extension("rmeta");
    let about = metadata.metadata().or_else(|_| rayon.metadata())?;
    let changed = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stamp = String::new();
    let _ = writeln!(stamp, "{} {}", about.len(), changed.as_nanos());
    Ok(stamp)
}
