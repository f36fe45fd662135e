//! The format, byte by byte.
//!
//! A **record** holds one container. All integers of the frame are little-endian; no field depends
//! on the machine.
//!
//! ```text
//! offset  size  field
//!      0     8  magic             89 48 43 46 0D 0A 1A 0A   ("\x89HCF\r\n\x1a\n")
//!      8     4  version           2
//!     12     4  header length     bytes of header; a multiple of 16
//!     16     8  record length     bytes of the whole record; a multiple of 16
//!     24     8  appendix length   bytes of appendix, without the final padding
//!     32    16  object id         first 16 bytes of BLAKE3(record[64 .. record length])
//!     48    16  checksum          first 16 bytes of BLAKE3(record[0 .. 48])
//!     64     h  header            text, below
//!   64+h     a  appendix          the images, each at a multiple of 16
//!          0-15 padding           zeros, up to the record length
//! ```
//!
//! The checksum covers the frame, the frame contains the object id, and the object id covers the
//! rest: every change of a bit is detected. A record starts at a multiple of 16 in its section, so
//! images are aligned in memory, too. A later version may change everything but the first 12 bytes.
//!
//! # Header
//! UTF-8 text in AdaptiveCpp's grammar and with its key names; without the frame, its tools can
//! read the rest.
//!
//! ```text
//! header := line* "\n"{0..15} "__acpp_hcf_binary_appendix"     the line feeds fill up to a multiple of 16
//! line   := (key "=" value | "{." name | "}." name) "\n"
//! key    := [a-z0-9-]+
//! ```
//!
//! Within a node its keys come first, then its child nodes; `}.` closes the most recently opened
//! node, and repeats its name. Keys and names are unique within a node. A list is a node whose
//! children's names are the elements. Numbers are decimal, without sign or leading zero, and fit 64
//! bits.
//!
//! In values and names, the bytes of control characters (Unicode `Cc`), of `%`, and of a space at
//! either end are written `%XX` (capital digits), and no others are. A name is not empty.
//!
//! These are all entries, in this order; `*` marks a node that occurs once per element:
//!
//! ```text
//! hcf-version=2
//! generator=TEXT
//! llvm-version=TEXT
//! crate-name=TEXT
//! {.images
//!   {.IMAGE *                      unique
//!     variant=TEXT
//!     format=TEXT
//!     {.__binary
//!       start=N                    where the previous image ends, rounded up to a multiple of 16; the first: 0
//!       size=N                     the last image ends where the appendix does; bytes between images are zero
//!     {.code                       absent for images that stage 2 makes code of
//!       target=TARGET              host:LEVEL (then the format is elf), ptx:PROCESSOR (ptx), sass:PROCESSOR (cubin),
//!                                  amdgcn:PROCESSOR (amdgcn) or spirv (spirv)
//!       interface=N                this number, flags, facts and needs are below 2^32
//!       flags=N
//!       facts=N
//!       block=N N N                may be absent; numbers from 1 to 2^32 - 1
//!       aligned=N( N)*             absent if there are none; numbers of parameters below 64, in ascending order
//!       narrow=N( N)*              the same
//!       needs=N
//!       stack=N                    may be absent
//!       entry=TEXT                 not empty
//!     {.exported-symbols           list
//!     {.imported-symbols           list
//! {.spec-constants                absent if there are none
//!   {.CONSTANT *                   unique
//!     path=TEXT
//!     byte-align=N                 a power of two, at most 2^29
//!     default=BYTES                two lower-case hexadecimal digits for each, at least one byte
//!     {.parts                      not empty
//!       {.0 *                      numbered from 0
//!         path=TEXT
//!         place=TEXT
//!         line=N                   below 2^32
//!         column=N                 below 2^32
//!         type-id=BYTES            16 bytes, as in `default`
//!         byte-offset=N            not before the end of the part in front
//!         byte-size=N              at least 1; byte-offset + byte-size is at most the bytes of `default`
//! {.kernels
//!   {.SYMBOL *                     unique
//!     display-name=TEXT
//!     dimensions=1|2|3
//!     closure-size=N
//!     closure-align=N              a power of two, at most 2^29
//!     can-panic=0|1
//!     local-memory-size=N          these two together, for a kernel that needs work-groups
//!     local-memory-align=N         a power of two, at most 2^29
//!     offset-variant=TEXT          may be absent; not empty, neither a SYMBOL nor another's offset-variant
//!     aspects=WORD( WORD)*         may be absent; words of [a-z0-9-], in ascending order, none twice
//!     content=BYTES                may be absent; 32 bytes, as in `default`
//!     thread-locals=none           may be absent
//!     {.image-providers            list of IMAGE, not empty
//!     {.parameters
//!       {.0 *                      numbered from 0
//!         byte-offset=N
//!         byte-size=N              byte-offset + byte-size is at most closure-size
//!         byte-align=N             a power of two, at most 2^29
//!         type=T                   integer (1, 2, 4, 8, 16 bytes), floating-point (2, 4, 8, 16), pointer (4, 8),
//!                                  other-by-value (1 or more)
//!         access=read              may be absent; for pointers only
//!         specialized=yes          may be absent; not for pointers
//!         addresses=ITEM( ITEM)*   absent if there are none; for other-by-value that is not specialized only
//!     {.spec-constants             list of CONSTANT; absent if it is empty
//!     {.imported-symbols           list; absent if it is empty
//! ```
//!
//! An `ITEM` says where an address is in the bytes of the parameter, and lies within them:
//!
//! ```text
//! ITEM := N ["r"] ["?"]                          an address of 8 bytes at offset N; with r of memory that nothing changes
//!                                                meanwhile; with ? it may be something else, in a union
//!       | N "*" N "+" N "(" ITEM( ITEM)* ")"     offset, count (at least 2) and stride of an array, whose elements have what is
//!                                                in brackets at offsets from their beginning
//!       | N ":" N "=" N ["-" N] "(" ITEM( ITEM)* ")"
//!                                                offset and size (1, 2, 4, 8, 16) of a tag, and its values, from first to last;
//!                                                0 follows the greatest. For these, there is what is in brackets
//! ```
//!
//! Brackets are nested 256 deep at most. Values of a tag may have 128 bits.
//!
//! (Indented here for readability only.) So each container has one spelling: a writer reproduces
//! what a reader accepts, byte for byte.
//!
//! # Section
//! Linkers concatenate the records of all objects into one section, [`SECTION`]. Up to
//! [`MAX_PADDING`] zeros may stand before, between and after records.

