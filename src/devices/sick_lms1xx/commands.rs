//! Commands: their effects and answers.

use super::scans::DataConfig;
use super::{Phase, SickLms1xx};
use crate::commands::{CommandTable, Conduct};
use crate::sick_lms1xx::profile::{EchoFilter, ScanMode, ScannerStatus, SickLms1xxProfile};
use crate::time::SimTime;
use crate::wire::cola::scan_data::ClockTime;
use crate::wire::cola::telegram::{Kind, Telegram, Value};
use crate::wire::cola::{Dialect, Refusal};

/// Login level that changes of settings require.
const CLIENT: u8 = 3;

/// Variables that are stored but have no effect: filters that the sensor model lacks, an encoder that is not connected,
/// functions of inputs and outputs, limits of contamination, network and time server.
pub const STORED: [(&str, &[Value]); 25] = [
    ("LFPmeanfilter", &[Value::U8(0), Value::U16(2), Value::U8(0)]),
    ("LFPnto1filter", &[Value::U8(0)]),
    ("MSsuppmode", &[Value::U8(0)]),
    ("SYPhase", &[Value::U16(0)]),
    ("LCMcfg", &[Value::U8(0), Value::U16(1), Value::U16(0), Value::U16(0)]),
    ("LICencset", &[Value::U8(0)]),
    ("LICsrc", &[Value::U8(0)]),
    ("LICencres", &[Value::Real(0x3f80_0000)]),
    ("DO3And4Fnc", &[Value::U8(0)]),
    ("DO6Fnc", &[Value::U8(0)]),
    ("DI3Fnc", &[Value::U8(0)]),
    ("LFPparticle", &[Value::U8(0), Value::U16(500)]),
    ("LFPmedianfilter", &[Value::U8(0), Value::U16(3)]),
    ("LICFixVel", &[Value::Real(0)]),
    ("LICSpTh", &[Value::U8(5)]),
    ("TSCRole", &[Value::U8(0)]),
    ("TSCTCInterface", &[Value::U8(0)]),
    ("TSCTCSrvAddr", &[Value::U8(192), Value::U8(168), Value::U8(0), Value::U8(2)]),
    ("TSCTCtimezone", &[Value::U8(0)]),
    ("TSCTCupdatetime", &[Value::U32(600)]),
    ("TSCTCmaxoffset", &[Value::Real(0)]),
    ("TSCTCdelay", &[Value::Real(0)]),
    ("EIIpAddr", &[Value::U8(192), Value::U8(168), Value::U8(0), Value::U8(1)]),
    ("EIgate", &[Value::U8(0), Value::U8(0), Value::U8(0), Value::U8(0)]),
    ("EImask", &[Value::U8(255), Value::U8(255), Value::U8(255), Value::U8(0)]),
];

/// Names of commands that only an LMS5xx supports. A profile with an echo filter counts as an LMS5xx.
const OF_LMS5XX: [&str; 3] = ["FREchoFilter", "DO6Fnc", "DI3Fnc"];

/// Temperature that the variable OPcurtmpdev reports, degrees C.
const TEMPERATURE_C: f32 = 35.0;

/// Table of all commands; those that this firmware lacks are marked as refused.
pub fn table(profile: &SickLms1xxProfile) -> CommandTable {
    let mut table = CommandTable::parse("CoLa", include_str!("commands.csv"));
    for row in &mut table.rows {
        let name = row.code.split(' ').nth(1).unwrap_or_default();
        if OF_LMS5XX.contains(&name) && !profile.echoes.has_filter {
            row.conduct = Conduct::Refused;
        }
    }
    table
}

/// Answer to a command.
pub enum Answer {
    /// A telegram.
    Telegram(Telegram),
    /// The latest scan.
    Scan,
    /// The next complete scan.
    NextScan,
}

/// Result codes of the command mLMPsetscancfg.
mod set_scan {
    pub const DONE: u8 = 0;
    pub const FREQUENCY: u8 = 1;
    pub const RESOLUTION: u8 = 2;
    pub const RESOLUTION_AND_AREA: u8 = 3;
    pub const AREA: u8 = 4;
    pub const OTHER: u8 = 5;
}

