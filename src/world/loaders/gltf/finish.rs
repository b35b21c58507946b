//! Converts glTF's metallic-roughness material to a [`Finish`].
//!
//! The highlight is the distribution by Trowbridge and Reitz (GGX), which appendix B of glTF 2.0 specifies, for light
//! that returns to its source: `D(0) F / 4`. Relative to a white diffuser, its height is `F / (4 a²)`, where `a` is
//! the square of the roughness. Its decrease with the angle is that of Phong's model with the exponent `(2 / a² - 2)
//! / 4`. Rough surfaces scatter diffusely: the highlight has the share `1 - a` of the light, and the diffuse part of
//! metals has the rest. A roughness of 1, the default of a file, is therefore purely diffuse, metallic or not.

use crate::world::scene::Finish;

/// Smallest square of the roughness; smoother surfaces have the same highlight.
const LEAST_ALPHA: f32 = 0.03;
/// Roughness below which a material with a metallicity of 0.5 or more is a mirror.
const MIRROR_ROUGHNESS: f32 = 0.1;
/// Height, relative to a white diffuser, below which a highlight is ignored.
const LEAST_PEAK: f32 = 0.01;

/// Parameters of a material, within their limits.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Red component of the base colour, 0..=1.
    pub base: f32,
    /// Metallicity, 0..=1.
    pub metallic: f32,
    /// Roughness, 0..=1.
    pub roughness: f32,
    /// Refractive index, 1 or more.
    pub index: f32,
    /// Share of the light that passes through, 0..=1.
    pub transmission: f32,
    /// Whether the mesh encloses a solid body. Each triangle is then one face of the glass, otherwise a thin pane with two
    /// faces.
    pub has_volume: bool,
}

impl Surface {
    /// Returns the diffuse reflectance and the finish of the material.
    pub fn look(&self) -> (f32, Finish) {
        let &Self { base, metallic, roughness, index, transmission, has_volume } = self;
        let alpha = roughness * roughness;
        let passing = transmission * (1.0 - metallic);
        if passing > 0.0 {
            // Rough glass scatters the light that it transmits.
            let clear = passing * base * (1.0 - alpha);
            let faces = if has_volume { 1 } else { 2 };
            return (base * (1.0 - passing), Finish::Glass { index, clear, faces });
        }
        if metallic >= 0.5 && roughness < MIRROR_ROUGHNESS {
            return (base * (1.0 - metallic), Finish::Mirror { share: base * metallic });
        }
        let diffuse = base * (1.0 - metallic + metallic * alpha);
        let of_dielectric = (index - 1.0) / (index + 1.0);
        let mirrored = of_dielectric * of_dielectric * (1.0 - metallic) + base * metallic;
        let alpha = alpha.max(LEAST_ALPHA);
        let peak = mirrored * (1.0 - alpha) / (4.0 * alpha * alpha);
        let exponent = (2.0 / (alpha * alpha) - 2.0) / 4.0;
        let finish =
            if peak < LEAST_PEAK { Finish::Matt } else { Finish::Glossy { peak, exponent } };
        (diffuse, finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLASTIC: Surface = Surface {
        base: 0.6,
        metallic: 0.0,
        roughness: 0.5,
        index: 1.5,
        transmission: 0.0,
        has_volume: false,
    };

    #[test]
    fn what_says_nothing_is_matt() {
        let unsaid = Surface { metallic: 1.0, roughness: 1.0, ..PLASTIC };
        assert_eq!(unsaid.look(), (0.6, Finish::Matt));
        assert_eq!(Surface { roughness: 1.0, ..PLASTIC }.look(), (0.6, Finish::Matt));
    }

    #[test]
    fn smooth_surfaces_have_high_and_narrow_highlights() {
        let (diffuse, Finish::Glossy { peak, exponent }) = PLASTIC.look() else { panic!() };
        assert_eq!((diffuse, exponent), (0.6, 7.5));
        assert!((peak - 0.04 * 0.75 / 0.25).abs() < 1e-6, "{peak}");
        let smooth = Surface { roughness: 0.3, ..PLASTIC };
        let (_, Finish::Glossy { peak: higher, exponent: narrower }) = smooth.look() else {
            panic!()
        };
        assert!(higher > 1.0 && narrower > 50.0, "{higher} {narrower}");
        let metal = Surface { metallic: 1.0, ..PLASTIC };
        let (diffuse, Finish::Glossy { peak, .. }) = metal.look() else { panic!() };
        assert!((diffuse - 0.15).abs() < 1e-6 && (peak - 0.6 * 3.0).abs() < 1e-5, "{peak}");
        let mirror = Surface { metallic: 1.0, roughness: 0.0, ..PLASTIC };
        assert_eq!(mirror.look(), (0.0, Finish::Mirror { share: 0.6 }));
    }

    #[test]
    fn what_transmits_is_glass() {
        let pane = Surface { base: 1.0, roughness: 0.0, transmission: 1.0, ..PLASTIC };
        assert_eq!(pane.look(), (0.0, Finish::Glass { index: 1.5, clear: 1.0, faces: 2 }));
        let tinted = Surface { base: 0.5, transmission: 0.8, has_volume: true, ..pane };
        let (diffuse, finish) = tinted.look();
        assert!((diffuse - 0.1).abs() < 1e-6, "{diffuse}");
        assert_eq!(finish, Finish::Glass { index: 1.5, clear: 0.4, faces: 1 });
        let frosted = Surface { roughness: 1.0, ..pane };
        assert_eq!(frosted.look().1, Finish::Glass { index: 1.5, clear: 0.0, faces: 2 });
    }
}
