//! Mathematics in PTX: it comes with the kernel, and nothing of it is approximate.

mod support;

use schism_jit_abi::*;
use support::gpu::Gpu;
use support::{Source, ptxas, words};

/// A kernel that calls a function of C's mathematics, which takes so many numbers, with what it reads.
fn calls(name: &str, numbers: usize) -> Source {
    let number = if name.ends_with('f') && name != "erf" { "float" } else { "double" };
    let types = vec![number; numbers].join(", ");
    let values = vec![format!("{number} %v"); numbers].join(", ");
    let text = format!(
        "declare {number} @{name}({types})
        define void @maths(ptr %out, ptr %in) {{
          %i = call i64 @__schism_global_id_x()
          %from = getelementptr {number}, ptr %in, i64 %i
          %v = load {number}, ptr %from
          %r = call {number} @{name}({values})
          %to = getelementptr {number}, ptr %out, i64 %i
          store {number} %r, ptr %to
          ret void
        }}"
    );
    Source::new(&text, "maths", words(&[PARAM_POINTER; 2]))
}

#[test]
fn mathematics_comes_with_the_kernel() {
    let several = |name: &str| match name.trim_end_matches('f') {
        "atan2" | "fdim" | "fmod" | "hypot" | "pow" => 2,
        "fma" => 3,
        _ => 1,
    };
    let others = ["ldexp", "ldexpf", "lgamma_r", "lgammaf_r", "__powidf2", "__powisf2"];
    let assembler = ptxas::find();
    for name in schism_devicelib::NAMES {
        if others.contains(name) || name.starts_with("mem") || *name == "bcmp" {
            continue;
        }
        let ptx = Gpu::new(calls(name, several(name))).arch("sm_90").build();
        if let Some(assembler) = &assembler {
            ptxas::assemble(assembler, "sm_90", &ptx.text);
        }
        // What is not the entry is a function of the library that was too large to be inlined.
        assert_eq!(ptx.count(&[".extern"]), 0, "{name}: {}", ptx.text);
        // The same bits as on all devices: no approximation but those that a step makes exact, each with the exact instruction as
        // its detour.
        let mut begun = 0;
        for (near, exact) in [("rcp", "rcp.rn.f32"), ("rsqrt", "sqrt.rn.f32")] {
            let near = ptx.count(&[&format!("{near}.approx.ftz.f32")]);
            assert!(near <= ptx.count(&[exact]), "{name}: {}", ptx.text);
            begun += near;
        }
        for inexact in [".approx", ".ftz"] {
            assert_eq!(ptx.count(&[inexact]), begun, "{name}: {}", ptx.text);
        }
    }
    // What the GPU has is inlined.
    for (name, instruction) in [
        ("sqrt", "sqrt.rn.f64"),
        ("sqrtf", "sqrt.rn.f32"),
        ("fmaf", "fma.rn.f32"),
        ("floor", "cvt.rmi.f64.f64"),
        ("ceilf", "cvt.rpi.f32.f32"),
        ("trunc", "cvt.rzi.f64.f64"),
        ("rintf", "cvt.rni.f32.f32"),
        ("acos", "sqrt.rn.f64"),
        ("cbrt", "fma.rn.f64"),
    ] {
        let ptx = Gpu::new(calls(name, several(name))).build();
        assert!(ptx.count(&[instruction]) >= 1, "{name}: {}", ptx.text);
        assert_eq!(ptx.count(&["call"]), 0, "{name}: {}", ptx.text);
    }
    let maths = Source::new(include_str!("kernels/maths.ll"), "maths", words(&[PARAM_POINTER; 2]));
    let ptx = Gpu::new(maths).build();
    assert_eq!(ptx.count(&[".extern"]), 0, "{}", ptx.text);
}
