//! The plot of the experiment: speeds of the first drives, and histograms of all drives.

use super::metrics::Series;
use super::{Comparison, Drives, Group, Vepd, recorded, table};
use crate::plot::{Area, Axis, Colour, Figure, GREY, PALETTE, Panel};

const WIDTH: f64 = 1320.0;
const SPEEDS_HEIGHT: f64 = 340.0;
const BARS_HEIGHT: f64 = 150.0;
const BINS: usize = 48;
/// Colour of the reference.
const REFERENCE: Colour = Colour([30, 30, 35]);

/// Computes one number for each drive.
type Measure = fn(&Drives) -> Vec<f64>;

/// Draws all panels.
pub(super) fn draw(options: &Vepd, comparison: &Comparison) -> Figure {
    let groups: Vec<(&Group, Colour)> =
        comparison.groups.iter().zip(PALETTE).chain([(&comparison.reference, REFERENCE)]).collect();
    let mut figure = Figure::new(WIDTH, "Estimated speed");
    for line in table::preamble(options, comparison) {
        figure.note(line);
    }
    figure.legend("true speed", GREY);
    for (group, colour) in &groups {
        figure.legend(short_name(group), *colour);
    }
    let width = WIDTH / comparison.courses.len() as f64;
    for (column, course) in comparison.courses.iter().enumerate() {
        let drives: Vec<_> = groups
            .iter()
            .map(|(group, colour)| (&group.courses[course].example, *colour))
            .collect();
        let all = || drives.iter().flat_map(|(drive, _)| [&drive.estimated, &drive.truth]);
        let end_s = |series: &Series| series.times_s.last().copied().unwrap_or(0.0);
        let most = |series: &Series| series.values.iter().copied().fold(0.0, f64::max);
        let mut panel = Panel::new(
            format!("{}, first drive", recorded::name_of(*course)),
            Axis::linear("time, s", 0.0, all().map(end_s).fold(1.0, f64::max)),
            Axis::linear("speed, m/s", 0.0, all().map(most).fold(0.1, f64::max) * 1.05),
        );
        let points = |series: &Series| -> Vec<(f64, f64)> {
            series.times_s.iter().copied().zip(series.values.iter().copied()).collect()
        };
        // The true speed is drawn for each group, because it differs in groups of recorded drives.
        for (drive, colour) in drives.iter().rev() {
            panel.line(points(&drive.truth), GREY);
            panel.line(points(&drive.estimated), *colour);
        }
        let area = Area { left: column as f64 * width, top: 0.0, width, height: SPEEDS_HEIGHT };
        figure.panel(area, panel);
    }
    let columns: [(&str, Measure); 2] = [
        ("RMSE of the speed, m/s", Drives::rmse_m_s),
        ("difference of Wiener entropies", Drives::flatness_differences),
    ];
    for (column, (name, of)) in columns.into_iter().enumerate() {
        for (row, panel) in histograms(name, comparison, &groups, of).into_iter().enumerate() {
            let area = Area {
                left: column as f64 * WIDTH / 2.0,
                top: SPEEDS_HEIGHT + row as f64 * BARS_HEIGHT,
                width: WIDTH / 2.0,
                height: BARS_HEIGHT,
            };
            figure.panel(area, panel);
        }
    }
    figure
}

/// One panel for each group, all with the same scale.
fn histograms(
    name: &str,
    comparison: &Comparison,
    groups: &[(&Group, Colour)],
    of: Measure,
) -> Vec<Panel> {
    let values: Vec<Vec<f64>> =
        groups.iter().map(|(group, _)| group.all(&comparison.counted(), of)).collect();
    let high = (values.iter().flatten().copied().fold(0.0, f64::max) * 1.02).max(1e-6);
    let panels = values.iter().zip(groups).map(|(values, (group, colour))| {
        let mut counts = [0u32; BINS];
        for value in values {
            counts[((value / high * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(1).max(1);
        let mut panel = Panel::new(
            format!("{}: drives on grass", short_name(group)),
            Axis::linear(name, 0.0, high),
            Axis::linear("drives", 0.0, most.into())
                .with_ticks([0, most].map(|n| (f64::from(n), n.to_string()))),
        );
        let edge = |bin: usize| high * bin as f64 / BINS as f64;
        let bars = counts.iter().enumerate();
        panel.bars(
            bars.map(|(bin, n)| (edge(bin), edge(bin + 1), f64::from(*n))).collect(),
            *colour,
        );
        panel
    });
    panels.collect()
}

/// Short name of a group: the last part of its folder's name.
fn short_name(group: &Group) -> &str {
    group.name.rsplit('/').find(|part| !part.is_empty()).unwrap_or("")
}