impl SickLms1xx {
    /// Executes the parsed command `telegram` of the host with index `client`; returns its answer.
    pub(super) fn obey(
        &mut self,
        now: SimTime,
        client: usize,
        dialect: Dialect,
        telegram: Result<Telegram, Refusal>,
    ) -> Answer {
        let answer = telegram.and_then(|telegram| match telegram.kind {
            Kind::Read | Kind::ReadIndex => self.read(now, &telegram.name),
            Kind::Write => self.write(client, telegram),
            Kind::Call => self.call(now, client, telegram),
            Kind::Subscribe => Ok(self.subscribe(client, dialect, telegram)),
            // Telegrams that only scanners send are not commands.
            _ => Err(Refusal::UnknownCommand),
        });
        answer.unwrap_or_else(|refusal| Answer::Telegram(Telegram::refusal(refusal)))
    }

    fn read(&self, now: SimTime, name: &str) -> Result<Answer, Refusal> {
        let (profile, identity) = (&self.profile, &self.profile.identity);
        if OF_LMS5XX.contains(&name) && !profile.echoes.has_filter {
            return Err(Refusal::UnknownVariable);
        }
        let values = match name {
            "LMDscandata" => return self.read_scan(),
            "DeviceIdent" | "0" => {
                vec![Value::text(&identity.name), Value::text(&identity.version)]
            }
            "FirmwareVersion" => vec![Value::text(&identity.firmware_version)],
            "SerialNumber" => vec![Value::text(&self.settings.serial_number.to_string())],
            "LocationName" => vec![Value::Text(self.now.location_name.clone())],
            "SCdevicestate" => vec![Value::U8(self.device_state(now))],
            "ODoprh" => vec![Value::U32(self.operating_time_tenth_h(now))],
            "ODpwrc" => vec![Value::U32(identity.power_on_count.wrapping_add(self.boots))],
            "DIornr" | "OrdNum" => vec![Value::text(&identity.order_number)],
            "DItype" => vec![Value::text(&identity.kind)],
            "OPcurtmpdev" => vec![Value::Real(TEMPERATURE_C.to_bits())],
            "LCMstate" => vec![Value::U8(match self.condition(now) {
                ScannerStatus::PollutionWarning => 1,
                ScannerStatus::PollutionError => 2,
                ScannerStatus::Ok | ScannerStatus::Error => 0,
            })],
            "STlms" => self.status(now),
            "LMPscancfg" => self.scan_config(),
            "LMPoutputRange" => self.output_range(),
            "LMDscandatacfg" => data_config(&self.now.data),
            "EIHstCola" => vec![Value::U8(u8::from(self.now.host_dialect == Dialect::B))],
            "FREchoFilter" => vec![Value::U8(self.now.echo_filter as u8)],
            // No evaluation field is configured.
            _ if name.starts_with("field") => vec![Value::U8(0)],
            _ => {
                let stored = || self.now.stored.get(name).cloned();
                self.state_of(name).or_else(stored).ok_or(Refusal::UnknownVariable)?
            }
        };
        Ok(Answer::Telegram(Telegram::new(Kind::ReadAnswer, name, values)))
    }

    fn read_scan(&self) -> Result<Answer, Refusal> {
        match (&self.phase, &self.latest) {
            (Phase::Measuring | Phase::Preparing { .. }, None) => Ok(Answer::NextScan),
            (_, Some(_)) => Ok(Answer::Scan),
            (_, None) => Err(Refusal::LocalConditionFailed),
        }
    }

    /// Device state: 0 busy, 1 ready, 2 error. As in recorded logs of an LMS1xx, the state is busy from a login until
    /// the command Run.
    fn device_state(&self, now: SimTime) -> u8 {
        let is_logged_in = self.clients.iter().any(|client| client.level > 0);
        match (self.condition(now), &self.phase) {
            (ScannerStatus::Error, _) | (_, Phase::Stalled { .. }) => 2,
            (_, Phase::Measuring) if !is_logged_in => 1,
            _ => 0,
        }
    }

