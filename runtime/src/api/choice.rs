//! Which device a program has that demands none: the first of an order that can be used.

use crate::code::aot;
use crate::code::compiler::about as stage2;
use crate::code::compiler_path::Missing;
use crate::code::images;
use crate::error::DeviceError;
use crate::hal::dispatch::BackendDevice;

/// A device that was chosen out of an order.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) device: BackendDevice,
    /// `None` if it is the last one of an order that the user gave: it is demanded.
    pub(super) wish: Option<Wish>,
    /// Why the device `cpu` was left out, if there is no code for it.
    pub(super) missing: Option<Missing>,
}

/// How a device was chosen that was not demanded, and what may take its place.
#[derive(Debug)]
pub(crate) struct Wish {
    /// Why none of the devices before it in the order was chosen.
    pub(crate) why: String,
    /// The first device of the host's after it in the order.
    pub(crate) host: Option<BackendDevice>,
    /// Whether nothing may take the place of that one.
    pub(crate) is_host_last: bool,
    /// Whether the user is not warned where another device takes its place.
    pub(crate) is_silent: bool,
}

/// The first device of an order that can be used. The last device of an order that the user gave is
/// demanded. `unknown` makes the error for a name that no device can have.
///
/// # Errors
/// [`DeviceError::Unknown`]; other errors of the last device.
pub(super) fn choose(
    order: &[&str],
    is_default: bool,
    unknown: impl Fn(&str) -> DeviceError,
) -> Result<Chosen, DeviceError> {
    let last = order.len().saturating_sub(1);
    let fallback = BackendDevice::FALLBACK;
    if !images::has_device_code() && order.contains(&fallback.name()) {
        // Such programs need not load LLVM, or a driver; the first launch warns about that.
        let why = "the program has no code for devices".to_owned();
        let wish = Wish { why, host: None, is_host_last: true, is_silent: false };
        let demanded = !is_default && order[last] == fallback.name();
        return Ok(Chosen { device: fallback, wish: (!demanded).then_some(wish), missing: None });
    }
    let mut passed = Vec::new();
    let mut missing = None;
    for (index, name) in order.iter().enumerate() {
        let is_demanded = index == last && !is_default;
        let found =
            if is_demanded { BackendDevice::by_name(name) } else { BackendDevice::wished(name) };
        let found = found.ok_or_else(|| unknown(name))?;
        match found.map_err(|error| (reason(&error), error)) {
            Ok(device) if is_demanded => return Ok(Chosen { device, wish: None, missing }),
            Ok(device) => {
                if index != last
                    && let Some(unfit) = unfit(&device)
                {
                    passed.push(format!("{name}: {unfit}"));
                    continue;
                }
                let rest = &order[index + 1..];
                let (host, is_host_last) = first_of_host(rest, is_default);
                let first = || format!("it is the first of {}", order.join(", "));
                let why = if passed.is_empty() { first() } else { passed.join("; ") };
                let wish = Wish { why, host, is_host_last, is_silent: false };
                return Ok(Chosen { device, wish: Some(wish), missing });
            }
            Err((_, error)) if index == last => return Err(error),
            Err((reason, error)) => {
                let is_compiler =
                    matches!(error, DeviceError::Stage2 { .. } | DeviceError::Stage2Version { .. });
                if is_compiler && *name == CPU {
                    missing = stage2().err();
                }
                passed.push(format!("{name}: {reason}"));
            }
        }
    }
    Err(unknown(""))
}

/// The device whose compiler is missed.
const CPU: &str = "cpu";

/// The first device of the host's in a part of an order, and whether it is its last one.
fn first_of_host(rest: &[&str], is_default: bool) -> (Option<BackendDevice>, bool) {
    let found = rest.iter().enumerate().find_map(|(index, name)| {
        let device = BackendDevice::wished(name)?.ok()?;
        device.traits().runs_on_host.then_some((device, index + 1 == rest.len() && !is_default))
    });
    found.map_or((None, true), |(device, is_last)| (Some(device), is_last))
}

/// Why none of the program's kernels can run on a device; `None` if one may.
fn unfit(device: &BackendDevice) -> Option<String> {
    let lacks = device.lacks();
    let target = device.aot_target()?;
    if lacks.is_empty() || aot::is_there(&*target) {
        return None;
    }
    let can_run = images::any_record(|record| {
        record.kernels().iter().any(|kernel| {
            let has = |name: &str| kernel.capabilities.iter().any(|capability| capability == name);
            !lacks.iter().any(|(name, _)| has(name)) && record.generic_ir(kernel, false).is_some()
        })
    });
    (!can_run).then(|| "it can run none of the program's kernels".to_owned())
}

/// The reason in an error, without what the user could do if the device had been demanded.
fn reason(error: &DeviceError) -> String {
    match error {
        DeviceError::NoGpu { reason, .. }
        | DeviceError::NoOpenCl { reason, .. }
        | DeviceError::Forked { reason, .. } => reason.clone(),
        DeviceError::Stage2 { reason, .. } => format!("there is no compiler: {reason}"),
        other => other.to_string(),
    }
}
