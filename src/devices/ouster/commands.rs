//! Commands of hosts: under `sensor/cmd`, and at TCP port 7501 for firmware 2.0.
//!
//! Sources: TCP API guide; the requests of ouster-sdk 0.15.1 to firmware 2.0 and 3.1, and of 1.0.1 to firmware 2.5.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::config::{self, AUTO, Values};
use super::http::Refusal;
use super::{Ouster, documents};
use crate::time::SimTime;
use crate::wire::ouster::commands::{CommandLine, NOT_RECOGNISED};
use crate::wire::port::Peer;
use crate::{Output, Transmit};

impl Ouster {
    /// Executes a command of the host `from`; returns the content of the answer: a document, the value of a parameter,
    /// the empty object or the name of the command. `None`: unknown command.
    pub(super) fn carry_out(
        &mut self,
        command: &str,
        arguments: &str,
        from: IpAddr,
    ) -> Result<Option<Value>, Refusal> {
        Ok(Some(match command {
            "get_config_param" => {
                let (which, key) = arguments.split_once(' ').unwrap_or((arguments, ""));
                let values = match which {
                    "active" => &self.control.active,
                    "staged" => &self.control.staged,
                    _ => return Err(Refusal(400, "args are active or staged".to_owned())),
                };
                match key.trim() {
                    "" => Value::Object(values.clone()),
                    key => values.get(key).cloned().ok_or_else(|| config::unknown(key))?,
                }
            }
            "set_config_param" => {
                let wanted = match arguments.split_once(' ') {
                    Some((".", text)) => {
                        let mut wanted = config::object(text.as_bytes())?;
                        // Clients send keys of all firmware in an object; a unit ignores those that it lacks.
                        wanted.retain(|key, _| config::has(&self.profile, key));
                        wanted
                    }
                    Some((key, text)) => {
                        // Text values can come without quotes.
                        let value = serde_json::from_str(text);
                        let value = value.unwrap_or_else(|_| Value::String(text.to_owned()));
                        Values::from_iter([(key.to_owned(), value)])
                    }
                    None => return Err(Refusal(400, "args are a key and a value".to_owned())),
                };
                self.stage(&wanted, from)?;
                json!(command)
            }
            "set_udp_dest_auto" => {
                self.stage(&Values::from_iter([("udp_dest".to_owned(), json!(AUTO))]), from)?;
                json!({})
            }
            "reinitialize" => {
                self.reinitialise(self.control.staged.clone())?;
                json!({})
            }
            "save_config_params" => {
                self.control.persisted = self.control.active.clone();
                json!({})
            }
            command => {
                let document = command.strip_prefix("get_");
                return Ok(document.and_then(|name| documents::of_metadata(self, name)));
            }
        }))
    }

    /// Stages `wanted`. Each value must be possible; whether they go together is checked when they become active.
    fn stage(&mut self, wanted: &Values, from: IpAddr) -> Result<(), Refusal> {
        let staged = &self.control.staged;
        self.control.staged = config::merged(&self.profile, staged, wanted, from)?;
        Ok(())
    }

    /// Processes bytes at the TCP port; each line gets one line as answer.
    pub(super) fn hear_lines(&mut self, peer: Peer, bytes: &[u8]) {
        let now = self.stream.now;
        for line in self.hosts.hear(now, peer, bytes) {
            let Some(due) = self.hosts.due(now, peer, self.profile.interface.reply_ns) else {
                continue;
            };
            let mut answer = self.answer_line(&line, peer.from);
            answer.push('\n');
            self.stream.send(Transmit::new(due, Output::BytesTo(peer, answer.into_bytes())));
        }
    }

    /// Answer of the TCP port to a line.
    fn answer_line(&mut self, line: &CommandLine, from: IpAddr) -> String {
        let CommandLine { command, arguments } = line;
        let answer = match command.as_str() {
            "write_config_txt" => self.carry_out("save_config_params", "", from),
            // The TCP port does not have this command, which came with the web interface.
            "save_config_params" => Ok(None),
            "get_config_txt" => Ok(Some(Value::Object(self.control.persisted.clone()))),
            "get_time_info" => Ok(documents::of_path(self, "time/sensor")),
            "get_alerts" => documents::alerts(self, arguments).map(Some).map_err(Refusal::from),
            command => self.carry_out(command, arguments, from),
        };
        match answer {
            Ok(Some(answer)) if answer == json!({}) || answer == json!(command) => command.clone(),
            Ok(Some(answer)) => answer.to_string(),
            Ok(None) => NOT_RECOGNISED.to_owned(),
            Err(Refusal(_, why)) => format!("error: {why}"),
        }
    }

    /// Connects or disconnects a host at the TCP port. During a restart no host can connect.
    pub(super) fn meet(&mut self, now: SimTime, peer: Peer, connected: bool) {
        let is_refused = connected && self.is_down();
        self.hosts.handle(now, peer, connected && !is_refused);
        if is_refused {
            self.stream.send(Transmit::new(now, Output::Disconnect(peer)));
        }
    }
}
