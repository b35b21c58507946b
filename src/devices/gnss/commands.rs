//! Tables of host commands to a receiver: UBX messages, configuration items and Garmin sentences.
//!
//! `ubx.csv` has every UBX message of generations 8 to 10. Each note begins with three entries in brackets, one for
//! each generation, such as `[18.00 27.10 -]`. `18.00` is the first protocol version that has the message,
//! `27.10-27.12` are the first and the last version, and `-` means that the generation lacks the message. The receiver
//! refuses messages that its firmware lacks.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::items::{ROWS, is_made, versions};
use super::profile::{GnssDialect, GnssProfile};
use crate::commands::{CommandRow, CommandTable, Conduct};
use crate::wire::ubx::MessageId;

const LACKING: &str = "this firmware does not have it";

pub(super) fn tables(profile: &GnssProfile) -> Vec<CommandTable> {
    match profile.receiver.dialect {
        GnssDialect::Ublox8 => vec![messages(profile), rates(profile)],
        GnssDialect::Ublox9 | GnssDialect::Ublox10 => {
            vec![messages(profile), rates(profile), items(profile)]
        }
        GnssDialect::Garmin => {
            vec![CommandTable::parse("Garmin sentences", include_str!("garmin.csv"))]
        }
        GnssDialect::Plain => Vec::new(),
    }
}

static MESSAGES: LazyLock<CommandTable> =
    LazyLock::new(|| CommandTable::parse("UBX messages", include_str!("ubx.csv")));

/// Splits a note into the version ranges of generations 8, 9 and 10 and the remaining text.
fn split_note(note: &'static str) -> Option<([Option<RangeInclusive<u32>>; 3], &'static str)> {
    let (head, rest) = note.strip_prefix('[')?.split_once(']')?;
    let columns: Vec<&str> = head.split(' ').collect();
    Some((<[&str; 3]>::try_from(columns).ok()?.map(versions), rest.trim_start()))
}

fn messages(profile: &GnssProfile) -> CommandTable {
    let mut table = MESSAGES.clone();
    let version = profile.protocol_version().unwrap_or(u32::MAX);
    for row in &mut table.rows {
        let (of, note) = split_note(row.note).unwrap_or(([None, None, None], row.note));
        let of = profile.receiver.dialect.column().and_then(|column| of[column].as_ref());
        let has = of.is_some_and(|versions| versions.contains(&version));
        row.note = if has { note } else { LACKING };
        if !has {
            row.conduct = Conduct::Refused;
        }
    }
    table
}

/// Table of message rates, set by CFG-MSG and, from generation 9 on, by configuration items.
fn rates(profile: &GnssProfile) -> CommandTable {
    let row = |(row, id): (&super::items::Row, MessageId)| {
        let (conduct, note) = match (row.is_in(profile), is_made(profile, id)) {
            (false, _) => (Conduct::Refused, LACKING),
            (true, true) => (Conduct::Acts, ""),
            (true, false) => (Conduct::Kept, "rate only; Menura does not send the message"),
        };
        CommandRow { code: row.key_text, name: row.name, conduct, request: "1", note }
    };
    CommandTable {
        title: "UBX message rates",
        sources: SOURCES.to_vec(),
        rows: ROWS.iter().filter_map(|row| Some((row, row.message?))).map(row).collect(),
    }
}

fn items(profile: &GnssProfile) -> CommandTable {
    let row = |row: &super::items::Row| {
        let (conduct, note) = match (row.is_in(profile), row.acts) {
            (false, _) => (Conduct::Refused, LACKING),
            (true, true) => (Conduct::Acts, ""),
            (true, false) => (Conduct::Kept, ""),
        };
        CommandRow {
            code: row.key_text,
            name: row.name,
            conduct,
            request: row.factory_text(profile.receiver.dialect),
            note,
        }
    };
    CommandTable {
        title: "UBX configuration items",
        sources: SOURCES.to_vec(),
        rows: ROWS.iter().filter(|row| row.message.is_none()).map(row).collect(),
    }
}

const SOURCES: [&str; 4] = [
    "u-blox ZED-F9P interface description, configuration interface",
    "u-blox M10 SPG 5.10 interface description, UBX-21035062 R02",
    "pyubx2, and ubloxcfg for HPG 1.50: numbers of configuration items",
    "CFG-VALGET and MON-VER of a ZED-F9P with HPG 1.51, recorded by a public driver (satpulse)",
];

/// Payload lengths, bytes, that the receiver accepts for the aiding message `id` (class 0x13); empty if it refuses the
/// message. `kind` is the type in the first byte of the payload.
pub(super) fn aiding_lengths(profile: &GnssProfile, id: MessageId, kind: Option<u8>) -> Vec<usize> {
    let codes = [
        kind.map(|kind| format!("0x{:02x} 0x{:02x} 0x{kind:02x}", id.class, id.id)),
        Some(format!("0x{:02x} 0x{:02x}", id.class, id.id)),
    ];
    let named = |row: &&CommandRow| {
        row.conduct != Conduct::Refused && codes.iter().flatten().any(|code| code == row.code)
    };
    let length = |row: &CommandRow| row.request.split_whitespace().count();
    messages(profile).rows.iter().filter(named).map(length).collect()
}
