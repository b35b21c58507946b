//! Decodes data packets and GPS packets.
//!
//! Length and first bytes of a packet determine the model. The true laser angles are only in the unit's own table, so
//! the angles of the profile are used.

use std::sync::Arc;

use glam::DVec3;
use serde_json::{Map, Value, json};

use super::calibration;
use super::profile::{HesaiProfile, PtpState};
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    CloudPoint, DATA, DatagramDecoder, Head, Lines, PointSource, RawReturn, Shot, Stamp, Sweep,
    Twin,
};
use crate::decoder::facts::plural;
use crate::decoder::{Misfit, Named, object_of};
use crate::wire::hesai::data::{Packet, Point, ReturnMode, Tail};
use crate::wire::hesai::format::{DISTANCE_UNIT_M, HesaiFormat};
use crate::wire::hesai::gps::{GPS_PACKET_LEN, GpsPacket};

/// Name of GPS packets in the decoder's output.
const GPS: &str = "gps";
const HOUR_US: u32 = 3_600_000_000;
/// A clock counts as set if its year is this or later; unset clocks start in 2000.
const OUR_AGE: u16 = 2015;

/// State from earlier data packets.
#[derive(Clone, Copy, Debug)]
struct StreamState {
    format: HesaiFormat,
    /// Tail of the last packet.
    tail: Tail,
    packets: u64,
    /// Number of packets missing from the sequence.
    missing: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct HesaiDecoder {
    named: Option<Named<HesaiProfile>>,
    /// Profiles among which the decoder searches for the format of the packets.
    known: &'static [Arc<Profile>],
    stream: Option<StreamState>,
    gps: Option<Box<GpsPacket>>,
}

fn gps_packet(payload: &[u8]) -> Option<GpsPacket> {
    (payload.len() == GPS_PACKET_LEN).then(|| GpsPacket::parse(payload).ok())?
}

/// Timestamp modulo one hour.
fn stamp(minute: u8, second: u8, micros: u32) -> Stamp {
    let seconds = u64::from(minute) * 60 + u64::from(second);
    let us = (seconds * 1_000_000 + u64::from(micros)) % u64::from(HOUR_US);
    Stamp { us: us as u32, period_us: HOUR_US }
}

/// Year in a tail. As in drivers, a field below 70 counts from 2000, any other from 1900.
fn year(tail: &Tail) -> u16 {
    let [year, ..] = tail.date;
    u16::from(year) + if year < 70 { 2000 } else { 1900 }
}

fn date_text(tail: &Tail) -> String {
    let [_, month, day, hour, minute, second] = tail.date;
    let year = year(tail);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:06}", tail.micros)
}

fn model_name(format: HesaiFormat) -> &'static str {
    match format {
        HesaiFormat::Pandar40P => "Pandar40P",
        HesaiFormat::Pandar64 => "Pandar64",
        HesaiFormat::Qt64 => "PandarQT64",
        HesaiFormat::Xt16 => "PandarXT-16",
        HesaiFormat::Xt32 => "PandarXT-32",
    }
}

fn mode_name(tail: &Tail) -> String {
    let known = ReturnMode::from_byte(tail.return_mode);
    known.map_or_else(|| format!("{:#04x}", tail.return_mode), |mode| mode.name().to_owned())
}

