//! A queue's stream: launches are submitted one by one, and complete in the same order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::DriverError;
use crate::hal::gpu::api::{RawEvent, RawStream, number, symbol};
use crate::hal::gpu::context::Context;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    raw: RawStream,
    /// The number of launches that are known to have ended.
    done: AtomicU64,
    state: Mutex<StreamState>,
}

#[derive(Debug, Default)]
struct StreamState {
    /// The number of launches submitted.
    submitted: u64,
    /// The number of the last one that fills memory with zeros, which counts as a launch.
    zeros: u64,
    /// Events in the stream, with the number of launches before each.
    events: VecDeque<(u64, RawEvent)>,
    spare: Vec<RawEvent>,
    timers: Vec<Timer>,
}

/// Two events around a launch.
#[derive(Debug)]
pub(super) struct Timer {
    begin: RawEvent,
    end: RawEvent,
}

impl Stream {
    pub(crate) fn new(context: Arc<Context>) -> Result<Arc<Self>, DriverError> {
        let raw = context.create_stream()?;
        Ok(Arc::new(Self { context, raw, done: AtomicU64::new(0), state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a launch by calling `launch`, between the events of a timer, and returns its number.
    /// With a timer, the context must be current.
    pub(super) fn submit(
        &self,
        timer: Option<&Timer>,
        launch: impl FnOnce(RawStream) -> Result<(), DriverError>,
    ) -> Result<u64, DriverError> {
        let mut state = self.state();
        // A part of a launch may be in the stream even if it fails.
        state.submitted += 1;
        if let Some(timer) = timer {
            self.record(timer.begin)?;
        }
        launch(self.raw)?;
        if let Some(timer) = timer {
            self.record(timer.end)?;
        }
        Ok(state.submitted)
    }

    /// Submits what fills memory with zeros by calling `zero`.
    pub(super) fn submit_zeros<E>(
        &self,
        zero: impl FnOnce(RawStream) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = self.state();
        state.submitted += 1;
        state.zeros = state.submitted;
        zero(self.raw)
    }

    /// Waits until all memory is filled that was to be.
    pub(super) fn wait_for_zeros(&self) -> Result<(), DriverError> {
        let zeros = self.state().zeros;
        self.wait(zeros)
    }

    fn record(&self, event: RawEvent) -> Result<(), DriverError> {
        // SAFETY: event and stream are of this context.
        let code = unsafe { (self.context.api().event_record)(event, self.raw) };
        self.context.check(code, symbol::event_record)
    }

    /// Takes an unused timer. Makes the context current.
    pub(super) fn take_timer(&self) -> Result<Timer, DriverError> {
        self.context.enter()?;
        let kept = self.state().timers.pop();
        kept.map_or_else(
            || {
                let begin = self.context.create_timed_event()?;
                Ok(Timer { begin, end: self.context.create_timed_event()? })
            },
            Ok,
        )
    }

    /// Returns a timer whose events have completed, and the time between them.
    pub(super) fn give_timer(&self, timer: Timer) -> Option<Duration> {
        self.context.enter().ok()?;
        let mut milliseconds = 0.0;
        // SAFETY: events of this context; the number can be written.
        let code = unsafe {
            (self.context.api().event_elapsed)(&raw mut milliseconds, timer.begin, timer.end)
        };
        self.state().timers.push(timer);
        let known = self.context.check(code, symbol::event_elapsed).is_ok();
        known.then(|| Duration::try_from_secs_f32(milliseconds / 1000.0).ok()).flatten()
    }

    /// Waits until the launch with that number has ended, and perhaps later ones.
    pub(super) fn wait(&self, launch: u64) -> Result<(), DriverError> {
        if self.done.load(Ordering::Acquire) >= launch {
            return Ok(());
        }
        let submitted = self.state().submitted;
        // SAFETY: the stream is this one's.
        let wait = || unsafe { (self.context.api().stream_synchronize)(self.raw) };
        self.context.call(symbol::stream_synchronize, wait)?;
        self.done.fetch_max(submitted, Ordering::AcqRel);
        Ok(())
    }

    /// Whether the launch with that number is known to have ended, successfully or not, without
    /// asking the device.
    pub(super) fn is_known_over(&self, launch: u64) -> bool {
        self.done.load(Ordering::Acquire) >= launch
            || self.context.lost().is_some()
            || self.context.forked().is_some()
    }

    /// Whether the launch with that number has ended, successfully or not. Repeated calls
    /// eventually return `true`.
    pub(super) fn is_over(&self, launch: u64) -> bool {
        if self.is_known_over(launch) {
            return true;
        }
        let mut state = self.state();
        if self.poll_events(&mut state).is_err() || self.is_known_over(launch) {
            return true;
        }
        self.ensure_event(&mut state, launch);
        false
    }

    /// Polls the device for all launches that have ended. An event that is recorded now can be seen
    /// by the next call.
    pub(crate) fn look(&self) {
        if self.context.forked().is_some() {
            return;
        }
        let mut state = self.state();
        if self.poll_events(&mut state).is_ok() {
            let submitted = state.submitted;
            self.ensure_event(&mut state, submitted);
        }
    }

    /// Processes the events that the stream has completed.
    fn poll_events(&self, state: &mut StreamState) -> Result<(), DriverError> {
        let api = self.context.api();
        while let Some((behind, event)) = state.events.front().copied() {
            // SAFETY: an event of this context.
            let code = self.context.call_for_code(|| unsafe { (api.event_query)(event) })?;
            if code == number::NOT_READY {
                break;
            }
            self.context.check(code, symbol::event_query)?;
            self.done.fetch_max(behind, Ordering::AcqRel);
            state.events.pop_front();
            state.spare.push(event);
        }
        Ok(())
    }

    /// Records an event, unless the given launch has ended or an event follows it already.
    fn ensure_event(&self, state: &mut StreamState, launch: u64) {
        let behind = state.events.back().map_or(0, |(behind, _)| *behind);
        if behind.max(self.done.load(Ordering::Acquire)) >= launch {
            return;
        }
        if let Err(error) = self.record_event(state) {
            tracing::warn!(%error, "no event");
        }
    }

    /// Records an event after all launches so far.
    fn record_event(&self, state: &mut StreamState) -> Result<(), DriverError> {
        self.context.enter()?;
        let event = match state.spare.pop() {
            Some(event) => event,
            None => self.context.create_event()?,
        };
        state.events.push_back((state.submitted, event));
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
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let events = state.events.drain(..).map(|(_, event)| event);
        let timers = state.timers.drain(..).flat_map(|timer| [timer.begin, timer.end]);
        for event in events.chain(state.spare.drain(..)).chain(timers) {
            // SAFETY: an event of this context, which nobody uses any more.
            unsafe { (api.event_destroy)(event) };
        }
        // SAFETY: the stream belongs to this object; its remaining work completes first.
        unsafe { (api.stream_destroy)(self.raw) };
    }
}
