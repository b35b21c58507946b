//! Compares a real unit's stream with an emulated one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use super::data_flow::{DataFlow, steps_within};
use super::flows::ports_of;
use super::spread::Spread;
use crate::devices::decoder::datagram::{DATA, DatagramDecoder, RawReturn, Stamp};
use crate::wire::ethernet::{Content, Datagram, LinkType, UdpChecksum};

/// Longest time between packets that counts as spacing, microseconds; longer ones are pauses.
const LONGEST_SPACING_US: f64 = 10_000.0;

/// Headers of a stream's datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Headers {
    source: SocketAddr,
    destination: SocketAddr,
    /// IP time to live.
    ttl: u8,
    /// IP don't-fragment flag; `None` for IPv6.
    dont_fragment: Option<bool>,
    /// IP identification; `None` for IPv6.
    identification: Option<u16>,
    /// Whether datagrams have a UDP checksum.
    has_checksum: bool,
    /// Source and destination MAC address.
    macs: Option<([u8; 6], [u8; 6])>,
}

impl Headers {
    fn of(datagram: &Datagram<'_>) -> Self {
        Self {
            source: datagram.source,
            destination: datagram.destination,
            ttl: datagram.ttl,
            dont_fragment: datagram.ipv4.map(|fields| fields.dont_fragment),
            identification: datagram.ipv4.map(|fields| fields.identification),
            has_checksum: datagram.udp_checksum != UdpChecksum::Absent,
            macs: datagram.macs,
        }
    }
}

/// Statistics of the packets of one stream, real or emulated.
#[derive(Debug)]
pub struct Figures {
    /// Decoder of the stream, with the facts collected from the whole stream.
    pub decoder: Box<dyn DatagramDecoder>,
    /// Statistics of the data packets.
    pub flow: DataFlow,
    /// Difference between the device's times of successive data packets, microseconds.
    pub device_spacing_us: Spread,
    /// Difference between the arrivals of successive data packets, microseconds.
    pub arrival_spacing_us: Spread,
    /// Steps between the azimuths of successive blocks in a packet, 0.01 degrees, without steps of zero.
    pub azimuth_step_centideg: Spread,
    /// Statistics of firings with two returns.
    pub pairs: Pairs,
    /// Intensities of points with a return, and of points without a return.
    pub intensity: [Spread; 2],
    /// Arrival of the first and the last data packet, POSIX time, nanoseconds.
    pub span_unix_ns: Option<(i128, i128)>,
    /// Headers of the first data packet.
    headers: Option<Headers>,
    /// Arrival of each data packet minus the device's timestamp in it, microseconds; includes the difference of the two
    /// clocks.
    delay_us: Spread,
    /// Figures of datagrams other than data, by kind.
    others: BTreeMap<&'static str, OtherFigures>,
}

/// Figures of one kind of datagrams other than data.
#[derive(Clone, Debug, Default)]
struct OtherFigures {
    packets: u64,
    arrival_spacing_us: Spread,
    device_spacing_us: Spread,
    delay_us: Spread,
    headers: Option<Headers>,
    /// Number of packets whose IP identification is not that of the previous packet plus 1.
    odd_identifications: u64,
    /// Arrival (POSIX time, nanoseconds), device's timestamp and IP identification of the last packet.
    last: Option<(i128, Option<Stamp>, Option<u16>)>,
}

impl OtherFigures {
    fn see(&mut self, unix_ns: i128, datagram: &Datagram<'_>, stamp: Option<Stamp>) {
        self.packets += 1;
        self.headers.get_or_insert_with(|| Headers::of(datagram));
        if let Some(stamp) = stamp {
            self.delay_us.see(stamp.age_us(unix_ns));
        }
        let identification = datagram.ipv4.map(|fields| fields.identification);
        let last = self.last.replace((unix_ns, stamp, identification));
        if let Some((then_ns, then, then_id)) = last {
            if let Some((stamp, then)) = stamp.zip(then) {
                self.device_spacing_us.see(stamp.since_us(then) as f64);
            }
            self.arrival_spacing_us.see((unix_ns - then_ns) as f64 / 1000.0);
            let next = then_id.map(|id| id.wrapping_add(1));
            self.odd_identifications += u64::from(next != identification);
        }
    }
}

