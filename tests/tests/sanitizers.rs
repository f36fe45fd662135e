//! Sanitizers and work-items that waited on stacks of their own. Only `.ci/sanitize` runs these
//! tests.

#![cfg(any(schism_sanitize = "address", schism_sanitize = "thread"))]

use std::process::Command;

use schism::prelude::*;

/// Tells a child that it shall do what is wrong.
const WRONG: &str = "SCHISM_TEST_WRONG";

/// Runs `wrong` in a child, which the sanitizer must end with a report that says so and names the
/// kernel's function.
fn is_seen(test: &str, report: &str, function: &str, wrong: impl FnOnce(&Queue)) {
    if std::env::var_os(WRONG).is_some() {
        let native = Device::by_name("native").expect("the host");
        return wrong(&Queue::on(&native).expect("the host"));
    }
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program);
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(WRONG, "1");
    let child = child.output().expect("it starts");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success() && said.contains(report) && said.contains(function), "{said}");
}

/// The index is no constant.
#[cfg(schism_sanitize = "address")]
#[inline(never)]
fn read_beyond(value: u32, index: usize) -> u32 {
    let array = [value; 4];
    // SAFETY: there is no such element: that is the test.
    unsafe { array.as_ptr().wrapping_add(index).read_volatile() }
}

#[cfg(schism_sanitize = "address")]
#[test]
fn a_read_beyond_an_array_after_a_barrier() {
    let test = "a_read_beyond_an_array_after_a_barrier";
    is_seen(test, "stack-buffer-overflow", "read_beyond", |queue| {
        let mut out = Buffer::filled(queue, 32, 0_u32).expect("memory");
        let (view, beyond) = (out.view_mut(), 5);
        let range = NdRange::new(32, 16).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            item.barrier();
            let value = read_beyond(item.x() as u32, beyond);
            item.barrier();
            // SAFETY: each work-item writes its own element.
            unsafe { view.set_unchecked(item.x(), value) }
        });
        result.expect("it runs");
    });
}

/// Nothing else is in this function.
#[cfg(schism_sanitize = "thread")]
#[inline(never)]
fn write_unordered(view: &ViewMut<'_, u32>) {
    // SAFETY: other work-items write the same element: that is the test.
    unsafe { view.set_unchecked(0, 1) }
}

#[cfg(schism_sanitize = "thread")]
#[test]
fn writes_of_two_groups_to_one_element_after_a_barrier() {
    let test = "writes_of_two_groups_to_one_element_after_a_barrier";
    is_seen(test, "data race", "write_unordered", |queue| {
        let mut out = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let view = out.view_mut();
        let range = NdRange::new(1 << 14, 16).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            item.barrier();
            write_unordered(&view);
            item.barrier();
        });
        result.expect("it runs");
    });
}
