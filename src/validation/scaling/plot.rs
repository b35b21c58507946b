//! The plot of the experiment: speed over threads, and over triangles.

use super::Measurements;
use crate::plot::{Area, Axis, Figure, GREY, PALETTE, Panel};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 380.0;

/// Draws the speed in pulses per second: one panel over the number of threads, one over the number of triangles.
pub(super) fn draw(measured: &Measurements) -> Figure {
    let mut figure = Figure::new(WIDTH, "Pulses per second, HDL-64E in a courtyard");
    let sizes = measured.sizes();
    let most = measured.rows.iter().map(|row| row.pulses_per_s).fold(1.0, f64::max) * 1e-6;
    let threads = f64::from(measured.most_threads());
    let ones = measured.rows.iter().filter(|row| row.threads == 1 && row.caster == "Menura");
    let ideal = ones.map(|row| row.pulses_per_s * 1e-6 * threads).fold(most, f64::max);
    let real_time = measured.real_time_hz * 1e-6;
    let mut over_threads = Panel::new(
        "Menura by triangles; grey: one thread times the number of threads",
        Axis::linear("threads", 0.0, threads + 0.5),
        Axis::linear("million pulses per second", 0.0, ideal * 1.1),
    );
    for (triangles, colour) in sizes.iter().zip(PALETTE) {
        figure.legend(format!("{:.2} M triangles", *triangles as f64 * 1e-6), colour);
        let rows: Vec<_> = measured
            .rows
            .iter()
            .filter(|row| row.triangles == *triangles && row.caster == "Menura")
            .map(|row| (f64::from(row.threads), row.pulses_per_s * 1e-6))
            .collect();
        if let Some((_, one)) = rows.iter().find(|(threads, _)| *threads == 1.0) {
            over_threads.line([(0.0, 0.0), (threads, one * threads)], GREY);
        }
        over_threads.line(rows.iter().copied(), colour);
        over_threads.dots(rows.iter().map(|(x, y)| (*x, *y, colour)).collect(), (6.0, 6.0));
    }
    let least = measured.rows.iter().map(|row| row.pulses_per_s).fold(f64::MAX, f64::min) * 1e-6;
    let span = |size: Option<&u64>| size.map_or(1e6, |size| *size as f64);
    let mut over_triangles = Panel::new(
        format!("{threads} threads: Menura (line), GPU (dots), Embree (squares)"),
        Axis::logarithmic("triangles", span(sizes.first()), span(sizes.last())),
        Axis::logarithmic("million pulses per second", least.min(real_time), most.max(real_time)),
    );
    let best = |caster: &str, size: u64| match caster {
        "GPU" => measured.of_gpu(size),
        _ => measured.of(size, caster, measured.most_threads()),
    };
    for (caster, colour) in ["Menura", "Embree", "GPU"].into_iter().zip(PALETTE.into_iter().rev()) {
        let points: Vec<_> = sizes
            .iter()
            .filter_map(|size| best(caster, *size))
            .map(|row| (row.triangles as f64, row.pulses_per_s * 1e-6))
            .collect();
        let size_px = if caster == "Embree" { 9.0 } else { 5.0 };
        if caster == "Menura" {
            over_triangles.line(points.iter().copied(), colour);
        }
        over_triangles
            .dots(points.iter().map(|(x, y)| (*x, *y, colour)).collect(), (size_px, size_px));
    }
    let real_time = measured.real_time_hz * 1e-6;
    over_triangles.line([(span(sizes.first()), real_time), (span(sizes.last()), real_time)], GREY);
    figure.note("Grey in the right panel: the pulse rate of the real HDL-64E.");
    for (column, panel) in [over_threads, over_triangles].into_iter().enumerate() {
        let left = column as f64 * WIDTH / 2.0;
        figure.panel(Area { left, top: 0.0, width: WIDTH / 2.0, height: HEIGHT }, panel);
    }
    figure
}
