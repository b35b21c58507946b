//! Commands: their effects and answers.

use super::{Capture, Format, Pattern, SickLms2xx, Task};
use crate::commands::{CommandTable, Conduct};
use crate::sick_lms2xx::profile::SickLms2xxProfile;
use crate::time::SimTime;
use crate::wire::sick_lms2xx::command::{Command, Mode};
use crate::wire::sick_lms2xx::configuration::Configuration;
use crate::wire::sick_lms2xx::data::Unit;
use crate::wire::sick_lms2xx::frame::{MAX_PAYLOAD, OVERHEAD};
use crate::wire::sick_lms2xx::reply::{Body, SwitchResult};
use crate::wire::sick_lms2xx::status::State;
use crate::wire::sick_lms2xx::{LineRate, Variant};

/// Name of the maker in the status telegram.
const MANUFACTURER: [u8; 8] = *b"SICK AG\0";

/// Table of all commands; those that this firmware lacks are marked as refused.
pub fn table(profile: &SickLms2xxProfile) -> CommandTable {
    let mut table = CommandTable::parse("LMS 2xx telegrams", include_str!("commands.csv"));
    for row in &mut table.rows {
        let is_reflectivity = matches!(row.code, "44" | "20 50") && !profile.reflectivity.telegrams;
        let is_variant = row.code == "3B" && !profile.scan.can_switch_variant;
        if is_reflectivity || is_variant {
            row.conduct = Conduct::Refused;
        }
    }
    table
}

impl SickLms2xx {
    /// Executes an acknowledged command and replies.
    pub(super) fn answer(&mut self, at: SimTime, command: Command) {
        let body = match command {
            Command::Reset => return self.reset(at),
            Command::Switch(mode) => return self.switch(at, mode),
            Command::RequestScan { .. } => return self.measure(at, Format::Scan),
            Command::RequestMean { scans } => return self.measure(at, Format::Mean { scans }),
            Command::RequestSubrange(part) => return self.measure(at, Format::Subrange(part)),
            Command::RequestMeanSubrange { scans, part } => {
                return self.measure(at, Format::MeanSubrange { scans, part });
            }
            Command::RequestReflectivity(part) if self.profile.reflectivity.telegrams => {
                return self.measure(at, Format::Reflectivity(part));
            }
            Command::RequestRemission(parts) => return self.measure(at, Format::Remission(parts)),
            Command::Status => Body::Status(Box::new(self.state(at))),
            Command::Errors => Body::Errors(self.errors(at)),
            Command::OperatingData => Body::OperatingData {
                operating_time: self.profile.identity.operating_hours / 2,
                power_on_count: self.profile.identity.power_on_count.wrapping_add(self.boots),
            },
            Command::Type => Body::Type { text: self.type_text() },
            Command::SwitchVariant(variant) => self.switch_variant(variant),
            Command::PermanentRate(keep) => {
                self.stored.keeps_rate = keep;
                Body::PermanentRate { accepted: true }
            }
            Command::Configuration => Body::Configuration(self.configuration_bytes()),
            Command::Configure(bytes) => self.configure(&bytes),
            Command::RequestReflectivity(_) | Command::Other { .. } => Body::IncorrectCommand,
        };
        self.send(at, body);
        self.finish();
    }

    fn reset(&mut self, at: SimTime) {
        self.send(at, Body::ResetConfirmed);
        self.start(at);
    }

    /// Changes the baud rate as soon as all queued bytes are sent.
    pub(super) fn change_rate(&mut self, rate: LineRate) {
        if rate != self.rate {
            self.rate = rate;
            self.uart.change_rate(self.uart.free_at(), rate.baud());
        }
    }

    fn switch(&mut self, at: SimTime, mode: Mode) {
        let refused = |result| Body::Switched(result);
        let done = Body::Switched(SwitchResult::Done);
        let body = match &mode {
            Mode::Installation { password } | Mode::PasswordTest { password }
                if *password != self.settings.password =>
            {
                refused(SwitchResult::WrongPassword)
            }
            // A password of the wrong length counts as a wrong password.
            Mode::Other { code: 0x00 | 0x30, .. } => refused(SwitchResult::WrongPassword),
            Mode::Other { .. } => Body::IncorrectCommand,
            Mode::Reflectivity(_) if !self.profile.reflectivity.telegrams => Body::IncorrectCommand,
            Mode::PasswordTest { .. } => done,
            Mode::Rate(rate) if self.profile.line.rates.contains(rate) => {
                self.send(at, done);
                self.change_rate(*rate);
                // The stream continues at the new rate.
                if self.stream.is_some() {
                    self.enter(self.mode.clone());
                }
                return self.finish();
            }
            Mode::Rate(_) => refused(SwitchResult::Fault),
            Mode::Installation { .. } | Mode::Diagnostic | Mode::OnRequest => {
                self.send(at, done);
                self.enter(mode);
                return self.finish();
            }
            _ if self.can_stream(&mode) => {
                self.send(at, done);
                self.enter(mode);
                return self.finish();
            }
            _ => refused(SwitchResult::Fault),
        };
        self.send(at, body);
        self.finish();
    }

