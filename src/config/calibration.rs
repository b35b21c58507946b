//! A unit's calibration in the ROS velodyne driver's YAML form.
//!
//! Units in the file are metres and radians, as in [`LaserTable`]. Keys the driver ignores are
//! ignored here too. Numbers are written so that reading gives the same bits back.
//!
//! Source: ros-drivers/velodyne, `velodyne_pointcloud/params/` and the reader of those files;
//! velodyne-decoder reads and writes the same form.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};
use super::profile::{LaserCalibration, LaserTable};

/// Lasers of an HDL-64E.
pub const LASERS: usize = 64;

/// One unit of distance on the wire, metres.
const DISTANCE_RESOLUTION_M: f64 = 0.002;

/// No calibration file is longer than this.
const MAX_CALIBRATION_BYTES: u64 = 1 << 20;

/// The largest length the 16 bits of 1 mm of a calibration record hold, metres.
pub const MAX_LENGTH_M: f64 = 32.767;

/// The largest slope the 16 bits of 0.1 of a calibration record hold.
pub const MAX_SLOPE: f64 = 3276.7;

/// Who sets the limits of lengths and slopes.
pub const RECORD: &str = "the unit's calibration record: 16 bits of 1 mm, slope 16 bits of 0.1";

impl LaserTable {
    /// Reads the YAML file at `path`, which messages call `name`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(name: &str, path: &Path) -> Result<LaserTable, Diagnostics> {
        let source = SourceFile::read(name, path, MAX_CALIBRATION_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read calibration `{name}`: {why}")))
        })?;
        Self::from_yaml(&source)
    }

    /// Reads YAML text.
    ///
    /// # Errors
    /// Text that is not such YAML, a number of lasers other than 64, a laser that is missing or
    /// there twice, and values that are not finite or do not fit the unit's records.
    pub fn from_yaml(source: &Arc<SourceFile>) -> Result<LaserTable, Diagnostics> {
        let file: FileIn =
            serde_saphyr::from_str(&source.text).map_err(|e| yaml_fault(source, &e))?;
        let mut faults = Diagnostics::default();
        let count = file.num_lasers.value;
        if count != LASERS as i64 {
            let title = format!("this calibration is for {count} lasers");
            let place = place_of(source, &file.num_lasers);
            faults.push(place.fault(title, format!("an HDL-64E has {LASERS}")));
        }
        let resolution = file.distance_resolution.value;
        if resolution != DISTANCE_RESOLUTION_M {
            let place = place_of(source, &file.distance_resolution);
            let label = format!("allowed: {DISTANCE_RESOLUTION_M} m");
            let fault = place.fault("an HDL-64E has another distance resolution", label);
            faults.push(fault.note("limit from the wire format: 16 bits of 2 mm"));
        }
        let mut lasers: Vec<Option<LaserCalibration>> = vec![None; LASERS];
        let mut first_places: Vec<Option<Place>> = vec![None; LASERS];
        for laser in &file.lasers {
            let calibration = laser.check(source, &mut faults);
            let place = place_of(source, &laser.laser_id);
            let slot = usize::try_from(laser.laser_id.value).ok().filter(|id| *id < LASERS);
            let Some(id) = slot else {
                let fault = place.fault("there is no such laser", "allowed: 0 to 63");
                faults.push(fault.note("limit from the HDL-64E: 64 lasers"));
                continue;
            };
            if let Some(first) = &first_places[id] {
                let title = format!("laser {id} is there twice");
                faults.push(place.fault(title, "again here").related(first, "first here"));
            } else {
                first_places[id] = Some(place);
                lasers[id] = Some(calibration);
            }
        }
        let missing: Vec<_> =
            (0..LASERS).filter(|id| lasers[*id].is_none()).map(|id| id.to_string()).collect();
        if !missing.is_empty() {
            let fault = Diagnostic::new(format!("calibration `{}` lacks lasers", source.name));
            faults.push(fault.note(format!("missing: {}", missing.join(", "))));
        }
        let two_point_correction = file.two_point_correction(source, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(LaserTable { two_point_correction, lasers: lasers.into_iter().flatten().collect() })
    }

    /// As YAML text.
    pub fn to_yaml(&self) -> Result<String, serde_saphyr::SerializeError> {
        let laser = |(id, c): (usize, &LaserCalibration)| LaserOut {
            laser_id: id,
            rot_correction: c.rotational_rad,
            vert_correction: c.vertical_rad,
            dist_correction: c.distance_m,
            two_pt_correction_available: self.two_point_correction,
            dist_correction_x: c.distance_x_m,
            dist_correction_y: c.distance_y_m,
            vert_offset_correction: c.vertical_offset_m,
            horiz_offset_correction: c.horizontal_offset_m,
            max_intensity: c.max_intensity,
            min_intensity: c.min_intensity,
            focal_distance: c.focal_distance_m,
            focal_slope: c.focal_slope,
        };
        serde_saphyr::to_string(&FileOut {
            num_lasers: self.lasers.len(),
            distance_resolution: DISTANCE_RESOLUTION_M,
            lasers: self.lasers.iter().enumerate().map(laser).collect(),
        })
    }
}

