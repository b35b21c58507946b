//! Common tests of command tables.

use super::tests::Bench;
use crate::commands::{CommandRow, CommandTable, Conduct, variants};

/// Bytes of a row's request, which the table has in hexadecimal digits or as text.
pub(crate) fn request(row: &CommandRow) -> Vec<u8> {
    let bytes = row.request.split_whitespace().map(|byte| u8::from_str_radix(byte, 16));
    bytes.collect::<Result<_, _>>().unwrap_or_else(|_| row.request.as_bytes().to_vec())
}

/// Sends each row's request in four forms: valid, shortened, lengthened and doubled. `answers` checks the answer to the
/// valid form. After each form and a pause of `pause_ms`, the unit must still answer the request `known`.
pub(crate) fn walk(
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

/// Asserts that every row of `table` has a request, except rows of commands that are refused or not implemented.
pub(crate) fn has_requests(table: &CommandTable) {
    let lacks = |row: &&CommandRow| {
        row.request.is_empty() && !matches!(row.conduct, Conduct::NotMade | Conduct::Refused)
    };
    let lacking: Vec<_> = table.rows.iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
