//! Collects one rotation of a captured lidar as points in space.

use super::capture::{CaptureError, CaptureReader, Source};
use super::data_flow::{is_late, passes_zero};
use super::flows::{Analysis, ports_of};
use crate::devices::decoder::datagram::{CloudPoint, DATA};
use crate::wire::ethernet::Content;

/// Largest number of points of a rotation; a rotation at 300 rpm with 4.8 million points per second has a fifth of this
/// number.
const MAX_POINTS: usize = 5_000_000;

/// Reason why a rotation is not available.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture has no lidar data.
    #[error("nothing to draw: it has no data packets of a lidar")]
    NoData,
    /// The positions of returns are unknown; the text gives the reason.
    #[error("{0}")]
    NoPoints(String),
    /// The recording ends before the requested rotation.
    #[error("rotation {asked} is not complete in it; complete rotations: {whole}")]
    NoRotation {
        /// Number of the requested rotation.
        asked: u64,
        /// Number of complete rotations in the capture.
        whole: u64,
    },
    /// The rotation with this number has too many points, because the azimuth does not pass zero again.
    #[error("rotation {0} does not end: it has more points than any lidar sends")]
    Endless(u64),
}

/// One rotation of a captured lidar: its points, and facts about the lidar.
#[derive(Debug)]
pub struct Rotation {
    /// Model name of the lidar.
    pub model: String,
    /// Number of the rotation; 1 is the first complete one of the capture.
    pub number: u64,
    /// Source of the lasers' angles.
    pub calibration: &'static str,
    /// Elevations of the lowest and the highest beam, radians.
    pub elevations_rad: (f64, f64),
    /// Mean angle between neighbouring beams, radians.
    pub beam_spacing_rad: f64,
    /// Points in the order of arrival.
    pub cloud: Vec<CloudPoint>,
}

impl Rotation {
    /// Collects rotation `number` (1 is the first complete one) of the flow with the most data
    /// packets.
    ///
    /// # Errors
    /// The capture cannot be opened, has no lidar data or no such rotation, or positions of its returns are unknown.
    pub fn collect(
        source: Source<'_>,
        analysis: &Analysis,
        number: u64,
    ) -> Result<Self, RotationError> {
        let (flow, _) = analysis.main_data_flow().ok_or(RotationError::NoData)?;
        let sender = flow.senders.likeliest().ok_or(RotationError::NoData)?;
        let points = sender.point_source().map_err(RotationError::NoPoints)?;
        let mut rotation = Self {
            model: sender.model(),
            number,
            calibration: points.calibration,
            elevations_rad: points.elevation_span_rad(),
            beam_spacing_rad: points.beam_spacing_rad(),
            cloud: Vec::new(),
        };
        let mut reader = CaptureReader::open(source)?;
        let mut current = 0;
        let (mut last_azimuth, mut newest) = (None, None);
        // Errors in the file were reported before; the packets that precede them can still be drawn.
        while let Some(Ok(captured)) = reader.next_frame() {
            let Ok(Content::Udp(datagram)) = Content::find(captured.link, captured.frame) else {
                continue;
            };
            if (datagram.source, datagram.destination) != (flow.source, flow.destination) {
                continue;
            }
            let head = sender.head(ports_of(&datagram), datagram.payload);
            let Some(head) = head.filter(|head| head.kind == DATA) else { continue };
            // A late packet must not look like the start of a rotation.
            let is_late = sender.has_stamps() && is_late(head.stamp, newest);
            if !is_late {
                newest = head.stamp;
            }
            let sweep = sender.sweep(datagram.payload);
            for (block, azimuth) in sweep.azimuths_centideg.into_iter().enumerate() {
                if !is_late {
                    let last = last_azimuth.replace(azimuth).unwrap_or(azimuth);
                    current += u64::from(passes_zero(last, azimuth));
                }
                if current == number {
                    (points.decode)(datagram.payload, block, &mut rotation.cloud);
                }
                if rotation.cloud.len() > MAX_POINTS {
                    return Err(RotationError::Endless(number));
                }
                if current > number {
                    return Ok(rotation);
                }
            }
        }
        Err(RotationError::NoRotation { asked: number, whole: current.saturating_sub(1) })
    }
}
