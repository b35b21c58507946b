//! Distributions of ranges in a stand, as printed and as derived. Equation numbers: Goodin et al. 2018.

use crate::validation::statistics::gamma;

/// Depth of stands, metres.
pub const DEPTH_M: f64 = 5.0;
/// Full divergence of the beam, radians.
pub const GAMMA_RAD: f64 = 1e-3;
/// Distance of the beam's outer rays from its centre in MAVS, as a share of the footprint's radius.
pub const CAST_SHARE: f64 = 0.7;
/// Distance of the beam's outer rays from its centre, as Goodin et al. 2018 print it, as a share of the footprint's
/// radius.
pub const PRINTED_SHARE: f64 = 0.353_553;

/// A stand of upright cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stand {
    /// Distance from the sensor to the front edge, metres.
    pub distance_m: f64,
    /// Number of stems per square metre.
    pub stems_per_m2: f64,
    /// Diameter of a stem, metres.
    pub diameter_m: f64,
}

/// The stands in figure 5 of Goodin et al. 2018, a to d, each with thin and thick stems.
pub const STANDS: [Stand; 8] = {
    const fn stand(distance_m: f64, stems_per_m2: f64, diameter_m: f64) -> Stand {
        Stand { distance_m, stems_per_m2, diameter_m }
    }
    [
        stand(20.0, 50.0, 0.01),
        stand(20.0, 50.0, 0.02),
        stand(20.0, 100.0, 0.01),
        stand(20.0, 100.0, 0.02),
        stand(30.0, 50.0, 0.01),
        stand(30.0, 50.0, 0.02),
        stand(30.0, 100.0, 0.01),
        stand(30.0, 100.0, 0.02),
    ]
};

impl Stand {
    pub fn is_thick(&self) -> bool {
        self.diameter_m > 0.015
    }

    /// Number of stems that a thin ray hits per metre: lambda d.
    pub fn rate_per_m(&self) -> f64 {
        self.stems_per_m2 * self.diameter_m
    }

    /// Alpha by equation (5) of Goodin et al. 2018, with gamma in radians and the distance D in metres.
    pub fn alpha(&self) -> f64 {
        1.0 + GAMMA_RAD * self.distance_m * self.distance_m
    }

    /// Mode of the gamma law, metres from the front edge.
    pub fn gamma_mode_m(&self) -> f64 {
        (self.alpha() - 1.0) / (self.alpha() * self.rate_per_m())
    }

    /// Distribution function of the gamma law, equations (4) and (5), within the stand, at the depth `x_m`.
    pub fn gamma(&self, x_m: f64) -> f64 {
        let (alpha, rate) = (self.alpha(), self.alpha() * self.rate_per_m());
        within(x_m, |x_m| gamma(x_m, alpha, rate))
    }

    /// Distribution function of the exponential law, equation (2), within the stand, with the a of equation (3) as
    /// printed.
    pub fn exponential(&self, x_m: f64) -> f64 {
        within(x_m, |x_m| self.macedo(x_m, 2.0 * libm::tan(GAMMA_RAD / 2.0)))
    }

    /// Distribution function, within the stand, for a ray without width: equation (2) with a = 0, which is exact.
    pub fn thin(&self, x_m: f64) -> f64 {
        within(x_m, |x_m| self.macedo(x_m, 0.0))
    }

    /// Distribution function, within the stand, of the nearest hit of a beam. The distance of its rays from the beam's
    /// centre is `share` times the footprint's radius. The probability of hitting a stem per metre is lambda (d + w),
    /// where w is the width of the beam between these rays. This gives equation (2) with an a that contains 1 / d.
    pub fn nearest(&self, x_m: f64, share: f64) -> f64 {
        let a = 2.0 * share * libm::tan(GAMMA_RAD / 2.0) / self.diameter_m;
        within(x_m, |x_m| self.macedo(x_m, a))
    }

    fn macedo(&self, x_m: f64, a: f64) -> f64 {
        let hazard = self.rate_per_m() * x_m * (1.0 + a * (x_m + 2.0 * self.distance_m) / 2.0);
        1.0 - libm::exp(-hazard)
    }
}

/// Truncates `law` to the stand, because only pulses that return from the stand count. Returns the truncated
/// distribution function at the depth `x_m`.
fn within(x_m: f64, law: impl Fn(f64) -> f64) -> f64 {
    law(x_m.clamp(0.0, DEPTH_M)) / law(DEPTH_M)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_means_are_those_of_the_papers_parameters() {
        let [a, .., d] = STANDS;
        assert!((a.alpha() - 1.4).abs() < 1e-12 && (d.alpha() - 1.9).abs() < 1e-12);
        assert!(
            (a.gamma_mode_m() - 0.571).abs() < 1e-3 && (d.gamma_mode_m() - 0.2368).abs() < 1e-3
        );
        for stand in STANDS {
            let laws: [&dyn Fn(f64) -> f64; 3] =
                [&|x| stand.gamma(x), &|x| stand.exponential(x), &|x| stand.nearest(x, 0.7)];
            for law in laws {
                assert_eq!((law(-1.0), law(DEPTH_M), law(9.0)), (0.0, 1.0, 1.0));
                assert!((1..50).all(|n| law(f64::from(n) / 10.0) > law(f64::from(n - 1) / 10.0)));
            }
        }
    }

    /// Compares the law with the integral of the hazard from which it was derived.
    #[test]
    fn the_nearest_rays_law_is_the_integral_of_its_hazard() {
        let stand = STANDS[0];
        let width_m = |r: f64| 2.0 * CAST_SHARE * r * libm::tan(GAMMA_RAD / 2.0);
        let (mut free, mut x): (f64, f64) = (1.0, 0.0);
        let step = 1e-4;
        while x < 1.0 {
            let r = stand.distance_m + x + step / 2.0;
            free *= 1.0 - stand.stems_per_m2 * (stand.diameter_m + width_m(r)) * step;
            x += step;
        }
        let a = 2.0 * CAST_SHARE * libm::tan(GAMMA_RAD / 2.0) / stand.diameter_m;
        assert!((stand.macedo(1.0, a) - (1.0 - free)).abs() < 1e-4);
    }
}
