//! Data packets: any 1206 bytes are parsed and encoded unchanged, other lengths are rejected, and checks never panic.

use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket};

pub fn run(bytes: &[u8]) {
    match DataPacket::parse(bytes) {
        Ok(packet) => {
            packet.check();
            packet.model();
            packet.is_dual_return();
            let mut again = [0xa5; DATA_PACKET_LEN];
            packet.emit(&mut again);
            assert_eq!(again, bytes);
        }
        Err(_) => assert_ne!(bytes.len(), DATA_PACKET_LEN),
    }
}
