//! Firmware profile of a GigE Vision camera, and its settings in a rig.
//!
//! Types and their keys come first, then the readers of single keys.

use std::ops::RangeInclusive;

use crate::config::profile::drift;
use crate::config::profile::network::{DatagramPort, network};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{
    Among, Ascii, By, Degrees, KeyType, OneOf, Table, Time, TrueOrFalse, shortest,
};
use crate::config::toml::keys::{Keys, Shared};
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::camera::lens::{Lens, Model};
use crate::sensors::camera::truth::TruthImages;
use crate::sensors::camera::{Chip, Light, Optics, Sky};
use crate::spinning::clock_settings;
pub use crate::spinning::master::PtpState;
use crate::wire::ethernet::FrameHeader;
use crate::wire::gige::gvsp::PixelFormat;

words!(LensModel: "plumb_bob" => PlumbBob, "rational_polynomial" => Rational, "equidistant" => Fisheye, "fov" => FieldOfView);
words!(TestPattern: "off" => Off, "ramp" => Ramp, "moving_ramp" => MovingRamp, "color_bar" => ColourBar);
words!(Trigger: "off" => Off, "software" => Software, "action1" => Action, "line1" => Line);
words!(Stamped: "exposure_start" => ExposureStart, "exposure_end" => ExposureEnd);

/// Source named in messages for limits that the standard does not set.
const CAMERAS: &str = "Menura's cameras";
/// Source named in messages for limits of the standard.
const STANDARD: &str = "GigE Vision";

/// Values of `BinningHorizontal` and `BinningVertical`.
pub const BINNING: [(&str, u32); 3] = [("1", 1), ("2", 2), ("4", 4)];

keys! {
    /// Profile of the firmware of one model.
    #[derive(Clone, Debug)]
    pub struct CameraProfile {
        /// Addresses and header fields of recorded frames. A run sends through the host's network stack.
        pub network: FrameHeader,
            By(|field: &Field<'_>| field.table("[network]").and_then(network));
        /// Identity that the product reports.
        pub identity: Identity, Table("[identity]");
        /// The camera's chip.
        pub sensor: SensorChip, Shared("[sensor]");
        /// Times of chip and firmware.
        pub timing: Timing, Table("[timing]");
    } then start => |root| start(root); lens => |root| {
        Shared("[lens]").read(&root.required("lens").meaning("The camera's lens."))
    }; {
        /// Values that a rig may override.
        pub defaults: CameraSettings = CameraSettings {
            serial: identity.serial.clone(),
            user_name: identity.user_name.clone(),
            start: start.0,
            lens,
            image_size: start.1,
            binning: 1,
            first_block: 1,
            turbidity: 3.0,
            ..CameraSettings::default()
        };
    }
}

keys! {
    /// Identity that the unit reports.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// Serial number that the unit reports.
        pub serial: String, serial();
        /// Name that a user has given the unit.
        pub user_name: String, user_name();
        /// Maker that the unit reports.
        pub vendor: String, Ascii(31, "a text");
        /// Name of the model that the unit reports.
        pub model_name: String, Ascii(31, "a text");
        /// Version that the unit reports.
        pub device_version: String, Ascii(31, "a text");
        /// Further information that the unit reports.
        pub information: String, Ascii(47, "a text");
        /// Temperature of the core.
        pub temperature_c: f64, Limit::new(-100.0..=200.0, "degrees C", PROFILES);
        /// Minor version of the description's schema: 0 lets clients use register commands, 1 memory commands.
        pub schema_minor: u32, Limit::new(0..=1, "", "GenICam");
    }
}

keys! {
    in profile and rig;
    /// Sensor chip: pixels and their physics.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct SensorChip {
        /// Columns of the chip.
        pub width: u32, Limit::new(16..=16_384, "pixels", PROFILES);
        /// Rows of the chip.
        pub height: u32, Limit::new(16..=16_384, "pixels", PROFILES);
        /// Physics of the pixels.
        pub chip: Chip => |all, keys| chip(&mut all.chip, keys);
    }
}

fn share() -> Limit<f64> {
    Limit::new(0.0..=1.0, "", PROFILES)
}

fn electrons() -> Limit<f64> {
    Limit::new(0.0..=1e4, "electrons", PROFILES)
}

