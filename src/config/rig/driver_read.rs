//! Source of drive commands in a rig: one drive base, or twists; not both.

use super::cable_read::Cabled;
use super::{RobotConfig, TrajectoryConfig};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Text};

const NOTE: &str =
    "limit from the rig format: exactly one source of drive commands, a drive base or `twist`";

/// Rejects a drive base on a robot that is not driven, several sources of drive commands, and a driven robot without
/// a source. Errors are reported at `field`.
pub(super) fn check(
    devices: &[Option<Cabled>],
    robot: Option<&(RobotConfig, Place)>,
    field: &Field<'_>,
) {
    let bases = devices.iter().flatten().filter(|entry| entry.device.profile.product.drives);
    let names: Vec<&Text> = bases.filter_map(|entry| entry.name.as_ref()).collect();
    let Some((robot, trajectory)) = robot else { return };
    let Some(first) = names.first() else {
        if let TrajectoryConfig::Drive(drive) = &robot.trajectory
            && drive.twist.is_none()
            && devices.iter().all(Option::is_some)
        {
            let label = "add `twist = \"ADDRESS:PORT\"` here, or a drive base to the devices";
            field.fault(
                trajectory
                    .fault("this driven robot has no source of drive commands", label)
                    .note(NOTE),
            );
        }
        return;
    };
    let TrajectoryConfig::Drive(drive) = &robot.trajectory else {
        let title = format!("`{}` is a drive base, but the robot is not driven", first.value);
        let fault = first.place.fault(title, "its commands cannot move the robot");
        let label = "allowed: kind = \"drive\"";
        field.fault(fault.related(trajectory, label).note(NOTE));
        return;
    };
    if drive.twist.is_some() {
        let title = format!("`{}` drives the robot, and so does `twist`", first.value);
        let fault = first.place.fault(title, "remove this device, or `twist`");
        field.fault(fault.related(trajectory, "its `twist` is here").note(NOTE));
    }
    for second in names.iter().skip(1) {
        let title = format!("`{}` and `{}` both drive the robot", first.value, second.value);
        let fault = second.place.fault(title, "again here");
        field.fault(fault.related(&first.place, "first here").note(NOTE));
    }
}
