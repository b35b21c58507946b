//! Encodes scans as telegrams.

use super::scanning::Mirror;
use crate::PacketTruth;
use crate::sensors::fault::FaultEffect;
use crate::sensors::{Echoes, Return};
use crate::sick_lms1xx::profile::{
    EchoFilter, Remission, ScannerClock, ScannerStatus, SickLms1xxProfile, SickLms1xxSettings,
};
use crate::time::{Epoch, SimTime};
use crate::wire::cola::scan_data::{Channel, ClockTime, Encoder, Position, ScanData, Trailer};

/// Configuration of the content of scan telegrams (`LMDscandatacfg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataConfig {
    /// Echoes that get a channel: bit 0 of the first byte is the first echo, and so on. The second byte is reserved.
    pub channels: [u8; 2],
    /// RSSI values: 1 sent, 0 not sent.
    pub remission: u8,
    /// Size of RSSI values: 1 is 16 bits, 0 is 8 bits.
    pub is_16_bit: u8,
    /// Code of the unit of RSSI values; 0 for counts without a unit ("digits").
    pub unit: u8,
    /// Encoder values: not sent if the first byte is 0, otherwise sent. The second byte has no effect.
    pub encoder: [u8; 2],
    /// Position: 1 sent, 0 not sent.
    pub position: u8,
    /// Location name: 1 sent, 0 not sent.
    pub name: u8,
    /// Whether telegrams have a comment: 1 yes, 0 no. The comment itself is always empty.
    pub comment: u8,
    /// Time of the clock: 1 sent, 0 not sent.
    pub time: u8,
    /// Output interval n: every n-th scan is sent.
    pub interval: u16,
}

impl DataConfig {
    /// Configuration at power-on.
    pub fn new(settings: &SickLms1xxSettings) -> Self {
        Self {
            channels: [settings.channels, 0],
            remission: settings.remission.into(),
            is_16_bit: settings.remission_16_bit.into(),
            unit: 0,
            encoder: [0, 0],
            position: 0,
            name: 0,
            comment: 0,
            time: settings.timestamp.into(),
            interval: settings.output_interval,
        }
    }

    /// Whether a scanner accepts the configuration. In a scanner with an echo filter, the channels are reserved and may
    /// be 0.
    pub fn is_valid(&self, has_filter: bool) -> bool {
        let flags =
            [self.remission, self.is_16_bit, self.position, self.name, self.comment, self.time];
        let has_channels = has_filter || self.channels[0] != 0;
        flags.iter().all(|flag| *flag <= 1) && has_channels && self.interval != 0
    }

    /// Whether the scan of revolution `number` is sent.
    pub fn wants(&self, number: u64) -> bool {
        number.is_multiple_of(u64::from(self.interval.max(1)))
    }
}

/// One measured revolution.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Number of the revolution since power-on. Revolutions count while the scanner is in the state for measuring, even
    /// without a host.
    pub number: u64,
    /// Number of telegrams with scans before this one since power-on.
    pub telegram: u64,
    /// Mirror in the scan mode in which the scan was measured.
    pub mirror: Mirror,
    /// Index of the scan's first direction, in angular steps from the start of the field of view.
    pub first_direction: u32,
    /// Echoes of each direction.
    pub echoes: Vec<Echoes>,
    /// Effects of faults on the scan.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of the scan's returns.
    pub truth: PacketTruth,
}

/// Encoder of scan telegrams.
pub struct Telegrams<'a> {
    /// Firmware profile of the unit.
    pub profile: &'a SickLms1xxProfile,
    /// Settings of the unit.
    pub settings: &'a SickLms1xxSettings,
    /// Reported status.
    pub status: ScannerStatus,
    /// Content of the telegrams.
    pub config: DataConfig,
    /// Selection of echoes.
    pub echo_filter: EchoFilter,
    /// Location name, printable ASCII.
    pub location_name: &'a [u8],
    /// Time since power-on and the clock.
    pub clocks: Clocks,
    /// States of the digital outputs, one bit each.
    pub digital_outputs: [u8; 2],
}

