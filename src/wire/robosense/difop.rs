//! Status packets (DIFOP): addresses, settings, versions, clock, voltages, and the calibrated angles of the lasers.
//!
//! All models use the same first bytes. The layout of a status packet must therefore be known from packets of points or
//! from a profile.
//!
//! Sources of encodings: user manuals of RS-LiDAR-16 (B.12), RS-LiDAR-32 and Bpearl (B.11), Helios (B.14, B.15) and
//! Ruby Plus (B.13 to B.17); nebula, which quotes the Bpearl manual of firmware with PTP.

use super::layout::Layout;
use super::values::{
    TIME_LEN, angle, read_angle, read_temperature_le, read_time, temperature_le, time_field,
};
use crate::ParseError;

/// First bytes of a packet.
pub const ID: [u8; 8] = [0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11, 0x55, 0x55];
/// Space for a sentence of the GNSS receiver, bytes.
pub const SENTENCE_LEN: usize = 86;
/// Largest number of temperatures in a packet.
pub const TEMPERATURES: usize = 5;
/// Largest number of voltages and currents in a packet.
pub const SUPPLIES: usize = 9;
const LONG: usize = 1248;
const SHORT: usize = 256;
const END: [u8; 2] = [0x0f, 0xf0];
const SENTENCE_AT: usize = 382;
const ANGLES_AT: usize = 468;
const RS16_ANGLES_AT: usize = 1165;
/// Number of lasers of an RS-16 that point downward: lasers 0 to 7. A packet contains only the magnitudes of the
/// elevation angles; the angles of these lasers are negative.
const RS16_DOWNWARD: usize = 8;
/// Bits of [`Difop::gps`], the state of the GNSS input.
pub mod gps {
    /// The clock is locked to PPS.
    pub const PPS: u8 = 1;
    /// Valid sentences arrive.
    pub const VALID: u8 = 2;
    /// The time is set.
    pub const TIME: u8 = 4;
    /// Sentences arrive, valid or not.
    pub const SENTENCES: u8 = 8;
    /// Pulses arrive, steady or not.
    pub const PULSES: u8 = 16;
}

/// Configured time source of the clock; the discriminant is its number in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// PPS and sentences of a GNSS receiver.
    #[default]
    Gps = 0,
    /// PTP with end-to-end delays.
    PtpE2e = 1,
    /// PTP with peer-to-peer delays.
    PtpP2p = 2,
    /// Generalised PTP (gPTP).
    Gptp = 3,
}

words!(SyncMode: "gps" => Gps, "ptp-e2e" => PtpE2e, "ptp-p2p" => PtpP2p, "gptp" => Gptp);

/// Content of a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difop {
    /// Configured rotation rate, rpm; for an M1, frames per second.
    pub rpm: u16,
    /// IP addresses of the lidar and of the host.
    pub ips: [[u8; 4]; 2],
    /// MAC address of the lidar.
    pub mac: [u8; 6],
    /// UDP ports: MSOP local and remote, DIFOP local and remote. An M1 has only the remote ports.
    pub ports: [u16; 4],
    /// Start and end of the sector in which lasers fire, hundredths of a degree.
    pub fov: [u16; 2],
    /// Angle of the rotor at the start of each second, degrees.
    pub phase_deg: u16,
    /// Firmware versions of the top board and of the bottom board.
    pub versions: [[u8; 5]; 2],
    /// Serial number.
    pub serial: [u8; 6],
    /// Code of the return mode.
    pub returns: u8,
    /// Configured time source, as [`SyncMode`]; then the code of the current one, which depends on the model: most
    /// models have 0 none, 1 GNSS receiver, 2 PTP.
    pub sync: [u8; 2],
    /// Time of the packet, microseconds of POSIX time; 0 if the field is invalid.
    pub unix_us: i64,
    /// Voltages and currents, in units that depend on the model.
    pub supplies: [u16; SUPPLIES],
    /// Temperatures of the boards, degrees Celsius.
    pub celsius: [f64; TEMPERATURES],
    /// State of the GNSS receiver, see [`gps`]. Packets contain the bits that the model has.
    pub gps: u8,
    /// Measured rotation rate, rpm.
    pub turns_rpm: u16,
    /// Last sentence of the GNSS receiver.
    pub sentence: Vec<u8>,
    /// Code of the mounting (Airy).
    pub mounting: u8,
    /// Translation from the IMU to the lidar (Airy), metres.
    pub imu_m: [f32; 3],
    /// Angles of each laser, degrees: elevation and clockwise azimuth; `None` if not measured.
    pub angles: Vec<[Option<f64>; 2]>,
}

