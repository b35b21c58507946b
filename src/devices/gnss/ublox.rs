//! Messages of a host to a u-blox receiver, and their answers.
//!
//! A CFG message that sets something is acknowledged or refused. A CFG poll is answered and then acknowledged.
//! Settings take effect after the answer: the answer to a new baud rate is sent at the old rate.

use super::clock::Stamp;
use super::commands::aiding_lengths;
use super::configure::is_port;
use super::items::{Protocol, input_key, key, rate_key};
use super::messages::{gnss_id, shared_number};
use super::power::RXM_PMREQ;
use super::profile::GnssDialect;
use super::ubx_outputs::UBX_OUTPUTS;
use super::{Gnss, Verdict};
use crate::sensors::gnss::navigator::{Fix, TrackedSatellite};
use crate::sensors::gnss::settings::BestFix;
use crate::time::SimTime;
use crate::wire::corrections::Correction;
use crate::wire::nmea::{Number, RawSentence};
use crate::wire::record::Record;
use crate::wire::ubx::cfg::{AckAck, AckNak, CfgPrt, CfgRst};
use crate::wire::ubx::mon::MonVer;
use crate::wire::ubx::mon_more::{MgaAck, MonGnss, MonPatch, SecSig, SecUniqid};
use crate::wire::ubx::rxm::{RxmCor, RxmRtcm};
use crate::wire::ubx::{Frame, MessageId, Payload};

const NAV_RESETODO: MessageId = MessageId::new(0x01, 0x10);
/// Message id of MGA-DBD, the navigation database.
const MGA_DBD: u8 = 0x80;

/// Fields of `PUBX,00` after the time if the receiver has no position, as in public captures.
const NO_POSITION: [&str; 18] = [
    "0000.00000",
    "N",
    "00000.00000",
    "E",
    "0.000",
    "NF",
    "5303302",
    "3750001",
    "0.000",
    "0.00",
    "0.000",
    "",
    "99.99",
    "99.99",
    "99.99",
    "0",
    "0",
    "0",
];
/// Largest number of satellites in `PUBX,03`; a captured receiver with 50 satellites in view reports 32.
const MOST_SATELLITES: usize = 32;
/// Largest time in `PUBX,03` for which a satellite has been tracked.
const MAX_LOCK_S: u64 = 64;

/// Use of an RTCM 3 message by a rover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The message is used.
    Used,
    /// The message is valid, but not used.
    Unused,
    /// The message has a wrong CRC.
    Damaged,
}

impl Gnss {
    pub(super) fn handle_frame(&mut self, now: SimTime, frame: &Frame) {
        if !self.store.is_set(input_key(self.served_port(), Protocol::Ubx)) {
            return;
        }
        match frame.id {
            MonVer::ID if frame.payload.is_empty() => self.send_versions(now),
            CfgRst::ID => self.reset(now, frame),
            MessageId { class: 0x06, .. } | MessageId { class: 0x09, id: 0x14 } => {
                let verdict = self.configure(now, frame);
                self.acknowledge(now, frame.id, verdict);
                self.apply_settings(SimTime(now.0 + self.profile.receiver.reply_delay_ns));
            }
            RXM_PMREQ => self.request_power(now, &frame.payload),
            NAV_RESETODO if frame.payload.is_empty() => {
                self.distance_m = 0.0;
                self.acknowledge(now, frame.id, Ok(()));
            }
            MessageId { class: 0x13, .. } => self.take_aiding(now, frame),
            id if frame.payload.is_empty() => self.send_polled(now, id),
            // Other messages with content, such as the aiding messages of generation 8, are not answered, as in the
            // product.
            _ => {}
        }
    }

    pub(super) fn send_frame(&mut self, now: SimTime, frame: &Frame) {
        if self.sends(Protocol::Ubx) {
            self.reply(now, frame.to_bytes());
        }
    }

    fn acknowledge(&mut self, now: SimTime, id: MessageId, verdict: Verdict) {
        let MessageId { class, id } = id;
        let frame = match verdict {
            Ok(()) => AckAck { class, id }.to_frame(),
            Err(()) => AckNak { class, id }.to_frame(),
        };
        self.send_frame(now, &frame);
    }

