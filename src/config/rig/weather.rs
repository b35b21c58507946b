//! `[world.weather]`: the air between a sensor and its targets.

use super::TrajectoryConfig;
use super::objects::ObjectConfig;
use super::parts::{Names, file_name, place_of};
use crate::toml::key_types::{By, Maybe, OneOf, SuchAs, Table, TrueOrFalse};
use crate::toml::reader::{Field, Limit, TableReader};

const FORMAT: &str = "the rig format, [world.weather]";
const DUST_FORMAT: &str = "the rig format, [[world.weather.dust]]";

/// Largest number of dust sources.
const MAX_SOURCES: usize = 16;
/// Largest number of spheres of a dust source at a time; every pulse is tested against every sphere.
const MAX_SPHERES: f64 = 2000.0;

keys! {
    with (objects: Option<&[ObjectConfig]>);
    /// The weather of a world. Without any of it the air is clear.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WeatherConfig {
        /// Falling drops.
        pub rain: Option<RainConfig> = None, part("{ rate_mm_h = 10.0 }", "[world.weather.rain]");
        /// Droplets too small for echoes of their own: they dim light and return a soft echo.
        pub fog: Option<FogConfig> = None, part("{ visibility_m = 100.0 }", "[world.weather.fog]");
        /// Falling flakes.
        pub snow: Option<SnowConfig> = None, part("{ rate_mm_h = 1.0 }", "[world.weather.snow]");
        /// A place where dust rises; one table for each.
        pub dust: Vec<DustConfig> = Vec::new(), By(|field: &Field<'_>| dust(field, objects));
        /// Effect of dust on a pulse: spheres of a medium that dims light and returns an echo, or, for comparison,
        /// random returns as in MAVS.
        pub dust_law: DustLaw = DustLaw::Spheres, OneOf(&DustLaw::WORDS, FORMAT);
        /// Velocity of the air, east, north and up; wind carries dust.
        pub wind_m_s: [f64; 3] = [0.0; 3], Limit::new(-50.0..=50.0, "m/s", FORMAT);
        /// Two distances from a lidar: where its detector begins to see the beam, and where it sees the whole beam.
        // Hahner et al. 2021 and 2022, for the HDL-64E.
        pub overlap_m: [f64; 2] = [0.9, 1.0], Limit::new(0.0..=100.0, "m", FORMAT);
    }
}

keys! {
    /// `[world.weather.rain]`
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RainConfig {
        /// Rain rate.
        pub rate_mm_h: f64,
            Limit::new(0.1..=300.0, "mm/h", "the rain model: drizzle to cloudburst");
        /// Effect on light: the extinction of Marshall and Palmer's drops, or extinction and range error as in Goodin
        /// et al. 2019.
        pub law: RainLaw = RainLaw::default(), OneOf(&RainLaw::WORDS, FORMAT);
        /// Whether single drops near the sensor return light (default: yes with "marshall_palmer", no with
        /// "goodin_2019").
        pub drops: bool = law == RainLaw::MarshallPalmer, TrueOrFalse;
        /// Depth of the water on all surfaces (default: follows from the rate).
        pub film_mm: Option<f64> = None, Maybe(Limit::new(0.0..=10.0, "mm", FORMAT));
    }
}

keys! {
    /// `[world.weather.fog]`
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FogConfig {
        /// The distance at which the contrast of a black object with the sky has fallen to `contrast`.
        pub visibility_m: f64,
            Limit::new(5.0..=50_000.0, "m", "the fog model: light is scattered only once");
        /// The contrast that defines the visibility: 0.05 for the meteorological optical range, 0.02 for Koschmieder's.
        pub contrast: f64 = 0.05,
            Limit::new(0.01..=0.1, "", "the eye's threshold: 0.05 (WMO), 0.02 (Koschmieder)");
        /// Extinction over backscatter.
        pub lidar_ratio_sr: f64 = 65.0, lidar_ratio();
    }
}

keys! {
    /// `[world.weather.snow]`
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SnowConfig {
        /// Snowfall rate, as water.
        pub rate_mm_h: f64,
            Limit::new(0.05..=50.0, "mm/h", "the snow model: light to heaviest snowfall");
        /// Dry or wet flakes; sets the defaults of `density_g_cm3` and `reflectance`.
        pub kind: SnowKind = SnowKind::default(), OneOf(&SnowKind::WORDS, FORMAT);
        /// Whether single flakes near the sensor return light.
        pub flakes: bool = true, TrueOrFalse;
        /// Mass of a flake divided by the volume of the sphere around it. Lighter flakes are larger.
        pub density_g_cm3: f64 = kind.density_g_cm3(),
            Limit::new(0.01..=0.917, "g/cm3", "physics: the density of ice");
        /// Diffuse reflectance of a flake.
        pub reflectance: f64 = kind.reflectance(), share();
    }
}

