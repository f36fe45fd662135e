//! Containers that are damaged, or are those of something else, are refused with an error that says
//! so.

use std::any::type_name;
use std::sync::atomic::AtomicPtr;

use schism_hcf::{Container, GENERIC_IR, Image, Kernel};

use super::*;
use crate::code::assumptions::Assumptions;
use crate::hal::host;
use crate::kernel::item::Item;

/// What `find` says of a kernel without captures, in a container of these bytes.
fn ask(name: &str, container: &[u8], abi: u32, dimensions: u32) -> ImageError {
    // Aligned like a section, and there for good: the registry keeps what it has read.
    let container: &'static mut [u128] =
        vec![0; container.len().div_ceil(16)].leak().tap(container);
    let begin = container.as_ptr().cast::<u8>();
    let descriptor = Descriptor {
        abi,
        dimensions,
        name: name.as_ptr(),
        name_len: name.len(),
        container_begin: begin,
        container_end: begin.wrapping_add(size_of_val(container)),
        slot: AtomicPtr::default(),
    };
    let kernel = |_: Item<1>| ();
    let raw = RawKernel::new::<_, 1>(&raw const kernel, type_name::<()>);
    // SAFETY: the descriptor is this kernel's in all that the test uses.
    let first =
        unsafe { find(&host::CpuLoader, &descriptor, &raw, &ASKED) }.expect_err("no such kernel");
    // SAFETY: as above.
    let again =
        unsafe { find(&host::CpuLoader, &descriptor, &raw, &ASKED) }.expect_err("no such kernel");
    assert_eq!(first.to_string(), again.to_string());
    forget(begin as usize, &[]);
    first
}

const ASKED: LaunchRequirements<'_> = LaunchRequirements {
    offset: false,
    options: None,
    adaptivity: Adaptivity::Basic,
    sub_grids: false,
    assumptions: Assumptions {
        small: false,
        divisible: false,
        block: [0; 3],
        aligned: 0,
        narrow: 0,
    },
    groups: false,
    demands_block: false,
};

trait Tap {
    fn tap(self, bytes: &[u8]) -> Self;
}

impl Tap for &'static mut [u128] {
    fn tap(self, bytes: &[u8]) -> Self {
        // SAFETY: room for as many bytes was made, and any bytes are numbers.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_mut_ptr().cast(), bytes.len())
        };
        self
    }
}

fn container(format: &str, closure_size: u64) -> Vec<u8> {
    let image = Image {
        name: format!("{format}.image"),
        format: format.to_owned(),
        variant: "global-module".to_owned(),
        code: None,
        exported_symbols: vec!["kernel".to_owned()],
        imported_symbols: Vec::new(),
        data: b"BC".to_vec(),
    };
    let kernel = Kernel {
        name: "kernel".to_owned(),
        display_name: "kernel".to_owned(),
        dimensions: 1,
        closure_size,
        closure_align: 1,
        parameters: Vec::new(),
        images: vec![format!("{format}.image")],
        can_panic: false,
        groups: None,
        offset_variant: None,
        spec_constants: Vec::new(),
        imports: Vec::new(),
        capabilities: Vec::new(),
        content: None,
        no_thread_locals: false,
    };
    let container = Container {
        spec_constants: Vec::new(),
        generator: "test".to_owned(),
        llvm_version: "22".to_owned(),
        crate_name: "test".to_owned(),
        images: vec![image],
        kernels: vec![kernel],
    };
    container.to_record().expect("a good container")
}

#[test]
fn damaged_containers() {
    assert!(matches!(ask("kernel", &[], DESCRIPTOR_ABI, 1), ImageError::Container(_)));
    assert!(matches!(ask("kernel", &[0; 64], DESCRIPTOR_ABI, 1), ImageError::Container(_)));
    let mut flipped = container(GENERIC_IR, 0);
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    assert!(matches!(ask("kernel", &flipped, DESCRIPTOR_ABI, 1), ImageError::Container(_)));
}

#[test]
fn containers_of_something_else() {
    let good = container(GENERIC_IR, 0);
    let mismatch = |error| match error {
        ImageError::Mismatch { reason } => reason,
        other => panic!("{other}"),
    };
    assert!(matches!(ask("other", &good, DESCRIPTOR_ABI, 1), ImageError::NoKernel));
    assert!(mismatch(ask("kernel", &good, DESCRIPTOR_ABI, 2)).contains("1 dimensions"));
    assert!(
        mismatch(ask("kernel", &container(GENERIC_IR, 8), DESCRIPTOR_ABI, 1)).contains("8 bytes")
    );
    let foreign = ask("kernel", &container("ptx", 0), DESCRIPTOR_ABI, 1);
    assert!(matches!(foreign, ImageError::NoImage { available } if available == "ptx.image"));
    assert!(matches!(ask("kernel", &good, 99, 1), ImageError::Version { found: 99, .. }));
}
