//! LLVM's fatal errors and panics under it are errors of the thread's work.

use std::time::Duration;

use schism_llvm::fatal::{Isolated, is_abandoned, isolated, start};
use schism_llvm::{Context, FileKind, Machine, Module, initialize_nvptx};

#[test]
fn work_gives_its_result_or_the_text_of_its_panic() {
    assert_eq!(isolated(|| 7).expect("it ends"), 7);
    let failure = isolated(|| -> u32 { panic!("number {}", 8) }).expect_err("it panics");
    let Isolated::Panicked(text) = &failure else { panic!("{failure:?}") };
    assert!(text.starts_with("number 8 (") && text.contains("fatal.rs:"), "{text}");
}

#[test]
fn what_llvm_gives_up_on_is_an_error() {
    let work = || {
        initialize_nvptx();
        let context = Context::new();
        let machine = Machine::new(c"nvptx64-nvidia-cuda", c"sm_70", c"").expect("a machine");
        // No pattern selects it.
        let text = "define x86_fp80 @f(x86_fp80 %x) {\n  %y = fadd x86_fp80 %x, %x\n  ret x86_fp80 %y\n}\n";
        let module = Module::from_text(context.handle(), text).expect("good text");
        machine.emit(&module, FileKind::Assembly).map(|_| ())
    };
    let failure = isolated(work).expect_err("LLVM gives up");
    assert!(matches!(&failure, Isolated::Fatal(text) if !text.is_empty()), "{failure:?}");
}

#[test]
fn a_thread_that_is_not_wanted_learns_it() {
    let (learns, learnt) = std::sync::mpsc::channel();
    let running = start(move || {
        while !is_abandoned() {
            std::thread::yield_now();
        }
        learns.send(()).expect("the receiver is there");
    })
    .expect("a thread");
    running.give_way();
    assert!(running.wait_for(Duration::from_millis(50)).is_none(), "it may still be wanted");
    running.abandon();
    learnt.recv().expect("it learns it");
    assert!(!is_abandoned());
}
