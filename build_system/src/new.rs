//! `cargo schism new`: a package to start from.
//!
//! Cargo makes the package, so that workspaces, version control and the edition are as `cargo new` has
//! them. Its program and its dependencies are those of a template.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::{misused, pass_on, written};
use crate::command;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::progress;
use crate::sources;

/// What a package starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Template {
    /// A program that launches a kernel.
    Kernels,
    /// A rayon program, built with `--stdpar`.
    Stdpar,
    /// A program with a directive.
    Directives,
}

impl Template {
    /// Cargo's manifest with what the template needs. In a workspace, tables may come after that of
    /// the dependencies.
    fn manifest(self, cargos: &str, checkout: Option<&Path>) -> String {
        let mut text = cargos.to_owned();
        if !text.contains(DEPENDENCIES) {
            text.push('\n');
            text.push_str(DEPENDENCIES);
        }
        let own = format!("{DEPENDENCIES}{}", self.dependencies(checkout));
        let mut text = text.replacen(DEPENDENCIES, &own, 1);
        if self == Template::Stdpar {
            text.push_str("\n[package.metadata.schism]\nstdpar = true\n");
        }
        text
    }

    fn program(self) -> &'static str {
        match self {
            Template::Kernels => include_str!("templates/kernels.rs"),
            Template::Stdpar => include_str!("templates/stdpar.rs"),
            Template::Directives => include_str!("templates/directives.rs"),
        }
    }

    /// What the table of the dependencies has.
    fn dependencies(self, checkout: Option<&Path>) -> String {
        if self == Template::Stdpar {
            return "rayon = \"1\"\n".to_owned();
        }
        let version = env!("CARGO_PKG_VERSION");
        match checkout {
            Some(root) => {
                let runtime = root.join("runtime").display().to_string();
                format!("schism = {{ version = \"{version}\", path = {} }}\n", quoted(&runtime))
            }
            None => format!("schism = \"{version}\"\n"),
        }
    }
}

/// A header of a table in cargo's manifest.
const DEPENDENCIES: &str = "[dependencies]\n";

/// Makes a package.
pub fn run(arguments: &[OsString]) -> Result<()> {
    let (template, place, options) = read(arguments)?;
    let name = name_of(&place)?;
    if place.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: place });
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    environment::undo_cargo_run(&mut cargo);
    cargo.args(["new", "--quiet", "--bin"]).args(options).arg("--").arg(&place);
    command::capture(
        cargo,
        "to make the package",
        "cargo comes with Rust: https://rustup.rs, or the package `cargo` of a distribution.",
    )?;
    if let Err(error) = fill(template, &place) {
        // Of what cargo has made, which was not there before.
        let _ = std::fs::remove_dir_all(&place);
        return Err(error);
    }
    progress::step("Created", &format!("package `{name}`"));
    progress::step("Next", &format!("cd {} && cargo schism run --release", place.display()));
    Ok(())
}

/// Takes the template and the place out of the arguments; the others are cargo's.
fn read(arguments: &[OsString]) -> Result<(Template, PathBuf, Vec<OsString>)> {
    let (mut template, mut place, mut options) = (None, None, Vec::new());
    let mut parser = lexopt::Parser::from_args(arguments.iter().cloned());
    let misused = |error| misused("new", error);
    while let Some(argument) = parser.next().map_err(misused)? {
        let asked = match &argument {
            lexopt::Arg::Long("stdpar") => Some(Template::Stdpar),
            lexopt::Arg::Long("directives") => Some(Template::Directives),
            _ => None,
        };
        match argument {
            _ if asked.is_some() => {
                if template.is_some_and(|template| asked != Some(template)) {
                    let text = "`new` makes one package: give `--stdpar` or `--directives`";
                    return Err(Error::Usage(text.to_owned()));
                }
                template = asked;
            }
            lexopt::Arg::Value(value) if place.is_none() => place = Some(PathBuf::from(value)),
            lexopt::Arg::Value(value) => {
                let text = format!("`new` makes one package, and got `{}`, too", value.display());
                return Err(Error::Usage(text));
            }
            lexopt::Arg::Long(name @ ("edition" | "name" | "registry" | "vcs")) => {
                let option = format!("--{name}");
                options.extend([option.into(), parser.value().map_err(misused)?]);
            }
            lexopt::Arg::Long("bin") => {}
            lexopt::Arg::Long("lib") => {
                let text =
                    "`new` makes programs; for a library: cargo new --lib, and cargo add schism";
                return Err(Error::Usage(text.to_owned()));
            }
            other => {
                let option = written(&other);
                pass_on(&mut parser, option, &mut options).map_err(misused)?;
            }
        }
    }
    let place = place.ok_or_else(|| {
        Error::Usage("`new` needs the name of the package: cargo schism new NAME".to_owned())
    })?;
    if let Some(at) = options.iter().position(|option| option == "--name") {
        name_of(Path::new(options.get(at + 1).map_or(OsStr::new(""), |name| name)))?;
    }
    Ok((template.unwrap_or(Template::Kernels), place, options))
}

