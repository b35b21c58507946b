//! Commands to a Garmin GPS 18x: `PGRM` sentences.
//!
//! Source: Garmin GPS 18x Technical Specifications, sections 4.1.3 to 4.1.5.

use super::Gnss;
use super::items::{UART1, key, rate_key, sentence_id};
use super::profile::SentenceKind;
use crate::time::SimTime;
use crate::wire::nmea::{Number, RawSentence};

/// Garmin's codes for baud rates.
const BAUD_CODES: [(&str, u32); 4] = [("3", 4800), ("4", 9600), ("5", 19_200), ("8", 38_400)];

/// Garmin's codes for the dimensions of a fix: two, three, automatic. In this order they correspond to the values 1, 2 and
/// 3 of the item `FIXMODE`.
const FIX_MODES: [&str; 3] = ["2", "3", "A"];

/// Number of fields of PGRMC1.
const MORE_FIELDS: usize = 15;

impl Gnss {
    /// Processes a sentence. The answer to `PGRMC` and `PGRMC1` has the settings in effect, so the host sees whether its
    /// settings were accepted. The answer to `PGRMI` and to a valid `PGRMO` is a copy of the sentence. `PGRMI` restarts the
    /// search for satellites; with `A` in field 7, the receiver also forgets the time.
    pub(super) fn handle_garmin(&mut self, now: SimTime, sentence: &RawSentence) {
        let answer = match sentence.address.as_str() {
            "PGRMC" => {
                self.set_sensor(sentence);
                self.sensor_settings()
            }
            "PGRMC1" => {
                self.set_more(sentence);
                self.more_settings()
            }
            "PGRMO" if self.set_output(sentence) => sentence.clone(),
            "PGRMCE" => return self.answer(now, self.sensor_settings()),
            "PGRMC1E" => return self.answer(now, self.more_settings()),
            // Position and time only speed up the search for satellites; the emulated search does not use them.
            "PGRMI" => {
                let is_cold = sentence.fields.get(6).is_some_and(|command| command == "A");
                // Settings are non-volatile.
                self.restart(now, is_cold, false);
                sentence.clone()
            }
            "PGRMIE" => return self.answer(now, self.whereabouts()),
            _ => return,
        };
        self.answer(now, answer);
        self.apply_settings(SimTime(now.0 + self.profile.receiver.reply_delay_ns));
    }

    fn answer(&mut self, now: SimTime, sentence: RawSentence) {
        self.reply(now, sentence.to_bytes());
    }

    /// PGRMI: present position, date and time.
    fn whereabouts(&self) -> RawSentence {
        let mut fields = vec![String::new(); 6];
        if let Some((s, stamp)) = &self.last {
            let systems = self.systems();
            let rmc = self.writer(&systems).rmc(s, stamp);
            if let Some(at) = rmc.position {
                fields[0] = at.latitude.to_string();
                fields[1] = if at.is_north { "N" } else { "S" }.to_string();
                fields[2] = at.longitude.to_string();
                fields[3] = if at.is_east { "E" } else { "W" }.to_string();
            }
            fields[4] = rmc.date.map(|date| date.to_string()).unwrap_or_default();
            fields[5] = rmc.time.map(|time| time.to_string()).unwrap_or_default();
        }
        RawSentence { address: "PGRMI".to_string(), fields }
    }

    /// PGRMC. Field 1: dimensions of a fix (A, 2, 3); 2: height of two-dimensional fixes; 10: baud rate; 12: PPS (1
    /// off, 2 on); 13: pulse length, (n + 1) * 20 ms. Datum, differential mode, filter and dead reckoning (3 to 9, 11,
    /// 14) are stored only.
    fn set_sensor(&mut self, sentence: &RawSentence) {
        let field = |number: usize| sentence.fields.get(number - 1).map_or("", String::as_str);
        if let Some(mode) = FIX_MODES.iter().position(|word| *word == field(1)) {
            self.store.set(key::FIXMODE, mode as u64 + 1);
        }
        if let Ok(height_m @ -1500.0..=18_000.0) = field(2).parse::<f64>() {
            self.store.set(key::CONSTR_ALT, (height_m * 100.0) as i32 as u32 as u64);
        }
        if let Some((_, baud)) = BAUD_CODES.iter().find(|(code, _)| *code == field(10)) {
            self.store.set(key::UART1_BAUDRATE, (*baud).into());
        }
        match field(12) {
            "1" => self.store.set(key::TP1_ENA, 0),
            "2" => self.store.set(key::TP1_ENA, 1),
            _ => {}
        }
        if let Ok(length @ 0..=48) = field(13).parse::<u64>() {
            self.store.set(key::LEN_LOCK_TP1, (length + 1) * 20_000);
        }
        for number in [3, 4, 5, 6, 7, 8, 9, 11, 14] {
            if !field(number).is_empty() {
                self.garmin_kept.insert(("PGRMC", number), field(number).to_string());
            }
        }
    }

