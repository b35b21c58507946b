//! Effect of each kind of fault on a packet.

use rand::Rng;
use rand_xoshiro::SplitMix64;

use super::{Active, Effect};
use crate::config::profile::Interface;
use crate::config::rig::faults::WireFault;
use crate::devices::{Output, Transmit};
use crate::wire::line::{LineSettings, sampled};

/// Line settings that both ends of a disturbed line use; the baud rate has no effect here.
const LINE: LineSettings = LineSettings::eight_n_one(9600);

impl Active {
    /// Applies the fault to `transmit`, whose due time is in the fault's window number `window`. Adds the packets that
    /// result to `after`, none for a lost packet, and passes the effects to `tell`.
    pub(super) fn apply(
        &mut self,
        mut transmit: Transmit,
        window: u64,
        draws: &mut SplitMix64,
        tell: &mut dyn FnMut(Effect),
        after: &mut Vec<Transmit>,
    ) {
        if let WireFault::LinkDown | WireFault::PpsLoss = self.kind
            && transmit.output == Output::PulsePerSecond(true)
        {
            return tell(Effect::Lost);
        }
        let Some(bytes) = transmit.output.bytes_mut() else {
            return after.push(self.in_order(transmit));
        };
        let effect = match &self.kind {
            WireFault::PpsLoss
            | WireFault::GpsCableDown
            | WireFault::CasterGone
            | WireFault::CasterSilent
            | WireFault::CasterUnmounted
            | WireFault::CasterLate { .. } => None,
            WireFault::LinkDown => return self.wait_for_link(transmit, window, tell, after),
            WireFault::PacketLoss { probability } => {
                if happens(*probability, draws) {
                    return tell(Effect::Lost);
                }
                None
            }
            WireFault::Duplication { probability, after_ns } => {
                if happens(*probability, draws) {
                    let mut copy = transmit.clone();
                    copy.due.0 += after_ns;
                    tell(Effect::Copied { after_ns: *after_ns });
                    after.extend([transmit, copy]);
                    return;
                }
                None
            }
            WireFault::Reordering { probability, by_packets } => {
                if happens(*probability, draws) {
                    tell(Effect::HeldBack { packets: (*by_packets).into() });
                    self.held.push_back((*by_packets, transmit));
                    return;
                }
                None
            }
            WireFault::Delay { probability, delay_ns, jitter_ns } => happens(*probability, draws)
                .then(|| Effect::Delayed {
                    by_ns: delay_ns - jitter_ns + below(2 * jitter_ns + 1, draws),
                }),
            WireFault::Truncation { probability, to_bytes } => {
                if happens(*probability, draws) {
                    let left = to_bytes.map_or_else(
                        || below((bytes.len() as u64).max(1), draws) as usize,
                        |to_bytes| to_bytes.min(bytes.len()),
                    );
                    let is_cut = left < bytes.len();
                    bytes.truncate(left);
                    is_cut.then_some(Effect::Cut { to_bytes: left as u64 })
                } else {
                    None
                }
            }
            WireFault::BitErrors { rate } => {
                let bits = each_of(8 * bytes.len(), *rate, draws, |bit| {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                });
                (bits > 0).then_some(Effect::Flipped { bits })
            }
            WireFault::LineNoise { rate } => {
                let mut line = LINE.levels(bytes);
                let bits = each_of(line.len(), *rate, draws, |bit| line[bit] = !line[bit]);
                if bits > 0 {
                    *bytes = sampled(&line, LINE.baud, LINE);
                }
                (bits > 0).then_some(Effect::Flipped { bits })
            }
            WireFault::FramingBreaks { probability, length_bits } => {
                let mut line = LINE.levels(bytes);
                let bits_per_byte = LINE.bits_per_byte() as usize;
                let times = each_of(bytes.len(), *probability, draws, |byte| {
                    // The break starts in the middle of the byte and ends with the last byte at the latest.
                    let start = byte * bits_per_byte + bits_per_byte / 2;
                    let end = (start + *length_bits as usize).min(line.len());
                    line[start..end].fill(false);
                });
                if times > 0 {
                    *bytes = sampled(&line, LINE.baud, LINE);
                }
                (times > 0).then_some(Effect::Broken { times })
            }
            WireFault::DroppedBytes { probability } => {
                let mut is_lost = vec![false; bytes.len()];
                let lost = each_of(bytes.len(), *probability, draws, |byte| is_lost[byte] = true);
                let mut is_lost = is_lost.into_iter();
                bytes.retain(|_| !is_lost.next().unwrap_or(false));
                (lost > 0).then_some(Effect::Dropped { bytes: lost })
            }
        };
        let is_gone = self.interface == Interface::Line && bytes.is_empty();
        if let Some(Effect::Delayed { by_ns }) = effect {
            transmit.due.0 += by_ns;
        }
        if let Some(effect) = effect {
            tell(effect);
        }
        if !is_gone {
            after.push(self.in_order(transmit));
        }
    }

