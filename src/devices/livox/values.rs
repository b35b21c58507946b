//! Settings of a unit, by key.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::points::Mode;
use super::profile::{LivoxProfile, LivoxSettings};
use crate::config::profile::network::{HostAddress, PortIndex};
use crate::wire::livox::command::ret;
use crate::wire::livox::data::{DataType, POINTS};
use crate::wire::livox::key::{Destination, FieldOfView, key, length_of, state};
use crate::wire::record::Record as _;

/// Smallest number of a key that reports a state; hosts cannot set keys from this number on.
const FIRST_STATE_KEY: u16 = 0x8000;
/// Permitted blind zones (minimum ranges), centimetres.
const BLIND_ZONES_CM: std::ops::RangeInclusive<u32> = 50..=200;
/// Ports with a destination that hosts can set, each with the protocol key that sets the destination.
const HOSTS: [(PortIndex, u16); 3] = [
    (PortIndex::DATA, key::POINT_HOST),
    (LivoxProfile::IMU, key::IMU_HOST),
    (LivoxProfile::STATE, key::STATE_HOST),
];

/// Values of all settable keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(BTreeMap<u16, Vec<u8>>);

impl Values {
    /// Initial values of a unit with `settings` that sends to `host`.
    pub fn of(profile: &LivoxProfile, settings: &LivoxSettings, host: &HostAddress) -> Self {
        let settable = profile.interface.keys.iter().filter(|key| **key < FIRST_STATE_KEY);
        let zeros = settable.filter_map(|key| Some((*key, vec![0; length_of(*key)?])));
        let mut values = Self(zeros.collect());
        values.set_address(profile.network.source_ip);
        values.put(key::DATA_TYPE, &[settings.data_type.number()]);
        values.put(key::TARGET_STATE, &[settings.target_state.number()]);
        values.put(key::IMU_ON, &[settings.imu_enable.into()]);
        values.put(key::BLIND_ZONE, &BLIND_ZONES_CM.start().to_le_bytes());
        let whole = FieldOfView {
            yaw_start: 0,
            yaw_stop: 359,
            pitch_start: -10,
            pitch_stop: 60,
            reserved: 0,
        };
        values.put(key::FIELD_0, &whole.to_bytes());
        values.put(key::FIELD_1, &whole.to_bytes());
        for ((port, key), own) in HOSTS.into_iter().zip(profile.datagram_ports()) {
            if let Some(to) = host.of(port)
                && let IpAddr::V4(ip) = to.ip()
            {
                let own_port = own.frame.source_port;
                let to = Destination { ip: ip.octets(), port: to.port(), own_port };
                values.put(key, &to.to_bytes());
            }
        }
        values
    }