keys! {
    in profile and rig; for Chip as fn chip();
    /// Whether pixels have filters of red, green and blue.
    is_colour, TrueOrFalse;
    /// Width of a pixel.
    pixel_um, Limit::new(0.5..=50.0, "um", PROFILES);
    /// Electrons per photon of red, green and blue light.
    efficiency, share();
    /// Electrons that a pixel holds.
    full_well_e, Limit::new(100.0..=1e6, "electrons", PROFILES);
    /// Standard deviation of the readout.
    read_noise_e, electrons();
    /// Dark signal per second.
    dark_e_s, electrons();
    /// Standard deviation of the pixels' offsets.
    dsnu_e, electrons();
    /// Standard deviation of the pixels' responses, as a share.
    prnu, share();
}

/// Key type of times in microseconds, 0.1 us to 100 s.
fn us() -> Time {
    Time(Limit::new(0.1..=1e8, "us", PROFILES), 1e3)
}

/// Key type of times in milliseconds, up to 60 s.
fn ms() -> Time {
    Time(Limit::new(0.0..=60_000.0, "ms", PROFILES), 1e6)
}

keys! {
    /// Durations that depend on chip and firmware.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Timing {
        /// Readout time of a row.
        pub line_ns as "line_us": u64, us();
        /// Whether rows are exposed one after the other.
        pub is_rolling: bool, TrueOrFalse;
        /// Rows between two frames, in which nothing is read out.
        pub blank_rows: u32, Limit::new(0..=10_000, "rows", PROFILES);
        /// Shortest exposure.
        pub exposure_min_ns as "exposure_min_us": u64, us();
        /// Longest exposure.
        pub exposure_max_ns as "exposure_max_us": u64, us();
        /// Time from a trigger to the exposure.
        pub trigger_ns as "trigger_us": u64, us();
        /// Time from a command to its answer.
        pub reply_ns as "reply_us": u64, us();
        /// Time from a reset until the unit answers.
        pub boot_ns as "boot_ms": u64, ms();
        /// Time for which packets can be requested again.
        pub kept_ns as "kept_ms": u64, ms();
    }
}

/// Distortion model of the lens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LensModel {
    /// OpenCV's model with the coefficients k1 k2 p1 p2 k3.
    #[default]
    PlumbBob,
    /// OpenCV's model with the coefficients k1 k2 p1 p2 k3 k4 k5 k6.
    Rational,
    /// OpenCV's fisheye model with the coefficients k1 to k4.
    Fisheye,
    /// The wide-angle lens of Elmquist et al. 2021.
    FieldOfView,
}

impl LensModel {
    /// Largest number of coefficients in `distortion`.
    pub fn coefficients(self) -> usize {
        match self {
            Self::PlumbBob => 5,
            Self::Rational => 8,
            Self::Fisheye => 4,
            Self::FieldOfView => 0,
        }
    }
}

/// Event that starts frames, as set at power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// No trigger: the frame rate determines the start of frames.
    #[default]
    Off,
    /// The command `TriggerSoftware`.
    Software,
    /// An action command.
    Action,
    /// Edges of `Line1`.
    Line,
}

impl Trigger {
    /// Value of `TriggerSource`; `None` for [`Self::Off`].
    pub fn source(self) -> Option<u32> {
        (self as u32).checked_sub(1)
    }
}

/// Value of `TestPattern`: an image that the camera generates instead of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestPattern {
    /// No test pattern.
    #[default]
    Off,
    /// Brightness increases by one per column, from 0 to 255, repeatedly.
    Ramp,
    /// Like `Ramp`, shifted by one column per frame.
    MovingRamp,
    /// Eight vertical colour bars.
    ColourBar,
}

keys! {
    /// Pulses that a generator sends to the input; the first starts with a rising edge.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Pulses {
        /// Time from a rising edge to the next.
        pub period_ns as "period_s": u64, seconds(1e-5..=3600.0);
        /// Time from a rising edge to the falling edge (default: half of `period_s`).
        pub high_ns as "high_s": u64 = period_ns.unwrap_or_default().div_ceil(2),
            By(|field: &Field<'_>| seconds(1e-6..=3600.0).read(field));
        /// Time of the first rising edge (default: 0).
        pub start_ns as "start_s": u64 = 0,
            By(|field: &Field<'_>| seconds(0.0..=1e7).read(field));
    } check pulses_fall;
}

fn seconds(range: RangeInclusive<f64>) -> Time {
    Time(Limit::new(range, "s", CAMERAS), 1e9)
}

/// Instant that a frame's timestamp states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamped {
    /// Start of the exposure.
    #[default]
    ExposureStart,
    /// End of the exposure.
    ExposureEnd,
}

