//! What the tokens of a file say: modules, names, paths. Code that only tests have is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tokens::{after_item, attribute, is, is_colons, never_outside_tests, text_of, word};

/// One `use` of a path, or one path in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// As written: `crate`, `super` and `self` included.
    pub path: Vec<String>,
    /// The line.
    pub line: usize,
    /// Whether it is a `pub use`, with whatever visibility.
    pub re_export: bool,
}

/// A module within a file: the file's own, or one in braces.
#[derive(Debug, Default)]
pub struct Module {
    /// Its name; empty for the file's own.
    pub name: String,
    /// Modules in braces.
    pub inline: Vec<Module>,
    /// `mod name;`, with the value of a `path` attribute.
    pub files: Vec<(String, Option<String>)>,
    /// Names that are defined here.
    pub items: BTreeSet<String>,
    /// Macros with `macro_export`: their paths begin at the root.
    pub exported_macros: BTreeSet<String>,
    /// Names that a `use` gives to a path.
    pub aliases: BTreeMap<String, Vec<Vec<String>>>,
    /// Paths of `use path::*`.
    pub globs: Vec<Vec<String>>,
    /// All paths.
    pub mentions: Vec<Mention>,
}

/// Reads a file's text.
pub fn scan(text: &str) -> Result<Module, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut module = Module::default();
    module.scan(tokens, true);
    Ok(module)
}

