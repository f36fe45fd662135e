//! How much stack kernels take, and that no frame steps over a guard page.

mod support;

use schism_jit_abi::*;
use support::{Kernel, Source, words};

/// A kernel of one parameter, an address. Addresses of arrays go where LLVM does not see what
/// becomes of them.
fn compile(body: &str, more: &str) -> Kernel {
    let text = format!(
        "{more}
         define void @kernel(ptr %out) {{
         {body}
           ret void
         }}"
    );
    Source::new(&text, "kernel", words(&[PARAM_POINTER])).build()
}

/// A function that is not inlined, with an array of so many bytes, and a call before its end.
fn function(name: &str, bytes: usize, call: &str) -> String {
    format!(
        "define internal void @{name}(ptr %out) noinline {{
           %array = alloca [{bytes} x i8], align 16
           store volatile ptr %array, ptr %out
           store volatile i8 1, ptr %array
           {call}
           store volatile i8 2, ptr %array
           ret void
         }}\n"
    )
}

const SLACK: u64 = 4096;

fn expect(kernel: &Kernel, bytes: u64) {
    let found = kernel.stack;
    assert!((bytes..bytes + SLACK).contains(&found), "{found} bytes, and not {bytes} and a few");
}

#[test]
fn what_a_kernel_takes_is_known() {
    expect(&compile("store volatile i32 1, ptr %out", ""), 0);
    let array = "%array = alloca [3145728 x i8], align 16
                 store volatile ptr %array, ptr %out
                 store volatile i8 1, ptr %array";
    expect(&compile(array, ""), 3 << 20);
    // The longest way through functions that call others.
    let functions = [
        function("leaf", 1 << 20, ""),
        function("short", 1 << 16, "call void @leaf(ptr %out)"),
        function("long", 1 << 18, "call void @short(ptr %out)\n call void @leaf(ptr %out)"),
        function("large", 1 << 19, ""),
    ];
    let body = "call void @long(ptr %out)\n call void @large(ptr %out)\n call void @long(ptr %out)";
    expect(&compile(body, &functions.concat()), (1 << 20) + (1 << 18) + (1 << 16));
}

#[test]
fn what_depends_on_data_is_not_known() {
    let call = "%more = load volatile i1, ptr %out
                br i1 %more, label %again, label %done
              again:
                call void @NAME(ptr %out)
                br label %done
              done:";
    let itself = function("a", 64, &call.replace("NAME", "a"));
    assert_eq!(compile("call void @a(ptr %out)", &itself).stack, STACK_UNKNOWN);
    let around = function("a", 64, "call void @b(ptr %out)")
        + &function("b", 64, &call.replace("NAME", "a"));
    assert_eq!(compile("call void @a(ptr %out)", &around).stack, STACK_UNKNOWN);
    let pointer = "%f = load volatile ptr, ptr %out\n call void %f(ptr %out)";
    assert_eq!(compile(pointer, "").stack, STACK_UNKNOWN);
    let computed = "%size = load volatile i64, ptr %out
                    %array = alloca i8, i64 %size
                    store volatile ptr %array, ptr %out";
    assert_eq!(compile(computed, "").stack, STACK_UNKNOWN);
}

/// Runs a kernel on a stack of 64 KiB with one page after it that cannot be accessed, and 4 MiB
/// after that. Returns the signal that ends the process that does it, and whether the memory is as
/// it was.
fn run_on_small_stack(kernel: &Kernel) -> (i32, bool) {
    const PAGE: usize = 4096;
    const BEHIND: usize = 4 << 20;
    const STACK: usize = 64 << 10;
    // SAFETY: memory that both processes see; the child does nothing but to run the kernel on a
    // thread with a part of it as the stack.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            BEHIND + PAGE + STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(memory.add(BEHIND), PAGE, libc::PROT_NONE), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            extern "C" fn start(kernel: *mut libc::c_void) -> *mut libc::c_void {
                let mut out = [0_u64; 2];
                let closure = out.as_mut_ptr();
                // SAFETY: the kernel lives in the thread that waits, and takes the address of two
                // words.
                let _ = unsafe { (*kernel.cast::<Kernel>()).run(&closure, &support::whole(&[1])) };
                std::ptr::null_mut()
            }
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            let (mut attributes, mut thread) = (std::mem::zeroed(), 0);
            libc::pthread_attr_init(&mut attributes);
            libc::pthread_attr_setstack(&mut attributes, memory.add(BEHIND + PAGE), STACK);
            let data = std::ptr::from_ref(kernel).cast_mut().cast();
            libc::pthread_create(&mut thread, &attributes, start, data);
            libc::pthread_join(thread, std::ptr::null_mut());
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        let behind = std::slice::from_raw_parts(memory.cast::<u8>(), BEHIND);
        let whole = behind.iter().all(|byte| *byte == 0);
        libc::munmap(memory, BEHIND + PAGE + STACK);
        (if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }, whole)
    }
}

/// A kernel without barriers, and its functions, also where the array is larger than what lies in
/// front of the guard page.
#[test]
fn no_frame_steps_over_a_guard_page() {
    let small = compile("call void @f(ptr %out)", &function("f", 1 << 10, ""));
    assert_eq!(run_on_small_stack(&small), (0, true));
    for bytes in [1 << 17, 1 << 20, 3 << 20] {
        let inside = format!(
            "%array = alloca [{bytes} x i8], align 16
             store volatile ptr %array, ptr %out
             store volatile i8 1, ptr %array"
        );
        let kernels =
            [compile(&inside, ""), compile("call void @f(ptr %out)", &function("f", bytes, ""))];
        for kernel in &kernels {
            assert_eq!(run_on_small_stack(kernel), (libc::SIGSEGV, true), "{bytes} bytes");
        }
    }
}
