//! Any container comes back as it was.

use crate::support;
use proptest::{collection::btree_set, prelude::*, sample::subsequence};
use schism_hcf::{
    Code, Container, Groups, Image, Kernel, Level, PROCESSORS, Parameter, ParameterKind, RecordRef,
    SpecConstant, Target,
};

/// Text with all that could break a line, a node or a terminal.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n"),
        Just("}."),
        Just("{."),
        Just("="),
        Just("%"),
        Just("%0A"),
        Just(" "),
        Just("\r\n"),
        Just("\0"),
        Just("\u{1b}[0m"),
        Just("\u{85}"),
        Just("\u{2028}"),
        Just("é"),
        Just("a"),
        Just("__binary"),
        Just("0"),
        Just("__acpp_hcf_binary_appendix"),
        Just("images"),
        Just("/"),
        Just("\\"),
    ];
    prop_oneof![
        proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat()),
        any::<String>(),
        "[a-z_:<>{}#]{0,40}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    text().prop_filter("names are not empty", |name| !name.is_empty())
}

fn names(count: usize) -> impl Strategy<Value = Vec<String>> {
    btree_set(name(), 0..=count)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn code() -> impl Strategy<Value = Code> {
    let targets = PROCESSORS.iter().map(|name| Target::Ptx(name.parse().unwrap()));
    let targets: Vec<_> = targets.chain(Level::ALL.map(Target::Host)).collect();
    (prop::sample::select(targets), any::<[u32; 4]>(), name()).prop_map(
        |(target, [interface, flags, facts, needs], entry)| Code {
            target,
            interface,
            entry,
            flags,
            facts,
            needs,
        },
    )
}

fn image(name: String) -> impl Strategy<Value = Image> {
    let data = proptest::collection::vec(any::<u8>(), 0..70);
    let what = prop_oneof![
        text().prop_map(|format| (format, None)),
        code().prop_map(|code| (Code::format(code.target).to_owned(), Some(code))),
    ];
    (what, text(), names(3), names(3), data).prop_map(
        move |((format, code), variant, exported_symbols, imported_symbols, data)| Image {
            name: name.clone(),
            format,
            variant,
            code,
            exported_symbols,
            imported_symbols,
            data,
        },
    )
}

fn align() -> impl Strategy<Value = u64> {
    (0_u32..=29).prop_map(|bits| 1 << bits)
}

fn parameter() -> impl Strategy<Value = Parameter> {
    use ParameterKind::{Bytes, Float, Integer, Pointer};
    let kind_and_size = prop_oneof![
        (Just(Integer), prop::sample::select(vec![1, 2, 4, 8, 16])),
        (Just(Float), prop::sample::select(vec![2, 4, 8, 16])),
        (Just(Pointer), prop::sample::select(vec![4, 8])),
        (Just(Bytes), 1..=u64::MAX / 2),
    ];
    (0..=u64::MAX / 2, kind_and_size, align(), any::<bool>()).prop_map(
        |(offset, (kind, size), align, more)| {
            let (read_only, specialized) = (more && kind == Pointer, more && kind != Pointer);
            Parameter { offset, size, align, kind, read_only, specialized }
        },
    )
}

fn kernel(name: String, images: Vec<String>) -> impl Strategy<Value = Kernel> {
    let providers = subsequence(images.clone(), 1..=images.len()).prop_shuffle();
    let parameters = proptest::collection::vec(parameter(), 0..5);
    let aspects = proptest::collection::btree_set("[a-z0-9-]{1,8}", 0..3);
    let content = proptest::option::of(any::<[u8; 32]>());
    let imports = proptest::collection::btree_set("[a-z0-9_.$ %]{1,8}", 0..3);
    let groups = proptest::option::of((any::<u64>(), align()));
    let needs = (any::<bool>(), groups, aspects, imports, content);
    (text(), 1_u32..=3, any::<u64>(), align(), parameters, providers, needs).prop_map(
        move |(display_name, dimensions, size, closure_align, parameters, images, needs)| {
            let (can_panic, groups, aspects, imports, content) = needs;
            Kernel {
                name: name.clone(),
                display_name,
                dimensions,
                closure_size: parameters
                    .iter()
                    .map(|p| p.offset + p.size)
                    .max()
                    .unwrap_or(0)
                    .max(size),
                closure_align,
                parameters,
                images,
                can_panic,
                groups: groups.map(|(local_size, local_align)| Groups { local_size, local_align }),
                offset_variant: None,
                spec_constants: Vec::new(),
                imports: imports.into_iter().collect(),
                aspects: aspects.into_iter().collect(),
                content,
            }
        },
    )
}

fn spec_constant(symbol: String) -> impl Strategy<Value = SpecConstant> {
    let numbers = (any::<u32>(), any::<u32>(), 0..30_u32);
    (text(), text(), numbers, prop::collection::vec(any::<u8>(), 1..40)).prop_map(
        move |(path, place, (line, column, align), default)| SpecConstant {
            symbol: symbol.clone(),
            path,
            place,
            line,
            column,
            align: 1 << align,
            default,
        },
    )
}

fn container() -> impl Strategy<Value = Container> {
    let parts = (names(4), names(4), names(3)).prop_flat_map(|(images, kernels, constants)| {
        // Without images there can be no kernels.
        let kernels = if images.is_empty() { Vec::new() } else { kernels };
        let kernels: Vec<_> =
            kernels.into_iter().map(|name| kernel(name, images.clone())).collect();
        let constants: Vec<_> = constants.into_iter().map(spec_constant).collect();
        (images.into_iter().map(image).collect::<Vec<_>>(), kernels, constants)
    });
    (text(), text(), text(), parts).prop_map(
        |(generator, llvm_version, crate_name, (images, kernels, spec_constants))| Container {
            generator,
            llvm_version,
            crate_name,
            images,
            spec_constants,
            kernels,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_container_comes_back(container in container()) {
        let bytes = container.to_record().unwrap();
        let record = RecordRef::parse(&bytes).unwrap();
        prop_assert_eq!(record.to_container(), container);
        support::exercise_section(&bytes);
    }

    #[test]
    fn other_containers_have_other_ids(one in container(), other in container()) {
        prop_assert_eq!(one == other, one.object_id() == other.object_id());
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        support::exercise_section(&bytes);
        support::exercise_contents(&bytes);
    }
}
