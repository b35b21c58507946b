//! Reads `[world.weather]`.

use super::parts::{file_name, place_of};
use crate::rig::TrajectoryConfig;
use crate::rig::objects::ObjectConfig;
use crate::rig::weather::{
    DustConfig, DustLaw, FogConfig, RainConfig, RainLaw, SnowConfig, SnowKind, WeatherConfig,
};
use crate::toml::reader::{Field, Limit, TableReader, Text};

const FORMAT: &str = "the rig format, [world.weather]";
const DUST_FORMAT: &str = "the rig format, [[world.weather.dust]]";

/// Largest number of places where dust rises.
const MAX_SOURCES: usize = 16;
/// Largest number of spheres of a source at a time; each is tested for every pulse.
const MAX_SPHERES: f64 = 2000.0;

/// Reads `[world.weather]`, of a world with `objects`. Without the key the air is clear.
pub fn weather(field: &Field<'_>, objects: Option<&[ObjectConfig]>) -> Option<WeatherConfig> {
    let mut all = WeatherConfig::default();
    if !field.is_written() {
        return Some(all);
    }
    let mut table = field.table("[world.weather]")?;
    let rain = part(&mut table, ("rain", "[world.weather.rain]"), "{ rate_mm_h = 10.0 }", rain);
    let fog = part(&mut table, ("fog", "[world.weather.fog]"), "{ visibility_m = 100.0 }", fog);
    let snow = part(&mut table, ("snow", "[world.weather.snow]"), "{ rate_mm_h = 1.0 }", snow);
    let dust = dust(&table.optional("dust"), objects);
    all.dust_law = table.optional("dust_law").choice_or(&DustLaw::WORDS, FORMAT, all.dust_law);
    let speed = Limit::new(-50.0..=50.0, "m/s", FORMAT);
    all.wind_m_s = table.optional("wind_m_s").numbers_or(&speed, all.wind_m_s);
    let overlap = table.optional("overlap_m");
    let distance = Limit::new(0.0..=100.0, "m", FORMAT);
    all.overlap_m = overlap.numbers_or(&distance, all.overlap_m);
    if let ([begins, complete], Some(place)) = (all.overlap_m, overlap.place())
        && begins > complete
    {
        let label = format!("{begins} m is more than {complete} m");
        overlap.fault(
            place.fault("the first distance of `overlap_m` must be less than the second", label),
        );
    }
    table.finish();
    Some(WeatherConfig { rain: rain?, fog: fog?, snow: snow?, dust: dust?, ..all })
}

