//! Collects the ranges that a lidar sent, by laser and direction.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::{FitError, Log};
use crate::analysis::capture::{CaptureReader, Source};
use crate::analysis::damage::Damage;
use crate::analysis::flows::ports_of;
use crate::analysis::stream::sends_streams;
use crate::devices::decoder::Hints;
use crate::devices::decoder::datagram::DATA;
use crate::devices::families::{catalogue, family_of};

/// Width and height of a cell, degrees. The ranges in all directions within a cell are fitted together.
pub const CELL_DEG: f64 = 0.5;
/// Largest number of cells.
const MAX_CELLS: usize = 1_000_000;

/// Number of cells at one elevation; together they cover a full rotation of azimuth.
const AZIMUTHS: u32 = (360.0 / CELL_DEG) as u32;

/// Ranges of a lidar in one cell, as sums for fitting a plane: range over azimuth and elevation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// Number of ranges.
    pub count: u32,
    /// Sums of azimuth, elevation (degrees) and range (metres), each relative to `first`.
    sums: [f64; 3],
    /// Sums of the products of two of the values azimuth, elevation (degrees) and range (metres), each relative to
    /// `first`. Both indices are in this order.
    products: [[f64; 3]; 3],
    /// Azimuth, elevation (degrees) and range (metres) of the first range.
    first: [f64; 3],
    /// Sum of the intensities.
    intensity: f64,
}

impl Cell {
    /// Adds a range (metres) in a direction: azimuth and elevation, degrees.
    pub fn see(&mut self, [azimuth_deg, elevation_deg]: [f64; 2], range_m: f64, intensity: f64) {
        let seen = [azimuth_deg, elevation_deg, range_m];
        if self.count == 0 {
            self.first = seen;
        }
        self.count += 1;
        let own: [f64; 3] = std::array::from_fn(|place| seen[place] - self.first[place]);
        for ((sum, row), value) in self.sums.iter_mut().zip(&mut self.products).zip(own) {
            *sum += value;
            row.iter_mut().zip(own).for_each(|(product, other)| *product += value * other);
        }
        self.intensity += intensity;
    }

    /// Mean square residual (m²) and its degrees of freedom. The ranges are fitted by a plane, by a straight line if
    /// only one angle of the directions varies, or by their mean if neither varies. `None` for too few ranges.
    pub fn variance_m2(&self) -> Option<(f64, f64)> {
        let n = f64::from(self.count);
        let about = |a: usize, b: usize| self.products[a][b] - self.sums[a] * self.sums[b] / n;
        let (aa, ee, ae) = (about(0, 0), about(1, 1), about(0, 1));
        let (ar, er, rr) = (about(0, 2), about(1, 2), about(2, 2));
        let differs = |square: f64| square > 1e-9 * n;
        let determinant = aa * ee - ae * ae;
        let (explained, angles) = match (differs(aa), differs(ee)) {
            (true, true) if determinant > 1e-6 * aa * ee => {
                ((ar * ar * ee - 2.0 * ar * er * ae + er * er * aa) / determinant, 2.0)
            }
            (true, _) => (ar * ar / aa, 1.0),
            (false, true) => (er * er / ee, 1.0),
            (false, false) => (0.0, 0.0),
        };
        let freedom = n - 1.0 - angles;
        (freedom >= 1.0).then(|| ((rr - explained).max(0.0) / freedom, freedom))
    }

    /// Mean of the ranges, metres.
    pub fn mean_range_m(&self) -> f64 {
        self.first[2] + self.sums[2] / f64::from(self.count.max(1))
    }

    /// Mean intensity, in the unit of the packets.
    pub fn mean_intensity(&self) -> f64 {
        self.intensity / f64::from(self.count.max(1))
    }
}

/// A lidar's ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeLog {
    /// Cells by laser and cell index.
    pub cells: BTreeMap<(u16, u32), Cell>,
    /// Time from the start of the log to its last used range, seconds; 0 if times are unknown.
    pub duration_s: f64,
    /// Whether the log has further flows of lidar data, which are ignored.
    pub has_others: bool,
    /// Message about unusable parts of the log.
    pub lost: Option<String>,
}

