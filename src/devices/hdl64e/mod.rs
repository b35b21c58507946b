//! The Velodyne HDL-64E, generations S1, S2 and S3.
//!
//! The device packs firings into 1206-byte packets in the order of the generation's manual ([`schedule`]). It inverts
//! the unit's calibration, so that a driver with the same table gets true ranges ([`optics`]), and fills the six
//! status bytes. Commands on the serial line change speed, sector, returns and power during a run ([`planner`]).
//!
//! Sources: user manuals of the HDL-64E S1, S2 and S3; velodyne-decoder and the ROS driver for the receiving side;
//! captures of other Velodyne models for facts that the manuals lack (a point without return has distance zero and
//! a small intensity).

pub mod calibration;
mod calibration_xml;
pub(crate) mod decoder;
mod describe;
mod family;
mod optics;
mod planner;
pub mod profile;
pub(super) mod profile_read;
mod schedule;
mod serial_settings;
mod yaml;

pub use self::family::Hdl64eFamily;
use super::spinning::clock::{DeviceClock, PpsState};
use super::spinning::program::{Program, stall_notice_ns};
use super::spinning::return_mode::ReturnMode;
use super::spinning::rotor::Rotor;
use super::spinning::stream::{MeasuredPacket, PacketStream};
use super::{CableSignal, Device, REACTION_NS, Transmit};
use crate::config::profile::FamilyData;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::hdl64e::profile::{
    Hdl64eGeneration, Hdl64eProfile, Hdl64eSettings, Hdl64eStatus, TimestampMarks,
};
use crate::hdl64e::serial_settings::SerialProfile;
use crate::sensors::lidar::Lidar;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::sensors::optics_fault::{LidarFault, dirt_at};
use crate::sensors::{Measurement, MeasurementRequest, Outcome, PulseReturns, Subject, Sweep};
use crate::time::{Epoch, SimTime};
use crate::wire::framer::Framer;
use crate::wire::line::LineSettings;
use crate::wire::velodyne::hdl64e_command::{Command, Commands};
use crate::wire::velodyne::hdl64e_status::{
    LaserRecord, LiveStatus, RollingStream, S1Status, StatusFormat, StatusTable, warning,
};
use crate::wire::velodyne::{self as wire, DATA_PACKET_LEN, DataPacket, Point, SLOTS, TAIL};
use optics::{BlockEchoes, Optics};
use planner::{Mode, PacketPlan, Planner};

/// An emulated HDL-64E.
pub struct Hdl64e {
    settings: Hdl64eSettings,
    status: Hdl64eStatus,
    dark_intensity: [u8; 2],
    /// Calibration and settings that the status bytes contain; `None` for an S1.
    table: Option<StatusTable>,
    /// Source of the status bytes, made from `table`.
    status_stream: Option<RollingStream>,
    /// Mode and speed (rpm) that the status bytes contain.
    status_says: (Mode, u16),
    stream: PacketStream<Planner>,
    /// Latest mode that commands have requested.
    wanted: Mode,
    limits: Limits,
    commands: Framer<Commands>,
    optics: Optics,
    noise: NoiseSource,
    /// Clock; `None` for an S1, which has no clock.
    clock: Option<DeviceClock>,
    optics_faults: Vec<Timed<LidarFault>>,
}

/// Limits of values that commands set.
struct Limits {
    serial: SerialProfile,
    rpm: std::ops::RangeInclusive<u32>,
    returns: Vec<ReturnMode>,
}