/// Reads an optional table.
fn part<'f, T>(
    table: &mut TableReader<'f>,
    (key, what): (&'static str, &str),
    example: &'static str,
    read: impl FnOnce(TableReader<'f>) -> Option<T>,
) -> Option<Option<T>> {
    let field = table.optional(key).such_as(example);
    if field.is_written() { field.table(what).and_then(read).map(Some) } else { Some(None) }
}

fn rain(mut table: TableReader<'_>) -> Option<RainConfig> {
    let rate = Limit::new(0.1..=300.0, "mm/h", "the law: drizzle to a cloudburst");
    let rate_mm_h = table.required("rate_mm_h").number(&rate);
    let law = table.optional("law").choice_or(&RainLaw::WORDS, FORMAT, RainLaw::default());
    let drops = table.optional("drops");
    let drops = match law {
        RainLaw::MarshallPalmer => drops.boolean_or(true),
        RainLaw::Goodin2019 => drops.boolean_or(false),
    };
    let film = Limit::new(0.0..=10.0, "mm", FORMAT);
    let film_mm = table.optional("film_mm").number(&film);
    table.finish();
    Some(RainConfig { rate_mm_h: rate_mm_h?, law, drops, film_mm })
}

fn fog(mut table: TableReader<'_>) -> Option<FogConfig> {
    let visibility = Limit::new(
        5.0..=50_000.0,
        "m",
        "the model: in denser fog light is scattered more than once",
    );
    let visibility_m = table.required("visibility_m").number(&visibility);
    let contrast = Limit::new(
        0.01..=0.1,
        "",
        "the contrast that eyes resolve: 0.05 (WMO), 0.02 (Koschmieder)",
    );
    let contrast = table.optional("contrast").number_or(&contrast, 0.05);
    let lidar_ratio_sr = lidar_ratio(&mut table, 65.0);
    table.finish();
    Some(FogConfig { visibility_m: visibility_m?, contrast, lidar_ratio_sr })
}

fn lidar_ratio(table: &mut TableReader<'_>, default: f64) -> f64 {
    let ratio = Limit::new(5.0..=500.0, "sr", "aerosols: 10 to 100 sr are measured");
    table.optional("lidar_ratio_sr").number_or(&ratio, default)
}

fn snow(mut table: TableReader<'_>) -> Option<SnowConfig> {
    let rate = Limit::new(0.05..=50.0, "mm/h", "the law: the water in light to heaviest snow");
    let rate_mm_h = table.required("rate_mm_h").number(&rate);
    let kind = table.optional("kind").choice_or(&SnowKind::WORDS, FORMAT, SnowKind::default());
    let flakes = table.optional("flakes").boolean_or(true);
    let density = Limit::new(0.01..=0.917, "g/cm3", "physics: the density of ice");
    let density = table.optional("density_g_cm3").number_or(&density, kind.density_g_cm3());
    let share = Limit::new(0.0..=1.0, "", "physics: a share");
    let reflectance = table.optional("reflectance").number_or(&share, kind.reflectance());
    table.finish();
    Some(SnowConfig { rate_mm_h: rate_mm_h?, kind, flakes, density_g_cm3: density, reflectance })
}

fn dust(field: &Field<'_>, objects: Option<&[ObjectConfig]>) -> Option<Vec<DustConfig>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let field = field.named("world.weather.dust");
    let expected = "up to 16 of [[world.weather.dust]]";
    let (items, _) = field.array_up_to(0..=MAX_SOURCES, DUST_FORMAT, expected)?;
    let mut names: Vec<Text> = Vec::new();
    let sources: Vec<_> = items
        .iter()
        .map(|item| {
            let mut table = item.named("world.weather.dust").table("[[world.weather.dust]]")?;
            let name = file_name(&table.required("name"), "a dust source's");
            if let Some(name) = &name {
                if let Some(first) = names.iter().find(|first| first.value == name.value) {
                    let title = format!("two dust sources are named \"{}\"", name.value);
                    let fault = name.place.fault(title, "again here");
                    let fault = fault.related(&first.place, "first here");
                    field.fault(fault.note("limit from the rig format: random draws depend on it"));
                }
                names.push(name.clone());
            }
            let source = source(&mut table, name.map(|name| name.value), objects);
            table.finish();
            source
        })
        .collect();
    sources.into_iter().collect()
}

fn source(
    table: &mut TableReader<'_>,
    name: Option<String>,
    objects: Option<&[ObjectConfig]>,
) -> Option<DustConfig> {
    let usual = DustConfig::named(name.clone().unwrap_or_default());
    let place = Limit::new(-100_000.0..=100_000.0, "m", DUST_FORMAT);
    let size = Limit::new(0.01..=100.0, "m", DUST_FORMAT);
    let reach = Limit::new(0.0..=100.0, "m", DUST_FORMAT);
    let speed = Limit::new(-50.0..=50.0, "m/s", DUST_FORMAT);
    let growth = Limit::new(0.0..=20.0, "m/s", DUST_FORMAT);
    let share = Limit::new(0.0..=1.0, "", "physics: a share");
    let passing = Limit::new(0.001..=0.999, "", "the share of light that passes through a sphere");
    let position_m = table.required("position_m").numbers(&place);
    let object_field = table.optional("object");
    let object = carrier(&object_field, objects);
    let source_radius_m =
        table.optional("source_radius_m").number_or(&reach, usual.source_radius_m);
    let (rate, life) = (table.optional("rate_per_s"), table.optional("life_s"));
    let frequency = Limit::new(0.1..=1000.0, "spheres a second", DUST_FORMAT);
    let rate_per_s = rate.number_or(&frequency, usual.rate_per_s);
    let lasting = Limit::new(0.1..=600.0, "s", DUST_FORMAT);
    let life_s = life.number_or(&lasting, usual.life_s);
    if let Some(place) = rate.place().or(life.place())
        && rate_per_s * life_s > MAX_SPHERES
    {
        let count = rate_per_s * life_s;
        let title = format!("{count} spheres at a time are too many");
        let label = format!("allowed: `rate_per_s` times `life_s` is at most {MAX_SPHERES}");
        rate.fault(place.fault(title, label));
    }
    let radius_m = table.optional("radius_m").number_or(&size, usual.radius_m);
    let growth_m_s = table.optional("growth_m_s").number_or(&growth, usual.growth_m_s);
    let transmission = table.optional("transmission").number_or(&passing, usual.transmission);
    let velocity_m_s = table.optional("velocity_m_s").numbers_or(&speed, usual.velocity_m_s);
    let spread_m_s = table.optional("spread_m_s").number_or(&growth, usual.spread_m_s);
    let gravity = table.optional("gravity").number_or(&share, usual.gravity);
    let lidar_ratio_sr = lidar_ratio(table, usual.lidar_ratio_sr);
    let start = table.optional("start_s");
    let start_limit = Limit::new(-600.0..=1e7, "s", DUST_FORMAT);
    let start_s = start.number_or(&start_limit, usual.start_s);
    if let (Some(place), true) = (start.place(), object_field.is_written())
        && start_s < 0.0
    {
        let label = "allowed: 0 or later, as nothing moves before the run";
        start.fault(place.fault("an object cannot raise dust before the run", label));
    }
    let lasting = Limit::new(1e-3..=1e7, "s", DUST_FORMAT);
    let duration_s = table.optional("duration_s").number(&lasting);
    Some(DustConfig {
        name: name?,
        position_m: position_m?,
        object: object?,
        source_radius_m,
        rate_per_s,
        life_s,
        radius_m,
        growth_m_s,
        transmission,
        velocity_m_s,
        spread_m_s,
        gravity,
        lidar_ratio_sr,
        start_s,
        duration_s,
    })
}

/// The object that a field names. Its trajectory must be known from the start, because dust rose from its
/// earlier positions.
fn carrier(field: &Field<'_>, objects: Option<&[ObjectConfig]>) -> Option<Option<usize>> {
    if !field.is_written() {
        return Some(None);
    }
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
    Some(Some(index))
}