    fn operating_time_tenth_h(&self, now: SimTime) -> u32 {
        const TENTH_HOUR_NS: u64 = 360_000_000_000;
        self.profile.identity.operating_time_tenth_h.wrapping_add((now.0 / TENTH_HOUR_NS) as u32)
    }

    fn status(&self, now: SimTime) -> Vec<Value> {
        let state = match self.phase {
            Phase::Stalled { .. } => self.profile.motor.stalled_state,
            Phase::Off { .. } | Phase::Starting { .. } => 1,
            Phase::Stopped => 3,
            Phase::Standby => 4,
            Phase::Preparing { .. } => 5,
            Phase::Measuring => 7,
        };
        let time = self.clocks.time(now);
        let of_day = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
        let date = format!("{:02}.{:02}.{:04}", time.day, time.month, time.year);
        let mut values =
            vec![Value::U16(state), Value::U8(0), Value::text(&of_day), Value::text(&date)];
        values.extend([const { Value::U32(0) }; 3]);
        values
    }

    fn scan_config(&self) -> Vec<Value> {
        let [start, stop] = self.profile.scan.field;
        vec![
            Value::U32(self.now.mode.frequency_centihz),
            Value::U16(1),
            Value::U32(self.now.mode.resolution),
            Value::I32(start),
            Value::I32(stop),
        ]
    }

    fn output_range(&self) -> Vec<Value> {
        let directions = self.mirror.directions(self.now.output_range);
        vec![
            Value::U16(1),
            Value::U32(self.now.mode.resolution),
            Value::I32(self.mirror.angle(directions.start)),
            Value::I32(self.mirror.angle(directions.end - 1)),
        ]
    }

    fn write(&mut self, client: usize, telegram: Telegram) -> Result<Answer, Refusal> {
        let Telegram { name, values, .. } = telegram;
        let is_known = match name.as_str() {
            "EIHstCola" | "LocationName" | "LMPoutputRange" | "LMDscandatacfg" => true,
            name if OF_LMS5XX.contains(&name) => self.profile.echoes.has_filter,
            name => self.now.stored.contains_key(name),
        };
        let is_read_only = !is_known && self.read(self.clock, &name).is_ok();
        if is_read_only || (is_known && self.clients[client].level < CLIENT) {
            return Err(Refusal::WriteAccessDenied);
        }
        match (name.as_str(), &values[..]) {
            ("EIHstCola", [Value::U8(dialect)]) => {
                self.now.host_dialect = match dialect {
                    0 => Dialect::A,
                    1 => Dialect::B,
                    _ => return Err(Refusal::InvalidData),
                };
            }
            ("LocationName", [Value::Text(text)]) => {
                let is_printable = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic();
                if text.len() > 64 || !text.iter().all(is_printable) {
                    return Err(Refusal::InvalidData);
                }
                self.now.location_name = text.clone();
            }
            ("LMPoutputRange", values) => self.set_output_range(values)?,
            ("LMDscandatacfg", values) => {
                let has_filter = self.profile.echoes.has_filter;
                let config = data_config_of(values).filter(|config| config.is_valid(has_filter));
                self.now.data = config.ok_or(Refusal::InvalidData)?;
            }
            ("FREchoFilter", [Value::U8(filter)]) if is_known => {
                self.now.echo_filter = match filter {
                    0 => EchoFilter::First,
                    1 => EchoFilter::All,
                    2 => EchoFilter::Last,
                    _ => return Err(Refusal::InvalidData),
                };
            }
            ("LCMcfg", values) => {
                // Hosts write numbers of four bytes, and read numbers of two.
                let narrow = |value: &Value| match value {
                    Value::U32(number) => u16::try_from(*number).map(Value::U16),
                    other => Ok(other.clone()),
                };
                let values: Result<Vec<Value>, _> = values.iter().map(narrow).collect();
                self.now.stored.insert("LCMcfg", values.map_err(|_| Refusal::InvalidData)?);
            }
            (name, _) => match self.now.stored.get_mut(name).filter(|_| is_known) {
                Some(stored) => *stored = values,
                None => return Err(Refusal::UnknownVariable),
            },
        }
        Ok(Answer::Telegram(Telegram::new(Kind::WriteAnswer, &name, Vec::new())))
    }

