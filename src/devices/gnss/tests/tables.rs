//! Checks every row of every command table against the device.

use super::*;
use crate::commands::{CommandRow, Conduct, constants_hold, variants};
use crate::families::family_of;

/// A receiver for each u-blox profile, with its command tables.
fn benches() -> Vec<(Bench, Vec<crate::commands::CommandTable>)> {
    let profiles = catalogue().profiles().iter().filter(|profile| {
        profile.data::<GnssProfile>().is_some_and(|driver| driver.receiver.dialect.is_ublox())
    });
    let bench = |profile: &std::sync::Arc<crate::config::profile::Profile>| {
        let bench = fresh(&profile.name);
        (bench, family_of(profile).commands(profile))
    };
    profiles.map(bench).collect()
}

/// A receiver with a fix and without periodic output.
fn fresh(name: &str) -> Bench {
    let mut bench = Bench::new(name, |settings| {
        settings.sentences = Vec::new();
        settings.baud = 921_600;
        settings.pulse.is_enabled = false;
    });
    bench.run_by(3.0, 100 * MS);
    bench
}

fn id(code: &str) -> MessageId {
    let bytes: Vec<u8> = code
        .split_whitespace()
        .map(|byte| u8::from_str_radix(byte.trim_start_matches("0x"), 16).unwrap())
        .collect();
    MessageId::new(bytes[0], bytes[1])
}

fn payload(request: &str) -> Vec<u8> {
    match request {
        "poll" => Vec::new(),
        hex => hex.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect(),
    }
}

fn frames_after(bench: &mut Bench, frame: &Frame) -> Vec<Frame> {
    bench.sent.clear();
    bench.say(&frame.to_bytes());
    bench.run_by(0.06, 20 * MS);
    bench.frames()
}

fn is_alive(bench: &mut Bench) -> bool {
    let poll = Frame::new(MonVer::ID, Vec::new());
    frames_after(bench, &poll).iter().any(|frame| frame.id == MonVer::ID)
}

/// Whether a message stops, restarts or reconfigures the receiver, or changes its line.
fn is_drastic(row: &CommandRow) -> bool {
    matches!(row.name, "CFG-RST" | "RXM-PMREQ" | "CFG-PWR" | "CFG-PRT" | "CFG-CFG" | "CFG-GNSS")
}

