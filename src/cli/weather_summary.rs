//! Text of `menura check` about the weather of a rig.

use crate::config::rig::objects::ObjectConfig;
use crate::config::rig::weather::{DustConfig, DustLaw, WeatherConfig};
use crate::sensors::weather;

/// Distance for which the optical depth is printed, metres.
const DEPTH_AT_M: f64 = 50.0;
/// Contrast at which the meteorological optical range is defined (WMO).
const CONTRAST: f64 = 0.05;

/// Lines about the weather; empty if the air is clear.
pub fn lines(weather: &WeatherConfig, objects: &[ObjectConfig]) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(rain) = &weather.rain {
        let drops = if rain.drops { "" } else { " without echoes of drops" };
        parts.push(format!("rain of {} mm/h by {}{drops}", rain.rate_mm_h, rain.law.word()));
    }
    if let Some(fog) = &weather.fog {
        let percent = 100.0 * fog.contrast;
        parts.push(format!(
            "fog with a visibility of {} m at {percent} % contrast",
            fog.visibility_m
        ));
    }
    if let Some(snow) = &weather.snow {
        let flakes = if snow.flakes { "" } else { " without echoes of flakes" };
        parts.push(format!("{} snow of {} mm/h{flakes}", snow.kind.word(), snow.rate_mm_h));
    }
    let mut lines = Vec::new();
    if !parts.is_empty() {
        let extinction = weather::extinction_per_m(weather);
        let depth = extinction * DEPTH_AT_M;
        let left = 100.0 * libm::exp(-2.0 * depth);
        let visibility_m = -libm::log(CONTRAST) / extinction;
        lines.push(format!(
            "weather: {}; optical depth {depth:.3} at {DEPTH_AT_M} m, one way: {left:.2} % of the light comes \
             back from there; visibility {} at 5 % contrast",
            parts.join(", "),
            metres(visibility_m),
        ));
    }
    lines.extend(weather.dust.iter().map(|source| dust(source, weather.dust_law, objects)));
    lines
}

fn dust(source: &DustConfig, law: DustLaw, objects: &[ObjectConfig]) -> String {
    let [x, y, z] = source.position_m;
    let at = match source.object {
        Some(object) => format!("({x}, {y}, {z}) m of {}", objects[object].name),
        None => format!("({x}, {y}, {z}) m"),
    };
    let most = (source.rate_per_s * source.life_s).ceil();
    let depth = -libm::log(source.transmission);
    let law = match law {
        DustLaw::Spheres => "",
        DustLaw::Mavs => ", random returns as in MAVS",
    };
    format!(
        "dust {}: at {at}, up to {most} spheres at a time, each new one with an optical depth of {depth:.3} \
         through its middle{law}",
        source.name,
    )
}

fn metres(distance_m: f64) -> String {
    match distance_m {
        d if d >= 10_000.0 => format!("{:.0} km", d * 1e-3),
        d if d >= 1000.0 => format!("{:.1} km", d * 1e-3),
        d if d >= 100.0 => format!("{d:.0} m"),
        d => format!("{d:.1} m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::weather::{FogConfig, RainConfig, RainLaw};

    #[test]
    fn clear_air_is_not_mentioned() {
        assert!(lines(&WeatherConfig::default(), &[]).is_empty());
    }

    #[test]
    fn optical_depth_and_visibility_are_those_of_all_parts() {
        let fog = FogConfig { visibility_m: 100.0, contrast: 0.02, lidar_ratio_sr: 65.0 };
        let rain = RainConfig {
            rate_mm_h: 10.0,
            law: RainLaw::MarshallPalmer,
            drops: false,
            film_mm: None,
        };
        let weather =
            WeatherConfig { fog: Some(fog), rain: Some(rain), ..WeatherConfig::default() };
        // The extinction is 3.912 / 100 + 0.001556 per metre.
        let expected = "weather: rain of 10 mm/h by marshall_palmer without echoes of drops, fog with a \
                        visibility of 100 m at 2 % contrast; optical depth 2.034 at 50 m, one way: 1.71 % of \
                        the light comes back from there; visibility 73.6 m at 5 % contrast";
        assert_eq!(lines(&weather, &[]), [expected]);
    }

    #[test]
    fn dust_says_where_it_rises() {
        let dust =
            DustConfig { position_m: [1.0, 2.5, 0.0], ..DustConfig::named("yard".to_owned()) };
        let weather = WeatherConfig { dust: vec![dust], ..WeatherConfig::default() };
        let expected = "dust yard: at (1, 2.5, 0) m, up to 450 spheres at a time, each new one with an \
                        optical depth of 0.051 through its middle";
        assert_eq!(lines(&weather, &[]), [expected]);
    }
}
