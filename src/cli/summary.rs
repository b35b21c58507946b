//! Summary of a finished run: deadline misses come first, with possible causes.

use std::time::Duration;

use super::{CliError, certificate_page, percentiles};
use crate::config::rig::{EngineConfig, LatePolicy};
use crate::engine::responses::ResponseFigures;
use crate::engine::run::TruthOutcome;
use crate::engine::stats::{self, DeviceFigures, Lateness};
use crate::time::duration::describe_us;
use crate::world::trajectory::feed::FeedCounts;

/// Statistics of rendering.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'a> {
    /// Simulated seconds that the workers render per second of their busy time.
    pub real_time_factor: f64,
    /// Number of threads that cast rays.
    pub workers: usize,
    /// Share of the measuring time in which the workers had a processor, 0..=1.
    pub processor_share: f64,
    /// Identity of the ray caster.
    pub caster: &'a str,
    /// See [`RealTimeRun::has_gpu`](crate::engine::run::RealTimeRun::has_gpu).
    pub has_gpu: bool,
}

/// Processor share below which the summary names other programs as the cause of the delay.
const BUSY_MACHINE_SHARE: f64 = 0.6;

/// Summary of a run or a replay; for a run it includes the statistics of rendering.
pub fn summary(
    figures: &[DeviceFigures],
    elapsed: Duration,
    rendering: Option<Rendering<'_>>,
    engine: &EngineConfig,
) -> String {
    let mut text = missed(figures, rendering, engine);
    text += &match rendering {
        Some(Rendering { real_time_factor, workers, .. }) => format!(
            "ran {:.1} s{}; {workers} workers render {real_time_factor:.2} times real time\n",
            elapsed.as_secs_f64(),
            shortfall(figures, elapsed),
        ),
        None => format!("ran {:.1} s\n", elapsed.as_secs_f64()),
    };
    if let Some(Rendering { has_gpu: true, caster, .. }) = rendering {
        text += &format!("rays were cast by: {caster}\n");
    }
    for figure in figures {
        text += &device(figure, rendering.is_some());
    }
    text
}

/// Checks that every device with data to send has sent some; the error names the devices that have sent nothing.
pub fn all_sent(figures: &[DeviceFigures]) -> Result<(), CliError> {
    let silent = figures.iter().filter(|figure| figure.sent_nothing());
    let told: Vec<_> = silent.map(|f| format!("{} has sent nothing: {}", f.name, why(f))).collect();
    if told.is_empty() { Ok(()) } else { Err(CliError::Failed(told.join("; "))) }
}

/// Reason why a device sent nothing.
fn why(figure: &DeviceFigures) -> String {
    match figure.refused_because.first() {
        Some(reason) => format!("all of its {} packets were refused: {reason}", figure.send_errors),
        None => format!("all of its {} packets were too late and dropped", figure.dropped),
    }
}

/// Text about packets that were refused, late or dropped, and about reduced rays, with advice.
fn missed(
    figures: &[DeviceFigures],
    rendering: Option<Rendering<'_>>,
    engine: &EngineConfig,
) -> String {
    let threshold = describe_us(engine.miss_threshold_ns as f64 / 1e3);
    let mut text = String::new();
    for figure in figures {
        let DeviceFigures { name, packets, send_errors, dropped, sent_late, .. } = figure;
        let all = packets + send_errors + dropped;
        if *send_errors > 0 {
            let reasons = figure.refused_because.join("; ");
            text += &format!("{name}: {send_errors} of {all} packets REFUSED: {reasons}\n");
        }
        if figure.misses > 0 {
            let mut parts = Vec::new();
            if *sent_late > 0 {
                let latest = describe_us(figure.lateness_us.max);
                parts
                    .push(format!("{sent_late} left more than {threshold} late, at most {latest}"));
            }
            if *dropped > 0 {
                parts.push(format!("{dropped} were so late that they were dropped"));
            }
            let (misses, parts) = (figure.misses, parts.join(", "));
            text += &format!("{name}: {misses} of {all} packets MISSED their time: {parts}\n");
        }
        if figure.thinned > 0 {
            let thinned = figure.thinned;
            text +=
                &format!("{name}: {thinned} measurements have fewer rays (engine.late = thin)\n");
        }
    }
    if text.is_empty() && figures.iter().any(|figure| figure.packets > 0) {
        let refused = match engine.late {
            LatePolicy::Drop => "refused or dropped",
            LatePolicy::Late | LatePolicy::Thin => "refused",
        };
        return format!("no packet was {refused}, none left more than {threshold} late\n");
    }
    let sum = |count: fn(&DeviceFigures) -> u64| figures.iter().map(count).sum::<u64>();
    let not_ready = sum(|figure| figure.not_ready);
    if not_ready > 0 || sum(|figure| figure.thinned) > 0 {
        text += &match not_ready {
            0 => "  rays were left out to be ready in time: ".to_owned(),
            _ => format!("  {not_ready} packets were not ready in time: "),
        };
        text += &why_not_ready(rendering, engine);
    }
    let sender_late = sum(|figure| figure.misses) - not_ready;
    if sender_late > 0 {
        text += &format!(
            "  {sender_late} packets were ready, but other work used the sender's core: `menura \
             doctor` lists what to change\n"
        );
    }
    text
}

