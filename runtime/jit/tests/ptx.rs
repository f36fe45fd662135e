//! The PTX of small kernels.

mod support;

use schism_jit_abi::*;
use support::gpu::{Gpu, PANICS, SUBJECTS, panics, subject};
use support::ptxas;
use support::{Source, bitcode, param, words};

fn saxpy(kernel: &str) -> Source {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    Source::new(include_str!("kernels/saxpy.ll"), kernel, params)
}

#[test]
fn saxpy_is_what_one_would_write() {
    let ptx = Gpu::new(saxpy("saxpy_slice")).arch("sm_90").build();
    let text = &ptx.text;
    assert_eq!((ptx.entry.as_str(), ptx.flags), ("saxpy_slice", GPU_RANGE | GPU_ADDRESSES));
    assert_eq!(ptx.addresses, [0, 8], "the closure's, by which all memory is reached");
    assert!(text.contains(".version 7.8\n.target sm_90\n"), "{text}");
    let pointer = ".u64 .ptr .global .align 4";
    assert_eq!(ptx.parameters(), [pointer, pointer, ".f32", ".u64"], "{text}");
    // What is not written to is read past the first cache's coherence; what is written to is not.
    assert_eq!(ptx.count(&["ld.global.nc.b32"]), 1, "{text}");
    assert_eq!(ptx.count(&["ld.global.b32"]), 1, "{text}");
    assert_eq!(ptx.count(&["st.global.b32"]), 1, "{text}");
    // Two roundings, no approximation.
    assert_eq!((ptx.count(&["mul.rn.f32"]), ptx.count(&["add.rn.f32"])), (1, 1), "{text}");
    for word in ["fma", ".ftz", ".approx", "cvta", ".local", "call", "trap"] {
        assert!(!text.contains(word), "{word} in\n{text}");
    }
    assert_eq!(ptx.count(&["bra"]), 1, "the guard:\n{text}");
}

#[test]
fn assumptions_about_a_launch_make_its_code_smaller() {
    let plain = Gpu::new(saxpy("saxpy_slice"));
    let ptx =
        plain.clone().group([256, 1, 1]).assumptions(ASSUME_INDEX_32 | ASSUME_DIVISIBLE).build();
    let text = &ptx.text;
    assert_eq!(ptx.flags, GPU_ADDRESSES);
    assert_eq!(ptx.parameters().len(), 3, "no range is needed:\n{text}");
    assert!(!text.contains("ntid"), "{text}");
    assert!(!text.contains("setp"), "no guard is needed:\n{text}");
    // Ids of 32 bits are compared as such, and elements' addresses are one multiplication and
    // addition.
    let ptx = plain.assumptions(ASSUME_INDEX_32).build();
    assert_eq!(ptx.count(&["mad.lo.s32"]), 1, "{}", ptx.text);
    assert_eq!(ptx.count(&["setp.ge.u32"]), 1, "{}", ptx.text);
    assert_eq!(ptx.count(&["cvt.u64"]), 0, "{}", ptx.text);
}

