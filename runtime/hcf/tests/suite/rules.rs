//! Each rule of the format, broken.

use crate::support::{self, framed, framed_at, sample};
use schism_hcf::{Container, Groups, HcfError, Problem, RecordRef, SpecConstant, SpecPart, format};

/// The sample's contents, with its first `from` replaced, padded again.
fn edited(from: &str, to: &str) -> Vec<u8> {
    edited_of(&sample(), from, to)
}

fn edited_of(container: &Container, from: &str, to: &str) -> Vec<u8> {
    let record = container.to_record().unwrap();
    let header_len = u32::from_le_bytes(record[12..16].try_into().unwrap()) as usize;
    let appendix_len = u64::from_le_bytes(record[24..32].try_into().unwrap()) as usize;
    let (header, appendix) = record[64..64 + header_len + appendix_len].split_at(header_len);
    let header = str::from_utf8(header).unwrap().strip_suffix(format::MARKER).unwrap();
    assert!(header.contains(from), "{from}");
    [padded((header.trim_end().to_owned() + "\n").replacen(from, to, 1)).as_bytes(), appendix]
        .concat()
}

fn padded(mut lines: String) -> String {
    while !(lines.len() + format::MARKER.len()).is_multiple_of(16) {
        lines.push('\n');
    }
    lines + format::MARKER
}

fn error(contents: &[u8]) -> HcfError {
    let record = framed(contents);
    RecordRef::parse(&record).expect_err("a rule is broken")
}

/// What is found, in which node, after an edit.
fn after(from: &str, to: &str) -> (String, String) {
    let error = error(&edited(from, to));
    (error.problem().to_string(), error.node().to_owned())
}

#[track_caller]
fn check(from: &str, to: &str, problem: &str, node: &str) {
    let (found_problem, found_node) = after(from, to);
    assert!(found_problem.contains(problem), "found: {found_problem}");
    assert_eq!(found_node, node);
}

#[test]
fn no_edit_is_no_error() {
    assert_eq!(framed(&edited("sample", "sample")), sample().to_record().unwrap());
}

#[test]
fn keys_come_in_order_and_once() {
    check("crate-name=sample\n", "", "the key `crate-name` was expected", "");
    check("crate-name=sample\n", "crate-name=a\ncrate-name=b\n", "`crate-name` is there twice", "");
    check("llvm-version", "llvm-versions", "the key `llvm-versions` was found", "");
    check("crate-name=sample\n", "crate-name=a\nmore=1\n", "the node `images` was expected", "");
    check("can-panic=1\n", "can-panic=1\nfast-math=1\n", "the key `fast-math`", "kernels/saxpy");
    check(
        "size=21",
        "size=21\nend=37",
        "nothing more was expected",
        "images/llvm-ir.global/__binary",
    );
    check("{.images\n", "{.images\ncount=3\n", "nothing more was expected", "images");
    check("type=pointer\n", "", "the end of the node was found", "kernels/saxpy/parameters/0");
    check(
        "start=0
size=21
",
        "",
        "the end of the node",
        "images/llvm-ir.global/__binary",
    );
}

#[test]
fn nodes_come_in_order_and_once() {
    check("{.images", "{.more\n}.more\n{.images", "the node `images` was expected", "");
    check("}.kernels\n", "}.kernels\n{.more\n}.more\n", "nothing more was expected", "");
    check("{.ptx.sm_90\nvariant", "{.empty\nvariant", "two nodes `empty`", "images");
    check(
        "{.sinf\n}.sinf",
        "{.sinf\n}.sinf\n{.sinf\n}.sinf",
        "two nodes `sinf`",
        "images/llvm-ir.global/imported-symbols",
    );
    check(
        "{.sinf\n",
        "{.sinf\nweak=1\n",
        "nothing more",
        "images/llvm-ir.global/imported-symbols/sinf",
    );
    check("{.1\n", "{.4\n", "closed", "kernels/saxpy/parameters/4");
    check(
        "{.3\nbyte-offset=20\nbyte-size=36\nbyte-align=4\ntype=other-by-value\naddresses=28r 0:4=1-4294967295(4*2+12(0?))\n}.3",
        "{.03\n}.03",
        "the node `3` was expected",
        "kernels/saxpy/parameters/03",
    );
}

