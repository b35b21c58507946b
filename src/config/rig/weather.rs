//! `[world.weather]`: the air between a lidar and its targets.

/// The weather of a world. Without any of it the air is clear.
#[derive(Clone, Debug, PartialEq)]
pub struct WeatherConfig {
    /// Falling drops.
    pub rain: Option<RainConfig>,
    /// Fog: droplets that are too small to be seen singly.
    pub fog: Option<FogConfig>,
    /// Falling flakes.
    pub snow: Option<SnowConfig>,
    /// Sources of dust, in the rig's order.
    pub dust: Vec<DustConfig>,
    /// Law for a pulse in dust.
    pub dust_law: DustLaw,
    /// Velocity of the air, east, north and up, m/s. Wind carries dust.
    pub wind_m_s: [f64; 3],
    /// Distances at which a detector begins to see the beam and at which it sees the whole beam, metres.
    pub overlap_m: [f64; 2],
}

impl Default for WeatherConfig {
    /// Clear air.
    fn default() -> Self {
        Self {
            rain: None,
            fog: None,
            snow: None,
            dust: Vec::new(),
            dust_law: DustLaw::Spheres,
            wind_m_s: [0.0; 3],
            // Hahner et al. 2021 and 2022, for the HDL-64E.
            overlap_m: [0.9, 1.0],
        }
    }
}

impl WeatherConfig {
    /// Whether the air is clear.
    pub fn is_clear(&self) -> bool {
        self.rain.is_none() && self.fog.is_none() && self.snow.is_none() && self.dust.is_empty()
    }
}

words!(RainLaw: "marshall_palmer" => MarshallPalmer, "goodin_2019" => Goodin2019);
/// Law for light in rain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RainLaw {
    /// Extinction by the drops of Marshall and Palmer 1948.
    #[default]
    MarshallPalmer,
    /// Extinction and range error as Goodin et al. 2019 print them.
    Goodin2019,
}

/// `[world.weather.rain]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RainConfig {
    /// Water that falls, mm/h.
    pub rate_mm_h: f64,
    /// Law of extinction in this rain.
    pub law: RainLaw,
    /// Whether single drops send light back.
    pub drops: bool,
    /// Depth of water on all surfaces, mm; `None`: follows from the rate.
    pub film_mm: Option<f64>,
}

/// `[world.weather.fog]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FogConfig {
    /// Distance at which a black object's contrast with the sky has fallen to `contrast`, metres.
    pub visibility_m: f64,
    /// The contrast that defines the visibility: 0.05 for the meteorological optical range (WMO), 0.02
    /// for Koschmieder's.
    pub contrast: f64,
    /// Extinction over backscatter, sr.
    pub lidar_ratio_sr: f64,
}

words!(SnowKind: "dry" => Dry, "wet" => Wet);
/// Wetness of flakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnowKind {
    /// Light, large and bright.
    #[default]
    Dry,
    /// Heavy, small and darker.
    Wet,
}

impl SnowKind {
    /// Default density: mass of a flake divided by the volume of the sphere around it, g/cm³.
    pub fn density_g_cm3(self) -> f64 {
        match self {
            Self::Dry => 0.1,
            Self::Wet => 0.5,
        }
    }

    /// Diffuse reflectance of a flake, 0..=1, if the rig does not say.
    pub fn reflectance(self) -> f64 {
        match self {
            Self::Dry => 0.9,
            Self::Wet => 0.6,
        }
    }
}

/// `[world.weather.snow]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnowConfig {
    /// Snowfall rate as water, mm/h.
    pub rate_mm_h: f64,
    /// Wetness of the flakes.
    pub kind: SnowKind,
    /// Whether single flakes send light back.
    pub flakes: bool,
    /// Mass of a flake divided by the volume of the sphere around it, g/cm³.
    pub density_g_cm3: f64,
    /// Diffuse reflectance of a flake, 0..=1.
    pub reflectance: f64,
}

words!(DustLaw: "spheres" => Spheres, "mavs" => Mavs);
/// Law for a pulse in dust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DustLaw {
    /// Spheres of a medium that dims light and backscatters part of it. A sphere keeps its mass while it
    /// grows.
    #[default]
    Spheres,
    /// A return is replaced by one from the dust, by chance, as MAVS does it.
    Mavs,
}

/// `[[world.weather.dust]]`: a source of dust spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct DustConfig {
    /// Unique in the rig; random draws depend on it.
    pub name: String,
    /// Position, metres: east, north and up, or in the frame of the object that carries the source.
    pub position_m: [f64; 3],
    /// Index of the object that carries the source.
    pub object: Option<usize>,
    /// Half the edge of the cube in which spheres rise, metres.
    pub source_radius_m: f64,
    /// Spheres a second.
    pub rate_per_s: f64,
    /// Lifetime of a sphere, seconds.
    pub life_s: f64,
    /// A new sphere's radius, metres.
    pub radius_m: f64,
    /// Growth of the radius, m/s.
    pub growth_m_s: f64,
    /// Share of light that passes through the middle of a new sphere, one way.
    pub transmission: f64,
    /// Velocity of a new sphere in the air, east, north and up, m/s.
    pub velocity_m_s: [f64; 3],
    /// Largest random velocity along each axis, m/s.
    pub spread_m_s: f64,
    /// Share of gravity with which spheres fall.
    pub gravity: f64,
    /// Extinction over backscatter, sr.
    pub lidar_ratio_sr: f64,
    /// Time when the first sphere rises, seconds; negative before the run.
    pub start_s: f64,
    /// Time for which spheres rise, seconds; `None`: without end.
    pub duration_s: Option<f64>,
}

impl DustConfig {
    /// The values of keys that a rig leaves out, of a place called `name`.
    pub fn named(name: String) -> Self {
        Self {
            name,
            position_m: [0.0; 3],
            object: None,
            // MAVS's `Dust`, but for the growth, which it has as 4 m/s, and the fall.
            source_radius_m: 0.5,
            rate_per_s: 50.0,
            life_s: 9.0,
            radius_m: 0.5,
            growth_m_s: 0.5,
            transmission: 0.95,
            velocity_m_s: [0.0, 0.0, 0.5],
            spread_m_s: 0.5,
            gravity: 0.0,
            lidar_ratio_sr: 40.0,
            start_s: 0.0,
            duration_s: None,
        }
    }
}
