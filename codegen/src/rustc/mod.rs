//! All that differs between the releases of rustc.
//!
//! There is one module for each release whose interfaces differ from those of the release before
//! it. The build script finds the one that fits the compiler. Nothing else in this crate depends on
//! the release: the rest imports from here what rustc has moved, renamed or changed. Such a module
//! implements the backend traits for [`SchismBackend`](crate::backend::SchismBackend), with the macros
//! of [`common`] for what is the same in all releases, and defines the items that are re-exported
//! below.

mod common;

// `mod release`, with the path of the release's module.
include!(concat!(env!("OUT_DIR"), "/release.rs"));

pub(crate) use release::mono::{
    CodegenUnit, CodegenUnitNameBuilder, CollectionMode, MonoItem, MonoItemData, Visibility,
};
pub(crate) use release::*;
