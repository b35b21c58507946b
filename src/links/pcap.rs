//! Recordings of network devices: pcap files with nanosecond timestamps and whole Ethernet frames.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use super::part_file::PartFile;
use crate::wire::ethernet::FrameHeader;

/// Size of the write buffer, bytes.
const BUFFER_BYTES: usize = 1 << 20;
/// Longest frame that the file header announces, bytes: the largest value that readers accept.
const SNAP_LEN: u32 = 262_144;

/// Writes the datagrams of one device to a file, all with the same headers.
#[derive(Debug)]
pub struct PcapRecorder {
    path: PathBuf,
    writer: PcapWriter<BufWriter<PartFile>>,
    header: FrameHeader,
    frame: Vec<u8>,
    packets: u64,
}

impl PcapRecorder {
    /// Creates the file, which is named `PATH.part` until it is finished, and writes its header. Errors name
    /// the file.
    pub fn create(path: &Path, header: FrameHeader) -> io::Result<Self> {
        let file = PartFile::create_growing(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot create {}: {error}", path.display()))
        })?;
        let file_header = PcapHeader {
            snaplen: SNAP_LEN,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            // Fixed, so that every machine writes the same bytes.
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let path = file.path().to_owned();
        let writer =
            PcapWriter::with_header(BufWriter::with_capacity(BUFFER_BYTES, file), file_header)
                .map_err(|error| failed(&path, error))?;
        Ok(Self { path, writer, header, frame: Vec::with_capacity(2048), packets: 0 })
    }

    /// Appends a datagram that leaves at `timestamp_unix_ns`, nanoseconds of POSIX time.
    ///
    /// Errors: the payload does not fit a datagram, the time is outside pcap's range (1970 to 2106), or the
    /// file cannot be written.
    pub fn write(&mut self, timestamp_unix_ns: i128, payload: &[u8]) -> io::Result<()> {
        let header = self.header.clone();
        self.write_in(&header, timestamp_unix_ns, payload)
    }

    /// Like [`PcapRecorder::write`], with different headers.
    pub fn write_in(
        &mut self,
        header: &FrameHeader,
        timestamp_unix_ns: i128,
        payload: &[u8],
    ) -> io::Result<()> {
        let timestamp = u64::try_from(timestamp_unix_ns)
            .ok()
            .map(Duration::from_nanos)
            .filter(|time| time.as_secs() <= u64::from(u32::MAX))
            .ok_or_else(|| {
                let text = format!(
                    "{}: pcap supports times from 1970 to 2106, not {timestamp_unix_ns} ns of \
                     POSIX time",
                    self.path.display()
                );
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })?;
        header
            .emit(payload, &mut self.frame)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let length = self.frame.len() as u32;
        self.writer
            .write_packet(&PcapPacket::new(timestamp, length, &self.frame))
            .map_err(|error| failed(&self.path, error))?;
        self.packets += 1;
        Ok(())
    }

    /// Writes buffered data and renames the file; returns the number of its packets.
    pub fn finish(self) -> io::Result<u64> {
        let file = self.writer.into_writer().into_inner().map_err(|error| error.into_error());
        file.and_then(PartFile::finish)
            .map_err(|error| failed(&self.path, PcapError::IoError(error)))?;
        Ok(self.packets)
    }
}

fn failed(path: &Path, error: PcapError) -> io::Error {
    let (kind, text) = match error {
        PcapError::IoError(error) => (error.kind(), error.to_string()),
        other => (io::ErrorKind::Other, other.to_string()),
    };
    io::Error::new(kind, format!("cannot write {}: {text}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::pcap::PcapReader;
    use std::net::Ipv4Addr;

    fn header() -> FrameHeader {
        FrameHeader {
            source_mac: [0x60, 0x76, 0x88, 1, 2, 3],
            destination_mac: [0xff; 6],
            source_ip: Ipv4Addr::new(192, 168, 3, 43),
            destination_ip: Ipv4Addr::new(192, 168, 3, 255),
            source_port: 443,
            destination_port: 2368,
            ttl: 128,
            dont_fragment: true,
            identification: 1,
            udp_checksum: true,
        }
    }

    #[test]
    fn a_recording_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lidar.pcap");
        let mut recorder = PcapRecorder::create(&path, header()).unwrap();
        let start = 1_780_315_200_000_000_001_i128;
        recorder.write(start, b"first").unwrap();
        recorder.write(start + 288_000, b"second").unwrap();
        assert_eq!(recorder.finish().unwrap(), 2);

        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        let mut reader = PcapReader::new(bytes.as_slice()).unwrap();
        for (at, payload) in [(start, b"first".as_slice()), (start + 288_000, b"second")] {
            let packet = reader.next_packet().unwrap().unwrap();
            assert_eq!(packet.timestamp.as_nanos() as i128, at);
            assert_eq!(FrameHeader::parse(&packet.data).unwrap(), (header(), payload));
        }
        assert!(reader.next_packet().is_none());
    }

    #[test]
    fn times_that_pcap_cannot_hold_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lidar.pcap");
        let mut recorder = PcapRecorder::create(&path, header()).unwrap();
        recorder.write(i128::from(u32::MAX) * 1_000_000_000, b"").unwrap();
        for time in [-1, (i128::from(u32::MAX) + 1) * 1_000_000_000, i128::MAX] {
            let error = recorder.write(time, b"").unwrap_err();
            assert!(error.to_string().contains("1970 to 2106"), "{error}");
        }
        assert_eq!(recorder.finish().unwrap(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error =
            PcapRecorder::create(Path::new("/no/such/folder/x.pcap"), header()).unwrap_err();
        assert!(error.to_string().starts_with("cannot create /no/such/folder/x.pcap: "), "{error}");
    }

    #[test]
    fn a_full_disk_is_told() {
        let mut recorder = PcapRecorder::create(Path::new("/dev/full"), header()).unwrap();
        let outcome = (0..2000).try_for_each(|_| recorder.write(0, &[0; 1206]));
        let error = outcome.and_then(|()| recorder.finish().map(drop)).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