/// The name of the section that holds the records.
pub const SECTION: &str = "hcf";

/// The first eight bytes of a record: not text, not zero, and damaged by every transfer that
/// converts line ends.
pub const MAGIC: [u8; 8] = *b"\x89HCF\r\n\x1a\n";

/// The version of the format that this crate reads and writes.
pub const VERSION: u32 = 2;

/// The marker that ends the header.
pub const MARKER: &str = "__acpp_hcf_binary_appendix";

/// The alignment in bytes of a record, of its appendix, and of every image; a divisor of every
/// record's length.
pub const ALIGNMENT: usize = 16;

/// The size of the frame in bytes; the header starts here.
pub const FRAME_LEN: usize = 64;

/// The maximum length of a header in bytes.
pub const MAX_HEADER_LEN: usize = 64 << 20;

/// The maximum length of a line of the header in bytes. Rust's symbols can be long.
pub const MAX_LINE_LEN: usize = 1 << 20;

/// The maximum number of lines in a header.
pub const MAX_LINES: usize = 1 << 20;

/// The maximum number of nodes around a line.
pub const MAX_DEPTH: usize = 8;

/// The maximum number of zero bytes before, between or after the records of a section.
pub const MAX_PADDING: usize = 4096;

/// The maximum alignment in bytes of a closure or a parameter; rustc's own limit.
pub const MAX_ALIGN: u64 = 1 << 29;
