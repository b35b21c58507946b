//! Reads IMU data: a recorded stream of any protocol, or a CSV file.

use std::fs::File;
use std::io::Read;

use glam::DVec3;

use super::{FitError, Log, median};
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;

/// Largest number of samples: more than a day at 200 Hz, some gigabytes.
const MAX_SAMPLES: usize = 20_000_000;
/// Largest permitted share of missing samples.
const MOST_MISSING: f64 = 0.01;

/// Measurements of an IMU at a constant rate; an absent quantity is empty.
#[derive(Clone, Debug, Default)]
pub struct InertialLog {
    /// Sample rate, Hz.
    pub rate_hz: f64,
    /// Angular rates, rad/s.
    pub gyro: Vec<DVec3>,
    /// Specific forces, m/s².
    pub accel: Vec<DVec3>,
    /// Magnetic field, gauss.
    pub mag: Vec<DVec3>,
    /// Number of missing samples, estimated from timestamps; 0 if the user sets the sample rate.
    pub missing: usize,
}

impl InertialLog {
    /// Number of samples of the quantity with the most samples.
    pub fn samples(&self) -> usize {
        self.gyro.len().max(self.accel.len()).max(self.mag.len())
    }
}

/// Reads the IMU data between `from_s` and `to_s` of a log.
pub fn read(log: &Log<'_>) -> Result<InertialLog, FitError> {
    let mut samples = Samples::new((log.from_s, log.to_s), log.rate_hz);
    if log.path.extension().is_some_and(|extension| extension == "csv") {
        let file = File::open(log.path).map_err(|error| FitError::log(error.to_string()))?;
        read_csv(file, &mut samples)?;
    } else {
        log.stream()?.visit(|time_s, frame| match frame.content.inertial() {
            Some(found) => samples.see(
                found.stamp_s,
                time_s,
                [found.gyro_rad_s, found.accel_m_s2, found.mag_gauss],
            ),
            None => Ok(()),
        })?;
    }
    samples.finish()
}

/// Parses the text of a CSV file. `rate_hz` is the sample rate; with `None`, it is computed from the column `time_s`.
///
/// # Errors
/// A line cannot be parsed (the error names it), there are no data, the sample rate is unknown, or more than 1 % of the
/// samples are missing.
pub fn parse_csv(input: impl Read, rate_hz: Option<f64>) -> Result<InertialLog, FitError> {
    let mut samples = Samples::new((0.0, f64::INFINITY), rate_hz);
    read_csv(input, &mut samples)?;
    samples.finish()
}

/// Collects samples before their rate is known.
struct Samples {
    /// Start and end of the used part, seconds after the first sample.
    span_s: (f64, f64),
    rate_hz: Option<f64>,
    found: InertialLog,
    /// Times of samples by the unit's clock, where known, seconds.
    stamps_s: Vec<f64>,
    /// Times of samples by the clock of the recording, where known, seconds.
    times_s: Vec<f64>,
    first_s: Option<f64>,
    count: usize,
}

impl Samples {
    fn new(span_s: (f64, f64), rate_hz: Option<f64>) -> Self {
        Self {
            span_s,
            rate_hz,
            found: InertialLog::default(),
            stamps_s: Vec::new(),
            times_s: Vec::new(),
            first_s: None,
            count: 0,
        }
    }

    fn see(
        &mut self,
        stamp_s: Option<f64>,
        time_s: Option<f64>,
        [gyro, accel, mag]: [Option<DVec3>; 3],
    ) -> Result<(), String> {
        if gyro.or(accel).or(mag).is_none() {
            return Ok(());
        }
        self.count += 1;
        // The used part is measured with the first clock that exists: time of the recording, time of the unit, or
        // sample count.
        let counted = self.rate_hz.map(|hz| self.count as f64 / hz);
        if let Some(now_s) = time_s.or(stamp_s).or(counted) {
            let since_s = now_s - *self.first_s.get_or_insert(now_s);
            if !(self.span_s.0..=self.span_s.1).contains(&since_s) {
                return Ok(());
            }
        }
        if self.found.samples() >= MAX_SAMPLES {
            return Err(format!("it has more than {MAX_SAMPLES} samples; select a part with --to"));
        }
        let pairs = [
            (&mut self.found.gyro, gyro),
            (&mut self.found.accel, accel),
            (&mut self.found.mag, mag),
        ];
        for (all, value) in pairs {
            all.extend(value.filter(|v| v.is_finite()));
        }
        self.stamps_s.extend(stamp_s);
        self.times_s.extend(time_s);
        Ok(())
    }

    fn finish(mut self) -> Result<InertialLog, FitError> {
        let count = self.found.samples();
        if count == 0 {
            let text = "it has no angular rates and accelerations, or none in the selected part";
            return Err(FitError::log(text));
        }
        let clock = if self.stamps_s.len() > count / 2 { &self.stamps_s } else { &self.times_s };
        match (self.rate_hz, steady(clock)) {
            (Some(rate_hz), _) => self.found.rate_hz = rate_hz,
            (None, Some((interval_s, missing))) => {
                self.found.rate_hz = interval_s.recip();
                self.found.missing = missing;
            }
            (None, None) => {
                let text = "neither its frames nor an index file beside it have timestamps; set \
                            the sample rate with --rate";
                return Err(FitError::log(text));
            }
        }
        if self.found.missing as f64 > MOST_MISSING * count as f64 {
            let text = format!(
                "{} of {count} samples are missing, according to the timestamps; a fit needs a log \
                 without gaps, or --rate",
                self.found.missing
            );
            return Err(FitError::log(text));
        }
        Ok(self.found)
    }
}

