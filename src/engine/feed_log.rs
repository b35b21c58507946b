//! The feed log: received poses, as a table that a `kind = "file"` trajectory can replay.

use std::io::{self, Write};

use crate::time::SimTime;
use crate::world::trajectory::feed::{FeedRow, PoseSource};

/// Columns of the log (see `docs/FEED.md`). The columns up to `qw` are those of a trajectory file.
const COLUMNS: [&str; 20] = [
    "time_s",
    "x_m",
    "y_m",
    "z_m",
    "qx",
    "qy",
    "qz",
    "qw",
    "event",
    "arrived_s",
    "sender",
    "sequence",
    "sender_time_ns",
    "forward_m_s",
    "left_m_s",
    "up_m_s",
    "rate_x_rad_s",
    "rate_y_rad_s",
    "rate_z_rad_s",
    "shown_until_s",
];

/// Writes received poses as CSV. A row whose time does not increase is written as a comment, so that the
/// other rows form a trajectory.
pub struct FeedLog {
    sink: Box<dyn Write + Send>,
    last: Option<SimTime>,
}

impl FeedLog {
    /// Creates a log that is written to `sink`, and writes its header.
    ///
    /// # Errors
    /// `sink` cannot be written.
    pub fn new(mut sink: Box<dyn Write + Send>) -> io::Result<Self> {
        writeln!(sink, "{}", COLUMNS.join(","))?;
        Ok(Self { sink, last: None })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// The sink cannot be written.
    pub fn write(&mut self, rows: &[FeedRow]) -> io::Result<()> {
        for row in rows {
            if self.last.is_some_and(|last| row.at <= last) {
                self.sink.write_all(b"# ")?;
            } else {
                self.last = Some(row.at);
            }
            // No cell contains a comma, a quotation mark or a line end.
            writeln!(self.sink, "{}", cells(row).join(","))?;
        }
        Ok(())
    }

    /// Writes buffered rows.
    ///
    /// # Errors
    /// The sink cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn cells(row: &FeedRow) -> [String; COLUMNS.len()] {
    let seconds = |at: SimTime| format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000);
    let p = row.world_from_body.translation;
    let q = row.world_from_body.rotation;
    let source =
        |of: &dyn Fn(&PoseSource) -> String| row.source.as_ref().map(of).unwrap_or_default();
    let (v, w) = (row.velocity_m_s, row.rate_rad_s);
    let metres = |value: f64| format!("{value:.6}");
    let fine = |value: f64| format!("{value:.9}");
    [
        seconds(row.at),
        metres(p.x),
        metres(p.y),
        metres(p.z),
        fine(q.x),
        fine(q.y),
        fine(q.z),
        fine(q.w),
        row.event.word().to_owned(),
        source(&|source| seconds(source.arrived)),
        source(&|source| source.sender.to_string()),
        source(&|source| source.sequence.to_string()),
        source(&|source| source.time_ns.to_string()),
        metres(v.x),
        metres(v.y),
        metres(v.z),
        fine(w.x),
        fine(w.y),
        fine(w.z),
        row.shown_until.map(seconds).unwrap_or_default(),
    ]
}
