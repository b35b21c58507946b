//! Table of a camera's features. Registers, GenICam description and command table are made from it.

use std::collections::BTreeMap;

use super::profile::{BINNING, CameraProfile};
use crate::wire::gige::gvsp::{CHUNK_TAIL, PixelFormat};
use crate::wire::gige::status;

/// Register addresses of features.
pub(super) mod at {
    pub const WIDTH: u32 = 0x1_0000;
    pub const HEIGHT: u32 = 0x1_0004;
    pub const OFFSET_X: u32 = 0x1_0008;
    pub const OFFSET_Y: u32 = 0x1_000c;
    pub const SENSOR_WIDTH: u32 = 0x1_0010;
    pub const SENSOR_HEIGHT: u32 = 0x1_0014;
    pub const WIDTH_MAX: u32 = 0x1_0018;
    pub const HEIGHT_MAX: u32 = 0x1_001c;
    pub const PIXEL_FORMAT: u32 = 0x1_0020;
    pub const PAYLOAD_SIZE: u32 = 0x1_0024;
    pub const BINNING_X: u32 = 0x1_0028;
    pub const BINNING_Y: u32 = 0x1_002c;
    pub const TEST_PATTERN: u32 = 0x1_0030;
    pub const REVERSE_X: u32 = 0x1_0034;
    pub const REVERSE_Y: u32 = 0x1_0038;
    pub const MODE: u32 = 0x1_0100;
    pub const FRAME_COUNT: u32 = 0x1_0104;
    pub const START: u32 = 0x1_0108;
    pub const STOP: u32 = 0x1_010c;
    pub const RATE_ENABLE: u32 = 0x1_0110;
    pub const RATE: u32 = 0x1_0118;
    pub const RESULTING_RATE: u32 = 0x1_0120;
    pub const EXPOSURE: u32 = 0x1_0128;
    pub const EXPOSURE_AUTO: u32 = 0x1_0130;
    pub const TRIGGER_SELECTOR: u32 = 0x1_0134;
    pub const TRIGGER_MODE: u32 = 0x1_0138;
    pub const TRIGGER_SOURCE: u32 = 0x1_013c;
    pub const TRIGGER_SOFTWARE: u32 = 0x1_0140;
    pub const TRIGGER_DELAY: u32 = 0x1_0148;
    pub const TRIGGERS_MISSED: u32 = 0x1_0150;
    pub const TRIGGER_ACTIVATION: u32 = 0x1_0154;
    pub const EXPOSURE_LEAST: u32 = 0x1_0158;
    pub const EXPOSURE_MOST: u32 = 0x1_0160;
    pub const GAIN: u32 = 0x1_0200;
    pub const GAIN_AUTO: u32 = 0x1_0208;
    pub const BLACK: u32 = 0x1_0210;
    pub const GAMMA: u32 = 0x1_0218;
    pub const USER_SET: u32 = 0x1_0300;
    pub const USER_SET_LOAD: u32 = 0x1_0304;
    pub const USER_SET_SAVE: u32 = 0x1_0308;
    pub const USER_SET_DEFAULT: u32 = 0x1_030c;
    pub const RESET: u32 = 0x1_0310;
    pub const TEMPERATURE: u32 = 0x1_0318;
    pub const PARAMS_LOCKED: u32 = 0x1_0320;
    pub const PACKETS_SENT: u32 = 0x1_0324;
    pub const PACKETS_RESENT: u32 = 0x1_0328;
    pub const FRAMES_DROPPED: u32 = 0x1_032c;
    pub const LINE_SELECTOR: u32 = 0x1_0400;
    pub const LINE_MODE: u32 = 0x1_0404;
    pub const LINE_INVERTER: u32 = 0x1_0408;
    pub const LINE_STATUS: u32 = 0x1_040c;
    pub const LINE_STATUS_ALL: u32 = 0x1_0410;
    pub const LINE_SOURCE: u32 = 0x1_0414;
    pub const CHUNK_MODE: u32 = 0x1_0500;
    pub const CHUNK_SELECTOR: u32 = 0x1_0504;
    pub const CHUNK_ENABLE: u32 = 0x1_0508;
    pub const PTP_LATCH: u32 = 0x1_0600;
    pub const PTP_STATUS: u32 = 0x1_0604;
    pub const PTP_OFFSET: u32 = 0x1_0608;
    pub const PTP_OFFSET_LOW: u32 = 0x1_060c;
    /// First address of the GenICam description.
    pub const XML: u32 = 0x2_0000;
}

