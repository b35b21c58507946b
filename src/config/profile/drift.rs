//! `drift_ppm` of a clock, with the same meaning for every product: relative error of its oscillator, positive if the
//! clock is fast.

use crate::toml::keys::Keys;
use crate::toml::reader::Limit;

/// Seconds per day that correspond to one part per million.
const S_PER_DAY: f64 = 0.0864;

/// Reads `drift_ppm` and stores it in `drift_s_per_day`, rounded to whole nanoseconds per day. The present value of
/// `drift_s_per_day` is the default of the key.
pub fn read(keys: &mut Keys<'_>, drift_s_per_day: &mut f64) {
    let how = "write parts per million: 1 s a day is 11.574 ppm";
    keys.table.was_called_in("drift_s_per_day", "drift_ppm", how);
    let limit = Limit::new(-40_000.0..=40_000.0, "ppm", "Menura: 4 % of the rate");
    let default = (*drift_s_per_day / S_PER_DAY * 1e8).round() / 1e8;
    let says = "Drift of the oscillator: positive is fast, negative is slow.";
    let ppm = keys.field_or("drift_ppm", default).meaning(says).number(&limit);
    keys.put(ppm.map(|ppm| (ppm * S_PER_DAY * 1e9).round() / 1e9), drift_s_per_day);
}
