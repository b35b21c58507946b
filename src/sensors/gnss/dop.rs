//! Dilution of precision: ratio of position errors to range errors, from the satellites' geometry.

use glam::{DMat3, DVec3};

/// Dilutions of precision and the covariance from which they are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dop {
    /// Position part of `(G^T G)^-1`: covariance of the position (east, north, up) for range errors with a standard
    /// deviation of 1.
    pub covariance: DMat3,
    /// Time part of `(G^T G)^-1`, for the system with the most satellites.
    pub time_variance: f64,
}

impl Dop {
    /// Dilution from the satellites in use. `satellites` has the direction of each (unit vector east, north, up) and
    /// the number of its system. Each row of G is (-direction, 1 in the column of the system's clock). `None` if the
    /// satellites do not determine a position.
    ///
    /// The clocks are eliminated. With the sum s and the count n of a system's directions, the system's part of the
    /// position's information matrix is `sum g g^T - s s^T / n`.
    pub fn of(satellites: &[(DVec3, usize)]) -> Option<Self> {
        let mut information = DMat3::ZERO;
        let mut systems: Vec<(usize, DVec3, f64)> = Vec::new();
        for &(direction, system) in satellites {
            information += outer(direction);
            match systems.iter_mut().find(|(other, _, _)| *other == system) {
                Some((_, sum, count)) => {
                    *sum += direction;
                    *count += 1.0;
                }
                None => systems.push((system, direction, 1.0)),
            }
        }
        if satellites.len() < 3 + systems.len() {
            return None;
        }
        for (_, sum, count) in &systems {
            information -= outer(*sum) * count.recip();
        }
        // Coplanar directions leave one axis undetermined; because of rounding, the determinant is near zero instead
        // of zero.
        if information.determinant() < 1e-9 {
            return None;
        }
        let covariance = information.inverse();
        let (_, sum, count) = systems.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let mean = *sum / *count;
        let time_variance = count.recip() + mean.dot(covariance * mean);
        Some(Self { covariance, time_variance })
    }

    /// Dilutions along east, north and up: EDOP, NDOP and VDOP.
    pub fn axes(&self) -> DVec3 {
        let c = &self.covariance;
        DVec3::new(c.x_axis.x.sqrt(), c.y_axis.y.sqrt(), c.z_axis.z.sqrt())
    }

    /// Horizontal dilution (HDOP).
    pub fn horizontal(&self) -> f64 {
        (self.covariance.x_axis.x + self.covariance.y_axis.y).sqrt()
    }

    /// Vertical dilution (VDOP).
    pub fn vertical(&self) -> f64 {
        self.covariance.z_axis.z.sqrt()
    }

    /// Dilution of the three-dimensional position (PDOP).
    pub fn position(&self) -> f64 {
        self.axes().length()
    }

    /// Dilution of the time (TDOP), for the clock of the system with the most satellites.
    pub fn time(&self) -> f64 {
        self.time_variance.sqrt()
    }

    /// Dilution of position and time together (GDOP).
    pub fn geometric(&self) -> f64 {
        (self.axes().length_squared() + self.time_variance).sqrt()
    }

    /// All dilutions multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let square = factor * factor;
        Self { covariance: self.covariance * square, time_variance: self.time_variance * square }
    }
}

fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(elevation_deg: f64, azimuth_deg: f64) -> DVec3 {
        let (se, ce) = libm::sincos(elevation_deg.to_radians());
        let (sa, ca) = libm::sincos(azimuth_deg.to_radians());
        DVec3::new(ce * sa, ce * ca, se)
    }

    /// One satellite at the zenith, three at the horizon 120 degrees apart: HDOP² = 4/3, VDOP² = 4/3, TDOP² = 1/3
    /// (computed by hand from (G^T G)^-1).
    #[test]
    fn a_tetrahedron_has_the_textbooks_values() {
        let mut satellites = vec![(direction(90.0, 0.0), 0)];
        satellites.extend([0.0, 120.0, 240.0].map(|azimuth| (direction(0.0, azimuth), 0)));
        let dop = Dop::of(&satellites).unwrap();
        assert!((dop.horizontal().powi(2) - 4.0 / 3.0).abs() < 1e-12);
        assert!((dop.vertical().powi(2) - 4.0 / 3.0).abs() < 1e-12);
        assert!((dop.time().powi(2) - 1.0 / 3.0).abs() < 1e-12);
        assert!((dop.geometric().powi(2) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_system_more_needs_a_satellite_more() {
        let four = [(60.0, 0.0), (20.0, 90.0), (30.0, 200.0), (45.0, 300.0)];
        let one: Vec<_> = four.map(|(e, a)| (direction(e, a), 0)).to_vec();
        let alone = Dop::of(&one).unwrap();
        let mut two = one.clone();
        two.push((direction(50.0, 130.0), 1));
        // A single satellite of a second system determines only the clock of that system.
        let with = Dop::of(&two).unwrap();
        assert!((alone.position() - with.position()).abs() < 1e-9);
        two.push((direction(15.0, 10.0), 1));
        assert!(Dop::of(&two).unwrap().position() < alone.position());
        assert!(Dop::of(&one[..3]).is_none());
        let flat: Vec<_> = [10.0, 100.0, 190.0, 280.0].map(|a| (direction(0.0, a), 0)).to_vec();
        assert!(Dop::of(&flat).is_none());
    }
}
