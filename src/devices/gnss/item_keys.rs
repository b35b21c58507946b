//! Keys of the configuration items that Menura acts on.

use crate::wire::ubx::cfg::Key;

/// Time between measurements, ms.
pub const RATE_MEAS: Key = Key(0x3021_0001);
/// Number of measurements per navigation solution.
pub const RATE_NAV: Key = Key(0x3021_0002);
/// Time reference of measurements: 0 UTC, 1 GPS; 2 to 4 (other systems) act as GPS.
pub const RATE_TIMEREF: Key = Key(0x2021_0003);
/// Baud rate of the first UART, bit/s.
pub const UART1_BAUDRATE: Key = Key(0x4052_0001);
/// Baud rate of the second UART, bit/s.
pub const UART2_BAUDRATE: Key = Key(0x4053_0001);
/// Whether NMEA is in high-precision mode, in which minutes have seven decimals.
pub const NMEA_HIGHPREC: Key = Key(0x1093_0006);
/// Version of NMEA: 21, 23, 40, 41 (4.10), 42 (4.11).
pub const NMEA_PROTVER: Key = Key(0x2093_0001);
/// Lowest elevation of used satellites, degrees.
pub const INFIL_MINELEV: Key = Key(0x2011_00a4);
/// Whether the first fix must be three-dimensional.
pub const INIFIX3D: Key = Key(0x1011_0013);
/// Height of two-dimensional fixes, cm above mean sea level.
pub const CONSTR_ALT: Key = Key(0x4011_00c1);
/// UTC standard: 0 automatic, 3 USNO, 5 Europe, 6 Russia, 7 China.
pub const UTCSTANDARD: Key = Key(0x2011_001c);
/// Smallest number of satellites for a fix.
pub const INFIL_MINSVS: Key = Key(0x2011_00a1);
/// Largest number of satellites for a fix.
pub const INFIL_MAXSVS: Key = Key(0x2011_00a2);
/// Lowest signal strength of a used satellite, dB-Hz.
pub const INFIL_MINCNO: Key = Key(0x2011_00a3);
/// Number of satellites that must reach [`INFIL_CNOTHRS`] for a fix.
pub const INFIL_NCNOTHRS: Key = Key(0x2011_00aa);
/// Signal strength that [`INFIL_NCNOTHRS`] satellites must reach, dB-Hz.
pub const INFIL_CNOTHRS: Key = Key(0x2011_00ab);
/// Largest PDOP of a valid fix, in units of 0.1.
pub const OUTFIL_PDOP: Key = Key(0x3011_00b1);
/// Largest TDOP of a valid fix, in units of 0.1.
pub const OUTFIL_TDOP: Key = Key(0x3011_00b2);
/// Largest position accuracy of a valid fix, metres.
pub const OUTFIL_PACC: Key = Key(0x3011_00b3);
/// Largest time accuracy of a valid fix, multiplied by the speed of light, metres.
pub const OUTFIL_TACC: Key = Key(0x3011_00b4);
/// Best carrier solution with corrections: 2 float, 3 or 5 fixed (5: conservative ambiguity resolution, from HPG 1.50).
pub const DGNSSMODE: Key = Key(0x2014_0011);
/// Largest age of corrections, s.
pub const CONSTR_DGNSSTO: Key = Key(0x2011_00c4);
/// Whether the second UART is enabled.
pub const UART2_ENABLED: Key = Key(0x1053_0005);
/// Whether the interference monitor is enabled.
pub const ITFM_ENABLE: Key = Key(0x1041_000d);
/// Text messages sent as NMEA on I2C: bit 0 errors, 1 warnings, 2 notices. The key for another port is this key plus
/// u-blox's port number.
pub const INFMSG_NMEA: Key = Key(0x2092_0006);
/// Text messages sent as UBX on I2C: bit 0 errors, 1 warnings, 2 notices. The key for another port is this key plus
/// u-blox's port number.
pub const INFMSG_UBX: Key = Key(0x2092_0001);
/// Whether USB is enabled.
pub const USB_ENABLED: Key = Key(0x1065_0001);
/// Whether the first UART is enabled.
pub const UART1_ENABLED: Key = Key(0x1052_0005);
/// Mode of a base station: 0 off, 1 survey, 2 fixed position.
pub const TMODE_MODE: Key = Key(0x2003_0001);
/// Minimum duration of a survey, s.
pub const SVIN_MIN_DUR: Key = Key(0x4003_0010);
/// Position accuracy that ends a survey, 0.1 mm.
pub const SVIN_ACC_LIMIT: Key = Key(0x4003_0011);
/// Main talker: 0 automatic (by the systems in use), 1 GP, 2 GL, 3 GN, 4 GA, 5 GB.
pub const NMEA_MAINTALKER: Key = Key(0x2093_0031);
/// Talker of GSV: 0 the system's talker, 1 the main talker.
pub const NMEA_GSVTALKER: Key = Key(0x2093_0032);
/// Whether NMEA omits GPS satellites.
pub const NMEA_FILT_GPS: Key = Key(0x1093_0011);
/// Whether NMEA omits QZSS.
pub const NMEA_FILT_QZSS: Key = Key(0x1093_0015);
/// Whether NMEA omits Galileo satellites.
pub const NMEA_FILT_GAL: Key = Key(0x1093_0013);
/// Whether NMEA omits GLONASS satellites.
pub const NMEA_FILT_GLO: Key = Key(0x1093_0016);
/// Whether NMEA omits BeiDou satellites.
pub const NMEA_FILT_BDS: Key = Key(0x1093_0017);
/// Whether NMEA reports GPS satellites only.
pub const NMEA_ONLYGPS: Key = Key(0x1093_0025);
/// Whether NMEA reports the course at low speed too.
pub const NMEA_FROZENCOG: Key = Key(0x1093_0026);
/// Dynamic model, in u-blox's numbering.
pub const DYNMODEL: Key = Key(0x2011_0021);
/// Fix mode: 1 two-dimensional, 2 three-dimensional, 3 automatic.
pub const FIXMODE: Key = Key(0x2011_0011);
/// Whether the time pulse is enabled.
pub const TP1_ENA: Key = Key(0x1005_0007);
/// Whether the pulse is synchronised to GNSS time when available.
pub const SYNC_TP1: Key = Key(0x1005_0008);
/// Whether separate values of the time pulse (the keys with LOCK in their names) apply after the receiver has locked to
/// GNSS time.
pub const USE_LOCKED_TP1: Key = Key(0x1005_0009);
/// Whether the time pulse is aligned to the start of a second.
pub const ALIGN_TP1: Key = Key(0x1005_000a);
/// Polarity of the time pulse: 0 the falling edge marks the second, 1 the rising edge.
pub const POL_TP1: Key = Key(0x1005_000b);
/// Definition of the time pulse: 0 by its period, 1 by its frequency.
pub const PULSE_DEF: Key = Key(0x2005_0023);
/// Definition of the length of the time pulse: 0 by its duty cycle, 1 by its duration.
pub const PULSE_LENGTH_DEF: Key = Key(0x2005_0030);
/// Delay of the antenna cable, ns, signed.
pub const ANT_CABLEDELAY: Key = Key(0x3005_0001);
/// Pulse delay set by the user, ns, signed.
pub const USER_DELAY_TP1: Key = Key(0x4005_0006);
/// Period of the time pulse until the receiver has locked to GNSS time, us.
pub const PERIOD_TP1: Key = Key(0x4005_0002);
/// Length of the time pulse until the receiver has locked to GNSS time, us.
pub const LEN_TP1: Key = Key(0x4005_0004);
/// Frequency of the time pulse until the receiver has locked to GNSS time, Hz.
pub const FREQ_TP1: Key = Key(0x4005_0024);
/// Frequency of the time pulse after the receiver has locked to GNSS time, Hz.
pub const FREQ_LOCK_TP1: Key = Key(0x4005_0025);
/// Duty cycle of the time pulse until the receiver has locked to GNSS time, percent, a double.
pub const DUTY_TP1: Key = Key(0x5005_002a);
/// Duty cycle of the time pulse after the receiver has locked to GNSS time, percent, a double.
pub const DUTY_LOCK_TP1: Key = Key(0x5005_002b);
/// Period of the time pulse after the receiver has locked to GNSS time, us.
pub const PERIOD_LOCK_TP1: Key = Key(0x4005_0003);
/// Length of the time pulse after the receiver has locked to GNSS time, us.
pub const LEN_LOCK_TP1: Key = Key(0x4005_0005);
/// Time scale of the pulse: 0 UTC, 1 GPS.
pub const TIMEGRID_TP1: Key = Key(0x2005_000c);
/// Whether GPS is enabled.
pub const GPS_ENA: Key = Key(0x1031_001f);
/// Whether Galileo is enabled.
pub const GAL_ENA: Key = Key(0x1031_0021);
/// Whether QZSS is enabled.
pub const QZSS_ENA: Key = Key(0x1031_0024);
/// Whether BeiDou is enabled.
pub const BDS_ENA: Key = Key(0x1031_0022);
/// Whether BeiDou B1C is enabled; generation 10 receives it instead of B1I.
pub const BDS_B1C_ENA: Key = Key(0x1031_000f);
/// Whether GLONASS is enabled.
pub const GLO_ENA: Key = Key(0x1031_0025);
/// Product number of the USB device.
pub const USB_PRODUCT_ID: Key = Key(0x3065_000b);
/// Format of the fixed position: 0 Earth-centred (ECEF), 1 latitude, longitude and height.
pub const TMODE_POS_TYPE: Key = Key(0x2003_0002);
/// ECEF coordinates of the fixed position, cm, signed.
pub const TMODE_ECEF: [Key; 3] = [Key(0x4003_0003), Key(0x4003_0004), Key(0x4003_0005)];
/// High-precision parts of [`TMODE_ECEF`], 0.1 mm, signed; they are added to it.
pub const TMODE_ECEF_HP: [Key; 3] = [Key(0x2003_0006), Key(0x2003_0007), Key(0x2003_0008)];
/// Fixed position: latitude and longitude, 1e-7 degrees, and height, cm, signed.
pub const TMODE_LLH: [Key; 3] = [Key(0x4003_0009), Key(0x4003_000a), Key(0x4003_000b)];
/// High-precision parts of [`TMODE_LLH`], 1e-9 degrees and 0.1 mm, signed; they are added to it.
pub const TMODE_LLH_HP: [Key; 3] = [Key(0x2003_000c), Key(0x2003_000d), Key(0x2003_000e)];
/// Accuracy of the fixed position, 0.1 mm.
pub const TMODE_FIXED_POS_ACC: Key = Key(0x4003_000f);
/// Confidence of a fence's state: 0 none, 1 to 5 standard deviations.
pub const GEOFENCE_CONFLVL: Key = Key(0x2024_0011);
/// Whether the first fence is enabled. The next three key numbers are its latitude and longitude (1e-7 degrees) and
/// radius (cm), four bytes each. The keys of the next fence are 0x10 higher.
pub const GEOFENCE_USE: u32 = 0x1024_0020;
/// Whether aiding messages are acknowledged.
pub const ACKAIDING: Key = Key(0x1011_0025);
/// Whether messages of class NAV2 are sent.
pub const NAV2_OUT_ENABLED: Key = Key(0x1017_0001);
/// First GPS week that the receiver can represent; 0: the receiver represents all weeks.
pub const WKNROLLOVER: Key = Key(0x3011_0017);
/// Whether the odometer counts.
pub const ODO_USE: Key = Key(0x1022_0001);
/// Station number of a base, 0 to 4095.
pub const RTCM_DF003_OUT: Key = Key(0x3009_0001);
/// Number of the base station that a rover selects.
pub const RTCM_DF003_IN: Key = Key(0x3009_0008);
/// Station filter of a rover: 0 off, 1 prefer the selected station, 2 use only that station.
pub const RTCM_DF003_IN_FILTER: Key = Key(0x2009_0009);