#[test]
fn lines_have_a_grammar() {
    check("crate-name=sample", "crate-name", "neither", "");
    check("crate-name=sample\n", "crate-name=sample\n\n", "neither", "");
    check("crate-name=", "crate-name =", "a-z", "");
    check("crate-name=", " crate-name=", "a-z", "");
    check("crate-name=", "=", "a-z", "");
    check("{.images", "{images", "neither", "");
    check("{.images", "{.", "no name", "");
    check(
        "{.sinf\n}.sinf",
        "{.sinf\n}.sing",
        "closed",
        "images/llvm-ir.global/imported-symbols/sinf",
    );
    check("{.images\n", "}.\n{.images\n", "closed", "");
    check("{.images\n", "}.images\n", "closed", "");
    check("}.kernels\n", "", "not closed", "kernels");
    check("variant=global", "{.a\n}.a\nvariant=global", "a key follows", "images/llvm-ir.global");
    check("hcf-version=2\n", "\nhcf-version=2\n", "neither", "");
    check("}.images\n", "}.images\r\n", "escapes", "images");
}

#[test]
fn text_is_written_in_one_way() {
    check("=sample", "= sample", "escapes", "");
    check("=sample", "=sample ", "escapes", "");
    check("=sample", "=%73ample", "escapes", "");
    check("=sample", "=sampl%", "escapes", "");
    check("=sample", "=sampl%0a", "escapes", "");
    check("=sample", "=sampl%C3", "escapes", "");
    check("=sample", "=sampl\u{1b}[31m", "escapes", "");
    check("{.odd%0A", "{.odd%0a", "escapes", "images/llvm-ir.global/exported-symbols");
    let mut contents = edited("sample", "sample");
    contents[20] = 0xFF;
    assert_eq!(*error(&contents).problem(), Problem::NotUtf8);
    assert_eq!(error(&contents).offset(), 64 + 20);
}

#[test]
fn numbers_are_strict() {
    let wrong =
        ["", "+56", "-56", "056", "0x38", "56 ", "5 6", "５６", "18446744073709551616", "1e3"];
    for number in wrong {
        let (problem, node) = after("closure-size=56", &format!("closure-size={number}"));
        assert!(
            problem.contains("decimal number") || problem.contains("escapes"),
            "{number}: {problem}"
        );
        assert_eq!(node, "kernels/saxpy");
    }
    let maximum = framed(&edited("closure-size=56", "closure-size=18446744073709551615"));
    assert_eq!(RecordRef::parse(&maximum).unwrap().kernels()[0].closure_size, u64::MAX);
}

#[test]
fn values_have_ranges() {
    let kernel = "kernels/saxpy";
    check("hcf-version=2", "hcf-version=1", "the frame says 2", "");
    check("dimensions=1", "dimensions=0", "1, 2 or 3", kernel);
    check("dimensions=1", "dimensions=4", "1, 2 or 3", kernel);
    check("dimensions=1", "dimensions=4294967297", "1, 2 or 3", kernel);
    check("can-panic=1", "can-panic=2", "0 or 1", kernel);
    let groups = |size: &str, align: &str| {
        format!("can-panic=1\nlocal-memory-size={size}\nlocal-memory-align={align}\n")
    };
    let read = framed(&edited("can-panic=1\n", &groups("96", "32")));
    let read = RecordRef::parse(&read).unwrap().kernels()[0].groups;
    assert_eq!(read, Some(Groups { local_size: 96, local_align: 32 }));
    check("can-panic=1\n", &groups("-1", "16"), "a decimal number", kernel);
    check("can-panic=1\n", &groups("96", "24"), "a power of two", kernel);
    check("can-panic=1\n", "can-panic=1\nlocal-memory-size=1\n", "`local-memory-align`", kernel);
    check("can-panic=1\n", "can-panic=1\nlocal-memory-align=1\n", "`local-memory-align`", kernel);
    for align in ["0", "3", "12", "1073741824", "18446744073709551615"] {
        check("closure-align=8", &format!("closure-align={align}"), "a power of two", kernel);
        check(
            "byte-align=8",
            &format!("byte-align={align}"),
            "a power of two",
            "kernels/saxpy/parameters/0",
        );
    }
}

