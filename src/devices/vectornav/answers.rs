//! Registers of a VN-100 at power-on.

use std::collections::BTreeMap;

use super::VectorNavUnit;
use crate::imu::answers::{Setting, numbers, stored};
use crate::imu::{Dialect, Protocol, Unit};

keys! {
    /// Register contents of a VN-100 at power-on.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct VectorNavAnswers {
        /// Contents of registers by number.
        pub registers: BTreeMap<u8, String> => |table| {
            let says = |id, count| format!("Register {id} before a host writes it, {count} numbers.");
            let list = VECTORNAV_REGISTERS.map(|(key, id, count)| ((key, id, count), says(id, count)));
            stored(table, list, numbers)
        };
    }
}

impl Dialect for VectorNavAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(VectorNavUnit::new(unit, self.registers.clone()))
    }
}

/// Registers that a profile lists: key, register number, number of values.
pub const VECTORNAV_REGISTERS: [Setting; 18] = [
    ("register_21", 21, 6),
    ("register_23", 23, 12),
    ("register_25", 25, 12),
    ("register_26", 26, 9),
    ("register_30", 30, 7),
    ("register_32", 32, 9),
    ("register_35", 35, 4),
    ("register_36", 36, 9),
    ("register_38", 38, 9),
    ("register_43", 43, 3),
    ("register_44", 44, 3),
    ("register_47", 47, 12),
    ("register_50", 50, 3),
    ("register_51", 51, 3),
    ("register_82", 82, 5),
    ("register_83", 83, 9),
    ("register_84", 84, 12),
    ("register_85", 85, 10),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imu::tests::dialect;

    #[test]
    fn the_profile_has_them() {
        assert_eq!(dialect::<VectorNavAnswers>("vectornav-vn100").registers[&35], "1,1,1,1");
    }
}