    fn set_output_range(&mut self, values: &[Value]) -> Result<(), Refusal> {
        let [Value::U16(sectors), Value::U32(resolution), Value::I32(start), Value::I32(stop)] =
            values
        else {
            return Err(Refusal::InvalidData);
        };
        let is_known = |mode: &ScanMode| mode.resolution.abs_diff(*resolution) <= 1;
        if *sectors != 1 || start > stop || !self.profile.scan.modes.iter().any(is_known) {
            return Err(Refusal::InvalidData);
        }
        let [first, last] = self.profile.scan.field;
        if *start < first || *stop > last {
            // An LMS111 gave this answer when a host requested -90 to 270 degrees.
            return Err(Refusal::LocalConditionFailed);
        }
        if self.now.output_range != [*start, *stop] {
            self.now.output_range = [*start, *stop];
            self.begin_anew();
        }
        Ok(())
    }

    fn call(&mut self, now: SimTime, client: usize, call: Telegram) -> Result<Answer, Refusal> {
        let level = self.clients[client].level;
        let needs_login = !matches!(call.name.as_str(), "SetAccessMode" | "CheckPassword" | "Run");
        if needs_login && level < CLIENT {
            return Err(Refusal::AccessDenied);
        }
        let values = match (call.name.as_str(), &call.values[..]) {
            ("SetAccessMode", [Value::U8(level), Value::U32(hash)]) => {
                let is_right = self.is_password(*level, *hash);
                if is_right {
                    self.clients[client].level = *level;
                }
                vec![Value::U8(is_right.into())]
            }
            ("CheckPassword", [Value::U8(level), Value::U32(hash)]) => {
                vec![Value::U8(self.is_password(*level, *hash).into())]
            }
            ("SetPassword", [Value::U8(level), Value::U32(hash)]) => {
                let passwords = self.now.passwords.iter_mut();
                // A host can change passwords only up to its own login level.
                let own = self.clients[client].level;
                let known = passwords.filter(|known| known.level <= own);
                let known = known.into_iter().find(|known| known.level == *level);
                let is_set = known.map(|known| known.hash = *hash).is_some();
                vec![Value::U8(is_set.into())]
            }
            ("LSPsetdatetime", values) => {
                let shown = clock_time_of(values).ok_or(Refusal::InvalidData)?;
                let is_set = self.clocks.set(now, &shown).is_some();
                vec![Value::U8(is_set.into())]
            }
            ("mDOSetOutput", [Value::U8(number), Value::U8(state)]) => {
                let changed = self.outputs.set(now, *number, *state);
                self.outputs_changed |= changed.unwrap_or(false);
                vec![Value::U8(changed.is_some().into())]
            }
            ("LIDrstoutpcnt", _) => {
                self.outputs.reset_changes();
                self.outputs_changed = true;
                vec![Value::U8(0)]
            }
            ("mSCloadfacdef" | "mSCloadappdef", _) => {
                self.adopt(now, self.factory.clone());
                Vec::new()
            }
            ("mSCreboot", _) => {
                self.reboots = true;
                Vec::new()
            }
            ("Run", _) => {
                self.clients[client].level = 0;
                vec![Value::U8(self.profile.protocol.run_result)]
            }
            ("mLMPsetscancfg", values) => {
                let mut answer = vec![Value::U8(self.set_scan(now, values)?)];
                answer.extend(self.scan_config());
                answer
            }
            ("LMCstartmeas", _) => {
                self.start_measuring(now);
                vec![Value::U8(0)]
            }
            ("LMCstopmeas", _) => {
                self.enter(now, Phase::Stopped);
                vec![Value::U8(0)]
            }
            ("LMCstandby", _) => {
                self.enter(now, Phase::Standby);
                vec![Value::U8(0)]
            }
            ("mEEwriteall", _) => {
                self.saved = self.now.clone();
                vec![Value::U8(1)]
            }
            _ => return Err(Refusal::UnknownMethod),
        };
        Ok(Answer::Telegram(Telegram::new(Kind::CallAnswer, &call.name, values)))
    }

