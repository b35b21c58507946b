//! GPS packets: data about the GNSS receiver, once per second.

use super::clock::{HesaiClock, words};
use super::profile::{ClockSource, HesaiProfile};
use crate::time::SimTime;
use crate::wire::hesai::gps::GpsPacket;
use crate::{Output, Transmit};

const PERIOD_NS: u64 = 1_000_000_000;
/// Year from which the two-digit years of dates count.
const CENTURY: u16 = 2000;

/// Source of a unit's GPS packets.
#[derive(Debug)]
pub struct GpsSender {
    next: SimTime,
}

impl GpsSender {
    /// A source of GPS packets whose first packet leaves at `at`.
    pub fn new(at: SimTime) -> Self {
        Self { next: at }
    }

    /// Restarts: no packet leaves before `up_at`.
    pub fn restart(&mut self, up_at: SimTime) {
        self.next = up_at;
    }

    /// The next packet, with the date and time of `clock` as set by `source`; `None` if the packet leaves after `now`.
    pub fn next(
        &mut self,
        now: SimTime,
        clock: &HesaiClock,
        source: ClockSource,
    ) -> Option<Transmit> {
        let at = self.next;
        if at > now {
            return None;
        }
        self.next = SimTime(at.0 + PERIOD_NS);
        let ([year, month, day, hour, minute, second], micros) =
            words(clock.civil(source, at), CENTURY);
        let sentence = clock.sentence();
        let packet = GpsPacket {
            date: [year % 100, month, day, hour, minute, second],
            micros,
            status: status(sentence),
            sentence: sentence.trim_ascii_end().to_vec(),
            pps_locked: clock.pps_locked(at),
        };
        let output = Output::Datagram { port: HesaiProfile::GPS_PORT, bytes: packet.to_bytes() };
        Some(Transmit::new(at, output))
    }
}

/// Validity character of a sentence: the status `A` or `V` of `GPRMC`, or the fix quality (a digit) of `GPGGA`; 0 if
/// there is none.
fn status(sentence: &[u8]) -> u8 {
    let field = match sentence.get(3..6) {
        Some(b"RMC") => 2,
        Some(b"GGA") => 6,
        _ => return 0,
    };
    let found = sentence.split(|byte| *byte == b',').nth(field);
    found.and_then(|text| text.first()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_is_a_character() {
        assert_eq!(status(b"$GPRMC,102030.00,A,3643.0,N,00425.0,W,0.0,0.0,050726,,,A*4B"), b'A');
        assert_eq!(status(b"$GPGGA,102030.00,3643.0,N,00425.0,W,1,08,1.0,0,M,0,M,,*00"), b'1');
        assert_eq!([status(b""), status(b"$GPRMC,"), status(b"$GPZDA,1,2")], [0; 3]);
    }
}
