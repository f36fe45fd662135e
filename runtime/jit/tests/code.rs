//! What the generated code looks like, read from the dumps of `SCHISM_DUMP_DIR`.

mod support;

use std::path::{Path, PathBuf};

use schism_jit_abi::*;
use support::{Source, many_loops, param, words};

/// A kernel's dumps.
struct Dumps {
    legalized: String,
    optimised: String,
    assembly: String,
}

fn dumps(directory: &Path, source: &Source) -> Dumps {
    let directory = directory.join(&source.kernel);
    // SAFETY: this file has one test, so no other thread looks at the environment meanwhile but the
    // compile thread, which begins after this and has ended before the next.
    unsafe { std::env::set_var("SCHISM_DUMP_DIR", &directory) };
    drop(source.build());
    let files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("it was made")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    let read = |suffix: &str| {
        let file = files.iter().find(|file| file.to_string_lossy().ends_with(suffix));
        std::fs::read_to_string(file.unwrap_or_else(|| panic!("no {suffix} in {files:?}")))
            .expect("text")
    };
    assert!(!read(".1-image.ll").is_empty());
    assert!(files.iter().any(|file| file.extension().is_some_and(|e| e == "o")));
    Dumps {
        legalized: read(".2-legalized.ll"),
        optimised: read(".3-optimized.ll"),
        assembly: read(".s"),
    }
}

/// Whether anything calls a function whose name begins so.
fn calls(text: &str, callee: &str) -> bool {
    text.lines().any(|line| line.contains("call ") && line.contains(callee))
}

#[test]
fn the_generated_code() {
    let directory = tempfile::tempdir().expect("a folder");
    let directory = directory.path();
    let pointers = || words(&[PARAM_POINTER; 2]);
    let saxpy = |kernel: &str| {
        let params =
            vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
        Source::new(include_str!("kernels/saxpy.ll"), kernel, params)
    };

    // saxpy is a vector loop with nothing checked before it, whether its views may overlap or not.
    for kernel in ["saxpy", "saxpy_slice"] {
        let dumps = dumps(directory, &saxpy(kernel));
        assert!(
            dumps.optimised.contains("vector.body:"),
            "{kernel} is not vectorised:\n{}",
            dumps.optimised
        );
        assert!(
            !dumps.optimised.contains("memcheck"),
            "{kernel} checks pointers:\n{}",
            dumps.optimised
        );
        assert!(
            dumps.assembly.contains("mulps") && dumps.assembly.contains("addps"),
            "{}",
            dumps.assembly
        );
        assert!(!dumps.assembly.contains("fmadd"), "{kernel} contracts:\n{}", dumps.assembly);
        // Nothing is left of builtins, nor of a panic that cannot be.
        for callee in ["@__schism", "@schism.item", "@__schism_cpu", "@llvm.eh.sjlj"] {
            assert!(!calls(&dumps.optimised, callee), "{callee}:\n{}", dumps.optimised);
        }
        assert!(dumps.legalized.contains("!llvm.access.group"));
    }
    let slice = dumps(directory, &saxpy("saxpy_slice")).legalized;
    assert!(slice.contains("ptr noalias readonly align 4 %p1"), "attributes are kept:\n{slice}");

    // A sum is one after the other, unless the launch allows other orders; then it is a vector
    // loop.
    let sums = |flags| {
        let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
        let source = Source::new(include_str!("kernels/special.ll"), "sums", params).flags(flags);
        dumps(&directory.join(flags.to_string()), &source)
    };
    let precise = sums(0);
    assert!(
        precise.legalized.contains("= fadd float") && precise.optimised.contains("= fadd float")
    );
    assert!(!precise.optimised.contains("vector.body:"), "{}", precise.optimised);
    let relaxed = sums(FLAG_RELAXED_MATH);
    assert!(relaxed.legalized.contains("= fadd reassoc nsz arcp contract afn float"));
    assert!(relaxed.optimised.contains("vector.body:"), "{}", relaxed.optimised);
    assert!(!relaxed.legalized.contains("nnan"), "{}", relaxed.legalized);
    let finite = sums(FLAG_RELAXED_MATH | FLAG_FINITE_MATH);
    assert!(finite.legalized.contains("= fadd reassoc nsz arcp contract afn float"));
    assert!(!finite.legalized.contains("nnan"), "poison out of safe code:\n{}", finite.legalized);

    // A constant's value is part of the code.
    let special =
        Source::new(include_str!("kernels/special.ll"), "special", words(&[PARAM_POINTER]));
    let special = dumps(directory, &special.constant("TILE", &77_u32.to_le_bytes()));
    assert!(!special.optimised.contains("@TILE"), "{}", special.optimised);
    assert!(special.optimised.contains("77"), "{}", special.optimised);

    // A panic in the loop function is a way out of the loop; only one elsewhere needs a place to
    // land.
    let panics = |kernel: &str| {
        let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
        dumps(directory, &Source::new(include_str!("kernels/panics.ll"), kernel, params)).optimised
    };
    let inlined = panics("inlined");
    assert!(calls(&inlined, "@__schism_cpu_record_text") && !calls(&inlined, "@llvm.eh.sjlj"));
    assert!(!inlined.contains("alloca"), "no context:\n{inlined}");
    // What a message is made in is no work-item's memory.
    let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
    let formatted = Source::new(include_str!("kernels/panics.ll"), "formatted", params);
    let formatted = dumps(&directory.join("formatted"), &formatted);
    assert!(formatted.legalized.contains("!llvm.access.group"), "{}", formatted.legalized);
    assert!(calls(&formatted.optimised, "@__schism_cpu_record_format"), "{}", formatted.optimised);
    let recursive = panics("recursive");
    assert!(calls(&recursive, "@llvm.eh.sjlj.setjmp"));
    let never = panics("never");
    assert!(!never.contains("__schism_cpu"), "the range is known:\n{never}");
    assert!(never.contains("memset"), "and the loop is one store:\n{never}");

    // Work-items that share memory by atomics, or whose locals share a place, are not called
    // independent.
    let kinds = |kernel: &str| {
        dumps(directory, &Source::new(include_str!("kernels/kinds.ll"), kernel, pointers()))
    };
    for kernel in ["histogram", "locals"] {
        assert!(!kinds(kernel).legalized.contains("!llvm.access.group"), "{kernel}");
    }

    // Few loops become parts of the nest around them; of very many LLVM would look at each again
    // whenever it changes one.
    for (loops, is_called) in [(10, false), (70, true)] {
        let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
        let dumps = dumps(
            &directory.join(loops.to_string()),
            &Source::new(&many_loops(loops), "many", params),
        );
        assert_eq!(calls(&dumps.optimised, "@schism.kernel"), is_called, "{loops} loops");
    }
}
