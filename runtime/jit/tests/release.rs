//! Unloading a kernel gives its memory back. Alone in its process, so that nothing else maps code
//! there meanwhile.

mod support;

use schism_jit_abi::*;
use support::{Source, words};

/// Whether an address is in memory that may be executed and not written.
fn is_code(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    maps.lines().any(|line| {
        let (range, rest) = line.split_once(' ').expect("a line of maps");
        let (from, to) = range.split_once('-').expect("a range");
        let parse = |text| usize::from_str_radix(text, 16).expect("hexadecimal");
        (parse(from)..parse(to)).contains(&address) && rest.starts_with("r-xp")
    })
}

#[test]
fn released_code_is_unmapped() {
    let source = Source::new(include_str!("kernels/kinds.ll"), "tables", words(&[PARAM_POINTER]));
    let kernel = source.build();
    let address = kernel.code.entry() as usize;
    assert!(is_code(address));
    assert!(kernel.code.size() > 0 && kernel.lower_micros > 0);
    drop(kernel);
    assert!(!is_code(address));
}
