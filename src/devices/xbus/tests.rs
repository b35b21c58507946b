//! Checks every message to an MTi against the command table.

use glam::{DQuat, DVec3};

use super::answers::XBUS_SETTINGS;
use crate::commands::{Conduct, constants_hold, variants};
use crate::imu::tests::{Bench, Proof, hex, rows as table, truth};
use crate::sensors::imu::InertialTruth;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::xbus::{Item, Message, OutputItem, Xbus, Xdi, error, mid};

/// Sends a message; returns the answer within 20 ms.
fn ask(bench: &mut Bench, id: u8, data: &[u8]) -> Message {
    let mut bytes = Vec::new();
    Message::new(id, data).emit(&mut bytes);
    bench.sent.clear();
    bench.say(&bytes);
    bench.run(20);
    let mut answers = messages(bench).into_iter().filter(|m| m.mid != mid::MT_DATA2);
    answers.next().expect("an answer")
}

fn messages(bench: &Bench) -> Vec<Message> {
    Framer::new(Xbus).frames(&bench.bytes())
}

/// A unit in configuration state that sends all items at 10 Hz in measurement state.
fn unit() -> Bench {
    let mut bench = Bench::new("xsens-mti30", |_, _| {});
    bench.run(50);
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    let list: Vec<OutputItem> =
        super::MESSAGES.iter().map(|(_, xdi)| OutputItem { xdi: *xdi, rate_hz: 10 }).collect();
    let data = OutputItem::emit_all(&list);
    assert_eq!(ask(&mut bench, mid::SET_OUTPUT_CONFIGURATION, &data).mid, 0xc1);
    bench
}

/// Measurements during `ms`.
fn stream(bench: &mut Bench, ms: u64) -> Vec<Message> {
    ask(bench, mid::GO_TO_MEASUREMENT, &[]);
    bench.sent.clear();
    bench.run(ms);
    messages(bench).into_iter().filter(|m| m.mid == mid::MT_DATA2).collect()
}

fn items(message: &Message) -> Vec<Item> {
    Item::parse_all(&message.data).unwrap()
}

fn values(stream: &[Message], xdi: Xdi) -> Vec<f64> {
    let item = items(stream.last().unwrap()).into_iter().find(|i| i.xdi == xdi).unwrap();
    item.reals().unwrap()
}

fn vector(stream: &[Message], xdi: Xdi) -> DVec3 {
    DVec3::from_slice(&values(stream, xdi))
}

fn quaternion(which: u8, q: DQuat) -> Vec<u8> {
    let numbers = [q.w, q.x, q.y, q.z].map(|x| (x as f32).to_be_bytes());
    [&[which][..], &numbers.concat()].concat()
}

