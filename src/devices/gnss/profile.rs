//! Firmware profile of a GNSS receiver, and its settings in a rig.

use crate::frames::Geodetic;
use crate::sensors::gnss::settings::{GnssSystem, ReceiverSettings};
use crate::wire::ubx::{MessageId, Payload, mon, mon_more, nav, nav_more, rxm};

/// Commands and formats of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GnssDialect {
    /// u-blox generation 8: NMEA, UBX, old configuration messages.
    Ublox8,
    /// u-blox generation 9: like 8, with configuration items.
    Ublox9,
    /// u-blox generation 10: configuration items alone.
    Ublox10,
    /// Garmin: NMEA, `PGRM` commands.
    Garmin,
    /// NMEA output only; no commands.
    Plain,
}

/// Version of NMEA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NmeaVersion {
    /// 2.0: no modes.
    V2_0,
    /// 2.3, and 4.0 as receivers write it: with modes.
    V2_3,
    /// 4.10: systems, signals, navigation status.
    V4_10,
    /// 4.11: BeiDou's second signal has a number, GNS has QZSS.
    V4_11,
}

/// A sentence of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SentenceKind {
    /// Position, speed, course, date.
    Rmc,
    /// Course and speed.
    Vtg,
    /// Position and quality.
    Gga,
    /// Satellites used.
    Gsa,
    /// Satellites in view.
    Gsv,
    /// Position.
    Gll,
    /// Standard deviations.
    Gst,
    /// Time and date.
    Zda,
    /// Position by several systems.
    Gns,
    /// Fault detection.
    Gbs,
    /// Garmin: estimated errors.
    Pgrme,
    /// Garmin: sensor status, once per minute.
    Pgrmt,
}

/// A port that a line can lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinePort {
    /// The first UART.
    #[default]
    Uart1,
    /// The second UART of a ZED-F9P, which has RTCM 3 alone from the factory.
    Uart2,
    /// USB.
    Usb,
}

words!(LinePort: "uart1" => Uart1, "uart2" => Uart2, "usb" => Usb);
words!(GnssDialect:
    "ublox-8" => Ublox8, "ublox-9" => Ublox9, "ublox-10" => Ublox10, "garmin" => Garmin,
    "plain" => Plain);
words!(NmeaVersion: "2.0" => V2_0, "2.3" => V2_3, "4.10" => V4_10, "4.11" => V4_11);
words!(SentenceKind:
    "RMC" => Rmc, "VTG" => Vtg, "GGA" => Gga, "GSA" => Gsa, "GSV" => Gsv, "GLL" => Gll,
    "GST" => Gst, "ZDA" => Zda, "GNS" => Gns, "GBS" => Gbs, "PGRME" => Pgrme, "PGRMT" => Pgrmt);
/// A GNSS receiver's firmware.
#[derive(Clone, Debug, PartialEq)]
pub struct GnssProfile {
    /// Dialect of the receiver.
    pub dialect: GnssDialect,
    /// Identity that the receiver reports.
    pub identity: GnssIdentity,
    /// Format of sentences.
    pub nmea: NmeaFormat,
    /// Least time between solutions, nanoseconds.
    pub min_period_ns: u64,
    /// Bytes of the port's transmit buffer; what does not fit is lost.
    pub tx_buffer_bytes: usize,
    /// Time from a command's last byte to the first byte of the answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// u-blox: undocumented bits of real units in `valid` and `flags2` of NAV-PVT.
    pub pvt_extra_bits: [u8; 2],
    /// Defaults that a rig may override.
    pub defaults: GnssSettings,
}

/// Identity that a receiver reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GnssIdentity {
    /// u-blox: MON-VER's software version; Garmin: PGRMT's text.
    pub software: String,
    /// u-blox: MON-VER's hardware version.
    pub hardware: String,
    /// u-blox: MON-VER's extensions.
    pub extensions: Vec<String>,
    /// Text that is sent once after a start.
    pub boot_text: Vec<String>,
}

