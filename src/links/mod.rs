//! Where bytes go: sockets, and recordings of what would have left.

pub mod pcap;
pub mod serial_record;
pub mod udp;