fn rows() -> Vec<(u8, Vec<u8>, Proof)> {
    use Proof::{Answer, LineAfterReset, StaysInConfiguration, StoredOnly, Stream};
    let quarter = DQuat::from_rotation_z(0.5);
    let utc = vec![0, 0, 0, 0, 0x07, 0xd0, 1, 2, 3, 4, 5, 7];
    let place = [60.0f64, 20.0, 4000.0].map(f64::to_be_bytes).concat();
    let one = OutputItem { xdi: Xdi::EULER, rate_hz: 20 };
    vec![
        (mid::REQ_DID, vec![], Answer),
        (mid::REQ_PRODUCT_CODE, vec![], Answer),
        (mid::REQ_FW_REV, vec![], Answer),
        (mid::REQ_HARDWARE_VERSION, vec![], Answer),
        (mid::REQ_CONFIGURATION, vec![], Answer),
        (mid::REQ_AVAILABLE_PROFILES, vec![], Answer),
        (mid::RUN_SELFTEST, vec![], Answer),
        (mid::SET_OUTPUT_CONFIGURATION, OutputItem::emit_all(&[one]), Stream),
        (mid::RESTORE_FACTORY_DEF, vec![], Stream),
        (mid::SET_NO_ROTATION, vec![0, 2], Stream),
        (mid::RESET_ORIENTATION, vec![0, 1], Stream),
        (mid::SET_UTC_TIME, utc, Stream),
        (mid::SET_ALIGNMENT_ROTATION, quaternion(0, quarter), Stream),
        (mid::SET_ALIGNMENT_ROTATION, quaternion(1, quarter), Stream),
        (mid::SET_LAT_LON_ALT, place, Stream),
        (mid::SET_BAUDRATE, vec![0x01], LineAfterReset),
        (mid::SET_OPTION_FLAGS, vec![0, 0, 0, 2, 0, 0, 0, 0], StaysInConfiguration),
        (mid::SET_PERIOD, vec![4, 0], StoredOnly),
        (mid::SET_FILTER_PROFILE, vec![0, 43], StoredOnly),
        (mid::SET_LOCATION_ID, vec![1, 2], Stream),
        (mid::ICC_COMMAND, vec![0], Stream),
        (mid::ADJUST_UTC_TIME, vec![0, 0, 0x27, 0x10], Stream),
        (mid::INIT_MT, vec![], Answer),
        (mid::REQ_EMTS, vec![0, 255], Answer),
        (mid::REQ_DATA_LENGTH, vec![], Answer),
        (mid::SET_EXT_OUTPUT_MODE, vec![0, 0x10], StoredOnly),
        (mid::SET_OUTPUT_SKIP_FACTOR, vec![0, 3], StoredOnly),
        (mid::SET_TRANSMIT_DELAY, vec![0, 1], StoredOnly),
        (mid::SET_SYNC_SETTINGS, hex("08 06 00 00 00 00 00 01 00 00 00 00"), Stream),
        (mid::SET_STRING_OUTPUT_TYPE, vec![0, 1], StoredOnly),
        (mid::SET_OUTPUT_MODE, vec![0, 2], StoredOnly),
        (mid::SET_OUTPUT_SETTINGS, vec![0, 0, 0, 1], StoredOnly),
        (mid::SET_ERROR_MODE, vec![0, 2], StoredOnly),
    ]
}

#[test]
fn every_message_has_its_effect_or_is_kept() {
    for ((_, id, _), _) in XBUS_SETTINGS {
        assert!(rows().iter().any(|(row, ..)| *row == id), "{id:02x} has no row");
    }
    for (id, data, proof) in rows() {
        let [with, without] = [true, false].map(|is_said| {
            let mut bench = unit();
            // Wait for a sample.
            bench.run(100);
            let answer = if is_said { Some(ask(&mut bench, id, &data)) } else { None };
            if !is_said {
                bench.run(20);
            }
            let said = stream(&mut bench, 500);
            (bench, answer, (None, said))
        });
        let (mut bench, answer, sent) = with;
        let answer = answer.unwrap();
        assert_eq!(answer.mid, id + 1, "{id:02x}: {answer:?}");
        proof.check(["xsens-mti30", &format!("0x{id:02X}")], &sent, &without.2);
        match proof {
            Proof::Answer => assert!(!answer.data.is_empty(), "{id:02x}"),
            Proof::StoredOnly => {
                ask(&mut bench, mid::GO_TO_CONFIG, &[]);
                assert_eq!(ask(&mut bench, id, &[]).data, data, "{id:02x}");
            }
            Proof::LineAfterReset => {
                bench.sent.clear();
                ask(&mut bench, mid::RESET, &[]);
                bench.run(600);
                // Resets are also accepted in measurement state.
                assert_eq!(bench.baud(), Some(230_400));
            }
            Proof::StaysInConfiguration => {
                ask(&mut bench, mid::RESET, &[]);
                bench.sent.clear();
                bench.run(2000);
                let after = messages(&bench);
                assert_eq!(after, [Message::new(mid::WAKE_UP, [])]);
            }
            _ => {}
        }
    }
}

