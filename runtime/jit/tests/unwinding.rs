//! Kernels with landing pads: on the CPU they unwind where that changes memory of the program's, and
//! everywhere else code is what it is without landing pads.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use schism_jit::{CpuCode, Request, compile_cpu};
use schism_jit_abi::*;
use schism_loader::Code;
use schism_loader::message::Calls;
use support::gpu::Gpu;
use support::{Source, whole, words};

/// A kernel that stores a number, panics where that is large, and then runs `cleanup`: or without
/// landing pads.
fn kernel(cleanup: Option<&str>) -> Source {
    let panic = |panic: &str| match cleanup {
        Some(_) => format!(
            "  invoke {panic} to label %never unwind label %cleanup\nnever:\n  unreachable\n"
        ),
        None => format!("  call {panic}\n  unreachable\n"),
    };
    let pad = match cleanup {
        Some(cleanup) => format!(
            "cleanup:\n  %pad = landingpad {{ ptr, i32 }} cleanup\n{cleanup}  resume {{ ptr, i32 }} %pad\n"
        ),
        None => String::new(),
    };
    let personality = if cleanup.is_some() { "personality ptr @rust_eh_personality" } else { "" };
    let text = format!(
        "@text = private constant [4 x i8] c\"many\"
         define internal void @body(ptr %out, i64 %x, i64 %limit) {personality} {{
         start:
           %own = alloca i64
           %slot = alloca ptr
           store ptr %own, ptr %slot
           %to = getelementptr i64, ptr %out, i64 %x
           %value = mul i64 %x, 3
           store i64 %value, ptr %to
           store i64 %value, ptr %own
           %is_many = icmp uge i64 %x, %limit
           br i1 %is_many, label %many, label %few
         few:
           %more = add i64 %value, 1
           store i64 %more, ptr %to
           ret void
         many:
         {}
         {pad}
         }}
         define void @kernel(ptr noalias %out, i64 %limit) {{
           %x = call i64 @__schism_global_id_x()
           call void @body(ptr %out, i64 %x, i64 %limit)
           ret void
         }}
         declare i32 @rust_eh_personality(...)\n",
        panic("void @__schism_panic(ptr @text, i64 4, ptr null)")
    );
    Source::new(&text, "kernel", words(&[PARAM_POINTER, PARAM_INTEGER]))
}

/// What changes the program's memory, and what changes a local variable.
const NOTICED: &str = "  store i64 1000, ptr %to\n";
const OWN: &str = "  store i64 1000, ptr %own\n";

fn compile(source: &Source) -> CpuCode {
    let request = Request {
        image: source.image.clone(),
        kernel: source.kernel.clone(),
        params: source.params.clone(),
        closure_size: source.closure_size,
        closure_align: source.closure_align,
        dimensions: source.dimensions,
        ..Request::default()
    };
    compile_cpu(request).expect("it is compiled")
}

unsafe extern "C" fn print(_: *const u8, _: usize) {}

/// What unwinds.
struct Raised;

fn raise() -> ! {
    resume_unwind(Box::new(Raised))
}

/// Only once the kernel is in one piece is it seen where that points.
const BY_POINTER: &str = "  %by_pointer = load ptr, ptr %slot\n  store i64 1000, ptr %by_pointer\n";

#[test]
fn what_turns_out_to_be_a_local_variable_does_not_unwind() {
    let made = compile(&kernel(Some(BY_POINTER)));
    assert_eq!(made.flags, 0);
}

#[test]
fn local_variables_cost_nothing() {
    let plain = compile(&kernel(None));
    let own = compile(&kernel(Some(OWN)));
    assert_eq!(own.flags, plain.flags);
    assert_eq!(own.flags & CPU_UNWINDS, 0);
    assert_eq!(own.stack, plain.stack);
    assert!(own.object == plain.object, "the same code");
}

#[test]
fn memory_of_the_program_is_left_by_the_cleanup() {
    let made = compile(&kernel(Some(NOTICED)));
    assert_eq!(made.flags, CPU_UNWINDS);
    assert_ne!(made.stack, STACK_UNKNOWN);
    let calls = Calls { print, raise: Some(raise) };
    // SAFETY: it was made for this processor.
    let code = unsafe { Code::load_with(&made.object, calls, &[], None) }.expect("it is loaded");
    for limit in [0, 1, 7, 8, 9, 31, 62, 63] {
        let mut out = vec![7_u64; 64];
        let closure = (out.as_mut_ptr(), limit as u64);
        let mut record = PanicRecord::EMPTY;
        // SAFETY: code that unwinds, of the same parameters and result.
        let entry = unsafe { std::mem::transmute::<CpuEntry, UnwindingEntry>(code.entry()) };
        let result = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the closure is what the kernel takes, and each of 64 work-items has a number.
            unsafe { entry((&raw const closure).cast(), &whole(&[64]), &mut record) }
        }));
        assert!(result.is_err_and(|payload| payload.is::<Raised>()));
        // SAFETY: the kernel has filled it.
        assert_eq!(unsafe { schism_loader::message::take(&mut record) }, "many");
        assert_eq!(record.global_id, [limit, 0, 0]);
        let expected = |x: usize| match x {
            x if x < limit => 3 * x as u64 + 1,
            x if x == limit => 1000,
            _ => 7,
        };
        assert_eq!(out, (0..64).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn gpus_do_not_unwind() {
    let plain = Gpu::new(kernel(None)).build();
    for cleanup in [OWN, NOTICED] {
        let with_pads = Gpu::new(kernel(Some(cleanup))).build();
        assert_eq!(with_pads.text, plain.text);
    }
}

#[test]
fn only_unwinding_of_rust_is_taken() {
    let source = Source::new(
        "define void @kernel() personality ptr @other {
           invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %never unwind label %cleanup
         never:
           unreachable
         cleanup:
           %pad = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %pad
         }
         declare i32 @other(...)\n",
        "kernel",
        Vec::new(),
    );
    let (code, text) = source.error();
    assert_eq!(code, INVALID_IMAGE);
    assert!(text.contains("has a personality that is not Rust's"), "{text}");
}
