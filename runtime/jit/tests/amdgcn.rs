//! The code of small kernels for AMD's GPUs. Each code object is compared with the published ABI;
//! no GPU runs it.

mod support;

use schism_jit_abi::*;
use support::amdgcn::{self, PROCESSORS};
use support::gpu::{PANICS, SUBJECTS, panics, subject};
use support::{Source, kernel, param, words};

fn saxpy(kernel: &str) -> Source {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    Source::new(include_str!("kernels/saxpy.ll"), kernel, params)
}

/// Kernels of `panics.ll` that panic where no return leads out of the kernel.
const REFUSED: [&str; 2] = ["recursive", "by_pointer"];

fn count(text: &str, word: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with(word)).count()
}

fn own(arguments: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    arguments.iter().map(|&(kind, offset, size)| (kind.to_owned(), offset, size)).collect()
}

#[test]
fn saxpy_is_what_one_would_write() {
    for processor in PROCESSORS {
        let source = amdgcn::source(saxpy("saxpy_slice"), processor);
        let (code, object) = source.code_object();
        assert_eq!((code.entry.as_str(), code.flags), ("saxpy_slice", GPU_RANGE));
        let arguments = [
            ("global_buffer", 0, 8),
            ("global_buffer", 8, 8),
            ("by_value", 16, 4),
            ("by_value", 24, 8),
        ];
        assert_eq!(object.own, own(&arguments));
        assert_eq!((object.local_bytes, object.private_bytes), (0, 0));
        assert_eq!(object.max_group, 1024);
        let text = source.assembly();
        assert_eq!(count(&text, "global_load_"), 2, "{text}");
        assert_eq!(count(&text, "global_store_"), 1, "{text}");
        // Two roundings.
        assert_eq!((count(&text, "v_mul_f32"), count(&text, "v_add_f32")), (1, 1), "{text}");
        assert_eq!(count(&text, "v_fma") + count(&text, "v_mad_f32"), 0, "{text}");
        assert_eq!(count(&text, "flat_") + count(&text, "scratch_"), 0, "{text}");
    }
}

#[test]
fn every_kernel_becomes_a_code_object() {
    for processor in PROCESSORS {
        for name in SUBJECTS.into_iter().chain(["large"]) {
            let (_, object) = amdgcn::source(subject(name), processor).code_object();
            assert!(object.own.len() >= 3, "{name}: {object:?}");
        }
    }
    // The others are refused, see below. Processors take turns.
    let names = PANICS.into_iter().filter(|name| !REFUSED.contains(name));
    for (name, processor) in names.zip(PROCESSORS.into_iter().cycle()) {
        for (group, assumptions) in [([0; 3], 0), ([128, 1, 1], ASSUME_INDEX_32 | ASSUME_DIVISIBLE)]
        {
            let source = amdgcn::source(panics(name).flags(FLAG_BASE), processor);
            source.group(group).assumptions(assumptions).code_object();
        }
    }
}

#[test]
fn arguments_are_where_the_runtime_puts_them() {
    let offset = Source::new(
        "define void @k(ptr %to, i8 %a, i16 %b, double %c, i64 %ox, i64 %oy, i64 %oz) {
           %x = call i64 @__schism_global_id_x()
           %n = call i64 @__schism_global_range_x()
           %a.wide = zext i8 %a to i64\n%b.wide = zext i16 %b to i64
           %c.wide = bitcast double %c to i64
           %s0 = add i64 %x, %n\n%s1 = add i64 %s0, %ox\n%s2 = add i64 %s1, %a.wide
           %s3 = add i64 %s2, %b.wide\n%s4 = add i64 %s3, %c.wide\n%s5 = add i64 %s4, %oy\n%s6 = add i64 %s5, %oz
           store i64 %s6, ptr %to
           %bad = icmp eq i64 %s6, 99
           br i1 %bad, label %panics, label %ends
         panics:
           call void @__schism_panic(ptr null, i64 0, ptr null)
           unreachable
         ends:
           ret void
         }",
        "k",
        vec![
            param(0, 8, PARAM_POINTER),
            param(8, 1, PARAM_INTEGER),
            param(10, 2, PARAM_INTEGER),
            param(16, 8, PARAM_FLOAT),
        ],
    );
    for processor in PROCESSORS {
        let source = amdgcn::source(offset.clone().flags(FLAG_OFFSET | FLAG_BASE), processor);
        let (code, object) = source.code_object();
        assert_eq!(code.flags, GPU_RANGE | GPU_MESSAGES);
        let mut expected = own(&[
            ("global_buffer", 0, 8),
            ("by_value", 8, 1),
            ("by_value", 10, 2),
            ("by_value", 16, 8),
        ]);
        // The offset, the range, the first id of a sub-grid.
        expected.extend((0..7).map(|index| ("by_value".to_owned(), 24 + 8 * index, 8)));
        expected.push(("global_buffer".to_owned(), 80, 8));
        assert_eq!(object.own, expected);
    }
    // Bytes of the closure are passed by value.
    let (_, object) = amdgcn::source(subject("bytes"), "gfx90a").code_object();
    assert_eq!(object.own[0], ("by_value".to_owned(), 0, 24));
}

