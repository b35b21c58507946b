//! Simulated workers; the test sets the time.

use super::*;

const MS: u64 = 1_000_000;
const AHEAD_NS: u64 = 100 * MS;

/// A device that requests a packet every `period_ns`; a packet costs a worker `cost_ns`.
#[derive(Clone, Copy)]
struct Load {
    period_ns: u64,
    cost_ns: u64,
}

/// Numbers of a device's packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fate {
    ready_in_time: u64,
    ready_late: u64,
    given_up: u64,
    /// Lateness of the packet that was measured last.
    behind_ns: u64,
}

impl<T> WorkQueue<T> {
    /// [`WorkQueue::next_all`] for a worker that takes one request at a time.
    fn next_one(&mut self, now_ns: i64) -> Option<Choice<T>> {
        let chosen = self.next_all(now_ns, 0, |_| 0, |_, _| true)?;
        Some(chosen.map(|mut all| {
            assert_eq!(all.len(), 1);
            all.remove(0)
        }))
    }
}

fn real_time(late: LatePolicy) -> Pace {
    Pace::RealTime { late, ahead_ns: AHEAD_NS, backlog: 8 }
}

/// Simulates `workers` that serve the devices for `duration_ns`. Before a worker chooses a packet, each device's lane is
/// filled with the packets that start within the look-ahead, at most `room` packets. Returns the outcomes by device.
fn simulate(
    pace: Pace,
    loads: &[Load],
    workers: usize,
    room: usize,
    duration_ns: u64,
) -> Vec<Fate> {
    simulate_ahead(pace, AHEAD_NS, loads, workers, room, duration_ns)
}

/// Like [`simulate`], with packets requested `ahead_ns` before they are due.
fn simulate_ahead(
    pace: Pace,
    ahead_ns: u64,
    loads: &[Load],
    workers: usize,
    room: usize,
    duration_ns: u64,
) -> Vec<Fate> {
    let mut queue = WorkQueue::new(pace, loads.len());
    let mut fates = vec![Fate::default(); loads.len()];
    let mut asked = vec![0; loads.len()];
    let mut in_queue = vec![0; loads.len()];
    // For each worker: the time from which it is free, and its present packet (device, start, and time at which it is
    // needed).
    let mut free = vec![(0, None::<(usize, u64, u64)>); workers];
    loop {
        let worker = (0..workers).min_by_key(|worker| free[*worker].0).unwrap();
        let (now_ns, done) = free[worker];
        if let Some((device, begun_ns, needed_ns)) = done {
            queue.charge(DeviceId(device), now_ns - begun_ns);
            queue.note_ready(DeviceId(device), begun_ns as i64, now_ns as i64);
            let fate = &mut fates[device];
            fate.behind_ns = now_ns.saturating_sub(needed_ns);
            *if fate.behind_ns == 0 { &mut fate.ready_in_time } else { &mut fate.ready_late } += 1;
        }
        if now_ns >= duration_ns {
            return fates;
        }
        for (device, load) in loads.iter().enumerate() {
            while in_queue[device] < room && asked[device] * load.period_ns < now_ns + ahead_ns {
                let start = SimTime(asked[device] * load.period_ns);
                let needed = SimTime(start.0 + load.period_ns);
                asked[device] += 1;
                if queue.gives_up(DeviceId(device), needed, now_ns as i64) {
                    fates[device].given_up += 1;
                    continue;
                }
                let item = (device, needed.0);
                in_queue[device] += 1;
                queue.push(Waiting { device: DeviceId(device), start, needed, item });
            }
        }
        let mut chosen = queue.next_one(now_ns as i64);
        while let Some(Choice::GiveUp((device, _))) = chosen {
            fates[device].given_up += 1;
            in_queue[device] -= 1;
            chosen = queue.next_one(now_ns as i64);
        }
        free[worker] = match chosen {
            Some(Choice::Measure((device, needed_ns), _)) => {
                in_queue[device] -= 1;
                (now_ns + loads[device].cost_ns, Some((device, now_ns, needed_ns)))
            }
            _ => (now_ns + MS / 10, None),
        };
    }
}

/// A load that needs eight workers.
const HEAVY: Load = Load { period_ns: MS / 4, cost_ns: 2 * MS };
/// A load that needs a tenth of a worker.
const LIGHT: Load = Load { period_ns: 20 * MS, cost_ns: 2 * MS };
const SECONDS: u64 = 1_000_000_000;

