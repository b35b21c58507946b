//! Tests of the GenICam description, settings of a rig, user sets, and reset.

use super::*;
use crate::config::rig::Rig;
use crate::gige_camera::profile::PtpState;

#[test]
fn the_description_names_every_register() {
    let mut bench = Bench::new();
    let (_, data) = bench.say_as(1, command::READ_MEMORY, &[0, 0, 2, 0, 0, 0, 2, 0]);
    let url: Vec<u8> = data[4..].iter().copied().take_while(|byte| *byte != 0).collect();
    let url = String::from_utf8(url).unwrap();
    let parts: Vec<_> = url.split(';').collect();
    let len = u32::from_str_radix(parts[2], 16).unwrap();
    let mut xml = Vec::new();
    while xml.len() < len as usize {
        let payload = [at::XML + xml.len() as u32, 512].map(u32::to_be_bytes).concat();
        let (status, data) = bench.say_as(1, command::READ_MEMORY, &payload);
        assert_eq!(status, 0);
        xml.extend(&data[4..]);
    }
    let xml = String::from_utf8(xml[..len as usize].to_vec()).unwrap();
    assert!(xml.trim_end().ends_with("</RegisterDescription>"));
    for feature in bench.camera.features.0.values() {
        assert!(xml.contains(&format!("Name=\"{}Reg\"", feature.name)), "{}", feature.name);
    }
    let table = include_str!("../features.csv");
    for feature in bench.camera.features.0.values() {
        let row = format!("{:#07x},{},", feature.address, feature.name);
        assert!(table.contains(&row), "features.csv lacks {row}");
    }
}

#[test]
fn size_and_offset_limit_each_other() {
    let mut bench = Bench::new();
    bench.open();
    let xml = String::from_utf8(bench.camera.xml.to_vec()).unwrap();
    for (name, all, other) in [
        ("Width", "WidthMax", "OffsetX"),
        ("Height", "HeightMax", "OffsetY"),
        ("OffsetX", "WidthMax", "Width"),
        ("OffsetY", "HeightMax", "Height"),
    ] {
        let node = format!(
            "<IntSwissKnife Name=\"{name}Most\"><pVariable Name=\"ALL\">{all}Reg</pVariable>\
             <pVariable Name=\"OTHER\">{other}Reg</pVariable><Formula>ALL-OTHER</Formula>"
        );
        assert!(xml.contains(&node), "{name}");
        assert!(xml.contains(&format!("<pMax>{name}Most</pMax>")), "{name}");
    }
    for (binning, [width, height]) in [(1, [1280, 960]), (4, [320, 240])] {
        bench.write(at::BINNING_X, binning);
        bench.write(at::BINNING_Y, binning);
        for (all, size, offset, largest) in [
            (at::WIDTH_MAX, at::WIDTH, at::OFFSET_X, width),
            (at::HEIGHT_MAX, at::HEIGHT, at::OFFSET_Y, height),
        ] {
            bench.write(size, 160);
            bench.write(offset, largest - 160);
            assert_eq!(bench.write_as(1, offset, largest - 156), status::INVALID_PARAMETER);
            assert_eq!(bench.write_as(1, size, 164), status::INVALID_PARAMETER);
            bench.write(size, 156);
            assert_eq!(bench.read(all), largest, "it does not depend on the region");
        }
    }
}

