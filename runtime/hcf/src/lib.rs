#![doc = include_str!("../README.md")]
//! # Where things are
//! - [`mod@format`]: the format, byte by byte.
//! - [`Container`], [`Image`], [`Kernel`], [`Parameter`]: plain data, written by
//!   [`Container::to_record`].
//! - [`Addresses`]: where addresses are in parameters that are passed as bytes.
//! - [`Target`], [`Targets`]: the targets of AOT code.
//! - [`RecordRef`]: a record in memory, read without copying it; [`records`]: all of a section.
//! - [`Tree`]: a record's header, to be printed.
#![cfg_attr(
    feature = "file",
    doc = "- [`sections_of_file`]: the sections of an executable, a library or an rlib."
)]
//! - [`HcfError`]: what is wrong, where, and what to do; [`Problem`]: the same for programs.

#![forbid(unsafe_code)]

mod addresses;
mod container;
mod contents;
mod error;
mod escape;
#[cfg(feature = "file")]
mod file;
pub mod format;
mod frame;
mod object_id;
mod read;
mod record;
mod target;
mod tree;
mod write;

pub use addresses::{Address, AddressItem, Addresses};
pub use container::{
    Code, Container, GENERIC_IR, Groups, IN_PROCESS, Image, Kernel, Parameter, ParameterKind,
    SpecConstant, SpecPart,
};
pub use contents::{ImageRef, KernelRef, SpecConstantRef};
pub use error::{HcfError, Problem};
#[cfg(feature = "file")]
pub use file::{FileSection, sections_of_file};
pub use object_id::ObjectId;
pub use record::{RecordRef, Records, records};
pub use target::{
    AMD_PROCESSORS, AmdProcessor, Level, PROCESSORS, Processor, Target, TargetError, Targets,
};
pub use tree::Tree;
