//! Decodes data packets and their status bytes.

mod cloud;
mod words;

use std::path::Path;

use serde_json::{Map, Value, json};

use super::profile::{Hdl64eGeneration, Hdl64eProfile, LaserTable};
use crate::config::profile::Profile;
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::datagram::{DatagramDecoder, Head, PointSource, Shot, Sweep, Twin};
use crate::decoder::facts::{Facts, plural};
use crate::decoder::{Hints, Misfit, object_of};
use crate::spinning::data_packet;
use crate::wire::velodyne::hdl64e_status::{
    LASERS, S1Status, StatusDecoder, StatusEvent, StatusFormat, StatusTable,
};
use crate::wire::velodyne::{Bank, DataPacket, Model};

/// After this many packets, a sender that is not identified as an HDL-64E counts as another product. An S1 that groups by
/// datagrams is identified earlier.
const TELLING_PACKETS: u64 = 16;

/// Generation of an HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    S1,
    /// S2 and S2.1.
    S2,
    S3,
    /// S2 or S3: no packet has distinguished them yet.
    S2OrS3,
}

impl Generation {
    fn of(generation: Hdl64eGeneration) -> Self {
        match generation {
            Hdl64eGeneration::S1 => Self::S1,
            Hdl64eGeneration::S2 => Self::S2,
            Hdl64eGeneration::S3 => Self::S3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::S1 => "HDL-64E S1",
            Self::S2 => "HDL-64E S2",
            Self::S3 => "HDL-64E S3",
            Self::S2OrS3 => "HDL-64E S2 or S3",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Hdl64eDecoder {
    /// Generation of the profile that the user named.
    named: Option<Generation>,
    /// Whether packets are decoded as the generation in `named` even if they contradict that generation.
    anyway: bool,
    /// Calibration of the unit, from a file.
    calibration: Option<LaserTable>,
    /// Calibration of the profile, used if no other is known.
    profile_calibration: Option<LaserTable>,
    packets: u64,
    /// Number of packets that identify an HDL-64E.
    own_packets: u64,
    /// Number of packets that identify another model than the HDL-64E.
    foreign_packets: u64,
    /// Model of the last packet that identifies another model than the HDL-64E.
    foreign: Option<Model>,
    dual_packets: u64,
    upper_blocks: u64,
    lower_blocks: u64,
    saw_warnings: bool,
    /// S1: the last temperature, degrees C.
    s1_temperature_c: Option<f64>,
    /// S1: firmware version, from the last packet with it.
    s1_version: Option<u16>,
    status: StatusDecoder,
    /// Number of complete calibration tables.
    tables: u64,
    /// Number of faulty calibration tables.
    bad_tables: u64,
    /// The last complete table.
    table: Option<Box<StatusTable>>,
}

impl Hdl64eDecoder {
    /// Decoder for packets of the generation of `profile`, or of any generation without a profile. If `hints` name a
    /// calibration file, points are computed with this calibration. `Err`: errors in that file.
    pub(super) fn new(
        profile: Option<&Hdl64eProfile>,
        hints: &Hints<'_>,
    ) -> Result<Self, Diagnostics> {
        let load = |path: &Path| LaserTable::load(&path.display().to_string(), path);
        Ok(Self {
            named: profile.map(|profile| Generation::of(profile.generation)),
            anyway: hints.anyway,
            calibration: hints.calibration.map(load).transpose()?,
            profile_calibration: profile.map(|profile| profile.defaults.calibration.clone()),
            ..Self::default()
        })
    }

    /// Whether the sender is an HDL-64E: at least one packet in eight identifies this model. An S1 that groups by
    /// datagrams is identified by one packet in four.
    fn is_one(&self) -> bool {
        self.own_packets > 0 && self.own_packets * 8 >= self.packets
    }

    fn generation(&self) -> Generation {
        let is_meant = self.anyway || !self.is_other_product();
        self.named.filter(|_| is_meant).unwrap_or_else(|| self.guessed_generation())
    }

    /// Whether the packets contradict the named generation. S2 and S3 count as the same, because their packets hardly
    /// differ.
    fn is_other_product(&self) -> bool {
        let Some(named) = self.named else { return false };
        self.is_foreign()
            || self.is_one()
                && (named == Generation::S1) != (self.guessed_generation() == Generation::S1)
    }

    /// Whether the sender is known to be another product: most packets identify another model, or [`TELLING_PACKETS`]
    /// packets have not identified an HDL-64E.
    fn is_foreign(&self) -> bool {
        !self.is_one()
            && (self.foreign_packets * 2 > self.packets || self.packets >= TELLING_PACKETS)
    }

    fn guessed_generation(&self) -> Generation {
        if self.s1_temperature_c.is_some() || self.lower_blocks * 2 <= self.upper_blocks {
            return Generation::S1;
        }
        match self.table.as_ref().map(|table| table.format) {
            Some(StatusFormat::S3) => Generation::S3,
            Some(StatusFormat::S2) => Generation::S2,
            None if self.saw_warnings || self.dual_packets > 0 => Generation::S3,
            None => Generation::S2OrS3,
        }
    }

    fn learn_status(&mut self, packet: &DataPacket) {
        match S1Status::parse(packet.tail) {
            S1Status::Temperature { fraction, degrees_c } => {
                self.s1_temperature_c = Some(temperature_c(fraction, degrees_c));
            }
            S1Status::Version { version, .. } => self.s1_version = Some(version),
        }
        if !self.is_one() || self.guessed_generation() == Generation::S1 {
            return;
        }
        let [kind, value] = packet.status_bytes();
        self.saw_warnings |= kind == b'W';
        match self.status.feed(kind, value) {
            Some(StatusEvent::Table(table)) => {
                self.tables += 1;
                self.table = Some(table);
            }
            Some(StatusEvent::BadTable(_)) => self.bad_tables += 1,
            Some(StatusEvent::OutOfOrder) | None => {}
        }
    }
}

fn temperature_c(fraction: u8, degrees_c: u8) -> f64 {
    f64::from(degrees_c) + f64::from(fraction) / 256.0
}

impl DatagramDecoder for Hdl64eDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        data_packet::head(payload)
    }

    fn learn(&mut self, payload: &[u8]) {
        let Some(packet) = data_packet::parse(payload) else { return };
        self.packets += 1;
        match packet.model() {
            Some(Model::Hdl64e) => self.own_packets += 1,
            Some(other) => {
                self.foreign_packets += 1;
                self.foreign = Some(other);
            }
            None => {}
        }
        self.learn_status(&packet);
        self.dual_packets += u64::from(packet.is_dual_return());
        for block in &packet.blocks {
            match Bank::from_flag(block.flag) {
                Some(Bank::Upper) => self.upper_blocks += 1,
                Some(Bank::Lower) => self.lower_blocks += 1,
                _ => {}
            }
        }
    }

    fn likelihood(&self) -> f64 {
        match self.named {
            Some(_) if self.packets > 0 && (self.anyway || !self.is_other_product()) => 2.0,
            _ if self.is_one() => 1.0,
            _ => 0.0,
        }
    }

    fn misfits(&self) -> Vec<Misfit> {
        let Some(named) = self.named.filter(|_| self.packets > 0) else { return Vec::new() };
        if self.is_foreign() {
            let text = match self.foreign {
                Some(model) => format!("the packets name another model, {}", model.name()),
                None => "no packet has blocks of an HDL-64E's lower lasers".to_owned(),
            };
            return vec![Misfit { is_other_product: true, text }];
        }
        let found = self.guessed_generation();
        if self.is_other_product() {
            let order = match found {
                Generation::S1 => "three upper blocks come with each lower one",
                _ => "as many lower blocks come as upper ones",
            };
            let text = format!("the packets are those of an {}: {order}", found.name());
            return vec![Misfit { is_other_product: true, text }];
        }
        let is_same = found == named || found == Generation::S2OrS3;
        let text = format!("the status bytes or returns are those of an {}", found.name());
        if is_same { Vec::new() } else { vec![Misfit { is_other_product: false, text }] }
    }

    fn sweep(&self, payload: &[u8]) -> Sweep {
        data_packet::sweep(payload)
    }

    fn shots(&self, payload: &[u8]) -> Vec<Shot> {
        data_packet::shots(payload, LASERS, Model::Hdl64e.distance_unit_m())
    }

    fn has_stamps(&self) -> bool {
        self.generation() != Generation::S1
    }

    fn protocol(&self, has_stamps: bool) -> &'static str {
        data_packet::protocol(has_stamps)
    }