/// Format of sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct NmeaFormat {
    /// Version of NMEA that the receiver sends.
    pub version: NmeaVersion,
    /// All sentences, in the order of an epoch.
    pub order: Vec<SentenceKind>,
    /// Digits of a minute of latitude and longitude.
    pub position_decimals: u8,
    /// Digits of a metre of altitude and separation.
    pub altitude_decimals: u8,
    /// Digits of a second.
    pub time_decimals: u8,
    /// Digits of a dilution of precision.
    pub dop_decimals: u8,
    /// Largest number of satellites in GGA and GNS.
    pub max_satellites: u8,
    /// GSV signals of each system, by their NMEA number; empty text is an empty field.
    pub signals: Vec<(GnssSystem, Vec<String>)>,
    /// RMC's magnetic declination, degrees, east positive; none leaves the fields empty.
    pub declination_deg: Option<f64>,
}

/// Settings of a GNSS receiver in a rig; the profile has the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GnssSettings {
    /// Time between solutions, nanoseconds.
    pub period_ns: u64,
    /// The port that the link leads to; rate and output are of this port.
    pub port: LinePort,
    /// Bit rate of the port, 8N1; no effect on USB.
    pub baud: u32,
    /// Sentences sent, of the profile's order.
    pub sentences: Vec<SentenceKind>,
    /// u-blox: UBX and RTCM messages sent every epoch, by name.
    pub messages: Vec<String>,
    /// Rate and output of UART2, if the link leads to another port and the rig sets them.
    pub uart2: Option<PortOutput>,
    /// u-blox: seven decimals of a minute, three of a metre.
    pub high_precision: bool,
    /// Settings of reception: the physics.
    pub receiver: ReceiverSettings,
    /// Time from the epoch to the first byte, nanoseconds.
    pub latency_ns: u64,
    /// Extra delay of every epoch's bytes, nanoseconds.
    pub lag_ns: u64,
    /// Speed below which the course is left empty, m/s.
    pub min_course_speed_m_s: f64,
    /// Time pulse.
    pub pulse: PulseSettings,
    /// GPS minus UTC before satellites announce it, seconds.
    pub firmware_leap_s: i8,
    /// Day at whose end a leap second is inserted into UTC, announced by satellites; `None`: only those of
    /// the past.
    pub leap_second_on: Option<jiff::civil::Date>,
    /// First of the 1024 GPS weeks that the receiver can represent; `None`: the firmware's.
    pub week_base: Option<u16>,
    /// Source of a base station's position from power-on.
    pub base_station: Option<BaseStation>,
}

/// Rate and output of a port at power-on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortOutput {
    /// Bit rate, 8N1.
    pub baud: u32,
    /// Sentences sent, of the profile's order.
    pub sentences: Vec<SentenceKind>,
    /// UBX and RTCM messages sent every epoch, by name.
    pub messages: Vec<String>,
}

/// Source of a base station's position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseStation {
    /// A survey.
    Survey {
        /// Least time, seconds.
        least_s: u32,
        /// Greatest error, metres.
        accuracy_m: f64,
    },
    /// A given position.
    Fixed(Geodetic),
}

/// Time pulse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PulseSettings {
    /// Whether the receiver has a PPS.
    pub is_enabled: bool,
    /// Length of the pulse, nanoseconds.
    pub width_ns: u64,
    /// Time from the fix to the first pulse, nanoseconds.
    pub after_fix_ns: u64,
    /// Standard deviation of the rising edge, nanoseconds.
    pub jitter_std_ns: f64,
    /// Period of the receiver's clock, nanoseconds: edges are at its multiples.
    pub quantum_ns: f64,
}

impl GnssIdentity {
    /// The version of the protocol that a u-blox receiver names among its versions, times 100.
    pub fn protocol_version(&self) -> Option<u32> {
        let text = self.extensions.iter().find_map(|e| e.strip_prefix("PROTVER="))?;
        let (whole, hundredths) = text.split_once('.')?;
        Some(whole.parse::<u32>().ok()? * 100 + hundredths.parse::<u32>().ok()?)
    }
}