    /// MGA messages: accepted or refused by MGA-ACK if the item `ACKAIDING` is set, otherwise not answered. They have
    /// no effect, because the start-up of the emulated receiver does not depend on aiding.
    fn take_aiding(&mut self, now: SimTime, frame: &Frame) {
        if !self.store.is_set(key::ACKAIDING) || frame.id == MgaAck::ID {
            return;
        }
        let mut head = [0; 4];
        for (to, from) in head.iter_mut().zip(&frame.payload) {
            *to = *from;
        }
        let kind = frame.payload.first().copied();
        let lengths = aiding_lengths(&self.profile, frame.id, kind);
        let code = match &lengths[..] {
            // Navigation database: a poll returns an empty database; parts are accepted.
            _ if frame.id.id == MGA_DBD => 0,
            [] => 6,
            all if all.contains(&frame.payload.len()) => 0,
            _ => 3,
        };
        let ack = MgaAck { kind: u8::from(code == 0), version: 0, code, id: frame.id.id, head };
        self.send_frame(now, &ack.to_frame());
    }

    /// Processes an RTCM 3 message, with header and CRC, that arrived at a port. If the port does not accept RTCM 3,
    /// the message is ignored; otherwise RXM-RTCM and RXM-COR report it.
    pub(super) fn handle_correction(&mut self, now: SimTime, port: u8, message: &[u8]) {
        if !self.store.is_set(input_key(port, Protocol::Rtcm3)) || self.holds_back(now, message) {
            return;
        }
        self.take_correction(now, message);
    }

    /// Reports an RTCM 3 message with a wrong CRC; the message has no other effect.
    pub(super) fn handle_damaged(&mut self, now: SimTime, port: u8, correction: &Correction) {
        if self.store.is_set(input_key(port, Protocol::Rtcm3)) {
            self.report_correction(now, correction, Heard::Damaged);
        }
    }

    /// Processes an RTCM 3 message, after any delay by a fault.
    pub(super) fn take_correction(&mut self, now: SimTime, message: &[u8]) {
        let Some(correction) = Correction::parse(message) else { return };
        let correction = self.as_told(now, correction);
        let is_used = self.wants_station_of(&correction)
            && match self.settings.receiver.acquisition.best_fix {
                // The rig sets the kind of fix, so corrections do not change it.
                Some(_) => self.store.get(key::DGNSSMODE) != 0,
                None => self.hear_correction(now, &correction),
            };
        self.report_correction(now, &correction, if is_used { Heard::Used } else { Heard::Unused });
    }

    /// Whether the station filter that the host has configured accepts the message. A message 4072 has no known
    /// station: only filter 2 rejects it.
    fn wants_station_of(&self, correction: &Correction) -> bool {
        let wanted = self.store.get(key::RTCM_DF003_IN);
        let is_named = correction.number != 4072;
        let is_it = is_named && u64::from(correction.station) == wanted;
        match self.store.get(key::RTCM_DF003_IN_FILTER) {
            1 => is_it || !is_named,
            2 => is_it,
            _ => true,
        }
    }

    /// Reports a received message by RXM-RTCM and RXM-COR on every port where they are enabled.
    pub(super) fn report_correction(
        &mut self,
        now: SimTime,
        correction: &Correction,
        heard: Heard,
    ) {
        let Correction { number, sub_type, station, .. } = *correction;
        let used = if heard == Heard::Used { 2 } else { 1 };
        let (is_damaged, errors) = match heard {
            Heard::Damaged => (1, 2),
            _ => (0, 1),
        };
        let flags = used << 1 | is_damaged;
        let rtcm = RxmRtcm { version: 2, flags, sub_type, station, message: number };
        let cor = RxmCor {
            version: 1,
            status: 1
                | errors << 5
                | u32::from(used) << 7
                | u32::from(station) << 9
                | 1 << 25
                | u32::from(number == 4072) << 26
                | 1 << 28
                | 1 << 30,
            message: number,
            sub_type,
            ..RxmCor::default()
        };
        if !self.profile.receiver.dialect.is_ublox() {
            return;
        }
        let at = SimTime(now.0 + self.profile.receiver.reply_delay_ns);
        for place in self.wired() {
            let number = self.ports[place].number;
            for frame in [rtcm.to_frame(), cor.to_frame()] {
                let rate = rate_key(frame.id, number).map_or(0, |key| self.store.get(key));
                if rate > 0 && self.sends_on(place, Protocol::Ubx) {
                    self.put(place, at, frame.to_bytes(), Vec::new());
                }
            }
        }
    }

