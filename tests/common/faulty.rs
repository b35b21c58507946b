//! What recordings of rigs with faults hold, and the logs beside them.

/// Stamp (nanoseconds) and payload of each packet of `len` bytes in a capture.
pub fn packets(pcap: &[u8], len: usize) -> Vec<(u64, Vec<u8>)> {
    let mut reader = pcap_file::pcap::PcapReader::new(pcap).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let payload = &packet.data[42..];
        if payload.len() == len {
            packets.push((packet.timestamp.as_nanos() as u64, payload.to_vec()));
        }
    }
    packets
}

/// A row of `faults.csv`.
pub struct LogRow {
    pub time_ns: u64,
    pub device: String,
    pub fault: String,
    pub stream: String,
    pub packet: Option<usize>,
    pub effect: String,
    pub amount: Option<u64>,
}

/// The rows of a log.
pub fn log_rows(csv: &[u8]) -> Vec<LogRow> {
    let mut reader = csv::Reader::from_reader(csv);
    let header: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        header,
        ["time_ns", "device", "fault", "kind", "stream", "packet", "effect", "amount"]
    );
    let row = |row: csv::StringRecord| LogRow {
        time_ns: row[0].parse().unwrap(),
        device: row[1].to_owned(),
        fault: row[2].to_owned(),
        stream: row[4].to_owned(),
        packet: row[5].parse().ok(),
        effect: row[6].to_owned(),
        amount: row[7].parse().ok(),
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}
