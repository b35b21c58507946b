//! Recordings of an experiment's rigs: renders a rig and decodes the bytes of its devices.
//!
//! ```text
//! let rig = recording::rig("rods.toml", RIG, &[("seed", "3".into())])?;
//! let world = recording::world(&rig)?;
//! recording::decode(&rig, &world, duration, &mut |sweep| ...)?;
//! ```
//!
//! An experiment gets the data that a driver would read from the same bytes, in the same form for all device families.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use glam::DVec3;

use super::ExperimentError;
use crate::config::rig::{DeviceConfig, DeviceId, Rig};
use crate::config::toml::overrides::Override;
use crate::devices::Output;
use crate::devices::decoder::datagram::{CloudPoint, DATA, DatagramDecoder, PointSource};
use crate::devices::decoder::{Frame, Hints, StreamDecoder};
use crate::devices::families::{catalogue, family_of};
use crate::engine::LiveWorld;
use crate::engine::hosts::NoHosts;
use crate::engine::record::{Stretch, render};
use crate::time::SimTime;

/// Ports for a decoder that identifies packets by their content only.
const NO_PORTS: [u16; 2] = [0, 0];

/// A block of a datagram, or a scan of a byte stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sweep {
    /// Device that sends the block or scan.
    pub device: DeviceId,
    /// Time at which the device sends the datagram, or the first byte of the scan.
    pub leaves: SimTime,
    /// Azimuth in the packet, degrees clockwise; `None` for a scan.
    pub azimuth_deg: Option<f64>,
    /// Points in the order of the packet.
    pub points: Vec<Point>,
}

/// A return as a driver with the device's calibration computes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Position in the sensor's axes (x forward, y left, z up), metres.
    pub position_m: DVec3,
    /// Index of the laser, from 0; 0 for a scanner with a single laser.
    pub laser: usize,
}

impl Point {
    /// Distance from the sensor's origin, metres.
    pub fn range_m(&self) -> f64 {
        self.position_m.length()
    }

    /// Direction, counterclockwise from forward, degrees.
    pub fn direction_deg(&self) -> f64 {
        libm::atan2(self.position_m.y, self.position_m.x).to_degrees()
    }
}

/// Reads an experiment's rig from `text`. `sets` replaces keys, like `--set`. Error messages call the rig `name`.
pub(super) fn rig(name: &str, text: &str, sets: &[(&str, String)]) -> Result<Rig, ExperimentError> {
    let set = |(key, value): &(&str, String)| Override { key: (*key).into(), value: value.clone() };
    let sets: Vec<Override> = sets.iter().map(set).collect();
    Ok(Rig::parse(name, text, Path::new(""), &sets, catalogue())?)
}

/// The text of a rig: `text` with copies of the device `original` in place of all devices. Each item of `copies` has
/// the name of a copy and its text replacements (old, new).
pub(super) fn with_copies(
    text: &str,
    original: &str,
    copies: &[(String, Vec<(&str, String)>)],
) -> String {
    const MARKER: &str = "[[device]]\n";
    let mut parts = text.split(MARKER);
    let mut rig = parts.next().unwrap_or_default().to_owned();
    let is_it = |part: &&str| part.contains(&format!("name = \"{original}\"\n"));
    let device = parts.find(is_it).expect("the rig has the device");
    for (name, replacements) in copies {
        // Replaces the device's name, and the same name at the end of the link's path.
        let mut copy = device.replace(&format!("\"{original}\""), &format!("\"{name}\""));
        copy = copy.replace(&format!("/{original}\""), &format!("/{name}\""));
        for (from, to) in replacements {
            copy = copy.replace(from, to);
        }
        rig += MARKER;
        rig += copy.trim_end();
        rig += "\n\n";
    }
    rig
}

/// Loads the world of a rig.
pub(super) fn world(rig: &Rig) -> Result<LiveWorld, ExperimentError> {
    LiveWorld::load(rig).map_err(|error| ExperimentError::Input(error.to_string()))
}

/// Renders `duration` of a rig and passes the decoded output to `see`. Each device's output is in the order of sending;
/// byte streams (scans) follow after all datagrams.
pub(super) fn decode(
    rig: &Rig,
    world: &LiveWorld,
    duration: Duration,
    see: &mut dyn FnMut(Sweep),
) -> Result<(), ExperimentError> {
    let mut readers = Vec::new();
    for (place, device) in rig.devices.iter().enumerate() {
        readers.push(Reader::new(DeviceId(place), device)?);
    }
    let stop = AtomicBool::new(false);
    let start = rig.start_utc.or(Some(jiff::Timestamp::UNIX_EPOCH));
    let run = Stretch { rig, world, duration, start, stop: &stop };
    render(run, &mut NoHosts, &mut |_| {}, |device, _, due, output| {
        readers[device].hear(due, output, see)
    })?;
    readers.into_iter().for_each(|reader| reader.finish(see));
    Ok(())
}

/// Decoder of one device's output.
struct Reader {
    device: DeviceId,
    datagrams: Option<Box<dyn DatagramDecoder>>,
    /// Source of the points; `None` before the first data packet.
    points: Option<PointSource>,
    stream: Option<Box<dyn StreamDecoder>>,
    bytes: Vec<u8>,
    /// For each write of the device: offset of its first byte in the stream, and time of sending.
    writes: Vec<(u64, SimTime)>,
}

impl Reader {
    fn new(device: DeviceId, config: &DeviceConfig) -> Result<Self, ExperimentError> {
        let family = family_of(&config.profile);
        let hints = Hints { profile: Some(&config.profile), ..Hints::default() };
        Ok(Self {
            device,
            datagrams: family.datagram_decoder(&hints, catalogue().profiles())?,
            points: None,
            stream: family.stream_decoder(Some(&config.profile)),
            bytes: Vec::new(),
            writes: Vec::new(),
        })
    }

