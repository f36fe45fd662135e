//! `--stdpar`: parallel iterators of rayon become kernels.
//!
//! The compiler does it, in crates that are given rayon; see `codegen/src/rayon`. It reads two
//! variables, which it tells cargo of: how it is asked, and where there is a folder with the source
//! of `schism-stdpar` and the runtime, compiled for any program. This makes that folder ready, and
//! looks first whether the program is one that can have it:
//!
//! ```text
//! $SCHISM_HOME/stdpar/<hash>/src/     the source of schism-stdpar
//!                            lib/     the rlibs of the runtime and of its dependencies
//! ```
//!
//! A program that cannot have it is built without, and the user is told why. One that depends on the
//! runtime itself must have it of the same source: the compiler then takes this one in its place.

use std::env::VarError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::artifacts;
use crate::command;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::hash::Hasher;
use crate::home::Home;
use crate::lock::Lock;
use crate::progress;
use crate::prune;
use crate::publish::Draft;
use crate::setup::Ready;
use crate::sources::{SourceFile, Sources};
use crate::targets::Selection;
use crate::variables::{STDPAR_BUILD, STDPAR_LIBRARY};

/// The option, and what it takes.
const OPTION: &str = "--stdpar";
const ON: &str = "on";
const OFF: &str = "off";
const EXPLAIN: &str = "explain";

/// The versions of rayon that are known: major and minor numbers, of the oldest and the newest.
const KNOWN: [(u64, u64); 2] = [(1, 5), (1, 12)];

/// Changes whenever the way of building below does.
const RECIPE: &str = "1";

/// What the runtime and the replacement are made of.
const DIRECTORIES: [&str; 8] = [
    "passes/message",
    "runtime/abi",
    "runtime/cache",
    "runtime/hcf",
    "runtime/loader",
    "runtime/src",
    "runtime/stdpar",
    "runtime/trust",
];
const FILES: [&str; 3] = ["Cargo.lock", "Cargo.toml", "runtime/Cargo.toml"];

/// The source of the runtime, and that of the replacement.
const RUNTIME: &str = "runtime/src";
const REPLACEMENT: &str = "runtime/stdpar/src";

/// Crates of the runtime's are others than those of the same version that a program has.
const FLAGS: [&str; 2] = ["-Cmetadata=schism-stdpar", "-Cembed-bitcode=yes"];

/// Whether parallel iterators become kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdparOption {
    /// The command line does not say.
    Unsaid,
    /// They stay with rayon.
    Off,
    /// They become kernels.
    On,
    /// They become kernels, and the compiler says of each whether it does.
    Explain,
}

/// Takes the option out of cargo's arguments, up to `--`.
pub fn take(arguments: &[OsString]) -> Result<(StdparOption, Vec<OsString>)> {
    let mut asked = StdparOption::Unsaid;
    let mut rest = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            rest.extend(words.cloned());
            break;
        }
        let said = match word.to_str().and_then(|word| word.strip_prefix(OPTION)) {
            Some("") => StdparOption::On,
            Some(value) if value.starts_with('=') => named(OPTION, value[1..].trim())?,
            _ => {
                rest.push(word.clone());
                continue;
            }
        };
        if asked != StdparOption::Unsaid {
            return Err(Error::Usage(format!("`{OPTION}` is there twice; give it once")));
        }
        asked = said;
    }
    Ok((asked, rest))
}

fn named(place: &str, word: &str) -> Result<StdparOption> {
    match word {
        ON | "1" | "true" => Ok(StdparOption::On),
        OFF | "0" | "false" => Ok(StdparOption::Off),
        EXPLAIN => Ok(StdparOption::Explain),
        _ => Err(Error::Usage(format!(
            "`{place}` cannot be `{word}`; use `{ON}`, `{OFF}` or `{EXPLAIN}`"
        ))),
    }
}