/// Fields whose position or encoding differs between models. Positions are offsets in bytes.
struct Places {
    supplies: &'static [usize],
    temperatures: &'static [(usize, Temperature)],
    /// State of the GNSS input, and the bits of it that the model has.
    gps: Option<(usize, u8)>,
    /// Measured rotation rate, and its counts per rpm.
    turns: Option<(usize, u16)>,
}

/// Encoding of a temperature in two bytes, most significant first.
#[derive(Clone, Copy)]
enum Temperature {
    /// Signed number of steps of `step_c` degrees Celsius above `zero_c`.
    Steps { step_c: f64, zero_c: f64 },
    /// The bytes of [`temperature_le`] in the reverse order.
    Magnitude,
}

/// Reading of the converter in an FPGA, 12 bits.
const FPGA: Temperature = Temperature::Steps { step_c: 503.975 / 4096.0, zero_c: -273.15 };
/// Reading of the converter on another board of a Helios, 12 bits.
const BOARD: Temperature = Temperature::Steps { step_c: 200.0 / 4096.0, zero_c: -50.0 };
const HUNDREDTHS: Temperature = Temperature::Steps { step_c: 0.01, zero_c: 0.0 };
/// Bits of [`Difop::gps`] that all models with a GNSS input have.
const LOCKS: u8 = gps::PPS | gps::VALID | gps::TIME;
const LOCKS_AND_INPUTS: u8 = LOCKS | gps::SENTENCES | gps::PULSES;

impl Temperature {
    fn field(self, celsius: f64) -> [u8; 2] {
        match self {
            Self::Steps { step_c, zero_c } => {
                (((celsius - zero_c) / step_c).round() as i16).to_be_bytes()
            }
            Self::Magnitude => {
                let [low, high] = temperature_le(celsius);
                [high, low]
            }
        }
    }

    fn read(self, [high, low]: [u8; 2]) -> f64 {
        match self {
            Self::Steps { step_c, zero_c } => {
                f64::from(i16::from_be_bytes([high, low])) * step_c + zero_c
            }
            Self::Magnitude => read_temperature_le([low, high]),
        }
    }
}

fn places(layout: Layout) -> Places {
    use Temperature::Magnitude;
    const SUPPLIES_AT: &[usize] = &[319, 321, 323, 325, 327, 329, 331, 333, 335];
    match layout {
        Layout::Helios | Layout::Helios16 => Places {
            supplies: &[313, 315, 317, 319, 321, 323],
            temperatures: &[(342, FPGA), (344, BOARD), (346, BOARD), (348, BOARD), (350, FPGA)],
            gps: Some((359, LOCKS_AND_INPUTS)),
            turns: Some((352, 1)),
        },
        Layout::Airy => Places {
            supplies: &[1066, 1068, 1070, 1072, 1074],
            temperatures: &[],
            gps: None,
            turns: None,
        },
        Layout::M1 => Places { supplies: &[63, 65], temperatures: &[], gps: None, turns: None },
        Layout::Rs16 | Layout::Rs32 => Places {
            supplies: SUPPLIES_AT,
            temperatures: &[
                (358, Magnitude),
                (360, Magnitude),
                (362, Magnitude),
                (364, Magnitude),
                (366, FPGA),
            ],
            gps: Some((357, LOCKS)),
            turns: Some((373, 6)),
        },
        Layout::Bpearl => Places {
            supplies: SUPPLIES_AT,
            // Firmware with PTP has an FPGA's reading at 358, and nothing at 360 and 366. Older firmware has the
            // encodings of an RS-LiDAR-32.
            temperatures: &[
                (358, FPGA),
                (360, Magnitude),
                (362, Magnitude),
                (364, Magnitude),
                (366, FPGA),
            ],
            gps: Some((357, LOCKS_AND_INPUTS)),
            turns: Some((373, 6)),
        },
        Layout::BpearlV4 => Places {
            supplies: SUPPLIES_AT,
            temperatures: &[(358, HUNDREDTHS)],
            gps: Some((357, LOCKS_AND_INPUTS)),
            turns: Some((373, 1)),
        },
        Layout::Ruby => Places {
            supplies: SUPPLIES_AT,
            temperatures: &[(358, HUNDREDTHS), (360, HUNDREDTHS), (362, HUNDREDTHS)],
            gps: Some((357, LOCKS_AND_INPUTS)),
            turns: Some((373, 1)),
        },
    }
}

