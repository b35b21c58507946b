//! What a host says to a u-blox receiver, and what it is answered.
//!
//! A CFG message that sets something is acknowledged or refused; one that asks is answered and then
//! acknowledged. Settings take effect after the answer: a new rate of the line is answered at the
//! old one. Messages without fields here (CFG-NAVX5, CFG-SBAS, CFG-INF, CFG-TMODE3 ...) are kept
//! and given back as they came, and refused when asked for before.

use super::Gnss;
use super::clock::Stamp;
use super::items::{Protocol, UART1, input_key, key, output_key, rate_key, system_key};
use super::messages::gnss_id;
use super::profile::{GnssDialect, UBX_OUTPUTS};
use crate::sensors::gnss::navigator::Fix;
use crate::sensors::gnss::settings::{BestFix, GnssSystem};
use crate::time::SimTime;
use crate::wire::nmea::{Number, RawSentence};
use crate::wire::record::Record;
use crate::wire::ubx::cfg::{
    AckAck, AckNak, CfgCfg, CfgGnss, CfgMsg, CfgNav5, CfgPrt, CfgRate, CfgRst, CfgTp5, CfgValdel,
    CfgValget, CfgValset, GnssBlock, Item, Key,
};
use crate::wire::ubx::mon::MonVer;
use crate::wire::ubx::{Frame, MessageId, Payload};

/// Nothing was wrong, or the message is refused.
type Verdict = Result<(), ()>;

/// Messages that are kept as they came, with the lengths they may have: least, step.
const KEPT: [(MessageId, usize, usize); 11] = [
    (MessageId::new(0x06, 0x02), 10, 10), // CFG-INF
    (MessageId::new(0x06, 0x13), 4, 0),   // CFG-ANT
    (MessageId::new(0x06, 0x16), 8, 0),   // CFG-SBAS
    (MessageId::new(0x06, 0x17), 20, 0),  // CFG-NMEA
    (MessageId::new(0x06, 0x1b), 108, 0), // CFG-USB
    (MessageId::new(0x06, 0x1e), 20, 0),  // CFG-ODO
    (MessageId::new(0x06, 0x23), 40, 0),  // CFG-NAVX5
    (MessageId::new(0x06, 0x39), 8, 0),   // CFG-ITFM
    (MessageId::new(0x06, 0x70), 4, 0),   // CFG-DGNSS
    (MessageId::new(0x06, 0x71), 40, 0),  // CFG-TMODE3
    (MessageId::new(0x09, 0x14), 4, 4),   // UPD-SOS
];

/// UBX's protocols of a port as bits.
const PROTOCOL_BITS: [(Protocol, u16); 3] =
    [(Protocol::Ubx, 1 << 0), (Protocol::Nmea, 1 << 1), (Protocol::Rtcm3, 1 << 5)];

impl Gnss {
    /// Hears a frame.
    pub(super) fn handle_frame(&mut self, now: SimTime, frame: &Frame) {
        if !self.store.is_set(input_key(UART1, Protocol::Ubx)) {
            return;
        }
        match frame.id {
            MonVer::ID if frame.payload.is_empty() => self.send_versions(now),
            CfgRst::ID => self.reset(now, frame),
            MessageId { class: 0x06, .. } | MessageId { class: 0x09, id: 0x14 } => {
                let verdict = self.configure(now, frame);
                self.acknowledge(now, frame.id, verdict);
                self.apply_settings(SimTime(now.0 + self.profile.reply_delay_ns));
            }
            id if frame.payload.is_empty() => self.send_polled(now, id),
            // Aiding and the like: taken without a word, as by the product.
            _ => {}
        }
    }

