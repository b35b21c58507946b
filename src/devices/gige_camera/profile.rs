//! What a firmware of a GigE Vision camera is, and what a rig may set on a unit.

use crate::config::profile::network::DatagramPort;
use crate::sensors::camera::lens::{Lens, Model};
use crate::sensors::camera::truth::TruthImages;
use crate::sensors::camera::{Chip, Light, Optics, Sky};
pub use crate::spinning::master::PtpState;
use crate::time::SimTime;
use crate::wire::ethernet::FrameHeader;
use crate::wire::gige::gvsp::PixelFormat;

words!(LensModel: "plumb_bob" => PlumbBob, "rational_polynomial" => Rational, "equidistant" => Fisheye, "fov" => FieldOfView);
words!(TestPattern: "off" => Off, "ramp" => Ramp, "moving_ramp" => MovingRamp, "color_bar" => ColourBar);
words!(Trigger: "off" => Off, "software" => Software, "action1" => Action, "line1" => Line);
words!(Stamped: "exposure_start" => ExposureStart, "exposure_end" => ExposureEnd);

/// Values of `BinningHorizontal` and `BinningVertical`.
pub const BINNING: [(&str, u32); 3] = [("1", 1), ("2", 2), ("4", 4)];

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct CameraProfile {
    /// Addresses and header fields of the stream's packets.
    pub network: FrameHeader,
    /// What the unit reports of itself.
    pub identity: Identity,
    /// Pixels: width and height.
    pub size: [u32; 2],
    /// The chip.
    pub chip: Chip,
    /// Times.
    pub timing: Timing,
    /// Values that a rig may override.
    pub defaults: CameraSettings,
}

/// What the unit reports of itself, except what the rig sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Maker, model, version and further information.
    pub texts: [String; 4],
    /// Of the housing, degrees Celsius.
    pub temperature_c: f64,
    /// Minor version of the schema of the description: 0 lets clients use register commands, 1 memory commands.
    pub schema_minor: u32,
}

/// Times of chip and firmware, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Readout of a row.
    pub line_ns: u64,
    /// Whether rows are exposed one after the other.
    pub is_rolling: bool,
    /// Rows between two frames, in which nothing is read out.
    pub blank_rows: u32,
    /// Shortest and longest exposure.
    pub exposure_ns: [u64; 2],
    /// From a trigger to the exposure.
    pub trigger_ns: u64,
    /// From a command to its answer.
    pub reply_ns: u64,
    /// From a reset until it answers.
    pub boot_ns: u64,
    /// How long packets are kept for resending.
    pub kept_ns: u64,
}

/// Distortion of the lens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LensModel {
    /// OpenCV's k1 k2 p1 p2 k3.
    #[default]
    PlumbBob,
    /// OpenCV's k1 k2 p1 p2 k3 k4 k5 k6.
    Rational,
    /// OpenCV's fisheye k1 to k4.
    Fisheye,
    /// The wide-angle lens of Elmquist et al. 2021.
    FieldOfView,
}

impl LensModel {
    /// Number of its coefficients.
    pub fn coefficients(self) -> usize {
        match self {
            Self::PlumbBob => 5,
            Self::Rational => 8,
            Self::Fisheye => 4,
            Self::FieldOfView => 0,
        }
    }
}

/// What starts a frame at power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The frame rate.
    #[default]
    Off,
    /// `TriggerSoftware`.
    Software,
    /// An action command.
    Action,
    /// Edges of `Line1`.
    Line,
}

impl Trigger {
    /// The value of `TriggerSource`, if frames are triggered.
    pub fn source(self) -> Option<u32> {
        (self as u32).checked_sub(1)
    }
}

/// An image that needs no light: the values of `TestPattern`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestPattern {
    /// The picture of the world.
    #[default]
    Off,
    /// Brightness rises by one for each column, from 0 to 255 again and again.
    Ramp,
    /// The same, a column farther in each frame.
    MovingRamp,
    /// Eight stripes of colours.
    ColourBar,
}

/// Pulses that a generator sends to the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulses {
    /// The first edge rises.
    pub start: SimTime,
    /// From a rising edge to the next, nanoseconds.
    pub period_ns: u64,
    /// From a rising edge to the falling one, nanoseconds.
    pub high_ns: u64,
}

/// What a frame's time stamp is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamped {
    /// When the exposure begins.
    #[default]
    ExposureStart,
    /// When it ends.
    ExposureEnd,
}

