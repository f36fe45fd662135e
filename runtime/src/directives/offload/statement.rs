//! A statement that is offloaded: its steps, and how it ends.

use std::fmt::Write as _;
use std::panic::Location;
use std::process;

use crate::api::queue::Queue;
use crate::data::view::{View, ViewMut};
use crate::directives::offload::arrays::{Mapped, MappedIn, Receive, Section};
use crate::directives::offload::error::{OffloadError, OffloadResult};
use crate::directives::offload::status::OffloadStatus;
use crate::directives::offload::steps::{Progress, Step};
use crate::directives::offload::stream::Stream;
use crate::directives::offload::tags::{self, Tag};
use crate::directives::offload::target::{self, Acquired, Target};
use crate::directives::queue::{Entered, current, default_queue, enter, is_kept_elsewhere};
use crate::kernel::element::Element;
use crate::launch::report::Mark;
use crate::util::{trace, warn_once};

/// How a statement on its target ended.
pub type Outcome = Result<(), OffloadError>;

/// What becomes of a statement whose target is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requirement {
    /// Where the runtime chooses the target, as the queue says. Otherwise as `Mandatory`.
    Default,
    Mandatory,
    /// The host runs it.
    Optional,
}

/// Where a statement runs, or why nowhere.
#[derive(Debug)]
enum Place {
    Undecided,
    Target,
    Host,
    /// On the host, by launches on its device.
    HostQueue,
    Nowhere,
}

/// A statement that is offloaded.
#[derive(Debug)]
pub struct Offload {
    target: Target,
    stream: Option<Queue>,
    requirement: Requirement,
    has_status: bool,
    condition: Option<bool>,
    waits: Vec<usize>,
    signal: Option<usize>,
    progress: Progress,
    place: Place,
    acquired: Option<Acquired>,
    before: Mark,
    /// Names of the arrays that are sent, and come back.
    lists: [String; 2],
    error: Option<OffloadError>,
}

impl Offload {
    /// A statement for a target.
    #[track_caller]
    #[must_use]
    pub fn new(target: Target) -> Self {
        trace::install();
        Self {
            target,
            stream: None,
            requirement: Requirement::Default,
            has_status: false,
            condition: None,
            waits: Vec::new(),
            signal: None,
            progress: Progress::new(Location::caller()),
            place: Place::Undecided,
            acquired: None,
            before: Mark::default(),
            lists: Default::default(),
            error: None,
        }
    }