#[test]
fn what_is_not_possible_is_refused() {
    let mut bench = unit();
    for (id, data) in [
        // Unknown profile; no rotation; invalid date; invalid position; unknown reset.
        (mid::SET_FILTER_PROFILE, vec![0, 99]),
        (mid::SET_ALIGNMENT_ROTATION, quaternion(0, DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0))),
        (mid::SET_ALIGNMENT_ROTATION, vec![2]),
        (mid::SET_UTC_TIME, vec![0, 0, 0, 0, 0x07, 0xd0, 13, 2, 3, 4, 5, 7]),
        (mid::SET_LAT_LON_ALT, [91.0f64, 0.0, 0.0].map(f64::to_be_bytes).concat()),
        (mid::RESET_ORIENTATION, vec![0, 2]),
        (mid::SET_NO_ROTATION, vec![1]),
    ] {
        let answer = ask(&mut bench, id, &data);
        assert_eq!(answer, Message::new(mid::ERROR, [error::PARAMETER]), "{id:02x}");
    }
    assert_eq!(ask(&mut bench, mid::SET_FILTER_PROFILE, &[]).data, [0, 39], "it stays");
}

#[test]
fn utc_is_what_the_host_sets() {
    let mut bench = unit();
    // 2000-02-29T23:59:59.5, half a second before March.
    let utc = [0x1d, 0xcd, 0x65, 0x00, 0x07, 0xd0, 2, 29, 23, 59, 59, 7];
    ask(&mut bench, mid::SET_UTC_TIME, &utc);
    let read = ask(&mut bench, mid::SET_UTC_TIME, &[]).data;
    assert_eq!(read[4..11], utc[4..11]);
    let stream = stream(&mut bench, 1000);
    let item = items(stream.last().unwrap()).into_iter().find(|i| i.xdi == Xdi::UTC_TIME).unwrap();
    assert_eq!(item.data[4..11], [0x07, 0xd0, 3, 1, 0, 0, 0]);
    let tow = items(stream.last().unwrap()).into_iter().find(|i| i.xdi == Xdi::ITOW).unwrap();
    // 1 March 2000 was a Wednesday, three days after Sunday; GPS time is 18 s ahead of UTC here.
    let ms = u32::from_be_bytes(tow.data.try_into().unwrap());
    assert!((ms / 1000).abs_diff(3 * 86_400 + 18) <= 1, "{ms}");
}

#[test]
fn alignment_rotates_and_resets_point_north() {
    let mut bench = unit();
    let before = stream(&mut bench, 300);
    let [force, rate] = [Xdi::ACCELERATION, Xdi::RATE_OF_TURN].map(|xdi| vector(&before, xdi));
    let yaw = |stream: &[Message]| vector(stream, Xdi::EULER).z;
    // The heading refers to magnetic north; only differences are checked.
    let more = |stream: &[Message]| (yaw(stream) - yaw(&before) + 540.0).rem_euclid(360.0) - 180.0;
    // Sensor to object: a rotation by 90 degrees to the left maps x to y.
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    let quarter = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &quaternion(0, quarter));
    let read = ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &[1]).data;
    assert_eq!(read, quaternion(1, DQuat::IDENTITY), "the other rotation is its own");
    let turned = stream(&mut bench, 300);
    assert!((vector(&turned, Xdi::ACCELERATION) - quarter * force).length() < 1e-5);
    assert!((vector(&turned, Xdi::RATE_OF_TURN) - quarter * rate).length() < 1e-6);
    assert!((more(&turned) + 90.0).abs() < 1e-3, "{}", more(&turned));
    // The local frame changes only orientations.
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &quaternion(1, quarter));
    let local = stream(&mut bench, 300);
    assert!(more(&local).abs() < 1e-3, "{}", more(&local));
    assert!((vector(&local, Xdi::ACCELERATION) - quarter * force).length() < 1e-5);
    // Free acceleration has the local frame too: gravity is not in it, even if that frame is not level.
    let pitched = DQuat::from_rotation_y(0.2);
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &quaternion(1, DQuat::IDENTITY));
    let level = vector(&stream(&mut bench, 300), Xdi::FREE_ACCELERATION);
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &quaternion(1, pitched));
    let tilted = vector(&stream(&mut bench, 300), Xdi::FREE_ACCELERATION);
    assert!((tilted - pitched * level).length() < 1e-5, "{tilted} {level}");
    // Heading reset in measurement state.
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    ask(&mut bench, mid::SET_ALIGNMENT_ROTATION, &quaternion(1, DQuat::IDENTITY));
    ask(&mut bench, mid::GO_TO_MEASUREMENT, &[]);
    assert_eq!(ask(&mut bench, mid::RESET_ORIENTATION, &[0, 1]).mid, 0xa5);
    assert!(yaw(&stream(&mut bench, 300)).abs() < 1e-3);
}

