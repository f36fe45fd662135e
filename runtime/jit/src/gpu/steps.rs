//! What the targets of GPUs have in common: steps of their pipelines, and what code must not have.

use schism_jit_abi::GPU_GROUPS;
use schism_llvm::Value;
use schism_passes::KernelImage;
use schism_passes::pass::PassContext;
use schism_passes::spec::options::FastMath;
use schism_passes::target_step::TargetStep;

use super::message::{self, Writing};
use super::options::GpuOptions;
use super::{atomics, code, entry, one_function};
use crate::common::clock::{self, Time};
use crate::common::module::Module;
use crate::common::target::{Work, unknown_step};
use crate::common::{precise_math, row};
use crate::{JitError, Request};

/// The state between steps.
#[derive(Default)]
pub(crate) struct EntryState {
    /// The entry, once the kernel is wrapped.
    entry: Option<entry::Entry>,
}

impl EntryState {
    pub(crate) fn entry(&self) -> Result<&entry::Entry, JitError> {
        self.entry.as_ref().ok_or_else(no_entry)
    }

    fn entry_mut(&mut self) -> Result<&mut entry::Entry, JitError> {
        self.entry.as_mut().ok_or_else(no_entry)
    }

    pub(crate) fn into_entry(self) -> Result<entry::Entry, JitError> {
        self.entry.ok_or_else(no_entry)
    }
}

fn no_entry() -> JitError {
    JitError::Internal("a step comes before `wrap-kernel`".to_owned())
}

/// Runs a step that is not the target's own.
///
/// # Errors
/// There is no such step, or it fails.
pub(crate) fn run_common<'c>(
    step: TargetStep,
    work: &Work<'_, 'c>,
    options: &GpuOptions,
    state: &mut EntryState,
    cx: &mut PassContext<'_>,
) -> Result<(), JitError> {
    let Work { context, module, kernel, request, .. } = *work;
    match step {
        TargetStep::DefineClock => clock::add(context, module, Time::Target)?,
        TargetStep::WrapKernel => {
            state.entry = Some(entry::wrap(context, module, kernel, request, options)?);
            cx.least_local_align = options.local_align;
        }
        TargetStep::ResolveBuiltins => {
            entry::resolve(context, module, state.entry()?)?;
            // Only now: the pass `vectorize` finds calls of it.
            row::define(context, module, "")?;
        }
        TargetStep::HideCode => code::hide(context, module)?,
        TargetStep::UnfuseMultiplyAdd => {
            if request.math == FastMath::PRECISE {
                precise_math::unfuse(module);
            }
        }
        TargetStep::NarrowAtomics => atomics::narrow(context, module),
        TargetStep::CompareAddresses => module.compare_addresses_as_numbers(),
        TargetStep::NameKernel => cx.kernels.push(KernelImage::new(&state.entry()?.name)),
        TargetStep::DropOwnFences => atomics::drop_own_fences(module),
        TargetStep::TrimParameters => entry::trim(module, state.entry_mut()?)?,
        TargetStep::ExpandPanics => {
            let groups = state.entry()?.flags & GPU_GROUPS != 0;
            message::leave(context, module, request, options, (groups, Writing::InPlace))?;
        }
        TargetStep::InlineAll => one_function::inline_all(module),
        TargetStep::EndWorkItems => one_function::end_work_items(module, &state.entry()?.name)?,
        step => return Err(unknown_step(step)),
    }
    Ok(())
}

/// Refuses a module that calls undefined functions: a GPU has no libraries to find them in.
pub(crate) fn refuse_undefined(module: &Module<'_>, request: &Request) -> Result<(), JitError> {
    let mut symbols: Vec<String> = module
        .functions()
        .into_iter()
        .filter(|function| function.is_declaration() && !function.is_intrinsic())
        .filter(|function| !function.users().is_empty())
        .map(Value::name)
        .collect();
    if symbols.is_empty() {
        return Ok(());
    }
    symbols.sort();
    Err(JitError::UnresolvedSymbols { kernel: request.kernel.clone(), symbols })
}
