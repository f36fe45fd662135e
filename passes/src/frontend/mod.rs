//! rustc's IR to a device image.

pub mod allocate_local_memory;
pub mod constant_body;
pub mod declare_spec_constants;
pub mod fold_ir_constants;
pub mod freeze_initialisers;
pub mod inline_refused;
pub mod kernel_reachability;
pub mod launch_offset;
pub mod line_tables;
pub mod link_std_bodies;
pub mod lower_allocation;
pub mod lower_copy_markers;
pub mod lower_formatters;
pub mod lower_panics;
pub mod lower_scoped_atomics;
pub mod lower_unroll_markers;
pub mod lower_unwind;
pub mod mark_convergent;
pub mod message_template;
pub mod outline_kernels;
pub mod simplify;
pub mod split_images;
pub mod std_bodies;
pub mod strip_host_attributes;
pub mod strip_instrumentation;
pub mod type_descriptions;