    fn model(&self) -> String {
        self.generation().name().to_owned()
    }

    fn model_text(&self) -> String {
        match self.dual_packets {
            0 => self.model(),
            packets => format!("{}, dual return in {packets} packets", self.model()),
        }
    }

    fn text(&self, payload: &[u8]) -> String {
        let Some(packet) = data_packet::parse(payload) else { return String::new() };
        let text = data_packet::text(&packet, self.generation().name(), self.has_stamps());
        let status = match (self.generation(), S1Status::parse(packet.tail)) {
            (Generation::S1, S1Status::Temperature { fraction, degrees_c }) => {
                format!("temperature {:.1} C", temperature_c(fraction, degrees_c))
            }
            (Generation::S1, S1Status::Version { counter, version, .. }) => {
                format!("version {version:#06x}, counter {counter}")
            }
            _ => {
                let [kind, value] = packet.status_bytes();
                let (name, kind_text) = (words::status_name(kind), words::status_type(kind));
                format!("{kind_text} {name} {}", words::status_value(kind, value))
            }
        };
        let dual = if packet.is_dual_return() { "  dual" } else { "" };
        format!("{text}  {status}{dual}")
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        let Some(packet) = data_packet::parse(payload) else { return Map::new() };
        let status = match (self.generation(), S1Status::parse(packet.tail)) {
            (Generation::S1, S1Status::Temperature { fraction, degrees_c }) => {
                json!({"s1_status": {"temperature_c": temperature_c(fraction, degrees_c)}})
            }
            (Generation::S1, S1Status::Version { counter, version, .. }) => {
                json!({"s1_status": {"counter": counter, "version": version}})
            }
            _ => {
                let [kind, value] = packet.status_bytes();
                json!({
                    "status": {
                        "type": words::status_type(kind),
                        "type_byte": kind,
                        "value": value,
                        "name": words::status_name(kind),
                        "text": words::status_value(kind, value),
                    },
                    "dual_return": packet.is_dual_return(),
                })
            }
        };
        let unit_m = Model::Hdl64e.distance_unit_m();
        let (model, status) = (self.generation().name(), object_of(status));
        data_packet::fields(&packet, model, unit_m, self.has_stamps(), status)
    }

