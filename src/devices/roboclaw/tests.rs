use super::profile::{RoboClawLayout, RoboClawSettings};
use super::settings::read_of;
use crate::commands::{CommandTable, Conduct, constants_hold};
use crate::drive_base::faults::BaseFault;
use crate::drive_base::profile::BaseSettings;
use crate::drive_base::tests::{Bench, MS, NOTHING, ROBOCLAW, assert_near, hex, set_own, timed};
use crate::drive_base::walk::{has_requests, request, walk};
use crate::wire::roboclaw::{Item, answer, command as c, read_answer};

fn table() -> CommandTable {
    CommandTable::parse("RoboClaw", include_str!("commands.csv"))
}

fn thousand(settings: &mut BaseSettings) {
    settings.wheels.counts_per_m = 1000.0;
}

fn write(command: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Item::write(0x80, command, data).emit(&mut bytes);
    bytes
}

fn numbers(all: &[i32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_be_bytes()).collect()
}

impl Bench {
    fn read(&mut self, command: u8) -> Vec<u8> {
        let said = self.ask(&[0x80, command]);
        let data = read_answer(0x80, command, &said);
        data.unwrap_or_else(|| panic!("{command}: {said:02x?}")).to_vec()
    }

    fn write(&mut self, command: u8, data: &[u8]) {
        assert_eq!(self.ask(&write(command, data)), [0xff], "{command}");
    }
}

