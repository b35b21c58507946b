//! Writes `truth.csv`, the ground truth of the robot's motion.

use std::io::Write;

use crate::frames::{GeoOrigin, rpy_from_quat};
use crate::time::SimTime;
use crate::world::body_state::BodyState;

/// Columns and decimals of `truth.csv`, in the World frame (east, north, up) and WGS84. The angular rate is in the
/// Body frame. `parse_csv` of [`super::files`] reads this file.
const COLUMNS: [(&str, usize); 20] = [
    ("time_s", 9),
    ("x_m", 6),
    ("y_m", 6),
    ("z_m", 6),
    ("qx", 9),
    ("qy", 9),
    ("qz", 9),
    ("qw", 9),
    ("roll_deg", 6),
    ("pitch_deg", 6),
    ("yaw_deg", 6),
    ("velocity_x_m_s", 6),
    ("velocity_y_m_s", 6),
    ("velocity_z_m_s", 6),
    ("angular_rate_x_rad_s", 9),
    ("angular_rate_y_rad_s", 9),
    ("angular_rate_z_rad_s", 9),
    ("latitude_deg", 10),
    ("longitude_deg", 10),
    ("altitude_m", 6),
];

/// Column names of [`truth_row`].
pub fn truth_header() -> [&'static str; COLUMNS.len()] {
    COLUMNS.map(|(name, _)| name)
}

/// The values of a row, in the units that the column names state.
pub fn truth_row(t: SimTime, state: &BodyState, geo: &GeoOrigin) -> [f64; COLUMNS.len()] {
    let p = state.world_from_body.translation;
    let q = state.world_from_body.rotation;
    // Two quaternions describe the same rotation; print the one with positive w.
    let q = if q.w < 0.0 { -q } else { q };
    let (roll, pitch, yaw) = rpy_from_quat(q);
    let (v, w) = (state.velocity_m_s, state.angular_rate_rad_s);
    let g = geo.geodetic_from_world(p);
    [
        t.as_secs_f64(),
        p.x,
        p.y,
        p.z,
        q.x,
        q.y,
        q.z,
        q.w,
        roll.to_degrees(),
        pitch.to_degrees(),
        yaw.to_degrees(),
        v.x,
        v.y,
        v.z,
        w.x,
        w.y,
        w.z,
        g.latitude_deg,
        g.longitude_deg,
        g.altitude_m,
    ]
}

/// Writes the rows of `truth.csv`.
pub struct TruthWriter<W: Write> {
    writer: csv::Writer<W>,
    geo: GeoOrigin,
}

impl<W: Write> TruthWriter<W> {
    /// Writes the header to `to`. Rows are buffered; [`TruthWriter::finish`] flushes them.
    pub fn new(to: W, geo: GeoOrigin) -> std::io::Result<Self> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(truth_header())?;
        Ok(Self { writer, geo })
    }

    /// Writes a row.
    pub fn write(&mut self, t: SimTime, state: &BodyState) -> std::io::Result<()> {
        for ((_, decimals), value) in COLUMNS.iter().zip(truth_row(t, state, &self.geo)) {
            let text = format!("{value:.decimals$}");
            // Remove the sign of "-0.000", which would depend on the last bit.
            let text = match text.strip_prefix('-') {
                Some(zero) if zero.bytes().all(|b| matches!(b, b'0' | b'.')) => zero,
                _ => &text,
            };
            self.writer.write_field(text)?;
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// Flushes and returns the sink.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.writer.flush()?;
        self.writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::frames::{Geodetic, Transform};

    #[test]
    fn a_row_reads_back() {
        let geo = GeoOrigin::new(Geodetic {
            latitude_deg: 33.4712,
            longitude_deg: -88.7933,
            altitude_m: 92.0,
        });
        let state = BodyState {
            world_from_body: Transform::from_rpy(DVec3::new(1.5, -2.0, 0.25), 0.0, -0.1, 3.0),
            velocity_m_s: DVec3::new(1.0, -1e-12, 0.0),
            acceleration_m_s2: DVec3::ZERO,
            angular_rate_rad_s: DVec3::new(0.0, 0.0, 0.5),
        };
        let mut writer = TruthWriter::new(Vec::new(), geo).unwrap();
        writer.write(SimTime(10_000_001), &state).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert!(
            text.lines().nth(1).unwrap().starts_with("0.010000001,1.500000,-2.000000,0.250000,")
        );
        assert!(text.contains(",1.000000,0.000000,0.000000,"), "{text}");
        let poses = super::super::files::parse_csv(&text).unwrap();
        assert!(poses[0].position_m.distance(state.world_from_body.translation) < 1e-6);
        let off = poses[0].orientation.unwrap().dot(state.world_from_body.rotation).abs();
        assert!(off > 1.0 - 1e-12, "{off}");
        let row = truth_row(SimTime(10_000_001), &state, &geo);
        assert!((row[19] - 92.25).abs() < 1e-3 && (row[10] - 3.0_f64.to_degrees()).abs() < 1e-9);
    }
}
