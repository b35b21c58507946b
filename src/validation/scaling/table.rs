//! Results as a table.

use std::fmt::Write;

use super::{LIDAR, Measurements, PAPER_REAL_TIME, RAYS_A_PULSE};

/// Table of all measurements, as text.
pub(super) fn text(measured: &Measurements) -> String {
    let mut out = format!(
        "{LIDAR} in a courtyard, {RAYS_A_PULSE} rays per pulse: poses, rays, echoes and errors\n"
    );
    let _ = match &measured.gpu {
        Ok(name) => writeln!(out, "GPU {name}"),
        Err(why) => writeln!(out, "no GPU: {why}"),
    };
    for (size, why) in &measured.refused {
        let _ = writeln!(out, "{size} triangles are not measured on the GPU: {why}");
    }
    let _ = match &measured.embree {
        Ok(version) => writeln!(out, "Embree {version}"),
        Err(why) => writeln!(out, "Embree is left out: {why}"),
    };
    let _ = writeln!(
        out,
        "\n  {:>12}  {:8}  {:>7}  {:>12}  {:>12}  {:>10}  {:>9}",
        "triangles", "caster", "threads", "pulses/s", "rays/s", "real time", "speed-up"
    );
    for row in &measured.rows {
        let one = measured.of(row.triangles, row.caster, 1);
        let gain = one
            .map_or_else(String::new, |one| format!("{:.2}", row.pulses_per_s / one.pulses_per_s));
        let _ = writeln!(
            out,
            "  {:>12}  {:8}  {:>7}  {:>10.3} M  {:>10.2} M  {:>10.2}  {gain:>9}",
            row.triangles,
            row.caster,
            row.threads,
            row.pulses_per_s * 1e-6,
            row.pulses_per_s * RAYS_A_PULSE * 1e-6,
            row.pulses_per_s / measured.real_time_hz,
        );
    }
    let _ = writeln!(
        out,
        "\nGoodin et al. 2018, section 3.3: an LMS 291 on 4 processors simulates 6.8 s in 4.7 s\n\
         ({PAPER_REAL_TIME:.2} of real time), and an HDL-64E on 40 Ivy Bridge at the same speed."
    );
    out
}
