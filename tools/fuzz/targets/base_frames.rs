//! Streams in the formats of drive bases: however the stream is divided into portions, each decoded frame is encoded to
//! its original bytes.

use super::frames::come_back;
use menura::wire::{create_oi, horizon, kangaroo, roboclaw, sabertooth};

pub fn run(bytes: &[u8]) {
    come_back(roboclaw::RoboClaw, bytes, roboclaw::Item::emit);
    come_back(sabertooth::Sabertooth, bytes, sabertooth::Packet::emit);
    come_back(create_oi::Commands, bytes, create_oi::Command::emit);
    come_back(create_oi::Stream, bytes, create_oi::StreamFrame::emit);
    for frame in come_back(horizon::Horizon, bytes, horizon::Frame::emit) {
        let _ = horizon::payload::<horizon::Encoders>(&frame);
        let _ = horizon::payload::<horizon::SystemStatus>(&frame);
    }
    for item in come_back(kangaroo::Kangaroo, bytes, kangaroo::Item::emit) {
        let kangaroo::Item::Packet(packet) = item else { continue };
        let mut rest = &packet.data[..];
        while let Some(number) = kangaroo::take_number(&mut rest) {
            let mut out = Vec::new();
            kangaroo::put_number(&mut out, number.into());
            assert_eq!(kangaroo::take_number(&mut &out[..]), Some(number));
        }
    }
    let _ = roboclaw::read_answer(0x80, 16, bytes);
}
