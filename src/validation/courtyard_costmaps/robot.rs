//! The vehicle's computer: it reads lidar, GNSS receiver and compass, creates the map, plans, and commands the drive.
//! It has no access to the ground truth.

use std::collections::VecDeque;
use std::f64::consts::{FRAC_PI_2, TAU};

use glam::{DVec2, DVec3};

use super::map::Map;
use crate::config::rig::{DeviceId, Rig};
use crate::devices::Output;
use crate::devices::decoder::datagram::{CloudPoint, DATA, DatagramDecoder, PointSource};
use crate::devices::decoder::{Hints, StreamDecoder};
use crate::devices::families::{catalogue, family_of};
use crate::engine::host_events::{HostInput, HostTarget, Payload};
use crate::engine::hosts::Hosts;
use crate::frames::GeoOrigin;
use crate::time::SimTime;
use crate::validation::ExperimentError;
use crate::validation::andabata::robot::position;
use crate::wire::drive_order::DriveOrder;
use crate::wire::framer::Framer;
use crate::wire::gnss_stream::{Frame, GnssStream};
use crate::wire::nmea::RawSentence;
use crate::wire::phone::{Phone, Sentence};

/// Interval at which the computer reads its inputs, nanoseconds.
const LOOK_NS: u64 = 20_000_000;
/// Interval between plans, nanoseconds.
const PLAN_NS: u64 = 1_000_000_000;
/// Largest speed of the vehicle of Goodin et al. 2018, m/s.
pub const SPEED_M_S: f64 = 2.0;
/// The vehicle steers to the point of its path that is this far ahead, metres.
const AHEAD_M: f64 = 4.0;
/// Gain of the steering, 1/s.
const GAIN_PER_S: f64 = 1.2;
/// Largest turn rate, rad/s.
const FASTEST_RAD_S: f64 = 0.8;
/// Fraction of the difference between a GNSS fix and the estimated position by which the fix corrects the estimate.
const FIX_SHARE: f64 = 0.5;
/// Time constant of the vehicle's speed, seconds; the computer knows it and uses it in its estimate.
const LAG_S: f64 = 0.1;
/// Time for which estimated positions are kept, nanoseconds. A fix arrives late and is compared with the position at
/// its epoch.
const KEPT_NS: u64 = 2_000_000_000;
/// Time from the epoch of a fix to the end of its sentence, nanoseconds: the latency that the rig sets, plus the
/// duration of the sentence.
const FIX_NS: u64 = 60_000_000;

/// A return with its position as the computer estimates it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Estimated position of the return: east and north by GNSS receiver and compass, height above the ground, metres.
    pub place: DVec3,
    /// Estimated position of the sensor: east and north by GNSS receiver and compass, metres.
    pub from: DVec2,
}

/// Decoder of the lidar's output, for datagrams or a byte stream.
struct Reader {
    datagrams: Option<Box<dyn DatagramDecoder>>,
    points: Option<PointSource>,
    stream: Option<Box<dyn StreamDecoder>>,
}

impl Reader {
    /// Appends the points of a packet or a piece of a stream, in the sensor's frame.
    fn read(&mut self, output: &Output, points: &mut Vec<DVec3>) {
        match (output, &mut self.datagrams, &mut self.stream) {
            (Output::Datagram { bytes, .. }, Some(decoder), _) => {
                if decoder.head([0; 2], bytes).is_none_or(|head| head.kind != DATA) {
                    return;
                }
                if self.points.is_none() {
                    decoder.learn(bytes);
                    self.points = decoder.point_source().ok();
                }
                let Some(source) = &self.points else { return };
                let mut cloud: Vec<CloudPoint> = Vec::new();
                for block in 0..decoder.sweep(bytes).azimuths_centideg.len() {
                    (source.decode)(bytes, block, &mut cloud);
                }
                points.extend(cloud.iter().map(|point| point.position_m));
            }
            (Output::Bytes(bytes), _, Some(decoder)) => {
                let mut rest = bytes.as_slice();
                while let Some(frame) = decoder.next_frame(&mut rest) {
                    let scan = frame.content.scan();
                    let flat = scan.iter().flat_map(|scan| scan.points());
                    points.extend(flat.map(|[forward, left]| DVec3::new(forward, left, 0.0)));
                }
            }
            _ => {}
        }
    }
}

