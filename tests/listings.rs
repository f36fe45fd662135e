//! The listings of the guide that no compiler reads: commands, a workflow, a Dockerfile.

use std::path::Path;
use std::process::Command;

/// The text of the tool's help, which has its verbs and options.
const USAGE: &str = include_str!("../build_system/src/usage.txt");

/// Options of cargo's that the listings have.
const CARGOS: [&str; 3] = ["--release", "--example", "--path"];

/// The README and the chapters of the guide, by their names.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guide = std::fs::read_dir(root.join("docs/guide")).expect("the guide is a folder");
    let chapters = guide.map(|entry| entry.expect("readable").path());
    let read = |path: &Path| std::fs::read_to_string(path).expect("a page");
    let page = |path: std::path::PathBuf| (path.display().to_string(), read(&path));
    chapters.chain([root.join("README.md")]).map(page).collect()
}

/// The blocks of a page in a language.
fn blocks<'page>(page: &'page str, language: &str) -> Vec<&'page str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// A block of the chapter about CI.
fn of_ci(language: &str) -> &'static str {
    blocks(include_str!("../docs/guide/ci.md"), language)[0]
}

/// Has a shell read a script, which it does not run.
fn is_shell(script: &str) {
    let shell = Command::new("sh").args(["-n", "-c", script]).status().expect("there is a shell");
    assert!(shell.success(), "a shell does not take {script}");
}

#[test]
fn every_command_has_a_verb_and_options_that_exist() {
    let verbs: Vec<&str> = USAGE
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .flat_map(|line| line.split([' ', ',']))
        .collect();
    let mut count = 0;
    for (name, page) in pages() {
        let languages = ["console", "yaml", "dockerfile"];
        let lines = languages.iter().flat_map(|language| blocks(&page, language));
        for line in lines.flat_map(str::lines) {
            for command in line.split("cargo schism ").skip(1) {
                let command = command.split(['#', '&', '|', ')']).next().unwrap_or_default();
                let mut words = command.split_whitespace().take_while(|word| *word != "--");
                let verb = words.next().unwrap_or_default();
                assert!(verbs.contains(&verb), "{name}: no verb `{verb}`: {line}");
                for option in words.filter(|word| word.starts_with("--")) {
                    let option = option.split('=').next().unwrap_or_default();
                    let is_known = USAGE.contains(option) || CARGOS.contains(&option);
                    assert!(is_known, "{name}: no option `{option}`: {line}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 15, "{count} commands");
}

/// Its indentation and its keys are YAML's, and what it runs is a shell's.
#[test]
fn the_workflow_is_well_formed() {
    let mut block: Option<(usize, String)> = None;
    let mut runs = 0;
    let mut last = 0;
    for line in of_ci("yaml").lines().chain(["end:"]) {
        let depth = line.len() - line.trim_start().len();
        if let Some((above, script)) = &mut block {
            if depth > *above {
                script.push_str(line.trim_start());
                script.push('\n');
                continue;
            }
            is_shell(script);
            block = None;
        }
        assert!(depth % 2 == 0 && depth <= last + 2 && !line.contains('\t'), "{line}");
        let entry = line.trim_start();
        last = if entry.starts_with("- ") { depth + 2 } else { depth };
        let (key, value) = entry.trim_start_matches("- ").split_once(':').expect("a key");
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{line}");
        if value == " |" {
            block = Some((depth, String::new()));
        } else if key == "run" {
            is_shell(value);
        }
        runs += usize::from(key == "run");
    }
    assert_eq!(runs, 4);
}

/// It has instructions of Docker's and scripts of a shell; copies from stages that it has; and the
/// program's user is none with rights.
#[test]
fn the_dockerfile_is_well_formed() {
    let known = ["ARG", "CMD", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"];
    let (mut stages, mut user) = (Vec::new(), "root");
    for line in
        of_ci("dockerfile").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (word, rest) = line.split_once(' ').expect("an instruction and what it takes");
        assert!(known.contains(&word), "{line}");
        assert!(word == "FROM" || !stages.is_empty(), "the first is FROM: {line}");
        match word {
            "FROM" => {
                stages.push(rest.split_once(" AS ").map_or("", |(_, name)| name));
                user = "root";
            }
            "RUN" => is_shell(rest),
            "USER" => user = rest,
            "COPY" => {
                let from = rest.strip_prefix("--from=").and_then(|rest| rest.split(' ').next());
                assert!(from.is_none_or(|from| stages.contains(&from)), "{line}");
            }
            _ => {}
        }
    }
    assert!(stages.len() == 2 && user != "root");
}
