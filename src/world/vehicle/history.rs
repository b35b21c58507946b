//! What the vehicle did lately.

use std::collections::VecDeque;

use super::{STEP_NS, WheelState};
use crate::frames::Transform;
use crate::time::SimTime;
use crate::world::trajectory::{BodyState, ShownPose};

/// So much is kept, nanoseconds: no sensor looks back farther.
const KEPT_NS: u64 = 60_000_000_000;

/// The vehicle at the end of a step.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub at: SimTime,
    pub body: BodyState,
    pub wheels: WheelState,
    /// The order that holds.
    pub shown: Option<ShownPose>,
}

/// Samples, a step apart.
#[derive(Debug)]
pub struct History {
    samples: VecDeque<Sample>,
}

impl History {
    pub fn starting_with(first: Sample) -> Self {
        Self { samples: VecDeque::from([first]) }
    }

    pub fn push(&mut self, sample: Sample) {
        if self.samples.len() as u64 * STEP_NS > KEPT_NS {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    pub fn latest(&self) -> &Sample {
        self.samples.back().expect("there is always one")
    }

    /// The samples before and after `t`, and how far it is between them, 0 to 1.
    fn around(&self, t: SimTime) -> (&Sample, &Sample, f64) {
        let first = self.samples[0].at.0;
        let since_ns = t.0.saturating_sub(first);
        let last = self.samples.len() - 1;
        let place = ((since_ns / STEP_NS) as usize).min(last);
        let share = (since_ns % STEP_NS) as f64 / STEP_NS as f64;
        let share = if place == last { 0.0 } else { share };
        (&self.samples[place], &self.samples[(place + 1).min(last)], share)
    }

    pub fn state(&self, t: SimTime) -> BodyState {
        let (before, after, share) = self.around(t);
        let (from, to) = (&before.body, &after.body);
        let (a, b) = (&from.world_from_body, &to.world_from_body);
        BodyState {
            world_from_body: Transform::new(
                a.translation.lerp(b.translation, share),
                a.rotation.slerp(b.rotation, share),
            ),
            velocity_m_s: from.velocity_m_s.lerp(to.velocity_m_s, share),
            acceleration_m_s2: from.acceleration_m_s2.lerp(to.acceleration_m_s2, share),
            angular_rate_rad_s: from.angular_rate_rad_s.lerp(to.angular_rate_rad_s, share),
        }
    }

    pub fn wheels(&self, t: SimTime) -> WheelState {
        let (before, after, share) = self.around(t);
        let mix = |a: f64, b: f64| a + share * (b - a);
        let mix2 = |a: [f64; 2], b: [f64; 2]| [mix(a[0], b[0]), mix(a[1], b[1])];
        let (from, to) = (&before.wheels, &after.wheels);
        WheelState {
            travel_m: mix2(from.travel_m, to.travel_m),
            speed_m_s: mix2(from.speed_m_s, to.speed_m_s),
            setpoint_m_s: from.setpoint_m_s,
            steering_rad: mix(from.steering_rad, to.steering_rad),
        }
    }

    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        self.around(t).0.shown
    }
}
