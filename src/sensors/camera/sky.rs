//! Daylight: the sun, the sky of Preetham et al. 1999, and the light of both on a surface.
//!
//! Colours are linear sRGB. `[1, 1, 1]` is white with a luminance of 1 cd/m² (sky) or an illuminance of 1 lx
//! (surfaces).

use glam::DVec3;

use super::lanes::{LANES, Lanes3, real, vector, whole};
use crate::world::colours::WAVES_UM;

/// Red, green and blue, linear.
pub type Colour = [f64; 3];

/// Illuminance of the sun outside the atmosphere, lux.
const SOLAR_LX: f64 = 133_000.0;
/// Cosine of the sun's angular radius; the disc has a diameter of 0.533 degrees and the solid angle [`SUN_SR`].
const SUN_COS: f64 = 0.999_989_18;
const SUN_SR: f64 = 6.80e-5;
/// Elevation of the sun below which the model is invalid, radians.
const LOWEST_SUN_RAD: f64 = 5.0 * std::f64::consts::PI / 180.0;

/// Daylight of a moment: sun and sky.
#[derive(Clone, Debug)]
pub struct Daylight {
    /// Unit vector towards the sun, in World.
    pub sun: DVec3,
    /// Illuminance of the sun on a surface that faces it, lux.
    pub sun_lx: Colour,
    /// Illuminance of sky and ground on surfaces that face +x, -x, +y, -y, +z, -z, lux.
    ambient_lx: [Colour; 6],
    model: Model,
    /// Luminance of a clear sky, cd/m², tabulated by elevation and by angle from the sun; empty for an overcast sky.
    table: Vec<Colour>,
}

/// Luminance distribution of the sky.
#[derive(Clone, Debug)]
enum Model {
    /// Preetham's model for luminance and chromaticity (Y, x, y): values at the zenith, coefficients of the
    /// distributions, and values of the distributions at the zenith.
    Clear { zenith: [f64; 3], factors: [[f64; 5]; 3], at_zenith: [f64; 3] },
    /// The overcast sky of Moon and Spencer 1942: luminance of the zenith, candela per square metre.
    Overcast { zenith_cd_m2: f64 },
}

/// Number of intervals of elevation in `Daylight::table`. With this number and [`DISTANCES`], interpolation errors are
/// below 0.2 %.
const HEIGHTS: usize = 128;
/// Number of intervals of the angle from the sun in `Daylight::table`.
const DISTANCES: usize = 128;
/// Sine of the lowest elevation for which the sky is computed; lower directions have the luminance at this elevation.
const LOWEST: f64 = 0.02;

/// Elevation and azimuth (clockwise from north) of the sun, radians. The error is about 0.01 degrees between 1950 and
/// 2050 (Astronomical Almanac, low-precision formulas).
pub fn sun_at(unix_s: f64, latitude_deg: f64, longitude_deg: f64) -> [f64; 2] {
    let days = unix_s / 86_400.0 - 10_957.5;
    let anomaly = (357.528 + 0.985_600_3 * days).to_radians();
    let longitude = (280.460 + 0.985_647_4 * days).to_radians()
        + (1.915 * libm::sin(anomaly) + 0.020 * libm::sin(2.0 * anomaly)).to_radians();
    let obliquity = (23.439 - 4e-7 * days).to_radians();
    let (sin, cos) = libm::sincos(longitude);
    let ascension = libm::atan2(libm::cos(obliquity) * sin, cos);
    let declination = libm::asin(libm::sin(obliquity) * sin);
    let sidereal_h = 18.697_374_558 + 24.065_709_824_419_08 * days;
    let hour = (sidereal_h * 15.0 + longitude_deg).to_radians() - ascension;
    let latitude = latitude_deg.to_radians();
    let ((sin_lat, cos_lat), (sin_dec, cos_dec)) =
        (libm::sincos(latitude), libm::sincos(declination));
    let (sin_hour, cos_hour) = libm::sincos(hour);
    let elevation = libm::asin(sin_lat * sin_dec + cos_lat * cos_dec * cos_hour);
    let azimuth =
        libm::atan2(-cos_dec * sin_hour, cos_lat * sin_dec - sin_lat * cos_dec * cos_hour);
    [elevation, azimuth]
}

