//! `menura probe`: receives packets on the robot's computer and analyses their times.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::out_file::OutFile;
use super::stop::stop_on_signal;
use super::{CliError, all, certificate_page, console, percentiles as shown};
use crate::analysis::probe::compare::{Comparison, Departures, Spread, compare};
use crate::analysis::probe::ptp::{self, ClockFigures, MasterFigures, PtpReport, SpreadFigures};
use crate::analysis::probe::stream::StreamFigures;
use crate::analysis::probe::{Probe, ProbeReport};
use crate::engine::certificate::Certificate;
use crate::links::part_file::OutPath;
use crate::plot::{BLUE, escape};
use crate::time::duration::{describe_us, describe_us_to, parse_duration};

/// Largest size of a certificate, bytes.
const MAX_CERTIFICATE_BYTES: u64 = 256 << 20;

/// Arguments of `menura probe`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Ports, or addresses with ports: 2368, 192.168.3.10:2368, 239.0.0.1:2368
    ///
    /// A multicast group is joined. Stop the driver first: only one program can use a port.
    #[arg(long, required_unless_present = "ptp", num_args = 1.., value_name = "PORT", value_parser = parse_address)]
    listen: Vec<SocketAddr>,

    /// Search for PTP masters and clocks on the interface with this IPv4 address
    ///
    /// Measures the offset of this host's clock from each master, over UDP ports 319 and 320. A
    /// running ptp4l need not be stopped.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["listen", "compare", "plot"])]
    ptp: Option<Ipv4Addr>,

    /// How long to listen: 10s, 1.5s, 500ms, 2min [default: until Ctrl-C]
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Compare with this certificate of `menura run`; it is read when the probe ends
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Write a page (.html) with charts of the arrivals
    #[arg(long, value_name = "FILE")]
    plot: Option<OutPath>,
}

/// Parses a port (on every interface), or an address with a port.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port));
    port.or_else(|_| text.parse())
        .ok()
        .filter(|address| address.port() > 0)
        .ok_or_else(|| "a port from 1 to 65535, or ADDRESS:PORT".to_owned())
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(address) = self.ptp {
            return self.find_ptp(address);
        }
        let plot = self.plot.as_ref().map(|path| OutFile::create("plot", path)).transpose()?;
        let stop = stop_on_signal()?;
        let mut probe =
            Probe::listen(&self.listen).map_err(|error| CliError::Failed(error.to_string()))?;
        for address in probe.addresses() {
            console::say(format_args!("listening at {address}"));
        }
        let style = ProgressStyle::with_template("{msg}").expect("a constant template");
        let line = ProgressBar::new_spinner().with_style(style);
        let elapsed = probe.run(self.duration, &stop, |packets, elapsed| {
            line.set_message(format!("{:.1} s: {packets} datagrams", elapsed.as_secs_f64()));
        });
        line.finish_and_clear();
        let elapsed = elapsed.map_err(|error| CliError::failed("cannot listen", &error))?;
        let mut report = probe.report(elapsed);
        // Read at the end: the sender writes the certificate when it ends, and the probe may have started first.
        let mut compared = Ok(());
        if let Some(path) = &self.compare {
            compared = read_certificate(path).map(|certificate| {
                let departures = certificate.devices.iter().map(|device| Departures {
                    device: &device.name,
                    link: &device.link,
                    // The certificate's link has the address of the first port only, so only that port's packets are
                    // compared.
                    packets: device.ports.first().map_or(device.packets, |port| port.packets),
                    errors: device.evidence(),
                });
                let clock = certificate.clock.describe();
                report.comparisons = compare(departures, &clock, &report.streams);
            });
        }
        let plotted = plot.map_or(Ok(()), |file| file.write(&page(&report)));
        let text = match self.json {
            true => serde_json::to_string_pretty(&report)
                .map_err(|error| CliError::failed("the report", &error))?,
            false => tell(&report),
        };
        all([compared, plotted, console::print(format_args!("{text}\n"))])
    }
}

impl Cmd {
    /// Searches for PTP messages at `address`.
    fn find_ptp(&self, address: Ipv4Addr) -> Result<(), CliError> {
        let stop = stop_on_signal()?;
        let style = ProgressStyle::with_template("{msg}").expect("a constant template");
        let line = ProgressBar::new_spinner().with_style(style);
        let report = ptp::run(address, self.duration, &stop, |masters, clocks, elapsed| {
            line.set_message(format!(
                "{:.1} s: {masters} masters, {clocks} clocks",
                elapsed.as_secs_f64()
            ));
        });
        line.finish_and_clear();
        let report = report.map_err(|error| CliError::failed("PTP", &error))?;
        let text = match self.json {
            true => serde_json::to_string_pretty(&report)
                .map_err(|error| CliError::failed("the report", &error))?,
            false => tell_ptp(&report),
        };
        console::print(format_args!("{text}\n"))
    }
}