#[derive(Serialize)]
struct FileOut {
    num_lasers: usize,
    distance_resolution: f64,
    lasers: Vec<LaserOut>,
}

#[derive(Serialize)]
struct LaserOut {
    laser_id: usize,
    rot_correction: f64,
    vert_correction: f64,
    dist_correction: f64,
    two_pt_correction_available: bool,
    dist_correction_x: f64,
    dist_correction_y: f64,
    vert_offset_correction: f64,
    horiz_offset_correction: f64,
    max_intensity: u8,
    min_intensity: u8,
    focal_distance: f64,
    focal_slope: f64,
}

#[derive(Deserialize)]
struct FileIn {
    num_lasers: Spanned<i64>,
    distance_resolution: Spanned<f64>,
    lasers: Vec<LaserIn>,
}

/// Optional are the keys that are so in the driver.
#[derive(Deserialize)]
struct LaserIn {
    laser_id: Spanned<i64>,
    rot_correction: Spanned<f64>,
    vert_correction: Spanned<f64>,
    dist_correction: Spanned<f64>,
    two_pt_correction_available: Option<Spanned<bool>>,
    dist_correction_x: Spanned<f64>,
    dist_correction_y: Spanned<f64>,
    vert_offset_correction: Spanned<f64>,
    horiz_offset_correction: Option<Spanned<f64>>,
    max_intensity: Option<Spanned<f64>>,
    min_intensity: Option<Spanned<f64>>,
    focal_distance: Spanned<f64>,
    focal_slope: Spanned<f64>,
}

impl FileIn {
    fn two_point_correction(&self, source: &Arc<SourceFile>, faults: &mut Diagnostics) -> bool {
        let available =
            |l: &LaserIn| l.two_pt_correction_available.as_ref().is_some_and(|flag| flag.value);
        let first = self.lasers.first().is_some_and(available);
        if let Some(other) = self.lasers.iter().find(|laser| available(laser) != first) {
            let place = match &other.two_pt_correction_available {
                Some(flag) => place_of(source, flag),
                None => place_of(source, &other.laser_id),
            };
            let label = format!("laser {} differs from the first one", other.laser_id.value);
            let title = "`two_pt_correction_available` must be the same for all lasers";
            faults.push(place.fault(title, label));
        }
        first
    }
}

