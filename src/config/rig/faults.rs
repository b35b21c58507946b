//! `[[fault]]`: what goes wrong, when and how much.

use std::f64::consts::TAU;

use crate::config::rig::schedule::Schedule;
use crate::config::toml::diagnostic::Place;
use crate::time::SimTime;

/// One fault of a rig.
#[derive(Clone, Debug)]
pub struct FaultConfig {
    /// Unique among the rig's faults; names its rows in the log.
    pub name: String,
    /// The device's place in the rig.
    pub device: usize,
    /// When.
    pub schedule: Schedule,
    /// Of its random draws.
    pub seed: u64,
    /// What.
    pub kind: FaultKind,
    /// The word for the kind in TOML and in the log.
    pub word: &'static str,
    /// Where the device is named.
    pub place: Place,
}

/// What goes wrong: on the way from a device, or within it.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// On its link or its GPS cable.
    Wire(WireFault),
    /// In a GNSS receiver.
    Gnss(GnssFault),
    /// In a lidar's optics.
    Lidar(LidarFault),
    /// In a lidar's motor.
    Stall(MotorStall),
}

/// What goes wrong on the way. Probabilities and rates are 0..=1; each draw is of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum WireFault {
    /// Datagrams are lost.
    PacketLoss {
        /// Of each datagram.
        probability: f64,
    },
    /// Datagrams arrive twice.
    Duplication {
        /// Of each datagram.
        probability: f64,
        /// The copy is this much later, nanoseconds.
        after_ns: u64,
    },
    /// Datagrams are held back and overtaken.
    Reordering {
        /// Of each datagram.
        probability: f64,
        /// By how many.
        by_packets: u32,
    },
    /// Datagrams or telegrams are late. With jitter, datagrams may overtake each other.
    Delay {
        /// Of each.
        probability: f64,
        /// How late, nanoseconds.
        delay_ns: u64,
        /// Up to this much earlier or later than that, nanoseconds.
        jitter_ns: u64,
    },
    /// Datagrams are cut short.
    Truncation {
        /// Of each datagram.
        probability: f64,
        /// To this length; to any shorter one when left out.
        to_bytes: Option<usize>,
    },
    /// Bits of datagrams are flipped.
    BitErrors {
        /// Of each bit.
        rate: f64,
    },
    /// Bits on a serial line are flipped, start and stop bits too.
    LineNoise {
        /// Of each bit.
        rate: f64,
    },
    /// Bytes on a serial line are lost.
    DroppedBytes {
        /// Of each byte.
        probability: f64,
    },
    /// A serial line is held low for a while, in the middle of a byte.
    FramingBreaks {
        /// Of each byte.
        probability: f64,
        /// For how many bits.
        length_bits: u32,
    },
    /// Nothing passes, either way.
    LinkDown,
    /// A receiver's time pulse does not come, neither on its link nor on its cables.
    PpsLoss,
    /// Neither pulse nor bytes come down a device's `gps_cable`.
    GpsCableDown,
}

/// What goes wrong in a GNSS receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GnssFault {
    /// No satellite is received.
    Outage,
    /// Every position is off.
    Jump {
        /// East, north, up, metres.
        offset_enu_m: [f64; 3],
    },
    /// The last fix is told again and again.
    Frozen {
        /// With the time that it is; else with the time of that fix.
        time_goes_on: bool,
    },
}

/// What goes wrong in a lidar's optics.
#[derive(Clone, Debug, PartialEq)]
pub enum LidarFault {
    /// Nothing comes back from some lasers.
    DeadLasers(Vec<u16>),
    /// The window lets less light through.
    DirtyWindow {
        /// Where.
        sector: Sector,
        /// One way, 0..=1.
        transmission: f64,
    },
}

/// Part of a turn around a lidar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    /// Where it begins: clockwise seen from above, 0 is forward, radians.
    pub from_rad: f64,
    /// How far it reaches on from there, radians, up to a whole turn.
    pub width_rad: f64,
}

impl Sector {
    /// Whether it holds a direction, clockwise from forward, radians.
    pub fn contains(&self, azimuth_rad: f64) -> bool {
        (azimuth_rad - self.from_rad).rem_euclid(TAU) <= self.width_rad
    }
}

/// A rotor or mirror is held, and let go when the window closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MotorStall {
    /// From full speed to rest, nanoseconds; as the motor itself slows down when left out.
    pub stops_within_ns: Option<u64>,
}

/// A fault within a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<K> {
    /// Its place in the rig.
    pub fault: usize,
    /// When.
    pub schedule: Schedule,
    /// What.
    pub kind: K,
}

impl<K> Timed<K> {
    /// Whether it is there at `at`.
    pub fn is_on(&self, at: SimTime) -> bool {
        self.schedule.window_at(at).is_some()
    }
}

/// The faults within one device, each sort in the rig's order.
#[derive(Clone, Debug, Default)]
pub struct DeviceFaults {
    /// Of a receiver.
    pub gnss: Vec<Timed<GnssFault>>,
    /// Of a lidar's optics.
    pub lidar: Vec<Timed<LidarFault>>,
    /// Of a lidar's motor.
    pub stalls: Vec<Timed<MotorStall>>,
}

impl DeviceFaults {
    /// Those of the device with the place `device`.
    pub fn of(faults: &[FaultConfig], device: usize) -> Self {
        let mut own = Self::default();
        for (fault, config) in faults.iter().enumerate().filter(|(_, f)| f.device == device) {
            let schedule = config.schedule;
            match &config.kind {
                FaultKind::Wire(_) => {}
                FaultKind::Gnss(kind) => own.gnss.push(Timed { fault, schedule, kind: *kind }),
                FaultKind::Lidar(kind) => {
                    own.lidar.push(Timed { fault, schedule, kind: kind.clone() });
                }
                FaultKind::Stall(kind) => own.stalls.push(Timed { fault, schedule, kind: *kind }),
            }
        }
        own
    }
}

/// How much light a window that is dirty somewhere lets through there at `at`, one way, 0..=1;
/// `None` while it is clean.
pub fn dirt_at(faults: &[Timed<LidarFault>], at: SimTime) -> Option<f64> {
    let transmissions = faults.iter().filter(|fault| fault.is_on(at)).filter_map(|fault| {
        let LidarFault::DirtyWindow { transmission, .. } = fault.kind else { return None };
        Some(transmission)
    });
    transmissions.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_may_run_through_forward() {
        let deg = f64::to_radians;
        let sector = Sector { from_rad: deg(350.0), width_rad: deg(20.0) };
        for (azimuth, held) in [(350.0, true), (0.0, true), (369.9, true), (12.0, false)] {
            assert_eq!(sector.contains(deg(azimuth)), held, "{azimuth}");
        }
        let all = Sector { from_rad: 0.0, width_rad: TAU };
        assert!(all.contains(deg(359.999)) && all.contains(0.0));
    }
}