/// Upper limits (exclusive) of the bins of [`Pairs`], in distance units of the packets.
const PAIR_BINS: [u32; 8] = [50, 100, 125, 150, 175, 200, 250, 500];

/// Statistics of firings with two returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Number of pairs in which neither return is empty.
    pub both: u64,
    /// Number of pairs whose returns have the same distance.
    pub same: u64,
    /// Smallest difference of two different distances, in distance units of the packets.
    pub least: Option<u32>,
    /// Histogram of the distance differences above 0. Bin `i` ends at `PAIR_BINS[i]`; the last bin has no upper limit.
    bins: [u64; PAIR_BINS.len() + 1],
}

impl Pairs {
    fn see(&mut self, [one, other]: [RawReturn; 2]) {
        if one.is_empty || other.is_empty {
            return;
        }
        self.both += 1;
        let apart = one.distance.abs_diff(other.distance);
        if apart == 0 {
            self.same += 1;
            return;
        }
        self.least = Some(self.least.map_or(apart, |least| least.min(apart)));
        let bin = PAIR_BINS.iter().position(|end| apart < *end).unwrap_or(PAIR_BINS.len());
        self.bins[bin] += 1;
    }

    /// `count` as a percentage of the pairs whose two distances differ.
    fn share(&self, count: u64) -> f64 {
        100.0 * count as f64 / (self.both - self.same) as f64
    }
}

impl Figures {
    /// Empty statistics of a stream whose packets `decoder` decodes.
    pub fn new(decoder: Box<dyn DatagramDecoder>) -> Self {
        Self {
            decoder,
            flow: DataFlow::default(),
            device_spacing_us: Spread::default(),
            arrival_spacing_us: Spread::default(),
            azimuth_step_centideg: Spread::default(),
            pairs: Pairs::default(),
            intensity: Default::default(),
            span_unix_ns: None,
            headers: None,
            delay_us: Spread::default(),
            others: BTreeMap::new(),
        }
    }

    /// Adds a frame; ignores frames that the decoder does not recognise.
    pub fn see(&mut self, unix_ns: i128, link: LinkType, frame: &[u8]) {
        let Ok(Content::Udp(datagram)) = Content::find(link, frame) else { return };
        let Some(head) = self.decoder.head(ports_of(&datagram), datagram.payload) else { return };
        self.decoder.learn(datagram.payload);
        if head.kind != DATA {
            self.others.entry(head.kind).or_default().see(unix_ns, &datagram, head.stamp);
            return;
        }
        let sweep = self.decoder.sweep(datagram.payload);
        let has_stamps = self.decoder.has_stamps();
        self.span_unix_ns = Some((self.span_unix_ns.map_or(unix_ns, |span| span.0), unix_ns));
        self.headers.get_or_insert_with(|| Headers::of(&datagram));
        if let Some(stamp) = head.stamp.filter(|_| has_stamps) {
            self.delay_us.see(stamp.age_us(unix_ns));
        }
        if let Some(step) = self.flow.see(&head, &sweep, unix_ns, has_stamps) {
            let own_us = step.device_us.filter(|us| has_stamps && *us >= 0).map(|us| us as f64);
            let short = |us: &f64| *us < LONGEST_SPACING_US;
            own_us.filter(short).into_iter().for_each(|us| self.device_spacing_us.see(us));
            let arrival_us = Some(step.arrival_ns as f64 / 1000.0);
            arrival_us.filter(short).into_iter().for_each(|us| self.arrival_spacing_us.see(us));
        }
        for step in steps_within(&sweep.azimuths_centideg) {
            self.azimuth_step_centideg.see(step.into());
        }
        for pair in sweep.pairs() {
            self.pairs.see(pair);
        }
        for point in &sweep.returns {
            self.intensity[usize::from(point.is_empty)].see(point.intensity.into());
        }
    }

