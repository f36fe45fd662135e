//! rustc's IR to a device image.

pub mod allocate_local_memory;
pub mod constant_body;
pub mod finish_module;
pub mod fold_constants;
pub(crate) mod freeze_initialisers;
pub mod import_host_symbols;
pub mod kernel_reachability;
pub mod launch_offset;
pub mod line_tables;
pub mod link_std_bodies;
pub mod lower_assembly;
mod lower_formatters;
pub mod lower_panics;
pub mod lower_scoped_atomics;
pub mod lower_unwind;
pub mod message_template;
pub mod outline_kernels;
pub mod prepare_module;
pub mod remove_refused;
pub mod simplify;
pub mod split_images;
pub mod std_bodies;
pub mod type_descriptions;
