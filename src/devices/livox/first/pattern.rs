//! Beam directions: closed forms fitted to the maker's tables of the non-repetitive patterns.
//!
//! Two prisms rotate in opposite directions at different speeds. The main terms are the deflections by the two prisms;
//! the other terms describe how each prism changes the deflection by the other. Deviation from the tables, degrees (rms
//! and maximum): Mid-40 0.009 and 0.024, Mid-70 0.014 and 0.033, Avia 0.019 and 0.10, Horizon 0.041 and 0.12.

use fearless_simd::Simd;
use glam::{DVec2, DVec3};

use super::super::complex::{ClosedForm, Lanes, Motions, Term, forward, sum};
use super::profile::Form;

/// Number of powers that are computed for each prism, whose rotation is a complex number: powers 0 to `POWERS` - 1.
const POWERS: usize = 6;

/// A closed form of beam directions. Each direction is a complex number: the unit vector's left component plus i times
/// its up component.
struct Shape {
    /// Number of lines, which fire in turn.
    lines: usize,
    /// Terms common to all lines.
    common: &'static [Term],
    /// Elevation difference between adjacent lines, radians.
    line_rad: f64,
    /// Relative variation of `line_rad` as the prisms rotate.
    by_line: &'static [Term],
    /// Number of the group that is the first row of the maker's table; in group 0 both prisms are at angle 0.
    first: f64,
}

const MID_40: Shape = Shape {
    lines: Form::Mid40.lines(),
    common: &[(1, 0, 0.16412), (0, 1, 0.16715), (2, -1, -0.00294)],
    line_rad: 0.0,
    by_line: &[],
    first: 1.0,
};
const MID_70: Shape = Shape {
    lines: Form::Mid70.lines(),
    common: &[
        (1, 0, -0.28586),
        (0, 1, -0.27332),
        (2, -1, -0.01473),
        (3, -2, -0.00122),
        (-1, 2, -0.00122),
    ],
    line_rad: 0.0,
    by_line: &[],
    first: 1.0,
};
const AVIA: Shape = Shape {
    lines: Form::Avia.lines(),
    common: &[
        (1, 0, -0.28595),
        (0, 1, -0.27339),
        (2, -1, -0.01476),
        (3, -2, -0.00122),
        (-1, 2, -0.00122),
    ],
    line_rad: 0.01627,
    by_line: &[
        (2, 0, -0.059),
        (1, 1, -0.033),
        (1, -1, 0.033),
        (0, 2, 0.017),
        (-1, 1, 0.010),
        (3, -1, -0.010),
    ],
    first: 0.0,
};
const HORIZON: Shape = Shape {
    lines: Form::Horizon.lines(),
    common: &[
        (1, 0, -0.2331),
        (-1, 0, -0.2236),
        (0, 1, -0.1865),
        (3, 0, -0.01067),
        (-1, 2, 0.00453),
        (1, 2, 0.00435),
        (2, 1, -0.00373),
        (-2, 1, -0.00373),
        (5, 0, -0.0007),
        (-3, 0, -0.00058),
    ],
    line_rad: 0.015435,
    by_line: &[(2, 0, -0.028), (-2, 0, 0.028), (0, 2, 0.019)],
    first: 1.0,
};

impl Form {
    fn shape(self) -> &'static Shape {
        match self {
            Self::Mid40 => &MID_40,
            Self::Mid70 => &MID_70,
            Self::Avia => &AVIA,
            Self::Horizon => &HORIZON,
        }
    }
}

impl ClosedForm for Shape {
    fn lines(&self) -> usize {
        self.lines
    }

    #[inline(always)]
    fn groups<S: Simd>(&self, [first, second]: [Lanes<S>; 2], aims: &mut [DVec3]) {
        let one = Lanes::all(first.re.simd, DVec2::X);
        let powers = [first.powers::<POWERS>(), second.powers()];
        let by_line = one.plus(sum(self.by_line, &powers)).ahead().scaled(self.line_rad);
        forward(sum(self.common, &powers), by_line, self.lines, aims);
    }
}

/// Scan pattern of a unit: computes the beam directions of its pulses.
#[derive(Clone, Debug)]
pub struct Pattern {
    form: Form,
    /// Rotations of the prisms in the non-repetitive and in the repetitive pattern.
    motions: [Motions; 2],
}

