//! Trajectory files: reads poses from TUM, CSV, GPX and MAVS `.vprp`.
//!
//! | Suffix | Content of a line |
//! |---|---|
//! | `.tum`, `.txt` | `t x y z qx qy qz qw`, separated by blanks; `#` starts a comment |
//! | `.csv` | values of the columns that the header names, in any order and either case, see below |
//! | `.gpx` | XML; points of the tracks, otherwise of the routes, otherwise the waypoints |
//! | `.vprp` | between `@Data` and `@END`: `time:x y z:qw qx qy qz`; lines with seven numbers are parts of the vehicle and skipped |
//!
//! CSV columns, separated by comma, semicolon or tab. Names of angles contain their unit. Other columns are
//! ignored with a warning, except those of `truth.csv`:
//!
//! | Column | Names | |
//! |---|---|---|
//! | time, seconds | `time_s`, `time`, `t`, `t_s` | needed unless a speed is given |
//! | position, metres | `x_m` or `x`, `y_m` or `y`, `z_m` or `z` | z may be left out: 0 |
//! | orientation | `qx`, `qy`, `qz`, `qw` | all four, or |
//! | | `yaw_deg`, `pitch_deg`, `roll_deg`, or each in `_rad` | yaw, and the others if wanted |
//!
//! GPX heights are above sea level. They are used as heights above the ellipsoid, plus `geoidheight` if a point has
//! it. If any point lacks `ele`, z is 0 for all.
//!
//! The parsers return poses in the file's order. Their callers check that times exist and increase.

mod gpx;

use std::io::{self, Read};
use std::path::Path;

use glam::{DQuat, DVec3};

use super::error::FileFault;
use super::truth::truth_header;
use crate::config::toml::read_files::note_read;
use crate::frames::{GeoOrigin, quat_from_rpy};

pub use gpx::parse_gpx;

/// Largest coordinate, metres: a quarter of the Earth's circumference.
pub const MAX_COORDINATE_M: f64 = 1e7;
/// Largest time, seconds; up to it, an `f64` rounds times by less than a microsecond.
const MAX_TIME_S: f64 = 1e10;
/// Largest size of a trajectory file, bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Formats of trajectory files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of `t x y z qx qy qz qw`.
    Tum,
    /// A table with named columns.
    Csv,
    /// Tracks of GNSS receivers (XML).
    Gpx,
    /// Recorded drives of MAVS.
    Vprp,
}

/// A pose in a trajectory file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Line in the file, counted from 1.
    pub line: u64,
    /// Time on the file's clock, which may start anywhere; `None` if the file states none.
    pub time_s: Option<f64>,
    /// Position in the World frame.
    pub position_m: DVec3,
    /// Unit quaternion from Body to World; `None` if the file states none.
    pub orientation: Option<DQuat>,
}

/// Reads a trajectory file; its suffix determines the format. The error is the first fault of the file.
pub fn read(path: &Path, geo: &GeoOrigin) -> Result<(Format, Vec<Pose>), FileFault> {
    let suffix = path.extension().and_then(|s| s.to_str()).unwrap_or("").to_ascii_lowercase();
    let format = match suffix.as_str() {
        "tum" | "txt" => Format::Tum,
        "csv" => Format::Csv,
        "gpx" => Format::Gpx,
        "vprp" => Format::Vprp,
        _ => {
            return Err(FileFault::whole(format!(
                "unknown kind of trajectory file `.{suffix}`; allowed: .tum, .txt, .csv, .gpx, .vprp"
            )));
        }
    };
    let text = read_text(path)?;
    let poses = match format {
        Format::Tum => parse_tum(&text),
        Format::Csv => parse_csv(&text),
        Format::Gpx => parse_gpx(&text, geo),
        Format::Vprp => parse_vprp(&text),
    }?;
    Ok((format, poses))
}