#[test]
fn variants_have_symbols_of_their_own() {
    let with = |variant: &str| {
        let mut container = sample();
        container.kernels[0].offset_variant = Some(variant.to_owned());
        container
    };
    let record = with("saxpy_with_offset").to_record().unwrap();
    let read = RecordRef::parse(&record).unwrap();
    assert_eq!(read.kernels()[0].offset_variant.as_deref(), Some("saxpy_with_offset"));
    assert_eq!(read.kernels()[1].offset_variant, None);
    assert_eq!(read.to_container(), with("saxpy_with_offset"));

    let odd = with("odd\n}.name=1 ").to_record().unwrap_err();
    assert!(odd.to_string().contains("a symbol that nothing else here has"), "{odd}");
    let mut twice = with("variant");
    twice.kernels[1].offset_variant = Some("variant".to_owned());
    assert!(matches!(twice.to_record().unwrap_err().problem(), Problem::InvalidValue { .. }));
    let wrong = "a symbol that nothing else";
    check("can-panic=1\n", "can-panic=1\noffset-variant=\n", wrong, "kernels/saxpy");
    check("can-panic=1\n", "can-panic=1\noffset-variant=saxpy\n", wrong, "kernels/saxpy");
    check(
        "can-panic=1\n",
        "offset-variant=v\ncan-panic=1\n",
        "the key `can-panic` was expected",
        "kernels/saxpy",
    );
}

#[test]
fn constants_are_bytes_that_kernels_name() {
    let constant = |symbol: &str, default: &[u8]| SpecConstant {
        symbol: symbol.to_owned(),
        path: "sample::TILE".to_owned(),
        align: 8,
        default: default.to_vec(),
        parts: vec![SpecPart { size: default.len() as u64, ..SpecPart::default() }],
    };
    let with = |constants: Vec<SpecConstant>, used: &[&str]| {
        let mut container = sample();
        container.spec_constants = constants;
        container.kernels[0].spec_constants = used.iter().map(|name| name.to_string()).collect();
        container
    };
    let good = with(
        vec![constant("tile", &[16, 0, 0, 0xFF]), constant("odd \n", &[1])],
        &["odd \n", "tile"],
    );
    let record = good.to_record().unwrap();
    let read = RecordRef::parse(&record).unwrap();
    assert_eq!(read.to_container(), good);
    assert_eq!(read.spec_constant("tile").unwrap().default, [16, 0, 0, 0xFF]);
    assert_eq!(read.kernels()[0].spec_constants, ["odd \n", "tile"]);
    assert!(read.kernels()[1].spec_constants.is_empty());

    let refused = |container: Container| container.to_record().unwrap_err().problem().clone();
    let unknown = refused(with(vec![constant("tile", &[1])], &["other"]));
    assert_eq!(unknown, Problem::UnknownConstant("other".to_owned()));
    assert!(matches!(refused(with(vec![constant("a", &[])], &[])), Problem::InvalidValue { .. }));
    let twice = vec![constant("a", &[1]), constant("a", &[1])];
    assert!(matches!(refused(with(twice, &[])), Problem::DuplicateNode(_)));
    let mut odd = constant("a", &[1]);
    odd.align = 3;
    assert!(matches!(refused(with(vec![odd], &[])), Problem::InvalidValue { .. }));

    let node = "{.spec-constants\n{.a\npath=a\nbyte-align=4\n";
    let part = format!(
        "{{.parts\n{{.0\npath=\nplace=f\nline=1\ncolumn=2\ntype-id={}\nbyte-offset=0\nbyte-size=1\n}}.0\n}}.parts\n",
        "00".repeat(16)
    );
    let edit = |from: &str, to: &str| {
        let text = format!("{node}default=10\n{part}}}.a\n}}.spec-constants\n{{.kernels")
            .replace(from, to);
        after("{.kernels", &text)
    };
    for (from, to, problem) in [
        ("=10", "=1", "two lower-case hexadecimal digits"),
        ("=10", "=1G", "two lower-case hexadecimal digits"),
        ("=10", "=1A", "two lower-case hexadecimal digits"),
        ("=10", "=", "two lower-case hexadecimal digits"),
        ("line=1", "line=4294967296", "below 2^32"),
        ("line=1\n", "", "the key `line` was expected"),
        ("byte-align=4", "byte-align=5", "a power of two"),
    ] {
        assert!(edit(from, to).0.contains(problem), "{from} {to}: {}", edit(from, to).0);
    }
    let empty = "{.spec-constants\n}.spec-constants\n{.kernels";
    check("{.kernels", empty, "an empty list is left out", "");
    let in_kernel = "}.parameters\n{.spec-constants\n}.spec-constants\n";
    check("}.parameters\n", in_kernel, "an empty list is left out", "kernels/saxpy");
}

