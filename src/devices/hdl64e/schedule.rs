//! Firing time of each laser of an HDL-64E, and the slot of its return in the packet.
//!
//! Times are computed in whole nanoseconds from the packet's number, so they do not drift.

use std::sync::Arc;

use crate::hdl64e::profile::{
    CycleStarts, Hdl64eGeneration, Hdl64eProfile, Hdl64eSettings, PacketTiming, S1Grouping,
};
use crate::sensors::FiringSlot;
use crate::time::SimTime;
use crate::wire::velodyne::{BLOCKS, Bank, SLOTS};

/// Source of a block's 32 points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSource {
    /// Bank of the lasers whose returns the block contains.
    pub bank: Bank,
    /// Index, within the packet, of the firing in slot 0; the firings of the other slots follow.
    pub first_firing: usize,
    /// Start of the firing cycle of the block, nanoseconds after the packet's first firing.
    pub start_ns: u64,
    /// Whether the block has the second returns of its firings.
    pub is_second_return: bool,
}

/// Firing pattern of a unit with constant settings.
#[derive(Clone, Debug)]
pub struct Schedule {
    generation: Hdl64eGeneration,
    timing: PacketTiming,
    is_dual: bool,
    s1_start_phase: u64,
    s1_grouping: S1Grouping,
    /// Firings of a packet, if they are the same for all packets; `None` for an S1, whose banks change from packet to
    /// packet.
    constant_firings: Option<Arc<[FiringSlot]>>,
}

impl Schedule {
    /// Firing pattern of `profile` with `settings`; with two returns if `is_dual`.
    pub fn new(profile: &Hdl64eProfile, settings: &Hdl64eSettings, is_dual: bool) -> Self {
        let timing = match (&profile.dual_timing, is_dual) {
            (Some(dual), true) => dual.clone(),
            _ => profile.timing.clone(),
        };
        let mut schedule = Self {
            generation: profile.generation,
            timing,
            is_dual,
            s1_start_phase: settings.s1_start_phase.into(),
            s1_grouping: settings.s1_grouping,
            constant_firings: None,
        };
        if profile.generation != Hdl64eGeneration::S1 {
            schedule.constant_firings = Some(schedule.firings(0));
        }
        schedule
    }

    /// Packets per second.
    pub fn packets_per_second(&self) -> f64 {
        self.timing.packets_per_second
    }

    /// Firings of packet `index`.
    pub fn firings_of(&self, index: u64) -> Arc<[FiringSlot]> {
        match &self.constant_firings {
            Some(firings) => firings.clone(),
            None => self.firings(index),
        }
    }

    /// Time at which packet `index` leaves, counted from the start of the firing pattern, without output latency.
    pub fn leaves(&self, index: u64) -> SimTime {
        match self.timing.cycles {
            // The firings of the last block end one grid step later.
            CycleStarts::Grid { grid_ns } => {
                SimTime(self.grid_start_ns(grid_ns, index, BLOCKS as u64 - 1) + grid_ns)
            }
            CycleStarts::Listed { packet_end_ns, .. } => {
                SimTime(self.start(index).0 + packet_end_ns)
            }
        }
    }

    /// Sources of the blocks of packet `index`.
    pub fn layout(&self, index: u64) -> [BlockSource; BLOCKS] {
        std::array::from_fn(|block| {
            let (cycle, bank, first_firing) = match (self.generation, self.is_dual) {
                (Hdl64eGeneration::S1, _) => {
                    (block, self.s1_bank(index, block as u64), block * SLOTS)
                }
                (_, false) => (block / 2, bank_of(block), block * SLOTS),
                // Blocks 4k and 4k+1 have the first returns of their firings, 4k+2 and 4k+3 the second returns of the
                // same firings.
                (_, true) => (block / 4, bank_of(block), (block / 4 * 2 + block % 2) * SLOTS),
            };
            BlockSource {
                bank,
                first_firing,
                start_ns: self.cycle_start_ns(index, cycle),
                is_second_return: self.is_dual && block % 4 >= 2,
            }
        })
    }

    /// Time of the first firing of packet `index`, from the start of the firing pattern.
    pub fn start(&self, index: u64) -> SimTime {
        SimTime(match self.timing.cycles {
            CycleStarts::Grid { grid_ns } => self.grid_start_ns(grid_ns, index, 0),
            CycleStarts::Listed { .. } => {
                (index as f64 * 1e9 / self.timing.packets_per_second).round() as u64
            }
        })
    }

    /// Start of block `block` of packet `index` if all blocks start on a grid with the step `grid_ns`: nanoseconds from
    /// the start of the firing pattern.
    fn grid_start_ns(&self, grid_ns: u64, index: u64, block: u64) -> u64 {
        let blocks_per_second = self.timing.packets_per_second * BLOCKS as f64;
        let even_ns = (index * BLOCKS as u64 + block) as f64 * 1e9 / blocks_per_second;
        (even_ns / grid_ns as f64).floor() as u64 * grid_ns
    }