keys! {
    in profile and rig with (driver: &CameraProfile);
    /// Settings of a camera in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct CameraSettings {
        /// Serial number of the unit.
        pub serial: String, serial();
        /// User-defined name of the unit.
        pub user_name: String, user_name();
        /// Send frames to the link's address from power-on, without a host.
        pub streams_alone: bool, TrueOrFalse;
        /// Values at power-on.
        pub start: Start => |all, keys| {
            let formats: Vec<_> =
                driver.formats().into_iter().map(|format| (format.word(), format)).collect();
            let [least, most] = driver.exposure_ns().map(|ns| ns as f64 / 1e3);
            let exposure = Limit::new(least..=most, "us", "the profile, [timing]");
            all.start.read_keys(keys, &OneOf(&formats, "the camera's chip"), exposure);
        };
        /// The lens.
        pub lens: LensSettings => |all, keys| all.lens.read_keys(keys);
        /// Elevation and azimuth of the sun, clockwise from north (default: by date, time and place).
        pub sun as "sun_deg": Option<[f64; 2]> => |all, keys| {
            let degrees = Limit::new(-360.0..=360.0, "degrees", CAMERAS);
            keys.maybe("sun_deg", &mut all.sun, |field| {
                Some(field.numbers(&degrees)?.map(f64::to_radians))
            });
        };
        /// Haze of the sky: 2 is very clear, 6 is hazy.
        pub turbidity: f64, Limit::new(2.0..=6.0, "", "the sky of Preetham et al. 1999");
        /// Clouds: none (`clear`), an overcast sky, or overcast in rain, fog and snow only (`weather`).
        pub sky as "daylight": Sky, OneOf(&Sky::WORDS, CAMERAS);
        /// Images that the ground truth has beside each frame.
        pub truth_images: TruthImages => |all, keys| truth_images(&mut all.truth_images, keys);
        /// Event that starts a frame, until a host sets another: the frame rate (off), a command, an action, or an
        /// edge at the input.
        pub trigger: Trigger, OneOf(&Trigger::WORDS, CAMERAS);
        /// Image that the camera sends instead of the picture, until a host sets another.
        pub test_pattern: TestPattern, OneOf(&TestPattern::WORDS, CAMERAS);
        /// Pulses at the camera's input Line1 (default: not connected).
        pub line1: Option<Pulses> => line1;
        /// Columns and rows of pixels that form one pixel of the image, at power-on.
        pub binning: u32, Among(&BINNING.map(|(_, bin)| (bin.into(), bin)), "pixels", CAMERAS);
        /// Block id of the first frame after a host has opened the stream; real cameras start at 1.
        pub first_block: u32, Limit::new(1..=u32::MAX.into(), "", STANDARD);
        /// Clock master.
        pub ptp: PtpState => |all, keys| clock_settings::ptp(keys, &PtpState::WORDS, &mut all.ptp);
        /// Drift of the clock's oscillator, seconds a day; negative when it is slow.
        pub drift_s_per_day: f64 => |all, keys| drift::read(keys, &mut all.drift_s_per_day);
        /// Size of images at power-on.
        pub image_size: ImageSize => |all, keys| binned_size(all, keys, driver);
    }
}

