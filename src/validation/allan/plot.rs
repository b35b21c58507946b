//! The plot of the experiment: one panel per sensor, both axes logarithmic.

use super::Compared;
use crate::plot::{Axis, BLUE, Figure, ORANGE, Panel};

/// Draws the panels of all sensors, one below the other.
pub(super) fn draw(title: &str, compared: &[Compared]) -> Figure {
    let mut figure = Figure::new(900.0, format!("Allan deviation of {title}"));
    figure.legend("configured errors", BLUE);
    figure.legend("found, with one standard error", ORANGE);
    for sensor in compared {
        figure.panel_below(400.0, panel(sensor));
    }
    figure
}

fn panel(sensor: &Compared) -> Panel {
    let shown = |deviation: f64| deviation / sensor.scale;
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)))
    };
    let rows = &sensor.rows;
    let (shortest, longest) = range(&mut rows.iter().map(|row| row.point.tau_s));
    let (least, most) =
        range(&mut rows.iter().flat_map(|row| [shown(row.asked), shown(row.point.deviation)]));
    let mut panel = Panel::new(
        sensor.name,
        Axis::logarithmic("averaging time, s", shortest, longest),
        Axis::logarithmic(&format!("Allan deviation, {}", sensor.unit), least, most),
    );
    panel.line(rows.iter().map(|row| (row.point.tau_s, shown(row.asked))), BLUE);
    for row in rows {
        let (tau_s, found) = (row.point.tau_s, shown(row.point.deviation));
        let low = found * (1.0 - row.point.relative_error).max(0.01);
        let high = found * (1.0 + row.point.relative_error);
        panel.line([(tau_s, low), (tau_s, high)], ORANGE);
        panel.dots(vec![(tau_s, found, ORANGE)], (5.0, 5.0));
    }
    panel
}
