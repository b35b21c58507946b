//! Reads recordings of rigs with faults, and their fault logs.

use std::net::UdpSocket;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::engine::faults::log::FaultLog;
use menura::engine::run::RealTimeRun;
use menura::engine::stats::DeviceFigures;

/// Timestamp (nanoseconds) and payload of each packet with the length `len` in a capture.
pub fn packets(pcap: &[u8], len: usize) -> Vec<(u64, Vec<u8>)> {
    super::frames(pcap).into_iter().filter(|(_, payload)| payload.len() == len).collect()
}

/// A live run with a fault log: returns the datagrams that `socket` receives, the log, and the figures of the run. If
/// this machine loses datagrams, the run is repeated.
pub fn live_with_log(
    rig: &Rig,
    duration: Duration,
    socket: &UdpSocket,
) -> (Vec<Vec<u8>>, Vec<u8>, Vec<DeviceFigures>) {
    let world = super::world(rig);
    super::until_whole(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let file = std::fs::File::create(&path).unwrap();
        let mut run = RealTimeRun::new(rig, &world).unwrap();
        run.log_faults(FaultLog::new(rig, Box::new(file)).unwrap());
        let heard = super::live(&run, duration, socket);
        let told = (heard.told, std::fs::read(&path).unwrap(), run.figures(duration));
        super::Heard { told, dropped: heard.dropped }
    })
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

/// Rows of a fault log.
pub fn log_rows(csv: &[u8]) -> Vec<LogRow> {
    let mut reader = csv::Reader::from_reader(csv);
    let header: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        header,
        ["time_ns", "device", "fault", "kind", "stream", "packet", "effect", "amount", "keys"]
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
