//! A queue's stream: launches are submitted one by one, and complete in the same order.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::error::DriverError;
use crate::hal::Held;
use crate::hal::gpu::api::{RawEvent, RawStream, number, symbol};
use crate::hal::gpu::context::Context;
use crate::hal::gpu::kernel::LoadedKernel;
use crate::hal::gpu::repeat::Repeats;
use crate::util::fork::NoForkGuard;
use crate::util::timeline::{self, Time, Track};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    raw: RawStream,
    /// The number of launches that are known to have ended.
    done: AtomicU64,
    held: Mutex<Held<LoadedKernel, Order>>,
    /// Its track in the timeline.
    pub(super) track: Track,
    /// An event whose time on the host's clock is known, for the timeline.
    known: Mutex<Option<(RawEvent, Time)>>,
}

/// All streams.
static STREAMS: Mutex<Vec<Weak<Stream>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Weak<Stream>>> {
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a launch changes.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The number of launches submitted.
    submitted: u64,
    /// The number of the last one that fills memory with zeros, which counts as a launch.
    zeros: u64,
    /// Events in the stream, with the number of launches before each.
    events: VecDeque<(u64, RawEvent)>,
    spare: Vec<RawEvent>,
    timers: Vec<Timer>,
    /// Kernels with the number of the last launch of each, which keeps its code loaded until then.
    kernels: Vec<(Arc<LoadedKernel>, u64)>,
    /// Launches that may be made again.
    pub(super) repeats: Repeats,
}

/// Kernels that are remembered at least, once launched. It saves a launch of such a kernel counting
/// who has it.
const REMEMBERED: usize = 8;

/// Holds a stream for a launch.
#[derive(Debug)]
pub(crate) struct StreamGuard<'a> {
    held: MutexGuard<'a, Held<LoadedKernel, Order>>,
    #[expect(dead_code, reason = "it keeps a fork waiting until the launch is submitted")]
    no_fork: NoForkGuard,
}

impl Deref for StreamGuard<'_> {
    type Target = Held<LoadedKernel, Order>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.held
    }
}

impl DerefMut for StreamGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.held
    }
}

/// Two events around a launch.
#[derive(Debug)]
pub(super) struct Timer {
    begin: RawEvent,
    end: RawEvent,
}

impl Stream {
    pub(crate) fn new(context: Arc<Context>) -> Result<Arc<Self>, DriverError> {
        let mut all = all();
        let raw = context.create_stream()?;
        let (done, held) = (AtomicU64::new(0), Mutex::default());
        let (track, known) = (Track::new(), Mutex::default());
        let stream = Arc::new(Self { context, raw, done, held, track, known });
        all.retain(|other| other.strong_count() != 0);
        all.push(Arc::downgrade(&stream));
        Ok(stream)
    }

    /// Calls `run` when all launches on a context's streams have ended, and keeps others from
    /// beginning meanwhile.
    pub(super) fn while_idle(
        context: &Arc<Context>,
        run: &mut dyn FnMut(),
    ) -> Result<(), DriverError> {
        // As long as this is locked, there are no new streams, and no other thread holds several.
        let all = all();
        let of_context = |stream: &Arc<Self>| Arc::ptr_eq(&stream.context, context);
        let streams: Vec<_> = all.iter().filter_map(Weak::upgrade).filter(of_context).collect();
        let held: Vec<_> = streams.iter().map(|stream| stream.held()).collect();
        for (stream, held) in streams.iter().zip(&held) {
            stream.synchronize(held.order.submitted)?;
        }
        run();
        Ok(())
    }

    /// Waits for all that was submitted: so many launches.
    fn synchronize(&self, submitted: u64) -> Result<(), DriverError> {
        let _wait = timeline::wait(&self.context.gpu.name);
        // SAFETY: the stream is this one's.
        let wait = || unsafe { (self.context.api().stream_synchronize)(self.raw) };
        self.context.call(symbol::stream_synchronize, wait)?;
        self.done.fetch_max(submitted, Ordering::AcqRel);
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held<LoadedKernel, Order>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the stream for a launch. The process is not a forked one.
    #[inline]
    pub(super) fn hold(&self) -> StreamGuard<'_> {
        let no_fork = NoForkGuard::enter();
        StreamGuard { held: self.held(), no_fork }
    }

    /// Submits a launch of a kernel by calling `launch`, between the events of a timer, and returns
    /// its number. With a timer, the context must be current.
    #[inline]
    pub(super) fn submit(
        &self,
        order: &mut Order,
        kernel: &Arc<LoadedKernel>,
        timer: Option<&Timer>,
        launch: impl FnOnce(RawStream) -> Result<(), DriverError>,
    ) -> Result<u64, DriverError> {
        // A part of a launch may be in the stream even if it fails.
        order.submitted += 1;
        self.keep(order, kernel);
        if let Some(timer) = timer {
            self.record(timer.begin)?;
        }
        launch(self.raw)?;
        if let Some(timer) = timer {
            self.record(timer.end)?;
        }
        Ok(order.submitted)
    }

