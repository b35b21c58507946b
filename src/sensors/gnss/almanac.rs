//! Orbits of satellites: YUMA almanac files, which the US Coast Guard publishes for GPS.

use std::path::Path;
use std::sync::Arc;

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};

/// A satellite's orbit in the parameters of a GPS almanac (IS-GPS-200, table 20-VI), angles in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// Eccentricity of the orbit; 0 for a circle.
    pub eccentricity: f64,
    /// Time of applicability, seconds of the GPS week.
    pub toa_s: f64,
    /// GPS week of `toa_s`, modulo [`Orbit::week_modulus`].
    pub week: u32,
    /// Modulus of `week`: 1024 for the 10-bit number that satellites broadcast, 8192 for a full week number.
    pub week_modulus: u32,
    /// Inclination of the orbit.
    pub inclination_rad: f64,
    /// Rate of the right ascension.
    pub ascension_rate_rad_s: f64,
    /// Square root of the semi-major axis, m^1/2.
    pub sqrt_a: f64,
    /// Right ascension of the ascending node at the beginning of the week.
    pub ascension_rad: f64,
    /// Argument of perigee.
    pub perigee_rad: f64,
    /// Mean anomaly at `toa_s`.
    pub mean_anomaly_rad: f64,
}

/// A satellite of an almanac.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlmanacSatellite {
    /// PRN number, 1 to 32.
    pub svid: u8,
    /// Whether the health word is 000.
    pub is_healthy: bool,
    /// Orbit of the satellite.
    pub orbit: Orbit,
}

/// Orbits of the GPS satellites.
#[derive(Clone, Debug, PartialEq)]
pub struct Almanac {
    /// Satellites in the order of the file.
    pub satellites: Vec<AlmanacSatellite>,
}

/// Largest size of a file, bytes. 32 satellites take 20 kB.
const MAX_BYTES: u64 = 1 << 20;

/// For each line about a satellite: the start of the line's name, and the lowest and highest value.
const LINES: [(&str, f64, f64); 11] = [
    ("id", 1.0, 32.0),
    ("health", 0.0, 255.0),
    ("eccentricity", 0.0, 0.5),
    ("time of applicability", 0.0, 604_800.0),
    ("orbital inclination", 0.0, std::f64::consts::PI),
    ("rate of right ascen", -1e-3, 1e-3),
    ("sqrt", 2000.0, 10_000.0),
    ("right ascen at week", -10.0, 10.0),
    ("argument of perigee", -10.0, 10.0),
    ("mean anom", -10.0, 10.0),
    ("week", 0.0, 10_000.0),
];

impl Almanac {
    /// Reads the YUMA file at `path`. Messages call it `name`.
    ///
    /// # Errors
    /// The file cannot be read, or contains errors: all of them are returned.
    pub fn load(name: &str, path: &Path) -> Result<Self, Diagnostics> {
        let source = SourceFile::read(name, path, MAX_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read almanac `{name}`: {why}")))
        })?;
        Self::from_yuma(&source)
    }

    /// Reads YUMA text: for each satellite a line of asterisks, then `name: value` lines.
    ///
    /// # Errors
    /// All errors in the text.
    pub fn from_yuma(source: &Arc<SourceFile>) -> Result<Self, Diagnostics> {
        let mut faults = Diagnostics::default();
        let mut satellites: Vec<AlmanacSatellite> = Vec::new();
        let mut block = Block::default();
        let mut offset = 0;
        for line in source.text.split_inclusive('\n') {
            let place = Place::new(source, offset..offset + line.trim_end().len());
            offset += line.len();
            let text = line.trim();
            if text.starts_with('*') {
                block.finish(&mut satellites, &mut faults);
                block = Block { start: Some(place), ..Block::default() };
            } else if !text.is_empty() {
                block.read(text, place, &mut faults);
            }
        }
        block.finish(&mut satellites, &mut faults);
        if satellites.is_empty() && faults.is_empty() {
            let place = Place::new(source, 0..0);
            let label = "allowed: a YUMA almanac, `ID: 01` and so on for each satellite";
            faults.push(place.fault("there is no satellite in this almanac", label));
        }
        if faults.is_empty() { Ok(Self { satellites }) } else { Err(faults) }
    }
}

/// The lines of one satellite.
#[derive(Default)]
struct Block {
    start: Option<Place>,
    values: [Option<f64>; LINES.len()],
}