    fn send_versions(&mut self, now: SimTime) {
        let identity = &self.profile.identity;
        let extensions = identity.extensions.iter().map(String::as_str);
        let versions = MonVer::new(&identity.software, &identity.hardware, extensions);
        self.send_frame(now, &versions.to_frame());
    }

    /// Answers the poll of a message, with data of the latest epoch or of the receiver itself.
    fn send_polled(&mut self, now: SimTime, id: MessageId) {
        let name = UBX_OUTPUTS.iter().find(|(_, other)| *other == id).map(|(name, _)| *name);
        let has = match id {
            SecUniqid::ID | MonGnss::ID | MonPatch::ID => true,
            SecSig::ID => {
                let is_generation_9 = self.profile.receiver.dialect == GnssDialect::Ublox9;
                is_generation_9 && self.profile.protocol_version() >= Some(2730)
            }
            _ => name.is_some_and(|name| self.profile.has_message(name)),
        };
        if has && let Some(frame) = self.message(now, id) {
            self.send_frame(now, &frame);
        }
    }

    /// CFG-RST: restarts the receiver, or stops or starts navigation. It is never acknowledged.
    fn reset(&mut self, now: SimTime, frame: &Frame) {
        let Ok(reset) = CfgRst::parse(&frame.payload) else { return };
        let is_cold = reset.clear & 0xfffe != 0;
        match reset.mode {
            0 | 1 | 4 => self.restart(now, is_cold, true),
            2 => self.restart(now, is_cold, false),
            8 => self.is_navigating = false,
            9 => self.is_navigating = true,
            _ => {}
        }
    }

    /// Processes an NMEA line.
    pub(super) fn handle_line(&mut self, now: SimTime, line: &[u8]) {
        if self.profile.receiver.dialect == GnssDialect::Garmin {
            // A Garmin does not require a checksum, and most programs send none.
            if let Ok(sentence) = RawSentence::parse_optional_checksum(line) {
                self.handle_garmin(now, &sentence);
            }
        } else if self.store.is_set(input_key(self.served_port(), Protocol::Nmea))
            && let Ok(sentence) = RawSentence::parse(line)
        {
            self.handle_sentence(now, &sentence);
        }
    }

    fn handle_sentence(&mut self, now: SimTime, sentence: &RawSentence) {
        let fields: Vec<&str> = sentence.fields.iter().map(String::as_str).collect();
        match (sentence.address.as_str(), fields.as_slice()) {
            ("PUBX", ["00"]) => self.send_pubx(now, Self::pubx_position),
            ("PUBX", ["03"]) => self.send_pubx(now, Self::pubx_satellites),
            ("PUBX", ["04"]) => self.send_pubx(now, Self::pubx_time),
            ("PUBX", ["40", kind, rates @ ..]) if rates.len() >= 5 => {
                self.set_sentence_rates(kind, rates);
            }
            ("PUBX", ["41", port, input, output, baud, ..]) => {
                self.set_port_by_text(now, port, input, output, baud);
            }
            ("PUBX", _) => {}
            (address, _) if address.starts_with('P') => {
                let delay = self.profile.receiver.reply_delay_ns;
                let text = format!("{} inv format", address.get(..4).unwrap_or(address));
                self.send_text(self.served, SimTime(now.0 + delay), 1, &text);
            }
            (address, [kind]) if address.len() == 5 && address.ends_with('Q') => {
                for line in self.polled_sentences(&address[2..4], kind) {
                    self.reply(now, line);
                }
            }
            _ => {}
        }
    }

