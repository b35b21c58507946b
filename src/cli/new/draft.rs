//! Text of a new rig: the keys in use, and every other setting as a comment with its default.

use std::fmt::Write;
use std::sync::Arc;

use crate::cli::schema::rows::rows_of;
use crate::cli::schema::words;
use crate::config::profile::{JointRole, Profile};
use crate::config::rig::scenes;
use crate::config::rig::short_link::{self, Taken};
use crate::config::toml::diagnostic::{Place, SourceFile};
use crate::config::toml::reader::Node;
use crate::config::toml::spec::{KeySpec, TableSpec};
use crate::config::toml::write::inline;
use crate::devices::families::family_of;

const HEAD: &str = "\
# A rig for Menura. Lines that begin with `# ` and a key hold the default: remove the `# ` to change it.
# `menura check` reports its errors, `menura run` sends its bytes, docs/RIG-KEYS.md lists all keys.

# The same seed gives the same bytes.
seed = 1
# Where the origin of the world lies on the Earth.
origin = { latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }
";

/// A rig to be written.
pub struct Draft {
    /// Scene, as written in the rig.
    pub scene: String,
    /// The devices.
    pub devices: Vec<DraftDevice>,
    /// Link addresses that are in use.
    pub taken: Taken,
}

/// A device of a [`Draft`].
pub struct DraftDevice {
    /// Name of the device in the rig.
    pub name: String,
    /// Firmware profile of the device.
    pub profile: Arc<Profile>,
    /// Link, as written in the rig.
    pub link: String,
}

/// Converts a link of the form `KIND:WHERE` to the notation of rigs.
///
/// # Errors
/// The text has another form; the message lists the allowed ones.
pub fn link_of(text: &str) -> Result<String, String> {
    match short_link::parts(text) {
        Some(_) => Ok(toml::Value::from(text).to_string()),
        None => Err(format!(
            "error: `{text}` is not a link\n  help: allowed: udp:ADDRESS:PORT, pty:PATH, \
             serial:PORT, tcp:ADDRESS:PORT"
        )),
    }
}

impl Draft {
    /// A rig without devices; `scene` is copied into the rig unchanged.
    pub fn new(scene: String) -> Self {
        Self { scene, devices: Vec::new(), taken: Taken::default() }
    }

    /// An unused name for a device with this profile.
    pub fn free_name(&self, profile: &Profile) -> String {
        let product = &profile.product;
        let kind = match product.lidar {
            Some(lidar) if lidar.lasers > 1 => "lidar",
            Some(_) => "scanner",
            None if family_of(profile).sends_images() => "camera",
            None if product.has_gps_output => "gps",
            None if product.drives => "base",
            None if product.joint != JointRole::None => "encoder",
            None => "imu",
        };
        let is_free = |name: &String| self.devices.iter().all(|device| device.name != *name);
        let mut names =
            std::iter::once(kind.to_owned()).chain((2..).map(|n| format!("{kind}-{n}")));
        names.find(is_free).expect("names without end")
    }

    /// A link on this computer for the device `name`, with free addresses, in the notation of rigs.
    pub fn free_link(&mut self, name: &str, profile: &Profile) -> String {
        let link = short_link::shortest(self.taken.usual(profile, name));
        let place = Place::new(&SourceFile::new("", "", ""), 0..0);
        Node::of_json(link, &place).map_or_else(String::new, |link| inline(&link))
    }

    /// Text of the rig.
    pub fn text(&self) -> String {
        let mut out = HEAD.to_owned();
        self.world(&mut out);
        let receiver = self.devices.iter().find(|device| device.profile.product.has_gps_output);
        for device in &self.devices {
            let _ = writeln!(out, "\n# {}", device.profile.summary);
            let mut on = String::new();
            if let Some(motion) = motion_of(&device.profile) {
                let _ = writeln!(
                    out,
                    "[[joint]]\nname = \"{}-joint\"\ntranslation_m = [0.0, 0.0, 0.5]\n\
                     # Kinds: constant-rate, sine, table, commanded.\nmotion = {motion}",
                    device.name
                );
                on = format!("parent = \"{}-joint\", ", device.name);
            }
            let _ = writeln!(out, "[[device]]");
            let _ = writeln!(out, "name = \"{}\"", device.name);
            let _ = writeln!(out, "profile = \"{}\"", device.profile.name);
            let _ =
                writeln!(out, "# Forward, left and up from the robot's origin, metres; degrees.");
            let mount = mount_of(&device.profile);
            let _ = writeln!(
                out,
                "mount = {{ {on}translation_m = {mount}, roll_pitch_yaw_deg = [0, 0, 0] }}"
            );
            let _ = writeln!(out, "link = {}", device.link);
            if device.profile.product.has_gps_input {
                let name =
                    receiver.map_or("a GNSS receiver of this rig", |receiver| &receiver.name);
                let _ = writeln!(
                    out,
                    "# The GNSS receiver that sets its clock: gps_cable = \"{name}\""
                );
            }
            let _ = writeln!(out, "[device.settings]");
            settings_as_comments(&mut out, &device.profile.settings_spec());
        }
        out
    }

