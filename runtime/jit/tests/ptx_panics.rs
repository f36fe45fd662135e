//! What becomes of panics in PTX: what a work-item leaves for the host, and how it ends.

mod support;

use schism_jit_abi::*;
use support::Source;
use support::gpu::{Gpu, panics};

#[test]
fn a_panic_leaves_a_message_and_ends_the_work_item() {
    for kernel in [
        "inlined",
        "placeless",
        "recursive",
        "by_pointer",
        "itself",
        "always",
        "formatted",
        "shown_text",
    ] {
        let ptx = Gpu::new(panics(kernel)).build();
        let text = &ptx.text;
        assert!(ptx.flags & GPU_MESSAGES != 0 && ptx.flags & GPU_PRINT == 0, "{kernel}");
        let parameters = ptx.parameters();
        assert_eq!(parameters.last().expect("a record"), ".u64 .ptr .global .align 16", "{text}");
        assert!(ptx.count(&["exit;"]) >= 1, "{text}");
        // A trap would end the context, with all memory in it.
        assert_eq!(ptx.count(&["trap;"]), 0, "{text}");
        assert!(ptx.count(&["atom.", "cas.b32"]) >= 1, "{text}");
    }
}

#[test]
fn a_panic_with_plain_values_calls_nothing_and_needs_no_memory() {
    for kernel in ["inlined", "placeless", "always", "formatted", "counts", "several"] {
        for source in [panics(kernel), panics(kernel).flags(FLAG_BASE)] {
            let ptx = Gpu::new(source).build();
            let text = &ptx.text;
            for word in ["call", ".local", ".func", "__schism_gpu_panic", "shared"] {
                assert!(!text.contains(word), "{kernel}: {word} in\n{text}");
            }
            assert_eq!(ptx.count(&["atom.", "cas.b32"]), 1, "{kernel}:\n{text}");
        }
    }
    // Outside of the entry, too.
    for kernel in ["recursive", "by_pointer", "itself"] {
        let text = Gpu::new(panics(kernel)).build().text;
        assert!(!text.contains("__schism_gpu_panic"), "{kernel}:\n{text}");
    }
}

#[test]
fn stores_before_a_panic_stay() {
    for kernel in ["stored", "stored_deep"] {
        let ptx = Gpu::new(panics(kernel)).build();
        assert_eq!(ptx.count(&["st.global.b8"]), 2, "{kernel}:\n{}", ptx.text);
    }
}

#[test]
fn panics_of_a_kernel_leave_by_one_block() {
    let ptx = Gpu::new(panics("several")).build();
    let text = &ptx.text;
    assert_eq!(ptx.count(&["st.release.gpu.global.b32"]), 1, "{text}");
    assert_eq!(ptx.count(&["fence.acq_rel.cta"]), 4, "{text}");
    // What they leave is prepared in blocks of their own: a loop has none of it.
    let (_, body) = text.split_once("ld.global.b32").expect("a loop");
    let (body, _) = body.split_once("bra").expect("its end");
    assert!(!body.contains("schism_$_shape"), "{text}");
}

#[test]
fn what_is_left_lies_where_the_host_looks_for_it() {
    use std::mem::{offset_of, size_of};
    let stores = |source: Source| {
        let text = Gpu::new(source).build().text;
        let offset = |line: &str| {
            let (place, _) = line.split_once("st.global.b64")?.1.split_once(']')?;
            place.split_once('+')?.1.parse::<usize>().ok()
        };
        let mut offsets: Vec<usize> = text.lines().filter_map(offset).collect();
        offsets.sort_unstable();
        assert_eq!(text.matches("atom.relaxed.gpu.global.cas.b32").count(), 1, "{text}");
        offsets
    };
    let at = |offset: usize| size_of::<GpuMessageBuffer>() + offset;
    let id = |axis: usize| at(offset_of!(GpuMessage, global_id) + 8 * axis);
    let word = |index: usize| at(size_of::<GpuMessage>() + 8 * index);
    let (shape, location) = (offset_of!(GpuMessage, template), offset_of!(GpuMessage, location));
    let (shape, location) = (at(shape), at(location));
    assert_eq!(stores(panics("inlined")), [id(0), shape, location]);
    assert_eq!(stores(panics("formatted")), [id(0), shape, location, word(0), word(1)]);
    let cube = panics("inlined").dimensions(3).flags(FLAG_BASE);
    assert_eq!(stores(cube), [id(0), id(1), id(2), shape, location]);
}

