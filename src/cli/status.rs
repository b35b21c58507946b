//! The status view: one line a device, refreshed on a terminal, plain lines once a second
//! elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::console;
use super::summary::{extras, percentiles};
use crate::engine::stats::DeviceFigures;

const TERMINAL_PERIOD: Duration = Duration::from_millis(250);
const PLAIN_PERIOD: Duration = Duration::from_secs(1);

/// Shows figures on standard error while a rig runs.
pub struct StatusView {
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
    next: Duration,
}

impl StatusView {
    /// A view that has shown nothing yet.
    pub fn new() -> Self {
        Self { bars: MultiProgress::new(), lines: Vec::new(), next: Duration::ZERO }
    }

    /// How often to ask [`StatusView::is_due`].
    pub fn check_period(&self) -> Duration {
        Duration::from_millis(50)
    }

    /// Whether figures should be shown `elapsed` after the first instant.
    pub fn is_due(&self, elapsed: Duration) -> bool {
        elapsed > self.next
    }

    /// Shows the figures.
    pub fn show(&mut self, figures: &[DeviceFigures], elapsed: Duration, real_time_factor: f64) {
        if self.bars.is_hidden() {
            for figure in figures {
                console::say(line(figure, elapsed, real_time_factor));
            }
            self.next = PLAIN_PERIOD * (elapsed.as_secs() as u32 + 1);
            return;
        }
        while self.lines.len() < figures.len() {
            // Cut to the terminal's width: a line that is folded would stay.
            let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
            self.lines.push(self.bars.add(ProgressBar::new_spinner().with_style(style)));
        }
        for (bar, figure) in self.lines.iter().zip(figures) {
            bar.set_message(line(figure, elapsed, real_time_factor));
            bar.tick();
        }
        self.next = elapsed + TERMINAL_PERIOD;
    }

    /// Takes the view off the terminal.
    pub fn close(&self) {
        for bar in &self.lines {
            bar.finish_and_clear();
        }
    }
}

/// What matters most comes first: a narrow terminal shows no more.
fn line(figure: &DeviceFigures, elapsed: Duration, real_time_factor: f64) -> String {
    format!(
        "{:6.1} s  {}: {}  {:.0}/s{}{}  x{real_time_factor:.2}{}  {} packets  {:.2} M points",
        elapsed.as_secs_f64(),
        figure.name,
        standing(figure),
        figure.rate_hz,
        match figure.nominal_rate_hz {
            0.0 => String::new(),
            nominal => format!(" ({:.1} %)", 100.0 * figure.rate_hz / nominal),
        },
        match figure.packets {
            0 => String::new(),
            _ => format!("  late {}", percentiles(&figure.lateness_us)),
        },
        extras(figure),
        figure.packets,
        figure.points as f64 / 1e6,
    )
}

/// Whether all is well, or what is not.
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
    fn what_is_wrong_comes_first() {
        let stats = DeviceStats::default();
        let shown = |stats: &DeviceStats| {
            let second = Duration::from_secs(1);
            line(&stats.figures("imu", "p", "pty", 2.0, second), second, 2.5)
        };
        assert!(shown(&stats).starts_with("   1.0 s  imu: nothing sent yet  0/s"));
        stats.count(Outcome::OnTime, 0, 10, None);
        assert!(shown(&stats).starts_with("   1.0 s  imu: on time  1/s (50.0 %)"));
        for outcome in [Outcome::Late, Outcome::Dropped, Outcome::Refused(Refusal::NoRoom)] {
            stats.count(outcome, 0, 10, None);
        }
        stats.record_lateness(Duration::from_micros(19_578));
        let text = shown(&stats);
        let start = "   1.0 s  imu: 1 REFUSED, 1 LATE, 1 DROPPED  2/s (100.0 %)  late p50 19.7 ms";
        assert!(text.starts_with(start), "{text}");
    }
}
