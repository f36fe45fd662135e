//! What is measured, and how far it may go.

use std::collections::BTreeSet;

use crate::list::List;
use crate::tokens::{find, lines};
use crate::tree::Tree;
use crate::{circles, links, walks, words};

/// A number that is to be small.
pub struct Measure {
    pub name: &'static str,
    /// What it counts.
    pub what: &'static str,
    /// What it may be. It is lowered with each improvement, and never raised, but that of `lines` by what
    /// a new feature takes.
    pub limit: usize,
    /// What it is to be.
    pub goal: usize,
    pub list: fn(&Tree) -> Result<List, String>,
}

/// All of them.
pub const MEASURES: &[Measure] = &[
    Measure {
        name: "lines",
        what: "lines of code that users get, without tests, comments and blank lines",
        limit: 108_200,
        goal: 80_000,
        list: code_lines,
    },
    Measure {
        name: "long-files",
        what: "files of more than 870 lines",
        limit: 0,
        goal: 0,
        list: long_files,
    },
    Measure {
        name: "circles",
        what: "circles of files that import each other",
        limit: 0,
        goal: 0,
        list: all_circles,
    },
    Measure { name: "passes", what: "passes in the registry", limit: 52, goal: 55, list: passes },
    Measure {
        name: "llvm-pipelines",
        what: "files besides pipeline.rs and llvm_passes.rs with lists of passes of LLVM",
        limit: 0,
        goal: 0,
        list: llvm_pipelines,
    },
    Measure {
        name: "device-kinds",
        what: "places outside hal/dispatch.rs that ask for a device's kind",
        limit: 0,
        goal: 0,
        list: device_kinds,
    },
    Measure {
        name: "targets",
        what: "places where a folder of stage 2 imports a target's",
        limit: 0,
        goal: 0,
        list: targets,
    },
    Measure {
        name: "target-files",
        what: "files outside its folders that name the target AMDGCN",
        limit: 6,
        goal: 4,
        list: target_files,
    },
    Measure {
        name: "variables",
        what: "places outside tables that name an environment variable",
        limit: 0,
        goal: 0,
        list: variables,
    },
    Measure {
        name: "environment",
        what: "places outside util/variables.rs where the runtime reads the environment",
        limit: 0,
        goal: 0,
        list: environment,
    },
    Measure {
        name: "links",
        what: "links of documents that lead nowhere, and pages that the book lacks",
        limit: 0,
        goal: 0,
        list: links::list,
    },
    Measure {
        name: "words",
        what: "lines with a word that is not to be used",
        limit: 0,
        goal: 0,
        list: words::list,
    },
    Measure {
        name: "launch",
        what: "files of runtime/src/code that a launch passes through",
        limit: 5,
        goal: 5,
        list: |tree| walks::list_one_way(tree, "launch", "runtime/src/code/"),
    },
    Measure {
        name: "launch-returns",
        what: "returns in these files, besides their ends",
        limit: 3,
        goal: 3,
        list: |tree| walks::returns(tree, "launch", "runtime/src/code/"),
    },
    Measure {
        name: "stage-1",
        what: "files of codegen that stage 1 passes through",
        limit: 10,
        goal: 10,
        list: |tree| walks::list(tree, "stage 1", "codegen/src/"),
    },
    Measure {
        name: "stage-2",
        what: "files of runtime/jit that stage 2 passes through",
        limit: 10,
        goal: 10,
        list: |tree| walks::list(tree, "stage 2", "runtime/jit/src/"),
    },
];

fn code_lines(tree: &Tree) -> Result<List, String> {
    let of = |path: &str| {
        let mut parts = path.split('/');
        let first = parts.next().unwrap_or_default();
        match parts.next() {
            Some("src") | None => first.to_owned(),
            Some(second) => format!("{first}/{second}"),
        }
    };
    let crates: BTreeSet<String> = tree.shipped.iter().map(|source| of(&source.path)).collect();
    let count = |name: &String| {
        let own = tree.shipped.iter().filter(|source| of(&source.path) == *name);
        own.map(|source| lines(&source.tokens)).sum()
    };
    Ok(List::Numbers(crates.iter().map(|name| (name.clone(), count(name))).collect()))
}

fn long_files(tree: &Tree) -> Result<List, String> {
    let sources = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let long = sources.map(|file| (file.text.lines().count(), &file.path));
    let long = long.filter(|(lines, _)| *lines > 870);
    Ok(List::Findings(long.map(|(lines, path)| format!("{path}: {lines} lines")).collect()))
}

fn all_circles(tree: &Tree) -> Result<List, String> {
    let mut all = Vec::new();
    for source in &tree.crates {
        all.extend(circles::of(source)?);
    }
    Ok(List::Findings(all))
}

/// The folders of what a program has of the runtime.
const HOST_SIDE: [&str; 2] = ["runtime/src/", "runtime/stdpar/src/"];

