//! Kernels of GPUs that allocate: the heap is a parameter, its functions come along once, and a work-item without
//! memory ends.

mod support;

use schism_jit_abi::*;
use support::gpu::Gpu;
use support::{Source, amdgcn, param, spirv};

/// A kernel that does some of what an allocator does.
fn kernel(body: &str) -> Source {
    let text = format!(
        "declare noalias ptr @__schism_host_alloc(i64, i64 allocalign) #0
         declare noalias ptr @__schism_host_alloc_zeroed(i64, i64 allocalign)
         declare void @__schism_host_dealloc(ptr, i64, i64)
         declare noalias ptr @__schism_host_realloc(ptr, i64, i64, i64)
         define void @k(ptr %to, i64 %n) {{
         {body}
           ret void
         }}
         attributes #0 = {{ nounwind allocsize(0) \"alloc-family\"=\"__rust_alloc\" }}"
    );
    Source::new(&text, "k", vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_INTEGER)])
}

const ALL: &str = "  %a = call ptr @__schism_host_alloc(i64 %n, i64 8)
           store i64 %n, ptr %a
           %b = call ptr @__schism_host_realloc(ptr %a, i64 %n, i64 8, i64 100)
           %c = call ptr @__schism_host_alloc_zeroed(i64 %n, i64 4)
           call void @__schism_host_dealloc(ptr %c, i64 %n, i64 4)
           store ptr %b, ptr %to";

#[test]
fn kernels_take_a_heap() {
    let ptx = Gpu::new(kernel(ALL)).build();
    assert_eq!(ptx.flags & (GPU_HEAP | GPU_MESSAGES), GPU_HEAP | GPU_MESSAGES);
    let text = &ptx.text;
    let parameters = ptx.parameters();
    assert_eq!(parameters[parameters.len() - 2..], [".u64 .ptr .global .align 16"; 2], "{text}");
    for function in ["take", "give", "change"] {
        assert!(text.contains(&format!("schism_$_heap_$_{function}")), "{text}");
    }
    // Nothing that other launches or the host do at the same time is waited for.
    assert!(ptx.count(&["atom.", ".gpu."]) > 3 && ptx.count(&["atom.", ".sys."]) == 0, "{text}");
    assert!(ptx.count(&["exit;"]) >= 1 && ptx.count(&["trap;"]) == 0, "{text}");

    let code = spirv::source(kernel(ALL)).spirv().expect("SPIR-V");
    code.check();
    assert_eq!(code.flags & (GPU_HEAP | GPU_MESSAGES), GPU_HEAP | GPU_MESSAGES);
    let (code, _) = amdgcn::source(kernel(ALL), "gfx90a").code_object();
    assert_eq!(code.flags & (GPU_HEAP | GPU_MESSAGES), GPU_HEAP | GPU_MESSAGES);
}

#[test]
fn kernels_that_do_not_allocate_take_none() {
    let others = "  store i64 %n, ptr %to";
    let ptx = Gpu::new(kernel(others)).build();
    assert_eq!(ptx.flags & (GPU_HEAP | GPU_MESSAGES), 0);
    assert!(!ptx.text.contains("schism_$_heap"), "{}", ptx.text);
}
