//! What drive bases do with each command of their protocols.

use super::profile::{BaseProfile, BaseProtocol};
use crate::commands::CommandTable;

/// The tables of a profile's protocol.
pub(super) fn tables(profile: &BaseProfile) -> Vec<CommandTable> {
    match profile.protocol {
        BaseProtocol::RoboClaw => {
            let text = include_str!("roboclaw/commands.csv");
            vec![CommandTable::parse("RoboClaw packet serial", text)]
        }
        BaseProtocol::Horizon => {
            vec![CommandTable::parse("Horizon", include_str!("horizon/commands.csv"))]
        }
        BaseProtocol::CreateOi => vec![
            CommandTable::parse("Open Interface commands", include_str!("create_oi/commands.csv")),
            CommandTable::parse(
                "Open Interface sensor packets",
                include_str!("create_oi/packets.csv"),
            ),
        ],
        BaseProtocol::Kangaroo => vec![
            CommandTable::parse("Kangaroo packets", include_str!("kangaroo/packets.csv")),
            CommandTable::parse("Kangaroo text", include_str!("kangaroo/text.csv")),
        ],
        BaseProtocol::Sabertooth => vec![
            CommandTable::parse("Sabertooth packet serial", include_str!("sabertooth/packets.csv")),
            CommandTable::parse(
                "Sabertooth plain text serial",
                include_str!("sabertooth/text.csv"),
            ),
            CommandTable::parse(
                "Sabertooth simplified serial",
                include_str!("sabertooth/bytes.csv"),
            ),
        ],
    }
}

/// The tests of the tables.
#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::Bench;
    use super::*;
    use crate::commands::{CommandRow, Conduct, variants};

    /// The bytes of a row's request.
    pub fn request(row: &CommandRow) -> Vec<u8> {
        let bytes = row.request.split_whitespace().map(|byte| u8::from_str_radix(byte, 16));
        bytes.collect::<Result<_, _>>().unwrap_or_else(|_| row.request.as_bytes().to_vec())
    }

    /// Sends each row's request valid, short, long and doubled. `answers` judges the answer to the valid
    /// one; afterwards `known` must be answered again, once `pause_ms` have passed.
    pub fn walk(
        profile: &str,
        table: &CommandTable,
        prepare: impl Fn(&mut Bench),
        answers: impl Fn(&CommandRow, &[u8]) -> bool,
        known: &[u8],
        pause_ms: u64,
    ) {
        for row in table.rows.iter().filter(|row| !row.request.is_empty()) {
            for (place, bytes) in variants(&request(row)).iter().enumerate() {
                let mut bench = Bench::new(profile, |_| ());
                prepare(&mut bench);
                let answer = bench.ask(bytes);
                assert!(answer.len() < 1000, "{} {}: too long", row.code, row.name);
                assert!(place > 0 || answers(row, &answer), "{row:?}: {answer:02x?}");
                bench.wait(pause_ms);
                assert!(!bench.ask(known).is_empty(), "{row:?}: silent afterwards, {place}");
            }
        }
    }

    /// Of each conduct that needs a request there is one.
    pub fn has_requests(table: &CommandTable) {
        let lacks = |row: &&CommandRow| {
            row.request.is_empty() && !matches!(row.conduct, Conduct::NotMade | Conduct::Refused)
        };
        let lacking: Vec<_> = table.rows.iter().filter(lacks).collect();
        assert!(lacking.is_empty(), "{lacking:?}");
    }
}