fn tell_ptp(report: &PtpReport) -> String {
    let mut lines = Vec::new();
    if report.masters.is_empty() {
        lines.push(
            "received nothing from a PTP master: check that it is on this network and that no \
             firewall blocks UDP ports 319 and 320"
                .to_owned(),
        );
    }
    lines.push(format!(
        "PTP at {} for {:.1} s; this host's clock: {}",
        report.at,
        report.run_s,
        report.clock.describe()
    ));
    lines.extend(report.masters.iter().map(describe_master));
    lines.extend(report.clocks.iter().map(describe_clock));
    lines.join("\n")
}

fn describe_master(master: &MasterFigures) -> String {
    let scale = match (master.ptp_timescale, master.utc_offset_valid) {
        (true, true) => format!("PTP time scale, UTC offset {} s", master.utc_offset_s),
        (true, false) => "PTP time scale, UTC offset not valid (37 s assumed)".to_owned(),
        (false, _) => "arbitrary time scale, taken as UTC".to_owned(),
    };
    let steps = if master.two_step { "two steps" } else { "one step" };
    let mut text = format!(
        "master {} in domain {}: grandmaster {}, priority1 {}, class {}, {} steps removed\n  {scale}; \
         {} Announce, {} Sync ({steps})",
        master.port,
        master.domain,
        master.grandmaster,
        master.priority_1,
        master.clock_class,
        master.steps_removed,
        master.announces,
        master.syncs,
    );
    let figures = [
        ("this clock minus the master's", &master.offset_ns),
        ("path delay", &master.path_delay_ns),
        ("from the master", &master.to_here_ns),
        ("to the master", &master.back_ns),
    ];
    for (what, spread) in figures {
        if let Some(spread) = spread {
            text += &format!("\n  {what}: {}", describe_spread(spread));
        }
    }
    if master.offset_ns.is_none() {
        text += "\n  it does not answer Delay_Req, so offset and path delay are unknown";
    }
    text
}

fn describe_clock(clock: &ClockFigures) -> String {
    let unknown = || "unknown".to_owned();
    let mut text = format!(
        "clock {} in domain {}: {}{}, grandmaster {}",
        clock.port,
        clock.domain,
        clock.state.clone().unwrap_or_else(unknown),
        if clock.slave_only == Some(true) { " (slave only)" } else { "" },
        clock.grandmaster.clone().unwrap_or_else(unknown),
    );
    let figures =
        [("offset from its master", &clock.offset_ns), ("path delay", &clock.path_delay_ns)];
    for (what, spread) in figures {
        if let Some(spread) = spread {
            text += &format!("\n  {what}: {}", describe_spread(spread));
        }
    }
    text
}

/// Text of a distribution: median, smallest and largest value in microseconds, and number of values. `spread` is in
/// nanoseconds.
fn describe_spread(spread: &SpreadFigures) -> String {
    let us = |ns: f64| format!("{:.3} us", ns / 1e3);
    format!(
        "median {}, {} to {}, of {}",
        us(spread.median),
        us(spread.least),
        us(spread.greatest),
        spread.count
    )
}

