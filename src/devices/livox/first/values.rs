//! Settings that hosts change by commands.

use super::points::Mode;
use super::profile::{FirstProfile, FirstSettings, ReturnMode};
use crate::wire::livox::first::command::{Address, Parameters, key, key_error};
use crate::wire::livox::first::data::{Coordinates, Format};
use crate::wire::record::Record as _;

/// Feature bit in heartbeats: rain and fog suppression.
const RAIN_FOG: u8 = 1;

/// Static address with the default mask and gateway.
pub fn static_address(ip: [u8; 4]) -> Address {
    let [a, b, c, _] = ip;
    Address { mode: 1, ip, mask: [255, 255, 255, 0], gateway: [a, b, c, 1] }
}

/// Settings that commands change and that survive a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    pub coordinates: Coordinates,
    pub returns: ReturnMode,
    /// Whether IMU samples are sent.
    pub has_imu: bool,
    pub is_fan_on: bool,
    pub suppresses_rain_fog: bool,
    /// Mounting angles and position, as received.
    pub mounting: [u8; 24],
    pub address: Address,
    with_tags: bool,
    is_sensitive: bool,
    repeats: bool,
    pub slot: u8,
}

impl Values {
    /// Initial values of a unit with `settings`.
    pub fn of(profile: &FirstProfile, settings: &FirstSettings) -> Self {
        Self {
            coordinates: settings.coordinates,
            returns: settings.return_mode,
            has_imu: profile.imu.is_some() && settings.imu_enable,
            is_fan_on: profile.interface.has_fan,
            suppresses_rain_fog: false,
            mounting: [0; 24],
            address: static_address(profile.network.source_ip.octets()),
            with_tags: settings.with_tags,
            is_sensitive: false,
            repeats: false,
            slot: settings.slot,
        }
    }

    /// Feature bits in heartbeats.
    pub fn features(&self) -> u8 {
        if self.suppresses_rain_fog { RAIN_FOG } else { 0 }
    }

    /// Settings for points. Points are on only if the unit `is_ready` and a host has requested points (`is_asked`).
    pub fn mode(&self, profile: &FirstProfile, is_ready: bool, is_asked: bool) -> Mode {
        let factor = |is_on: bool, factor: f64| if is_on { factor as f32 } else { 1.0 };
        let points = &profile.points;
        Mode {
            is_on: is_ready && is_asked,
            is_ready,
            format: Format::new(self.coordinates, self.with_tags, self.returns.returns()),
            returns: self.returns,
            slot: self.slot,
            threshold_factor: factor(self.is_sensitive, points.sensitive_threshold)
                * factor(self.suppresses_rain_fog, points.rain_fog_threshold),
            repeats: self.repeats,
        }
    }

    /// Value of a parameter; `None` if the firmware lacks it.
    pub fn parameter(&self, profile: &FirstProfile, key: u16) -> Option<u8> {
        profile.interface.keys.contains(&key).then(|| match key {
            key::SENSITIVITY => self.is_sensitive.into(),
            key::PATTERN => self.repeats.into(),
            _ => self.slot,
        })
    }

    /// Sets parameters; if one cannot be set, none is.
    ///
    /// # Errors
    /// Returns the key of the invalid parameter and the error code.
    pub fn set_parameters(
        &mut self,
        profile: &FirstProfile,
        parameters: &Parameters,
    ) -> Result<(), (u16, u8)> {
        let mut wanted = self.clone();
        for (key, value) in parameters {
            if !profile.interface.keys.contains(key) {
                return Err((*key, key_error::UNKNOWN));
            }
            match (*key, &value[..]) {
                (key::SENSITIVITY, [on @ 0..=1]) => wanted.is_sensitive = *on == 1,
                (key::PATTERN, [on @ 0..=1]) => wanted.repeats = *on == 1,
                (key::SLOT, [slot @ 1..=9]) => wanted.slot = *slot,
                (_, [_]) => return Err((*key, key_error::VALUE)),
                (_, _) => return Err((*key, key_error::VALUE_LENGTH)),
            }
        }
        *self = wanted;
        Ok(())
    }

    /// Restores the factory values of parameters.
    pub fn reset_parameters(&mut self, factory: &Self, keys: &[u16]) {
        for key in keys {
            match *key {
                key::SENSITIVITY => self.is_sensitive = factory.is_sensitive,
                key::PATTERN => self.repeats = factory.repeats,
                _ => self.slot = factory.slot,
            }
        }
    }

    /// Sets the address from the data of [`SET_ADDRESS`](crate::wire::livox::first::command::id::SET_ADDRESS); returns
    /// whether the data are valid. The data of a dynamic address can be the mode alone. The data of a static address
    /// can lack mask and gateway.
    pub fn set_address(&mut self, data: &[u8]) -> bool {
        match *data {
            [0] | [0, _, _, _, _] => self.address.mode = 0,
            [1, a, b, c, d] => self.address = static_address([a, b, c, d]),
            _ => match Address::parse(data) {
                Ok(address) if address.mode == 1 => self.address = address,
                Ok(address) if address.mode == 0 => self.address.mode = 0,
                _ => return false,
            },
        }
        true
    }
}
