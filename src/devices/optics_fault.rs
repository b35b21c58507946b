//! The `[[fault]]` tables of a lidar's optics. `sensors::optics_fault` has their effects.

use std::sync::Arc;

use crate::config::profile::{AngleSense, DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, TRANSMISSION};
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::optics_fault::{LidarFault, Sector};

/// Fault `laser-dead` of lidars with more than one laser.
pub const LASER_DEAD: DeviceFaultKind = DeviceFaultKind { word: "laser-dead", read: dead_lasers };
/// Fault `window-dirty` of all lidars.
pub const WINDOW_DIRTY: DeviceFaultKind =
    DeviceFaultKind { word: "window-dirty", read: dirty_window };

/// Number of lasers that is assumed for a lidar whose profile is unknown: the most of any product.
const MOST_LASERS: usize = 128;

fn dead_lasers(
    table: &mut TableReader<'_>,
    profile: Option<&Profile>,
) -> Option<Arc<dyn FamilyData>> {
    let lasers = profile.and_then(|profile| Some((&profile.name, profile.product.lidar?.lasers)));
    let (count, origin) = match lasers {
        Some((name, count)) => (count, format!("the profile: {name} has {count} lasers")),
        None => (MOST_LASERS, "the products: none has more lasers".to_owned()),
    };
    let laser = Limit::new(0..=count as i128 - 1, "", origin);
    let says = "Lasers without returns, numbered from 0 as in packets and calibration files.";
    let field = table.required("lasers").meaning(says).such_as("[3, 7]");
    let (items, place) = field.array_of(1..=usize::MAX, "numbers of lasers, such as [3, 7]")?;
    if items.is_empty() {
        field.fault(place.fault("no laser is named", "allowed: one or more, such as [3, 7]"));
    }
    let mut lasers = Vec::new();
    for item in &items {
        let Some(number) = item.integer::<u16>(&laser) else { continue };
        if lasers.contains(&number)
            && let Some(place) = item.place()
        {
            item.fault(place.fault(format!("laser {number} is named twice"), "again here"));
        }
        lasers.push(number);
    }
    Some(Arc::new(LidarFault::DeadLasers(lasers)))
}

/// Reads `window-dirty`; angles are in the convention of the device's own output.
fn dirty_window(
    table: &mut TableReader<'_>,
    profile: Option<&Profile>,
) -> Option<Arc<dyn FamilyData>> {
    let angle = Limit::new(-360.0..=360.0, "degrees", FORMAT);
    let says = "Start of the dirty sector, an angle as the device reports it.";
    let from = table.optional("from_deg").meaning(says);
    let says = "End of the dirty sector, an angle as the device reports it.";
    let to = table.optional("to_deg").meaning(says);
    let (from_deg, to_deg) = (from.number_or(&angle, 0.0), to.number_or(&angle, 360.0));
    let share = Limit::new(0.0..=1.0, "", "the share of light that passes, one way");
    let transmission = table.required("transmission").meaning(TRANSMISSION).number(&share);
    if from_deg == to_deg
        && let Some(place) = to.place().or(from.place())
    {
        to.fault(place.fault("this sector is empty", "`from_deg` and `to_deg` must differ"));
    }
    // 360 degrees or more is the whole circle; a sector from 350 to 10 degrees includes 0.
    let width_deg = match to_deg - from_deg {
        width if width >= 360.0 => 360.0,
        width => width.rem_euclid(360.0),
    };
    let angles = profile.and_then(|profile| profile.product.lidar).map(|lidar| lidar.angles);
    let from_deg = match angles {
        Some(AngleSense::CounterClockwiseFromRight) => 90.0 - from_deg - width_deg,
        Some(AngleSense::CounterClockwiseFromForward) => -from_deg - width_deg,
        // Without a known device, the table is only checked; its sector is not used.
        Some(AngleSense::ClockwiseFromForward) | None => from_deg,
    };
    let sector = Sector { from_rad: from_deg.to_radians(), width_rad: width_deg.to_radians() };
    Some(Arc::new(LidarFault::DirtyWindow { sector, transmission: transmission? }))
}
