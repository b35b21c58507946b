//! Decodes MSOP (point), DIFOP (status) and IMU packets.
//!
//! Length, first bytes and type of a packet determine its layout. DIFOP packets, which go to another port, have the
//! laser angles; before the first DIFOP packet, the angles of the profile are used.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::angles::{geometry, lasers_of, serial_text};
use super::m1_points;
use super::parts::{Part, Reading, own_step, parts};
use super::profile::{PtpState, RobosenseProfile, UnitLaser};
use crate::config::profile::Profile;
use crate::decoder::datagram::{
    CloudPoint, DATA, DatagramDecoder, Head, Lines, PointSource, RawReturn, Shot, Stamp, Sweep,
    Twin,
};
use crate::decoder::facts::plural;
use crate::decoder::{Misfit, Named, object_of};
use crate::wire::robosense::difop::{Difop, SyncMode, gps, is_difop};
use crate::wire::robosense::imu::Sample;
use crate::wire::robosense::layout::Layout;
use crate::wire::robosense::msop::{self, FULL_TURN_CENTIDEG, Packet, Point};

/// Name of DIFOP packets in the output.
const DIFOP: &str = "difop";
/// Name of packets with IMU samples in the output.
const IMU: &str = "imu";
/// Modulus for the comparison of timestamps: an hour, microseconds.
const HOUR_US: u32 = 3_600_000_000;
/// Full scale of IMU samples for unknown profiles, bits.
const FULL_SCALE_BITS: u8 = 15;
const USUAL_RPM: u16 = 600;

/// State from earlier packets of points.
#[derive(Clone, Copy, Debug)]
struct StreamState {
    layout: Layout,
    /// Header of the last packet.
    head: msop::Head,
    /// Number of packets missing from the sequence.
    missing: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RobosenseDecoder {
    named: Option<Named<RobosenseProfile>>,
    /// Profiles to choose from by the model in the packets.
    known: &'static [Arc<Profile>],
    stream: Option<StreamState>,
    /// Last DIFOP packet, whose fields depend on the layout.
    difop: Option<Arc<[u8]>>,
    /// Content of `difop`, once the layout is known.
    state: Option<Arc<Difop>>,
    /// Layout of the MSOP packets that the same sender sends to a port that is not decoded.
    aside: Option<Layout>,
    imu: Option<Sample>,
}

fn stamp(unix_us: i64) -> Stamp {
    let us = unix_us.rem_euclid(HOUR_US.into()) as u32;
    Stamp { us, period_us: HOUR_US }
}

fn date_text(unix_us: i64) -> String {
    jiff::Timestamp::from_microsecond(unix_us)
        .map_or_else(|_| format!("{unix_us} us"), |time| format!("{time:.6}"))
}

fn model_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Rs16 => "RS-LiDAR-16",
        Layout::Rs32 => "RS-LiDAR-32",
        Layout::Bpearl => "Bpearl",
        Layout::BpearlV4 => "Bpearl 4",
        Layout::Helios => "Helios",
        Layout::Helios16 => "Helios-16P",
        Layout::Ruby => "Ruby",
        Layout::Airy => "Airy",
        Layout::M1 => "M1",
    }
}

impl RobosenseDecoder {
    /// Decoder for the profile `named`, or for any profile.
    pub(super) fn new(
        named: Option<Named<RobosenseProfile>>,
        known: &'static [Arc<Profile>],
    ) -> Self {
        Self { named, known, ..Self::default() }
    }

    /// The named profile, else a profile with the layout and, if possible, the type of the packets.
    fn profile(&self) -> Option<(&str, &RobosenseProfile)> {
        if let Some(named) = &self.named {
            return Some((&named.name, &named.profile));
        }
        let stream = self.stream?;
        let known = || self.known.iter().filter_map(|one| Some((one.name.as_str(), one.data()?)));
        let has_layout = |driver: &RobosenseProfile| driver.packet.layout == stream.layout;
        let exact = known().find(|(_, driver): &(&str, &RobosenseProfile)| {
            has_layout(driver) && [driver.packet.kind, driver.packet.model] == stream.head.kind
        });
        exact.or_else(|| known().find(|(_, driver)| has_layout(driver)))
    }

