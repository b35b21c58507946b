//! GNSS: the antenna's view of the satellites, which the scene may hide, and the receiver's solution.
//!
//! [`SkySensor`] has no state. It measures the antenna's position, the satellites above the horizon, and the open
//! share of the line of sight to each. `navigator::Navigator` has state: the acquisition from start to fix, slowly
//! changing errors, the age of the RTK solution. The device owns it and steps it once per epoch.
//! `observations::Observer` makes raw measurements of the same sky. Their errors are independent of those of the
//! solution.

pub mod almanac;
pub mod atmosphere;
pub mod broadcast;
pub mod constellation;
pub mod corrected;
pub mod dop;
pub mod errors;
pub mod faults;
pub mod limits;
pub mod navigator;
pub mod observations;
pub mod settings;
pub mod tracked;

use glam::DVec3;

use self::constellation::Constellation;
use self::settings::ReceiverSettings;
use super::fault::{EffectKind, FaultEffect};
use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, SkyOutlook, Surroundings};
use crate::config::rig::faults::Timed;
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::gnss::faults::GnssFault;
use crate::time::{Epoch, SimTime};
use crate::world::raycast::{Hit, Pulse, Stencil};

/// Largest distance of a surface that hides satellites, metres.
const MAX_RANGE_M: f32 = 5000.0;
/// Number of instants in an averaging window.
const WINDOW_SAMPLES: u64 = 9;

/// State of the antenna and the sky at an epoch: the ground truth, changed by outages and jumps.
#[derive(Clone, Debug, PartialEq)]
pub struct SkyView {
    /// Position of the antenna, averaged over the averaging window.
    pub position: Geodetic,
    /// Velocity of the antenna, east, north, up, m/s, averaged over the averaging window.
    pub velocity_enu_m_s: DVec3,
    /// Satellites above the horizon, hidden or not. Whether the scene hides a satellite is determined at the epoch,
    /// without averaging.
    pub satellites: Vec<SatelliteView>,
}

/// A satellite above the horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SatelliteView {
    /// Index into `Constellation::satellites`.
    pub index: usize,
    /// Angle above the horizon, radians.
    pub elevation_rad: f64,
    /// Azimuth clockwise from north, radians.
    pub azimuth_rad: f64,
    /// Share of the rays towards the satellite that hit nothing, 0..=1; 0 during an outage.
    pub open_share: f64,
}

/// Measures the sky from the antenna. Elevation and azimuth are in the local frame (east, north, up) at the antenna.
/// The rays use the same directions in World. At the distances of robots from World's origin, the two frames differ by
/// hundredths of a degree.
#[derive(Clone, Debug)]
pub struct SkySensor {
    settings: ReceiverSettings,
    constellation: Constellation,
    epoch: Epoch,
    stencil: Stencil,
    ray_spread: f64,
    window_ns: u64,
    faults: Vec<Timed<GnssFault>>,
}

impl SkySensor {
    /// The antenna of a receiver with these settings; `epoch` determines the satellites' positions.
    pub fn new(settings: &ReceiverSettings, epoch: Epoch) -> Self {
        // The line of sight, and eight directions around it.
        let ring = (0..8).map(|i| {
            let (sin, cos) = libm::sincos(f64::from(i) * std::f64::consts::FRAC_PI_4);
            [cos as f32, sin as f32]
        });
        let offsets = std::iter::once([0.0, 0.0]).chain(ring).collect();
        Self {
            settings: settings.clone(),
            constellation: Constellation::new(settings, epoch),
            epoch,
            stencil: Stencil::new(offsets).expect("nine finite offsets"),
            ray_spread: libm::tan(settings.sky.ray_spread_rad),
            window_ns: settings.window_ns,
            faults: Vec::new(),
        }
    }

    /// Returns the sensor with `faults`, which replace all faults set before. The sensor applies outages and jumps, and
    /// ignores the other kinds.
    #[must_use]
    pub fn with_faults(mut self, faults: &[Timed<GnssFault>]) -> Self {
        self.faults = faults.to_vec();
        self
    }

