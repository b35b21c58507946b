//! The robot's computer: reads its devices' output and sends commands; it has no access to the ground truth.
//!
//! The computer reads the scanner (SCIP over TCP), the head's encoder, the phone's compass, inclinometer and GNSS
//! receiver, and the wheel encoders. It sends text commands to the motor controller, as `examples/andabata_robot.py`
//! does with real drivers. The times for classification and maps are the paper's.

use std::f64::consts::{FRAC_PI_2, PI};
use std::net::{IpAddr, Ipv4Addr};

use glam::{DVec2, DVec3};

use super::classify::{Judged, classify};
use super::cloud::{Clock, PlaneScan, Stance, Track, points};
use super::memory::Memory;
use super::navigation::{Map, direction_rad, wrapped};
use crate::config::rig::{DeviceId, Rig};
use crate::devices::Output;
use crate::engine::host_events::{HostInput, HostTarget, Payload};
use crate::engine::hosts::Hosts;
use crate::frames::{GeoOrigin, Geodetic};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::gnss_stream::{Frame, GnssStream};
use crate::wire::joint_lines::{Lines, Message as HeadMessage};
use crate::wire::kangaroo::{Item, Kangaroo};
use crate::wire::nmea::RawSentence;
use crate::wire::phone::{Phone, Sentence};
use crate::wire::port::Peer;
use crate::wire::scip::message::{Message, Messages, Status};
use crate::wire::scip::scan::{ScanData, ScanFormat};

/// Interval at which the computer reads its inputs, nanoseconds.
const LOOK_NS: u64 = 5_000_000;
/// Commanded speed, m/s.
const SPEED_M_S: f64 = 0.3;
/// Gain of the steering, equation (11), 1/s.
const GAIN_PER_S: f64 = 1.0;
/// Distance of the tracks' instantaneous centres of rotation from the middle, metres.
const Y_ICR_M: f64 = 0.45;
/// Distance from a goal at which it counts as reached, metres.
const GOAL_RADIUS_M: f64 = 3.0;
/// Encoder counts of the motor controller per metre.
const COUNTS_PER_M: f64 = 5092.96;
/// Encoder steps of the head per rotation.
const HEAD_STEPS: f64 = 96_000.0;
/// Rotation of the head for a 3-D scan, radians.
const SCAN_TURN_RAD: f64 = PI;
/// Time from the first to the last step of a plane scan, milliseconds.
const FIELD_MS: f64 = 18.75;
/// Time from the last step of a plane scan to the arrival of its message, milliseconds.
const MESSAGE_MS: f64 = 1.0;
/// Delay of a line from the head's encoder, milliseconds.
const LINE_MS: f64 = 0.2;
/// Duration of the classification of a scan in Martínez et al. 2020, nanoseconds.
const CLASSIFY_NS: u64 = 1_230_000_000;
/// Time to create a map in Martínez et al. 2020, nanoseconds.
const MAP_NS: u64 = 150_000_000;
/// Additional wait between two maps, nanoseconds.
const DELAY_NS: u64 = 950_000_000;
/// Share by which each GNSS fix shifts the estimated origin of the robot's own frame towards the origin that the fix
/// implies.
const FIX_SHARE: f64 = 0.3;
/// Turn rate while no direction is free, rad/s.
const SEARCH_RAD_S: f64 = 0.4;
/// Interval at which the wheel encoders are read, nanoseconds.
const ODOMETRY_NS: u64 = 100_000_000;

const SCAN_FORMAT: ScanFormat =
    ScanFormat { characters: 3, has_intensity: false, has_echoes: false };
const SCANNER_PEER: Peer = Peer { connection: 0, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };

/// Devices to which the computer is connected.
#[derive(Clone, Copy, Debug)]
pub struct Plugs {
    scanner: DeviceId,
    head: DeviceId,
    compass: DeviceId,
    receiver: DeviceId,
    base: DeviceId,
}