fn at_rest_with_bias(at: SimTime) -> InertialTruth {
    let mut made = truth(at);
    made.angular_rate_rad_s = DVec3::ZERO;
    made
}

#[test]
fn the_bias_of_a_unit_at_rest_is_found() {
    let biased = |_: &mut _, s: &mut crate::imu::profile::ImuSettings| {
        s.model.gyro.bias = [0.01, -0.02, 0.03];
    };
    let mut bench = Bench::new("xsens-mti30", biased);
    bench.truth = at_rest_with_bias;
    bench.run(200);
    let status = |stream: &[Message]| {
        let item = items(stream.last().unwrap()).into_iter().find(|i| i.xdi == Xdi::STATUS_WORD);
        u32::from_be_bytes(item.unwrap().data.try_into().unwrap()) >> 3 & 3
    };
    assert!(vector(&stream(&mut bench, 200), Xdi::RATE_OF_TURN).length() > 0.03);
    ask(&mut bench, mid::SET_NO_ROTATION, &[0, 2]);
    assert_eq!(status(&stream(&mut bench, 200)), 3);
    bench.run(2000);
    let after = stream(&mut bench, 200);
    assert_eq!(status(&after), 0);
    assert!(vector(&after, Xdi::RATE_OF_TURN).length() < 1e-6);
    // A rotating unit reports that the update failed.
    bench.truth = truth;
    bench.run(100);
    ask(&mut bench, mid::SET_NO_ROTATION, &[0, 1]);
    assert_eq!(status(&stream(&mut bench, 1500)), 2);
}