keys! {
    in profile and rig with (formats: &OneOf<'_, PixelFormat>, exposure: Limit<f64>);
    /// Values of a camera at power-on, which hosts can change.
    #[derive(Clone, Debug, Default)]
    pub struct Start {
        /// Pixel format at power-on.
        pub pixel_format: PixelFormat, *formats;
        /// Instant that a frame's timestamp states.
        pub stamped: Stamped, OneOf(&Stamped::WORDS, CAMERAS);
        /// Frames per second at power-on.
        pub frame_rate_hz: f64, Limit::new(0.1..=1000.0, "Hz", CAMERAS);
        /// Exposure time at power-on.
        pub exposure_us: f64, exposure;
        /// Gain at power-on.
        pub gain_db: f64, Limit::new(0.0..=48.0, "dB", CAMERAS);
        /// Size of the stream's packets at power-on, with IP and UDP headers.
        pub packet_bytes: u32, Limit::new(220..=9000, "bytes", STANDARD);
    }
}

keys! {
    in profile and rig with (limits: [Limit<i128>; 2]);
    /// Columns and rows of an image at power-on.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ImageSize {
        /// Columns of an image at power-on, rounded down to a multiple of 4.
        pub width as "image_width": u32, limits[0];
        /// Rows of an image at power-on, rounded down to a multiple of 2.
        pub height as "image_height": u32, limits[1];
    }
}

keys! {
    in profile and rig;
    /// The lens.
    #[derive(Clone, Debug, Default)]
    pub struct LensSettings {
        /// Horizontal field of view of the lens without distortion.
        pub hfov_rad as "hfov_deg": f64, Degrees(Limit::new(1.0..=170.0, "degrees", CAMERAS));
        /// Distortion of the lens.
        pub model as "lens_model": LensModel => lens_model;
        /// Coefficients of the distortion, in OpenCV's order. With another `lens_model` than the profile's, the
        /// default is none.
        pub distortion: Vec<f64> => distortion;
        /// Focal length divided by the diameter of the aperture.
        pub f_number: f64, Limit::new(0.7..=64.0, "", CAMERAS);
        /// Share of the light that the lens passes.
        pub transmission as "lens_transmission": f64, Limit::new(0.01..=1.0, "", CAMERAS);
        /// Change of brightness with the square and the fourth power of the distance from the image's centre.
        pub vignetting: [f64; 2], Limit::new(-100.0..=100.0, "", CAMERAS);
    }
}

keys! {
    in profile and rig; for TruthImages as fn truth_images();
    /// Write an image of labels for each frame to the ground truth.
    labels as "truth_labels", TrueOrFalse;
    /// Write an image of depths for each frame to the ground truth.
    depth as "truth_depth", TrueOrFalse;
    /// Write an image of optical flow for each frame to the ground truth.
    flow as "truth_flow", TrueOrFalse;
}

impl CameraProfile {
    /// Datagram ports: the stream channel.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        vec![DatagramPort::data(&self.network)]
    }

    /// Pixel formats that the chip supports.
    pub fn formats(&self) -> Vec<PixelFormat> {
        let all = PixelFormat::WORDS.into_iter().map(|(_, format)| format);
        let needs_colour = |f: &PixelFormat| {
            matches!(f, PixelFormat::BayerRg8 | PixelFormat::BayerRg12p | PixelFormat::Rgb8)
        };
        all.filter(|format| self.sensor.chip.is_colour || !needs_colour(format)).collect()
    }

    /// Columns and rows of the chip.
    pub fn size(&self) -> [u32; 2] {
        [self.sensor.width, self.sensor.height]
    }

    /// Shortest and longest exposure, nanoseconds.
    pub fn exposure_ns(&self) -> [u64; 2] {
        [self.timing.exposure_min_ns, self.timing.exposure_max_ns]
    }

    /// Delay between the exposures of adjacent rows, nanoseconds.
    pub fn rolling_ns(&self) -> u64 {
        if self.timing.is_rolling { self.timing.line_ns } else { 0 }
    }
}

impl CameraSettings {
    /// Optics of the lens with a chip of `size` pixels.
    pub fn optics(&self, size: [u32; 2]) -> Optics {
        let coefficient = |place: usize| self.lens.distortion.get(place).copied().unwrap_or(0.0);
        let model = match self.lens.model {
            LensModel::PlumbBob | LensModel::Rational => {
                Model::Rational(std::array::from_fn(coefficient))
            }
            LensModel::Fisheye => Model::Fisheye(std::array::from_fn(coefficient)),
            LensModel::FieldOfView => Model::FieldOfView(0.5 * self.lens.hfov_rad),
        };
        let half = match self.lens.model {
            LensModel::Fisheye => 0.5 * self.lens.hfov_rad,
            _ => libm::tan(0.5 * self.lens.hfov_rad),
        };
        let focal_px = [0.5 * f64::from(size[0]) / half; 2];
        let centre_px = size.map(|pixels| 0.5 * (f64::from(pixels) - 1.0));
        let lens = Lens { size, focal_px, centre_px, model };
        Optics {
            lens,
            f_number: self.lens.f_number,
            transmission: self.lens.transmission,
            vignetting: self.lens.vignetting,
        }
    }

