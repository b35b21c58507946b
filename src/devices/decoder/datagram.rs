//! Decoders of datagrams.

use std::fmt::Debug;

use glam::DVec3;
use serde_json::{Map, Value};

use super::Misfit;
use super::facts::Facts;
pub use super::facts::Lines;
use super::picture::Picture;
use crate::config::profile::Profile;

/// Name of the datagram kind for measurements.
pub const DATA: &str = "data";

/// Decodes the datagrams of one sender and collects facts about it.
pub trait DatagramDecoder: Debug + Send {
    /// A copy of the decoder with its state.
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder>;

    /// Kind and timestamp of a datagram; `None` if no unit of the family sends it. `ports` are the source port and
    /// the destination port.
    fn head(&self, ports: [u16; 2], payload: &[u8]) -> Option<Head>;

    /// Collects facts about the sender from a datagram.
    fn learn(&mut self, payload: &[u8]);

    /// Collects facts from a datagram of another port of the same sender, for example laser angles.
    fn learn_aside(&mut self, _payload: &[u8]) {}

    /// Whether measurements are images. Their datagrams are sent in bursts, so a pause does not indicate a loss.
    fn sends_images(&self) -> bool {
        false
    }

    /// The image completed by the last datagram, if any.
    fn picture(&mut self) -> Option<Picture> {
        None
    }

    /// Probability that the sender is of this family, 0 to 1. If the user has named a profile of the family, most
    /// decoders return 2 as soon as they have received measurements. Some of them do so only if the measurements do not
    /// contradict that profile.
    fn likelihood(&self) -> f64;

    /// Contradictions between the datagrams and the named profile; empty if the profile is of another family.
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

    /// Whether datagrams contain timestamps of the sender.
    fn has_stamps(&self) -> bool;

    /// Name of the protocol, without the model. `has_stamps`: whether datagrams contain timestamps of the sender.
    fn protocol(&self, has_stamps: bool) -> &'static str;

    /// Model name of the sender.
    fn model(&self) -> String;

    /// Model and mode of the sender as text.
    fn model_text(&self) -> String {
        self.model()
    }

    /// Text of a datagram on one line.
    fn text(&self, payload: &[u8]) -> String;

    /// Fields of a datagram for JSON.
    fn fields(&self, payload: &[u8]) -> Map<String, Value>;

    /// State of the sender, as far as the datagrams contain it.
    fn state(&self) -> Facts {
        Facts::default()
    }

    /// State of the sender as text.
    fn status_lines(&self) -> Lines {
        self.state().into_lines()
    }

    /// State of the sender for JSON; unknown values are null.
    fn status(&self) -> Value {
        let fields = self.state().into_fields();
        if fields.is_empty() { Value::Null } else { fields.into() }
    }

    /// Names of datagrams other than [`DATA`].
    fn other_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Facts about the received datagrams of a kind other than [`DATA`]; `packets` is their number.
    fn other(&self, _kind: &str, _packets: u64) -> Facts {
        Facts::default()
    }

    /// Text about datagrams of a kind other than [`DATA`]; `packets` is their number.
    fn other_lines(&self, kind: &str, packets: u64) -> Lines {
        self.other(kind, packets).into_lines()
    }

    /// JSON fields of datagrams of a kind other than [`DATA`].
    fn other_fields(&self, kind: &str) -> Map<String, Value> {
        self.other(kind, 0).into_fields()
    }

    /// Converter from returns to points.
    ///
    /// # Errors
    /// Reason why the angles are unknown.
    fn point_source(&self) -> Result<PointSource, String>;

    /// Settings with which a unit of `profile` emulates the sender; `rate_rpm` is the speed of the rotor.
    ///
    /// # Errors
    /// Reason why `profile` cannot emulate this sender.
    fn twin(&self, profile: &Profile, rate_rpm: f64) -> Result<Twin, String>;

    /// Further properties of the sender's datagrams of one kind, for the comparison of two senders.
    fn marks(&self, _kind: &str) -> Lines {
        Lines::new()
    }
}

/// Kind and timestamp of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// [`DATA`], or one of [`DatagramDecoder::other_kinds`].
    pub kind: &'static str,
    /// Timestamp of the sender in the datagram, if any.
    pub stamp: Option<Stamp>,
}

/// Timestamp of a sender: POSIX time modulo a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time in microseconds, as sent; it may exceed the period.
    pub us: u32,
    /// Period, microseconds.
    pub period_us: u32,
}