#[test]
fn narrow_integers_are_parameters_of_32_bits() {
    let text =
        "define void @columns(ptr align 4 %to, ptr noalias readonly align 4 %from, i64 %width) {
          %x = call i64 @__schism_global_id_x()
          %y = call i64 @__schism_global_id_y()
          %row = mul i64 %y, %width
          %at = add i64 %row, %x
          %from.at = getelementptr inbounds float, ptr %from, i64 %at
          %value = load float, ptr %from.at, align 4
          %to.at = getelementptr inbounds float, ptr %to, i64 %at
          store float %value, ptr %to.at, align 4
          ret void
        }";
    let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
    let source = Source::new(text, "columns", params).dimensions(2);
    let assumptions = ASSUME_INDEX_32 | ASSUME_DIVISIBLE;
    let plain = Gpu::new(source).group([32, 8, 1]).assumptions(assumptions);
    let ptx = plain.clone().build();
    assert_eq!(ptx.parameters()[2], ".u64", "{}", ptx.text);
    assert_eq!(ptx.count(&["mad.lo.s64"]), 1, "{}", ptx.text);
    let ptx = plain.clone().narrow(0b100).build();
    assert_eq!(ptx.parameters()[2], ".u32", "{}", ptx.text);
    assert_eq!(ptx.count(&["mul.wide.u32"]), 1, "{}", ptx.text);
    assert_eq!(ptx.count(&[".lo.s64"]), 0, "{}", ptx.text);
    // Its value may be known as well.
    let ptx = plain.clone().narrow(0b100).value(2, &64_u64.to_le_bytes()).build();
    assert_eq!(ptx.count(&["ld.param", "param_2"]), 0, "{}", ptx.text);
    assert_eq!(ptx.count(&["mul.lo"]) + ptx.count(&["mad"]), 0, "{}", ptx.text);
    for wrong in [0b1, 0b1000] {
        let (code, words) = plain.clone().narrow(wrong).error();
        assert_eq!(code, INVALID_REQUEST);
        assert!(words.contains("is no integer of 64 bits"), "{words}");
    }
}

#[test]
fn rows_of_a_width_that_is_a_multiple_begin_at_aligned_addresses() {
    let text =
        "define void @sums(ptr align 4 %to, ptr noalias readonly align 4 %from, i64 %width) {
        start:
          %y = call i64 @__schism_global_id_x()
          %row = mul i64 %y, %width
          %first = getelementptr inbounds float, ptr %from, i64 %row
          %is.empty = icmp eq i64 %width, 0
          br i1 %is.empty, label %end, label %iteration
        iteration:
          %k = phi i64 [ 0, %start ], [ %k.next, %iteration ]
          %sum = phi float [ 0.0, %start ], [ %sum.next, %iteration ]
          %at = getelementptr inbounds float, ptr %first, i64 %k
          %value = load float, ptr %at, align 4
          %sum.next = fadd float %sum, %value
          %k.next = add nuw i64 %k, 1
          %is.last = icmp eq i64 %k.next, %width
          br i1 %is.last, label %end, label %iteration
        end:
          %result = phi float [ 0.0, %start ], [ %sum.next, %iteration ]
          %to.at = getelementptr inbounds float, ptr %to, i64 %y
          store float %result, ptr %to.at, align 4
          ret void
        }";
    let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
    let plain = Gpu::new(Source::new(text, "sums", params)).group([32, 1, 1]);
    let plain = plain.assumptions(ASSUME_INDEX_32 | ASSUME_DIVISIBLE);
    // Neither of the two is enough.
    for aligned in [0b010, 0b100] {
        let ptx = plain.clone().aligned(aligned).build();
        assert_eq!(ptx.count(&[".v4"]), 0, "{}", ptx.text);
    }
    for narrow in [0, 0b100] {
        let ptx = plain.clone().aligned(0b110).narrow(narrow).build();
        assert!(ptx.count(&["ld.global.nc.v4"]) > 0, "{}", ptx.text);
        // The bits that are zero anyway are not masked.
        assert!(!ptx.text.contains("-16;") && !ptx.text.contains("2147483632;"), "{}", ptx.text);
    }
    let (code, words) = plain.clone().aligned(0b1000).error();
    assert_eq!(code, INVALID_REQUEST);
    assert!(words.contains("neither a pointer nor an integer of 64 bits"), "{words}");
}

