//! Decodes fields of the 1206-byte data packet that Velodyne's lidars have in common, for the decoders of the families.

use serde_json::{Map, Value, json};

use crate::decoder::datagram::{DATA, Head, RawReturn, Shot, Stamp, Sweep};
use crate::wire::velodyne::{BLOCKS, Bank, Block, DATA_PACKET_LEN, DataPacket, HOUR_US, SLOTS};

/// Parses a data packet; `None` if the length is wrong or no block has laser returns.
pub(crate) fn parse(payload: &[u8]) -> Option<DataPacket> {
    if payload.len() != DATA_PACKET_LEN {
        return None;
    }
    DataPacket::parse(payload).ok().filter(|packet| blocks(packet).next().is_some())
}

/// Kind and timestamp of a data packet.
pub(crate) fn head(payload: &[u8]) -> Option<Head> {
    let packet = parse(payload)?;
    let stamp = Some(Stamp { us: packet.timestamp_us(), period_us: HOUR_US });
    Some(Head { kind: DATA, stamp })
}

/// Blocks with laser returns, without fillers.
pub(crate) fn blocks(packet: &DataPacket) -> impl Iterator<Item = &Block> {
    packet.blocks.iter().filter(|block| Bank::from_flag(block.flag).is_some())
}

/// Index of block `number` in the packet. The number counts only blocks with laser returns, the index also fillers.
/// `None` if there are too few blocks.
pub(crate) fn place_of_block(packet: &DataPacket, number: usize) -> Option<usize> {
    let places = packet.blocks.iter().enumerate();
    let mut held = places.filter(|(_, block)| Bank::from_flag(block.flag).is_some());
    held.nth(number).map(|(place, _)| place)
}

/// Number of firings of the same bank in the blocks before block `index`. In a dual-return packet, two blocks are one
/// firing.
pub(crate) fn firings_before(packet: &DataPacket, index: usize) -> usize {
    let flag = packet.blocks[index].flag;
    let before = packet.blocks[..index].iter().filter(|block| block.flag == flag).count();
    if packet.is_dual_return() { before / 2 } else { before }
}

/// Azimuths, returns and format errors of a packet.
pub(crate) fn sweep(payload: &[u8]) -> Sweep {
    let Some(packet) = parse(payload) else { return Sweep::default() };
    let points = blocks(&packet).flat_map(|block| &block.points);
    let raw = |point: &crate::wire::velodyne::Point| RawReturn {
        is_empty: point.distance == 0,
        intensity: point.intensity,
        distance: point.distance.into(),
    };
    Sweep {
        azimuths_centideg: blocks(&packet).map(|block| block.azimuth_centideg).collect(),
        returns: points.map(raw).collect(),
        is_dual: packet.is_dual_return(),
        is_paired_by_point: false,
        issues: packet.check().iter().map(ToString::to_string).collect(),
        turn: None,
    }
}

/// Half of the azimuth step from block `index` to the next block with another azimuth, degrees. Without such a block,
/// the step from the previous azimuth counts; 0 if all azimuths are equal.
pub(crate) fn half_step_deg(packet: &DataPacket, index: usize) -> f64 {
    let azimuth = |index: usize| i32::from(packet.blocks[index].azimuth_centideg);
    // Two returns of one firing have the same azimuth, so blocks without a step are skipped.
    let after = (index + 1..BLOCKS).map(|next| azimuth(next) - azimuth(index));
    let before = (0..index).rev().map(|last| azimuth(index) - azimuth(last));
    let step = after.chain(before).map(|step| step.rem_euclid(36_000)).find(|step| *step > 0);
    f64::from(step.unwrap_or(0)) / 200.0
}

/// Returns in a packet, for a laser head with `lasers` lasers. If two blocks have two returns of one firing, only the
/// first block is included.
pub(crate) fn shots(payload: &[u8], lasers: usize, distance_unit_m: f64) -> Vec<Shot> {
    let Some(packet) = parse(payload) else { return Vec::new() };
    let has_two_firings = lasers * 2 == SLOTS;
    let mut shots = Vec::new();
    for (index, block) in packet.blocks.iter().enumerate() {
        let Some(bank) = Bank::from_flag(block.flag) else { continue };
        let is_second = packet.blocks[..index].last().is_some_and(|before| {
            (before.flag, before.azimuth_centideg) == (block.flag, block.azimuth_centideg)
        });
        if is_second {
            continue;
        }
        let late_deg = if has_two_firings { half_step_deg(&packet, index) } else { 0.0 };
        let azimuth_deg = f64::from(block.azimuth_centideg) / 100.0;
        for (slot, point) in block.points.iter().enumerate().filter(|(_, p)| p.distance > 0) {
            let (laser, late_deg) = match has_two_firings {
                true if slot >= lasers => (slot - lasers, late_deg),
                true => (slot, 0.0),
                false => (bank.first_laser() + slot, 0.0),
            };
            shots.push(Shot {
                laser: laser as u16,
                azimuth_deg: (azimuth_deg + late_deg).rem_euclid(360.0),
                elevation_deg: 0.0,
                range_m: f64::from(point.distance) * distance_unit_m,
                intensity: point.intensity,
            });
        }
    }
    shots
}

/// Name of the protocol of data packets.
pub(crate) fn protocol(has_stamps: bool) -> &'static str {
    if has_stamps { "velodyne" } else { "velodyne-s1" }
}

/// One line of text about a packet; it omits the content of the packet's last two bytes.
pub(crate) fn text(packet: &DataPacket, model: &str, has_stamps: bool) -> String {
    let [first, last] = [&packet.blocks[0], &packet.blocks[packet.blocks.len() - 1]]
        .map(|block| f64::from(block.azimuth_centideg) / 100.0);
    let banks: String = packet
        .blocks
        .iter()
        .map(|block| match Bank::from_flag(block.flag) {
            Some(Bank::Upper) => 'U',
            Some(Bank::Lower) => 'L',
            Some(Bank::Third) => '3',
            Some(Bank::Fourth) => '4',
            None => '-',
        })
        .collect();
    let points = || blocks(packet).flat_map(|block| &block.points);
    let returns = points().filter(|point| point.distance > 0).count();
    let count = points().count();
    let mut text =
        format!("{model}  {first:6.2}..{last:6.2} deg  {banks}  {returns:>3}/{count} returns");
    if has_stamps {
        text += &format!("  t {:>10} us", packet.timestamp_us());
    }
    text
}

/// Fields of a packet; `status` are the fields from its last bytes.
pub(crate) fn fields(
    packet: &DataPacket,
    model: &str,
    distance_unit_m: f64,
    has_stamps: bool,
    status: Map<String, Value>,
) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("model".into(), json!(model));
    object.insert("distance_unit_m".into(), json!(distance_unit_m));
    if has_stamps {
        object.insert("timestamp_us".into(), json!(packet.timestamp_us()));
    }
    object.extend(status);
    let blocks: Vec<Value> = packet
        .blocks
        .iter()
        .map(|block| {
            json!({
                "flag": block.flag,
                "first_laser": Bank::from_flag(block.flag).map(Bank::first_laser),
                "azimuth_centideg": block.azimuth_centideg,
                "distance": block.points.map(|point| point.distance),
                "intensity": block.points.map(|point| point.intensity),
            })
        })
        .collect();
    object.insert("blocks".into(), Value::Array(blocks));
    object
}