keys! {
    with (objects: Option<&[ObjectConfig]>);
    /// `[[world.weather.dust]]`: a source of dust spheres. The defaults are those of MAVS's `Dust`, except for
    /// `growth_m_s` (MAVS: 4) and `gravity`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DustConfig {
        /// Name of the dust source; its random numbers depend on it.
        pub name as required: String = String::new(), By(source_name);
        /// Place where dust rises: east, north and up; with `object`, forward, left and up from this object.
        pub position_m as required: [f64; 3] = [0.0; 3],
            Limit::new(-100_000.0..=100_000.0, "m", DUST_FORMAT);
        /// The name of the moving object that raises the dust.
        pub object: Option<usize> = None, Maybe(By(|field: &Field<'_>| carrier(field, objects)));
        /// Half the edge length of the cube in which spheres of dust rise; the cube's centre is the place.
        pub source_radius_m: f64 = 0.5, Limit::new(0.0..=100.0, "m", DUST_FORMAT);
        /// Spheres of dust that rise per second.
        pub rate_per_s: f64 = 50.0, Limit::new(0.1..=1000.0, "spheres a second", DUST_FORMAT);
        /// Lifetime of a sphere.
        pub life_s: f64 = 9.0, Limit::new(0.1..=600.0, "s", DUST_FORMAT);
        /// Radius of a new sphere.
        pub radius_m: f64 = 0.5, Limit::new(0.01..=100.0, "m", DUST_FORMAT);
        /// Growth of a sphere's radius per second.
        pub growth_m_s: f64 = 0.5, Limit::new(0.0..=20.0, "m/s", DUST_FORMAT);
        /// Share of light that passes through the middle of a new sphere, one way.
        pub transmission: f64 = 0.95,
            Limit::new(0.001..=0.999, "", "the dust model: spheres absorb some light, not all");
        /// Velocity of a new sphere in the air, east, north and up; the wind is added.
        pub velocity_m_s: [f64; 3] = [0.0, 0.0, 0.5], Limit::new(-50.0..=50.0, "m/s", DUST_FORMAT);
        /// Random velocities of up to this much are added along each axis.
        pub spread_m_s: f64 = 0.5, Limit::new(0.0..=20.0, "m/s", DUST_FORMAT);
        /// Share of gravity with which spheres fall; 0 for fine dust.
        pub gravity: f64 = 0.0, share();
        /// Extinction over backscatter.
        pub lidar_ratio_sr: f64 = 40.0, lidar_ratio();
        /// Time at which the first sphere of dust rises; a negative time is before the run.
        pub start_s: f64 = 0.0, Limit::new(-600.0..=1e7, "s", DUST_FORMAT);
        /// Time during which dust rises (default: to the end of the run).
        pub duration_s: Option<f64> = None, Maybe(Limit::new(1e-3..=1e7, "s", DUST_FORMAT));
    }
}

words!(RainLaw: "marshall_palmer" => MarshallPalmer, "goodin_2019" => Goodin2019);
/// Model of the effect of rain on light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RainLaw {
    /// Extinction by the drop sizes of Marshall and Palmer 1948.
    #[default]
    MarshallPalmer,
    /// Extinction and range error as printed in Goodin et al. 2019.
    Goodin2019,
}

words!(SnowKind: "dry" => Dry, "wet" => Wet);
/// Wetness of snowflakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnowKind {
    /// Light, large and bright.
    #[default]
    Dry,
    /// Heavy, small and darker.
    Wet,
}

impl SnowKind {
    /// Default density of a flake, g/cm³: its mass divided by the volume of the sphere around it.
    pub fn density_g_cm3(self) -> f64 {
        match self {
            Self::Dry => 0.1,
            Self::Wet => 0.5,
        }
    }

    /// Default diffuse reflectance of a flake, 0..=1.
    pub fn reflectance(self) -> f64 {
        match self {
            Self::Dry => 0.9,
            Self::Wet => 0.6,
        }
    }
}

