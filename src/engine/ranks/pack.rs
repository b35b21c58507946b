//! Messages between ranks as bytes: one byte for the kind, then the fields in the format of `wincode`.
//!
//! Many requests have the same pulses. The pulses are sent once, as a table, to which requests refer.

use glam::DVec3;
use wincode::config::DefaultConfig;
use wincode::{SchemaRead, SchemaWrite};

use super::motion::Motion;
use crate::config::rig::schedule::Schedule;
use crate::frames::Transform;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::lidar::Thinning;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::truth::{FiringTruth, ReturnTruth, SweepTruth, Why};
use crate::sensors::{Echoes, FiringSlot, Outcome, PulseReturns, Return, RotorMotion, RotorPiece};
use crate::time::SimTime;
use crate::world::body_state::ShownPose;
use crate::world::trajectory::feed::{FeedNews, FeedPose};
use crate::world::vehicle::VehicleStep;

/// Message of rank 0 to the others.
#[derive(Clone, Debug)]
pub enum Order {
    /// Load the world of a rig.
    Load(Load),
    /// A run begins; the numbers are UTC of its first instant in seconds and nanoseconds.
    Begin(i64, i32),
    /// A table of pulses with its number. Later sweeps refer to the table by this number.
    Table(u32, Vec<FiringSlot>),
    /// New motion of the robot, of the joints and of feeds.
    Motion(Motion),
    /// A fault was started during the run, or its end became known.
    Fault(FaultNews),
    /// Make a measurement.
    Measure(Question),
    /// The run has ended.
    End,
}

/// A rig to load, with the texts of the rig file, of its profiles and of its calibrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Path of the rig; `None` for the default rig.
    pub rig: Option<String>,
    /// Path and text of the rig, its profiles and calibrations.
    pub files: Vec<(String, String)>,
    /// Key and value of each `--set`.
    pub sets: Vec<(String, String)>,
    /// Folder to which relative paths refer.
    pub folder: String,
}

/// A fault that was started during the run, with its present schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultNews {
    /// Index of the fault among all faults of the run.
    pub place: usize,
    /// Name of the fault.
    pub name: String,
    /// Keys of the fault in TOML.
    pub text: String,
    /// Schedule of the fault.
    pub schedule: Schedule,
}

/// Request for the measurement of a sweep.
#[derive(Clone, Debug)]
pub struct Question {
    /// Number that the answer repeats.
    pub ticket: u64,
    /// Index of the device in the rig.
    pub device: usize,
    /// Number of the request among the device's requests.
    pub index: u64,
    /// Time of the first firing.
    pub start: SimTime,
    /// Number of the sweep.
    pub number: u64,
    /// Motion of the rotor.
    pub rotor: RotorMotion,
    /// Selection of the reported echoes.
    pub selection: EchoSelection,
    /// Setting of the lidar's detector.
    pub receiver: ReceiverSetting,
    /// Number of the pulse table.
    pub table: u32,
    /// Reduction of the rays per pulse.
    pub thinning: Thinning,
    /// Whether the ground truth of each return is requested.
    pub wants_truth: bool,
}

/// Reason in the [`Reply::Farewell`] of a rank that a signal has ended.
pub const SIGNALLED: &str = "it was ended by a signal";

/// Reply of another rank to rank 0.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The world is loaded.
    Loaded(Loaded),
    /// The rank cannot load or measure; the fields are the reason, and whether the user's input causes it.
    Unable(String, bool),
    /// Result of a measurement.
    Answer(Box<Reading>),
    /// Sign of life, once per second.
    Beat,
    /// New report about the ray caster, sent when the report changes: its identity, with a note if the GPU has cast no
    /// pulses or was lost.
    Caster(String),
    /// Last message: the reason, or empty if rank 0 had requested the end.
    Farewell(String),
}

/// Report of a rank that is ready to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Name of the machine.
    pub host: String,
    /// Number of threads that measure.
    pub workers: usize,
    /// Identity of the ray caster.
    pub caster: String,
    /// Version and architecture of the program.
    pub program: String,
    /// SHA-256 of the program.
    pub binary: String,
    /// Digests of the loaded data, by name.
    pub digests: Vec<(String, String)>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug)]