#[test]
fn a_light_device_is_in_time_beside_one_that_needs_more_than_there_is() {
    for late in [LatePolicy::Late, LatePolicy::Drop, LatePolicy::Thin] {
        let fates = simulate(real_time(late), &[HEAVY, LIGHT, LIGHT], 2, 64, 10 * SECONDS);
        for light in &fates[1..] {
            assert_eq!((light.ready_late, light.given_up, light.behind_ns), (0, 0, 0), "{late:?}");
            assert!(light.ready_in_time >= 495, "{late:?} {light:?}");
        }
    }
}

/// Model of a closed loop that was late: a VLP-16, an XT-16 and an OS1-32 on two workers with 20 ms of look-ahead.
/// Another program uses most of both processors, so costs are tripled.
const CLOSED_LOOP: [Load; 3] = [
    Load { period_ns: 1_327_104, cost_ns: 500_000 },
    Load { period_ns: 400_000, cost_ns: 220_000 },
    Load { period_ns: 1_562_500, cost_ns: 900_000 },
];

#[test]
fn with_time_for_all_none_is_late_whoever_needs_most() {
    let pace = Pace::RealTime { late: LatePolicy::Late, ahead_ns: 20 * MS, backlog: 8 };
    // Four scans per second; each takes a worker for a third of the look-ahead.
    let scanner = Load { period_ns: 250 * MS, cost_ns: 7 * MS };
    let [vlp, xt, os] = CLOSED_LOOP;
    for loads in [&[vlp, xt, os][..], &[os, xt, vlp], &[scanner, os, vlp, xt]] {
        let fates = simulate_ahead(pace, 20 * MS, loads, 2, 64, 20 * SECONDS);
        for fate in &fates {
            assert_eq!((fate.ready_late, fate.given_up), (0, 0), "{fates:?}");
        }
    }
}

#[test]
fn the_request_that_is_needed_first_is_measured_first() {
    let mut queue = WorkQueue::new(real_time(LatePolicy::Late), 4);
    // The second device has used the workers most. Its request is the most urgent one and arrives last.
    queue.charge(DeviceId(1), SECONDS);
    for (device, starts_ms, needed_ms) in
        [(0, 50, 80), (0, 60, 90), (2, 10, 95), (3, 20, 81), (1, 55, 75), (1, 56, 82)]
    {
        let (start, needed) = (SimTime(starts_ms * MS), SimTime(needed_ms * MS));
        queue.push(Waiting { device: DeviceId(device), start, needed, item: needed_ms });
    }
    let order: Vec<_> = std::iter::from_fn(|| queue.next_one(40 * MS as i64)).collect();
    let expected = [75, 80, 81, 82, 90, 95].map(|ms| Choice::Measure(ms, Thinning::None));
    assert_eq!(order, expected);
}

#[test]
fn who_is_late_goes_first_only_where_it_costs_the_others_nothing() {
    let next = |late_spent_ns: u64, other_needed_ms: u64| {
        let mut queue = WorkQueue::new(real_time(LatePolicy::Late), 2);
        queue.charge(DeviceId(0), late_spent_ns);
        queue.charge(DeviceId(1), 20 * MS);
        for (device, needed_ms) in [(0, 99), (1, other_needed_ms)] {
            let needed = SimTime(needed_ms * MS);
            queue.push(Waiting { device: DeviceId(device), start: needed, needed, item: device });
        }
        match queue.next_one(100 * MS as i64) {
            Some(Choice::Measure(device, _)) => device,
            chosen => panic!("{chosen:?}"),
        }
    };
    assert_eq!(next(19 * MS, 101), 0, "it has used less: nobody else's need is its fault");
    assert_eq!(next(21 * MS, 150), 1, "it needs more than the other");
    assert_eq!(next(21 * MS, 151), 0, "the other has half of its look-ahead in hand");
}

#[test]
fn dropping_delivers_in_time_what_sending_late_renders() {
    for heavy in [
        HEAVY,
        Load { period_ns: MS, cost_ns: 20 * MS },
        Load { period_ns: MS, cost_ns: 3 * MS },
        Load { period_ns: 10 * MS, cost_ns: 30 * MS },
    ] {
        let run = |late| simulate(real_time(late), &[heavy], 2, 64, 10 * SECONDS)[0];
        let (late, drop) = (run(LatePolicy::Late), run(LatePolicy::Drop));
        let rendered = late.ready_in_time + late.ready_late;
        assert!(late.behind_ns > 2 * SECONDS, "{late:?}");
        // Some packets are late, because the turnaround time is unknown before the first answers.
        assert!(drop.ready_late <= rendered / 100, "{drop:?}");
        assert!(drop.ready_in_time >= rendered * 98 / 100, "{late:?} {drop:?}");
        assert_eq!(drop.behind_ns, 0);
        // Every requested packet was either measured or given up.
        let all = drop.ready_in_time + drop.ready_late + drop.given_up;
        assert!(all * heavy.period_ns >= 99 * SECONDS / 10, "{drop:?}");
    }
}

