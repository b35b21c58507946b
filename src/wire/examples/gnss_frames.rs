//! Lists the frames in the log of a GNSS receiver's port: NMEA, UBX and RTCM 3 in one stream.
//!
//! ```sh
//! cargo run --example gnss_frames < LOG
//! ```

use std::io::{self, Read, Write};

use menura_wire::framer::Framer;
use menura_wire::gnss_stream::{Frame, GnssStream};
use menura_wire::nmea::RawSentence;

fn main() -> io::Result<()> {
    let mut log = Vec::new();
    io::stdin().read_to_end(&mut log)?;
    let mut out = io::stdout().lock();
    for frame in Framer::new(GnssStream).frames(&log) {
        match frame {
            Frame::Line(line) => match RawSentence::parse(&line) {
                Ok(sentence) => writeln!(out, "NMEA {}: {:?}", sentence.address, sentence.fields)?,
                Err(error) => writeln!(out, "NMEA with a fault: {error}")?,
            },
            Frame::Ubx(frame) => writeln!(out, "{}: {} bytes", frame.id, frame.payload.len())?,
            Frame::Rtcm3(message) => writeln!(out, "RTCM 3: {} bytes", message.len())?,
        }
    }
    Ok(())
}
