//! Names of text outputs.

/// Names of text outputs and their codes in register 6.
pub const MESSAGES: [(&str, u8); 13] = [
    ("ypr", 1),
    ("qtn", 2),
    ("qmr", 8),
    ("mag", 10),
    ("acc", 11),
    ("gyr", 12),
    ("mar", 13),
    ("ymr", 14),
    ("yba", 16),
    ("yia", 17),
    ("imu", 19),
    ("dtv", 30),
    ("off", 0),
];
