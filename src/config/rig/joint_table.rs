//! The smooth curve through the rows of a joint's table.
//!
//! The curve is the cubic spline through the rows: position, rate and acceleration are continuous, and the curve passes
//! through each row without smoothing. Between two rows, the curve can go beyond the positions of both rows. The curve
//! of a table that is not repeated begins and ends at rest. A repeated table connects its last row to its first with
//! equal rate and acceleration. If their positions differ, for example by a whole number of turns, each cycle continues
//! from the end of the previous one.

/// Smooth curve through the rows of a joint's table, see the module.
#[derive(Clone, Debug, PartialEq)]
pub struct JointTable {
    /// Time (seconds), position and rate at each row.
    knots: Vec<[f64; 3]>,
    repeats: bool,
}

impl JointTable {
    /// The curve through `rows` of time in seconds and position. There must be two or more rows in ascending order;
    /// the first is at 0 s.
    pub fn new(rows: &[[f64; 2]], repeats: bool) -> Self {
        let rates = if repeats { cyclic_rates(rows) } else { clamped_rates(rows) };
        let knots = rows.iter().zip(rates).map(|(row, rate)| [row[0], row[1], rate]).collect();
        Self { knots, repeats }
    }

    /// The position of the first row.
    pub fn start(&self) -> f64 {
        self.knots.first().map_or(0.0, |knot| knot[1])
    }

    /// Position, rate and acceleration after `t_s` seconds. After the last row of a table that is not repeated, the
    /// joint stays at the position of this row.
    pub fn at(&self, t_s: f64) -> [f64; 3] {
        let (Some(first), Some(last)) = (self.knots.first(), self.knots.last()) else {
            return [0.0; 3];
        };
        let round_s = last[0] - first[0];
        let (t_s, gone) = if self.repeats && t_s >= round_s {
            let rounds = (t_s / round_s).floor();
            ((t_s - rounds * round_s).clamp(0.0, round_s), rounds * (last[1] - first[1]))
        } else {
            (t_s, 0.0)
        };
        if t_s >= last[0] && !self.repeats {
            return [last[1], 0.0, 0.0];
        }
        let next = self.knots.partition_point(|knot| knot[0] <= t_s);
        let next = next.clamp(1, self.knots.len() - 1);
        let ([t0, p0, r0], [t1, p1, r1]) = (self.knots[next - 1], self.knots[next]);
        let (span, after) = (t1 - t0, t_s - t0);
        let [bend, twist] = bends(p1 - p0, r0, r1, span);
        [
            gone + p0 + after * (r0 + after * (bend + after * twist)),
            r0 + after * (2.0 * bend + 3.0 * after * twist),
            2.0 * bend + 6.0 * after * twist,
        ]
    }

    /// Lowest and highest position; `None` if each cycle of a repeated table ends at another position than it started
    /// from.
    pub fn reach(&self) -> Option<[f64; 2]> {
        let (first, last) = (self.knots.first()?, self.knots.last()?);
        if self.repeats && first[1] != last[1] {
            return None;
        }
        let mut reach = [first[1]; 2];
        for pair in self.knots.windows(2) {
            let ([t0, p0, r0], [t1, p1, r1]) = (pair[0], pair[1]);
            let span = t1 - t0;
            let [bend, twist] = bends(p1 - p0, r0, r1, span);
            // A quarter of the discriminant of the quadratic equation for a rate of zero.
            let under_root = bend * bend - 3.0 * twist * r0;
            let root = under_root.max(0.0).sqrt();
            let turning = [(-bend - root) / (3.0 * twist), (-bend + root) / (3.0 * twist)];
            let straight = [-r0 / (2.0 * bend)];
            let turning = turning.into_iter().chain(straight);
            let turning = turning.filter(|after| (0.0..=span).contains(after));
            for after in turning.chain([span]) {
                let position = p0 + after * (r0 + after * (bend + after * twist));
                reach = [reach[0].min(position), reach[1].max(position)];
            }
        }
        Some(reach)
    }
}

/// Coefficients of t² and t³ in the cubic polynomial of a piece. The piece has the duration `span`, the displacement
/// `way`, and these rates at its ends.
fn bends(way: f64, from_rate: f64, to_rate: f64, span: f64) -> [f64; 2] {
    let mean = way / span;
    let bend = (3.0 * mean - 2.0 * from_rate - to_rate) / span;
    [bend, (from_rate + to_rate - 2.0 * mean) / (span * span)]
}