    fn state(&self) -> Facts {
        let mut facts = Facts::default();
        if self.generation() == Generation::S1 {
            let degrees = |c: &f64| format!("{c:.1} C");
            facts.add_known("temperature_c", self.s1_temperature_c, "temperature", degrees);
            let version = |version: &u16| format!("{version:#06x}");
            facts.add_known("version", self.s1_version, "firmware", version);
            return facts;
        }
        let (bad, breaks) = (self.bad_tables, self.status.breaks());
        facts.add("tables", self.tables, "calibration", self.calibration_text());
        facts.add_data("bad_tables", bad);
        facts.add_data("breaks", breaks);
        if bad > 0 {
            facts.add_line("", format!("{} failed the check", plural(bad, "table")));
        }
        if let Some(table) = &self.table {
            facts.add_line("unit", unit_text(table));
            facts.add_line("warnings", words::warnings(table.warnings()));
        }
        match self.status.live() {
            Some(live) => {
                let (gps, firmware) = (words::gps(live.gps), words::firmware(live.firmware));
                let (year, month, day) = (2000 + u32::from(live.year), live.month, live.day);
                let (hour, minute, second) = (live.hour, live.minute, live.second);
                let text = format!(
                    "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC, GPS {gps}, {} C, \
                     firmware {firmware}",
                    live.temperature_c
                );
                let value = json!({
                    "hour": hour, "minute": minute, "second": second,
                    "day": day, "month": month, "year": year,
                    "gps": gps, "temperature_c": live.temperature_c, "firmware": firmware,
                });
                facts.add("live", value, "status", text);
            }
            None => facts.add_data("live", Value::Null),
        }
        if breaks > 0 {
            facts.add_line("", format!("status cycle interrupted {}", plural(breaks, "time")));
        }
        facts.add_data("table", self.table.as_ref().map(|table| table_fields(table)));
        facts
    }

