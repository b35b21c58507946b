//! Recorded drives in the format of the data set of Mahajan et al. 2024: one CSV file per drive, named
//! `<trajectory>_<number>.csv`, with the columns `se_time`, `se_vel` (the estimator's speed) and `gt_time`, `gt_vel`
//! (the true speed), in seconds and m/s. Other columns are ignored. Each pair of columns starts in the first row; after
//! its end it is empty or zero.

use std::path::{Path, PathBuf};

use super::course::Course;
use super::metrics::{Drive, Series};
use crate::links::part_file::PartFile;

/// Largest number of rows in a file.
const MAX_ROWS: usize = 10_000_000;
const COLUMNS: [&str; 4] = ["se_time", "se_vel", "gt_time", "gt_vel"];
/// Course names in file names: first Menura's, then those of the data set.
const NAMES: [(&str, Course); 6] = [
    ("line", Course::Line),
    ("half-sine", Course::HalfSine),
    ("circle", Course::Circle),
    ("half-sine-concrete", Course::HalfSineConcrete),
    ("path", Course::Line),
    ("sine", Course::HalfSine),
];

/// Menura's name of a course, as in file names.
pub fn name_of(course: Course) -> &'static str {
    NAMES.iter().find(|(_, c)| *c == course).map_or("", |(name, _)| name)
}

/// Reads a drive, or all drives of a folder in the order of their file names.
///
/// # Errors
/// Text of the error, with file and line.
pub fn read(path: &Path) -> Result<Vec<(Course, Drive)>, String> {
    let shown = path.display();
    let mut files: Vec<PathBuf> = Vec::new();
    let what = std::fs::metadata(path).map_err(|why| format!("cannot read {shown}: {why}"))?;
    if what.is_dir() {
        let entries =
            std::fs::read_dir(path).map_err(|why| format!("cannot read {shown}: {why}"))?;
        for entry in entries {
            let file = entry.map_err(|why| format!("cannot read {shown}: {why}"))?.path();
            if course_of(&file).is_some() {
                files.push(file);
            }
        }
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    if files.is_empty() {
        return Err(format!("{shown} has no drives; allowed names: {}", allowed_names()));
    }
    files
        .iter()
        .map(|file| {
            let course = course_of(file).ok_or_else(|| {
                format!(
                    "{}: the file name has no known course; allowed names: {}",
                    file.display(),
                    allowed_names()
                )
            })?;
            let text = std::fs::File::open(file)
                .map_err(|why| format!("cannot read {}: {why}", file.display()))?;
            let drive = parse(text).map_err(|why| format!("{}: {why}", file.display()))?;
            Ok((course, drive))
        })
        .collect()
}

/// Writes a drive that [`read`] reproduces within a microsecond and 1e-9 m/s.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, drive: &Drive) -> std::io::Result<()> {
    let mut to = csv::Writer::from_writer(Vec::new());
    to.write_record(COLUMNS)?;
    let cell = |series: &Series, row: usize| {
        let at = series.times_s.get(row).map_or(String::new(), |t| format!("{t:.6}"));
        let value = series.values.get(row).map_or(String::new(), |v| format!("{v:.9}"));
        [at, value]
    };
    for row in 0..drive.truth.times_s.len().max(drive.estimated.times_s.len()) {
        to.write_record([cell(&drive.estimated, row), cell(&drive.truth, row)].as_flattened())?;
    }
    let bytes = to.into_inner().map_err(csv::IntoInnerError::into_error)?;
    PartFile::write_whole(path, &bytes)
}

/// Course that a file name states; `None` if the name has another form.
fn course_of(file: &Path) -> Option<Course> {
    let name = file.file_name()?.to_str()?.strip_suffix(".csv")?;
    let (course, number) = name.rsplit_once('_')?;
    number.parse::<u32>().ok()?;
    NAMES.iter().find(|(name, _)| *name == course).map(|(_, course)| *course)
}

fn allowed_names() -> String {
    let names: Vec<String> = NAMES.iter().map(|(name, _)| format!("{name}_1.csv")).collect();
    names.join(", ")
}