    /// Layout of the received MSOP packets, otherwise of the named profile; `None` if neither is known.
    fn layout(&self) -> Option<Layout> {
        let received = self.stream.map(|stream| stream.layout).or(self.aside);
        received.or_else(|| self.named.as_ref().map(|named| named.profile.packet.layout))
    }

    /// Parses the last DIFOP packet, if the layout is known.
    fn read_state(&mut self) {
        let read = |layout| Difop::parse(layout, self.difop.as_deref()?).ok();
        self.state = self.layout().and_then(read).map(Arc::new);
    }

    fn see_state(&mut self, payload: &[u8]) {
        self.difop = Some(payload.into());
        self.read_state();
    }

    fn problem(&self) -> Option<String> {
        let (named, stream) = (self.named.as_ref()?, self.stream?);
        let own = named.profile.packet.layout;
        (stream.layout != own).then(|| {
            let (sender, own) = (model_name(stream.layout), model_name(own));
            format!("the packets are those of a {sender}, {} is a {own}", named.name)
        })
    }

    /// Whether firings have two returns, as DIFOP packets report. Without a DIFOP packet, the header of a Ruby and the
    /// return number in a block of an M1 decide. Packets of other models count as dual if two successive blocks (Airy:
    /// pairs of blocks) have the same azimuth; packets of RS-LiDAR-16 and Helios-16P count as single.
    fn is_dual(&self, packet: &Packet<'_>) -> bool {
        let layout = packet.layout();
        if let Some(state) = &self.state {
            return layout.is_dual(state.returns);
        }
        match layout {
            Layout::M1 => packet.angled(0).1 > 0,
            Layout::Ruby => layout.is_dual(packet.head().returns),
            Layout::Airy => packet.azimuth(0) == packet.azimuth(2),
            Layout::Rs16 | Layout::Helios16 => false,
            _ => packet.azimuth(0) == packet.azimuth(1),
        }
    }

    fn reading(&self, packet: &Packet<'_>) -> Reading {
        let is_dual = self.is_dual(packet);
        let usual = || {
            let rpm = self.state.as_ref().map_or(USUAL_RPM, |state| state.rpm);
            let period_ns = self.profile().map_or(55_560, |(_, driver)| driver.step_ns(1));
            f64::from(if rpm == 0 { USUAL_RPM } else { rpm }) * 6e-9 * period_ns as f64 * 100.0
        };
        let own = if packet.layout() == Layout::M1 { None } else { own_step(packet, is_dual) };
        Reading { is_dual, step_centideg: own.unwrap_or_else(usual) }
    }

    /// Lasers of the unit, and a text that names the source of their angles: DIFOP packet or profile.
    fn lasers(&self, driver: &RobosenseProfile) -> (Vec<UnitLaser>, &'static str) {
        let angles = self.state.as_ref().map_or(&[][..], |state| &state.angles[..]);
        let own = |(laser, angles): (&UnitLaser, &[Option<f64>; 2])| {
            let [elevation_deg, azimuth_deg] = *angles;
            Some(UnitLaser { elevation_deg: elevation_deg?, azimuth_deg: azimuth_deg?, ..*laser })
        };
        let lasers: Option<Vec<_>> = driver.lasers.iter().zip(angles).map(own).collect();
        match lasers.filter(|lasers| lasers.len() == driver.lasers.len()) {
            Some(lasers) => (lasers, "the unit's own angles"),
            None => (lasers_of(driver, driver.defaults.serial), "angles of the model"),
        }
    }

    fn return_mode(&self) -> Option<String> {
        let code = self.state.as_ref()?.returns;
        let (_, driver) = self.profile()?;
        let known = driver.return_modes.iter().find(|(_, own)| *own == code);
        Some(known.map_or_else(|| format!("{code:#04x}"), |(mode, _)| mode.word().to_owned()))
    }

