//! What cannot be compiled gives an error that says why, and harms nothing else.

mod support;

use std::ptr::{null, null_mut};

use schism_jit_abi::*;
use support::{Source, api, bitcode, param, whole, words};

const FAULTS: &str = include_str!("kernels/faults.ll");
const IDS: &str = include_str!("kernels/ids.ll");

fn fault(kernel: &str) -> (u32, String) {
    Source::new(FAULTS, kernel, words(&[PARAM_POINTER])).error()
}

/// The error's text has all the parts.
fn check((code, text): (u32, String), expected: u32, parts: &[&str]) {
    assert_eq!(code, expected, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn a_kernel_that_is_not_there() {
    check(fault("absent"), UNKNOWN_KERNEL, &["`absent`", "rebuild"]);
    check(fault("declared"), UNKNOWN_KERNEL, &["`declared`"]);
    check(fault(""), UNKNOWN_KERNEL, &[]);
    check(fault("a\0b"), UNKNOWN_KERNEL, &[]);
}

#[test]
fn functions_that_nobody_has() {
    check(
        fault("unresolved"),
        UNRESOLVED_SYMBOLS,
        &["`nobody_has_this`, `nor_this`", "`unresolved`"],
    );
}

#[test]
fn what_the_device_does_not_have() {
    check(fault("thread_local"), UNSUPPORTED, &["`local`", "cpu"]);
    check(fault("unwinds"), INVALID_IMAGE, &["a personality that is not Rust's"]);
}

#[test]
fn what_llvm_gives_up_on_ends_neither_process_nor_library() {
    for _ in 0..3 {
        check(fault("fatal"), BACKEND_FAILED, &["`fatal`", "SCHISM_DUMP_DIR"]);
        check(fault("assembly"), BACKEND_FAILED, &["`assembly`"]);
        let kernel = Source::new(FAULTS, "good", words(&[PARAM_POINTER])).build();
        let mut out = 0_u8;
        // SAFETY: the kernel writes one byte.
        unsafe { kernel.run(&&raw mut out, &whole(&[1])) }.expect("no panic");
        assert_eq!(out, 1);
    }
}

#[test]
fn another_signature() {
    for kernel in ["returns", "variadic", "convention", "marked", "other_space", "vector"] {
        check(fault(kernel), SIGNATURE_MISMATCH, &[kernel]);
    }
    let with = |params: Vec<Param>| Source::new(FAULTS, "good", params).error();
    check(
        with(Vec::new()),
        SIGNATURE_MISMATCH,
        &["1 parameters in the image and 0 in the container"],
    );
    check(with(words(&[PARAM_POINTER; 2])), SIGNATURE_MISMATCH, &["1 parameters", "and 2"]);
    check(
        with(words(&[PARAM_INTEGER])),
        SIGNATURE_MISMATCH,
        &["parameter 0 is a pointer in the image and an integer of 64 bits in the container"],
    );
    check(with(words(&[PARAM_FLOAT])), SIGNATURE_MISMATCH, &["a float of 64 bits"]);
    check(with(words(&[PARAM_BYTES])), SIGNATURE_MISMATCH, &["an aggregate of 8 bytes"]);
}

#[test]
fn a_wrong_request() {
    let good = Source::new(FAULTS, "good", words(&[PARAM_POINTER]));
    let wrong = |change: &dyn Fn(&mut Source)| {
        let mut source = good.clone();
        change(&mut source);
        check(source.error(), INVALID_REQUEST, &["bug in the caller"]);
    };
    wrong(&|s| s.dimensions = 0);
    wrong(&|s| s.dimensions = 4);
    wrong(&|s| s.closure_align = 0);
    wrong(&|s| s.closure_align = 24);
    wrong(&|s| s.closure_align = 1 << 40);
    wrong(&|s| s.closure_size = 7);
    wrong(&|s| s.params[0].kind = 4);
    wrong(&|s| s.params[0].size = 0);
    wrong(&|s| s.params[0].size = 4);
    wrong(&|s| s.params[0].align = 3);
    wrong(&|s| s.params[0].align = 16);
    wrong(&|s| s.params[0].offset = 4);
    wrong(&|s| s.params[0].offset = u64::MAX - 7);
    wrong(&|s| s.params[0] = param(0, 3, PARAM_INTEGER));
    wrong(&|s| s.params[0] = param(0, 1, PARAM_FLOAT));
}

#[test]
fn null_pointers_and_unknown_flags() {
    let image = bitcode(FAULTS);
    let params = words(&[PARAM_POINTER]);
    let common = KernelRequest {
        image: Bytes::new(&image),
        kernel: Bytes::new(b"good"),
        params: params.as_ptr(),
        params_len: 1,
        closure_size: 8,
        closure_align: 8,
        dimensions: 1,
        flags: 0,
        constants: std::ptr::null(),
        constants_len: 0,
        values: std::ptr::null(),
        values_len: 0,
        links: std::ptr::null(),
        links_len: 0,
        group: [0; 3],
        settings: std::ptr::null(),
        settings_len: 0,
    };
    let request = CpuRequest { common, cpu: Bytes::EMPTY };
    let with = |common| CpuRequest { common, ..request };
    let compile = api().compile_cpu;
    let mut out = std::mem::MaybeUninit::uninit();
    let mut call = |request: *const CpuRequest, to_out: bool| {
        let mut error = Text::EMPTY;
        let out = if to_out { out.as_mut_ptr() } else { null_mut() };
        // SAFETY: each pointer is null or to something live, as the interface allows.
        let (code, again) = unsafe {
            let code = compile(request, out, &mut error);
            (api().free_text)(error);
            (code, compile(request, out, null_mut()))
        };
        assert_eq!(code, again, "with and without a place for the text");
        code
    };
    assert_eq!(call(null(), true), INVALID_REQUEST);
    assert_eq!(call(&request, false), INVALID_REQUEST);
    assert_eq!(call(&with(KernelRequest { flags: 1 << 31, ..common }), true), INVALID_REQUEST);
    assert_eq!(call(&with(KernelRequest { params: null(), ..common }), true), INVALID_REQUEST);
    assert_eq!(call(&with(KernelRequest { image: Bytes::EMPTY, ..common }), true), INVALID_REQUEST);
    assert_eq!(
        call(&with(KernelRequest { kernel: Bytes::EMPTY, ..common }), true),
        INVALID_REQUEST
    );
    assert_eq!(call(&CpuRequest { cpu: Bytes::new(b"pentium"), ..request }, true), INVALID_REQUEST);
    assert_eq!(call(&CpuRequest { cpu: Bytes::new(b"\xff"), ..request }, true), INVALID_REQUEST);
    assert_eq!(call(&with(KernelRequest { values_len: 1, ..common }), true), INVALID_REQUEST);
    assert_eq!(call(&with(KernelRequest { settings_len: 1, ..common }), true), INVALID_REQUEST);
    let latin = with(KernelRequest { kernel: Bytes::new(b"\xff"), ..common });
    assert_eq!(call(&latin, true), INVALID_REQUEST);
    // SAFETY: nothing to release and nothing to free.
    unsafe {
        (api().release_cpu)(null_mut());
        (api().free_text)(Text::EMPTY);
    }
}

#[test]
fn an_image_for_another_target() {
    let other = |from: &str, to: &str| {
        let header = include_str!("kernels/header.ll").replace(from, to);
        let text = format!("{header}\n{FAULTS}");
        support::bitcode_of(&text)
    };
    for (from, to) in [("x86_64-unknown", "aarch64-unknown"), ("p270:32:32", "p270:64:64")] {
        let mut source = Source::new(FAULTS, "good", words(&[PARAM_POINTER]));
        source.image = other(from, to);
        check(source.error(), INVALID_IMAGE, &["it is for"]);
    }
}

#[test]
fn builtins_that_stage_2_makes() {
    for name in ["__schism_panic_shaped.1", "__schism_panic_site.2"] {
        let header = include_str!("kernels/header.ll");
        let text = format!("{header}\n declare i32 @{name}(i64)\n define void @k() {{ ret void }}");
        let mut source = Source::new(IDS, "k", Vec::new());
        source.image = support::bitcode_of(&text);
        check(source.error(), INVALID_IMAGE, &[name]);
    }
}

#[test]
fn builtins_with_other_types_or_bodies() {
    for (from, to) in [
        (
            "declare i64 @__schism_global_id_x() nounwind willreturn memory(none)",
            "declare i32 @__schism_global_id_x()",
        ),
        (
            "declare i64 @__schism_global_id_y() nounwind willreturn memory(none)",
            "declare i64 @__schism_global_id_y(i64)",
        ),
        (
            "declare i64 @__schism_global_range_z() nounwind willreturn memory(none)",
            "define i64 @__schism_global_range_z() { ret i64 3 }",
        ),
        (
            "declare void @__schism_panic(ptr, i64, ptr) cold noreturn nounwind",
            "declare void @__schism_panic(ptr, i64)",
        ),
    ] {
        let header = include_str!("kernels/header.ll");
        assert!(header.contains(from));
        let text = format!("{}\n define void @k() {{ ret void }}", header.replace(from, to));
        let mut source = Source::new(IDS, "k", Vec::new());
        source.image = support::bitcode_of(&text);
        check(source.error(), INVALID_IMAGE, &["another type"]);
    }
}

#[test]
fn an_image_that_is_not_bitcode() {
    let mut source = Source::new(FAULTS, "good", words(&[PARAM_POINTER]));
    let image = source.image.clone();
    for garbage in [
        &b"B"[..],
        b"BC\xc0\xde",
        &[0; 64],
        b"; text\ndefine void @good(ptr %p) { ret void }",
        &[0xff; 4096],
    ] {
        source.image = garbage.to_vec();
        check(source.error(), INVALID_IMAGE, &["rebuild"]);
    }
    for len in (1..image.len()).step_by(13) {
        source.image = image[..len].to_vec();
        check(source.error(), INVALID_IMAGE, &["rebuild"]);
    }
}

#[test]
fn the_table() {
    // SAFETY: any version may be asked for.
    assert!(schism_jit::schism_jit_api(ABI_VERSION + 1).is_null());
    assert!(schism_jit::schism_jit_api(0).is_null());
    assert_eq!(api().abi_version, ABI_VERSION);
    // SAFETY: both texts live as long as the library.
    let (version, cpu) = unsafe { ((api().version)().as_slice(), (api().cpu_name)().as_slice()) };
    let version = std::str::from_utf8(version).expect("UTF-8");
    assert!(version.starts_with("schism-jit ") && version.contains("(LLVM 22."), "{version}");
    assert!(!cpu.is_empty());
}
