//! Decodes packets of points, IMU samples and push messages.
//!
//! The pattern has no rotor. Instead of a rotor azimuth, the decoder reports the phase of the unit's clock in a frame
//! of 0.1 s, the frame length of drivers.

use std::sync::Arc;

use glam::DVec3;
use serde_json::{Map, Value, json};

use super::profile::{Form, LivoxProfile};
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    CloudPoint, DATA, DatagramDecoder, Head, Lines, PointSource, RawReturn, Shot, Stamp, Sweep,
    Twin,
};
use crate::decoder::facts::plural;
use crate::decoder::{Misfit, Named, object_of};
use crate::serial::decoder::hex;
use crate::wire::livox::command::{Frame, id, parse_keys};
use crate::wire::livox::data::{
    self, ANGLE_STEP_DEG, DataType, Inertial, Packet, Point, TimeType, points,
};
use crate::wire::livox::key::{Entries, key};

/// Name of datagrams with IMU samples.
const IMU: &str = "imu";
/// Name of push messages.
const STATE: &str = "state";
/// Length of an hour, microseconds. Timestamps are compared modulo an hour.
const HOUR_US: u32 = 3_600_000_000;
/// Frame length of drivers, nanoseconds.
const FRAME_NS: u64 = 100_000_000;

/// State from earlier packets of points.
#[derive(Clone, Debug)]
struct StreamState {
    /// Header of the last packet.
    head: data::Head,
    kind: DataType,
    /// Number of packets missing from the sequence.
    missing: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LivoxDecoder {
    named: Option<Named<LivoxProfile>>,
    /// Known profiles. Without a named profile, the decoder uses the first one with the packet duration of the stream.
    known: &'static [Arc<Profile>],
    stream: Option<StreamState>,
    imu: Option<(data::Head, Inertial)>,
    state: Entries,
}

fn push(payload: &[u8]) -> Option<Entries> {
    let frame = Frame::parse(payload).ok().filter(|frame| frame.id == id::PUSH)?;
    parse_keys(&frame.data).ok()
}

/// Timestamp of a packet with the time `time_ns`, modulo an hour.
pub(super) fn stamp(time_ns: u64) -> Stamp {
    Stamp { us: (time_ns / 1000 % u64::from(HOUR_US)) as u32, period_us: HOUR_US }
}

/// Position of `time_ns` within a 0.1 s frame, as an angle in hundredths of a degree: a whole frame is 360 degrees.
pub(super) fn turned_centideg(time_ns: u64) -> u16 {
    (time_ns % FRAME_NS * 36_000 / FRAME_NS) as u16
}

/// Header and points of a packet; `None` for other datagrams.
fn of_points(payload: &[u8]) -> Option<(data::Head, DataType, &[u8])> {
    match Packet::parse(payload) {
        Ok(Packet::Points(head, kind, data)) => Some((head, kind, data)),
        _ => None,
    }
}

/// Position of a point in the lidar frame, metres.
fn position_m(kind: DataType, point: &Point) -> DVec3 {
    let [a, b, c] = point.place.map(f64::from);
    match kind {
        DataType::Cartesian => DVec3::new(a, b, c) * 1e-3,
        DataType::Cartesian16 => DVec3::new(a, b, c) * 1e-2,
        DataType::Spherical => spherical_m(a, [b, c]),
    }
}

/// Position of a spherical point in the lidar frame, metres; `depth` is in millimetres. `angles` are theta (from the z
/// axis) and phi (from x towards y), hundredths of a degree.
pub(super) fn spherical_m(depth: f64, angles: [f64; 2]) -> DVec3 {
    let [(sin_theta, cos_theta), (sin_phi, cos_phi)] =
        angles.map(|angle| libm::sincos((angle * ANGLE_STEP_DEG).to_radians()));
    DVec3::new(sin_theta * cos_phi, sin_theta * sin_phi, cos_theta) * depth * 1e-3
}

/// A return of the line `line` at the position `at` in the lidar frame, metres.
pub(super) fn shot(line: usize, at: DVec3, intensity: u8) -> Shot {
    Shot {
        laser: line as u16,
        azimuth_deg: libm::atan2(-at.y, at.x).to_degrees().rem_euclid(360.0),
        elevation_deg: libm::atan2(at.z, at.truncate().length()).to_degrees(),
        range_m: at.length(),
        intensity,
    }
}

/// A return at the position `at` (lidar frame, metres). `pulse` is the index of the pulse in the packet; successive
/// pulses belong to successive scan lines.
pub(super) fn cloud_point(at: DVec3, intensity: u8, pulse: usize, lines: usize) -> CloudPoint {
    CloudPoint {
        position_m: at,
        intensity: intensity.into(),
        laser: pulse % lines,
        firing: pulse / lines,
        range_m: at.length(),
    }
}

/// Elevations of `lines` lines, evenly spaced over the span, radians. For a single line, returns both ends of the span.
pub(super) fn elevations_rad(lines: usize, span_deg: [f64; 2]) -> Vec<f64> {
    let ([low, high], count) = (span_deg.map(f64::to_radians), lines.max(2));
    let step = (high - low) / (count - 1) as f64;
    (0..count).map(|line| low + step * line as f64).collect()
}

/// Text up to the first zero byte; `None` if it contains blanks or characters that are not printable ASCII.
pub(super) fn text_of(bytes: &[u8]) -> Option<String> {
    let text: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
    let is_plain = text.iter().all(u8::is_ascii_graphic);
    String::from_utf8(text).ok().filter(|_| is_plain)
}

pub(super) fn sample_text(sample: &Inertial, time_ns: u64) -> String {
    let ([x, y, z], [p, q, r]) = (sample.acceleration_g, sample.gyro_rad_s);
    format!("imu  {x:+.4} {y:+.4} {z:+.4} g  {p:+.4} {q:+.4} {r:+.4} rad/s  t {time_ns} ns")
}

fn time_name(head: &data::Head) -> &'static str {
    match TimeType::from_number(head.time_type) {
        Some(TimeType::Ptp) => "PTP",
        Some(TimeType::Gps) => "GPS",
        Some(TimeType::None) | None => "none",
    }
}