    fn send_frame(&mut self, now: SimTime, frame: &Frame) {
        if self.store.is_set(output_key(UART1, Protocol::Ubx)) {
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

    fn send_versions(&mut self, now: SimTime) {
        let identity = &self.profile.identity;
        let extensions = identity.extensions.iter().map(String::as_str);
        let versions = MonVer::new(&identity.software, &identity.hardware, extensions);
        self.send_frame(now, &versions.to_frame());
    }

    /// A message of the latest epoch is asked for.
    fn send_polled(&mut self, now: SimTime, id: MessageId) {
        let name = UBX_OUTPUTS.iter().find(|(_, other)| *other == id).map(|(name, _)| *name);
        let Some((solution, stamp)) = &self.last else { return };
        if name.is_some_and(|name| self.profile.dialect.has_message(name))
            && let Some(message) = self.reporter(solution, stamp).message(id)
        {
            let frame = message.to_frame();
            self.send_frame(now, &frame);
        }
    }

    fn configure(&mut self, now: SimTime, frame: &Frame) -> Verdict {
        let payload = &frame.payload;
        let is_generation_9 = self.profile.dialect == GnssDialect::Ublox9;
        match frame.id {
            CfgPrt::ID => self.configure_port(now, payload),
            CfgMsg::ID => self.configure_message(now, payload),
            CfgRate::ID => self.configure_rate(now, payload),
            CfgGnss::ID => self.configure_systems(now, payload),
            CfgNav5::ID => self.configure_navigation(now, payload),
            CfgTp5::ID => self.configure_pulse(now, payload),
            CfgCfg::ID => self.configure_storage(payload),
            CfgValset::ID if is_generation_9 => {
                let set = CfgValset::parse(payload).map_err(drop)?;
                // Transactions need state between messages; they are refused.
                let is_plain = set.version == 0 || (set.version == 1 && set.transaction == 0);
                let set = is_plain.then_some(set).ok_or(())?;
                self.store.set_all(set.layers, &set.items).map_err(drop)
            }
            CfgValdel::ID if is_generation_9 => {
                let del = CfgValdel::parse(payload).map_err(drop)?;
                let is_plain = del.version == 0 || (del.version == 1 && del.transaction == 0);
                let del = is_plain.then_some(del).ok_or(())?;
                self.store.forget(del.layers, &del.keys).map_err(drop)
            }
            CfgValget::ID if is_generation_9 => {
                let Ok(CfgValget::Request { layer, position, keys }) = CfgValget::parse(payload)
                else {
                    return Err(());
                };
                let items = self.store.read(layer, position, &keys).map_err(drop)?;
                let answer = CfgValget::Answer { layer, position, items };
                self.send_frame(now, &answer.to_frame());
                Ok(())
            }
            id => self.keep(now, id, payload),
        }
    }

    fn configure_port(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.len() <= 1 {
            let port = payload.first().copied().unwrap_or(UART1);
            let answer = self.port_settings(port).ok_or(())?;
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgPrt::parse(payload).map_err(drop)?;
        let baud_key = match set.port {
            1 => Some(key::UART1_BAUDRATE),
            2 => Some(key::UART2_BAUDRATE),
            0 | 3 | 4 => None,
            _ => return Err(()),
        };
        if let Some(baud_key) = baud_key {
            // Eight bits, no parity, one stop bit is what the line is.
            let is_8n1 = set.mode & 0x3ec0 == 0x08c0;
            if !is_8n1 || !super::items::is_baud_rate(set.baud.into()) {
                return Err(());
            }
            self.store.set(baud_key, set.baud.into());
        }
        for (protocol, bit) in PROTOCOL_BITS {
            let is_in = set.input_protocols & bit != 0;
            let is_out = set.output_protocols & bit != 0;
            self.store.set(input_key(set.port, protocol), is_in.into());
            self.store.set(output_key(set.port, protocol), is_out.into());
        }
        Ok(())
    }

    fn port_settings(&self, port: u8) -> Option<CfgPrt> {
        let mask = |key_of: fn(u8, Protocol) -> Key| {
            let set = PROTOCOL_BITS.iter().filter(|(p, _)| self.store.is_set(key_of(port, *p)));
            set.fold(0, |mask, (_, bit)| mask | bit)
        };
        let baud = match port {
            1 => self.store.get(key::UART1_BAUDRATE),
            2 => self.store.get(key::UART2_BAUDRATE),
            0 | 3 | 4 => 0,
            _ => return None,
        };
        Some(CfgPrt {
            port,
            mode: if matches!(port, 1 | 2) { 0x08d0 } else { 0 },
            baud: baud as u32,
            input_protocols: mask(input_key),
            output_protocols: mask(output_key),
            ..CfgPrt::default()
        })
    }

    fn configure_message(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let set = CfgMsg::parse(payload).map_err(drop)?;
        let (CfgMsg::Poll(id) | CfgMsg::ThisPort(id, _) | CfgMsg::AllPorts(id, _)) = set;
        let emulated = UBX_OUTPUTS.iter().find(|(_, other)| *other == id);
        let is_here = emulated.is_none_or(|(name, _)| self.profile.dialect.has_message(name));
        let key_of = |port| rate_key(id, port).filter(|_| is_here && id.class != 0xfe).ok_or(());
        key_of(UART1)?;
        match set {
            CfgMsg::Poll(_) => {
                let mut rates = [0; 6];
                for (port, rate) in rates.iter_mut().take(5).enumerate() {
                    *rate = self.store.get(key_of(port as u8)?) as u8;
                }
                self.send_frame(now, &CfgMsg::AllPorts(id, rates).to_frame());
            }
            CfgMsg::ThisPort(_, rate) => {
                if rate > 0 && emulated.is_none() && id.class < 0xf0 {
                    tracing::info!("a host switched {id} on, which is not emulated");
                }
                self.store.set(key_of(UART1)?, rate.into());
            }
            CfgMsg::AllPorts(_, rates) => {
                for (port, rate) in rates.iter().take(5).enumerate() {
                    self.store.set(key_of(port as u8)?, (*rate).into());
                }
            }
        }
        Ok(())
    }

    fn configure_rate(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.is_empty() {
            let answer = CfgRate {
                measurement_ms: self.store.get(key::RATE_MEAS) as u16,
                measurements_per_solution: self.store.get(key::RATE_NAV) as u16,
                time_reference: self.store.get(key::RATE_TIMEREF) as u16,
            };
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgRate::parse(payload).map_err(drop)?;
        let item = |key, value: u16| Item { key, value: value.into() };
        let items = [
            item(key::RATE_MEAS, set.measurement_ms),
            item(key::RATE_NAV, set.measurements_per_solution),
            item(key::RATE_TIMEREF, set.time_reference),
        ];
        self.store.set_all(1, &items).map_err(drop)
    }

    fn configure_systems(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let hardware: Vec<GnssSystem> = self.profile.systems().collect();
        if payload.is_empty() {
            let block = |system: &GnssSystem| GnssBlock {
                gnss_id: gnss_id(*system),
                reserved_channels: 8,
                max_channels: 16,
                reserved1: 0,
                // First signal of each system.
                flags: 1 << 16 | u32::from(self.store.is_set(system_key(*system))),
            };
            let blocks = hardware.iter().map(block).collect();
            let answer = CfgGnss { version: 0, hardware_channels: 60, used_channels: 60, blocks };
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgGnss::parse(payload).map_err(drop)?;
        for block in &set.blocks {
            let is_on = block.flags & 1 == 1;
            match hardware.iter().find(|system| gnss_id(**system) == block.gnss_id) {
                Some(system) => self.store.set(system_key(*system), is_on.into()),
                // SBAS, IMES and QZSS are there, but none of their satellites.
                None if matches!(block.gnss_id, 1 | 4 | 5) => {}
                None if is_on => return Err(()),
                None => {}
            }
        }
        Ok(())
    }

    fn configure_navigation(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let kept = self.kept.get(&CfgNav5::ID).and_then(|bytes| CfgNav5::parse(bytes).ok());
        let mut present = kept.unwrap_or_default();
        present.mask = 0xffff;
        present.dynamic_model = self.store.get(key::DYNMODEL) as u8;
        present.fix_mode = self.store.get(key::FIXMODE) as u8;
        present.min_elevation_deg = self.store.get(key::INFIL_MINELEV) as i8;
        if payload.is_empty() {
            self.send_frame(now, &present.to_frame());
            return Ok(());
        }
        let set = CfgNav5::parse(payload).map_err(drop)?;
        let has = |bit: u16| set.mask >> bit & 1 == 1;
        if (has(0) && set.dynamic_model > 10) || (has(2) && !matches!(set.fix_mode, 1..=3)) {
            return Err(());
        }
        if has(0) {
            self.store.set(key::DYNMODEL, set.dynamic_model.into());
        }
        if has(1) {
            self.store.set(key::INFIL_MINELEV, u64::from(set.min_elevation_deg as u8));
        }
        if has(2) {
            self.store.set(key::FIXMODE, set.fix_mode.into());
        }
        self.kept.insert(CfgNav5::ID, payload.to_vec());
        Ok(())
    }

    fn configure_pulse(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        // Flags: 0 active, 4 length instead of ratio, 6 rising edge; 3 would be a frequency.
        if payload.len() <= 1 {
            let answer = CfgTp5 {
                index: payload.first().copied().unwrap_or(0),
                version: 1,
                period: 1_000_000,
                period_locked: self.store.get(key::PERIOD_LOCK_TP1) as u32,
                length_locked: self.store.get(key::LEN_LOCK_TP1) as u32,
                flags: 0x76 | self.store.get(key::TP1_ENA) as u32,
                ..CfgTp5::default()
            };
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgTp5::parse(payload).map_err(drop)?;
        if set.index == 0 {
            self.store.set(key::TP1_ENA, u64::from(set.flags & 1));
            if set.flags & 0x18 == 0x10 {
                self.store.set(key::PERIOD_LOCK_TP1, set.period_locked.into());
                self.store.set(key::LEN_LOCK_TP1, set.length_locked.into());
            }
        }
        Ok(())
    }

    /// Groups of settings are not told apart: a mask that names any names all.
    fn configure_storage(&mut self, payload: &[u8]) -> Verdict {
        let CfgCfg { clear, save, load, .. } = CfgCfg::parse(payload).map_err(drop)?;
        if clear != 0 {
            self.store.clear();
        }
        if save != 0 {
            self.store.save();
        }
        if load != 0 {
            self.store.load();
        }
        Ok(())
    }

    fn keep(&mut self, now: SimTime, id: MessageId, payload: &[u8]) -> Verdict {
        let (_, least, step) = KEPT.iter().find(|(known, _, _)| *known == id).ok_or(())?;
        if payload.is_empty() {
            let kept = self.kept.get(&id).ok_or(())?.clone();
            self.send_frame(now, &Frame::new(id, kept));
            return Ok(());
        }
        let over = payload.len().checked_sub(*least).ok_or(())?;
        if (*step == 0 && over != 0) || (*step > 0 && over % step != 0) {
            return Err(());
        }
        self.kept.insert(id, payload.to_vec());
        Ok(())
    }

    /// Not acknowledged: the receiver is restarting.
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

    /// Hears a line.
    pub(super) fn handle_line(&mut self, now: SimTime, line: &[u8]) {
        let Ok(sentence) = RawSentence::parse(line) else { return };
        if self.profile.dialect == GnssDialect::Garmin {
            self.handle_garmin(now, &sentence);
        } else if self.store.is_set(input_key(UART1, Protocol::Nmea)) {
            self.handle_sentence(now, &sentence);
        }
    }

    fn handle_sentence(&mut self, now: SimTime, sentence: &RawSentence) {
        let fields: Vec<&str> = sentence.fields.iter().map(String::as_str).collect();
        match (sentence.address.as_str(), fields.as_slice()) {
            ("PUBX", ["00"]) => self.send_pubx(now, Self::pubx_position),
            ("PUBX", ["04"]) => self.send_pubx(now, Self::pubx_time),
            ("PUBX", ["40", kind, rates @ ..]) if rates.len() >= 5 => {
                self.set_sentence_rates(kind, rates);
            }
            ("PUBX", ["41", port, input, output, baud, ..]) => {
                self.set_port(now, port, input, output, baud);
            }
            ("PUBX", _) => {}
            (address, _) if address.starts_with('P') => {
                let delay = self.profile.reply_delay_ns;
                let text = format!("{} inv format", address.get(..4).unwrap_or(address));
                self.send_text(SimTime(now.0 + delay), 1, &text);
            }
            _ => {}
        }
    }

    fn send_pubx(&mut self, now: SimTime, make: fn(&Self) -> Option<RawSentence>) {
        if self.store.is_set(output_key(UART1, Protocol::Nmea))
            && let Some(sentence) = make(self)
        {
            self.reply(now, sentence.to_bytes());
        }
    }

    /// `PUBX,40,GLL,ddc,uart1,uart2,usb,spi,0`
    fn set_sentence_rates(&mut self, kind: &str, rates: &[&str]) {
        let words = crate::devices::gnss::profile::SentenceKind::WORDS;
        let Some((_, kind)) = words.iter().find(|(word, _)| *word == kind) else { return };
        for (port, rate) in rates.iter().take(5).enumerate() {
            let key = rate_key(super::sentence_id(*kind), port as u8);
            if let (Some(key), Ok(rate)) = (key, rate.parse::<u8>()) {
                self.store.set(key, rate.into());
            }
        }
    }

    /// `PUBX,41,port,in,out,baud,autobaud`; protocols in hex.
    fn set_port(&mut self, now: SimTime, port: &str, input: &str, output: &str, baud: &str) {
        let hex = |text: &str| u16::from_str_radix(text, 16).ok();
        let (Ok(port), Some(input_protocols), Some(output_protocols), Ok(baud)) =
            (port.parse::<u8>(), hex(input), hex(output), baud.parse::<u32>())
        else {
            return;
        };
        let set = CfgPrt {
            port,
            mode: 0x08d0,
            baud,
            input_protocols,
            output_protocols,
            ..CfgPrt::default()
        };
        // Nothing is answered, whatever comes of it.
        let _ = self.configure_port(now, &set.to_frame().payload);
        self.apply_settings(now);
    }

    /// `PUBX,00`: position and its accuracy.
    fn pubx_position(&self) -> Option<RawSentence> {
        let (s, stamp) = self.last.as_ref()?;
        let systems = self.systems();
        let gga = self.writer(&systems).gga(s, stamp);
        let mut fields = vec!["00".to_string()];
        let text = |number: Option<String>| number.unwrap_or_default();
        fields.push(text(gga.time.map(|time| time.to_string())));
        match gga.position {
            Some(at) => fields.extend([
                at.latitude.to_string(),
                if at.is_north { "N" } else { "S" }.to_string(),
                at.longitude.to_string(),
                if at.is_east { "E" } else { "W" }.to_string(),
            ]),
            None => fields.extend(std::iter::repeat_n(String::new(), 4)),
        }
        let state = match s.fix {
            Fix::None => "NF",
            Fix::DeadReckoning => "DR",
            Fix::TwoD => "G2",
            Fix::ThreeD(BestFix::Standalone) => "G3",
            Fix::ThreeD(_) => "D3",
        };
        let number = |value: f64, decimals| Number::from_f64(value, decimals).to_string();
        let dop = |pick: fn(&crate::sensors::gnss::dop::Dop) -> f64| {
            number(super::sentences::shown_dop(s, pick).unwrap_or(99.99).min(99.99), 2)
        };
        fields.extend([
            number(s.position.altitude_m, 3),
            state.to_string(),
            number(s.horizontal_accuracy_m(), 1),
            number(s.vertical_accuracy_m(), 1),
            number(s.ground_speed_m_s() * 3.6, 3),
            number(s.course_deg(), 2),
            number(-s.velocity_enu_m_s.z, 3),
            String::new(),
            dop(|dop| dop.horizontal()),
            dop(|dop| dop.vertical()),
            dop(|dop| dop.time()),
            s.used().count().to_string(),
            "0".to_string(),
            "0".to_string(),
        ]);
        Some(RawSentence { address: "PUBX".to_string(), fields })
    }

    /// `PUBX,04`: time and clock.
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

/// The week and time of week of UTC, which begin like GPS's and are the leap seconds behind, to the
/// hundredths that the time of day has.
fn utc_week_and_tow(stamp: &Stamp) -> (i32, Number) {
    let gps_epoch = jiff::civil::date(1980, 1, 6);
    let midnight = gps_epoch.to_datetime(jiff::civil::Time::midnight());
    let since = stamp.utc.duration_since(midnight);
    let hundredths = since.as_millis() / 10;
    let (week, rest) =
        (hundredths.div_euclid(60_480_000) as i32, hundredths.rem_euclid(60_480_000) as i64);
    (week, Number::from_f64(rest as f64 / 100.0, 2))
}