/// Mean interval of a clock's readings (seconds) and number of missing readings; `None` if there are fewer than two
/// readings or the clock does not advance.
fn steady(clock_s: &[f64]) -> Option<(f64, usize)> {
    let mut steps: Vec<f64> = clock_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&mut steps.clone());
    if !usual.is_finite() || usual <= 0.0 {
        return None;
    }
    // Steps back, where a counter has overflowed, are ignored.
    let lost = |step: &f64| (step / usual).round().min(1e9) as usize - 1;
    let missing = steps.iter().filter(|step| **step > 1.5 * usual).map(lost).sum();
    steps.retain(|step| (0.5 * usual..1.5 * usual).contains(step));
    Some((steps.iter().sum::<f64>() / steps.len() as f64, missing))
}

/// Quantities of a CSV file and their units. The columns are called `<quantity>_<axis>_<unit>`. The number after a unit
/// converts a value to rad/s, m/s² or gauss.
const QUANTITIES: [(&str, &[(&str, f64)]); 3] = [
    ("gyro", &[("rad_s", 1.0), ("deg_s", std::f64::consts::PI / 180.0)]),
    ("accel", &[("m_s2", 1.0), ("g", STANDARD_GRAVITY_M_S2), ("mg", STANDARD_GRAVITY_M_S2 * 1e-3)]),
    ("mag", &[("gauss", 1.0), ("ut", 0.01)]),
];

fn read_csv(input: impl Read, samples: &mut Samples) -> Result<(), FitError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let headers = reader.headers().map_err(|error| FitError::log(error.to_string()))?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let axes = QUANTITIES.map(|(quantity, units)| {
        units.iter().find_map(|(unit, scale)| {
            let axis = |axis| column(&format!("{quantity}_{axis}_{unit}"));
            Some(([axis("x")?, axis("y")?, axis("z")?], *scale))
        })
    });
    let time = column("time_s");
    if axes.iter().all(Option::is_none) {
        let text = "line 1 names no known column; allowed: time_s, gyro_x_rad_s (or deg_s) with y \
                    and z, accel_x_m_s2 (g, mg), mag_x_gauss (ut)";
        return Err(FitError::log(text));
    }
    for row in reader.records() {
        let row = row.map_err(|error| FitError::log(error.to_string()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let number = |place: usize| {
            let text = row.get(place).unwrap_or_default();
            let read = text.parse::<f64>().ok().filter(|x| x.is_finite());
            read.ok_or_else(|| FitError::log(format!("line {line}: `{text}` is not a number")))
        };
        let mut values = [None; 3];
        for (value, axes) in values.iter_mut().zip(axes) {
            if let Some(([x, y, z], scale)) = axes {
                *value = Some(DVec3::new(number(x)?, number(y)?, number(z)?) * scale);
            }
        }
        let time_s = time.map(number).transpose()?;
        samples.see(None, time_s, values).map_err(FitError::Log)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::families::catalogue;

    fn read_text(text: &str, rate_hz: Option<f64>) -> Result<InertialLog, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("imu.csv");
        std::fs::write(&path, text).unwrap();
        let profile = catalogue().profiles()[0].clone();
        let log = Log { path: &path, profile: &profile, from_s: 0.0, to_s: 1e9, rate_hz };
        read(&log).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_are_found_by_name_and_unit() {
        let rows: String =
            (0..10).map(|i| format!("{}, 180, 0, -180, 1, 0, 0\n", 0.01 * f64::from(i))).collect();
        let head = "time_s,gyro_x_deg_s,gyro_y_deg_s,gyro_z_deg_s,accel_x_g,accel_y_g,accel_z_g\n";
        let found = read_text(&(head.to_owned() + &rows), None).unwrap();
        assert!((found.rate_hz - 100.0).abs() < 1e-6, "{}", found.rate_hz);
        assert!((found.gyro[3].x - std::f64::consts::PI).abs() < 1e-12);
        assert!((found.accel[9].x - STANDARD_GRAVITY_M_S2).abs() < 1e-12);
        assert_eq!((found.gyro.len(), found.mag.len(), found.missing), (10, 0, 0));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str, rate| read_text(text, rate).unwrap_err();
        assert!(wrong("a,b\n1,2\n", None).starts_with("line 1 names no known column"));
        let head = "gyro_x_rad_s,gyro_y_rad_s,gyro_z_rad_s\n";
        assert_eq!(wrong(&format!("{head}1,2,x\n"), None), "line 2: `x` is not a number");
        assert!(wrong(&format!("{head}1,2,3\n1,2,3\n"), None).contains("--rate"));
        assert!(wrong(head, None).contains("no angular rates"), "{}", wrong(head, None));
        assert_eq!(read_text(&format!("{head}1,2,3\n"), Some(50.0)).unwrap().rate_hz, 50.0);
    }

    #[test]
    fn a_clock_that_starts_again_is_steady_and_a_gap_is_counted() {
        let mut clock: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.01).collect();
        clock.extend((0..100).map(|i| f64::from(i) * 0.01));
        let (interval_s, missing) = steady(&clock).unwrap();
        assert!((interval_s - 0.01).abs() < 1e-9 && missing == 0);
        clock.extend([1.5, 1.51]);
        assert_eq!(steady(&clock).unwrap().1, 50);
        assert_eq!(steady(&[1.0]), None);
    }
}
