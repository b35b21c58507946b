//! Decodes packets of points, IMU samples and messages.
//!
//! As for SDK 2, the decoder reports the phase of the unit's clock in a frame of 0.1 s, the frame length of drivers,
//! instead of a rotor azimuth.

use std::sync::Arc;

use glam::DVec3;
use serde_json::{Map, Value, json};

use super::super::decoder::{
    cloud_point, elevations_rad, sample_text, shot, spherical_m, stamp, text_of, turned_centideg,
};
use super::profile::{FirstProfile, ReturnMode};
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    DATA, DatagramDecoder, Head, Lines, PointSource, RawReturn, Shot, Sweep, Twin,
};
use crate::decoder::facts::plural;
use crate::decoder::{Misfit, Named, object_of};
use crate::serial::decoder::hex;
use crate::wire::livox::first::command::{Broadcast, Frame, Kind, id};
use crate::wire::livox::first::data::{
    self, Coordinates, Format, Inertial, Packet, Point, TimeType, pulses, status,
};
use crate::wire::record::Record as _;

/// Name of datagrams with IMU samples.
const IMU: &str = "imu";
/// Name of status messages.
const STATUS: &str = "status";
/// Name of broadcasts.
const BROADCAST: &str = "broadcast";

/// State from earlier packets of points.
#[derive(Clone, Debug)]
struct StreamState {
    /// Header of the last packet.
    head: data::Head,
    format: Format,
    /// Shortest time between packets, nanoseconds.
    step_ns: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FirstDecoder {
    named: Option<Named<FirstProfile>>,
    /// Profiles among which the decoder chooses if no profile is named.
    known: &'static [Arc<Profile>],
    stream: Option<StreamState>,
    imu: Option<(data::Head, Inertial)>,
    status: Option<u32>,
    broadcast: Option<Broadcast>,
}

/// A message that lidars send without a request.
enum Message {
    Broadcast(Broadcast),
    Status(u32),
}

fn message(payload: &[u8]) -> Option<Message> {
    let frame = Frame::parse(payload).ok().filter(|frame| frame.kind == Kind::Message)?;
    match frame.id {
        id::BROADCAST => Broadcast::parse(&frame.data).ok().map(Message::Broadcast),
        id::STATUS => {
            let status = frame.data.try_into().ok().map(u32::from_le_bytes)?;
            Some(Message::Status(status))
        }
        _ => None,
    }
}

/// Header, format and points of a packet; `None` for other datagrams.
fn of_points(payload: &[u8]) -> Option<(data::Head, Format, &[u8])> {
    match Packet::parse(payload) {
        Ok(Packet::Points(head, format, data)) => Some((head, format, data)),
        _ => None,
    }
}

/// Position of a point in the lidar frame, metres.
fn position_m(format: Format, point: &Point) -> DVec3 {
    let [a, b, c] = point.place.map(f64::from);
    match format.coordinates {
        Coordinates::Cartesian => DVec3::new(a, b, c) * 1e-3,
        Coordinates::Spherical => spherical_m(a, [b, c]),
    }
}

/// Returns of a packet, without empty ones, each with the number of its pulse.
fn returns(format: Format, data: &[u8]) -> impl Iterator<Item = (usize, Point)> {
    pulses(format, data).enumerate().flat_map(move |(pulse, points)| {
        let seen = points.into_iter().take(format.returns);
        seen.filter(move |point| !format.is_empty(point)).map(move |point| (pulse, point))
    })
}

fn time_name(head: &data::Head) -> &'static str {
    match TimeType::from_number(head.time_type) {
        Some(TimeType::Ptp) => "PTP",
        Some(TimeType::Gps) => "GPS",
        Some(TimeType::Pps) => "PPS",
        Some(TimeType::None) | None => "none",
    }
}

fn code_of(broadcast: &Broadcast) -> Option<String> {
    text_of(&broadcast.code)
}

impl FirstDecoder {
    /// Decoder for the profile `named`. With `None`, the decoder chooses a profile of `known` by the received packets.
    pub(super) fn new(named: Option<Named<FirstProfile>>, known: &'static [Arc<Profile>]) -> Self {
        Self { named, known, ..Self::default() }
    }

