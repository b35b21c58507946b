//! Reads a rig: the file, the overrides, and the profiles and calibrations that the rig names.

use super::engine::{Mover, engine};
use super::parts::{FORMAT, Names, Pose, file_name, seed_limit};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::trajectory::robot;
use super::world_read::world;
use crate::frames::{Body, Geodetic, Sensor, Transform};
use crate::profile::{Catalogue, FamilyData, Interface, Profile};
use crate::rig::cable_read::{self, Cabled};
use crate::rig::claims::Claims;
use crate::rig::fault_read::faults;
use crate::rig::joint_read;
use crate::rig::joints::JointConfig;
use crate::rig::link_read::{kinds_of, link};
use crate::rig::ntrip::{self, CasterConfig};
use crate::rig::response_read::{Named, responses, stimuli};
use crate::rig::short_forms::{self, Defaults, repeat_device, repeated};
use crate::rig::short_link::{self, Address, KINDS, Taken, written_out};
use crate::rig::{
    CableKind, DeviceConfig, Rig, RigPlaces, RobotConfig, TrajectoryConfig, WorldConfig,
};
use crate::toml::diagnostic::{Diagnostics, Place, SourceFile};
use crate::toml::explore::explore;
use crate::toml::noted::Notes;
use crate::toml::overrides::Override;
use crate::toml::reader::{Faults, Field, Limit, Node, TableReader, Text, parse_toml};
use crate::toml::spec::TableSpec;
use crate::toml::write::written;

const ORIGIN_EXAMPLE: &str =
    "{ latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }";
const MOUNT_EXAMPLE: &str =
    "{ translation_m = [0.0, 0.0, 2.0], roll_pitch_yaw_deg = [0.0, 0.0, 0.0] }";

/// Largest number of devices; each has its own threads and link.
const MAX_DEVICES: usize = 256;

/// Default position of World's origin on the Earth: in Mississippi, near the institute of Goodin et al. 2018, who
/// describe the courtyard.
const DEFAULT_ORIGIN: Geodetic =
    Geodetic { latitude_deg: 33.4712, longitude_deg: -88.7933, altitude_m: 92.0 };

/// Reads the rig in `source` with `overrides` applied; returns all errors.
pub fn parse(
    source: &Arc<SourceFile>,
    overrides: &[Override],
    catalogue: &Catalogue,
) -> Result<Rig, Diagnostics> {
    reading(source, overrides, catalogue, None)
}

/// Text of the rig in `source` with `overrides` applied and all defaults written out.
pub fn complete(
    source: &Arc<SourceFile>,
    overrides: &[Override],
    catalogue: &Catalogue,
) -> Result<String, Diagnostics> {
    let notes = Notes::new(&Place::new(source, 0..0));
    reading(source, overrides, catalogue, Some(&notes))?;
    Ok(written(&notes.into_node()))
}

fn reading(
    source: &Arc<SourceFile>,
    overrides: &[Override],
    catalogue: &Catalogue,
    notes: Option<&Notes>,
) -> Result<Rig, Diagnostics> {
    let faults = Faults::default();
    let rig = parse_toml(source, &faults).and_then(|mut root| {
        for set in overrides {
            set.apply(&mut root, &faults, &short_link::table);
        }
        let mut root = TableReader::root(root, "a rig", &faults);
        if let Some(notes) = notes {
            root = root.noted_in(notes);
        }
        rig(root, source, catalogue, &Claims::new(&faults))
    });
    let faults = faults.into_inner();
    match rig {
        Some(rig) if faults.is_empty() => Ok(rig),
        _ => Err(faults),
    }
}

/// Keys of a rig that this reader accepts.
pub fn spec(catalogue: &Catalogue) -> TableSpec {
    let source = SourceFile::new("", "", "");
    explore(|survey| {
        let faults = Faults::default();
        let root = TableReader::surveyed(survey, &faults);
        rig(root, &source, catalogue, &Claims::new(&faults));
    })
}

