//! Power-off, reboot, and the parameters that survive.

use std::collections::BTreeMap;

use super::scanning::Mirror;
use super::scans::DataConfig;
use super::states::Outputs;
use super::{Phase, SickLms1xx};
use crate::Output;
use crate::power_cycle::{back_at, next_cut};
use crate::sick_lms1xx::profile::{EchoFilter, Password, ScanMode};
use crate::time::SimTime;
use crate::wire::cola::Dialect;
use crate::wire::cola::telegram::Value;

/// Parameters that commands change.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub mode: ScanMode,
    pub output_range: [i32; 2],
    pub data: DataConfig,
    pub echo_filter: EchoFilter,
    pub host_dialect: Dialect,
    pub location_name: Vec<u8>,
    pub passwords: Vec<Password>,
    pub stored: BTreeMap<&'static str, Vec<Value>>,
}

impl SickLms1xx {
    pub(super) fn next_cut(&self) -> Option<SimTime> {
        let is_off = matches!(self.phase, Phase::Off { .. });
        next_cut(&self.cuts, self.done_to).filter(|_| !is_off)
    }

    /// Cuts the power at `at`.
    pub(super) fn switch_off(&mut self, at: SimTime) {
        self.hang_up(at);
        self.enter(at, Phase::Off { until: back_at(&self.cuts, at) });
    }

    /// Restarts at `at` with the saved parameters.
    pub(super) fn boot(&mut self, at: SimTime) {
        self.hang_up(at);
        let until = SimTime(at.0 + self.profile.motor.boot_ns);
        self.enter(at, Phase::Starting { until });
        self.now = self.saved.clone();
        self.outputs = Outputs::new(&self.profile.protocol, until);
        self.given_out = 0;
        self.boots += 1;
        self.clocks.uptime_ns = 0;
        self.clocks.on_since = at;
        self.clocks.set = None;
        self.mirror = Mirror::new(&self.profile, self.settings.lag_ns, self.now.mode, until, 0);
    }

    /// Applies all parameters, including the scan mode of the motor.
    pub(super) fn adopt(&mut self, now: SimTime, parameters: Parameters) {
        let mode = parameters.mode;
        self.now = Parameters { mode: self.now.mode, ..parameters };
        self.begin_anew();
        self.change_mode(now, mode);
    }

    fn hang_up(&mut self, at: SimTime) {
        for client in std::mem::take(&mut self.clients) {
            self.send(at, 0, Output::Disconnect(client.peer), &[], &Default::default());
        }
        self.happened.clear();
    }
}