    /// The host runs it if the target cannot.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { requirement: Requirement::Optional, ..self }
    }

    /// The target runs it, or nothing does.
    #[must_use]
    pub fn mandatory(self) -> Self {
        Self { requirement: Requirement::Mandatory, ..self }
    }

    /// The program asks what has become of it.
    #[must_use]
    pub fn with_status(self) -> Self {
        Self { has_status: true, ..self }
    }

    /// It is for the target of a stream, in the order of that.
    #[must_use]
    pub fn on_stream(self, stream: &Stream) -> Self {
        Self { stream: Some(stream.queue().clone()), ..self }
    }

    /// The target runs it if the condition is true, and the host otherwise.
    #[must_use]
    pub fn when(self, condition: bool) -> Self {
        Self { condition: Some(condition), ..self }
    }

    /// It begins when what has signalled the tag has ended.
    #[must_use]
    pub fn wait(mut self, tag: impl Tag) -> Self {
        self.waits.push(tag.__tag());
        self
    }

    /// It signals the tag when it has ended.
    #[must_use]
    pub fn signal(self, tag: impl Tag) -> Self {
        Self { signal: Some(tag.__tag()), ..self }
    }

    /// Begins it. If its target is there, launches of this thread are the target's until what is
    /// returned is dropped.
    pub fn begin(&mut self) -> Option<Entered> {
        self.progress.reach(Step::Begin, "");
        if let Some(condition) = self.condition {
            self.progress.reach(Step::Condition, if condition { "true" } else { "false" });
            if !condition {
                if self.signal.is_some() || !self.waits.is_empty() {
                    self.fail(OffloadError::InvalidCombination);
                    return None;
                }
                return self.on_host(None);
            }
        }
        let (acquired, queue) = match self.acquire() {
            Ok(found) => found,
            Err(error) if self.requirement == Requirement::Optional && error.is_of_target() => {
                return self.on_host(Some(error));
            }
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        self.progress.reach(Step::Acquire, acquired.queue.device().name());
        self.before = queue.reports().map(|reports| reports.mark()).unwrap_or_default();
        self.acquired = Some(acquired);
        self.place = Place::Target;
        Some(enter(&queue))
    }

    /// The target, and the handle to its queue for the launches.
    fn acquire(&self) -> Result<(Acquired, Queue), OffloadError> {
        let is_synchronized = self.signal.is_some() || !self.waits.is_empty();
        if is_synchronized && !self.target.has_number() && self.stream.is_none() {
            // One that is reserved is the other error.
            self.target.acquire()?;
            return Err(OffloadError::NoTargetNumber);
        }
        let acquired = match &self.stream {
            None => self.target.acquire()?,
            Some(stream) => self.target.of_stream(stream)?,
        };
        for tag in &self.waits {
            tags::wait(acquired.queue.device().name(), *tag)?;
        }
        let queue = match self.requirement {
            Requirement::Default => acquired.queue.clone(),
            Requirement::Mandatory => acquired.queue.mandatory(),
            Requirement::Optional => acquired.queue.optional(),
        };
        let is_measured = self.has_status
            || self.requirement == Requirement::Optional
            || self.progress.is_reported();
        let queue = if is_measured { queue.reporting() } else { queue };
        let reports = queue.reports().cloned();
        Ok((Acquired { reports, ..acquired }, queue))
    }

    /// The queue for arrays: what there is no memory for is not put elsewhere.
    fn queue(&self) -> Queue {
        let entered = crate::directives::queue::queue();
        match self.requirement {
            Requirement::Default => entered.clone(),
            Requirement::Mandatory | Requirement::Optional => entered.mandatory(),
        }
    }

    fn name(&mut self, section: &Section, [sends, receives]: [bool; 2]) {
        for (list, _) in self.lists.iter_mut().zip([sends, receives]).filter(|(_, is)| *is) {
            let comma = if list.is_empty() { "" } else { ", " };
            let _ = write!(list, "{comma}{}", section.name());
        }
    }

    /// Conditions and ranges of the arrays have been evaluated.
    pub fn evaluated(&mut self) {
        self.progress.reach(Step::Evaluate, "");
        self.progress.reach(Step::Gather, "");
    }

    /// An array that is sent, and not changed.
    ///
    /// # Errors
    /// It cannot be on the target.
    pub fn send<'v, T: Element>(
        &mut self,
        section: Section,
        view: &'v View<'_, T>,
    ) -> Result<MappedIn<'v, T>, OffloadError> {
        self.name(&section, [true, false]);
        MappedIn::new(&section, &self.queue(), view, true)
    }

    /// An array that is sent, and comes back.
    ///
    /// # Errors
    /// It cannot be on the target.
    pub fn share<'v, T: Element>(
        &mut self,
        section: Section,
        view: &'v mut ViewMut<'_, T>,
    ) -> Result<Mapped<'v, T>, OffloadError> {
        self.name(&section, [true, true]);
        Mapped::new(&section, &self.queue(), view, [true, true])
    }

    /// What is sent has been sent.
    pub fn sent(&mut self) {
        let sent = std::mem::take(&mut self.lists[0]);
        self.progress.reach(Step::Send, &sent);
    }

    /// An array that comes back only.
    ///
    /// # Errors
    /// It cannot be on the target.
    pub fn allocate<'v, T: Element>(
        &mut self,
        section: Section,
        view: &'v mut ViewMut<'_, T>,
    ) -> Result<Mapped<'v, T>, OffloadError> {
        self.name(&section, [false, true]);
        Mapped::new(&section, &self.queue(), view, [false, true])
    }

    /// An array of the target alone.
    ///
    /// # Errors
    /// It cannot be on the target.
    pub fn keep<'v, T: Element>(
        &mut self,
        section: Section,
        view: &'v mut ViewMut<'_, T>,
    ) -> Result<Mapped<'v, T>, OffloadError> {
        Mapped::new(&section, &self.queue(), view, [false, false])
    }

    /// An array of the target alone, which is not changed.
    ///
    /// # Errors
    /// It cannot be on the target.
    pub fn reuse<'v, T: Element>(
        &mut self,
        section: Section,
        view: &'v View<'_, T>,
    ) -> Result<MappedIn<'v, T>, OffloadError> {
        MappedIn::new(&section, &self.queue(), view, false)
    }

    /// All arrays are there.
    pub fn allocated(&mut self) {
        self.progress.reach(Step::Allocate, "");
        self.progress.reach(Step::Bind, "");
        self.progress.reach(Step::Run, "");
    }

    /// The launches have ended.
    pub fn ran(&mut self) {
        self.progress.reach(Step::Determine, "");
        let received = std::mem::take(&mut self.lists[1]);
        self.progress.reach(Step::Collect, &received);
    }

    /// Ends the use of an array, with what there is an outcome of so far.
    pub fn receive(&mut self, mapped: impl Receive, outcome: Outcome) -> Outcome {
        let received = mapped.__receive(&self.queue(), outcome.is_ok());
        outcome.and(received)
    }

    /// The statement has ended on its target.
    pub fn ended(&mut self, outcome: Outcome) {
        let launches = self.moved().launches;
        match outcome {
            Ok(()) if matches!(self.place, Place::HostQueue) => {}
            Ok(()) => {
                self.progress.reach(Step::Return, "");
                self.progress.reach(Step::Receive, "");
                self.signalled();
            }
            // Nothing has run, so the host can.
            Err(error)
                if self.requirement == Requirement::Optional
                    && launches == 0
                    && error.is_of_target()
                    && !is_kept_elsewhere() =>
            {
                self.error = Some(error);
                self.place = Place::Host;
                self.signalled();
            }
            Err(error) => {
                if error.result() == OffloadResult::ProcessDied
                    && let Some(acquired) = self.acquired.as_ref().filter(|_| error.is_of_target())
                {
                    target::forget(&acquired.queue);
                }
                self.error = Some(error);
                self.place = Place::Nowhere;
            }
        }
    }

    fn signalled(&self) {
        if let (Some(tag), Some(acquired)) = (self.signal, &self.acquired) {
            tags::signal(acquired.queue.device().name(), tag);
        }
    }

    /// It neither begins on its target nor on the host.
    fn fail(&mut self, error: OffloadError) {
        self.place = Place::Nowhere;
        self.error = Some(error);
    }

    /// The host runs it, as it is. Where a region may keep values on a device, the host's are older: then
    /// it runs as launches of the host's, which use copies of them.
    fn on_host(&mut self, error: Option<OffloadError>) -> Option<Entered> {
        self.error = error;
        self.place = Place::Host;
        if !is_kept_elsewhere() {
            return None;
        }
        let queue = current().map_or_else(default_queue, Ok).and_then(|queue| queue.when(false));
        match queue {
            Ok(queue) => {
                self.place = Place::HostQueue;
                self.progress.reach(Step::Acquire, queue.device().name());
                Some(enter(&queue))
            }
            Err(error) => {
                self.fail(error.into());
                None
            }
        }
    }

    /// Whether the host runs it.
    #[must_use]
    pub const fn is_for_host(&self) -> bool {
        matches!(self.place, Place::Host)
    }

    /// What its launches and arrays have moved.
    fn moved(&self) -> Mark {
        let reports = self.acquired.as_ref().and_then(|acquired| acquired.reports.as_ref());
        reports.map(|reports| reports.mark().since(&self.before)).unwrap_or_default()
    }

    /// What has become of it.
    fn status(&mut self) -> OffloadStatus {
        let moved = self.moved();
        let mut status = OffloadStatus {
            data_sent: moved.bytes_to,
            data_received: moved.bytes_from,
            ..OffloadStatus::init()
        };
        if let (Place::Target, Some(acquired)) = (&self.place, &self.acquired) {
            status.result = OffloadResult::Success;
            if self.has_status {
                status.device_number = self.target.number_of(acquired);
            }
            let name = acquired.queue.device().name();
            let reports = acquired.reports.as_ref();
            let elsewhere = reports.and_then(|reports| reports.elsewhere(&self.before, name));
            if let Some((device, why)) =
                elsewhere.filter(|_| self.requirement == Requirement::Optional)
            {
                self.error = Some(OffloadError::Elsewhere { device, why });
            }
        }
        if let Some(error) = self.error.take() {
            status.result = error.result();
            status.device_number = -1;
            status.error = Some(error);
        }
        let result = match (&self.place, &status.error) {
            (Place::Host | Place::HostQueue, None) => {
                "on the host: its condition is false".to_owned()
            }
            (Place::Host | Place::HostQueue, Some(error)) => format!("on the host: {error}"),
            (Place::Target, None) => {
                let acquired = self.acquired.as_ref().map(|own| own.queue.device().name());
                format!("on {}", acquired.unwrap_or_default())
            }
            (_, Some(error)) => format!("{:?}: {error}", status.result),
            (_, None) => "not run".to_owned(),
        };
        self.progress.end(&result, (status.data_sent, status.data_received));
        status
    }

    /// Tells what has become of it.
    pub fn finish_into(mut self, status: &mut OffloadStatus) {
        *status = self.status();
    }

    /// Ends it. If its target failed and the host has not taken its place, the program ends with the
    /// exit code 1.
    ///
    /// # Panics
    /// If a kernel panicked, or the statement is wrong.
    #[track_caller]
    pub fn finish(mut self) {
        let status = self.status();
        let (Place::Nowhere, Some(error)) = (&self.place, status.error) else { return };
        if !error.is_of_target() {
            panic!("{error}");
        }
        warn_once::say(format_args!(
            "{error}; `optional` has the host run the statement, and `status` has the program continue"
        ));
        process::exit(1);
    }
}