/// The vehicle's computer, connected to the rig's first three devices: lidar, GNSS receiver, compass.
pub struct Robot<'a> {
    lidar: Reader,
    receiver: Framer<GnssStream>,
    compass: Framer<Phone>,
    /// Outputs since the last step. Their order depends on threads, so they are sorted later.
    heard: Vec<(SimTime, DeviceId, Output)>,
    origin: GeoOrigin,
    sensor_m: DVec3,
    goal_m: DVec2,
    /// Called with each return.
    see: &'a mut dyn FnMut(Seen),
    next_look: SimTime,
    next_plan: SimTime,
    /// Estimated position of the vehicle, east and north, metres; `None` before the first fix.
    position_m: Option<DVec2>,
    heading_rad: Option<f64>,
    speed_m_s: f64,
    told_m_s: f64,
    kept: VecDeque<(SimTime, DVec2)>,
    /// Map of all returns so far.
    pub map: Map,
    /// Latest planned path, World, metres; empty without a path.
    pub way: Vec<DVec2>,
    /// Estimated positions of the vehicle with their times, metres.
    pub track: Vec<(SimTime, DVec2)>,
}

impl<'a> Robot<'a> {
    /// A computer that is switched on together with the devices.
    pub fn new(
        rig: &Rig,
        origin: GeoOrigin,
        goal_m: DVec2,
        map: Map,
        see: &'a mut dyn FnMut(Seen),
    ) -> Result<Self, ExperimentError> {
        let profile = &rig.devices[0].profile;
        let family = family_of(profile);
        let hints = Hints { profile: Some(profile), ..Hints::default() };
        let lidar = Reader {
            datagrams: family.datagram_decoder(&hints, catalogue().profiles())?,
            points: None,
            stream: family.stream_decoder(Some(profile)),
        };
        Ok(Self {
            lidar,
            receiver: Framer::new(GnssStream),
            compass: Framer::new(Phone),
            heard: Vec::new(),
            origin,
            sensor_m: rig.devices[0].body_from_sensor.translation,
            goal_m,
            see,
            next_look: SimTime(LOOK_NS),
            next_plan: SimTime::ZERO,
            position_m: None,
            heading_rad: None,
            speed_m_s: 0.0,
            told_m_s: 0.0,
            kept: VecDeque::new(),
            map,
            way: Vec::new(),
            track: Vec::new(),
        })
    }

    /// Reads the bytes that have arrived by now, in the order of arrival.
    fn read(&mut self, now: SimTime) {
        let (mut arrived, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.heard).into_iter().partition(|(due, ..)| *due <= now);
        self.heard = later;
        arrived.sort_by_key(|(due, device, _)| (*due, device.0));
        for (due, device, output) in arrived {
            match (device.0, output.bytes()) {
                (0, _) => self.hear_lidar(&output),
                (1, Some(bytes)) => self.hear_receiver(due, bytes),
                (2, Some(bytes)) => self.hear_compass(bytes),
                _ => {}
            }
        }
    }

    fn hear_lidar(&mut self, output: &Output) {
        let mut points = Vec::new();
        self.lidar.read(output, &mut points);
        let (Some(position_m), Some(heading_rad)) = (self.position_m, self.heading_rad) else {
            return;
        };
        let (sin, cos) = libm::sincos(heading_rad);
        let turned = |p: DVec2| DVec2::new(cos * p.x - sin * p.y, sin * p.x + cos * p.y);
        let from = position_m + turned(self.sensor_m.truncate());
        for point in points {
            let place = from + turned(point.truncate());
            let height_m = point.z + self.sensor_m.z;
            self.map.add(place, height_m);
            (self.see)(Seen { place: place.extend(height_m), from });
        }
    }

