//! Reads the points of a recording of any family, in order, packet by packet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;

use glam::DVec3;

use crate::analysis::ReportError;
use crate::analysis::capture::{CaptureReader, Source, is_capture};
use crate::analysis::damage::Damage;
use crate::analysis::flows::Analysis;
use crate::analysis::stream::{RecordedStream, sends_streams};
use crate::config::profile::Profile;
use crate::devices::decoder::datagram::{CloudPoint, DATA, PointSource};
use crate::devices::decoder::{Hints, Scan};

/// A decoded return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorPoint {
    /// Position in the sensor's axes (x forward, y left, z up), metres.
    pub position_m: DVec3,
    /// Intensity in the sensor's unit; NaN if it sends none.
    pub intensity: f64,
    /// Index of the laser; 0 for a scanner with a single laser.
    pub laser: usize,
    /// Range along the beam, metres.
    pub range_m: f64,
    /// Key of the point's firing in the ground truth of its packet.
    pub place: PointPlace,
}

/// Key for finding the firing of a point among the firings of its packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointPlace {
    /// Number of the firing, counted from 0 among the packet's firings of the same laser.
    Firing(usize),
    /// Direction of the point in a scan.
    Angle {
        /// Angle, counterclockwise from forward, degrees.
        deg: f64,
        /// Angle from one value of the scan to the next, degrees.
        step_deg: f64,
    },
}

/// A packet with points.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPacket {
    /// Number of the packet among the packets with points, from 0.
    pub number: u64,
    /// Time, nanoseconds. In a capture: POSIX time at which the packet was captured. In a recorded byte stream: time of
    /// departure since the start of the run, 0 if unknown.
    pub at_ns: i128,
    /// Bytes of the packet: a datagram's payload, or a telegram.
    pub bytes: Vec<u8>,
    /// Points of the packet.
    pub points: Vec<SensorPoint>,
}

/// Calls `see` with every packet that can contain points, in order; returns a message about unusable parts of the
/// recording, if any.
///
/// # Errors
/// The recording cannot be read or has no points, or `see` fails.
pub fn each_packet(
    path: &Path,
    profile: Option<&Profile>,
    see: &mut dyn FnMut(PointPacket) -> Result<(), String>,
) -> Result<Option<String>, ReportError> {
    let extension = path.extension().unwrap_or_default();
    if extension == "bin" || !is_capture(path) && profile.is_some_and(sends_streams) {
        each_telegram(path, profile, see).map(|()| None)
    } else {
        each_datagram(path, profile, see)
    }
}

fn each_telegram(
    path: &Path,
    profile: Option<&Profile>,
    see: &mut dyn FnMut(PointPacket) -> Result<(), String>,
) -> Result<(), ReportError> {
    let input = |error: std::io::Error| ReportError::Input(error.to_string());
    let mut stream = RecordedStream::open(path, profile, false)?;
    if !stream.has_scans() {
        let text = format!("there are no points in {}", stream.title());
        return Err(ReportError::Input(text));
    }
    let mut file = File::open(path).map_err(input)?;
    let mut number = 0;
    stream.visit(|time_s, frame| {
        let Some(scan) = frame.content.scan() else { return Ok(()) };
        let mut bytes = vec![0; frame.length as usize];
        let read =
            file.seek(SeekFrom::Start(frame.offset)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| error.to_string())?;
        let at_ns = (time_s.unwrap_or(0.0) * 1e9).round() as i128;
        number += 1;
        see(PointPacket { number: number - 1, at_ns, bytes, points: scan_points(&scan) })
    })
}

/// Converts the ranges of a scan to points; angles without a return are omitted.
pub fn scan_points(scan: &Scan) -> Vec<SensorPoint> {
    let seen = scan.ranges_m.iter().enumerate();
    let point = |(index, range_m): (usize, &Option<f64>)| {
        let range_m = (*range_m)?;
        let deg = scan.first_deg + index as f64 * scan.step_deg;
        let (sin, cos) = libm::sincos(deg.to_radians());
        Some(SensorPoint {
            position_m: DVec3::new(range_m * cos, range_m * sin, 0.0),
            intensity: f64::NAN,
            laser: 0,
            range_m,
            place: PointPlace::Angle { deg, step_deg: scan.step_deg },
        })
    };
    seen.filter_map(point).collect()
}

fn each_datagram(
    path: &Path,
    profile: Option<&Profile>,
    see: &mut dyn FnMut(PointPacket) -> Result<(), String>,
) -> Result<Option<String>, ReportError> {
    let input = |text: String| ReportError::Input(text);
    let hints = Hints { profile, anyway: false, calibration: None };
    let source = Source::File(path);
    let mut analysis = Analysis::new(&hints).expect("no hint names a file");
    let open = || CaptureReader::open(source).map_err(|error| input(error.to_string()));
    let mut reader = open()?;
    while let Some(Ok(captured)) = reader.next_frame() {
        analysis.see(&captured);
    }
    if let Some(why) = analysis.other_product() {
        return Err(ReportError::OtherProduct(why));
    }
    let mut sources: HashMap<(SocketAddr, SocketAddr), PointSource> = HashMap::new();
    let mut reader = open()?;
    let mut number = 0;
    let mut damage = Damage::default();
    let mut cloud: Vec<CloudPoint> = Vec::new();
    while let Some(captured) = reader.next_frame() {
        let captured = captured.map_err(|error| input(error.to_string()))?;
        let Some(datagram) = damage.datagram(&captured) else { continue };
        let Some((sender, head)) = analysis.sender(&datagram) else { continue };
        if head.kind != DATA {
            continue;
        }
        let flow = (datagram.source, datagram.destination);
        let source = match sources.entry(flow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(sender.point_source().map_err(input)?),
        };
        cloud.clear();
        for block in 0..sender.sweep(datagram.payload).azimuths_centideg.len() {
            (source.decode)(datagram.payload, block, &mut cloud);
        }
        let points = cloud.iter().map(|point| SensorPoint {
            position_m: point.position_m,
            intensity: point.intensity,
            laser: point.laser,
            range_m: point.range_m,
            place: PointPlace::Firing(point.firing),
        });
        let (at_ns, bytes) = (captured.unix_ns, datagram.payload.to_vec());
        number += 1;
        see(PointPacket { number: number - 1, at_ns, bytes, points: points.collect() })
            .map_err(input)?;
    }
    damage.warn(path, reader.others_told());
    match number {
        0 => Err(input("it has no points: no data packets of a lidar".into())),
        _ => Ok(reader.lost().map(|lost| lost.to_string())),
    }
}
