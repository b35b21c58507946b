//! The ground truth of a packet as a message.

use sha2::{Digest, Sha256};

use super::PacketEvent;
use super::labels::Labels;
use crate::devices::PacketTruth;
use crate::sensors::truth::{NONE, ReturnTruth, SweepTruth};
use crate::time::SimTime;
use crate::wire::truth::{
    self as wire, FiringRecord, MIRRORED, PacketRecord, PoseRecord, ReturnRecord, Way,
};

/// The ground truth of a packet, with its link, port, length and hash.
pub fn record_of(event: &PacketEvent, labels: &Labels) -> PacketRecord {
    PacketRecord {
        way: event.way,
        port: event.port,
        len: event.bytes.len() as u32,
        sha256: *Sha256::digest(&event.bytes).first_chunk().expect("a digest has 32 bytes"),
        ..returns_of(&event.truth, event.due, labels)
    }
}

/// Like [`record_of`], for a packet without known bytes: link, port, length and hash have default values.
pub fn returns_of(truth: &PacketTruth, due: SimTime, labels: &Labels) -> PacketRecord {
    let mut record = PacketRecord {
        way: Way::Datagram,
        port: 0,
        len: 0,
        number: truth.number,
        due_ns: due.0,
        sha256: [0; 8],
        poses: Vec::new(),
        firings: Vec::new(),
        returns: Vec::new(),
    };
    for sweep in &truth.sweeps {
        add_sweep(&mut record, sweep, labels);
    }
    record
}

fn add_sweep(record: &mut PacketRecord, sweep: &SweepTruth, labels: &Labels) {
    let at = |offset_ns: u32| sweep.start.0 + u64::from(offset_ns);
    record.poses.extend(sweep.poses.iter().map(|(offset_ns, pose)| PoseRecord {
        time_ns: at(*offset_ns),
        position_m: pose.translation.to_array(),
        orientation: pose.rotation.to_array(),
    }));
    let mut rest = &sweep.returns[..];
    for (index, firing) in (0..).zip(&sweep.firings) {
        let count = rest.iter().take_while(|one| one.firing == index).count();
        let (own, others) = rest.split_at(count);
        record.firings.push(FiringRecord {
            time_ns: at(firing.offset_ns),
            azimuth_rad: firing.azimuth_rad,
            elevation_rad: firing.elevation_rad,
            first_return: record.returns.len() as u32,
            laser: firing.laser,
            returns: own.len() as u8,
        });
        record.returns.extend(own.iter().map(|one| return_of(one, labels)));
        rest = others;
    }
}

fn return_of(one: &ReturnTruth, labels: &Labels) -> ReturnRecord {
    let (object, label) = match one.instance {
        NONE => (wire::NONE, 0),
        instance => labels.look_up(instance, one.material),
    };
    let share = |part: f32| (part.clamp(0.0, 1.0) * 65_535.0 + 0.5) as u16;
    ReturnRecord {
        reported_m: one.reported_m,
        true_m: one.true_m,
        instance: one.instance,
        material: one.material.min(u32::from(wire::NONE)) as u16,
        label,
        cos_incidence: share(one.cos_incidence),
        share: share(one.share),
        object,
        why: one.why as u8,
        slots: one.slots | if one.is_mirrored { MIRRORED } else { 0 },
    }
}
