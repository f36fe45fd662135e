//! What `--help` says: of all verbs the whole of `usage.txt`, of one verb its part of it.

use crate::arguments;

const USAGE: &str = include_str!("usage.txt");
/// The heading in it of the variables.
const VARIABLES: &str = "\nEnvironment:\n";

/// The help for all verbs.
pub fn all() -> String {
    USAGE.to_owned()
}

/// The help for one verb. Of one that is cargo's too this is what schism adds.
pub fn of(verb: &str) -> String {
    let (verbs, variables) = USAGE.split_once(VARIABLES).unwrap_or((USAGE, ""));
    let mut text = format!("cargo schism {verb}\n\n{}", part(verbs, verb));
    if arguments::compiles(verb) || ["emit", "explain", "bundle", "profile"].contains(&verb) {
        text.push_str(VARIABLES);
        text.push_str(variables);
    }
    text
}

/// The entries of a usage that are about a verb.
pub fn part(usage: &str, verb: &str) -> String {
    let (mut text, mut within) = (String::new(), false);
    for line in usage.lines() {
        if let Some(entry) = line.strip_prefix("  ").filter(|entry| !entry.starts_with(' ')) {
            within = names(entry).any(|name| name == verb);
        } else if line.is_empty() {
            within = false;
        }
        if within {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The verbs that an entry is about: `build, run  …`, `cache clear  …`.
fn names(entry: &str) -> impl Iterator<Item = &str> {
    let heading = entry.split("  ").next().unwrap_or_default();
    heading.split(", ").filter_map(|name| name.split(' ').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_part_and_nothing_of_the_others() {
        for verb in arguments::verbs() {
            let text = of(verb);
            let about = text.lines().nth(2).unwrap_or_default();
            assert!(names(about.trim_start()).any(|name| name == verb), "{verb}: {text}");
        }
        assert!(of("build").contains("--targets LIST") && of("build").contains("SCHISM_WARN"));
        let emit = of("emit");
        assert!(emit.contains("--kernel NAME") && emit.contains("-o OUT"), "{emit}");
        assert!(!emit.contains("--jit") && !emit.contains("llvm-to-ptx"), "{emit}");
        assert!(of("bundle").contains("--jit"));
        assert!(of("cache").contains("cache verify") && !of("cache").contains("SCHISM_WARN"));
        assert!(of("bench").contains("--targets LIST"));
    }
}