/// The scanner's two clocks: time since power-on, and time of day.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Time since power-on at the start of the run, nanoseconds.
    pub uptime_ns: u64,
    /// Time base of the clock.
    pub clock: ScannerClock,
    /// UTC at the start of the run.
    pub epoch: Epoch,
    /// Last power-on within the run.
    pub on_since: SimTime,
    /// Time that a host has set, extrapolated to the start of the run.
    pub set: Option<Epoch>,
}

impl Clocks {
    /// Time since power-on, nanoseconds.
    fn since_power_on_ns(&self, at: SimTime) -> u64 {
        self.uptime_ns + at.0.saturating_sub(self.on_since.0)
    }

    /// Time since power-on, microseconds; wraps after 71 minutes.
    pub fn uptime_us(&self, at: SimTime) -> u32 {
        (self.since_power_on_ns(at) / 1000) as u32
    }

    /// Sets the clock to `shown` at `at`; `None` for an invalid time.
    pub fn set(&mut self, at: SimTime, shown: &ClockTime) -> Option<()> {
        let ClockTime { year, month, day, hour, minute, second, microsecond } = *shown;
        let [month, day, hour, minute, second] =
            [month, day, hour, minute, second].map(|part| i8::try_from(part).unwrap_or(-1));
        let nanosecond = i32::try_from(microsecond).ok()?.checked_mul(1000)?;
        let year = i16::try_from(year).ok()?;
        let civil =
            jiff::civil::DateTime::new(year, month, day, hour, minute, second, nanosecond).ok()?;
        let shown = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let start = shown.as_nanosecond() - i128::from(at.0);
        self.set = Some(Epoch::new(jiff::Timestamp::from_nanosecond(start).ok()?));
        Some(())
    }

    /// Time of the clock at `at`.
    pub fn time(&self, at: SimTime) -> ClockTime {
        match (self.set, self.clock) {
            (Some(set), _) => clock_time(set, at),
            (None, ScannerClock::Utc) => clock_time(self.epoch, at),
            (None, ScannerClock::SincePowerOn) => since_1970(SimTime(self.since_power_on_ns(at))),
        }
    }
}

/// Time of a clock that started at 1970-01-01 00:00:00, after `since`.
pub(super) fn since_1970(since: SimTime) -> ClockTime {
    clock_time(Epoch::new(jiff::Timestamp::UNIX_EPOCH), since)
}

fn clock_time(epoch: Epoch, at: SimTime) -> ClockTime {
    let civil = epoch.civil(at);
    ClockTime {
        year: civil.year() as u16,
        month: civil.month() as u8,
        day: civil.day() as u8,
        hour: civil.hour() as u8,
        minute: civil.minute() as u8,
        second: civil.second() as u8,
        microsecond: (civil.subsec_nanosecond() / 1000) as u32,
    }
}