#[test]
fn every_ubx_message_does_what_its_row_says() {
    for (mut bench, tables) in benches() {
        let name = bench.device.profile.identity.software.clone();
        // Enables acknowledgements of aiding messages, and the secondary output, so that the rows about them have an effect.
        bench.device.store.set(Key(0x1011_0025), 1);
        bench.device.store.set(Key(0x1017_0001), 1);
        let ubx = &tables[0];
        assert!(ubx.rows.len() > 250, "{}", ubx.rows.len());
        for row in &ubx.rows {
            let what = format!("{name}: {} {}", row.name, row.conduct.word());
            assert!(row.conduct == Conduct::Acts || !row.note.is_empty(), "{what}: no note");
            if row.request.is_empty() {
                continue;
            }
            let id = id(row.code);
            let request = payload(row.request);
            let frames = frames_after(&mut bench, &Frame::new(id, request.clone()));
            let ack = AckAck { class: id.class, id: id.id }.to_frame();
            let nak = AckNak { class: id.class, id: id.id }.to_frame();
            let (is_ack, is_nak) = (frames.contains(&ack), frames.contains(&nak));
            let is_answered = frames.iter().any(|frame| frame.id == id);
            let is_aided =
                frames.iter().any(|f| f.id == MessageId::new(0x13, 0x60) && f.payload[0] == 1);
            let is_set = matches!(id.class, 0x06 | 0x09);
            match row.conduct {
                Conduct::Refused | Conduct::NotMade => {
                    assert!(!is_ack && !is_answered, "{what}: {frames:?}");
                    assert_eq!(is_nak, is_set, "{what}");
                }
                _ if matches!(row.name, "CFG-RST" | "RXM-PMREQ") => {
                    assert!(frames.is_empty(), "{what}: {frames:?}");
                }
                _ if is_set => assert!(is_ack && !is_nak, "{what}: {frames:?}"),
                _ if row.name == "NAV-RESETODO" => assert!(is_ack, "{what}"),
                _ if id.class == 0x13 => assert!(is_aided, "{what}: {frames:?}"),
                _ => assert!(is_answered, "{what}: {frames:?}"),
            }
            if row.conduct == Conduct::Kept {
                let read = frames_after(&mut bench, &Frame::new(id, Vec::new()));
                let read =
                    read.iter().find(|frame| frame.id == id).unwrap_or_else(|| panic!("{what}"));
                let told = match row.name {
                    "CFG-DAT" => &read.payload[8..],
                    // The answer is the state of the backup, not the request.
                    "UPD-SOS" => &request[..],
                    _ => &read.payload[..],
                };
                assert_eq!(told, &request[..], "{what}");
            }
            if row.name == "RXM-PMREQ" {
                assert!(!is_alive(&mut bench), "{what}: in backup");
                bench.run_by(3.0, 100 * MS);
            }
            assert!(is_alive(&mut bench), "{what}");
            for wrong in &variants(&request)[1..] {
                if is_drastic(row) && wrong.len() != request.len() {
                    continue;
                }
                let frames = frames_after(&mut bench, &Frame::new(id, wrong.clone()));
                let bytes: usize = frames.iter().map(|frame| frame.payload.len()).sum();
                assert!(bytes < 8192, "{what}: {bytes}");
                let refuses = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
                assert!(!refuses || !frames.contains(&ack), "{what}: {} bytes", wrong.len());
                assert!(is_alive(&mut bench), "{what}: {} bytes", wrong.len());
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    for (mut bench, tables) in benches() {
        bench.device.store.set(Key(0x1011_0025), 1);
        bench.device.store.set(Key(0x1017_0001), 1);
        let mut rows = tables[0].rows.clone();
        rows.retain(|row| !row.request.is_empty() && !is_drastic(row));
        constants_hold(&rows, &[], |row| {
            bench.run_by(1.0, 100 * MS);
            let id = id(row.code);
            let mut frames = frames_after(&mut bench, &Frame::new(id, payload(row.request)));
            // Ignores periodic messages that earlier rows have enabled.
            frames.retain(|frame| frame.id == id || matches!(frame.id.class, 0x05 | 0x13));
            frames.dedup();
            // The time of the epoch is cleared, because it advances between the compared answers.
            for frame in &mut frames {
                let at = if frame.id.id == 0x62 { 12 } else { 0 };
                if matches!(frame.id.class, 0x01 | 0x29) {
                    frame.payload[at..at + 4].fill(0);
                }
            }
            frames
        });
    }
}

/// Messages that stop, restart or reconfigure the receiver are sent shortened, lengthened and doubled, each to a new
/// receiver.
#[test]
fn wrong_lengths_of_drastic_messages_are_refused() {
    for (bench, tables) in benches() {
        let name = catalogue_name(&bench);
        for row in tables[0].rows.iter().filter(|row| is_drastic(row)) {
            if matches!(row.conduct, Conduct::Refused) {
                continue;
            }
            let id = id(row.code);
            for wrong in &variants(&payload(row.request))[1..] {
                let mut bench = fresh(&name);
                let frames = frames_after(&mut bench, &Frame::new(id, wrong.clone()));
                let ack = AckAck { class: id.class, id: id.id }.to_frame();
                // Two blocks of CFG-PRT are valid, and so is CFG-CFG without its last byte.
                let is_longer = row.name == "CFG-PRT" && wrong.len() == 40;
                let is_shorter = row.name == "CFG-CFG" && wrong.len() == 12;
                let is_pmreq = row.name == "RXM-PMREQ" && wrong.len() == 16;
                assert_eq!(frames.contains(&ack), is_longer || is_shorter, "{name} {}", row.name);
                bench.say(&[0; 4]);
                bench.run(if is_pmreq { 0.5 } else { 0.1 });
                assert!(is_alive(&mut bench), "{name} {}: {} bytes", row.name, wrong.len());
            }
        }
    }
}

fn catalogue_name(bench: &Bench) -> String {
    let of = |profile: &&std::sync::Arc<crate::config::profile::Profile>| {
        profile.data::<GnssProfile>().is_some_and(|driver| *driver == bench.device.profile)
    };
    catalogue().profiles().iter().find(of).unwrap().name.clone()
}

#[test]
fn every_item_and_rate_does_what_its_row_says() {
    for (mut bench, tables) in benches() {
        let dialect = bench.device.profile.receiver.dialect;
        let has_items = dialect.has_items();
        for row in tables[1..].iter().flat_map(|table| &table.rows) {
            let number = |text: &str| match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
                None => text.parse().unwrap(),
            };
            let key = Key(number(row.code) as u32);
            let what =
                format!("{}: {} {}", bench.device.profile.identity.software, row.name, row.code);
            let is_refused = row.conduct == Conduct::Refused;
            let is_rate = key.group() == 0x91;
            if is_rate && dialect != GnssDialect::Ublox10 {
                let (id, _) = items::rate_ids().find(|(_, other)| *other == key).unwrap();
                let set = frames_after(&mut bench, &CfgMsg::ThisPort(id, 0).to_frame());
                assert_eq!(is_ack(&set, CfgMsg::ID), !is_refused, "{what}");
            }
            if !has_items {
                continue;
            }
            let set = valset(&[item(key, number(row.request))]);
            // The baud rate changes with its item; a rate of 0 disables a message.
            let set = if is_rate { valset(&[item(key, 1)]) } else { set };
            let is_line = row.name == "UART1-BAUDRATE";
            if !is_line {
                let frames = frames_after(&mut bench, &set.to_frame());
                assert_eq!(is_ack(&frames, CfgValset::ID), !is_refused, "{what}");
            }
            let asked = CfgValget::Request { layer: 0, position: 0, keys: vec![key] };
            let frames = frames_after(&mut bench, &asked.to_frame());
            assert_eq!(is_ack(&frames, CfgValget::ID), !is_refused, "{what}");
            let told = CfgValget::Answer { layer: 0, position: 0, items: set.items.clone() };
            let is_told = frames.contains(&told.to_frame());
            assert!(is_refused || is_line || is_told, "{what}: {frames:?}");
        }
        assert!(is_alive(&mut bench));
    }
}

/// Items that HPG 1.50 and 1.51 have and 1.32 lacks, and the reverse.
#[test]
fn later_firmware_of_an_f9p_has_other_items() {
    // GAL-USE_OSNMA from a public note on HPG 1.50.
    let osnma = "b5 62 06 8a 09 00 00 01 00 00 05 00 35 10 01 e5 0a";
    let itfm = valset(&[item(Key(0x1041_000d), 1)]);
    // A driver's poll of the groups 0x31 and 0x32, and the answer of a unit with HPG 1.51.
    let poll = "b5 62 06 8b 0c 00 00 00 00 00 ff ff 31 10 ff ff 32 10 1c 01";
    let answer = "b5 62 06 8b 63 00 01 00 00 00 01 00 31 10 01 03 00 31 10 01 05 00 31 10 01 07 00 31 10 01 \
                  0a 00 31 10 01 0d 00 31 10 01 0e 00 31 10 01 12 00 31 10 01 14 00 31 10 00 15 00 31 10 01 \
                  18 00 31 10 01 1a 00 31 10 01 1f 00 31 10 01 20 00 31 10 01 21 00 31 10 01 22 00 31 10 01 \
                  24 00 31 10 01 25 00 31 10 01 27 00 31 10 01 6e 3a";
    for (name, is_later) in [("ublox-zed-f9p-hpg1.32", false), ("ublox-zed-f9p-hpg1.51", true)] {
        let mut bench = fresh(name);
        let mut said = |bytes: &[u8]| {
            bench.sent.clear();
            bench.say(bytes);
            bench.run_by(0.06, 20 * MS);
            bench.frames()
        };
        assert_eq!(is_ack(&said(&payload(osnma)), CfgValset::ID), is_later, "{name}");
        assert_eq!(is_ack(&said(&itfm.to_frame().to_bytes()), CfgValset::ID), !is_later, "{name}");
        let told = said(&payload(poll));
        assert_eq!(told[0].to_bytes() == payload(answer), is_later, "{told:02x?}");
        // Version 2 of later firmware, which always monitors jamming; version 1 with the monitor on.
        let sig = said(&Frame::new(MessageId::new(0x27, 0x09), Vec::new()).to_bytes());
        let head: [u8; 5] = if is_later { [2, 0x1b, 0, 2, 0xfc] } else { [1, 0, 0, 0, 0b011] };
        assert_eq!(sig[0].payload[..5], head, "{name}");
        let key = payload(&format!("07 00 12 00 {}", "00 ".repeat(68)));
        let aided = |frames: &[Frame]| {
            frames.iter().any(|f| f.id == MessageId::new(0x13, 0x60) && f.payload[0] == 1)
        };
        said(&valset(&[item(Key(0x1011_0025), 1)]).to_frame().to_bytes());
        let told = said(&Frame::new(MessageId::new(0x13, 0x02), key).to_bytes());
        assert_eq!(aided(&told), is_later, "{name}: {told:02x?}");
    }
}

#[test]
fn every_sentence_of_garmin_does_what_its_row_says() {
    let profile = catalogue().profile("garmin-18x-lvc").unwrap_or_else(|faults| panic!("{faults}"));
    let tables = family_of(&profile).commands(&profile);
    let mut bench = Bench::new("garmin-18x-lvc", |settings| {
        settings.sentences = Vec::new();
        settings.baud = 38_400;
    });
    bench.run_by(6.0, 100 * MS);
    for row in tables[0].rows.iter().filter(|row| !row.request.is_empty()) {
        let text = row.request.replace(' ', ",");
        let (address, fields) = text.split_once(',').unwrap_or((&text, ""));
        let fields: Vec<String> = match fields {
            "" => Vec::new(),
            fields => fields.split(',').map(String::from).collect(),
        };
        let line = RawSentence { address: address.to_string(), fields }.to_bytes();
        for said in [
            line.clone(),
            [&line[..line.len() - 6], b"\r\n"].concat(),
            [line.clone(), line.clone()].concat(),
        ] {
            bench.sent.clear();
            bench.say(&said);
            bench.run_by(0.3, 100 * MS);
            let of = address.trim_end_matches('E');
            let is_answered =
                bench.sentences().iter().any(|s| s.address == of || s.address == address);
            let is_whole = said.len() >= line.len();
            if is_whole {
                assert_eq!(is_answered, row.conduct != Conduct::NotMade, "{}", row.name);
            }
        }
        bench.say(b"$PGRMO,,2*75\r\n");
        bench.run_by(0.3, 100 * MS);
    }
    bench.sent.clear();
    bench.say(b"$PGRMCE*0E\r\n");
    bench.run(0.3);
    assert!(bench.sentences().iter().any(|s| s.address == "PGRMC"));
}
