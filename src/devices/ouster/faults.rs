//! Faults that only an Ouster can have: alerts, shot limiting and thermal shutdown.
//!
//! Sources: firmware user manual, sections alerts and shot limiting; captures for the header's bits.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{ALERT_ID, ALERT_LEVEL, ANNOUNCED_S, DeviceFaults, FORMAT, Timed};
use crate::config::rig::schedule::Schedule;
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::time::SimTime;
use crate::wire::ouster::lidar::Header;

const SECOND_NS: u64 = 1_000_000_000;
/// Bit of the header's alert flags that is set while an alert is active.
const ALERT_ACTIVE: u8 = 0x80;
/// Mask of the number of alert events in the header's alert flags.
const ALERT_CURSOR: u8 = 0x3f;
/// Largest number of events in the alert log.
const LOGGED: u64 = 32;
/// State in the header for a reduction of up to 10 %. Each further 10 %, or part of it, adds 1: 3 for up to 20 %.
const LEAST_LIMITED: u8 = 2;
/// Largest reduction of shots, as a fraction.
const MOST_REDUCED: f64 = 0.75;

/// Fault: an alert that the unit reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Number of the alert, for example 0x01000018.
    pub id: u32,
    /// Category of the alert.
    pub category: String,
    /// `NOTICE`, `WARNING` or `ERROR`.
    pub level: &'static str,
    /// Text of the alert.
    pub message: String,
}

/// Start or end of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertEvent<'a> {
    /// The alert.
    pub alert: &'a Alert,
    /// Whether the alert starts; otherwise it ends.
    pub is_start: bool,
    /// Time of the event.
    pub at: SimTime,
    /// Number of earlier events of all alerts.
    pub cursor: u64,
}

/// Fault: the unit is hot and fires less often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShotLimiting {
    /// Fraction of the shots that are not fired, 0 to 0.75.
    pub reduction: f64,
    /// Time from the announcement to the fault, nanoseconds.
    pub announced_ns: u64,
}

/// Fault: the unit announces a thermal shutdown, and shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThermalShutdown {
    /// Time from the announcement to the fault, nanoseconds.
    pub announced_ns: u64,
}

/// Fault kind `alert`.
pub const ALERT: DeviceFaultKind = DeviceFaultKind { word: "alert", read: alert };
/// Fault kind `shot-limiting`.
pub const SHOT_LIMITING: DeviceFaultKind =
    DeviceFaultKind { word: "shot-limiting", read: shot_limiting };
/// Fault kind `thermal-shutdown`.
pub const THERMAL_SHUTDOWN: DeviceFaultKind =
    DeviceFaultKind { word: "thermal-shutdown", read: thermal_shutdown };

fn alert(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let number = Limit::new(0..=i128::from(u32::MAX), "", "the unit's alerts: 32 bits");
    let id = table.required("id").meaning(ALERT_ID).integer(&number);
    let category = table.required("category").meaning("Category of the alert.");
    let category = category.text("a word such as \"UDP_TRANSMISSION\"");
    let levels = [("NOTICE", "NOTICE"), ("WARNING", "WARNING"), ("ERROR", "ERROR")];
    let level = table.required("level").meaning(ALERT_LEVEL).choice(&levels, FORMAT);
    let message = table.required("message").meaning("Text of the alert.").text("a sentence");
    Some(Arc::new(Alert {
        id: id?,
        category: category?.value,
        level: level?,
        message: message?.value,
    }))
}

fn shot_limiting(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let share = Limit::new(0.0..=MOST_REDUCED, "", "the packet header: at most 70 to 75 %");
    let says = "Share of the shots that are not fired.";
    let reduction = table.required("reduction").meaning(says).number(&share);
    let announced_ns = announced(table);
    Some(Arc::new(ShotLimiting { reduction: reduction?, announced_ns }))
}

fn thermal_shutdown(
    table: &mut TableReader<'_>,
    _: Option<&Profile>,
) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(ThermalShutdown { announced_ns: announced(table) }))
}

fn announced(table: &mut TableReader<'_>) -> u64 {
    let seconds = Limit::new(0.0..=255.0, "s", "the packet header: one byte of seconds");
    let announced = table.optional("announced_s").meaning(ANNOUNCED_S);
    (announced.number_or(&seconds, 0.0) * 1e9).round() as u64
}

/// The faults of one unit.
#[derive(Clone, Debug, Default)]
pub struct OusterFaults {
    /// Faults of the kind `alert`.
    pub alerts: Vec<Timed<Alert>>,
    /// Faults of the kind `shot-limiting`.
    pub limits: Vec<Timed<ShotLimiting>>,
    /// Faults of the kind `thermal-shutdown`.
    pub shutdowns: Vec<Timed<ThermalShutdown>>,
}

/// Number of times at or before `at` if the first is `first` and the others follow with the period of `schedule`.
fn repetitions(schedule: &Schedule, first: SimTime, at: SimTime) -> u64 {
    let Some(past_ns) = at.0.checked_sub(first.0) else { return 0 };
    schedule.period_ns.map_or(1, |period_ns| past_ns / period_ns + 1)
}

