//! Reads `[[joint]]`, and the joints that carry devices.

use std::sync::Arc;

use glam::DVec3;

use super::joint_table::JointTable;
use super::joints::{FORMAT, JointConfig, JointKind, JointMotion};
use super::parts::{Names, Pose, file_name, place_of, turn_limit};
use crate::profile::{JointRole, Product};
use crate::rig::DeviceConfig;
use crate::rig::faults::{FaultConfig, FaultKind};
use crate::rig::joints::JointJam;
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Limit, TableReader, Text};

/// Word that names the robot's body as the parent of a joint or device; the default.
const BODY: &str = "body";
/// Largest number of joints. Each joint is computed at every firing.
const MAX_JOINTS: usize = 64;
/// Largest number of joints in one chain from the body to a device.
const MAX_DEPTH: usize = 8;
/// Largest number of rows of a table.
const MAX_ROWS: usize = 10_000;
/// Largest time in a table, and longest period of a sine, seconds.
const LONGEST_S: f64 = 1e6;

/// A joint whose parent is not yet resolved.
struct Read {
    name: Option<Text>,
    parent: Option<Text>,
    joint: Option<JointConfig>,
}

/// Reads all joints of a rig: an empty list if the key is missing, `None` after an error.
pub(crate) fn joints(field: &Field<'_>) -> Option<Vec<Arc<JointConfig>>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let expected = "up to 64 of [[joint]]";
    let (items, _) = field.array_up_to(0..=MAX_JOINTS, FORMAT, expected)?;
    let mut names = Names::new("joints", "devices name joints");
    let read: Vec<Option<Read>> = items
        .iter()
        .map(|item| {
            let read = joint(item.named("joint").table("[[joint]]")?);
            if let Some(name) = &read.name {
                names.add(field, &name.value, &name.place);
            }
            Some(read)
        })
        .collect();
    let known: Vec<&str> = read
        .iter()
        .map(|read| read.as_ref().and_then(|r| r.name.as_ref()).map_or("", |n| n.value.as_str()))
        .collect();
    let parents: Vec<Option<usize>> = read
        .iter()
        .map(|read| {
            let parent = read.as_ref()?.parent.as_ref().filter(|parent| parent.value != BODY)?;
            joint_named(field, parent, &known)
        })
        .collect();
    for (place, read) in read.iter().enumerate() {
        let Some(parent) = read.as_ref().and_then(|read| read.parent.as_ref()) else { continue };
        let carriers = std::iter::successors(parents[place], |carrier| parents[*carrier]);
        // A chain of `MAX_JOINTS` carriers leads into a loop of other joints. The error is reported at those joints.
        let depth = carriers.take(MAX_JOINTS).count();
        if is_carried_by(place, place, &parents) {
            let label = "one of them must have parent = \"body\"";
            let fault = parent.place.fault("these joints carry each other in a loop", label);
            field.fault(fault.note("limit from geometry: one of them must sit on the robot"));
        } else if (MAX_DEPTH..MAX_JOINTS).contains(&depth) {
            let title = format!("{} joints carry this one", depth);
            let label = format!("allowed: up to {} between a joint and the body", MAX_DEPTH - 1);
            let fault = parent.place.fault(title, label);
            field.fault(fault.note(format!("limit from {FORMAT}")));
        }
    }
    let joints = read.into_iter().zip(parents).map(|(read, parent)| {
        let joint = read?.joint?;
        Some(Arc::new(JointConfig { parent, ..joint }))
    });
    joints.collect()
}

/// Whether `carrier` carries `joint`, directly or by other joints.
fn is_carried_by(joint: usize, carrier: usize, parents: &[Option<usize>]) -> bool {
    let carriers = std::iter::successors(parents[joint], |above| parents[*above]);
    carriers.take(parents.len()).any(|above| above == carrier)
}

/// Index in `names` of the joint that `text` names; reports an error if there is none.
fn joint_named(field: &Field<'_>, text: &Text, names: &[&str]) -> Option<usize> {
    let found = names.iter().position(|name| *name == text.value);
    if found.is_none() {
        let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        place_of(field, text, "joint", &names);
    }
    found
}

