//! Which passes are optional, and which pipelines have them: as `schism-opt --list` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cargo_schism::command;
use cargo_schism::environment;
use cargo_schism::error::{FileContext, Result};
use cargo_schism::toolchain::Toolchain;

use super::wrong;

/// The list, in a pack.
pub const LIST: &str = "passes.txt";

/// The optional passes.
#[derive(Debug)]
pub struct Passes {
    /// In the order of the registry.
    optional: Vec<String>,
    /// What each pipeline has.
    pipelines: BTreeMap<String, BTreeSet<String>>,
}

impl Passes {
    /// Those of the checkout.
    pub fn of_checkout(root: &Path) -> Result<Self> {
        Ok(Self::read(&list(root)?))
    }

    /// Those of a pack.
    pub fn packed(folder: &Path) -> Result<Self> {
        let path = folder.join(LIST);
        Ok(Self::read(&std::fs::read_to_string(&path).at("read", &path)?))
    }

    fn read(text: &str) -> Self {
        let (pipelines, passes) = text.split_once("\nPasses ").unwrap_or_default();
        let optional = passes.lines().filter_map(|line| line.strip_prefix(" *")?.split(' ').next());
        let mut passes =
            Self { optional: optional.map(str::to_owned).collect(), pipelines: BTreeMap::new() };
        let mut pipeline = String::new();
        for line in pipelines.lines().skip(1) {
            let name = line.trim_start();
            if line.len() - name.len() == 2 {
                name.clone_into(&mut pipeline);
            } else {
                passes.pipelines.entry(pipeline.clone()).or_default().insert(name.to_owned());
            }
        }
        passes
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.optional.iter().map(String::as_str)
    }

    /// Whether a pipeline has a pass.
    pub fn is_in(&self, pass: &str, pipeline: &str) -> bool {
        self.pipelines.get(pipeline).is_some_and(|passes| passes.contains(pass))
    }

    /// An error if one of these is no optional pass.
    pub fn check(&self, names: &[String]) -> Result<()> {
        match names.iter().find(|name| !self.optional.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let known = self.optional.join(", ");
                Err(wrong(&format!("`{name}` is no optional pass; there are {known}")))
            }
        }
    }
}

/// What `schism-opt --list` says in a checkout.
pub fn list(root: &Path) -> Result<String> {
    let toolchain = Toolchain::find()?;
    let mut cargo = Command::new(&toolchain.cargo);
    environment::restore(&mut cargo, &toolchain);
    cargo.env("RUSTC", &toolchain.rustc).current_dir(root);
    cargo.args(["run", "--quiet", "--release", "--package", "schism-passes"]);
    cargo.args(["--bin", "schism-opt", "--", "--list"]);
    command::capture(cargo, "to list the passes", "install cargo")
}

#[cfg(test)]
impl Passes {
    /// Three passes of the CPU's pipeline and one of NVIDIA's.
    pub fn example() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let cpu = names(&["fast", "useless", "slow"]);
        let pipelines =
            [("cpu".to_owned(), cpu), ("ptx".to_owned(), ["of-gpus".to_owned()].into())];
        let optional = ["fast", "useless", "slow", "of-gpus"].map(str::to_owned).to_vec();
        Self { optional, pipelines: pipelines.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let passes = Passes::read(
            "Pipelines (`-p stage1`); steps in parentheses run only in stage 2:\n  cpu\n    (wrap)\n    \
             if the module has panics:\n      merge\n    vectorize\n  ptx\n    merge\n\
             Passes (those with `*` are optional):\n  simplify    removes\n *merge      merges\n *vectorize  lanes\n",
        );
        assert_eq!(passes.names().collect::<Vec<_>>(), ["merge", "vectorize"]);
        assert!(passes.is_in("merge", "cpu") && passes.is_in("merge", "ptx"));
        assert!(passes.is_in("vectorize", "cpu") && !passes.is_in("vectorize", "ptx"));
        assert!(passes.check(&["merge".to_owned()]).is_ok());
        assert!(passes.check(&["simplify".to_owned()]).is_err());
    }
}
