//! Reads the messages about packets in a ground truth file, with at most one chunk in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader};
use serde::Deserialize;

use crate::analysis::bag::{mcap_reader, mcap_record};
use crate::wire::truth::{PacketRecord, SCHEMA};

/// Reason why a ground truth file cannot be read, or only in part.
#[derive(Debug, thiserror::Error)]
pub enum TruthFileError {
    /// The file does not exist or cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not an MCAP file, or it is damaged.
    #[error(
        "this is not a valid MCAP file: {0}\n  help: repeat the run, or save what can be read with \
         `mcap recover`"
    )]
    Mcap(#[from] mcap::McapError),
    /// The file is incomplete: it has no `DataEnd` record.
    #[error("this MCAP file is incomplete: it has no DataEnd record")]
    NoDataEnd,
    /// Invalid message about a packet.
    #[error("one of its messages is not the ground truth of a packet: {0}")]
    Message(#[from] crate::wire::ParseError),
    /// Invalid attachment with names.
    #[error("its names.json cannot be read: {0}")]
    Names(#[from] serde_json::Error),
    /// The MCAP file has no ground truth of packets, for example because another program wrote it.
    #[error("it has no ground truth of packets; write one with `run --truth` or `record --truth`")]
    NoPackets,
}

/// Names to which the numbers in a ground truth file refer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Names {
    /// Names of labels, by number.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Materials of static surfaces.
    #[serde(default)]
    pub materials: Vec<Named>,
    /// Moving objects.
    #[serde(default)]
    pub objects: Vec<NamedObject>,
    /// Devices of the rig.
    #[serde(default)]
    pub devices: Vec<NamedDevice>,
}

impl Names {
    /// Profile of the device that made the recording at this path: recordings are named after their devices. If the rig
    /// has a single device, the recording may have any name.
    fn profile_of(&self, recording: &Path) -> Option<&str> {
        let stem = recording.file_stem()?;
        let named = self.devices.iter().find(|device| stem == device.name.as_str());
        let only = || self.devices.first().filter(|_| self.devices.len() == 1);
        named.or_else(only).map(|device| device.profile.as_str())
    }
}

/// A device of the rig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NamedDevice {
    /// Name of the device in the rig.
    pub name: String,
    /// Name of the device's profile.
    pub profile: String,
}

/// A named material.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Named {
    /// Name of the material.
    pub name: String,
}

/// A moving object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NamedObject {
    /// Name of the object.
    pub name: String,
    /// Materials of the object's shape.
    #[serde(default)]
    pub materials: Vec<Named>,
}

/// Profile name of the device that made `recording`, from the ground truth of the same run; `None` if no device of the
/// rig matches.
///
/// # Errors
/// The ground truth file cannot be read or is damaged.
pub fn profile_of(recording: &Path, truth: &Path) -> Result<Option<String>, TruthFileError> {
    let mut reader = TruthReader::open(truth)?;
    reader.next_packet()?;
    Ok(reader.names().profile_of(recording).map(str::to_owned))
}

/// Reader of a ground truth file.
pub struct TruthReader<R = BufReader<File>> {
    input: R,
    reader: LinearReader,
    /// Topic of each channel about packets, by channel id.
    topics: HashMap<u16, String>,
    schemas: HashMap<u16, String>,
    names: Names,
    has_data_end: bool,
}

impl TruthReader {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, TruthFileError> {
        Ok(Self::new(BufReader::new(File::open(path)?)))
    }
}

impl<R: Read> TruthReader<R> {
    /// Reads a file from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            reader: mcap_reader(),
            topics: HashMap::new(),
            schemas: HashMap::new(),
            names: Names::default(),
            has_data_end: false,
        }
    }

    /// Names to which the file's numbers refer; available after the first message.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Next message about a packet, with its topic; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or is incomplete.
    pub fn next_packet(&mut self) -> Result<Option<(String, PacketRecord)>, TruthFileError> {
        while let Some(event) = self.reader.next_event() {
            let (opcode, data) = match event? {
                LinearReadEvent::ReadRequest(hint) => {
                    let read = self.input.read(self.reader.insert(hint))?;
                    self.reader.notify_read(read);
                    continue;
                }
                LinearReadEvent::Record { data, opcode } => (opcode, data),
            };
            match mcap_record(opcode, data)? {
                Record::Schema { header, .. } => {
                    self.schemas.insert(header.id, header.name);
                }
                Record::Channel(channel)
                    if self.schemas.get(&channel.schema_id).is_some_and(|name| name == SCHEMA) =>
                {
                    self.topics.insert(channel.id, channel.topic);
                }
                Record::Attachment { header, data, .. } if header.name == "names.json" => {
                    self.names = serde_json::from_slice(&data)?;
                }
                Record::Message { header, data } => {
                    if let Some(topic) = self.topics.get(&header.channel_id) {
                        return Ok(Some((topic.clone(), PacketRecord::parse(&data)?)));
                    }
                }
                Record::DataEnd(_) => self.has_data_end = true,
                _ => {}
            }
        }
        if self.has_data_end { Ok(None) } else { Err(TruthFileError::NoDataEnd) }
    }

    /// Reads the file to its end, where its last checksums are, and so verifies all of it. If reading stops earlier,
    /// damage can stay unnoticed: a damaged record may look like one of a kind that is skipped.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or is incomplete.
    pub fn check_rest(&mut self) -> Result<(), TruthFileError> {
        while self.next_packet()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_of_the_device_that_it_is_called_by() {
        let device =
            |name: &str, profile: &str| NamedDevice { name: name.into(), profile: profile.into() };
        let two = vec![device("roof", "velodyne-vlp16-3.0"), device("front", "sick-lms111")];
        let mut names = Names { devices: two, ..Names::default() };
        assert_eq!(names.profile_of(Path::new("out/front.bin")), Some("sick-lms111"));
        assert_eq!(names.profile_of(Path::new("capture.pcap")), None);
        names.devices.truncate(1);
        assert_eq!(names.profile_of(Path::new("capture.pcap")), Some("velodyne-vlp16-3.0"));
    }
}