#[test]
fn a_panic_that_shows_what_is_elsewhere_copies_it() {
    for kernel in ["shown_text", "function_in_vtable"] {
        let text = Gpu::new(panics(kernel)).build().text;
        assert!(text.contains("__schism_gpu_panic"), "{kernel}:\n{text}");
    }
}

#[test]
fn no_message_is_looked_for_in_code() {
    // A GPU cannot read code: an access to it ends the context.
    let ptx = Gpu::new(panics("function_in_vtable")).build();
    assert_eq!(ptx.count(&["format"]), 0, "nothing needs it:\n{}", ptx.text);
    assert_eq!(ptx.count(&["schism_$_code_$_0[40]"]), 1, "{}", ptx.text);
    // Where it is needed, what copies messages knows its address.
    let ptx = Gpu::new(panics("function_by_vtable")).build();
    let (_, list) = ptx.text.rsplit_once("__schism_gpu_is_code(").expect("a list");
    let (list, _) = list.split_once("\n}").expect("its end");
    assert!(list.contains("format;") && list.contains("setp.eq"), "{}", ptx.text);
    // An empty one says so.
    let ptx = Gpu::new(panics("shown_text")).build();
    let (_, list) = ptx.text.rsplit_once("__schism_gpu_is_code(").expect("a list");
    let (list, _) = list.split_once("\n}").expect("its end");
    assert!(!list.contains("setp"), "{}", ptx.text);
}

#[test]
fn the_address_of_a_local_is_ordered_among_all_addresses() {
    let ptx = Gpu::new(panics("ordered")).build();
    assert_eq!(ptx.count(&["cvta.to.local"]), 0, "{}", ptx.text);
    let (_, entry) = ptx.text.split_once(".entry").expect("an entry");
    assert!(entry.contains("setp.") && entry.contains("cvta.local"), "{}", ptx.text);
}

#[test]
fn work_items_that_call_themselves_find_what_the_entry_knows() {
    // `recursive` asks for nothing but the record, `itself` for ids.
    let ptx = Gpu::new(panics("recursive")).build();
    assert!(
        ptx.count(&["st.shared.b64"]) == 1 && ptx.count(&["ld.shared.b64"]) >= 1,
        "{}",
        ptx.text
    );
    let ptx = Gpu::new(panics("inlined")).build();
    assert_eq!(ptx.count(&["shared"]), 0, "{}", ptx.text);
}

#[test]
fn a_kernel_that_cannot_panic_after_all_takes_no_record() {
    let ptx = Gpu::new(panics("never")).build();
    assert_eq!(ptx.flags, GPU_RANGE | GPU_ADDRESSES, "{}", ptx.text);
    assert_eq!(ptx.parameters(), [".u64 .ptr .global .align 1", ".u64", ".u64"], "{}", ptx.text);
    assert_eq!(ptx.count(&["exit;"]), 0, "{}", ptx.text);
}

#[test]
fn what_copies_messages_is_not_optimised_with_each_kernel() {
    // As it comes it is some two thousand lines, which LLVM would inline into each other.
    let ptx = Gpu::new(panics("shown_text")).build();
    let functions = ptx.count(&[".func"]);
    assert!(functions >= 7, "{functions} functions in\n{}", ptx.text);
}

#[test]
fn what_copies_messages_is_as_small_as_they_allow() {
    // Numbers alone need no walk through descriptors.
    let plain = Gpu::new(panics("shown_number")).build();
    assert!(plain.text.contains("__schism_gpu_panic_plain"), "{}", plain.text);
    let all = Gpu::new(panics("function_in_vtable")).build();
    assert!(!all.text.contains("__schism_gpu_panic_plain"), "{}", all.text);
    let lines = |ptx: &support::gpu::Ptx| ptx.text.lines().count();
    assert!(lines(&plain) * 2 < lines(&all), "{} and {}", lines(&plain), lines(&all));
    // It keeps what it can in memory: each register would be missing in the kernel.
    assert!(plain.count(&["ld.volatile"]) > 10, "{}", plain.text);
}