/// Number of starts and ends of windows of `schedule` at or before `at`.
fn events(schedule: &Schedule, at: SimTime) -> u64 {
    let (opens, closes) = schedule.window(0);
    let ends = closes.map_or(0, |closes| repetitions(schedule, closes, at));
    repetitions(schedule, opens, at) + ends
}

/// Fraction of shots that are fired at `at`.
pub fn share_fired(limits: &[Timed<ShotLimiting>], at: SimTime) -> f64 {
    let active = limits.iter().filter(|limit| limit.is_on(at));
    active.map(|limit| 1.0 - limit.kind.reduction).fold(1.0, f64::min)
}

/// Seconds until an announced fault starts, rounded up (`None` if it is active or not announced at `at`), and whether it
/// is active.
fn countdown<K>(fault: &Timed<K>, announced_ns: u64, at: SimTime) -> (Option<u8>, bool) {
    if fault.is_on(at) {
        return (None, true);
    }
    let opens = fault.schedule.next_opening(at);
    let left = opens.map(|opens| opens.0 - at.0).filter(|left_ns| *left_ns <= announced_ns);
    (left.map(|left_ns| left_ns.div_ceil(SECOND_NS).min(255) as u8), false)
}

/// Time from the announcement of a fault to its start, nanoseconds; 0 for kinds that are not announced.
pub fn announced_ns(kind: &dyn FamilyData) -> u64 {
    let limiting = kind.get().map(|limiting: &ShotLimiting| limiting.announced_ns);
    let shutdown = || kind.get().map(|shutdown: &ThermalShutdown| shutdown.announced_ns);
    limiting.or_else(shutdown).unwrap_or(0)
}

impl OusterFaults {
    /// The Ouster faults among the faults of a unit.
    pub fn of(faults: &DeviceFaults) -> Self {
        Self { alerts: faults.kind(), limits: faults.kind(), shutdowns: faults.kind() }
    }

    /// Whether the unit is shut down at `at`.
    pub fn is_shut_down(&self, at: SimTime) -> bool {
        self.shutdowns.iter().any(|shutdown| shutdown.is_on(at))
    }

    /// Number of starts and ends of alerts at or before `at`, including repetitions.
    pub fn alert_events(&self, at: SimTime) -> u64 {
        self.alerts.iter().map(|alert| events(&alert.schedule, at)).sum()
    }