#[test]
fn groups_share_memory_and_wait_for_each_other() {
    for processor in PROCESSORS {
        let source = amdgcn::source(subject("group"), processor);
        let (code, object) = source.clone().group([64, 1, 1]).code_object();
        assert_eq!(code.flags, GPU_GROUPS | GPU_BARRIER);
        assert_eq!(object.max_group, 64);
        let (_, object) = source.code_object();
        // The launch says how much memory a group has.
        assert_eq!((object.max_group, object.local_bytes), (1024, 0));
        let text = source.assembly();
        assert_eq!(count(&text, "s_barrier"), 1, "{text}");
        assert!(count(&text, "ds_read") + count(&text, "ds_load") >= 1, "{text}");
        assert!(count(&text, "ds_write") + count(&text, "ds_store") >= 1, "{text}");
    }
}

#[test]
fn a_sub_group_is_a_wave_or_a_half() {
    for processor in PROCESSORS {
        let source = amdgcn::source(subject("sub_group"), processor).group([64, 1, 1]);
        let (_, object) = source.code_object();
        let text = source.assembly();
        assert_eq!(count(&text, "ds_bpermute_b32"), 4, "{text}");
        let halves = count(&text, "v_lshrrev_b64") + count(&text, "v_and_b32");
        assert!(object.wave == 32 || halves > 0, "{text}");
        amdgcn::source(subject("reductions"), processor).code_object();
    }
}

#[test]
fn a_panic_masks_off_its_work_item_only() {
    // One end of the program, to which all ways lead: `s_endpgm` ends a whole wave.
    for processor in PROCESSORS {
        for name in ["inlined", "several", "formatted"] {
            let text = amdgcn::source(panics(name), processor).assembly();
            let code = text.split(".section\t.rodata").next().expect("the code");
            let kernel = code.split(&format!("\n{name}:")).nth(1).expect("the kernel");
            assert_eq!(count(kernel, "s_endpgm"), 1, "{kernel}");
            assert_eq!(count(kernel, "s_trap"), 0, "{kernel}");
        }
    }
}

#[test]
fn atomics_have_the_scopes_of_the_target() {
    let text = amdgcn::source(subject("scopes"), "gfx90a").assembly();
    assert!(count(&text, "global_atomic_") + count(&text, "flat_atomic_") >= 7, "{text}");
    // What is for the device only does not write the caches back to the system.
    let text = amdgcn::source(subject("atomics"), "gfx90a").assembly();
    assert_eq!(count(&text, "buffer_wbl2"), 0, "{text}");
}

#[test]
fn floating_point_is_as_precise_as_on_the_host() {
    for processor in PROCESSORS {
        let text = amdgcn::source(subject("floats"), processor).assembly();
        for instruction in ["v_div_fixup_f32", "v_div_fixup_f64"] {
            assert!(count(&text, instruction) >= 1, "{instruction} in\n{text}");
        }
        // A square root is corrected after the approximation.
        assert!(count(&text, "v_fma_f32") >= 2, "{text}");
    }
}

#[test]
fn open_constants_are_symbols_that_the_driver_finds() {
    let source =
        Source::new(include_str!("kernels/special.ll"), "special", words(&[PARAM_POINTER]));
    let source = source.flags(FLAG_OPEN_CONSTANTS).constant("TILE", &[]).constant("POINT", &[]);
    let (_, object) = amdgcn::source(source, "gfx1100").code_object();
    for symbol in ["schism_constant_0", "schism_constant_1"] {
        assert!(object.symbols.iter().any(|name| name == symbol), "{:?}", object.symbols);
    }
}

#[test]
fn clocks_are_counted_in_ticks_of_a_known_length() {
    for processor in PROCESSORS {
        let (_, object) = amdgcn::source(subject("clocks"), processor).code_object();
        assert!(object.symbols.iter().any(|name| name == code::TICK), "{:?}", object.symbols);
    }
}

#[test]
fn work_items_that_wait_sleep() {
    let text = amdgcn::source(subject("pauses"), "gfx1100").assembly();
    assert!(text.contains("s_sleep 1"), "{text}");
}

#[test]
fn what_these_gpus_cannot_do_is_refused_by_name() {
    let recursive = kernel(
        "define internal i64 @again(i64 %n) noinline {
           %end = icmp eq i64 %n, 0
           br i1 %end, label %done, label %more
         more:
           %less = lshr i64 %n, 1
           %rest = call i64 @again(i64 %less)
           %odd = mul i64 %rest, %n
           %twice = call i64 @again(i64 %odd)
           ret i64 %twice
         done:
           ret i64 1
         }",
        "%value = call i64 @again(i64 %n)\nstore i64 %value, ptr %to, align 8",
    );
    let refused = |source: Source| {
        let (code, text) = amdgcn::source(source, "gfx906").amdgcn().expect_err("an error");
        assert_eq!(code, UNSUPPORTED, "{text}");
        assert!(text.contains("which the hip device does not have"), "{text}");
        text
    };
    let text = refused(recursive);
    assert!(text.contains("recursion (`again` calls itself)"), "{text}");
    for name in REFUSED {
        let text = refused(panics(name));
        assert!(text.contains("calls itself"), "{name}: {text}");
    }
    let mut wrong = amdgcn::source(saxpy("saxpy"), "gfx1");
    let (code, text) = wrong.amdgcn().expect_err("an error");
    assert_eq!(code, INVALID_REQUEST);
    assert!(text.contains("no processor `gfx1`; known are gfx906, gfx90a"), "{text}");
    wrong = amdgcn::source(saxpy("saxpy"), "gfx906").isa(1);
    assert_eq!(wrong.amdgcn().expect_err("an error").0, INVALID_REQUEST);
}

#[test]
fn the_same_kernel_is_the_same_code_each_time() {
    for name in ["tables", "prints"] {
        let make = || amdgcn::source(subject(name), "gfx1030").code_object().0.bytes;
        assert_eq!(make(), make(), "{name}");
    }
}
