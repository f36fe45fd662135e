//! Code that was made ahead of time: its keys, and every way to damage them.

use crate::sample;
use crate::support::{aot, framed};
use schism_hcf::{Problem, RecordRef, format};

/// What is wrong after an edit of the header.
#[track_caller]
fn after(from: &str, to: &str) -> String {
    let record = aot().to_record().unwrap();
    let header_len = u32::from_le_bytes(record[12..16].try_into().unwrap()) as usize;
    let appendix_len = u64::from_le_bytes(record[24..32].try_into().unwrap()) as usize;
    let (header, appendix) = record[64..64 + header_len + appendix_len].split_at(header_len);
    let header = str::from_utf8(header).unwrap().strip_suffix(format::MARKER).unwrap();
    assert!(header.contains(from), "{from}");
    let mut header = (header.trim_end().to_owned() + "\n").replacen(from, to, 1);
    while !(header.len() + format::MARKER.len()).is_multiple_of(16) {
        header.push('\n');
    }
    let contents = [header.as_bytes(), format::MARKER.as_bytes(), appendix].concat();
    let record = framed(&contents);
    RecordRef::parse(&record).expect_err("a rule is broken").to_string()
}

#[test]
fn code_comes_back() {
    let bytes = aot().to_record().unwrap();
    let record = RecordRef::parse(&bytes).unwrap();
    assert_eq!(record.to_container(), aot());
    let code = record.image("b").unwrap().code.as_ref().unwrap();
    assert_eq!(
        (code.target.to_string().as_str(), code.entry.as_str()),
        ("ptx:sm_90a", "saxpy=1\n")
    );
    assert_eq!(record.image("llvm-ir.global").unwrap().code, None);
    let code = record.image("d").unwrap().code.as_ref().unwrap();
    assert_eq!((code.block, code.aligned, code.narrow), ([256, 1, 1], 1 << 63 | 0b11, 2));
    let tree = record.tree().to_string();
    let version = "facts = 1, block = 256 1 1, aligned = 0 1 63, narrow = 1, needs = 12";
    assert!(tree.contains(version), "{tree}");
    assert!(tree.contains("code: target = ptx:sm_80, interface = 7, flags = 9, facts = 1, needs = 12, entry = saxpy"), "{tree}");
}

#[test]
fn rules() {
    for (from, to, says) in [
        ("target=ptx:sm_80\n", "target=ptx:sm_7\n", "`target=ptx:sm_7` is not allowed"),
        ("target=ptx:sm_80\n", "target=banana\n", "`target=banana` is not allowed"),
        ("target=ptx:sm_80\n", "target=host\n", "`target=host` is not allowed"),
        ("target=ptx:sm_80\n", "target=host:x86-64\n", "format is not this target's"),
        ("format=elf\n", "format=coff\n", "format is not this target's"),
        ("target=ptx:sm_80\n", "", "the key `target` was expected"),
        ("interface=7\n", "interface=4294967296\n", "a number below 2^32"),
        ("stack=3145728\n", "stack=03145728\n", "without sign or leading zero"),
        ("interface=7\n", "interface=07\n", "without sign or leading zero"),
        ("flags=9\n", "flags=-1\n", "without sign or leading zero"),
        ("facts=1\n", "", "the key `facts` was expected"),
        ("needs=12\n", "needs=12\nmore=1\n", "the key `entry` was expected"),
        ("target=sass:sm_90\n", "target=ptx:sm_90\n", "format is not this target's"),
        ("format=cubin\n", "format=ptx\n", "format is not this target's"),
        ("block=256 1 1\n", "block=256 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=256 1 1 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=256 0 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=0 0 0\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=256 01 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=256  1 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=4294967296 1 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=+1 1 1\n", "three numbers from 1"),
        ("block=256 1 1\n", "block=\n", "three numbers from 1"),
        ("aligned=0 1 63\n", "aligned=0 1 64\n", "numbers below 64 in ascending order"),
        ("aligned=0 1 63\n", "aligned=0 0 63\n", "numbers below 64 in ascending order"),
        ("aligned=0 1 63\n", "aligned=1 0\n", "numbers below 64 in ascending order"),
        ("aligned=0 1 63\n", "aligned=\n", "numbers below 64 in ascending order"),
        ("narrow=1\n", "narrow=01\n", "numbers below 64 in ascending order"),
        ("narrow=1\n", "narrow=-1\n", "numbers below 64 in ascending order"),
        (
            "aligned=0 1 63\nnarrow=1\n",
            "narrow=1\naligned=0 1 63\n",
            "the key `needs` was expected",
        ),
        ("facts=1\nblock=256 1 1\n", "block=256 1 1\nfacts=1\n", "the key `facts` was expected"),
        ("entry=saxpy\n", "entry=\n", "not empty"),
        ("entry=saxpy\n", "entry=saxpy\nmore=1\n", "nothing more was expected"),
        ("entry=saxpy\n", "entry=saxpy\n{.more\n}.more\n", "nothing more was expected"),
    ] {
        let error = after(from, to);
        assert!(error.contains(says), "{from:?} to {to:?}: {error}");
    }
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut container = aot();
    container.images[3].format = "elf".into();
    let error = container.to_record().unwrap_err();
    assert!(matches!(error.problem(), Problem::InvalidValue { key: "target", .. }), "{error}");
    let mut container = aot();
    container.images[3].code.as_mut().unwrap().entry.clear();
    let error = container.to_record().unwrap_err();
    assert!(matches!(error.problem(), Problem::InvalidValue { key: "entry", .. }), "{error}");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut bytes = aot().to_record().unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(RecordRef::parse(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_flipped_bit_behind_a_correct_hash_is_noticed_or_means_something_else() {
    sample::flip_every_bit_behind_a_correct_hash(&aot());
}

#[test]
fn code_for_any_launch_is_written_as_ever() {
    let general = aot().to_record().unwrap();
    let text = String::from_utf8_lossy(&general).into_owned();
    let (before, _) = text.split_once("{.d\n").expect("the version comes last");
    for key in ["block=", "aligned=", "narrow="] {
        assert!(!before.contains(key), "{key}");
    }
}
