//! Wheel encoders, and the effect of faults on them.

use super::faults::Condition;
use crate::world::vehicle::WheelState;

/// Travel of the wheels, as the encoders of the two sides count it.
///
/// The counted travel of a side is `sign * travel + offset`, where `travel` is the travel of the wheel that the side's
/// encoder measures. Only a fault changes sign, wheel or offset. Without a fault, the counted travel is therefore
/// exactly the travel of the wheel.
#[derive(Clone, Debug, Default)]
pub struct Encoders {
    wheels: WheelState,
    condition: Condition,
    offset_m: [f64; 2],
    jumped: [i64; 2],
}

impl Encoders {
    /// Updates the counters to the wheel state `wheels`, with the faults that `condition` describes.
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

    /// Counted travel of a side, metres.
    pub fn travel_m(&self, side: usize) -> f64 {
        let route = self.condition.routes[side];
        route.sign * self.wheels.travel_m[route.wheel] + self.offset_m[side]
    }

    /// Sum of the jumps of a side's counter, counts.
    pub fn jumped(&self, side: usize) -> i64 {
        self.jumped[side]
    }

    /// Speed measured by a side's encoder, m/s.
    pub fn speed_m_s(&self, side: usize) -> f64 {
        let route = self.condition.routes[side];
        route.sign * self.wheels.speed_m_s[route.wheel]
    }

    /// True speed of a side's wheel, m/s.
    pub fn true_speed_m_s(&self, side: usize) -> f64 {
        self.wheels.speed_m_s[side]
    }
}