impl RangeLog {
    /// Adds a range of the laser `laser` to that laser's cell with the index `place`. `direction_deg` is azimuth and
    /// elevation. Returns an error if the log would get more than [`MAX_CELLS`] cells.
    fn see(
        &mut self,
        laser: u16,
        place: u32,
        direction_deg: [f64; 2],
        range_m: f64,
        intensity: f64,
    ) -> Result<(), String> {
        if self.cells.len() >= MAX_CELLS && !self.cells.contains_key(&(laser, place)) {
            return Err("it has too many directions for a lidar".to_owned());
        }
        self.cells.entry((laser, place)).or_default().see(direction_deg, range_m, intensity);
        Ok(())
    }
}

/// Reads the ranges of a log between [`Log::from_s`] and [`Log::to_s`].
pub fn read(log: &Log<'_>) -> Result<RangeLog, FitError> {
    if sends_streams(log.profile) { read_stream(log) } else { read_capture(log) }
}

fn read_stream(log: &Log<'_>) -> Result<RangeLog, FitError> {
    let mut found = RangeLog::default();
    let mut stream = log.stream()?;
    if !stream.has_scans() {
        return Err(FitError::Log(format!("{} sends no ranges", log.profile.name)));
    }
    stream.visit(|time_s, frame| {
        let Some(scan) = frame.content.scan() else { return Ok(()) };
        if time_s.is_some_and(|time_s| !log.is_used(time_s)) {
            return Ok(());
        }
        found.duration_s = time_s.unwrap_or(0.0).max(found.duration_s);
        let seen = scan.ranges_m.iter().enumerate();
        for (place, range_m) in seen.filter_map(|(place, range_m)| Some((place, (*range_m)?))) {
            found.see(0, place as u32, [0.0; 2], range_m, 0.0)?;
        }
        Ok(())
    })?;
    Ok(found)
}

fn read_capture(log: &Log<'_>) -> Result<RangeLog, FitError> {
    let hints = Hints { profile: Some(log.profile), ..Hints::default() };
    let Some(mut decoder) =
        family_of(log.profile).datagram_decoder(&hints, catalogue().profiles())?
    else {
        return Err(FitError::Log(format!("{} sends no ranges", log.profile.name)));
    };
    let told = |error: crate::analysis::capture::CaptureError| FitError::Log(error.to_string());
    let mut reader = CaptureReader::open(Source::File(log.path)).map_err(told)?;
    let mut found = RangeLog::default();
    let mut flow: Option<(SocketAddr, SocketAddr)> = None;
    let (mut start_ns, mut packets) = (None, 0u64);
    let mut damage = Damage::default();
    while let Some(frame) = reader.next_frame() {
        let frame = frame.map_err(told)?;
        let Some(datagram) = damage.datagram(&frame) else { continue };
        let head = decoder.head(ports_of(&datagram), datagram.payload);
        if head.is_none_or(|head| head.kind != DATA) {
            decoder.learn_aside(datagram.payload);
            continue;
        }
        let addresses = (datagram.source, datagram.destination);
        if *flow.get_or_insert(addresses) != addresses {
            found.has_others = true;
            continue;
        }
        packets += 1;
        decoder.learn(datagram.payload);
        let since_ns = frame.unix_ns - *start_ns.get_or_insert(frame.unix_ns);
        let since_s = since_ns as f64 * 1e-9;
        if !log.is_used(since_s) {
            continue;
        }
        found.duration_s = since_s;
        for shot in decoder.shots(datagram.payload) {
            let [across, up] = [shot.azimuth_deg, shot.elevation_deg + 90.0];
            let place = (across / CELL_DEG) as u32 + AZIMUTHS * (up / CELL_DEG) as u32;
            let direction_deg = [shot.azimuth_deg, shot.elevation_deg];
            let intensity = f64::from(shot.intensity);
            found
                .see(shot.laser, place, direction_deg, shot.range_m, intensity)
                .map_err(FitError::Log)?;
        }
    }
    damage.warn(log.path, reader.others_told());
    if let Some(misfit) = decoder.misfits().into_iter().find(|misfit| misfit.is_other_product) {
        let name = &log.profile.name;
        return Err(FitError::Log(format!("this is not a recording of {name}: {}", misfit.text)));
    }
    if packets == 0 {
        let text = format!("it has no data packets of {}", log.profile.name);
        return Err(FitError::Log(text));
    }
    if found.cells.is_empty() {
        let text =
            format!("ranges of {} cannot be assigned to lasers (not supported)", log.profile.name);
        return Err(FitError::Log(text));
    }
    found.lost = reader.lost().map(|lost| lost.to_string());
    Ok(found)
}
