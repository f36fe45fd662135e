//! The workloads of `cargo schism bench cpu` as kernels.

mod groups;
mod items;

use schism::prelude::*;
use schism_bench::cpu::{Ask, Bytes, Workload, serve};

fn main() -> Result<(), schism::Report> {
    let queue = Queue::new()?;
    serve(|name| {
        let found = items::open(&queue, name).transpose();
        found.or_else(|| groups::open(&queue, name).transpose()).map(expect)
    })?;
    Ok(())
}

/// A workload of a buffer that a launch fills.
fn workload<T: Element>(
    mut result: Buffer<T>,
    mut launch: impl FnMut(&mut Buffer<T>) -> Result<(), LaunchError> + 'static,
) -> Option<Workload>
where
    [T]: Bytes,
{
    Some(Box::new(move |ask| {
        if ask == Ask::Result {
            return result.view().bytes();
        }
        expect(launch(&mut result));
        Vec::new()
    }))
}

fn expect<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        std::process::exit(1)
    })
}
