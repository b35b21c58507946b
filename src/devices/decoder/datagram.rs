//! Decoders of datagrams, and facts about their sender.

use std::fmt::Debug;

use glam::DVec3;
use serde_json::{Map, Value};

use super::Misfit;
use super::facts::Facts;
pub use super::facts::Lines;
use super::picture::Picture;
use crate::config::profile::Profile;

/// Kind of datagrams with measurements.
pub const DATA: &str = "data";

/// Reads the datagrams of one sender and collects facts about it.
pub trait DatagramDecoder: Debug + Send {
    /// A decoder that has seen as much.
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder>;

    /// Kind of a datagram; `None` if no unit of the family sends it. `ports` are those of the sender and the
    /// receiver.
    fn head(&self, ports: [u16; 2], payload: &[u8]) -> Option<Head>;

    /// Collects the facts about the sender in a datagram's header.
    fn learn(&mut self, payload: &[u8]);

    /// Collects facts from a datagram of another port of the same sender, such as the angles of the lasers.
    fn learn_aside(&mut self, _payload: &[u8]) {}

    /// Whether measurements are images. Their datagrams leave in bursts, so a pause does not indicate a loss.
    fn sends_images(&self) -> bool {
        false
    }

    /// The image that the datagram learnt last has completed.
    fn picture(&mut self) -> Option<Picture> {
        None
    }

    /// Probability that the sender is of this family, 0 to 1; 2 if the user named the family and the
    /// datagrams do not contradict.
    fn likelihood(&self) -> f64;

    /// Contradictions between the datagrams and the profile that the user named, if it is of this family.
    fn misfits(&self) -> Vec<Misfit> {
        Vec::new()
    }

    /// The measurements of a datagram of kind [`DATA`].
    fn sweep(&self, payload: &[u8]) -> Sweep;

    /// Returns of a datagram of kind [`DATA`] with their lasers; empty if the decoder does not distinguish
    /// lasers.
    fn shots(&self, _payload: &[u8]) -> Vec<Shot> {
        Vec::new()
    }

    /// Whether the sender's datagrams contain its own time.
    fn has_stamps(&self) -> bool;

    /// Name of the family's streams if nothing more is known about the sender.
    fn protocol(&self, has_stamps: bool) -> &'static str;

    /// Model name of the sender.
    fn model(&self) -> String;

    /// Model and mode of the sender, for people.
    fn model_text(&self) -> String {
        self.model()
    }

    /// A datagram on one line, for people.
    fn text(&self, payload: &[u8]) -> String;

    /// A datagram's fields, for machines.
    fn fields(&self, payload: &[u8]) -> Map<String, Value>;

    /// State of the sender, as far as it is contained in the data.
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

    /// Text about these datagrams, for people.
    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        self.other(kind, packets).into_lines()
    }

    /// Fields of these datagrams, for JSON.
    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        self.other(kind, 0).into_fields()
    }

    /// Converter of returns to points in space.
    ///
    /// # Errors
    /// Where the points come from, or why that is not known.
    fn point_source(&self) -> Result<PointSource, String>;

    /// Settings with which an emulated unit does the same as the sender, at `rate_rpm`.
    ///
    /// # Errors
    /// Reason why `profile` cannot emulate this sender.
    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String>;

    /// Further properties of a kind of datagrams, to compare two senders in addition to headers and figures.
    fn marks(&self, _kind: &str) -> Lines {
        Lines::new()
    }
}

/// Kind and head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// [`DATA`], or one of [`DatagramDecoder::other_kinds`].
    pub kind: &'static str,
    /// The sender's own time in the datagram, if any.
    pub stamp: Option<Stamp>,
}

/// A sender's own time: POSIX time modulo a period of its product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time in microseconds, as sent; it may exceed the period.
    pub us: u32,
    /// The period, microseconds.
    pub period_us: u32,
}

impl Stamp {
    /// Time from an earlier stamp to this one, in the shorter direction, microseconds.
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
    /// Whether the second return of a point follows the first; otherwise the returns of a block follow those
    /// of the block before.
    pub is_paired_by_point: bool,
    /// Values that no unit sends.
    pub issues: Vec<String>,
    /// Rotation that azimuths were computed with; `None` if the packets contain azimuths.
    pub turn: Option<TurnSteps>,
}

/// The steps of a turn, for packets that count steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSteps {
    /// Number of steps.
    pub count: u16,
    /// Whether the rotation is guessed, because no packet has shown it.
    pub is_guess: bool,
}

/// A return in the wire's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawReturn {
    /// Whether there is no return.
    pub is_empty: bool,
    /// Brightness, 0..=255; it may differ from 0 for an empty point.
    pub intensity: u8,
    /// Distance in the wire's units.
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
    /// Index of the laser, from 0, in the order of the product's documents.
    pub laser: u16,
    /// Direction of the head, clockwise, degrees, 0..360.
    pub azimuth_deg: f64,
    /// Elevation of the laser, degrees; 0 for a laser with a constant direction.
    pub elevation_deg: f64,
    /// Range in the packet, metres, without the unit's own correction.
    pub range_m: f64,
    /// Intensity as in the packet.
    pub intensity: u8,
}

/// A return in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudPoint {
    /// Position in the sensor's axes (forward, left, up), metres.
    pub position_m: DVec3,
    /// Corrected, 0..=255.
    pub intensity: f64,
    /// Laser, an index of [`PointSource::elevations_rad`].
    pub laser: usize,
    /// Number of this firing among the laser's firings in the datagram, from 0.
    pub firing: usize,
    /// Distance along the beam from where it leaves, metres.
    pub range_m: f64,
}

/// Converts returns to points in space.
pub struct PointSource {
    /// Source of the angles, for people.
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

/// Settings of an emulated unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// Settings as a table of a rig file.
    pub settings: String,
    /// The settings as text.
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