    /// Applies the faults that are active at `at` to `view`; returns their effects.
    fn apply_faults(&self, at: SimTime, view: &mut SkyView) -> Vec<FaultEffect> {
        let mut fault_effects = Vec::new();
        for fault in &self.faults {
            let Some(window) = fault.schedule.window_at(at) else { continue };
            let kind = match fault.kind {
                GnssFault::Outage => {
                    view.satellites.iter_mut().for_each(|satellite| satellite.open_share = 0.0);
                    EffectKind::NoSatellite
                }
                GnssFault::Jump { offset_enu_m } => {
                    let offset_m = DVec3::from(offset_enu_m);
                    view.position = GeoOrigin::new(view.position).geodetic_from_world(offset_m);
                    EffectKind::Moved { millimetres: (offset_m.length() * 1e3).round() as u64 }
                }
                // The device applies faults of its output and of its corrections.
                GnssFault::Frozen { .. }
                | GnssFault::WeekRollover
                | GnssFault::CorrectionsLost
                | GnssFault::CorrectionsDamaged
                | GnssFault::CorrectionsLate { .. }
                | GnssFault::WrongBase { .. } => continue,
            };
            fault_effects.push(FaultEffect { fault: fault.fault, window, kind });
        }
        fault_effects
    }

    /// All satellites; [`SatelliteView::index`] is an index into this list.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    fn view(&self, at: SimTime, around: &Surroundings<'_>, scratch: &mut Scratch) -> SkyView {
        let (place, velocity) = self.antenna(at, around);
        let position = around.origin.geodetic_from_world(place);
        let local = GeoOrigin::new(position);
        let gps_s = self.epoch.gps_seconds(at);
        let mut satellites = Vec::new();
        let (pulses, hits) = scratch.rays();
        for (index, satellite) in self.constellation.satellites.iter().enumerate() {
            let direction = local.world_from_ecef(satellite.orbit.ecef_m(gps_s)).normalize();
            if direction.z <= 0.0 {
                continue;
            }
            satellites.push(SatelliteView {
                index,
                elevation_rad: libm::asin(direction.z.min(1.0)),
                azimuth_rad: libm::atan2(direction.x, direction.y)
                    .rem_euclid(std::f64::consts::TAU),
                open_share: 1.0,
            });
            let half_axis_u = direction.any_orthonormal_vector() * self.ray_spread;
            pulses.push(Pulse {
                origin: place,
                direction,
                half_axis_u,
                half_axis_v: direction.cross(half_axis_u),
                start_m: 0.0,
                max_range_m: MAX_RANGE_M,
            });
        }
        hits.resize(pulses.len() * self.stencil.len(), Hit::MISS);
        let looked_at = vec![at; pulses.len()];
        around.caster.cast_at(&self.stencil, pulses, &looked_at, hits);
        for (satellite, hits) in satellites.iter_mut().zip(hits.chunks(self.stencil.len())) {
            let open = hits.iter().filter(|hit| hit.range_m.is_infinite()).count();
            satellite.open_share = open as f64 / self.stencil.len() as f64;
        }
        SkyView { position, velocity_enu_m_s: velocity, satellites }
    }

    /// Position and velocity of the antenna in World, averaged over the window that ends at `at`. The lever arm from
    /// the robot's reference point rotates with the robot, and moves with a joint.
    fn antenna(&self, at: SimTime, around: &Surroundings<'_>) -> (DVec3, DVec3) {
        let samples = if self.window_ns == 0 { 1 } else { WINDOW_SAMPLES };
        let (mut place, mut velocity) = (DVec3::ZERO, DVec3::ZERO);
        for sample in 0..samples {
            let back_ns = self.window_ns * sample / (samples - 1).max(1);
            let then = SimTime(at.0.saturating_sub(back_ns));
            let state = around.trajectory.state(then);
            let moved = around.mount_motion(then);
            let mount = moved.map_or(around.body_from_sensor, |moved| moved.body_from_point);
            let arm = mount.translation;
            let turn = state.world_from_body.direction(state.angular_rate_rad_s.cross(arm));
            place += state.world_from_body.point(arm);
            velocity += state.velocity_m_s + turn;
            if let Some(moved) = moved {
                velocity += state.world_from_body.direction(moved.velocity_m_s);
            }
        }
        (place / samples as f64, velocity / samples as f64)
    }
}

impl Sensor for SkySensor {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let measure = |request: MeasurementRequest| {
            let mut view = self.view(request.start, surroundings, scratch);
            let fault_effects = self.apply_faults(request.start, &mut view);
            Measurement { fault_effects, ..Measurement::new(request, Outcome::Sky(Box::new(view))) }
        };
        requests.into_iter().map(measure).collect()
    }
    fn sky_outlook(
        &self,
        at: SimTime,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Option<SkyOutlook> {
        let view = self.view(at, surroundings, scratch);
        Some(navigator::outlook(&self.settings, &self.constellation, &view))
    }
}
