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
use serde_saphyr::{MessageFormatter, Spanned};

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};
use crate::devices::hdl64e::profile::{LaserCalibration, LaserTable};

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

/// What a calibration file should be.
const FORM: &str = "expected the YAML form of the ROS velodyne driver, as \
                    `menura profiles NAME --calibration FILE.yaml` writes it";

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
        file.check_head(source, &mut faults);
        let mut lasers: Vec<Option<LaserCalibration>> = vec![None; LASERS];
        let mut first_places: Vec<Option<Place>> = vec![None; LASERS];
        for laser in file.lasers.iter().flatten() {
            let calibration = laser.value.check(&place_of(source, laser), &mut faults);
            let Some(written) = &laser.value.laser_id else { continue };
            let place = place_of(source, written);
            let slot = usize::try_from(written.value).ok().filter(|id| *id < LASERS);
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
        if file.lasers.is_some() && !missing.is_empty() {
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

// Everything is optional to serde, so that all that is missing is told at once.

#[derive(Deserialize)]
struct FileIn {
    num_lasers: Option<Spanned<i64>>,
    distance_resolution: Option<Spanned<f64>>,
    lasers: Option<Vec<Spanned<LaserIn>>>,
}

#[derive(Deserialize)]
struct LaserIn {
    laser_id: Option<Spanned<i64>>,
    rot_correction: Option<Spanned<f64>>,
    vert_correction: Option<Spanned<f64>>,
    dist_correction: Option<Spanned<f64>>,
    two_pt_correction_available: Option<Spanned<bool>>,
    dist_correction_x: Option<Spanned<f64>>,
    dist_correction_y: Option<Spanned<f64>>,
    vert_offset_correction: Option<Spanned<f64>>,
    horiz_offset_correction: Option<Spanned<f64>>,
    max_intensity: Option<Spanned<f64>>,
    min_intensity: Option<Spanned<f64>>,
    focal_distance: Option<Spanned<f64>>,
    focal_slope: Option<Spanned<f64>>,
}

impl FileIn {
    /// What stands beside the lasers.
    fn check_head(&self, source: &Arc<SourceFile>, faults: &mut Diagnostics) {
        let lacks = |key: &str| {
            let start = Place::new(source, 0..0);
            start.fault(format!("`{key}` is missing"), "a calibration needs it").note(FORM)
        };
        match &self.num_lasers {
            None => faults.push(lacks("num_lasers")),
            Some(count) if count.value != LASERS as i64 => {
                let title = format!("this calibration is for {} lasers", count.value);
                let label = format!("an HDL-64E has {LASERS}");
                faults.push(place_of(source, count).fault(title, label));
            }
            Some(_) => {}
        }
        match &self.distance_resolution {
            None => faults.push(lacks("distance_resolution")),
            Some(resolution) if resolution.value != DISTANCE_RESOLUTION_M => {
                let label = format!("allowed: {DISTANCE_RESOLUTION_M} m");
                let title = "an HDL-64E has another distance resolution";
                let fault = place_of(source, resolution).fault(title, label);
                faults.push(fault.note("limit from the wire format: 16 bits of 2 mm"));
            }
            Some(_) => {}
        }
        if self.lasers.is_none() {
            faults.push(lacks("lasers"));
        }
    }

    fn two_point_correction(&self, source: &Arc<SourceFile>, faults: &mut Diagnostics) -> bool {
        let available = |laser: &Spanned<LaserIn>| {
            laser.value.two_pt_correction_available.as_ref().is_some_and(|flag| flag.value)
        };
        let lasers = self.lasers.as_deref().unwrap_or_default();
        let first = lasers.first().is_some_and(available);
        if let Some(other) = lasers.iter().find(|laser| available(laser) != first) {
            let flag = other.value.two_pt_correction_available.as_ref();
            let place = flag.map_or_else(|| place_of(source, other), |f| place_of(source, f));
            let title = "`two_pt_correction_available` must be the same for all lasers";
            faults.push(place.fault(title, format!("the first laser has {first}")));
        }
        first
    }
}

impl LaserIn {
    /// The laser, whose faults and missing keys (at `place`) are told to `faults`.
    fn check(&self, place: &Place, faults: &mut Diagnostics) -> LaserCalibration {
        use std::f64::consts::{FRAC_PI_2, PI};
        type Number = Option<Spanned<f64>>;
        let lacks = |key: &str| {
            let title = format!("`{key}` is missing");
            place.fault(title, "this laser needs it").note(FORM)
        };
        if self.laser_id.is_none() {
            faults.push(lacks("laser_id"));
        }
        // Keys with a default may be absent, as in the driver.
        let mut number = |key: &str, x: &Number, default: Option<f64>, limit: (f64, f64, &str)| {
            let (low, high, origin) = limit;
            match (x, default) {
                (None, Some(default)) => return default,
                (None, None) => faults.push(lacks(key)),
                (Some(x), _) if (low..=high).contains(&x.value) => return x.value,
                (Some(x), _) => {
                    let title = format!("`{key}` is out of range");
                    let label = format!("allowed: {low} to {high}");
                    let fault = place_of(&place.source, x).fault(title, label);
                    faults.push(fault.note(format!("limit from {origin}")));
                }
            }
            0.0
        };
        let length = (-MAX_LENGTH_M, MAX_LENGTH_M, RECORD);
        let byte = (0.0, 255.0, "the wire format: intensity is one byte");
        let laser = LaserCalibration {
            vertical_rad: number(
                "vert_correction",
                &self.vert_correction,
                None,
                (-FRAC_PI_2, FRAC_PI_2, "geometry: radians"),
            ),
            rotational_rad: number(
                "rot_correction",
                &self.rot_correction,
                None,
                (-PI, PI, "geometry: radians"),
            ),
            distance_m: number("dist_correction", &self.dist_correction, None, length),
            distance_x_m: number("dist_correction_x", &self.dist_correction_x, None, length),
            distance_y_m: number("dist_correction_y", &self.dist_correction_y, None, length),
            vertical_offset_m: number(
                "vert_offset_correction",
                &self.vert_offset_correction,
                None,
                length,
            ),
            horizontal_offset_m: number(
                "horiz_offset_correction",
                &self.horiz_offset_correction,
                Some(0.0),
                length,
            ),
            focal_distance_m: number(
                "focal_distance",
                &self.focal_distance,
                None,
                (0.0, MAX_LENGTH_M, RECORD),
            ),
            focal_slope: number(
                "focal_slope",
                &self.focal_slope,
                None,
                (-MAX_SLOPE, MAX_SLOPE, RECORD),
            ),
            // The driver rounds these down as well.
            min_intensity: number("min_intensity", &self.min_intensity, Some(0.0), byte) as u8,
            max_intensity: number("max_intensity", &self.max_intensity, Some(255.0), byte) as u8,
        };
        if let (Some(min), Some(max)) = (&self.min_intensity, &self.max_intensity)
            && min.value > max.value
        {
            let label = format!("max_intensity is {}", max.value);
            let title = "`min_intensity` is more than `max_intensity`";
            faults.push(place_of(&place.source, min).fault(title, label));
        }
        laser
    }
}

fn place_of<T>(source: &Arc<SourceFile>, value: &Spanned<T>) -> Place {
    place_at(source, &value.referenced)
}

fn place_at(source: &Arc<SourceFile>, location: &serde_saphyr::Location) -> Place {
    let span = location.span();
    if let (Some(start), Some(length)) = (span.byte_offset(), span.byte_len()) {
        let start = start as usize;
        return Place::new(source, start..start.saturating_add(length as usize));
    }
    // Syntax errors come with line and column alone.
    let line = location.line().saturating_sub(1) as usize;
    let line_start: usize = source.text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = location.column().saturating_sub(1) as usize;
    let before: usize = source.text[line_start..].chars().take(column).map(char::len_utf8).sum();
    Place::new(source, line_start + before..line_start + before + 1)
}

fn yaml_fault(source: &Arc<SourceFile>, error: &serde_saphyr::DeserializeError) -> Diagnostics {
    let error = error.without_snippet();
    let text = serde_saphyr::DefaultMessageFormatter.format_message(error).into_owned();
    let fault = match error.location() {
        Some(location) => place_at(source, &location).fault("not a calibration file", text),
        None => Diagnostic::new(format!("`{}` is not a calibration file: {text}", source.name)),
    };
    fault.note(FORM).into()
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
