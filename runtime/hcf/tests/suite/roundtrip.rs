//! Any container comes back as it was.

use crate::support;
use proptest::{collection::btree_set, prelude::*, sample::subsequence};
use schism_hcf::{
    Address, AddressItem, Addresses, Code, Container, Groups, Image, Kernel, Level, PROCESSORS,
    Parameter, ParameterKind, Processor, RecordRef, SpecConstant, SpecPart, Target,
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
    let gpus = |target: fn(Processor) -> Target| {
        PROCESSORS.iter().map(move |name| target(name.parse().unwrap()))
    };
    let targets = gpus(Target::Ptx).chain(gpus(Target::Sass));
    let targets: Vec<_> = targets.chain(Level::ALL.map(Target::Host)).collect();
    let block = prop_oneof![Just([0; 3]), prop::array::uniform3(1..=u32::MAX)];
    let masks = prop_oneof![Just([0; 2]), any::<[u64; 2]>()];
    let target = prop::sample::select(targets);
    (target, any::<[u32; 4]>(), block, masks, any::<Option<u64>>(), name()).prop_map(
        |(target, numbers, block, [aligned, narrow], stack, entry)| {
            let [interface, flags, assumptions, needs] = numbers;
            Code {
                target,
                interface,
                entry,
                flags,
                assumptions,
                block,
                aligned,
                narrow,
                needs,
                stack,
            }
        },
    )
}

fn image(name: String) -> impl Strategy<Value = Image> {
    let data = proptest::collection::vec(any::<u8>(), 0..70);
    let what = prop_oneof![
        text().prop_map(|format| (format, None)),
        code().prop_map(|code| (code.target.format().to_owned(), Some(code))),
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
    let items = prop_oneof![Just(Vec::new()), proptest::collection::vec(address_item(), 1..4)];
    (0..=u64::MAX / 2, kind_and_size, align(), any::<bool>(), items).prop_map(
        |(offset, (kind, size), align, more, items)| {
            let (read_only, specialized) = (more && kind == Pointer, more && kind != Pointer);
            let has = kind == Bytes && !specialized && end_of(&items) <= size;
            let addresses = Addresses(if has { items } else { Vec::new() });
            Parameter { offset, size, align, kind, read_only, specialized, addresses }
        },
    )
}

/// One item, with what is in it.
fn address_item() -> impl Strategy<Value = AddressItem> {
    let address =
        (0..100_u64, any::<bool>(), any::<bool>()).prop_map(|(offset, read_only, uncertain)| {
            AddressItem::Address(Address { offset, read_only, uncertain })
        });
    address.prop_recursive(4, 12, 3, |inner| {
        let items = proptest::collection::vec(inner, 1..4);
        let array = (0..100_u64, 2..5_u64, 0..9_u64, items.clone()).prop_map(
            |(offset, count, between, items)| {
                let stride = end_of(&items) + between;
                AddressItem::Array { offset, count, stride, items }
            },
        );
        let values = (any::<u128>(), any::<u128>(), any::<bool>());
        let tagged = (0..100_u64, 0..5_u32, values, items).prop_map(
            |(offset, size, (first, last, one), items)| {
                let beyond = 128 - (8 << size);
                let (first, last) = (first >> beyond, if one { first } else { last } >> beyond);
                AddressItem::Tagged { offset, size: 1 << size, first, last, items }
            },
        );
        prop_oneof![array, tagged]
    })
}

/// Where items end.
fn end_of(items: &[AddressItem]) -> u64 {
    let ends = items.iter().map(|item| match item {
        AddressItem::Address(address) => address.offset + 8,
        AddressItem::Array { offset, count, stride, items } => {
            offset + stride * (count - 1) + end_of(items)
        }
        AddressItem::Tagged { offset, size, items, .. } => (offset + size).max(end_of(items)),
    });
    ends.max().unwrap_or(0)
}

fn kernel(name: String, images: Vec<String>) -> impl Strategy<Value = Kernel> {
    let providers = subsequence(images.clone(), 1..=images.len()).prop_shuffle();
    let parameters = proptest::collection::vec(parameter(), 0..5);
    let capabilities = proptest::collection::btree_set("[a-z0-9-]{1,8}", 0..3);
    let content = proptest::option::of(any::<[u8; 32]>());
    let imports = proptest::collection::btree_set("[a-z0-9_.$ %]{1,8}", 0..3);
    let groups = proptest::option::of((any::<u64>(), align()));
    let flags = (any::<bool>(), any::<bool>());
    let needs = (flags, groups, capabilities, imports, content);
    (text(), 1_u32..=3, any::<u64>(), align(), parameters, providers, needs).prop_map(
        move |(display_name, dimensions, size, closure_align, parameters, images, needs)| {
            let ((can_panic, no_thread_locals), groups, capabilities, imports, content) = needs;
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
                capabilities: capabilities.into_iter().collect(),
                content,
                no_thread_locals,
            }
        },
    )
}

fn spec_constant(symbol: String) -> impl Strategy<Value = SpecConstant> {
    let part = (text(), text(), any::<(u32, u32)>(), any::<[u8; 16]>(), (0..3_u64, 1..9_u64));
    let parts = prop::collection::vec(part, 1..4).prop_map(|parts| {
        let mut end = 0;
        let parts = parts.into_iter().map(|(path, place, (line, column), type_id, (gap, size))| {
            let offset = end + gap;
            end = offset + size;
            SpecPart { path, place, line, column, type_id, offset, size }
        });
        parts.collect::<Vec<_>>()
    });
    (text(), 0..30_u32, parts, prop::collection::vec(any::<u8>(), 36)).prop_map(
        move |(path, align, parts, mut default)| {
            let end = parts.last().map_or(1, |part| part.offset + part.size);
            default.truncate(end as usize + usize::from(default[0] % 4));
            SpecConstant { symbol: symbol.clone(), path, align: 1 << align, default, parts }
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
