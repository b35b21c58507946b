//! Datagrams, read back: what a family's decoder says of each, and of their sender.

use std::fmt::Debug;

use glam::DVec3;
use serde_json::{Map, Value};

use super::Misfit;
use super::facts::Facts;
pub use super::facts::Lines;
use super::picture::Picture;
use crate::config::profile::Profile;

/// The kind of the datagrams that hold measurements.
pub const DATA: &str = "data";

/// Reads the datagrams of one sender and remembers what they tell of it.
pub trait DatagramDecoder: Debug + Send {
    /// A decoder that has seen as much.
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder>;

    /// What a datagram is; `None` if no unit of the family sends such a one. `ports` are the
    /// sender's and the receiver's.
    fn head(&self, ports: [u16; 2], payload: &[u8]) -> Option<Head>;

    /// Stores what a datagram's head shows about its sender.
    fn learn(&mut self, payload: &[u8]);

    /// Remembers what a datagram of another port of the same sender tells, such as the angles of its lasers.
    fn learn_aside(&mut self, _payload: &[u8]) {}

    /// Whether measurements are images. Their datagrams leave in bursts, so that a pause shows no loss.
    fn sends_images(&self) -> bool {
        false
    }

    /// The image that the datagram learnt last has completed.
    fn picture(&mut self) -> Option<Picture> {
        None
    }

    /// How likely the sender is of this family, 0 to 1; 2 if the user has said so and the datagrams
    /// do not say otherwise.
    fn likelihood(&self) -> f64;

    /// What the datagrams say against the profile that the user has named, if it is this family's.
    fn misfits(&self) -> Vec<Misfit> {
        Vec::new()
    }

    /// The measurements of a datagram of kind [`DATA`].
    fn sweep(&self, payload: &[u8]) -> Sweep;

    /// The returns of a datagram of kind [`DATA`] with the lasers that fired; nothing if the decoder
    /// does not tell lasers apart.
    fn shots(&self, _payload: &[u8]) -> Vec<Shot> {
        Vec::new()
    }

    /// Whether the sender puts its own time into datagrams.
    fn has_stamps(&self) -> bool;

    /// What streams of the family are called where nothing else is told of their sender.
    fn protocol(&self, has_stamps: bool) -> &'static str;

    /// Model name of the sender.
    fn model(&self) -> String;

    /// The model and how it measures, for people.
    fn model_text(&self) -> String {
        self.model()
    }

    /// A datagram on one line, for people.
    fn text(&self, payload: &[u8]) -> String;

    /// A datagram's fields, for machines.
    fn fields(&self, payload: &[u8]) -> Map<String, Value>;

    /// State of the sender, as far as its data has it.
    fn state(&self) -> Facts {
        Facts::default()
    }

    /// The state for people.
    fn status_lines(&self) -> Lines {
        self.state().into_lines()
    }

    /// The state for machines; null where it is not known.
    fn status(&self) -> Value {
        let fields = self.state().into_fields();
        if fields.is_empty() { Value::Null } else { fields.into() }
    }

    /// Kinds of datagrams other than [`DATA`].
    fn other_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Content of `packets` datagrams of another kind.
    fn other(&self, _kind: &str, _packets: u64) -> Facts {
        Facts::default()
    }

    /// Their content for people.
    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        self.other(kind, packets).into_lines()
    }

    /// Their content for machines.
    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        self.other(kind, 0).into_fields()
    }

    /// How returns become points in space.
    ///
    /// # Errors
    /// Why that is not known.
    fn point_source(&self) -> Result<PointSource, String>;

    /// How an emulated unit is made to do what the sender did, turning at `rate_rpm`.
    ///
    /// # Errors
    /// Why `profile` cannot be made to.
    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String>;

    /// What can be told apart between two senders beyond headers and figures, by datagrams of a
    /// kind.
    fn marks(&self, _kind: &str) -> Lines {
        Lines::new()
    }
}

/// Kind and head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// [`DATA`], or one of [`DatagramDecoder::other_kinds`].
    pub kind: &'static str,
    /// The sender's own time in it, if there can be one.
    pub stamp: Option<Stamp>,
}

/// A sender's own time: POSIX time modulo a period of its product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Microseconds. Bytes of the wire: may be beyond the period.
    pub us: u32,
    /// The period, microseconds.
    pub period_us: u32,
}

impl Stamp {
    /// Time from an earlier stamp to this one, the shorter way round, microseconds.
    pub fn since_us(self, earlier: Self) -> i64 {
        let period = i64::from(self.period_us);
        let step = (i64::from(self.us) - i64::from(earlier.us)).rem_euclid(period);
        if step > period / 2 { step - period } else { step }
    }

    /// The stamp of an instant, nanoseconds of POSIX time.
    pub fn of(unix_ns: i128, period_us: u32) -> Self {
        let us = (unix_ns / 1000).rem_euclid(period_us.into());
        Self { us: us as u32, period_us }
    }

