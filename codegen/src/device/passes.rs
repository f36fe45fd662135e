//! Runs the passes of stage 1 over the module of the device half, and packs what they make.

use schism_passes::pass::PassContext;
use schism_passes::pipeline;
use schism_passes::spec::report::Lints;
use schism_passes::stage1::{self, Begun, ProcessImage};
use schism_passes::{DeviceImage, DeviceSpec};

use crate::device::aot::{Missing, Plan};
use crate::device::container::{CrateKernels, container};
use crate::device::times;
use crate::kernels::KernelInfo;
use crate::report::failure::Stage1Failure;
use crate::stdpar::refuse::Pipelines;

/// The input of stage 1.
pub(super) struct Stage1<'a> {
    /// The unoptimised module.
    pub bitcode: &'a [u8],
    /// What is in the container besides images.
    pub of_crate: CrateKernels<'a>,
    /// AOT code to be added.
    pub aot: &'a Plan,
}

/// A container, and what is to be told of it.
pub(super) struct Packed {
    /// The framed bytes.
    pub bytes: Vec<u8>,
    /// What makes kernels slow.
    pub lints: Lints,
    /// AOT code that cannot be made.
    pub missing: Vec<Missing>,
}

impl Stage1<'_> {
    /// The image for the program's process; `None` where that fails, which is a defect of a pass:
    /// these pipelines stay with rayon.
    pub(super) fn process_image(&self, spec: &DeviceSpec) -> Option<ProcessImage> {
        let shape = || {
            let mut cx = context(spec)?;
            let image = stage1::run_in_process(self.bitcode, &mut cx);
            times::print(self.of_crate.crate_name, cx.times.as_deref().unwrap_or_default());
            image.map_err(Stage1Failure::Passes)
        };
        (!spec.kernels.is_empty()).then(|| on_own_thread(shape).ok()).flatten()
    }

    /// Runs the passes for devices until none of the pipelines among the kernels has to be taken
    /// out any more, and packs the result with the image for the process.
    pub(super) fn run(
        &self,
        spec: &mut DeviceSpec,
        kernels: &mut Vec<KernelInfo>,
        pipelines: &mut Pipelines,
        process: Option<(&ProcessImage, &[KernelInfo])>,
    ) -> Result<Packed, Stage1Failure> {
        let mut begun = None;
        loop {
            let outcome =
                on_own_thread(|| self.pack(spec, kernels, pipelines, process, &mut begun));
            let cause = match outcome {
                Ok(packed) => return Ok(packed),
                Err(cause) => cause,
            };
            let (report, unfit) = match &cause {
                Stage1Failure::Passes(error) => (error.report(), [].as_slice()),
                Stage1Failure::Pipelines(unfit) => (None, unfit.as_slice()),
                _ => (None, [].as_slice()),
            };
            let blamed = pipelines.blame(report, unfit, kernels);
            let allocating = pipelines.allocating();
            if blamed.is_empty() && allocating.len() == spec.host_heap.len() {
                return Err(self.explained(spec, cause));
            }
            spec.host_heap = allocating;
            // In descending order, so that what is left keeps its indices.
            for &index in blamed.iter().rev() {
                kernels.remove(index);
                spec.kernels.remove(index);
            }
        }
    }

    /// Runs the passes for devices once, and packs the result. `begun` is what an earlier call has
    /// left for those with fewer kernels.
    fn pack(
        &self,
        spec: &DeviceSpec,
        kernels: &[KernelInfo],
        pipelines: &Pipelines,
        process: Option<(&ProcessImage, &[KernelInfo])>,
        begun: &mut Option<Begun>,
    ) -> Result<Packed, Stage1Failure> {
        let mut cx = context(spec)?;
        let image = self.shape(pipelines, &mut cx, begun);
        times::print(self.of_crate.crate_name, cx.times.as_deref().unwrap_or_default());
        let mut image = image?;
        let unfit = pipelines.unfit(&image.kernels, true);
        if !unfit.is_empty() {
            return Err(Stage1Failure::Pipelines(unfit));
        }
        let lints = std::mem::take(&mut image.lints);
        let mut container = container(&self.of_crate, image, kernels, process);
        let missing = self.aot.add_to(&mut container).map_err(Stage1Failure::Aot)?;
        let bytes = container.to_record().map_err(Stage1Failure::Container)?;
        Ok(Packed { bytes, lints, missing })
    }

    /// Runs the passes for devices.
    fn shape(
        &self,
        pipelines: &Pipelines,
        cx: &mut PassContext<'_>,
        begun: &mut Option<Begun>,
    ) -> Result<DeviceImage, Stage1Failure> {
        // All that there was are pipelines that no device can have; the host half names the
        // container all the same.
        if cx.spec.kernels.is_empty() && cx.spec.exports.is_empty() {
            let lints = Lints::default();
            return Ok(DeviceImage { parts: Vec::new(), kernels: Vec::new(), lints });
        }
        if cx.spec.host_memory.is_empty() {
            return stage1::run(self.bitcode, cx).map_err(Stage1Failure::Passes);
        }
        // Some of the kernels may have to go; the passes for the rest continue from here.
        let begun = match begun {
            Some(begun) => begun,
            none => {
                let first = stage1::begin(self.bitcode, cx).map_err(Stage1Failure::Passes)?;
                let first = none.insert(first);
                let unfit = pipelines.unfit(&first.kernels, false);
                if !unfit.is_empty() {
                    return Err(Stage1Failure::Pipelines(unfit));
                }
                first
            }
        };
        stage1::go_on(begun, self.bitcode, cx).map_err(Stage1Failure::Passes)
    }

    /// An error with the places in the source of what it is about.
    fn explained(&self, spec: &DeviceSpec, cause: Stage1Failure) -> Stage1Failure {
        let Stage1Failure::Passes(error) = cause else { return cause };
        on_own_thread(|| Ok(stage1::explain(self.bitcode, &context(spec)?, error)))
            .map_or_else(|failure| failure, Stage1Failure::Passes)
    }
}

fn context(spec: &DeviceSpec) -> Result<PassContext<'_>, Stage1Failure> {
    let mut cx = PassContext::new(spec);
    cx.options =
        pipeline::options(|name| std::env::var(name).ok()).map_err(Stage1Failure::Options)?;
    cx.times = times::wanted().then(Vec::new);
    Ok(cx)
}

/// Runs work on a separate thread: a pass that panics is reported as a defect of schism, not of
/// the compiler.
fn on_own_thread<R: Send>(
    work: impl FnOnce() -> Result<R, Stage1Failure> + Send,
) -> Result<R, Stage1Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("schism device half".to_owned());
        let thread = thread
            .spawn_scoped(scope, work)
            .expect("the process can start a thread, as rustc itself must");
        thread.join().unwrap_or(Err(Stage1Failure::Panicked))
    })
}