impl LivoxDecoder {
    /// Decoder for the profile `named`, or for any profile.
    pub(super) fn new(named: Option<Named<LivoxProfile>>, known: &'static [Arc<Profile>]) -> Self {
        Self { named, known, ..Self::default() }
    }

    /// The named profile. Without one, the first known profile whose packets last as long as those of the stream, from
    /// the first to the last point. `None` if no profile matches, or before the first packet of points.
    fn profile(&self) -> Option<(&str, &LivoxProfile)> {
        if let Some(named) = &self.named {
            return Some((&named.name, &named.profile));
        }
        let stream = self.stream.as_ref()?;
        let is_as_fast = |driver: &LivoxProfile| driver.interval() == stream.head.interval;
        let known = self.known.iter().filter_map(|one| Some((one.name.as_str(), one.data()?)));
        known.into_iter().find(|(_, driver)| is_as_fast(driver))
    }

    fn form(&self) -> Form {
        self.profile().map_or(Form::default(), |(_, profile)| profile.pattern.form)
    }

    fn serial(&self) -> Option<String> {
        let (_, value) = self.state.0.iter().find(|(key, _)| *key == key::SERIAL)?;
        text_of(value)
    }

    fn state_of(&self, key: u16) -> Option<u8> {
        let (_, value) = self.state.0.iter().find(|(known, _)| *known == key)?;
        value.first().copied()
    }
}

