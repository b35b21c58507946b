//! Durations as people type them.

use std::time::Duration;

/// Longest duration taken, seconds: a year.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Reads `10s`, `1.5s`, `500ms`, `2min`, `1h` or plain seconds.
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

#[cfg(test)]
mod tests {
    use super::*;

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
