//! Reads ROS 2 bags: the messages of a SQLite (`.db3`) or MCAP file, in order.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use mcap::records::{Record, op};
use mcap::sans_io::decompressor::{DecompressResult, Decompressor};
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, McapResult};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use ruzstd::decoding::FrameDecoder;

/// Largest length of a record of an MCAP file, such as a message or a chunk, bytes; a longer record is an error.
const MAX_RECORD: usize = 256 << 20;
/// Largest size of a zstd block with its headers, bytes. The decoder needs at least this much input at a time.
const ZSTD_BLOCK: usize = 128 * 1024 + 64;

/// Reason why a bag cannot be read, or cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is not a bag, or it is damaged.
    #[error("this is not a valid ROS 2 bag (SQLite): {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is not an MCAP file, or it is damaged.
    #[error("this is not a valid MCAP file: {0}")]
    Mcap(#[from] McapError),
    /// The MCAP file is incomplete: it has no `DataEnd` record.
    #[error("this MCAP file is incomplete: it has no DataEnd record")]
    NoDataEnd,
}

/// A reader that checks all integrity data of an MCAP file: the CRCs of chunks, data and summary, and the magic bytes
/// at its end.
pub(super) fn mcap_reader() -> LinearReader {
    let options = LinearReaderOptions::default()
        .with_record_length_limit(MAX_RECORD)
        .with_prevalidate_chunk_crcs(true)
        .with_validate_data_section_crc(true)
        .with_validate_summary_section_crc(true)
        .with_check_finishes_after_end_magic(true);
    LinearReader::new_with_options(options)
}

/// Parses a record of an MCAP file. Returns an error for an attachment that ends before its CRC, where the library's
/// function panics.
pub(super) fn mcap_record(opcode: u8, data: &[u8]) -> McapResult<Record<'_>> {
    if opcode == op::ATTACHMENT && attachment_head(data).is_none_or(|head| data.len() < head + 4) {
        return Err(McapError::UnexpectedEof);
    }
    mcap::parse_record(opcode, data)
}

/// Length of the fields before an attachment's data, bytes: two times, name, media type, data length. `None` if the
/// record is too short.
fn attachment_head(data: &[u8]) -> Option<usize> {
    let text_end = |at: usize| -> Option<usize> {
        let len: [u8; 4] = data.get(at..at + 4)?.try_into().ok()?;
        Some(at + 4 + u32::from_le_bytes(len) as usize)
    };
    Some(text_end(text_end(16)?)? + 8)
}

/// A topic of a bag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Name of the topic.
    pub name: String,
    /// Type name of the messages.
    pub type_name: String,
    /// Encoding of the messages, such as `cdr`.
    pub encoding: String,
    /// Offered quality of service, as stored in the bag.
    pub qos: String,
    /// Definition of the message type; empty if the bag lacks it.
    pub definition: Vec<u8>,
    /// Encoding of the definition, such as `ros2msg`; empty if the bag lacks the definition.
    pub definition_encoding: String,
}

/// A recorded message of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the topic, for [`Bag::topic`].
    pub topic: u64,
    /// Number that the sender gave the message; 0 if unknown.
    pub sequence: u32,
    /// Time when the message was recorded, nanoseconds of POSIX time.
    pub unix_ns: i128,
    /// Time when the message was sent, nanoseconds of POSIX time; equal to `unix_ns` if unknown.
    pub publish_ns: i128,
    /// Bytes of the message.
    pub data: Vec<u8>,
}

/// A bag whose messages are read in order, with at most one message or chunk in memory.
pub struct Bag<'a> {
    inner: Inner<'a>,
    topics: HashMap<u64, Topic>,
}

enum Inner<'a> {
    Sqlite { connection: Connection, last: i64 },
    Mcap(Box<Mcap<'a>>),
}

struct Mcap<'a> {
    input: Box<dyn Read + 'a>,
    reader: LinearReader,
    /// Type name, encoding and bytes of each definition.
    schemas: HashMap<u16, (String, String, Vec<u8>)>,
    left_out: BTreeMap<String, u64>,
    has_data_end: bool,
}

impl<'a> Bag<'a> {
    /// Opens a bag in SQLite or MCAP.
    ///
    /// # Errors
    /// The file cannot be read, or it is neither an MCAP file nor a SQLite bag. Only the first byte of an MCAP file is
    /// checked here.
    pub fn open(path: &Path) -> Result<Self, BagError> {
        let mut file = File::open(path)?;
        let mut magic = Vec::new();
        file.by_ref().take(1).read_to_end(&mut magic)?;
        match magic == [0x89] {
            true => Self::mcap(Box::new(BufReader::new(Cursor::new(magic).chain(file)))),
            false => Self::sqlite(path),
        }
    }