    fn bits(&self) -> u8 {
        let imu = self.profile().and_then(|(_, driver)| driver.imu);
        imu.map_or(FULL_SCALE_BITS, |imu| imu.full_scale_bits)
    }

    /// Returns of a packet, part by part.
    fn returns(&self, packet: &Packet<'_>, parts: &[Part]) -> Vec<RawReturn> {
        let raw = |point: Point| RawReturn {
            is_empty: point.distance == 0,
            intensity: point.intensity,
            distance: point.distance.into(),
        };
        let slots = parts.iter().flat_map(|part| &part.slots);
        slots.flat_map(|slot| packet.points(slot)).map(raw).collect()
    }
}

impl DatagramDecoder for RobosenseDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        if is_difop(payload) {
            return Some(Head { kind: DIFOP, stamp: None });
        }
        if let Ok(sample) = Sample::parse(payload, self.bits()) {
            return Some(Head { kind: IMU, stamp: Some(stamp(sample.unix_us)) });
        }
        let packet = Packet::parse(payload).ok()?;
        Some(Head { kind: DATA, stamp: Some(stamp(packet.head().unix_us)) })
    }

    fn learn(&mut self, payload: &[u8]) {
        if is_difop(payload) {
            self.see_state(payload);
            return;
        }
        if let Ok(sample) = Sample::parse(payload, self.bits()) {
            self.imu = Some(sample);
            return;
        }
        let Ok(packet) = Packet::parse(payload) else { return };
        let (layout, head) = (packet.layout(), packet.head());
        let before = self.stream.filter(|stream| stream.layout == layout);
        // A sequence number that goes back means a restart or another frame.
        let gap = before.map_or(0, |stream| match layout {
            Layout::M1 => head.count.saturating_sub(stream.head.count).saturating_sub(1),
            Layout::Ruby => 0,
            _ => {
                let gap = head.count.wrapping_sub(stream.head.count).wrapping_sub(1);
                if gap > u32::MAX / 2 { 0 } else { gap }
            }
        });
        let missing = before.map_or(0, |stream| stream.missing) + u64::from(gap);
        self.stream = Some(StreamState { layout, head, missing });
        if before.is_none() {
            self.read_state();
        }
    }

    fn learn_aside(&mut self, payload: &[u8]) {
        if is_difop(payload) {
            self.see_state(payload);
        } else if let Ok(packet) = Packet::parse(payload) {
            self.aside = Some(packet.layout());
            self.read_state();
        }
    }

    fn likelihood(&self) -> f64 {
        match (&self.named, &self.stream, &self.difop, &self.imu) {
            (Some(_), Some(_), ..) if self.problem().is_none() => 2.0,
            (_, Some(_), ..) => 1.0,
            (_, None, None, None) => 0.0,
            (_, None, ..) => 0.5,
        }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let problem = self.problem();
        problem.map(|text| Misfit { is_other_product: true, text }).into_iter().collect()
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        let Ok(packet) = Packet::parse(payload) else { return Sweep::default() };
        if packet.layout() == Layout::M1 {
            return m1_points::sweep(&packet);
        }
        let reading = self.reading(&packet);
        let parts = parts(&packet, reading);
        let whole = |part: &Part| part.centideg.round() as u16 % FULL_TURN_CENTIDEG;
        Sweep {
            azimuths_centideg: parts.iter().map(whole).collect(),
            returns: self.returns(&packet, &parts),
            // The two returns of a Ruby's firing can be in two packets, so they are not paired.
            is_dual: reading.is_dual && packet.layout() != Layout::Ruby,
            ..Sweep::default()
        }
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        let Ok(packet) = Packet::parse(payload) else { return Vec::new() };
        let layout = packet.layout();
        let unit_m = layout.distance_unit_m();
        let mut shots = Vec::new();
        let mut see = |laser: usize, [elevation_deg, azimuth_deg]: [f64; 2], point: Point| {
            if point.distance > 0 {
                shots.push(Shot {
                    laser: laser as u16,
                    azimuth_deg: azimuth_deg.rem_euclid(360.0),
                    elevation_deg,
                    range_m: f64::from(point.distance) * unit_m,
                    intensity: point.intensity,
                });
            }
        };
        if layout == Layout::M1 {
            for block in 0..layout.shape().blocks {
                let (_, number, points) = packet.angled(block);
                for (laser, point) in points.enumerate().filter(|_| number < 2) {
                    let [up_deg, left_deg] = point.angles_deg();
                    see(laser, [up_deg, -left_deg], point.point);
                }
            }
            return shots;
        }
        let reading = self.reading(&packet);
        for part in parts(&packet, reading).iter().filter(|part| !part.is_second) {
            for slot in &part.slots {
                for (place, point) in packet.points(slot).enumerate() {
                    see(slot.first_laser + place, [0.0, part.centideg / 100.0], point);
                }
            }
        }
        shots
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "robosense"
    }

    fn model(&self) -> String {
        self.stream.map_or("unknown", |stream| model_name(stream.layout)).to_owned()
    }

    fn model_text(&self) -> String {
        match self.return_mode() {
            Some(mode) => format!("{}, return mode {mode}", self.model()),
            None => self.model(),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        if is_difop(payload) {
            let layout = self.layout();
            let state = layout.and_then(|layout| Difop::parse(layout, payload).ok());
            return state.map_or_else(|| DIFOP.to_owned(), |state| state_text(&state));
        }
        if let Ok(sample) = Sample::parse(payload, self.bits()) {
            let ([x, y, z], [p, q, r]) = (sample.acceleration_g, sample.angular_rate_deg_s);
            let date = date_text(sample.unix_us);
            return format!(
                "imu  {x:+.4} {y:+.4} {z:+.4} g  {p:+.3} {q:+.3} {r:+.3} deg/s  {date}"
            );
        }
        let Ok(packet) = Packet::parse(payload) else { return String::new() };
        let (sweep, head) = (self.sweep(payload), packet.head());
        let seen = sweep.returns.iter().filter(|one| !one.is_empty).count();
        let degrees = |azimuth: Option<&u16>| f64::from(*azimuth.unwrap_or(&0)) / 100.0;
        format!(
            "{}  {:6.2}..{:6.2} deg  {seen:>4}/{} returns  #{}  {}",
            model_name(packet.layout()),
            degrees(sweep.azimuths_centideg.first()),
            degrees(sweep.azimuths_centideg.last()),
            sweep.returns.len(),
            head.count,
            date_text(head.unix_us),
        )
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        if is_difop(payload) {
            let layout = self.layout();
            let state = layout.and_then(|layout| Difop::parse(layout, payload).ok());
            return state.map(|state| state_fields(&state)).unwrap_or_default();
        }
        if let Ok(sample) = Sample::parse(payload, self.bits()) {
            return imu_fields(&sample);
        }
        let Ok(packet) = Packet::parse(payload) else { return Map::new() };
        let head = packet.head();
        let sweep = self.sweep(payload);
        object_of(json!({
            "model": model_name(packet.layout()),
            "distance_unit_m": packet.layout().distance_unit_m(),
            "lidar_type": head.kind[0],
            "lidar_model": head.kind[1],
            "packet_number": head.count,
            "temperature_c": head.celsius,
            "unix_us": head.unix_us,
            "azimuth_centideg": sweep.azimuths_centideg,
            "distance": sweep.returns.iter().map(|one| one.distance).collect::<Vec<_>>(),
            "intensity": sweep.returns.iter().map(|one| one.intensity).collect::<Vec<_>>(),
        }))
    }

    fn status_lines(&self) -> Lines {
        let Some(stream) = self.stream else { return Lines::new() };
        let mut lines = vec![
            ("last date", date_text(stream.head.unix_us)),
            ("temperature", format!("{:.1} degrees C", stream.head.celsius)),
        ];
        if stream.layout != Layout::Ruby {
            lines.push(("missing numbers", stream.missing.to_string()));
        }
        if let Some(state) = &self.state {
            lines.push(("serial", serial_text(state.serial)));
            // DIFOP packets of an Airy and of an M1 do not report the measured rotation rate.
            if !matches!(stream.layout, Layout::Airy | Layout::M1) {
                lines.push(("motor", format!("{} rpm", state.turns_rpm)));
            }
            let codes = self.profile().map_or([0, 1, 2], |(_, own)| own.interface.sync_codes);
            lines.push(("clock", sync_name(stream.layout, state, codes).to_owned()));
        }
        lines
    }

    fn status(&self) -> Value {
        let Some(stream) = self.stream else { return Value::Null };
        let state = self.state.as_deref();
        json!({
            "last_date": date_text(stream.head.unix_us),
            "temperature_c": stream.head.celsius,
            "missing_numbers": (stream.layout != Layout::Ruby).then_some(stream.missing),
            "serial": state.map(|state| serial_text(state.serial)),
            "motor_rpm": state.map(|state| state.turns_rpm),
        })
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[DIFOP, IMU]
    }

    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        let kind = if kind == IMU { IMU } else { DIFOP };
        let state = self.state.as_deref().filter(|_| kind == DIFOP);
        let last = state.map_or_else(String::new, |state| format!(", {}", state_text(state)));
        vec![(kind, format!("{}{last}", plural(packets, "packet")))]
    }

    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        match (kind, &self.imu) {
            (IMU, Some(sample)) => imu_fields(sample),
            (DIFOP, _) => self.state.as_deref().map(state_fields).unwrap_or_default(),
            _ => Map::new(),
        }
    }

    fn point_source(&self) -> Result<PointSource, String> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        if self.stream.is_none() {
            return Err("contains no points".to_owned());
        }
        let Some((_, driver)) = self.profile() else {
            return Err(format!("points of {} cannot be computed", self.model()));
        };
        let (lasers, calibration) = self.lasers(driver);
        if driver.packet.layout == Layout::M1 {
            return Ok(m1_points::point_source(driver));
        }
        let beams: Vec<_> = lasers.iter().map(|laser| geometry(driver, laser)).collect();
        let elevations_rad = beams.iter().map(|beam| beam.elevation_rad).collect();
        let firings_ns: Vec<f64> = lasers.iter().map(|laser| f64::from(laser.firing_ns)).collect();
        let (unit_m, period_ns) =
            (driver.packet.layout.distance_unit_m(), driver.step_ns(1) as f64);
        let sines: Vec<_> = beams.iter().map(|beam| libm::sincos(beam.elevation_rad)).collect();
        let own = self.clone();
        Ok(PointSource {
            calibration,
            elevations_rad,
            decode: Box::new(move |payload, block, out| {
                let Ok(packet) = Packet::parse(payload) else { return };
                let reading = own.reading(&packet);
                let parts = parts(&packet, reading);
                let Some(part) = parts.get(block) else { return };
                for slot in &part.slots {
                    for (place, point) in packet.points(slot).enumerate() {
                        let laser = slot.first_laser + place;
                        let (Some(beam), false) = (beams.get(laser), point.distance == 0) else {
                            continue;
                        };
                        let late = firings_ns[laser] / period_ns * reading.step_centideg;
                        let head_rad = ((part.centideg + late) / 100.0).to_radians();
                        let azimuth = libm::sincos(head_rad + beam.azimuth_offset_rad);
                        let range_m = f64::from(point.distance) * unit_m;
                        let beam = beam.beam(azimuth, sines[laser]);
                        out.push(CloudPoint {
                            position_m: beam.exit + beam.direction * range_m,
                            intensity: point.intensity.into(),
                            laser,
                            firing: part.firing,
                            range_m,
                        });
                    }
                }
            }),
        })
    }

    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String> {
        let stream = self.stream.ok_or("contains no points")?;
        let Some(driver) = profile.data::<RobosenseProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        if driver.packet.layout != stream.layout {
            return Err(format!(
                "is from a {}, {} is not one",
                model_name(stream.layout),
                profile.name
            ));
        }
        let code = self.state.as_ref().map(|state| state.returns);
        let own = driver.return_modes.iter().find(|(_, own)| Some(*own) == code);
        let (mode, _) = own.or(driver.return_modes.first()).ok_or("has no return mode")?;
        let off = |rate: &&u32| (f64::from(**rate) - rate_rpm).abs();
        let rate = driver.rates_rpm.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let rate = rate.copied().unwrap_or(600);
        let is_set = stream.head.unix_us > 1_420_070_400_000_000;
        let by_ptp = driver.sync_modes.iter().find(|mode| mode.word() != "gps");
        let clock = match (is_set, by_ptp) {
            (true, Some(mode)) => {
                let (mode, ptp) = (mode.word(), PtpState::Locked.word());
                format!(", sync_mode = {mode:?}, ptp = {ptp:?}")
            }
            (true, None) => ", clock = { reference = \"utc\" }".to_owned(),
            (false, _) => String::new(),
        };
        let mode = mode.word();
        Ok(Twin {
            settings: format!("{{ rotation_rate_rpm = {rate}, return_mode = {mode:?}{clock} }}"),
            title: format!("{rate} rpm, {mode}"),
        })
    }

    fn marks(&self, kind: &str) -> Lines {
        let Some(stream) = self.stream.filter(|_| kind == DATA) else { return Lines::new() };
        let [kind, model] = stream.head.kind;
        vec![
            ("layout", stream.layout.word().to_owned()),
            ("type", format!("{kind:02x} {model:02x}")),
        ]
    }
}