#[test]
fn every_command_does_what_the_table_says() {
    has_requests(&table());
    let answers = |row: &crate::commands::CommandRow, said: &[u8]| match row.conduct {
        Conduct::NotMade | Conduct::Refused => said.is_empty(),
        // The second byte follows when the word is stored.
        _ if row.code == "253" => said == [0xff, 0xaa],
        _ => said == [0xff] || said.len() >= 3,
    };
    walk(ROBOCLAW, &table(), |_| (), answers, &hex("80 18"), 60);
    // A command that is not supported has no effect. The next packet after a pause is processed.
    for row in table().rows.iter().filter(|row| row.conduct == Conduct::NotMade) {
        let mut bench = Bench::new(ROBOCLAW, |_| ());
        assert_eq!(bench.ask(&[0x80, row.code.parse().unwrap(), 1, 2, 3]), NOTHING, "{row:?}");
        bench.wait(60);
        assert_eq!(bench.ask(&hex("80 18")).len(), 4, "{row:?}");
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    // Command 98 changes address and baud rate.
    constants_hold(&table().rows, &["98"], |row| bench.ask(&request(row)));
}

#[test]
fn what_is_kept_is_read_back_as_it_was_written() {
    for layout in [RoboClawLayout::Classic, RoboClawLayout::Extended] {
        for row in table().rows.iter().filter(|row| row.conduct == Conduct::Kept) {
            let bytes = request(row);
            let (command, data) = (bytes[1], &bytes[2..bytes.len() - 2]);
            let Some(read) = read_of(command) else { continue };
            let mut bench = Bench::new(ROBOCLAW, |s| {
                set_own(s, |own: &mut RoboClawSettings| own.layout = layout);
            });
            bench.write(command, data);
            // The table has the data of the classic layout, which can be longer or shorter.
            let said = bench.read(read);
            let common = said.len().min(data.len());
            assert_eq!(said[..common], data[..common], "{row:?}");
        }
    }
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    // Gains are written as D, P, I and read as P, I, D.
    bench.write(c::SET_POSITION_PID_M2, &numbers(&[1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(bench.read(c::READ_POSITION_PID_M2), numbers(&[2, 3, 1, 4, 5, 6, 7]));
    bench.write(c::SET_ENCODER_MODE_M2, &[1]);
    assert_eq!(bench.read(c::READ_ENCODER_MODES), [0, 1]);
    assert_eq!(bench.ask(&write(c::WRITE_EEPROM, &[5, 0x12, 0x34])), [0xff, 0xaa]);
    assert_eq!(bench.sent[1].0.0 - bench.sent[0].0.0, 5 * MS);
    let said = answer(0x80, c::READ_EEPROM, &[5, 0x12, 0x34]);
    assert_eq!(bench.ask(&[0x80, c::READ_EEPROM, 5]), said[1..]);
}

#[test]
fn answers_have_the_layout_of_the_manual_or_of_the_library() {
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    assert_eq!(bench.read(c::READ_PIN_FUNCTIONS), [0; 3]);
    assert_eq!(bench.read(c::READ_DEAD_BAND), [25, 25]);
    assert_eq!(bench.read(c::READ_PWM_MODE), [0]);
    assert_eq!(bench.read(c::READ_MAIN_VOLTAGES), hex("00 3c 01 54"));
    bench.write(c::SET_AUTO_HOME_M2, &hex("10 00 00 00 0b b8"));
    assert_eq!(bench.read(c::READ_AUTO_HOME), hex("00 00 00 00 00 00 10 00 00 00 0b b8"));
    for (write, read) in [
        (c::SET_SPEED_ERROR_LIMITS, c::READ_SPEED_ERROR_LIMITS),
        (c::SET_POSITION_ERROR_LIMITS, c::READ_POSITION_ERROR_LIMITS),
    ] {
        bench.write(write, &numbers(&[500, 70_000]));
        assert_eq!(bench.read(read), numbers(&[500, 70_000]));
    }
    assert_eq!(bench.read(c::READ_SPEED_ERRORS), [0; 8]);
    assert_eq!(bench.read(c::READ_POSITION_ERRORS), [0; 8]);
    assert_eq!(bench.read(c::READ_ALL_STATUS).len(), 56);
    let mut bench = Bench::new(ROBOCLAW, |s| {
        set_own(s, |own: &mut RoboClawSettings| own.layout = RoboClawLayout::Extended);
    });
    bench.write(c::SET_PIN_FUNCTIONS, &[1, 2, 3, 4, 5]);
    assert_eq!(bench.read(c::READ_PIN_FUNCTIONS), [1, 2, 3, 4, 5]);
    assert_eq!(bench.read(c::READ_DEAD_BAND).len(), 24);
    bench.write(c::SET_DEFAULT_ACCEL_M1, &numbers(&[7]));
    assert_eq!(bench.read(c::READ_DEFAULT_ACCELS), numbers(&[7, 7, 0, 0]));
    bench.write(c::SET_AUTO_HOME_M2, &hex("10 00 00 64"));
    assert_eq!(bench.read(c::READ_AUTO_HOME), hex("00 00 00 00 10 00 00 64"));
    bench.write(c::SET_SPEED_ERROR_LIMITS, &hex("01 f4 02 58"));
    assert_eq!(bench.read(c::READ_SPEED_ERROR_LIMITS), hex("01 f4 02 58"));
    assert_eq!(bench.read(c::READ_SPEED_ERRORS), [0; 4]);
    assert_eq!(bench.read(c::READ_ALL_STATUS).len(), 56);
    bench.write(c::WRITE_EEPROM, &[5, 0x12, 0x34]);
}

#[test]
fn a_driver_that_moves_by_distances_alone_moves() {
    // Speeds 500 and -500, distances 1000 and 500 counts, acceleration 1000, immediate.
    let data = [numbers(&[1000, 500, 1000, -500, 500]), vec![1]].concat();
    let mut bench = Bench::new(ROBOCLAW, thousand);
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
    bench.write(c::SPEED_ACCEL_DISTANCE, &data);
    assert_eq!(bench.read(c::READ_BUFFERS), [0, 0]);
    bench.wait(1000);
    assert_near(bench.treads(), [0.5, -0.5], 0.011);
    bench.wait(400);
    assert_eq!(bench.read(c::READ_BUFFERS), [0, 0x80], "M2 is over first");
    bench.wait(3000);
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    // After its distance, each motor takes half a second from 500 to 0 counts/s.
    assert_near(bench.wheels.travel_m, [1.125, -0.625], 0.01);
}

#[test]
fn buffered_moves_run_in_their_order() {
    let mut bench = Bench::new(ROBOCLAW, thousand);
    let distance = |speed, counts| [numbers(&[speed, counts]), vec![0]].concat();
    bench.write(c::SPEED_DISTANCE_M1, &distance(500, 250));
    bench.write(c::SPEED_DISTANCE_M1, &distance(-250, 100));
    bench.write(c::SPEED_ACCEL_DISTANCE_M1, &[numbers(&[1000, 0, 0]), vec![0]].concat());
    assert_eq!(bench.read(c::READ_BUFFERS), [2, 0x80]);
    assert_near(bench.treads(), [0.5, 0.0], 0.0);
    bench.wait(500);
    assert_near(bench.treads(), [-0.25, 0.0], 0.0);
    bench.wait(800);
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    // A speed command ends all moves.
    bench.write(c::SPEED_DISTANCE_M1, &distance(500, 100_000));
    bench.write(c::SPEED_M1, &numbers(&[100]));
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
    // The queue holds at most 64 moves.
    for _ in 0..70 {
        bench.say(&write(c::SPEED_DISTANCE_M2, &distance(500, 100_000)));
    }
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 64]);
}

#[test]
fn positions_are_reached_and_held() {
    let mut bench = Bench::new(ROBOCLAW, thousand);
    let order = [2000, 500, 2000];
    let data = [numbers(&order), numbers(&[800]), numbers(&order), numbers(&[-400]), vec![1]];
    bench.write(c::SPEED_ACCEL_DECEL_POSITION, &data.concat());
    bench.wait(4000);
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
    assert_near(bench.wheels.travel_m, [0.8, -0.4], 0.004);
    // Without a gain of the position controller the motor does not move.
    let mut bench = Bench::new(ROBOCLAW, thousand);
    bench.write(c::SET_POSITION_PID_M1, &numbers(&[0; 7]));
    bench.write(c::POSITION_M1, &[numbers(&[800]), vec![1]].concat());
    bench.wait(1000);
    assert_near(bench.wheels.travel_m, [0.0; 2], 0.0);
    // The target 800 is limited to the position range, -100 to 300.
    bench.write(c::SET_POSITION_PID_M1, &numbers(&[0, 5120, 0, 0, 0, -100, 300]));
    bench.write(c::POSITION_M1, &[numbers(&[800]), vec![1]].concat());
    bench.wait(3000);
    assert_near(bench.wheels.travel_m, [0.3, 0.0], 0.004);
    bench.write(c::PERCENT_POSITION_M1, &[0x80, 0x01, 1]);
    bench.wait(3000);
    assert_near(bench.wheels.travel_m, [-0.1, 0.0], 0.004);
}

#[test]
fn duties_take_the_default_acceleration() {
    let mut bench = Bench::new(ROBOCLAW, thousand);
    bench.write(c::SET_DEFAULT_ACCEL_M1, &numbers(&[32_767]));
    bench.write(c::DUTY, &[0x7f, 0xff, 0x7f, 0xff]);
    bench.wait(480);
    assert_near(bench.treads(), [1.0, 2.0], 0.03);
}

#[test]
fn voltage_limits_act() {
    let mut bench = Bench::new(ROBOCLAW, thousand);
    // The limits are 25 and 34 V. The battery has 24.1 V, so the motors do not run.
    bench.write(c::SET_MAIN_VOLTAGES, &hex("00 fa 01 54"));
    assert_eq!(bench.read(c::READ_STATUS), hex("00 08 40 00"));
    bench.write(c::SPEED_M1, &numbers(&[500]));
    assert_near(bench.treads(), [0.0; 2], 0.0);
    bench.write(c::MIN_MAIN_VOLTAGE, &[0]);
    assert_eq!(bench.read(c::READ_MAIN_VOLTAGES), hex("00 3c 01 54"));
    assert_eq!(bench.read(c::READ_STATUS), [0; 4]);
    bench.write(c::SPEED_M1, &numbers(&[500]));
    assert_near(bench.treads(), [0.5, 0.0], 0.0);
    // Motors that run stop. Only the next command starts them again.
    bench.write(c::SET_MAIN_VOLTAGES, &hex("00 fa 01 54"));
    assert_near(bench.treads(), [0.0; 2], 0.0);
    bench.write(c::SET_MAIN_VOLTAGES, &hex("00 3c 01 54"));
    assert_near(bench.treads(), [0.0; 2], 0.0);
    let empty = BaseFault::LowBattery { battery_v: 5.0, charge_percent: 1.0 };
    let mut bench = Bench::with_faults(ROBOCLAW, vec![timed(empty, 500, 300)], thousand);
    bench.write(c::SPEED_M1, &numbers(&[500]));
    bench.write(c::SPEED_DISTANCE_M2, &[numbers(&[500, 100_000]), vec![0]].concat());
    assert_near(bench.treads(), [0.5; 2], 0.0);
    bench.wait(600);
    assert_near(bench.treads(), [0.0; 2], 0.0);
    bench.wait(400);
    assert_near(bench.treads(), [0.0; 2], 0.0);
    assert_eq!(bench.read(c::READ_BUFFERS), [0x80, 0x80]);
}

#[test]
fn the_average_speed_is_that_of_the_last_second() {
    let mut bench = Bench::new(ROBOCLAW, thousand);
    let average = |bench: &mut Bench, wait_ms: u64| {
        bench.wait(wait_ms);
        let said = bench.read(c::READ_AVERAGE_SPEEDS);
        [0, 4].map(|at| i32::from_be_bytes(said[at..at + 4].try_into().unwrap()))
    };
    bench.write(c::SPEED, &numbers(&[1000, -500]));
    // Half a second after the command, and after a whole second.
    let [left, right] = average(&mut bench, 480);
    assert!((480..=505).contains(&left) && (-255..=-240).contains(&right), "{left} {right}");
    let [left, right] = average(&mut bench, 1000);
    assert!((998..=1002).contains(&left) && (-502..=-498).contains(&right), "{left} {right}");
}

#[test]
fn settings_survive_power_off_once_they_are_written() {
    for is_written in [false, true] {
        let cut = timed(BaseFault::PowerCycle, 200, 100);
        let mut bench = Bench::with_faults(ROBOCLAW, vec![cut], |_| ());
        bench.write(c::SET_PIN_FUNCTIONS, &[1, 2, 3]);
        if is_written {
            // A wrong key is ignored.
            bench.write(c::WRITE_SETTINGS, &numbers(&[1]));
            bench.write(c::WRITE_SETTINGS, &hex("e2 2e ab 7a"));
        }
        bench.write(c::SET_PIN_FUNCTIONS, &[9, 9, 9]);
        bench.wait(1000);
        let wanted = if is_written { [1, 2, 3] } else { [0; 3] };
        assert_eq!(bench.read(c::READ_PIN_FUNCTIONS), wanted);
        bench.write(c::SET_PIN_FUNCTIONS, &[9, 9, 9]);
        bench.write(c::READ_SETTINGS, &[]);
        assert_eq!(bench.read(c::READ_PIN_FUNCTIONS), wanted);
        bench.write(c::RESTORE_DEFAULTS, &[]);
        assert_eq!(bench.read(c::READ_PIN_FUNCTIONS), [0; 3]);
    }
}

#[test]
fn the_configuration_sets_address_and_rate() {
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    // Configuration: packet serial, 115200 baud, address 0x82.
    assert_eq!(bench.read(c::READ_CONFIG), [0, 0x63]);
    bench.write(c::SET_CONFIG, &[0x02, 0xa3]);
    assert_eq!(bench.unit().port.line().baud, 115_200);
    assert_eq!(bench.ask(&hex("80 18")), NOTHING);
    assert_eq!(bench.ask(&hex("82 18")).len(), 4);
    assert!(bench.now.0 > 20 * MS);
}

#[test]
fn roboclaw_answers_as_the_makers_library_expects() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    bench.wait(5);
    let version = [b"USB Roboclaw 2x15a v4.1.34\n\0".as_slice(), &[0x34, 0x6a]].concat();
    assert_eq!(bench.ask(&hex("80 15")), version);
    assert_eq!(bench.ask(&hex("80 18")), hex("00 F1 C8 C4"));
    assert_eq!(bench.ask(&hex("80 5A")), hex("00 00 00 00 87 BC"));
    assert_eq!(bench.ask(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0")), [0xff]);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    assert_eq!(bench.ask(&hex("80 4F")), hex("00 00 05 DC FF FF FA 24 C0 5D"));
    assert_eq!(bench.ask(&hex("80 13")), hex("00 00 05 DC 01 D4 06"));
    // Packets with another address or a wrong CRC are ignored. The third packet is a duty command.
    assert_eq!(bench.ask(&hex("81 15")), NOTHING);
    assert_eq!(bench.ask(&hex("80 25 00 00 00 00 00 00 00 00 34 05")), NOTHING);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    assert_eq!(bench.ask(&hex("80 22 40 00 C0 00 E0 DF")), [0xff]);
    assert_near(bench.treads(), [1.0, -1.0], 1e-4);
    assert_eq!(bench.ask(&hex("80 25 00 00 00 00 00 00 00 00 34 04")), [0xff]);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 14 49 2D")), [0xff]);
    bench.wait(20);
    assert_eq!(bench.ask(&hex("80 4E"))[..8], [0; 8]);
}

#[test]
fn roboclaw_counts_travel_and_wraps() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    bench.say(&hex("80 25 00 00 03 E8 FF FF FE 0C 2E 57"));
    // With a wrong CRC nothing moves.
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    let mut speed = Vec::new();
    let data = [1000i32.to_be_bytes(), (-500i32).to_be_bytes()].concat();
    crate::wire::roboclaw::Item::write(0x80, 37, data).emit(&mut speed);
    bench.say(&speed);
    bench.wait(2000);
    let answer = bench.ask(&hex("80 4E"));
    let [left, right] =
        [&answer[..4], &answer[4..8]].map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()));
    assert!((1980..=2030).contains(&left) && (-1020..=-985).contains(&right), "{left} {right}");
    let wrapped = |bench: &mut Bench, counts: u32| {
        let mut set = Vec::new();
        crate::wire::roboclaw::Item::write(0x80, 22, counts.to_be_bytes()).emit(&mut set);
        assert_eq!(bench.ask(&set), [0xff]);
        bench.wait(100);
        bench.ask(&hex("80 10"))
    };
    let answer = wrapped(&mut bench, 0x7fff_fff0);
    assert!(i32::from_be_bytes(answer[..4].try_into().unwrap()) < 0, "{answer:02x?}");
    assert_eq!(answer[4], 0);
    // The counter passes 4294967295. Reading clears the flag of the overflow.
    let answer = wrapped(&mut bench, 0xffff_fff0);
    assert!(u32::from_be_bytes(answer[..4].try_into().unwrap()) < 200, "{answer:02x?}");
    assert_eq!(answer[4], 4);
    assert_eq!(bench.ask(&hex("80 10"))[4], 0);
    // The other counter has passed 0 backwards.
    assert_eq!(bench.ask(&hex("80 11"))[4], 3);
    assert_eq!(bench.ask(&hex("80 11"))[4], 2);
}

