//! Durations in a readable form.

use std::time::Duration;

/// Longest accepted duration, seconds: 366 days.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Reads a duration such as `10s`, `1.5s`, `500ms`, `2min`, `1h`, or plain seconds, of more than zero and at most 366
/// days. The error is a message for the user.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] =
        [("ms", 1e-3), ("min", 60.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, scale) = UNITS
        .iter()
        .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok().map(|n| n * scale);
    match seconds {
        Some(s) if s > 0.0 && s <= LONGEST_S => Ok(Duration::from_secs_f64(s)),
        _ => {
            Err("a duration is a number above 0 with ms, s, min or h, up to a year: 10s, 500ms"
                .into())
        }
    }
}

/// Formats a time in microseconds with three significant digits in a suitable unit: `150 ns`, `7.25 us`, `19.6 ms`,
/// `2.5 s`. Zeros at the end are omitted.
pub fn describe_us(us: f64) -> String {
    describe_us_to(us, 3)
}

/// Like [`describe_us`], with `digits` significant digits.
pub fn describe_us_to(us: f64, digits: i32) -> String {
    const UNITS: [(&str, f64); 3] = [("s", 1e6), ("ms", 1e3), ("us", 1.0)];
    if !us.is_finite() || us == 0.0 {
        return format!("{us} us");
    }
    // Values are rounded before the unit is selected: 999.96 us are 1 ms.
    let in_unit = |(unit, scale): (&'static str, f64)| (rounded(us / scale, digits), unit);
    let fitting = UNITS.into_iter().map(in_unit).find(|(value, _)| value.abs() >= 1.0);
    // A nanosecond is the smallest unit, because no clock in Menura has a finer resolution.
    let (value, unit) = fitting.unwrap_or(((us * 1e3).round(), "ns"));
    // Adding 0.0 removes the sign of a zero.
    format!("{} {unit}", value + 0.0)
}

/// `value` rounded to `digits` significant digits; all digits before the point are kept.
fn rounded(value: f64, digits: i32) -> f64 {
    let places = (digits - 1 - libm::floor(libm::log10(value.abs())) as i32).max(0);
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        for (us, told) in [
            (0.0, "0 us"),
            (0.000_2, "0 ns"),
            (0.15, "150 ns"),
            (0.999_96, "1 us"),
            (7.254, "7.25 us"),
            (12.0, "12 us"),
            (999.4, "999 us"),
            (999.96, "1 ms"),
            (1000.0, "1 ms"),
            (19_578.123, "19.6 ms"),
            (-14_999.999_999_999_998, "-15 ms"),
            (999_999.0, "1 s"),
            (2_500_000.0, "2.5 s"),
            (37_123_456.0, "37.1 s"),
            (7_200_000_000.0, "7200 s"),
            (f64::NAN, "NaN us"),
        ] {
            assert_eq!(describe_us(us), told, "{us}");
        }
        assert_eq!(describe_us_to(1327.104, 6), "1.3271 ms");
        assert_eq!(describe_us_to(500.223, 6), "500.223 us");
    }

    #[test]
    fn units_are_told_apart() {
        let millis = |text| parse_duration(text).map(|d| d.as_millis());
        assert_eq!(millis("10s"), Ok(10_000));
        assert_eq!(millis("1.5s"), Ok(1_500));
        assert_eq!(millis("500ms"), Ok(500));
        assert_eq!(millis("2min"), Ok(120_000));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("3"), Ok(3_000));
        for wrong in ["", "s", "-1s", "0s", "nan", "inf", "1e99h", "10 years"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }
}