impl Plugs {
    /// Finds the devices by their names in `examples/andabata.toml`; `None` if one of them is missing.
    pub fn of(rig: &Rig) -> Option<Self> {
        let named =
            |name: &str| rig.devices.iter().position(|device| device.name == name).map(DeviceId);
        Some(Self {
            scanner: named("scanner")?,
            head: named("head")?,
            compass: named("compass")?,
            receiver: named("receiver")?,
            base: named("base")?,
        })
    }
}

/// A map that the robot used.
#[derive(Clone, Debug)]
pub struct UsedMap {
    /// Time at which the map was created.
    pub at: SimTime,
    /// Polar map around the robot at that time.
    pub map: Map,
    /// Direction of the goal in World, radians from east.
    pub goal_rad: f64,
    /// Chosen direction, radians from east. If none was free: with a memory, the direction of the waypoint; otherwise
    /// `None`.
    pub taken_rad: Option<f64>,
}

/// Log of the computer's actions.
#[derive(Clone, Debug, Default)]
pub struct Logbook {
    /// Number of points of each 3-D scan before thinning.
    pub scan_points: Vec<usize>,
    /// Latest 3-D scan: the robot's estimated position at its end, and the points; both in the robot's own level frame,
    /// metres.
    pub latest_scan: Option<(DVec2, Vec<DVec3>)>,
    /// Maps that the robot used, in order of time.
    pub maps: Vec<UsedMap>,
    /// GNSS fixes: x and y in World, metres.
    pub fixes_m: Vec<DVec2>,
    /// Time at which each goal was reached.
    pub goals_at: Vec<SimTime>,
    /// Compass readings: time, and angle from east in radians.
    pub headings_rad: Vec<(SimTime, f64)>,
}

/// A 3-D scan in progress.
#[derive(Debug, Default)]
struct Assembly {
    /// Angle of the head at the start, radians.
    from_rad: Option<f64>,
    points: Vec<DVec3>,
}

/// The robot's computer.
pub struct Robot {
    plugs: Plugs,
    origin: GeoOrigin,
    /// Magnetic declination: clockwise from true to magnetic north, radians.
    declination_rad: f64,
    goals_m: Vec<DVec2>,
    next_look: SimTime,
    is_started: bool,
    scanner: Framer<Messages>,
    head_lines: Framer<Lines>,
    compass: Framer<Phone>,
    receiver: Framer<GnssStream>,
    base: Framer<Kangaroo>,
    scanner_clock: Clock,
    head_clock: Clock,
    head: Track<f64>,
    head_rad: f64,
    stances: Track<Stance>,
    stance: Stance,
    travel_m: [Option<f64>; 2],
    /// Origin of the robot's own frame in World, metres.
    offset_m: Option<DVec2>,
    waiting: Vec<PlaneScan>,
    assembly: Assembly,
    /// Scan that is being classified: time at which the result is available, position of the robot, and classified
    /// points; both in the robot's own level frame, metres.
    classifying: Option<(SimTime, DVec2, Vec<Judged>)>,
    classified: Option<Vec<Judged>>,
    next_map: Option<SimTime>,
    next_odometry: SimTime,
    target_rad: Option<f64>,
    is_blocked: bool,
    has_new_heading: bool,
    /// Memory of earlier scans; `None` if disabled.
    memory: Option<Memory>,
    /// Log of the robot's actions.
    pub logbook: Logbook,
}