    /// Answer to a poll such as `EIGNQ,RMC`: sentences of the kind `word`. There is none if `talker` is not the present
    /// talker, here GN.
    fn polled_sentences(&self, talker: &str, word: &str) -> Vec<Vec<u8>> {
        let Some((shown, stamp)) = self.shown() else { return Vec::new() };
        let systems = self.systems();
        let writer = self.writer(&systems);
        let is_asked = writer.talker() == talker && self.sends(Protocol::Nmea);
        let known = self.profile.nmea.order.iter().find(|kind| is_asked && kind.word() == word);
        known.map_or_else(Vec::new, |kind| writer.lines(*kind, &shown, stamp))
    }

    fn send_pubx(&mut self, now: SimTime, make: fn(&Self) -> Option<RawSentence>) {
        if self.sends(Protocol::Nmea)
            && let Some(sentence) = make(self)
        {
            self.reply(now, sentence.to_bytes());
        }
    }

    /// Handles `PUBX,40,GLL,ddc,uart1,uart2,usb,spi,0`: rates of a sentence.
    fn set_sentence_rates(&mut self, kind: &str, rates: &[&str]) {
        let words = crate::gnss::profile::SentenceKind::WORDS;
        let Some((_, kind)) = words.iter().find(|(word, _)| *word == kind) else { return };
        for (port, rate) in rates.iter().take(5).enumerate() {
            let key = rate_key(super::sentence_id(*kind), port as u8);
            if let (Some(key), Ok(rate)) = (key, rate.parse::<u8>()) {
                self.store.set(key, rate.into());
            }
        }
    }

    /// Handles `PUBX,41,port,in,out,baud,autobaud`; protocol masks are hexadecimal.
    fn set_port_by_text(
        &mut self,
        now: SimTime,
        port: &str,
        input: &str,
        output: &str,
        baud: &str,
    ) {
        let hex = |text: &str| u16::from_str_radix(text, 16).ok();
        let (Ok(port), Some(input_protocols), Some(output_protocols), Ok(baud)) =
            (port.parse::<u8>(), hex(input), hex(output), baud.parse::<u32>())
        else {
            return;
        };
        let mode = self.port_settings(port).map_or(0, |port| port.mode);
        let set =
            CfgPrt { port, mode, baud, input_protocols, output_protocols, ..CfgPrt::default() };
        // The receiver sends no answer, even to an invalid port.
        if is_port(&set) {
            self.set_port(&set);
            self.apply_settings(now);
        }
    }

    /// Makes `PUBX,00`: position and accuracy.
    fn pubx_position(&self) -> Option<RawSentence> {
        let (s, stamp) = self.shown()?;
        let systems = self.systems();
        let gga = self.writer(&systems).gga(&s, stamp);
        let mut fields = vec!["00".to_string()];
        let text = |number: Option<String>| number.unwrap_or_default();
        let age = gga.correction_age_s.filter(|_| s.baseline.is_some());
        fields.push(text(gga.time.map(|time| time.to_string())));
        let Some(at) = gga.position else {
            fields.extend(NO_POSITION.map(String::from));
            return Some(RawSentence { address: "PUBX".to_string(), fields });
        };
        fields.extend([
            at.latitude.to_string(),
            if at.is_north { "N" } else { "S" }.to_string(),
            at.longitude.to_string(),
            if at.is_east { "E" } else { "W" }.to_string(),
        ]);
        let state = match s.fix {
            _ if self.is_held => "TT",
            Fix::DeadReckoning => "DR",
            Fix::TwoD => "G2",
            fix if fix.grade() > BestFix::Standalone => "D3",
            _ => "G3",
        };
        let number = |value: f64, decimals| Number::from_f64(value, decimals).to_string();
        let dop = |pick: fn(&crate::sensors::gnss::dop::Dop) -> f64| {
            number(super::sentences::shown_dop(&s, pick).unwrap_or(99.99).min(99.99), 2)
        };
        fields.extend([
            number(s.position.altitude_m, 3),
            state.to_string(),
            number(s.horizontal_accuracy_m(), 1),
            number(s.vertical_accuracy_m(), 1),
            number(s.ground_speed_m_s() * 3.6, 3),
            number(s.course_deg(), 2),
            number(-s.velocity_enu_m_s.z, 3),
            text(age.map(|age| age.to_string())),
            dop(|dop| dop.horizontal()),
            dop(|dop| dop.vertical()),
            dop(|dop| dop.time()),
            s.used().count().to_string(),
            "0".to_string(),
            "0".to_string(),
        ]);
        Some(RawSentence { address: "PUBX".to_string(), fields })
    }

