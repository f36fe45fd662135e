//! Launches that run on the host if a condition is false or the device cannot run them, and launches that
//! must not.

use crate::api::fallback::FalseCondition;
use crate::api::queue::Queue;
use crate::error::DeviceError;
use crate::launch::desc::OnRefusal;

impl Queue {
    /// Returns a handle to this queue; launches made through it run on the device if the `condition`
    /// is true, and on the host otherwise: on the device `cpu`, or on `native` if there is no code for
    /// that. It is for work that is worth a device only if there is enough of it.
    ///
    /// Slices, arrays and `Vec`s are used in place by the host. Buffers that are made through the
    /// handle belong to where its launches run. What a launch of the host's uses of the buffers of this
    /// queue's device is copied to the host for it, and back if it may have changed: such a launch
    /// begins when the device has ended all launches, and none of the device's begins before it has
    /// ended. [Reports](Self::report) say that the condition is false.
    ///
    /// A handle to a handle runs on the device if both conditions are true.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// for len in [10, 100_000] {
    ///     let mut numbers = vec![1.0_f32; len];
    ///     queue.when(len > 10_000)?.for_each(&mut numbers, |x| *x += 1.0)?;
    ///     assert_eq!(numbers, vec![2.0; len]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`on`](Self::on), for the host's device.
    pub fn when(&self, condition: bool) -> Result<Self, DeviceError> {
        let mut handle = self.clone();
        if condition || self.condition.is_some() {
            return Ok(handle);
        }
        handle.on_refusal = OnRefusal::Silent;
        let device = match &self.fallback {
            None => None,
            Some(fallback) => {
                (handle.device, handle.queue) = fallback.conditional()?;
                Some(self.queue.clone())
            }
        };
        handle.condition = Some(FalseCondition { device });
        Ok(handle)
    }

    /// Returns a handle to this queue; if the device cannot run a launch that is made through it, the
    /// host does: on the device `cpu`, or on `native` if there is no code for that. Nothing warns of
    /// it; [reports](Self::report) say why.
    ///
    /// A device cannot run a launch if it lacks what the kernel needs, if there is no code for it or
    /// that cannot be made, or if its groups are too large. The buffers are copied to the host for the
    /// launch, and back if it may have changed them. A buffer that is made through the handle is in the
    /// host's memory if the device has no room for it. An error of a launch that has begun, such as a
    /// panic, stays one.
    ///
    /// [`Device::optional`](crate::Device::optional) is for a device that may not be there.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 1000, 1)?;
    /// queue.optional().for_each(&mut numbers, |x| *x += 1)?;
    /// assert_eq!(numbers.to_vec(), [2; 1000]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn optional(&self) -> Self {
        self.with_refusals(OnRefusal::Silent)
    }

    /// Returns a handle to this queue; what its device cannot run or has no memory for is an error,
    /// whichever way the device was chosen. Of `optional` and `mandatory` the last one counts.
    ///
    /// It is about the device that the queue [has](Self::device). A device that has to be there is
    /// asked for by [name](crate::Device::by_name). A `main` that returns the error ends the process with the
    /// exit code 1.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?.mandatory();
    /// let (outcome, reports) = queue.report(|queue| queue.parallel_for(10, |_| ()));
    /// assert!(outcome.is_err() || reports[0].device == queue.device().name());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn mandatory(&self) -> Self {
        self.with_refusals(OnRefusal::Fail)
    }

    fn with_refusals(&self, on_refusal: OnRefusal) -> Self {
        let mut handle = self.clone();
        handle.on_refusal = on_refusal;
        handle
    }
}