fn rig(
    mut root: TableReader<'_>,
    source: &Arc<SourceFile>,
    catalogue: &Catalogue,
    claims: &Claims<'_>,
) -> Option<Rig> {
    let seed_field = root.optional("seed");
    let seed_field =
        seed_field.meaning("Seed of all random samples: the same seed gives the same bytes.");
    let seed = seed_field.integer_or(&seed_limit(), 0);
    let start_field = root.optional("start_utc").meaning(
        "Civil time at the start (default: the host's clock in a run, 2026-06-01T12:00:00Z in a \
         recording).",
    );
    let start_utc = start_utc(&start_field);
    let origin_field = root
        .optional("origin")
        .meaning("Place of the world's origin on the Earth (default: 33.4712 N, 88.7933 W, 92 m).")
        .such_as(ORIGIN_EXAMPLE);
    let origin = if origin_field.is_written() {
        origin_field.table("the origin").and_then(origin)
    } else {
        let Geodetic { latitude_deg, longitude_deg, altitude_m } = DEFAULT_ORIGIN;
        origin_field.defaults_here_to(json!({
            "latitude_deg": latitude_deg, "longitude_deg": longitude_deg, "altitude_m": altitude_m
        }));
        Some(DEFAULT_ORIGIN)
    };
    let world_field = root.required("world").meaning("The scene and its moving objects.");
    let world = world_field.table("[world]").and_then(|table| world(table, seed));
    let has_terrain = world.as_ref().is_some_and(|(world, _)| world.scene.has_terrain());
    let robot_field = root
        .optional("robot")
        .meaning("The robot's motion and footprint (default: it stands still at the origin).")
        .or_empty(root.place());
    let robot = robot_field.table("[robot]").and_then(|table| robot(table, seed, has_terrain));
    let joint_field = root.optional("joint").meaning(
        "A part that turns or slides between the robot's body and its devices; one table for each.",
    );
    let joints = joint_read::joints(&joint_field);
    let is_commanded = joints.iter().flatten().any(|joint| joint.is_commanded());
    let moved_by = match &robot {
        _ if is_commanded => Mover::Computer,
        Some((RobotConfig { trajectory: TrajectoryConfig::Feed(_), .. }, _)) => Mover::Feed,
        Some((RobotConfig { trajectory: TrajectoryConfig::Drive(_), .. }, _)) => Mover::Computer,
        _ => Mover::Rig,
    };
    let engine_field = root.optional("engine").meaning("Rendering and sending of packets.");
    let engine_field = engine_field.or_empty(root.place());
    let engine = engine_field.table("[engine]").map(|table| engine(table, moved_by));
    claim_feeds(robot.as_ref(), world.as_ref(), claims);
    let defaults_field = root.optional("defaults").meaning(
        "Default keys of devices, in one table for each pattern of profile names. In a pattern, * \
         stands for any letters.",
    );
    let defaults = Defaults::read(&defaults_field);
    root.is_written_out("defaults");
    let device_field = root.required("device");
    let device_field = device_field.meaning("A device that the robot carries; one table for each.");
    let shared = Shared { defaults: &defaults, catalogue, claims, joints: joints.as_deref() };
    let mut devices = devices(&device_field, robot.as_ref(), &shared);
    if matches!(moved_by, Mover::Computer) {
        for device in devices.iter_mut().flatten() {
            device.longest_series_ns = DeviceConfig::LONGEST_SERIES_DRIVEN_NS;
        }
    }
    let fault_field = root.optional("fault");
    let fault_field =
        fault_field.meaning("A fault of a device, its link or its cable; one table for each.");
    let faults = faults(&fault_field, devices.as_deref(), seed, catalogue);
    if let (Some(joints), Some(devices), Some(faults)) = (&joints, &devices, &faults) {
        joint_read::check_commands(joints, devices, faults, &joint_field);
    }
    let named = Named {
        devices: devices.as_deref(),
        faults: faults.as_deref(),
        objects: world.as_ref().map(|(world, _)| &world.objects[..]),
    };
    let stimulus_field = root.optional("stimulus");
    let stimulus_field =
        stimulus_field.meaning("An event to which the robot should react; one table for each.");
    let stimuli = stimuli(&stimulus_field, named);
    let response_field = root.optional("response");
    let response_field =
        response_field.meaning("A reaction of the robot that Menura times; one table for each.");
    let responses = responses(&response_field, stimuli.as_deref(), named, claims);
    root.finish();
    let (world, scene) = world?;
    let (robot, trajectory) = robot?;
    let (engine, caster) = engine?;
    Some(Rig {
        name: source.name.clone(),
        source: source.clone(),
        seed,
        start_utc,
        origin: origin?,
        world,
        robot,
        joints: joints?,
        engine,
        devices: devices?,
        faults: faults?,
        stimuli: stimuli?,
        responses: responses?,
        places: RigPlaces { scene, trajectory, caster },
    })
}