/// Tells the compiler that `cargo` starts whether parallel iterators become kernels: as was asked
/// for, or else as the environment says, or else the manifest of what these arguments have cargo
/// build.
pub fn apply(
    cargo: &mut Command,
    asked: StdparOption,
    arguments: &[OsString],
    home: &Home,
    ready: &Ready,
) -> Result<()> {
    let said = match asked {
        StdparOption::Unsaid => match std::env::var(STDPAR_BUILD) {
            Ok(word) if !word.trim().is_empty() => named(STDPAR_BUILD, word.trim())?,
            Err(VarError::NotUnicode(word)) => named(STDPAR_BUILD, &word.to_string_lossy())?,
            _ => of_manifest(cargo, arguments)?,
        },
        said => said,
    };
    cargo.env_remove(STDPAR_BUILD).env_remove(STDPAR_LIBRARY);
    let word = match said {
        StdparOption::Unsaid | StdparOption::Off => return Ok(()),
        StdparOption::On => ON,
        StdparOption::Explain => EXPLAIN,
    };
    let sources = Sources::find()?;
    let files = sources.files(|file| {
        let is_one = FILES.iter().any(|one| file == Path::new(one));
        is_one || DIRECTORIES.iter().any(|directory| file.starts_with(directory))
    })?;
    match obstacle(cargo, arguments, &files) {
        Some(Obstacle::NoRayon) if asked == StdparOption::Unsaid => {}
        Some(Obstacle::NoRayon) => {
            eprintln!("warning: `{OPTION}` changes nothing: no package of this program uses rayon");
        }
        Some(Obstacle::Other(why)) => {
            eprintln!("warning: parallel iterators stay with rayon: {why}");
        }
        None => {
            let folder = library(home, ready, &sources, &files)?;
            cargo.env(STDPAR_BUILD, word).env(STDPAR_LIBRARY, folder);
        }
    }
    Ok(())
}

/// What the manifests of the packages say that these arguments select.
fn of_manifest(cargo: &Command, arguments: &[OsString]) -> Result<StdparOption> {
    let selection = Selection::of(arguments);
    let mut command = MetadataCommand::new();
    command.cargo_path(cargo.get_program()).no_deps();
    if let Some(path) = &selection.manifest {
        command.manifest_path(path);
    }
    // What is wrong here cargo says better when it builds.
    let Ok(metadata) = command.exec() else { return Ok(StdparOption::Unsaid) };
    let own = selection.packages(&metadata).map(|package| &package.metadata);
    let mut said = StdparOption::Unsaid;
    for table in own.chain([&metadata.workspace_metadata]) {
        let value = &table["schism"]["stdpar"];
        let one = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::Bool(true) => StdparOption::On,
            serde_json::Value::Bool(false) => StdparOption::Off,
            _ => {
                let text =
                    format!("`metadata.schism.stdpar` cannot be `{value}`; use `true` or `false`");
                return Err(Error::Usage(text));
            }
        };
        if said == StdparOption::Unsaid {
            said = one;
        }
    }
    Ok(said)
}

/// Why a program's parallel iterators cannot become kernels.
#[derive(Debug)]
enum Obstacle {
    /// There are none.
    NoRayon,
    Other(String),
}

/// Why a program's parallel iterators cannot become kernels, by what its packages tell. `files` are
/// those of the runtime.
fn obstacle(cargo: &Command, arguments: &[OsString], files: &[SourceFile]) -> Option<Obstacle> {
    let selection = Selection::of(arguments);
    let look = |options: Vec<String>| {
        let mut command = MetadataCommand::new();
        command.cargo_path(cargo.get_program());
        if let Some(path) = &selection.manifest {
            command.manifest_path(path);
        }
        // Cargo says it better when it builds.
        obstacle_in(&command.other_options(options).exec().ok()?, files)
    };
    let (place, features) = of_resolution(arguments);
    let found = look(place.iter().cloned().chain(features).collect());
    if !matches!(found, Some(Obstacle::NoRayon)) {
        return found;
    }
    // Packages of a workspace may have different features.
    look(place.into_iter().chain(["--all-features".to_owned()]).collect())
        .filter(|found| matches!(found, Obstacle::NoRayon))
}

/// Among cargo's arguments those that decide which packages a program has: where they come from,
/// and their features.
fn of_resolution(arguments: &[OsString]) -> (Vec<String>, Vec<String>) {
    let (mut place, mut features) = (Vec::new(), Vec::new());
    let given = arguments.iter().take_while(|word| *word != "--");
    let mut given = given.filter_map(|word| word.to_str());
    while let Some(word) = given.next() {
        match word {
            "--offline" | "--locked" | "--frozen" => place.push(word.to_owned()),
            "--all-features" | "--no-default-features" => features.push(word.to_owned()),
            "--features" | "-F" => {
                features.extend(given.next().map(|names| format!("--features={names}")));
            }
            _ => {
                let names = word.strip_prefix("--features=").or(word.strip_prefix("-F"));
                features.extend(names.map(|names| format!("--features={names}")));
            }
        }
    }
    (place, features)
}

