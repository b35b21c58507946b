//! Web interface of the unit: its state as JSON, forms that change it, and a page with both.
//!
//! Sources: VLS-128 manual (status, diagnosis), Autoware's and Nebula's clients (info, settings,
//! snapshot), MRPT and public configuration scripts (forms).

mod forms;
mod page;
mod state;

use super::Velodyne;
use super::control::Configuration;
use super::control::Mode;
use crate::time::SimTime;
use crate::velodyne::web_settings::WebProfile;
use crate::wire::http::{HttpMethod, HttpRequest, HttpResponse};
use crate::{Device as _, REACTION_NS};

/// State of the web interface in addition to the configuration.
#[derive(Clone, Debug)]
pub(super) struct Web {
    /// The profile's data for the web interface: identity, restart time, voltages and currents.
    pub profile: WebProfile,
    /// Configuration after a reset.
    pub saved: Configuration,
    /// Time at which the latest restart ends.
    pub up_at: SimTime,
}

impl Velodyne {
    /// Answer to a request that arrived at `now`.
    pub(super) fn answer(&mut self, now: SimTime, request: &HttpRequest) -> HttpResponse {
        self.advance(now);
        if self.is_down() {
            return HttpResponse::text(503, "the unit restarts");
        }
        let path = request.path.trim_end_matches('/');
        match (request.method, path) {
            (HttpMethod::Get, "" | "/index.html") => page::page(self),
            (HttpMethod::Get, path) => match state::document(self, path) {
                Some(json) => HttpResponse {
                    status: 200,
                    content_type: "application/json",
                    body: json.to_string().into_bytes(),
                },
                None => not_there(path, forms::is_form(path)),
            },
            (HttpMethod::Post, "/cgi/save") => {
                self.web.saved = self.configuration.clone();
                done()
            }
            (HttpMethod::Post, "/cgi/reset") => {
                self.reset();
                done()
            }
            (HttpMethod::Post, path) if forms::is_form(path) => {
                match forms::apply(path, &request.body, &self.configuration, &self.limits) {
                    Ok(wanted) => {
                        self.configure(wanted);
                        done()
                    }
                    Err(why) => HttpResponse::text(400, &why),
                }
            }
            (HttpMethod::Post, path) => not_there(path, state::document(self, path).is_some()),
            (HttpMethod::Put | HttpMethod::Delete | HttpMethod::Other, _) => {
                HttpResponse::text(405, "GET and POST only")
            }
        }
    }

    /// Whether the unit is restarting. It then answers HTTP requests with status 503 and ignores its other inputs.
    pub(super) fn is_down(&self) -> bool {
        self.stream.now < self.web.up_at
    }

    /// Restarts with the saved configuration: packets stop and the rotor slows down. After the restart, packets and rotor
    /// start again, and the clock starts as at power-on.
    fn reset(&mut self) {
        let down_at = SimTime(self.stream.now.0 + REACTION_NS);
        let up_at = SimTime(down_at.0 + self.web.profile.reset_ns);
        let saved = self.web.saved.clone();
        self.send_to(up_at, saved.host.clone());
        self.configuration = saved;
        self.web.up_at = up_at;
        self.clock.restart(up_at);
        self.position.restart(up_at);
        self.boards.restart(up_at);
        let mode = self.configuration.mode();
        let phase = self.wanted_phase();
        let program = &mut self.stream.program;
        program.set_mode(down_at, Mode { is_up: false, ..mode });
        program.set_mode(up_at, mode);
        program.set_drive(down_at, 0, None);
        program.set_drive(up_at, self.configuration.rpm, phase);
        self.stream.plan_again(down_at);
    }
}

/// Answer to an accepted form.
fn done() -> HttpResponse {
    HttpResponse { status: 204, content_type: "text/plain", body: Vec::new() }
}

fn not_there(path: &str, is_there_otherwise: bool) -> HttpResponse {
    match is_there_otherwise {
        true => HttpResponse::text(405, "not by this method"),
        false => HttpResponse::text(404, &format!("there is no {path}")),
    }
}
