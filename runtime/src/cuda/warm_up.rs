//! The driver's compiler begins while stage 2 compiles.
//!
//! The first code that a process has the driver compile takes some milliseconds longer than later code: the driver opens its compiler,
//! which makes itself ready. Nothing is asked of the driver as long as stage 2 works on the process's first kernel, so meanwhile
//! another thread has it compile a few lines that do nothing useful.
//!
//! They are compiled for a link, and never loaded: unloading them might wait for kernels. Kernels are not linked: the driver compiles code
//! for a link so that other code can be put to it, and that takes more registers and more instructions.

use std::process;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use schism_jit_abi::PTX_PROCESSORS;

use super::api::{LinkApi, RawLink, link_symbol, number};
use super::context::Context;
use crate::error::DriverError;

/// Does the work, while the driver's compiler begins. That happens once in a process; where there can be no thread for it, the driver
/// sees to it later.
pub(super) fn beside<T>(context: &Context, work: impl FnOnce() -> T) -> T {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let link = context.gpu.driver.link.as_ref();
    let Some(link) = link.filter(|_| !BEGUN.swap(true, Ordering::Relaxed)) else { return work() };
    let warm_up = || {
        let started = Instant::now();
        let done = compile(context, link);
        let micros = started.elapsed().as_micros() as u64;
        let device = &context.gpu.name;
        match done {
            Ok(()) => tracing::debug!(device, micros, "the driver's compiler is ready"),
            // The kernel itself may fare better, and if not, its error is the one that counts.
            Err(error) => tracing::debug!(device, %error, "the driver's compiler is not ready"),
        }
    };
    thread::scope(|scope| {
        let named = thread::Builder::new().name("schism-warm-up".to_owned());
        // The scope waits for the thread.
        let _ = named.spawn_scoped(scope, warm_up);
        work()
    })
}

/// Has the driver compile something small.
fn compile(context: &Context, api: &LinkApi) -> Result<(), DriverError> {
    context.enter()?;
    let mut text = ptx(context.gpu.processor);
    let mut link = RawLink::NULL;
    // SAFETY: there are no options; the link is ours to be written.
    let code = unsafe { (api.create)(0, null_mut(), null_mut(), &raw mut link) };
    context.check(code, link_symbol::create)?;
    // SAFETY: the link was made just now; the text is as long as it says, and ends with a NUL; there are no options.
    let code = unsafe {
        let (data, name) = (text.as_mut_ptr().cast(), c"warm-up".as_ptr());
        (api.add)(link, number::LINK_PTX, data, text.len(), name, 0, null_mut(), null_mut())
    };
    let added = context.check(code, link_symbol::add);
    let done = added.and_then(|()| {
        let (mut cubin, mut bytes) = (null_mut(), 0);
        // SAFETY: the link is there, and has code; address and size are ours to be written.
        let code = unsafe { (api.complete)(link, &raw mut cubin, &raw mut bytes) };
        context.check(code, link_symbol::complete)
    });
    // SAFETY: nobody else knows the link, nor what it made.
    let code = unsafe { (api.destroy)(link) };
    done.and(context.check(code, link_symbol::destroy))
}

/// A kernel with a loop and a branch, for a processor, in the oldest version of PTX that knows it. It has a number that no other has:
/// code that a driver has kept from another time would not have to be compiled.
fn ptx(processor: &str) -> Vec<u8> {
    let first = PTX_PROCESSORS.iter().find(|(name, _)| *name == processor);
    let version = first.map_or(60, |(_, version)| *version);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = u64::from(process::id()) << 32 ^ now.as_nanos() as u64;
    let (major, minor) = (version / 10, version % 10);
    let mut text = format!(
        r#".version {major}.{minor}
.target {processor}
.address_size 64
.visible .entry warm_up(.param .u64 data, .param .u32 count)
{{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<4>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd0, [data];
	ld.param.u32 %r0, [count];
	cvta.to.global.u64 %rd1, %rd0;
	mov.u32 %r1, %tid.x;
	setp.ge.u32 %p0, %r1, %r0;
	@%p0 bra $end;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
$turn:
	.pragma "nounroll";
	ld.global.f32 %f0, [%rd1];
	fma.rn.f32 %f1, %f0, %f0, %f0;
	st.global.f32 [%rd1], %f1;
	add.u64 %rd1, %rd1, 4096;
	add.u32 %r1, %r1, 1024;
	setp.lt.u32 %p1, %r1, %r0;
	@%p1 bra $turn;
	mov.u64 %rd3, {number};
	st.global.u64 [%rd1], %rd3;
$end:
	ret;
}}
"#
    );
    text.push('\0');
    text.into_bytes()
}
