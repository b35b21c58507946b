//! The HTTP interface for clients: `/api/v1/...`.
//!
//! Sources: HTTP API guide; the requests of ouster-sdk 1.0.1 to firmware 2.4 to 3.2, and of 0.15.1 to firmware 3.1.

use serde_json::{Value, json};

use super::Ouster;
use super::config;
use super::documents;
use super::words::PtpProfile;
use crate::wire::http::{HttpMethod, HttpRequest, HttpResponse};

const PREFIX: &str = "api/v1/";
const JSON: &str = "application/json";
/// Largest size of user data, bytes.
const MAX_USER_DATA: usize = 4096;

/// Refusal of a request: HTTP status and text.
pub(super) struct Refusal(pub u16, pub String);

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self(400, why)
    }
}

/// Answer to a request, or the refusal.
type Answer = Result<HttpResponse, Refusal>;

fn document(value: &Value) -> HttpResponse {
    HttpResponse { status: 200, content_type: JSON, body: value.to_string().into_bytes() }
}

fn done() -> Answer {
    Ok(HttpResponse { status: 204, content_type: JSON, body: Vec::new() })
}

fn nowhere(path: &str) -> Refusal {
    Refusal(404, format!("there is no {path}"))
}

/// Parameters of a request's query: names and values.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes());
        Self(pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    /// Value of a boolean parameter; `None` without it. Clients write True, true or 1 for true.
    fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| value.eq_ignore_ascii_case("true") || value == "1")
    }
}

impl Ouster {
    pub(super) fn answer(&mut self, request: &HttpRequest) -> HttpResponse {
        // Some clients write double slashes.
        let parts: Vec<_> = request.path.split('/').filter(|part| !part.is_empty()).collect();
        let path = parts.join("/");
        let answer = match path.strip_prefix(PREFIX) {
            Some(path) => self.answer_api(path, request),
            None => Err(nowhere(&path)),
        };
        answer.unwrap_or_else(|Refusal(status, why)| {
            let title = if status == 404 { "Not found" } else { "Refused" };
            let body = json!({ "error": { "title": title, "description": why } });
            HttpResponse { status, ..document(&body) }
        })
    }

    fn answer_api(&mut self, path: &str, request: &HttpRequest) -> Answer {
        let query = Query::of(&request.query);
        // Firmware with the TCP port for commands has only a part of the web interface.
        let is_little = self.profile.interface.has_tcp_commands;
        if is_little && !path.starts_with("system/") && !path.starts_with("time") {
            return Err(nowhere(path));
        }
        if let Some(command) = path.strip_prefix("sensor/cmd/")
            && matches!(request.method, HttpMethod::Get | HttpMethod::Post)
        {
            return self.answer_command(command, &query, request);
        }
        match (path, request.method) {
            ("sensor/config", method) => self.answer_config(method, &query, request),
            ("user/data", method) => self.answer_user_data(method, &query, request),
            ("time/ptp/profile", HttpMethod::Put) => self.set_ptp_profile(&request.body),
            ("system/restart", HttpMethod::Post) => {
                self.restart();
                done()
            }
            ("system/cmd/reboot", HttpMethod::Post)
                if self.profile.interface.has_reboot_command =>
            {
                self.restart();
                done()
            }
            ("sensor/alerts", HttpMethod::Get) => {
                let cursor = query.get("cursor").unwrap_or_default();
                Ok(document(&documents::alerts(self, cursor)?))
            }
            (path, HttpMethod::Get) => documents::of_path(self, path)
                .map(|found| document(&found))
                .ok_or_else(|| nowhere(path)),
            (path, method) => Err(match documents::of_path(self, path).is_some() {
                true => Refusal(405, format!("{path} is not there for {method:?}")),
                false => nowhere(path),
            }),
        }
    }