pub struct Reading {
    /// Ticket of the answered request.
    pub ticket: u64,
    /// Processor time of the measurement, nanoseconds.
    pub busy_ns: u64,
    /// Whether the measurement used fewer rays per pulse than the sensor's settings require.
    pub is_thinned: bool,
    /// Latest pose from the feed, or latest command to the drive, whose effect the last firing can show.
    pub pose: Option<ShownPose>,
    /// Watched objects that returned light to the measurement: bit `n` is set for object `n` of the rig.
    pub objects: u64,
    /// Measured returns or echoes.
    pub outcome: Outcome,
    /// Effects of faults.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth, if it was requested.
    pub truth: Option<SweepTruth>,
    /// Feed poses that took effect in a packet for the first time: index of the feed, serial number of the pose, and
    /// the latest time at which a packet reflected it.
    pub shown: Vec<(usize, u64, SimTime)>,
}

/// Error: the bytes are not a message that this program has encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the received bytes are not a message of this program")]
pub struct Garbled;

fn put<T: SchemaWrite<DefaultConfig, Src = T>>(kind: u8, fields: &T) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(wincode::serialize(fields).expect("no list is longer than its form allows"));
    bytes
}

fn get<'b, T: SchemaRead<'b, DefaultConfig, Dst = T>>(bytes: &'b [u8]) -> Result<T, Garbled> {
    wincode::deserialize_exact(bytes).map_err(|_| Garbled)
}

/// Longest piece of a text, bytes: `wincode` rejects lists of more than 4 MiB.
const PIECE: usize = 1 << 20;

type Piece = Vec<u8>;

fn pieces(text: &str) -> Vec<Piece> {
    text.as_bytes().chunks(PIECE).map(<[u8]>::to_vec).collect()
}

fn joined(pieces: &[Piece]) -> Result<String, Garbled> {
    String::from_utf8(pieces.concat()).map_err(|_| Garbled)
}

fn all_joined(all: Vec<(String, Vec<Piece>)>) -> Result<Vec<(String, String)>, Garbled> {
    let mut texts = Vec::new();
    for (name, text) in all {
        texts.push((name, joined(&text)?));
    }
    Ok(texts)
}

type LoadFields = (Option<String>, Vec<(String, Vec<Piece>)>, Vec<(String, Vec<Piece>)>, String);
type StepFields = (
    (u64, [f64; 8], [f64; 8], [f64; 8], [f64; 8]),
    ([f64; 2], [f64; 2], [f64; 4], Option<(u64, u64)>),
);
type PoseFields = (u64, u64, u64, [f64; 7], [f64; 3], [f64; 3], [f64; 3], [f64; 3]);
type MotionFields = (Vec<StepFields>, Vec<(u64, Vec<[f64; 2]>)>, Vec<(u32, u64, Vec<PoseFields>)>);
type FaultFields = (u32, String, String, u64, Option<u64>, Option<u64>);
type QuestionFields = ((u64, u32, u64, u64, u64), SweepFields, (u32, u8, bool));
/// Fields of a sweep: pieces of the rotor's motion, directions of the firings, selected echoes, setting of the
/// detector.
type SweepFields = (Vec<(u64, f64, f64, f64)>, Vec<[f64; 3]>, u8, f32, f32);
type LoadedFields = (String, u32, String, String, String, Vec<(String, String)>);
/// Fields of a [`ReturnTruth`] in their order, divided into two groups of five.
type ReturnFields = ((u32, f32, f32, u32, u32), (f32, f32, u8, u8, bool));
type TruthFields = (u64, Vec<(u32, [f64; 7])>, Vec<(u32, f32, f32, u16)>, Vec<ReturnFields>);
type ReadingFields = (
    (u64, u64, bool, Option<(u64, u64)>, u64),
    // The outcome: whether it is `Outcome::Echoes` instead of `Outcome::Returns`; for each pulse, the number of its
    // echoes or the bits of its returns; all echoes or returns, each as range, intensity and signal.
    (bool, Vec<u8>, Vec<[f32; 3]>),
    Vec<(u32, u64, u8, u64)>,
    Option<TruthFields>,
    Vec<(u32, u64, u64)>,
);