/// Rates at the rows for which the acceleration is continuous; the rates of the first and the last row are zero.
fn clamped_rates(rows: &[[f64; 2]]) -> Vec<f64> {
    let inner = rows.len().saturating_sub(2);
    let mut system = Tridiagonal::default();
    for row in rows.windows(3).take(inner) {
        system.push(equation(row[0], row[1], row[2]));
    }
    // The rates at the ends are zero, so their terms vanish.
    let inner = system.solved();
    [0.0].into_iter().chain(inner).chain([0.0]).collect()
}

/// Like [`clamped_rates`], for a repeated table, whose first and last row have the same rate.
fn cyclic_rates(rows: &[[f64; 2]]) -> Vec<f64> {
    let count = rows.len() - 1;
    let (first, last) = (rows[0], rows[count]);
    let round = [last[0] - first[0], last[1] - first[1]];
    let before = |row: [f64; 2]| [row[0] - round[0], row[1] - round[1]];
    let equations: Vec<_> = (0..count)
        .map(|place| {
            let previous = if place == 0 { before(rows[count - 1]) } else { rows[place - 1] };
            equation(previous, rows[place], rows[place + 1])
        })
        .collect();
    let rates = match &equations[..] {
        // A single piece connects a row to the same row of the next cycle, at the mean rate.
        [_] => vec![round[1] / round[0]],
        // With two unknowns, the corner elements coincide with the off-diagonal elements.
        [a, b] => {
            let (a_off, b_off) = (a.below + a.above, b.below + b.above);
            let determinant = a.on * b.on - a_off * b_off;
            vec![
                (a.right * b.on - b.right * a_off) / determinant,
                (b.right * a.on - a.right * b_off) / determinant,
            ]
        }
        _ => cyclic_solution(&equations),
    };
    rates.iter().copied().chain([rates[0]]).collect()
}

/// Solves a tridiagonal system with two corner elements (Sherman and Morrison).
fn cyclic_solution(equations: &[Equation]) -> Vec<f64> {
    let (first, last) = (equations[0], equations[equations.len() - 1]);
    let gamma = -first.on;
    let mut system = Tridiagonal::default();
    let mut corner = Tridiagonal::default();
    for (place, equation) in equations.iter().enumerate() {
        let mut own = *equation;
        let mut right = 0.0;
        if place == 0 {
            own.on -= gamma;
            right = gamma;
        }
        if place + 1 == equations.len() {
            own.on -= first.below * last.above / gamma;
            right = last.above;
        }
        system.push(own);
        corner.push(Equation { right, ..own });
    }
    let (solution, by_corner) = (system.solved(), corner.solved());
    let end = equations.len() - 1;
    let share = |values: &[f64]| values[0] + values[end] * first.below / gamma;
    let factor = share(&solution) / (1.0 + share(&by_corner));
    solution.iter().zip(by_corner).map(|(x, z)| x - factor * z).collect()
}

/// The equation `below * x[i-1] + on * x[i] + above * x[i+1] = right`.
#[derive(Clone, Copy)]
struct Equation {
    below: f64,
    on: f64,
    above: f64,
    right: f64,
}

/// The equation between the rates at three successive rows that makes the acceleration continuous at the middle row.
fn equation(before: [f64; 2], row: [f64; 2], after: [f64; 2]) -> Equation {
    let (left, right) = (row[0] - before[0], after[0] - row[0]);
    let slopes = [(row[1] - before[1]) / left, (after[1] - row[1]) / right];
    Equation {
        below: 1.0 / left,
        on: 2.0 / left + 2.0 / right,
        above: 1.0 / right,
        right: 3.0 * (slopes[0] / left + slopes[1] / right),
    }
}

/// A tridiagonal system of equations, solved by the Thomas algorithm.
#[derive(Default)]
struct Tridiagonal {
    /// Coefficients above the diagonal, and right-hand sides, after the diagonal is scaled to 1.
    rows: Vec<[f64; 2]>,
}

impl Tridiagonal {
    fn push(&mut self, Equation { below, on, above, right }: Equation) {
        let [above_last, right_last] = self.rows.last().copied().unwrap_or_default();
        let below = if self.rows.is_empty() { 0.0 } else { below };
        let pivot = on - below * above_last;
        self.rows.push([above / pivot, (right - below * right_last) / pivot]);
    }