fn driver_of(format: HesaiFormat, known: &'static [Arc<Profile>]) -> Option<&'static HesaiProfile> {
    let drivers = known.iter().filter_map(|profile| profile.data());
    drivers.into_iter().find(|driver: &&HesaiProfile| driver.packet.format == format)
}

impl HesaiDecoder {
    /// Decoder for the profile `named`, or for any profile.
    pub(super) fn new(named: Option<Named<HesaiProfile>>, known: &'static [Arc<Profile>]) -> Self {
        Self { named, known, ..Self::default() }
    }

    /// Contradiction between the packets and the named profile; `None` if there is none, or if no profile is named.
    fn problem(&self) -> Option<String> {
        let (named, stream) = (self.named.as_ref()?, self.stream?);
        let own = named.profile.packet.format;
        (stream.format != own).then(|| {
            let (sender, own) = (model_name(stream.format), model_name(own));
            format!("the packets are those of a {sender}, {} is a {own}", named.name)
        })
    }
}

impl DatagramDecoder for HesaiDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        if let Some(packet) = gps_packet(payload) {
            let [.., minute, second] = packet.date;
            return Some(Head { kind: GPS, stamp: Some(stamp(minute, second, packet.micros)) });
        }
        let packet = Packet::parse(payload).ok()?;
        let [.., minute, second] = packet.tail().date;
        Some(Head { kind: DATA, stamp: Some(stamp(minute, second, packet.tail().micros)) })
    }

    fn learn(&mut self, payload: &[u8]) {
        if let Some(packet) = gps_packet(payload) {
            self.gps = Some(Box::new(packet));
            return;
        }
        let Ok(packet) = Packet::parse(payload) else { return };
        let (format, tail) = (packet.format(), *packet.tail());
        let before = self.stream.filter(|stream| stream.format == format);
        let numbers = before.and_then(|stream| stream.tail.sequence).zip(tail.sequence);
        let gap = numbers.map_or(0, |(last, own)| own.wrapping_sub(last).wrapping_sub(1));
        // A sequence number that goes back means a restart.
        let gap = if gap > u32::MAX / 2 { 0 } else { gap };
        let (packets, missing) = before.map_or((0, 0), |stream| (stream.packets, stream.missing));
        let (packets, missing) = (packets + 1, missing + u64::from(gap));
        self.stream = Some(StreamState { format, tail, packets, missing });
    }

    fn likelihood(&self) -> f64 {
        match (&self.named, &self.stream, &self.gps) {
            (Some(_), Some(_), _) if self.problem().is_none() => 2.0,
            (_, Some(_), _) => 1.0,
            (_, None, Some(_)) => 0.5,
            (_, None, None) => 0.0,
        }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let problem = self.problem();
        problem.map(|text| Misfit { is_other_product: true, text }).into_iter().collect()
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        let Ok(packet) = Packet::parse(payload) else { return Sweep::default() };
        let mut sweep = Sweep { is_dual: packet.is_dual(), ..Sweep::default() };
        for (azimuth, points) in packet.blocks() {
            sweep.azimuths_centideg.push(azimuth);
            sweep.returns.extend(packet.points(points).map(|point| RawReturn {
                is_empty: point.distance == 0,
                intensity: point.reflectivity,
                distance: point.distance.into(),
            }));
        }
        let azimuths = &sweep.azimuths_centideg;
        let is_paired = |pair: &[u16]| pair.first() == pair.last();
        if sweep.is_dual && !azimuths.chunks(2).all(is_paired) {
            sweep.issues.push("the two blocks of a firing have different azimuths".to_owned());
        }
        if ReturnMode::from_byte(packet.tail().return_mode).is_none() {
            let mode = packet.tail().return_mode;
            sweep.issues.push(format!("the return mode is {mode:#04x}"));
        }
        sweep
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let Ok(packet) = Packet::parse(payload) else { return Vec::new() };
        let every = if packet.is_dual() { 2 } else { 1 };
        let mut shots = Vec::new();
        for (azimuth, points) in packet.blocks().step_by(every) {
            let seen = packet.points(points).enumerate().filter(|(_, point)| point.distance > 0);
            shots.extend(seen.map(|(laser, point)| Shot {
                laser: laser as u16,
                azimuth_deg: f64::from(azimuth % 36_000) / 100.0,
                elevation_deg: 0.0,
                range_m: f64::from(point.distance) * DISTANCE_UNIT_M,
                intensity: point.reflectivity,
            }));
        }
        shots
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "hesai"
    }

    fn model(&self) -> String {
        self.stream.map_or("unknown", |stream| model_name(stream.format)).to_owned()
    }

    fn model_text(&self) -> String {
        match &self.stream {
            Some(stream) => format!("{}, return mode {}", self.model(), mode_name(&stream.tail)),
            None => self.model(),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        if let Some(packet) = gps_packet(payload) {
            return gps_text(&packet);
        }
        let Ok(packet) = Packet::parse(payload) else { return String::new() };
        let sweep = self.sweep(payload);
        let seen = sweep.returns.iter().filter(|one| !one.is_empty).count();
        let degrees = |azimuth: Option<&u16>| f64::from(*azimuth.unwrap_or(&0)) / 100.0;
        let number = packet.tail().sequence.map_or(String::new(), |number| format!("  #{number}"));
        format!(
            "{}  {}  {:6.2}..{:6.2} deg  {seen:>4}/{} returns  {}{number}",
            model_name(packet.format()),
            mode_name(packet.tail()),
            degrees(sweep.azimuths_centideg.first()),
            degrees(sweep.azimuths_centideg.last()),
            sweep.returns.len(),
            date_text(packet.tail()),
        )
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        if let Some(packet) = gps_packet(payload) {
            return gps_fields(&packet);
        }
        let Ok(packet) = Packet::parse(payload) else { return Map::new() };
        let tail = packet.tail();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let block = |(azimuth, bytes): (u16, &[u8])| {
            let points: Vec<Point> =
                bytes.chunks_exact(packet.format().point_len()).map(Point::get).collect();
            json!({
                "azimuth_centideg": azimuth,
                "distance": points.iter().map(|p| p.distance).collect::<Vec<_>>(),
                "reflectivity": points.iter().map(|p| p.reflectivity).collect::<Vec<_>>(),
            })
        };
        object_of(json!({
            "model": model_name(packet.format()),
            "distance_unit_m": DISTANCE_UNIT_M,
            "head": hex(packet.head()),
            "return_mode": mode_name(tail),
            "motor_rpm": tail.rpm,
            "date": tail.date,
            "timestamp_us": tail.micros,
            "status": hex(&tail.status[..packet.format().status_len()]),
            "factory": tail.factory,
            "sequence": tail.sequence,
            "blocks": packet.blocks().map(block).collect::<Vec<_>>(),
        }))
    }

    fn status_lines(&self) -> Lines {
        let Some(StreamState { tail, missing, .. }) = self.stream else { return Lines::new() };
        let mut lines =
            vec![("motor", format!("{} rpm", tail.rpm)), ("last date", date_text(&tail))];
        if tail.sequence.is_some() {
            lines.push(("missing numbers", missing.to_string()));
        }
        lines
    }

    fn status(&self) -> Value {
        let Some(StreamState { tail, missing, .. }) = self.stream else { return Value::Null };
        json!({
            "motor_rpm": tail.rpm,
            "last_date": date_text(&tail),
            "missing_numbers": tail.sequence.map(|_| missing),
        })
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[GPS]
    }

    fn other_lines(&self, _kind: &str, packets: u64) -> Lines {
        let last =
            self.gps.as_deref().map_or_else(String::new, |gps| format!(", {}", gps_state(gps)));
        vec![(GPS, format!("{}{last}", plural(packets, "packet")))]
    }

    fn other_fields(&self, _kind: &str) -> Map<String, Value> {
        self.gps.as_deref().map(gps_fields).unwrap_or_default()
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        if let Some(named) = &self.named {
            return Ok(point_source(&named.profile, "angles of the profile"));
        }
        let stream = self.stream.ok_or("contains no data packets")?;
        let driver = driver_of(stream.format, self.known);
        let driver =
            driver.ok_or_else(|| format!("points of {} cannot be computed", self.model()))?;
        Ok(point_source(driver, "angles of the model"))
    }

    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String> {
        let stream = self.stream.ok_or("contains no data packets")?;
        let Some(driver) = profile.data::<HesaiProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        if driver.packet.format != stream.format {
            return Err(format!(
                "is from a {}, {} is not one",
                model_name(stream.format),
                profile.name
            ));
        }
        let mode = ReturnMode::from_byte(stream.tail.return_mode)
            .filter(|mode| driver.return_modes.contains(mode));
        let mode = mode.ok_or("has a return mode that the profile lacks")?.name();
        let off = |rate: &&u32| (f64::from(**rate) - rate_rpm).abs();
        let rate = driver.rates_rpm.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let rate = rate.copied().unwrap_or(600);
        let clock = match year(&stream.tail) >= OUR_AGE {
            true => format!("clock_source = \"ptp\", ptp = {:?}", PtpState::Locked.word()),
            false => "clock_source = \"gps\"".to_owned(),
        };
        let has_sequence = stream.tail.sequence.is_some();
        Ok(Twin {
            settings: format!(
                "{{ rotation_rate_rpm = {rate}, return_mode = {mode:?}, \
                 udp_sequence = {has_sequence}, {clock} }}"
            ),
            title: format!("{rate} rpm, {mode}"),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        let Some(stream) = self.stream.filter(|_| kind == DATA) else { return Lines::new() };
        let numbered = if stream.tail.sequence.is_some() { "yes" } else { "no" };
        let base = if stream.tail.date[0] < 70 { "2000" } else { "1900" };
        vec![
            ("return mode", mode_name(&stream.tail)),
            ("factory byte", format!("{:02x}", stream.tail.factory)),
            ("numbered", numbered.to_owned()),
            ("years since", base.to_owned()),
        ]
    }
}

fn gps_state(packet: &GpsPacket) -> String {
    let pps = if packet.pps_locked { "PPS locked" } else { "PPS not locked" };
    let sentence: String = packet.sentence.iter().map(|byte| printable(*byte)).collect();
    if sentence.is_empty() { pps.to_owned() } else { format!("{pps}, {sentence}") }
}

/// The byte as a character; U+FFFD if it is not printable ASCII.
fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { byte.into() } else { '\u{fffd}' }
}

fn gps_text(packet: &GpsPacket) -> String {
    let [year, month, day, hour, minute, second] = packet.date;
    format!(
        "gps  {year:02}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:06}  {}",
        packet.micros,
        gps_state(packet)
    )
}

fn gps_fields(packet: &GpsPacket) -> Map<String, Value> {
    object_of(json!({
        "date": packet.date,
        "timestamp_us": packet.micros,
        "pps_locked": packet.pps_locked,
        "status": (packet.status != 0).then(|| printable(packet.status).to_string()),
        "sentence": String::from_utf8_lossy(&packet.sentence),
    }))
}

/// Converter of the profile's packets to points; `calibration` names the source of the laser angles.
fn point_source(driver: &HesaiProfile, calibration: &'static str) -> PointSource {
    let lasers = calibration::lasers_of(driver, &driver.defaults.serial);
    let elevations_rad = lasers.iter().map(|laser| laser.elevation_deg.to_radians()).collect();
    // Same correction as in the maker's drivers: the rotor rotates between the instant of the block's azimuth and the
    // pulse of each laser.
    let after_ns = driver.packet.azimuth_after_ns as f64;
    let beams: Vec<_> = lasers
        .iter()
        .map(|laser| {
            let up_flat = libm::sincos(laser.elevation_deg.to_radians());
            let turned_us = (f64::from(laser.firing_ns) - after_ns) / 1000.0;
            (up_flat, (laser.azimuth_deg, turned_us))
        })
        .collect();
    PointSource {
        calibration,
        elevations_rad,
        decode: Box::new(move |payload, block, points| {
            let Ok(packet) = Packet::parse(payload) else { return };
            let Some((azimuth, own)) = packet.blocks().nth(block) else { return };
            let azimuth_deg = f64::from(azimuth) / 100.0;
            let deg_per_us = f64::from(packet.tail().rpm) * 6e-6;
            for (laser, (point, ((up, flat), (offset_deg, turned_us)))) in
                packet.points(own).zip(&beams).enumerate()
            {
                if point.distance == 0 {
                    continue;
                }
                // Clockwise from forward.
                let (sin, cos) =
                    libm::sincos((azimuth_deg + offset_deg + turned_us * deg_per_us).to_radians());
                let range_m = f64::from(point.distance) * DISTANCE_UNIT_M;
                points.push(CloudPoint {
                    position_m: DVec3::new(cos * flat, -sin * flat, *up) * range_m,
                    intensity: point.reflectivity.into(),
                    laser,
                    firing: if packet.is_dual() { block / 2 } else { block },
                    range_m,
                });
            }
        }),
    }
}
