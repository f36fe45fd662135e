//! Directives in programs of all editions, by both compilers, on every device that needs no driver.

use std::collections::BTreeSet;

use schism_tests::lab::{Compiler, Lab, clean_command, source, text};

/// What a program prints: the same, however it is compiled and wherever it runs.
fn printed(name: &str, editions: &[&str]) -> Option<String> {
    let lab = Lab::open(env!("CARGO_TARGET_TMPDIR"))?;
    let folder = lab.folder(name);
    let mut all = BTreeSet::new();
    for edition in editions {
        for (compiler, devices) in [
            (Compiler::Stock, &["native"][..]),
            (Compiler::Schism, &["native", "cpu", "cpu:copies"]),
        ] {
            let program = folder.join(format!("{name}-{edition}-{compiler:?}"));
            let mut rustc = clean_command(lab.compiler(compiler));
            rustc.current_dir(&folder).arg(format!("--edition={edition}"));
            lab.runtime_of(compiler).add_to(&mut rustc);
            rustc.arg("-o").arg(&program).arg(source(&format!("crates/{name}.rs")));
            assert_eq!(text(&mut rustc), "", "{edition}, {compiler:?}");
            for device in devices {
                let mut run = clean_command(&program);
                lab.keep_kernels(&mut run);
                let printed = text(run.env("SCHISM_DEVICE", device));
                println!("{edition}, {compiler:?}, {device}: {printed}");
                all.insert(printed);
            }
        }
    }
    assert_eq!(all.len(), 1, "the results differ: {all:#?}");
    all.pop_first()
}

#[test]
fn directives_mean_the_same_in_all_editions() {
    let Some(printed) = printed("editions", &["2018", "2021", "2024"]) else { return };
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("+-+-+-+-+- [0.0, "), "{printed}");
    assert_eq!(lines[1], "[16, 14, 12, 10, 8, 6, 24] 637");
    assert_eq!(lines[2], "[9, 1, 9, 3, 4, 5, 9, 7] [16, 140, 1200, 10000, 8, 60, 2400]");
    assert_eq!(lines[6], "1: Err(Some(\"number 7 is odd\"))");
    assert_eq!(lines.last(), Some(&"[-6, -5, -4]"));
}

#[test]
fn names_may_be_words_that_later_editions_reserve() {
    let Some(printed) = printed("reserved", &["2018", "2021"]) else { return };
    assert_eq!(printed, "45\n7 [5, 6, 7, 8, 9, 10]\n[106, 6, 10, 11, 12, 13]\n");
}
