//! A unit's calibration as YAML of the ROS velodyne driver.
//!
//! Lengths are in metres and angles in radians, as in [`LaserTable`]. Keys that the driver ignores are ignored here
//! too. Numbers are written so that reading them returns the same bits.
//!
//! Source: ros-drivers/velodyne, `velodyne_pointcloud/params/` and the reader of those files;
//! velodyne-decoder uses the same format.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};
use crate::hdl64e::profile::{LaserCalibration, LaserTable};
use crate::hdl64e::yaml::{Document, NodeRef, YamlFault};

/// Number of lasers of an HDL-64E.
pub const LASERS: usize = 64;

/// Distance unit on the wire, metres.
const DISTANCE_RESOLUTION_M: f64 = 0.002;

/// Largest size of a calibration file, bytes.
const MAX_CALIBRATION_BYTES: u64 = 1 << 20;

/// Largest length that a calibration record can hold (signed 16 bits in steps of 1 mm), metres.
pub const MAX_LENGTH_M: f64 = 32.767;

/// Largest slope that a calibration record can hold (signed 16 bits in steps of 0.1).
pub const MAX_SLOPE: f64 = 3276.7;

/// Source named in messages for the limits of lengths and slopes.
pub const RECORD: &str = "the unit's calibration record: 16 bits of 1 mm, slope 16 bits of 0.1";

/// Expected form of a calibration file, for messages.
const FORM: &str = "expected the YAML form of the ROS velodyne driver, as \
                    `menura profiles NAME --calibration FILE.yaml` writes it";

impl LaserTable {
    /// Reads the YAML file at `path`, which messages call `name`.
    ///
    /// # Errors
    /// The file cannot be read, or its text is invalid ([`Self::from_yaml`]); the result contains all errors.
    pub fn load(name: &str, path: &Path) -> Result<LaserTable, Diagnostics> {
        let source = SourceFile::read(name, path, MAX_CALIBRATION_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read calibration `{name}`: {why}")))
        })?;
        Self::from_yaml(&source)
    }

    /// Reads YAML text.
    ///
    /// # Errors
    /// Text that is not YAML in the form of the ROS velodyne driver, a number of lasers other than 64, a laser that is
    /// missing or listed twice, missing keys, and values that are not finite, out of range or inconsistent.
    pub fn from_yaml(source: &Arc<SourceFile>) -> Result<LaserTable, Diagnostics> {
        let document = Document::parse(source).map_err(no_calibration)?;
        let file = document.root().mapping().map_err(no_calibration)?;
        let mut faults = Diagnostics::default();
        check_head(source, &file, &mut faults);
        let mut lasers: Vec<Option<LaserCalibration>> = vec![None; LASERS];
        let mut first_places: Vec<Option<Place>> = vec![None; LASERS];
        let entries = match file.get("lasers") {
            Some(lasers) => lasers.sequence().map_err(no_calibration)?,
            None => Vec::new(),
        };
        let mut two_point_correction = None;
        for entry in entries {
            let laser = Laser { node: entry, entries: entry.mapping().map_err(no_calibration)? };
            let calibration = laser.calibration(&mut faults);
            laser.check_two_point_correction(&mut two_point_correction, &mut faults);
            let Some((written, place)) = laser.id(&mut faults) else { continue };
            let slot = usize::try_from(written).ok().filter(|id| *id < LASERS);
            let Some(id) = slot else {
                let fault = place.fault("there is no such laser", "allowed: 0 to 63");
                faults.push(fault.note("limit from the HDL-64E: 64 lasers"));
                continue;
            };
            if let Some(first) = &first_places[id] {
                let title = format!("laser {id} is listed twice");
                faults.push(place.fault(title, "again here").related(first, "first here"));
            } else {
                first_places[id] = Some(place);
                lasers[id] = Some(calibration);
            }
        }
        let missing: Vec<_> =
            (0..LASERS).filter(|id| lasers[*id].is_none()).map(|id| id.to_string()).collect();
        if file.contains_key("lasers") && !missing.is_empty() {
            let fault = Diagnostic::new(format!("calibration `{}` lacks lasers", source.name));
            faults.push(fault.note(format!("missing: {}", missing.join(", "))));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(LaserTable {
            two_point_correction: two_point_correction.unwrap_or_default(),
            lasers: lasers.into_iter().flatten().collect(),
        })
    }

    /// YAML text of the table.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("num_lasers: {}\n", self.lasers.len());
        let _ = writeln!(text, "distance_resolution: {DISTANCE_RESOLUTION_M}\nlasers:");
        for (id, c) in self.lasers.iter().enumerate() {
            let _ = writeln!(text, "- laser_id: {id}");
            let mut number = |key: &str, value: f64| {
                // Without an exponent: YAML 1.1 reads an exponent without a decimal point as text.
                let point = if value.fract() == 0.0 { ".0" } else { "" };
                let _ = writeln!(text, "  {key}: {value}{point}");
            };
            number("rot_correction", c.rotational_rad);
            number("vert_correction", c.vertical_rad);
            number("dist_correction", c.distance_m);
            number("dist_correction_x", c.distance_x_m);
            number("dist_correction_y", c.distance_y_m);
            number("vert_offset_correction", c.vertical_offset_m);
            number("horiz_offset_correction", c.horizontal_offset_m);
            number("focal_distance", c.focal_distance_m);
            number("focal_slope", c.focal_slope);
            let _ = writeln!(
                text,
                "  two_pt_correction_available: {}\n  max_intensity: {}\n  min_intensity: {}",
                self.two_point_correction, c.max_intensity, c.min_intensity
            );
        }
        text
    }
}

