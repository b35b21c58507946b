//! Decodes lidar and IMU packets.
//!
//! Packets do not contain their format. The decoder selects the format in which sixteen columns are consecutive and
//! unused bytes are zero. The number of columns per rotation follows from the time between columns and from the
//! observed column numbers.

mod packets;
mod points;

use serde_json::{Map, Value, json};

use self::packets::{imu_packet, lidar_packet};
use self::points::point_source;
use super::profile::OusterProfile;
use super::words::LidarMode;
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    DATA, DatagramDecoder, Head, Lines, PointSource, RawReturn, Shot, Stamp, Sweep, TurnSteps, Twin,
};
use crate::decoder::facts::{Facts, plural};
use crate::decoder::{Misfit, Named, object_of};
use crate::wire::ouster::format::{COLUMNS, ENCODER_TICKS, LidarFormat};
use crate::wire::ouster::imu::ImuPacket;
use crate::wire::ouster::lidar::{Column, Footer, Header, Packet, Pixel};

/// Name of IMU packets.
const IMU: &str = "imu";
/// Modulus for the comparison of timestamps: an hour, microseconds.
const HOUR_US: u32 = 3_600_000_000;
/// Timestamps of at least this value (the year 2001) are POSIX time; smaller ones are the time since power-up.
/// Nanoseconds.
const OUR_AGE_NS: u64 = 1_000_000_000_000_000_000;

/// State from earlier lidar packets.
#[derive(Clone, Copy, Debug)]
struct StreamState {
    format: LidarFormat,
    pixels: usize,
    /// Columns per rotation.
    turn: u16,
    /// Whether `turn` is certain, because an encoder value or the end of a rotation has determined it.
    is_turn_told: bool,
    /// First and last packet header.
    headers: [Header; 2],
    /// First column of the last packet.
    last: Column,
    footer: Option<Footer>,
    packets: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct OusterDecoder {
    named: Option<Named<OusterProfile>>,
    stream: Option<StreamState>,
    imu: Option<ImuPacket>,
}

fn stamp(ns: u64) -> Stamp {
    Stamp { us: (ns / 1000 % u64::from(HOUR_US)) as u32, period_us: HOUR_US }
}

/// Usual number of columns per rotation for this time between columns, nanoseconds.
fn usual_turn(period_ns: u64) -> u16 {
    match period_ns {
        0..70_000 => 2048,
        70_000..140_000 => 1024,
        _ => 512,
    }
}

/// Smallest possible number of columns per rotation, 512 to 4096, if the column `column` exists.
fn least_turn(column: u16) -> u16 {
    [512, 1024, 2048].into_iter().find(|turn| column < *turn).unwrap_or(4096)
}

impl OusterDecoder {
    /// Decoder for the profile `named`, or for any profile.
    pub(super) fn new(named: Option<Named<OusterProfile>>) -> Self {
        Self { named, ..Self::default() }
    }

    fn lidar_packet<'p>(&self, payload: &'p [u8]) -> Option<Packet<'p>> {
        let beams = self.named.as_ref().map(|named| named.profile.beams.len());
        // Packets of other products are decoded too, to report the difference.
        lidar_packet(beams, payload).or_else(|| lidar_packet(None, payload))
    }

    fn turn(&self) -> u16 {
        self.stream.map_or(1024, |stream| stream.turn)
    }

    fn learn_lidar(&mut self, packet: &Packet<'_>) {
        let mut columns = packet.columns().map(|(column, _)| column);
        let (Some(first), Some(last)) = (columns.next(), columns.last()) else { return };
        let span_ns = last.timestamp_ns.saturating_sub(first.timestamp_ns);
        let period_ns = span_ns / (COLUMNS as u64 - 1);
        let header = packet.header();
        let known = self.stream.filter(|stream| stream.format == packet.format());
        let by_encoder = packet.encoder().filter(|_| first.measurement_id > 0);
        let mut turn = known.map_or_else(|| usual_turn(period_ns), |stream| stream.turn);
        turn = turn.max(least_turn(last.measurement_id));
        let mut is_turn_told = known.is_some_and(|stream| stream.is_turn_told);
        if let Some(encoder) = by_encoder {
            let ticks = (encoder / u32::from(first.measurement_id)).max(1);
            turn = (ENCODER_TICKS / ticks).clamp(512, 4096) as u16;
            is_turn_told = true;
        } else if let Some(stream) = known
            && first.measurement_id == 0
            && header.frame_id != stream.headers[1].frame_id
        {
            // The previous packet ended the rotation, so the column after it is the number of columns per rotation.
            let end = stream.last.measurement_id + COLUMNS as u16;
            if matches!(end, 512 | 1024 | 2048 | 4096) {
                (turn, is_turn_told) = (end, true);
            }
        }
        self.stream = Some(StreamState {
            format: packet.format(),
            pixels: packet.pixels(),
            turn,
            is_turn_told,
            headers: [known.map_or(header, |stream| stream.headers[0]), header],
            last: first,
            footer: packet.footer(),
            packets: known.map_or(0, |stream| stream.packets) + 1,
        });
    }

    /// Describes a conflict between the packets and the named profile; `None` without one.
    fn problem(&self) -> Option<String> {
        let (named, stream) = (self.named.as_ref()?, self.stream?);
        let beams = named.profile.beams.len();
        (stream.pixels != beams).then(|| {
            format!("the packets have {} beams, {} has {beams}", stream.pixels, named.name)
        })
    }

    fn mode(&self, rate_rpm: f64) -> Option<LidarMode> {
        let modes = LidarMode::WORDS.into_iter().map(|(_, mode)| mode);
        let own = modes.filter(|mode| mode.columns() == self.turn());
        let off = |mode: &LidarMode| (f64::from(mode.rpm()) - rate_rpm).abs();
        own.min_by(|a, b| off(a).total_cmp(&off(b)))
    }
}