#[test]
fn aspects_are_words_in_order() {
    let with = |words: &[&str]| {
        let mut container = sample();
        container.kernels[0].capabilities = words.iter().map(|&word| word.to_owned()).collect();
        container
    };
    let good = with(&["atomic64", "fp64", "indirect-calls"]);
    let record = good.to_record().unwrap();
    assert_eq!(RecordRef::parse(&record).unwrap().to_container(), good);
    for wrong in [&["fp64", "fp16"][..], &["fp64", "fp64"], &[""], &["Fp64"], &["a b"], &["a", ""]]
    {
        let error = with(wrong).to_record().unwrap_err();
        assert!(matches!(error.problem(), Problem::InvalidValue { key: "aspects", .. }), "{error}");
    }
    let wrong = "words of [a-z0-9-] in ascending order";
    for line in ["aspects=", "aspects=fp64  int128", "aspects=b a", "aspects=a,b"] {
        check("can-panic=1\n", &format!("can-panic=1\n{line}\n"), wrong, "kernels/saxpy");
    }
}

#[test]
fn thread_locals_are_none_or_not_known() {
    for wrong in ["some", "", "None"] {
        let line = format!("can-panic=1\nthread-locals={wrong}\n");
        let record = framed(&edited("can-panic=1\n", &line));
        let error = RecordRef::parse(&record).expect_err(wrong);
        assert!(
            matches!(error.problem(), Problem::InvalidValue { key: "thread-locals", .. }),
            "{error}"
        );
    }
}

#[test]
fn contents_are_hashes() {
    let mut good = sample();
    good.kernels[0].content = Some(std::array::from_fn(|index| index as u8));
    let record = good.to_record().unwrap();
    assert_eq!(RecordRef::parse(&record).unwrap().to_container(), good);
    let digits = "00ff".repeat(16);
    for wrong in ["", &digits[1..], &digits[2..], &digits.to_uppercase(), &format!("{digits}00")] {
        let line = format!("can-panic=1\ncontent={wrong}\n");
        check("can-panic=1\n", &line, "64 lower-case hexadecimal digits", "kernels/saxpy");
    }
}

#[test]
fn parameters_lie_in_the_closure_and_have_sizes_of_their_kind() {
    let (first, last) = ("kernels/saxpy/parameters/0", "kernels/saxpy/parameters/3");
    check("byte-offset=20", "byte-offset=21", "within its closure", last);
    check("byte-offset=20", "byte-offset=18446744073709551615", "within its closure", last);
    check("byte-size=36", "byte-size=18446744073709551615", "within its closure", last);
    check("byte-size=36", "byte-size=0", "of this type", last);
    check("byte-size=8", "byte-size=16", "of this type", first);
    for wrong in ["access=write", "access="] {
        check("type=pointer\n", &format!("type=pointer\n{wrong}\n"), "`read`", first);
    }
    check(
        "type=integer\n",
        "type=integer\naccess=read\n",
        "pointers only",
        "kernels/saxpy/parameters/1",
    );
    for wrong in ["specialized=no", "specialized="] {
        let second = "kernels/saxpy/parameters/1";
        check("type=integer\n", &format!("type=integer\n{wrong}\n"), "`yes`", second);
    }
    check("type=pointer\n", "type=pointer\nspecialized=yes\n", "values only", first);
    check(
        "type=integer",
        "type=pointer to it",
        "integer, floating-point",
        "kernels/saxpy/parameters/1",
    );
    check("byte-size=4\n", "byte-size=3\n", "of this type", "kernels/saxpy/parameters/2");
    check(
        "type=floating-point",
        "type=Float",
        "integer, floating-point",
        "kernels/saxpy/parameters/2",
    );
}

#[test]
fn kernels_have_images() {
    let node = "kernels/saxpy/image-providers";
    check("{.ptx.sm_90\n}.ptx.sm_90", "{.ptx\n}.ptx", "no image `ptx`", node);
    check(
        "{.llvm-ir.global\n}.llvm-ir.global\n{.ptx.sm_90\n}.ptx.sm_90\n",
        "",
        "in no image",
        node,
    );
}