impl Telegrams<'_> {
    /// Telegram of a scan, and the number of directions with a distance in the first channel.
    pub fn scan_data(&self, scan: &Scan, is_streamed: bool) -> (ScanData, u32) {
        let mirror = &scan.mirror;
        let zero = mirror.zero(scan.number);
        let (mut channels_16, mut channels_8) = (Vec::new(), Vec::new());
        let echoes: Vec<usize> = self.echoes().collect();
        for &echo in &echoes {
            channels_16.push(self.channel(scan, *b"DIST", echo, |seen| self.distance(seen)));
        }
        let points = channels_16.first().map_or(0, |channel: &Channel<u16>| {
            channel.values.iter().filter(|value| **value != 0).count() as u32
        });
        if self.config.remission != 0 {
            let Remission { full_scale_8_bit, full_scale_16_bit } = self.profile.remission;
            for &echo in &echoes {
                if self.config.is_16_bit != 0 {
                    let rssi =
                        |seen: Return| scaled(seen.intensity, full_scale_16_bit.into()) as u16;
                    channels_16.push(self.channel(scan, *b"RSSI", echo, rssi));
                } else {
                    let rssi = |seen: Return| scaled(seen.intensity, full_scale_8_bit.into()) as u8;
                    channels_8.push(self.channel(scan, *b"RSSI", echo, rssi));
                }
            }
        }
        let encoders = if self.config.encoder[0] == 0 { 0 } else { 1 };
        let data = ScanData {
            is_streamed,
            version: self.profile.protocol.telegram_version,
            device_number: self.profile.identity.device_number,
            serial_number: self.settings.serial_number,
            status: status_bytes(self.status),
            telegram_counter: scan.telegram as u16,
            scan_counter: scan.number as u16,
            start_us: self.clocks.uptime_us(zero),
            transmission_us: self.clocks.uptime_us(mirror.transmission(scan.number)),
            digital_inputs: [0; 2],
            digital_outputs: self.digital_outputs,
            layer_angle: 0,
            scan_frequency_centihz: mirror.mode().frequency_centihz,
            measurement_frequency_hundred_hz: mirror.measurement_frequency_hundred_hz(),
            encoders: vec![Encoder::default(); encoders],
            channels_16,
            channels_8,
            trailer: Some(self.trailer(zero)),
            rest: Vec::new(),
        };
        (data, points)
    }

    /// Indices of the echoes that have a channel.
    fn echoes(&self) -> impl Iterator<Item = usize> {
        let wanted = match (self.echo_filter, self.config.channels[0]) {
            (EchoFilter::First | EchoFilter::Last, _) => 1,
            (EchoFilter::All, 0) => u8::MAX,
            (EchoFilter::All, channels) => channels,
        };
        (0..usize::from(self.profile.echoes.count)).filter(move |echo| wanted >> echo & 1 == 1)
    }

    fn channel<T: Default>(
        &self,
        scan: &Scan,
        kind: [u8; 4],
        echo: usize,
        value: impl Fn(Return) -> T,
    ) -> Channel<T> {
        let [a, b, c, d] = kind;
        let is_distance = kind == *b"DIST";
        let scale = if is_distance { f32::from(self.settings.scale_factor) } else { 1.0 };
        let values = scan.echoes.iter().map(|echoes| {
            let seen = echoes.as_slice();
            let seen = match self.echo_filter {
                EchoFilter::Last => seen.last(),
                EchoFilter::First | EchoFilter::All => seen.get(echo),
            };
            seen.map_or_else(T::default, |seen| value(*seen))
        });
        Channel {
            name: [a, b, c, d, b'1' + echo as u8],
            scale_factor_bits: scale.to_bits(),
            scale_offset_bits: 0,
            start_angle: scan.mirror.angle(scan.first_direction),
            angular_step: scan.mirror.mode().resolution as u16,
            values: values.collect(),
        }
    }

    /// Distance in counts, 1 to 65 535; 0 outside this range.
    fn distance(&self, seen: Return) -> u16 {
        let counts =
            (f64::from(seen.range_m) * 1000.0 / f64::from(self.settings.scale_factor)).round();
        if (1.0..=65_535.0).contains(&counts) { counts as u16 } else { 0 }
    }

    fn trailer(&self, at: SimTime) -> Trailer {
        let has = |flag: u8| flag != 0;
        Trailer {
            position: has(self.config.position).then(Position::default),
            device_name: has(self.config.name).then(|| self.location_name.to_vec()),
            comment: has(self.config.comment).then(Vec::new),
            time: has(self.config.time).then(|| self.clocks.time(at)),
            event: 0,
        }
    }
}

fn scaled(intensity: f32, full_scale: f32) -> f32 {
    (intensity * full_scale).round()
}

fn status_bytes(status: ScannerStatus) -> [u8; 2] {
    match status {
        ScannerStatus::Ok => [0, 0],
        ScannerStatus::Error => [0, 1],
        ScannerStatus::PollutionWarning => [0, 2],
        ScannerStatus::PollutionError => [0, 4],
    }
}