/// Names, units and documentation of the keys that depend on the kind of joint.
struct Units {
    limits: &'static str,
    start: &'static str,
    rate: &'static str,
    amplitude: &'static str,
    rows: &'static str,
    max_rate: &'static str,
    max_acceleration: &'static str,
    /// Documentation of the key for the limits.
    limits_meaning: &'static str,
    /// Documentation of the key for a constant rate.
    rate_meaning: &'static str,
    /// Documentation of the key for the largest rate.
    max_rate_meaning: &'static str,
    /// Unit of positions in messages.
    name: &'static str,
    rate_name: &'static str,
    acceleration_name: &'static str,
    /// Factor from the unit in the file to the stored unit.
    scale: f64,
    /// Largest distance of a position from zero, in the file's unit.
    most: f64,
    /// Largest rate in either direction, in the file's unit per second.
    most_rate: f64,
}

impl Units {
    fn of(kind: JointKind) -> Self {
        match kind {
            JointKind::Revolute => Self {
                limits: "limits_deg",
                start: "start_deg",
                rate: "rate_deg_s",
                amplitude: "amplitude_deg",
                rows: "rows_s_deg",
                max_rate: "max_rate_deg_s",
                max_acceleration: "max_acceleration_deg_s2",
                limits_meaning: "Lowest and highest position of a joint that turns (default: no \
                                 limits).",
                rate_meaning: "Rate of rotation; negative is left-handed about the axis.",
                max_rate_meaning: "Highest rate of the motor.",
                name: "degrees",
                rate_name: "degrees/s",
                acceleration_name: "degrees/s^2",
                scale: std::f64::consts::PI / 180.0,
                most: 1e6,
                most_rate: 36_000.0,
            },
            JointKind::Prismatic => Self {
                limits: "limits_m",
                start: "start_m",
                rate: "rate_m_s",
                amplitude: "amplitude_m",
                rows: "rows_s_m",
                max_rate: "max_rate_m_s",
                max_acceleration: "max_acceleration_m_s2",
                limits_meaning: "Lowest and highest position of a joint that slides.",
                rate_meaning: "Sliding speed; negative is against the axis.",
                max_rate_meaning: "Highest speed of the motor.",
                name: "m",
                rate_name: "m/s",
                acceleration_name: "m/s^2",
                scale: 1.0,
                most: 100.0,
                most_rate: 100.0,
            },
        }
    }

    fn position(&self) -> Limit<f64> {
        Limit::new(-self.most..=self.most, self.name, FORMAT)
    }

    fn rate(&self, least: f64) -> Limit<f64> {
        Limit::new(least..=self.most_rate, self.rate_name, FORMAT)
    }
}

fn joint(mut table: TableReader<'_>) -> Read {
    let name_field = table.required("name");
    let name_field =
        name_field.meaning("Name of the joint; devices and joints on it name it in `parent`.");
    let name = file_name(&name_field, "a joint's").filter(|name| {
        let is_body = name.value == BODY;
        if is_body {
            let label = "allowed: any other name; \"body\" is the robot's body";
            let fault = name.place.fault("a joint cannot be named \"body\"", label);
            name_field.fault(fault.note(format!("limit from {FORMAT}")));
        }
        !is_body
    });
    let parent = table
        .optional("parent")
        .meaning("Part that carries the joint: the robot's body, or another joint.")
        .text("\"body\" or the name of another joint");
    let reach = Limit::new(-100.0..=100.0, "m", "the rig format: joints sit on the robot");
    let pose = Pose::read(&mut table, reach);
    let axis_field = table
        .optional("axis")
        .meaning("Axis of rotation (right-handed) or direction of sliding, in the joint's axes.");
    let axis = axis(&axis_field);
    // The keys of the joint's motion depend on this word, too.
    let kind_field = table.optional("kind").meaning("Kind of joint: it turns or slides.");
    kind_field.defaults_to(JointKind::Revolute.word());
    let kind = kind_field.choice_of_kind(&JointKind::WORDS, FORMAT).unwrap_or(JointKind::Revolute);
    let units = Units::of(kind);
    let limits_field = table.optional(units.limits).meaning(units.limits_meaning);
    let limits = limits(&limits_field, &units);
    let start_field = table.optional(units.start);
    let start_field =
        start_field.meaning("Position at the first instant; of a sine, the middle of the swing.");
    let start = start_field.number_or(&units.position(), 0.0) * units.scale;
    let motion = table
        .required("motion")
        .meaning("Motion of the joint.")
        .such_as("{ kind = \"constant-rate\", rate_deg_s = 90.0 }")
        .table("a motion")
        .and_then(|table| motion(table, &units));
    table.finish();
    let joint = || {
        let name = name.as_ref()?;
        let (motion, motion_place) = motion?;
        let start = match &motion {
            JointMotion::Table(rows) => {
                if let Some(place) = start_field.place() {
                    let title = format!("`{}` cannot be combined with a table", units.start);
                    let label = "remove it: the first row sets the start position";
                    let fault = place.fault(title, label);
                    start_field.fault(fault.note(format!("limit from {FORMAT}")));
                }
                rows.start()
            }
            _ => start,
        };
        let joint = JointConfig {
            name: name.value.clone(),
            parent: None,
            parent_from_joint: pose.transform(),
            axis: axis?,
            kind,
            limits: limits.as_ref()?.as_ref().map(|(limits, _)| *limits),
            start,
            motion,
            place: name.place.clone(),
        };
        if let Some(Some((limits, place))) = &limits {
            stay_within(&joint, *limits, [place, &motion_place], &units, &start_field);
        }
        Some(joint)
    };
    let joint = joint();
    Read { name, parent, joint }
}

