//! Random modules as SPIR-V.

use std::path::Path;

use schism_jit::Request;
use schism_jit_abi::{PARAM_INTEGER, PARAM_POINTER, Param};
use schism_passes::opt;

use super::generate;
use crate::spirv;

/// Lowers the module of a seed to SPIR-V, with everything and with an offset, and has the validator
/// look at both. What OpenCL does not have is an error that says so, and not counted.
///
/// # Errors
/// What went wrong, with the module.
pub fn check(seed: u64, validator: Option<&Path>) -> Result<usize, String> {
    // A variable with its own address is refused, so it gets none here.
    // And what the generator calls shared is a local, of which OpenCL knows that it is not.
    let source = generate(seed)
        .source
        .replace("{ ptr @ring, i64 7 }", "{ ptr null, i64 7 }")
        .replace(
            "addrspacecast ptr %tile to ptr addrspace(3)",
            "getelementptr i8, ptr %tile, i64 0",
        )
        .replace("ptr addrspace(3)", "ptr");
    let fail = |what: String| format!("seed {seed}, to SPIR-V: {what}\n\n{source}");
    let input = opt::read(source.as_bytes(), &[]).map_err(|error| fail(error.to_string()))?;
    let image = opt::run_to_bitcode(&input, "stage1").map_err(|error| fail(error.to_string()))?;
    let param = |offset, kind| Param { offset, size: 8, align: 8, kind };
    let params = vec![
        param(0, PARAM_POINTER),
        param(8, PARAM_INTEGER),
        param(16, PARAM_INTEGER),
        param(24, PARAM_INTEGER),
    ];
    let mut modules = 0;
    for (kernel, offset) in [("kernel", false), ("kernel_with_offset", true)] {
        let request = Request {
            image: image.clone(),
            kernel: kernel.to_owned(),
            params: params.clone(),
            closure_size: 32,
            closure_align: 8,
            dimensions: 3,
            offset,
            ..Request::default()
        };
        let module = match spirv::lower(request, 0) {
            Ok(module) => module,
            Err(text) if spirv::LACKING.iter().any(|lack| text.contains(lack)) => continue,
            // The variant is there only if the module asks where a launch begins.
            Err(text) if offset && text.contains("kernel_with_offset") => continue,
            Err(text) => return Err(fail(text)),
        };
        if let Some(validator) = validator {
            spirv::validate(validator, &module).map_err(fail)?;
        }
        modules += 1;
    }
    Ok(modules)
}