/// The name of the package in a folder, if it is one that a package can have.
fn name_of(place: &Path) -> Result<String> {
    let name = place.file_name().unwrap_or(place.as_os_str()).to_string_lossy().into_owned();
    let bad = |why: &str| Err(Error::BadName { name: name.clone(), why: why.to_owned() });
    // A kernel's program would take the runtime's place, or rayon's.
    if ["schism", "rayon"].contains(&&*name) {
        return bad("it is the name of a crate that the package depends on");
    }
    if name.is_empty() || name == ".." || name == "." {
        return bad("a package needs a name; `cargo init` makes one in a folder that is there");
    }
    if let Some(first) = name.chars().next().filter(|first| !first.is_alphabetic() && *first != '_')
    {
        return bad(&format!("it begins with `{first}`, and must begin with a letter"));
    }
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    if let Some(letter) = name.chars().find(|letter| !is_part(letter)) {
        return bad(&format!("it has `{letter}`; letters, digits, `-` and `_` are allowed"));
    }
    Ok(name)
}

/// Writes the template into a package that cargo has made.
fn fill(template: Template, place: &Path) -> Result<()> {
    let manifest = place.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).at("read", &manifest)?;
    let text = template.manifest(&text, sources::checkout().as_deref());
    std::fs::write(&manifest, text).at("write", &manifest)?;
    let program = place.join("src/main.rs");
    std::fs::write(&program, template.program()).at("write", &program)
}

/// A string as TOML has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_template_is_schisms_and_the_rest_is_cargos() {
        let (template, place, options) =
            read(&words("--stdpar a/first --vcs none --edition=2021")).unwrap();
        assert_eq!((template, place.as_path()), (Template::Stdpar, Path::new("a/first")));
        assert_eq!(options, words("--vcs none --edition 2021"));
        assert_eq!(read(&words("x")).unwrap().0, Template::Kernels);
        assert_eq!(read(&words("x --directives")).unwrap().0, Template::Directives);
    }

    #[test]
    fn mistakes_are_told_before_anything_is_made() {
        for (line, part) in [
            ("", "needs the name"),
            ("one two", "got `two`, too"),
            ("x --stdpar --directives", "`--stdpar` or `--directives`"),
            ("x --lib", "cargo new --lib"),
            ("x --name 1", "begins with `1`"),
            ("x --vcs", "needs a value"),
        ] {
            let error = read(&words(line)).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
        for (name, part) in [
            ("1st", "begin with a letter"),
            ("a b", "it has ` `"),
            ("schism", "depends on"),
            ("..", "needs a name"),
        ] {
            let error = name_of(Path::new(name)).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(name), "{name}: {error}");
        }
        assert_eq!(name_of(Path::new("a/my-first_1")).unwrap(), "my-first_1");
    }

    #[test]
    fn dependencies_come_where_cargo_has_them() {
        let alone = "[package]\nname = \"x\"\n\n[dependencies]\n";
        let inherits = "[package]\nname = \"x\"\n\n[dependencies]\n\n[lints]\nworkspace = true\n";
        assert_eq!(
            Template::Stdpar.manifest(inherits, None),
            inherits.replace("cies]\n", "cies]\nrayon = \"1\"\n")
                + "\n[package.metadata.schism]\nstdpar = true\n"
        );
        let path = Template::Kernels.manifest(alone, Some(Path::new("/x")));
        assert!(path.starts_with(&format!("{alone}schism = ")), "{path}");
        assert!(Template::Kernels.manifest("[package]\n", None).contains("[dependencies]\nschism"));
    }

    #[test]
    fn paths_are_strings_of_toml() {
        assert_eq!(quoted("/a \"b\"\\c"), r#""/a \"b\"\\c""#);
        let path = Template::Kernels.dependencies(Some(Path::new("/x")));
        assert!(path.starts_with("schism = { version = \"") && path.contains("\"/x/runtime\""));
        let version = Template::Kernels.dependencies(None);
        assert_eq!(version, format!("schism = \"{}\"\n", env!("CARGO_PKG_VERSION")));
    }
}