    /// Keeps the kernel of the last launch loaded until that has ended.
    #[inline]
    fn keep(&self, order: &mut Order, kernel: &Arc<LoadedKernel>) {
        let last = order.submitted;
        let known = order.kernels.iter_mut().find(|(known, _)| Arc::ptr_eq(known, kernel));
        match known {
            Some((_, launch)) => *launch = last,
            None => self.keep_another(order, kernel),
        }
    }

    #[cold]
    fn keep_another(&self, order: &mut Order, kernel: &Arc<LoadedKernel>) {
        if order.kernels.len() >= REMEMBERED {
            let done = self.done.load(Ordering::Acquire);
            order.kernels.retain(|(_, launch)| *launch > done);
        }
        order.kernels.push((Arc::clone(kernel), order.submitted));
    }

    /// Gives up kernels that have no other owner.
    fn give_up_kernels(&self) {
        let mut held = self.held();
        let Held { recent, order } = &mut *held;
        recent.give_up_changed();
        if recent.has_replaced() {
            order.repeats.retain(|number| recent.has(number));
        }
        let done = self.done.load(Ordering::Acquire);
        let is_over = |(kernel, launch): &mut (Arc<LoadedKernel>, u64)| {
            *launch <= done && Arc::strong_count(kernel) == 1
        };
        let gone: Vec<_> = held.order.kernels.extract_if(.., is_over).collect();
        drop(held);
        // Without the lock: it calls the driver.
        drop(gone);
    }

    /// Submits what fills memory with zeros by calling `zero`.
    pub(super) fn submit_zeros<E>(
        &self,
        zero: impl FnOnce(RawStream) -> Result<(), E>,
    ) -> Result<(), E> {
        let order = &mut self.held().order;
        order.submitted += 1;
        order.zeros = order.submitted;
        zero(self.raw)
    }

    /// Waits until all memory is filled that was to be.
    pub(super) fn wait_for_zeros(&self) -> Result<(), DriverError> {
        let zeros = self.held().order.zeros;
        self.wait(zeros)
    }

    fn record(&self, event: RawEvent) -> Result<(), DriverError> {
        // SAFETY: event and stream are of this context.
        let code = unsafe { (self.context.api().event_record)(event, self.raw) };
        self.context.check(code, symbol::event_record)
    }

    /// Takes an unused timer. Makes the context current.
    pub(super) fn take_timer(&self, order: &mut Order) -> Result<Timer, DriverError> {
        self.context.enter()?;
        if timeline::is_on() {
            self.know_an_event()?;
        }
        let kept = order.timers.pop();
        kept.map_or_else(
            || {
                let begin = self.context.create_timed_event()?;
                Ok(Timer { begin, end: self.context.create_timed_event()? })
            },
            Ok,
        )
    }