    /// Daylight illumination.
    pub fn light(&self) -> Light {
        Light { sun: self.sun, turbidity: self.turbidity, sky: self.sky }
    }
}

fn serial() -> Ascii {
    Ascii(15, "a serial number such as \"0001\"")
}

fn user_name() -> Ascii {
    Ascii(15, "a name such as \"front\"")
}

/// Reads `[start]`: values at power-on and the size of images.
fn start(root: &mut TableReader<'_>) -> Option<(Start, ImageSize)> {
    let says = "Settings of a camera at power-on.";
    let mut keys = Keys::of_profile(root.required("start").meaning(says).table("[start]")?);
    let (mut start, mut size) = (Start::default(), ImageSize::default());
    let formats = OneOf(&PixelFormat::WORDS, STANDARD);
    start.read_keys(&mut keys, &formats, Limit::new(1.0..=1e7, "us", CAMERAS));
    let pixels = || Limit::new(16..=16_384, "pixels", CAMERAS);
    size.read_keys(&mut keys, [pixels(), pixels()]);
    keys.finish()?;
    Some((start, size))
}

/// Reads a rig's image size, in binned pixels.
fn binned_size(all: &mut CameraSettings, keys: &mut Keys<'_>, driver: &CameraProfile) {
    // The registers accept widths in steps of 4 and heights in steps of 2.
    let share = |[width, height]: [u32; 2]| ImageSize {
        width: width / all.binning / 4 * 4,
        height: height / all.binning / 2 * 2,
    };
    let largest = share(driver.size());
    let limits = [largest.width, largest.height]
        .map(|most| Limit::new(16..=most.into(), "pixels", "the camera's chip, binned"));
    let mut size = share([all.image_size.width, all.image_size.height]);
    size.read_keys(keys, limits);
    all.image_size = ImageSize { width: size.width / 4 * 4, height: size.height / 2 * 2 };
}

/// Reads `lens_model`; a change of the model resets the coefficients.
fn lens_model(all: &mut LensSettings, keys: &mut Keys<'_>) {
    let model = all.model;
    keys.choice("lens_model", &LensModel::WORDS, CAMERAS, &mut all.model);
    if all.model != model {
        all.distortion.clear();
    }
}

/// Reads `distortion`: up to as many coefficients as the model has.
fn distortion(all: &mut LensSettings, keys: &mut Keys<'_>) {
    let coefficient = Limit::new(-100.0..=100.0, "", CAMERAS);
    let default = all.distortion.clone();
    let (model, most) = (all.model.word(), all.model.coefficients());
    keys.with_default("distortion", default, &mut all.distortion, |field| {
        let (items, _) = field.array_up_to(0..=8, "OpenCV", "coefficients")?;
        if items.len() > most
            && let Some(place) = field.place()
        {
            let title = format!("`distortion` has too many items for `lens_model` \"{model}\"");
            field.fault(place.fault(title, format!("allowed: {most} items at most")));
            return None;
        }
        items.iter().map(|item| item.number(&coefficient)).collect()
    });
}

/// Reads `line1`, if present.
fn line1(all: &mut CameraSettings, keys: &mut Keys<'_>) {
    let field = keys.table.optional("line1").such_as("{ period_s = 0.1 }");
    if field.is_written() {
        all.line1 = Table("pulses such as { period_s = 0.1 }").read(&field).or(all.line1);
    }
}

/// Checks that each pulse ends before the next one starts; otherwise reports an error and returns false.
fn pulses_fall(table: &TableReader<'_>, pulses: &Pulses) -> bool {
    let fall = pulses.high_ns < pulses.period_ns;
    if let Some(place) = table.place_of("high_s").filter(|_| !fall) {
        let label = format!("allowed: less than {} s", shortest(pulses.period_ns as f64 / 1e9));
        table.fault(place.fault("`high_s` must be less than `period_s`", label));
    }
    fall
}