#[test]
fn a_stream_that_is_far_behind_is_given_up_to_the_present_at_once() {
    let mut queue = WorkQueue::new(real_time(LatePolicy::Drop), 1);
    let lidar = DeviceId(0);
    let push = |queue: &mut WorkQueue<u64>, ms: u64| {
        let needed = SimTime(ms * MS);
        queue.push(Waiting { device: lidar, start: needed, needed, item: ms });
    };
    (1..=50).for_each(|ms| push(&mut queue, ms));
    // Before the first answer, each request that is not late yet is tried. Before the first instant, none is late.
    assert_eq!(queue.next_one(-100 * MS as i64), Some(Choice::Measure(1, Thinning::None)));
    let now_ns = 40 * MS as i64;
    let given_up: Vec<_> = std::iter::from_fn(|| match queue.next_one(now_ns) {
        Some(Choice::GiveUp(ms)) => Some(ms),
        chosen => {
            assert_eq!(chosen, Some(Choice::Measure(40, Thinning::None)));
            None
        }
    })
    .collect();
    assert_eq!(given_up, (2..40).collect::<Vec<_>>());
    // One answer took 4 ms, with an assumed deviation of 2 ms: requests with less than 12 ms left are given up.
    queue.note_ready(lidar, now_ns, now_ns + 4 * MS as i64);
    let now_ns = now_ns + 4 * MS as i64;
    assert!(queue.gives_up(lidar, SimTime(55 * MS), now_ns));
    assert!(!queue.gives_up(lidar, SimTime(56 * MS), now_ns));
}

#[test]
fn one_slow_answer_does_not_stop_a_device_for_ever() {
    let mut queue = WorkQueue::<()>::new(real_time(LatePolicy::Drop), 1);
    let device = DeviceId(0);
    queue.note_ready(device, 0, 3 * SECONDS as i64);
    let now_ns = 3 * SECONDS as i64;
    let in_ms = |ms: u64| SimTime(3 * SECONDS + ms * MS);
    // Requests are always tried if half of the look-ahead is left.
    assert!(queue.gives_up(device, in_ms(49), now_ns));
    assert!(!queue.gives_up(device, in_ms(50), now_ns));
    // After a while without answers, requests with little time left are tried again.
    let later = |ms: u64| now_ns + (ms * MS) as i64;
    assert!(queue.gives_up(device, in_ms(299 + 12), later(299)));
    assert!(!queue.gives_up(device, in_ms(300 + 13), later(300)));
    // With other policies, no request is given up.
    let mut queue = WorkQueue::<()>::new(real_time(LatePolicy::Late), 1);
    queue.note_ready(device, 0, now_ns);
    assert!(!queue.gives_up(device, SimTime::ZERO, now_ns));
}

#[test]
fn heavy_devices_share_alike_and_who_was_idle_does_not_take_all() {
    let other = Load { period_ns: MS, cost_ns: 5 * MS };
    let fates = simulate(real_time(LatePolicy::Late), &[HEAVY, other], 2, 64, 10 * SECONDS);
    let busy_ns = |fate: Fate, load: Load| (fate.ready_in_time + fate.ready_late) * load.cost_ns;
    let (first, second) = (busy_ns(fates[0], HEAVY), busy_ns(fates[1], other));
    assert!(first.abs_diff(second) <= MOST_CREDIT_NS, "{fates:?}");
    // The first device ran alone for a minute; then both devices need all workers, and both are behind.
    let mut queue = WorkQueue::new(real_time(LatePolicy::Late), 2);
    queue.charge(DeviceId(0), 60 * SECONDS);
    for number in 0..2000 {
        let needed = SimTime(number * MS);
        for device in [0, 1].map(DeviceId) {
            queue.push(Waiting { device, start: needed, needed, item: device });
        }
    }
    let mut served = [0; 2];
    for _ in 0..400 {
        let now_ns = 100 * SECONDS as i64;
        let Some(Choice::Measure(device, _)) = queue.next_one(now_ns) else { panic!("nothing") };
        served[device.0] += 1;
        queue.charge(device, MS);
    }
    // The second device gets 50 ms of credit and half of the rest.
    assert_eq!(served, [175, 225]);
}

