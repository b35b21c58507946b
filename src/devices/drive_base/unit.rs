//! Common parts of drive base units: motors, counters, battery, transmitter.

use std::collections::VecDeque;

use super::encoders::Encoders;
use super::faults::Condition;
use super::profile::{BaseProfile, BaseSettings};
use crate::serial::uart::Uart;
use crate::time::SimTime;
use crate::world::actuation::Actuation;
use crate::{Output, Transmit};

/// Time between set points of a ramp, nanoseconds.
const RAMP_STEP_NS: u64 = 10_000_000;

/// A set point that a ramp approaches.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    since: SimTime,
    from_m_s: f64,
    to_m_s: f64,
    accel_m_s2: f64,
}

impl Ramp {
    fn at(&self, at: SimTime) -> f64 {
        let gained = self.accel_m_s2 * at.0.saturating_sub(self.since.0) as f64 * 1e-9;
        let way = self.to_m_s - self.from_m_s;
        if gained < way.abs() { self.from_m_s + gained.copysign(way) } else { self.to_m_s }
    }
}

/// Common part of a drive base unit. Motor 0 is the product's motor 1 or left motor; the rig assigns a side and a
/// direction to each motor.
pub struct Unit {
    /// Firmware profile.
    pub profile: BaseProfile,
    /// Settings of the rig.
    pub settings: BaseSettings,
    /// Transmitter of the serial line.
    pub port: Uart,
    pub(super) condition: Condition,
    pub(super) encoders: Encoders,
    pub(super) actuations: VecDeque<Transmit>,
    /// Time of power-on.
    pub(super) on_since: SimTime,
    /// Input before this time is ignored.
    pub(super) listens_from: SimTime,
    /// For each motor, the value of [`Unit::all_counts`] at which the motor's counter reads zero.
    zero: [i64; 2],
    setpoint_m_s: [f64; 2],
    ramps: [Option<Ramp>; 2],
    next_ramp: Option<SimTime>,
}

impl Unit {
    /// A unit that is just switched on.
    pub(super) fn new(profile: &BaseProfile, settings: &BaseSettings) -> Self {
        Self {
            profile: profile.clone(),
            settings: settings.clone(),
            port: Uart::new(settings.baud_rate, profile.line.transmit_buffer_bytes),
            condition: Condition::default(),
            encoders: Encoders::default(),
            actuations: VecDeque::new(),
            on_since: SimTime::ZERO,
            listens_from: SimTime::ZERO,
            zero: [0; 2],
            setpoint_m_s: [0.0; 2],
            ramps: [None; 2],
            next_ramp: None,
        }
    }

    /// Sends the answer to a command that was complete at `at`.
    pub fn reply(&mut self, at: SimTime, bytes: Vec<u8>) {
        self.report(SimTime(at.0 + self.settings.times.reply_delay_ns), bytes);
    }

    /// Sends a message at `at`, or later if a fault delays answers.
    pub fn report(&mut self, at: SimTime, bytes: Vec<u8>) {
        let at = SimTime(at.0 + self.condition.late_ns);
        self.port.send_marked(at, bytes, 0, self.condition.effects.clone());
    }

    /// The side of a motor: 0 left, 1 right.
    fn side_of(&self, motor: usize) -> usize {
        if self.settings.wheels.is_swapped { 1 - motor } else { motor }
    }

    /// Direction of a motor: 1, or -1 if it is reversed.
    fn sign_of(&self, motor: usize) -> f64 {
        let wheels = &self.settings.wheels;
        let reversed = [wheels.is_left_reversed, wheels.is_right_reversed];
        if reversed[self.side_of(motor)] { -1.0 } else { 1.0 }
    }

    /// Sets the motors' set points immediately, as speeds of their tracks in m/s; `None` leaves a motor unchanged.
    pub fn drive(&mut self, at: SimTime, motors_m_s: [Option<f64>; 2]) {
        for (motor, speed) in motors_m_s.into_iter().enumerate() {
            let Some(speed) = speed else { continue };
            self.ramps[motor] = None;
            self.setpoint_m_s[motor] = self.limited(speed);
        }
        self.actuate(at);
    }

    /// Ramps a motor to `to_m_s` with a constant acceleration; immediately if the acceleration is invalid.
    pub fn ramp(&mut self, at: SimTime, motor: usize, to_m_s: f64, accel_m_s2: f64) {
        let to_m_s = self.limited(to_m_s);
        if accel_m_s2.is_nan() || accel_m_s2 <= 0.0 {
            let mut motors = [None; 2];
            motors[motor] = Some(to_m_s);
            return self.drive(at, motors);
        }
        let from_m_s = self.setpoint_m_s[motor];
        self.ramps[motor] = Some(Ramp { since: at, from_m_s, to_m_s, accel_m_s2 });
        self.next_ramp.get_or_insert(at);
    }

    /// Sets both set points to zero immediately.
    pub fn stop(&mut self, at: SimTime) {
        self.drive(at, [Some(0.0); 2]);
    }

    fn limited(&self, speed_m_s: f64) -> f64 {
        let most = self.settings.wheels.max_speed_m_s;
        if speed_m_s.is_nan() { 0.0 } else { speed_m_s.clamp(-most, most) }
    }