#[test]
fn places_in_a_block_of_known_size_need_no_check() {
    let text = "declare i64 @__schism_local_id_x()
        declare i64 @__schism_local_id_y()
        define void @places(ptr align 8 %to) {
          %x = call i64 @__schism_local_id_x()
          %y = call i64 @__schism_local_id_y()
          %row = mul i64 %y, 33
          %at = add i64 %row, %x
          %is.inside = icmp ult i64 %at, 264
          %result = select i1 %is.inside, i64 %at, i64 -1
          store i64 %result, ptr %to, align 8
          ret void
        }";
    let source = Source::new(text, "places", words(&[PARAM_POINTER])).dimensions(2);
    let plain = Gpu::new(source).assumptions(ASSUME_INDEX_32);
    assert_eq!(plain.clone().build().count(&["setp"]), 1);
    let ptx = plain.clone().group([32, 8, 1]).build();
    assert_eq!(ptx.count(&["setp"]), 0, "{}", ptx.text);
    let ptx = plain.group([64, 8, 1]).build();
    assert_eq!(ptx.count(&["setp"]), 1, "{}", ptx.text);
}

#[test]
fn sub_grids_and_offsets_are_parameters_in_their_order() {
    let ptx = Gpu::new(saxpy("saxpy").flags(FLAG_BASE).dimensions(2)).build();
    assert_eq!(ptx.flags, GPU_RANGE | GPU_ADDRESSES);
    let types: Vec<String> = ptx.parameters().split_off(3);
    assert_eq!(types, [".u64"; 5], "range of two dimensions, then three bases: {}", ptx.text);
}

/// A recursive function that asks for the range: only the entry has it.
#[test]
fn what_only_the_entry_knows_is_left_by_one_work_item_behind_a_barrier() {
    let text = "define internal i64 @deep(i64 %n) noinline {
          %is.end = icmp eq i64 %n, 0
          br i1 %is.end, label %end, label %more
        more:
          %less = sub i64 %n, 1
          %found = call i64 @deep(i64 %less)
          %result = mul i64 %found, %n
          ret i64 %result
        end:
          %range = call i64 @__schism_global_range_x()
          ret i64 %range
        }
        define void @asks(ptr align 8 %to, i64 %n) {
          %result = call i64 @deep(i64 %n)
          store i64 %result, ptr %to, align 8
          ret void
        }";
    let source = Source::new(text, "asks", words(&[PARAM_POINTER, PARAM_INTEGER]));
    let ptx = Gpu::new(source).build();
    let entry = &ptx.text[ptx.text.find(".entry").expect("an entry")..];
    let place = |what: &str| entry.find(what).unwrap_or_else(|| panic!("no {what}: {entry}"));
    // All work-items wait, those outside of the range too, and only one has written.
    assert!(place("bra") < place("st.shared"), "{entry}");
    assert!(place("st.shared") < place("bar.sync"), "{entry}");
    assert!(place("bar.sync") < place("call"), "{entry}");
    assert!(place("bar.sync") < place("%ctaid.x"), "the guard is behind it: {entry}");
    assert_eq!(ptx.count(&["bar.sync"]), 1, "{entry}");
}

