//! Large functions of the standard library that several calls share: there once, also if they panic.

mod support;

use schism_jit_abi::*;
use support::{Source, gpu, whole, words};

/// A symbol of the standard library, and one of the user's.
const OF_STD: &str = "_RNvNtNtCsgEmfK2I1SDS_4core3num7flt2dec5large";
const OF_USER: &str = "_RNvCs1234_7mycrate5large";

/// How many operations the function has.
const OPERATIONS: u64 = 1200;

/// A kernel that calls a large function for each work-item from three places. It panics at a number.
fn source(function: &str) -> Source {
    let mut text = format!(
        "@text = private constant [5 x i8] c\"large\"
         define internal i64 @{function}(i64 %value.0, i64 %at) {{
         start:
           %wrong = icmp eq i64 %value.0, %at
           br i1 %wrong, label %panic, label %fine
         panic:
           call void @__schism_panic(ptr @text, i64 5, ptr null)
           unreachable
         fine:\n"
    );
    for index in (0..OPERATIONS).step_by(2) {
        text += &format!(
            "%odd.{0} = mul i64 %value.{index}, {1}\n%value.{2} = xor i64 %odd.{0}, {2}\n",
            index + 1,
            2 * index + 3,
            index + 2
        );
    }
    text += &format!("ret i64 %value.{OPERATIONS}\n}}\n");
    text += &format!(
        "define void @kernel(ptr %out, i64 %at) {{
         start:
           %x = call i64 @__schism_global_id_x()
           %first = call i64 @{function}(i64 %x, i64 %at)
           %second = call i64 @{function}(i64 %first, i64 -1)
           %third = call i64 @{function}(i64 %second, i64 -1)
           %to = getelementptr i64, ptr %out, i64 %x
           store i64 %third, ptr %to, align 8
           ret void
         }}\n"
    );
    Source::new(&text, "kernel", words(&[PARAM_POINTER, PARAM_INTEGER]))
}

fn expected(x: u64) -> u64 {
    let large = |value| {
        (0..OPERATIONS)
            .step_by(2)
            .fold(value, |value: u64, index| value.wrapping_mul(2 * index + 3) ^ (index + 2))
    };
    large(large(large(x)))
}

#[test]
fn are_there_once() {
    let products = |function| {
        let text = gpu::Gpu::new(source(function)).build().text;
        text.lines().filter(|line| line.trim_start().starts_with("mul.lo.s64")).count() as u64
    };
    let (of_std, of_user) = (products(OF_STD), products(OF_USER));
    assert!(of_std < OPERATIONS, "{of_std}");
    assert!(of_user > OPERATIONS, "{of_user}");
}

#[test]
fn compute_and_panic_on_the_cpu() {
    let kernel = source(OF_STD).build();
    for at in [3_u64, 1000] {
        let mut out = vec![0_u64; 20];
        let closure = (out.as_mut_ptr(), at);
        // SAFETY: the closure is what the kernel takes, and each of 20 work-items writes a word.
        let result = unsafe { kernel.run(&closure, &whole(&[20])) };
        let ran = if at < 20 { at as usize } else { 20 };
        for (x, value) in out.iter().take(ran).enumerate() {
            assert_eq!(*value, expected(x as u64), "{x}");
        }
        match result {
            Ok(()) => assert_eq!(ran, 20),
            Err(panic) => {
                assert_eq!((panic.message.as_str(), panic.global_id), ("large", [3, 0, 0]));
            }
        }
    }
}