/// Parses TUM: `t x y z qx qy qz qw` per line.
pub fn parse_tum(text: &str) -> Result<Vec<Pose>, FileFault> {
    const FIELDS: [&str; 8] = ["t", "x", "y", "z", "qx", "qy", "qz", "qw"];
    let mut poses = Vec::new();
    for (line, content) in numbered_lines(text) {
        let content = content.split('#').next().unwrap_or("");
        let fields: Vec<&str> = content.split_whitespace().collect();
        if fields.is_empty() {
            continue;
        }
        if fields.len() != 8 {
            return Err(FileFault::at_line(
                line,
                format!("found {} fields; allowed: 8 (t x y z qx qy qz qw)", fields.len()),
            ));
        }
        let mut n = [0.0; 8];
        for i in 0..8 {
            n[i] = number(fields[i], limit(i == 0, i < 4))
                .map_err(|problem| FileFault::at_line(line, problem).in_field(FIELDS[i]))?;
        }
        poses.push(Pose {
            line,
            time_s: Some(n[0]),
            position_m: DVec3::new(n[1], n[2], n[3]),
            orientation: Some(
                unit_quaternion([n[4], n[5], n[6], n[7]])
                    .map_err(|problem| FileFault::at_line(line, problem))?,
            ),
        });
    }
    Ok(poses)
}

/// Parses MAVS `.vprp`: `time:x y z:qw qx qy qz` per line between `@Data` and `@END`.
pub fn parse_vprp(text: &str) -> Result<Vec<Pose>, FileFault> {
    const FIELDS: [&str; 8] = ["time", "x", "y", "z", "qw", "qx", "qy", "qz"];
    let mut lines = numbered_lines(text);
    if !lines.any(|(_, content)| content.trim().eq_ignore_ascii_case("@data")) {
        return Err(FileFault::whole(
            "no `@Data` line; the poses of a .vprp file follow such a line",
        ));
    }
    let mut poses = Vec::new();
    for (line, content) in lines {
        let content = content.trim();
        if content.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("@end")) {
            return Ok(poses);
        }
        let fields: Vec<&str> = content
            .split(|c: char| c.is_whitespace() || c == ':')
            .filter(|field| !field.is_empty())
            .collect();
        match fields.len() {
            _ if content.starts_with('#') => continue,
            0 | 7 => continue,
            8 => {}
            found => {
                return Err(FileFault::at_line(
                    line,
                    format!(
                        "found {found} fields; allowed: 8 (time:x y z:qw qx qy qz), or 7 for a part"
                    ),
                ));
            }
        }
        let mut n = [0.0; 8];
        for i in 0..8 {
            n[i] = number(fields[i], limit(i == 0, i < 4))
                .map_err(|problem| FileFault::at_line(line, problem).in_field(FIELDS[i]))?;
        }
        poses.push(Pose {
            line,
            time_s: Some(n[0]),
            position_m: DVec3::new(n[1], n[2], n[3]),
            orientation: Some(
                unit_quaternion([n[5], n[6], n[7], n[4]])
                    .map_err(|problem| FileFault::at_line(line, problem))?,
            ),
        });
    }
    tracing::warn!("the .vprp file has no `@END` line; it may be cut off");
    Ok(poses)
}

