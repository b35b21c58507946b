//! Order of firing sequences in the blocks of a packet.
//!
//! A block has 32 points: two sequences of 16 lasers, one sequence of 32 lasers, or a quarter of a sequence of 128
//! lasers. With dual return, blocks form pairs with the last return first (VLP-16 manual 63-9243, VLS-128 drivers). A
//! packet then has half as many sequences. A packet of a VLS-128 has one sequence instead of three, and its last four
//! blocks are empty.

use crate::wire::velodyne::{BLOCKS, Bank, SLOTS};

/// Which return of each laser a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Only,
    Last,
    /// The strongest return, or the second strongest if the strongest is also the last.
    Strongest,
    Nothing,
}

/// Content of one block of every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    /// Bank in the block's flag; ignored for an empty block.
    pub bank: Bank,
    /// Index, in the packet, of the block's first firing sequence, which also determines the block's azimuth.
    pub sequence: usize,
    pub holds: Holds,
}

/// Layout of a model's packets in a return mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    lasers: usize,
    /// Number of firing sequences in a packet.
    pub sequences: usize,
    pub blocks: [BlockPlan; BLOCKS],
}

impl Layout {
    /// Layout for a model with 16, 32 or 128 lasers.
    pub fn new(lasers: usize, is_dual: bool) -> Self {
        const BANKS: [Bank; 4] = [Bank::Upper, Bank::Lower, Bank::Third, Bank::Fourth];
        let banks = lasers.div_ceil(SLOTS);
        let sequences_per_block = (SLOTS / lasers).max(1);
        let copies = if is_dual { 2 } else { 1 };
        // The blocks of a group have the same one or two sequences.
        let group = banks * copies;
        let groups = BLOCKS / group;
        let block = |index: usize| {
            let (which, within) = (index / group, index % group);
            if which >= groups {
                return BlockPlan { bank: Bank::Upper, sequence: 0, holds: Holds::Nothing };
            }
            let holds = match (is_dual, within % copies) {
                (false, _) => Holds::Only,
                (true, 0) => Holds::Last,
                (true, _) => Holds::Strongest,
            };
            BlockPlan { bank: BANKS[within / copies], sequence: which * sequences_per_block, holds }
        };
        Self { lasers, sequences: groups * sequences_per_block, blocks: std::array::from_fn(block) }
    }

    /// Index, in the packet, of the firing in the block's first slot. The next slots have the next firings.
    pub fn first_firing(&self, block: &BlockPlan) -> usize {
        block.sequence * self.lasers + block.bank.first_laser()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_hold_the_sequences_of_the_manuals() {
        let sequences = |lasers, is_dual| Layout::new(lasers, is_dual).sequences;
        assert_eq!([16, 32, 128].map(|lasers| sequences(lasers, false)), [24, 12, 3]);
        assert_eq!([16, 32, 128].map(|lasers| sequences(lasers, true)), [12, 6, 1]);
    }

    #[test]
    fn sixteen_lasers_fire_twice_a_block() {
        let layout = Layout::new(16, false);
        assert_eq!(layout.first_firing(&layout.blocks[3]), 6 * 16);
        let dual = Layout::new(16, true);
        assert_eq!(dual.blocks.map(|block| block.sequence)[..4], [0, 0, 2, 2]);
        assert_eq!(dual.blocks[0].holds, Holds::Last);
        assert_eq!(dual.blocks[1].holds, Holds::Strongest);
    }

    #[test]
    fn the_big_one_fills_four_banks_and_pads_dual_packets() {
        let single = Layout::new(128, false);
        assert_eq!(single.blocks[6].bank, Bank::Third);
        assert_eq!(single.first_firing(&single.blocks[6]), 128 + 64);
        let dual = Layout::new(128, true);
        let flags = dual.blocks.map(|block| (block.bank, block.holds));
        assert_eq!(flags[4], (Bank::Third, Holds::Last));
        assert_eq!(flags[7], (Bank::Fourth, Holds::Strongest));
        assert!(flags[8..].iter().all(|(_, holds)| *holds == Holds::Nothing));
    }
}