#[test]
fn a_unit_that_has_been_on_for_long_passes_the_end_of_its_counters() {
    let mut bench = Bench::new("xsens-mti30", |_, settings| {
        settings.messages = ["packet-counter", "sample-time-fine"].map(str::to_owned).to_vec();
        // Half a second before packet 65536 at 100 Hz.
        settings.on_for_ns = 654_860_000_000;
    });
    bench.run(1000);
    let number = |message: &Message, xdi: Xdi| {
        let item = items(message).into_iter().find(|item| item.xdi == xdi).unwrap();
        item.data.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let told: Vec<_> = messages(&bench).into_iter().filter(|m| m.mid == mid::MT_DATA2).collect();
    let counters: Vec<_> = told.iter().map(|m| number(m, Xdi::PACKET_COUNTER)).collect();
    let wraps = counters.windows(2).filter(|pair| *pair == [65535, 0]).count();
    assert_eq!((counters[0], wraps), (65486, 1), "{counters:?}");
    let ticks: Vec<_> = told.iter().map(|m| number(m, Xdi::SAMPLE_TIME_FINE)).collect();
    assert!(ticks[0].abs_diff(6_548_600) < 200 && ticks.windows(2).all(|t| t[1] - t[0] == 100));
}

#[test]
fn times_and_status_are_in_every_message_and_rate_0_is_the_highest() {
    let mut bench = unit();
    let item = |xdi, rate_hz| OutputItem { xdi, rate_hz };
    let set = |bench: &mut Bench, list: &[OutputItem]| {
        let answer = ask(bench, mid::SET_OUTPUT_CONFIGURATION, &OutputItem::emit_all(list));
        OutputItem::parse_all(&answer.data).unwrap()
    };
    let highest = [item(Xdi::ACCELERATION, 2000), item(Xdi::EULER, 400)];
    assert_eq!(set(&mut bench, &highest.map(|o| item(o.xdi, 0))), highest);
    assert_eq!(set(&mut bench, &highest.map(|o| item(o.xdi, 0xffff))), highest);
    // Requests of the maker's ROS driver for times and status have the rate 0.
    let wanted = [item(Xdi::PACKET_COUNTER, 0), item(Xdi::EULER, 100), item(Xdi::STATUS_WORD, 50)];
    let every = [0xffff, 100, 0xffff];
    let effective = [0, 1, 2].map(|i| item(wanted[i].xdi, every[i]));
    assert_eq!(set(&mut bench, &wanted), effective);
    let sent = stream(&mut bench, 200);
    assert!(sent.len().abs_diff(20) <= 1, "{}", sent.len());
    for message in sent {
        let found: Vec<_> = items(&message).iter().map(|item| item.xdi).collect();
        assert_eq!(found, wanted.map(|o| o.xdi));
    }
}

#[test]
fn a_stored_reset_lasts_beyond_a_restart() {
    let mut bench = unit();
    let yaw = |bench: &mut Bench| vector(&stream(bench, 300), Xdi::EULER).z;
    let restart = |bench: &mut Bench| {
        ask(bench, mid::RESET, &[]);
        bench.run(1200);
    };
    let before = yaw(&mut bench);
    assert!(before.abs() > 1.0, "{before}");
    ask(&mut bench, mid::RESET_ORIENTATION, &[0, 4]);
    assert!(yaw(&mut bench).abs() < 1e-3);
    // A reset that is not stored is lost.
    restart(&mut bench);
    assert!((yaw(&mut bench) - before).abs() < 1e-3);
    ask(&mut bench, mid::RESET_ORIENTATION, &[0, 4]);
    let refused = ask(&mut bench, mid::RESET_ORIENTATION, &[0, 0]);
    assert_eq!(refused, Message::new(mid::ERROR, [error::PARAMETER]), "in measurement state");
    ask(&mut bench, mid::GO_TO_CONFIG, &[]);
    let stored = ask(&mut bench, mid::RESET_ORIENTATION, &[0, 0]);
    assert_eq!(stored, Message::new(mid::RESET_ORIENTATION + 1, []));
    restart(&mut bench);
    assert!(yaw(&mut bench).abs() < 1e-3);
}

#[test]
fn every_row_of_the_table_is_what_the_unit_does() {
    let mut refusing = unit();
    for row in table("xsens-mti30") {
        let bytes = hex(row.request);
        let Some((&id, data)) = bytes.split_first() else { continue };
        // A refused message changes nothing, so one unit receives all such messages.
        let mut fresh;
        let wants_refusal = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
        let bench = if wants_refusal {
            &mut refusing
        } else {
            fresh = unit();
            &mut fresh
        };
        bench.run(50);
        if id == mid::REQ_DATA {
            // After this setting the unit sends nothing by itself.
            ask(bench, mid::SET_SYNC_SETTINGS, &hex("08 06 00 00 00 00 00 01 00 00 00 00"));
            assert!(stream(bench, 300).is_empty());
            bench.say(&[0xfa, 0xff, 0x34, 0, 0xcd]);
            bench.run(20);
            let sent = messages(bench);
            assert!(matches!(&sent[..], [m] if m.mid == mid::MT_DATA2), "{sent:?}");
            continue;
        }
        let answer = ask(bench, id, data);
        if row.code.len() == 6 {
            // An output item stays in the list and is sent, or is left out.
            let is_sent = row.conduct == Conduct::Acts;
            assert_eq!(answer.data == data, is_sent, "{}: {answer:?}", row.code);
            let sent = stream(bench, 110);
            assert_eq!(!sent.is_empty(), is_sent, "{}", row.code);
            if let Some(message) = sent.last() {
                assert_eq!(items(message)[0].xdi.0.to_be_bytes(), bytes[1..3], "{}", row.code);
            }
        } else {
            let is_refused = answer == Message::new(mid::ERROR, [error::MESSAGE]);
            assert_eq!(is_refused, wants_refusal, "{}: {answer:?}", row.code);
            assert!(is_refused || answer.mid == id + 1, "{}: {answer:?}", row.code);
        }
        match row.conduct {
            Conduct::Kept => assert_eq!(ask(bench, id, &[]).data, data, "{}", row.code),
            Conduct::Constant => {
                bench.run(100);
                assert_eq!(ask(bench, id, data), answer, "{}", row.code);
            }
            _ => {}
        }
        for (place, damaged) in variants(data).iter().enumerate().skip(1) {
            bench.run(if id == mid::RESET { 1200 } else { 5 });
            ask(bench, mid::GO_TO_CONFIG, &[]);
            let is_unknown = wants_refusal && row.code.len() == 4;
            check_damaged(bench, id, damaged, place == 1 && !damaged.is_empty(), is_unknown);
        }
        bench.run(if id == mid::RESET { 1200 } else { 5 });
        assert_eq!(ask(bench, mid::GO_TO_CONFIG, &[]).mid, 0x31, "{}", row.code);
    }
}

/// Sends a message with shortened, lengthened or doubled data. Expects one answer: the acknowledgement or error 0x21
/// (parameter invalid). An unknown message gives error 4, whatever its data. After an error the setting is unchanged.
/// Codes: MT0101P and `xsresultvalue.h`.
fn check_damaged(bench: &mut Bench, id: u8, data: &[u8], is_cut: bool, is_unknown: bool) {
    let is_stored = XBUS_SETTINGS.iter().any(|((_, known, _), _)| *known == id);
    let before = is_stored.then(|| ask(bench, id, &[]));
    ask(bench, id, data);
    let sent = messages(bench).into_iter().filter(|message| message.mid != mid::MT_DATA2);
    let answers: Vec<_> = sent.collect();
    let what = format!("{id:02x} {data:02x?}: {answers:?}");
    let parameter = Message::new(mid::ERROR, [error::PARAMETER]);
    let [answer] = &answers[..] else { panic!("{what}") };
    // The offset of an eMTS page can be shorter.
    match () {
        () if is_unknown => {
            assert_eq!(*answer, Message::new(mid::ERROR, [error::MESSAGE]), "{what}")
        }
        () if id == mid::REQ_DATA => assert_eq!(answer.mid, mid::ERROR, "{what}"),
        () if is_cut && id != mid::REQ_EMTS => assert_eq!(*answer, parameter, "{what}"),
        () => assert!(*answer == parameter || answer.mid == id + 1, "{what}"),
    }
    if answer.mid == mid::ERROR && is_stored {
        assert_eq!(Some(ask(bench, id, &[])), before, "{what}");
    }
}

#[test]
fn a_message_with_a_wrong_checksum_is_not_heard() {
    let mut bench = unit();
    bench.sent.clear();
    bench.say(&[0xfa, 0xff, mid::REQ_DID, 0, 0x02]);
    bench.run(50);
    assert!(bench.bytes().is_empty());
    assert_eq!(ask(&mut bench, mid::REQ_DID, &[]).mid, mid::REQ_DID + 1);
}

/// Messages of the maker's library when it opens a port, and requests of its ROS driver about the compass.
#[test]
fn the_makers_library_opens_the_unit() {
    let mut bench = Bench::new("xsens-mti30", |_, _| {});
    bench.run(50);
    let said = |bench: &mut Bench, text: &str| {
        bench.sent.clear();
        bench.say(&hex(text));
        bench.run(120);
        let mut answers = messages(bench).into_iter().filter(|m| m.mid != mid::MT_DATA2);
        answers.next().expect("an answer")
    };
    assert_eq!(said(&mut bench, "fa ff 30 00 d1").mid, 0x31);
    // Device id, as in the answer to ReqDID.
    assert_eq!(said(&mut bench, "fa ff 02 00 ff"), Message::new(0x03, [0x03, 0x60, 0, 1]));
    let emts = said(&mut bench, "fa ff 90 02 00 ff 70");
    assert_eq!((emts.mid, emts.data.len()), (0x91, 1024));
    let configuration = said(&mut bench, "fa ff 0c 00 f5");
    // Filter profile and firmware version at the offsets that the library reads.
    assert_eq!(configuration.data[110..115], [0, 39, 1, 8, 2]);
}

#[test]
fn a_representative_motion_is_recorded_and_judged() {
    let mut bench = unit();
    let icc = |bench: &mut Bench, data: &[u8]| ask(bench, mid::ICC_COMMAND, data);
    let status = |stream: &[Message]| {
        let item = items(stream.last().unwrap()).into_iter().find(|i| i.xdi == Xdi::STATUS_WORD);
        u32::from_be_bytes(item.unwrap().data.try_into().unwrap()) >> 5 & 1
    };
    ask(&mut bench, mid::GO_TO_MEASUREMENT, &[]);
    assert_eq!(icc(&mut bench, &[3]), Message::new(0x75, [3, 0]));
    // No motion is recorded; unknown command.
    for data in [&[1][..], &[9], &[]] {
        assert_eq!(icc(&mut bench, data), Message::new(mid::ERROR, [error::PARAMETER]));
    }
    assert_eq!(icc(&mut bench, &[0]), Message::new(0x75, [0]));
    assert_eq!(icc(&mut bench, &[3]), Message::new(0x75, [3, 1]));
    assert_eq!(status(&stream(&mut bench, 200)), 1);
    // Without rotation the data are not sufficient.
    let result = icc(&mut bench, &[1]).data;
    assert_eq!((result[0], result[5], result[6], result.len()), (1, 2, 2, 7));
    assert_eq!(status(&stream(&mut bench, 200)), 0);
    // Rotation in place: the field rotates at constant strength.
    bench.truth = |at| {
        let mut made = truth(at);
        let (sin, cos) = libm::sincos(at.as_secs_f64() * 6.3);
        made.magnetic_field_gauss = DVec3::new(0.3 * cos, 0.3 * sin, 0.1);
        made
    };
    bench.run(100);
    icc(&mut bench, &[0]);
    bench.run(1100);
    let result = icc(&mut bench, &[1]).data;
    assert!(f32::from_be_bytes(*result[1..].first_chunk().unwrap()) < 1e-3, "{result:?}");
    assert_eq!(result[5..], [2, 0]);
    assert_eq!(icc(&mut bench, &[2]), Message::new(0x75, [2]));
}

#[test]
fn sensor_readouts_are_counts_over_the_ranges() {
    let mut bench = unit();
    bench.run(50);
    let stream = stream(&mut bench, 300);
    let item =
        |xdi: Xdi| items(stream.last().unwrap()).into_iter().find(|i| i.xdi == xdi).unwrap().data;
    let raw = item(Xdi::RAW_SENSORS);
    let counts: Vec<u16> = raw.chunks(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
    // Readings relative to their ranges: 0.5 m/s² of 5 g, 0.3 rad/s of 450 degrees/s, 0.2 of 0.8 gauss.
    assert_eq!(raw.len(), 20);
    let share = |count: u16| f64::from(count) / 32_768.0 - 1.0;
    assert!((share(counts[0]) - 0.5 / (5.0 * 9.80665)).abs() < 1e-4, "{counts:?}");
    assert!((share(counts[5]) - 0.3 / 450f64.to_radians()).abs() < 1e-4, "{counts:?}");
    assert!((share(counts[6]) - 0.25).abs() < 1e-4, "{counts:?}");
    assert_eq!(item(Xdi::RAW_GYRO_TEMPERATURES)[..2], raw[18..20]);
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = unit();
    constants_hold(&table("xsens-mti30"), &["0x40"], |row| {
        ask(&mut bench, mid::GO_TO_CONFIG, &[]);
        hex(row.request).split_first().map(|(id, data)| ask(&mut bench, *id, data))
    });
}