    /// Sets the PTP profile, which survives restarts; the answer is the new value.
    fn set_ptp_profile(&mut self, body: &[u8]) -> Answer {
        let word: Value = serde_json::from_slice(body)
            .map_err(|_| "a PTP profile is a string of JSON".to_owned())?;
        // Whether the firmware (from 3.1 on) has the profile for PTP over Ethernet without IEEE 802.1AS.
        let has_l2 = self.profile.interface.has_return_order;
        let mut allowed = PtpProfile::WORDS
            .into_iter()
            .filter(|(_, profile)| has_l2 || *profile != PtpProfile::DefaultL2Relaxed);
        let words: Vec<_> = allowed.clone().map(|(own, _)| own).collect();
        let wanted = allowed.find(|(own, _)| word.as_str() == Some(*own));
        let (_, profile) = wanted.ok_or_else(|| format!("allowed: {}", words.join(", ")))?;
        self.clock.set_ptp_profile(self.stream.now, profile);
        Ok(document(&word))
    }

    fn answer_config(
        &mut self,
        method: HttpMethod,
        query: &Query,
        request: &HttpRequest,
    ) -> Answer {
        match method {
            HttpMethod::Get => {
                let wants_staged =
                    query.flag("staging") == Some(true) || query.get("target") == Some("staged");
                let control = &self.control;
                let values = if wants_staged { &control.staged } else { &control.active };
                Ok(document(&Value::Object(values.clone())))
            }
            HttpMethod::Post => {
                let wanted = config::object(&request.body)?;
                let staged = &self.control.staged;
                let values = config::merged(&self.profile, staged, &wanted, request.from)?;
                // Without a query, the configuration is stored and activated immediately.
                let is_plain = query.0.is_empty();
                match query.flag("reinit").unwrap_or(is_plain) {
                    true => self.reinitialise(values)?,
                    false => self.control.staged = values,
                }
                if query.flag("persist").unwrap_or(is_plain) {
                    self.control.persisted = self.control.active.clone();
                }
                done()
            }
            HttpMethod::Delete => {
                let factory = self.control.factory.clone();
                self.control.persisted = factory.clone();
                if !self.control.user_data.1 {
                    self.control.user_data.0.clear();
                }
                self.reinitialise(factory)?;
                done()
            }
            HttpMethod::Put | HttpMethod::Other => {
                Err(Refusal(405, "GET, POST and DELETE only".to_owned()))
            }
        }
    }

    /// Executes a request under `sensor/cmd`.
    fn answer_command(&mut self, command: &str, query: &Query, request: &HttpRequest) -> Answer {
        let arguments = query.get("args").unwrap_or_default();
        let answer = self.carry_out(command, arguments, request.from)?;
        answer.map(|answer| document(&answer)).ok_or_else(|| nowhere(command))
    }

    fn answer_user_data(
        &mut self,
        method: HttpMethod,
        query: &Query,
        request: &HttpRequest,
    ) -> Answer {
        const KEEP: &str = "keep_on_config_delete";
        let (text, is_kept) = &mut self.control.user_data;
        match method {
            HttpMethod::Get if query.flag("include_metadata") == Some(true) => {
                let policy = if *is_kept { KEEP } else { "clear_on_config_delete" };
                Ok(document(&json!({ "policy": policy, "value": text })))
            }
            HttpMethod::Get => Ok(document(&json!(text))),
            HttpMethod::Put => {
                let value: Value = serde_json::from_slice(&request.body)
                    .map_err(|_| "user data is a string of JSON".to_owned())?;
                let value = value.as_str().filter(|text| text.len() <= MAX_USER_DATA);
                let limit = format!("user data is a string of {MAX_USER_DATA} bytes at most");
                *text = value.ok_or(limit)?.to_owned();
                *is_kept = query.get("policy") == Some(KEEP);
                done()
            }
            HttpMethod::Delete => {
                text.clear();
                done()
            }
            HttpMethod::Post | HttpMethod::Other => {
                Err(Refusal(405, "GET, PUT and DELETE only".to_owned()))
            }
        }
    }
}