impl Order {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Load(load) => {
                let texts = |all: &[(String, String)]| {
                    all.iter().map(|(name, text)| (name.clone(), pieces(text))).collect()
                };
                let fields: LoadFields =
                    (load.rig.clone(), texts(&load.files), texts(&load.sets), load.folder.clone());
                put(0, &fields)
            }
            Self::Begin(second, nanosecond) => put(1, &(*second, *nanosecond)),
            Self::Table(table, firings) => {
                let firings: Vec<(u32, u16)> =
                    firings.iter().map(|firing| (firing.offset_ns, firing.laser)).collect();
                put(2, &(*table, firings))
            }
            Self::Motion(motion) => put(3, &motion_fields(motion)),
            Self::Fault(FaultNews { place, name, text, schedule }) => {
                let Schedule { start, duration_ns, period_ns } = *schedule;
                let (name, text) = (name.clone(), text.clone());
                let fields: FaultFields =
                    (*place as u32, name, text, start.0, duration_ns, period_ns);
                put(4, &fields)
            }
            Self::Measure(question) => put(5, &question_fields(question)),
            Self::End => vec![6],
        }
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// The bytes are not a message to another rank.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let (kind, rest) = bytes.split_first().ok_or(Garbled)?;
        Ok(match kind {
            0 => {
                let (rig, files, sets, folder): LoadFields = get(rest)?;
                let (files, sets) = (all_joined(files)?, all_joined(sets)?);
                Self::Load(Load { rig, files, sets, folder })
            }
            1 => {
                let (second, nanosecond): (i64, i32) = get(rest)?;
                Self::Begin(second, nanosecond)
            }
            2 => {
                let (table, firings): (u32, Vec<(u32, u16)>) = get(rest)?;
                let slot = |(offset_ns, laser)| FiringSlot { offset_ns, laser };
                Self::Table(table, firings.into_iter().map(slot).collect())
            }
            3 => Self::Motion(motion_of(get(rest)?)),
            4 => {
                let (place, name, text, start, duration_ns, period_ns): FaultFields = get(rest)?;
                let schedule = Schedule { start: SimTime(start), duration_ns, period_ns };
                Self::Fault(FaultNews { place: place as usize, name, text, schedule })
            }
            5 => Self::Measure(question_of(get(rest)?)?),
            6 if rest.is_empty() => Self::End,
            _ => return Err(Garbled),
        })
    }
}

fn motion_fields(motion: &Motion) -> MotionFields {
    let step = |step: &VehicleStep| {
        let [begin, middle, end] = step.rates;
        let shown = step.shown.map(|shown| (shown.serial, shown.arrived.0));
        (
            (step.at.0, step.from, begin, middle, end),
            (step.setpoint_m_s, step.steering_rad, step.terrain_m, shown),
        )
    };
    let pose = |pose: &FeedPose| {
        let (velocity, rate) = (pose.velocity_m_s.to_array(), pose.rate_rad_s.to_array());
        let faster = pose.velocity_change_m_s2.to_array();
        let turned = pose.rate_change_rad_s2.to_array();
        let place = pose.world_from_body.components();
        (pose.serial, pose.at.0, pose.arrived.0, place, velocity, rate, faster, turned)
    };
    let feed = |(place, news): &(usize, FeedNews)| {
        (*place as u32, news.oldest, news.poses.iter().map(pose).collect())
    };
    let steps = motion.steps.iter().map(step).collect();
    (steps, motion.knots.clone(), motion.feeds.iter().map(feed).collect())
}

fn motion_of((steps, knots, feeds): MotionFields) -> Motion {
    let step = |((at, from, begin, middle, end), rest): StepFields| {
        let (setpoint_m_s, steering_rad, terrain_m, shown) = rest;
        let rates = [begin, middle, end];
        let shown = shown.map(shown_pose);
        VehicleStep { at: SimTime(at), from, rates, setpoint_m_s, steering_rad, terrain_m, shown }
    };
    let pose =
        |(serial, at, arrived, place, velocity, rate, faster, turned): PoseFields| FeedPose {
            serial,
            at: SimTime(at),
            arrived: SimTime(arrived),
            world_from_body: Transform::from_components(place),
            velocity_m_s: velocity.into(),
            rate_rad_s: rate.into(),
            velocity_change_m_s2: faster.into(),
            rate_change_rad_s2: turned.into(),
        };
    let feed = |(place, oldest, poses): (u32, u64, Vec<PoseFields>)| {
        (place as usize, FeedNews { oldest, poses: poses.into_iter().map(pose).collect() })
    };
    let steps = steps.into_iter().map(step).collect();
    Motion { steps, knots, feeds: feeds.into_iter().map(feed).collect() }
}

