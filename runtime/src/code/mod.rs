//! Which machine code runs a launch: containers, the versions of a kernel, caches, the compiler.

pub(crate) mod aot;
pub(crate) mod assumptions;
pub(crate) mod background;
pub(crate) mod background_jobs;
pub(crate) mod captured;
pub(crate) mod compiled;
pub(crate) mod compiler;
pub(crate) mod compiler_path;
pub(crate) mod disk_cache;
pub(crate) mod display_name;
pub(crate) mod host_symbols;
pub(crate) mod images;
pub(crate) mod imports;
pub(crate) mod kernels;
pub(crate) mod lookup;
pub(crate) mod make;
pub(crate) mod profile;
pub(crate) mod recent;
pub(crate) mod registration;
pub(crate) mod request;
pub(crate) mod requirements;
pub(crate) mod submit;
pub(crate) mod table;
pub(crate) mod toolchain_id;
pub(crate) mod variant;
pub(crate) mod versions;
