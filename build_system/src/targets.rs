//! `--targets`: what code is made for ahead of time.
//!
//! The compiler reads the list from a variable, which it tells cargo of, so that a change of it
//! builds the crates with kernels anew. Where the command line says nothing the variable may be set
//! already, or the package's manifest says it:
//!
//! ```toml
//! [package.metadata.schism]
//! targets = ["host", "ptx:sm_80"]
//! ```

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand, Package};
use lexopt::Arg::{Long, Short, Value};
use schism_hcf::{Target, TargetError, Targets};
use schism_jit_abi::ptxas::{self, Ptxas};

use crate::error::{Error, Result};
use crate::variables::TARGETS;

/// The option.
const OPTION: &str = "--targets";

/// What the option takes for no targets at all.
const NONE: &str = "none";

/// The targets of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetsOption {
    /// The command line does not say.
    Unsaid,
    /// There are to be none.
    None,
    /// These.
    Some(Targets),
}

/// Takes the option out of cargo's arguments, up to `--`.
pub fn take(arguments: &[OsString]) -> Result<(TargetsOption, Vec<OsString>)> {
    let mut asked = TargetsOption::Unsaid;
    let mut rest = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            rest.extend(words.cloned());
            break;
        }
        let text = word.to_str().unwrap_or_default();
        // cargo's own option takes none of these, and says so in words that do not help.
        let next = words.as_slice().first().and_then(|next| next.to_str());
        let of_cargo = if text == "--target" { next } else { text.strip_prefix("--target=") };
        if let Some(value) = of_cargo
            && value.parse::<Targets>().is_ok()
        {
            return Err(Error::Usage(format!(
                "`--target {value}` is for the host's half; did you mean `{OPTION} {value}`?"
            )));
        }
        let value = match text.strip_prefix(OPTION) {
            Some("") => words.next().map(|value| value.to_string_lossy().into_owned()),
            Some(value) if value.starts_with('=') => Some(value[1..].to_owned()),
            _ => {
                rest.push(word.clone());
                continue;
            }
        };
        if asked != TargetsOption::Unsaid {
            return Err(Error::Usage(format!("`{OPTION}` is there twice; give it one list")));
        }
        let value = value.filter(|value| !value.starts_with('-')).unwrap_or_default();
        asked = match value.trim() {
            NONE => TargetsOption::None,
            list => TargetsOption::Some(list.parse().map_err(|error| named(OPTION, error))?),
        };
    }
    Ok((asked, rest))
}

fn named(place: &str, error: TargetError) -> Error {
    Error::Usage(format!("`{place}`: {error}"))
}

/// Tells the compiler that `cargo` starts of the targets: those that were asked for, or else those
/// of the environment, or else those of the manifest of what these arguments have cargo build.
pub fn apply(
    cargo: &mut Command,
    asked: &TargetsOption,
    arguments: &[OsString],
) -> Result<Option<Targets>> {
    let targets = match asked {
        TargetsOption::Some(targets) => Some(targets.clone()),
        TargetsOption::None => None,
        TargetsOption::Unsaid => {
            match std::env::var(TARGETS).ok().filter(|list| !list.is_empty()) {
                Some(list) => Some(list.parse().map_err(|error| named(TARGETS, error))?),
                None => of_manifest(cargo.get_program(), arguments)?,
            }
        }
    };
    if targets.as_ref().is_some_and(|targets| targets.others().iter().any(is_machine_code)) {
        // Every crate of the build takes the same.
        let found = Ptxas::find().map_err(Error::NoPtxas)?;
        cargo.env(ptxas::VARIABLE, found.path());
    }
    match &targets {
        Some(targets) => cargo.env(TARGETS, targets.to_string()),
        None => cargo.env_remove(TARGETS),
    };
    Ok(targets)
}

/// Whether NVIDIA's assembler makes the code for a target.
fn is_machine_code(target: &Target) -> bool {
    matches!(target, Target::Sass(_))
}

/// The targets in the manifests of the packages that these arguments select.
fn of_manifest(cargo: &OsStr, arguments: &[OsString]) -> Result<Option<Targets>> {
    let selection = Selection::of(arguments);
    let mut command = MetadataCommand::new();
    command.cargo_path(cargo).no_deps();
    if let Some(path) = &selection.manifest {
        command.manifest_path(path);
    }
    // What is wrong here cargo says better when it builds.
    let Ok(metadata) = command.exec() else { return Ok(None) };
    selection.targets(&metadata)
}

