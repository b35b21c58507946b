use super::super::commands::tests::{has_requests, walk};
use super::super::tests::{Bench, KANGAROO, hex};
use crate::commands::{CommandRow, CommandTable};

#[test]
fn every_command_does_what_the_tables_say() {
    let get = hex("80 23 03 31 20 01 46 39");
    let start = |bench: &mut Bench| bench.say(&hex("80 20 02 31 00 22 44"));
    let packets = CommandTable::parse("packets", include_str!("packets.csv"));
    let text = CommandTable::parse("text", include_str!("text.csv"));
    for table in [&packets, &text] {
        has_requests(table);
    }
    // What asks is answered without an error; nothing else is.
    let answers = |row: &CommandRow, said: &[u8]| match row.code.starts_with("23") {
        true => said.len() > 4 && said[4] & 1 == 0,
        false => said.is_empty(),
    };
    walk(KANGAROO, &packets, start, answers, &get, 0);
    let answers = |row: &CommandRow, said: &[u8]| match row.code.starts_with("get") {
        true => said.starts_with(b"1,P") || said.starts_with(b"1,S"),
        false => said.is_empty(),
    };
    walk(KANGAROO, &text, start, answers, &get, 0);
}