impl Stamp {
    /// Time from the stamp `earlier` to this one, microseconds; from minus half a period to half a period.
    pub fn since_us(self, earlier: Self) -> i64 {
        let period = i64::from(self.period_us);
        let step = (i64::from(self.us) - i64::from(earlier.us)).rem_euclid(period);
        if step > period / 2 { step - period } else { step }
    }

    /// Timestamp for the POSIX time `unix_ns`.
    pub fn of(unix_ns: i128, period_us: u32) -> Self {
        let us = (unix_ns / 1000).rem_euclid(period_us.into());
        Self { us: us as u32, period_us }
    }

    /// Age of the timestamp at the POSIX time `unix_ns`, microseconds, from 0 to below the period.
    pub fn age_us(self, unix_ns: i128) -> f64 {
        let period_us = f64::from(self.period_us);
        let at_us = unix_ns.rem_euclid(i128::from(self.period_us) * 1000) as f64 / 1000.0;
        (at_us - f64::from(self.us)).rem_euclid(period_us)
    }
}

/// Measurements of one datagram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Azimuth of each block, in the order of the datagram, 0.01 degrees.
    pub azimuths_centideg: Vec<u16>,
    /// Returns of all blocks.
    pub returns: Vec<RawReturn>,
    /// Whether firings have two returns each.
    pub is_dual: bool,
    /// Whether the two returns of a point are adjacent; otherwise they are in adjacent blocks.
    pub is_paired_by_point: bool,
    /// Errors: values that no unit sends.
    pub issues: Vec<String>,
    /// Steps of the rotation from which the azimuths were computed; `None` if packets contain azimuths.
    pub turn: Option<TurnSteps>,
}

/// Division of a rotation into steps, for packets that report azimuths as step numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSteps {
    /// Number of steps.
    pub count: u16,
    /// Whether the number of steps is a guess, because no packet has shown it.
    pub is_guess: bool,
}

/// A return in units of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawReturn {
    /// Whether there is no return.
    pub is_empty: bool,
    /// Intensity, 0..=255; it can differ from 0 for an empty point.
    pub intensity: u8,
    /// Distance in units of the packet.
    pub distance: u32,
}

impl Sweep {
    /// Pairs of returns of the same firing; empty if firings have one return.
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

/// A return with its laser and the rotor's angle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// Index of the laser, from 0, in the order of the product's documentation.
    pub laser: u16,
    /// Angle of the rotor, clockwise, degrees, 0..360.
    pub azimuth_deg: f64,
    /// Elevation of the return, degrees; always 0 for products whose lasers have constant elevations.
    pub elevation_deg: f64,
    /// Range in the packet, metres; corrections from the unit's calibration are not applied.
    pub range_m: f64,
    /// Intensity as in the packet.
    pub intensity: u8,
}

/// A return as a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudPoint {
    /// Position in the sensor frame (forward, left, up), metres.
    pub position_m: DVec3,
    /// Corrected intensity, 0..=255; up to 65535 from an Ouster with firmware 2.0.
    pub intensity: f64,
    /// Index of the laser in [`PointSource::elevations_rad`].
    pub laser: usize,
    /// Number of this firing among the laser's firings in the datagram, from 0.
    pub firing: usize,
    /// Distance along the beam from its exit point, metres.
    pub range_m: f64,
}

/// Converter from returns to points.
pub struct PointSource {
    /// Source of the laser angles, as text.
    pub calibration: &'static str,
    /// Elevation of each laser, radians.
    pub elevations_rad: Vec<f64>,
    /// Appends the points of a block; blocks are numbered as in [`Sweep::azimuths_centideg`].
    pub decode: DecodeBlock,
}

/// Function that appends the points of a block to a list. Arguments: the datagram, the index of the block in it, and
/// the list.
pub type DecodeBlock = Box<dyn Fn(&[u8], usize, &mut Vec<CloudPoint>)>;

impl PointSource {
    /// Elevations of the lowest and the highest beam, radians.
    pub fn elevation_span_rad(&self) -> (f64, f64) {
        let all = self.elevations_rad.iter();
        all.fold((f64::MAX, f64::MIN), |(low, high), angle| (low.min(*angle), high.max(*angle)))
    }

    /// Mean angle between adjacent beams, radians.
    pub fn beam_spacing_rad(&self) -> f64 {
        let (low, high) = self.elevation_span_rad();
        (high - low) / self.elevations_rad.len().saturating_sub(1).max(1) as f64
    }
}

/// Settings with which an emulated unit sends like a given sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// Settings as a table of a rig file.
    pub settings: String,
    /// The main settings as text, such as `600 rpm, strongest`.
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