/// Parses CSV with named columns.
pub fn parse_csv(text: &str) -> Result<Vec<Pose>, FileFault> {
    let text = text.trim_start_matches('\u{feff}');
    let is_header = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let header = text.lines().find(is_header).unwrap_or("");
    let count = |c: char| header.matches(c).count();
    let (commas, semicolons, tabs) = (count(','), count(';'), count('\t'));
    let delimiter = match semicolons.max(tabs) {
        most if commas >= most => b',',
        most if semicolons == most => b';',
        _ => b'\t',
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let csv_fault = |error: csv::Error| {
        let line = error.position().map(csv::Position::line);
        let problem = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("found {len} fields; allowed: {expected_len}, as in the header")
            }
            _ => error.to_string(),
        };
        FileFault { line, field: None, problem }
    };
    let header = reader.headers().map_err(csv_fault)?;
    let columns = Columns::find(header)?;
    let ignored = Columns::ignored(header);
    if let Some(first) = ignored.first() {
        tracing::warn!(
            "{} columns are ignored, the first is `{first}`; known are {}",
            ignored.len(),
            KNOWN_COLUMNS.join(", ")
        );
    }
    let mut poses = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(csv_fault)?;
        let line = record.position().map_or(0, csv::Position::line);
        let get = |column: &Column, limit: f64| {
            number(record.get(column.index).unwrap_or(""), limit)
                .map_err(|problem| FileFault::at_line(line, problem).in_field(&column.name))
        };
        let time_s = columns.time.as_ref().map(|c| get(c, MAX_TIME_S)).transpose()?;
        let [x, y] = [get(&columns.x, MAX_COORDINATE_M)?, get(&columns.y, MAX_COORDINATE_M)?];
        let z = columns.z.as_ref().map_or(Ok(0.0), |c| get(c, MAX_COORDINATE_M))?;
        let angle = |c: &Option<Column>| {
            c.as_ref().map_or(Ok(0.0), |c| {
                let is_degrees = c.name.to_ascii_lowercase().ends_with("_deg");
                get(c, 1e6).map(|x| if is_degrees { x.to_radians() } else { x })
            })
        };
        let orientation = if let Some([qx, qy, qz, qw]) = &columns.quaternion {
            let q = [get(qx, 1e6)?, get(qy, 1e6)?, get(qz, 1e6)?, get(qw, 1e6)?];
            Some(unit_quaternion(q).map_err(|problem| FileFault::at_line(line, problem))?)
        } else if columns.yaw.is_some() {
            Some(quat_from_rpy(angle(&columns.roll)?, angle(&columns.pitch)?, angle(&columns.yaw)?))
        } else {
            None
        };
        poses.push(Pose { line, time_s, position_m: DVec3::new(x, y, z), orientation });
    }
    Ok(poses)
}

fn read_text(path: &Path) -> Result<String, FileFault> {
    let cannot = |e: io::Error| FileFault::whole(format!("cannot be read: {e}"));
    let file = std::fs::File::open(path).map_err(cannot)?;
    note_read(path);
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(FileFault::whole(format!("too long; allowed: {} MiB", MAX_FILE_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u64;
        FileFault::at_line(line, "not valid UTF-8 text")
    })
}

fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.trim_start_matches('\u{feff}').lines())
}

fn limit(is_time: bool, is_position: bool) -> f64 {
    if is_time {
        MAX_TIME_S
    } else if is_position {
        MAX_COORDINATE_M
    } else {
        1e6
    }
}

/// Parses a finite number within ±`limit`. The error describes the text and the allowed range.
pub(super) fn number(field: &str, limit: f64) -> Result<f64, String> {
    match field.trim().parse::<f64>() {
        Ok(x) if x.abs() <= limit => Ok(x),
        _ => {
            let shown: String = field.chars().take(40).collect();
            Err(format!("found `{shown}`; allowed: a number from {:e} to {limit:e}", -limit))
        }
    }
}

/// Normalises the quaternion x, y, z, w. A length outside of 0.5 to 2 is an error.
fn unit_quaternion(q: [f64; 4]) -> Result<DQuat, String> {
    let q = DQuat::from_array(q);
    if (0.5..=2.0).contains(&q.length()) {
        Ok(q.normalize())
    } else {
        Err(format!(
            "the quaternion's length is {:.3}; allowed: 0.5 to 2 (1 except for rounding)",
            q.length()
        ))
    }
}

struct Column {
    index: usize,
    name: String,
}

struct Columns {
    time: Option<Column>,
    x: Column,
    y: Column,
    z: Option<Column>,
    quaternion: Option<[Column; 4]>,
    roll: Option<Column>,
    pitch: Option<Column>,
    yaw: Option<Column>,
}