/// Claims the UDP ports of feeds and of twist inputs.
fn claim_feeds(
    robot: Option<&(RobotConfig, Place)>,
    world: Option<&(WorldConfig, Place)>,
    claims: &Claims<'_>,
) {
    let robot = robot.map(|(robot, place)| (&robot.trajectory, place));
    let objects = world.map(|(world, _)| &world.objects[..]).unwrap_or_default();
    let objects =
        objects.iter().map(|object| (&object.motion.trajectory, &object.trajectory_place));
    for (trajectory, place) in robot.into_iter().chain(objects) {
        match trajectory {
            TrajectoryConfig::Feed(feed) => claims.udp(feed.listen, None, place),
            TrajectoryConfig::Drive(drive) => {
                if let Some(twist) = &drive.twist {
                    claims.udp(twist.listen, None, place);
                }
            }
            _ => {}
        }
    }
}

fn start_utc(field: &Field<'_>) -> Option<jiff::Timestamp> {
    let (written, place) = field.datetime()?;
    if written.offset.is_none() {
        let label = "add the offset: Z for UTC, as in 2026-06-01T12:00:00Z";
        field.fault(place.fault("`start_utc` has no offset from UTC", label));
        return None;
    }
    let year = written.date.map_or(0, |date| date.year);
    if !(2000..=2255).contains(&year) {
        let fault = place.fault("`start_utc` is out of range", "allowed: years 2000 to 2255");
        field.fault(fault.note("limit from the wire formats: one byte for the year since 2000"));
        return None;
    }
    match written.to_string().parse() {
        Ok(stamp) => Some(stamp),
        Err(error) => {
            let fault =
                place.fault("`start_utc` is not a date and time", "this instant does not exist");
            field.fault(fault.note(format!("{error}")));
            None
        }
    }
}

fn origin(mut table: TableReader<'_>) -> Option<Geodetic> {
    let degrees = |most: f64| Limit::new(-most..=most, "degrees", "WGS84");
    let latitude_deg = table
        .required("latitude_deg")
        .meaning("Latitude of the world's origin, WGS84, north positive.")
        .number(&degrees(90.0));
    let longitude_deg = table
        .required("longitude_deg")
        .meaning("Longitude of the world's origin, WGS84, east positive.")
        .number(&degrees(180.0));
    let height = Limit::new(-1000.0..=10_000.0, "m", "the surface of the Earth");
    let altitude_m = table
        .required("altitude_m")
        .meaning("Height of the world's origin above the WGS84 ellipsoid.")
        .number(&height);
    table.finish();
    Some(Geodetic {
        latitude_deg: latitude_deg?,
        longitude_deg: longitude_deg?,
        altitude_m: altitude_m?,
    })
}

/// Parts of the rig that are needed to read a device.
struct Shared<'a, 'f> {
    defaults: &'a Defaults,
    catalogue: &'a Catalogue,
    claims: &'a Claims<'f>,
    joints: Option<&'a [Arc<JointConfig>]>,
}