/// What a rig may set; the profile gives the defaults.
#[derive(Clone, Debug)]
pub struct CameraSettings {
    /// Serial number.
    pub serial: String,
    /// Name that the user has given the unit.
    pub user_name: String,
    /// Whether frames leave for the link's address from power-on, though no host asks for them.
    pub streams_alone: bool,
    /// What a frame's time stamp is.
    pub stamped: Stamped,
    /// What starts a frame at power-on.
    pub trigger: Trigger,
    /// Test pattern at power-on.
    pub test_pattern: TestPattern,
    /// Pulses at `Line1`; `None`: the input is not connected to a generator.
    pub line1: Option<Pulses>,
    /// Columns and rows of pixels that form one pixel of the image, at power-on: one of [`BINNING`].
    pub binning: u32,
    /// Block id of the first frame after a host has opened the stream.
    pub first_block: u32,
    /// The clock's master.
    pub ptp: PtpState,
    /// Drift of the clock's oscillator, seconds a day; negative when it is slow.
    pub drift_s_per_day: f64,
    /// Pixel format at power-on.
    pub pixel_format: PixelFormat,
    /// Columns and rows at power-on.
    pub image_size: [u32; 2],
    /// Frames a second at power-on.
    pub frame_rate_hz: f64,
    /// Exposure at power-on, microseconds.
    pub exposure_us: f64,
    /// Gain at power-on, decibels.
    pub gain_db: f64,
    /// Size of the stream's packets at power-on, bytes with IP and UDP headers.
    pub packet_bytes: u32,
    /// Horizontal field of view without distortion, radians.
    pub hfov_rad: f64,
    /// Kind of distortion.
    pub lens: LensModel,
    /// Its coefficients; what is missing is 0.
    pub distortion: Vec<f64>,
    /// Focal length by diameter.
    pub f_number: f64,
    /// Share of the light that the lens passes.
    pub transmission: f64,
    /// Coefficients of vignetting.
    pub vignetting: [f64; 2],
    /// Elevation and azimuth of the sun, radians; `None` by date, time and place.
    pub sun: Option<[f64; 2]>,
    /// Haze.
    pub turbidity: f64,
    /// Whether clouds hide the sun.
    pub sky: Sky,
    /// Images that the ground truth has beside each frame.
    pub truth_images: TruthImages,
}

impl Default for CameraSettings {
    fn default() -> Self {
        Self {
            serial: String::new(),
            user_name: String::new(),
            streams_alone: false,
            stamped: Stamped::default(),
            trigger: Trigger::default(),
            test_pattern: TestPattern::default(),
            line1: None,
            binning: 1,
            first_block: 1,
            ptp: PtpState::default(),
            drift_s_per_day: 0.0,
            pixel_format: PixelFormat::Mono8,
            image_size: [0; 2],
            frame_rate_hz: 0.0,
            exposure_us: 0.0,
            gain_db: 0.0,
            packet_bytes: 1500,
            hfov_rad: 1.0,
            lens: LensModel::default(),
            distortion: Vec::new(),
            f_number: 4.0,
            transmission: 0.9,
            vignetting: [0.0; 2],
            sun: None,
            turbidity: 3.0,
            sky: Sky::default(),
            truth_images: TruthImages::default(),
        }
    }
}

impl CameraProfile {
    /// The port of the stream.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        vec![DatagramPort::data(&self.network)]
    }

    /// The pixel formats that its chip allows.
    pub fn formats(&self) -> Vec<PixelFormat> {
        let all = PixelFormat::WORDS.into_iter().map(|(_, format)| format);
        let needs_colour = |f: &PixelFormat| {
            matches!(f, PixelFormat::BayerRg8 | PixelFormat::BayerRg12p | PixelFormat::Rgb8)
        };
        all.filter(|format| self.chip.is_colour || !needs_colour(format)).collect()
    }

    /// From the start of a row's exposure to that of the next.
    pub fn rolling_ns(&self) -> u64 {
        if self.timing.is_rolling { self.timing.line_ns } else { 0 }
    }
}

impl CameraSettings {
    /// Lens in front of a chip with this number of pixels.
    pub fn optics(&self, size: [u32; 2]) -> Optics {
        let coefficient = |place: usize| self.distortion.get(place).copied().unwrap_or(0.0);
        let model = match self.lens {
            LensModel::PlumbBob | LensModel::Rational => {
                Model::Rational(std::array::from_fn(coefficient))
            }
            LensModel::Fisheye => Model::Fisheye(std::array::from_fn(coefficient)),
            LensModel::FieldOfView => Model::FieldOfView(0.5 * self.hfov_rad),
        };
        let half = match self.lens {
            LensModel::Fisheye => 0.5 * self.hfov_rad,
            _ => libm::tan(0.5 * self.hfov_rad),
        };
        let focal_px = [0.5 * f64::from(size[0]) / half; 2];
        let centre_px = size.map(|pixels| 0.5 * (f64::from(pixels) - 1.0));
        let lens = Lens { size, focal_px, centre_px, model };
        Optics {
            lens,
            f_number: self.f_number,
            transmission: self.transmission,
            vignetting: self.vignetting,
        }
    }

    /// The light of the day.
    pub fn light(&self) -> Light {
        Light { sun: self.sun, turbidity: self.turbidity, sky: self.sky }
    }
}