impl GnssProfile {
    /// The version of the protocol that a u-blox receiver names among its versions, times 100.
    pub fn protocol_version(&self) -> Option<u32> {
        self.identity.protocol_version()
    }

    /// Whether the firmware has a message, by name.
    pub fn has_message(&self, name: &str) -> bool {
        self.dialect.has_message(self.protocol_version(), name)
    }

    /// Systems of the hardware, in the order of its sentences.
    pub fn systems(&self) -> impl Iterator<Item = GnssSystem> {
        self.nmea.signals.iter().map(|(system, _)| *system)
    }
}

/// UBX messages and corrections that Menura's receivers can send, in the order of an epoch.
pub const UBX_OUTPUTS: [(&str, MessageId); 82] = [
    ("NAV-PVT", nav::NavPvt::ID),
    ("NAV-SOL", nav::NavSol::ID),
    ("NAV-POSECEF", nav::NavPosecef::ID),
    ("NAV-POSLLH", nav::NavPosllh::ID),
    ("NAV-HPPOSECEF", nav::NavHpposecef::ID),
    ("NAV-HPPOSLLH", nav::NavHpposllh::ID),
    ("NAV-STATUS", nav::NavStatus::ID),
    ("NAV-DOP", nav::NavDop::ID),
    ("NAV-VELECEF", nav::NavVelecef::ID),
    ("NAV-VELNED", nav::NavVelned::ID),
    ("NAV-TIMEGPS", nav::NavTimegps::ID),
    ("NAV-TIMEGLO", nav_more::NavTimeglo::ID),
    ("NAV-TIMEBDS", nav_more::NavTimebds::ID),
    ("NAV-TIMEGAL", nav_more::NavTimegal::ID),
    ("NAV-TIMEQZSS", nav_more::NavTimeqzss::ID),
    ("NAV-TIMEUTC", nav::NavTimeutc::ID),
    ("NAV-CLOCK", nav::NavClock::ID),
    ("NAV-TIMELS", nav::NavTimels::ID),
    ("NAV-SVINFO", nav::NavSvinfo::ID),
    ("NAV-SAT", nav::NavSat::ID),
    ("NAV-ORB", nav_more::NavOrb::ID),
    ("NAV-SBAS", nav_more::NavSbas::ID),
    ("NAV-SLAS", nav_more::NavSlas::ID),
    ("NAV-DGPS", nav_more::NavDgps::ID),
    ("NAV-AOPSTATUS", nav_more::NavAopstatus::ID),
    ("NAV-ODO", nav_more::NavOdo::ID),
    ("NAV-GEOFENCE", nav_more::NavGeofence::ID),
    ("NAV-PL", nav_more::NavPl::ID),
    ("NAV-COV", nav::NavCov::ID),
    ("NAV-RELPOSNED", nav::NavRelposned::ID),
    ("NAV-SIG", nav::NavSig::ID),
    ("NAV-SVIN", nav::NavSvin::ID),
    ("RXM-RAWX", rxm::RxmRawx::ID),
    ("RXM-SFRBX", rxm::RxmSfrbx::ID),
    ("MON-HW", mon::MonHw::ID),
    ("MON-HW2", mon_more::MonHw2::ID),
    ("MON-HW3", mon_more::MonHw3::ID),
    ("MON-IO", mon_more::MonIo::ID),
    ("MON-MSGPP", mon_more::MonMsgpp::ID),
    ("MON-RXBUF", mon_more::MonRxbuf::ID),
    ("MON-TXBUF", mon_more::MonTxbuf::ID),
    ("MON-RXR", mon_more::MonRxr::ID),
    ("MON-SYS", mon_more::MonSys::ID),
    ("MON-RF", mon::MonRf::ID),
    ("MON-COMMS", mon::MonComms::ID),
    ("TIM-TP", mon::TimTp::ID),
    ("NAV-EOE", nav::NavEoe::ID),
    ("NAV2-CLOCK", secondary(nav::NavClock::ID)),
    ("NAV2-COV", secondary(nav::NavCov::ID)),
    ("NAV2-DOP", secondary(nav::NavDop::ID)),
    ("NAV2-ODO", secondary(nav_more::NavOdo::ID)),
    ("NAV2-POSECEF", secondary(nav::NavPosecef::ID)),
    ("NAV2-POSLLH", secondary(nav::NavPosllh::ID)),
    ("NAV2-PVT", secondary(nav::NavPvt::ID)),
    ("NAV2-SAT", secondary(nav::NavSat::ID)),
    ("NAV2-SBAS", secondary(nav_more::NavSbas::ID)),
    ("NAV2-SIG", secondary(nav::NavSig::ID)),
    ("NAV2-SLAS", secondary(nav_more::NavSlas::ID)),
    ("NAV2-STATUS", secondary(nav::NavStatus::ID)),
    ("NAV2-SVIN", secondary(nav::NavSvin::ID)),
    ("NAV2-TIMEBDS", secondary(nav_more::NavTimebds::ID)),
    ("NAV2-TIMEGAL", secondary(nav_more::NavTimegal::ID)),
    ("NAV2-TIMEGLO", secondary(nav_more::NavTimeglo::ID)),
    ("NAV2-TIMEGPS", secondary(nav::NavTimegps::ID)),
    ("NAV2-TIMELS", secondary(nav::NavTimels::ID)),
    ("NAV2-TIMEUTC", secondary(nav::NavTimeutc::ID)),
    ("NAV2-TIMEQZSS", secondary(nav_more::NavTimeqzss::ID)),
    ("NAV2-VELECEF", secondary(nav::NavVelecef::ID)),
    ("NAV2-VELNED", secondary(nav::NavVelned::ID)),
    ("NAV2-EOE", secondary(nav::NavEoe::ID)),
    ("RTCM-1005", corrections(0x05)),
    ("RTCM-1074", corrections(0x4a)),
    ("RTCM-1077", corrections(0x4d)),
    ("RTCM-1084", corrections(0x54)),
    ("RTCM-1087", corrections(0x57)),
    ("RTCM-1094", corrections(0x5e)),
    ("RTCM-1097", corrections(0x61)),
    ("RTCM-1124", corrections(0x7c)),
    ("RTCM-1127", corrections(0x7f)),
    ("RTCM-1230", corrections(0xe6)),
    ("RTCM-4072", corrections(0xfe)),
    ("RTCM-4072.1", corrections(0xfd)),
];