#[test]
fn a_recording_goes_by_the_time_and_gives_nothing_up() {
    let mut queue = WorkQueue::new(Pace::Stepped, 2);
    queue.charge(DeviceId(0), SECONDS);
    for (device, ms) in [(0, 1), (0, 4), (1, 2), (1, 3), (1, 4)] {
        let (device, needed) = (DeviceId(device), SimTime(ms * MS));
        queue.push(Waiting { device, start: needed, needed, item: ms });
    }
    let order: Vec<_> = std::iter::from_fn(|| queue.next_one(i64::MAX)).collect();
    assert_eq!(order, [1, 2, 3, 4, 4].map(|ms| Choice::Measure(ms, Thinning::None)));
}

#[test]
fn what_casts_no_rays_is_not_in_a_lane() {
    let mut queue = WorkQueue::new(real_time(LatePolicy::Drop), 1);
    let waiting = |ms, item| {
        let needed = SimTime(ms * MS);
        Waiting { device: DeviceId(0), start: needed, needed, item }
    };
    queue.push(waiting(1, "sweep"));
    queue.push_rayless(waiting(3, "later"));
    queue.push_rayless(waiting(2, "soon"));
    // Requests without rays are never given up here: they cost nothing, and the sender decides about late packets.
    let rayless: Vec<_> = std::iter::from_fn(|| queue.next_rayless()).collect();
    assert_eq!(rayless, ["soon", "later"].map(|item| Choice::Measure(item, Thinning::None)));
    assert_eq!(queue.next_one(2 * MS as i64), Some(Choice::GiveUp("sweep")));
    assert_eq!(queue.next_one(2 * MS as i64), None);
}

#[test]
fn rays_are_left_out_by_what_is_left_of_the_time_ahead_while_others_wait() {
    let thinned = |left_ms: i64, waiting: u64| {
        let mut queue = WorkQueue::new(real_time(LatePolicy::Thin), 1);
        let needed = SimTime(SECONDS);
        for item in 0..waiting {
            queue.push(Waiting { device: DeviceId(0), start: needed, needed, item });
        }
        match queue.next_one(SECONDS as i64 - left_ms * MS as i64) {
            Some(Choice::Measure(0, thinning)) => thinning,
            chosen => panic!("{chosen:?}"),
        }
    };
    let by_left = [-10, 24, 25, 49, 50, 1500].map(|left_ms| thinned(left_ms, 8));
    use Thinning::{Half, None, Single};
    assert_eq!(by_left, [Single, Single, Half, Half, None, None]);
    assert_eq!(thinned(-10, 7), None, "asked for at the last moment, and workers are free");
}

#[test]
fn a_worker_takes_requests_of_one_device_together_that_are_small_and_alike() {
    let mut queue = WorkQueue::new(real_time(LatePolicy::Thin), 2);
    // Sizes; the requests of device 0 are needed 10 ms apart, from 30 ms on.
    for (place, size) in [300, 300, 300, 500, 100, 101, 100, 100].into_iter().enumerate() {
        let needed = SimTime(30 * MS + 10 * MS * place as u64);
        queue.push(Waiting { device: DeviceId(0), start: needed, needed, item: size });
    }
    let needed = SimTime(200 * MS);
    queue.push(Waiting { device: DeviceId(1), start: needed, needed, item: 7 });
    let mut next = |now_ms: i64| {
        let is_alike = |one: &usize, other: &usize| one % 2 == other % 2;
        let chosen = queue.next_all(now_ms * MS as i64, 1000, |size| *size, is_alike)?;
        assert!(queue.has_rays() || chosen == Choice::Measure(vec![7], Thinning::None));
        Some(chosen)
    };
    // Less than a quarter of the look-ahead is left for the first request, less than half for the second.
    assert_eq!(next(10), Some(Choice::Measure(vec![300], Thinning::Single)));
    assert_eq!(next(10), Some(Choice::Measure(vec![300], Thinning::Half)));
    // Fewer than eight requests are no backlog, so that their rays are not reduced.
    assert_eq!(next(10), Some(Choice::Measure(vec![300, 500, 100], Thinning::None)));
    assert_eq!(next(10), Some(Choice::Measure(vec![101], Thinning::None)));
    assert_eq!(next(10), Some(Choice::Measure(vec![100, 100], Thinning::None)));
    assert_eq!(next(10), Some(Choice::Measure(vec![7], Thinning::None)));
    assert_eq!(next(10), None);
}