/// Features with one value for each value of a selector: address of the feature, address of its selector.
const SELECTED: [(u32, u32); 5] = [
    (at::LINE_MODE, at::LINE_SELECTOR),
    (at::LINE_INVERTER, at::LINE_SELECTOR),
    (at::LINE_STATUS, at::LINE_SELECTOR),
    (at::LINE_SOURCE, at::LINE_SELECTOR),
    (at::CHUNK_ENABLE, at::CHUNK_SELECTOR),
];
/// Writable features that user sets do not store: the selection of user sets, and the lock of the parameters.
const NOT_KEPT: [u32; 3] = [at::USER_SET, at::USER_SET_DEFAULT, at::PARAMS_LOCKED];

/// Values of `TriggerSource`.
pub(super) mod source {
    pub const SOFTWARE: u32 = 0;
    pub const ACTION: u32 = 1;
    pub const LINE: u32 = 2;
}

/// Values of `LineSelector`.
pub(super) mod line {
    pub const INPUT: u32 = 0;
    pub const OUTPUT: u32 = 1;
}

/// The selector of the feature at `address`, if any.
pub(super) fn selector_of(address: u32) -> Option<u32> {
    SELECTED.iter().find(|(selected, _)| *selected == address).map(|(_, selector)| *selector)
}

