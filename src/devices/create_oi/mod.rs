//! A Create 2 or a Roomba with iRobot's Open Interface. `commands.csv` names the specification.
//!
//! The robot drives only in safe and full mode; it does not stop when commands stop arriving. A fraction of full
//! PWM becomes the same fraction of `max_speed_m_s`. Cleaning (134 to 136) and docking (143) end in passive mode
//! without motion. Bumpers, cliffs, walls, buttons and chargers read 0. The Open Interface has no emergency stop: while
//! the motor power is cut, the robot reports both wheels as dropped (packet 7), and safe mode ends. Songs are stored,
//! and a song plays silently for its duration; other actuators have no effect. Command 128 wakes a sleeping robot; a
//! real one wakes only if its BRC pin is pulled low, and the emulated serial line has no such pin.

mod decoder;
mod profile;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::profile::CreateSettings;
use crate::drive_base::faults::FAULTS;
use crate::drive_base::{BaseFamily, Protocol, Unit};
use crate::time::SimTime;
use crate::wire::create_oi::{Command, Commands, StreamFrame, answer_len, opcode as op, packets};
use crate::wire::framer::Framer;

/// Family of Create 2 and Roomba with the Open Interface.
pub const FAMILY: BaseFamily = BaseFamily {
    key: "create-oi",
    dialect: || Arc::new(CreateSettings::default()),
    faults: &FAULTS,
    commands: &[
        ("Open Interface commands", include_str!("commands.csv")),
        ("Open Interface sensor packets", include_str!("packets.csv")),
    ],
    decoder: decoder::decoder,
};

/// Largest speed of drive commands.
const MAX_SPEED_MM_S: i16 = 500;
/// Largest radius of drive commands.
const MAX_RADIUS_MM: i16 = 2000;
/// Largest value of a PWM command.
const MAX_PWM: f64 = 255.0;
/// Baud rates, indexed by the baud code of command 129.
const BAUD_RATES: [u32; 12] =
    [300, 600, 1200, 2400, 4800, 9600, 14_400, 19_200, 28_800, 38_400, 57_600, 115_200];
/// Largest number of songs that the robot stores.
const SONGS: usize = 5;
/// Unit of note durations: 1/64 s.
const NOTE_UNIT_NS: u64 = 1_000_000_000 / 64;
/// Index of the left motor.
const LEFT: usize = 0;
/// Index of the right motor.
const RIGHT: usize = 1;

/// Operating mode, which determines the accepted commands; the numbers are those of packet 35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off = 0,
    Passive = 1,
    Safe = 2,
    Full = 3,
}

/// A Create 2 or Roomba.
pub struct CreateUnit {
    own: CreateSettings,
    framer: Framer<Commands>,
    mode: Mode,
    heard_at: SimTime,
    /// Last commanded values, for packets 39 to 42.
    requested: Requested,
    /// Sum of the distances (mm) that packet 19 has reported, and sum of the angles (degrees) that packet 20 has
    /// reported.
    told: [i64; 2],
    /// Ids of streamed packets.
    stream: Vec<u8>,
    is_paused: bool,
    next_frame: SimTime,
    /// The last song played.
    song: u8,
    song_until: SimTime,
    /// Duration of each song, nanoseconds; 0: no song.
    songs: [u64; SONGS],
    /// Whether a restart is in progress; the boot text follows when it is complete.
    boots: bool,
}

/// Values of the last drive command.
#[derive(Clone, Copy, Debug, Default)]
struct Requested {
    velocity_mm_s: i16,
    radius_mm: i16,
    right_mm_s: i16,
    left_mm_s: i16,
}

impl CreateUnit {
    /// A robot that has just been switched on.
    pub fn new(own: CreateSettings) -> Self {
        Self {
            own,
            framer: Framer::new(Commands),
            mode: Mode::Off,
            heard_at: SimTime::ZERO,
            requested: Requested::default(),
            told: [0; 2],
            stream: Vec::new(),
            is_paused: false,
            next_frame: SimTime::ZERO,
            song: 0,
            song_until: SimTime::ZERO,
            songs: [0; SONGS],
            boots: false,
        }
    }

    fn change_mode(&mut self, at: SimTime, mode: Mode, unit: &mut Unit) {
        if matches!(mode, Mode::Off | Mode::Passive) {
            self.halt(at, unit);
        }
        if mode == Mode::Off {
            self.stream.clear();
        }
        self.mode = mode;
    }

    fn halt(&mut self, at: SimTime, unit: &mut Unit) {
        self.requested = Requested::default();
        if unit.is_driving() {
            unit.stop(at);
        }
    }