    /// Opens a bag in SQLite.
    ///
    /// # Errors
    /// The file cannot be read, or it is no bag.
    pub fn sqlite(path: &Path) -> Result<Self, BagError> {
        // SQLite must not write beside the file: its folder may be read-only. A write-ahead log that a recorder has
        // left is read in place.
        let absolute = std::path::absolute(path)?;
        let encoded = percent_encode(absolute.as_os_str().as_bytes(), NON_ALPHANUMERIC);
        let log = path.with_file_name(format!(
            "{}-wal",
            path.file_name().unwrap_or_default().to_string_lossy()
        ));
        let mode = if log.exists() { "mode=ro" } else { "mode=ro&immutable=1" };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(format!("file:{encoded}?{mode}"), flags)?;
        let mut topics = HashMap::new();
        {
            let has_definitions = connection
                .query_row(
                    "SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'",
                    [],
                    |_| Ok(()),
                )
                .optional()?
                .is_some();
            let mut definitions: HashMap<String, (String, Vec<u8>)> = HashMap::new();
            if has_definitions {
                let mut rows = connection.prepare(
                    "SELECT topic_type, encoding, encoded_message_definition \
                     FROM message_definitions",
                )?;
                let mut rows = rows.query([])?;
                while let Some(row) = rows.next()? {
                    let definition = row.get::<_, String>(2)?.into_bytes();
                    definitions.insert(row.get(0)?, (row.get(1)?, definition));
                }
            }
            let mut rows = connection.prepare(
                "SELECT id, name, type, serialization_format, offered_qos_profiles FROM topics",
            )?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let type_name: String = row.get(2)?;
                let (definition_encoding, definition) =
                    definitions.get(&type_name).cloned().unwrap_or_default();
                let topic = Topic {
                    name: row.get(1)?,
                    type_name,
                    encoding: row.get(3)?,
                    qos: row.get(4)?,
                    definition,
                    definition_encoding,
                };
                topics.insert(row.get::<_, i64>(0)?.cast_unsigned(), topic);
            }
        }
        Ok(Self { inner: Inner::Sqlite { connection, last: i64::MIN }, topics })
    }

    /// Opens a bag in MCAP that is read from `input`.
    ///
    /// # Errors
    /// The MCAP library rejects the decoder for zstd.
    pub fn mcap(input: Box<dyn Read + 'a>) -> Result<Self, BagError> {
        let mut reader = mcap_reader();
        reader.add_decompressor(Zstd::default())?;
        let (schemas, left_out) = Default::default();
        let mcap = Mcap { input, reader, schemas, left_out, has_data_end: false };
        Ok(Self { inner: Inner::Mcap(Box::new(mcap)), topics: HashMap::new() })
    }

    /// Topic with this number, as in [`Message::topic`]; `None` if the bag has no such topic or if, in an MCAP file,
    /// the topic's channel has not been read yet.
    pub fn topic(&self, number: u64) -> Option<&Topic> {
        self.topics.get(&number)
    }

    /// Numbers of the records read so far that are neither messages nor about messages: attachments, by name, and
    /// metadata. Empty for SQLite.
    pub fn left_out(&self) -> BTreeMap<String, u64> {
        match &self.inner {
            Inner::Sqlite { .. } => BTreeMap::new(),
            Inner::Mcap(mcap) => mcap.left_out.clone(),
        }
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn next_message(&mut self) -> Result<Option<Message>, BagError> {
        match &mut self.inner {
            Inner::Sqlite { connection, last } => {
                let mut next = connection.prepare_cached(
                    "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ?1 \
                     ORDER BY id LIMIT 1",
                )?;
                let found = next.query_row([*last], |row| {
                    let data = row.get_ref(3)?.as_blob()?.to_vec();
                    let topic = row.get::<_, i64>(1)?.cast_unsigned();
                    let unix_ns = row.get::<_, i64>(2)?.into();
                    let message =
                        Message { topic, sequence: 0, unix_ns, publish_ns: unix_ns, data };
                    Ok((row.get(0)?, message))
                });
                let Some((id, message)) = found.optional()? else { return Ok(None) };
                *last = id;
                Ok(Some(message))
            }
            Inner::Mcap(mcap) => mcap.next_message(&mut self.topics),
        }
    }
}

impl Mcap<'_> {
    fn next_message(
        &mut self,
        topics: &mut HashMap<u64, Topic>,
    ) -> Result<Option<Message>, BagError> {
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
                Record::Schema { header, data } => {
                    let schema = (header.name, header.encoding, data.into_owned());
                    self.schemas.insert(header.id, schema);
                }
                Record::Channel(channel) => {
                    let schema = self.schemas.get(&channel.schema_id).cloned();
                    let (type_name, definition_encoding, definition) = schema.unwrap_or_default();
                    let qos = channel.metadata.get("offered_qos_profiles").cloned();
                    let topic = Topic {
                        name: channel.topic,
                        type_name,
                        encoding: channel.message_encoding,
                        qos: qos.unwrap_or_default(),
                        definition,
                        definition_encoding,
                    };
                    topics.insert(channel.id.into(), topic);
                }
                Record::Message { header, data } => {
                    return Ok(Some(Message {
                        topic: header.channel_id.into(),
                        sequence: header.sequence,
                        unix_ns: header.log_time.into(),
                        publish_ns: header.publish_time.into(),
                        data: data.into_owned(),
                    }));
                }
                Record::Attachment { header, .. } => {
                    *self.left_out.entry(format!("attachment {}", header.name)).or_default() += 1;
                }
                // ROS 2 writes its own metadata into every file; they describe only that file.
                Record::Metadata(metadata) if metadata.name != "rosbag2" => {
                    *self.left_out.entry(format!("metadata {}", metadata.name)).or_default() += 1;
                }
                Record::DataEnd(_) => self.has_data_end = true,
                _ => {}
            }
        }
        if self.has_data_end { Ok(None) } else { Err(BagError::NoDataEnd) }
    }
}

