//! Tests of which AOT code serves a launch on a device.

use schism_hcf::{Container, Image, Kernel, Level, SpecConstant, SpecPart};

use schism_jit_abi::{ASSUME_DIVISIBLE, ASSUME_INDEX_32};

use super::*;
use crate::code::assumptions::ConstantArgument;
use crate::code::make::choose;
use crate::hal::cuda::aot::{PtxTarget, is_cubin, ptx_version};
use crate::hal::host::aot::{HostTarget, level};

fn image(target: &str, form: &str, flags: u32, assumptions: u32) -> Image {
    let target: Target = target.parse().expect("a target");
    Image {
        name: format!("{target}/{form}"),
        format: target.format().to_owned(),
        variant: form.to_owned(),
        code: Some(Code {
            target,
            interface: ABI_VERSION,
            entry: "kernel".to_owned(),
            flags,
            assumptions,
            block: [0; 3],
            aligned: 0,
            narrow: 0,
            needs: 0,
            stack: None,
        }),
        data: match target {
            Target::Ptx(processor) => {
                let version = if processor.capability() < (9, 0) { "7.0" } else { "7.8" };
                format!("//\n// Made by\n\n.version {version}\n.target {processor}\n").into_bytes()
            }
            Target::Sass(_) => cubin(),
            Target::Host(_) | Target::Amdgcn(_) => b"\x7fELF".to_vec(),
            Target::Spirv => 0x0723_0203_u32.to_le_bytes().to_vec(),
        },
        ..Image::default()
    }
}

/// The header of a cubin with empty tables.
fn cubin() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18] = 190;
    bytes
}

/// A container with one kernel that has all this code.
fn container(images: Vec<Image>) -> Vec<u8> {
    let kernel = Kernel {
        name: "kernel".to_owned(),
        dimensions: 1,
        closure_align: 1,
        images: images.iter().map(|image| image.name.clone()).collect(),
        offset_variant: Some("kernel_with_offset".to_owned()),
        spec_constants: vec!["A".to_owned(), "B".to_owned()],
        ..Kernel::default()
    };
    let constant = |symbol: &str| SpecConstant {
        symbol: symbol.to_owned(),
        align: 1,
        default: vec![0],
        parts: vec![SpecPart { place: symbol.to_owned(), size: 1, ..SpecPart::default() }],
        ..SpecConstant::default()
    };
    let spec_constants = vec![constant("A"), constant("B")];
    let container =
        Container { images, kernels: vec![kernel], spec_constants, ..Container::default() };
    container.to_record().expect("a good container")
}

fn taken(bytes: &[u8], variant: &Variant, on: &dyn AotTarget) -> Option<(String, bool)> {
    let record = RecordRef::parse(bytes).expect("a good record");
    let found = find(&record, &record.kernels()[0], variant, on)?;
    Some((found.image.name.to_string(), found.complete))
}

/// A launch with a small range.
fn small() -> Variant {
    Variant {
        assumptions: Assumptions { small: true, ..Assumptions::default() },
        ..Variant::default()
    }
}

fn gpu(major: u32, minor: u32) -> PtxTarget {
    PtxTarget { capability: (major, minor), isa: 90 }
}

#[test]
fn the_highest_processor_that_is_not_above_the_device() {
    let images = ["ptx:sm_75", "ptx:sm_80", "ptx:sm_90"].map(|target| image(target, "plain", 0, 1));
    let bytes = container(images.to_vec());
    let on = |major, minor| taken(&bytes, &small(), &gpu(major, minor)).map(|(name, _)| name);
    assert_eq!(on(7, 2), None);
    assert_eq!(on(7, 5).as_deref(), Some("ptx:sm_75/plain"));
    assert_eq!(on(8, 6).as_deref(), Some("ptx:sm_80/plain"));
    assert_eq!(on(9, 0).as_deref(), Some("ptx:sm_90/plain"));
    assert_eq!(on(10, 0).as_deref(), Some("ptx:sm_90/plain"));
    assert_eq!(taken(&bytes, &Variant::default(), &HostTarget), None);
}

#[test]
fn code_for_one_processor_is_for_no_other() {
    let images =
        ["ptx:sm_80", "ptx:sm_90", "ptx:sm_90a"].map(|target| image(target, "plain", 0, 1));
    let bytes = container(images.to_vec());
    let on = |major, minor| taken(&bytes, &small(), &gpu(major, minor)).expect("code").0;
    assert_eq!(on(9, 0), "ptx:sm_90a/plain");
    assert_eq!(on(10, 0), "ptx:sm_90/plain");
    assert_eq!(on(8, 9), "ptx:sm_80/plain");
}

