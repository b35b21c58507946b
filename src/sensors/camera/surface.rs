//! Visible colours of surfaces. Scenes define reflectances at 905 nm; this module has the colours of the same
//! materials.

use glam::DVec3;

use super::lanes::{LANES, Lanes, Lanes3, cell, real};
use super::sky::Colour;
use crate::world::scene::Material;

/// Visible appearance of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// Diffuse albedo, linear sRGB.
    albedo: Colour,
    /// Variation of brightness from place to place: about ± this share of the mean.
    mottle: f64,
    /// Size of the patches that differ in brightness, metres.
    patch_m: f64,
    /// Whether the surface is a brick wall.
    pub(super) is_brick: bool,
}

const fn look(albedo: Colour, mottle: f64, patch_m: f64) -> Look {
    Look { albedo, mottle, patch_m, is_brick: false }
}

/// Words in material names, each with the look of such materials; the first word that a name contains counts. Albedos
/// are typical values, quoted from memory of public spectral libraries (USGS, ECOSTRESS).
const LOOKS: &[(&str, Look)] = &[
    ("brick", Look { is_brick: true, ..look([0.32, 0.12, 0.07], 0.25, 0.21) }),
    ("asphalt", look([0.085, 0.085, 0.09], 0.3, 0.05)),
    ("tarmac", look([0.085, 0.085, 0.09], 0.3, 0.05)),
    ("concrete", look([0.34, 0.33, 0.30], 0.15, 0.35)),
    ("bark", look([0.14, 0.10, 0.07], 0.4, 0.06)),
    ("trunk", look([0.14, 0.10, 0.07], 0.4, 0.06)),
    ("leaf", look([0.055, 0.11, 0.025], 0.35, 0.3)),
    ("leaves", look([0.055, 0.11, 0.025], 0.35, 0.3)),
    ("grass", look([0.07, 0.13, 0.03], 0.4, 0.4)),
    ("hay", look([0.42, 0.33, 0.15], 0.3, 0.08)),
    ("soil", look([0.17, 0.12, 0.08], 0.35, 0.5)),
    ("gravel", look([0.25, 0.24, 0.22], 0.4, 0.03)),
    ("sand", look([0.42, 0.34, 0.23], 0.15, 0.4)),
    ("rock", look([0.22, 0.21, 0.19], 0.35, 0.3)),
    ("stone", look([0.30, 0.29, 0.26], 0.25, 0.3)),
    ("wood", look([0.31, 0.20, 0.11], 0.25, 0.12)),
    ("fence", look([0.31, 0.20, 0.11], 0.25, 0.12)),
    ("snow", look([0.88, 0.90, 0.93], 0.04, 0.5)),
    ("car paint", look([0.30, 0.03, 0.03], 0.0, 1.0)),
    ("paint", look([0.75, 0.75, 0.72], 0.05, 0.2)),
    ("marking", look([0.72, 0.72, 0.68], 0.1, 0.1)),
    ("vest", look([0.65, 0.75, 0.05], 0.0, 1.0)),
    ("licence plate", look([0.75, 0.75, 0.72], 0.0, 1.0)),
    ("sign", look([0.60, 0.05, 0.04], 0.0, 1.0)),
    ("retro", look([0.70, 0.70, 0.68], 0.0, 1.0)),
    ("metal", look([0.42, 0.43, 0.45], 0.08, 0.2)),
    ("window", look([0.02, 0.025, 0.025], 0.0, 1.0)),
    ("glass", look([0.02, 0.025, 0.025], 0.0, 1.0)),
    ("puddle", look([0.04, 0.035, 0.03], 0.0, 1.0)),
    ("water", look([0.02, 0.03, 0.03], 0.0, 1.0)),
    ("plaster", look([0.62, 0.58, 0.50], 0.06, 0.5)),
    ("wall", look([0.62, 0.58, 0.50], 0.06, 0.5)),
    ("skin", look([0.45, 0.30, 0.22], 0.05, 0.1)),
    ("cloth", look([0.10, 0.14, 0.30], 0.15, 0.05)),
];

impl Look {
    /// The look of a material. If the material has a colour, the look is plain in this colour. Otherwise [`LOOKS`] has
    /// the look for its name. Without an entry, the look is grey; its albedo is the reflectance at 905 nm.
    pub(super) fn of(material: &Material) -> Self {
        if let Some(colour) = material.colour {
            return look(colour.map(f64::from), 0.0, 1.0);
        }
        let name = material.name.to_lowercase();
        let known = LOOKS.iter().find(|(word, _)| name.contains(word)).map(|(_, look)| *look);
        known.unwrap_or_else(|| look([f64::from(material.reflectance); 3], 0.0, 1.0))
    }
}

