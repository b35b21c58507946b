//! The status view: one line a device, refreshed on a terminal, plain lines once a second
//! elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::engine::responses::ResponseFigures;
use crate::engine::stats::DeviceFigures;
use crate::world::trajectory::feed::FeedCounts;

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
                eprintln!("{}", line(figure, elapsed, real_time_factor));
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

    /// One device's figures on one line, without those of rendering.
    pub fn plain(figure: &DeviceFigures, elapsed: Duration) -> String {
        format!(
            "{}: {} packets in {:.1} s, {:.1}/s, lateness p50 {} p99 {} max {}, {} misses, {} refused",
            figure.name,
            figure.packets,
            elapsed.as_secs_f64(),
            figure.rate_hz,
            micros(figure.lateness_us.p50),
            micros(figure.lateness_us.p99),
            micros(figure.lateness_us.max),
            figure.misses,
            figure.send_errors,
        )
    }

    /// Prints what a finished run came to on standard output.
    pub fn summary(
        figures: &[DeviceFigures],
        elapsed: Duration,
        real_time_factor: f64,
        workers: usize,
    ) {
        println!(
            "ran {:.1} s; {workers} workers render {real_time_factor:.2} times real time",
            elapsed.as_secs_f64(),
        );
        for figure in figures {
            println!(
                "{}: {} packets, {} points, {:.1}/s{}, lateness p50 {} p99 {} max {}, \
                 {} misses ({} late, {} dropped), {} refused{}",
                figure.name,
                figure.packets,
                figure.points,
                figure.rate_hz,
                // A device that waits for its host has no rate of its own.
                match figure.nominal_rate_hz {
                    0.0 => String::new(),
                    nominal => format!(" of {nominal:.1}/s"),
                },
                micros(figure.lateness_us.p50),
                micros(figure.lateness_us.p99),
                micros(figure.lateness_us.max),
                figure.misses,
                figure.sent_late,
                figure.dropped,
                figure.send_errors,
                extras(figure),
            );
        }
    }

    /// Prints what came of feeds on standard output.
    pub fn feeds(feeds: &[(&str, FeedCounts)]) {
        for (of, counts) in feeds {
            println!(
                "feed of {of}: {} poses, {} missing, {} outdated, {} refused, {} from others, \
                 {} holds, {} clock jumps",
                counts.poses,
                counts.missing,
                counts.outdated,
                counts.refused,
                counts.strangers,
                counts.holds,
                counts.clock_jumps,
            );
        }
    }

    /// Prints what came of responses on standard output.
    pub fn responses(responses: &[ResponseFigures]) {
        for response in responses {
            println!(
                "{} to {}: {} of {} answered, {} too late or never, {} repeated, {} unexpected{}",
                response.name,
                response.stimulus,
                response.answered,
                response.stimuli,
                response.timeouts,
                response.repeated,
                response.unexpected,
                match (response.min_us, response.latency_us) {
                    (Some(min_us), Some(latency)) => format!(
                        "; after min {} p50 {} p99 {} max {}",
                        micros(min_us),
                        micros(latency.p50),
                        micros(latency.p99),
                        micros(latency.max)
                    ),
                    _ => String::new(),
                },
            );
        }
    }
}

/// What matters most comes first: a narrow terminal shows no more.
fn line(figure: &DeviceFigures, elapsed: Duration, real_time_factor: f64) -> String {
    format!(
        "{:6.1} s  {}  {:.0}/s{}  late p50 {} p99 {} max {}  {} misses  x{real_time_factor:.2}{}  \
         {} packets  {:.2} M points",
        elapsed.as_secs_f64(),
        figure.name,
        figure.rate_hz,
        match figure.nominal_rate_hz {
            0.0 => String::new(),
            nominal => format!(" ({:.1} %)", 100.0 * figure.rate_hz / nominal),
        },
        micros(figure.lateness_us.p50),
        micros(figure.lateness_us.p99),
        micros(figure.lateness_us.max),
        figure.misses,
        extras(figure),
        figure.packets,
        figure.points as f64 / 1e6,
    )
}

/// What not every run has: faults, a feed, rays that were left out.
fn extras(figure: &DeviceFigures) -> String {
    let mut text = String::new();
    for (count, what) in [(figure.thinned, "thinned"), (figure.faulted, "faulted")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(latency) = figure.pose_to_wire_us {
        let (p50, max) = (micros(latency.p50), micros(latency.max));
        text.push_str(&format!(", pose to wire p50 {p50} max {max}"));
    }
    text
}

fn micros(value: f64) -> String {
    if value < 1000.0 {
        format!("{value:.0} us")
    } else if value < 1e6 {
        format!("{:.1} ms", value / 1e3)
    } else {
        format!("{:.1} s", value / 1e6)
    }
}
