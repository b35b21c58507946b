//! Optics and errors that all lidars have.

words!(BeamShape:
    "ray" => Ray, "circular" => Circular, "elliptical" => Elliptical, "rectangular" => Rectangular);

/// The shape of a laser's spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeamShape {
    /// One centre ray.
    Ray,
    /// Nine rays, Goodin et al. 2018.
    Circular,
    /// Nine rays, two half-axes.
    Elliptical,
    /// Nine rays: centre, corners, edge middles.
    Rectangular,
}

/// Optics of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamSettings {
    /// Spot shape.
    pub shape: BeamShape,
    /// Full divergence angle across (horizontal), radians.
    pub divergence_horizontal_rad: f64,
    /// Full divergence angle along (vertical), radians.
    pub divergence_vertical_rad: f64,
    /// Echoes nearer to one another than this are one, metres.
    pub signal_cutoff_m: f64,
    /// Nothing nearer is reported, metres.
    pub min_range_m: f64,
    /// Nothing farther is reported, metres.
    pub max_range_m: f64,
    /// `reflectance * cos(incidence)` below which an echo is not detected, 0..1.
    pub detection_threshold: f64,
}

/// Gaussian errors of a lidar, standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseSettings {
    /// On range, metres.
    pub range_std_m: f64,
    /// On the beam's azimuth, radians.
    pub azimuth_std_rad: f64,
    /// On the beam's elevation, radians.
    pub elevation_std_rad: f64,
    /// On intensity, of full scale.
    pub intensity_std: f64,
}
