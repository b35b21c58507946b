//! Any bytes from a host to a turning head: the unit does not panic, moves only its own joint, and due times never
//! decrease. Each parsed line or command is encoded to its original bytes.

use super::frames;
use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::devices::{Output, build};
use menura::time::{Epoch, SimTime};
use menura::wire::joint_lines::{Command, Lines};
use menura::world::actuation::Actuation;
use std::sync::LazyLock;

const RIG: &str = r#"
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[joint]]
name = "head"
limits_deg = [-10.0, 400.0]
motion = { kind = "commanded", max_rate_deg_s = 100.0, max_acceleration_deg_s2 = 500.0 }
[[device]]
name = "head"
profile = "menura-turning-head"
mount = { parent = "head" }
link = { pty = "head" }
"#;

static UNIT: LazyLock<Rig> = LazyLock::new(|| {
    Rig::parse("rig", RIG, std::path::Path::new(""), &[], catalogue()).expect("a sound rig")
});

pub fn run(bytes: &[u8]) {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    frames::come_back(Lines, bytes, |frame, out| frame.emit(out));
    for line in bytes.split(|byte| *byte == b'\r') {
        let Some(command) = Command::parse(line) else { continue };
        let mut again = Vec::new();
        command.emit(&mut again);
        assert_eq!(again, line);
    }
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let mut unit = build(&UNIT.devices[0], &Default::default(), 1, Epoch::new(start)).device;
    let mut last = SimTime::ZERO;
    for (step, piece) in bytes.chunks(cut).enumerate() {
        unit.handle_input(SimTime(step as u64 * 1_000_000), piece);
        while let Some(transmit) = unit.poll_transmit() {
            match transmit.output {
                Output::Bytes(_) => {
                    assert!(transmit.due >= last);
                    last = transmit.due;
                }
                Output::Actuate(Actuation::JointRate { joint: 0, rate_rad_s }) => {
                    assert!(rate_rad_s.abs() < 2.0);
                }
                Output::Actuate(Actuation::JointAngle { joint: 0, angle_rad, .. }) => {
                    assert!((-0.2..7.0).contains(&angle_rad));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
