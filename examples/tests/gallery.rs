//! The examples with pictures, on every device, beside plain loops.

#![allow(
    dead_code,
    missing_docs,
    reason = "the examples are programs, whose functions are called here"
)]

#[path = "../julia.rs"]
mod julia;
#[path = "../kmeans.rs"]
mod kmeans;
#[path = "../life.rs"]
mod life;
#[path = "../ray_tracer.rs"]
mod ray_tracer;
#[path = "../reaction_diffusion.rs"]
mod reaction_diffusion;

use schism::{Device, DeviceKind, Queue};

/// Runs a test on every device. Plain rustc makes code for one.
fn on_every_device(test: impl Fn(&Queue)) {
    let is_there = |own: &Device| cfg!(schism_driver) || own.kind() == DeviceKind::Native;
    let copies = Device::by_name("cpu:copies").expect("every machine has it");
    for device in Device::all().into_iter().chain([copies]).filter(is_there) {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

#[test]
fn rays_meet_the_same_everywhere() {
    let (width, height) = (48, 27);
    let expected: Vec<_> = (0..width * height)
        .map(|at| ray_tracer::pixel(at % width, at / width, width, height))
        .collect();
    let is_red = |pixel: &[u8; 3]| pixel[0] > 120 && pixel[1] < 110 && pixel[2] < 110;
    assert!(expected.iter().any(is_red), "a red sphere is in the picture");
    on_every_device(|queue| {
        assert_eq!(ray_tracer::render(queue, width, height).expect("a picture"), expected);
    });
}

#[test]
fn substances_react_the_same_everywhere() {
    let expected = reaction_diffusion::plain(40, 3, 30);
    assert!(expected[2] != expected[0] && expected[2].iter().all(|amount| amount.is_finite()));
    on_every_device(|queue| {
        let found = reaction_diffusion::run(queue, 40, 3, 30).expect("frames");
        assert_eq!(found, expected);
    });
}

#[test]
fn colours_are_those_of_a_loop() {
    let pixels: Vec<[u8; 3]> =
        (0..3000_usize).map(|i| [(i * 7 % 256) as u8, (i / 12 % 256) as u8, 40]).collect();
    let expected = kmeans::plain(&pixels, 5);
    on_every_device(|queue| {
        assert_eq!(kmeans::colours(queue, &pixels, 5).expect("colours"), expected);
    });
}

#[test]
fn generations_are_those_of_a_loop() {
    let expected = (0..20).fold(life::begin(), |cells, _| life::plain(&cells));
    assert!(expected.contains(&1));
    on_every_device(|queue| {
        let found = (0..20)
            .fold(life::begin(), |cells, _| life::generation(queue, &cells).expect("a generation"));
        assert_eq!(found, expected);
    });
}

#[test]
fn the_parallel_iterator_gives_the_picture() {
    let expected: Vec<_> = (0..64 * 36).map(|at| julia::pixel(at, 64, 36)).collect();
    assert_eq!(julia::render(64, 36), expected);
}

/// What the README shows is small, and is an animation where it says so.
#[test]
fn pictures_are_small() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures");
    let readme = include_str!("../README.md");
    for (name, is_animated) in [
        ("ray_tracer", false),
        ("reaction_diffusion", true),
        ("kmeans", false),
        ("life", true),
        ("julia", false),
    ] {
        let bytes = std::fs::read(folder.join(format!("{name}.png"))).expect("a picture");
        assert!(bytes.len() < 200_000, "{name}: {} bytes", bytes.len());
        assert_eq!(bytes.windows(4).any(|chunk| chunk == b"acTL"), is_animated, "{name}");
        assert!(readme.contains(&format!("(pictures/{name}.png)")), "{name}");
    }
}