#[test]
fn roboclaw_stops_when_its_host_falls_silent() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    assert_eq!(bench.ask(&hex("80 0E 0A B9 1F")), [0xff]);
    assert_eq!(bench.ask(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0")), [0xff]);
    bench.wait(970);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    // Any valid packet resets the timeout.
    assert_eq!(bench.ask(&hex("80 10")).len(), 7);
    bench.wait(970);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    bench.wait(60);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn roboclaw_ramps() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    let mut ramp = Vec::new();
    let data = [500i32, 1000, -1000].map(i32::to_be_bytes).concat();
    crate::wire::roboclaw::Item::write(0x80, 40, data).emit(&mut ramp);
    assert_eq!(bench.ask(&ramp), [0xff]);
    bench.wait(980);
    assert_near(bench.treads(), [0.5, -0.5], 0.011);
    bench.wait(1200);
    assert_near(bench.treads(), [1.0, -1.0], 1e-12);
}

#[test]
fn an_unknown_command_is_discarded_with_what_follows() {
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    bench.wait(1);
    assert_eq!(bench.ask(&hex("80 FF 00 00 80 18 80 18")), NOTHING);
    bench.wait(60);
    assert_eq!(bench.ask(&hex("80 18")), hex("00 F1 C8 C4"));
    // A packet with a pause inside is invalid.
    assert_eq!(bench.ask(&hex("80")), NOTHING);
    bench.wait(60);
    assert_eq!(bench.ask(&hex("18")), NOTHING);
}
