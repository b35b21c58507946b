//! State of the host's clock: its source, and whether a service synchronises it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::clock::ClockOffset;

/// File with the name of the counter that drives the kernel's clock, as a path relative to `/`.
pub const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
/// `TIME_ERROR` of `timex.h`: the clock is not synchronised.
const TIME_ERROR: i32 = 5;

/// State of the host's clock at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockState {
    /// Name of the counter that drives the clock; `None` if it is unknown.
    pub source: Option<String>,
    /// Whether a service (NTP, PTP by phc2sys) synchronises the clock, as the kernel reports it; `None` if it is
    /// unknown.
    pub is_synchronised: Option<bool>,
    /// Maximum error of the clock as the kernel reports it (`maxerror` of `adjtimex`), microseconds; `None` if it is
    /// unknown.
    pub max_error_us: Option<f64>,
    /// Estimated error of the clock as the kernel reports it (`esterror`), microseconds; `None` if it is unknown.
    pub estimated_error_us: Option<f64>,
    /// Frequency correction by the kernel, parts per million; `None` if it is unknown.
    pub frequency_ppm: Option<f64>,
    /// TAI minus UTC in the kernel, seconds; 0 if no service has set it, `None` if it is unknown.
    pub tai_minus_utc_s: Option<i32>,
    /// Uncertainty of a comparison of the real-time clock with the monotonic one, microseconds.
    pub comparison_us: f64,
}

impl ClockState {
    /// Reads the current state. `offset` is a current comparison of the real-time clock with the monotonic clock.
    pub fn now(offset: &ClockOffset) -> Self {
        let source = std::fs::read_to_string(Path::new("/").join(CLOCK_SOURCE));
        let source = source.ok().map(|name| name.trim().to_owned());
        let comparison_us = offset.uncertainty_ns as f64 / 1e3;
        let Some((state, timex)) = kernel_state() else {
            return Self { source, comparison_us, ..Self::default() };
        };
        Self {
            source,
            is_synchronised: Some(state != TIME_ERROR),
            max_error_us: Some(timex.maxerror as f64),
            estimated_error_us: Some(timex.esterror as f64),
            // `adjtimex` reports parts per million times 65536.
            frequency_ppm: Some(timex.freq as f64 / 65_536.0),
            tai_minus_utc_s: Some(timex.tai),
            comparison_us,
        }
    }

    /// Source and synchronisation as text, for example `tsc, synchronised within 2.3 ms`.
    pub fn describe(&self) -> String {
        let source = self.source.as_deref().unwrap_or("unknown source");
        let synchronised = match (self.is_synchronised, self.max_error_us) {
            (Some(true), Some(error)) => format!("synchronised within {:.1} ms", error / 1e3),
            (Some(true), None) => "synchronised".to_owned(),
            (Some(false), _) => "not synchronised (no NTP, no PTP)".to_owned(),
            (None, _) => "synchronisation unknown".to_owned(),
        };
        format!("{source}, {synchronised}")
    }
}

/// Reads the kernel's synchronisation state without changing it: result and data of `adjtimex`, or `None` on an error.
#[allow(unsafe_code)] // one system call that no library has
fn kernel_state() -> Option<(i32, nix::libc::timex)> {
    // SAFETY: all fields of `timex` are numbers, so zeros are valid. With `modes` 0, the call changes nothing.
    let mut timex: nix::libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into our own struct and keeps no pointer to it.
    let state = unsafe { nix::libc::adjtimex(&raw mut timex) };
    (state >= 0).then_some((state, timex))
}

#[cfg(test)]
mod tests {
    use nix::libc;

    use super::*;

    #[test]
    fn the_kernel_answers() {
        let state = ClockState::now(&ClockOffset { offset_ns: 0, uncertainty_ns: 150 });
        assert_eq!(state.comparison_us, 0.15);
        // The kernel also reports the synchronisation by flags.
        let (_, timex) = kernel_state().expect("the kernel's answer");
        let is_kept_right = timex.status & (libc::STA_UNSYNC | libc::STA_CLOCKERR) == 0;
        assert_eq!(state.is_synchronised, Some(is_kept_right));
        let (max, estimated) = (state.max_error_us.unwrap(), state.estimated_error_us.unwrap());
        assert!(max >= 0.0 && estimated >= 0.0, "{max} {estimated}");
        // Linux limits the frequency correction to 500 ppm.
        assert!(state.frequency_ppm.unwrap().abs() <= 500.0, "{state:?}");
    }

    #[test]
    fn what_keeps_the_clock_right_is_described() {
        for (is_synchronised, max_error_us, described) in [
            (Some(true), Some(2345.0), "tsc, synchronised within 2.3 ms"),
            (Some(true), None, "tsc, synchronised"),
            (Some(false), Some(16e6), "tsc, not synchronised (no NTP, no PTP)"),
            (None, None, "tsc, synchronisation unknown"),
        ] {
            let source = Some("tsc".to_owned());
            let state = ClockState { source, is_synchronised, max_error_us, ..Default::default() };
            assert_eq!(state.describe(), described);
        }
        assert!(ClockState::default().describe().starts_with("unknown source, "));
    }
}