    /// The event at `at` of the alert with this index. Of simultaneous events, those of the first alert are first.
    fn event(&self, index: usize, is_start: bool, at: SimTime) -> AlertEvent<'_> {
        let earlier = |(other, alert): (usize, &Timed<Alert>)| match at.0.checked_sub(1) {
            _ if other < index => events(&alert.schedule, at),
            Some(before) => events(&alert.schedule, SimTime(before)),
            None => 0,
        };
        let cursor = self.alerts.iter().enumerate().map(earlier).sum();
        AlertEvent { alert: &self.alerts[index].kind, is_start, at, cursor }
    }

    /// Starts of the alerts that are active at `at`.
    pub fn active_alerts(&self, at: SimTime) -> Vec<AlertEvent<'_>> {
        let start = |(index, alert): (usize, &Timed<Alert>)| {
            let (opens, _) = alert.schedule.window(alert.schedule.window_at(at)?);
            Some(self.event(index, true, opens))
        };
        self.alerts.iter().enumerate().filter_map(start).collect()
    }

    /// The last [`LOGGED`] starts and ends of alerts at or before `at`, oldest first.
    pub fn alert_log(&self, at: SimTime) -> Vec<AlertEvent<'_>> {
        let oldest = self.alert_events(at).saturating_sub(LOGGED);
        let mut log = Vec::new();
        for (index, Timed { schedule, .. }) in self.alerts.iter().enumerate() {
            let opened = repetitions(schedule, schedule.start, at);
            for window in opened.saturating_sub(LOGGED)..opened {
                let (opens, closes) = schedule.window(window);
                log.push(self.event(index, true, opens));
                let end = closes.filter(|closes| *closes <= at);
                log.extend(end.map(|closes| self.event(index, false, closes)));
            }
        }
        log.retain(|event| event.cursor >= oldest);
        log.sort_by_key(|event| event.cursor);
        log
    }

    /// Writes alerts, shot limiting and thermal shutdown at `at` to a header; returns the fault effects of its packet.
    pub fn mark(&self, at: SimTime, header: &mut Header) -> Vec<FaultEffect> {
        let mut effects = Vec::new();
        let mut note = |fault: usize, window: Option<u64>, kind| {
            effects.extend(window.map(|window| FaultEffect { fault, window, kind }));
        };
        for alert in &self.alerts {
            if alert.is_on(at) {
                header.alert_flags |= ALERT_ACTIVE;
                note(alert.fault, alert.schedule.window_at(at), EffectKind::AlertActive);
            }
        }
        if !self.alerts.is_empty() {
            header.alert_flags |= (self.alert_events(at) as u8) & ALERT_CURSOR;
        }
        for limit in &self.limits {
            let (left_s, is_on) = countdown(limit, limit.kind.announced_ns, at);
            if is_on {
                let tenths = (limit.kind.reduction * 10.0).ceil().max(1.0) as u8;
                header.shot_limiting = header.shot_limiting.max(LEAST_LIMITED + tenths - 1);
                let percent = (limit.kind.reduction * 100.0).round() as u64;
                note(limit.fault, limit.schedule.window_at(at), EffectKind::FewerShots { percent });
            } else if let Some(left_s) = left_s {
                header.limiting_countdown_s = left_s;
                header.shot_limiting = header.shot_limiting.max(1);
            }
        }
        for shutdown in &self.shutdowns {
            if let (Some(left_s), _) = countdown(shutdown, shutdown.kind.announced_ns, at) {
                header.shutdown_countdown_s = left_s;
                header.thermal_shutdown = 1;
            }
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> SimTime {
        SimTime((seconds * 1e9).round() as u64)
    }

    fn timed<K>(kind: K) -> Timed<K> {
        let (duration_ns, period_ns) = (Some(1_000_000_000), Some(10_000_000_000));
        Timed { fault: 3, schedule: Schedule { start: s(5.0), duration_ns, period_ns }, kind }
    }

    fn marked(faults: &OusterFaults, at: SimTime) -> (Header, usize) {
        let mut header = Header::default();
        let effects = faults.mark(at, &mut header);
        (header, effects.len())
    }

    #[test]
    fn limits_are_announced_and_told_in_steps_of_ten_per_cent() {
        let limiting = ShotLimiting { reduction: 0.35, announced_ns: 3_000_000_000 };
        let faults = OusterFaults { limits: vec![timed(limiting)], ..OusterFaults::default() };
        assert_eq!(marked(&faults, s(1.9)), (Header::default(), 0));
        let (header, effects) = marked(&faults, s(2.5));
        assert_eq!((header.limiting_countdown_s, header.shot_limiting, effects), (3, 1, 0));
        let (header, effects) = marked(&faults, s(5.0));
        assert_eq!((header.limiting_countdown_s, header.shot_limiting, effects), (0, 5, 1));
        assert_eq!(share_fired(&faults.limits, s(5.5)), 0.65);
        assert_eq!(share_fired(&faults.limits, s(6.0)), 1.0);
    }

    fn alert(id: u32) -> Alert {
        Alert {
            id,
            category: "UDP_TRANSMISSION".to_owned(),
            level: "WARNING",
            message: "text".to_owned(),
        }
    }

    #[test]
    fn alerts_are_flagged_and_counted() {
        let faults = OusterFaults { alerts: vec![timed(alert(1))], ..OusterFaults::default() };
        let flags = |at| marked(&faults, at).0.alert_flags;
        assert_eq!(
            [flags(s(4.0)), flags(s(5.2)), flags(s(7.0)), flags(s(15.2))],
            [0, 0x81, 2, 0x83]
        );
    }

    #[test]
    fn the_log_has_the_last_starts_and_ends_of_alerts() {
        let schedule = Schedule { start: s(5.5), duration_ns: None, period_ns: None };
        let endless = Timed { fault: 4, schedule, kind: alert(2) };
        let alerts = vec![timed(alert(1)), endless];
        let faults = OusterFaults { alerts, ..OusterFaults::default() };
        let told = |events: Vec<AlertEvent<'_>>| -> Vec<_> {
            events.iter().map(|event| (event.cursor, event.alert.id, event.is_start)).collect()
        };
        let first = [(0_u64, 1_u32, true), (1, 2, true), (2, 1, false), (3, 1, true)];
        assert_eq!(told(faults.alert_log(s(5.2))), first[..1]);
        assert_eq!(told(faults.alert_log(s(15.2))), first);
        assert_eq!(told(faults.active_alerts(s(15.2))), [(3, 1, true), (1, 2, true)]);
        // By then, the first alert has started 51 times and ended 50 times.
        let log = told(faults.alert_log(s(505.5)));
        assert_eq!((log.len(), log[0].0, log[31]), (32, 70, (101, 1, true)));
        assert_eq!(told(faults.active_alerts(s(505.5))), [(101, 1, true), (1, 2, true)]);
    }

    #[test]
    fn a_shutdown_is_announced() {
        let shutdown = ThermalShutdown { announced_ns: 2_000_000_000 };
        let faults = OusterFaults { shutdowns: vec![timed(shutdown)], ..OusterFaults::default() };
        let (header, _) = marked(&faults, s(3.5));
        assert_eq!((header.shutdown_countdown_s, header.thermal_shutdown), (2, 1));
        assert!(faults.is_shut_down(s(5.5)) && !faults.is_shut_down(s(6.0)));
    }
}