impl LaserIn {
    fn check(&self, source: &Arc<SourceFile>, faults: &mut Diagnostics) -> LaserCalibration {
        use std::f64::consts::{FRAC_PI_2, PI};
        let mut within = |key: &str, x: &Spanned<f64>, low: f64, high: f64, origin: &str| {
            if !(low..=high).contains(&x.value) {
                let fault = place_of(source, x)
                    .fault(format!("`{key}` is out of range"), format!("allowed: {low} to {high}"));
                faults.push(fault.note(format!("limit from {origin}")));
            }
            x.value
        };
        let mut length =
            |key: &str, x: &Spanned<f64>, low: f64| within(key, x, low, MAX_LENGTH_M, RECORD);
        let distance_m = length("dist_correction", &self.dist_correction, -MAX_LENGTH_M);
        let distance_x_m = length("dist_correction_x", &self.dist_correction_x, -MAX_LENGTH_M);
        let distance_y_m = length("dist_correction_y", &self.dist_correction_y, -MAX_LENGTH_M);
        let vertical_offset_m =
            length("vert_offset_correction", &self.vert_offset_correction, -MAX_LENGTH_M);
        let horizontal_offset_m = self
            .horiz_offset_correction
            .as_ref()
            .map_or(0.0, |x| length("horiz_offset_correction", x, -MAX_LENGTH_M));
        let focal_distance_m = length("focal_distance", &self.focal_distance, 0.0);
        let turn = "geometry: radians";
        let vertical_rad =
            within("vert_correction", &self.vert_correction, -FRAC_PI_2, FRAC_PI_2, turn);
        let rotational_rad = within("rot_correction", &self.rot_correction, -PI, PI, turn);
        let focal_slope = within("focal_slope", &self.focal_slope, -MAX_SLOPE, MAX_SLOPE, RECORD);
        let byte = "the wire format: intensity is one byte";
        let mut intensity = |key: &str, x: &Option<Spanned<f64>>, default: u8| {
            // The driver rounds down as well.
            x.as_ref().map_or(default, |x| within(key, x, 0.0, 255.0, byte).floor() as u8)
        };
        let max_intensity = intensity("max_intensity", &self.max_intensity, 255);
        let min_intensity = intensity("min_intensity", &self.min_intensity, 0);
        if min_intensity > max_intensity {
            let key = self.min_intensity.as_ref().or(self.max_intensity.as_ref());
            if let Some(x) = key {
                let label = format!("max_intensity is {max_intensity}");
                let title = "`min_intensity` is more than `max_intensity`";
                faults.push(place_of(source, x).fault(title, label));
            }
        }
        LaserCalibration {
            vertical_rad,
            rotational_rad,
            distance_m,
            distance_x_m,
            distance_y_m,
            vertical_offset_m,
            horizontal_offset_m,
            focal_distance_m,
            focal_slope,
            min_intensity,
            max_intensity,
        }
    }
}

fn place_of<T>(source: &Arc<SourceFile>, value: &Spanned<T>) -> Place {
    place_at(source, &value.referenced)
}

fn place_at(source: &Arc<SourceFile>, location: &serde_saphyr::Location) -> Place {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0) as usize;
    let length = span.byte_len().unwrap_or(0) as usize;
    Place::new(source, start..start.saturating_add(length))
}

fn yaml_fault(source: &Arc<SourceFile>, error: &serde_saphyr::DeserializeError) -> Diagnostics {
    let error = error.without_snippet();
    let text = error.to_string();
    let fault = match error.location() {
        Some(location) => place_at(source, &location).fault("not a calibration file", text),
        None => Diagnostic::new(format!("`{}` is not a calibration file: {text}", source.name)),
    };
    fault.note("expected the YAML form of the ROS velodyne driver").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<LaserTable, Diagnostics> {
        LaserTable::from_yaml(&SourceFile::new("unit.yaml", text, ""))
    }

    prop_compose! {
        fn laser()(
            angles in (-1.5..1.5f64, -3.0..3.0f64),
            lengths in prop::array::uniform5(-32.0..32.0f64),
            focal in (0.0..32.0f64, -30.0..30.0f64),
            min in 0u8..100, max in 100u8..=255,
        ) -> LaserCalibration {
            LaserCalibration {
                vertical_rad: angles.0, rotational_rad: angles.1,
                distance_m: lengths[0], distance_x_m: lengths[1], distance_y_m: lengths[2],
                vertical_offset_m: lengths[3], horizontal_offset_m: lengths[4],
                focal_distance_m: focal.0, focal_slope: focal.1,
                min_intensity: min, max_intensity: max,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn reading_undoes_writing(
            two_point_correction: bool,
            lasers in prop::collection::vec(laser(), LASERS),
        ) {
            let table = LaserTable { two_point_correction, lasers };
            prop_assert_eq!(read(&table.to_yaml().unwrap()).unwrap(), table);
        }

        #[test]
        fn any_text_is_answered(text: String) {
            prop_assert!(read(&text).is_err());
        }
    }
}
