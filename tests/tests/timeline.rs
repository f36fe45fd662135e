//! `SCHISM_TIMELINE`: programs on every device, whose files are read by another's reader of JSON and compared
//! with the rules of the format.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use schism::prelude::*;
use schism::{Device, DeviceKind};
use serde_json::Value;

/// What the program does that [`the_program`] is.
const SCENARIO: &str = "SCHISM_TEST_SCENARIO";

/// No test by itself: the others run it in a process with a timeline.
#[test]
fn the_program() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    let device = Device::default_device().expect("the test chooses one");
    let queue = Queue::on(&device).expect("it is there");
    match &*scenario {
        "launches" => launches(&queue),
        "threads" => std::thread::scope(|scope| {
            for number in 0..4 {
                let queue = Queue::on(&device).expect("it is there");
                let run = move || (0..20).for_each(|_| launches(&queue));
                let named = std::thread::Builder::new().name(format!("thread \"{number}\""));
                named.spawn_scoped(scope, run).expect("a thread");
            }
        }),
        "panic" => {
            let mut numbers = Buffer::filled(&queue, 100, 1_u32).expect("memory");
            let error = queue.for_each(&mut numbers, |x| assert!(*x > 1)).expect_err("it panics");
            panic!("{error}");
        }
        "exit" => {
            launches(&queue);
            std::process::exit(3);
        }
        "abort" => {
            launches(&queue);
            std::thread::sleep(Duration::from_millis(200));
            launches(&queue);
            std::process::abort();
        }
        "fork" => {
            launches(&queue);
            unsafe extern "C" {
                fn fork() -> i32;
                fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
            }
            // SAFETY: no other thread holds anything that the child uses.
            let child = unsafe { fork() };
            // A GPU that the parent used is no device of the child's.
            let queue = if child == 0 && device.kind() != DeviceKind::Cpu {
                Queue::on(&Device::by_name("native").expect("every machine has it"))
            } else {
                Queue::on(&device)
            };
            launches(&queue.expect("a device of the host's"));
            if child == 0 {
                std::process::exit(0);
            }
            let mut status = 0;
            // SAFETY: our own child; the status is ours to be written.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        "killed" => loop {
            launches(&queue);
        },
        other => panic!("no scenario {other}"),
    }
}

/// Launches with and without groups, in a scope and one by one, with copies in both directions.
fn launches(queue: &Queue) {
    let mut numbers = Buffer::from_slice(queue, &[3_u32; 1000]).expect("memory");
    queue.for_each(&mut numbers, |x| *x *= 2).expect("a launch");
    let range = NdRange::new(1000, 50).expect("groups");
    queue
        .for_each_in(range, &mut numbers, |item, x| *x += item.reduce_add(1_u32))
        .expect("a launch with groups");
    queue
        .scope(|scope| {
            let mut numbers = scope.lend(&mut numbers);
            for _ in 0..3 {
                scope.for_each(&mut numbers, |x| *x += 1)?;
            }
            Ok(())
        })
        .expect("a scope");
    assert_eq!(numbers.to_vec(), [59; 1000]);
}

/// The devices that the program can be told to use.
fn devices() -> Vec<Device> {
    schism_tests::devices::with_copies()
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

fn start(scenario: &str, device: &Device, timeline: &Path) -> Child {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "the_program", "--nocapture"]).env(SCENARIO, scenario);
    program.env("SCHISM_TIMELINE", timeline).env("SCHISM_DEVICE", device.name());
    program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
}

fn run(scenario: &str, device: &Device, timeline: &Path) -> ExitStatus {
    start(scenario, device, timeline).wait().expect("our own child")
}

/// The events of a file, and that it keeps the rules.
#[derive(Debug)]
struct Timeline(Vec<Value>);