    /// The named profile. Without a name, the first profile of the device type in a broadcast. Before a broadcast, the
    /// first profile that can send the received packets at their interval. `None` if no profile matches.
    fn profile(&self) -> Option<(&str, &FirstProfile)> {
        if let Some(named) = &self.named {
            return Some((&named.name, &named.profile));
        }
        let mut known = self.known.iter().filter_map(|one| Some((one.name.as_str(), one.data()?)));
        if let Some(broadcast) = &self.broadcast {
            return known.find(|(_, driver): &(_, &FirstProfile)| {
                driver.identity.device_type == broadcast.device_type
            });
        }
        let stream = self.stream.as_ref()?;
        known.find(|(_, driver)| {
            let has_tags =
                stream.format.returns > 1 || driver.defaults.with_tags == stream.format.has_tags;
            has_tags && stream.step_ns.is_none_or(|step_ns| fits(driver, stream.format, step_ns))
        })
    }

    fn lines(&self) -> usize {
        self.profile().map_or(1, |(_, profile)| profile.pattern.form.lines())
    }

    fn device_type(&self) -> Option<u8> {
        self.broadcast.as_ref().map(|broadcast| broadcast.device_type)
    }
}

/// Whether the firmware `driver` sends packets of the format `format` every `step_ns` nanoseconds, with a tolerance of
/// 2 us.
fn fits(driver: &FirstProfile, format: Format, step_ns: u64) -> bool {
    driver.pulse_ns(format.pulses() as u64).abs_diff(step_ns) <= 2000
}