/// Description of the source that has set the clock; `codes` are the model's codes of the source.
fn sync_name(layout: Layout, state: &Difop, codes: [u8; 3]) -> &'static str {
    let [mode, source] = state.sync;
    let (is_set, is_ptp) = match layout.has_calendar() {
        // Models with calendar dates have no PTP.
        true => (state.gps & gps::TIME != 0, false),
        false => (source != codes[0], mode != SyncMode::Gps as u8),
    };
    match (is_set, is_ptp) {
        (false, _) => "not set",
        (true, false) => "set by a GNSS receiver",
        (true, true) => "set by PTP",
    }
}

fn state_text(state: &Difop) -> String {
    let ip = |[a, b, c, d]: [u8; 4]| format!("{a}.{b}.{c}.{d}");
    let [own, host] = state.ips.map(ip);
    // An M1 reports no angles, and its speed is in frames per second.
    let unit = if state.angles.is_empty() { "frames/s" } else { "rpm" };
    let speed = format!("{} {unit}", state.rpm);
    format!(
        "{}  {}  {own} to {host}:{}  return mode {:02x}  {}",
        serial_text(state.serial),
        speed,
        state.ports[1],
        state.returns,
        date_text(state.unix_us)
    )
}

fn state_fields(state: &Difop) -> Map<String, Value> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    object_of(json!({
        "rpm": state.rpm,
        "addresses": state.ips,
        "mac": hex(&state.mac),
        "ports": state.ports,
        "fov_centideg": state.fov,
        "phase_deg": state.phase_deg,
        "versions": state.versions.map(|version| hex(&version)),
        "serial": serial_text(state.serial),
        "return_mode": state.returns,
        "sync": state.sync,
        "unix_us": state.unix_us,
        "supplies": state.supplies,
        "temperatures_c": state.celsius,
        "gps": state.gps,
        "turns_rpm": state.turns_rpm,
        "angles_deg": state.angles,
    }))
}

fn imu_fields(sample: &Sample) -> Map<String, Value> {
    object_of(json!({
        "unix_us": sample.unix_us,
        "sample_number": sample.count,
        "acceleration_g": sample.acceleration_g,
        "angular_rate_deg_s": sample.angular_rate_deg_s,
        "temperature_c": sample.celsius,
    }))
}