impl Robot {
    /// A computer that is switched on together with the devices. Without a `memory` it uses only the latest scan, like
    /// the robot of Martínez et al. 2020.
    pub fn new(
        plugs: Plugs,
        origin: GeoOrigin,
        declination_rad: f64,
        goals_m: Vec<DVec2>,
        memory: Option<Memory>,
    ) -> Self {
        Self {
            plugs,
            origin,
            declination_rad,
            goals_m,
            next_look: SimTime(LOOK_NS),
            is_started: false,
            scanner: Framer::new(Messages),
            head_lines: Framer::new(Lines),
            compass: Framer::new(Phone),
            receiver: Framer::new(GnssStream),
            base: Framer::new(Kangaroo),
            scanner_clock: Clock::default(),
            head_clock: Clock::default(),
            head: Track::default(),
            head_rad: 0.0,
            stances: Track::default(),
            stance: Stance::default(),
            travel_m: [None; 2],
            offset_m: None,
            waiting: Vec::new(),
            assembly: Assembly::default(),
            classifying: None,
            classified: None,
            next_map: None,
            next_odometry: SimTime(2_000_000_000),
            target_rad: None,
            is_blocked: false,
            has_new_heading: false,
            memory,
            logbook: Logbook::default(),
        }
    }

    /// Whether all goals are reached.
    pub fn is_done(&self) -> bool {
        self.logbook.goals_at.len() == self.goals_m.len()
    }

    fn hear_scanner(&mut self, due: SimTime, bytes: &[u8]) {
        for message in self.scanner.frames(bytes) {
            let Message { status: Status::Code(code), lines, .. } = message else { continue };
            if code != *b"99" {
                continue;
            }
            let Ok(scan) = ScanData::parse(SCAN_FORMAT, &lines) else { continue };
            let time_ms = f64::from(scan.time_ms);
            self.scanner_clock.see(time_ms, due.as_secs_f64() * 1e3 - FIELD_MS - MESSAGE_MS);
            let distances_mm = scan.steps.iter().map(|step| step.first.distance).collect();
            self.waiting.push(PlaneScan { time_ms, distances_mm });
        }
    }

    fn hear_head(&mut self, due: SimTime, bytes: &[u8]) {
        for message in self.head_lines.frames(bytes) {
            if let HeadMessage::Position(position) = message {
                self.head_clock.see(position.time_ms(), due.as_secs_f64() * 1e3 - LINE_MS);
                let angle_rad = position.count as f64 * 2.0 * PI / HEAD_STEPS;
                if position.time_ms() > self.head.until_ms() {
                    self.head.push(position.time_ms(), angle_rad);
                }
                self.head_rad = angle_rad;
            }
        }
    }

    fn hear_compass(&mut self, due: SimTime, bytes: &[u8]) {
        for Sentence { compass_centideg, roll_centideg, pitch_centideg, .. } in
            self.compass.frames(bytes)
        {
            let rad = |centideg: f64| (centideg * 0.01).to_radians();
            let clockwise_rad = rad(compass_centideg.into()) + self.declination_rad;
            self.stance.heading_rad = wrapped(FRAC_PI_2 - clockwise_rad);
            self.stance.tilt_rad = [rad(roll_centideg.into()), -rad(pitch_centideg.into())];
            self.stances.push(due.as_secs_f64() * 1e3, self.stance);
            self.logbook.headings_rad.push((due, self.stance.heading_rad));
            self.has_new_heading = true;
        }
    }

    fn hear_receiver(&mut self, bytes: &[u8]) {
        for frame in self.receiver.frames(bytes) {
            let Frame::Line(line) = frame else { continue };
            let Some(fix) = RawSentence::parse(&line).ok().and_then(|raw| position(&raw)) else {
                continue;
            };
            let fix_m = self.origin.world_from_geodetic(fix).truncate();
            self.logbook.fixes_m.push(fix_m);
            let offset_m = fix_m - self.stance.position_m;
            let known = self.offset_m.get_or_insert(offset_m);
            *known += (offset_m - *known) * FIX_SHARE;
        }
    }