    /// Has an event whose time is known: the host waits for one, once. The context is current.
    #[cold]
    fn know_an_event(&self) -> Result<(), DriverError> {
        let mut known = self.known();
        if known.is_none() {
            let event = self.context.create_timed_event()?;
            self.record(event)?;
            // SAFETY: an event of this context, which was recorded.
            let code = unsafe { (self.context.api().event_synchronize)(event) };
            self.context.check(code, symbol::event_synchronize)?;
            *known = Some((event, timeline::now()));
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Option<(RawEvent, Time)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a timer whose events have completed: the time between them, and when they were, for the
    /// timeline.
    pub(super) fn give_timer(&self, mut timer: Timer) -> (Option<Duration>, Option<(Time, Time)>) {
        if self.context.enter().is_err() {
            return (None, None);
        }
        let duration = self.milliseconds(timer.begin, timer.end);
        let times = self.times(&mut timer);
        self.held().order.timers.push(timer);
        let duration = duration.map(|milliseconds| milliseconds / 1000.0);
        (duration.and_then(|seconds| Duration::try_from_secs_f32(seconds).ok()), times)
    }

    /// When the events of a timer were.
    fn times(&self, timer: &mut Timer) -> Option<(Time, Time)> {
        /// The driver says milliseconds in 24 bits: of so many, they are exact to a quarter of a
        /// microsecond. After more of them, another event is the known one.
        const MOST: f32 = 4096.0;
        let mut known = self.known();
        let (event, at) = known.as_mut()?;
        let after = |at: Time, milliseconds: f32| {
            at.saturating_add_signed((f64::from(milliseconds) * 1e6) as i64)
        };
        // Both from one event: then a launch does not begin before the end of the one before it.
        let begin = self.milliseconds(*event, timer.begin)?;
        let times = (after(*at, begin), after(*at, self.milliseconds(*event, timer.end)?));
        if begin > MOST {
            std::mem::swap(event, &mut timer.begin);
            *at = times.0;
        }
        Some(times)
    }

    /// The time between two events of this context that have completed.
    fn milliseconds(&self, from: RawEvent, to: RawEvent) -> Option<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: events of this context; the number can be written.
        let code = unsafe { (self.context.api().event_elapsed)(&raw mut milliseconds, from, to) };
        self.context.check(code, symbol::event_elapsed).ok().map(|()| milliseconds)
    }

    /// Whether the launch with that number is known to have ended, and the context was not lost
    /// before.
    #[inline]
    pub(super) fn is_done(&self, launch: u64) -> bool {
        self.done.load(Ordering::Acquire) >= launch
    }

    /// Waits until the launch with that number has ended, and perhaps later ones.
    pub(super) fn wait(&self, launch: u64) -> Result<(), DriverError> {
        if self.is_done(launch) {
            return Ok(());
        }
        let submitted = self.held().order.submitted;
        self.synchronize(submitted)?;
        self.give_up_kernels();
        Ok(())
    }

    /// Whether the launch with that number is known to have ended, successfully or not, without
    /// asking the device.
    pub(super) fn is_known_over(&self, launch: u64) -> bool {
        self.is_done(launch) || self.context.lost().is_some() || self.context.forked().is_some()
    }

    /// Whether the launch with that number has ended, successfully or not. Repeated calls
    /// eventually return `true`.
    pub(super) fn is_over(&self, launch: u64) -> bool {
        if self.is_known_over(launch) {
            return true;
        }
        let order = &mut self.held().order;
        if self.poll_events(order).is_err() || self.is_known_over(launch) {
            return true;
        }
        self.ensure_event(order, launch);
        false
    }

    /// Polls the device for all launches that have ended. An event that is recorded now can be seen
    /// by the next call.
    pub(crate) fn look(&self) {
        if self.context.forked().is_some() {
            return;
        }
        let order = &mut self.held().order;
        if self.poll_events(order).is_ok() {
            self.ensure_event(order, order.submitted);
        }
    }

    /// Processes the events that the stream has completed.
    fn poll_events(&self, order: &mut Order) -> Result<(), DriverError> {
        let api = self.context.api();
        while let Some((behind, event)) = order.events.front().copied() {
            // SAFETY: an event of this context.
            let code = self.context.call_for_code(|| unsafe { (api.event_query)(event) })?;
            if code == number::NOT_READY {
                break;
            }
            self.context.check(code, symbol::event_query)?;
            self.done.fetch_max(behind, Ordering::AcqRel);
            order.events.pop_front();
            order.spare.push(event);
        }
        Ok(())
    }

    /// Records an event, unless the given launch has ended or an event follows it already.
    fn ensure_event(&self, order: &mut Order, launch: u64) {
        let behind = order.events.back().map_or(0, |(behind, _)| *behind);
        if behind.max(self.done.load(Ordering::Acquire)) >= launch {
            return;
        }
        if let Err(error) = self.record_event(order) {
            tracing::warn!(%error, "no event");
        }
    }

    /// Records an event after all launches so far.
    fn record_event(&self, order: &mut Order) -> Result<(), DriverError> {
        self.context.enter()?;
        let event = match order.spare.pop() {
            Some(event) => event,
            None => self.context.create_event()?,
        };
        order.events.push_back((order.submitted, event));
        self.record(event)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            // They are destroyed with the context.
            return;
        }
        let api = self.context.api();
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Order { events, spare, timers, kernels, .. } = &mut held.order;
        let done = *self.done.get_mut();
        if kernels.iter().any(|(_, launch)| *launch > done) {
            // Their code is to stay until then.
            // SAFETY: the stream is this one's.
            unsafe { (api.stream_synchronize)(self.raw) };
        }
        let events = events.drain(..).map(|(_, event)| event);
        let timers = timers.drain(..).flat_map(|timer| [timer.begin, timer.end]);
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let known = known.map(|(event, _)| event);
        for event in events.chain(spare.drain(..)).chain(timers).chain(known) {
            // SAFETY: an event of this context, which is not used any more.
            unsafe { (api.event_destroy)(event) };
        }
        // SAFETY: the stream belongs to this object; its remaining work completes first.
        unsafe { (api.stream_destroy)(self.raw) };
    }
}