fn shown_pose((serial, arrived): (u64, u64)) -> ShownPose {
    ShownPose { serial, arrived: SimTime(arrived) }
}

/// Echo selections; the index of each is its code in messages.
const SELECTIONS: [EchoSelection; 5] = [
    EchoSelection::First,
    EchoSelection::Strongest,
    EchoSelection::Last,
    EchoSelection::StrongestAndLast,
    EchoSelection::OtherAndLast,
];

/// Code of `value`: its index in `all`, which contains every possible value.
fn place_of<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|one| one == value).map_or(u8::MAX, |place| place as u8)
}

fn question_fields(question: &Question) -> QuestionFields {
    let Question { ticket, device, index, start, number, .. } = *question;
    let piece = |piece: &RotorPiece| {
        (piece.from_ns, piece.azimuth_rad, piece.rate_rad_s, piece.acceleration_rad_s2)
    };
    let ReceiverSetting { threshold_factor, blanked_m } = question.receiver;
    (
        (ticket, device as u32, index, start.0, number),
        (
            question.rotor.pieces().map(piece).collect(),
            question
                .rotor
                .aims()
                .iter()
                .flat_map(|aims| aims.iter().map(DVec3::to_array))
                .collect(),
            place_of(&SELECTIONS, &question.selection),
            threshold_factor,
            blanked_m,
        ),
        (question.table, place_of(&Thinning::ALL, &question.thinning), question.wants_truth),
    )
}

fn question_of((identity, sweep, how): QuestionFields) -> Result<Question, Garbled> {
    let (ticket, device, index, start, number) = identity;
    let (pieces, aims, selection, threshold_factor, blanked_m) = sweep;
    let (table, thinning, wants_truth) = how;
    let mut pieces =
        pieces.into_iter().map(|(from_ns, azimuth_rad, rate_rad_s, acceleration_rad_s2)| {
            RotorPiece { from_ns, azimuth_rad, rate_rad_s, acceleration_rad_s2 }
        });
    let mut rotor = RotorMotion::starting_with(pieces.next().ok_or(Garbled)?);
    pieces.for_each(|piece| rotor.push(piece));
    if !aims.is_empty() {
        rotor = RotorMotion::steered(aims.into_iter().map(DVec3::from).collect());
    }
    Ok(Question {
        ticket,
        device: device as usize,
        index,
        start: SimTime(start),
        number,
        rotor,
        selection: *SELECTIONS.get(usize::from(selection)).ok_or(Garbled)?,
        receiver: ReceiverSetting { threshold_factor, blanked_m },
        table,
        thinning: *Thinning::ALL.get(usize::from(thinning)).ok_or(Garbled)?,
        wants_truth,
    })
}

impl Reply {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Loaded(loaded) => {
                let Loaded { host, workers, caster, program, binary, digests } = loaded.clone();
                let fields: LoadedFields = (host, workers as u32, caster, program, binary, digests);
                put(0, &fields)
            }
            Self::Unable(why, is_input) => put(1, &(why.clone(), *is_input)),
            Self::Answer(reading) => put(2, &reading_fields(reading)),
            Self::Beat => vec![3],
            Self::Farewell(why) => put(4, why),
            Self::Caster(caster) => put(5, caster),
        }
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// The bytes are not a reply.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let (kind, rest) = bytes.split_first().ok_or(Garbled)?;
        Ok(match kind {
            0 => {
                let (host, workers, caster, program, binary, digests): LoadedFields = get(rest)?;
                let workers = workers as usize;
                Self::Loaded(Loaded { host, workers, caster, program, binary, digests })
            }
            1 => {
                let (why, is_input): (String, bool) = get(rest)?;
                Self::Unable(why, is_input)
            }
            2 => Self::Answer(Box::new(reading_of(get(rest)?)?)),
            3 if rest.is_empty() => Self::Beat,
            4 => Self::Farewell(get(rest)?),
            5 => Self::Caster(get(rest)?),
            _ => return Err(Garbled),
        })
    }
}

/// Bit that is set if a pulse has a first return.
const HAS_FIRST: u8 = 1;
/// Bit that is set if a pulse has a second return.
const HAS_SECOND: u8 = 2;

fn echo_fields(echo: &Return) -> [f32; 3] {
    [echo.range_m, echo.intensity, echo.signal]
}