    fn on_command(&mut self, at: SimTime, command: &Command, unit: &mut Unit) {
        if self.mode == Mode::Off && !matches!(command.opcode, op::START | op::RESET) {
            return;
        }
        let arguments = command.arguments.as_slice();
        match (command.opcode, arguments) {
            (op::RESET, _) => {
                self.change_mode(at, Mode::Off, unit);
                unit.restart(at);
                self.told = [0; 2];
                self.boots = true;
            }
            (op::START, _) => self.change_mode(at, Mode::Passive, unit),
            (op::CONTROL | op::SAFE, _) => {
                let is_held_up = unit.is_stopped();
                self.change_mode(at, if is_held_up { Mode::Passive } else { Mode::Safe }, unit);
            }
            (op::FULL, _) => self.change_mode(at, Mode::Full, unit),
            (op::POWER, _) => self.change_mode(at, Mode::Passive, unit),
            (op::STOP, _) => self.change_mode(at, Mode::Off, unit),
            (op::SPOT | op::CLEAN | op::MAX | op::DOCK, _) => {
                self.change_mode(at, Mode::Passive, unit);
            }
            (op::BAUD, &[code]) => {
                let baud = BAUD_RATES.get(usize::from(code));
                if let Some(baud) = baud.filter(|baud| unit.profile.line.baud_rates.contains(baud))
                {
                    unit.port.change_rate(at, *baud);
                }
            }
            (op::DRIVE | op::DRIVE_DIRECT | op::DRIVE_PWM | op::PLAY, _)
                if !matches!(self.mode, Mode::Safe | Mode::Full) => {}
            (op::DRIVE, &[a, b, c, d]) => {
                let [velocity, radius] = [[a, b], [c, d]].map(i16::from_be_bytes);
                self.drive(at, velocity, radius, unit);
            }
            (op::DRIVE_DIRECT, &[a, b, c, d]) => {
                let [right, left] = [[a, b], [c, d]].map(i16::from_be_bytes);
                let [right, left] =
                    [right, left].map(|mm_s| mm_s.clamp(-MAX_SPEED_MM_S, MAX_SPEED_MM_S));
                self.wheels(at, left.into(), right.into(), unit);
            }
            (op::DRIVE_PWM, &[a, b, c, d]) => {
                let most_mm_s = unit.settings.wheels.max_speed_m_s * 1e3;
                let [right, left] = [[a, b], [c, d]].map(|bytes| {
                    (f64::from(i16::from_be_bytes(bytes)) / MAX_PWM).clamp(-1.0, 1.0) * most_mm_s
                });
                self.wheels(at, left, right, unit);
            }
            (op::SONG, [number, _, notes @ ..]) => {
                let units: u64 = notes.chunks_exact(2).map(|note| u64::from(note[1])).sum();
                if let Some(song) = self.songs.get_mut(usize::from(*number)) {
                    *song = units * NOTE_UNIT_NS;
                }
            }
            (op::PLAY, &[song]) => self.play(at, song),
            (op::SENSORS | op::QUERY_LIST, _) => {
                let ids = if command.opcode == op::SENSORS { arguments } else { &arguments[1..] };
                let data: Vec<u8> = ids.iter().flat_map(|id| self.answer(at, *id, unit)).collect();
                if !data.is_empty() {
                    unit.reply(at, data);
                }
            }
            (op::STREAM, [_, ids @ ..]) => {
                let length: usize = ids.iter().map(|id| 1 + answer_len(*id)).sum();
                let is_known = ids.iter().all(|id| answer_len(*id) > 0);
                if is_known && length <= 255 {
                    self.stream = ids.to_vec();
                    self.is_paused = false;
                    self.next_frame = SimTime(at.0 + self.own.stream_period_ns);
                }
            }
            (op::TOGGLE_STREAM, &[state]) => {
                if self.is_paused && state == 1 {
                    self.next_frame = SimTime(at.0 + self.own.stream_period_ns);
                }
                self.is_paused = state != 1;
            }
            _ => {}
        }
    }

    fn drive(&mut self, at: SimTime, velocity_mm_s: i16, radius_mm: i16, unit: &mut Unit) {
        let velocity = velocity_mm_s.clamp(-MAX_SPEED_MM_S, MAX_SPEED_MM_S);
        let speed = f64::from(velocity);
        let [left, right] = match radius_mm {
            i16::MIN | i16::MAX | 0 => [speed, speed],
            -1 => [speed, -speed],
            1 => [-speed, speed],
            _ => {
                let radius_mm = f64::from(radius_mm.clamp(-MAX_RADIUS_MM, MAX_RADIUS_MM));
                let share = self.own.wheel_base_m * 500.0 / radius_mm;
                [speed * (1.0 - share), speed * (1.0 + share)]
            }
        };
        self.wheels(at, left, right, unit);
        self.requested.velocity_mm_s = velocity;
        self.requested.radius_mm = radius_mm;
    }

    /// Plays a stored song, unless one is playing.
    fn play(&mut self, at: SimTime, song: u8) {
        let length_ns = self.songs.get(usize::from(song)).copied().unwrap_or(0);
        if length_ns > 0 && at >= self.song_until {
            self.song = song;
            self.song_until = SimTime(at.0 + length_ns);
        }
    }

    fn wheels(&mut self, at: SimTime, left_mm_s: f64, right_mm_s: f64, unit: &mut Unit) {
        self.requested = Requested {
            right_mm_s: right_mm_s.round() as i16,
            left_mm_s: left_mm_s.round() as i16,
            ..Requested::default()
        };
        unit.drive(at, [Some(left_mm_s * 1e-3), Some(right_mm_s * 1e-3)]);
    }