/// Text about the reasons why packets were not ready in time, with advice.
fn why_not_ready(rendering: Option<Rendering<'_>>, engine: &EngineConfig) -> String {
    let ahead = describe_us(engine.render_ahead_ns as f64 / 1e3);
    match rendering {
        None => "other work used the core of the thread that reads the capture\n".to_owned(),
        Some(Rendering { real_time_factor, .. }) if real_time_factor < 1.0 => {
            "rendering is slower than real time: use fewer devices, rays or packets, more workers, \
             or another engine.late (docs/RIG.md)\n"
                .to_owned()
        }
        Some(Rendering { has_gpu: true, .. }) => format!(
            "the machine or the GPU paused for longer than engine.render_ahead_ms covers (now \
             {ahead}): raise it, or stop other programs\n"
        ),
        Some(Rendering { processor_share, .. }) if processor_share < BUSY_MACHINE_SHARE => format!(
            "workers had a processor for only {:.0} % of their working time: stop other programs, \
             or raise engine.render_ahead_ms (now {ahead})\n",
            100.0 * processor_share
        ),
        Some(_) => format!(
            "the machine paused for longer than engine.render_ahead_ms covers (now {ahead}): raise \
             it\n"
        ),
    }
}

/// Text with one device's figures.
fn device(figure: &DeviceFigures, has_points: bool) -> String {
    let points = match has_points {
        true => format!(", {} points", figure.points),
        false => String::new(),
    };
    // A device that waits for its host has no nominal rate.
    let nominal = match figure.nominal_rate_hz {
        0.0 => String::new(),
        nominal => format!(" of {nominal:.1}/s"),
    };
    format!(
        "{}: {} packets{points}, {:.1}/s{nominal}{}, {} misses ({} late, {} dropped), {} refused{}\n",
        figure.name,
        figure.packets,
        figure.rate_hz,
        match figure.packets {
            0 => String::new(),
            _ => format!(", lateness {}", shown(figure.packets, &figure.lateness_us)),
        },
        figure.misses,
        figure.sent_late,
        figure.dropped,
        figure.send_errors,
        extras(figure),
    )
}

/// Describes the lateness of `count` packets by percentiles, short enough for one line.
fn shown(count: u64, lateness: &Lateness) -> String {
    percentiles::describe(count, &[("50", lateness.p50), ("99", lateness.p99)], lateness.max)
}

/// Text with the simulated time and the device that was furthest behind real time at the end; empty if no device
/// [`is_behind`].
fn shortfall(figures: &[DeviceFigures], elapsed: Duration) -> String {
    let behind = figures.iter().max_by(|a, b| a.behind_s.total_cmp(&b.behind_s));
    let Some(behind) = behind.filter(|device| is_behind(device)) else { return String::new() };
    format!(
        " and simulated {:.1} s ({} was {} behind at the end)",
        stats::simulated_s(figures, elapsed),
        behind.name,
        describe_us(behind.behind_s * 1e6),
    )
}

/// Whether a device is further behind real time than chance explains: by 50 ms or more.
fn is_behind(figure: &DeviceFigures) -> bool {
    figure.behind_s >= 0.05
}