fn devices(
    field: &Field<'_>,
    robot: Option<&(RobotConfig, Place)>,
    shared: &Shared<'_, '_>,
) -> Option<Vec<DeviceConfig>> {
    let expected = "one [[device]] or more";
    let (mut items, place) = field.array_up_to(1..=MAX_DEVICES, FORMAT, expected)?;
    if items.is_empty() {
        field.fault(place.fault("a rig needs at least one device", format!("allowed: {expected}")));
    }
    let mut taken = Taken::default();
    if field.node().is_some() {
        let mut nodes: Vec<Node> = items.iter().filter_map(|item| item.node().cloned()).collect();
        shared.defaults.put_beneath(&mut nodes, field);
        let nodes = repeated(field.items_of(nodes), MAX_DEVICES, repeat_device);
        if nodes.len() > MAX_DEVICES {
            let title = format!("{} of [[device]] are too many", nodes.len());
            let fault = place.fault(title, format!("allowed: at most {MAX_DEVICES}"));
            field.fault(fault.note(format!("limit from {FORMAT}")));
            return None;
        }
        nodes.iter().for_each(|node| taken.note(node));
        items = field.items_of(nodes);
    }
    let mut names: Vec<Text> = Vec::new();
    let mut unique = Names::new("devices", "names become file names");
    let mut profiles = Profiles { catalogue: shared.catalogue, loaded: Vec::new() };
    let devices: Vec<_> = items
        .iter()
        .map(|item| {
            let mut table = item.named("device").table("[[device]]")?;
            let cable = table
                .optional("gps_cable")
                .meaning(
                    "Name of the GNSS receiver of this rig whose PPS (time pulse) and serial \
                     output reach the device.",
                )
                .text("the name of a GNSS receiver of this rig");
            let corrections = table
                .optional("corrections")
                .meaning(
                    "The name of the base station of this rig whose second UART is wired to the \
                     second UART of this rover.",
                )
                .text("the name of a base station of this rig");
            let line = table
                .optional("line_of")
                .meaning(
                    "A GNSS receiver of this rig and one of its ports. The device is only the \
                     serial line to this port, with a link of its own.",
                )
                .text(cable_read::LINE);
            let settings = table.node("settings").map(|node| node.place.clone());
            let caster = table.optional("caster").meaning(
                "An NTRIP caster (versions 1 and 2) that serves the RTCM messages of this base to \
                 clients.",
            );
            let ntrip = table
                .optional("ntrip")
                .meaning("An NTRIP caster whose corrections are sent to this rover's serial port.");
            let served = caster.is_written().then(|| ntrip::caster(&caster, shared.claims));
            let taken_from = ntrip.is_written().then(|| ntrip::client(&ntrip));
            let (name, device) = device(table, &mut profiles, shared, &mut taken);
            if let Some(device) = &device {
                may_correct(device, &caster, &ntrip);
            }
            let device = device.and_then(|device| {
                let mut caster: Option<CasterConfig> =
                    served.map_or(Some(None), |c| c.map(Some))?;
                if let Some(caster) = caster.as_mut().filter(|c| c.mount_point.is_empty()) {
                    caster.mount_point.clone_from(&device.name);
                }
                let ntrip = taken_from.map_or(Some(None), |client| client.map(Some))?;
                Some(DeviceConfig { caster, ntrip, ..device })
            });
            if let Some(name) = name.clone() {
                unique.add(field, &name.value, &name.place);
                names.push(name);
            }
            Some(Cabled { name, device: device?, cable, corrections, line, settings })
        })
        .collect();
    super::driver_read::check(&devices, robot, field);
    cable_read::connect(devices, &names, field)
}

/// Rejects `caster` and `ntrip` for devices that neither send nor use corrections, and `ntrip` for devices whose settings
/// make them ignore their GPS input.
fn may_correct(device: &DeviceConfig, caster: &Field<'_>, ntrip: &Field<'_>) {
    let profile = &device.profile;
    for (field, key) in [(caster, "caster"), (ntrip, "ntrip")] {
        if let Some(place) = field.place().filter(|_| profile.product.corrections_port.is_none()) {
            let title = format!("{} neither sends nor accepts corrections", profile.name);
            let fault = place.fault(title, format!("remove `{key}`"));
            field.fault(fault.note(format!("limit from the profile {}", profile.name)));
        }
    }
    if let Some(place) = ntrip.place()
        && let Some(refusal) = profile.family.gps_input_refusal(&*device.settings)
        && profile.product.corrections_port.is_some()
    {
        ntrip.fault(place.fault(refusal.title, refusal.label).note("limit from the rig format"));
    }
}

