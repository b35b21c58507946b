//! Circular geofences, and the odometer.

use super::Gnss;
use super::Verdict;
use super::item_keys as key;
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::gnss::navigator::{Fix, Solution};
use crate::time::SimTime;
use crate::wire::ubx::cfg::{Item, Key};
use crate::wire::ubx::nav_more::{FenceState, NavGeofence, NavOdo};
use crate::wire::ubx::{Frame, MessageId};

pub(super) const CFG_GEOFENCE: MessageId = MessageId::new(0x06, 0x69);
const FENCES: u32 = 4;
/// Number of bytes before the first fence in CFG-GEOFENCE: version, number of fences, confidence, reserved, pin enabled,
/// polarity, pin number, reserved.
const HEAD_BYTES: usize = 8;
const FENCE_BYTES: usize = 12;
const USE_PIO: Key = Key(0x1024_0012);
const PIN_POLARITY: Key = Key(0x2024_0013);
const PIN: Key = Key(0x2024_0014);

/// Keys of a fence: enabled, latitude, longitude and radius.
fn fence_keys(fence: u32) -> [Key; 4] {
    let first = key::GEOFENCE_USE + fence * 0x10;
    [first, 0x3000_0001 + first, 0x3000_0002 + first, 0x3000_0003 + first].map(Key)
}

impl Gnss {
    pub(super) fn configure_fences(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let id = CFG_GEOFENCE;
        if payload.is_empty() {
            let answer = self.fence_settings();
            self.send_frame(now, &Frame::new(id, answer));
            return Ok(());
        }
        let [0, count, confidence, _, has_pin, polarity, pin, _, fences @ ..] = payload else {
            return Err(());
        };
        let is_whole = fences.len() == usize::from(*count) * FENCE_BYTES;
        if u32::from(*count) > FENCES || !is_whole {
            return Err(());
        }
        let item = |key, value: u8| Item { key, value: value.into() };
        let mut items = vec![
            item(key::GEOFENCE_CONFLVL, *confidence),
            item(USE_PIO, *has_pin),
            item(PIN_POLARITY, *polarity),
            item(PIN, *pin),
        ];
        let mut values = fences
            .chunks_exact(4)
            .map(|bytes| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        for fence in 0..FENCES {
            let [is_on, place @ ..] = fence_keys(fence);
            items.push(item(is_on, (fence < u32::from(*count)).into()));
            items
                .extend(place.into_iter().zip(&mut values).map(|(key, value)| Item { key, value }));
        }
        self.store.set_all(1, &items).map_err(drop)
    }

    fn fence_settings(&self) -> Vec<u8> {
        let get = |key| self.store.get(key) as u8;
        let on: Vec<[Key; 4]> =
            (0..FENCES).map(fence_keys).filter(|[is_on, ..]| self.store.is_set(*is_on)).collect();
        let count = on.len() as u8;
        let mut answer = vec![0, count, get(key::GEOFENCE_CONFLVL), 0];
        answer.extend([get(USE_PIO), get(PIN_POLARITY), get(PIN), 0]);
        debug_assert_eq!(answer.len(), HEAD_BYTES);
        for [_, place @ ..] in on {
            answer.extend(place.iter().flat_map(|key| (self.store.get(*key) as u32).to_le_bytes()));
        }
        answer
    }

    /// NAV-GEOFENCE. The receiver is inside a fence (state 1) if its distance from the centre plus a margin is at most
    /// the radius. It is outside (2) if the distance minus the margin exceeds the radius. Otherwise, or without a fix
    /// within the limits, the state is unknown (0). The margin is the configured number of standard deviations of the
    /// position.
    pub(super) fn fences(&self, s: &Solution, itow_ms: u32) -> NavGeofence {
        let sigmas = match self.store.get(key::GEOFENCE_CONFLVL) {
            0 => 0.0,
            // Confidence of 68, 95, 99.7, 99.99 or 99.9999 per cent: 1 to 5 standard deviations.
            level => level as f64,
        };
        let margin_m = sigmas * s.horizontal_accuracy_m();
        let state = |[is_on, latitude, longitude, radius]: [Key; 4]| {
            if !self.store.is_set(is_on) {
                return None;
            }
            if matches!(s.fix, Fix::None) || !s.is_within_limits {
                return Some(0);
            }
            let degrees = |key| f64::from(self.store.get(key) as u32 as i32) * 1e-7;
            let centre = Geodetic {
                latitude_deg: degrees(latitude),
                longitude_deg: degrees(longitude),
                altitude_m: s.position.altitude_m,
            };
            let off = GeoOrigin::new(s.position).world_from_geodetic(centre);
            let distance_m = off.truncate().length();
            let radius_m = self.store.get(radius) as f64 * 0.01;
            Some(match distance_m {
                far if far - margin_m > radius_m => 2,
                near if near + margin_m <= radius_m => 1,
                _ => 0,
            })
        };
        let states: Vec<u8> = (0..FENCES).map(fence_keys).filter_map(state).collect();
        let combined = match &states[..] {
            [] => 0,
            all if all.contains(&1) => 1,
            all if all.iter().all(|state| *state == 2) => 2,
            _ => 0,
        };
        let fences = states.iter().zip(1..).map(|(state, id)| FenceState { state: *state, id });
        NavGeofence {
            itow_ms,
            version: 0,
            status: u8::from(!states.is_empty()),
            count: states.len() as u8,
            combined,
            fences: fences.collect(),
        }
    }

    /// NAV-ODO: distance since the reset of the odometer and in total.
    pub(super) fn odometer(&self, itow_ms: u32) -> NavOdo {
        let metres = |value: f64| value.round().min(4e9) as u32;
        NavOdo {
            itow_ms,
            distance_m: metres(self.distance_m),
            total_distance_m: metres(self.total_distance_m),
            // The standard deviation grows with the distance; 2 % is an assumption.
            distance_std_m: metres(self.distance_m * 0.02),
            ..NavOdo::default()
        }
    }

    /// Adds the distance since the previous epoch `before` to the odometer, if it is on and the solution has a fix.
    pub(super) fn count_distance(&mut self, before: Option<SimTime>, s: &Solution) {
        let Some(before) = before.filter(|_| self.store.is_set(key::ODO_USE) && s.fix.is_some())
        else {
            return;
        };
        let gone_m = s.ground_speed_m_s() * s.at.saturating_since(before).as_secs_f64();
        self.distance_m += gone_m;
        self.total_distance_m += gone_m;
    }
}
