//! Converts captures to pcap, MCAP or ROS 2 bags in SQLite. A pcap contains whole frames; a bag contains the payloads
//! of datagrams, or all messages of another bag. Bytes and times are unchanged, but a SQLite bag has only the time at
//! which a message was recorded. Frames that the format cannot hold are omitted and counted, and so are attachments and
//! metadata of an MCAP file.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcap::records::MessageHeader;
use mcap::{Compression, McapError, WriteOptions, Writer};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use rusqlite::{Connection, params};

use super::bag::{Bag, BagError, Message, Topic};
use super::capture::{CaptureError, CaptureReader, Source, frame_id};
use super::damage::Damage;
use crate::links::part_file::PartFile;
use crate::wire::ParseError;
use crate::wire::ethernet::{Content, LinkType};
use crate::wire::ros2::{NEBULA_DEFINITION, NEBULA_TYPE, nebula_packet};

/// Snapshot length in the header of new pcap files: the largest length of a frame, bytes.
const SNAP_LEN: u32 = 262_144;
/// Tables of a ROS 2 bag in SQLite.
const TABLES: &str = "
    CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
    CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
    CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
        serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
    CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
        encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
        data BLOB NOT NULL);
    CREATE INDEX timestamp_idx ON messages (timestamp ASC);
    INSERT INTO schema VALUES (3, 'menura');
";

/// Reason why a capture was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The bag cannot be read.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// The output file cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Output {
        /// Path of the file.
        path: PathBuf,
        /// Error message of the system or the library.
        why: String,
    },
}

/// Result of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Number of frames in a new pcap; otherwise of datagrams or, from bag to bag, of messages.
    pub written: u64,
    /// Numbers of omitted frames, attachments and metadata, by kind or reason.
    pub left_out: BTreeMap<String, u64>,
    /// Counts of datagrams with wrong checksums, which were written unchanged.
    pub damage: Damage,
}

/// Writes the content of `from` to the new file `to`. The extension of `to` sets the format: pcap, mcap or db3.
///
/// # Errors
/// The capture cannot be read to its end. Or the new file has another extension, exists already or cannot be written.
pub fn convert(from: &Path, to: &Path) -> Result<Converted, ConvertError> {
    let output = |why: String| ConvertError::Output { path: to.to_owned(), why };
    let extension = to.extension().unwrap_or_default();
    if extension != "pcap" && extension != "mcap" && extension != "db3" {
        return Err(output("its name must end in .pcap, .mcap or .db3".into()));
    }
    let mut reader = CaptureReader::open(Source::File(from))?;
    if to.exists() {
        return Err(output("the file exists already".into()));
    }
    let part = PartFile::create(to).map_err(|error| output(error.to_string()))?;
    // SQLite must open its file itself, by the path. All formats are therefore written to the path of the unfinished
    // file.
    let open = || OpenOptions::new().write(true).open(part.path());
    let converted = if extension == "pcap" {
        let file = open().map_err(|error| output(error.to_string()))?;
        to_pcap(&mut reader, file, &output)?
    } else {
        let sink = match extension == "mcap" {
            true => open().map_err(SinkError::from).and_then(Sink::mcap),
            false => Sink::sqlite(part.path()),
        };
        let mut sink = sink.map_err(|error| output(error.to_string()))?;
        let converted = match reader.is_bag() {
            true => copy_messages(Bag::open(from)?, &mut sink, &output)?,
            false => wrap_datagrams(&mut reader, &mut sink, &output)?,
        };
        sink.finish().map_err(|error| output(error.to_string()))?;
        converted
    };
    part.finish_new().map_err(|error| output(error.to_string()))?;
    Ok(converted)
}