impl DatagramDecoder for OusterDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        if let Some(packet) = imu_packet(payload) {
            return Some(Head { kind: IMU, stamp: Some(stamp(packet.system_ns)) });
        }
        let (first, _) = self.lidar_packet(payload)?.columns().next()?;
        Some(Head { kind: DATA, stamp: Some(stamp(first.timestamp_ns)) })
    }

    fn learn(&mut self, payload: &[u8]) {
        match imu_packet(payload) {
            Some(packet) => self.imu = Some(packet),
            None => {
                let packet = self.lidar_packet(payload);
                packet.iter().for_each(|packet| self.learn_lidar(packet));
            }
        }
    }

    fn likelihood(&self) -> f64 {
        match (&self.named, &self.stream, &self.imu) {
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
        let Some(packet) = self.lidar_packet(payload) else { return Sweep::default() };
        let (format, turn) = (packet.format(), u32::from(self.turn()));
        let is_guess = self.stream.is_none_or(|stream| !stream.is_turn_told);
        let mut sweep = Sweep {
            is_dual: format.returns() == 2,
            is_paired_by_point: true,
            turn: Some(TurnSteps { count: self.turn(), is_guess }),
            ..Sweep::default()
        };
        for (column, pixels) in packet.columns().filter(|(column, _)| column.is_valid) {
            let id = u32::from(column.measurement_id);
            let centideg = (id * 36_000 + turn / 2) / turn % 36_000;
            sweep.azimuths_centideg.push(centideg as u16);
            for bytes in pixels.chunks_exact(format.pixel_len()) {
                let pixel = Pixel::get(format, bytes);
                let returns = pixel.returns[..format.returns()].iter();
                sweep.returns.extend(returns.map(|one| RawReturn {
                    is_empty: one.range_mm == 0,
                    intensity: one.reflectivity.min(255) as u8,
                    distance: one.range_mm,
                }));
            }
        }
        if format != LidarFormat::Legacy && packet.footer().is_none() {
            sweep.issues.push("the checksum is wrong".to_owned());
        }
        sweep
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let packet = self.lidar_packet(payload).filter(|_| self.problem().is_none());
        packet.map_or_else(Vec::new, |packet| points::shots(&packet, self.turn()))
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "ouster"
    }

    fn model(&self) -> String {
        match (&self.named, &self.stream) {
            (Some(named), _) if self.problem().is_none() => {
                named.profile.identity.product_line.clone()
            }
            (_, Some(stream)) => format!("Ouster with {} beams", stream.pixels),
            (_, None) => "unknown".to_owned(),
        }
    }

    fn model_text(&self) -> String {
        match &self.stream {
            Some(stream) => {
                format!("{}, {}, {} columns", self.model(), stream.format.name(), stream.turn)
            }
            None => self.model(),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        if let Some(imu) = imu_packet(payload) {
            let ([x, y, z], [p, q, r]) = (imu.acceleration_g, imu.angular_rate_deg_s);
            return format!("imu  {x:+.4} {y:+.4} {z:+.4} g  {p:+.3} {q:+.3} {r:+.3} deg/s");
        }
        let Some(packet) = self.lidar_packet(payload) else { return String::new() };
        let Some((first, _)) = packet.columns().next() else { return String::new() };
        let sweep = self.sweep(payload);
        let seen = sweep.returns.iter().filter(|one| !one.is_empty).count();
        format!(
            "{}  frame {:>5}  columns {:>4}..{:>4}  {seen:>4}/{} returns  t {} ns",
            packet.format().name(),
            packet.header().frame_id,
            first.measurement_id,
            first.measurement_id + COLUMNS as u16 - 1,
            sweep.returns.len(),
            first.timestamp_ns
        )
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        if let Some(imu) = imu_packet(payload) {
            return object_of(json!({
                "system_ns": imu.system_ns,
                "acceleration_ns": imu.acceleration_ns,
                "gyro_ns": imu.gyro_ns,
                "acceleration_g": imu.acceleration_g,
                "angular_rate_deg_s": imu.angular_rate_deg_s,
            }));
        }
        let Some(packet) = self.lidar_packet(payload) else { return Map::new() };
        let (format, header) = (packet.format(), packet.header());
        let column = |(column, pixels): (Column, &[u8])| {
            let pixels: Vec<_> = pixels
                .chunks_exact(format.pixel_len())
                .map(|bytes| Pixel::get(format, bytes))
                .collect();
            let of_return = |place: usize| {
                let one = move |pixel: &Pixel| pixel.returns[place];
                json!({
                    "range_mm": pixels.iter().map(|p| one(p).range_mm).collect::<Vec<_>>(),
                    "reflectivity": pixels.iter().map(|p| one(p).reflectivity).collect::<Vec<_>>(),
                    "signal": pixels.iter().map(|p| one(p).signal).collect::<Vec<_>>(),
                })
            };
            json!({
                "measurement_id": column.measurement_id,
                "timestamp_ns": column.timestamp_ns,
                "valid": column.is_valid,
                "returns": (0..format.returns()).map(of_return).collect::<Vec<_>>(),
                "near_infrared": pixels.iter().map(|p| p.near_infrared).collect::<Vec<_>>(),
            })
        };
        object_of(json!({
            "udp_profile_lidar": format.name(),
            "frame_id": header.frame_id,
            "initialization_id": header.initialization_id,
            "serial": header.serial,
            "alert_flags": header.alert_flags,
            "shot_limiting": header.shot_limiting,
            "thermal_shutdown": header.thermal_shutdown,
            "columns": packet.columns().map(column).collect::<Vec<_>>(),
        }))
    }

    fn state(&self) -> Facts {
        let mut facts = Facts::default();
        let Some(StreamState { format, headers: [_, last], footer, .. }) = self.stream else {
            return facts;
        };
        let (id, serial, alerts) = (last.initialization_id, last.serial, last.alert_flags);
        facts.add("initialization_id", id, "init id", id.to_string());
        facts.add("serial", serial, "serial number", serial.to_string());
        facts.add("alert_flags", alerts, "alert flags", format!("{alerts:#04x}"));
        facts.add_data("shot_limiting", last.shot_limiting);
        facts.add_data("thermal_shutdown", last.thermal_shutdown);
        facts.add("footer", footer_word(footer), "footer", footer_word(footer));
        // The header of the legacy format has none of these fields.
        if format == LidarFormat::Legacy { facts.without_lines() } else { facts }
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[IMU]
    }

    fn other(&self, _kind: &str, packets: u64) -> Facts {
        let (mut facts, mut text) = (Facts::default(), plural(packets, "packet"));
        if let Some(last) = &self.imu {
            let [x, y, z] = last.acceleration_g;
            text += &format!(", last {x:+.3} {y:+.3} {z:+.3} g");
            facts.add_data("last_system_ns", last.system_ns);
            facts.add_data("last_acceleration_g", json!(last.acceleration_g));
            facts.add_data("last_angular_rate_deg_s", json!(last.angular_rate_deg_s));
        }
        facts.add_line(IMU, text);
        facts
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        let named = self.named.as_ref().ok_or(
            "an Ouster's packets do not contain its beam angles; name its profile with --profile",
        )?;
        Ok(point_source(&named.profile, self.turn()))
    }

    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String> {
        let stream = self.stream.ok_or("contains no lidar packets")?;
        let Some(driver) = profile.data::<OusterProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        if driver.beams.len() != stream.pixels {
            let beams = driver.beams.len();
            return Err(format!("has {} beams, {} has {beams}", stream.pixels, profile.name));
        }
        let format = stream.format.name();
        if !driver.packet.formats.contains(&stream.format) {
            return Err(format!("has lidar profile {format}, which {} lacks", profile.name));
        }
        let mode = self.mode(rate_rpm).filter(|mode| driver.modes.contains(mode));
        let mode = mode.ok_or("has a rotation rate that the profile lacks")?.word();
        let clock = match stream.last.timestamp_ns >= OUR_AGE_NS {
            true => "timestamp_mode = \"TIME_FROM_PTP_1588\", clock = { ptp = \"locked\" }",
            false => "timestamp_mode = \"TIME_FROM_INTERNAL_OSC\"",
        };
        Ok(Twin {
            settings: format!(
                "{{ lidar_mode = {mode:?}, udp_profile_lidar = {format:?}, {clock} }}"
            ),
            title: format!("{mode}, {format}"),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        let Some(stream) = self.stream.filter(|_| kind == DATA) else { return Lines::new() };
        vec![
            ("lidar profile", stream.format.name().to_owned()),
            ("columns of a frame", stream.turn.to_string()),
            ("footer", footer_word(stream.footer).to_owned()),
        ]
    }
}

fn footer_word(footer: Option<Footer>) -> &'static str {
    match footer {
        Some(Footer::Zero) => "zeros",
        Some(Footer::Constant) => "constant",
        Some(Footer::Crc64) => "CRC-64",
        None => "none",
    }
}

#[cfg(test)]
mod tests;