/// Fields of an outcome. Other ranks measure only lidars, whose outcomes are `Outcome::Returns` or `Outcome::Echoes`;
/// the fields of any other outcome are empty.
fn outcome_fields(outcome: &Outcome) -> (bool, Vec<u8>, Vec<[f32; 3]>) {
    let mut has = Vec::new();
    let mut echoes = Vec::new();
    match outcome {
        Outcome::Returns(pulses) => {
            has.reserve(pulses.len());
            echoes.reserve(pulses.len());
            for PulseReturns { first, second } in pulses {
                let bit = |echo: &Option<Return>, bit| if echo.is_some() { bit } else { 0 };
                has.push(bit(first, HAS_FIRST) | bit(second, HAS_SECOND));
                echoes.extend(first.iter().chain(second).map(echo_fields));
            }
            (false, has, echoes)
        }
        Outcome::Echoes(pulses) => {
            for pulse in pulses {
                has.push(pulse.as_slice().len() as u8);
                echoes.extend(pulse.as_slice().iter().map(echo_fields));
            }
            (true, has, echoes)
        }
        Outcome::Inertial(_)
        | Outcome::Sky(_)
        | Outcome::Wheels(_)
        | Outcome::Joint(_)
        | Outcome::Pixels(_) => (false, has, echoes),
    }
}

fn outcome_of((several, has, echoes): (bool, Vec<u8>, Vec<[f32; 3]>)) -> Result<Outcome, Garbled> {
    let mut echoes = echoes.into_iter().map(|[range_m, intensity, signal]| Return {
        range_m,
        intensity,
        signal,
    });
    let outcome = if several {
        let pulse = |count: u8| {
            let mut pulse = Echoes::default();
            for _ in 0..count {
                pulse.push(echoes.next().ok_or(Garbled)?);
            }
            Ok(pulse)
        };
        Outcome::Echoes(has.into_iter().map(pulse).collect::<Result<_, Garbled>>()?)
    } else {
        let mut next = |is_there: bool| match is_there {
            true => echoes.next().map(Some).ok_or(Garbled),
            false => Ok(None),
        };
        let pulse = |bits: u8| {
            let first = next(bits & HAS_FIRST != 0)?;
            Ok(PulseReturns { first, second: next(bits & HAS_SECOND != 0)? })
        };
        Outcome::Returns(has.into_iter().map(pulse).collect::<Result<_, Garbled>>()?)
    };
    if echoes.next().is_some() { Err(Garbled) } else { Ok(outcome) }
}

fn reading_fields(reading: &Reading) -> ReadingFields {
    let pose = reading.pose.map(|pose| (pose.serial, pose.arrived.0));
    let effect = |effect: &FaultEffect| {
        let (kind, amount) = effect_code(effect.kind);
        (effect.fault as u32, effect.window, kind, amount)
    };
    let shown = reading.shown.iter().map(|(feed, serial, until)| (*feed as u32, *serial, until.0));
    (
        (reading.ticket, reading.busy_ns, reading.is_thinned, pose, reading.objects),
        outcome_fields(&reading.outcome),
        reading.fault_effects.iter().map(effect).collect(),
        reading.truth.as_ref().map(truth_fields),
        shown.collect(),
    )
}

fn reading_of((facts, outcome, effects, truth, shown): ReadingFields) -> Result<Reading, Garbled> {
    let (ticket, busy_ns, is_thinned, pose, objects) = facts;
    let effects = effects.into_iter().map(|(fault, window, kind, amount)| {
        let kind = effect_of(kind, amount).ok_or(Garbled)?;
        Ok(FaultEffect { fault: fault as usize, window, kind })
    });
    let shown = shown.into_iter().map(|(feed, serial, at)| (feed as usize, serial, SimTime(at)));
    Ok(Reading {
        ticket,
        busy_ns,
        is_thinned,
        pose: pose.map(shown_pose),
        objects,
        outcome: outcome_of(outcome)?,
        fault_effects: effects.collect::<Result<_, Garbled>>()?,
        truth: truth.map(truth_of).transpose()?,
        shown: shown.collect(),
    })
}

