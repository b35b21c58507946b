//! Text of percentiles. Percentiles that equal the maximum, because there are too few values, are marked.

use crate::time::duration::describe_us;
use crate::timing::is_maximum;

/// Text such as `p50 … p99 … max …`. `shares` has names of percentiles with their values in microseconds; `count` is
/// the number of values.
pub fn describe(count: u64, shares: &[(&str, f64)], max_us: f64) -> String {
    let mut text: String =
        shares.iter().map(|(share, us)| format!("p{share} {} ", describe_us(*us))).collect();
    text += &format!("max {}", describe_us(max_us));
    let few = few(count, shares.iter().map(|(share, _)| *share));
    if few.is_empty() { text } else { format!("{text} ({few})") }
}

/// Text such as `p99 and p99.9 are the maximum of 72 values`; empty if `count` values are enough for every percentile
/// in `shares`.
pub fn few<'s>(count: u64, shares: impl Iterator<Item = &'s str>) -> String {
    let is_few =
        |share: &&str| share.parse().is_ok_and(|share: f64| is_maximum(share / 100.0, count));
    let few: Vec<String> = shares.filter(is_few).map(|share| format!("p{share}")).collect();
    let Some((last, before)) = few.split_last() else { return String::new() };
    let values = if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
    match before {
        [] => format!("{last} is the maximum of {values}"),
        before => format!("{} and {last} are the maximum of {values}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_values_are_said_to_be_the_maximum() {
        let shares = [("50", 3.0), ("99", 40.0), ("99.9", 41.0)];
        let of = |count| describe(count, &shares, 41.0);
        assert!(of(1000).ends_with("max 41 us"), "{}", of(1000));
        assert!(of(999).ends_with("max 41 us (p99.9 is the maximum of 999 values)"), "{}", of(999));
        assert!(of(72).ends_with(" (p99 and p99.9 are the maximum of 72 values)"), "{}", of(72));
        assert!(of(1).ends_with(" (p50, p99 and p99.9 are the maximum of 1 value)"), "{}", of(1));
        assert!(of(0).ends_with("max 41 us"), "{}", of(0));
    }
}
