//! The MCAP file of the ground truth: its channels and messages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use mcap::records::{MessageHeader, Metadata};
use mcap::write::NoSeek;
use mcap::{Attachment, Compression, McapError, WriteOptions, Writer};

use super::JsonMessage;
use super::kinds::Kind;
use crate::links::part_file::SharedPart;
use crate::wire::truth as wire;

/// Bytes of messages that are compressed together. Larger chunks improve the compression little.
const CHUNK_BYTES: u64 = 1 << 20;
/// Description of the layout of packet messages; the file contains it as their schema.
const LAYOUT: &[u8] = b"Little-endian, version 1; docs/TRUTH.md of Menura. head 48: version u16, way u8, \
port u8, length u32, number u64, due_ns u64, sha256 [u8;8], poses u32, firings u32, returns u32, 0 u32; \
pose 64: time_ns u64, position f64[3], quaternion xyzw f64[4]; firing 24: time_ns u64, azimuth_rad f32, \
elevation_rad f32, first_return u32, laser u16, returns u8, 0 u8; return 24: reported_m f32, true_m f32, \
instance u32, material u16, label u16, cos_incidence u16, share u16, object u16, why u8, slots u8";

/// Error in writing the ground truth: path of the file, and reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the ground truth to {path}: {reason}")]
pub struct TruthError {
    path: String,
    reason: String,
}

/// Size of a ground truth file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TruthFigures {
    /// Number of messages.
    pub messages: u64,
    /// Bytes of messages before compression.
    pub message_bytes: u64,
    /// Size of the file, bytes.
    pub file_bytes: u64,
}

/// A ground truth file. Times of messages are POSIX time, nanoseconds.
pub struct TruthFile {
    path: PathBuf,
    /// Writer that never seeks: each chunk is written when it is complete, so the output can be a pipe.
    out: Writer<NoSeek<BufWriter<SharedPart>>>,
    channels: BTreeMap<String, u16>,
    sequence: u32,
    figures: TruthFigures,
}

impl TruthFile {
    /// Creates the file. It is named `PATH.part` until the returned [`SharedPart`] is finished.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(path: &Path) -> Result<(Self, SharedPart), TruthError> {
        let stream = SharedPart::create(path).map_err(|error| wrong(path, error.into()))?;
        let file = stream.clone();
        let create = || {
            let options = WriteOptions::new()
                .compression(Some(Compression::Lz4))
                .chunk_size(Some(CHUNK_BYTES))
                .disable_seeking(true)
                .profile("")
                .library(concat!("menura ", env!("CARGO_PKG_VERSION")));
            options.create(NoSeek::new(BufWriter::new(file)))
        };
        let out = create().map_err(|error| wrong(path, error))?;
        let file = Self {
            path: path.to_owned(),
            out,
            channels: BTreeMap::new(),
            sequence: 0,
            figures: TruthFigures::default(),
        };
        Ok((file, stream))
    }

    /// Adds the path of this file to an error.
    pub(super) fn wrong(&self, error: McapError) -> TruthError {
        wrong(&self.path, error)
    }

    pub(super) fn write_metadata<const N: usize>(
        &mut self,
        pairs: [(&str, String); N],
    ) -> Result<(), McapError> {
        let metadata = pairs.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        self.out.write_metadata(&Metadata { name: "menura".into(), metadata })
    }

    pub(super) fn attach(
        &mut self,
        name: &str,
        media_type: &str,
        at: u64,
        data: &[u8],
    ) -> Result<(), McapError> {
        self.out.attach(&Attachment {
            log_time: at,
            create_time: at,
            name: name.into(),
            media_type: media_type.into(),
            data: Cow::Borrowed(data),
        })
    }

    pub(super) fn write_json(&mut self, message: &JsonMessage, at: u64) -> Result<(), McapError> {
        let text = serde_json::to_vec(&message.value).unwrap_or_default();
        self.write_text(&message.topic, message.kind, at, &text)
    }

    pub(super) fn write_text(
        &mut self,
        topic: &str,
        kind: &Kind,
        at: u64,
        text: &[u8],
    ) -> Result<(), McapError> {
        let channel = self.channel(topic, kind.name, "jsonschema", "json", || {
            serde_json::to_vec(&kind.schema()).unwrap_or_default()
        })?;
        self.put(channel, at, text)
    }

    /// Writes a message about a packet.
    pub(super) fn write_packet(
        &mut self,
        topic: &str,
        at: u64,
        data: &[u8],
    ) -> Result<(), McapError> {
        let channel =
            self.channel(topic, wire::SCHEMA, wire::ENCODING, wire::ENCODING, || LAYOUT.to_vec())?;
        self.put(channel, at, data)
    }

    fn channel(
        &mut self,
        topic: &str,
        schema: &str,
        schema_encoding: &str,
        encoding: &str,
        text: impl FnOnce() -> Vec<u8>,
    ) -> Result<u16, McapError> {
        if let Some(&known) = self.channels.get(topic) {
            return Ok(known);
        }
        let schema = self.out.add_schema(schema, schema_encoding, &text())?;
        let channel = self.out.add_channel(schema, topic, encoding, &BTreeMap::new())?;
        self.channels.insert(topic.to_owned(), channel);
        Ok(channel)
    }

    fn put(&mut self, channel_id: u16, log_time: u64, data: &[u8]) -> Result<(), McapError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.figures.messages += 1;
        self.figures.message_bytes += data.len() as u64;
        let header =
            MessageHeader { channel_id, sequence: self.sequence, log_time, publish_time: log_time };
        self.out.write_to_known_channel(&header, data)
    }

    pub(super) fn finish(mut self) -> Result<TruthFigures, TruthError> {
        let mut finish = || {
            self.out.finish()?;
            Ok(())
        };
        finish().map_err(|error| wrong(&self.path, error))?;
        let file =
            self.out.into_inner().into_inner().into_inner().map_err(|error| error.into_error());
        let size = file.and_then(|file| file.length());
        let file_bytes = size.map_err(|error| wrong(&self.path, error.into()))?;
        Ok(TruthFigures { file_bytes, ..self.figures })
    }
}

fn wrong(path: &Path, error: McapError) -> TruthError {
    let reason = match error {
        // The text of `McapError` omits the system's reason.
        McapError::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    TruthError { path: path.display().to_string(), reason }
}
