//! The cases as a program, for other settings of the compiler.

// What a program does not use, the test does.
#![allow(dead_code)]

mod cases;

fn main() {
    let cases: Vec<_> = cases::SECTIONS.iter().flat_map(|section| section.cases).collect();
    for case in &cases {
        eprintln!("{}", case.title);
        (case.run)();
    }
    println!("{} lines work", cases.len());
}