impl Columns {
    fn find(header: &csv::StringRecord) -> Result<Self, FileFault> {
        let line = header.position().map_or(1, csv::Position::line);
        let column = |names: &[&str]| {
            let mut found = header
                .iter()
                .enumerate()
                .filter(|(_, name)| names.iter().any(|n| name.eq_ignore_ascii_case(n)));
            let first = found.next();
            match found.next() {
                Some((_, second)) => Err(FileFault::at_line(
                    line,
                    format!("two columns for the same value; allowed: one of {}", names.join(", ")),
                )
                .in_field(second)),
                None => Ok(first.map(|(index, name)| Column { index, name: name.to_owned() })),
            }
        };
        let needed = |names: &[&str]| {
            column(names)?.ok_or_else(|| {
                FileFault::at_line(
                    line,
                    format!("no such column in the header; allowed names: {}", names.join(", ")),
                )
                .in_field(names[0])
            })
        };
        let quaternion = match ["qx", "qy", "qz", "qw"].map(|name| column(&[name])) {
            [Ok(None), Ok(None), Ok(None), Ok(None)] => None,
            _ => Some([needed(&["qx"])?, needed(&["qy"])?, needed(&["qz"])?, needed(&["qw"])?]),
        };
        let columns = Self {
            time: column(&["time_s", "time", "t", "t_s"])?,
            x: needed(&["x_m", "x"])?,
            y: needed(&["y_m", "y"])?,
            z: column(&["z_m", "z"])?,
            quaternion,
            roll: column(&["roll_deg", "roll_rad"])?,
            pitch: column(&["pitch_deg", "pitch_rad"])?,
            yaw: column(&["yaw_deg", "yaw_rad"])?,
        };
        for angle in ["yaw", "pitch", "roll", "heading"] {
            if let Some(found) = header.iter().find(|name| name.eq_ignore_ascii_case(angle)) {
                let means = if angle == "heading" { "yaw" } else { angle };
                let problem = format!(
                    "an angle without a unit; allowed: {means}_deg or {means}_rad, \
                     counter-clockwise, yaw from east"
                );
                return Err(FileFault::at_line(line, problem).in_field(found));
            }
        }
        if columns.quaternion.is_none()
            && columns.yaw.is_none()
            && (columns.roll.is_some() || columns.pitch.is_some())
        {
            return Err(FileFault::at_line(line, "roll or pitch without yaw; add this column")
                .in_field("yaw_deg"));
        }
        Ok(columns)
    }

    /// The columns of `header` that are ignored with a warning: they are neither used nor columns of `truth.csv`.
    fn ignored(header: &csv::StringRecord) -> Vec<&str> {
        let is_known =
            |name: &str| KNOWN_COLUMNS.iter().any(|known| known.eq_ignore_ascii_case(name));
        let is_truth =
            |name: &str| truth_header().iter().any(|known| known.eq_ignore_ascii_case(name));
        header.iter().filter(|name| !is_known(name) && !is_truth(name)).collect()
    }
}

