//! Light that a surface returns to the lidar, by its finish and the angle of incidence.
//!
//! All results are relative to the return of a white diffuser at normal incidence to a receiver beside the laser.
//! Light is unpolarised. Fresnel's equations are in any textbook (Born and Wolf, Principles of Optics, section
//! 1.5.2).

use crate::world::scene::{Bottom, Finish, Material};

/// Refractive index of water at 905 nm.
pub const WATER_INDEX: f32 = 1.33;
/// Approximate absorption coefficient of pure water at 905 nm, 1/m.
const WATER_ABSORPTION_PER_M: f32 = 7.0;
/// Share of the diffuse light below a water surface that the surface reflects downward: `1 - (1 - F) / n²`, where `F`
/// = 0.066 is the surface's reflectance for diffuse light from above.
const WATER_INNER_REFLECTANCE: f32 = 0.472;
/// Half-width of the lobe about the direction of specular reflection, radians. It results from the waviness of a
/// smooth surface and from the width of beam and receiver. The value has no source; it is approximately that of a
/// lidar's beam.
const GLINT_SPREAD_RAD: f32 = 5e-3;
/// Angle of incidence up to which retroreflective sheeting has its full gain, radians. Beyond it the gain decreases
/// linearly.
const RETRO_FULL_RAD: f32 = std::f32::consts::FRAC_PI_6;
/// Angle of incidence from which retroreflective sheeting has no gain, radians.
const RETRO_END_RAD: f32 = std::f32::consts::FRAC_PI_3;

/// The part of the light on a surface that does not return directly from the surface to the lidar. Each share is that
/// of one passage, and applies again on the path back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Onward {
    /// Share that continues in the direction of specular reflection.
    pub mirrored: f32,
    /// Share that continues straight ahead.
    pub passed: f32,
    /// Light that returns from below the surface: distance to add to the range, metres, and strength.
    pub from_below: Option<(f32, f32)>,
}

/// Strength of the light that returns directly from a surface of `material`. `cos` is the cosine of the angle of
/// incidence. `reflectance` is the diffuse reflectance, including its map.
pub fn returned(material: &Material, reflectance: f32, cos: f32) -> f32 {
    let diffuse = reflectance * cos;
    match material.finish {
        Finish::Matt => diffuse,
        Finish::Retro { gain } => {
            // Print on the sheeting darkens the diffuse and the retroreflected light.
            let printed =
                if material.reflectance > 0.0 { reflectance / material.reflectance } else { 1.0 };
            diffuse + gain * printed * retro_share(cos)
        }
        Finish::Glossy { peak, exponent } => diffuse + peak * highlight(cos, exponent),
        Finish::Mirror { share } => diffuse + glint(share, cos),
        Finish::Glass { index, faces, .. } => diffuse + glint(1.0 - passes(cos, index, faces), cos),
        Finish::Water { .. } => diffuse + glint(fresnel(cos, WATER_INDEX), cos),
        Finish::Wet { film } => wet_reflectance(reflectance, cos, film) * cos,
    }
}

/// The light that does not return directly from the surface. The arguments are those of [`returned`].
pub fn onward(material: &Material, reflectance: f32, cos: f32) -> Onward {
    match material.finish {
        Finish::Mirror { share } => Onward { mirrored: share, ..Onward::default() },
        Finish::Glass { index, clear, faces } => {
            let clean = passes(cos, index, faces);
            let passed = clean * clear * (1.0 - reflectance);
            Onward { mirrored: 1.0 - clean, passed, from_below: None }
        }
        Finish::Water { bottom } => Onward {
            mirrored: fresnel(cos, WATER_INDEX),
            passed: 0.0,
            from_below: bottom.map(|bottom| seen_below(&bottom, cos)),
        },
        Finish::Matt | Finish::Retro { .. } | Finish::Glossy { .. } | Finish::Wet { .. } => {
            Onward::default()
        }
    }
}

/// Share of unpolarised light that the surface of a medium with the refractive index `index` reflects.
pub fn fresnel(cos: f32, index: f32) -> f32 {
    let [s, p] = polarised(cos, index);
    0.5 * (s + p)
}

/// Reflectances for light polarised perpendicular and parallel to the plane of incidence.
fn polarised(cos: f32, index: f32) -> [f32; 2] {
    let inside = cos_inside(cos, index);
    let square = |x: f32| x * x;
    [
        square((cos - index * inside) / (cos + index * inside)),
        square((index * cos - inside) / (index * cos + inside)),
    ]
}

/// Cosine of the angle between the refracted ray and the normal, by Snell's law.
fn cos_inside(cos: f32, index: f32) -> f32 {
    (1.0 - (1.0 - cos * cos) / (index * index)).sqrt()
}

/// Share of the light that clear glass with one or two faces transmits. Light is reflected repeatedly between two
/// faces, so that a pane with the reflectance `r` per face transmits `(1 - r) / (1 + r)`.
pub fn passes(cos: f32, index: f32, faces: u8) -> f32 {
    let [s, p] = polarised(cos, index);
    let share = |r: f32| if faces == 1 { 1.0 - r } else { (1.0 - r) / (1.0 + r) };
    0.5 * (share(s) + share(p))
}