    /// Delays bytes of a TCP connection until the link is up again, when TCP retransmits them. On other links, and if
    /// the end of the fault is unknown, the bytes are lost.
    fn wait_for_link(
        &mut self,
        mut transmit: Transmit,
        window: u64,
        tell: &mut dyn FnMut(Effect),
        after: &mut Vec<Transmit>,
    ) {
        let (_, up_again) = self.schedule.window(window);
        let Some(up_again) = up_again.filter(|_| self.interface == Interface::Server) else {
            return tell(Effect::Lost);
        };
        tell(Effect::Delayed { by_ns: up_again.0.saturating_sub(transmit.due.0) });
        transmit.due = transmit.due.max(up_again);
        after.push(transmit);
    }

    /// Delays the output if necessary: bytes of one connection or line never overtake delayed bytes.
    pub(super) fn in_order(&mut self, mut transmit: Transmit) -> Transmit {
        let may_overtake = self.interface == Interface::Datagrams
            || !matches!(self.kind, WireFault::Delay { .. })
            || matches!(transmit.output, Output::PulsePerSecond(_));
        if !may_overtake {
            self.latest_due = self.latest_due.max(transmit.due);
            transmit.due = self.latest_due;
        }
        transmit
    }
}

/// Random number in 0..1.
fn share(draws: &mut SplitMix64) -> f64 {
    (draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Random decision with the given probability.
fn happens(probability: f64, draws: &mut SplitMix64) -> bool {
    share(draws) < probability
}

/// Random integer in 0..`end`, all equally likely (within 2^-32).
fn below(end: u64, draws: &mut SplitMix64) -> u64 {
    ((u128::from(draws.next_u64()) * u128::from(end)) >> 64) as u64
}

/// Selects each of `count` items with the probability `rate`, and calls `act` with the index of each selected item. Returns
/// the number of selected items.
fn each_of(count: usize, rate: f64, draws: &mut SplitMix64, mut act: impl FnMut(usize)) -> u64 {
    let mut done = 0;
    if rate <= 0.0 {
        return done;
    }
    // The number of items before the next hit has a geometric distribution.
    let log_spared = libm::log1p(-rate);
    let mut place = 0;
    loop {
        let spared = libm::log1p(-share(draws)) / log_spared;
        // A rate of 1 divides by minus infinity, so every item is hit.
        if spared >= (count - place) as f64 {
            return done;
        }
        place += spared as usize;
        act(place);
        done += 1;
        place += 1;
        if place >= count {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn each_thing_is_hit_with_its_probability() {
        let mut draws = SplitMix64::seed_from_u64(1);
        for rate in [0.0, 1e-3, 0.1, 0.5, 1.0] {
            let count = 100_000;
            let mut places = Vec::new();
            let hits = each_of(count, rate, &mut draws, |place| places.push(place));
            assert_eq!(hits as usize, places.len());
            assert!(places.windows(2).all(|w| w[0] < w[1]), "each once, in order");
            let expected = rate * count as f64;
            let deviation = (expected * (1.0 - rate)).sqrt();
            assert!((hits as f64 - expected).abs() <= 4.5 * deviation, "{rate}: {hits}");
        }
        assert_eq!(each_of(0, 0.5, &mut draws, |_| panic!("nothing to hit")), 0);
    }
}
