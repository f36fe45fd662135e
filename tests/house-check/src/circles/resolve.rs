//! From paths to files.

use std::collections::BTreeMap;

use super::crate_files::{Crate, Node};

/// One file names something that another defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Who names it.
    pub from: usize,
    /// Who defines it.
    pub to: usize,
    /// Where.
    pub line: usize,
    /// The path, as written.
    pub path: String,
}

/// The first import for each pair of files.
pub fn imports(files: &Crate) -> Vec<Import> {
    let mut found = BTreeMap::new();
    for (at, node) in files.modules.iter().enumerate() {
        for mention in &node.module.mentions {
            if mention.re_export && is_facade(files, at) {
                continue;
            }
            for target in resolve(files, at, &mention.path, 0) {
                let (from, to) = (node.file, target.file(files));
                if from != to {
                    let line = mention.line;
                    let path = mention.path.join("::");
                    found.entry((from, to)).or_insert(Import { from, to, line, path });
                }
            }
        }
    }
    found.into_values().collect()
}

/// Whether a module's re-exports are no imports: the root's, those of a module in the root's file,
/// and those of `__private`.
fn is_facade(files: &Crate, at: usize) -> bool {
    let node = &files.modules[at];
    let private = files.modules[0].children.get("__private");
    node.file == 0 || private.is_some_and(|private| files.modules[*private].file == node.file)
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
enum Target {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

impl Target {
    fn file(self, files: &Crate) -> usize {
        let (Self::Module(at) | Self::Item(at)) = self;
        files.modules[at].file
    }
}

/// More re-exports of re-exports than anybody writes.
const DEEPEST: usize = 16;

/// What a path in a module leads to within the crate: more than one where a name is that of a
/// module and of something else.
fn resolve(files: &Crate, mut at: usize, path: &[String], depth: usize) -> Vec<Target> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let Some((first, mut rest)) = path.split_first() else { return Vec::new() };
    match first.as_str() {
        "crate" => at = 0,
        "self" => {}
        "super" => at = files.modules[at].parent,
        _ => {
            let node = &files.modules[at];
            let known = node.children.contains_key(first)
                || node.module.items.contains(first)
                // A name that a `use` gives to itself is a crate's.
                || node.module.aliases.get(first).is_some_and(|paths| {
                    paths.iter().any(|alias| alias.first() != Some(first))
                });
            return if known { within(files, at, path, depth) } else { Vec::new() };
        }
    }
    while let Some(("super", after)) =
        rest.split_first().map(|(name, after)| (name.as_str(), after))
    {
        at = files.modules[at].parent;
        rest = after;
    }
    within(files, at, rest, depth)
}

/// What a path leads to from a module that has its first name.
fn within(files: &Crate, at: usize, path: &[String], depth: usize) -> Vec<Target> {
    let Some((first, rest)) = path.split_first() else { return vec![Target::Module(at)] };
    match look_up(files, at, first, rest, depth) {
        Some(found) => found,
        None if at == 0 => {
            let exports = |node: &Node| node.module.exported_macros.contains(first);
            let from = files.modules.iter().position(exports);
            vec![Target::Item(from.unwrap_or(at))]
        }
        // A macro has made it.
        None => vec![Target::Item(at)],
    }
}

/// `None` if a module shows nothing of this name.
fn look_up(
    files: &Crate,
    at: usize,
    first: &String,
    rest: &[String],
    depth: usize,
) -> Option<Vec<Target>> {
    if depth > DEEPEST {
        return None;
    }
    let node = &files.modules[at];
    let mut found = Vec::new();
    let child = node.children.get(first);
    if let Some(child) = child {
        found.extend(within(files, *child, rest, depth + 1));
        if !rest.is_empty() {
            return Some(found);
        }
    }
    if node.module.items.contains(first) {
        found.push(Target::Item(at));
        return Some(found);
    }
    if let Some(paths) = node.module.aliases.get(first) {
        for alias in paths {
            for target in resolve(files, at, alias, depth + 1) {
                match target {
                    Target::Module(module) => found.extend(within(files, module, rest, depth + 1)),
                    Target::Item(_) => found.push(target),
                }
            }
        }
        // What is another crate's is no import.
        return Some(found);
    }
    if child.is_some() {
        return Some(found);
    }
    for glob in &node.module.globs {
        for target in resolve(files, at, glob, depth + 1) {
            if let Target::Module(module) = target
                && module != at
                && let Some(found) = look_up(files, module, first, rest, depth + 1)
            {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(sources: &[(&str, &str)]) -> Vec<String> {
        let files = Crate::of(sources);
        let name = |file: usize| files.paths[file].trim_end_matches(".rs").to_owned();
        let found = imports(&files);
        let mut edges: Vec<_> = found
            .iter()
            .map(|import| format!("{} {}", name(import.from), name(import.to)))
            .collect();
        edges.sort();
        edges
    }

    #[test]
    fn a_declared_module_is_not_imported() {
        assert_eq!(edges(&[("lib.rs", "mod a;"), ("a.rs", "")]), [""; 0]);
        assert_eq!(edges(&[("lib.rs", "mod a; fn f() { a::g() }"), ("a.rs", "")]), ["lib a"]);
    }

    #[test]
    fn re_exports_of_the_root_are_no_imports_and_lead_to_the_definition() {
        let sources = [
            (
                "lib.rs",
                "mod a; mod b; pub mod __private; pub use a::A; pub mod prelude { pub use crate::A; }",
            ),
            ("a.rs", "pub struct A; pub struct Hidden;"),
            ("b.rs", "use crate::A; use crate::prelude::A as B; use crate::__private::Hidden;"),
            ("__private.rs", "pub use crate::a::Hidden;"),
        ];
        assert_eq!(edges(&sources), ["b a"]);
    }

    #[test]
    fn re_exports_of_other_modules_are_imports() {
        let sources = [
            ("lib.rs", "mod a; mod c;"),
            ("a/mod.rs", "mod b; pub(crate) use b::{B, C as D}; pub struct Own;"),
            ("a/b.rs", "use super::Own; pub struct B; pub struct C;"),
            ("c.rs", "fn f() -> crate::a::B { crate::a::D::new() }"),
        ];
        assert_eq!(edges(&sources), ["a/b a/mod", "a/mod a/b", "c a/b"]);
    }

    #[test]
    fn paths_go_through_names_globs_and_other_crates() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "pub use crate::b::*; pub use std::fmt;"),
            ("b.rs", "pub fn f() {}"),
            ("c.rs", "use crate::a; fn g() { a::f() }"),
            ("d.rs", "use super::a::fmt; use std::a::b; fn b() { std::c::f() }"),
        ];
        assert_eq!(edges(&sources), ["a b", "c a", "c b"]);
    }

    #[test]
    fn a_name_may_be_a_module_and_a_function() {
        let sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod f; pub use f::f;"),
            ("a/f.rs", "pub fn f() {}"),
            ("b.rs", "use crate::a::f;"),
        ];
        assert_eq!(edges(&sources), ["a/mod a/f", "b a/f"]);
    }

    #[test]
    fn exported_macros_are_where_they_are_written() {
        let sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[macro_export] macro_rules! m { () => {} }"),
            ("b.rs", "fn f() { crate::m!() }"),
        ];
        assert_eq!(edges(&sources), ["b a"]);
    }

    #[test]
    fn super_goes_up_as_far_as_it_says() {
        let sources = [
            ("lib.rs", "mod a; mod x;"),
            ("a/mod.rs", "mod b; pub struct A;"),
            (
                "a/b.rs",
                "mod inner { use super::super::A; use super::super::super::x::X; use super::Y; } struct Y;",
            ),
            ("x.rs", "pub struct X;"),
        ];
        assert_eq!(edges(&sources), ["a/b a/mod", "a/b x"]);
    }
}
