use glam::DVec3;

use super::*;
use crate::config::rig::joint_table::JointTable;
use crate::config::toml::diagnostic::{Place, SourceFile};

fn config(
    parent: Option<usize>,
    kind: JointKind,
    axis: DVec3,
    at: [f64; 6],
    motion: JointMotion,
) -> JointConfig {
    let [x, y, z, roll, pitch, yaw] = at;
    JointConfig {
        name: "joint".into(),
        parent,
        parent_from_joint: Transform::from_rpy(DVec3::new(x, y, z), roll, pitch, yaw),
        axis: axis.normalize().to_array(),
        kind,
        limits: None,
        start: 0.2,
        motion,
        place: Place::new(&SourceFile::new("", "", ""), 0..0),
    }
}

/// A sliding mast on a swinging turret, with a tilted rotating head.
fn chain() -> Joints {
    let table = JointTable::new(&[[0.0, 0.1], [1.0, 0.6], [2.5, -0.2], [4.0, 0.3]], false);
    let configs = [
        config(
            Some(1),
            JointKind::Prismatic,
            DVec3::new(0.2, 0.0, 1.0),
            [0.1, 0.0, 0.4, 0.1, 0.0, 0.2],
            JointMotion::Table(table),
        ),
        config(
            None,
            JointKind::Revolute,
            DVec3::new(0.1, 0.3, 1.0),
            [0.3, -0.2, 0.5, 0.0, 0.2, 0.4],
            JointMotion::Sine { amplitude: 0.9, period_s: 1.7, phase_rad: 0.3 },
        ),
        config(
            Some(0),
            JointKind::Revolute,
            DVec3::new(1.0, 0.4, 0.0),
            [0.0, 0.1, 0.2, 0.3, 0.0, 0.0],
            JointMotion::ConstantRate { rate: 4.0 },
        ),
    ];
    Joints::new(&configs, &[])
}

#[test]
fn velocities_and_accelerations_are_the_derivatives_of_the_pose() {
    let joints = chain();
    let mount = Transform::<Body, Body>::from_rpy(DVec3::new(0.3, -0.2, 0.5), 0.1, 0.5, -0.4);
    for at_s in [0.4, 1.3, 2.2, 3.9, 5.0] {
        for joint in 0..3 {
            let h_ns = 200_000;
            let carrier = joints.carrier(joint);
            let point = |ns: i64| {
                let t = SimTime::from_secs_f64(at_s).0.strict_add_signed(ns);
                carrier.motion(SimTime(t)).of_point(mount)
            };
            let (before, now, after) = (point(-h_ns), point(0), point(h_ns));
            let h = h_ns as f64 * 1e-9;
            let place = |motion: &PointMotion<Body>| motion.body_from_point.translation;
            let velocity = (place(&after) - place(&before)) / (2.0 * h);
            assert!((velocity - now.velocity_m_s).length() < 2e-6, "{joint} {at_s}");
            let change = (after.velocity_m_s - before.velocity_m_s) / (2.0 * h);
            let off = (change - now.acceleration_m_s2).length();
            assert!(off < 2e-5, "{joint} {at_s}: {change} {}", now.acceleration_m_s2);
            let turned =
                after.body_from_point.rotation * before.body_from_point.rotation.conjugate();
            let rate = turned.normalize().to_scaled_axis() / (2.0 * h);
            assert!((rate - now.angular_rate_rad_s).length() < 1e-5, "{joint} {at_s}");
            let pose = carrier.pose(SimTime::from_secs_f64(at_s)) * mount;
            assert!((pose.translation - place(&now)).length() < 1e-12);
            assert!(pose.rotation.dot(now.body_from_point.rotation).abs() > 1.0 - 1e-12);
        }
    }
}

#[test]
fn a_joint_turns_right_handed_about_its_axis() {
    let head = config(
        None,
        JointKind::Revolute,
        DVec3::Z,
        [1.0, 0.0, 2.0, 0.0, 0.0, 0.0],
        JointMotion::ConstantRate { rate: std::f64::consts::FRAC_PI_2 },
    );
    let joints = Joints::new([&JointConfig { start: 0.0, ..head }], &[]);
    let pose = joints.carrier(0).pose(SimTime(1_000_000_000));
    assert!((pose.point(DVec3::X) - DVec3::new(1.0, 1.0, 2.0)).length() < 1e-12);
    assert_eq!(joints.known_until(), SimTime(u64::MAX));
    assert_eq!(joints.jammed_by(0, SimTime::ZERO), None);
}