impl DatagramDecoder for FirstDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        match message(payload) {
            Some(Message::Broadcast(_)) => return Some(Head { kind: BROADCAST, stamp: None }),
            Some(Message::Status(_)) => return Some(Head { kind: STATUS, stamp: None }),
            None => {}
        }
        Some(match Packet::parse(payload).ok()? {
            Packet::Points(head, ..) => Head { kind: DATA, stamp: Some(stamp(head.time_ns())) },
            Packet::Inertial(head, _) => Head { kind: IMU, stamp: Some(stamp(head.time_ns())) },
        })
    }

    fn learn(&mut self, payload: &[u8]) {
        match message(payload) {
            Some(Message::Broadcast(broadcast)) => self.broadcast = Some(broadcast),
            Some(Message::Status(status)) => self.status = Some(status),
            None => {}
        }
        match Packet::parse(payload) {
            Ok(Packet::Points(head, format, _)) => {
                let before = self.stream.as_ref().filter(|stream| stream.format == format);
                let step =
                    before.and_then(|stream| head.time_ns().checked_sub(stream.head.time_ns()));
                let steps = [step, before.and_then(|stream| stream.step_ns)];
                let step_ns = steps.into_iter().flatten().filter(|step| *step > 0).min();
                self.status = Some(head.status);
                self.stream = Some(StreamState { head, format, step_ns });
            }
            Ok(Packet::Inertial(head, sample)) => self.imu = Some((head, sample)),
            Err(_) => {}
        }
    }

    fn learn_aside(&mut self, payload: &[u8]) {
        if let Some(Message::Broadcast(broadcast)) = message(payload) {
            self.broadcast = Some(broadcast);
        }
    }

    fn likelihood(&self) -> f64 {
        match (&self.named, &self.stream) {
            (Some(_), Some(_)) => 2.0,
            (_, Some(_)) => 1.0,
            (_, None)
                if self.imu.is_some() || self.status.is_some() || self.broadcast.is_some() =>
            {
                0.5
            }
            (_, None) => 0.0,
        }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let (Some(named), Some(stream)) = (&self.named, &self.stream) else { return Vec::new() };
        let mut texts = Vec::new();
        let own = named.profile.identity.device_type;
        if let Some(found) = self.device_type().filter(|found| *found != own) {
            texts.push(format!("broadcasts have device type {found}, not {own}"));
        } else if let Some(step_ns) = stream.step_ns {
            let own_ns = named.profile.pulse_ns(stream.format.pulses() as u64);
            // Packets can be missing, but none is early.
            if step_ns.saturating_add(2000) < own_ns {
                let [found, own] = [step_ns, own_ns].map(|ns| ns as f64 / 1000.0);
                texts.push(format!("packets are {found} us apart, not {own} us"));
            }
        }
        texts.into_iter().map(|text| Misfit { is_other_product: true, text }).collect()
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        let Some((head, format, data)) = of_points(payload) else { return Sweep::default() };
        // A sweep shows at most two returns of a pulse: of three returns, the first two.
        let shown = format.returns.min(2);
        Sweep {
            azimuths_centideg: vec![turned_centideg(head.time_ns())],
            returns: pulses(format, data)
                .flat_map(|points| points.into_iter().take(shown))
                .map(|point| RawReturn {
                    is_empty: format.is_empty(&point),
                    intensity: point.reflectivity,
                    distance: (position_m(format, &point).length() * 1000.0).round() as u32,
                })
                .collect(),
            is_dual: shown == 2,
            is_paired_by_point: true,
            ..Sweep::default()
        }
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let Some((_, format, data)) = of_points(payload) else { return Vec::new() };
        let lines = self.lines();
        returns(format, data)
            .map(|(pulse, point)| {
                let at = position_m(format, &point);
                shot(pulse % lines, at, point.reflectivity)
            })
            .collect()
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "livox-sdk1"
    }

    fn model(&self) -> String {
        match self.profile() {
            Some((_, profile)) => profile.identity.product.clone(),
            None => "unknown".to_owned(),
        }
    }

    fn model_text(&self) -> String {
        match &self.stream {
            Some(stream) => format!("{}, {}", self.model(), stream.format.name()),
            None => self.model(),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        match message(payload) {
            Some(Message::Broadcast(broadcast)) => {
                let code = code_of(&broadcast).unwrap_or_else(|| hex(&broadcast.code));
                return format!("broadcast  {code}  device type {}", broadcast.device_type);
            }
            Some(Message::Status(status)) => return format!("status  {status:08x}"),
            None => {}
        }
        match Packet::parse(payload) {
            Ok(Packet::Inertial(head, sample)) => sample_text(&sample, head.time_ns()),
            Ok(Packet::Points(head, format, data)) => format!(
                "points  {}  {:>3}/{} returns  status {:08x}  clock {}  t {} ns",
                format.name(),
                returns(format, data).count(),
                format.pulses() * format.returns,
                head.status,
                time_name(&head),
                head.time_ns()
            ),
            Err(_) => String::new(),
        }
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        match message(payload) {
            Some(Message::Broadcast(broadcast)) => return broadcast_fields(&broadcast),
            Some(Message::Status(status)) => return status_fields(status),
            None => {}
        }
        match Packet::parse(payload) {
            Ok(Packet::Inertial(head, sample)) => imu_fields(&head, &sample),
            Ok(Packet::Points(head, format, data)) => {
                let all: Vec<Point> = pulses(format, data)
                    .flat_map(|points| points.into_iter().take(format.returns))
                    .collect();
                object_of(json!({
                    "data_type": format.number(),
                    "coordinates": format.coordinates.word(),
                    "returns": format.returns,
                    "status": head.status,
                    "slot": head.slot,
                    "time_type": time_name(&head),
                    "time_ns": head.time_ns(),
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
        let mut lines = vec![("clock", time_name(&stream.head).to_owned())];
        lines.extend(self.status.map(|status| ("status", format!("{status:08x}"))));
        let code = self.broadcast.as_ref().and_then(code_of);
        lines.extend(code.map(|code| ("broadcast code", code)));
        lines
    }

    fn status(&self) -> Value {
        let Some(stream) = &self.stream else { return Value::Null };
        json!({
            "time_type": time_name(&stream.head),
            "status": self.status,
            "broadcast_code": self.broadcast.as_ref().and_then(code_of),
        })
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[IMU, STATUS, BROADCAST]
    }

    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        let kinds = self.other_kinds().iter().filter(|known| **known == kind);
        kinds.map(|kind| (*kind, plural(packets, "packet"))).collect()
    }

    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        match (kind, &self.imu, &self.broadcast, self.status) {
            (IMU, Some((head, sample)), ..) => imu_fields(head, sample),
            (STATUS, _, _, Some(status)) => status_fields(status),
            (BROADCAST, _, Some(broadcast), _) => broadcast_fields(broadcast),
            _ => Map::new(),
        }
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if self.stream.is_none() {
            return Err("contains no points".to_owned());
        }
        let lines = self.lines();
        let span_deg =
            self.profile().map_or([-38.6, 38.6], |(_, own)| own.pattern.form.elevations_deg());
        Ok(PointSource {
            calibration: "the packets themselves",
            elevations_rad: elevations_rad(lines, span_deg),
            decode: Box::new(move |payload, _, out| {
                let Some((_, format, data)) = of_points(payload) else { return };
                for (pulse, point) in returns(format, data) {
                    let at = position_m(format, &point);
                    out.push(cloud_point(at, point.reflectivity, pulse, lines));
                }
            }),
        })
    }

    fn twin(&self, profile: &Profile, _rate_rpm: f64) -> Result<Twin, String> {
        let stream = self.stream.as_ref().ok_or("contains no points")?;
        let Some(driver) = profile.data::<FirstProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        let clock = match TimeType::from_number(stream.head.time_type) {
            Some(TimeType::Ptp) => ", ptp = \"locked\"",
            Some(TimeType::Gps | TimeType::Pps) => ", clock = { reference = \"utc\" }",
            Some(TimeType::None) | None => "",
        };
        let format = stream.format;
        let modes = [driver.defaults.return_mode, ReturnMode::Dual, ReturnMode::Triple];
        let Some(mode) = modes.into_iter().find(|mode| mode.returns() == format.returns) else {
            return Err(format!("sends {} returns of a pulse", format.returns));
        };
        let imu = match driver.imu {
            Some(_) => format!(", imu_enable = {}", self.imu.is_some()),
            None => String::new(),
        };
        let (coordinates, mode) = (format.coordinates.word(), mode.word());
        let tags = format.has_tags;
        Ok(Twin {
            settings: format!(
                "{{ streams_alone = true, coordinates = {coordinates:?}, return_mode = {mode:?}, \
                 with_tags = {tags}{imu}{clock} }}"
            ),
            title: format.name(),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        let Some(stream) = self.stream.as_ref().filter(|_| kind == DATA) else {
            return Lines::new();
        };
        vec![
            ("point format", stream.format.name()),
            ("clock", time_name(&stream.head).to_owned()),
            ("packet step", stream.step_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"))),
        ]
    }
}

fn imu_fields(head: &data::Head, sample: &Inertial) -> Map<String, Value> {
    object_of(json!({
        "time_type": time_name(head),
        "time_ns": head.time_ns(),
        "acceleration_g": sample.acceleration_g,
        "angular_rate_rad_s": sample.gyro_rad_s,
    }))
}

fn broadcast_fields(broadcast: &Broadcast) -> Map<String, Value> {
    object_of(json!({
        "broadcast_code": code_of(broadcast),
        "device_type": broadcast.device_type,
    }))
}

fn status_fields(bits: u32) -> Map<String, Value> {
    let of = |shift: u32, mask: u32| bits >> shift & mask;
    object_of(json!({
        "temperature": of(status::TEMPERATURE, 3),
        "voltage": of(status::VOLTAGE, 3),
        "motor": of(status::MOTOR, 3),
        "window": of(status::DIRTY, 3),
        "firmware": of(status::FIRMWARE, 1),
        "pps": of(status::PPS, 1),
        "end_of_life": of(status::END_OF_LIFE, 1),
        "fan": of(status::FAN, 1),
        "ptp": of(status::PTP, 1),
        "synchronisation": of(status::SYNCHRONISATION, 7),
        "system": of(status::SYSTEM, 3),
    }))
}
