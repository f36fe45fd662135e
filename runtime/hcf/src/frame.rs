//! The frame: 64 bytes that say how long a record is and what it contains.

use crate::{
    HcfError, ObjectId, Problem,
    format::{ALIGNMENT, FRAME_LEN, MAGIC, MAX_HEADER_LEN, VERSION},
    object_id::digest,
};

/// The range of the checksum, which covers everything before it.
const CHECKSUM: usize = FRAME_LEN - 16;

/// A frame with a valid checksum and valid lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub header_len: usize,
    pub appendix_len: usize,
    /// The whole record's length.
    pub record_len: usize,
    pub object_id: ObjectId,
}

impl Frame {
    /// The frame of the record with which `bytes` begins. The record is complete.
    pub fn parse(bytes: &[u8]) -> Result<Self, HcfError> {
        let error = |problem, offset| Err(HcfError::new(problem, offset));
        let present = bytes.len().min(MAGIC.len());
        if bytes[..present] != MAGIC[..present] {
            return error(Problem::NotARecord, 0);
        }
        let Some(frame) = bytes.first_chunk::<FRAME_LEN>() else {
            return error(
                Problem::Truncated { needed: FRAME_LEN as u64, available: bytes.len() },
                0,
            );
        };
        // Before the checksum: another version may use another one.
        let version = u32::from_le_bytes(field(frame, 8));
        if version != VERSION {
            return error(Problem::UnsupportedVersion { found: version }, 8);
        }
        if digest(&frame[..CHECKSUM]) != field::<16>(frame, CHECKSUM) {
            return error(Problem::DamagedFrame, 0);
        }

        let header_len = u64::from(u32::from_le_bytes(field(frame, 12)));
        let record_len = u64::from_le_bytes(field(frame, 16));
        let appendix_len = u64::from_le_bytes(field(frame, 24));
        if header_len > MAX_HEADER_LEN as u64 {
            return error(
                Problem::TooMany { what: "bytes in the header", limit: MAX_HEADER_LEN },
                12,
            );
        }
        let expected_len = (FRAME_LEN as u64 + header_len)
            .checked_add(appendix_len)
            .and_then(|end| end.checked_next_multiple_of(ALIGNMENT as u64));
        if !header_len.is_multiple_of(ALIGNMENT as u64) || expected_len != Some(record_len) {
            return error(Problem::InconsistentLengths, 12);
        }
        if record_len > bytes.len() as u64 {
            return error(Problem::Truncated { needed: record_len, available: bytes.len() }, 0);
        }
        // The record is in memory, so all its lengths fit in `usize`.
        Ok(Self {
            header_len: header_len as usize,
            appendix_len: appendix_len as usize,
            record_len: record_len as usize,
            object_id: ObjectId::from_bytes(field(frame, 32)),
        })
    }

    /// The bytes of this frame.
    pub fn to_bytes(self) -> [u8; FRAME_LEN] {
        let mut frame = [0; FRAME_LEN];
        frame[..8].copy_from_slice(&MAGIC);
        frame[8..12].copy_from_slice(&VERSION.to_le_bytes());
        // The writer keeps headers below MAX_HEADER_LEN, which fits.
        frame[12..16].copy_from_slice(&(self.header_len as u32).to_le_bytes());
        frame[16..24].copy_from_slice(&(self.record_len as u64).to_le_bytes());
        frame[24..32].copy_from_slice(&(self.appendix_len as u64).to_le_bytes());
        frame[32..48].copy_from_slice(self.object_id.as_bytes());
        let checksum = digest(&frame[..CHECKSUM]);
        frame[CHECKSUM..].copy_from_slice(&checksum);
        frame
    }
}

fn field<const N: usize>(frame: &[u8; FRAME_LEN], offset: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&frame[offset..offset + N]);
    field
}
