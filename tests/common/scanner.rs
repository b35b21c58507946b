//! A scanner in a room, for tests of dialogues.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use menura::config::rig::Rig;
use menura::devices::Device;
use menura::engine::{LiveWorld, build_devices};
use menura::sensors::Sensor;
use menura::sensors::lidar::Scratch;
use menura::time::{Epoch, SimTime};

/// Address from which hosts connect.
pub const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Half of the room's length and width, metres; the scanner's forward direction is along the
/// length.
const HALF_ROOM_M: [f64; 2] = [6.0, 4.0];

/// A device in a room, with a single ray per pulse and no noise.
pub struct Scanner {
    world: LiveWorld,
    rig: Rig,
    /// The device under test.
    pub device: Box<dyn Device>,
    sensor: Arc<dyn Sensor>,
    scratch: Scratch,
}

impl Scanner {
    /// Builds the device; `link` and `settings` are TOML of the rig.
    pub fn new(profile: &str, link: &str, settings: &str) -> Self {
        let text = format!(
            "[world]\nscene = \"room\"\nparameters = {{ size_m = [12.0, 8.0, 3.0] }}\n\
             [robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"scanner\"\nprofile = \"{profile}\"\n\
             mount = {{ translation_m = [0.0, 0.0, 1.0] }}\nlink = {{ {link} }}\n\
             [device.settings]\nbeam = {{ shape = \"ray\" }}\n\
             errors = \"none\"\n{settings}\n"
        );
        let (rig, world) = super::load(&text);
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let built = build_devices(&rig, epoch).remove(0);
        let scratch = Scratch::default();
        Self { world, rig, device: built.device, sensor: built.sensor, scratch }
    }

    /// Makes the measurements that the device requests before `horizon_ns`, and passes them to the device.
    pub fn measure(&mut self, horizon_ns: u64) {
        let surroundings = self.world.surroundings(&self.rig.devices[0].body_from_sensor);
        while let Some(request) = self.device.poll_request(SimTime(horizon_ns)) {
            let measurement = self.sensor.measure(request, &surroundings, &mut self.scratch);
            self.device.handle_measurement(&measurement);
        }
    }
}

/// Distance of the wall at an angle from the scanner's forward direction, metres.
pub fn wall_m(heading_rad: f64) -> f64 {
    let [length, width] = HALF_ROOM_M;
    (length / libm::cos(heading_rad).abs()).min(width / libm::sin(heading_rad).abs())
}

/// Nanoseconds of a time such as `5ms`, `0.2s` or `40us`.
pub fn time_ns(word: &str) -> u64 {
    let (digits, scale) = if let Some(digits) = word.strip_suffix("us") {
        (digits, 1e3)
    } else if let Some(digits) = word.strip_suffix("ms") {
        (digits, 1e6)
    } else {
        (word.strip_suffix('s').expect("us, ms or s"), 1e9)
    };
    (digits.parse::<f64>().expect("a time") * scale) as u64
}