/// Columns that a CSV file may have, in the order in which messages list them.
const KNOWN_COLUMNS: [&str; 20] = [
    "time_s",
    "time",
    "t",
    "t_s",
    "x_m",
    "x",
    "y_m",
    "y",
    "z_m",
    "z",
    "qx",
    "qy",
    "qz",
    "qw",
    "yaw_deg",
    "yaw_rad",
    "pitch_deg",
    "pitch_rad",
    "roll_deg",
    "roll_rad",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tum_takes_comments_and_blank_lines() {
        let text = "# t x y z qx qy qz qw\n\n10.5 1 2 3 0 0 0 1\n11 4 5 6 0 0 1 0 # end\r\n";
        let poses = parse_tum(text).unwrap();
        assert_eq!(poses.len(), 2);
        assert_eq!((poses[1].line, poses[1].time_s), (4, Some(11.0)));
        assert_eq!(poses[1].orientation, Some(DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0)));
    }

    #[test]
    fn every_fault_names_its_place_and_what_is_allowed() {
        let message = |r: Result<Vec<Pose>, FileFault>| r.unwrap_err().to_string();
        assert_eq!(
            message(parse_tum("0 0 0 0 0 0 0 1\n1 nan 0 0 0 0 0 1")),
            ":2: x: found `nan`; allowed: a number from -1e7 to 1e7"
        );
        assert_eq!(
            message(parse_tum("1 2 3")),
            ":1: found 3 fields; allowed: 8 (t x y z qx qy qz qw)"
        );
        assert_eq!(
            message(parse_tum("1 2 3 4 0 0 0 0")),
            ":1: the quaternion's length is 0.000; allowed: 0.5 to 2 (1 except for rounding)"
        );
        assert_eq!(
            message(parse_vprp("@Data\n0.01:1 2 3:1 0 0 0\n0.02:1 nan 3:1 0 0 0\n@END")),
            ":3: y: found `nan`; allowed: a number from -1e7 to 1e7"
        );
        assert_eq!(
            message(parse_vprp("0.01:1 2 3:1 0 0 0")),
            ": no `@Data` line; the poses of a .vprp file follow such a line"
        );
        assert_eq!(
            message(parse_csv("t,x\n1,2\n")),
            ":1: y_m: no such column in the header; allowed names: y_m, y"
        );
        assert_eq!(
            message(parse_csv("t,x,y\n1,2,3\n1,2\n")),
            ":3: found 2 fields; allowed: 3, as in the header"
        );
        assert_eq!(
            message(parse_csv("t,x,y\n1,2,3\n2,inf,3\n")),
            ":3: x: found `inf`; allowed: a number from -1e7 to 1e7"
        );
        assert_eq!(
            message(parse_csv("x,x_m,y\n")),
            ":1: x_m: two columns for the same value; allowed: one of x_m, x"
        );
    }

    #[test]
    fn vprp_skips_parts_and_stops_at_the_end() {
        let text = "QS VANE REPLAY FILE\nVersion : 1\n#Start Time : 08 : 00 : 00\n@Data\n\
                    0.01:1 2 3:0 0 0 1\n1 2 3:1 0 0 0\n0.02:4 5 6:1 0 0 0\n@END OF REPLAY FILE\nx\n";
        let poses = parse_vprp(text).unwrap();
        assert_eq!(poses.len(), 2);
        // The file has w first.
        assert_eq!(poses[0].orientation, Some(DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0)));
        assert_eq!(poses[1].position_m, DVec3::new(4.0, 5.0, 6.0));
    }

    #[test]
    fn angles_say_their_unit_and_other_columns_are_named() {
        for (name, means) in [("yaw", "yaw"), ("Heading", "yaw"), ("roll", "roll")] {
            let told = parse_csv(&format!("t,x,y,{name}\n0,1,2,3\n")).unwrap_err().to_string();
            let expected = format!(
                ":1: {name}: an angle without a unit; allowed: {means}_deg or {means}_rad, \
                 counter-clockwise, yaw from east"
            );
            assert_eq!(told, expected);
        }
        let forward = |text: &str| parse_csv(text).unwrap()[0].orientation.unwrap() * DVec3::X;
        let half = std::f64::consts::FRAC_PI_2;
        let radians = forward(&format!("t,x,y,yaw_rad\n0,1,2,{half}\n"));
        assert!((radians - DVec3::Y).length() < 1e-12);
        assert!((forward("t,x,y,yaw_deg\n0,1,2,90\n") - DVec3::Y).length() < 1e-12);
        assert!(parse_csv("t,x,y,yaw_deg,yaw_rad\n0,1,2,3,4\n").is_err());
        let ignored = |header: &str| {
            let record = csv::StringRecord::from(header.split(',').collect::<Vec<_>>());
            Columns::ignored(&record).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(ignored("T,x,y,speed,note,YAW_DEG"), ["speed", "note"]);
        assert_eq!(ignored(&truth_header().join(",")), [""; 0]);
    }

    #[test]
    fn csv_columns_come_in_any_order_and_dress() {
        let poses = parse_csv("\u{feff}Y_M; X_m ;yaw_deg;TIME_S;note\n2;1;90;0.5;hello\n").unwrap();
        assert_eq!((poses[0].position_m, poses[0].time_s), (DVec3::new(1.0, 2.0, 0.0), Some(0.5)));
        let forward = poses[0].orientation.unwrap() * DVec3::X;
        assert!((forward - DVec3::Y).length() < 1e-12);
        let poses = parse_csv("x\ty\n1\t2\n").unwrap();
        assert_eq!((poses[0].time_s, poses[0].orientation), (None, None));
        let poses = parse_csv("\u{feff}# by a logger, in metres\n\nx;y\n1;2\n").unwrap();
        assert_eq!(poses[0].position_m, DVec3::new(1.0, 2.0, 0.0));
    }
}
