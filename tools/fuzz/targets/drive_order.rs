//! A command datagram to a driven robot: an accepted command is within limits and is encoded to the same bytes.

use menura::wire::drive_order::{DriveOrder, MAX_RATE_RAD_S, MAX_SPEED_M_S};

pub fn run(data: &[u8]) {
    let Ok(order) = DriveOrder::decode(data) else { return };
    if let DriveOrder::Twist { forward_m_s, turn_rad_s } = order {
        assert!(forward_m_s.abs() <= MAX_SPEED_M_S && turn_rad_s.abs() <= MAX_RATE_RAD_S);
    }
    assert_eq!(order.encode(), data);
}
