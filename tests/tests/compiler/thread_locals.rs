//! On the device `native` a work-item that waits keeps the values of its thread-local variables.
//! See `crates/thread_locals.rs`.

use schism_tests::container::containers;
use schism_tests::lab::{Compiler, Lab, clean_command, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

const EXPECTED: &str = "scoped: [40] threads a group, true\n\
                        no barrier: [1] threads a group, true\n\
                        a panic: true true\n";

#[test]
fn thread_locals_stay_with_their_work_item() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("thread_locals");
    for compiler in [Compiler::Schism, Compiler::Stock] {
        for level in ["0", "3"] {
            let mut rustc = lab.rustc(compiler, &folder);
            lab.runtime_of(compiler).add_to(&mut rustc);
            rustc.arg(format!("-Copt-level={level}"));
            text(rustc.arg(source("crates/thread_locals.rs")).args(["-o", "program"]));
            let mut run = clean_command(folder.join("program"));
            let found = text(run.env("SCHISM_DEVICE", "native"));
            assert_eq!(found, EXPECTED, "{compiler:?}, opt-level {level}");
        }
    }
}

/// What the compiler finds out: the walk sees what the host half runs, through generics, closures,
/// trait objects and other statics.
const KERNELS: &str = r#"
use std::cell::{Cell, RefCell};
use schism::prelude::*;

thread_local! {
    static FIRST: Cell<u32> = const { Cell::new(0) };
    static LAZY: RefCell<Vec<u32>> = RefCell::new(Vec::new());
}
static INDIRECT: &std::thread::LocalKey<Cell<u32>> = &FIRST;
static TABLE: [fn(u32) -> u32; 2] = [one, one];

fn one(value: u32) -> u32 {
    value + 1
}

fn deeper(value: u32) -> u32 {
    FIRST.with(|first| first.replace(value))
}

fn generic<T>(value: T, run: impl Fn(T) -> u32) -> u32 {
    run(value)
}

macro_rules! kernels {
    ($($name:ident: |$item:ident, $tile:ident| $body:expr;)*) => {
        $(fn $name(queue: &Queue) {
            let range = NdRange::new(64, 32).expect("even groups");
            queue
                .for_each_in(range, local::<u32>(32), |$item, $tile| {
                    $tile.set($item.local_x(), 1);
                    $item.barrier();
                    if !schism::is_device() {
                        $body;
                    }
                })
                .expect("it runs")
        })*
        const ALL: &[fn(&Queue)] = &[$($name),*];
    };
}
kernels! {
    none_message: |item, tile| assert!(tile.get(item.local_x()) == 1, "it is {}", tile.get(0));
    none_collective: |item, tile| {
        let sum = item.reduce_add(tile.get(item.local_x()));
        assert!(sum == 32 && item.sub_group().reduce_add(1_u32) == 32);
    };
    none_generic: |item, tile| assert!(generic(tile.get(item.local_x()), one) == 2);
    none_vector: |item, tile| {
        let numbers: Vec<u32> = (0..tile.get(item.local_x())).map(|x| x * 2).collect();
        assert!(numbers.iter().sum::<u32>() == 0);
    };
    used_const: |item, tile| FIRST.set(tile.get(item.local_x()));
    used_lazy: |item, tile| LAZY.with_borrow_mut(|lazy| lazy.push(tile.get(item.local_x())));
    used_static: |item, tile| INDIRECT.set(tile.get(item.local_x()));
    used_function: |item, tile| assert!(deeper(tile.get(item.local_x())) < 2);
    used_generic: |item, tile| assert!(generic(tile.get(item.local_x()), deeper) < 2);
    used_closure: |item, tile| assert!(generic(tile.get(item.local_x()), |x| deeper(x) + 1) < 3);
    unknown_pointer: |item, tile| assert!(TABLE[tile.get(item.local_x()) as usize](1) == 2);
}

fn main() {
    let queue = Queue::new().expect("a queue");
    for kernel in ALL {
        kernel(&queue);
    }
    println!("done");
}
"#;

#[test]
fn kernels_without_thread_locals_are_known() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("thread_locals_known");
    std::fs::write(folder.join("kernels.rs"), KERNELS).expect("a file can be written");
    for level in ["0", "3"] {
        let mut rustc = lab.rustc_with_runtime(&folder);
        text(rustc.arg(format!("-Copt-level={level}")).args(["kernels.rs", "-o", "kernels"]));
        let containers = containers(&folder.join("kernels"));
        let own = containers.iter().find(|container| container.crate_name == "kernels");
        let kernels = &own.expect("the program's container").kernels;
        assert_eq!(kernels.len(), 11);
        for kernel in kernels {
            let name = &kernel.display_name;
            let none = name.contains("none_");
            assert!(none || name.contains("used_") || name.contains("unknown_"), "{name}");
            assert_eq!(kernel.no_thread_locals, none, "opt-level {level}: {name}");
        }
        let mut run = clean_command(folder.join("kernels"));
        assert_eq!(text(run.env("SCHISM_DEVICE", "native")), "done\n");
    }
}