    fn cycle_start_ns(&self, index: u64, cycle: usize) -> u64 {
        match &self.timing.cycles {
            CycleStarts::Grid { grid_ns } => {
                self.grid_start_ns(*grid_ns, index, cycle as u64)
                    - self.grid_start_ns(*grid_ns, index, 0)
            }
            CycleStarts::Listed { start_ns, .. } => start_ns[cycle],
        }
    }

    fn s1_bank(&self, index: u64, block: u64) -> Bank {
        let place = match self.s1_grouping {
            S1Grouping::Block => index * BLOCKS as u64 + block,
            S1Grouping::Datagram => index,
        };
        if (place + self.s1_start_phase) % 4 == 3 { Bank::Lower } else { Bank::Upper }
    }

    fn firings(&self, index: u64) -> Arc<[FiringSlot]> {
        self.layout(index)
            .iter()
            .filter(|block| !block.is_second_return)
            .flat_map(|block| {
                self.timing.slot_offset_ns.iter().enumerate().map(|(slot, offset_ns)| FiringSlot {
                    offset_ns: block.start_ns as u32 + offset_ns,
                    laser: (block.bank.first_laser() + slot) as u16,
                })
            })
            .collect()
    }
}

/// Bank of a block of an S2 or S3: upper and lower bank alternate.
fn bank_of(block: usize) -> Bank {
    if block.is_multiple_of(2) { Bank::Upper } else { Bank::Lower }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue;
    use crate::spinning::return_mode::ReturnMode;

    fn schedule(name: &str, change: impl FnOnce(&mut Hdl64eSettings)) -> Schedule {
        let profile = catalogue().profile(name).unwrap_or_else(|e| panic!("{e}"));
        let Some(driver) = profile.data::<Hdl64eProfile>() else { panic!("{name}") };
        let mut settings = driver.defaults.clone();
        change(&mut settings);
        let is_dual = settings.return_mode == ReturnMode::Dual;
        Schedule::new(driver, &settings, is_dual)
    }

    fn banks(schedule: &Schedule, index: u64) -> String {
        let letter = |b: &BlockSource| if b.bank == Bank::Upper { 'U' } else { 'L' };
        schedule.layout(index).iter().map(letter).collect()
    }

    #[test]
    fn s1_sends_three_upper_blocks_then_one_lower() {
        let s1 = |change: fn(&mut Hdl64eSettings)| schedule("velodyne-hdl64e-s1", change);
        assert_eq!(banks(&s1(|_| {}), 0), "UUULUUULUUUL");
        assert_eq!(banks(&s1(|s| s.s1_start_phase = 1), 5), "UULUUULUUULU");
        let datagrams = s1(|s| s.s1_grouping = S1Grouping::Datagram);
        let order: Vec<_> = (0..4).map(|index| banks(&datagrams, index)).collect();
        assert_eq!(order, ["UUUUUUUUUUUU", "UUUUUUUUUUUU", "UUUUUUUUUUUU", "LLLLLLLLLLLL"]);
    }

    #[test]
    fn s1_blocks_last_one_or_two_places_of_the_grid() {
        let s1 = schedule("velodyne-hdl64e-s1", |_| {});
        let mut starts = Vec::new();
        for index in 0..2600 {
            let start = s1.start(index);
            starts.extend(s1.layout(index).map(|block| start.0 + block.start_ns));
        }
        let steps: Vec<u64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(steps.iter().all(|&step| step == 24_810 || step == 49_620));
        let long = steps.iter().filter(|&&step| step == 49_620).count() as f64;
        // The author of velodyne-decoder measured a long step about every 3.5 blocks.
        assert!((steps.len() as f64 / long - 3.43).abs() < 0.05);
    }

    #[test]
    fn s2_and_s3_alternate_and_dual_repeats_each_firing() {
        let s2 = schedule("velodyne-hdl64e-s2", |_| {});
        assert_eq!(banks(&s2, 7), "ULULULULULUL");
        assert_eq!(s2.firings_of(0).len(), 384);
        let dual = schedule("velodyne-hdl64e-s3", |s| s.return_mode = ReturnMode::Dual);
        assert_eq!(banks(&dual, 7), "ULULULULULUL");
        assert_eq!(dual.firings_of(0).len(), 192);
        let layout = dual.layout(0);
        for k in 0..3 {
            let (first, second) = (layout[4 * k], layout[4 * k + 2]);
            assert_eq!(
                (first.first_firing, first.start_ns),
                (second.first_firing, second.start_ns)
            );
            assert!(!first.is_second_return && second.is_second_return);
        }
    }

    #[test]
    fn nothing_drifts() {
        let s2 = schedule("velodyne-hdl64e-s2", |_| {});
        // 12 500 packets of 288 us are 3.6 s.
        let day = 86_400 / 36 * 10 * 12_500;
        let start = s2.start(day);
        assert!(start.0.abs_diff(86_400_000_000_000) <= 1_000, "{start}");
    }
}