fn effect_code(kind: EffectKind) -> (u8, u64) {
    match kind {
        EffectKind::NoSatellite => (0, 0),
        EffectKind::Moved { millimetres } => (1, millimetres),
        EffectKind::Frozen => (2, 0),
        EffectKind::LostReturns { count } => (3, count),
        EffectKind::ChangedReturns { count } => (4, count),
        EffectKind::Stalled { rpm } => (5, rpm),
        EffectKind::EncoderStuck => (6, 0),
        EffectKind::EncoderReversed => (7, 0),
        EffectKind::EncodersSwapped => (8, 0),
        EffectKind::CounterJumped { counts } => (9, counts),
        EffectKind::EmergencyStopped => (10, 0),
        EffectKind::LowBattery { millivolts } => (11, millivolts),
        EffectKind::LateReply { by_ns } => (12, by_ns),
        EffectKind::AlertActive => (13, 0),
        EffectKind::FewerShots { percent } => (14, percent),
        EffectKind::Refused => (15, 0),
        EffectKind::WeeksBehind { weeks } => (16, weeks),
        EffectKind::PtpDisturbed => (17, 0),
        EffectKind::NoCorrections => (18, 0),
        EffectKind::FramesDropped { count } => (19, count),
        EffectKind::PictureDisturbed => (20, 0),
    }
}

fn effect_of(code: u8, amount: u64) -> Option<EffectKind> {
    Some(match code {
        0 => EffectKind::NoSatellite,
        1 => EffectKind::Moved { millimetres: amount },
        2 => EffectKind::Frozen,
        3 => EffectKind::LostReturns { count: amount },
        4 => EffectKind::ChangedReturns { count: amount },
        5 => EffectKind::Stalled { rpm: amount },
        6 => EffectKind::EncoderStuck,
        7 => EffectKind::EncoderReversed,
        8 => EffectKind::EncodersSwapped,
        9 => EffectKind::CounterJumped { counts: amount },
        10 => EffectKind::EmergencyStopped,
        11 => EffectKind::LowBattery { millivolts: amount },
        12 => EffectKind::LateReply { by_ns: amount },
        13 => EffectKind::AlertActive,
        14 => EffectKind::FewerShots { percent: amount },
        17 => EffectKind::PtpDisturbed,
        19 => EffectKind::FramesDropped { count: amount },
        20 => EffectKind::PictureDisturbed,
        18 => EffectKind::NoCorrections,
        15 => EffectKind::Refused,
        16 => EffectKind::WeeksBehind { weeks: amount },
        _ => return None,
    })
}

/// Values of [`Why`]; the index of each is its code in messages.
const REASONS: [Why; 8] = [
    Why::Nearest,
    Why::Merged,
    Why::OtherEcho,
    Why::Threshold,
    Why::Noise,
    Why::Weather,
    Why::Fault,
    Why::Nothing,
];

fn truth_fields(truth: &SweepTruth) -> TruthFields {
    let firing = |one: &FiringTruth| (one.offset_ns, one.azimuth_rad, one.elevation_rad, one.laser);
    let echo = |one: &ReturnTruth| {
        (
            (one.firing, one.reported_m, one.true_m, one.instance, one.material),
            (one.cos_incidence, one.share, one.why as u8, one.slots, one.is_mirrored),
        )
    };
    (
        truth.start.0,
        truth.poses.iter().map(|(offset_ns, pose)| (*offset_ns, pose.components())).collect(),
        truth.firings.iter().map(firing).collect(),
        truth.returns.iter().map(echo).collect(),
    )
}

fn truth_of((start, poses, firings, returns): TruthFields) -> Result<SweepTruth, Garbled> {
    let firing = |(offset_ns, azimuth_rad, elevation_rad, laser)| FiringTruth {
        offset_ns,
        azimuth_rad,
        elevation_rad,
        laser,
    };
    let echo = |(what, how): ReturnFields| {
        let (firing, reported_m, true_m, instance, material) = what;
        let (cos_incidence, share, why, slots, is_mirrored) = how;
        Ok(ReturnTruth {
            firing,
            reported_m,
            true_m,
            instance,
            material,
            cos_incidence,
            share,
            why: *REASONS.get(usize::from(why)).ok_or(Garbled)?,
            slots,
            is_mirrored,
        })
    };
    let pose = |(offset_ns, pose)| (offset_ns, Transform::from_components(pose));
    Ok(SweepTruth {
        start: SimTime(start),
        poses: poses.into_iter().map(pose).collect(),
        firings: firings.into_iter().map(firing).collect(),
        returns: returns.into_iter().map(echo).collect::<Result<_, Garbled>>()?,
    })
}

#[cfg(test)]
mod tests;
