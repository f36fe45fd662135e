//! All that differs between the releases of rustc.
//!
//! There is one module for each release whose interfaces differ from those of the release before
//! it. The build script finds the one that fits the compiler and sets `schism_release`. Nothing
//! else in this crate depends on the release: the rest imports from here what rustc has moved,
//! renamed or changed. Such a module implements the backend traits for
//! [`SchismBackend`](crate::glue::SchismBackend), and defines the items that are re-exported below.

#[cfg_attr(schism_release = "1.95", path = "v1_95.rs")]
#[cfg_attr(schism_release = "1.97", path = "v1_97.rs")]
mod release;

pub(crate) use release::mono::{
    CodegenUnit, CodegenUnitNameBuilder, CollectionMode, MonoItem, MonoItemData, Visibility,
};
pub(crate) use release::*;