#[test]
fn lines_of_the_source_are_named() {
    let image = include_str!("kernels/lines.ll");
    let build = |image: &str| {
        let params = vec![param(0, 8, PARAM_POINTER), param(8, 4, PARAM_FLOAT)];
        Gpu::new(Source::new(image, "lines", params)).arch("sm_90").build().text
    };
    let text = build(image);
    let file = |name: &str| {
        let line = text.lines().find(|line| line.contains(".file") && line.contains(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
        line.split_whitespace().nth(1).expect("a number").to_owned()
    };
    // The first store is the other function's, which was taken in.
    let (kernel, helper) = (file("/source/kernel.rs"), file("/source/helper.rs"));
    let (first, second) = (format!(".loc\t{helper} 11 9"), format!(".loc\t{kernel} 3 7"));
    assert!(text.contains(&first) && text.contains(&second), "{text}");
    // Full debug information would keep the driver from optimising.
    assert!(!text.contains(", debug\n") && !text.contains(".debug_info"), "{text}");
    if let Some(ptxas) = ptxas::find() {
        ptxas::assemble(&ptxas, "sm_90", &text);
    }
    // The code is what it is without.
    let without: String =
        image.split_inclusive('\n').filter(|line| !line.starts_with('!')).collect();
    let without: Vec<&str> = without.split(" !dbg !").collect();
    let without: String = without
        .iter()
        .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_end_matches(','))
        .collect();
    let code = |text: &str| -> Vec<String> {
        let of_lines = |line: &&str| {
            [".loc", ".file", ".section", "$L__tmp", "$L__func_"]
                .iter()
                .any(|word| line.trim().starts_with(word))
        };
        text.lines().filter(|line| !line.is_empty() && !of_lines(line)).map(str::to_owned).collect()
    };
    assert_eq!(code(&text), code(&build(&without)));
}

#[test]
fn mathematics_of_the_vendor_where_it_is_asked_for() {
    let params = || vec![param(0, 8, PARAM_POINTER), param(8, 4, PARAM_FLOAT)];
    let plain = Gpu::new(Source::new(include_str!("kernels/vendor.ll"), "maths", params()));
    let library = bitcode(include_str!("kernels/libdevice.ll"));
    let text = plain.clone().libdevice(&library).build().text;
    // What it has is its, and subnormal numbers are kept; what it has not is not.
    assert!(text.contains("0f40A00000") && text.contains("0f41100000"), "5 and 9 in\n{text}");
    for word in ["0f42DE0000", "nvvm_reflect", "__nv_", "77, 77"] {
        assert!(!text.contains(word), "{word} in\n{text}");
    }
    let own = plain.build().text;
    assert!(own.len() > text.len() && !own.contains("0f40A00000"), "{own}");
    // Square roots are the device's in any case.
    let root = "define void @maths(ptr %out, float %x) {
          %y = call float @llvm.sqrt.f32(float %x)
          store float %y, ptr %out
          ret void
        }
        declare float @llvm.sqrt.f32(float)";
    let root = Gpu::new(Source::new(root, "maths", params())).libdevice(&library).build().text;
    assert!(root.contains("sqrt.rn.f32"), "{root}");
    // What is no such library.
    let cosine = include_str!("kernels/vendor.ll").replace("sinf", "cosf");
    let cosine = Gpu::new(Source::new(&cosine, "maths", params())).libdevice(&library);
    for (wrong, part) in
        [(cosine, "`__nv_cosf` has another type"), (plain.clone().libdevice(b"BC"), "libdevice: ")]
    {
        let (code, text) = wrong.error();
        assert_eq!(code, INVALID_REQUEST, "{text}");
        assert!(text.contains(part), "{text}");
    }
    // NVIDIA's own, if it is at hand.
    let Some(path) = std::env::var_os("SCHISM_LIBDEVICE") else { return };
    let library = std::fs::read(path).expect("the library");
    let text = plain.arch("sm_90").libdevice(&library).build().text;
    assert!(!text.contains("__nv_") && !text.contains("nvvm_reflect"), "{text}");
    if let Some(ptxas) = ptxas::find() {
        ptxas::assemble(&ptxas, "sm_90", &text);
    }
}

#[test]
fn angles_of_32_bits_take_no_numbers_of_64_and_no_memory_of_their_own() {
    for name in ["sinf", "cosf", "tanf"] {
        let kernel = format!(
            "define void @angle(ptr %out, float %x) {{
              %y = call float @{name}(float %x)
              store float %y, ptr %out
              ret void
            }}
            declare float @{name}(float)"
        );
        let params = vec![param(0, 8, PARAM_POINTER), param(8, 4, PARAM_FLOAT)];
        let text = Gpu::new(Source::new(&kernel, "angle", params)).build().text;
        for word in [".f64", ".local", "call", "div.rn"] {
            assert!(!text.contains(word), "{name}: {word} in\n{text}");
        }
    }
}