    fn hear(
        &mut self,
        due: SimTime,
        output: &Output,
        see: &mut dyn FnMut(Sweep),
    ) -> Result<(), ExperimentError> {
        match (output, &mut self.datagrams) {
            (Output::Datagram { bytes, .. }, Some(decoder)) => {
                let head = decoder.head(NO_PORTS, bytes);
                if head.is_none_or(|head| head.kind != DATA) {
                    decoder.learn_aside(bytes);
                    return Ok(());
                }
                if self.points.is_none() {
                    decoder.learn(bytes);
                    self.points = Some(decoder.point_source().map_err(ExperimentError::Input)?);
                }
                let sweep = decoder.sweep(bytes);
                for (block, azimuth_centideg) in sweep.azimuths_centideg.iter().enumerate() {
                    let mut points = Vec::new();
                    if let Some(source) = &self.points {
                        (source.decode)(bytes, block, &mut points);
                    }
                    let point = |point: CloudPoint| Point {
                        position_m: point.position_m,
                        laser: point.laser,
                    };
                    see(Sweep {
                        device: self.device,
                        leaves: due,
                        azimuth_deg: Some(f64::from(*azimuth_centideg) / 100.0),
                        points: points.into_iter().map(point).collect(),
                    });
                }
            }
            (Output::Bytes(bytes) | Output::BytesTo(_, bytes), _) => {
                self.writes.push((self.bytes.len() as u64, due));
                self.bytes.extend_from_slice(bytes);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, see: &mut dyn FnMut(Sweep)) {
        let Self { device, stream: Some(mut decoder), bytes, writes, .. } = self else { return };
        if decoder.needs_two_passes() {
            each_frame(decoder.as_mut(), &bytes, |_| {});
            decoder.rewind();
        }
        each_frame(decoder.as_mut(), &bytes, |frame| {
            let Some(scan) = frame.content.scan() else { return };
            let after = writes.partition_point(|(offset, _)| *offset <= frame.offset);
            let leaves = after.checked_sub(1).map_or(SimTime::ZERO, |write| writes[write].1);
            let points = scan.points().map(|[forward_m, left_m]| Point {
                position_m: DVec3::new(forward_m, left_m, 0.0),
                laser: 0,
            });
            see(Sweep { device, leaves, azimuth_deg: None, points: points.collect() });
        });
    }
}

fn each_frame(decoder: &mut dyn StreamDecoder, bytes: &[u8], mut see: impl FnMut(Frame)) {
    let mut rest = bytes;
    while let Some(frame) = decoder.next_frame(&mut rest) {
        see(frame);
    }
    decoder.end();
    while let Some(frame) = decoder.next_frame(&mut rest) {
        see(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spinning lidar and a scanner on a serial line, in a room of 10 m by 8 m by 3 m.
    const RIG: &str = r#"
seed = 1
[world]
scene = "room"
parameters = { size_m = [10.0, 8.0, 3.0] }
[robot]
trajectory = { kind = "still", position_m = [0.0, 0.0, 1.0] }
[[device]]
name = "spinning"
profile = "velodyne-vlp16-3.0"
mount = {}
link = { udp = { to = "127.0.0.1:2368" } }
settings = { errors = "none" }
[[device]]
name = "scanner"
profile = "sick-lms291-s14"
mount = {}
link = { pty = "/tmp/menura-test" }
settings = { baud_rate = 500000, power_on_mode = "continuous", errors = "none" }
"#;

    #[test]
    fn copies_differ_in_their_names_and_in_what_is_replaced() {
        let copy = |name: &str, rate: &str| {
            (name.to_owned(), vec![("baud_rate = 500000", format!("baud_rate = {rate}"))])
        };
        let text = RIG.replace("/tmp/menura-test", "/tmp/menura/scanner");
        let text = with_copies(&text, "scanner", &[copy("a", "38400"), copy("b", "9600")]);
        let rig = rig("rig", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let names: Vec<&str> = rig.devices.iter().map(|device| &*device.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(text.contains("/tmp/menura/b\"") && text.contains("baud_rate = 9600"), "{text}");
    }

    #[test]
    fn both_kinds_of_lidar_see_the_walls_where_they_are() {
        let rig = rig("rig", RIG, &[]).unwrap_or_else(|e| panic!("{e}"));
        let world = world(&rig).unwrap();
        let (mut blocks, mut scans) = (0, 0);
        decode(&rig, &world, Duration::from_millis(300), &mut |sweep| {
            match sweep.azimuth_deg {
                Some(_) => blocks += 1,
                None => scans += 1,
            }
            for point in &sweep.points {
                let p = point.position_m;
                let off_m = [p.x.abs() - 5.0, p.y.abs() - 4.0, p.z - 2.0, p.z + 1.0];
                let nearest_m = off_m.into_iter().map(f64::abs).fold(f64::MAX, f64::min);
                assert!(nearest_m < 0.02, "{sweep:?}");
            }
            // At least half of the points of a block (two firings of sixteen lasers) or of a scan.
            assert!(
                sweep.points.len() >= if sweep.azimuth_deg.is_some() { 16 } else { 90 },
                "{sweep:?}"
            );
        })
        .unwrap();
        // 12 blocks per packet of 1.327 ms, and 75 scans per second.
        assert!((2500..2800).contains(&blocks), "{blocks}");
        assert!((18..=23).contains(&scans), "{scans}");
    }
}
