//! One record, in every way in which it can be damaged.

use crate::support::{self, sample, seal_frame};
use schism_hcf::{Container, HcfError, Problem, RecordRef, format, records};

fn parse(bytes: &[u8]) -> Result<RecordRef<'_>, HcfError> {
    RecordRef::parse(bytes)
}

fn problem(bytes: &[u8]) -> Problem {
    parse(bytes).expect_err("the record is damaged").problem().clone()
}

#[test]
fn the_bytes_are_those_that_the_format_describes() {
    // A change of this file is a change of the format.
    let expected = include_bytes!("sample.hcf");
    let record = sample().to_record().unwrap();
    if record != expected {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/sample.hcf");
        std::fs::write(path, &record).unwrap();
        panic!("the sample's bytes changed; they are now in {path}");
    }
    let marker =
        record.windows(26).position(|window| window == b"__acpp_hcf_binary_appendix").unwrap();
    assert_eq!(support::framed(&record[64..marker + 26 + 44]), record);
}

#[test]
fn what_was_written_is_read() {
    let bytes = sample().to_record().unwrap();
    let record = parse(&bytes).unwrap();
    assert_eq!(record.to_container(), sample());
    assert_eq!(record.object_id(), sample().object_id());
    assert_eq!(record.crate_name(), "sample");
    assert_eq!(record.kernel("saxpy").unwrap().parameters.len(), 4);
    assert_eq!(record.kernel("odd\n}.name=1 ").unwrap().dimensions, 3);
    assert_eq!(record.kernel("axpy"), None);
    assert_eq!(record.image("ptx.sm_90").unwrap().data, b".version 9.0");
    assert_eq!(record.image("ptx"), None);
}

#[test]
fn images_are_aligned_and_not_copied() {
    let bytes = sample().to_record().unwrap();
    assert!(bytes.len().is_multiple_of(16));
    let record = parse(&bytes).unwrap();
    for image in record.images() {
        let range = bytes.as_ptr_range();
        assert!(range.contains(&image.data.as_ptr()) || image.data.is_empty());
        assert!((image.data.as_ptr() as usize - range.start as usize).is_multiple_of(16));
    }
}

#[test]
fn the_tree_is_printed() {
    let bytes = sample().to_record().unwrap();
    insta::assert_snapshot!(parse(&bytes).unwrap().tree());
}