/// The [`Look`] of each of several pixels, as SIMD lanes.
pub(super) struct Looks {
    /// Albedos, as in [`Look`].
    pub albedo: Lanes3,
    pub mottle: Lanes,
    pub patch_m: Lanes,
}

impl Looks {
    #[inline(always)]
    pub fn set(&mut self, k: usize, look: &Look) {
        (0..3).for_each(|c| self.albedo[c][k] = look.albedo[c]);
        self.mottle[k] = look.mottle;
        self.patch_m[k] = look.patch_m;
    }

    /// Albedos, without mortar, at positions in World. `pixel_m` is the width of a pixel at the surface; smaller
    /// patches have no effect.
    #[inline(always)]
    pub fn albedos(&self, places: &Lanes3, pixel_m: &Lanes, len: usize, out: &mut Lanes3) {
        let mut factor = [1.0; LANES];
        for (times, share) in [(1.0, 0.7), (7.0, 0.5)] {
            let mut visible = [0.0; LANES];
            for k in 0..LANES {
                visible[k] = (1.0 - pixel_m[k] / (self.patch_m[k] * times)).clamp(0.0, 1.0);
            }
            let is_visible = |k: usize| self.mottle[k] != 0.0 && visible[k] > 0.0;
            if !(0..len).any(is_visible) {
                continue;
            }
            for k in 0..LANES {
                let size_m = self.patch_m[k] * times;
                let noise = smooth_noise(
                    places[0][k] / size_m,
                    places[1][k] / size_m,
                    places[2][k] / size_m,
                );
                factor[k] += self.mottle[k] * share * visible[k] * noise;
            }
        }
        for c in 0..3 {
            for k in 0..LANES {
                let own = self.albedo[c][k];
                let mottled = (own * factor[k]).clamp(0.0, 0.95);
                out[c][k] = if self.mottle[k] == 0.0 { own } else { mottled };
            }
        }
    }
}

/// Colour of the mortar between bricks of 250 x 75 mm on vertical walls; `None` on a brick, on floors and ceilings, and
/// where a pixel is wider than 2 cm.
pub(super) fn brick(place: DVec3, normal: DVec3, pixel_m: f64) -> Option<Colour> {
    const MORTAR: Colour = [0.45, 0.42, 0.37];
    if normal.z.abs() > 0.7 || pixel_m > 0.02 {
        return None;
    }
    let along = normal.y.abs() * place.x + normal.x.abs() * place.y;
    let course = (place.z / 0.075).floor();
    let shift = if course.rem_euclid(2.0) < 1.0 { 0.0 } else { 0.125 };
    let in_brick = (along + shift).rem_euclid(0.25);
    (in_brick < 0.012 || place.z.rem_euclid(0.075) < 0.012).then_some(MORTAR)
}

/// Noise between -1 and 1: random values at the corners of unit cubes, with smooth interpolation between them.
#[inline(always)]
fn smooth_noise(x: f64, y: f64, z: f64) -> f64 {
    let smooth = |part: f64| part * part * (3.0 - 2.0 * part);
    let (left, right) = cell(x);
    let (front, ahead) = cell(y);
    let (below, up) = cell(z);
    let (right, ahead, up) = (smooth(right), smooth(ahead), smooth(up));
    let ends =
        |cell: u64, odd: u64| [cell.wrapping_mul(odd), cell.wrapping_mul(odd).wrapping_add(odd)];
    let x = ends(left, 0x9e37_79b9_7f4a_7c15);
    let y = ends(front, 0xc2b2_ae3d_27d4_eb4f);
    let z = ends(below, 0x1656_67b1_9e37_79f9);
    let at = |key: u64| {
        let mixed = (key ^ key >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        real(mixed >> 40) / f64::from(1u32 << 23) - 1.0
    };
    let between = |low: f64, high: f64, share: f64| low + (high - low) * share;
    let along = |yz: u64| between(at(x[0] ^ yz), at(x[1] ^ yz), right);
    let across = |z: u64| between(along(y[0] ^ z), along(y[1] ^ z), ahead);
    between(across(z[0]), across(z[1]), up)
}