fn to_pcap(
    reader: &mut CaptureReader<'_>,
    file: File,
    output: &dyn Fn(String) -> ConvertError,
) -> Result<Converted, ConvertError> {
    let mut converted = Converted::default();
    let open = |file: File, link: LinkType| {
        let header = PcapHeader {
            snaplen: SNAP_LEN,
            datalink: DataLink::from(link.0),
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let opened = PcapWriter::with_header(BufWriter::new(file), header);
        opened.map_err(|error| output(error.to_string()))
    };
    let mut file = Some(file);
    let mut writer: Option<(LinkType, PcapWriter<BufWriter<File>>)> = None;
    while let Some(captured) = reader.next_frame() {
        let captured = captured?;
        if let Some(file) = file.take() {
            writer = Some((captured.link, open(file, captured.link)?));
        }
        let Some((link, writer)) = &mut writer else { continue };
        let time = u64::try_from(captured.unix_ns).ok().map(Duration::from_nanos);
        let time = time.filter(|time| u32::try_from(time.as_secs()).is_ok());
        let (Some(time), true) = (time, *link == captured.link) else {
            let kind =
                if time.is_none() { "timestamp outside pcap's range" } else { "other link type" };
            *converted.left_out.entry(kind.to_owned()).or_default() += 1;
            continue;
        };
        let length = captured.frame.len() as u32;
        let packet = PcapPacket::new(time, length, captured.frame);
        writer.write_packet(&packet).map_err(|error: PcapError| output(error.to_string()))?;
        converted.written += 1;
        // A truncated datagram is written as it is; its checksum cannot be verified.
        if let Ok(Content::Udp(datagram)) = Content::find(captured.link, captured.frame)
            && datagram.missing == 0
        {
            converted.damage.count_checksums(&datagram);
        }
    }
    let writer = match (writer, file) {
        (None, Some(file)) => Some(open(file, LinkType::ETHERNET)?),
        (writer, _) => writer.map(|(_, writer)| writer),
    };
    if let Some(writer) = writer {
        writer.into_writer().flush().map_err(|error| output(error.to_string()))?;
    }
    finish(reader, converted)
}

/// Copies a bag's messages unchanged.
fn copy_messages(
    mut bag: Bag<'_>,
    sink: &mut Sink,
    output: &dyn Fn(String) -> ConvertError,
) -> Result<Converted, ConvertError> {
    let mut converted = Converted::default();
    while let Some(message) = bag.next_message()? {
        let topic = bag.topic(message.topic).cloned().unwrap_or_default();
        sink.write(&topic, &message).map_err(|error| output(error.to_string()))?;
        converted.written += 1;
    }
    converted.left_out = bag.left_out();
    Ok(converted)
}

/// Writes each datagram as a message that contains one packet. Each flow has its own topic.
fn wrap_datagrams(
    reader: &mut CaptureReader<'_>,
    sink: &mut Sink,
    output: &dyn Fn(String) -> ConvertError,
) -> Result<Converted, ConvertError> {
    let mut converted = Converted::default();
    while let Some(captured) = reader.next_frame() {
        let captured = captured?;
        let mut skip = |kind: &str| *converted.left_out.entry(kind.to_owned()).or_default() += 1;
        let datagram = match Content::find(captured.link, captured.frame) {
            Ok(Content::Udp(datagram)) if datagram.missing == 0 => datagram,
            Ok(Content::Udp(_)) => {
                skip("truncated datagram");
                continue;
            }
            Ok(Content::Other(name)) => {
                skip(name);
                continue;
            }
            Err(_) => {
                skip("broken frame");
                continue;
            }
        };
        let frame_id = frame_id(datagram.source, datagram.destination);
        let data = match nebula_packet(&frame_id, captured.unix_ns, datagram.payload) {
            Ok(data) => data,
            Err(ParseError::Value { .. }) => {
                skip("timestamp outside ROS 2's range");
                continue;
            }
            Err(error) => return Err(output(error.to_string())),
        };
        let name: String = format!("/udp/{frame_id}")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '/' { c } else { '_' })
            .collect();
        let topic = Topic {
            name,
            type_name: NEBULA_TYPE.to_owned(),
            encoding: "cdr".to_owned(),
            qos: String::new(),
            definition: NEBULA_DEFINITION.as_bytes().to_vec(),
            definition_encoding: "ros2msg".to_owned(),
        };
        let unix_ns = captured.unix_ns;
        let message = Message { topic: 0, sequence: 0, unix_ns, publish_ns: unix_ns, data };
        sink.write(&topic, &message).map_err(|error| output(error.to_string()))?;
        converted.written += 1;
        converted.damage.count_checksums(&datagram);
    }
    finish(reader, converted)
}

fn finish(reader: &CaptureReader<'_>, mut converted: Converted) -> Result<Converted, ConvertError> {
    for (name, count) in reader.others() {
        *converted.left_out.entry(name).or_default() += count;
    }
    if let Some(lost) = reader.lost() {
        converted.left_out.insert(lost.to_string(), 1);
    }
    Ok(converted)
}

/// A bag in one of the output formats.
enum Sink {
    Mcap { writer: Box<Writer<BufWriter<File>>>, channels: HashMap<Topic, u16> },
    Sqlite { connection: Connection, topics: HashMap<Topic, i64> },
}

/// Reason why a bag cannot be written.
#[derive(Debug, thiserror::Error)]
enum SinkError {
    #[error("{0}")]
    Mcap(#[from] McapError),
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a timestamp is before 1970, or after 2262 in SQLite")]
    Time,
}

impl Sink {
    fn mcap(file: File) -> Result<Self, SinkError> {
        let options = WriteOptions::new()
            .compression(Some(Compression::Lz4))
            .profile("ros2")
            .library(concat!("menura ", env!("CARGO_PKG_VERSION")));
        let writer = Box::new(Writer::with_options(BufWriter::new(file), options)?);
        Ok(Self::Mcap { writer, channels: HashMap::new() })
    }