impl Block {
    fn read(&mut self, text: &str, place: Place, faults: &mut Diagnostics) {
        let Some((name, value)) = text.split_once(':') else {
            faults.push(place.fault("not a line of a YUMA almanac", "allowed: `name: value`"));
            return;
        };
        let name = name.to_ascii_lowercase();
        let Some(index) = LINES.iter().position(|(start, _, _)| name.starts_with(start)) else {
            // Clock terms (Af0, Af1) and unknown lines do not change the orbit.
            return;
        };
        let (_, low, high) = LINES[index];
        match value.trim().parse::<f64>() {
            Ok(number) if (low..=high).contains(&number) => self.values[index] = Some(number),
            _ => {
                let label = format!("allowed: {low} to {high}");
                let title = format!("`{}` is out of range or not a number", name.trim());
                faults.push(place.clone().fault(title, label).note("limit from IS-GPS-200"));
                self.values[index] = Some(f64::NAN);
            }
        }
        self.start.get_or_insert(place);
    }

    fn finish(&self, satellites: &mut Vec<AlmanacSatellite>, faults: &mut Diagnostics) {
        let Some(start) = &self.start else { return };
        if let Some(missing) = self.values.iter().position(Option::is_none) {
            let label = format!("this satellite has no line `{}`", LINES[missing].0);
            faults.push(start.fault("a satellite of the almanac is incomplete", label));
            return;
        }
        let value = |index: usize| self.values[index].unwrap_or(f64::NAN);
        let svid = value(0) as u8;
        if satellites.iter().any(|other| other.svid == svid) {
            faults.push(start.fault(format!("satellite {svid} is listed twice"), "again here"));
        }
        satellites.push(AlmanacSatellite {
            svid,
            is_healthy: value(1) == 0.0,
            orbit: Orbit {
                eccentricity: value(2),
                toa_s: value(3),
                inclination_rad: value(4),
                ascension_rate_rad_s: value(5),
                sqrt_a: value(6),
                ascension_rad: value(7),
                perigee_rad: value(8),
                mean_anomaly_rad: value(9),
                week: value(10) as u32,
                week_modulus: if value(10) < 1024.0 { 1024 } else { 8192 },
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YUMA: &str = "\
******** Week 310 almanac for PRN-01 ********
ID:                         01
Health:                     000
Eccentricity:               0.5154132843E-002
Time of Applicability(s):  589824.0000
Orbital Inclination(rad):   0.9755654335
Rate of Right Ascen(r/s):  -0.7954617056E-008
SQRT(A)  (m 1/2):           5153.598145
Right Ascen at Week(rad):   0.1543298602E+001
Argument of Perigee(rad):   0.519078493
Mean Anom(rad):             0.2225453138E+001
Af0(s):                    -0.2746582031E-003
Af1(s/s):                  -0.1091393642E-010
week:                        310
";

    fn read(text: &str) -> Result<Almanac, String> {
        Almanac::from_yuma(&SourceFile::new("a.alm", text, "")).map_err(|f| f.to_string())
    }

    #[test]
    fn yuma_is_read() {
        let second = YUMA.replace("   01\n", "   02\n").replace("   000\n", "   063\n");
        let two = format!("{YUMA}\n{second}");
        let almanac = read(&two).unwrap();
        assert_eq!(almanac.satellites.len(), 2);
        assert_eq!(almanac.satellites[1].svid, 2);
        assert!(almanac.satellites[0].is_healthy && !almanac.satellites[1].is_healthy);
        let orbit = almanac.satellites[0].orbit;
        assert_eq!((orbit.sqrt_a, orbit.toa_s, orbit.week), (5153.598145, 589_824.0, 310));
    }

    #[test]
    fn faults_name_their_line() {
        let twice = format!("{YUMA}\n{YUMA}");
        assert!(read(&twice).unwrap_err().contains("satellite 1 is listed twice"));
        let wrong = YUMA.replace("0.9755654335", "97.5");
        let message = read(&wrong).unwrap_err();
        assert!(
            message.contains("a.alm:6:1") && message.contains("allowed: 0 to 3.14"),
            "{message}"
        );
        let short = YUMA.replace("week:                        310\n", "");
        assert!(read(&short).unwrap_err().contains("no line `week`"));
        assert!(read("").unwrap_err().contains("no satellite"));
        assert!(read("hello\n").unwrap_err().contains("a.alm:1:1"));
    }
}