#[test]
fn images_fill_the_appendix_in_order() {
    let binary = "images/llvm-ir.global/__binary";
    for start in ["1", "16", "18446744073709551615"] {
        check("start=0", &format!("start={start}"), "follow each other", binary);
    }
    for size in ["45", "4294967296", "18446744073709551615"] {
        check("size=21", &format!("size={size}"), "appendix ends before", binary);
    }
    // Too short: what follows is no padding.
    check("size=21", "size=16", "follow each other", "images/empty/__binary");
    check("size=12", "size=11", "belong to no image", "images");
    check("size=12", "size=13", "appendix ends before", "images/ptx.sm_90/__binary");

    let mut contents = edited("sample", "sample");
    let start = contents.len() - 44;
    contents[start + 21] = 1;
    assert_eq!(*error(&contents).problem(), Problem::DirtyPadding);
}

#[test]
fn parts_of_constants_lie_in_order_within_their_constant() {
    let check = |from: &str, to: &str, problem: &str, number: u32| {
        let error = error(&edited_of(&support::constants(), from, to));
        let found = error.problem().to_string();
        assert!(found.contains(problem), "found: {found}");
        assert_eq!(error.node(), format!("spec-constants/SIZES/parts/{number}"));
    };
    let digits = "5a".repeat(16);
    check(&format!("type-id={digits}\n"), "", "the key `byte-offset` was found", 0);
    for wrong in [&digits[2..], &format!("{digits}00"), &digits.replace("5a", "5A"), ""] {
        check(&digits, wrong, "32 lower-case", 0);
    }
    let second = "byte-offset=8\nbyte-size=4\n}";
    check(second, "byte-offset=3\nbyte-size=4\n}", "begins behind", 1);
    check(second, "byte-offset=8\nbyte-size=5\n}", "ends within", 1);
    check(second, "byte-offset=8\nbyte-size=0\n}", "has bytes", 1);
    check(second, "byte-offset=18446744073709551615\nbyte-size=4\n}", "ends within", 1);
    check("{.1\npath", "{.2\npath", "closed", 2);
    check("column=9", "column=4294967296", "below 2^32", 0);
    let mut container = support::constants();
    let record = container.to_record().unwrap();
    assert_eq!(RecordRef::parse(&record).unwrap().to_container(), container);
    container.spec_constants[0].parts.clear();
    assert!(container.to_record().unwrap_err().to_string().contains("a constant has a part"));
}

#[test]
fn addresses_lie_in_bytes_that_are_passed_by_value() {
    let node = "kernels/saxpy/parameters/3";
    let written = "28r 0:4=1-4294967295(4*2+12(0?))";
    for wrong in
        ["29", "28 0:4=1-4294967296(4)", "28  0", "4*2+7(0)", "5*3+12(0)", "28)", "", "%38"]
    {
        let (problem, found) =
            after(&format!("addresses={written}"), &format!("addresses={wrong}"));
        assert!(
            problem.contains("items as the format") || problem.contains("escapes"),
            "{problem}"
        );
        assert_eq!(found, node);
    }
    check(
        &format!("addresses={written}"),
        &format!("specialized=yes\naddresses={written}"),
        "not specialized",
        node,
    );
    let in_others = [("type=pointer\n", 0), ("type=integer\n", 1), ("type=floating-point\n", 2)];
    for (kind, number) in in_others {
        let node = format!("kernels/saxpy/parameters/{number}");
        check(kind, &format!("{kind}addresses=0\n"), "other-by-value is the only type", &node);
    }
}

#[test]
fn the_final_padding_is_zero() {
    let mut record = sample().to_record().unwrap();
    *record.last_mut().unwrap() = 1;
    let id = blake3::hash(&record[64..]);
    record[32..48].copy_from_slice(&id.as_bytes()[..16]);
    support::seal_frame(&mut record);
    assert_eq!(*RecordRef::parse(&record).unwrap_err().problem(), Problem::DirtyPadding);
}