    /// Sends the motors' set points to the tracks.
    pub(super) fn actuate(&mut self, at: SimTime) {
        let mut sides = [0.0; 2];
        for motor in 0..2 {
            sides[self.side_of(motor)] = self.sign_of(motor) * self.setpoint_m_s[motor];
        }
        let [left_m_s, right_m_s] = sides;
        self.tell(at, Actuation::Treads { left_m_s, right_m_s });
    }

    pub(super) fn tell(&mut self, at: SimTime, actuation: Actuation) {
        self.actuations.push_back(Transmit::new(at, Output::Actuate(actuation)));
    }

    /// Time of the next set point of a ramp.
    pub(super) fn next_ramp(&self) -> Option<SimTime> {
        self.next_ramp
    }

    /// Advances ramps to `at`.
    pub(super) fn step_ramps(&mut self, at: SimTime) {
        for motor in 0..2 {
            let Some(ramp) = self.ramps[motor] else { continue };
            self.setpoint_m_s[motor] = ramp.at(at);
            if self.setpoint_m_s[motor] == ramp.to_m_s {
                self.ramps[motor] = None;
            }
        }
        let goes_on = self.ramps.iter().any(Option::is_some);
        self.next_ramp = goes_on.then_some(SimTime(at.0 + RAMP_STEP_NS));
        self.actuate(at);
    }

    /// Whether a motor has a set point other than zero, or a ramp that is not complete.
    pub fn is_driving(&self) -> bool {
        self.ramps.iter().any(Option::is_some) || self.setpoint_m_s.iter().any(|x| *x != 0.0)
    }

    /// Whether a ramp of a motor is not complete.
    pub fn is_ramping(&self, motor: usize) -> bool {
        self.ramps[motor].is_some()
    }

    /// Set point of a motor, m/s.
    pub fn setpoint_m_s(&self, motor: usize) -> f64 {
        self.setpoint_m_s[motor]
    }

    /// Track speed that the encoder of `motor` measures, m/s.
    pub fn speed_m_s(&self, motor: usize) -> f64 {
        self.sign_of(motor) * self.encoders.speed_m_s(self.side_of(motor))
    }

    /// Speed of a motor in counts per second.
    pub fn speed_counts_s(&self, motor: usize) -> f64 {
        self.speed_m_s(motor) * self.settings.wheels.counts_per_m
    }

    /// Reading of a motor's counter, counts. The reading does not wrap, although a field in a message can be too small
    /// for it.
    pub fn counts(&self, motor: usize) -> i64 {
        self.all_counts(motor) - self.zero[motor]
    }

    /// Sets a motor's counter to `counts`.
    pub fn set_counts(&mut self, motor: usize, counts: i64) {
        self.zero[motor] = self.all_counts(motor) - counts;
    }

    /// Counts of a motor since the start of the run, independent of resets.
    pub fn all_counts(&self, motor: usize) -> i64 {
        let side = self.side_of(motor);
        let travel_m = self.sign_of(motor) * self.encoders.travel_m(side);
        let counts = (travel_m * self.settings.wheels.counts_per_m).floor();
        counts as i64 + self.encoders.jumped(side)
    }

    /// Converts counts to metres, or counts per second to m/s.
    pub fn metres(&self, counts: f64) -> f64 {
        counts / self.settings.wheels.counts_per_m
    }

    /// Current of a motor, amperes.
    pub fn current_a(&self, motor: usize) -> f64 {
        let speed_m_s = self.encoders.true_speed_m_s(self.side_of(motor));
        self.settings.power.motor_current_a_s_m * speed_m_s.abs()
    }

    /// Current of motors and electronics, amperes.
    pub fn battery_current_a(&self) -> f64 {
        self.settings.power.idle_current_a + self.current_a(0) + self.current_a(1)
    }

    /// Voltage of the main battery, volts.
    pub fn battery_v(&self) -> f64 {
        self.condition.low_battery.map_or(self.settings.power.battery_v, |(battery_v, _)| battery_v)
    }

    /// Charge of the main battery, percent.
    pub fn charge_percent(&self) -> f64 {
        self.condition.low_battery.map_or(self.settings.power.charge_percent, |(_, charge)| charge)
    }

    /// Whether the main battery's voltage is below the setting `low_battery_v`.
    pub fn is_battery_low(&self) -> bool {
        self.battery_v() < self.settings.power.low_battery_v
    }

    /// Whether the motor power is cut.
    pub fn is_stopped(&self) -> bool {
        self.condition.is_stopped
    }

    /// Time since power-on, nanoseconds.
    pub fn uptime_ns(&self, at: SimTime) -> u64 {
        at.0.saturating_sub(self.on_since.0)
    }

    /// Restarts at `at`: counters are zero, motors stop, and input is ignored until the unit has booted.
    pub fn restart(&mut self, at: SimTime) {
        self.stop(at);
        self.next_ramp = None;
        for motor in 0..2 {
            self.set_counts(motor, 0);
        }
        self.on_since = at;
        self.listens_from = SimTime(at.0 + self.profile.line.boot_ns);
    }

    /// Time from which input is accepted after the last restart.
    pub fn listens_from(&self) -> SimTime {
        self.listens_from
    }
}