fn obstacle_in(metadata: &Metadata, files: &[SourceFile]) -> Option<Obstacle> {
    let named = |name: &'static str| {
        metadata.packages.iter().filter(move |package| package.name.as_str() == name)
    };
    if named("rayon").next().is_none() {
        return Some(Obstacle::NoRayon);
    }
    // The program has one runtime, for all its kernels.
    let other = named("schism").find(|schism| {
        let folder = schism.manifest_path.parent().map_or(Path::new(""), |path| path.as_std_path());
        !is_runtime(folder, files)
    });
    if let Some(other) = other {
        return Some(Obstacle::Other(format!(
            "the program depends on schism {}, of {}, which is not the schism of this cargo-schism, \
             {}; use the same of both",
            other.version,
            other.manifest_path,
            env!("CARGO_PKG_VERSION")
        )));
    }
    let mut others = named("rayon").map(|rayon| &rayon.version).filter(|version| {
        let [oldest, newest] = KNOWN;
        !(oldest..=newest).contains(&(version.major, version.minor))
    });
    others.next().map(|version| {
        let [(major, oldest), (_, newest)] = KNOWN;
        let known = if oldest == newest {
            format!("{major}.{oldest}")
        } else {
            format!("{major}.{oldest} to {major}.{newest}")
        };
        Obstacle::Other(format!("the program has rayon {version}, and schism knows rayon {known}"))
    })
}

/// Whether a package has the runtime's source.
fn is_runtime(package: &Path, files: &[SourceFile]) -> bool {
    files.iter().all(|(path, contents)| {
        path.strip_prefix(RUNTIME).is_err() || {
            let path = path.strip_prefix("runtime").unwrap_or(path);
            std::fs::read(package.join(path)).is_ok_and(|found| *found == **contents)
        }
    })
}

/// The folder with the source and the runtime, made if it is not there.
fn library(home: &Home, ready: &Ready, sources: &Sources, files: &[SourceFile]) -> Result<PathBuf> {
    let mut hasher = Hasher::default();
    hasher.field(RECIPE.as_bytes()).field(ready.installed.plugin_hash.as_bytes());
    for (path, contents) in files {
        hasher.field(path.as_os_str().as_encoded_bytes()).field(contents);
    }
    let hash = hasher.finish();
    let place = home.stdpar(&hash);
    if place.is_dir() {
        prune::note_use(&place);
        return Ok(place);
    }
    let _lock = Lock::take(home)?;
    if place.is_dir() {
        return Ok(place); // another process has just made it
    }
    progress::step("Building", "the runtime for parallel iterators");
    let libraries = build(home, ready, sources)?;
    let draft = Draft::new(&place)?;
    for folder in ["lib", "src"] {
        let folder = draft.path().join(folder);
        std::fs::create_dir(&folder).at("create", &folder)?;
    }
    for library in &libraries {
        let to = draft.path().join("lib").join(library.file_name().unwrap_or_default());
        std::fs::copy(library, &to).at("write", to)?;
    }
    for (path, contents) in files {
        if let Ok(name) = path.strip_prefix(REPLACEMENT) {
            let to = draft.path().join("src").join(name);
            std::fs::write(&to, contents).at("write", to)?;
        }
    }
    draft.publish()?;
    prune::note_use(&place);
    prune::prune(place.parent().unwrap_or(&place));
    Ok(place)
}

/// Builds the runtime, and gives its rlib and those of its dependencies.
fn build(home: &Home, ready: &Ready, sources: &Sources) -> Result<Vec<PathBuf>> {
    let root = artifacts::workspace(home, &ready.toolchain, sources)?;
    let mut hasher = Hasher::default();
    hasher.field(root.as_os_str().as_encoded_bytes());
    let target = home.build().join(format!("stdpar-{}", &hasher.finish()[..8]));
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::isolate(&mut cargo, &ready.toolchain);
    cargo
        .current_dir(root)
        .args(["build", "--locked", "--release", "--package", "schism", "--lib"])
        .args(["--message-format", "json-render-diagnostics", "--target-dir"])
        .arg(&target)
        .env("RUSTC", ready.installed.driver())
        .env("CARGO_ENCODED_RUSTFLAGS", command::encode_flags(FLAGS));
    let messages = command::capture(
        cargo,
        "to build the runtime",
        "Install the cargo that belongs to the compiler.",
    )?;
    Ok(libraries(&messages))
}

