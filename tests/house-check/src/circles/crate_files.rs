//! The modules and files of a crate.

use std::collections::BTreeMap;
use std::path::Path;

use super::scan::{self, Module};

/// A crate's modules, all in one list. The first is the root.
#[derive(Debug, Default)]
pub struct Crate {
    /// Files, relative to the folder of the root file.
    pub paths: Vec<String>,
    /// Modules.
    pub modules: Vec<Node>,
}

/// A module in its place.
#[derive(Debug)]
pub struct Node {
    /// What is in it.
    pub module: Module,
    /// Which file it is in.
    pub file: usize,
    /// The module around it; the root's own is the root.
    pub parent: usize,
    /// The modules in it.
    pub children: BTreeMap<String, usize>,
}

impl Crate {
    /// Reads all files, beginning with `lib.rs` or `main.rs` of a folder, or with a file.
    pub fn read(source: &Path) -> Result<Self, String> {
        let roots = [source.join("lib.rs"), source.join("main.rs"), source.to_owned()];
        let root = roots.iter().find(|path| path.is_file());
        let root =
            root.ok_or_else(|| format!("{} has neither lib.rs nor main.rs", source.display()))?;
        let folder = root.parent().unwrap_or(Path::new(""));
        let read = |path: &Path| {
            std::fs::read_to_string(folder.join(path))
                .map_err(|error| format!("cannot read {}: {error}", folder.join(path).display()))
        };
        let exists = |path: &Path| folder.join(path).is_file();
        Self::load(Path::new(root.file_name().expect("it is a file")), &read, &exists)
    }

    fn load(
        root: &Path,
        read: &dyn Fn(&Path) -> Result<String, String>,
        exists: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, String> {
        let mut all = Self::default();
        let mut files = Files { read, exists };
        all.add_file(root, Path::new(""), 0, &mut files)?;
        Ok(all)
    }

    /// Adds a file, whose children lie in `folder`, and all below it.
    fn add_file(
        &mut self,
        path: &Path,
        folder: &Path,
        parent: usize,
        files: &mut Files<'_>,
    ) -> Result<usize, String> {
        let text = (files.read)(path)?;
        let module = scan::scan(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = self.paths.len();
        self.paths.push(path.display().to_string());
        self.add_module(module, file, path, folder, parent, files)
    }

    fn add_module(
        &mut self,
        mut module: Module,
        file: usize,
        path: &Path,
        folder: &Path,
        parent: usize,
        files: &mut Files<'_>,
    ) -> Result<usize, String> {
        let inline = std::mem::take(&mut module.inline);
        let declared = std::mem::take(&mut module.files);
        let own = self.modules.len();
        self.modules.push(Node { module, file, parent, children: BTreeMap::new() });
        for inner in inline {
            let name = inner.name.clone();
            let child = self.add_module(inner, file, path, &folder.join(&name), own, files)?;
            self.modules[own].children.insert(name, child);
        }
        for (name, attribute) in declared {
            let beside = path.parent().unwrap_or(Path::new(""));
            let (file, below) = match attribute {
                Some(attribute) => {
                    let file = beside.join(attribute);
                    let below = file.parent().unwrap_or(Path::new("")).to_owned();
                    (file, below)
                }
                None => {
                    let below = folder.join(&name);
                    let flat = folder.join(format!("{name}.rs"));
                    let file = if (files.exists)(&flat) { flat } else { below.join("mod.rs") };
                    (file, below)
                }
            };
            let child = self.add_file(&file, &below, own, files)?;
            self.modules[own].children.insert(name, child);
        }
        Ok(own)
    }
}

struct Files<'a> {
    read: &'a dyn Fn(&Path) -> Result<String, String>,
    exists: &'a dyn Fn(&Path) -> bool,
}

#[cfg(test)]
impl Crate {
    /// A crate of these files, the first of which is the root.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files: BTreeMap<&Path, &str> =
            files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
        let read = |path: &Path| {
            files.get(path).map(|text| (*text).to_owned()).ok_or_else(|| path.display().to_string())
        };
        Self::load(Path::new("lib.rs"), &read, &|path| files.contains_key(path)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_as_the_compiler_finds_them() {
        let all = Crate::of(&[
            (
                "lib.rs",
                "mod a; mod b; mod c { mod d; } #[path = \"x/y.rs\"] mod e; #[cfg(test)] mod f;",
            ),
            ("a.rs", "mod g;"),
            ("a/g.rs", ""),
            ("b/mod.rs", "mod h;"),
            ("b/h.rs", ""),
            ("c/d.rs", ""),
            ("x/y.rs", "mod z;"),
            ("x/z.rs", ""),
        ]);
        let mut paths = all.paths.clone();
        paths.sort();
        let expected =
            ["a.rs", "a/g.rs", "b/h.rs", "b/mod.rs", "c/d.rs", "lib.rs", "x/y.rs", "x/z.rs"];
        assert_eq!(paths, expected);
    }
}