    fn hear_base(&mut self, bytes: &[u8]) {
        for item in self.base.frames(bytes) {
            let Item::Line(line) = item else { continue };
            let text = String::from_utf8_lossy(&line);
            let Some((channel, value)) = text.trim().split_once(',') else { continue };
            let side = match channel {
                "1" => 0,
                "2" => 1,
                _ => continue,
            };
            let count =
                value.strip_prefix(['P', 'p']).and_then(|digits| digits.parse::<f64>().ok());
            let Some(travel_m) = count.map(|count| count / COUNTS_PER_M) else { continue };
            if let Some(before_m) = self.travel_m[side].replace(travel_m) {
                // The body moves by the mean distance of the left and the right track.
                let (sin, cos) = libm::sincos(self.stance.heading_rad);
                self.stance.position_m += DVec2::new(cos, sin) * 0.5 * (travel_m - before_m);
            }
        }
    }

    /// Adds to the 3-D scan the points of plane scans whose head angles and poses are known. When the head has turned
    /// by [`SCAN_TURN_RAD`], starts the classification of the 3-D scan.
    fn assemble(&mut self, now: SimTime) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|scan| {
            let end_ms = scan.time_ms + self.scanner_clock.ahead_ms + FIELD_MS + 1.0;
            let is_known = self.head.until_ms() + self.head_clock.ahead_ms > end_ms
                && self.stances.until_ms() > end_ms;
            if is_known
                && let Some(points) =
                    points(scan, self.scanner_clock, &self.head, self.head_clock, &self.stances)
            {
                self.assembly.points.extend(points);
            }
            !is_known
        });
        self.waiting = waiting;
        let from_rad = *self.assembly.from_rad.get_or_insert(self.head_rad);
        if (self.head_rad - from_rad).abs() < SCAN_TURN_RAD {
            return;
        }
        let Assembly { points, .. } = std::mem::take(&mut self.assembly);
        self.assembly.from_rad = Some(self.head_rad);
        self.logbook.scan_points.push(points.len());
        let here_m = self.stance.position_m;
        self.classifying = Some((SimTime(now.0 + CLASSIFY_NS), here_m, classify(&points)));
        self.logbook.latest_scan = Some((here_m, points));
    }

    /// Creates a map when one is due, and chooses the direction of motion.
    fn navigate(&mut self, now: SimTime) {
        if let Some((at, from_m, judged)) = self.classifying.take_if(|(at, ..)| *at <= now) {
            if let Some(memory) = &mut self.memory {
                memory.add(at, from_m, &judged);
            }
            self.classified = Some(judged);
            self.next_map.get_or_insert(SimTime(at.0 + MAP_NS));
        }
        let (Some(judged), Some(offset_m)) = (&self.classified, self.offset_m) else { return };
        let Some(at) = self.next_map.filter(|at| *at <= now) else { return };
        self.next_map = Some(SimTime(at.0 + MAP_NS + DELAY_NS));
        let here_m = self.stance.position_m;
        let mut to_goal_m;
        loop {
            let Some(goal_m) = self.goals_m.get(self.logbook.goals_at.len()) else { return };
            to_goal_m = *goal_m - (here_m + offset_m);
            if to_goal_m.length() > GOAL_RADIUS_M {
                break;
            }
            self.logbook.goals_at.push(now);
        }
        let map = Map::around(here_m, judged.iter().map(|(point, is)| (point.truncate(), *is)));
        let goal_rad = libm::atan2(to_goal_m.y, to_goal_m.x);
        let heading_rad = self.stance.heading_rad;
        let previous_rad = self.target_rad.unwrap_or(heading_rad);
        let taken_rad = match self.memory.as_ref().map(|memory| memory.chart(now)) {
            None => map.best_alone(goal_rad, heading_rad, previous_rad),
            Some(chart) => {
                let waypoint_m = chart.waypoint(here_m, here_m + to_goal_m);
                let to_waypoint_m = waypoint_m.map_or(to_goal_m, |waypoint_m| waypoint_m - here_m);
                let waypoint_rad = libm::atan2(to_waypoint_m.y, to_waypoint_m.x);
                let is_free = |sector| chart.is_free(here_m, direction_rad(sector));
                map.best(waypoint_rad, heading_rad, previous_rad, is_free).or(Some(waypoint_rad))
            }
        };
        self.is_blocked = taken_rad.is_none();
        self.target_rad = taken_rad.or(self.target_rad);
        self.logbook.maps.push(UsedMap { at: now, map, goal_rad, taken_rad });
    }

    /// Speeds of the left and the right track, m/s: equations (3), (4) and (11).
    fn treads_m_s(&self) -> [f64; 2] {
        let (speed_m_s, turn_rad_s) = match self.target_rad {
            _ if self.is_done() => (0.0, 0.0),
            _ if self.is_blocked => (0.0, SEARCH_RAD_S),
            None => (0.0, 0.0),
            Some(target_rad) => {
                (SPEED_M_S, GAIN_PER_S * wrapped(target_rad - self.stance.heading_rad))
            }
        };
        [speed_m_s - Y_ICR_M * turn_rad_s, speed_m_s + Y_ICR_M * turn_rad_s]
    }
}

