use super::*;
use crate::config::rig::drive::DriveModel;
use crate::world::actuation::Actuation;
use crate::world::raycast::BvhCaster;
use crate::world::scene::Scene;
use std::sync::Arc;

#[test]
fn a_step_of_the_treads_has_the_papers_lag() {
    let model = DriveModel::SkidSteer { y_icr_m: 0.45, max_speed_m_s: 0.68, lag_s: 0.035 };
    let config = DriveConfig { model, position_m: [0.0; 3], yaw_rad: 0.0, twist: None };
    let driven = Driven::new(config);
    let actuation = Actuation::Treads { left_m_s: 0.3, right_m_s: 0.3 };
    driven.command(Command { at: SimTime::ZERO, serial: 1, arrived: SimTime::ZERO, actuation });
    let caster = BvhCaster::new(Arc::new(Scene::default())).unwrap();
    driven.advance(SimTime(35_000_000), &caster);
    let reached = driven.state(SimTime(35_000_000)).velocity_m_s.x / 0.3;
    assert!((reached - (1.0 - libm::exp(-1.0))).abs() < 1e-9, "{reached}");
    assert_eq!(driven.shown_at(SimTime(1_000_000)).unwrap().serial, 1);
}