#[test]
fn the_marker_ends_the_header_after_the_least_padding() {
    let whole = framed(b"hcf-version=2\n");
    assert!(matches!(
        RecordRef::parse(&whole).unwrap_err().problem(),
        Problem::InconsistentLengths
    ));
    let no_marker = framed(b"hcf-version=2\n\n\n");
    assert!(matches!(RecordRef::parse(&no_marker).unwrap_err().problem(), Problem::Syntax(_)));

    let contents = edited("sample", "sample");
    let text = String::from_utf8(contents).unwrap_err().into_bytes();
    let marker = text.windows(26).position(|window| window == format::MARKER.as_bytes()).unwrap();
    let more = [&text[..marker], &[b'\n'; 16], &text[marker..]].concat();
    assert!(error(&more).to_string().contains("just fill up"));
    let fewer = [&text[..marker - 1], &text[marker..]].concat();
    assert!(matches!(error(&fewer).problem(), Problem::InconsistentLengths));
    // The last line needs its end.
    let mut lines = "hcf-version=2".to_owned();
    while !(lines.len() + 26).is_multiple_of(16) {
        lines.push('1');
    }
    assert!(error((lines + format::MARKER).as_bytes()).to_string().contains("just fill up"));
    // A marker before the header's end is a line like any other.
    let early = framed_at(format!("{0}\n{1}{0}", format::MARKER, "\n".repeat(11)).as_bytes(), 64);
    assert!(RecordRef::parse(&early).unwrap_err().to_string().contains("neither"));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| {
        let open: String = (0..depth).map(|level| format!("{{.{level}\n")).collect();
        let close: String = (0..depth).rev().map(|level| format!("}}.{level}\n")).collect();
        error(padded(open + &close).as_bytes()).problem().clone()
    };
    assert!(matches!(nested(format::MAX_DEPTH), Problem::Unexpected { .. }));
    assert!(matches!(nested(format::MAX_DEPTH + 1), Problem::TooMany { .. }));
    assert!(matches!(nested(100_000), Problem::TooMany { .. }));
}

#[test]
fn a_node_may_be_named_like_the_one_around_it() {
    let same = padded("{.a\n{.a\n{.a\n}.a\n}.a\n}.a\n".to_owned());
    assert!(matches!(error(same.as_bytes()).problem(), Problem::Unexpected { .. }));
}

#[test]
fn lines_are_bounded() {
    let mut container =
        Container { generator: "a".repeat(format::MAX_LINE_LEN - 10), ..Container::default() };
    assert!(container.to_record().is_ok());
    container.generator.push('a');
    let error = container.to_record().unwrap_err();
    assert_eq!(
        *error.problem(),
        Problem::TooMany { what: "bytes in a line", limit: format::MAX_LINE_LEN }
    );

    let mut symbols = Container { images: vec![Default::default()], ..Container::default() };
    symbols.images[0].name = "many".into();
    symbols.images[0].exported_symbols =
        (0..format::MAX_LINES / 2).map(|number| number.to_string()).collect();
    let error = symbols.to_record().unwrap_err();
    assert_eq!(
        *error.problem(),
        Problem::TooMany { what: "lines in the header", limit: format::MAX_LINES }
    );
    assert!(error.node().starts_with("images/many/exported-symbols/"));
}

#[test]
fn headers_are_bounded() {
    let long = "a".repeat(format::MAX_LINE_LEN / 2);
    let mut container = Container { images: vec![Default::default()], ..Container::default() };
    container.images[0].exported_symbols = vec![long; 65];
    let error = container.to_record().unwrap_err();
    assert_eq!(
        *error.problem(),
        Problem::TooMany { what: "bytes in the header", limit: format::MAX_HEADER_LEN }
    );
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let refused = |change: fn(&mut Container)| {
        let mut container = sample();
        change(&mut container);
        container.to_record().unwrap_err().problem().clone()
    };
    assert!(matches!(refused(|c| c.kernels[0].dimensions = 0), Problem::InvalidValue { .. }));
    assert!(matches!(refused(|c| c.kernels[0].images.clear()), Problem::NoImage));
    assert!(matches!(refused(|c| c.images.clear()), Problem::UnknownImage(_)));
    assert!(matches!(refused(|c| c.kernels[0].name.clear()), Problem::Syntax(_)));
    assert!(matches!(refused(|c| c.images[0].name.clear()), Problem::Syntax(_)));
    assert!(matches!(refused(|c| c.images[1] = c.images[0].clone()), Problem::DuplicateNode(_)));
    assert!(matches!(refused(|c| c.kernels[1] = c.kernels[0].clone()), Problem::DuplicateNode(_)));
    assert!(matches!(refused(|c| c.kernels[0].closure_align = 0), Problem::InvalidValue { .. }));
}

#[test]
fn long_names_are_cut_in_errors() {
    let mut container = sample();
    container.kernels[0].name = "é".repeat(100_000);
    container.kernels[0].dimensions = 9;
    let error = container.to_record().unwrap_err().to_string();
    assert!(error.len() < 1000 && error.contains('…'), "{error}");
}