impl Daylight {
    /// A clear day with the turbidity `turbidity`, 2 to 6, and ground of the albedo `ground`. For a sun below 5
    /// degrees, the sky is that of a sun at 5 degrees. There is no sunlight after sunset.
    pub fn new([elevation_rad, azimuth_rad]: [f64; 2], turbidity: f64, ground: Colour) -> Self {
        let toward = |elevation: f64| {
            let ((sin, cos), (east, north)) = (libm::sincos(elevation), libm::sincos(azimuth_rad));
            DVec3::new(cos * east, cos * north, sin)
        };
        let theta = std::f64::consts::FRAC_PI_2 - elevation_rad.max(LOWEST_SUN_RAD);
        let t = turbidity;
        let zenith =
            [luminance(t, theta), chroma(t, theta, &X_ZENITH), chroma(t, theta, &Y_ZENITH)];
        let factors = FACTORS.map(|row| row.map(|[a, b]| a * t + b));
        let at_zenith = factors.map(|f| perez(&f, 1.0, theta));
        let sun_lx = if elevation_rad > 0.0 {
            transmitted(t, elevation_rad).map(|part| part * SOLAR_LX)
        } else {
            [0.0; 3]
        };
        let sun = toward(elevation_rad.max(LOWEST_SUN_RAD));
        let model = Model::Clear { zenith, factors, at_zenith };
        let day = Self { sun, sun_lx, ambient_lx: [[0.0; 3]; 6], model, table: Vec::new() };
        let mut day = day.lit_from_all_sides(ground);
        day.sun = toward(elevation_rad);
        day.table = (0..=HEIGHTS)
            .flat_map(|height| (0..=DISTANCES).map(move |distance| (height, distance)))
            .map(|(height, distance)| {
                let height = (height as f64 / HEIGHTS as f64).powi(2);
                let chord = distance as f64 / DISTANCES as f64;
                day.sky_at(height.max(LOWEST), 2.0 * libm::asin(chord))
            })
            .collect();
        day
    }

    /// An overcast day. The horizontal illuminance is that of the CIE's overcast sky (CIE 16-1970), 300 lx + 21 000
    /// lx sin(elevation), at least 300 lx.
    pub fn overcast([elevation_rad, azimuth_rad]: [f64; 2], ground: Colour) -> Self {
        let ((sin, cos), (east, north)) = (libm::sincos(elevation_rad), libm::sincos(azimuth_rad));
        let horizontal_lx = 300.0 + 21_000.0 * sin.max(0.0);
        let zenith_cd_m2 = horizontal_lx * 9.0 / (7.0 * std::f64::consts::PI);
        let model = Model::Overcast { zenith_cd_m2 };
        let sun = DVec3::new(cos * east, cos * north, sin);
        let day =
            Self { sun, sun_lx: [0.0; 3], ambient_lx: [[0.0; 3]; 6], model, table: Vec::new() };
        day.lit_from_all_sides(ground)
    }

    /// Computes the illuminance by the sky and by a ground with the albedo `ground`.
    fn lit_from_all_sides(mut self, ground: Colour) -> Self {
        self.gather();
        let up = std::array::from_fn(|c| {
            ground[c] / std::f64::consts::PI
                * (self.sun_lx[c] * self.sun.z.max(0.0) + self.ambient_lx[4][c])
        });
        self.bounce(up);
        self
    }

    /// Luminance in a direction without surfaces: sky or sun, cd/m².
    pub fn seen(&self, direction: DVec3) -> Colour {
        let sky = self.sky(direction);
        if direction.dot(self.sun) < SUN_COS {
            return sky;
        }
        std::array::from_fn(|c| sky[c] + self.sun_lx[c] / SUN_SR)
    }

    /// Luminance of the sky without the sun, cd/m². Directions below the horizon have the luminance of the horizon.
    pub fn sky(&self, direction: DVec3) -> Colour {
        if matches!(self.model, Model::Overcast { .. }) {
            return self.sky_at(direction.z.max(0.0), 0.0);
        }
        self.in_table(self.table_place(direction))
    }