impl Module {
    /// `items`: whether these tokens are the module's own items, and not what is within one of
    /// them.
    fn scan(&mut self, tokens: TokenStream, items: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut at, mut public, mut path, mut exported) = (0, false, None, false);
        while at < tokens.len() {
            if let Some((attribute, inner, after)) = attribute(&tokens, at) {
                at = after;
                let name = word(&attribute, 0);
                match name.as_deref() {
                    Some("doc") => {}
                    Some("cfg") if never_outside_tests(&attribute) => {
                        if inner {
                            return;
                        }
                        at = after_item(&tokens, at);
                        (public, path, exported) = (false, None, false);
                    }
                    Some("path") => path = attribute.last().and_then(text_of),
                    Some("macro_export") => exported = true,
                    _ => self.scan(attribute.into_iter().collect(), false),
                }
                continue;
            }
            let next = word(&tokens, at + 1);
            match (word(&tokens, at).as_deref(), next) {
                (Some("pub"), _) => {
                    public = true;
                    at += 1;
                    if matches!(&tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
                    {
                        at += 1;
                    }
                    continue;
                }
                // `use<…>` says what a type captures.
                (Some("use"), _) if !is(&tokens, at + 1, '<') => {
                    let end = (at..tokens.len()).find(|at| is(&tokens, *at, ';'));
                    let end = end.unwrap_or(tokens.len());
                    self.scan_use(&tokens[at + 1..end], &[], public, items);
                    at = end;
                }
                (Some("mod"), Some(name)) => {
                    match tokens.get(at + 2) {
                        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                            let mut inline = Module { name, ..Module::default() };
                            inline.scan(body.stream(), true);
                            self.inline.push(inline);
                        }
                        _ => self.files.push((name, path.take())),
                    }
                    at += 2;
                }
                (Some("macro_rules"), _) if is(&tokens, at + 1, '!') => {
                    if let Some(name) = word(&tokens, at + 2) {
                        if exported {
                            self.exported_macros.insert(name.clone());
                        }
                        self.items.insert(name);
                    }
                    at += 2;
                }
                (
                    Some(
                        "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static",
                    ),
                    Some(name),
                ) if items => {
                    let name = if name == "mut" { word(&tokens, at + 2) } else { Some(name) };
                    self.items.extend(name);
                }
                (Some(_), _) => {
                    let after = self.scan_path(&tokens, at);
                    if after > at {
                        at = after;
                        continue;
                    }
                }
                (None, _) => {
                    if let TokenTree::Group(group) = &tokens[at] {
                        self.scan(group.stream(), false);
                    } else if is_colons(&tokens, at) {
                        // `::name` is a crate, and `>::name` belongs to a type.
                        at += 2;
                        while word(&tokens, at).is_some() && is_colons(&tokens, at + 1) {
                            at += 3;
                        }
                        at += usize::from(word(&tokens, at).is_some());
                        continue;
                    }
                }
            }
            at += 1;
            (public, path, exported) = (false, None, false);
        }
    }

    /// A path of two names or more that begins here; returns the place behind it.
    fn scan_path(&mut self, tokens: &[TokenTree], begin: usize) -> usize {
        let line = tokens[begin].span().start().line;
        let mut path = vec![word(tokens, begin).expect("the caller has seen it")];
        let mut at = begin + 1;
        while is_colons(tokens, at)
            && let Some(name) = word(tokens, at + 2)
        {
            path.push(name);
            at += 3;
        }
        if path.len() == 1 {
            // `super::*` is for `use` only; `crate::<` does not exist.
            return begin;
        }
        self.mentions.push(Mention { path, line, re_export: false });
        at
    }

    /// The tree of a `use`.
    fn scan_use(&mut self, tokens: &[TokenTree], prefix: &[String], public: bool, items: bool) {
        for tree in tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
        {
            let Some(first) = tree.first() else { continue };
            if prefix.is_empty() && is_colons(tree, 0) {
                continue; // `::name` is a crate
            }
            let line = first.span().start().line;
            let mut path = prefix.to_vec();
            let mut at = 0;
            while let Some(name) = word(tree, at) {
                path.push(name);
                at += 1;
                if !is_colons(tree, at) {
                    break;
                }
                at += 2;
            }
            let mention =
                |path: &[String]| Mention { path: path.to_vec(), line, re_export: public };
            match tree.get(at) {
                Some(TokenTree::Group(group)) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    self.scan_use(&inner, &path, public, items);
                }
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                    self.mentions.push(mention(&path));
                    if items {
                        self.globs.push(path);
                    }
                }
                _ => {
                    // `a::{self}` is `a`.
                    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                        path.pop();
                    }
                    let alias = match word(tree, at).as_deref() {
                        Some("as") => word(tree, at + 1),
                        _ => path.last().cloned(),
                    };
                    self.mentions.push(mention(&path));
                    if items && let Some(alias) = alias {
                        self.aliases.entry(alias).or_default().push(path);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        scan(text).unwrap().mentions.iter().map(|mention| mention.path.join("::")).collect()
    }

    #[test]
    fn uses_are_taken_apart() {
        assert_eq!(
            paths("use crate::a::{self, b::{C, d::*}, E as F};\nuse super::g;\nuse ::std::fmt;"),
            ["crate::a", "crate::a::b::C", "crate::a::b::d", "crate::a::E", "super::g"]
        );
        let module = scan("pub(crate) use crate::a::B as C; use d::*;").unwrap();
        assert!(module.mentions[0].re_export && !module.mentions[1].re_export);
        assert_eq!(module.aliases["C"], [["crate", "a", "B"]]);
        assert_eq!(module.globs, [["d"]]);
    }

    #[test]
    fn paths_are_found_wherever_they_are() {
        let text =
            "fn f(x: &crate::a::A) -> Vec<super::B> { m!(x, [crate::c::d()]); self::e::<u8>() }";
        assert_eq!(paths(text), ["crate::a::A", "super::B", "crate::c::d", "self::e"]);
        assert_eq!(paths("macro_rules! m { () => { $crate::a::b() } }"), ["crate::a::b"]);
        assert_eq!(paths("#[derive(crate::D)] struct S;"), ["crate::D"]);
        assert_eq!(
            paths("impl Iterator for X { type Item = <T as crate::t::T>::U; }"),
            ["crate::t::T"]
        );
        assert_eq!(paths("fn f() -> impl Sized + use<'a> { a.b.c(); ::x::y() }"), [""; 0]);
    }

    #[test]
    fn comments_strings_and_visibilities_are_no_paths() {
        let text = "//! crate::a::b\n/// [`crate::c`]\npub(in crate::d::e) struct S; // crate::f::g\n\
                    const T: &str = \"crate::h::i\"; /* crate::j::k */";
        assert_eq!(paths(text), [""; 0]);
    }

    #[test]
    fn code_of_tests_is_left_out() {
        assert_eq!(
            paths("#[cfg(test)] mod tests { use crate::a::b; } use crate::c::d;"),
            ["crate::c::d"]
        );
        assert_eq!(
            paths("#[cfg(test)] #[allow(x)] pub(crate) use crate::a::b; use crate::c::d;"),
            ["crate::c::d"]
        );
        assert_eq!(
            paths("#[cfg(test)] fn f<A, B>() { crate::a::b() } fn g() { crate::c::d() }"),
            ["crate::c::d"]
        );
        assert_eq!(
            paths("#[cfg(test)] const A: [u8; 2] = { crate::a::b() }; type T = crate::c::d;"),
            ["crate::c::d"]
        );
        assert_eq!(paths("#[cfg(all(unix, test))] use crate::a::b;"), [""; 0]);
        assert_eq!(paths("#[cfg(any(unix, test))] use crate::a::b;"), ["crate::a::b"]);
        assert_eq!(paths("#[cfg(not(test))] use crate::a::b;"), ["crate::a::b"]);
        assert_eq!(paths("#[cfg(feature = \"test\")] use crate::a::b;"), ["crate::a::b"]);
        assert_eq!(
            paths("struct S { #[cfg(test)] a: crate::a::A, b: crate::b::B }"),
            ["crate::b::B"]
        );
        assert_eq!(paths("#![cfg(test)]\nuse crate::a::b;"), [""; 0]);
        let module =
            scan("#[cfg(test)]\nmod tests;\n#[path = \"o.rs\"]\nmod other;\nmod plain;").unwrap();
        let files = [("other".to_owned(), Some("o.rs".to_owned())), ("plain".to_owned(), None)];
        assert_eq!(module.files, files);
    }

    #[test]
    fn lines_and_names_are_known() {
        let module =
            scan("struct A;\nstatic mut B: u8 = 0;\nconst fn c() { crate::x::y() }\nmod d {\nfn e() {}\n}")
                .unwrap();
        assert_eq!(module.mentions[0].line, 3);
        assert!(["A", "B", "c"].iter().all(|name| module.items.contains(*name)));
        assert!(module.inline[0].items.contains("e") && module.inline[0].name == "d");
    }
}