    /// Share of points without a return.
    fn empty_share(&self) -> f64 {
        self.flow.zero_points as f64 / self.flow.points.max(1) as f64
    }

    /// Rotor speed, rpm, from the azimuth steps and the packet spacing.
    pub fn rotation_rate_rpm(&self) -> f64 {
        // Steps within a packet, plus one step to the next packet's first block.
        let steps = self.azimuth_step_centideg.count() as f64 / self.flow.packets as f64 + 1.0;
        let centideg_a_packet = self.azimuth_step_centideg.mean() * steps;
        let spacing_us = match self.device_spacing_us.count() {
            0 => self.arrival_spacing_us.mean(),
            _ => self.device_spacing_us.mean(),
        };
        centideg_a_packet / spacing_us * 1e6 / 36_000.0 * 60.0
    }
}

/// Text that compares the statistics and headers of a real and an emulated stream, line by line.
pub fn table(real: &Figures, ours: &Figures) -> String {
    let mut text = format!("{:34} {:>14} {:>14} {:>12}\n", "", "real", "menura", "difference");
    let mut row = |name: &str, real: f64, ours: f64, unit: &str| {
        let name = format!("{name}{}{unit}", if unit.is_empty() { "" } else { ", " });
        // NaN means that a stream has no value for this figure.
        let told = |value: f64, text: String| if value.is_nan() { "-".to_owned() } else { text };
        let difference = ours - real;
        let difference = told(difference, format!("{difference:+.3}"));
        let [real, ours] = [real, ours].map(|value| told(value, format!("{value:.3}")));
        let _ = writeln!(text, "{name:34} {real:>14} {ours:>14} {difference:>12}");
    };
    let spread =
        |name: &str, unit: &str, row: &mut dyn FnMut(&str, f64, f64, &str), pair: [&Spread; 2]| {
            let [real, ours] = pair;
            row(&format!("{name}, mean"), real.mean(), ours.mean(), unit);
            row(&format!("{name}, deviation"), real.deviation(), ours.deviation(), unit);
            row(&format!("{name}, 1 %"), real.quantile(0.01), ours.quantile(0.01), unit);
            row(&format!("{name}, 99 %"), real.quantile(0.99), ours.quantile(0.99), unit);
        };
    row("data packets", real.flow.packets as f64, ours.flow.packets as f64, "");
    spread("device spacing", "us", &mut row, [&real.device_spacing_us, &ours.device_spacing_us]);
    spread("arrival spacing", "us", &mut row, [&real.arrival_spacing_us, &ours.arrival_spacing_us]);
    let steps = [&real.azimuth_step_centideg, &ours.azimuth_step_centideg];
    spread("azimuth step", "0.01 deg", &mut row, steps);
    for kind in real.decoder.other_kinds() {
        let none = OtherFigures::default();
        let [of_real, of_ours] = [real, ours].map(|all| all.others.get(kind).unwrap_or(&none));
        row(&format!("{kind} packets"), of_real.packets as f64, of_ours.packets as f64, "");
        if of_real.packets > 1 {
            let spacing = [&of_real.device_spacing_us, &of_ours.device_spacing_us];
            spread(&format!("{kind} device spacing"), "us", &mut row, spacing);
            let spacing = [&of_real.arrival_spacing_us, &of_ours.arrival_spacing_us];
            spread(&format!("{kind} arrival spacing"), "us", &mut row, spacing);
            // The timestamp of a data packet is older at its arrival than that of other kinds, because its firings take
            // time. The difference of the medians shows how much older.
            let ahead = |figures: &Figures, other: &OtherFigures| {
                figures.delay_us.quantile(0.5) - other.delay_us.quantile(0.5)
            };
            let [of_real, of_ours] = [ahead(real, of_real), ahead(ours, of_ours)];
            row(&format!("{kind} delay less than data's"), of_real, of_ours, "us");
        }
    }
    if real.pairs.both + ours.pairs.both > 0 {
        let both = |pairs: &Pairs| pairs.both as f64;
        row("pairs of returns", both(&real.pairs), both(&ours.pairs), "");
        let same = |pairs: &Pairs| 100.0 * pairs.same as f64 / pairs.both as f64;
        row("pairs of equal distance", same(&real.pairs), same(&ours.pairs), "%");
        let least = |pairs: &Pairs| pairs.least.map_or(f64::NAN, f64::from);
        row("least separation", least(&real.pairs), least(&ours.pairs), "units");
        let ends = PAIR_BINS.iter().map(|end| format!("separation below {end}, share"));
        let last = format!("separation from {}, share", PAIR_BINS[PAIR_BINS.len() - 1]);
        for (bin, name) in ends.chain([last]).enumerate() {
            let share = |pairs: &Pairs| pairs.share(pairs.bins[bin]);
            row(&name, share(&real.pairs), share(&ours.pairs), "%");
        }
    }
    row("points without return", 100.0 * real.empty_share(), 100.0 * ours.empty_share(), "%");
    let [seen, dark] = [0, 1].map(|kind| [&real.intensity[kind], &ours.intensity[kind]]);
    spread("their intensity", "", &mut row, dark);
    spread("intensity of returns", "", &mut row, seen);
    text += &beside(rows(real, DATA), rows(ours, DATA), "", 16, 22);
    for kind in real.decoder.other_kinds() {
        text += &beside(rows(real, kind), rows(ours, kind), &format!("{kind}: "), 26, 17);
    }
    text
}