fn device(
    mut table: TableReader<'_>,
    profiles: &mut Profiles<'_>,
    shared: &Shared<'_, '_>,
    taken: &mut Taken,
) -> (Option<Text>, Option<DeviceConfig>) {
    let place = table.place().clone();
    let name_field = table.required("name");
    let name_field = name_field.meaning("Name of the device in messages and of its files.");
    let name = file_name(&name_field, "a device's");
    let repeat = table.optional("repeat");
    let repeat = repeat.meaning("Copies of the device, named NAME-1, NAME-2 and so on.");
    if repeat.is_written() {
        let _ = short_forms::read(&repeat, MAX_DEVICES);
    }
    let profile_field = table.required("profile");
    let profile_field =
        profile_field.meaning("Firmware of the device: the name of a profile, or the path of one.");
    let names: Vec<_> =
        profiles.catalogue.profiles().iter().map(|profile| profile.name.as_str()).collect();
    let expected = "the name of a profile, see `menura profiles`, or the path of a .toml file";
    let profile = profile_field
        .word_or_text(&names, expected, r"[/\\]|\.toml$", "?.toml")
        .and_then(|text| profiles.find(&text, &profile_field));
    let mount_field = table
        .optional("mount")
        .meaning("Position of the device on the robot.")
        .such_as(MOUNT_EXAMPLE)
        .or_empty_if_noted(&place);
    let mount = if mount_field.is_written() {
        mount_field.table("a mount").and_then(|table| mount(table, shared.joints))
    } else {
        Some((Transform::IDENTITY, None))
    };
    if let (Some(profile), Some((_, on)), Some(joints), Some(name)) =
        (&profile, &mount, shared.joints, &name)
    {
        let on = on.as_ref().map(|(_, joint)| &**joint);
        let place = mount_field.place().unwrap_or(place.clone());
        let product = &profile.product;
        joint_read::check_role(product, &name.value, on, joints, &place, &mount_field);
    }
    let link = link_field(&mut table, profile.as_deref(), name.as_ref(), taken).and_then(|field| {
        let table = field.table("a link")?;
        link(table, profile.as_deref(), profiles.catalogue, shared.claims)
    });
    let settings_field = table
        .optional("settings")
        .meaning("Settings of the unit; the profile has the defaults.")
        .such_as("{ return_mode = \"strongest\" }")
        .or_empty_if_noted(&place);
    table.finish();
    let settings = match profile.as_deref() {
        Some(profile) => settings(profile, &settings_field),
        None => {
            // Without the profile, the allowed settings are unknown, so any settings are accepted.
            settings_field.any("the settings of the profile");
            None
        }
    };
    let device = || {
        let (body_from_sensor, on) = mount?;
        Some(DeviceConfig {
            name: name.as_ref()?.value.clone(),
            profile: profile?,
            on,
            body_from_sensor,
            link: link.clone()?.0,
            controls: link?.1,
            cable_from: None,
            cable: CableKind::default(),
            further_lines: Vec::new(),
            caster: None,
            ntrip: None,
            longest_series_ns: DeviceConfig::LONGEST_SERIES_NS,
            settings: settings?,
        })
    };
    let device = device().filter(|device| has_ptp_address(device, &settings_field));
    (name, device)
}