impl Timeline {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the program has written a file");
        let all: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let this = Self(all);
        this.check();
        this
    }

    /// That each event has what the format asks for, that each track has a name, and that the events of
    /// a track nest: two of them are apart, or one contains the other.
    fn check(&self) {
        let mut named = BTreeSet::new();
        let mut tracks = BTreeMap::<_, Vec<(u64, u64)>>::new();
        for event in &self.0 {
            let number =
                |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key}: {event}"));
            let nanoseconds = |key: &str| {
                let time = event[key].as_f64().unwrap_or_else(|| panic!("{key}: {event}"));
                assert!(time >= 0.0, "{event}");
                (time * 1000.0).round() as u64
            };
            let on = (number("pid"), number("tid"));
            assert!(event["name"].as_str().is_some_and(|name| !name.is_empty()), "{event}");
            assert!(event["args"].is_object(), "{event}");
            match event["ph"].as_str().expect("each event has a phase") {
                "M" => {
                    assert!(event["args"]["name"].is_string(), "{event}");
                    let kind = event["name"].as_str().expect("as above").to_owned();
                    assert!(["process_name", "thread_name"].contains(&&*kind), "{event}");
                    assert!(named.insert((kind, on)), "named twice: {event}");
                }
                "C" => assert!(event["args"]["bytes"].is_u64() && nanoseconds("ts") > 0, "{event}"),
                "X" => {
                    assert!(event["cat"].is_string(), "{event}");
                    let begin = nanoseconds("ts");
                    tracks.entry(on).or_default().push((begin, begin + nanoseconds("dur")));
                }
                _ => panic!("an unknown phase: {event}"),
            }
        }
        for (on, mut intervals) in tracks {
            assert!(named.contains(&("thread_name".to_owned(), on)), "{on:?} has no name");
            assert!(
                named.contains(&("process_name".to_owned(), (on.0, 0))),
                "{on:?} has no process"
            );
            intervals.sort_by_key(|(begin, end)| (*begin, u64::MAX - end));
            let mut around = Vec::<(u64, u64)>::new();
            for (begin, end) in intervals {
                while around.last().is_some_and(|outer| outer.1 <= begin) {
                    around.pop();
                }
                if let Some(outer) = around.last() {
                    assert!(end <= outer.1, "{:?} and {outer:?} of {on:?} overlap", (begin, end));
                }
                around.push((begin, end));
            }
        }
    }

    fn of(&self, category: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |event| event["cat"] == category)
    }

    /// The events of [`launches`], so many times, on a device.
    fn has_launches(&self, device: &Device, times: usize) {
        let kernels: Vec<_> = self.of("kernel").collect();
        assert_eq!(kernels.len(), 5 * times);
        assert_eq!(self.of("launch").count(), 5 * times);
        let in_groups = |event: &&&Value| event["args"]["group"] == serde_json::json!([50]);
        assert_eq!(kernels.iter().filter(in_groups).count(), times);
        let by = if schism_tests::devices::has_own_clock(device) { "device" } else { "host" };
        for event in &kernels {
            let name = event["name"].as_str().expect("as above");
            assert!(name.contains("launches::{closure#"), "{event}");
            assert_eq!(event["args"]["items"], 1000, "{event}");
            assert_eq!(event["args"]["clock"], by, "{event}");
        }
        let process = &kernels[0]["pid"];
        assert_ne!(*process, self.of("launch").next().expect("as above")["pid"]);
        let is_name = |event: &&Value| event["name"] == "process_name" && event["pid"] == *process;
        let name = self.0.iter().find(is_name).expect("as above");
        assert_eq!(name["args"]["name"], device.name());
        for (direction, least) in [("copy to the device", times), ("copy to the host", times)] {
            let copies = self.of("copy").filter(|event| event["name"] == direction);
            let bytes = copies.filter(|event| event["args"]["bytes"] == 4000).count();
            assert!(bytes >= least, "{direction}: {bytes}");
        }
        let memory: Vec<_> = self.0.iter().filter(|event| event["name"] == "memory").collect();
        let bytes = |event: &&&Value| event["args"]["bytes"].as_u64().expect("as above");
        assert!(memory.iter().map(|event| bytes(&event)).max() >= Some(4000));
    }
}