/// Which packages cargo is to build.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The manifest that the command line names.
    pub manifest: Option<PathBuf>,
    packages: Vec<String>,
    all: bool,
}

impl Selection {
    /// What these arguments select.
    pub fn of(arguments: &[OsString]) -> Self {
        let mut selection = Self::default();
        // Cargo's mistakes are cargo's to tell.
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Ok(Some(option)) = parser.next() {
            match option {
                Short('p') | Long("package") => {
                    let name = parser.value().unwrap_or_default();
                    selection.packages.push(name.to_string_lossy().into_owned());
                }
                Long("manifest-path") => {
                    selection.manifest = Some(parser.value().unwrap_or_default().into());
                }
                Long("workspace" | "all") => selection.all = true,
                Long(_) => drop(parser.optional_value()),
                Short(_) | Value(_) => {}
            }
        }
        selection
    }

    /// The selected packages in cargo's description of the workspace.
    pub fn packages<'m>(&self, metadata: &'m Metadata) -> impl Iterator<Item = &'m Package> {
        let here = match &self.manifest {
            Some(path) => std::path::absolute(path).ok(),
            None => std::env::current_dir().ok().and_then(|folder| nearest(&folder)),
        };
        let is_here =
            move |package: &Package| here.as_deref() == Some(package.manifest_path.as_std_path());
        let at_hand = metadata.packages.iter().any(&is_here);
        metadata.packages.iter().filter(move |package| {
            if !self.packages.is_empty() {
                let named = |spec: &String| spec.split('@').next() == Some(package.name.as_str());
                return self.packages.iter().any(named);
            }
            self.all
                || if at_hand {
                    is_here(package)
                } else {
                    metadata.workspace_default_members.contains(&package.id)
                }
        })
    }

    /// The targets that cargo's description of the workspace has for the selected packages.
    fn targets(&self, metadata: &Metadata) -> Result<Option<Targets>> {
        let mut found: Option<(String, Targets)> = None;
        for package in self.packages(metadata) {
            let name = package.name.to_string();
            let own = targets_in(&package.metadata, &name)?;
            let shared = || targets_in(&metadata.workspace_metadata, "the workspace");
            let Some(targets) = own.map_or_else(shared, |own| Ok(Some(own)))? else { continue };
            match &found {
                Some((other, theirs)) if *theirs != targets => {
                    return Err(Error::Usage(format!(
                        "the manifests of `{other}` and `{name}` ask for other targets (`{theirs}` and `{targets}`), and one build has \
                         one list; select one with `-p`, or say `{OPTION}`"
                    )));
                }
                _ => found = Some((name, targets)),
            }
        }
        Ok(found.map(|(_, targets)| targets))
    }
}

/// `schism.targets` of a manifest's table for tools.
fn targets_in(metadata: &serde_json::Value, whose: &str) -> Result<Option<Targets>> {
    let value = &metadata["schism"]["targets"];
    if value.is_null() {
        return Ok(None);
    }
    let names = value
        .as_array()
        .and_then(|list| list.iter().map(serde_json::Value::as_str).collect::<Option<Vec<_>>>());
    let Some(names) = names else {
        return Err(Error::Usage(format!(
            "`metadata.schism.targets` of {whose} is no list of texts; write targets = [\"host\", \"ptx:sm_80\"]"
        )));
    };
    if names.is_empty() {
        return Ok(None);
    }
    let place = format!("metadata.schism.targets of {whose}");
    names.join(",").parse().map(Some).map_err(|error| named(&place, error))
}

