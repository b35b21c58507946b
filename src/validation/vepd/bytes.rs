//! Drives from the output of devices: a rig is recorded, and its bytes are decoded as by drivers.
//!
//! The judge (the estimator) gets an IMU output when its frame has arrived. A GNSS fix is used at its epoch, which the
//! message contains and drivers use as the timestamp, although its bytes arrive later: the judge sorts by timestamps,
//! like robot_localization with `smooth_lagged_data`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::drive::{Bench, Draws, PositionReading, Reading, Seen, Truth, stated_variance_m2};
use super::variant::Variant;
use crate::devices::decoder::StreamDecoder;
use crate::devices::decoder::readings::PositionFix;
use crate::devices::families::family_of;
use crate::engine::LiveWorld;
use crate::engine::hosts::NoHosts;
use crate::engine::record::{Stretch, render};
use crate::time::SimTime;
use crate::validation::ExperimentError;
use crate::world::raycast::OpenSky;

/// Start of GPS time in POSIX time, nanoseconds.
const GPS_EPOCH_UNIX_NS: i128 = 315_964_800_000_000_000;
/// GPS time minus UTC since 2017, nanoseconds.
const LEAP_NS: i128 = 18_000_000_000;
const WEEK_NS: i128 = 604_800_000_000_000;
/// Message with the fixes for the judge.
const FIXES: &str = "NAV-HPPOSLLH";
/// Longest interval on the IMU's clock, seconds; a longer one means a lost frame.
const LONGEST_S: f64 = 0.1;
/// Additional recording time, in which the last epoch's bytes arrive.
const PAST_THE_END: Duration = Duration::from_millis(300);

/// Loads the world of the rig, for all drives, and replaces its ray caster: GNSS receivers have an open sky.
pub fn world(bench: &Bench) -> Result<LiveWorld, ExperimentError> {
    let loaded = LiveWorld::load(&bench.rig);
    let mut world = loaded.map_err(|error| ExperimentError::Input(error.to_string()))?;
    world.caster = Box::new(OpenSky);
    Ok(world)
}

/// Renders a drive with the errors of `variant` and decodes the devices' bytes as drivers do.
pub fn read(
    bench: &Bench,
    world: &mut LiveWorld,
    truth: &Truth,
    variant: Variant,
    draws: Draws,
) -> Seen {
    let mut rig = bench.rig.clone();
    rig.seed = draws.drive_seed(truth.course);
    let is_reference = draws.is_reference || variant.has_reference_receiver();
    rig.devices[0].name = draws.name("imu", draws.is_reference);
    rig.devices[0].settings = Arc::new(bench.imu(variant));
    rig.devices[1].name = draws.name("gnss", is_reference);
    rig.devices[1].settings = Arc::new(bench.receiver(variant));
    world.trajectory = truth.motion.clone();
    let decoder = |device: usize| -> Box<dyn StreamDecoder> {
        let profile = &rig.devices[device].profile;
        family_of(profile).stream_decoder(Some(profile)).expect("both send streams")
    };
    let mut decoders = [decoder(0), decoder(1)];
    let mut heard = Heard { bench, truth, seen: Seen::default(), last_stamp_s: None };
    let duration = Duration::from_secs_f64(truth.total_s) + PAST_THE_END;
    let stop = AtomicBool::new(false);
    let run = Stretch { rig: &rig, world, duration, start: rig.start_utc, stop: &stop };
    let rendered: Result<(), Infallible> =
        render(run, &mut NoHosts, &mut |_| {}, |device, _, due, output| {
            let mut rest = output.bytes().unwrap_or_default();
            while let Some(frame) = decoders[device].next_frame(&mut rest) {
                if let Some(fix) = frame.content.fix() {
                    heard.fix(fix);
                }
                if let Some(inertial) = frame.content.inertial() {
                    heard.inertial(due, &inertial);
                }
            }
            Ok(())
        });
    let Ok(()) = rendered;
    heard.seen
}

/// Readings decoded so far.
struct Heard<'a> {
    bench: &'a Bench,
    truth: &'a Truth,
    seen: Seen,
    last_stamp_s: Option<f64>,
}

impl Heard<'_> {
    fn inertial(&mut self, due: SimTime, said: &crate::devices::decoder::readings::Inertial) {
        if let (Some(gyro), Some(accel)) = (said.gyro_rad_s, said.accel_m_s2) {
            let usual_s = f64::from(super::drive::IMU.1).recip();
            let since_s = said.stamp_s.zip(self.last_stamp_s).map(|(now, last)| now - last);
            self.last_stamp_s = said.stamp_s;
            let interval_s = since_s.filter(|s| (0.0..LONGEST_S).contains(s)).unwrap_or(usual_s);
            let true_velocity_m_s = self.bench.inertial_truth(&self.truth.motion, due).velocity_m_s;
            let attitude = said.attitude;
            let reading = Reading { at: due, gyro, accel, interval_s, attitude, true_velocity_m_s };
            self.seen.readings.push(reading);
        } else if let Some(last) = self.seen.readings.last_mut() {
            // The attitude follows in a separate frame.
            last.attitude = said.attitude.or(last.attitude);
        }
    }

    /// Adds a fix from NAV-HPPOSLLH; other messages are ignored. This message also reports position and accuracy of
    /// fixes that NAV-PVT marks as too inaccurate.
    fn fix(&mut self, fix: PositionFix) {
        if fix.message != FIXES {
            return;
        }
        let start_ns = self.bench.epoch.unix_ns(SimTime::ZERO) - GPS_EPOCH_UNIX_NS + LEAP_NS;
        let week_s = start_ns.rem_euclid(WEEK_NS) as f64 * 1e-9;
        let at_s = (fix.time_s - week_s).rem_euclid(WEEK_NS as f64 * 1e-9);
        let variance_m2 = stated_variance_m2(
            fix.horizontal_accuracy_m.unwrap_or(0.0),
            fix.vertical_accuracy_m.unwrap_or(0.0),
        );
        let at = SimTime::from_secs_f64(at_s);
        self.seen.fixes.push(PositionReading { at, position: fix.position, variance_m2 });
    }
}