/// Reads the direction of a joint's axis as a vector of length 1.
fn axis(field: &Field<'_>) -> Option<[f64; 3]> {
    let part = Limit::new(-1000.0..=1000.0, "", FORMAT);
    let axis = DVec3::from_array(field.numbers_or(&part, [0.0, 0.0, 1.0]));
    if axis.length() < 1e-6 {
        let place = field.place()?;
        let label = "allowed: a direction such as [0.0, 0.0, 1.0]";
        let fault = place.fault("this axis has no direction", label);
        field.fault(fault.note("limit from geometry: a length of 0.000001 at least"));
        return None;
    }
    Some(axis.normalize().to_array())
}

/// Reads the lowest and the highest position, radians or metres, with their place in the file; `Some(None)` for a joint
/// without end stops, `None` after an error.
fn limits(field: &Field<'_>, units: &Units) -> Option<Option<([f64; 2], Place)>> {
    if !field.is_written() {
        return Some(None);
    }
    let place = field.place()?;
    let [low, high] = field.numbers::<2>(&units.position())?;
    if low >= high {
        let title = format!("the lower limit, {low}, is not below the upper, {high}");
        let fault = place.fault(title, "allowed: [lower, upper]");
        field.fault(fault.note("limit from the joint's end stops"));
        return None;
    }
    Some(Some(([low, high].map(|x| x * units.scale), place)))
}

/// Reports an error if the joint starts or moves beyond its limits.
fn stay_within(
    joint: &JointConfig,
    [low, high]: [f64; 2],
    [limits_place, motion_place]: [&Place; 2],
    units: &Units,
    field: &Field<'_>,
) {
    // The conversion from degrees leaves an error in the last digits.
    let slack = 1e-9 * (high - low);
    let written = |x: f64| (x / units.scale * 1e6).round() / 1e6;
    let title = match (joint.reach(), &joint.motion) {
        _ if joint.start < low - slack || joint.start > high + slack => {
            let start = written(joint.start);
            Some(format!("\"{}\" starts beyond its limits, at {start} {}", joint.name, units.name))
        }
        (Some([least, most]), _) if least >= low - slack && most <= high + slack => None,
        (Some([least, most]), _) => Some(format!(
            "\"{}\" moves beyond its limits, from {} to {} {}",
            joint.name,
            written(least),
            written(most),
            units.name
        )),
        (None, JointMotion::ConstantRate { rate }) => {
            let end = if *rate > 0.0 { high } else { low };
            let at_s = ((end - joint.start) / rate * 1e3).round() / 1e3;
            Some(format!("\"{}\" reaches its limit after {at_s} s and goes on", joint.name))
        }
        (None, _) => {
            Some(format!("each repetition moves \"{}\" further, beyond its limits", joint.name))
        }
    };
    let Some(title) = title else { return };
    let label = format!("allowed: {} to {} {}", written(low), written(high), units.name);
    let fault = motion_place.fault(title, label).related(limits_place, "its limits");
    field.fault(fault.note("limit from the joint's end stops"));
}

#[derive(Clone, Copy)]
enum Kind {
    ConstantRate,
    Sine,
    Table,
    Commanded,
}