    /// Sets `out` to [`Daylight::seen`] of the first `len` of `directions`, with the same arithmetic.
    #[inline(always)]
    pub(super) fn seen_by(&self, directions: &Lanes3, len: usize, out: &mut [Colour; LANES]) {
        if self.table.is_empty() {
            out.iter_mut().take(len).enumerate().for_each(|(k, out)| {
                *out = self.seen(vector(directions, k));
            });
            return;
        }
        let mut places = [(0, 0.0, 0.0); LANES];
        for k in 0..LANES {
            places[k] = self.table_place(vector(directions, k));
        }
        for k in 0..len {
            out[k] = self.in_table(places[k]);
            if vector(directions, k).dot(self.sun) >= SUN_COS {
                out[k] = self.seen(vector(directions, k));
            }
        }
    }

    /// Index of the table node before a direction, and the position of the direction between this node and the next
    /// one, 0..=1: in elevation, and in the angle from the sun.
    #[inline(always)]
    fn table_place(&self, direction: DVec3) -> (usize, f64, f64) {
        // Half of the chord to the sun on the unit sphere replaces the angle, because the chord needs no arc cosine.
        let chord = (0.5 * (1.0 - direction.dot(self.sun).clamp(-1.0, 1.0))).sqrt();
        let height = direction.z.clamp(LOWEST, 1.0).sqrt();
        let split = |share: f64, intervals: usize| {
            let place = share * intervals as f64;
            let node = whole(place).min(intervals as u64 - 1);
            (node as usize, place - real(node))
        };
        let ((row, up), (column, away)) = (split(height, HEIGHTS), split(chord, DISTANCES));
        (row * (DISTANCES + 1) + column, up, away)
    }

    #[inline(always)]
    fn in_table(&self, (node, up, away): (usize, f64, f64)) -> Colour {
        let above = node + DISTANCES + 1;
        let (near, far) = (&self.table[node], &self.table[node + 1]);
        let (near_above, far_above) = (&self.table[above], &self.table[above + 1]);
        let mut sky = [0.0; 3];
        for c in 0..3 {
            let low = near[c] + (far[c] - near[c]) * away;
            let high = near_above[c] + (far_above[c] - near_above[c]) * away;
            sky[c] = low + (high - low) * up;
        }
        sky
    }

    /// Luminance of the sky, cd/m². `cos_theta` is the cosine of the angle from the zenith, `gamma` the angle from the
    /// sun, radians.
    fn sky_at(&self, cos_theta: f64, gamma: f64) -> Colour {
        let (zenith, factors, at_zenith) = match &self.model {
            Model::Clear { zenith, factors, at_zenith } => (zenith, factors, at_zenith),
            Model::Overcast { zenith_cd_m2 } => {
                return [zenith_cd_m2 * (1.0 + 2.0 * cos_theta) / 3.0; 3];
            }
        };
        let [big_y, x, y] = std::array::from_fn(|part| {
            zenith[part] * perez(&factors[part], cos_theta, gamma) / at_zenith[part]
        });
        let y = y.max(0.05);
        let xyz = [x / y * big_y, big_y, (1.0 - x - y) / y * big_y];
        XYZ_TO_RGB
            .map(|row| (row[0] * xyz[0] + row[1] * xyz[1] + row[2] * xyz[2]).max(0.0) * 1000.0)
    }

    /// Illuminance of sky and ground on a surface with this normal, lux.
    pub fn ambient(&self, normal: DVec3) -> Colour {
        let n = normal.to_array();
        std::array::from_fn(|c| {
            (0..3)
                .map(|axis| {
                    n[axis] * n[axis] * self.ambient_lx[2 * axis + usize::from(n[axis] < 0.0)][c]
                })
                .sum()
        })
    }

    /// Computes the illuminance by the sky's upper hemisphere, without the ground.
    fn gather(&mut self) {
        const RINGS: usize = 12;
        const SECTORS: usize = 24;
        let mut sum = [[0.0; 3]; 6];
        for ring in 0..RINGS {
            let z = (ring as f64 + 0.5) / RINGS as f64;
            let side = (1.0 - z * z).sqrt();
            for sector in 0..SECTORS {
                let angle = (sector as f64 + 0.5) / SECTORS as f64 * std::f64::consts::TAU;
                let (sin, cos) = libm::sincos(angle);
                let direction = DVec3::new(side * cos, side * sin, z);
                let gamma = libm::acos(direction.dot(self.sun).clamp(-1.0, 1.0));
                let solid_angle = std::f64::consts::TAU / (RINGS * SECTORS) as f64;
                add(&mut sum, direction, self.sky_at(z, gamma), solid_angle);
            }
        }
        self.ambient_lx = sum;
    }