/// Decoder of chunks that are compressed with zstd.
#[derive(Default)]
struct Zstd(FrameDecoder);

impl Decompressor for Zstd {
    fn next_read_size(&self) -> usize {
        ZSTD_BLOCK
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> McapResult<DecompressResult> {
        let failed = |error: String| McapError::DecompressionError(error);
        let (consumed, wrote) =
            self.0.decode_from_to(src, dst).map_err(|error| failed(error.to_string()))?;
        // The calculated checksum covers only bytes that were already read from the decoder, so compare when none are
        // left in it.
        if self.0.can_collect() == 0
            && let Some(saved) = self.0.get_checksum_from_data()
            && self.0.get_calculated_checksum() != Some(saved)
        {
            return Err(failed("the checksum of a zstd frame is wrong".to_owned()));
        }
        Ok(DecompressResult { consumed, wrote })
    }

    fn reset(&mut self) -> McapResult<()> {
        self.0 = FrameDecoder::new();
        Ok(())
    }

    fn name(&self) -> &'static str {
        "zstd"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Reads the MCAP bag in `bytes` to its end; returns its number of messages.
    fn count(bytes: &[u8]) -> Result<usize, BagError> {
        let mut bag = Bag::mcap(Box::new(bytes))?;
        let mut count = 0;
        while bag.next_message()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn a_flipped_bit_anywhere_is_told() {
        for has_chunks in [true, false] {
            let options = mcap::WriteOptions::new().compression(None).use_chunks(has_chunks);
            let file = Cursor::new(Vec::<u8>::new());
            let mut writer = mcap::Writer::with_options(file, options).unwrap();
            let schema =
                writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data").unwrap();
            let channel = writer.add_channel(schema, "/words", "cdr", &BTreeMap::new()).unwrap();
            for time in [1, 2] {
                let header = mcap::records::MessageHeader {
                    channel_id: channel,
                    sequence: 0,
                    log_time: time,
                    publish_time: time,
                };
                writer.write_to_known_channel(&header, b"a word").unwrap();
            }
            writer.finish().unwrap();
            let whole = writer.into_inner().into_inner();
            assert_eq!(count(&whole).unwrap(), 2);
            for at in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] ^= 1;
                assert!(
                    count(&damaged).is_err(),
                    "byte {at} of {}, chunks: {has_chunks}",
                    whole.len()
                );
            }
            assert!(count(&whole[..whole.len() - 1]).is_err());
            assert!(count(&[&whole[..], b"\0"].concat()).is_err());
        }
    }

    #[test]
    fn an_attachment_without_its_crc_is_refused() {
        assert!(mcap_record(op::ATTACHMENT, &[0; 36]).is_ok());
        for len in 0..36 {
            assert!(mcap_record(op::ATTACHMENT, &vec![0; len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_frame_of_zstd_with_another_checksum_is_refused() {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let mut packed = ruzstd::encoding::compress_to_vec(&[7u8; 1000][..], level);
        let mut space = [0; 1000];
        assert_eq!(Zstd::default().decompress(&packed, &mut space).unwrap().wrote, 1000);
        *packed.last_mut().unwrap() ^= 1;
        let told = Zstd::default().decompress(&packed, &mut space).unwrap_err().to_string();
        assert!(told.contains("checksum"), "{told}");
    }

    #[test]
    fn chunks_that_zstd_has_compressed_are_read_in_pieces() {
        let whole: Vec<u8> = (0..300_000u32).map(|at| (at / 7 % 251) as u8).collect();
        let packed = ruzstd::encoding::compress_to_vec(
            &whole[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let mut zstd = Zstd::default();
        for _ in 0..2 {
            let (mut at, mut found) = (0, Vec::<u8>::new());
            let mut space = [0; 777];
            while found.len() < whole.len() {
                let end = packed.len().min(at + zstd.next_read_size());
                let step = zstd.decompress(&packed[at..end], &mut space).unwrap();
                assert!(step.consumed + step.wrote > 0, "no progress at {at}");
                at += step.consumed;
                found.extend(&space[..step.wrote]);
            }
            assert!(found == whole);
            zstd.reset().unwrap();
        }
    }
}
