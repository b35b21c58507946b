//! Streams in the formats of drive bases: every frame found is written back as it came, portions do
//! not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::framer::{Framer, Framing};
use menura::wire::{create_oi, horizon, kangaroo, roboclaw, sabertooth};

fn holds<F: Framing>(format: F, bytes: &[u8], emit: fn(&F::Frame, &mut Vec<u8>)) -> Vec<F::Frame> {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut framer = Framer::new(format);
    let mut found = Vec::new();
    for mut portion in bytes.chunks(cut) {
        while let Some(piece) = framer.next_piece(&mut portion) {
            let Some(frame) = piece.frame else { continue };
            let mut again = Vec::new();
            emit(&frame, &mut again);
            assert_eq!(again, piece.bytes);
            found.push(frame);
        }
    }
    found
}

fuzz_target!(|bytes: &[u8]| {
    holds(roboclaw::RoboClaw, bytes, roboclaw::Item::emit);
    holds(sabertooth::Sabertooth, bytes, sabertooth::Packet::emit);
    holds(create_oi::Commands, bytes, create_oi::Command::emit);
    holds(create_oi::Stream, bytes, create_oi::StreamFrame::emit);
    for frame in holds(horizon::Horizon, bytes, horizon::Frame::emit) {
        let _ = horizon::payload::<horizon::Encoders>(&frame);
        let _ = horizon::payload::<horizon::SystemStatus>(&frame);
    }
    for item in holds(kangaroo::Kangaroo, bytes, kangaroo::Item::emit) {
        let kangaroo::Item::Packet(packet) = item else { continue };
        let mut rest = &packet.data[..];
        while let Some(number) = kangaroo::take_number(&mut rest) {
            let mut out = Vec::new();
            kangaroo::put_number(&mut out, number.into());
            assert_eq!(kangaroo::take_number(&mut &out[..]), Some(number));
        }
    }
    let _ = roboclaw::read_answer(0x80, 16, bytes);
});
