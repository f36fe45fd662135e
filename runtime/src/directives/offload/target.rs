//! Targets: kinds of devices, and numbers.

use std::sync::{Mutex, PoisonError};

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::directives::offload::error::OffloadError;
use crate::directives::queue::{current, default_queue, try_queue};
use crate::directives::races;
use crate::directives::steps::Counter;
use crate::error::DeviceError;
use crate::launch::report::Reports;
use crate::util::fork::NoForkGuard;

/// The target of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// `any`, `gpu`, or what names of devices begin with.
    kind: &'static str,
    number: i128,
}

/// A target that has been acquired.
#[derive(Debug)]
pub(super) struct Acquired {
    pub(super) queue: Queue,
    /// Its number, if it was asked for by one.
    pub(super) number: Option<i32>,
    /// What lists its launches, if they are listed.
    pub(super) reports: Option<Reports>,
}

impl Target {
    /// The target of a kind with a number; -1 leaves the choice to the runtime.
    pub fn new(kind: &'static str, number: impl Counter) -> Self {
        Self { kind, number: number.widened() }
    }

    pub(super) const fn has_number(&self) -> bool {
        self.number >= 0
    }

    fn is_of_kind(&self, device: &Device) -> bool {
        match self.kind {
            "any" => true,
            "gpu" => device.backend().traits().is_gpu,
            kind => kind_of(device) == kind,
        }
    }

    /// A queue of the target: that of the thread, if its device is the one.
    pub(super) fn acquire(&self) -> Result<Acquired, OffloadError> {
        if self.number < -1 {
            return Err(OffloadError::ReservedTargetNumber { number: self.number });
        }
        if let Some(checked) = checked()? {
            return Ok(checked);
        }
        let current = current().filter(|queue| self.is_of_kind(queue.device()));
        if self.number == -1 {
            let queue = match current {
                Some(queue) => queue,
                None => self.chosen()?,
            };
            return Ok(Acquired { number: None, queue, reports: None });
        }
        let mut targets = self.listed(current.as_ref());
        let Some(number) = self.number.checked_rem(targets.len() as i128) else {
            return Err(self.missing().into());
        };
        let number = number as usize;
        let device = targets.swap_remove(number);
        let queue = match current.filter(|queue| *queue.device() == device) {
            Some(queue) => queue,
            None => queue_of(&device)?,
        };
        Ok(Acquired { queue, number: Some(number_of(number)), reports: None })
    }

    /// That of a stream, which has to be one of these if there is a number or a kind.
    pub(super) fn of_stream(&self, stream: &Queue) -> Result<Acquired, OffloadError> {
        if let Some(checked) = checked()? {
            return Ok(checked);
        }
        let device = stream.device();
        let of_target = if self.number == -1 && self.is_of_kind(device) {
            None
        } else {
            Some(self.acquire()?).filter(|target| target.queue.device() != device)
        };
        if let Some(target) = of_target {
            let target = target.queue.device().name().to_owned();
            return Err(OffloadError::OtherTarget { stream: device.name().to_owned(), target });
        }
        Ok(Acquired { queue: stream.clone(), number: None, reports: None })
    }

    /// The number of a target that has been acquired.
    pub(super) fn number_of(&self, acquired: &Acquired) -> i32 {
        acquired.number.unwrap_or_else(|| {
            let queue = &acquired.queue;
            let all = self.listed(Some(queue));
            number_of(all.iter().position(|own| own == queue.device()).unwrap_or(0))
        })
    }

    /// The targets that numbers count. Of several kinds it is that of the thread's queue, or of the
    /// first GPU.
    fn listed(&self, current: Option<&Queue>) -> Vec<Device> {
        let mut all = Device::all();
        all.retain(|device| self.is_of_kind(device));
        if let Some(device) = current.map(Queue::device).filter(|own| !all.contains(own)) {
            return vec![device.clone()];
        }
        let first_gpu = || all.iter().find(|device| device.backend().traits().is_gpu);
        let first = current.map(Queue::device).or_else(first_gpu).or(all.first());
        if let Some(kind) = first.map(Device::kind) {
            all.retain(|device| device.kind() == kind);
        }
        all
    }

    /// What the runtime chooses.
    fn chosen(&self) -> Result<Queue, OffloadError> {
        let default = default_queue()?;
        if self.is_of_kind(default.device()) {
            return Ok(default);
        }
        match self.listed(None).first() {
            Some(device) => Ok(queue_of(device)?),
            None => Err(self.missing().into()),
        }
    }

    /// Why there is none.
    fn missing(&self) -> DeviceError {
        let name = if self.kind == "gpu" { "cuda" } else { self.kind };
        match Device::by_name(name) {
            Err(error) => error,
            Ok(device) => DeviceError::Unknown {
                requested: name.to_owned(),
                available: device.name().to_owned(),
            },
        }
    }
}

/// The target of loops that are checked, whatever theirs is.
fn checked() -> Result<Option<Acquired>, OffloadError> {
    if !races::are_checked() {
        return Ok(None);
    }
    Ok(Some(Acquired { queue: try_queue()?, number: None, reports: None }))
}

fn number_of(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

/// What the name of a device begins with.
fn kind_of(device: &Device) -> &str {
    device.name().split(':').next().unwrap_or_default()
}

static QUEUES: Mutex<Vec<Queue>> = Mutex::new(Vec::new());

/// The queue of a device that offloads have in common.
fn queue_of(device: &Device) -> Result<Queue, DeviceError> {
    let _no_fork = NoForkGuard::enter();
    let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = queues.iter().find(|queue| queue.device() == device) {
        return Ok(known.clone());
    }
    let queue = Queue::on(device)?;
    queues.push(queue.clone());
    Ok(queue)
}

/// Forgets a queue whose device was lost.
pub(super) fn forget(queue: &Queue) {
    let _no_fork = NoForkGuard::enter();
    let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    queues.retain(|own| own.device() != queue.device());
}