/// The rlibs that cargo's messages name, and the procedural macros. Beside each rlib lies its
/// metadata, under the name that is unique.
fn libraries(messages: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["reason"] == "compiler-artifact").then_some(message)
    });
    let files = messages.flat_map(|message| {
        let files = message["filenames"].as_array().cloned().unwrap_or_default();
        files.into_iter().filter_map(|file| Some(PathBuf::from(file.as_str()?)))
    });
    let libraries = files.filter_map(|file| match file.extension()?.to_str()? {
        "rmeta" => Some(file.with_extension("rlib")),
        "so" => Some(file),
        _ => None,
    });
    libraries.filter(|file| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::ffi::OsStr;

    use super::*;
    use crate::publish;
    use crate::scratch::Scratch;

    fn asked(line: &str) -> std::result::Result<(StdparOption, String), String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (asked, rest) = take(&words).map_err(|error| error.to_string())?;
        Ok((asked, rest.join(OsStr::new(" ")).into_string().unwrap()))
    }

    #[test]
    fn the_option_is_taken_out() {
        let is = |asked: StdparOption, rest: &str| Ok((asked, rest.to_owned()));
        assert_eq!(asked("--release --stdpar -p x"), is(StdparOption::On, "--release -p x"));
        assert_eq!(asked("--stdpar=explain"), is(StdparOption::Explain, ""));
        assert_eq!(asked("--stdpar=off -v"), is(StdparOption::Off, "-v"));
        assert_eq!(asked("--release"), is(StdparOption::Unsaid, "--release"));
        assert_eq!(asked("-- --stdpar"), is(StdparOption::Unsaid, "-- --stdpar"));
        for word in ["banana", "", "ON"] {
            let expected = format!("`--stdpar` cannot be `{word}`; use `on`, `off` or `explain`");
            let error = asked(&format!("--stdpar={word}")).unwrap_err();
            assert!(error.starts_with(&expected), "{error}");
        }
        assert!(asked("--stdpar --stdpar").unwrap_err().contains("twice"));
    }

    #[test]
    fn features_are_told_to_who_resolves() {
        let words = ["--features", "a b", "-F", "c", "-Fd", "--features=e", "--locked", "-p", "x"];
        let words: Vec<OsString> =
            words.iter().chain(&["--", "--features=f"]).map(OsString::from).collect();
        let (place, features) = of_resolution(&words);
        assert_eq!(place, ["--locked"]);
        let expected = ["a b", "c", "d", "e"].map(|names| format!("--features={names}"));
        assert_eq!(features, expected);
    }

    #[test]
    fn programs_that_cannot_have_it_are_told_apart() {
        let scratch = Scratch::new("runtimes");
        let folder = scratch.path();
        let program = |packages: &[(&str, &str)]| {
            let packages: Vec<String> = packages
                .iter()
                .map(|(name, version)| {
                    format!(
                        r#"{{"name": "{name}", "version": "{version}", "id": "path+file:///w/{name}#{version}", "dependencies": [],
                        "targets": [], "features": {{}}, "manifest_path": "{}/{name}/Cargo.toml"}}"#,
                        folder.display()
                    )
                })
                .collect();
            let metadata = MetadataCommand::parse(format!(
                r#"{{"packages": [{}], "workspace_members": [], "resolve": null, "workspace_root": "/w",
                "target_directory": "/w/target", "version": 1}}"#,
                packages.join(", ")
            ));
            let files = [
                ("runtime/Cargo.toml", "the workspace's"),
                ("runtime/src/lib.rs", "mod own;"),
                ("runtime/src/own/mod.rs", ""),
            ];
            let files =
                files.map(|(path, text)| (PathBuf::from(path), Cow::Borrowed(text.as_bytes())));
            match obstacle_in(&metadata.unwrap(), &files) {
                None => String::new(),
                Some(Obstacle::NoRayon) => "none".to_owned(),
                Some(Obstacle::Other(why)) => why,
            }
        };
        assert_eq!(program(&[("a", "0.1.0"), ("rayon", "1.12.3")]), "");
        assert_eq!(program(&[("a", "0.1.0")]), "none");
        let old = program(&[("rayon", "1.1.0")]);
        assert!(old.contains("has rayon 1.1.0, and schism knows rayon 1."), "{old}");
        assert!(program(&[("rayon", "2.0.0")]).contains("rayon 2.0.0"));
        let both = [("rayon", "1.12.0"), ("schism", "0.1.0")];
        let file = |name: &str, text: &str| {
            publish::write_file(&folder.join("schism").join(name), text.as_bytes()).unwrap();
        };
        let other = "depends on schism 0.1.0, of ";
        assert!(program(&both).contains(other));
        file("src/lib.rs", "mod own;");
        assert!(program(&both).contains(other));
        file("src/own/mod.rs", "");
        file("Cargo.toml", "as packages have it");
        assert_eq!(program(&both), "");
        file("src/lib.rs", "mod other;");
        assert!(program(&both).contains(other));
        assert_eq!(program(&both[1..]), "none");
    }
}