#[test]
fn an_old_driver_does_not_get_what_it_cannot_read() {
    let images = ["ptx:sm_80", "ptx:sm_90"].map(|target| image(target, "plain", 0, 1));
    let bytes = container(images.to_vec());
    let on = |isa| {
        let on = PtxTarget { capability: (9, 0), isa };
        taken(&bytes, &small(), &on).map(|(name, _)| name)
    };
    assert_eq!(on(77).as_deref(), Some("ptx:sm_80/plain"));
    assert_eq!(on(78).as_deref(), Some("ptx:sm_90/plain"));
    assert_eq!(on(65), None);
    assert_eq!(on(0).as_deref(), Some("ptx:sm_90/plain"), "the driver will say");
    assert_eq!(ptx_version(b".version 8.12\n"), Some(92));
    assert_eq!(ptx_version(b"nothing"), None);
    assert_eq!(ptx_version(b""), None);
    assert_eq!(ptx_version(b"\xff.version 1.0"), None);
}

#[test]
fn a_launch_gets_what_serves_it() {
    let general = FLAG_BASE | FLAG_OPEN_CONSTANTS;
    let bytes = container(vec![
        image("ptx:sm_80", "plain", 0, ASSUME_INDEX_32),
        image("ptx:sm_80", "general", general, 0),
        image("ptx:sm_80", "offset", FLAG_OFFSET, ASSUME_INDEX_32),
        image("ptx:sm_80", "general-offset", general | FLAG_OFFSET, 0),
    ]);
    let one = |change: &dyn Fn(&mut Variant)| {
        let mut variant = small();
        change(&mut variant);
        let (name, complete) = taken(&bytes, &variant, &gpu(8, 0)).expect("all are served");
        (name.split_once('/').expect("a form").1.to_owned(), complete)
    };
    let is = |form: &str, complete| (form.to_owned(), complete);
    assert_eq!(one(&|_| ()), is("plain", true));
    assert_eq!(one(&|v| v.assumptions.small = false), is("general", true));
    assert_eq!(one(&|v| v.sub_grids = true), is("general", true));
    assert_eq!(one(&|v| v.offset = true), is("offset", true));
    let wide = |v: &mut Variant| {
        v.offset = true;
        v.sub_grids = true;
        v.assumptions = Assumptions::default();
    };
    assert_eq!(one(&wide), is("general-offset", true));
    assert_eq!(one(&|v| v.math = Math::Relaxed), is("plain", false));
    assert_eq!(one(&|v| v.assumptions.block = [256, 1, 1]), is("plain", false));
    let constants = |v: &mut Variant| v.constants = vec![("B".to_owned(), Box::from([7]))];
    assert_eq!(one(&constants), is("general", false));
    assert_eq!(one(&|v| v.assumptions.divisible = true), is("plain", false));
    let known = |v: &mut Variant| {
        v.values = vec![ConstantArgument { param: 0, offset: 0, bytes: Box::from([1]) }]
    };
    assert_eq!(one(&known), is("plain", false));

    // Without the general code such launches have none.
    let bytes = container(vec![image("ptx:sm_80", "plain", 0, ASSUME_INDEX_32)]);
    let variant = Variant::default();
    assert_eq!(taken(&bytes, &variant, &gpu(8, 0)), None);
    let mut variant = small();
    constants(&mut variant);
    assert_eq!(taken(&bytes, &variant, &gpu(8, 0)), None);
    let record = RecordRef::parse(&bytes).expect("a good record");
    assert_eq!(values(&record.kernels()[0], &variant), [(1, &[7_u8][..])]);
    let reason = "there is none".to_owned();
    let error =
        explain(ImageError::Stage2 { reason }, &record, &record.kernels()[0], &variant, &gpu(7, 5));
    let says =
        "for ptx:sm_80, which does not serve ptx:sm_75 with values of specialization constants";
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn code_of_other_versions_is_left_alone() {
    let code = |change: &dyn Fn(&mut Code)| {
        let mut image = image("host:x86-64", "plain", 0, 0);
        image.code.as_mut().map(change).expect("code");
        taken(&container(vec![image]), &Variant::default(), &HostTarget)
    };
    let here = cfg!(target_arch = "x86_64").then(|| ("host:x86-64/plain".to_owned(), true));
    assert_eq!(code(&|_| ()), here);
    assert_eq!(code(&|code| code.interface -= 1), None);
    assert_eq!(code(&|code| code.interface += 1), None);
    assert_eq!(code(&|code| code.flags = 1 << 20), None);
    assert_eq!(code(&|code| code.assumptions = 1 << 20), None);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_processor_gets_what_it_has() {
    let all = Level::ALL.map(|level| image(&Target::Host(level).to_string(), "plain", 0, 0));
    let bytes = container(all.to_vec());
    let best = taken(&bytes, &Variant::default(), &HostTarget).expect("there is the least of them");
    assert_eq!(best.0, format!("host:{}/plain", level()));
    // The code was not made for schism's own mathematics library; other code is for nothing else.
    let portable = Variant { portable: true, ..Variant::default() };
    assert_eq!(taken(&bytes, &portable, &HostTarget), None);
    let own = container(vec![image("host:x86-64", "plain", FLAG_PORTABLE_MATH, 0)]);
    assert_eq!(taken(&own, &portable, &HostTarget), Some(("host:x86-64/plain".to_owned(), true)));
    assert_eq!(taken(&own, &Variant::default(), &HostTarget), None);
    for (bytes, variant, library) in
        [(&bytes, &portable, "portable"), (&own, &Variant::default(), "host")]
    {
        let record = RecordRef::parse(bytes).expect("a good record");
        let reason = "there is none".to_owned();
        let error = ImageError::Stage2 { reason };
        let error = explain(error, &record, &record.kernels()[0], variant, &HostTarget);
        let says = format!("which does not serve host with SCHISM_CPU_MATH={library}");
        assert!(error.to_string().contains(&says), "{error}");
    }
}

/// Code for launches that satisfy this, as a build makes it beside the general one.
fn versions(target: &str) -> Vec<Image> {
    let version = |form: &str, assumptions, change: &dyn Fn(&mut Code)| {
        let mut image = image(target, form, 0, assumptions);
        change(image.code.as_mut().expect("it is code"));
        image
    };
    let block = |code: &mut Code| {
        (code.block, code.aligned, code.narrow) = ([256, 1, 1], 0b01, 0b10);
    };
    let whole = |code: &mut Code| {
        block(code);
        code.aligned = 0b11;
    };
    vec![
        version("plain", ASSUME_INDEX_32, &|code| code.narrow = 0b10),
        image(target, "general", FLAG_BASE, 0),
        version("block-256", ASSUME_INDEX_32, &block),
        version("whole-256", ASSUME_INDEX_32 | ASSUME_DIVISIBLE, &whole),
    ]
}

/// The version that a launch of which this holds takes on a device, without stage 2 or with it.
fn version_for(bytes: &[u8], launch: Assumptions, on: &dyn AotTarget) -> String {
    let record = RecordRef::parse(bytes).expect("a good record");
    let kernel = &record.kernels()[0];
    let versions = super::versions(&record, kernel, &Variant::default(), on);
    let best = versions.iter().find(|version| version.hold_for(launch));
    let variant = Variant { assumptions: *best.expect("one serves all"), ..Variant::default() };
    let (name, complete) = taken(bytes, &variant, on).expect("the same one");
    assert!(complete, "{name}");
    name
}

/// A launch for which everything holds.
const ALL: Assumptions =
    Assumptions { small: true, divisible: true, block: [256, 1, 1], aligned: 0b11, narrow: 0b10 };

#[test]
fn a_launch_gets_the_version_that_assumes_the_most_of_what_holds() {
    let bytes = container(versions("ptx:sm_90"));
    let one = |change: &dyn Fn(&mut Assumptions)| {
        let mut launch = ALL;
        change(&mut launch);
        let name = version_for(&bytes, launch, &gpu(9, 0));
        name.split_once('/').expect("a form").1.to_owned()
    };
    assert_eq!(one(&|_| ()), "whole-256");
    assert_eq!(one(&|launch| launch.aligned = u64::MAX), "whole-256");
    assert_eq!(one(&|launch| launch.divisible = false), "block-256");
    assert_eq!(one(&|launch| launch.aligned = 0b01), "block-256");
    assert_eq!(one(&|launch| launch.aligned = 0b10), "plain");
    assert_eq!(one(&|launch| launch.block = [128, 1, 1]), "plain");
    assert_eq!(one(&|launch| launch.narrow = 0b01), "general");
    assert_eq!(one(&|launch| launch.small = false), "general");
    assert_eq!(one(&|launch| *launch = Assumptions::default()), "general");
}

#[test]
fn versions_are_none_where_stage_2_serves_launches_better() {
    let bytes = container(versions("ptx:sm_90"));
    let record = RecordRef::parse(&bytes).expect("a good record");
    let kernel = &record.kernels()[0];
    let count =
        |variant: &Variant, on: &dyn AotTarget| super::versions(&record, kernel, variant, on).len();
    let plain = Variant::default();
    assert_eq!(count(&plain, &gpu(9, 0)), 4);
    assert_eq!(count(&plain, &gpu(8, 0)), 0);
    assert_eq!(count(&plain, &HostTarget), 0);
    let constants = Variant { constants: vec![("B".to_owned(), Box::from([7]))], ..plain.clone() };
    assert_eq!(count(&constants, &gpu(9, 0)), 0);
    assert_eq!(count(&Variant { math: Math::Relaxed, ..plain.clone() }, &gpu(9, 0)), 0);
    assert_eq!(count(&Variant { sub_grids: true, ..plain }, &gpu(9, 0)), 1);
}

#[test]
fn unknown_assumptions_are_left_alone() {
    let mut images = versions("ptx:sm_90");
    for image in &mut images[2..] {
        image.code.as_mut().expect("it is code").assumptions |= 1 << 7;
    }
    assert_eq!(version_for(&container(images), ALL, &gpu(9, 0)), "ptx:sm_90/plain");
}

#[test]
fn machine_code_comes_before_ptx_where_it_runs() {
    let images = ["ptx:sm_80", "ptx:sm_90", "sass:sm_80", "sass:sm_90"].map(versions);
    let bytes = container(images.concat());
    let on = |major, minor| version_for(&bytes, ALL, &gpu(major, minor));
    assert_eq!(on(9, 0), "sass:sm_90/whole-256");
    assert_eq!(on(8, 0), "sass:sm_80/whole-256");
    assert_eq!(on(8, 9), "sass:sm_80/whole-256");
    // Another major number: the driver makes machine code.
    assert_eq!(on(10, 0), "ptx:sm_90/whole-256");
    assert_eq!(on(12, 1), "ptx:sm_90/whole-256");
    // Without PTX there is nothing for it.
    let only = container(versions("sass:sm_90"));
    assert_eq!(taken(&only, &Variant::default(), &gpu(10, 0)), None);
    assert_eq!(taken(&only, &Variant::default(), &gpu(8, 9)), None);
    assert_eq!(version_for(&only, ALL, &gpu(9, 0)), "sass:sm_90/whole-256");
}

#[test]
fn a_damaged_file_of_machine_code_is_none() {
    assert!(is_cubin(&cubin()));
    for (place, value) in
        [(0, 0), (4, 1), (18, 62), (32, 65), (40, 65), (60, 2), (56, 2), (47, 255)]
    {
        let mut bytes = cubin();
        bytes[place] = value;
        // Entries of the tables have a size.
        (bytes[54], bytes[58]) = (56, 64);
        assert!(!is_cubin(&bytes), "{place}");
    }
    for len in 0..64 {
        assert!(!is_cubin(&cubin()[..len]), "{len}");
    }
    let mut damaged = versions("sass:sm_90");
    damaged.iter_mut().for_each(|image| image.data.truncate(20));
    let bytes = container([damaged, versions("ptx:sm_90")].concat());
    assert_eq!(version_for(&bytes, ALL, &gpu(9, 0)), "ptx:sm_90/whole-256");
}

#[test]
fn ptx_is_loaded_where_the_driver_refuses_machine_code() {
    let bytes = container(["ptx:sm_90", "sass:sm_90"].map(versions).concat());
    let record = RecordRef::parse(&bytes).expect("a good record");
    let kernel = &record.kernels()[0];
    let on = gpu(9, 0);
    let mismatch = || ImageError::Mismatch { reason: "refused".to_owned() };
    let chosen = |refused: &dyn Fn(Target) -> bool| {
        let variant = Variant { assumptions: ALL, ..Variant::default() };
        let load = |code: &AotCode<'_, '_>| match refused(code.code.target) {
            true => Err(mismatch()),
            false => Ok(code.version()),
        };
        choose(&record, kernel, &variant, &on, load, || Err(mismatch()))
    };
    let words = "whole-256: index=32 divisible block=256 aligned=0,1 narrow=1";
    assert_eq!(chosen(&|_| false).expect("code"), format!("sass:sm_90 {words}"));
    let is_sass = |target| matches!(target, Target::Sass(_));
    assert_eq!(chosen(&is_sass).expect("code"), format!("ptx:sm_90 {words}"));
    assert!(chosen(&|_| true).is_err());
}
