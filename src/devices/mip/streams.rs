//! The two data streams: fields, rates, on or off.

use super::commands::{dm, function};
use super::fields::DATA;
use super::state::{Format, MipSettings};
use crate::imu::output::Stream;
use crate::wire::mip::{Field, reply, set};

/// Largest number of fields in a format.
pub const MAX_FIELDS: usize = 32;

/// One of the two data streams of a unit: sensor data or filter data.
#[derive(Clone, Debug)]
pub struct DataStream {
    /// Descriptor set of the packets.
    pub descriptor_set: u8,
    /// Samples per value at a decimation of 1.
    base_divisor: u64,
    format: Format,
    /// Accumulated samples of each field of the format.
    pub streams: Vec<Stream>,
}

impl DataStream {
    /// A stream without fields.
    pub fn new(descriptor_set: u8, base_divisor: u64) -> Self {
        Self { descriptor_set, base_divisor, format: Vec::new(), streams: Vec::new() }
    }

    /// Fields with their decimations.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Samples per value at a decimation of 1.
    pub fn base_divisor(&self) -> u64 {
        self.base_divisor
    }

    /// Sets the format. If it differs from the present one, all accumulated samples are dropped.
    pub fn set_format(&mut self, format: &Format) {
        if *format != self.format {
            let every = |decimation: u16| Stream::every(u64::from(decimation) * self.base_divisor);
            self.streams = format.iter().map(|(_, decimation)| every(*decimation)).collect();
            self.format.clone_from(format);
        }
    }
}

/// Index of the stream with this descriptor set.
///
/// # Errors
/// Returns a code of [`reply`] if no stream has this descriptor set.
pub fn place_of(descriptor_set: u8) -> Result<usize, u8> {
    match descriptor_set {
        set::SENSOR_DATA => Ok(0),
        set::FILTER_DATA => Ok(1),
        _ => Err(reply::BAD_PARAMETER),
    }
}

/// Executes a function on the format of the stream with the index `place`: `function, count, (descriptor, decimation)
/// …`. Returns the format as a field with the descriptor `answer` if the function reads it, otherwise no field. With
/// `names_set`, that field begins with the descriptor set.
///
/// # Errors
/// Returns a code of [`reply`] if the function, a count or a field is invalid.
pub fn format(
    place: usize,
    data: &[u8],
    answer: u8,
    names_set: bool,
    [current, saved, factory]: [&mut MipSettings; 3],
) -> Result<Vec<Field>, u8> {
    let descriptor_set = [set::SENSOR_DATA, set::FILTER_DATA][place];
    match data {
        [function::WRITE, count, list @ ..] => {
            let (entries, rest) = list.as_chunks::<3>();
            let is_whole = rest.is_empty() && entries.len() == usize::from(*count);
            if !is_whole || entries.len() > MAX_FIELDS {
                return Err(reply::BAD_PARAMETER);
            }
            let format: Format = entries
                .iter()
                .map(|[d, high, low]| (*d, u16::from_be_bytes([*high, *low])))
                .collect();
            let is_known = |(d, decimation): &(u8, u16)| {
                *decimation > 0
                    && DATA.iter().any(|(_, s, known)| *s == descriptor_set && known == d)
            };
            if !format.iter().all(is_known) {
                return Err(reply::BAD_PARAMETER);
            }
            current.formats[place] = format;
        }
        [function::READ, ..] => {
            let format = &current.formats[place];
            let head = if names_set { vec![descriptor_set] } else { Vec::new() };
            let entries = format.iter().flat_map(|(d, decimation)| {
                let [high, low] = decimation.to_be_bytes();
                [*d, high, low]
            });
            let list = head.into_iter().chain([format.len() as u8]).chain(entries);
            return Ok(vec![Field::new(answer, list.collect::<Vec<u8>>())]);
        }
        [function::SAVE, ..] => saved.formats[place].clone_from(&current.formats[place]),
        [function::LOAD, ..] => current.formats[place].clone_from(&saved.formats[place]),
        [function::DEFAULT, ..] => current.formats[place].clone_from(&factory.formats[place]),
        _ => return Err(reply::BAD_PARAMETER),
    }
    Ok(Vec::new())
}

/// Executes a function on the switch of a stream: `function, stream, on`. Stream 1 or 0x80: sensors; 3 or 0x82: filter;
/// 0: both. Returns a field with the switch for a read; no field for other functions.
///
/// # Errors
/// Returns a code of [`reply`] if the function, the stream or the switch is invalid.
pub fn control(
    data: &[u8],
    [current, saved, factory]: [&mut MipSettings; 3],
) -> Result<Vec<Field>, u8> {
    let (&[function, which], rest) = data.split_first_chunk().ok_or(reply::BAD_PARAMETER)?;
    let places: &[usize] = match which {
        0 => &[0, 1],
        1 | set::SENSOR_DATA => &[0],
        3 | set::FILTER_DATA => &[1],
        _ => return Err(reply::BAD_PARAMETER),
    };
    for &place in places {
        match (function, rest) {
            (function::WRITE, [on @ (0 | 1)]) => current.is_on[place] = *on == 1,
            (function::READ, _) => {
                return Ok(vec![Field::new(
                    dm::STREAM_REPLY,
                    [which, current.is_on[place].into()],
                )]);
            }
            (function::SAVE, _) => saved.is_on[place] = current.is_on[place],
            (function::LOAD, _) => current.is_on[place] = saved.is_on[place],
            (function::DEFAULT, _) => current.is_on[place] = factory.is_on[place],
            _ => return Err(reply::BAD_PARAMETER),
        }
    }
    Ok(Vec::new())
}