/// Share of a retroreflector's full gain that remains at an angle of incidence with the cosine `cos`, 0..=1.
pub fn retro_share(cos: f32) -> f32 {
    let incidence_rad = libm::acosf(cos.min(1.0));
    ((RETRO_END_RAD - incidence_rad) / (RETRO_END_RAD - RETRO_FULL_RAD)).clamp(0.0, 1.0)
}

/// Phong's highlight as seen by the lidar, 0..=1: the cosine of the angle between the direction of specular reflection
/// and the direction to the lidar, to the power `exponent`. This angle is twice the angle of incidence.
fn highlight(cos: f32, exponent: f32) -> f32 {
    let away = 2.0 * cos * cos - 1.0;
    if away > 0.0 { libm::powf(away, exponent) } else { 0.0 }
}

/// Specular return of a smooth surface near normal incidence. `share` is distributed over a lobe about the direction
/// of specular reflection, so that the height of the lobe is `share / spread²`.
fn glint(share: f32, cos: f32) -> f32 {
    let spread = GLINT_SPREAD_RAD * GLINT_SPREAD_RAD;
    // The square of twice the angle of incidence, for small angles.
    let away = 8.0 * (1.0 - cos);
    share / spread * libm::expf(-away / spread)
}

/// Distance that the path below a water surface adds to the range, metres, and strength of the light that returns from
/// the bottom. The factor 1/n² accounts for the solid angle, which widens when light leaves the water.
fn seen_below(bottom: &Bottom, cos: f32) -> (f32, f32) {
    let path_m = bottom.depth_m / cos_inside(cos, WATER_INDEX);
    let enters = 1.0 - fresnel(cos, WATER_INDEX);
    let absorbed = libm::expf(-2.0 * WATER_ABSORPTION_PER_M * path_m);
    let widened = WATER_INDEX * WATER_INDEX;
    (WATER_INDEX * path_m, enters * enters * bottom.reflectance * cos * absorbed / widened)
}