/// Text of the figures that only some devices have: how far the device is behind, measurements with fewer rays, packets
/// with faults, PTP, and latencies to the wire.
pub fn extras(figure: &DeviceFigures) -> String {
    let mut text = String::new();
    if is_behind(figure) {
        text.push_str(&format!(", {} behind", describe_us(figure.behind_s * 1e6)));
    }
    for (count, what) in [(figure.thinned, "thinned"), (figure.faulted, "faulted")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(ptp) = &figure.ptp {
        text.push_str(&format!(", {}", certificate_page::ptp_line(ptp)));
    }
    let latencies = [
        ("pose", figure.pose_to_wire_us),
        ("command", figure.order_to_wire_us),
        ("first firing", figure.firing_to_wire_us),
    ];
    for (what, latency) in latencies {
        if let Some(latency) = latency {
            text.push_str(&format!(", {what} to wire {}", shown(figure.packets, &latency)));
        }
    }
    text
}

/// One line of counts for each feed.
pub fn feeds(feeds: &[(String, FeedCounts)]) -> String {
    let line = |(of, counts): &(String, FeedCounts)| {
        format!(
            "feed of {of}: {} poses, {} missing, {} outdated, {} strays, {} refused, {} from others, \
             {} holds, {} clock jumps\n",
            counts.poses,
            counts.missing,
            counts.outdated,
            counts.strays,
            counts.refused,
            counts.strangers,
            counts.holds,
            counts.clock_jumps,
        )
    };
    feeds.iter().map(line).collect()
}

/// Text about the collisions of a driven robot; empty if there were none.
pub fn contacts(contacts: Option<u64>) -> String {
    match contacts {
        None | Some(0) => String::new(),
        Some(1) => "the robot ran into something once\n".to_owned(),
        Some(times) => format!("the robot ran into something {times} times\n"),
    }
}

/// Text about the written ground truth; empty if it was not requested or could not be written.
pub fn truth(outcome: Option<&TruthOutcome>) -> String {
    let Some(TruthOutcome { written: Ok(figures), dropped }) = outcome else {
        return String::new();
    };
    let megabytes = figures.file_bytes as f64 / 1e6;
    let left_out = match dropped {
        0 => String::new(),
        _ => format!("; {dropped} were dropped, because writing was too slow"),
    };
    format!("ground truth: {} messages, {megabytes:.1} MB{left_out}\n", figures.messages)
}

/// One line for each response: counts, and the latencies of the answers.
pub fn responses(responses: &[ResponseFigures]) -> String {
    let line = |response: &ResponseFigures| {
        let after = match (response.min_us, &response.latency_us) {
            (Some(min_us), Some(latency)) => {
                format!("; after min {} {}", describe_us(min_us), shown(response.answered, latency))
            }
            _ => String::new(),
        };
        format!(
            "{} to {}: {} of {} answered, {} too late or never, {} repeated, {} unexpected{after}\n",
            response.name,
            response.stimulus,
            response.answered,
            response.stimuli,
            response.timeouts,
            response.repeated,
            response.unexpected,
        )
    };
    responses.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::refusal::Refusal;
    use crate::engine::stats::{DeviceStats, Outcome};

    const SECOND: Duration = Duration::from_secs(1);
    const PROCESSOR: Rendering<'_> = Rendering {
        real_time_factor: 1.0,
        workers: 2,
        processor_share: 1.0,
        caster: "processor",
        has_gpu: false,
    };

    fn figures(outcomes: &[Outcome]) -> DeviceFigures {
        let stats = DeviceStats::default();
        for outcome in outcomes {
            stats.count(*outcome, 10, 100, None);
            if let Outcome::Refused(refusal) = outcome {
                stats.note_refusal(*refusal, || format!("cannot send: {}", refusal.error()));
            }
            if *outcome == Outcome::Late {
                stats.record_lateness(Duration::from_nanos(19_578_000));
            }
        }
        stats.figures("lidar", "p", "udp", 3.0, SECOND)
    }

    fn told(outcomes: &[Outcome], real_time_factor: f64) -> String {
        told_of(&figures(outcomes), real_time_factor, 1.0)
    }

    fn told_of(figures: &DeviceFigures, real_time_factor: f64, processor_share: f64) -> String {
        let rendering = Some(Rendering { real_time_factor, processor_share, ..PROCESSOR });
        summary(std::slice::from_ref(figures), SECOND, rendering, &EngineConfig::default())
    }

    #[test]
    fn a_miss_names_its_own_cause() {
        let missed = figures(&[Outcome::OnTime, Outcome::Late, Outcome::Late, Outcome::Dropped]);
        let told = |not_ready, factor, share| {
            told_of(&DeviceFigures { not_ready, ..missed.clone() }, factor, share)
        };
        let sender = "packets were ready, but other work used the sender's core: `menura doctor`";
        let kept = told(0, 3.0, 1.0);
        assert!(kept.contains(&format!("  3 {sender}")), "{kept}");
        assert!(!kept.contains("not ready"), "{kept}");
        let slow = told(3, 0.4, 0.9);
        assert!(slow.contains("  3 packets were not ready in time: rendering is slower"), "{slow}");
        assert!(!slow.contains("sender's core"), "{slow}");
        let busy = told(2, 3.0, 0.35);
        let expected = "  2 packets were not ready in time: workers had a processor for only \
                        35 % of their working time: stop other programs, or raise \
                        engine.render_ahead_ms (now 100 ms)\n";
        assert!(busy.contains(expected) && busy.contains(&format!("  1 {sender}")), "{busy}");
        let stalled = told(3, 3.0, 0.9);
        assert!(
            stalled.contains("longer than engine.render_ahead_ms covers (now 100 ms)"),
            "{stalled}"
        );
    }

    #[test]
    fn misses_come_first_and_are_explained() {
        let outcomes = [Outcome::OnTime, Outcome::Late, Outcome::Dropped];
        let text = told(&outcomes, 0.4);
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        // The lateness is accurate to 1 %, like the histogram that it comes from.
        let expected = "lidar: 2 of 3 packets MISSED their time: 1 left more than 1 ms late, at most \
                        19.7 ms, 1 were so late that they were dropped";
        assert_eq!(first, expected);
        assert!(lines.next().unwrap().contains("menura doctor"), "{text}");
        assert!(lines.next().unwrap().starts_with("ran 1.0 s; 2 workers"), "{text}");
        assert!(lines.next().unwrap().starts_with("lidar: 2 packets, 20 points"), "{text}");
        let well = told(&[Outcome::OnTime], 3.0);
        assert!(
            well.starts_with("no packet was refused, none left more than 1 ms late\n"),
            "{well}"
        );
    }

    #[test]
    fn a_run_that_is_behind_says_what_it_took_and_what_was_simulated() {
        let lidar = DeviceFigures { behind_s: 24.5, ..figures(&[Outcome::Late]) };
        let imu = DeviceFigures { name: "imu".into(), ..figures(&[Outcome::OnTime]) };
        let rendering = Some(Rendering { real_time_factor: 0.29, ..PROCESSOR });
        let took = Duration::from_millis(34_500);
        let text = summary(&[lidar, imu], took, rendering, &EngineConfig::default());
        let ran = "ran 34.5 s and simulated 10.0 s (lidar was 24.5 s behind at the end); 2 workers";
        assert!(text.contains(ran), "{text}");
        assert_eq!(text.matches("24.5 s behind\n").count(), 1, "the lidar's line: {text}");
    }

    #[test]
    fn nothing_sent_is_a_failure_and_nothing_to_send_is_none() {
        let refused = figures(&[Outcome::Refused(Refusal::System(101)); 3]);
        assert!(refused.sent_nothing());
        let error = all_sent(std::slice::from_ref(&refused)).unwrap_err().to_string();
        assert!(error.starts_with("lidar has sent nothing: all of its 3 packets were refused: "));
        assert!(error.contains("Network is unreachable"), "{error}");
        assert_eq!(refused.refused_because.len(), 1, "each reason once");
        let dropped = figures(&[Outcome::Dropped; 2]);
        assert!(all_sent(&[dropped]).unwrap_err().to_string().contains("all of its 2 packets"));
        for fine in [&[][..], &[Outcome::OnTime, Outcome::Refused(Refusal::NoRoom)]] {
            assert!(all_sent(&[figures(fine)]).is_ok());
        }
        assert!(
            !told(&[], 3.0).contains("no packet was refused"),
            "nothing was there to be refused"
        );
    }
}