#[test]
fn a_known_value_is_not_read() {
    let source = saxpy("saxpy");
    let ptx = Gpu::new(source.clone()).value(2, &2.5_f32.to_le_bytes()).build();
    assert_eq!(ptx.parameters().len(), 4);
    assert_eq!(ptx.count(&["ld.param", "param_2"]), 0, "{}", ptx.text);
    assert!(ptx.text.contains("0f40200000"), "2.5 in\n{}", ptx.text);

    // An aggregate: three numbers of 8 bytes, of which the kernel adds up some.
    let known: Vec<u8> = [1_u64, 20, 300].iter().flat_map(|word| word.to_le_bytes()).collect();
    let ptx = Gpu::new(subject("bytes")).value(0, &known).build();
    assert_eq!(ptx.count(&["ld.param", "param_0"]), 0, "{}", ptx.text);
    assert_eq!(ptx.count(&[".local"]), 0, "{}", ptx.text);

    for wrong in [
        Gpu::new(subject("bytes")).value(0, &[0; 8]),
        Gpu::new(source.clone()).value(2, &[0; 8]),
        Gpu::new(source.clone()).value(3, &[0; 4]),
        Gpu::new(source).value(0, &[0; 8]),
    ] {
        let (code, text) = wrong.error();
        assert_eq!(code, INVALID_REQUEST);
        assert!(text.contains("known value of parameter"), "{text}");
    }
}

#[test]
fn what_lies_at_aligned_addresses_is_loaded_at_once() {
    let text = "define void @quads(ptr align 4 %to, ptr noalias readonly align 4 %from) {
          %i = call i64 @__schism_global_id_x()
          %at = getelementptr inbounds [4 x float], ptr %from, i64 %i
          %a = load float, ptr %at, align 4
          %b.at = getelementptr inbounds i8, ptr %at, i64 4
          %b = load float, ptr %b.at, align 4
          %c.at = getelementptr inbounds i8, ptr %at, i64 8
          %c = load float, ptr %c.at, align 4
          %d.at = getelementptr inbounds i8, ptr %at, i64 12
          %d = load float, ptr %d.at, align 4
          %ab = fadd float %a, %b
          %abc = fadd float %ab, %c
          %abcd = fadd float %abc, %d
          %out = getelementptr inbounds float, ptr %to, i64 %i
          store float %abcd, ptr %out, align 4
          ret void
        }";
    let source = Source::new(text, "quads", words(&[PARAM_POINTER, PARAM_POINTER]));
    let ptx = Gpu::new(source.clone()).build();
    assert_eq!(ptx.count(&["ld.global.nc.b32"]), 4, "{}", ptx.text);
    let ptx = Gpu::new(source.clone()).aligned(0b10).build();
    assert_eq!(ptx.count(&["ld.global.nc.v4"]), 1, "{}", ptx.text);
    let (code, words) = Gpu::new(source).aligned(0b100).error();
    assert_eq!(code, INVALID_REQUEST);
    assert!(words.contains("parameter 2 is neither a pointer"), "{words}");
}