const KINDS: [(&str, Kind); 4] = [
    ("constant-rate", Kind::ConstantRate),
    ("sine", Kind::Sine),
    ("table", Kind::Table),
    ("commanded", Kind::Commanded),
];

/// Reads `motion`; also returns its position in the file.
fn motion(mut table: TableReader<'_>, units: &Units) -> Option<(JointMotion, Place)> {
    let kind_field = table.required("kind").meaning(
        "Kind of motion; \"commanded\": a device that sits on the joint moves it as its host \
         commands.",
    );
    let kind = kind_field.choice(&KINDS, FORMAT)?;
    let place = table.place().clone();
    let motion = match kind {
        Kind::ConstantRate => {
            let rate = table
                .required(units.rate)
                .meaning(units.rate_meaning)
                .number(&units.rate(-units.most_rate));
            rate.map(|rate| JointMotion::ConstantRate { rate: rate * units.scale })
        }
        Kind::Sine => {
            let amplitude = table
                .required(units.amplitude)
                .meaning("Amplitude: from the middle of a swing to either end.")
                .number(&units.position());
            let period = Limit::new(0.01..=LONGEST_S, "s", FORMAT);
            let period_field = table.required("period_s").meaning("Period of the sine.");
            let period_s = period_field.number(&period);
            let phase_field = table.optional("phase_deg").meaning(
                "Phase of the sine at the start: 0 is the middle on the way up, 90 the upper end.",
            );
            let phase_deg = phase_field.number_or(&turn_limit(), 0.0);
            amplitude.zip(period_s).map(|(amplitude, period_s)| JointMotion::Sine {
                amplitude: amplitude * units.scale,
                period_s,
                phase_rad: phase_deg.to_radians(),
            })
        }
        Kind::Table => {
            let repeats = table
                .optional("repeats")
                .meaning(
                    "Repeat the table, starting from its last position; otherwise the joint stops \
                     at the table's end.",
                )
                .boolean_or(false);
            let rows_field = table.required(units.rows).meaning(
                "Pairs of time and position, the first at 0 s. A smooth curve (C2 cubic spline) \
                 connects them.",
            );
            rows(&rows_field, units).map(|rows| JointMotion::Table(JointTable::new(&rows, repeats)))
        }
        Kind::Commanded => {
            let max_rate = table
                .required(units.max_rate)
                .meaning(units.max_rate_meaning)
                .number(&units.rate(0.001));
            let acceleration =
                Limit::new(0.001..=100.0 * units.most_rate, units.acceleration_name, FORMAT);
            let max_acceleration = table
                .required(units.max_acceleration)
                .meaning("Highest acceleration of the motor, also for braking.")
                .number(&acceleration);
            max_rate.zip(max_acceleration).map(|(max_rate, max_acceleration)| {
                JointMotion::Commanded {
                    max_rate: max_rate * units.scale,
                    max_acceleration: max_acceleration * units.scale,
                }
            })
        }
    };
    table.finish();
    Some((motion?, place))
}

/// Reads the rows of a table: time in seconds, and position in radians or metres.
fn rows(field: &Field<'_>, units: &Units) -> Option<Vec<[f64; 2]>> {
    let expected = format!("2 to {MAX_ROWS} rows, each [seconds, {}]", units.name);
    let (items, place) = field.array_of(2..=MAX_ROWS, &expected)?;
    if !(2..=MAX_ROWS).contains(&items.len()) {
        let label = format!("this has {}; allowed: {expected}", items.len());
        field.fault(place.fault("this is not a table of positions", label));
        return None;
    }
    let time = Limit::new(0.0..=LONGEST_S, "s", FORMAT);
    let position = units.position();
    let row_expected = format!("[seconds, {}]", units.name);
    let row = |item: &Field<'_>| {
        let (numbers, place) = item.array_of(2..=2, &row_expected)?;
        let [time_field, position_field] = &numbers[..] else {
            let label = format!("this has {}; allowed: {row_expected}", numbers.len());
            item.fault(place.fault("a row has a time and a position", label));
            return None;
        };
        let (t, p) = (time_field.number(&time), position_field.number(&position));
        Some([t?, p? * units.scale])
    };
    let rows: Vec<_> = items.iter().map(row).collect();
    let rows = rows.into_iter().collect::<Option<Vec<_>>>()?;
    if let (Some([first_s, _]), Some(place)) = (rows.first(), items.first().and_then(Field::place))
        && *first_s != 0.0
    {
        let label = "allowed: 0, the first instant of the run";
        let fault = place.fault(format!("the table begins at {first_s} s"), label);
        field.fault(fault.note(format!("limit from {FORMAT}")));
        return None;
    }
    for (pair, item) in rows.windows(2).zip(items.iter().skip(1)) {
        if let (true, Some(place)) = (pair[1][0] - pair[0][0] < 1e-3, item.place()) {
            let title = format!("{} s does not come after {} s", pair[1][0], pair[0][0]);
            let label = "allowed: times that ascend, by 0.001 s or more";
            field.fault(place.fault(title, label).note(format!("limit from {FORMAT}")));
            return None;
        }
    }
    Some(rows)
}

