//! What a host says to a Garmin GPS 18x: `PGRM` sentences, which are given back when they are taken.
//!
//! Source: Garmin GPS 18x Technical Specifications, sections 4.1.3 to 4.1.5.

use super::Gnss;
use super::items::{UART1, key, rate_key, sentence_id};
use super::profile::SentenceKind;
use crate::time::SimTime;
use crate::wire::nmea::RawSentence;

/// Garmin's numbers of rates.
const BAUD_CODES: [(&str, u32); 4] = [("3", 4800), ("4", 9600), ("5", 19_200), ("8", 38_400)];

impl Gnss {
    /// Hears a sentence.
    pub(super) fn handle_garmin(&mut self, now: SimTime, sentence: &RawSentence) {
        match sentence.address.as_str() {
            "PGRMC" => self.set_sensor(sentence),
            "PGRMC1" => self.set_more(sentence),
            "PGRMO" => self.set_output(sentence),
            "PGRMCE" => return self.answer(now, self.sensor_settings()),
            "PGRMC1E" => return self.answer(now, self.more_settings()),
            // Aiding: taken, without an effect here.
            "PGRMI" => {}
            _ => return,
        }
        self.answer(now, sentence.clone());
        self.apply_settings(SimTime(now.0 + self.profile.reply_delay_ns));
    }

    fn answer(&mut self, now: SimTime, sentence: RawSentence) {
        self.reply(now, sentence.to_bytes());
    }

    /// Field 10 rate of the line, 12 pulse (1 off, 2 on), 13 its length: (n + 1) * 20 ms.
    fn set_sensor(&mut self, sentence: &RawSentence) {
        let field = |number: usize| sentence.fields.get(number - 1).map_or("", String::as_str);
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
    }

    fn sensor_settings(&self) -> RawSentence {
        let baud = self.store.get(key::UART1_BAUDRATE) as u32;
        let code = BAUD_CODES.iter().find(|(_, rate)| *rate == baud).map_or("", |(code, _)| code);
        let pulse = if self.store.is_set(key::TP1_ENA) { "2" } else { "1" };
        let length = (self.store.get(key::LEN_LOCK_TP1) / 20_000).max(1) - 1;
        let mut fields = vec![String::new(); 14];
        fields[0] = "A".to_string();
        fields[9] = code.to_string();
        fields[11] = pulse.to_string();
        fields[12] = length.to_string();
        RawSentence { address: "PGRMC".to_string(), fields }
    }

    /// Field 1 seconds between outputs, 7 mode of NMEA 2.3 (1 off, 2 on).
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
    }

    fn more_settings(&self) -> RawSentence {
        let mut fields = vec![String::new(); 9];
        fields[0] = (self.period_ns / 1_000_000_000).to_string();
        fields[6] = if self.has_modes { "2" } else { "1" }.to_string();
        RawSentence { address: "PGRMC1".to_string(), fields }
    }

    /// `PGRMO,GPRMC,1`: one sentence off (0) or on (1); all off (2), all on (3), the factory's (4).
    fn set_output(&mut self, sentence: &RawSentence) {
        let [name, mode, ..] = sentence.fields.as_slice() else { return };
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
                if let Some((_, kind)) = named.filter(|(_, kind)| order.contains(kind)) {
                    set(*kind, mode == "1");
                }
            }
            "2" | "3" => order.iter().for_each(|kind| set(*kind, mode == "3")),
            "4" => order.iter().for_each(|kind| set(*kind, factory.contains(kind))),
            _ => {}
        }
    }
}