/// Whether packets report the configured and the current time source. An RS-LiDAR-16 or 32 has a software version in
/// their place.
fn has_sync(layout: Layout) -> bool {
    !matches!(layout, Layout::Rs16 | Layout::Rs32)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// Whether bytes are a status packet of any model.
pub fn is_difop(bytes: &[u8]) -> bool {
    [LONG, SHORT].contains(&bytes.len()) && bytes.starts_with(&ID)
}

impl Difop {
    /// Bytes of the packet.
    pub fn to_bytes(&self, layout: Layout) -> Vec<u8> {
        let is_m1 = layout == Layout::M1;
        let mut bytes = vec![0; if is_m1 { SHORT } else { LONG }];
        put(&mut bytes, 0, &ID);
        put(&mut bytes, 10, self.ips.as_flattened());
        put(&mut bytes, 18, &self.mac);
        if is_m1 {
            bytes[9] = self.rpm as u8;
            put(&mut bytes, 24, &self.ports[1].to_be_bytes());
            put(&mut bytes, 26, &self.ports[3].to_be_bytes());
            put(&mut bytes, 28, self.versions.as_flattened());
            put(&mut bytes, 38, &self.serial);
            bytes[44] = self.returns;
            put(&mut bytes, 45, &self.sync);
            put(&mut bytes, 47, &time_field(layout, self.unix_us));
        } else {
            put(&mut bytes, 8, &self.rpm.to_be_bytes());
            for (at, port) in [24, 26, 28, 30].into_iter().zip(self.ports) {
                put(&mut bytes, at, &port.to_be_bytes());
            }
            put(&mut bytes, 32, self.fov.map(u16::to_be_bytes).as_flattened());
            put(&mut bytes, 38, &self.phase_deg.to_be_bytes());
            put(&mut bytes, 40, self.versions.as_flattened());
            put(&mut bytes, 292, &self.serial);
            bytes[300] = self.returns;
            if has_sync(layout) {
                put(&mut bytes, 301, &self.sync);
            }
            put(&mut bytes, 303, &time_field(layout, self.unix_us));
            let sentence = &self.sentence[..self.sentence.len().min(SENTENCE_LEN)];
            put(&mut bytes, SENTENCE_AT, sentence);
            put(&mut bytes, LONG - END.len(), &END);
            self.put_angles(layout, &mut bytes);
        }
        if layout == Layout::Airy {
            bytes[289] = self.mounting;
            put(&mut bytes, 1104, &1.0f32.to_be_bytes());
            put(&mut bytes, 1108, self.imu_m.map(f32::to_be_bytes).as_flattened());
        }
        let places = places(layout);
        for (at, value) in places.supplies.iter().zip(self.supplies) {
            put(&mut bytes, *at, &value.to_be_bytes());
        }
        for ((at, encoding), value) in places.temperatures.iter().zip(self.celsius) {
            put(&mut bytes, *at, &encoding.field(value));
        }
        if let Some((at, bits)) = places.gps {
            bytes[at] = self.gps & bits;
        }
        if let Some((at, per_rpm)) = places.turns {
            put(&mut bytes, at, &self.turns_rpm.saturating_mul(per_rpm).to_be_bytes());
        }
        bytes
    }

    fn put_angles(&self, layout: Layout, bytes: &mut [u8]) {
        let unit_deg = layout.angle_unit_deg();
        for (laser, [up, across]) in self.angles.iter().enumerate().take(layout.lasers()) {
            if layout == Layout::Rs16 {
                let size = up.map_or(0xff_ffff, |deg| (deg.abs() / unit_deg).round() as u32);
                put(bytes, RS16_ANGLES_AT + 3 * laser, &size.to_be_bytes()[1..]);
                continue;
            }
            put(bytes, ANGLES_AT + 3 * laser, &angle(*up, unit_deg));
            put(bytes, across_at(layout) + 3 * laser, &angle(*across, unit_deg));
        }
    }

    /// Reads the packet of a lidar with this layout.
    ///
    /// # Errors
    /// The length or the first bytes are wrong.
    pub fn parse(layout: Layout, bytes: &[u8]) -> Result<Self, ParseError> {
        let is_m1 = layout == Layout::M1;
        let need = if is_m1 { SHORT } else { LONG };
        if bytes.len() != need {
            let got = bytes.len();
            return Err(ParseError::Length { what: "a DIFOP packet", need, got });
        }
        if !bytes.starts_with(&ID) {
            return Err(ParseError::value("first byte of a DIFOP packet", bytes[0], "0xa5"));
        }
        let places = places(layout);
        let mut read = Self {
            ips: [array(bytes, 10), array(bytes, 14)],
            mac: array(bytes, 18),
            gps: places.gps.map_or(0, |(at, _)| bytes[at]),
            turns_rpm: places.turns.map_or(0, |(at, per_rpm)| word(bytes, at) / per_rpm),
            ..Self::default()
        };
        for (at, value) in places.supplies.iter().zip(&mut read.supplies) {
            *value = word(bytes, *at);
        }
        for ((at, encoding), value) in places.temperatures.iter().zip(&mut read.celsius) {
            *value = encoding.read(array(bytes, *at));
        }
        let time = |at| read_time(layout, array::<TIME_LEN>(bytes, at)).unwrap_or_default();
        if is_m1 {
            read.rpm = bytes[9].into();
            read.ports = [0, word(bytes, 24), 0, word(bytes, 26)];
            read.versions = [array(bytes, 28), array(bytes, 33)];
            read.serial = array(bytes, 38);
            read.returns = bytes[44];
            read.sync = array(bytes, 45);
            read.unix_us = time(47);
            return Ok(read);
        }
        read.rpm = word(bytes, 8);
        read.ports = [24, 26, 28, 30].map(|at| word(bytes, at));
        read.fov = [32, 34].map(|at| word(bytes, at));
        read.phase_deg = word(bytes, 38);
        read.versions = [array(bytes, 40), array(bytes, 45)];
        read.serial = array(bytes, 292);
        read.returns = bytes[300];
        if has_sync(layout) {
            read.sync = array(bytes, 301);
        }
        read.unix_us = time(303);
        let sentence = &bytes[SENTENCE_AT..SENTENCE_AT + SENTENCE_LEN];
        read.sentence = sentence.iter().copied().take_while(|byte| *byte != 0).collect();
        if layout == Layout::Airy {
            read.mounting = bytes[289];
            read.imu_m = [1108, 1112, 1116].map(|at| f32::from_be_bytes(array(bytes, at)));
        }
        read.angles = angles(layout, bytes);
        Ok(read)
    }
}

fn across_at(layout: Layout) -> usize {
    ANGLES_AT + 3 * layout.lasers().max(32)
}

fn angles(layout: Layout, bytes: &[u8]) -> Vec<[Option<f64>; 2]> {
    let unit_deg = layout.angle_unit_deg();
    let of = |laser: usize| {
        if layout == Layout::Rs16 {
            let [a, b, c] = array(bytes, RS16_ANGLES_AT + 3 * laser);
            let size = u32::from_be_bytes([0, a, b, c]);
            let deg = f64::from(size) * unit_deg;
            let deg = if laser < RS16_DOWNWARD { -deg } else { deg };
            return [(size != 0xff_ffff).then_some(deg), Some(0.0)];
        }
        [ANGLES_AT, across_at(layout)].map(|at| read_angle(array(bytes, at + 3 * laser), unit_deg))
    };
    (0..layout.lasers()).map(of).collect()
}