    /// Content of a packet or a group of packets.
    fn answer(&mut self, at: SimTime, id: u8, unit: &Unit) -> Vec<u8> {
        packets(id).flat_map(|packet| self.packet(at, packet, unit)).collect()
    }

    fn packet(&mut self, at: SimTime, id: u8, unit: &Unit) -> Vec<u8> {
        let power = &unit.settings.power;
        let byte = |value: u8| vec![value];
        let word = |value: f64| {
            (value.round().clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_be_bytes().to_vec()
        };
        let unsigned =
            |value: f64| (value.round().clamp(0.0, u16::MAX.into()) as u16).to_be_bytes().to_vec();
        let capacity_mah = power.capacity_wh / power.battery_v.max(0.1) * 1e3;
        match id {
            7 => byte(if unit.is_stopped() { 0x0c } else { 0 }),
            19 => self.since_told(0, unit),
            20 => self.since_told(1, unit),
            22 => unsigned(unit.battery_v() * 1e3),
            23 => word(-unit.battery_current_a() * 1e3),
            24 => byte(power.temperature_c.round().clamp(-128.0, 127.0) as i8 as u8),
            25 => unsigned(capacity_mah * unit.charge_percent() / 100.0),
            26 => unsigned(capacity_mah),
            35 => byte(self.mode as u8),
            36 => byte(self.song),
            37 => byte((at < self.song_until).into()),
            38 => byte(self.stream.len() as u8),
            39 => self.requested.velocity_mm_s.to_be_bytes().to_vec(),
            40 => self.requested.radius_mm.to_be_bytes().to_vec(),
            41 => self.requested.right_mm_s.to_be_bytes().to_vec(),
            42 => self.requested.left_mm_s.to_be_bytes().to_vec(),
            43 => (unit.counts(LEFT) as u16).to_be_bytes().to_vec(),
            44 => (unit.counts(RIGHT) as u16).to_be_bytes().to_vec(),
            54 => word(unit.current_a(LEFT) * 1e3),
            55 => word(unit.current_a(RIGHT) * 1e3),
            58 => byte((unit.speed_m_s(LEFT) + unit.speed_m_s(RIGHT) > 0.0).into()),
            other => vec![0; answer_len(other)],
        }
    }

    /// Distance in mm (`which` is 0) or angle in degrees (`which` is 1) since the last report, as the data of packet 19
    /// or 20.
    fn since_told(&mut self, which: usize, unit: &Unit) -> Vec<u8> {
        let [left_m, right_m] = [LEFT, RIGHT].map(|side| unit.metres(unit.counts(side) as f64));
        let total = match which {
            0 => (left_m + right_m) * 500.0 * self.own.distance_scale,
            _ => ((right_m - left_m) / self.own.wheel_base_m).to_degrees() * self.own.angle_scale,
        };
        let since = total as i64 - self.told[which];
        let told = since.clamp(i16::MIN.into(), i16::MAX.into());
        // The part that does not fit into the field is lost.
        self.told[which] += since;
        (told as i16).to_be_bytes().to_vec()
    }

    fn is_streaming(&self) -> bool {
        !self.stream.is_empty() && !self.is_paused && self.mode != Mode::Off
    }

    fn sleeps_at(&self) -> Option<SimTime> {
        let falls_asleep = self.own.sleep_after_ns > 0 && self.mode == Mode::Passive;
        falls_asleep.then_some(SimTime(self.heard_at.0 + self.own.sleep_after_ns))
    }
}

impl Protocol for CreateUnit {
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit) {
        self.heard_at = at;
        for command in self.framer.frames(bytes) {
            self.on_command(at, &command, unit);
            if self.boots {
                // Bytes after a reset command are ignored.
                self.framer.clear();
                break;
            }
        }
    }

    fn next_due(&self, unit: &Unit) -> Option<SimTime> {
        let boot = self.boots.then_some(unit.listens_from());
        let frame = self.is_streaming().then_some(self.next_frame);
        [boot, frame, self.sleeps_at()].into_iter().flatten().min()
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        if self.boots && at >= unit.listens_from() {
            self.boots = false;
            if !self.own.boot_text.is_empty() {
                unit.report(at, self.own.boot_text.clone().into_bytes());
            }
        }
        if self.is_streaming() && at >= self.next_frame {
            let ids = self.stream.clone();
            let parts = ids.into_iter().map(|id| (id, self.answer(at, id, unit))).collect();
            let mut bytes = Vec::new();
            StreamFrame { parts }.emit(&mut bytes);
            unit.report(at, bytes);
            self.next_frame = SimTime(self.next_frame.0 + self.own.stream_period_ns);
        }
        if self.sleeps_at().is_some_and(|sleeps| at >= sleeps) {
            self.change_mode(at, Mode::Off, unit);
        }
    }

    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        self.halt(at, unit);
        if self.mode == Mode::Safe {
            self.mode = Mode::Passive;
        }
    }

    fn rate_hz(&self) -> f64 {
        if self.is_streaming() { 1e9 / self.own.stream_period_ns as f64 } else { 0.0 }
    }
}