    /// Time from the stamp to an instant, nanoseconds of POSIX time, below a period, microseconds.
    pub fn age_us(self, unix_ns: i128) -> f64 {
        let period_us = f64::from(self.period_us);
        let at_us = unix_ns.rem_euclid(i128::from(self.period_us) * 1000) as f64 / 1000.0;
        (at_us - f64::from(self.us)).rem_euclid(period_us)
    }
}

/// The measurements of one datagram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Azimuths of each block, in the order of the wire, 0.01 degrees.
    pub azimuths_centideg: Vec<u16>,
    /// Returns of all blocks.
    pub returns: Vec<RawReturn>,
    /// Whether firings have two returns each.
    pub is_dual: bool,
    /// Whether the second return of a point follows the first; else those of a block follow those of the block
    /// before.
    pub is_paired_by_point: bool,
    /// Values that no unit sends.
    pub issues: Vec<String>,
    /// What azimuths were computed with; `None` where the wire has them.
    pub turn: Option<TurnSteps>,
}

/// The steps of a turn, for packets that count steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSteps {
    /// Number of steps.
    pub count: u16,
    /// Whether that is a guess, because no packet so far has told.
    pub is_guess: bool,
}

/// A return as the wire has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawReturn {
    /// Whether nothing came back.
    pub is_empty: bool,
    /// Brightness, 0..=255; not always 0 of an empty one.
    pub intensity: u8,
    /// In the wire's units.
    pub distance: u32,
}

impl Sweep {
    /// The two returns of each firing, where firings have two.
    pub fn pairs(&self) -> impl Iterator<Item = [RawReturn; 2]> {
        let (count, between) = match self.is_dual {
            true if self.is_paired_by_point => (self.returns.len() / 2, 1),
            true => {
                (self.returns.len() / 2, self.returns.len() / self.azimuths_centideg.len().max(1))
            }
            false => (0, 1),
        };
        let between = between.max(1);
        (0..count).filter_map(move |nth| {
            let first = nth / between * 2 * between + nth % between;
            Some([*self.returns.get(first)?, *self.returns.get(first + between)?])
        })
    }
}

/// A return with the laser that fired and where the head looked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// Counts from 0, in the order of the product's documents.
    pub laser: u16,
    /// Direction of the head, clockwise, degrees, 0..360.
    pub azimuth_deg: f64,
    /// Where the laser looks up or down, degrees; 0 of a laser that always looks alike.
    pub elevation_deg: f64,
    /// Range as in the packet, metres: without the unit's own correction, if there is one.
    pub range_m: f64,
    /// Intensity as in the packet.
    pub intensity: u8,
}

/// A return in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudPoint {
    /// Forward, left, up of the sensor, metres.
    pub position_m: DVec3,
    /// Corrected, 0..=255.
    pub intensity: f64,
    /// The laser that fired, as [`PointSource::elevations_rad`] counts them.
    pub laser: usize,
    /// Which of that laser's firings in the datagram it is of, from 0.
    pub firing: usize,
    /// Distance along the beam from where it leaves, metres.
    pub range_m: f64,
}

/// Turns returns into points in space.
pub struct PointSource {
    /// Where the angles are from, for people.
    pub calibration: &'static str,
    /// Elevation of each laser, radians.
    pub elevations_rad: Vec<f64>,
    /// Appends the points of a datagram's block, counted as in [`Sweep::azimuths_centideg`].
    pub decode: DecodeBlock,
}

/// Appends the points of a datagram's block to a list.
pub type DecodeBlock = Box<dyn Fn(&[u8], usize, &mut Vec<CloudPoint>)>;

impl PointSource {
    /// The lowest and the highest beam's elevation, radians.
    pub fn elevation_span_rad(&self) -> (f64, f64) {
        let all = self.elevations_rad.iter();
        all.fold((f64::MAX, f64::MIN), |(low, high), angle| (low.min(*angle), high.max(*angle)))
    }

    /// The mean angle between neighbouring beams, radians.
    pub fn beam_spacing_rad(&self) -> f64 {
        let (low, high) = self.elevation_span_rad();
        (high - low) / self.elevations_rad.len().saturating_sub(1).max(1) as f64
    }
}

/// How an emulated unit is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// Settings as a table of a rig file.
    pub settings: String,
    /// Title in words.
    pub title: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_goes_on_when_its_period_is_over() {
        let stamp = |us| Stamp { us, period_us: 3_600_000_000 };
        assert_eq!(stamp(100).since_us(stamp(3_599_999_900)), 200);
        assert_eq!(stamp(3_599_999_900).since_us(stamp(100)), -200);
        assert_eq!(Stamp::of(7_200_000_001_999, 3_600_000_000), stamp(1));
        assert_eq!(stamp(1).age_us(7_200_000_003_500), 2.5);
    }
}