    /// Adds the light of a ground with the luminance `ground`.
    fn bounce(&mut self, ground: Colour) {
        let pi = std::f64::consts::PI;
        for (side, share) in [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5), (5, 1.0)] {
            for (lx, ground) in self.ambient_lx[side].iter_mut().zip(ground) {
                *lx += ground * pi * share;
            }
        }
    }
}

fn add(sum: &mut [Colour; 6], direction: DVec3, light: Colour, solid_angle: f64) {
    for (side, lx) in sum.iter_mut().enumerate() {
        let along = direction[side / 2] * if side % 2 == 0 { 1.0 } else { -1.0 };
        for (lx, light) in lx.iter_mut().zip(light) {
            *lx += light * along.max(0.0) * solid_angle;
        }
    }
}

/// Share of sunlight that the atmosphere transmits, for red, green and blue.
fn transmitted(turbidity: f64, elevation_rad: f64) -> Colour {
    let zenith_deg = 90.0 - elevation_rad.to_degrees();
    let mass = 1.0 / (libm::sin(elevation_rad) + 0.15 * libm::pow(93.885 - zenith_deg, -1.253));
    let haze = 0.046_08 * turbidity - 0.045_86;
    WAVES_UM.map(|wave| {
        let rayleigh = libm::exp(-0.008_735 * mass * libm::pow(wave, -4.08));
        rayleigh * libm::exp(-haze * mass * libm::pow(wave, -1.3))
    })
}

fn perez(&[a, b, c, d, e]: &[f64; 5], cos_theta: f64, gamma: f64) -> f64 {
    let cos = libm::cos(gamma);
    (1.0 + a * libm::exp(b / cos_theta)) * (1.0 + c * libm::exp(d * gamma) + e * cos * cos)
}

/// Luminance of the zenith, kcd/m²; `t` is the turbidity, `theta` the angle of the sun from the zenith, radians.
fn luminance(t: f64, theta: f64) -> f64 {
    let chi = (4.0 / 9.0 - t / 120.0) * (std::f64::consts::PI - 2.0 * theta);
    (4.0453 * t - 4.9710) * libm::tan(chi) - 0.2155 * t + 2.4192
}

fn chroma(t: f64, theta: f64, rows: &[[f64; 4]; 3]) -> f64 {
    let row = |r: &[f64; 4]| ((r[0] * theta + r[1]) * theta + r[2]) * theta + r[3];
    (row(&rows[0]) * t + row(&rows[1])) * t + row(&rows[2])
}

/// Coefficients A to E of the distributions of Y, x and y; each is linear in the turbidity: `[slope, offset]`.
const FACTORS: [[[f64; 2]; 5]; 3] = [
    [[0.1787, -1.4630], [-0.3554, 0.4275], [-0.0227, 5.3251], [0.1206, -2.5771], [-0.0670, 0.3703]],
    [
        [-0.0193, -0.2592],
        [-0.0665, 0.0008],
        [-0.0004, 0.2125],
        [-0.0641, -0.8989],
        [-0.0033, 0.0452],
    ],
    [
        [-0.0167, -0.2608],
        [-0.0950, 0.0092],
        [-0.0079, 0.2102],
        [-0.0441, -1.6537],
        [-0.0109, 0.0529],
    ],
];
const X_ZENITH: [[f64; 4]; 3] = [
    [0.00166, -0.00375, 0.00209, 0.0],
    [-0.02903, 0.06377, -0.03202, 0.00394],
    [0.11693, -0.21196, 0.06052, 0.25886],
];
const Y_ZENITH: [[f64; 4]; 3] = [
    [0.00275, -0.00610, 0.00317, 0.0],
    [-0.04214, 0.08970, -0.04153, 0.00516],
    [0.15346, -0.26756, 0.06670, 0.26688],
];
const XYZ_TO_RGB: [[f64; 3]; 3] =
    [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]];

#[cfg(test)]
mod tests {
    use super::super::lanes::set;
    use super::*;

