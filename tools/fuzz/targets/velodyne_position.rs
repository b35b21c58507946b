//! Position packets: any 512 bytes are parsed and encoded unchanged, and other lengths are rejected.

use menura::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};

pub fn run(bytes: &[u8]) {
    match PositionPacket::parse(bytes) {
        Ok(packet) => {
            packet.nmea();
            packet.pps_status();
            let mut again = [0xa5; POSITION_PACKET_LEN];
            packet.emit(&mut again);
            assert_eq!(again, bytes);
        }
        Err(_) => assert_ne!(bytes.len(), POSITION_PACKET_LEN),
    }
}
