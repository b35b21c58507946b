//! A unit's calibration as `db.xml`, the file that Velodyne delivers with an HDL-64E.
//!
//! Angles are in degrees, lengths in centimetres; focal slopes have no unit. The colour of a laser, which only
//! viewers use, is white.
//!
//! Sources: PCL's `HDLGrabber`, MRPT's `VelodyneCalibration`, VeloView and the ROS driver's `gen_calibration.py`. Each
//! of them reads parts of such a file.

use std::fmt::{self, Write as _};

use crate::hdl64e::profile::{LaserCalibration, LaserTable};

/// Distance unit in packets, centimetres.
const COUNT_CM: f64 = 0.2;

impl LaserTable {
    /// XML text of the table.
    pub fn to_xml(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_xml(&mut text);
        text
    }

    fn write_xml(&self, text: &mut String) -> fmt::Result {
        text.push_str(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>\n\
             <!DOCTYPE boost_serialization>\n\
             <boost_serialization signature=\"serialization::archive\" version=\"4\">\n\
             <DB class_id=\"0\" tracking_level=\"1\" version=\"0\" object_id=\"_0\">\n",
        );
        writeln!(text, "<distLSB_>{COUNT_CM}</distLSB_>")?;
        for (outer, inner) in [("position_", "xyz"), ("orientation_", "rpy")] {
            writeln!(text, "<{outer}>\n<{inner}>")?;
            items(text, [0, 0, 0])?;
            writeln!(text, "</{inner}>\n</{outer}>")?;
        }
        writeln!(text, "<colors_>\n<count>{}</count>", self.lasers.len())?;
        for _ in &self.lasers {
            text.push_str("<item>\n<rgb>\n");
            items(text, [1, 1, 1])?;
            text.push_str("</rgb>\n</item>\n");
        }
        text.push_str("</colors_>\n");
        list(text, "enabled_", self.lasers.iter().map(|_| 1))?;
        list(text, "intensity_", self.lasers.iter().map(|_| 0))?;
        list(text, "minIntensity_", self.lasers.iter().map(|laser| laser.min_intensity))?;
        list(text, "maxIntensity_", self.lasers.iter().map(|laser| laser.max_intensity))?;
        writeln!(text, "<points_>\n<count>{}</count>", self.lasers.len())?;
        for (id, laser) in self.lasers.iter().enumerate() {
            writeln!(text, "<item>\n<px>\n<id_>{id}</id_>")?;
            for (key, value) in values(laser) {
                writeln!(text, "<{key}>{value}</{key}>")?;
            }
            text.push_str("</px>\n</item>\n");
        }
        text.push_str("</points_>\n</DB>\n</boost_serialization>\n");
        Ok(())
    }
}

fn values(laser: &LaserCalibration) -> [(&'static str, f64); 10] {
    let cm = |length_m: f64| length_m * 100.0;
    [
        ("rotCorrection_", laser.rotational_rad.to_degrees()),
        ("vertCorrection_", laser.vertical_rad.to_degrees()),
        ("distCorrection_", cm(laser.distance_m)),
        ("distCorrectionX_", cm(laser.distance_x_m)),
        ("distCorrectionY_", cm(laser.distance_y_m)),
        ("vertOffsetCorrection_", cm(laser.vertical_offset_m)),
        ("horizOffsetCorrection_", cm(laser.horizontal_offset_m)),
        ("focalDistance_", cm(laser.focal_distance_m)),
        ("focalSlope_", laser.focal_slope),
        ("closeSlope_", laser.focal_slope),
    ]
}

fn list<T: fmt::Display>(
    text: &mut String,
    key: &str,
    values: impl ExactSizeIterator<Item = T>,
) -> fmt::Result {
    writeln!(text, "<{key}>")?;
    items(text, values)?;
    writeln!(text, "</{key}>")
}

fn items<T, I>(text: &mut String, values: I) -> fmt::Result
where
    T: fmt::Display,
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    let values = values.into_iter();
    writeln!(text, "<count>{}</count>", values.len())?;
    for value in values {
        writeln!(text, "<item>{value}</item>")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::families::catalogue;
    use crate::hdl64e::profile::Hdl64eProfile;

    #[test]
    fn every_value_of_a_unit_stands_where_drivers_look_for_it() {
        let profile = catalogue().profile("velodyne-hdl64e-s2").unwrap();
        let Some(driver) = profile.data::<Hdl64eProfile>() else { unreachable!() };
        let table = &driver.defaults.calibration;
        let text = table.to_xml();
        let points: Vec<_> = text.split("<px>").skip(1).collect();
        assert_eq!(points.len(), 64);
        for (id, (point, laser)) in points.iter().zip(&table.lasers).enumerate() {
            let value = |key: &str| -> f64 {
                let (_, rest) = point.split_once(&format!("<{key}>")).unwrap();
                rest.split_once(&format!("</{key}>")).unwrap().0.parse().unwrap()
            };
            assert_eq!(value("id_"), id as f64);
            for (key, expected) in [
                ("rotCorrection_", laser.rotational_rad.to_degrees()),
                ("vertCorrection_", laser.vertical_rad.to_degrees()),
                ("distCorrection_", laser.distance_m * 100.0),
                ("distCorrectionX_", laser.distance_x_m * 100.0),
                ("distCorrectionY_", laser.distance_y_m * 100.0),
                ("vertOffsetCorrection_", laser.vertical_offset_m * 100.0),
                ("horizOffsetCorrection_", laser.horizontal_offset_m * 100.0),
                ("focalDistance_", laser.focal_distance_m * 100.0),
                ("focalSlope_", laser.focal_slope),
            ] {
                assert_eq!(value(key), expected, "laser {id}, {key}");
            }
        }
        let opened = text.matches("<item>").count();
        assert_eq!(opened, text.matches("</item>").count());
        // Two vectors, 64 colours with three values each, four lists, 64 points.
        assert_eq!(opened, 6 + 64 * 4 + 4 * 64 + 64);
    }
}