/// The manifest that cargo takes in a folder.
fn nearest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn asked(line: &str) -> std::result::Result<(String, String), String> {
        let (asked, rest) = take(&words(line)).map_err(|error| error.to_string())?;
        let asked = match asked {
            TargetsOption::Unsaid => "unsaid".to_owned(),
            TargetsOption::None => "none".to_owned(),
            TargetsOption::Some(targets) => targets.to_string(),
        };
        Ok((asked, rest.join(OsStr::new(" ")).into_string().unwrap()))
    }

    #[test]
    fn the_option_is_taken_out() {
        let is = |asked: &str, rest: &str| Ok((asked.to_owned(), rest.to_owned()));
        assert_eq!(
            asked("--release --targets ptx:sm_80,host -p x"),
            is("host,ptx:sm_80", "--release -p x")
        );
        assert_eq!(asked("--targets=host --release"), is("host", "--release"));
        assert_eq!(
            asked("--target x86_64-unknown-linux-gnu"),
            is("unsaid", "--target x86_64-unknown-linux-gnu")
        );
        assert_eq!(asked("--targets none"), is("none", ""));
        // A folder may have any name.
        assert_eq!(asked("--target-dir host"), is("unsaid", "--target-dir host"));
        for line in ["--target ptx:sm_80", "--target=ptx:sm_80", "-p x --target spirv"] {
            assert!(asked(line).unwrap_err().contains("did you mean `--targets "), "{line}");
        }
        assert_eq!(asked("-- --targets banana"), is("unsaid", "-- --targets banana"));
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, says) in [
            ("--targets", "no target is named; name some, such as `host,ptx:sm_80`"),
            ("--targets --release", "no target is named"),
            ("--targets=", "no target is named"),
            ("--targets host,,ptx:sm_80", "no target is named"),
            ("--targets ptx:sm_7", "no processor `sm_7`; `ptx:` and `sass:` take one of sm_70"),
            ("--targets ptx:banana", "no processor `banana`"),
            ("--targets sm_80", "a target is `host`"),
            ("--targets host,host", "`host` is named twice"),
            ("--targets host --targets ptx:sm_80", "`--targets` is there twice"),
        ] {
            let error = asked(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn packages_are_selected_as_cargo_does() {
        let select = |line: &str| Selection::of(&words(line));
        assert_eq!(select("-p a --package=b -pc --release").packages, ["a", "b", "c"]);
        assert_eq!(select("--manifest-path x/Cargo.toml").manifest, Some("x/Cargo.toml".into()));
        assert!(select("--workspace").all && !select("-- --workspace").all);
    }

    #[test]
    fn the_manifest_says_it() {
        let package = |name: &str, metadata: &str| {
            format!(
                r#"{{"name": "{name}", "version": "0.1.0", "id": "path+file:///w/{name}#0.1.0", "dependencies": [], "targets": [],
                "features": {{}}, "manifest_path": "/w/{name}/Cargo.toml", "metadata": {metadata}}}"#
            )
        };
        let packages = [
            package("a", r#"{"schism": {"targets": ["host", "ptx:sm_80"]}}"#),
            package("b", "null"),
            package("c", r#"{"schism": {"targets": "host"}}"#),
            package("d", r#"{"schism": {"targets": ["ptx:sm_7"]}}"#),
        ];
        let metadata = MetadataCommand::parse(format!(
            r#"{{"packages": [{}], "workspace_members": [], "resolve": null, "workspace_root": "/w", "target_directory": "/w/target",
            "version": 1, "workspace_default_members": ["path+file:///w/a#0.1.0", "path+file:///w/b#0.1.0"],
            "metadata": {{"schism": {{"targets": ["ptx:sm_90"]}}}}}}"#,
            packages.join(", ")
        ))
        .unwrap();
        let of = |line: &str| {
            let found = Selection::of(&words(line)).targets(&metadata);
            found
                .map(|targets| targets.map(|targets| targets.to_string()))
                .map_err(|error| error.to_string())
        };
        assert_eq!(of("-p a"), Ok(Some("host,ptx:sm_80".to_owned())));
        assert_eq!(of("-p a@0.1.0"), Ok(Some("host,ptx:sm_80".to_owned())));
        assert_eq!(of("-p b"), Ok(Some("ptx:sm_90".to_owned())), "the workspace's");
        assert_eq!(of("--manifest-path /w/a/Cargo.toml"), Ok(Some("host,ptx:sm_80".to_owned())));
        assert_eq!(of("-p elsewhere"), Ok(None));
        for (line, says) in [
            ("-p c", "of c is no list of texts"),
            ("-p d", "`metadata.schism.targets of d`: there is no processor `sm_7`"),
            ("-p a -p b", "the manifests of `a` and `b` ask for other targets"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