/// Position in a GGA sentence, if it has a fix.
pub fn position(sentence: &RawSentence) -> Option<Geodetic> {
    if !sentence.address.ends_with("GGA") || sentence.fields.get(5)? == "0" {
        return None;
    }
    let degrees = |at: usize, digits: usize, negative: &str| {
        let (whole, minutes) = sentence.fields.get(at)?.split_at_checked(digits)?;
        let value = whole.parse::<f64>().ok()? + minutes.parse::<f64>().ok()? / 60.0;
        Some(if sentence.fields.get(at + 1)? == negative { -value } else { value })
    };
    let number = |at: usize| sentence.fields.get(at)?.parse::<f64>().ok();
    Some(Geodetic {
        latitude_deg: degrees(1, 2, "S")?,
        longitude_deg: degrees(3, 3, "W")?,
        // Height above the ellipsoid: height above mean sea level plus geoid separation.
        altitude_m: number(8)? + number(10)?,
    })
}

impl Hosts for Robot {
    fn next(&self) -> Option<SimTime> {
        Some(self.next_look)
    }

    fn hear(&mut self, device: DeviceId, due: SimTime, output: &Output) {
        let Some(bytes) = output.bytes() else { return };
        let Plugs { scanner, head, compass, receiver, base } = self.plugs;
        match device {
            _ if device == scanner => self.hear_scanner(due, bytes),
            _ if device == head => self.hear_head(due, bytes),
            _ if device == compass => self.hear_compass(due, bytes),
            _ if device == receiver => self.hear_receiver(bytes),
            _ if device == base => self.hear_base(bytes),
            _ => {}
        }
    }

    fn speak(&mut self, now: SimTime) -> Vec<HostInput> {
        self.next_look = SimTime(now.0 + LOOK_NS);
        let mut inputs = Vec::new();
        let mut say = |device: DeviceId, payload: Payload| {
            inputs.push(HostInput { at: now, to: HostTarget::Device(device), payload });
        };
        let Plugs { scanner, base, .. } = self.plugs;
        if !self.is_started {
            // All devices have started by this time.
            if now.0 < 1_500_000_000 {
                return Vec::new();
            }
            self.is_started = true;
            say(scanner, Payload::Connected(SCANNER_PEER, true));
            say(scanner, Payload::PeerBytes(SCANNER_PEER, b"MD0000108001000\n".to_vec()));
            say(base, Payload::Bytes(b"1,start\r\n2,start\r\n".to_vec()));
        }
        if now >= self.next_odometry {
            self.next_odometry = SimTime(self.next_odometry.0 + ODOMETRY_NS);
            say(base, Payload::Bytes(b"1,getp\r\n2,getp\r\n".to_vec()));
        }
        self.assemble(now);
        self.navigate(now);
        if std::mem::take(&mut self.has_new_heading) {
            let [left, right] =
                self.treads_m_s().map(|speed_m_s| libm::round(speed_m_s * COUNTS_PER_M));
            say(base, Payload::Bytes(format!("1,s{left}\r\n2,s{right}\r\n").into_bytes()));
        }
        inputs
    }
}
