//! Kernels on which LLVM's loop vectoriser works for ever.

mod support;

use std::time::{Duration, Instant};

use schism_jit::{Request, compile_cpu_within};
use schism_jit_abi::*;
use schism_loader::Code;
use schism_loader::message::Calls;
use support::{Source, whole, words};

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A loop of 64 iterations in which so many words are made one, the same in all iterations. But
/// each iteration stores, so the words have to be loaded again.
fn chain(words: u64) -> String {
    let mut text = "define void @chain(ptr %words, ptr %out) {\nstart:\n\
        %x = call i64 @__schism_global_id_x()\n\
        %row = mul i64 %x, 64\n  br label %loop\nloop:\n\
        %j = phi i64 [ 0, %start ], [ %next, %loop ]\n  %h.0 = add i64 7, 0\n"
        .to_owned();
    for i in 0..words {
        text += &format!(
            "%at.{i} = getelementptr inbounds i64, ptr %words, i64 {i}\n\
             %word.{i} = load i64, ptr %at.{i}\n\
             %both.{i} = xor i64 %h.{i}, %word.{i}\n\
             %product.{i} = mul i64 %both.{i}, {}\n\
             %h.{} = call i64 @llvm.fshl.i64(i64 %product.{i}, i64 %product.{i}, i64 23)\n",
            FACTOR as i64,
            i + 1
        );
    }
    text + &format!(
        "%value = xor i64 %h.{words}, %j\n  %place = add i64 %row, %j\n\
         %to = getelementptr inbounds i64, ptr %out, i64 %place\n  store i64 %value, ptr %to\n\
         %next = add nuw nsw i64 %j, 1\n  %more = icmp ult i64 %next, 64\n\
         br i1 %more, label %loop, label %done\ndone:\n  ret void\n}}\n\
         declare i64 @llvm.fshl.i64(i64, i64, i64)\n"
    )
}

unsafe extern "C" fn print(_: *const u8, _: usize) {}

/// Compiles and runs the kernel; what the code says of itself.
fn run(count: u64, limit: Duration) -> u32 {
    let source = Source::new(&chain(count), "chain", words(&[PARAM_POINTER, PARAM_POINTER]));
    let request = Request {
        image: source.image,
        kernel: source.kernel,
        params: source.params,
        closure_size: source.closure_size,
        closure_align: source.closure_align,
        dimensions: source.dimensions,
        ..Request::default()
    };
    let made = compile_cpu_within(request, limit).expect("it is compiled");
    // SAFETY: it was made for this processor.
    let code = unsafe { Code::load_with(&made.object, Calls { print, raise: None }, &[], None) }
        .expect("it is loaded");
    let given: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0xABCD_EF01)).collect();
    let mut out = vec![0_u64; 3 * 64];
    let closure = [given.as_ptr() as usize, out.as_mut_ptr() as usize];
    let mut record = PanicRecord::EMPTY;
    // SAFETY: the closure is what the kernel takes, and each of 3 work-items writes 64 words.
    let status = unsafe { code.entry()((&raw const closure).cast(), &whole(&[3]), &mut record) };
    assert_eq!(status, RUN_OK);
    let step = |h: u64, word: &u64| (h ^ word).wrapping_mul(FACTOR).rotate_left(23);
    let hash = given.iter().fold(7, step);
    assert!(out.iter().enumerate().all(|(at, value)| *value == hash ^ (at as u64 % 64)));
    made.flags
}

#[test]
fn what_the_vectoriser_does_not_finish_is_compiled_without_it() {
    let begin = Instant::now();
    assert_eq!(run(40, Duration::from_millis(200)), CPU_PLAIN_LOOPS);
    assert!(begin.elapsed() < Duration::from_secs(3600), "LLVM would take years");
    // Where it reaches an end, its code is what is taken.
    assert_eq!(run(4, Duration::from_secs(600)), 0);
}

/// Names the process in which the test below ends with a compilation under way.
const CHILD: &str = "SCHISM_TEST_ENDS_WHILE_COMPILING";

/// The status of that process if the compilation continues while it ends.
const STILL_RUNNING: i32 = 9;

/// Runs at the end of that process, after the destructors of what was constructed before the
/// compilation was abandoned.
extern "C" fn look() {
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let times = || {
            let stat = read("stat");
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
            (fields.get(12).map(|time| (*time).to_owned()), fields.get(1) == Some(&"R"))
        };
        if read("comm").trim() != "schism-jit" {
            continue;
        }
        let before = times();
        std::thread::sleep(Duration::from_millis(200));
        if before != times() || before.1 {
            // SAFETY: it ends the process and does nothing else.
            unsafe { libc::_exit(STILL_RUNNING) };
        }
    }
}

#[test]
fn the_end_of_the_process_stops_what_nobody_waits_for() {
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: the function does not unwind.
        assert_eq!(unsafe { libc::atexit(look) }, 0);
        assert_eq!(run(40, Duration::from_millis(200)), CPU_PLAIN_LOOPS);
        return;
    }
    let program = std::env::current_exe().expect("it has a path");
    let name = "the_end_of_the_process_stops_what_nobody_waits_for";
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
}