    fn sensor_settings(&self) -> RawSentence {
        let baud = self.store.get(key::UART1_BAUDRATE) as u32;
        let code = BAUD_CODES.iter().find(|(_, rate)| *rate == baud).map_or("", |(code, _)| code);
        let pulse = if self.store.is_set(key::TP1_ENA) { "2" } else { "1" };
        let length = (self.store.get(key::LEN_LOCK_TP1) / 20_000).max(1) - 1;
        let mode = self.store.get(key::FIXMODE).clamp(1, 3) as usize - 1;
        let height_m = f64::from(self.store.get(key::CONSTR_ALT) as u32 as i32) * 0.01;
        let mut fields = self.kept_fields("PGRMC", 14);
        fields[0] = FIX_MODES[mode].to_string();
        if height_m != 0.0 {
            fields[1] = Number::from_f64(height_m, 1).to_string();
        }
        fields[9] = code.to_string();
        fields[11] = pulse.to_string();
        fields[12] = length.to_string();
        RawSentence { address: "PGRMC".to_string(), fields }
    }

    /// Stored fields of a sentence; fields without a stored value are empty.
    fn kept_fields(&self, address: &'static str, count: usize) -> Vec<String> {
        let field = |number| self.garmin_kept.get(&(address, number)).cloned().unwrap_or_default();
        (1..=count).map(field).collect()
    }

    /// PGRMC1. Field 1: seconds between outputs; 7: mode field of NMEA 2.3 (1 off, 2 on). Binary output (2) is not
    /// supported; position pinning, beacons, differential and power modes, PPS auto off and low velocity threshold (3 to
    /// 6, 8 to 15) are stored only.
    fn set_more(&mut self, sentence: &RawSentence) {
        let field = |number: usize| sentence.fields.get(number - 1).map_or("", String::as_str);
        if let Ok(seconds @ 1..=900) = field(1).parse::<u64>() {
            self.store.set(key::RATE_NAV, 1);
            self.store.set(key::RATE_MEAS, seconds * 1000);
        }
        match field(7) {
            "1" => self.has_modes = false,
            "2" => self.has_modes = true,
            _ => {}
        }
        for number in (3..=6).chain(8..=MORE_FIELDS) {
            if !field(number).is_empty() {
                self.garmin_kept.insert(("PGRMC1", number), field(number).to_string());
            }
        }
    }

    fn more_settings(&self) -> RawSentence {
        let mut fields = self.kept_fields("PGRMC1", MORE_FIELDS);
        let seconds = self.store.get(key::RATE_MEAS) / 1000;
        fields[0] = seconds.to_string();
        fields[1] = "1".to_string();
        fields[6] = if self.has_modes { "2" } else { "1" }.to_string();
        RawSentence { address: "PGRMC1".to_string(), fields }
    }

    /// PGRMO, for example `PGRMO,GPRMC,1`: one sentence off (0) or on (1), all off (2), all on (3), factory selection
    /// (4). Returns whether the sentence was valid.
    fn set_output(&mut self, sentence: &RawSentence) -> bool {
        let [name, mode, ..] = sentence.fields.as_slice() else { return false };
        let order = self.profile.nmea.order.clone();
        let factory = self.profile.defaults.sentences.clone();
        let mut set = |kind: SentenceKind, is_on: bool| {
            if let Some(key) = rate_key(sentence_id(kind), UART1) {
                self.store.set(key, is_on.into());
            }
        };
        match mode.as_str() {
            "0" | "1" => {
                let bare = name.strip_prefix("GP").unwrap_or(name);
                let named = SentenceKind::WORDS.iter().find(|(word, _)| *word == bare);
                let Some((_, kind)) = named.filter(|(_, kind)| order.contains(kind)) else {
                    return false;
                };
                set(*kind, mode == "1");
            }
            "2" | "3" => order.iter().for_each(|kind| set(*kind, mode == "3")),
            "4" => order.iter().for_each(|kind| set(*kind, factory.contains(kind))),
            _ => return false,
        }
        true
    }
}
