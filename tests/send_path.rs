//! Checks that sending threads neither allocate nor free memory while they send.

#![allow(unsafe_code)] // a global allocator requires it

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use menura::engine::run::RealTimeRun;
use menura::engine::run::sender::{SENDER_NAME, STANDBY_NAME};

/// Number of counters: large enough that two threads of a process do not share one.
const PLACES: usize = 1 << 16;

/// Allocator that counts the calls of each thread.
struct Counting;

#[allow(clippy::declare_interior_mutable_const)]
const NONE: AtomicU64 = AtomicU64::new(0);
static CALLS: [AtomicU64; PLACES] = [NONE; PLACES];

fn count() {
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as usize;
    CALLS[thread % PLACES].fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Threads of this process with their names.
fn threads() -> Vec<(usize, String)> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    tasks
        .filter_map(|task| {
            let path = task.ok()?.path();
            let thread = path.file_name()?.to_str()?.parse().ok()?;
            Some((thread, std::fs::read_to_string(path.join("comm")).ok()?.trim().to_owned()))
        })
        .collect()
}

fn calls(thread: usize) -> u64 {
    CALLS[thread % PLACES].load(Ordering::Relaxed)
}

#[test]
#[allow(clippy::disallowed_methods)] // waits for a run in real time
fn the_senders_leave_the_allocator_alone() {
    let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        r#"
        [engine]
        send_core = 0
        standby_core = 1
        [world]
        scene = "room"
        [robot]
        trajectory = {{ kind = "still" }}
        [[device]]
        name = "lidar"
        profile = "velodyne-hdl64e-s1"
        mount = {{ translation_m = [0.0, 0.0, 1.5] }}
        link = {{ udp = {{ to = "{}" }} }}
        settings = {{ beam = {{ shape = "ray" }} }}
        [[device]]
        name = "imu"
        profile = "wheeltec-n100"
        link = {{ pty = "{}/imu" }}
        "#,
        robot.local_addr().unwrap(),
        folder.path().display(),
    );
    let (rig, world) = common::load(&text);
    let mut run = RealTimeRun::new(&rig, &world).unwrap();
    run.keep_timing();
    let stop = AtomicBool::new(false);
    let is_over = AtomicBool::new(false);
    // Packets of the lidar: on a busy machine, most packets may be the IMU's.
    let packets = || run.figures(run.elapsed())[0].packets;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run.run(None, &stop, |_| {});
            is_over.store(true, Ordering::Relaxed);
        });
        while packets() < 100 {
            assert!(!is_over.load(Ordering::Relaxed), "the run has ended by itself");
            std::thread::sleep(Duration::from_millis(10));
        }
        let (senders, others): (Vec<_>, Vec<_>) = threads()
            .into_iter()
            .partition(|(_, name)| [SENDER_NAME, STANDBY_NAME].contains(&&**name));
        assert_eq!(senders.len(), 2, "{senders:?}");
        let all_of = |some: &[(usize, String)]| some.iter().map(|(t, _)| calls(*t)).sum::<u64>();
        let (before, others_before, packets_before) =
            (all_of(&senders), all_of(&others), packets());
        while packets() < packets_before + 1000 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (after, others_after) = (all_of(&senders), all_of(&others));
        stop.store(true, Ordering::Relaxed);
        assert!(before > 0, "the senders have set themselves up");
        assert!(others_after > others_before + 1000, "the counting allocator counts");
        assert_eq!(after - before, 0, "calls of the allocator while 1000 packets were sent");
    });
    let timing = run.timing().unwrap()[0].lock().unwrap();
    assert!(timing.handed.count() > 1000);
}