/// The places of some tokens in the files of some folders.
fn places(tree: &Tree, folders: &[&str], sequence: &[&str]) -> Vec<String> {
    let is_there = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    let sources = tree.shipped.iter().filter(|source| is_there(&source.path));
    let found = sources.flat_map(|source| {
        let lines = find(&source.tokens, sequence);
        lines.into_iter().map(|line| format!("{}:{line}", source.path))
    });
    found.collect()
}

fn passes(tree: &Tree) -> Result<List, String> {
    let named = |source: &crate::tree::Source| {
        let calls = source.tokens.windows(3).filter(|part| {
            ["pass", "optional"].contains(&&*part[0].text)
                && part[1].text == "("
                && part[2].text.starts_with('"')
        });
        calls.map(|part| part[2].text.clone()).collect::<Vec<_>>()
    };
    let registry = tree.shipped.iter().filter(|source| source.path == "passes/src/registry.rs");
    Ok(List::Findings(registry.flat_map(named).collect()))
}

/// The lists of LLVM's passes are in `pipeline.rs`, between ours, and in `llvm_passes.rs`, within them.
/// A build script has its own.
fn llvm_pipelines(tree: &Tree) -> Result<List, String> {
    const OWN: [&str; 2] = ["passes/src/pipeline.rs", "passes/src/llvm_passes.rs"];
    let is_list = |text: &str| {
        let is_constant = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        text.starts_with('"') || is_constant && !text.is_empty()
    };
    let mut found = Vec::new();
    let sources = tree.shipped.iter().filter(|source| !source.path.contains("/build/"));
    for source in sources.filter(|source| !OWN.contains(&&*source.path)) {
        let calls = source.tokens.windows(3);
        let runs = |part: &&[crate::tokens::Token]| {
            ["run_passes", "run_passes_for"].contains(&&*part[0].text)
                && part[1].text == "("
                && is_list(&part[2].text)
        };
        if let Some(call) = calls.into_iter().find(runs) {
            found.push(format!("{}:{}", source.path, call[0].line));
        }
    }
    Ok(List::Findings(found))
}

fn device_kinds(tree: &Tree) -> Result<List, String> {
    let all = places(tree, &HOST_SIDE, &["DeviceKind", ":", ":", ""]);
    let own = |place: &String| !place.starts_with("runtime/src/hal/dispatch.rs");
    Ok(List::Findings(all.into_iter().filter(own).collect()))
}

fn targets(tree: &Tree) -> Result<List, String> {
    let mut all = Vec::new();
    for target in ["cpu", "ptx", "spirv", "amdgcn"] {
        all.extend(places(tree, &["runtime/jit/src/"], &["crate", ":", ":", target]));
    }
    // The root of the crate names them all.
    let in_folder = |place: &String| place.trim_start_matches("runtime/jit/src/").contains('/');
    Ok(List::Findings(all.into_iter().filter(in_folder).collect()))
}

fn environment(tree: &Tree) -> Result<List, String> {
    let readings: [&[&str]; 5] = [
        &["env", ":", ":", "var"],
        &["env", ":", ":", "var_os"],
        &["env", ":", ":", "vars_os"],
        &["trust", ":", ":", "variable"],
        &["from_environment", "(", "&"],
    ];
    let all = readings.iter().flat_map(|reading| places(tree, &HOST_SIDE, reading));
    let own = |place: &String| !place.starts_with("runtime/src/util/variables.rs");
    Ok(List::Findings(all.filter(own).collect()))
}

fn target_files(tree: &Tree) -> Result<List, String> {
    const OWN: [&str; 3] = ["/amdgcn/", "/amdgcn.rs", "/hip/"];
    let outside =
        tree.shipped.iter().filter(|source| !OWN.iter().any(|own| source.path.contains(own)));
    let names = |source: &&crate::tree::Source| {
        source.tokens.iter().any(|token| token.text.to_ascii_lowercase().contains("amdgcn"))
    };
    Ok(List::Findings(outside.filter(names).map(|source| source.path.clone()).collect()))
}

/// What a build script tells its crate by `env!` is no variable of the environment.
fn variables(tree: &Tree) -> Result<List, String> {
    let mut found = Vec::new();
    for source in tree.shipped.iter().filter(|source| !source.path.ends_with("/variables.rs")) {
        for (at, token) in source.tokens.iter().enumerate() {
            let name = token.text.strip_prefix("\"SCHISM_").and_then(|rest| rest.strip_suffix('"'));
            let is_name = name.is_some_and(|name| {
                name.bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
            });
            let before = &source.tokens[at.saturating_sub(3)..at];
            if is_name && !before.iter().map(|token| &*token.text).eq(["env", "!", "("]) {
                found.push(format!("{}:{} {}", source.path, token.line, token.text));
            }
        }
    }
    Ok(List::Findings(found))
}