#[test]
fn ids_tell_containers_apart() {
    let id = sample().object_id();
    assert_eq!(id, sample().object_id());
    assert_eq!(id.to_string(), format!("{:032x}", u128::from_be_bytes(*id.as_bytes())));
    let mut other = sample();
    other.images[0].data[5] ^= 1;
    assert_ne!(id, other.object_id());
    let mut other = sample();
    other.kernels[1].dimensions = 2;
    assert_ne!(id, other.object_id());
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = sample().to_record().unwrap();
    assert_eq!(problem(&[]), Problem::Truncated { needed: 64, available: 0 });
    for len in 0..bytes.len() {
        let truncated = &bytes[..len];
        let needed = if len < 64 { 64 } else { bytes.len() as u64 };
        assert_eq!(problem(truncated), Problem::Truncated { needed, available: len });
        let found: Vec<_> = records(truncated).collect();
        assert_eq!(found.len(), usize::from(len > 0));
        assert!(found.iter().all(Result::is_err));
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut bytes = sample().to_record().unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let problem = problem(&bytes);
        let expected = match bit / 8 {
            0..8 => matches!(problem, Problem::NotARecord),
            8..12 => matches!(problem, Problem::UnsupportedVersion { .. }),
            12..64 => matches!(problem, Problem::DamagedFrame),
            _ => matches!(problem, Problem::DamagedContents { .. }),
        };
        assert!(expected, "bit {bit}: {problem:?}");
        assert!(records(&bytes).next().is_some_and(|record| record.is_err()), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(parse(&bytes).is_ok());
}

/// Behind a correct hash the reader itself must notice, or read another container.
#[test]
fn every_flipped_bit_behind_a_correct_hash_is_noticed_or_means_something_else() {
    flip_every_bit_behind_a_correct_hash(&sample());
    flip_every_bit_behind_a_correct_hash(&support::constants());
}

/// Each must be noticed, or be another container.
pub fn flip_every_bit_behind_a_correct_hash(container: &Container) {
    let bytes = container.to_record().unwrap();
    let header_len = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let appendix_len = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    let mut contents = bytes[64..64 + header_len + appendix_len].to_vec();
    let mut noticed = 0;
    for bit in 0..contents.len() * 8 {
        contents[bit / 8] ^= 1 << (bit % 8);
        let record = support::framed_at(&contents, header_len);
        match parse(&record) {
            Ok(other) => {
                assert_ne!(&other.to_container(), container, "bit {bit}");
                support::exercise_section(&record);
            }
            Err(_) => noticed += 1,
        }
        contents[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(noticed > 1000, "{noticed}");
}

#[test]
fn every_length_field_may_have_any_value() {
    let bytes = sample().to_record().unwrap();
    let len = bytes.len() as u64;
    for (offset, size) in [(12, 4), (16, 8), (24, 8)] {
        let right =
            u64::from_le_bytes(std::array::from_fn(
                |i| if i < size { bytes[offset + i] } else { 0 },
            ));
        let wrong =
            [0, 1, 15, 16, 63, 64, right - 16, right - 1, right + 1, right + 16, len, len + 16];
        let huge = [
            1 << 31,
            (1 << 32) - 16,
            u32::MAX.into(),
            1 << 63,
            u64::MAX - 127,
            u64::MAX - 15,
            u64::MAX,
        ];
        for value in wrong.into_iter().chain(huge) {
            let mut damaged = bytes.clone();
            damaged[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
            if damaged == bytes {
                continue;
            }
            seal_frame(&mut damaged);
            let problem = problem(&damaged);
            let expected = matches!(
                problem,
                Problem::InconsistentLengths | Problem::TooMany { .. } | Problem::DirtyPadding
            );
            // An appendix may be some bytes longer or shorter within the same record length: its
            // images are not.
            let images =
                matches!(problem, Problem::InvalidValue { key: "size", .. } | Problem::Syntax(_));
            let off_by_some = images && offset == 24 && value.abs_diff(right) < 16;
            assert!(expected || off_by_some, "{offset}: {value}: {problem:?}");
        }
    }
}

#[test]
fn consistent_lengths_beyond_the_end_are_a_truncation() {
    let mut bytes = sample().to_record().unwrap();
    let grow = 1_u64 << 40;
    for offset in [16, 24] {
        let field: [u8; 8] = bytes[offset..offset + 8].try_into().unwrap();
        bytes[offset..offset + 8]
            .copy_from_slice(&(u64::from_le_bytes(field) + grow).to_le_bytes());
    }
    seal_frame(&mut bytes);
    let available = bytes.len();
    assert_eq!(problem(&bytes), Problem::Truncated { needed: available as u64 + grow, available });
}

#[test]
fn a_header_beyond_the_limit_is_not_waited_for() {
    let mut bytes = sample().to_record().unwrap();
    let header_len = format::MAX_HEADER_LEN as u64 + 16;
    bytes[12..16].copy_from_slice(&(header_len as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&(64 + header_len).to_le_bytes());
    bytes[24..32].copy_from_slice(&[0; 8]);
    seal_frame(&mut bytes);
    let limit = format::MAX_HEADER_LEN;
    assert_eq!(problem(&bytes), Problem::TooMany { what: "bytes in the header", limit });
}

#[test]
fn a_record_may_lie_at_any_address() {
    let bytes = sample().to_record().unwrap();
    for shift in 1..16 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(&bytes);
        assert_eq!(parse(&shifted[shift..]).unwrap().to_container(), sample());
    }
}

#[test]
fn what_follows_a_record_is_an_error_except_in_a_section() {
    let mut bytes = sample().to_record().unwrap();
    bytes.extend_from_slice(&[0; 16]);
    assert_eq!(problem(&bytes), Problem::TrailingBytes { extra: 16 });
    assert_eq!(records(&bytes).filter(Result::is_ok).count(), 1);
}

#[test]
fn a_section_has_records_and_zeros() {
    let (one, other) =
        (sample().to_record().unwrap(), schism_hcf::Container::default().to_record().unwrap());
    let section = [&[0; 32][..], &one, &other, &[0; 4096], &one, &[0; 3]].concat();
    let found: Vec<_> = records(&section).map(|record| record.unwrap().to_container()).collect();
    assert_eq!(found, [sample(), Default::default(), sample()]);

    assert_eq!(records(&[]).count(), 0);
    assert_eq!(records(&[0; 4096]).count(), 0);
}

#[test]
fn a_section_with_anything_else_is_an_error_at_its_place() {
    let record = sample().to_record().unwrap();
    let errors = |section: &[u8]| {
        let results: Vec<_> = records(section).collect();
        let error = results.last().unwrap().as_ref().unwrap_err();
        (results.len(), error.problem().clone(), error.offset())
    };
    let garbage = [&record[..], &[0; 16], b"garbage"].concat();
    assert_eq!(errors(&garbage), (2, Problem::NotARecord, record.len() + 16));
    // A hole in a file is no padding.
    let hole = [&record[..], &vec![0; record.len() + 4096], &record].concat();
    assert_eq!(errors(&hole), (2, Problem::TooMuchPadding, record.len()));
    let mut damaged = [&record[..], &record, &record].concat();
    damaged[record.len() + 200] ^= 4;
    let (count, problem, offset) = errors(&damaged);
    assert_eq!((count, offset), (2, record.len() + 64));
    assert!(matches!(problem, Problem::DamagedContents { .. }));
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let mut container = sample();
    container.kernels[0].parameters[2].offset = 60;
    insta::assert_snapshot!(container.to_record().unwrap_err());
    let bytes = sample().to_record().unwrap();
    insta::assert_snapshot!(parse(&bytes[..100]).unwrap_err());
}