    fn world(&self, out: &mut String) {
        let scene = toml::Value::from(&*self.scene);
        let _ = writeln!(out, "\n[world]\n# A built-in scene, see `menura scenes`, or a file.");
        let _ = writeln!(out, "scene = {scene}");
        let is_driven = self.devices.iter().any(|device| device.profile.product.drives);
        let (trajectory, follows) = match scenes::builtin(&self.scene) {
            _ if is_driven => (DRIVEN.to_owned(), false),
            None => {
                let still = "{ kind = \"still\", position_m = [0.0, 0.0, 0.0], yaw_deg = 0.0 }";
                (still.to_owned(), false)
            }
            Some(scene) => {
                let (radius_m, speed_m_s) =
                    (scene.lap_radius_m, if scene.is_flat { 1.0 } else { 2.0 });
                let lap = format!(
                    "{{ kind = \"circle\", radius_m = {radius_m:.1}, speed_m_s = {speed_m_s:.1} }}"
                );
                (lap, !scene.is_flat)
            }
        };
        if let Some(scene) = scenes::builtin(&self.scene) {
            let _ = writeln!(out, "[world.parameters]");
            for row in rows_of(&scene.parameters()) {
                if !row.default.is_empty() {
                    let default = row.default.replace('`', "");
                    let _ = writeln!(out, "# {} = {default} # {}", row.key, row.sentence);
                }
            }
        }
        let _ = writeln!(
            out,
            "\n[robot]\n# Kinds: still, line, circle, half-sine, waypoints, file, feed, drive.\n\
             trajectory = {trajectory}\n# Height, roll and pitch follow the terrain.\n\
             follow_ground = {follows}"
        );
    }
}

/// Trajectory, as TOML text, for a robot that is driven by one of its own devices.
const DRIVEN: &str =
    "{ kind = \"drive\", model = \"skid-steer\", y_icr_m = 0.45, max_speed_m_s = 1.0 }";

/// TOML text of the motion of the joint that a device with this profile reports or moves; `None` if it has no joint.
fn motion_of(profile: &Profile) -> Option<&'static str> {
    match profile.product.joint {
        JointRole::None => None,
        JointRole::Tells => Some("{ kind = \"constant-rate\", rate_deg_s = 90.0 }"),
        JointRole::Commands => Some(
            "{ kind = \"commanded\", max_rate_deg_s = 120.0, max_acceleration_deg_s2 = 400.0 }",
        ),
    }
}

fn mount_of(profile: &Profile) -> &'static str {
    match profile.product.lidar {
        _ if profile.product.joint != JointRole::None => "[0.0, 0.0, 0.0]",
        Some(lidar) if lidar.lasers > 1 => "[0.0, 0.0, 2.0]",
        Some(_) => "[0.5, 0.0, 0.4]",
        None if profile.product.has_gps_output => "[0.0, 0.0, 2.4]",
        None => "[0.0, 0.0, 0.5]",
    }
}

/// Writes settings with a default as comments, so that a user can activate a line by removing the
/// `#`.
fn settings_as_comments(out: &mut String, settings: &TableSpec) {
    let mut line = |key: &KeySpec, name: &str| {
        let Some(default) = &key.default else { return };
        let sentence = key.meaning.as_deref().unwrap_or_default();
        let _ = writeln!(out, "# {name} = {} # {sentence}", words::written(default));
    };
    for key in &settings.keys {
        line(key, &key.name);
        for inner in key.table().into_iter().flat_map(|table| &table.keys) {
            line(inner, &format!("{}.{}", key.name, inner.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::profile::Interface;
    use crate::devices::families::catalogue;

    #[test]
    fn servers_have_their_products_ports_at_addresses_of_their_own() {
        let servers = catalogue().profiles().iter();
        let mut draft = Draft::new("room".into());
        let servers = servers.filter(|profile| profile.product.interface == Interface::Server);
        for (nth, profile) in servers.enumerate() {
            let link = draft.free_link("scanner", profile);
            assert!(!profile.product.server_ports.is_empty(), "{}", profile.name);
            for port in profile.product.server_ports {
                let address = format!("127.0.0.{}:{port}", nth + 1);
                assert!(link.contains(&address), "{}: {link} lacks {address}", profile.name);
            }
            draft.devices.push(DraftDevice {
                name: "scanner".into(),
                profile: Arc::clone(profile),
                link,
            });
        }
        assert!(draft.devices.len() > 1);
    }
}
