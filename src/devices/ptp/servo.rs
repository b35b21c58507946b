//! Correction of a slave's offset: a step at first, then a proportional and an integral part of its rate.
//!
//! Sources: linuxptp 3.1.1, the PI servo with its defaults for hardware stamps, which products are built on.

/// A first offset below this is not stepped, nanoseconds.
const FIRST_STEP_NS: i128 = 20_000;
/// Rates beyond this are not ordered of a crystal, parts per billion.
pub const MAX_RATE_PPB: f64 = 500_000.0;
/// Gains of the offset and of its sum, at one synchronisation per second; at lower rates the gains are at
/// most these.
const PROPORTIONAL: (f64, f64) = (0.7, -0.3);
const INTEGRAL: (f64, f64) = (0.3, 0.4);
/// Interval over which the first rate is measured, divided by the integral part, seconds.
const RATE_FROM_S: f64 = 0.016;

/// Adjustment of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// No correction yet.
    Wait,
    /// A step by minus the offset, and this rate, parts per billion.
    Step(f64),
    /// Set this rate.
    Rate(f64),
}

/// The state of the servo.
#[derive(Clone, Debug, Default)]
pub struct Servo {
    stage: Stage,
    /// Correction of the oscillator, parts per billion.
    drift_ppb: f64,
    has_set: bool,
    /// Offsets beyond this are stepped at any time, not only the first one.
    step_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Stage {
    #[default]
    Idle,
    /// The first offset, and the slave's time at which it was measured.
    Started(i128, i128),
    Locked,
}

impl Servo {
    /// A servo that steps offsets beyond `step_ns`, or only the first.
    pub fn new(step_ns: Option<u64>) -> Self {
        Self { step_ns, ..Self::default() }
    }

    /// Sets the offset from which the clock is stepped; `None`: never.
    pub fn set_step(&mut self, step_ns: Option<u64>) {
        self.step_ns = step_ns;
    }

    fn steps_by(&self, offset_ns: i128) -> bool {
        self.step_ns.is_some_and(|limit_ns| offset_ns.unsigned_abs() > limit_ns.into())
    }

    /// Takes an offset measured at `at_ns` of the slave's clock; Sync messages arrive every `interval_s`.
    pub fn sample(&mut self, offset_ns: i128, at_ns: i128, interval_s: f64) -> Order {
        let weight = |(scale, exponent): (f64, f64)| {
            (scale * libm::pow(interval_s, exponent)).min(scale / interval_s)
        };
        let (proportional, integral) = (weight(PROPORTIONAL), weight(INTEGRAL));
        match self.stage {
            Stage::Idle => {
                self.stage = Stage::Started(offset_ns, at_ns);
                Order::Wait
            }
            Stage::Started(first_ns, began_ns) => {
                let passed_ns = at_ns - began_ns;
                if passed_ns <= 0 {
                    self.stage = Stage::Idle;
                    return Order::Wait;
                }
                if (passed_ns as f64) < (RATE_FROM_S / integral).min(1000.0) * 1e9 {
                    return Order::Wait;
                }
                let change = (offset_ns - first_ns) as f64 / passed_ns as f64;
                self.drift_ppb = limited(self.drift_ppb - change * 1e9);
                self.stage = Stage::Locked;
                let is_first = !std::mem::replace(&mut self.has_set, true);
                let steps = is_first && offset_ns.abs() > FIRST_STEP_NS || self.steps_by(offset_ns);
                match steps {
                    true => Order::Step(self.drift_ppb),
                    false => Order::Rate(self.drift_ppb),
                }
            }
            Stage::Locked if self.steps_by(offset_ns) => {
                self.stage = Stage::Idle;
                Order::Wait
            }
            Stage::Locked => {
                let part = -integral * offset_ns as f64;
                let wanted = self.drift_ppb + part - proportional * offset_ns as f64;
                let rate = limited(wanted);
                if rate == wanted {
                    self.drift_ppb += part;
                }
                Order::Rate(rate)
            }
        }
    }

    /// A servo without an offset to correct.
    pub fn locked() -> Self {
        Self { stage: Stage::Locked, has_set: true, ..Self::default() }
    }

    /// Whether the clock has been a master's.
    pub fn has_set(&self) -> bool {
        self.has_set
    }

    /// Whether the servo corrects each offset.
    pub fn is_locked(&self) -> bool {
        self.stage == Stage::Locked
    }
}

fn limited(rate_ppb: f64) -> f64 {
    rate_ppb.clamp(-MAX_RATE_PPB, MAX_RATE_PPB)
}