/// Checks the keys that do not belong to a laser.
fn check_head(
    source: &Arc<SourceFile>,
    file: &HashMap<&str, NodeRef<'_>>,
    faults: &mut Diagnostics,
) {
    let mut value_of = |key: &str| {
        let Some(node) = file.get(key) else {
            let start = Place::new(source, 0..0);
            let fault = start.fault(format!("`{key}` is missing"), "a calibration needs it");
            faults.push(fault.note(FORM));
            return None;
        };
        Some(*node)
    };
    let [count, resolution, _] = ["num_lasers", "distance_resolution", "lasers"].map(&mut value_of);
    match count.map(|node| (node, node.whole_number())) {
        Some((node, Ok(count))) if count != LASERS as i64 => {
            let title = format!("this calibration is for {count} lasers");
            faults.push(node.place().fault(title, format!("an HDL-64E has {LASERS}")));
        }
        Some((_, Err(fault))) => faults.append(no_calibration(fault)),
        _ => {}
    }
    match resolution.map(|node| (node, node.number())) {
        Some((node, Ok(resolution))) if resolution != DISTANCE_RESOLUTION_M => {
            let label = format!("allowed: {DISTANCE_RESOLUTION_M} m");
            let title = "an HDL-64E has another distance resolution";
            let fault = node.place().fault(title, label);
            faults.push(fault.note("limit from the wire format: 16 bits of 2 mm"));
        }
        Some((_, Err(fault))) => faults.append(no_calibration(fault)),
        _ => {}
    }
}

/// Entry of the list `lasers` in a calibration file.
struct Laser<'d> {
    node: NodeRef<'d>,
    entries: HashMap<&'d str, NodeRef<'d>>,
}

impl Laser<'_> {
    /// Number of the laser, and the number's position in the text; `None` after an error, which is reported to
    /// `faults`.
    fn id(&self, faults: &mut Diagnostics) -> Option<(i64, Place)> {
        let Some(node) = self.entries.get("laser_id") else {
            faults.push(self.lacks("laser_id"));
            return None;
        };
        match node.whole_number() {
            Ok(id) => Some((id, node.place())),
            Err(fault) => {
                faults.append(no_calibration(fault));
                None
            }
        }
    }

    /// Reports a value of `two_pt_correction_available` that differs from the value of the file's first laser.
    fn check_two_point_correction(&self, first: &mut Option<bool>, faults: &mut Diagnostics) {
        let flag = self.entries.get("two_pt_correction_available");
        let available = match flag.map(|node| node.truth()) {
            None => false,
            Some(Ok(available)) => available,
            Some(Err(fault)) => return faults.append(no_calibration(fault)),
        };
        let first = *first.get_or_insert(available);
        if available != first {
            let title = "`two_pt_correction_available` must be the same for all lasers";
            let place = flag.unwrap_or(&self.node).place();
            faults.push(place.fault(title, format!("the first laser has {first}")));
        }
    }

    /// Calibration of the laser; wrong or missing values are reported to `faults`.
    fn calibration(&self, faults: &mut Diagnostics) -> LaserCalibration {
        use std::f64::consts::{FRAC_PI_2, PI};
        // Keys with a default are optional, as in the driver.
        let mut number = |key: &str, default: Option<f64>, limit: (f64, f64, &str)| {
            let (low, high, origin) = limit;
            let Some(node) = self.entries.get(key) else {
                if default.is_none() {
                    faults.push(self.lacks(key));
                }
                return default.unwrap_or_default();
            };
            match node.number() {
                Ok(value) if (low..=high).contains(&value) => return value,
                Ok(_) => {
                    let title = format!("`{key}` is out of range");
                    let label = format!("allowed: {low} to {high}");
                    let fault = node.place().fault(title, label);
                    faults.push(fault.note(format!("limit from {origin}")));
                }
                Err(fault) => faults.append(no_calibration(fault)),
            }
            0.0
        };
        let length = (-MAX_LENGTH_M, MAX_LENGTH_M, RECORD);
        let byte = (0.0, 255.0, "the wire format: intensity is one byte");
        let elevation = (-FRAC_PI_2, FRAC_PI_2, "geometry: radians");
        let azimuth = (-PI, PI, "geometry: radians");
        let laser = LaserCalibration {
            vertical_rad: number("vert_correction", None, elevation),
            rotational_rad: number("rot_correction", None, azimuth),
            distance_m: number("dist_correction", None, length),
            distance_x_m: number("dist_correction_x", None, length),
            distance_y_m: number("dist_correction_y", None, length),
            vertical_offset_m: number("vert_offset_correction", None, length),
            horizontal_offset_m: number("horiz_offset_correction", Some(0.0), length),
            focal_distance_m: number("focal_distance", None, (0.0, MAX_LENGTH_M, RECORD)),
            focal_slope: number("focal_slope", None, (-MAX_SLOPE, MAX_SLOPE, RECORD)),
            // The driver also rounds intensity limits down.
            min_intensity: number("min_intensity", Some(0.0), byte) as u8,
            max_intensity: number("max_intensity", Some(255.0), byte) as u8,
        };
        if let Some(min) = self.entries.get("min_intensity")
            && laser.min_intensity > laser.max_intensity
        {
            let label = format!("max_intensity is {}", laser.max_intensity);
            let title = "`min_intensity` is more than `max_intensity`";
            faults.push(min.place().fault(title, label));
        }
        laser
    }

    fn lacks(&self, key: &str) -> Diagnostic {
        let title = format!("`{key}` is missing");
        self.node.place().fault(title, "this laser needs it").note(FORM)
    }
}

fn no_calibration(fault: YamlFault) -> Diagnostics {
    fault.titled("not a calibration file").note(FORM).into()
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
            prop_assert_eq!(read(&table.to_yaml()).unwrap(), table);
        }
    }
}