/// Merges `link` and `address` into one table, with short forms expanded; a missing `link` gets its default. All errors are
/// reported. Returns `None` if `link` is invalid or contradicts `address`, or if the default needs a profile or name that is
/// missing.
fn link_field<'f>(
    table: &mut TableReader<'f>,
    profile: Option<&Profile>,
    name: Option<&Text>,
    taken: &mut Taken,
) -> Option<Field<'f>> {
    let place = table.place().clone();
    let address_field = table.optional("address").meaning(
        "The device's own IP address: it sends from there, and its servers listen there at the \
         product's ports.",
    );
    let address = Address::read(&address_field, profile);
    table.is_written_out("address");
    let kinds = profile.map_or(&KINDS[..], |profile| kinds_of(profile.product.interface));
    let mut field = table
        .optional("link")
        .meaning(
            "Destination of the device's bytes: a table, or its short form KIND:WHERE; the kinds \
             depend on the product (default: a free address or pseudo-terminal on this computer, \
             as `menura new` writes).",
        )
        .such_as("{ udp = { to = \"127.0.0.1:2368\" } }");
    if !field.is_written() {
        // A missing profile has already been reported.
        let (profile, name) = (profile?, name?);
        let of_address = address.as_ref().and_then(|address| address.server(profile));
        let link = of_address.unwrap_or_else(|| taken.usual(profile, &name.value));
        field = field.with(Node::of_json(link, &place)?);
    } else if let (Some(place), Some(Interface::Server)) =
        (address_field.place().filter(|_| address.is_some()), profile.map(|p| p.product.interface))
    {
        let title = "`address` and `link` both set where hosts connect";
        address_field.fault(place.fault(title, "remove one of them"));
        return None;
    }
    let field = written_out(field, kinds)?;
    let (Some(address), Some(profile), Some(node)) = (address, profile, field.node()) else {
        return Some(field);
    };
    let mut node = node.clone();
    address.add_to(&mut node, profile);
    Some(field.with(node))
}

/// Whether a device has the IPv4 address that PTP on the network requires; true for devices without PTP on the network.
/// Reports a missing address at `settings`.
fn has_ptp_address(device: &DeviceConfig, settings: &Field<'_>) -> bool {
    let speaks = device.profile.family.speaks_ptp(&*device.settings);
    let has = !speaks || device.link.own_address().is_some();
    if !has && let Some(place) = settings.place() {
        let label = "add `from = \"ADDRESS:PORT\"` to `link.udp`, or set `ptp` to another value";
        let title = "`ptp = \"wire\"` needs an IPv4 address of the device's own";
        let fault = place.fault(title, label);
        settings.fault(fault.note("limit from IEEE 1588: each clock has UDP ports 319 and 320"));
    }
    has
}

/// Reads the settings of a device from `field`; without the key, returns the profile's defaults.
fn settings(profile: &Profile, field: &Field<'_>) -> Option<Arc<dyn FamilyData>> {
    let written = match field.is_written() {
        true => Some(field.table(&format!("the settings of {}", profile.name))?),
        false => None,
    };
    profile.family.read_settings(profile, written)
}

/// Profiles that a rig names. A profile named by path is loaded once, so that its errors are reported once.
struct Profiles<'c> {
    catalogue: &'c Catalogue,
    loaded: Vec<(PathBuf, Option<Arc<Profile>>)>,
}

impl Profiles<'_> {
    fn find(&mut self, text: &Text, field: &Field<'_>) -> Option<Arc<Profile>> {
        let name = &text.value;
        if !Catalogue::is_path(name) {
            let profile = self.catalogue.by_name(name);
            if profile.is_none() {
                let title = format!("there is no profile `{name}`");
                field.fault(text.place.fault(title, self.catalogue.suggestion(name)));
            }
            return profile;
        }
        let path = text.place.source.resolve(name);
        if let Some((_, profile)) = self.loaded.iter().find(|(known, _)| *known == path) {
            return profile.clone();
        }
        let profile = field.loaded(text, self.catalogue.load_profile(name, &path)).map(Arc::new);
        self.loaded.push((path, profile.clone()));
        profile
    }
}

/// Pose of a device on its carrier, and the joint that carries it, with the joint's index in the rig; `None`: the robot's
/// body carries the device.
type Mount = (Transform<Body, Sensor>, Option<(usize, Arc<JointConfig>)>);

fn mount(mut table: TableReader<'_>, joints: Option<&[Arc<JointConfig>]>) -> Option<Mount> {
    table.was_called("on", "parent");
    let parent = table.optional("parent");
    let parent =
        parent.meaning("Part that carries the device: the robot's body, or a joint by its name.");
    let on = joint_read::carrier(&parent, joints);
    let reach = Limit::new(-100.0..=100.0, "m", "the rig format: devices sit on the robot");
    let pose = Pose::read(&mut table, reach);
    table.finish();
    Some((pose.transform(), on?))
}