/// Reads `parent` of a mount. Returns the joint and its index, `Some(None)` for the body, or `None` after an error. If
/// `joints` is `None`, because the joints are invalid, the name of a joint is not checked.
pub(crate) fn carrier(
    field: &Field<'_>,
    joints: Option<&[Arc<JointConfig>]>,
) -> Option<Option<(usize, Arc<JointConfig>)>> {
    let text = field.text("\"body\" or the name of a joint of this rig");
    let Some(text) = text.filter(|text| text.value != BODY) else { return Some(None) };
    let joints = joints?;
    let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
    let index = joint_named(field, &text, &names)?;
    Some(Some((index, Arc::clone(&joints[index]))))
}

/// Reports a device that must be on a joint but is on none. `on` is the joint that carries the device, and `place` the
/// position of its mount, or of the device.
pub(crate) fn check_role(
    product: &Product,
    name: &str,
    on: Option<&JointConfig>,
    joints: &[Arc<JointConfig>],
    place: &Place,
    field: &Field<'_>,
) {
    if product.joint == JointRole::None || on.is_some() {
        return;
    }
    let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
    let label = match names[..] {
        [] => "this rig has no joint; add one as [[joint]]".to_owned(),
        _ => format!("allowed: mount = {{ parent = \"NAME\" }}; there are: {}", names.join(", ")),
    };
    let title = format!("\"{name}\" must be mounted on a joint");
    field
        .fault(place.fault(title, label).note(format!("limit from the product: {}", product.noun)));
}

/// Reports commanded joints that no device or several devices command, and joints that several faults jam.
pub(crate) fn check_commands(
    joints: &[Arc<JointConfig>],
    devices: &[DeviceConfig],
    faults: &[FaultConfig],
    field: &Field<'_>,
) {
    for (index, joint) in joints.iter().enumerate() {
        let on_it = |device: &&DeviceConfig| device.on.as_ref().is_some_and(|on| on.0 == index);
        let commanders = devices.iter().filter(on_it);
        let commanders: Vec<&str> = commanders
            .filter(|device| device.profile.product.joint == JointRole::Commands)
            .map(|device| device.name.as_str())
            .collect();
        match (&commanders[..], joint.is_commanded()) {
            ([], true) => {
                let title = format!("no device commands the joint \"{}\"", joint.name);
                let name = &joint.name;
                let label = format!("add a turning head with mount = {{ parent = \"{name}\" }}");
                let fault = joint.place.fault(title, label);
                field
                    .fault(fault.help(
                        "`menura profiles` lists turning heads, such as menura-turning-head",
                    ));
            }
            ([_, _, ..], true) => {
                let title = format!("several devices command the joint \"{}\"", joint.name);
                let label = format!("allowed: one of {}", commanders.join(", "));
                field.fault(joint.place.fault(title, label));
            }
            _ => {}
        }
        let holds = |fault: &&FaultConfig| {
            let sits = devices.get(fault.device).is_some_and(|device| on_it(&device));
            sits && matches!(&fault.kind, FaultKind::Device(kind) if kind.get::<JointJam>().is_some())
        };
        if let [first, second, ..] = &faults.iter().filter(holds).collect::<Vec<_>>()[..] {
            let title = format!("two faults jam the joint \"{}\"", joint.name);
            let fault = second.place.fault(title, "again here");
            let fault = fault.related(&first.place, "first here");
            field.fault(fault.help("to repeat a fault, set its `period_s`"));
        }
    }
}