/// The id of a message in the class of the secondary output.
const fn secondary(id: MessageId) -> MessageId {
    MessageId::new(NAV2, id.id)
}

/// The id that CFG-MSG has for an RTCM message.
const fn corrections(id: u8) -> MessageId {
    MessageId::new(RTCM, id)
}

/// The class of RTCM messages.
pub const RTCM: u8 = 0xf5;
/// The class of the secondary output.
pub const NAV2: u8 = 0x29;

impl LinePort {
    /// u-blox's number of the port.
    pub fn number(self) -> u8 {
        match self {
            Self::Uart1 => 1,
            Self::Uart2 => 2,
            Self::Usb => 3,
        }
    }
}

impl GnssDialect {
    /// Ports of the family's receivers to which a line can lead.
    pub fn line_ports(self) -> &'static [LinePort] {
        match self {
            Self::Ublox8 => &[LinePort::Uart1, LinePort::Usb],
            Self::Ublox9 => &[LinePort::Uart1, LinePort::Uart2, LinePort::Usb],
            Self::Ublox10 | Self::Garmin | Self::Plain => &[LinePort::Uart1],
        }
    }

    /// Whether the dialect has UBX.
    pub fn is_ublox(self) -> bool {
        self.column().is_some()
    }

    /// Whether settings are configuration items.
    pub fn has_items(self) -> bool {
        matches!(self, Self::Ublox9 | Self::Ublox10)
    }

    /// The place of a generation of u-blox receivers in tables: 8, 9, 10.
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Ublox8 => Some(0),
            Self::Ublox9 => Some(1),
            Self::Ublox10 => Some(2),
            Self::Garmin | Self::Plain => None,
        }
    }
}