impl Hdl64e {
    /// A unit that already rotates at its set speed at the start of the run, unless its settings start it at rest.
    pub fn new(
        profile: &Hdl64eProfile,
        settings: &Hdl64eSettings,
        noise: NoiseSource,
        epoch: Epoch,
        faults: &DeviceFaults,
    ) -> Self {
        let mode = Mode {
            returns: settings.return_mode,
            view_deg: Mode::FULL_VIEW_DEG,
            power_level: profile.status.power_level,
        };
        let rpm = settings.rotation_rate_rpm;
        let rotor = Rotor::at_power_on(&settings.motor, rpm, settings.start_azimuth_rad);
        let table = status_table(profile, settings);
        let mut unit = Self {
            stream: PacketStream::new(
                Program::new(mode, rotor),
                Planner::new(profile, settings),
                settings.lag_ns,
            ),
            wanted: mode,
            limits: Limits {
                serial: profile.serial.clone(),
                rpm: profile.rotation_rates.min_rpm..=profile.rotation_rates.max_rpm,
                returns: profile.return_modes.clone(),
            },
            commands: Framer::new(Commands),
            status_stream: table.as_ref().map(|table| status_stream(table, settings)),
            status_says: (mode, rpm as u16),
            table,
            settings: settings.clone(),
            status: profile.status.clone(),
            dark_intensity: profile.dark_intensity,
            optics: Optics::new(&settings.calibration, settings.calibration_reading),
            noise,
            clock: settings.clock.as_ref().map(|clock| DeviceClock::new(clock, epoch)),
            optics_faults: Vec::new(),
        };
        unit.change_faults(SimTime::ZERO, faults);
        unit
    }

    /// Connects a GNSS receiver: packets then wait until the receiver's output is known.
    pub fn connect_receiver(&mut self) {
        self.stream.connect_receiver();
    }

    /// Sensor model of the lasers, with the present optical faults.
    pub fn lidar(&self) -> Lidar {
        Lidar::new(self.optics.geometry(), &self.settings.beam, &self.settings.noise, self.noise)
            .with_faults(&self.optics_faults)
    }

    /// The last six bytes of a packet.
    fn tail(&mut self, plan: &PacketPlan, stamped: SimTime) -> [u8; 6] {
        self.update_status(plan);
        let (Some(stream), Some(clock)) = (&mut self.status_stream, &self.clock) else {
            return self.s1_tail(plan.number);
        };
        let has_pulse = clock.pps(stamped) != PpsState::Absent;
        let has_time = clock.has_nmea(stamped);
        let mut warnings = self.status.warnings;
        warnings |= if has_pulse { warning::PPS } else { 0 };
        warnings |= if has_time { warning::GPS_TIME } else { 0 };
        let is_dirty = dirt_at(&self.optics_faults, stamped).is_some();
        warnings |= if is_dirty { warning::LENS } else { 0 };
        stream.set_warnings(warnings);
        let now = clock.civil(stamped);
        let live = LiveStatus {
            hour: now.hour() as u8,
            minute: now.minute() as u8,
            second: now.second() as u8,
            day: now.day() as u8,
            month: now.month() as u8,
            year: now.year().rem_euclid(100) as u8,
            gps: match (has_pulse, has_time) {
                (true, true) => b'A',
                (false, true) => b'V',
                (true, false) => b'P',
                (false, false) => 0,
            },
            temperature_c: self.status.temperature_c,
            firmware: self.status.firmware_version as u8,
        };
        let (kind, value) = stream.status_pair(plan.number, &live);
        DataPacket::tail_with(clock.micros_past_hour(stamped), [kind, value])
    }

    /// Updates the status bytes to the settings of a packet.
    fn update_status(&mut self, plan: &PacketPlan) {
        let (Some(table), Some(stream)) = (&mut self.table, &mut self.status_stream) else {
            return;
        };
        if self.status_says == (plan.mode, plan.rpm) {
            return;
        }
        self.status_says = (plan.mode, plan.rpm);
        table.motor_rpm = plan.rpm as i16;
        set_view(table, plan.mode.view_deg);
        table.return_mode = return_mode_byte(plan.mode.returns);
        table.power_level = plan.mode.power_level;
        *stream = status_stream(table, &self.settings);
    }

    fn s1_tail(&self, index: u64) -> [u8; 6] {
        let form = index / u64::from(self.status.s1_form_packets.max(1));
        let status = if form.is_multiple_of(2) {
            S1Status::Temperature { fraction: 0, degrees_c: self.status.temperature_c }
        } else {
            S1Status::Version {
                padding: [0; 2],
                counter: index as u16,
                version: self.status.firmware_version,
            }
        };
        status.emit()
    }