    fn solved(self) -> Vec<f64> {
        let mut solution = vec![0.0; self.rows.len()];
        let mut next = 0.0;
        for (place, [above, right]) in self.rows.iter().enumerate().rev() {
            next = if place + 1 == self.rows.len() { *right } else { right - above * next };
            solution[place] = next;
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest jumps of position, rate and acceleration.
    fn jumps(table: &JointTable, until_s: f64, times: &[f64]) -> [f64; 3] {
        let mut worst = [0.0f64; 3];
        for t in times.iter().filter(|t| **t > 0.0 && **t < until_s) {
            let (before, after) = (table.at(t - 1e-9), table.at(t + 1e-9));
            for (worst, (a, b)) in worst.iter_mut().zip(before.iter().zip(after)) {
                *worst = worst.max((a - b).abs());
            }
        }
        worst
    }

    const ROWS: [[f64; 2]; 5] = [[0.0, 0.0], [1.0, 0.4], [1.7, -0.3], [3.0, 0.9], [4.0, 0.5]];

    #[test]
    fn the_curve_meets_its_rows_and_is_smooth_between() {
        let table = JointTable::new(&ROWS, false);
        for [t, position] in ROWS {
            assert!((table.at(t)[0] - position).abs() < 1e-12);
        }
        let [position, rate, acceleration] = jumps(&table, 4.0, &[1.0, 1.7, 3.0]);
        assert!(position < 1e-8 && rate < 1e-7 && acceleration < 1e-6, "{acceleration}");
        assert_eq!(table.at(0.0)[1], 0.0);
        assert_eq!(table.at(9.0), [0.5, 0.0, 0.0]);
        // Checks that the rate is the derivative of the position, and the acceleration that of the rate.
        for t in [0.3, 1.2, 2.0, 3.5] {
            let h = 1e-5;
            let (before, now, after) = (table.at(t - h), table.at(t), table.at(t + h));
            assert!(((after[0] - before[0]) / (2.0 * h) - now[1]).abs() < 1e-7);
            assert!(((after[1] - before[1]) / (2.0 * h) - now[2]).abs() < 1e-7);
        }
    }

    #[test]
    fn rounds_join_smoothly_and_may_lead_on() {
        for rows in [
            &[[0.0, 0.0], [1.0, 0.4], [1.7, -0.3], [3.0, 0.9], [4.0, 0.0]][..],
            &[[0.0, 0.0], [1.0, 0.4], [1.7, 2.0], [4.0, 6.0]],
            &[[0.0, 0.2], [1.0, 0.9], [3.0, 0.2]],
            &[[0.0, 0.2], [2.0, 6.4]],
        ] {
            let table = JointTable::new(rows, true);
            let round = rows[rows.len() - 1];
            let times: Vec<f64> = (0..3)
                .flat_map(|n| rows.iter().map(move |row| row[0] + f64::from(n) * round[0]))
                .collect();
            let [position, rate, acceleration] = jumps(&table, 2.9 * round[0], &times);
            assert!(position < 1e-7 && rate < 1e-6 && acceleration < 1e-5, "{rows:?} {rate}");
            for row in &rows[..rows.len() - 1] {
                let gone = 2.0 * (round[1] - rows[0][1]);
                let at = table.at(row[0] + 2.0 * round[0])[0];
                assert!((at - row[1] - gone).abs() < 1e-9, "{at} {row:?}");
            }
        }
        // One row that is repeated a turn later: a constant rate.
        let turn = JointTable::new(&[[0.0, 0.0], [2.0, 6.0]], true);
        assert_eq!(turn.at(5.0), [15.0, 3.0, 0.0]);
        assert_eq!(turn.reach(), None);
    }

    #[test]
    fn the_reach_holds_what_lies_between_the_rows() {
        for repeats in [false, true] {
            let rows = [[0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [3.0, 0.0]];
            let table = JointTable::new(&rows, repeats);
            let [low, high] = table.reach().unwrap();
            let seen = (0..=3000).map(|i| table.at(f64::from(i) * 1e-3)[0]);
            let seen = seen.fold([f64::MAX, f64::MIN], |[l, h], x| [l.min(x), h.max(x)]);
            assert!((low - seen[0]).abs() < 1e-6 && (high - seen[1]).abs() < 1e-6);
            assert!(high > 1.05, "it swings beyond the rows");
        }
    }
}