#[test]
fn a_program_on_every_device() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    for device in devices() {
        let file = folder(&format!("launches-{device}")).join("time line.json");
        assert!(run("launches", &device, &file).success(), "{device}");
        let timeline = Timeline::read(&file);
        timeline.has_launches(&device, 1);
        let compiled: Vec<_> = timeline.of("compile").collect();
        let is_compiled = device.kind() != DeviceKind::Native;
        assert_eq!(compiled.len() >= 3, is_compiled, "{compiled:?}");
        for event in compiled {
            let from = event["args"]["from"].as_str().expect("where it is from");
            assert_eq!(event["args"]["cache_hit"], from != "stage 2", "{event}");
        }
        // A scope waits for what is in it.
        assert!(timeline.of("wait").count() >= 1);
    }
}

#[test]
fn several_threads_on_every_device() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    for device in devices() {
        let file = folder(&format!("threads-{device}")).join("timeline.json");
        assert!(run("threads", &device, &file).success(), "{device}");
        let timeline = Timeline::read(&file);
        timeline.has_launches(&device, 80);
        let tracks = |category| {
            let on =
                timeline.of(category).map(|event| (event["pid"].as_u64(), event["tid"].as_u64()));
            on.collect::<BTreeSet<_>>().len()
        };
        assert_eq!(tracks("kernel"), 4, "a track for each queue of {device}");
        let is_named = |name: &str| timeline.0.iter().any(|event| event["args"]["name"] == name);
        assert!((0..4).all(|number| is_named(&format!("thread \"{number}\""))));
    }
}

#[test]
fn programs_that_end_in_other_ways() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    for device in devices() {
        let folder = folder(&format!("ends-{device}"));
        for (scenario, code) in [("panic", Some(101)), ("exit", Some(3)), ("abort", None)] {
            let file = folder.join(scenario);
            assert_eq!(run(scenario, &device, &file).code(), code, "{scenario} on {device}");
            let timeline = Timeline::read(&file);
            assert!(timeline.of("launch").count() >= 1, "{scenario} on {device}");
            if scenario == "panic" {
                assert_eq!(timeline.of("kernel").count(), 1, "{device}");
            }
        }
        // It is complete whenever it is looked at.
        let file = folder.join("killed");
        let mut program = start("killed", &device, &file);
        let begin = Instant::now();
        let size = || std::fs::metadata(&file).map_or(0, |data| data.len());
        while size() < 100_000 && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        program.kill().expect("our own child");
        program.wait().expect("our own child");
        assert!(Timeline::read(&file).of("kernel").count() > 10, "{device}");
    }
}

#[test]
fn forked_processes() {
    if !schism_tests::skip::has_kernels() {
        return;
    }
    for device in devices() {
        let folder = folder(&format!("fork-{device}"));
        assert!(run("fork", &device, &folder.join("%p.json")).success(), "{device}");
        let files: Vec<_> = std::fs::read_dir(&folder).expect("a folder").collect();
        assert_eq!(files.len(), 2, "{device}");
        let mut kernels = 0;
        let mut processes = BTreeSet::new();
        for file in files {
            let file = file.expect("readable");
            let timeline = Timeline::read(&file.path());
            kernels += timeline.of("kernel").count();
            let process = timeline.of("launch").next().expect("each has some")["pid"].to_string();
            assert_eq!(file.file_name().to_string_lossy(), format!("{process}.json"));
            processes.insert(process);
            processes.extend(timeline.of("kernel").map(|event| event["pid"].to_string()));
        }
        assert_eq!((kernels, processes.len()), (15, 4), "{device}");
        // Without `%p` the file is the parent's.
        let file = folder.join("timeline.json");
        assert!(run("fork", &device, &file).success(), "{device}");
        assert_eq!(Timeline::read(&file).of("kernel").count(), 10, "{device}");
    }
}

#[test]
fn a_file_that_cannot_be_written() {
    let device = Device::by_name("native").expect("every machine has it");
    assert!(run("launches", &device, Path::new("/nowhere/timeline.json")).success());
}