    /// Writes a packet except its last six bytes; returns its number of points with a return.
    fn write_packet(
        &self,
        plan: &PacketPlan,
        sweep: &Sweep,
        returns: &[PulseReturns],
        out: &mut [u8; DATA_PACKET_LEN],
    ) -> u32 {
        let noise = self.noise.request(plan.number);
        let view = plan.mode.view();
        let mut points = 0;
        for (block, out) in self.stream.planner.layout(plan).iter().zip(wire::blocks_mut(out)) {
            let azimuth_rad = sweep.azimuth_at(block.start_ns);
            let turns = azimuth_rad / std::f64::consts::TAU;
            let azimuth_centideg = ((turns - turns.floor()) * 36_000.0).round() as u16 % 36_000;
            let out = wire::begin_block(out, block.bank.flag(), azimuth_centideg);
            let is_in_view = view.contains(turns.rem_euclid(1.0));
            let mut echoes = BlockEchoes::default();
            // Lasers that did not fire were not measured.
            let fired = sweep.firings.iter().zip(returns).skip(block.first_firing).take(SLOTS);
            for (slot, (fired, seen)) in fired.enumerate().filter(|_| is_in_view) {
                let echo = if block.is_second_return { seen.second } else { seen.first };
                let Some(echo) = echo else { continue };
                let now_rad = sweep.azimuth_at(fired.offset_ns.into());
                echoes.turned_rad[slot] = now_rad - azimuth_rad;
                echoes.range_m[slot] = echo.range_m.into();
                echoes.intensity[slot] = echo.intensity.into();
            }
            let bank = block.bank.first_laser() / SLOTS;
            let seen = self.optics.raw_points(bank, azimuth_rad, &echoes);
            for (slot, (point, out)) in seen.into_iter().zip(out).enumerate() {
                points += u32::from(point.distance > 0);
                let [low, high] = self.dark_intensity;
                let dark = || {
                    let firing = block.first_firing + slot;
                    let intensity = noise.whole(firing, Quantity::DarkIntensity, low, high);
                    Point { distance: 0, intensity }
                };
                *out = if point.distance > 0 { point } else { dark() }.bytes();
            }
        }
        points
    }

    /// Executes a command, if the device supports it.
    fn obey(&mut self, command: Command) {
        let mut mode = self.wanted;
        match command {
            // The motor starts to change its speed at once.
            Command::Rpm(rpm) if self.limits.rpm.contains(&rpm) => {
                let at = SimTime(self.stream.now.0 + REACTION_NS);
                self.stream.program.set_drive(at, rpm, None);
                return self.stream.plan_again(at);
            }
            Command::View(view_deg) => mode.view_deg = view_deg,
            Command::Strongest => mode.returns = ReturnMode::Strongest,
            Command::Last => mode.returns = ReturnMode::Last,
            Command::Dual => mode.returns = ReturnMode::Dual,
            Command::Power(level) => mode.power_level = 0xA0 + level,
            // New addresses apply from the next power-on, which no run contains. Speeds outside the limits are ignored.
            Command::Addresses(_) | Command::Rpm(_) => {}
        }
        if mode == self.wanted || !self.limits.returns.contains(&mode.returns) {
            tracing::info!("{command:?} changes nothing");
            return;
        }
        let at = self.stream.program.takes_effect(self.stream.now);
        self.wanted = mode;
        self.stream.program.set_mode(at, mode);
        self.stream.plan_again(at);
    }

    /// Completes and sends the packets whose timestamps are known.
    fn release(&mut self) {
        while let Some(mut held) = self.stream.next_known() {
            held.payload[TAIL..].copy_from_slice(&self.tail(&held.plan, held.stamped));
            self.stream.send(held.into());
        }
    }
}