#[test]
fn a_rig_sets_what_the_camera_can_do() {
    let read = |settings: &str| {
        let text = format!(
            "[world]\nscene = \"room\"\n[[device]]\nname = \"camera\"\n\
             profile = \"menura-gv231c\"\nsettings = {{ {settings} }}\n"
        );
        let rig = Rig::parse("rig.toml", &text, "".as_ref(), &[], catalogue());
        rig.map(|_| ()).map_err(|faults| faults.to_string())
    };
    for good in [
        "binning = 4",
        "exposure_us = 20.0",
        "exposure_us = 1e6",
        "lens_model = \"equidistant\", distortion = [0.1, 0, 0, 0]",
    ] {
        assert_eq!(read(good), Ok(()));
    }
    for (bad, told) in [
        ("binning = 3", "allowed: 1, 2, 4 pixels"),
        ("binning = 8", "allowed: 1, 2, 4 pixels"),
        ("exposure_us = 19.9", "allowed: 20 to 1000000 us"),
        ("distortion = [0, 0, 0, 0, 0, 0]", "allowed: 5 items at most"),
        ("lens_model = \"fov\", distortion = [0.1]", "allowed: 0 items at most"),
    ] {
        let fault = read(bad).unwrap_err();
        assert!(fault.contains(told), "{bad}: {fault}");
    }
}

impl Bench {
    fn write_float(&mut self, address: u32, value: f64) {
        let payload = [&address.to_be_bytes()[..], &value.to_be_bytes()].concat();
        assert_eq!(self.say_as(1, command::WRITE_MEMORY, &payload).0, status::SUCCESS);
    }

    fn read_float(&mut self, address: u32) -> f64 {
        let payload = [address, 8].map(u32::to_be_bytes).concat();
        let (_, data) = self.say_as(1, command::READ_MEMORY, &payload);
        f64::from_be_bytes(data[4..].try_into().unwrap())
    }
}

#[test]
fn the_frame_rate_comes_back_after_a_setting_that_lowers_it() {
    let mut bench = Bench::new();
    bench.open();
    let rates =
        |bench: &mut Bench| [at::RATE, at::RESULTING_RATE].map(|address| bench.read_float(address));
    bench.write_float(at::RATE, 40.0);
    bench.write_float(at::EXPOSURE, 100_000.0);
    assert_eq!(rates(&mut bench), [40.0, 10.0]);
    bench.write_float(at::EXPOSURE, 1000.0);
    assert_eq!(rates(&mut bench), [40.0, 40.0]);
    // A rate that the camera does not reach is clipped when a host writes it.
    bench.write_float(at::EXPOSURE, 100_000.0);
    bench.write_float(at::RATE, 40.0);
    assert_eq!(rates(&mut bench), [10.0, 10.0]);
}

#[test]
fn user_sets_and_reset_bring_values_back() {
    let mut bench = Bench::new();
    bench.open();
    // Writing only the upper half of a float is refused.
    assert_eq!(bench.write_as(1, at::BLACK, 0), status::BAD_ALIGNMENT);
    bench.write(at::WIDTH, 32);
    bench.write(at::USER_SET, 1);
    bench.write(at::USER_SET_SAVE, 1);
    bench.write(at::USER_SET, 0);
    bench.write(at::USER_SET_LOAD, 1);
    assert_eq!(bench.read(at::WIDTH), 64);
    bench.write(at::USER_SET, 1);
    bench.write(at::USER_SET_LOAD, 1);
    assert_eq!(bench.read(at::WIDTH), 32);
    bench.write(at::RESET, 1);
    bench.run_ms(2100);
    assert_eq!((bench.read(at::WIDTH), bench.read(0x0a00)), (64, 0));
}

#[test]
fn a_reset_forgets_what_was_latched() {
    let latched = [at::PTP_STATUS, at::PTP_OFFSET, at::PTP_OFFSET_LOW, 0x0948, 0x094c];
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Virtual);
    let at_power_up = latched.map(|address| bench.read(address));
    bench.open();
    bench.write(0x0954, 1 << 19 | 1);
    bench.run_ms(30_000);
    bench.write(at::PTP_LATCH, 1);
    bench.write(0x0944, 2);
    assert_eq!(bench.read(at::PTP_STATUS), 9);
    assert_ne!(bench.read(0x094c), 0);
    bench.write(at::RESET, 1);
    bench.run_ms(2100);
    assert_eq!(latched.map(|address| bench.read(address)), at_power_up);
}