    fn point_source(&self) -> Result<PointSource, String> {
        let streamed = self.table.as_ref().map(|status| cloud::table_of(status));
        if let Some(table) = &self.calibration {
            Ok(cloud::point_source(table, "calibration from a file"))
        } else if let Some(table) = &streamed {
            Ok(cloud::point_source(table, "calibration from the stream"))
        } else if let Some(table) = &self.profile_calibration {
            Ok(cloud::point_source(table, "calibration of the profile"))
        } else {
            let text = "the calibration of this HDL-64E is unknown: the status bytes do not \
                        contain it (an S2 or S3 sends it within 1.5 s); use --calibration \
                        FILE.yaml or --profile NAME";
            Err(text.to_owned())
        }
    }

    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String> {
        let Some(driver) = profile.data::<Hdl64eProfile>() else {
            return Err(format!("cannot be compared with {}", profile.name));
        };
        let (found, wanted) = (self.guessed_generation(), Generation::of(driver.generation));
        let fits = found == wanted || found == Generation::S2OrS3 && wanted != Generation::S1;
        if !self.is_one() || !fits {
            let found = if self.is_one() { found.name() } else { "no HDL-64E" };
            return Err(format!(
                "is from another product: it is from {found}, {} is for {}",
                profile.name,
                wanted.name()
            ));
        }
        let (least, most) = (driver.rotation_rates.min_rpm, driver.rotation_rates.max_rpm);
        let rate_rpm = rate_rpm.round().clamp(least.into(), most.into());
        if self.dual_packets * 2 > self.packets {
            let settings = format!("{{ rotation_rate_rpm = {rate_rpm}, return_mode = \"dual\" }}");
            return Ok(Twin { settings, title: format!("{rate_rpm} rpm, dual") });
        }
        let settings = format!("{{ rotation_rate_rpm = {rate_rpm} }}");
        Ok(Twin { settings, title: format!("{rate_rpm} rpm") })
    }
}

impl Hdl64eDecoder {
    fn calibration_text(&self) -> String {
        let Some(table) = &self.table else {
            return "not in the status bytes, which need 4160 consecutive packets".to_owned();
        };
        let times = plural(self.tables, "time");
        let date = words::calibration_time(table.calibration_time)
            .map_or_else(|| "undated".to_owned(), |time| format!("of {time}"));
        format!("in the status bytes {times}, {}, {date}", words::proof(table.format))
    }
}

fn unit_text(table: &StatusTable) -> String {
    format!(
        "{} rpm, field of view {:.2} to {:.2} deg, {} return, power {:#04x}, {} h, {} -> {}",
        table.motor_rpm,
        f64::from(table.fov_start_centideg) / 100.0,
        f64::from(table.fov_end_centideg) / 100.0,
        words::table_return_mode(table.return_mode),
        table.power_level,
        table.life_time_hours,
        core::net::Ipv4Addr::from(table.source_ip),
        core::net::Ipv4Addr::from(table.destination_ip),
    )
}

fn table_fields(table: &StatusTable) -> Value {
    let lasers: Vec<Value> = table
        .lasers
        .iter()
        .map(|laser| {
            json!({
                "vertical_centideg": laser.vertical_centideg,
                "rotational_centideg": laser.rotational_centideg,
                "distance_mm": laser.distance_mm,
                "distance_x_mm": laser.distance_x_mm,
                "distance_y_mm": laser.distance_y_mm,
                "vertical_offset_mm": laser.vertical_offset_mm,
                "horizontal_offset_mm": laser.horizontal_offset_mm,
                "focal_distance_mm": laser.focal_distance_mm,
                "focal_slope_tenths": laser.focal_slope_tenths,
                "min_intensity": laser.min_intensity,
                "max_intensity": laser.max_intensity,
            })
        })
        .collect();
    json!({
        "format": match table.format {
            StatusFormat::S2 => "S2",
            StatusFormat::S3 => "S3",
        },
        "calibration_time": words::calibration_time(table.calibration_time),
        "thresholds": table.thresholds,
        "humidity_percent": table.humidity_percent,
        "motor_rpm": table.motor_rpm,
        "fov_start_centideg": table.fov_start_centideg,
        "fov_end_centideg": table.fov_end_centideg,
        "life_time_hours": table.life_time_hours,
        "source_ip": core::net::Ipv4Addr::from(table.source_ip).to_string(),
        "destination_ip": core::net::Ipv4Addr::from(table.destination_ip).to_string(),
        "return_mode": words::table_return_mode(table.return_mode),
        "power_level": table.power_level,
        "warnings": table.warnings(),
        "lasers": lasers,
    })
}
