//! Kernels that panic: the launch fails, everything else continues.

use schism::{Error, prelude::*};

fn queue() -> Queue {
    Queue::new().expect("a device")
}

#[test]
fn a_panic_is_an_error() {
    let queue = queue();
    for size in [1, 1000, 1 << 20] {
        let mut data = Buffer::filled(&queue, size, 1_u32).expect("memory");
        let last = size - 1;
        let launched = queue.for_each((0.., &mut data), move |(i, x)| {
            if i == last {
                panic!("element 17 is wrong");
            }
            *x = 2;
        });
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert_eq!(panic.message, "element 17 is wrong");
        assert_eq!(panic.device, queue.device().name());
        assert!(panic.kernel.contains("a_panic_is_an_error"), "{}", panic.kernel);
        let location = panic.location.as_deref().expect("known");
        assert!(location.contains("panics.rs:"), "{location}");
        let (text, place) = (panic.to_string(), format!("panicked at {location}:\n"));
        assert!(text.contains(&(place + "element 17 is wrong\n")), "{text}");
        assert!(text.contains(&format!("work-item [{last}]")), "{text}");

        queue.for_each(&mut data, |x| *x = 3).expect("the queue continues");
        assert!(data.to_vec().iter().all(|x| *x == 3));
    }
}

#[test]
fn an_index_out_of_bounds() {
    let queue = queue();
    let table = Buffer::from_slice(&queue, &[1, 2, 3]).expect("memory");
    let mut out = Buffer::with_len(&queue, 4).expect("memory");
    let view = table.view();
    let launched = queue.for_each((0.., &mut out), move |(i, out)| *out = view[i]);
    let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
    assert!(panic.message.contains("index out of bounds"), "{}", panic.message);
}

/// Each work-item runs at most once, also when another one panics.
#[test]
fn no_work_item_runs_twice() {
    let queue = queue();
    let n = 200_000;
    let mut visits = Buffer::filled(&queue, n, 0_u32).expect("memory");
    let launched = queue.for_each((0.., &mut visits), move |(i, visits)| {
        *visits += 1;
        assert!(i % 50_000 != 49_999, "stop");
    });
    assert!(matches!(launched, Err(LaunchError::Panicked(_))));
    let visits = visits.to_vec();
    assert!(visits.iter().all(|visits| *visits <= 1));
    assert!(visits.contains(&1));
}

#[test]
fn events_and_scopes_tell_of_panics() {
    let queue = queue();
    let mut after = Buffer::filled(&queue, 10, 0).expect("memory");

    // Unheard of until the scope ends; the launch behind it runs all the same.
    let scoped = queue.scope(|scope| {
        scope.parallel_for(10, |item| assert!(item.x() < 5, "first"))?;
        scope.for_each(&mut after, |x| *x = 1)?;
        Ok(())
    });
    let Err(Error::Launch(LaunchError::Panicked(panic))) = scoped else { panic!("{scoped:?}") };
    assert!(panic.message.contains("first"));
    assert_eq!(after.to_vec(), [1; 10]);

    // Heard of from the event.
    let heard = queue.scope(|scope| {
        let event = scope.parallel_for(10, |item| assert!(item.x() < 5, "second"))?;
        let result = event.wait();
        assert!(event.is_complete());
        Ok(result)
    });
    assert!(
        matches!(heard, Ok(Err(LaunchError::Panicked(panic))) if panic.message.contains("second"))
    );
}

#[test]
fn a_scope_that_panics_waits_for_its_launches() {
    let queue = queue();
    let mut data = Buffer::filled(&queue, 1 << 20, 0_u32).expect("memory");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        queue.scope(|scope| -> Result<(), Error> {
            scope.for_each(&mut data, |x| *x = 1)?;
            panic!("on the host")
        })
    }));
    assert_eq!(caught.expect_err("it panics").downcast_ref(), Some(&"on the host"));
    assert!(data.to_vec().iter().all(|x| *x == 1));
}