    /// Makes `PUBX,03`: satellites in view in the order of u-blox's numbers of the systems, at most 32.
    fn pubx_satellites(&self) -> Option<RawSentence> {
        let (s, _) = self.last.as_ref()?;
        let systems = self.systems();
        let writer = self.writer(&systems);
        let mut all: Vec<&TrackedSatellite> = s.satellites.iter().collect();
        all.sort_by_key(|t| gnss_id(t.satellite.system));
        all.truncate(MOST_SATELLITES);
        let mut fields = vec!["03".to_string(), all.len().to_string()];
        for t in all {
            let row = writer.row(t, 0);
            let text = |number: Option<Number>| number.map(|n| n.to_string()).unwrap_or_default();
            let state = match row.cno_dbhz {
                _ if t.is_used => "U",
                Some(_) => "e",
                None => "-",
            };
            let since = self.observer.followed_since(&t.satellite).unwrap_or(s.at);
            let lock_s = s.at.saturating_since(since).as_secs().min(MAX_LOCK_S);
            fields.extend([
                shared_number(&t.satellite).to_string(),
                state.to_string(),
                text(row.azimuth_deg),
                text(row.elevation_deg),
                text(row.cno_dbhz),
                Number::whole(lock_s).padded(3).to_string(),
            ]);
        }
        Some(RawSentence { address: "PUBX".to_string(), fields })
    }

    /// Makes `PUBX,04`: time and clock.
    fn pubx_time(&self) -> Option<RawSentence> {
        let (s, stamp) = self.last.as_ref()?;
        let systems = self.systems();
        let rmc = self.writer(&systems).rmc(s, stamp);
        let reporter = self.reporter(s, stamp);
        let crate::wire::ubx::Message::NavClock(clock) =
            reporter.message(crate::wire::ubx::nav::NavClock::ID)?
        else {
            return None;
        };
        let (utc_week, utc_tow) = utc_week_and_tow(stamp);
        let leap =
            if s.is_leap_known { stamp.leap_s.to_string() } else { format!("{}D", stamp.leap_s) };
        let fields = [
            "04".to_string(),
            rmc.time.map(|time| time.to_string()).unwrap_or_default(),
            rmc.date.map(|date| date.to_string()).unwrap_or_default(),
            utc_tow.to_string(),
            utc_week.to_string(),
            leap,
            clock.bias_ns.to_string(),
            Number::from_f64(self.drift_ns_s, 3).to_string(),
            Number::from_f64(self.settings.pulse.quantum_ns, 0).to_string(),
            String::new(),
        ];
        Some(RawSentence::new("PUBX", fields))
    }
}

/// UTC week and UTC time of week, in seconds with two decimals. They are counted from midnight of 6 January 1980 UTC,
/// without leap seconds.
fn utc_week_and_tow(stamp: &Stamp) -> (i32, Number) {
    let gps_epoch = jiff::civil::date(1980, 1, 6);
    let midnight = gps_epoch.to_datetime(jiff::civil::Time::midnight());
    let since = stamp.utc.duration_since(midnight);
    let hundredths = since.as_millis() / 10;
    let (week, rest) =
        (hundredths.div_euclid(60_480_000) as i32, hundredths.rem_euclid(60_480_000) as i64);
    (week, Number::from_f64(rest as f64 / 100.0, 2))
}