impl Device for Hdl64e {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.stream.poll_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Measurement { request, outcome, .. } = measurement;
        let (Subject::Sweep(sweep), Outcome::Returns(returns)) = (&request.subject, outcome) else {
            return;
        };
        let Some(plan) = self.stream.answered(measurement) else { return };
        let mut payload = vec![0; DATA_PACKET_LEN];
        let bytes = payload.first_chunk_mut().expect("the packet's length");
        let points = self.write_packet(&plan, sweep, returns, bytes);
        let stamped = match self.settings.timestamp_marks {
            TimestampMarks::FirstFiring => plan.start,
            TimestampMarks::PacketEnd => plan.leaves,
        };
        let packet = MeasuredPacket { payload, points, fault_effects: Vec::new() };
        self.stream.hold(plan, stamped, measurement, packet);
        self.release();
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if let Some(clock) = &mut self.clock {
            clock.handle_signal(now, signal);
        }
    }

    fn advance(&mut self, now: SimTime) {
        self.stream.advance(now);
        self.release();
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.advance(now);
        for text in self.commands.frames(bytes) {
            match Command::parse(&text, &self.limits.serial.words) {
                Some(command) => self.obey(command),
                None => tracing::info!("not a command of this device: {text}"),
            }
        }
    }

    fn line(&self) -> Option<LineSettings> {
        Some(LineSettings::eight_n_one(self.limits.serial.baud))
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stream.program.change_stalls(at, &faults.kind());
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, _begins: bool) -> u64 {
        stall_notice_ns(kind)
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.stream.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.stream.planner.packets_per_second(self.settings.return_mode)
    }
}

fn status_stream(table: &StatusTable, settings: &Hdl64eSettings) -> RollingStream {
    RollingStream::emit(table).with_threshold_types(settings.threshold_types)
}

/// Calibration and settings that an S2 or S3 sends in its status bytes.
fn status_table(profile: &Hdl64eProfile, settings: &Hdl64eSettings) -> Option<StatusTable> {
    let format = match profile.generation {
        Hdl64eGeneration::S1 => return None,
        Hdl64eGeneration::S2 => StatusFormat::S2,
        Hdl64eGeneration::S3 => StatusFormat::S3,
    };
    let status = &profile.status;
    let centideg = |rad: f64| (rad.to_degrees() * 100.0).round() as i16;
    let mm = |m: f64| (m * 1000.0).round() as i16;
    let mut table = StatusTable::new(format);
    for (record, laser) in table.lasers.iter_mut().zip(&settings.calibration.lasers) {
        *record = LaserRecord {
            vertical_centideg: centideg(laser.vertical_rad),
            rotational_centideg: centideg(laser.rotational_rad),
            distance_mm: mm(laser.distance_m),
            distance_x_mm: mm(laser.distance_x_m),
            distance_y_mm: mm(laser.distance_y_m),
            vertical_offset_mm: mm(laser.vertical_offset_m),
            horizontal_offset_mm: mm(laser.horizontal_offset_m),
            focal_distance_mm: mm(laser.focal_distance_m),
            focal_slope_tenths: (laser.focal_slope * 10.0).round() as i16,
            min_intensity: laser.min_intensity,
            max_intensity: laser.max_intensity,
        };
    }
    table.thresholds = [status.upper_threshold, status.lower_threshold];
    table.calibration_time = status.calibration_time;
    table.humidity_percent = status.humidity_percent;
    table.motor_rpm = settings.rotation_rate_rpm as i16;
    set_view(&mut table, Mode::FULL_VIEW_DEG);
    table.life_time_hours = status.life_time_hours;
    table.source_ip = profile.network.source_ip.octets();
    table.destination_ip = profile.network.destination_ip.octets();
    table.return_mode = return_mode_byte(settings.return_mode);
    table.power_level = status.power_level;
    table.set_warnings(status.warnings);
    Some(table)
}

/// Sets the field of view in the status bytes.
fn set_view(table: &mut StatusTable, view_deg: [u16; 2]) {
    [table.fov_start_centideg, table.fov_end_centideg] = view_deg.map(|degree| degree * 100);
}

fn return_mode_byte(mode: ReturnMode) -> u8 {
    match mode {
        ReturnMode::Strongest => 0,
        ReturnMode::Last => 1,
        ReturnMode::Dual => 2,
    }
}

#[cfg(test)]
mod tests;