    fn is_password(&self, level: u8, hash: u32) -> bool {
        self.now.passwords.iter().any(|known| (known.level, known.hash) == (level, hash))
    }

    /// Changes the scan mode; returns a result code of mLMPsetscancfg.
    fn set_scan(&mut self, now: SimTime, values: &[Value]) -> Result<u8, Refusal> {
        let [
            Value::U32(frequency),
            Value::U16(sectors),
            Value::U32(resolution),
            Value::I32(start),
            Value::I32(stop),
        ] = values
        else {
            return Err(Refusal::InvalidData);
        };
        let modes = &self.profile.scan.modes;
        let has_frequency = |mode: &&ScanMode| mode.frequency_centihz == *frequency;
        let has_resolution = |mode: &&ScanMode| mode.resolution.abs_diff(*resolution) <= 1;
        let [first, last] = self.profile.scan.field;
        let is_inside = first <= *start && start <= stop && *stop <= last;
        let mode = modes.iter().filter(has_frequency).find(has_resolution).copied();
        Ok(match (mode, is_inside) {
            _ if *sectors != 1 => set_scan::OTHER,
            (Some(mode), true) => {
                self.change_mode(now, mode);
                set_scan::DONE
            }
            (Some(_), false) => set_scan::AREA,
            (None, _) if !modes.iter().any(|mode| has_frequency(&mode)) => set_scan::FREQUENCY,
            (None, true) => set_scan::RESOLUTION,
            (None, false) => set_scan::RESOLUTION_AND_AREA,
        })
    }

    fn subscribe(&mut self, client: usize, dialect: Dialect, telegram: Telegram) -> Answer {
        let wanted = telegram.values.first() != Some(&Value::U8(0));
        if telegram.name == "LMDscandata" {
            self.clients[client].stream = wanted.then_some(dialect);
            if wanted {
                // The subscription starts with scans that begin after this time, so the answer is not mixed with a
                // scan.
                self.clients[client].stream_from = self.mirror.first_from(self.clock);
            }
        }
        self.subscribe_event(client, &telegram.name, wanted.then_some(dialect));
        let values = vec![Value::U8(wanted.into())];
        Answer::Telegram(Telegram::new(Kind::SubscribeAnswer, &telegram.name, values))
    }
}

fn clock_time_of(values: &[Value]) -> Option<ClockTime> {
    let [
        Value::U16(year),
        Value::U8(month),
        Value::U8(day),
        Value::U8(hour),
        Value::U8(minute),
        Value::U8(second),
        Value::U32(microsecond),
    ] = *values
    else {
        return None;
    };
    Some(ClockTime { year, month, day, hour, minute, second, microsecond })
}

fn data_config(config: &DataConfig) -> Vec<Value> {
    let bytes = [
        config.channels[0],
        config.channels[1],
        config.remission,
        config.is_16_bit,
        config.unit,
        config.encoder[0],
        config.encoder[1],
        config.position,
        config.name,
        config.comment,
        config.time,
    ];
    bytes.into_iter().map(Value::U8).chain([Value::U16(config.interval)]).collect()
}

fn data_config_of(values: &[Value]) -> Option<DataConfig> {
    let (Value::U16(interval), bytes) = values.split_last()? else { return None };
    let bytes: Option<Vec<u8>> = bytes
        .iter()
        .map(|value| match value {
            Value::U8(byte) => Some(*byte),
            _ => None,
        })
        .collect();
    let bytes: [u8; 11] = bytes?.try_into().ok()?;
    Some(DataConfig {
        channels: [bytes[0], bytes[1]],
        remission: bytes[2],
        is_16_bit: bytes[3],
        unit: bytes[4],
        encoder: [bytes[5], bytes[6]],
        position: bytes[7],
        name: bytes[8],
        comment: bytes[9],
        time: bytes[10],
        interval: *interval,
    })
}