    fn hear_receiver(&mut self, due: SimTime, bytes: &[u8]) {
        for frame in self.receiver.frames(bytes) {
            let Frame::Line(line) = frame else { continue };
            let Some(fix) = RawSentence::parse(&line).ok().and_then(|raw| position(&raw)) else {
                continue;
            };
            let fix_m = self.origin.world_from_geodetic(fix).truncate();
            let epoch = SimTime(due.0.saturating_sub(FIX_NS));
            let then = self.kept.iter().rev().find(|(at, _)| *at <= epoch).map(|(_, then)| *then);
            self.position_m = Some(match (self.position_m, then) {
                (Some(now), Some(then)) => now + (fix_m - then) * FIX_SHARE,
                (Some(now), None) => now,
                (None, _) => fix_m,
            });
        }
    }

    fn hear_compass(&mut self, bytes: &[u8]) {
        for Sentence { compass_centideg, .. } in self.compass.frames(bytes) {
            let clockwise_rad = (f64::from(compass_centideg) * 0.01).to_radians();
            self.heading_rad = Some(FRAC_PI_2 - clockwise_rad);
        }
    }

    /// Advances the estimate by the commanded motion.
    fn advance(&mut self, now: SimTime) {
        let dt_s = LOOK_NS as f64 * 1e-9;
        self.speed_m_s += (self.told_m_s - self.speed_m_s) * dt_s / LAG_S;
        let (Some(position_m), Some(heading_rad)) = (&mut self.position_m, self.heading_rad) else {
            return;
        };
        let (sin, cos) = libm::sincos(heading_rad);
        *position_m += DVec2::new(cos, sin) * self.speed_m_s * dt_s;
        self.kept.push_back((now, *position_m));
        while self.kept.front().is_some_and(|(at, _)| at.0 + KEPT_NS < now.0) {
            self.kept.pop_front();
        }
        self.track.push((now, *position_m));
    }

    /// Forward speed (m/s) and turn rate (rad/s) that steer to the point [`AHEAD_M`] ahead on the path; zero without a
    /// path.
    fn steer(&self) -> (f64, f64) {
        let (Some(position_m), Some(heading_rad)) = (self.position_m, self.heading_rad) else {
            return (0.0, 0.0);
        };
        let nearest = self.way.iter().enumerate().min_by(|a, b| {
            a.1.distance_squared(position_m).total_cmp(&b.1.distance_squared(position_m))
        });
        let Some((nearest, _)) = nearest else { return (0.0, 0.0) };
        let ahead = self.way[nearest..].iter().find(|at| at.distance(position_m) >= AHEAD_M);
        let Some(to_m) = ahead.or(self.way.last()).map(|ahead| *ahead - position_m) else {
            return (0.0, 0.0);
        };
        let off_rad = libm::atan2(to_m.y, to_m.x) - heading_rad;
        let off_rad = off_rad - TAU * (off_rad / TAU).round();
        let turn_rad_s = (GAIN_PER_S * off_rad).clamp(-FASTEST_RAD_S, FASTEST_RAD_S);
        (SPEED_M_S * libm::cos(off_rad).max(0.1), turn_rad_s)
    }
}

impl Hosts for Robot<'_> {
    fn next(&self) -> Option<SimTime> {
        Some(self.next_look)
    }

    fn hear(&mut self, device: DeviceId, due: SimTime, output: &Output) {
        self.heard.push((due, device, output.clone()));
    }

    fn speak(&mut self, now: SimTime) -> Vec<HostInput> {
        self.next_look = SimTime(now.0 + LOOK_NS);
        self.read(now);
        self.advance(now);
        if let Some(position_m) = self.position_m
            && now >= self.next_plan
        {
            self.next_plan = SimTime(now.0 + PLAN_NS);
            self.way = self.map.way(position_m, self.goal_m).unwrap_or_default();
        }
        let (forward_m_s, turn_rad_s) = self.steer();
        self.told_m_s = forward_m_s;
        let order = DriveOrder::Twist { forward_m_s, turn_rad_s };
        vec![HostInput { at: now, to: HostTarget::Robot, payload: Payload::Order(order) }]
    }
}