    /// Reference values were computed from the formulas of Preetham et al. 1999, independently of this code.
    #[test]
    fn skies_are_preethams() {
        let theta = 45f64.to_radians();
        assert!((luminance(3.0, theta) - 7.320).abs() < 1e-3);
        assert!((chroma(3.0, theta, &X_ZENITH) - 0.2457).abs() < 1e-4);
        assert!((chroma(3.0, theta, &Y_ZENITH) - 0.2515).abs() < 1e-4);
        let through = transmitted(3.0, theta);
        for (got, want) in through.iter().zip([0.711, 0.654, 0.531]) {
            assert!((got - want).abs() < 1e-3, "{through:?}");
        }
        let day = Daylight::new([theta, 0.0], 3.0, [0.0; 3]);
        let grey = |c: Colour| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let low = |sign: f64| {
            let (sin, cos) = libm::sincos(10f64.to_radians());
            grey(day.sky(DVec3::new(0.0, sign * cos, sin))) / 1000.0
        };
        assert!((low(1.0) - 17.24).abs() < 0.1, "{}", low(1.0));
        assert!((low(-1.0) - 7.655).abs() < 0.05, "{}", low(-1.0));
        let horizontal = grey(day.ambient(DVec3::Z)) / 1000.0;
        assert!((horizontal - 28.9).abs() < 1.0, "{horizontal}");
    }

    #[test]
    fn the_table_is_the_formula() {
        for (elevation, turbidity) in [(5.0f64, 2.0), (45.0, 3.0), (80.0, 6.0)] {
            let day = Daylight::new([elevation.to_radians(), 0.3], turbidity, [0.0; 3]);
            for place in 0..20_000 {
                let (z, turn) = (f64::from(place % 200) / 199.0, f64::from(place / 200) * 0.063);
                let side = (1.0 - z * z).sqrt();
                let direction = DVec3::new(side * libm::cos(turn), side * libm::sin(turn), z);
                let gamma = libm::acos(direction.dot(day.sun).clamp(-1.0, 1.0));
                let (exact, found) = (day.sky_at(z.max(LOWEST), gamma), day.sky(direction));
                for (exact, found) in exact.into_iter().zip(found) {
                    assert!((found / exact - 1.0).abs() < 2e-3, "{direction}: {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn many_directions_have_the_sky_of_single_ones() {
        for day in
            [Daylight::new([0.7, 2.0], 3.0, [0.1; 3]), Daylight::overcast([0.5, 1.0], [0.0; 3])]
        {
            let mut directions = [[0.0; LANES]; 3];
            for k in 0..LANES {
                let (sin, cos) = libm::sincos(0.1 * k as f64);
                let up = 0.03 * k as f64 - 0.3;
                set(&mut directions, k, DVec3::new(cos, sin, up).normalize());
            }
            set(&mut directions, 5, day.sun);
            let mut seen = [[0.0; 3]; LANES];
            day.seen_by(&directions, LANES, &mut seen);
            for (k, seen) in seen.iter().enumerate() {
                assert_eq!(*seen, day.seen(vector(&directions, k)), "{k}");
            }
        }
    }

    #[test]
    fn an_overcast_sky_is_bright_above_and_has_no_sun() {
        let day = Daylight::overcast([0.5, 1.0], [0.0; 3]);
        assert_eq!(day.sun_lx, [0.0; 3]);
        let ratio = day.sky(DVec3::Z)[1] / day.sky(DVec3::X)[1];
        assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
        let horizontal = day.ambient(DVec3::Z)[1];
        let expected = 300.0 + 21_000.0 * libm::sin(0.5);
        assert!((horizontal / expected - 1.0).abs() < 0.01, "{horizontal} {expected}");
    }

    /// Greenwich, 21 June 2020, 12:02 UTC: the sun is in the south, at an elevation of 90 - 51.48 + 23.44 degrees.
    #[test]
    fn the_sun_is_where_almanacs_say() {
        let [elevation, azimuth] = sun_at(1_592_740_920.0, 51.48, 0.0).map(f64::to_degrees);
        assert!((elevation - 61.96).abs() < 0.03, "{elevation}");
        assert!((azimuth.rem_euclid(360.0) - 180.0).abs() < 0.6, "{azimuth}");
    }
}