/// Type of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Minimum, maximum, increment. With two registers, the maximum is the value of the first register minus the value
    /// of the second.
    Integer(u32, u32, u32, Option<[u32; 2]>),
    /// Minimum, maximum, unit.
    Float(f64, f64, &'static str),
    Choice(Vec<(&'static str, u32)>),
    Switch,
    Command,
}

/// Access to a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Writable except during acquisition.
    Idle,
}

#[derive(Clone, Debug)]
pub(super) struct Feature {
    pub address: u32,
    pub name: &'static str,
    pub category: &'static str,
    pub kind: Kind,
    pub access: Access,
    /// Value at power-on.
    pub start: f64,
}

impl Feature {
    /// Length of the register, bytes.
    pub fn len(&self) -> u32 {
        if matches!(self.kind, Kind::Float(..)) { 8 } else { 4 }
    }

    /// Register content for a value.
    pub fn to_bytes(&self, value: f64) -> Vec<u8> {
        match self.kind {
            Kind::Float(..) => value.to_be_bytes().to_vec(),
            _ => (value as u32).to_be_bytes().to_vec(),
        }
    }

    /// Value that the register content `bytes` encodes; `bytes` must have the length of the register.
    pub fn of_bytes(&self, bytes: &[u8]) -> f64 {
        match (&self.kind, bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            (Kind::Float(..), Some(eight), _) => f64::from_be_bytes(*eight),
            (_, _, Some(four)) => u32::from_be_bytes(*four).into(),
            _ => f64::NAN,
        }
    }
}

/// Features of a model by register address.
#[derive(Clone, Debug)]
pub(super) struct Features(pub BTreeMap<u32, Feature>);

impl Features {
    pub fn of(profile: &CameraProfile) -> Self {
        use Access::{Idle, Read, Write};
        use Kind::{Choice, Command, Float, Integer, Switch};
        let settings = &profile.defaults;
        let [width, height] = profile.size();
        let us = profile.exposure_ns().map(|ns| ns as f64 / 1e3);
        let formats = profile.formats().iter().map(|f| (f.word(), f.code())).collect();
        let whole = |greatest: u32| Integer(0, greatest, 1, None);
        let choice = |words: &[&'static str]| Choice(words.iter().copied().zip(0..).collect());
        let auto = || choice(&["Off", "Once", "Continuous"]);
        const IMAGE: &str = "ImageFormatControl";
        const ACQUISITION: &str = "AcquisitionControl";
        const ANALOG: &str = "AnalogControl";
        const DEVICE: &str = "DeviceControl";
        const TRANSPORT: &str = "TransportLayerControl";
        const SETS: &str = "UserSetControl";
        const LINES: &str = "DigitalIOControl";
        const CHUNKS: &str = "ChunkDataControl";
        let rows = [
            (
                at::WIDTH,
                "Width",
                IMAGE,
                Integer(16, width, 4, Some([at::WIDTH_MAX, at::OFFSET_X])),
                Idle,
                settings.image_size.width.into(),
            ),
            (
                at::HEIGHT,
                "Height",
                IMAGE,
                Integer(16, height, 2, Some([at::HEIGHT_MAX, at::OFFSET_Y])),
                Idle,
                settings.image_size.height.into(),
            ),
            (
                at::OFFSET_X,
                "OffsetX",
                IMAGE,
                Integer(0, width, 4, Some([at::WIDTH_MAX, at::WIDTH])),
                Idle,
                0.0,
            ),
            (
                at::OFFSET_Y,
                "OffsetY",
                IMAGE,
                Integer(0, height, 2, Some([at::HEIGHT_MAX, at::HEIGHT])),
                Idle,
                0.0,
            ),
            (at::SENSOR_WIDTH, "SensorWidth", IMAGE, whole(width), Read, width.into()),
            (at::SENSOR_HEIGHT, "SensorHeight", IMAGE, whole(height), Read, height.into()),
            (at::WIDTH_MAX, "WidthMax", IMAGE, whole(width), Read, width.into()),
            (at::HEIGHT_MAX, "HeightMax", IMAGE, whole(height), Read, height.into()),
            (
                at::PIXEL_FORMAT,
                "PixelFormat",
                IMAGE,
                Choice(formats),
                Idle,
                settings.start.pixel_format.code().into(),
            ),
            (
                at::BINNING_X,
                "BinningHorizontal",
                IMAGE,
                Choice(BINNING.to_vec()),
                Idle,
                settings.binning.into(),
            ),
            (
                at::BINNING_Y,
                "BinningVertical",
                IMAGE,
                Choice(BINNING.to_vec()),
                Idle,
                settings.binning.into(),
            ),
            (
                at::TEST_PATTERN,
                "TestPattern",
                IMAGE,
                choice(&["Off", "GreyHorizontalRamp", "GreyHorizontalRampMoving", "ColorBar"]),
                Write,
                f64::from(settings.test_pattern as u32),
            ),
            (at::REVERSE_X, "ReverseX", IMAGE, Switch, Idle, 0.0),
            (at::REVERSE_Y, "ReverseY", IMAGE, Switch, Idle, 0.0),
            (
                at::MODE,
                "AcquisitionMode",
                ACQUISITION,
                choice(&["Continuous", "SingleFrame", "MultiFrame"]),
                Idle,
                0.0,
            ),
            (
                at::FRAME_COUNT,
                "AcquisitionFrameCount",
                ACQUISITION,
                Integer(1, 65_535, 1, None),
                Idle,
                1.0,
            ),
            (at::START, "AcquisitionStart", ACQUISITION, Command, Write, 0.0),
            (at::STOP, "AcquisitionStop", ACQUISITION, Command, Write, 0.0),
            (at::RATE_ENABLE, "AcquisitionFrameRateEnable", ACQUISITION, Switch, Write, 1.0),
            (
                at::RATE,
                "AcquisitionFrameRate",
                ACQUISITION,
                Float(0.1, 1000.0, "Hz"),
                Write,
                settings.start.frame_rate_hz,
            ),
            (
                at::RESULTING_RATE,
                "AcquisitionResultingFrameRate",
                ACQUISITION,
                Float(0.0, 1000.0, "Hz"),
                Read,
                0.0,
            ),
            (
                at::EXPOSURE,
                "ExposureTime",
                ACQUISITION,
                Float(us[0], us[1], "us"),
                Write,
                settings.start.exposure_us,
            ),
            (at::EXPOSURE_AUTO, "ExposureAuto", ACQUISITION, auto(), Write, 0.0),
            (
                at::EXPOSURE_LEAST,
                "ExposureAutoLowerLimit",
                ACQUISITION,
                Float(us[0], us[1], "us"),
                Write,
                us[0],
            ),
            (
                at::EXPOSURE_MOST,
                "ExposureAutoUpperLimit",
                ACQUISITION,
                Float(us[0], us[1], "us"),
                Write,
                us[1],
            ),
            (
                at::TRIGGER_SELECTOR,
                "TriggerSelector",
                ACQUISITION,
                choice(&["FrameStart"]),
                Write,
                0.0,
            ),
            (
                at::TRIGGER_MODE,
                "TriggerMode",
                ACQUISITION,
                choice(&["Off", "On"]),
                Write,
                u8::from(settings.trigger.source().is_some()).into(),
            ),
            (
                at::TRIGGER_SOURCE,
                "TriggerSource",
                ACQUISITION,
                choice(&["Software", "Action1", "Line1"]),
                Write,
                settings.trigger.source().unwrap_or(source::SOFTWARE).into(),
            ),
            (
                at::TRIGGER_ACTIVATION,
                "TriggerActivation",
                ACQUISITION,
                choice(&["RisingEdge", "FallingEdge", "AnyEdge"]),
                Write,
                0.0,
            ),
            (at::TRIGGER_SOFTWARE, "TriggerSoftware", ACQUISITION, Command, Write, 0.0),
            (at::TRIGGER_DELAY, "TriggerDelay", ACQUISITION, Float(0.0, 1e6, "us"), Write, 0.0),
            (at::TRIGGERS_MISSED, "MissedTriggerCount", ACQUISITION, whole(u32::MAX), Read, 0.0),
            (at::GAIN, "Gain", ANALOG, Float(0.0, 48.0, "dB"), Write, settings.start.gain_db),
            (at::GAIN_AUTO, "GainAuto", ANALOG, auto(), Write, 0.0),
            (at::BLACK, "BlackLevel", ANALOG, Float(0.0, 255.0, "DN"), Write, 0.0),
            (at::GAMMA, "Gamma", ANALOG, Float(0.1, 4.0, ""), Write, 1.0),
            (at::USER_SET, "UserSetSelector", SETS, choice(&["Default", "UserSet1"]), Write, 0.0),
            (at::USER_SET_LOAD, "UserSetLoad", SETS, Command, Idle, 0.0),
            (at::USER_SET_SAVE, "UserSetSave", SETS, Command, Write, 0.0),
            (
                at::USER_SET_DEFAULT,
                "UserSetDefault",
                SETS,
                choice(&["Default", "UserSet1"]),
                Write,
                0.0,
            ),
            (at::RESET, "DeviceReset", DEVICE, Command, Write, 0.0),
            (
                at::TEMPERATURE,
                "DeviceTemperature",
                DEVICE,
                Float(-273.0, 500.0, "C"),
                Read,
                profile.identity.temperature_c,
            ),
            (at::LINE_SELECTOR, "LineSelector", LINES, choice(&["Line1", "Line2"]), Write, 0.0),
            (at::LINE_MODE, "LineMode", LINES, choice(&["Input", "Output"]), Read, 0.0),
            (at::LINE_INVERTER, "LineInverter", LINES, Switch, Write, 0.0),
            (at::LINE_STATUS, "LineStatus", LINES, Switch, Read, 0.0),
            (at::LINE_STATUS_ALL, "LineStatusAll", LINES, whole(3), Read, 0.0),
            (at::LINE_SOURCE, "LineSource", LINES, choice(&["Off", "ExposureActive"]), Write, 0.0),
            (at::CHUNK_MODE, "ChunkModeActive", CHUNKS, Switch, Idle, 0.0),
            (
                at::CHUNK_SELECTOR,
                "ChunkSelector",
                CHUNKS,
                // Without the image chunk, which cannot be disabled.
                Choice(
                    Chunk::WORDS[1..].iter().map(|(word, chunk)| (*word, *chunk as u32)).collect(),
                ),
                Write,
                1.0,
            ),
            (at::CHUNK_ENABLE, "ChunkEnable", CHUNKS, Switch, Idle, 0.0),
            (at::PAYLOAD_SIZE, "PayloadSize", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::PARAMS_LOCKED, "TLParamsLocked", TRANSPORT, whole(1), Write, 0.0),
            (at::PACKETS_SENT, "StreamPacketsSent", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::PACKETS_RESENT, "StreamPacketsResent", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::FRAMES_DROPPED, "StreamFramesDropped", TRANSPORT, whole(u32::MAX), Read, 0.0),
        ];
        let features = rows.into_iter().map(|(address, name, category, kind, access, start)| {
            (address, Feature { address, name, category, kind, access, start })
        });
        Self(features.collect())
    }

    /// Feature whose register contains the word at `address`, and the offset of the word in that register, bytes.
    pub fn word(&self, address: u32) -> Option<(&Feature, usize)> {
        let (_, feature) = self.0.range(..=address).next_back()?;
        let into = address - feature.address;
        (into < feature.len()).then_some((feature, into as usize))
    }

    /// Checks a value, and returns it as the camera stores it. `most` replaces the maximum of an integer feature.
    ///
    /// # Errors
    /// The value is not allowed; the error is a GVCP status code.
    pub fn checked(&self, feature: &Feature, value: f64, most: Option<f64>) -> Result<f64, u16> {
        let refused = Err(status::INVALID_PARAMETER);
        match &feature.kind {
            Kind::Integer(least, greatest, step, _) => {
                let greatest = most.unwrap_or_else(|| (*greatest).into());
                let fits = (f64::from(*least)..=greatest).contains(&value);
                if fits && (value - f64::from(*least)) % f64::from(*step) == 0.0 {
                    Ok(value)
                } else {
                    refused
                }
            }
            // Floats outside their range are clipped without an error; clients read the stored value back.
            Kind::Float(least, greatest, _) => {
                if value.is_finite() {
                    Ok(value.clamp(*least, *greatest))
                } else {
                    refused
                }
            }
            Kind::Choice(words) if words.iter().all(|(_, number)| f64::from(*number) != value) => {
                refused
            }
            Kind::Switch if value > 1.0 => refused,
            Kind::Choice(_) | Kind::Switch | Kind::Command => Ok(value),
        }
    }
}

/// Values of all features by address and value of the selector (0 without a selector).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values(BTreeMap<(u32, u32), f64>);

impl Values {
    pub fn of(features: &Features) -> Self {
        let all = features.0.values().flat_map(|feature| {
            let selector = selector_of(feature.address).and_then(|at| features.0.get(&at));
            let indexes = match selector.map(|selector| &selector.kind) {
                Some(Kind::Choice(words)) => words.iter().map(|(_, index)| *index).collect(),
                _ => vec![0],
            };
            indexes.into_iter().map(|index| ((feature.address, index), feature.start))
        });
        let mut values = Self(all.collect());
        values.0.insert((at::LINE_MODE, line::OUTPUT), 1.0);
        values.0.insert((at::LINE_SOURCE, line::OUTPUT), 1.0);
        values
    }

    fn key(&self, address: u32) -> (u32, u32) {
        (address, selector_of(address).map_or(0, |selector| self.whole(selector)))
    }

    /// Value of the feature whose register starts at `address`, for the present value of the feature's selector.
    pub fn get(&self, address: u32) -> f64 {
        self.of_index(address, self.key(address).1)
    }

    /// Value of the feature whose register starts at `address`, for the value `index` of the feature's selector.
    pub fn of_index(&self, address: u32, index: u32) -> f64 {
        self.0.get(&(address, index)).copied().unwrap_or(0.0)
    }

    pub fn whole(&self, address: u32) -> u32 {
        self.get(address) as u32
    }

    pub fn set(&mut self, address: u32, value: f64) {
        self.0.insert(self.key(address), value);
    }

    /// Copies from `set` all values that user sets store.
    pub fn load(&mut self, set: &Self, features: &Features) {
        for (key @ (address, _), value) in &set.0 {
            let is_kept = features.0.get(address).is_some_and(|feature| {
                feature.access != Access::Read && feature.kind != Kind::Command
            });
            if is_kept && !NOT_KEPT.contains(address) {
                self.0.insert(*key, *value);
            }
        }
    }

    /// Pixel format.
    pub fn format(&self) -> PixelFormat {
        PixelFormat::of_code(self.whole(at::PIXEL_FORMAT)).unwrap_or(PixelFormat::Mono8)
    }

    /// Region of interest: offset x, offset y, width, height.
    pub fn region(&self) -> [u32; 4] {
        [at::OFFSET_X, at::OFFSET_Y, at::WIDTH, at::HEIGHT].map(|address| self.whole(address))
    }

    /// Chunks of the payload: the image and all enabled chunks; empty if chunk mode is off.
    pub fn chunks(&self) -> Vec<Chunk> {
        let is_on = |chunk: &Chunk| self.of_index(at::CHUNK_ENABLE, *chunk as u32) != 0.0;
        let all = Chunk::WORDS.into_iter().map(|(_, chunk)| chunk);
        match self.get(at::CHUNK_MODE) {
            0.0 => Vec::new(),
            _ => all.filter(|chunk| *chunk == Chunk::Image || is_on(chunk)).collect(),
        }
    }

    /// Size of an image including chunk data, bytes.
    pub fn payload(&self) -> usize {
        let [_, _, width, height] = self.region();
        let chunks = self.chunks().into_iter().map(|chunk| chunk.len() + CHUNK_TAIL);
        self.format().image_len(width, height) + chunks.sum::<usize>()
    }
}

words!(Chunk: "Image" => Image, "FrameID" => FrameId, "Timestamp" => Timestamp, "ExposureTime" => Exposure, "Gain" => Gain);

/// A chunk of the payload: the image, or data after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The image itself.
    Image,
    /// The frame's number, 64 bits.
    FrameId,
    /// The frame's timestamp, 64 bits.
    Timestamp,
    /// Exposure time in microseconds, a double.
    Exposure,
    /// Gain in decibels, a double.
    Gain,
}

impl Chunk {
    /// Chunk id in the payload and in the description.
    pub fn id(self) -> u32 {
        0x4d45_0000 + self as u32
    }

    /// Length of the data that this chunk adds after the image, bytes; 0 for the image itself.
    pub fn len(self) -> usize {
        if self == Self::Image { 0 } else { 8 }
    }
}
