//! Decodes data and position packets.

mod cloud;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::layout::Layout;
use super::profile::VelodyneProfile;
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    DATA, DatagramDecoder, Head, Lines, PointSource, Shot, Stamp, Sweep, Twin,
};
use crate::decoder::facts::{Facts, plural};
use crate::decoder::{Misfit, Named, object_of};
use crate::spinning::data_packet;
use crate::wire::velodyne::position::{ImuWords, POSITION_PACKET_LEN, PositionPacket, PpsStatus};
use crate::wire::velodyne::{HOUR_US, Model, ReturnMode};

/// UDP port of position packets.
const POSITION_PORT: u16 = 8308;
/// Name of position packets.
const POSITION: &str = "position";

/// Largest number of packet intervals that are stored to compute their median.
const SPACINGS: usize = 101;
/// Largest relative difference between the packet interval of a capture and that of the profile. If the difference is
/// larger, the packets come from another firmware.
const SPACING_TOLERANCE: f64 = 0.01;

impl Named<VelodyneProfile> {
    fn model(&self) -> Option<Model> {
        Model::from_product_id(self.profile.packet.product_id)
    }

    /// Packet interval of the profile, microseconds.
    fn spacing_us(&self, is_dual: bool) -> f64 {
        let layout = Layout::new(self.profile.lasers.len(), is_dual);
        layout.sequences as f64 * self.profile.sequence_ns as f64 * 1e-3
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct VelodyneDecoder {
    named: Option<Named<VelodyneProfile>>,
    /// Whether the named model is used even if packets contradict it.
    anyway: bool,
    /// Profiles to choose from.
    known: &'static [Arc<Profile>],
    /// Timestamp of the last data packet.
    last_stamp: Option<Stamp>,
    spacings_us: Vec<i64>,
    /// Number of data packets by their model; `None`: no model matches the packet.
    models: BTreeMap<Option<Model>, u64>,
    /// Last two bytes (return mode and product) of the first and of the last data packet.
    status: Option<([u8; 2], [u8; 2])>,
    position: Option<Box<PositionPacket>>,
}

impl VelodyneDecoder {
    /// Decoder for the profile `named`, or for any profile.
    pub(super) fn new(
        named: Option<Named<VelodyneProfile>>,
        anyway: bool,
        known: &'static [Arc<Profile>],
    ) -> Self {
        Self { named, anyway, known, ..Self::default() }
    }

    /// Most frequent model of the data packets; `None` if packets that match no model are the most frequent.
    fn told(&self) -> Option<Model> {
        let most = self.models.iter().max_by_key(|(_, count)| **count);
        most.and_then(|(model, _)| *model)
    }

    /// The profile that the user named; `None` if there is none, or if the packets are from another model. With
    /// `anyway`, the named profile is returned even if the packets contradict it.
    fn meant(&self) -> Option<&Named<VelodyneProfile>> {
        self.named.as_ref().filter(|_| self.anyway || !self.is_other_product())
    }

    /// Whether the most frequent model of the packets differs from the named profile's. Packets of some firmware match
    /// no model and do not count as different.
    fn is_other_product(&self) -> bool {
        let told = self.told();
        let differs = |named: &Named<VelodyneProfile>| told.is_some() && told != named.model();
        self.named.as_ref().is_some_and(differs)
    }

    /// Model of the sender: that of the profile in use, otherwise the most frequent one of the packets.
    fn whose(&self) -> Option<Model> {
        self.meant().map_or_else(|| self.told(), Named::model)
    }

    fn learn_spacing(&mut self, timestamp_us: u32) {
        let stamp = Stamp { us: timestamp_us, period_us: HOUR_US };
        if let Some(last) = self.last_stamp.replace(stamp)
            && self.spacings_us.len() < SPACINGS
        {
            self.spacings_us.push(stamp.since_us(last));
        }
    }

    /// Median packet interval, microseconds; `None` if there are too few packets.
    fn spacing_us(&self) -> Option<f64> {
        let mut all = self.spacings_us.clone();
        all.sort_unstable();
        all.get(all.len() / 2).filter(|_| all.len() >= SPACINGS / 5).map(|us| *us as f64)
    }

    /// Differences between the packets and the profile `named`, as text: signs that another firmware sent the packets.
    fn doubts(&self, named: &Named<VelodyneProfile>) -> Vec<String> {
        let mut doubts = Vec::new();
        let ([mode, product], _) = self.status.unwrap_or_default();
        if self.told().is_none() {
            doubts.push(format!("the last two bytes, {mode:#04x} {product:#04x}, name no model"));
        }
        let mode = ReturnMode::from_byte(mode);
        let modes = &named.profile.return_modes;
        if let Some(mode) =
            mode.filter(|mode| modes.iter().all(|known| known.word() != mode.name()))
        {
            doubts.push(format!("the return mode, {}, is not one of its modes", mode.name()));
        }
        let expected_us = named.spacing_us(mode == Some(ReturnMode::Dual));
        // Timestamps are whole microseconds.
        let most_us = 1.0 + SPACING_TOLERANCE * expected_us;
        if let Some(us) = self.spacing_us().filter(|us| (us - expected_us).abs() > most_us) {
            doubts.push(format!("the packets are {us} us apart, not {expected_us:.0} us"));
        }
        doubts
    }

    fn return_mode(&self) -> &'static str {
        let mode = self.status.and_then(|(_, [mode, _])| ReturnMode::from_byte(mode));
        mode.map_or("unknown", ReturnMode::name)
    }
}

fn position_packet(payload: &[u8]) -> Option<PositionPacket> {
    (payload.len() == POSITION_PACKET_LEN).then(|| PositionPacket::parse(payload).ok())?
}

impl DatagramDecoder for VelodyneDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        let Some(packet) = position_packet(payload) else { return data_packet::head(payload) };
        let is_position = ports.contains(&POSITION_PORT)
            || packet.nmea().is_some_and(|nmea| nmea.starts_with("$GP"));
        let stamp = Some(Stamp { us: packet.timestamp_us, period_us: HOUR_US });
        is_position.then_some(Head { kind: POSITION, stamp })
    }

    fn learn(&mut self, payload: &[u8]) {
        if let Some(packet) = data_packet::parse(payload) {
            *self.models.entry(packet.model()).or_default() += 1;
            self.learn_spacing(packet.timestamp_us());
            let last = packet.status_bytes();
            self.status = Some((self.status.map_or(last, |(first, _)| first), last));
        } else {
            self.position = position_packet(payload).map(Box::new);
        }
    }

    fn likelihood(&self) -> f64 {
        if self.meant().is_some() && !self.models.is_empty() {
            return 2.0;
        }
        // Decoders of other families recognise their own packets with more certainty.
        if self.models.is_empty() && self.position.is_none() { 0.0 } else { 0.5 }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let Some(named) = self.named.as_ref().filter(|_| !self.models.is_empty()) else {
            return Vec::new();
        };
        if let Some(told) = self.told().filter(|_| self.is_other_product()) {
            let ([_, product], _) = self.status.unwrap_or_default();
            let own = named.profile.packet.product_id;
            let text = match told {
                Model::Hdl64e => "the packets have an HDL-64E's blocks of lower lasers".to_owned(),
                other => format!(
                    "the packets are those of a {}: byte 1205 is {product:#04x}, that of {} is \
                     {own:#04x}",
                    other.name(),
                    named.name
                ),
            };
            return vec![Misfit { is_other_product: true, text }];
        }
        let doubts = self.doubts(named).into_iter();
        doubts.map(|text| Misfit { is_other_product: false, text }).collect()
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        data_packet::sweep(payload)
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let named = self.meant().map(|named| &*named.profile);
        let driver =
            named.or_else(|| self.told().and_then(|model| cloud::driver_of(model, self.known)));
        driver.map_or_else(Vec::new, |driver| {
            data_packet::shots(payload, driver.lasers.len(), driver.packet.distance_unit_m)
        })
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, has_stamps: bool) -> &'static str {
        data_packet::protocol(has_stamps)
    }

    fn model(&self) -> String {
        self.whose().map_or("unknown", Model::name).to_owned()
    }

    fn model_text(&self) -> String {
        format!("{}, return mode {}", self.model(), self.return_mode())
    }

    fn text(&self, payload: &[u8]) -> String {
        if let Some(packet) = position_packet(payload) {
            return position_text(&packet);
        }
        let Some(packet) = data_packet::parse(payload) else { return String::new() };
        let [mode, product] = packet.status_bytes();
        let status = match ReturnMode::from_byte(mode) {
            Some(mode) => mode.name().to_owned(),
            None => format!("status {mode:#04x} {product:#04x}"),
        };
        format!("{}  {status}", data_packet::text(&packet, &self.model(), true))
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        if let Some(packet) = position_packet(payload) {
            return position_fields(&packet);
        }
        let Some(packet) = data_packet::parse(payload) else { return Map::new() };
        let [mode, product] = packet.status_bytes();
        let status = object_of(json!({
            "return_mode": ReturnMode::from_byte(mode).map(|mode| mode.name()),
            "factory_bytes": [mode, product],
        }));
        let unit_m = self.whose().unwrap_or(Model::Hdl64e).distance_unit_m();
        data_packet::fields(&packet, &self.model(), unit_m, true, status)
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[POSITION]
    }

    fn other(&self, _kind: &str, packets: u64) -> Facts {
        let mut facts = Facts::default();
        let Some(last) = &self.position else { return facts };
        let pps = last.pps_status().map(|pps| pps.name());
        let text = format!("{}, PPS {}", plural(packets, "packet"), pps.unwrap_or("unknown"));
        facts.add("last_pps", pps, POSITION, text);
        facts.add_known("last_nmea", last.nmea(), "last NMEA", |nmea| printable(nmea));
        facts.add_data("last_timestamp_us", last.timestamp_us);
        facts
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if let Some(named) = self.meant() {
            return Ok(cloud::point_source_of(&named.profile));
        }
        let Some(model) = self.told() else {
            return Err("points of an unknown lidar cannot be computed".to_owned());
        };
        cloud::point_source(model, self.known)
            .ok_or_else(|| format!("points of {} cannot be computed", model.name()))
    }

    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String> {
        let Some(driver) = profile.data::<VelodyneProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        let ([mode, product], _) = self.status.unwrap_or_default();
        let own = driver.packet.product_id;
        if product != own {
            return Err(format!(
                "is from another product: byte 1205 is {product:#04x}, that of {} is {own:#04x}",
                profile.name
            ));
        }
        let step = f64::from(driver.rotation_rates.step_rpm);
        let rate_rpm = ((rate_rpm / step).round() * step)
            .clamp(driver.rotation_rates.min_rpm.into(), driver.rotation_rates.max_rpm.into());
        let mode = match ReturnMode::from_byte(mode) {
            Some(ReturnMode::Last) => "last",
            Some(ReturnMode::Dual) => "dual",
            _ => "strongest",
        };
        // A capture does not show how the clock was set. If PPS is locked, the clock of the twin has the reference UTC.
        let pps = self.position.as_ref().and_then(|packet| packet.pps_status());
        let clock = if pps == Some(PpsStatus::Locked) { "utc" } else { "free-running" };
        Ok(Twin {
            settings: format!(
                "{{ rotation_rate_rpm = {rate_rpm}, return_mode = {mode:?}, \
                 clock = {{ reference = {clock:?} }} }}"
            ),
            title: format!("{rate_rpm} rpm, {mode}"),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        if kind == DATA {
            let ([mode, product], _) = self.status.unwrap_or_default();
            return vec![("factory bytes", format!("{mode:02x} {product:02x}"))];
        }
        self.position.as_ref().map(|packet| position_marks(packet)).unwrap_or_default()
    }
}

fn position_text(packet: &PositionPacket) -> String {
    let pps = packet.pps_status().map_or("unknown", |pps| pps.name());
    let nmea = packet.nmea().map_or_else(|| "no NMEA".to_owned(), printable);
    format!("position  t {:>10} us  PPS {pps}  {nmea}", packet.timestamp_us)
}

/// Text without control characters, safe for a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn position_fields(packet: &PositionPacket) -> Map<String, Value> {
    let imu = packet.imu.iter().map(|unit| {
        json!({
            "gyro": ImuWords::value(unit.gyro),
            "temperature": ImuWords::value(unit.temperature),
            "acceleration_x": ImuWords::value(unit.acceleration_x),
            "acceleration_y": ImuWords::value(unit.acceleration_y),
        })
    });
    object_of(json!({
        "timestamp_us": packet.timestamp_us,
        "pps": packet.pps_status().map(|pps| pps.name()),
        "pps_byte": packet.pps,
        "nmea": packet.nmea(),
        "imu": imu.collect::<Vec<_>>(),
    }))
}

fn position_marks(packet: &PositionPacket) -> Lines {
    let used = |bytes: &[u8]| match bytes.iter().filter(|byte| **byte != 0).count() {
        0 => "zero".to_string(),
        count => format!("{count} bytes used"),
    };
    let address = packet.nmea().and_then(|text| text.split(',').next()).unwrap_or("none");
    let padding = packet.nmea_area.iter().rev().take_while(|byte| **byte == 0).count();
    let has_units = packet.imu.iter().any(|unit| *unit != ImuWords::default());
    vec![
        ("first bytes", used(&packet.lead)),
        ("inertial units", if has_units { "told" } else { "zero" }.to_string()),
        ("telemetry", used(&packet.telemetry)),
        ("PPS", packet.pps_status().map_or("unknown", |status| status.name()).to_string()),
        ("sentence", address.to_string()),
        ("zeros after it", if padding > 0 { "yes" } else { "no" }.to_string()),
    ]
}
