//! Any bytes from a host to a drive base: the unit does not panic, and due times never decrease.

use menura::devices::drive_base::DriveBase;
use menura::devices::drive_base::profile::BaseProfile;
use menura::devices::families::catalogue;
use menura::devices::{Device, Output};
use menura::sensors::{Measurement, Outcome, Subject};
use menura::time::SimTime;
use menura::world::actuation::Actuation;
use menura::world::vehicle::WheelState;

pub fn run(bytes: &[u8]) {
    let Some((&first, said)) = bytes.split_first() else { return };
    let units: Vec<_> =
        catalogue().profiles().iter().filter_map(|profile| profile.data::<BaseProfile>()).collect();
    let driver = units[usize::from(first) % units.len()];
    let mut settings = driver.defaults.clone();
    settings.times.is_input_paced = first & 0x80 != 0;
    let mut base = DriveBase::new(driver, &settings, Vec::new());
    let mut last = SimTime::ZERO;
    let mut wheels = WheelState::default();
    for (step, piece) in said.chunks(64).enumerate() {
        let now = SimTime(step as u64 * 20_000_000);
        base.handle_input(now, piece);
        base.advance(SimTime(now.0 + 10_000_000));
        while let Some(request) = base.poll_request(SimTime(now.0 + 10_000_000)) {
            let Subject::Series { count, .. } = request.subject else { return };
            wheels.travel_m = [wheels.travel_m[0] + 0.3, wheels.travel_m[1] - 0.2];
            let states = Outcome::Wheels(vec![wheels; count as usize]);
            base.handle_measurement(&Measurement::new(request, states));
        }
        while let Some(transmit) = base.poll_transmit() {
            match transmit.output {
                Output::Actuate(Actuation::Treads { left_m_s, right_m_s }) => {
                    let most = settings.wheels.max_speed_m_s;
                    assert!(left_m_s.abs() <= most && right_m_s.abs() <= most);
                }
                Output::Actuate(_) => {}
                _ => {
                    assert!(transmit.due >= last);
                    last = transmit.due;
                }
            }
        }
        assert!(base.nominal_rate_hz().is_finite());
    }
}