fn read_certificate(path: &Path) -> Result<Certificate, CliError> {
    let wrong = |why: String| CliError::Input(format!("error: {}: {why}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if length > MAX_CERTIFICATE_BYTES {
        return Err(wrong(format!("larger than {} MB", MAX_CERTIFICATE_BYTES >> 20)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Certificate::parse(&text).map_err(wrong)
}

/// Text of the report; missing packets come first.
fn tell(report: &ProbeReport) -> String {
    let mut lines = missing(report);
    lines.push(format!(
        "listened for {:.1} s; this host's clock: {}",
        report.run_s,
        report.clock.describe()
    ));
    lines.extend(report.streams.iter().map(describe));
    if report.crowded_out > 0 {
        lines.push(format!("{} datagrams of further senders", report.crowded_out));
    }
    lines.extend(report.comparisons.iter().map(describe_comparison));
    lines.join("\n")
}

/// Lines about packets that did not arrive or that this host lost, with possible causes; empty if none is missing.
fn missing(report: &ProbeReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.streams.is_empty() {
        lines.push(
            "nothing arrived: check that the sender uses this host and port and that no firewall \
             blocks it"
                .to_owned(),
        );
    }
    for socket in report.sockets.iter().filter(|socket| socket.overflowed > 0) {
        lines.push(format!(
            "{}: this host lost {} datagrams: its receive buffer of {} kB was full; sudo sysctl \
             net.core.rmem_max=4194304 allows a larger one",
            socket.at,
            socket.overflowed,
            socket.buffer_bytes / 1000,
        ));
    }
    for stream in report.streams.iter().filter(|stream| stream.lost.unwrap_or(0) > 0) {
        lines.push(format!(
            "{} from {}: {} of {} packets are missing, according to the timestamps of the others",
            stream.at,
            stream.from,
            stream.lost.unwrap_or(0),
            stream.packets + stream.lost.unwrap_or(0),
        ));
    }
    for comparison in report.comparisons.iter().filter(|comparison| comparison.missing > 0) {
        let Comparison { device, missing, sent, .. } = comparison;
        lines.push(format!("{device}: {missing} of {sent} packets that left did not arrive"));
    }
    lines
}

fn describe(stream: &StreamFigures) -> String {
    let mut text = format!(
        "{} from {}: {}, {} packets in {:.1} s, {:.1}/s",
        stream.at, stream.from, stream.kind, stream.packets, stream.span_s, stream.rate_hz,
    );
    let others: u64 = stream.other_kinds.values().sum();
    if others == stream.packets && others > 0 {
        return text
            + "\n  packets of this kind are not periodic: jitter and losses are not measured";
    }
    if !stream.images.is_empty() {
        let told: Vec<_> =
            stream.images.iter().map(|(name, text)| format!("{name} {text}")).collect();
        return text
            + "\n  "
            + &told.join("; ")
            + "\n  image packets leave in bursts: jitter is not measured";
    }
    let jitter = &stream.jitter;
    text += &format!(
        "\n  arrival jitter {}",
        percentiles(jitter.count, [jitter.p50_us, jitter.p99_us, jitter.p99_9_us, jitter.max_us]),
    );
    if let (Some(lost), Some(gaps)) = (stream.lost, stream.gaps) {
        text += &format!(
            "\n  {lost} lost in {gaps} gaps, the longest {}; {} out of order, {} twice",
            describe_us(stream.longest_gap_us.unwrap_or_default()),
            stream.reordered.unwrap_or_default(),
            stream.duplicates.unwrap_or_default(),
        );
    } else {
        text += "\n  packets have no timestamps: to find losses, compare with a certificate \
                 (--compare)";
    }
    if let (Some(offset), Some(drift)) = (stream.clock_offset_us, stream.clock_drift_ppm) {
        let side = if offset < 0.0 { "behind" } else { "ahead of" };
        let pace = if drift < 0.0 { "slower" } else { "faster" };
        text += &format!(
            "\n  this clock is {} {side} the device's (including the least network delay) \
             and runs {:.3} ppm {pace}",
            describe_us_to(offset.abs(), 6),
            drift.abs(),
        );
    }
    let oddities = [
        (stream.restarts, "restarts"),
        (stream.cut, "too long"),
        (stream.unrecognised, "of no known device"),
        (stream.unstamped, "without kernel timestamp"),
    ];
    for (kind, count) in &stream.other_kinds {
        text += &format!("\n  {count} {kind} packets, not included in these figures");
    }
    for (count, what) in oddities.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("\n  {count} {what}");
    }
    text
}

fn describe_comparison(comparison: &Comparison) -> String {
    let Comparison { device, sent, received, missing, departed, arrived, .. } = comparison;
    let Some(at) = &comparison.at else {
        return format!("{device}: {sent} sent, none arrived where the probe listens");
    };
    format!(
        "{device} at {at}: {sent} sent, {received} received, {missing} missing\n  spread of \
         departures {}\n  spread of arrivals {}\n  the sender's clock: {}",
        spread(departed),
        spread(arrived),
        comparison.sender_clock,
    )
}

fn spread(of: &Spread) -> String {
    percentiles(of.count, [of.p50_us, of.p99_us, of.p99_9_us, of.max_us])
}

fn percentiles(count: u64, [p50, p99, p99_9, max]: [f64; 4]) -> String {
    shown::describe(count, &[("50", p50), ("99", p99), ("99.9", p99_9)], max)
}

/// HTML page with the arrivals.
fn page(report: &ProbeReport) -> String {
    let mut html = format!(
        "<h1>Arrivals</h1><p>{:.1} s; this host's clock: {}</p>\n",
        report.run_s,
        escape(&report.clock.describe()),
    );
    for line in missing(report) {
        html += &format!("<p class=\"unmet\">{}</p>\n", escape(&line));
    }
    for comparison in &report.comparisons {
        html += &format!("<p>{}</p>\n", lines(&describe_comparison(comparison)));
    }
    for stream in &report.streams {
        html += &format!("<h2>{} from {}</h2>\n", escape(&stream.at), escape(&stream.from));
        html += &format!("<p>{}</p>\n", lines(&describe(stream)));
        if stream.jitter.count > 0 {
            html += "<h3>Arrival jitter: packets by size</h3>\n";
            html += &certificate_page::histogram(&[("jitter", &stream.jitter, BLUE)]);
            html += "<h3>Jitter over time: least, mean and largest</h3>\n";
            html += &certificate_page::course(&stream.jitter.timeline);
        }
    }
    super::page::page("Arrivals", "", &html)
}

fn lines(text: &str) -> String {
    escape(text).replace('\n', "<br>")
}
