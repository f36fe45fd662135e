//! Containers in files, and the device IR in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use schism_hcf::{Container, RecordRef, records, sections_of_file};
// Links the toolchain's LLVM, which inkwell leaves to others.
use schism_passes as _;

/// The containers in an executable, a library or an rlib.
///
/// # Panics
/// If the file or one of its records cannot be read.
pub fn containers(file: &Path) -> Vec<Container> {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    records_of(&bytes).iter().map(RecordRef::to_container).collect()
}

/// The records of containers in the contents of an executable, a library or an rlib.
///
/// # Panics
/// If the file or one of its records cannot be read.
pub fn records_of(contents: &[u8]) -> Vec<RecordRef<'_>> {
    let sections = sections_of_file(contents).expect("an ELF file or an archive");
    sections
        .iter()
        .flat_map(|section| records(section.data))
        .map(|record| record.expect("a valid record"))
        .collect()
}

/// The generic image of a container, as IR text.
///
/// # Panics
/// If there is no such image, or it is no bitcode.
pub fn device_ir(container: &Container) -> String {
    let image = container
        .images
        .iter()
        .find(|image| image.name == "llvm-ir.global")
        .expect("every container has the generic image");
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(&image.data, "image");
    let module: Module<'_> =
        Module::parse_bitcode_from_buffer(&buffer, &context).expect("valid bitcode");
    module.verify().expect("valid IR");
    module.print_to_string().to_string()
}

/// Every function and global of a module in text form, with its own text.
pub fn symbols(ir: &str) -> BTreeMap<String, String> {
    let mut symbols = BTreeMap::new();
    let mut function: Option<(String, String)> = None;
    for line in ir.lines() {
        if let Some((_, body)) = &mut function {
            body.push_str(line);
            body.push('\n');
            if line == "}" {
                symbols.extend(function.take());
            }
        } else if line.starts_with("define ") || line.starts_with("declare ") {
            let name = names(line).into_iter().next().expect("a function has a name");
            if line.starts_with("define ") {
                function = Some((name, format!("{line}\n")));
            } else {
                symbols.insert(name, line.to_owned());
            }
        } else if line.starts_with('@') {
            let name = names(line).into_iter().next().expect("a global has a name");
            symbols.insert(name, line.to_owned());
        }
    }
    assert!(function.is_none(), "the IR text ends inside a function");
    symbols
}

/// The functions and globals that a piece of IR text names, in order.
pub fn names(ir: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = ir;
    while let Some(at) = rest.find(['@', '"']) {
        let tail = &rest[at + 1..];
        if rest.as_bytes()[at] == b'@' {
            let quoted = tail.strip_prefix('"');
            let name = quoted.map_or_else(
                || tail.split(|c: char| !(c.is_alphanumeric() || "-$._".contains(c))).next(),
                |quoted| quoted.split('"').next(),
            );
            let name = name.expect("split gives at least one piece");
            names.push(name.to_owned());
            rest = &tail[name.len() + if quoted.is_some() { 2 } else { 0 }..];
        } else {
            // The text of a string constant: LLVM writes a quote inside it as \22.
            let end = tail.find('"').expect("a string ends");
            rest = &tail[end + 1..];
        }
    }
    names
}

/// What cannot be reached from `roots` over any mention of a name.
pub fn unreachable(ir: &str, roots: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let symbols = symbols(ir);
    let mut reached = BTreeSet::new();
    let mut stack: Vec<String> = roots.into_iter().collect();
    while let Some(name) = stack.pop() {
        if let Some(text) = symbols.get(&name)
            && reached.insert(name)
        {
            stack.extend(names(text));
        }
    }
    symbols.into_keys().filter(|name| !reached.contains(name)).collect()
}

/// Branches and switches that are decided before the program runs.
pub fn decided_branches(ir: &str) -> Vec<&str> {
    ir.lines()
        .map(str::trim_start)
        .filter(|line| {
            ["br i1 true", "br i1 false"].iter().any(|branch| line.starts_with(branch))
                || line.strip_prefix("switch i").is_some_and(|operand| {
                    operand
                        .split_once(' ')
                        .is_some_and(|(_, value)| !value.trim_start().starts_with('%'))
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{decided_branches, names, symbols, unreachable};

    const IR: &str = "@a = constant ptr @f\n@s = constant [2 x i8] c\"@x\"\n\
        define void @k() {\n  call void @\"q r\"(ptr @a)\n}\ndefine void @f() {\n  ret void\n}\n\
        define void @lone() {\n  ret void\n}\ndeclare void @\"q r\"(ptr)\n";

    #[test]
    fn names_are_found_outside_of_strings() {
        assert_eq!(names("call void @\"q r\"(ptr @a.0) c\"@x\""), ["q r", "a.0"]);
        assert_eq!(symbols(IR).len(), 6);
    }

    #[test]
    fn what_only_constants_mention_is_reached() {
        let left = unreachable(IR, ["k".to_owned()]);
        assert_eq!(left.into_iter().collect::<Vec<_>>(), ["lone", "s"]);
    }

    #[test]
    fn a_decided_branch_is_seen() {
        assert_eq!(decided_branches("  br i1 true, label %a, label %b").len(), 1);
        assert_eq!(decided_branches("  switch i8 1, label %a [").len(), 1);
        assert!(
            decided_branches("  br i1 %x, label %a, label %b\n  switch i8 %y, label %a [")
                .is_empty()
        );
    }
}