impl Pattern {
    /// Pattern of `form` with the given pulse rate and prism speeds. At the start of the run, the prisms have rotated
    /// for `start_s` seconds.
    pub fn new(form: Form, pulse_rate_hz: u32, prism_rpm: [f64; 2], start_s: f64) -> Self {
        let group_s = form.lines() as f64 / f64::from(pulse_rate_hz);
        let before = (start_s / group_s).round() + form.shape().first;
        let [one, other] = prism_rpm.map(|rpm| rpm / 60.0 * group_s);
        let motions = [[one, other], [one, -one]].map(|turns| Motions::new(turns, before));
        Self { form, motions }
    }

    /// Unit vectors (forward, left, up) of `count` groups from group `first` on; the lines of a group are adjacent. In
    /// the repetitive pattern both prisms have the same speed, which gives straight lines.
    pub fn aims(&self, first: u64, count: usize, repeats: bool) -> Vec<DVec3> {
        self.motions[usize::from(repeats)].aims(self.form.shape(), first, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(form: Form) -> Pattern {
        let (rate_hz, rpm) = match form {
            Form::Mid40 | Form::Mid70 => (100_000, [-4664.0, 7294.0]),
            Form::Avia => (240_000, [-2448.0, 7893.0]),
            Form::Horizon => (240_000, [7352.0, -619.0]),
        };
        Pattern::new(form, rate_hz, rpm, 0.0)
    }

    /// Half the field of view, degrees: horizontal and vertical.
    fn field_deg(form: Form, repeats: bool) -> [f64; 2] {
        let aims = pattern(form).aims(0, 200_000, repeats);
        aims.iter().fold([0.0, 0.0], |[side, up], aim| {
            assert!((aim.length() - 1.0).abs() < 1e-9);
            let own = [libm::atan2(aim.y, aim.x), libm::asin(aim.z)].map(|a| a.to_degrees().abs());
            [own[0].max(side), own[1].max(up)]
        })
    }

    #[test]
    fn it_fills_the_field_of_view_and_no_more() {
        for (form, side, up) in [
            (Form::Mid40, 38.4, 38.4),
            (Form::Mid70, 70.4, 70.4),
            (Form::Avia, 70.4, 77.2),
            // The data sheet says 25.1 degrees, the table 28.3.
            (Form::Horizon, 81.7, 28.3),
        ] {
            let found = field_deg(form, false).map(|half| 2.0 * half);
            assert!((found[0] - side).abs() < 0.3, "{form:?}: {} by {}", found[0], found[1]);
            assert!((found[1] - up).abs() < 0.3, "{form:?}: {} by {}", found[0], found[1]);
        }
    }

    #[test]
    fn the_repetitive_pattern_is_lines() {
        let [side, up] = field_deg(Form::Avia, true).map(|half| 2.0 * half);
        assert!((side - 70.5).abs() < 0.1 && (up - 6.9).abs() < 0.1, "{side} by {up}");
        // At 2448 rpm, 150 s are 6120 whole rotations, after which the direction repeats.
        let avia = pattern(Form::Avia);
        let (first, later) = (avia.aims(0, 1, true), avia.aims(100_000 * 60, 1, true));
        assert!((first[0] - later[0]).length() < 1e-6);
    }

    #[test]
    fn the_first_point_of_a_mid_40_is_where_the_closed_form_has_it() {
        let (a, b) = (-4664.0, 7294.0);
        let angle = |rpm: f64| rpm * std::f64::consts::TAU / 60.0 * 10e-6;
        let (a, b) = (angle(a), angle(b));
        let terms = [(a, 0.16412), (b, 0.16715), (2.0 * a - b, -0.00294)];
        let y: f64 = terms.iter().map(|(angle, size)| size * libm::cos(*angle)).sum();
        let z: f64 = terms.iter().map(|(angle, size)| size * libm::sin(*angle)).sum();
        let aim = pattern(Form::Mid40).aims(0, 1, false)[0];
        assert!((aim.y - y).abs() < 1e-12 && (aim.z - z).abs() < 1e-12, "{aim}");
    }

    #[test]
    fn pieces_of_the_pattern_are_the_whole() {
        for form in [Form::Mid40, Form::Avia, Form::Horizon] {
            let whole = pattern(form).aims(1_000_000, 48, false);
            let part = pattern(form).aims(1_000_024, 24, false);
            for (one, other) in whole[24 * form.lines()..].iter().zip(&part) {
                assert!((*one - *other).length() < 1e-9);
            }
        }
    }
}