words!(DustLaw: "spheres" => Spheres, "mavs" => Mavs);
/// Model of the effect of dust on a pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DustLaw {
    /// Spheres of a medium that attenuates light and scatters some of it back. A growing sphere keeps its mass.
    #[default]
    Spheres,
    /// A return is replaced at random by one from the dust, as in MAVS.
    Mavs,
}

impl WeatherConfig {
    /// Whether the air is clear.
    pub fn is_clear(&self) -> bool {
        self.rain.is_none() && self.fog.is_none() && self.snow.is_none() && self.dust.is_empty()
    }
}

impl DustConfig {
    /// A source called `name`, with defaults for all other keys.
    pub fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

fn share() -> Limit<f64> {
    Limit::new(0.0..=1.0, "", "physics: a share")
}

fn lidar_ratio() -> Limit<f64> {
    Limit::new(5.0..=500.0, "sr", "aerosols: measured ratios are 10 to 100 sr")
}

/// Key type of an optional table with the title `what`; `example` is a value for the documentation.
fn part(example: &'static str, what: &'static str) -> Maybe<SuchAs<Table>> {
    Maybe(SuchAs(example, Table(what)))
}

/// Reads `[world.weather]` of a world with `objects`. Without the key the air is clear.
pub(super) fn weather(
    field: &Field<'_>,
    objects: Option<&[ObjectConfig]>,
) -> Option<WeatherConfig> {
    let mut all = WeatherConfig::default();
    if !field.is_written() {
        return Some(all);
    }
    let mut table = field.table("[world.weather]")?;
    all.read_into(&mut table, objects);
    if let ([begins, complete], Some(place)) = (all.overlap_m, table.place_of("overlap_m"))
        && begins > complete
    {
        let label = format!("{begins} m is more than {complete} m");
        table.fault(
            place.fault("the first distance of `overlap_m` must be less than the second", label),
        );
    }
    table.finish();
    Some(all)
}

fn dust(field: &Field<'_>, objects: Option<&[ObjectConfig]>) -> Option<Vec<DustConfig>> {
    if !field.is_written() {
        return None;
    }
    let field = field.named("world.weather.dust");
    let expected = "up to 16 of [[world.weather.dust]]";
    let (items, _) = field.array_up_to(0..=MAX_SOURCES, DUST_FORMAT, expected)?;
    let mut names = Names::new("dust sources", "random numbers depend on the name");
    let sources: Vec<_> = items
        .iter()
        .map(|item| {
            let mut table = item.named("world.weather.dust").table("[[world.weather.dust]]")?;
            let mut source = DustConfig::default();
            source.read_into(&mut table, objects);
            check_source(&table, &source);
            if let Some(place) = table.place_of("name") {
                names.add(&field, &source.name, &place);
            }
            table.finish();
            Some(source)
        })
        .collect();
    sources.into_iter().collect()
}

fn check_source(table: &TableReader<'_>, source: &DustConfig) {
    let count = source.rate_per_s * source.life_s;
    if let Some(place) = table.place_of("rate_per_s").or(table.place_of("life_s"))
        && count > MAX_SPHERES
    {
        let title = format!("{count} spheres at a time are too many");
        let label = format!("allowed: `rate_per_s` times `life_s` is at most {MAX_SPHERES}");
        table.fault(place.fault(title, label));
    }
    if let (Some(place), Some(_)) = (table.place_of("start_s"), table.place_of("object"))
        && source.start_s < 0.0
    {
        let label = "allowed: 0 or later; objects do not move before the run";
        table.fault(place.fault("`start_s` must not be negative for dust of an object", label));
    }
}

fn source_name(field: &Field<'_>) -> Option<String> {
    file_name(field, "a dust source's").map(|name| name.value)
}

/// Index of the object that a field names; `None` after an error. An object whose trajectory is a feed is rejected:
/// dust also rises from earlier positions, so the trajectory must be known in advance.
fn carrier(field: &Field<'_>, objects: Option<&[ObjectConfig]>) -> Option<usize> {
    let text = field.text("the name of a [[world.object]]")?;
    let objects = objects?;
    let names: Vec<_> = objects.iter().map(|object| object.name.as_str()).collect();
    let index = place_of(field, &text, "object", &names)?;
    if let TrajectoryConfig::Feed(_) = objects[index].motion.trajectory {
        let title = format!(
            "object \"{}\" has a feed as its trajectory, so it cannot raise dust",
            text.value
        );
        let label = "allowed: an object with a trajectory that is known from the start";
        field.fault(text.place.fault(title, label));
        return None;
    }
    Some(index)
}