impl DatagramDecoder for LivoxDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        if push(payload).is_some() {
            return Some(Head { kind: STATE, stamp: None });
        }
        Some(match Packet::parse(payload).ok()? {
            Packet::Points(head, ..) => Head { kind: DATA, stamp: Some(stamp(head.time_ns)) },
            Packet::Inertial(head, _) => Head { kind: IMU, stamp: Some(stamp(head.time_ns)) },
        })
    }

    fn learn(&mut self, payload: &[u8]) {
        if let Some(entries) = push(payload) {
            self.state = entries;
            return;
        }
        match Packet::parse(payload) {
            Ok(Packet::Points(head, kind, _)) => {
                let before = self.stream.as_ref();
                let gap = before.map_or(0, |stream| {
                    let gap = head.sequence.wrapping_sub(stream.head.sequence).wrapping_sub(1);
                    // A sequence number that goes back means a restart.
                    if gap > u16::MAX / 2 { 0 } else { gap }
                });
                let missing = before.map_or(0, |stream| stream.missing) + u64::from(gap);
                self.stream = Some(StreamState { head, kind, missing });
            }
            Ok(Packet::Inertial(head, sample)) => self.imu = Some((head, sample)),
            Err(_) => {}
        }
    }

    fn likelihood(&self) -> f64 {
        match (&self.named, &self.stream, &self.imu) {
            (Some(_), Some(_), _) => 2.0,
            (_, Some(_), _) => 1.0,
            (_, None, Some(_)) => 0.5,
            (_, None, None) if !self.state.0.is_empty() => 0.5,
            (_, None, None) => 0.0,
        }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let (Some(named), Some(stream)) = (&self.named, &self.stream) else { return Vec::new() };
        let (found, own) = (stream.head.interval, named.profile.interval());
        let is_other_product = own != found;
        let [found_us, own_us] = [found, own].map(|tenths| f64::from(tenths) / 10.0);
        let text = format!("the points of a packet span {found_us} us, not {own_us} us");
        if is_other_product { vec![Misfit { is_other_product, text }] } else { Vec::new() }
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        let Some((head, kind, data)) = of_points(payload) else { return Sweep::default() };
        Sweep {
            azimuths_centideg: vec![turned_centideg(head.time_ns)],
            returns: points(kind, data)
                .map(|point| RawReturn {
                    is_empty: point.is_empty(kind),
                    intensity: point.reflectivity,
                    distance: (position_m(kind, &point).length() * 1000.0).round() as u32,
                })
                .collect(),
            ..Sweep::default()
        }
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let Some((_, kind, data)) = of_points(payload) else { return Vec::new() };
        let lines = self.form().lines();
        let seen = points(kind, data).enumerate().filter(|(_, point)| !point.is_empty(kind));
        seen.map(|(index, point)| {
            let at = position_m(kind, &point);
            shot(index % lines, at, point.reflectivity)
        })
        .collect()
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "livox"
    }

    fn model(&self) -> String {
        match self.profile() {
            Some((_, profile)) => {
                profile.identity.product.split(' ').next().unwrap_or("Livox").to_owned()
            }
            None => "unknown".to_owned(),
        }
    }

    fn model_text(&self) -> String {
        match &self.stream {
            Some(stream) => format!("{}, {}", self.model(), stream.kind.word()),
            None => self.model(),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        if let Some(Entries(entries)) = push(payload) {
            let keys: Vec<_> =
                entries.iter().map(|(key, value)| format!("{key:04x}={}", hex(value))).collect();
            return format!("state  {}", keys.join(" "));
        }
        match Packet::parse(payload) {
            Ok(Packet::Inertial(head, sample)) => sample_text(&sample, head.time_ns),
            Ok(Packet::Points(head, kind, data)) => {
                let seen = points(kind, data).filter(|point| !point.is_empty(kind)).count();
                format!(
                    "points  {}  {seen:>3}/{} returns  #{:<5}  clock {}  t {} ns",
                    kind.word(),
                    head.count,
                    head.sequence,
                    time_name(&head),
                    head.time_ns
                )
            }
            Err(_) => String::new(),
        }
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        if let Some(entries) = push(payload) {
            return state_fields(&entries);
        }
        match Packet::parse(payload) {
            Ok(Packet::Inertial(head, sample)) => imu_fields(&head, &sample),
            Ok(Packet::Points(head, kind, data)) => {
                let all: Vec<Point> = points(kind, data).collect();
                object_of(json!({
                    "data_type": kind.word(),
                    "sequence": head.sequence,
                    "frame": head.frame,
                    "interval_us": f64::from(head.interval) / 10.0,
                    "time_type": time_name(&head),
                    "time_ns": head.time_ns,
                    "place": all.iter().map(|point| point.place).collect::<Vec<_>>(),
                    "reflectivity": all.iter().map(|point| point.reflectivity).collect::<Vec<_>>(),
                    "tag": all.iter().map(|point| point.tag).collect::<Vec<_>>(),
                }))
            }
            Err(_) => Map::new(),
        }
    }

    fn status_lines(&self) -> Lines {
        let Some(stream) = &self.stream else { return Lines::new() };
        let mut lines = vec![
            ("clock", time_name(&stream.head).to_owned()),
            ("missing numbers", stream.missing.to_string()),
        ];
        lines.extend(self.serial().map(|serial| ("serial", serial)));
        lines.extend(self.state_of(key::STATE).map(|state| ("state", state.to_string())));
        lines
    }

    fn status(&self) -> Value {
        let Some(stream) = &self.stream else { return Value::Null };
        json!({
            "time_type": time_name(&stream.head),
            "missing_numbers": stream.missing,
            "serial": self.serial(),
            "state": self.state_of(key::STATE),
        })
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[IMU, STATE]
    }

    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        let kind = if kind == IMU { IMU } else { STATE };
        vec![(kind, plural(packets, "packet"))]
    }

    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        match (kind, &self.imu) {
            (IMU, Some((head, sample))) => imu_fields(head, sample),
            (STATE, _) => state_fields(&self.state),
            _ => Map::new(),
        }
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if self.stream.is_none() {
            return Err("contains no points".to_owned());
        }
        let (lines, span_deg) = (self.form().lines(), self.form().elevations_deg());
        Ok(PointSource {
            calibration: "the packets themselves",
            elevations_rad: elevations_rad(lines, span_deg),
            decode: Box::new(move |payload, _, out| {
                let Some((_, kind, data)) = of_points(payload) else { return };
                for (index, point) in points(kind, data).enumerate() {
                    if point.is_empty(kind) {
                        continue;
                    }
                    let at = position_m(kind, &point);
                    out.push(cloud_point(at, point.reflectivity, index, lines));
                }
            }),
        })
    }

    fn twin(&self, profile: &Profile, _rate_rpm: f64) -> Result<Twin, String> {
        let stream = self.stream.as_ref().ok_or("contains no points")?;
        if profile.data::<LivoxProfile>().is_none() {
            return Err(format!("cannot be compared with {}", profile.name));
        }
        let clock = match TimeType::from_number(stream.head.time_type) {
            Some(TimeType::Ptp) => ", ptp = \"locked\"",
            Some(TimeType::Gps) => ", clock = { reference = \"utc\" }",
            Some(TimeType::None) | None => "",
        };
        let (kind, has_imu) = (stream.kind.word(), self.imu.is_some());
        Ok(Twin {
            settings: format!("{{ data_type = {kind:?}, imu_enable = {has_imu}{clock} }}"),
            title: kind.to_owned(),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        let Some(stream) = self.stream.as_ref().filter(|_| kind == DATA) else {
            return Lines::new();
        };
        vec![
            ("point format", stream.kind.word().to_owned()),
            ("clock", time_name(&stream.head).to_owned()),
            ("interval", stream.head.interval.to_string()),
        ]
    }
}

fn imu_fields(head: &data::Head, sample: &Inertial) -> Map<String, Value> {
    object_of(json!({
        "sequence": head.sequence,
        "time_type": time_name(head),
        "time_ns": head.time_ns,
        "acceleration_g": sample.acceleration_g,
        "angular_rate_rad_s": sample.gyro_rad_s,
    }))
}

fn state_fields(entries: &Entries) -> Map<String, Value> {
    let all = entries.0.iter().map(|(key, value)| (format!("{key:04x}"), json!(hex(value))));
    object_of(json!({ "keys": all.collect::<Map<_, _>>() }))
}