/// Reads a drive from CSV text.
///
/// # Errors
/// Text of the error, with its line.
pub fn parse(text: impl std::io::Read) -> Result<Drive, String> {
    let mut reader = csv::Reader::from_reader(text);
    let headers = reader.headers().map_err(|why| why.to_string())?.clone();
    let mut places = [0; 4];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        *place = headers.iter().position(|name| name.trim() == wanted).ok_or_else(|| {
            format!("line 1: no column `{wanted}`; needed: {}", COLUMNS.join(", "))
        })?;
    }
    let mut drive = Drive::default();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|why| why.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        if row >= MAX_ROWS {
            return Err(format!("line {line}: more than {MAX_ROWS} rows"));
        }
        let mut cells = [0.0; 4];
        for (cell, place) in cells.iter_mut().zip(places) {
            let text = record.get(place).unwrap_or("").trim();
            if !text.is_empty() && !text.eq_ignore_ascii_case("nan") {
                *cell = text
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())
                    .ok_or_else(|| format!("line {line}: `{text}` is not a number"))?;
            }
        }
        let [se_time, se_vel, gt_time, gt_vel] = cells;
        for (series, at_s, value) in
            [(&mut drive.estimated, se_time, se_vel), (&mut drive.truth, gt_time, gt_vel)]
        {
            // Skipped: a first sample of zeros, and padding, which has the time 0 after the first row.
            if at_s == 0.0 && (value == 0.0 || row > 0) {
                continue;
            }
            if series.times_s.last().is_some_and(|last| at_s <= *last) {
                return Err(format!("line {line}: time {at_s} is not after the previous one"));
            }
            series.push(at_s, value);
        }
    }
    if drive.score().is_none() {
        return Err("both speeds must cover at least one second".into());
    }
    Ok(drive)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &[&str]) -> String {
        format!("index,se_time,gt_time,se_vel,gt_vel\n{}\n", rows.join("\n"))
    }

    #[test]
    fn a_drive_is_read_as_the_data_set_has_it() {
        let drive = parse(
            text(&[
                "0,0.1,0.0,0.4,0.0",
                "1,0.6,0.5,0.9,1.0",
                "2,2.0,1.5,1.1,1.2",
                "3,2.5,0,1.0,0",
                "4,3.0,,1,",
            ])
            .as_bytes(),
        )
        .unwrap();
        assert_eq!(drive.estimated.times_s, [0.1, 0.6, 2.0, 2.5, 3.0]);
        assert_eq!(drive.estimated.values, [0.4, 0.9, 1.1, 1.0, 1.0]);
        assert_eq!(drive.truth.times_s, [0.5, 1.5]);
        assert_eq!(drive.truth.values, [1.0, 1.2]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |rows: &[&str]| parse(text(rows).as_bytes()).unwrap_err();
        assert_eq!(wrong(&["0,0.1,0.1,x,1"]), "line 2: `x` is not a number");
        assert_eq!(
            wrong(&["0,0.5,0.5,1,1", "1,0.4,0.6,1,1"]),
            "line 3: time 0.4 is not after the previous one"
        );
        assert_eq!(wrong(&["0,0.5,0.5,inf,1"]), "line 2: `inf` is not a number");
        assert_eq!(wrong(&["0,0.5,0.5,1,1"]), "both speeds must cover at least one second");
        let headless = parse("a,b\n1,2\n".as_bytes()).unwrap_err();
        assert!(headless.starts_with("line 1: no column `se_time`"), "{headless}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut drive = Drive::default();
        for i in 0..200 {
            drive.truth.push(f64::from(i) * 0.01 + 0.01, 1.0 + f64::from(i) * 1e-3);
            if i % 3 == 0 {
                drive.estimated.push(f64::from(i) * 0.01, 1.1);
            }
        }
        write(&folder.path().join("half-sine_2.csv"), &drive).unwrap();
        write(&folder.path().join("path_10.csv"), &drive).unwrap();
        std::fs::write(folder.path().join("notes.csv"), "nothing").unwrap();
        let read_back = read(folder.path()).unwrap();
        assert_eq!(read_back.len(), 2);
        assert_eq!(read_back[0].0, Course::HalfSine);
        assert_eq!(read_back[1].0, Course::Line);
        let (was, is) = (drive.score().unwrap(), read_back[0].1.score().unwrap());
        assert!((was.rmse_m_s - is.rmse_m_s).abs() < 1e-8, "{was:?} {is:?}");
        assert!((was.flatness_difference - is.flatness_difference).abs() < 1e-6, "{was:?} {is:?}");
        assert!(read(&folder.path().join("notes.csv")).unwrap_err().contains("half-sine_1.csv"));
        assert!(read(&folder.path().join("none_here")).is_err());
    }
}
