//! Wheel encoders, and the effect of faults on them.

use super::faults::Condition;
use crate::world::vehicle::WheelState;

/// Travel of each wheel's circumference as counted.
///
/// A counter is a wheel's travel times a sign plus an offset. Only a fault changes sign, wheel or
/// offset, so that without one no travel is lost to rounding.
#[derive(Clone, Debug, Default)]
pub struct Encoders {
    wheels: WheelState,
    condition: Condition,
    offset_m: [f64; 2],
    jumped: [i64; 2],
}

impl Encoders {
    /// Takes the state `wheels` under `condition`.
    pub fn step(&mut self, wheels: WheelState, condition: &Condition) {
        for side in 0..2 {
            if self.condition.routes[side] != condition.routes[side] {
                let seen_m = self.travel_m(side);
                let route = condition.routes[side];
                self.offset_m[side] = seen_m - route.sign * self.wheels.travel_m[route.wheel];
            }
            self.jumped[side] += condition.jumps[side];
        }
        self.condition = condition.clone();
        self.wheels = wheels;
    }

    /// Travel that a side's counter has seen, metres.
    pub fn travel_m(&self, side: usize) -> f64 {
        let route = self.condition.routes[side];
        route.sign * self.wheels.travel_m[route.wheel] + self.offset_m[side]
    }

    /// Counts by which a side's counter has jumped.
    pub fn jumped(&self, side: usize) -> i64 {
        self.jumped[side]
    }

    /// Speed that a side's counter sees, m/s.
    pub fn speed_m_s(&self, side: usize) -> f64 {
        let route = self.condition.routes[side];
        route.sign * self.wheels.speed_m_s[route.wheel]
    }

    /// Speed at which a side's wheel truly turns, m/s.
    pub fn true_speed_m_s(&self, side: usize) -> f64 {
        self.wheels.speed_m_s[side]
    }
}