    /// Sets the unit's own address, with the default mask and gateway.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        let [a, b, c, d] = address.octets();
        self.put(key::NETWORK, &[a, b, c, d, 255, 255, 255, 0, a, b, c, 1]);
    }

    /// Stores a value, if the unit has the key.
    pub fn put(&mut self, key: u16, value: &[u8]) {
        if let Some(known) = self.0.get_mut(&key) {
            *known = value.to_vec();
        }
    }

    /// Value of a settable key; `None` if the unit lacks it.
    pub fn get(&self, key: u16) -> Option<&[u8]> {
        self.0.get(&key).map(Vec::as_slice)
    }

    /// First byte of a value; 0 if the unit lacks the key.
    fn byte(&self, key: u16) -> u8 {
        self.get(key).and_then(|value| value.first()).copied().unwrap_or_default()
    }

    /// Checks that a host may set a key to a value.
    ///
    /// # Errors
    /// Returns the error code of the answer.
    pub fn check(&self, profile: &LivoxProfile, key: u16, value: &[u8]) -> Result<(), u8> {
        if !profile.interface.keys.contains(&key) {
            return Err(ret::UNKNOWN_KEY);
        }
        if key >= FIRST_STATE_KEY {
            return Err(ret::READ_ONLY);
        }
        if length_of(key) != Some(value.len()) {
            return Err(ret::WRONG_LENGTH);
        }
        let byte = value.first().copied().unwrap_or_default();
        let is_allowed = match key {
            key::DATA_TYPE => DataType::from_number(byte).is_some(),
            key::PATTERN if !profile.interface.patterns.contains(&byte) => {
                return Err(profile.interface.pattern_refusal);
            }
            key::TARGET_STATE => matches!(byte, state::SAMPLING | state::IDLE | state::READY),
            key::STATE_AFTER_BOOT => byte <= 2,
            key::FIELDS_ON => byte <= 3,
            key::DUAL_EMISSION
            | key::NO_POINTS
            | key::DETECTION
            | key::HEATING
            | key::IMU_ON
            | key::FORCED_HEATING => byte <= 1,
            key::BLIND_ZONE => value
                .try_into()
                .is_ok_and(|value| BLIND_ZONES_CM.contains(&u32::from_le_bytes(value))),
            key::FIELD_0 | key::FIELD_1 => FieldOfView::parse(value).is_ok_and(|field| {
                let FieldOfView { yaw_start, yaw_stop, pitch_start, pitch_stop, .. } = field;
                [yaw_start, yaw_stop].iter().all(|yaw| (0..360).contains(yaw))
                    && [pitch_start, pitch_stop].iter().all(|pitch| (-10..=60).contains(pitch))
                    && pitch_start <= pitch_stop
            }),
            key::STATE_HOST | key::POINT_HOST | key::IMU_HOST => {
                Destination::parse(value).is_ok_and(|to| to.port != 0)
            }
            key::FUNCTION_PINS => matches!(value, [0, 0, 0..=2, 0..=2]),
            _ => true,
        };
        if is_allowed { Ok(()) } else { Err(ret::OUT_OF_RANGE) }
    }

    /// Target state of the unit, one of [`state`].
    pub fn target(&self) -> u8 {
        self.byte(key::TARGET_STATE)
    }

    /// Target state after a start, one of [`state`]: the stored one or, if so configured, sampling.
    pub fn target_after_boot(&self) -> u8 {
        if self.byte(key::STATE_AFTER_BOOT) == 1 { state::SAMPLING } else { self.target() }
    }

    /// Whether IMU samples are sent.
    pub fn has_imu(&self) -> bool {
        self.byte(key::IMU_ON) == 1
    }

    /// Whether the window is heated: always if forced, otherwise during sampling if heating is enabled.
    pub fn heats(&self, is_sampling: bool) -> bool {
        self.byte(key::FORCED_HEATING) == 1 || (self.byte(key::HEATING) == 1 && is_sampling)
    }

    /// Settings for points. Points are off unless the unit `is_sampling`.
    pub fn mode(&self, profile: &LivoxProfile, is_sampling: bool) -> Mode {
        let fields = [(key::FIELD_0, 1), (key::FIELD_1, 2)].into_iter().filter_map(|(key, bit)| {
            let is_on = self.byte(key::FIELDS_ON) & bit != 0;
            FieldOfView::parse(self.get(key)?).ok().filter(|_| is_on)
        });
        let blind_cm = self.get(key::BLIND_ZONE).and_then(|value| value.try_into().ok());
        let is_sensitive = self.byte(key::DETECTION) == 1;
        let sensitive = profile.points.sensitive_threshold as f32;
        // A repetition has whole packets, so that no packet spans two frames.
        let frame = profile.packets_per_frame() * (POINTS / profile.pattern.form.lines()) as u64;
        Mode {
            repeats_after: (self.byte(key::PATTERN) != 0).then_some(frame),
            is_on: is_sampling && self.byte(key::NO_POINTS) == 0,
            data_type: DataType::from_number(self.byte(key::DATA_TYPE)).unwrap_or_default(),
            blanked_m: blind_cm.map_or(0, u32::from_le_bytes) as f32 / 100.0,
            threshold_factor: if is_sensitive { sensitive } else { 1.0 },
            fields: Arc::from(fields.collect::<Vec<_>>()),
        }
    }

    /// Destinations that differ from those in `before`: one entry per changed port, in which all other ports are 0.
    pub fn moved(&self, before: &Self) -> Vec<HostAddress> {
        let of = |values: &Self, key| {
            Destination::parse(values.get(key)?).ok().map(|to| (to.ip, to.port))
        };
        let mut hosts = Vec::new();
        for (port, key) in HOSTS {
            let Some((ip, number)) = of(self, key).filter(|to| Some(*to) != of(before, key)) else {
                continue;
            };
            let mut ports = vec![0; HOSTS.len()];
            ports[port.place()] = number;
            hosts.push(HostAddress { ip: ip.into(), ports });
        }
        hosts
    }
}