/// Lines that compare the values of two streams; empty if one of the streams has no values. `before` precedes each
/// name; `name_width` and `width` are the widths of the columns, characters.
fn beside(
    real: Vec<(&str, String)>,
    ours: Vec<(&str, String)>,
    before: &str,
    name_width: usize,
    width: usize,
) -> String {
    let mut text = String::new();
    for ((name, real), (_, ours)) in real.into_iter().zip(ours) {
        let verdict = if real == ours { "same" } else { "differs" };
        let name = format!("{before}{name}");
        let _ = writeln!(text, "{name:name_width$} {real:>width$} {ours:>width$}  {verdict}");
    }
    text
}

/// Names and values of header fields and further properties of a stream's datagrams of one kind; empty if the stream
/// has no such datagrams.
fn rows(figures: &Figures, kind: &str) -> Vec<(&'static str, String)> {
    let mac = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
    let other = figures.others.get(kind);
    let headers =
        if kind == DATA { &figures.headers } else { &other.and_then(|o| o.headers.clone()) };
    let Some(headers) = headers else { return Vec::new() };
    let mut rows = match other {
        None => vec![
            ("from", headers.source.to_string()),
            ("to", headers.destination.to_string()),
            ("MAC from", headers.macs.map(|macs| mac(macs.0)).unwrap_or_default()),
            ("MAC to", headers.macs.map(|macs| mac(macs.1)).unwrap_or_default()),
        ],
        Some(_) => {
            let ports = [headers.source.port(), headers.destination.port()];
            vec![("ports", format!("{} to {}", ports[0], ports[1]))]
        }
    };
    let identification = match other.map(|other| other.odd_identifications) {
        None => headers.identification.unwrap_or_default().to_string(),
        Some(0) => "counts up".to_owned(),
        Some(odd) => format!("{odd} odd steps"),
    };
    rows.extend([
        ("TTL", headers.ttl.to_string()),
        ("don't fragment", format!("{:?}", headers.dont_fragment.unwrap_or_default())),
        ("identification", identification),
        ("UDP checksum", if headers.has_checksum { "computed" } else { "zero" }.to_owned()),
    ]);
    rows.extend(figures.decoder.marks(kind));
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::config::rig::Rig;
    use crate::devices::decoder::Hints;
    use crate::devices::decoder::datagram::Sweep;
    use crate::devices::families::{catalogue, family_of};
    use crate::engine::LiveWorld;
    use crate::engine::hosts::NoHosts;
    use crate::engine::record::{Framer, Stretch, render};

    /// Figures of an emulated unit in a room, computed as for a capture.
    fn emulated(name: &str, settings: &str, duration: Duration) -> Figures {
        let text = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"it\"\nprofile = {name:?}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\nsettings = {{ {settings} }}\n"
        );
        let rig = Rig::parse("rig.toml", &text, "".as_ref(), &[], catalogue()).unwrap();
        let world = LiveWorld::load(&rig).unwrap();
        let profile = &rig.devices[0].profile;
        let hints = Hints { profile: Some(profile), ..Hints::default() };
        let decoder =
            family_of(profile).datagram_decoder(&hints, catalogue().profiles()).unwrap().unwrap();
        let mut frames = Framer::new(profile).unwrap();
        let (mut figures, mut frame) = (Figures::new(decoder), Vec::new());
        let never = AtomicBool::new(false);
        let stretch =
            Stretch { rig: &rig, world: &world, duration, start: rig.start_utc, stop: &never };
        render(stretch, &mut NoHosts, &mut |_| {}, |_, unix_ns, _, output| {
            frame.clear();
            let Some(header) = frames.header(output) else { return Ok(()) };
            header.emit(output.bytes().unwrap(), &mut frame).map_err(std::io::Error::other)?;
            figures.see(unix_ns, LinkType::ETHERNET, &frame);
            Ok::<(), std::io::Error>(())
        })
        .unwrap();
        figures
    }

    /// In captures of two real units, at 600 and about 540 rpm, the azimuth steps have standard deviations of 0.59 and
    /// 0.61 hundredths of a degree.
    #[test]
    fn an_hdl32es_azimuth_steps_deviate_as_real_ones() {
        for rpm in [600, 540] {
            let settings = format!("rotation_rate_rpm = {rpm}");
            let figures = emulated("velodyne-hdl32e-2.2", &settings, Duration::from_millis(300));
            let steps = &figures.azimuth_step_centideg;
            assert!(steps.count() > 5000, "{}", steps.count());
            let mean = f64::from(rpm) * 6.0 * 46.08e-6 * 100.0;
            assert!((steps.mean() - mean).abs() < 0.02, "{rpm} rpm: {}", steps.mean());
            let deviation = steps.deviation();
            assert!((0.58..=0.62).contains(&deviation), "{rpm} rpm: {deviation}");
        }
    }

    /// The period of the first timer is 10 ms, the period of the second timer is sixteen data packets.
    #[test]
    fn an_hdl32es_position_packets_follow_two_timers() {
        let figures = emulated("velodyne-hdl32e-2.2", "", Duration::from_secs(1));
        let spacing_us = &figures.others["position"].device_spacing_us;
        let longest_us = spacing_us.quantile(1.0);
        // The spacing is at most the shorter period, 8847.4 us, plus a delay; the longest spacing of a real unit is
        // about 8.81 ms.
        assert!((8500.0..8847.4 + 301.0).contains(&longest_us), "{longest_us}");
        assert!((205..=214).contains(&figures.others["position"].packets));
    }

    #[test]
    fn pairs_are_told_apart_by_their_distance() {
        let one = |distance: u32| RawReturn { is_empty: distance == 0, intensity: 1, distance };
        let mut sweep = Sweep { is_dual: true, ..Sweep::default() };
        sweep.azimuths_centideg = vec![1, 1, 2, 2];
        // Two lasers; the second returns of a block's points are in the next block.
        sweep.returns = [100, 200, 100, 310, 0, 900, 5, 1000].map(one).to_vec();
        let mut pairs = Pairs::default();
        sweep.pairs().for_each(|pair| pairs.see(pair));
        assert_eq!((pairs.both, pairs.same, pairs.least), (3, 1, Some(100)));
        assert_eq!(pairs.bins, [0, 0, 2, 0, 0, 0, 0, 0, 0]);
        sweep.is_paired_by_point = true;
        let apart: Vec<_> = sweep.pairs().map(|[a, b]| b.distance - a.distance).collect();
        assert_eq!(apart, [100, 210, 900, 995]);
    }
}