    fn can_stream(&self, mode: &Mode) -> bool {
        self.stream_format(mode).is_some_and(|(pattern, format)| self.can_send(&pattern, &format))
    }

    /// Whether the scanner can send scans with `pattern` in `format`, without exceeding the maximum telegram length.
    fn can_send(&self, pattern: &Pattern, format: &Format) -> bool {
        format.fits(pattern.values())
            && self.encoder().telegram_len(pattern, format) <= MAX_PAYLOAD + OVERHEAD
    }

    /// Starts to measure the next scans, for a reply with their values. Rejects the command if the values do not fit
    /// into a telegram. Sends no reply if a stall holds the mirror during these scans.
    fn measure(&mut self, at: SimTime, format: Format) {
        let pattern = Pattern::whole(&self.profile, self.stored.variant, format.scans());
        if !self.can_send(&pattern, &format) {
            self.send(at, Body::IncorrectCommand);
            return self.finish();
        }
        self.look(at, pattern, format);
    }

    /// Starts to measure the next scans for a reply. Sends no reply if a stall holds the mirror during these scans.
    pub(super) fn look(&mut self, at: SimTime, pattern: Pattern, format: Format) {
        let capture = Capture::starting_from(&self.mirror, pattern, at);
        if self.mirror.held_between(at, capture.ends(&self.mirror)).is_some() {
            return self.finish();
        }
        self.task = Some(Task::Measure { capture, format });
    }

    /// Changes angle and resolution and stops the stream. Installation mode remains, because the driver of Player
    /// configures the scanner after this command.
    fn switch_variant(&mut self, variant: Variant) -> Body {
        let accepted =
            self.profile.scan.can_switch_variant && self.profile.scan.variants.contains(&variant);
        if accepted {
            self.stored.variant = variant;
            if self.stream.is_some() {
                self.enter(Mode::OnRequest);
            }
        }
        Body::VariantSwitched { accepted, variant: self.stored.variant }
    }

    /// Changes the configuration; only in installation mode, and only to supported values.
    fn configure(&mut self, bytes: &[u8]) -> Body {
        let wanted = self.stored.configuration.overlaid(bytes);
        let accepted = matches!(self.mode, Mode::Installation { .. }) && self.is_possible(&wanted);
        if accepted {
            self.stored.configuration = wanted;
        }
        Body::Configured { accepted, configuration: self.configuration_bytes() }
    }

    fn is_possible(&self, configuration: &Configuration) -> bool {
        let mode = configuration.measuring_mode();
        self.profile.configuration.measuring_modes.iter().any(|known| known.code() == mode)
            && Unit::from_code(configuration.unit()).is_some()
    }

    fn configuration_bytes(&self) -> Vec<u8> {
        self.stored.configuration.bytes()[..self.profile.configuration.length].to_vec()
    }

    fn state(&self, at: SimTime) -> State {
        let configuration = &self.stored.configuration;
        State {
            software_version: self.profile.identity.software_version,
            operating_mode: self.mode.code(),
            device_status: u8::from(self.error_level(at) >= 3),
            manufacturer: MANUFACTURER,
            variant_type: self.profile.identity.variant_type,
            motor_revolutions: match self.is_held(at) {
                true => 0,
                false => (self.profile.scan.mirror_millihertz * 60 / 1000) as u16,
            },
            measuring_mode: configuration.measuring_mode(),
            angle_deg: self.stored.variant.angle_deg,
            resolution_centideg: self.stored.variant.resolution_centideg,
            restart_mode: configuration.restart_mode(),
            line_rate_word: self.rate.status_word(),
            evaluation_number: 1,
            permanent_rate: u8::from(self.stored.keeps_rate),
            address: self.settings.address,
            field_set: 1,
            unit: configuration.unit(),
            boot_version: self.profile.identity.boot_version,
            ..State::default()
        }
    }
}
