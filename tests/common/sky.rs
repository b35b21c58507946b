//! Computes the part of the sky that a box hides, by plane geometry and without Menura's ray caster.

/// A box with sides along the axes: smallest and largest x, y and z, metres.
pub type Sides = [[f64; 2]; 3];

/// Whether a box hides a satellite from an antenna at `from_m`. `None` if an edge of the box divides the bundle of
/// directions that differ from the satellite's by up to `spread_rad`. Angles are in radians: elevation above the
/// horizon, and azimuth clockwise from north, which is y.
pub fn is_hidden(
    sides: &Sides,
    from_m: [f64; 3],
    [elevation_rad, azimuth_rad]: [f64; 2],
    spread_rad: f64,
) -> Option<bool> {
    let is_behind = |elevation: f64, azimuth: f64| {
        let (sin_e, cos_e) = libm::sincos(elevation);
        let (sin_a, cos_a) = libm::sincos(azimuth);
        let towards = [cos_e * sin_a, cos_e * cos_a, sin_e];
        // Distances between which the line is within the box, axis by axis.
        let (mut enters, mut leaves) = (0.0_f64, f64::INFINITY);
        for axis in 0..3 {
            let ends = sides[axis].map(|end| (end - from_m[axis]) / towards[axis]);
            enters = enters.max(ends[0].min(ends[1]));
            leaves = leaves.min(ends[0].max(ends[1]));
        }
        enters < leaves
    };
    let centre = is_behind(elevation_rad, azimuth_rad);
    let is_clear = (0..96).all(|i| {
        let (sin, cos) = libm::sincos(f64::from(i) * std::f64::consts::TAU / 32.0);
        let aside = spread_rad * f64::from(i / 32 + 1) / 3.0;
        let azimuth = azimuth_rad + aside * cos / libm::cos(elevation_rad).max(0.05);
        is_behind(elevation_rad + aside * sin, azimuth) == centre
    });
    is_clear.then_some(centre)
}