/// Reflectance of a damp surface. `film` is the share of its texture's depth that is filled with water, 0 to 1;
/// `reflectance` is that of the dry surface; `cos` is the cosine of incidence.
///
/// Under the film, light passes the water's surface twice, by Fresnel's equations, and is reflected repeatedly below
/// the surface: `(1 - F)² rho / (n² (1 - 0.472 rho))`, after Lekner and Dorf 1988. The film's share is weighted as
/// for the wet ground of Hahner et al. 2022, but without their division by the angle of incidence.
pub fn wet_reflectance(reflectance: f32, cos: f32, film: f32) -> f32 {
    let enters = 1.0 - fresnel(cos, WATER_INDEX);
    let inside = 1.0 - WATER_INNER_REFLECTANCE * reflectance;
    let soaked = enters * enters * reflectance / (WATER_INDEX * WATER_INDEX * inside);
    let film = film.clamp(0.0, 1.0);
    // Water also darkens bright surfaces, for which the equation would give too high a value.
    (1.0 - film) * reflectance + film * soaked.min(reflectance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::materials;

    fn cos(degrees: f32) -> f32 {
        libm::cosf(degrees.to_radians())
    }

    fn near(value: f32, expected: f32, within: f32) {
        assert!((value - expected).abs() <= within, "{value} instead of {expected}");
    }

    #[test]
    fn water_mirrors_as_fresnel_says() {
        for (degrees, share) in [
            (0.0, 0.020),
            (45.0, 0.028),
            (60.0, 0.059),
            (70.0, 0.13),
            (75.0, 0.21),
            (80.0, 0.35),
            (85.0, 0.58),
            (88.0, 0.80),
        ] {
            near(fresnel(cos(degrees), WATER_INDEX), share, 0.006);
        }
        near(fresnel(0.0, WATER_INDEX), 1.0, 1e-6);
    }

    #[test]
    fn a_pane_passes_what_its_two_faces_leave() {
        for (degrees, of_a_face) in [(0.0, 0.040), (45.0, 0.050), (60.0, 0.089), (75.0, 0.25)] {
            near(fresnel(cos(degrees), 1.5), of_a_face, 0.005);
            near(passes(cos(degrees), 1.5, 1), 1.0 - of_a_face, 0.005);
        }
        let once = passes(1.0, 1.5, 2);
        near(once, 0.92, 0.004);
        near(once * once, 0.85, 0.004);
        assert!(passes(cos(75.0), 1.5, 2) < 0.70, "a slanting pane is a mirror");
        near(passes(0.0, 1.5, 2), 0.0, 1e-6);
    }

    #[test]
    fn a_window_loses_light_to_dirt_tint_and_mirror() {
        let window = materials::by_name("window");
        let onto = onward(&window, window.reflectance, 1.0);
        near(onto.passed, 0.923 * 0.98, 0.001);
        near(onto.mirrored, 0.08, 0.004);
        let tinted = Material {
            finish: Finish::Glass { index: 1.5, clear: 0.5, faces: 2 },
            ..materials::plain("tinted", 0.0)
        };
        near(onward(&tinted, 0.0, 1.0).passed, 0.46, 0.002);
        // At normal incidence the window has a glint; at one degree, only its dirt is visible.
        assert!(returned(&window, window.reflectance, 1.0) > 1000.0);
        near(returned(&window, window.reflectance, cos(1.0)), 0.02, 1e-3);
    }

    #[test]
    fn retro_reflectors_hold_to_30_degrees_and_end_at_60() {
        for (name, gain) in [("I", 220.0), ("III", 785.0), ("IX", 1190.0), ("XI", 1820.0)] {
            let sheet = materials::by_name(&format!("retro-sheeting type {name}"));
            let at = |degrees: f32| returned(&sheet, sheet.reflectance, cos(degrees));
            near(at(0.0), gain + 0.3, 0.01);
            near(at(29.9), gain + 0.3 * cos(29.9), 0.01);
            near(at(45.0), gain / 2.0 + 0.3 * cos(45.0), gain * 1e-4);
            near(at(60.1), 0.3 * cos(60.1), 1e-4);
            // Print darkens the sheeting as much as the diffuse part.
            near(returned(&sheet, 0.15, 1.0), (gain + 0.3) / 2.0, 0.01);
        }
    }

    /// HELIOS++'s Phong form, `rho ((1 - s) cos + s cos^n(2 theta))`, for a reflectance of 0.5 with a glossy share of
    /// 0.6. HELIOS++ uses the absolute value of the cosine, which would cause a second highlight at grazing
    /// incidence; it is not used here.
    #[test]
    fn gloss_is_bright_near_the_normal_and_dark_beyond() {
        let paint = Material {
            finish: Finish::Glossy { peak: 0.3, exponent: 20.0 },
            ..materials::plain("paint", 0.2)
        };
        let at = |degrees: f32| returned(&paint, 0.2, cos(degrees));
        near(at(0.0), 0.5, 1e-6);
        near(at(10.0), 0.2 * cos(10.0) + 0.3 * libm::powf(cos(20.0), 20.0), 1e-5);
        assert!(at(30.0) < 0.18 && at(30.0) >= 0.2 * cos(30.0));
        near(at(80.0), 0.2 * cos(80.0), 1e-6);
    }

    #[test]
    fn a_puddle_shows_its_bottom_from_above_and_nothing_from_afar() {
        let puddle = materials::by_name("puddle");
        let (deeper_m, straight_down) = onward(&puddle, 0.0, 1.0).from_below.unwrap();
        near(deeper_m, 0.02 * 1.33, 1e-6);
        // 0.98² x 0.15 x exp(-2 x 7 x 0.02) x 0.57
        near(straight_down, 0.0617, 5e-4);
        // A sensor at a height of 1 m and a distance of 8 m.
        let grazing = 1.0 / libm::sqrtf(65.0);
        let far = onward(&puddle, 0.0, grazing);
        near(far.mirrored, 0.47, 0.01);
        let (_, from_below) = far.from_below.unwrap();
        // Without water, the return of the same bottom would be more than eight times as strong.
        assert!(from_below < 0.12 * 0.15 * grazing, "{from_below}");
        assert_eq!(returned(&puddle, 0.0, grazing), 0.0);
        let pond = materials::by_name("pond");
        assert_eq!(onward(&pond, 0.0, 1.0).from_below, None);
        near(onward(&pond, 0.0, 1.0).mirrored, 0.02, 1e-3);
        assert!(returned(&pond, 0.0, 1.0) > 100.0, "straight down it glints");
    }

    #[test]
    fn damp_ground_is_darker_and_most_so_from_afar() {
        for rho in [0.02, 0.15, 0.5, 0.9, 1.0] {
            assert_eq!(wet_reflectance(rho, 0.5, 0.0), rho);
            let mut last = rho;
            for film in [0.25, 0.5, 0.75, 1.0] {
                let wet = wet_reflectance(rho, 0.5, film);
                assert!(wet <= last && wet > 0.0, "{rho} {film}: {wet}");
                last = wet;
            }
            assert_eq!(wet_reflectance(rho, 0.5, 3.0), last, "a film is full at most");
        }
        // Asphalt under a full film: 0.96 x 0.565 x 0.15 / (1 - 0.0708).
        near(wet_reflectance(0.15, 1.0, 1.0), 0.0876, 5e-4);
        // At 85 degrees, (1 - 0.58)² of the light remains.
        let far = wet_reflectance(0.15, cos(85.0), 1.0) / wet_reflectance(0.15, 1.0, 1.0);
        near(far, 0.42 * 0.42 / 0.96, 0.02);
        near(wet_reflectance(0.15, 1.0, 0.5), 0.5 * (0.15 + 0.0876), 5e-4);
    }
}
