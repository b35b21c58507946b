//! Clock servo of a slave: a step if the first offset is large, then a proportional-integral (PI) control of the rate.
//!
//! Source: linuxptp 3.1.1, PI servo with the defaults for hardware timestamps.

/// Largest first offset that does not cause a step, nanoseconds.
const FIRST_STEP_NS: i128 = 20_000;
/// Largest rate correction, parts per billion.
pub const MAX_RATE_PPB: f64 = 500_000.0;
/// Proportional gain as (scale, exponent). For a Sync interval of t seconds, the gain is scale * t^exponent, at most
/// scale / t.
const PROPORTIONAL: (f64, f64) = (0.7, -0.3);
/// Integral gain, in the same form as [`PROPORTIONAL`].
const INTEGRAL: (f64, f64) = (0.3, 0.4);
/// The first rate is measured over this time, seconds, divided by the integral gain, but over at most 1000 s.
const RATE_FROM_S: f64 = 0.016;

/// Adjustment of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// No correction yet.
    Wait,
    /// Step the clock by the negative offset, and set this rate, parts per billion.
    Step(f64),
    /// Set this rate, parts per billion.
    Rate(f64),
}

/// A PI servo that adjusts a slave's clock.
#[derive(Clone, Debug, Default)]
pub struct Servo {
    stage: Stage,
    /// Integral part of the rate, parts per billion.
    drift_ppb: f64,
    has_set: bool,
    /// Offset, nanoseconds, above which the clock is stepped at any time; `None`: no such limit. A first offset above
    /// `FIRST_STEP_NS` is stepped in both cases.
    step_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Stage {
    #[default]
    Idle,
    /// First offset, and the time of its measurement on the slave's clock, nanoseconds.
    Started(i128, i128),
    Locked,
}

impl Servo {
    /// A servo that steps the clock if the first offset exceeds 20 us and, with `Some`, whenever an offset exceeds
    /// `step_ns` nanoseconds.
    pub fn new(step_ns: Option<u64>) -> Self {
        Self { step_ns, ..Self::default() }
    }

    /// Sets the offset, nanoseconds, above which the clock is stepped at any time. With `None`, only a first offset
    /// above 20 us causes a step.
    pub fn set_step(&mut self, step_ns: Option<u64>) {
        self.step_ns = step_ns;
    }

    fn steps_by(&self, offset_ns: i128) -> bool {
        self.step_ns.is_some_and(|limit_ns| offset_ns.unsigned_abs() > limit_ns.into())
    }

    /// Processes an offset measured at `at_ns` on the slave's clock; Sync messages arrive every `interval_s`.
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

    /// A servo that has already locked, with no rate correction.
    pub fn locked() -> Self {
        Self { stage: Stage::Locked, has_set: true, ..Self::default() }
    }

    /// Whether the servo has set the clock.
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
