//! What stage 2 makes of a kernel, in the form that the cache keeps and devices load.

use std::ffi::CStr;

use schism_cache::Value;
use schism_jit_abi::{GPU_ADDRESSES, STACK_UNKNOWN};

use crate::code::disk_cache;
use crate::error::ImageError;

/// An object for the processor of this process. The metadata are its flags and its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuCode<'a> {
    /// A sum of `schism_jit_abi::CPU_` constants.
    pub(crate) flags: u32,
    /// The stack that it needs in bytes, if that is known.
    pub(crate) stack: Option<u64>,
    pub(crate) object: &'a [u8],
}

impl<'a> CpuCode<'a> {
    pub(crate) fn read(value: &'a Value) -> Result<Self, ImageError> {
        let (flags, stack) =
            value.meta.split_first_chunk::<4>().ok_or_else(|| disk_cache::damaged("flags"))?;
        let stack = <[u8; 8]>::try_from(stack).map_err(|_| disk_cache::damaged("stack"))?;
        let stack = Some(u64::from_le_bytes(stack)).filter(|stack| *stack != STACK_UNKNOWN);
        Ok(Self { flags: u32::from_le_bytes(*flags), stack, object: &value.bytes })
    }

    /// As for [`read`](Self::read); `stack` may be `STACK_UNKNOWN`.
    pub(super) fn write(flags: u32, stack: u64, object: &[u8]) -> Value {
        let meta = [&flags.to_le_bytes()[..], &stack.to_le_bytes()].concat();
        Value { meta, bytes: object.to_vec() }
    }
}

/// Code for a driver. The metadata are its flags and the addresses; the bytes are the entry's name
/// and the code, with a NUL after each.
#[derive(Clone, Debug)]
pub(crate) struct GpuCode<'a> {
    /// A sum of `schism_jit_abi::GPU_` constants.
    pub(crate) flags: u32,
    /// Where the closure has addresses, with [`GPU_ADDRESSES`].
    pub(crate) addresses: Option<Box<[usize]>>,
    pub(crate) entry: &'a CStr,
    /// The code, and the NUL.
    pub(crate) bytes: &'a [u8],
}

impl<'a> GpuCode<'a> {
    /// `format` is for the error.
    pub(crate) fn read(format: &str, value: &'a Value) -> Result<Self, ImageError> {
        let read = || {
            let (flags, offsets) = value.meta.split_first_chunk::<4>()?;
            let flags = u32::from_le_bytes(*flags);
            let (offsets, []) = offsets.as_chunks::<8>() else { return None };
            let offset = |bytes: &[u8; 8]| usize::try_from(u64::from_le_bytes(*bytes)).ok();
            let offsets = offsets.iter().map(offset).collect::<Option<Box<[usize]>>>()?;
            let is_known = flags & GPU_ADDRESSES != 0;
            if !is_known && !offsets.is_empty() {
                return None;
            }
            let addresses = is_known.then_some(offsets);
            let entry = CStr::from_bytes_until_nul(&value.bytes).ok()?;
            let bytes = value.bytes.get(entry.count_bytes() + 1..)?;
            bytes.ends_with(b"\0").then_some(Self { flags, addresses, entry, bytes })
        };
        read().ok_or_else(|| disk_cache::damaged(format))
    }

    /// As for [`read`](Self::read).
    pub(super) fn write(flags: u32, addresses: &[u64], entry: &[u8], code: &[u8]) -> Value {
        let mut meta = flags.to_le_bytes().to_vec();
        meta.extend(addresses.iter().flat_map(|offset| offset.to_le_bytes()));
        Value { meta, bytes: [entry, b"\0", code, b"\0"].concat() }
    }

    /// The code without the NUL.
    pub(crate) fn code(&self) -> &'a [u8] {
        self.bytes.strip_suffix(b"\0").unwrap_or(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let value = GpuCode::write(GPU_ADDRESSES, &[8, 24], b"entry", b"code");
        let code = GpuCode::read("PTX", &value).expect("good code");
        assert_eq!((code.entry, code.code(), code.bytes), (c"entry", &b"code"[..], &b"code\0"[..]));
        assert_eq!((code.flags, code.addresses.as_deref()), (GPU_ADDRESSES, Some(&[8, 24][..])));
        for damaged in [
            GpuCode::write(0, &[8], b"entry", b"code"),
            Value { meta: vec![0; 3], ..value.clone() },
            Value { meta: vec![0; 11], ..value.clone() },
            Value { bytes: b"entry\0code".to_vec(), ..value.clone() },
            Value { bytes: b"entry".to_vec(), ..value },
        ] {
            assert!(GpuCode::read("PTX", &damaged).is_err(), "{damaged:?}");
        }

        let value = CpuCode::write(3, 64, b"object");
        let code = CpuCode::read(&value).expect("good code");
        assert_eq!((code.flags, code.stack, code.object), (3, Some(64), &b"object"[..]));
        let unknown = CpuCode::write(3, STACK_UNKNOWN, b"object");
        assert_eq!(CpuCode::read(&unknown).expect("good code").stack, None);
        for len in [0, 4, 11, 13] {
            assert!(
                CpuCode::read(&Value { meta: vec![0; len], ..value.clone() }).is_err(),
                "{len}"
            );
        }
    }
}
