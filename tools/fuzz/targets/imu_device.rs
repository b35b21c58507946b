//! Any bytes from a host to an IMU: the unit does not panic, due times never decrease, and the nominal rate stays finite.

use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::imu::Imu;
use menura::devices::imu::profile::ImuProfile;
use menura::time::{Epoch, SimTime};

pub fn run(bytes: &[u8]) {
    let Some((&first, said)) = bytes.split_first() else { return };
    let units: Vec<_> =
        catalogue().profiles().iter().filter_map(|profile| profile.data::<ImuProfile>()).collect();
    let driver = units[usize::from(first) % units.len()];
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let mut imu = Imu::new(driver, &driver.defaults, 1, "imu", Epoch::new(start));
    let mut last = SimTime::ZERO;
    for (step, piece) in said.chunks(64).enumerate() {
        let now = SimTime(step as u64 * 20_000_000);
        imu.handle_input(now, piece);
        imu.advance(SimTime(now.0 + 10_000_000));
        while let Some(transmit) = imu.poll_transmit() {
            assert!(transmit.due >= last);
            last = transmit.due;
        }
        assert!(imu.nominal_rate_hz().is_finite());
    }
}