#[test]
fn processors_and_versions() {
    let source = saxpy("saxpy");
    let version = |arch: &str, isa| Gpu::new(source.clone()).arch(arch).isa(isa).build().text;
    assert!(version("sm_75", 0).contains(".version 6.3\n.target sm_75\n"));
    assert!(version("sm_90a", 84).contains(".version 8.4\n.target sm_90a\n"));
    assert!(version("sm_120", 999).contains(".version 9.0\n.target sm_120\n"));
    for (arch, isa, says) in [
        ("sm_9", 0, "no processor `sm_9`"),
        ("", 0, "no processor ``"),
        ("sm_90", 70, "PTX 7.0 does not know sm_90, which needs PTX 7.8"),
    ] {
        let (code, text) = Gpu::new(source.clone()).arch(arch).isa(isa).error();
        assert_eq!(code, INVALID_REQUEST);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let gpu = Gpu::new(saxpy("saxpy"));
    let mut target = gpu.clone();
    target.target = 7;
    let mut align = gpu.clone();
    align.local_align = 3;
    for (wrong, says) in [
        (target, "target 7"),
        (align, "aligned to 3"),
        (gpu.clone().group([1024, 2, 1]), "blocks of 1024 by 2 by 1"),
        (gpu.clone().group([32, 0, 0]), "blocks of 32 by 0 by 0"),
        (gpu.clone().group([32, 2, 1]), "blocks of more than 1 dimensions"),
        (gpu.assumptions(1 << 20), "unknown assumptions"),
    ] {
        let (code, text) = wrong.error();
        assert_eq!(code, INVALID_REQUEST);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn what_kernels_contain_is_assembled_for_all_processors() {
    let Some(ptxas) = ptxas::find() else { return };
    for kernel in SUBJECTS.into_iter().chain(["large"]) {
        for processor in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
            let ptx = Gpu::new(subject(kernel)).arch(processor).build();
            ptxas::assemble(&ptxas, processor, &ptx.text);
        }
    }
    for kernel in PANICS {
        for (group, assumptions) in [([0; 3], 0), ([128, 1, 1], ASSUME_INDEX_32 | ASSUME_DIVISIBLE)]
        {
            let source = panics(kernel).flags(FLAG_BASE);
            let ptx = Gpu::new(source).arch("sm_90").group(group).assumptions(assumptions).build();
            ptxas::assemble(&ptxas, "sm_90", &ptx.text);
        }
    }
}

#[test]
fn floating_point_is_as_precise_as_on_the_host() {
    let ptx = Gpu::new(subject("floats")).build();
    let text = &ptx.text;
    for (words, count) in [
        (&["div.rn.f32"][..], 1),
        (&["div.rn.f64"], 1),
        (&["sqrt.rn.f32"], 1),
        (&["sqrt.rn.f64"], 1),
        (&["fma.rn.f32"], 1),
    ] {
        assert!(ptx.count(words) >= count, "{words:?} in\n{text}");
    }
    for word in [".ftz", ".approx", "div.full"] {
        assert!(!text.contains(word), "{word} in\n{text}");
    }
}

#[test]
fn atomics_are_ordered_for_the_device_and_not_for_all_the_system() {
    let ptx = Gpu::new(subject("atomics")).build();
    assert!(ptx.count(&["atom.", ".gpu."]) >= 4, "{}", ptx.text);
    assert!(ptx.count(&["fence", ".gpu"]) >= 2, "{}", ptx.text);
    assert_eq!(ptx.count(&[".sys"]), 0, "{}", ptx.text);
}

#[test]
fn atomics_with_scopes_have_those_of_the_target() {
    let ptx = Gpu::new(subject("scopes")).build();
    let text = &ptx.text;
    // These are for all of the device; the order is the fences'.
    assert_eq!(ptx.count(&["atom.global"]) + ptx.count(&["red.global"]), 7, "{text}");
    assert_eq!(ptx.count(&["ld.acquire.sys"]), 1, "{text}");
    assert_eq!(ptx.count(&["st.release.cta"]), 1, "{text}");
    assert_eq!(ptx.count(&["fence", ".sc", ".sys"]), 1, "{text}");
    assert_eq!(ptx.count(&["fence", ".acq_rel", ".cta"]), 1 + 2 + 1, "{text}");
    assert_eq!(ptx.count(&["fence", ".gpu"]), 0, "{text}");
}

/// LLVM would leave out the orders of `atomicrmw`.
#[test]
fn orders_of_updates_are_kept() {
    let ptx = Gpu::new(subject("updates")).build();
    let lines = ptx.text.lines().map(str::trim);
    let kept: Vec<&str> = lines
        .filter(|line| line.starts_with("atom") || line.starts_with("fence"))
        .filter_map(|line| line.split(['\t', ' ', ';']).next())
        .collect();
    let (order, all) = ("fence.acq_rel.gpu", "fence.sc.gpu");
    let expected = [
        "atom.global.add.u32",
        "atom.global.or.b32",
        order,
        order,
        "atom.global.add.u32",
        order,
        "atom.global.and.b32",
        order,
        all,
        "atom.global.xor.b32",
        order,
    ];
    assert_eq!(kept, expected, "{}", ptx.text);
}

#[test]
fn groups_share_memory_and_wait_for_each_other() {
    let ptx = Gpu::new(subject("group")).group([64, 1, 1]).build();
    let text = &ptx.text;
    let flags = GPU_GROUPS | GPU_BARRIER | GPU_ADDRESSES;
    assert_eq!(ptx.flags, flags, "the grid is the range, so none is taken");
    assert!(text.contains(".extern .shared .align 128 .b8 __schism_shared[]"), "{text}");
    assert_eq!((ptx.count(&["st.shared.b32"]), ptx.count(&["ld.shared.b32"])), (1, 1), "{text}");
    assert_eq!(ptx.count(&["bar.sync", "0"]) + ptx.count(&["barrier.sync.aligned"]), 1, "{text}");
    assert_eq!(ptx.count(&["setp"]), 0, "there is no guard:\n{text}");
    let mut aligned = Gpu::new(subject("group"));
    aligned.local_align = 512;
    let text = aligned.build().text;
    assert!(text.contains(".shared .align 512"), "{text}");
    assert!(text.contains(".maxntid 1024"), "a group may have any size: {text}");
}

#[test]
fn a_sub_group_is_a_warp() {
    let ptx = Gpu::new(subject("sub_group")).group([64, 1, 1]).build();
    let text = &ptx.text;
    assert_eq!(ptx.flags, GPU_GROUPS | GPU_ADDRESSES, "{text}");
    for (words, last) in [
        (&["shfl.sync.idx.b32"][..], "31, -1;"),
        (&["shfl.sync.bfly.b32", " 16,"], "31, -1;"),
        (&["shfl.sync.up.b32", " 1,"], "0, -1;"),
        (&["shfl.sync.down.b32", " 1,"], "31, -1;"),
        (&["bar.warp.sync"], "-1;"),
        (&["vote.sync.ballot.b32"], "-1;"),
    ] {
        let words: Vec<&str> = words.iter().copied().chain([last]).collect();
        assert_eq!(ptx.count(&words), 1, "{words:?} in\n{text}");
    }
}

#[test]
fn a_warp_reduces_at_once_where_it_can() {
    let of = |arch: &str| Gpu::new(subject("reductions")).arch(arch).build();
    let ptx = of("sm_80");
    for kind in ["add.s32", "min.s32", "max.s32", "min.u32", "max.u32"] {
        assert_eq!(ptx.count(&["redux.sync", kind]), 1, "{kind} in\n{}", ptx.text);
    }
    assert_eq!(ptx.count(&["shfl"]), 0, "{}", ptx.text);
    let ptx = of("sm_75");
    assert_eq!(ptx.count(&["redux"]), 0, "{}", ptx.text);
    let shuffles = (ptx.count(&["shfl.sync.down"]), ptx.count(&["shfl.sync.idx"]));
    assert_eq!(shuffles, (5 * 5, 5), "{}", ptx.text);
}

#[test]
fn clocks_are_registers() {
    let ptx = Gpu::new(subject("clocks")).build();
    assert_eq!(ptx.count(&["%clock64;"]), 2, "each is read: {}", ptx.text);
    assert_eq!(ptx.count(&["%globaltimer;"]), 1, "{}", ptx.text);
}

#[test]
fn work_items_that_wait_sleep() {
    let ptx = Gpu::new(subject("pauses")).build();
    assert_eq!(ptx.count(&["nanosleep.u32"]), 1, "{}", ptx.text);
}

#[test]
fn arrays_are_iterated_in_registers() {
    let ptx = Gpu::new(subject("iterates")).build();
    assert_eq!(ptx.count(&[".local"]), 0, "{}", ptx.text);
    assert_eq!(ptx.count(&["atom."]) % 4, 0, "{}", ptx.text);
}

#[test]
fn loops_over_slices_are_counted() {
    let ptx = Gpu::new(subject("slices")).build();
    let (_, entry) = ptx.text.split_once(".entry").expect("an entry");
    // The guard, whether there is an element, and whether there is another; none whether an address
    // is null.
    assert!(!entry.contains("cvta.to.global"), "{entry}");
    assert!(entry.matches("setp.").count() <= 3 + 8, "{entry}");
}

#[test]
fn checks_are_decided_before_loops_and_together() {
    use PARAM_INTEGER as INTEGER;
    use PARAM_POINTER as POINTER;
    let checks = |kernel: &str, params| {
        let source = Source::new(include_str!("kernels/checks.ll"), kernel, words(params));
        let ptx = Gpu::new(source).build();
        let (_, entry) = ptx.text.split_once(".entry").expect("an entry");
        entry.to_owned()
    };
    // One of the loops has many iterations in one block: loads, products and sums, and one
    // comparison, that of its end.
    let entry = checks("product", &[POINTER, POINTER, INTEGER, POINTER, INTEGER, INTEGER]);
    let unrolled = entry
        .split("\n$L__BB")
        .find(|block| block.matches("add.rn.f32").count() >= 4)
        .unwrap_or_else(|| panic!("no unrolled loop in\n{entry}"));
    let count = |what: &str| unrolled.matches(what).count();
    let iterations = count("add.rn.f32");
    assert_eq!(
        (count("mul.rn.f32"), count("ld.global")),
        (iterations, 2 * iterations),
        "{unrolled}"
    );
    assert_eq!((count("setp."), count("fma.")), (1, 0), "{unrolled}");
    // The checked one is there, too.
    assert!(entry.matches("add.rn.f32").count() > iterations, "{entry}");

    // Both loads are in one block, and in the copy that panics there is the first again.
    let entry = checks("neighbours", &[POINTER, POINTER, INTEGER]);
    let loads = |block: &str| block.matches("ld.global").count();
    assert!(entry.split("\n$L__BB").any(|block| loads(block) == 2), "{entry}");
    assert_eq!(loads(&entry), 3, "{entry}");
}

#[test]
fn closures_that_a_launch_cannot_pass_are_refused() {
    // More than 4 kB needs PTX 8.1, which is chosen if none is asked for.
    let large = Gpu::new(subject("large"));
    assert!(large.clone().arch("sm_75").build().text.contains(".version 8.1"));
    let (code, text) = large.isa(80).error();
    assert_eq!(code, UNSUPPORTED);
    assert!(text.contains("6080 bytes of parameters"), "{text}");
}

#[test]
fn printing_takes_a_record_with_room() {
    let ptx = Gpu::new(subject("prints")).build();
    assert_eq!(ptx.flags, GPU_RANGE | GPU_MESSAGES | GPU_PRINT, "{}", ptx.text);
}

#[test]
fn open_constants_are_symbols_that_the_driver_finds() {
    let source =
        Source::new(include_str!("kernels/special.ll"), "special", words(&[PARAM_POINTER]));
    let source = source.flags(FLAG_OPEN_CONSTANTS).constant("TILE", &[]).constant("POINT", &[]);
    let ptx = Gpu::new(source).build();
    for declaration in [
        ".visible .global .align 8 .b8 schism_constant_0[8] = {16}",
        ".visible .global .align 4 .b8 schism_constant_1[12] = {0, 0, 128, 63, 2, 0, 0, 0, 3}",
    ] {
        assert!(ptx.text.contains(declaration), "{declaration}:\n{}", ptx.text);
    }
    assert!(ptx.count(&["ld.global", "schism_constant_"]) >= 3, "{}", ptx.text);
    if let Some(ptxas) = ptxas::find() {
        ptxas::assemble(&ptxas, "sm_80", &ptx.text);
    }
}
