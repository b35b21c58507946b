//! Status of a run: on a terminal, one line per device, updated in place; for programs, one line of JSON per second;
//! otherwise none.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;

use super::summary::extras;
use super::{CliError, console};
use crate::engine::stats::DeviceFigures;
use crate::time::duration::describe_us;

const TERMINAL_PERIOD: Duration = Duration::from_millis(250);
const MACHINE_PERIOD: Duration = Duration::from_secs(1);

/// Reader of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// People, on standard error if that is a terminal.
    People,
    /// Programs, which read standard output.
    Machine,
}

/// Shows figures while a rig runs.
pub struct StatusView {
    reader: Reader,
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
    next: Duration,
}

/// A status line for programs. Keys are stable.
#[derive(Serialize)]
struct JsonLine<'a> {
    time_s: f64,
    real_time_factor: f64,
    devices: &'a [DeviceFigures],
}

impl StatusView {
    /// A view without output so far.
    pub fn new(reader: Reader) -> Self {
        Self { reader, bars: MultiProgress::new(), lines: Vec::new(), next: Duration::ZERO }
    }

    /// Interval at which to call [`StatusView::is_due`].
    pub fn check_period(&self) -> Duration {
        Duration::from_millis(50)
    }

    /// Whether figures should be shown now, `elapsed` after the start of the run.
    pub fn is_due(&self, elapsed: Duration) -> bool {
        elapsed > self.next
    }

    /// Shows the figures.
    ///
    /// # Errors
    /// Standard output, which programs read, cannot be written.
    pub fn show(
        &mut self,
        figures: &[DeviceFigures],
        elapsed: Duration,
        real_time_factor: f64,
    ) -> Result<(), CliError> {
        if self.reader == Reader::Machine {
            self.next = MACHINE_PERIOD * (elapsed.as_secs() as u32 + 1);
            let time_s = elapsed.as_secs_f64();
            let line =
                serde_json::to_string(&JsonLine { time_s, real_time_factor, devices: figures });
            let line = line.map_err(|error| CliError::failed("cannot write the status", &error))?;
            return console::print(format_args!("{line}\n"));
        }
        self.next = elapsed + TERMINAL_PERIOD;
        if self.bars.is_hidden() {
            return Ok(());
        }
        let lines = table(figures, elapsed, real_time_factor, console::has_colours());
        while self.lines.len() < lines.len() {
            // Cut to the terminal's width: a wrapped line could not be removed.
            let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
            self.lines.push(self.bars.add(ProgressBar::new_spinner().with_style(style)));
        }
        for (bar, line) in self.lines.iter().zip(lines) {
            bar.set_message(line);
            bar.tick();
        }
        Ok(())
    }

    /// Removes the view from the terminal.
    pub fn close(&self) {
        for bar in &self.lines {
            bar.finish_and_clear();
        }
    }
}

/// A line about the run, a header, and one line per device. The most important columns come first, because a narrow
/// terminal cuts off the others.
fn table(
    figures: &[DeviceFigures],
    elapsed: Duration,
    real_time_factor: f64,
    has_colours: bool,
) -> Vec<String> {
    let columns = |figure: &DeviceFigures| {
        let late = match figure.packets {
            0 => ["".to_owned(), "".to_owned(), "".to_owned()],
            _ => [figure.lateness_us.p50, figure.lateness_us.p99, figure.lateness_us.max]
                .map(describe_us),
        };
        let [p50, p99, max] = late;
        let share = match figure.nominal_rate_hz {
            0.0 => String::new(),
            nominal => format!("{:.1} %", 100.0 * figure.rate_hz / nominal),
        };
        let rate = format!("{:.0}/s", figure.rate_hz);
        let (packets, points) = (figure.packets, figure.points as f64 / 1e6);
        let points = if figure.points == 0 { String::new() } else { format!("{points:.2}") };
        [
            figure.name.clone(),
            standing(figure),
            rate,
            share,
            p50,
            p99,
            max,
            packets.to_string(),
            points,
        ]
    };
    let head =
        ["device", "", "rate", "of nominal", "late p50", "p99", "max", "packets", "M points"];
    let rows: Vec<_> = figures.iter().map(columns).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| &*row[column]).chain([head[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: [&str; 9]| {
        let cells =
            cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 | 1 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        cells.collect::<Vec<_>>().join("  ")
    };
    let first = format!("{:.1} s, x{real_time_factor:.2} of real time", elapsed.as_secs_f64());
    let mut lines = vec![first, line(head)];
    for (row, figure) in rows.iter().zip(figures) {
        let text = line(std::array::from_fn(|column| &*row[column])) + &extras(figure);
        let is_bad = figure.send_errors + figure.misses > 0;
        lines.push(if is_bad && has_colours { format!("\x1b[31m{text}\x1b[0m") } else { text });
    }
    lines
}

/// Short text about a device's state.
fn standing(figure: &DeviceFigures) -> String {
    let troubles =
        [(figure.send_errors, "REFUSED"), (figure.sent_late, "LATE"), (figure.dropped, "DROPPED")];
    let troubles = troubles.into_iter().filter(|(count, _)| *count > 0);
    let troubles: Vec<_> = troubles.map(|(count, what)| format!("{count} {what}")).collect();
    match (troubles.is_empty(), figure.packets) {
        (false, _) => troubles.join(", "),
        (true, 0) => "nothing sent yet".to_owned(),
        (true, _) => "on time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::refusal::Refusal;
    use crate::engine::stats::{DeviceStats, Outcome};

    #[test]
    fn columns_are_aligned_and_what_is_wrong_is_red() {
        let (good, bad) = (DeviceStats::default(), DeviceStats::default());
        good.count(Outcome::OnTime, 384, 10, None);
        good.record_lateness(Duration::from_micros(12));
        for outcome in [Outcome::Late, Outcome::Dropped, Outcome::Refused(Refusal::NoRoom)] {
            bad.count(outcome, 0, 10, None);
        }
        let second = Duration::from_secs(1);
        let figures = [("imu", &good), ("roof-lidar", &bad)]
            .map(|(n, s)| s.figures(n, "p", "pty", 2.0, second));
        let lines = table(&figures, second, 2.5, true);
        assert_eq!(lines[0], "1.0 s, x2.50 of real time");
        assert!(lines[2].starts_with("imu         on time"), "{}", lines[2]);
        assert!(
            lines[3].starts_with("\x1b[31mroof-lidar  1 REFUSED, 1 LATE, 1 DROPPED  "),
            "{}",
            lines[3]
        );
        let place = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
        assert_eq!(place(&lines[1], "rate"), place(&lines[2], "1/s"));
        assert_eq!(place(&lines[2], "50.0 %"), place(&lines[1], "of nominal"));
        assert!(!table(&figures, second, 2.5, false).concat().contains('\x1b'));
        let silent = DeviceStats::default().figures("gnss", "p", "pty", 2.0, second);
        assert!(table(&[silent], second, 1.0, false)[2].starts_with("gnss    nothing sent yet"));
    }
}