    fn sqlite(path: &Path) -> Result<Self, SinkError> {
        let connection = Connection::open(path)?;
        // One transaction, so that no incomplete bag remains.
        connection.execute_batch(&format!("BEGIN;{TABLES}"))?;
        Ok(Self::Sqlite { connection, topics: HashMap::new() })
    }

    fn write(&mut self, topic: &Topic, message: &Message) -> Result<(), SinkError> {
        match self {
            Self::Mcap { writer, channels } => {
                let time = |ns: i128| u64::try_from(ns).map_err(|_| SinkError::Time);
                let channel_id = match channels.get(topic) {
                    Some(known) => *known,
                    None => {
                        let Topic { type_name, definition, definition_encoding, .. } = topic;
                        let schema = match type_name.is_empty() && definition.is_empty() {
                            true => 0,
                            false => {
                                writer.add_schema(type_name, definition_encoding, definition)?
                            }
                        };
                        let qos = ("offered_qos_profiles".to_owned(), topic.qos.clone());
                        let encoding = match &*topic.encoding {
                            "" => "cdr",
                            encoding => encoding,
                        };
                        let metadata = BTreeMap::from([qos]);
                        let id = writer.add_channel(schema, &topic.name, encoding, &metadata)?;
                        channels.insert(topic.clone(), id);
                        id
                    }
                };
                let header = MessageHeader {
                    channel_id,
                    sequence: message.sequence,
                    log_time: time(message.unix_ns)?,
                    publish_time: time(message.publish_ns)?,
                };
                writer.write_to_known_channel(&header, &message.data)?;
            }
            Self::Sqlite { connection, topics } => {
                let time = i64::try_from(message.unix_ns).map_err(|_| SinkError::Time)?;
                let id = match topics.get(topic) {
                    Some(known) => *known,
                    None => {
                        let Topic {
                            name,
                            type_name,
                            encoding,
                            qos,
                            definition,
                            definition_encoding,
                        } = topic;
                        connection.execute(
                            "INSERT INTO topics (name, type, serialization_format, \
                             offered_qos_profiles) VALUES (?1, ?2, ?3, ?4)",
                            params![name, type_name, encoding, qos],
                        )?;
                        let id = connection.last_insert_rowid();
                        if !definition.is_empty() {
                            connection.execute(
                                "INSERT INTO message_definitions (topic_type, encoding, \
                                 encoded_message_definition, type_description_hash) \
                                 VALUES (?1, ?2, ?3, '')",
                                params![
                                    type_name,
                                    definition_encoding,
                                    String::from_utf8_lossy(definition)
                                ],
                            )?;
                        }
                        topics.insert(topic.clone(), id);
                        id
                    }
                };
                let mut insert = connection.prepare_cached(
                    "INSERT INTO messages (topic_id, timestamp, data) VALUES (?1, ?2, ?3)",
                )?;
                insert.execute(params![id, time, message.data])?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), SinkError> {
        match self {
            Self::Mcap { mut writer, .. } => {
                writer.finish()?;
                writer.into_inner().flush()?;
            }
            Self::Sqlite { connection, .. } => connection.execute_batch("COMMIT")?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::pcap::PcapRecorder;
    use crate::wire::ethernet::FrameHeader;

    type Seen = (i128, String, Vec<u8>);

    fn datagrams(path: &Path) -> Vec<Seen> {
        let mut reader = CaptureReader::open(Source::File(path)).unwrap();
        let mut seen = Vec::new();
        while let Some(captured) = reader.next_frame() {
            let captured = captured.unwrap();
            let found = Content::find(captured.link, captured.frame);
            let Ok(Content::Udp(datagram)) = found else { panic!("{found:?}") };
            let ends = frame_id(datagram.source, datagram.destination);
            seen.push((captured.unix_ns, ends, datagram.payload.to_vec()));
        }
        assert!(reader.lost().is_none());
        seen
    }

    fn header() -> FrameHeader {
        FrameHeader {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source_ip: [192, 168, 1, 201].into(),
            destination_ip: [192, 168, 1, 100].into(),
            source_port: 10_000,
            destination_port: 2368,
            ttl: 64,
            dont_fragment: true,
            identification: 7,
            udp_checksum: true,
        }
    }

    #[test]
    fn wrong_checksums_are_counted_and_what_has_them_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut recorder = PcapRecorder::create(&path("a.pcap"), header()).unwrap();
        for at in 0..3 {
            recorder.write(at, &[7; 100]).unwrap();
        }
        recorder.finish().unwrap();
        let mut bytes = std::fs::read(path("a.pcap")).unwrap();
        // Damages the time to live of the first frame, which only the checksum of the IP header covers, and the last
        // byte of the last frame.
        bytes[24 + 16 + 22] ^= 1;
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(path("b.pcap"), bytes).unwrap();
        let expected = Damage { ip_checksums: 1, udp_checksums: 1, ..Damage::default() };
        for (from, to, damage) in [
            ("a.pcap", "a.mcap", Damage::default()),
            ("b.pcap", "c.pcap", expected),
            ("b.pcap", "c.mcap", expected),
            ("b.pcap", "c.db3", expected),
        ] {
            let converted = convert(&path(from), &path(to)).unwrap();
            assert_eq!((converted.written, converted.damage), (3, damage), "{from} to {to}");
            assert!(converted.left_out.is_empty(), "{from} to {to}");
        }
    }

    #[test]
    fn every_form_becomes_every_other_with_all_bytes_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut recorder = PcapRecorder::create(&path("a.pcap"), header()).unwrap();
        for (at, len) in [(1_700_000_000_000_000_001, 1206), (1_700_000_000_000_000_777, 0)] {
            recorder.write(at, &vec![len as u8; len]).unwrap();
        }
        recorder.write(1_700_000_000_000_000_778, &vec![9; 33_024]).unwrap();
        recorder.finish().unwrap();
        let expected = datagrams(&path("a.pcap"));
        assert_eq!(expected.len(), 3);
        for (from, to) in [
            ("a.pcap", "b.db3"),
            ("b.db3", "c.mcap"),
            ("c.mcap", "d.db3"),
            ("a.pcap", "e.mcap"),
            ("d.db3", "f.pcap"),
            ("e.mcap", "g.pcap"),
        ] {
            let converted = convert(&path(from), &path(to)).unwrap();
            assert_eq!((converted.written, converted.left_out.len()), (3, 0), "{from} to {to}");
            assert_eq!(datagrams(&path(to)), expected, "{to}");
        }
        let again = convert(&path("a.pcap"), &path("b.db3")).unwrap_err().to_string();
        assert!(again.contains("exists"), "{again}");
        assert_eq!(datagrams(&path("b.db3")), expected, "an existing file stays");
        let other = convert(&path("a.pcap"), &path("a.txt")).unwrap_err().to_string();
        assert!(other.ends_with("its name must end in .pcap, .mcap or .db3"), "{other}");
        assert!(!path("a.txt").exists());
    }

    #[test]
    fn a_bag_keeps_descriptions_channels_numbers_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut writer = Writer::new(File::create(path("a.mcap")).unwrap()).unwrap();
        let kinds = [("one/Type", "jsonschema", "json"), ("other/Type", "ros2idl", "cdr")];
        for (place, (name, definition_encoding, encoding)) in kinds.into_iter().enumerate() {
            let schema = writer.add_schema(name, definition_encoding, b"text").unwrap();
            let channel_id =
                writer.add_channel(schema, "/same", encoding, &BTreeMap::new()).unwrap();
            let header = MessageHeader {
                channel_id,
                sequence: 7 + place as u32,
                log_time: 2000,
                publish_time: 1000,
            };
            writer.write_to_known_channel(&header, &[place as u8]).unwrap();
        }
        let attachment = mcap::Attachment {
            log_time: 0,
            create_time: 0,
            name: "names.json".to_owned(),
            media_type: "application/json".to_owned(),
            data: b"{}".into(),
        };
        writer.attach(&attachment).unwrap();
        writer.finish().unwrap();
        let read = |name: &str| {
            let mut bag = Bag::open(&path(name)).unwrap();
            let mut all = Vec::new();
            while let Some(message) = bag.next_message().unwrap() {
                all.push((bag.topic(message.topic).unwrap().clone(), message));
            }
            all
        };
        let left_out = BTreeMap::from([("attachment names.json".to_owned(), 1)]);
        for name in ["b.mcap", "b.db3"] {
            let converted = convert(&path("a.mcap"), &path(name)).unwrap();
            assert_eq!((converted.written, &converted.left_out), (2, &left_out), "{name}");
            let (before, after) = (read("a.mcap"), read(name));
            assert_eq!(after.len(), 2);
            for ((topic, message), (own_topic, own)) in before.into_iter().zip(after) {
                assert_eq!(own_topic, topic, "{name}");
                assert_eq!((&own.data, own.unix_ns), (&message.data, message.unix_ns), "{name}");
                if name == "b.mcap" {
                    let more = (message.sequence, message.publish_ns);
                    assert_eq!((own.sequence, own.publish_ns), more);
                }
            }
        }
    }

    #[test]
    fn a_capture_without_packets_becomes_a_pcap_without_packets() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        PcapRecorder::create(&path("a.pcap"), header()).unwrap().finish().unwrap();
        assert_eq!(convert(&path("a.pcap"), &path("b.pcap")).unwrap(), Converted::default());
        assert!(datagrams(&path("b.pcap")).is_empty());
    }
}
