//! All that differs between the releases of rustc.
//!
//! There is one module for each release. The build script finds the one that fits the compiler.
//! Nothing else in this crate depends on the release: the rest imports from here what rustc has
//! moved, renamed or changed. Such a module implements the backend traits for [`Backend`](plugin::Backend), with the macros of [`common`] for
//! what is the same in all releases, and defines the items that are re-exported below. This module
//! imports nothing of the crate: what the rest adds to the LLVM backend comes as a
//! [`Plugin`](plugin::Plugin).

mod common;
mod llvm_module;
mod plugin;

// `mod release`, with the path of the release's module.
include!(concat!(env!("OUT_DIR"), "/release.rs"));

pub(crate) use llvm_module::live_module;
pub(crate) use plugin::{LlvmModule, Plugin, backend, bitcode, lower};
pub(crate) use release::mono::{
    CodegenUnit, CodegenUnitNameBuilder, CollectionMode, MonoItem, MonoItemData,
    MonoItemPartitions, Visibility,
};
pub(crate) use release::*;
