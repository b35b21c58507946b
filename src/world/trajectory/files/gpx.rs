//! GPX files of GNSS receivers, versions 1.0 and 1.1: tracks, routes and waypoints.

use xml::attribute::OwnedAttribute;
use xml::common::Position;
use xml::reader::{EventReader, ParserConfig2, XmlEvent};

use super::{MAX_COORDINATE_M, Pose, number};
use crate::frames::{GeoOrigin, Geodetic};
use crate::world::trajectory::error::FileFault;

/// Largest distance of a point from the rig's origin, metres. The limit exists because the World frame is flat.
const MAX_FROM_ORIGIN_M: f64 = 200_000.0;

/// Elements with points, in the order of preference. All poses come from the first kind that the file has.
const POINT_KINDS: [&str; 3] = ["trkpt", "rtept", "wpt"];

/// Largest depth of nested elements. GPX nests six levels deep, extensions a little deeper; the XML reader slows down
/// with depth.
const MAX_DEPTH: usize = 64;

/// Largest number of namespaces. The XML reader copies them to every element; receivers declare a few.
const MAX_NAMESPACES: usize = 64;

/// A point of the file.
struct Point {
    line: u64,
    latitude_deg: f64,
    longitude_deg: f64,
    elevation_m: Option<f64>,
    /// Height of the geoid above the ellipsoid; 0 if the file does not state it.
    geoid_height_m: f64,
    time_s: Option<f64>,
}

/// Parses GPX and converts positions to the World frame at `geo`.
pub fn parse_gpx(text: &str, geo: &GeoOrigin) -> Result<Vec<Pose>, FileFault> {
    let points = read_points(text)?;
    let elevated = points.iter().all(|p| p.elevation_m.is_some());
    if !elevated && points.iter().any(|p| p.elevation_m.is_some()) {
        tracing::warn!("some GPX points have no `ele`; z is 0 for all");
    }
    points.iter().map(|point| place(point, elevated, geo)).collect()
}

fn place(point: &Point, elevated: bool, geo: &GeoOrigin) -> Result<Pose, FileFault> {
    let &Point { line, latitude_deg, longitude_deg, time_s, .. } = point;
    let altitude_m = match point.elevation_m {
        Some(elevation_m) if elevated => elevation_m + point.geoid_height_m,
        _ => geo.origin().altitude_m,
    };
    let mut position_m =
        geo.world_from_geodetic(Geodetic { latitude_deg, longitude_deg, altitude_m });
    let distance_m = position_m.length();
    if distance_m > MAX_FROM_ORIGIN_M {
        return Err(FileFault::at_line(
            line,
            format!(
                "{:.0} km from the rig's `origin`; allowed: {:.0} km (set `origin` near the track)",
                distance_m / 1e3,
                MAX_FROM_ORIGIN_M / 1e3
            ),
        ));
    }
    if !elevated {
        position_m.z = 0.0;
    }
    Ok(Pose { line, time_s, position_m, orientation: None })
}

fn read_points(text: &str) -> Result<Vec<Point>, FileFault> {
    let mut by_kind: [Vec<Point>; 3] = Default::default();
    // The point being read, the index of its kind, and the number of open elements within it.
    let mut open: Option<(usize, Point, usize)> = None;
    let mut content = String::new();
    let mut root_seen = false;
    let mut depth_in_file = 0;
    let mut reader = EventReader::new_with_config(text.as_bytes(), limits());
    loop {
        let event = reader.next().map_err(|error| {
            FileFault::at_line(error.position().row + 1, format!("not valid XML: {}", error.msg()))
        })?;
        let line = reader.position().row + 1;
        match event {
            XmlEvent::StartElement { name, attributes, namespace } => {
                if namespace.0.len() > MAX_NAMESPACES {
                    return Err(FileFault::at_line(
                        line,
                        format!(
                            "found {} namespaces; allowed: {MAX_NAMESPACES}",
                            namespace.0.len()
                        ),
                    ));
                }
                if !root_seen && name.local_name != "gpx" {
                    return Err(FileFault::at_line(
                        line,
                        format!("found <{}>; allowed: <gpx>", name.local_name),
                    ));
                }
                root_seen = true;
                depth_in_file += 1;
                if depth_in_file > MAX_DEPTH {
                    return Err(FileFault::at_line(
                        line,
                        format!("elements nest deeper than allowed: {MAX_DEPTH}"),
                    ));
                }
                content.clear();
                if let Some((_, _, depth)) = &mut open {
                    *depth += 1;
                } else if let Some(kind) =
                    POINT_KINDS.iter().position(|kind| *kind == name.local_name)
                {
                    let degrees = |name: &str, limit| attribute(line, &attributes, name, limit);
                    let point = Point {
                        line,
                        latitude_deg: degrees("lat", 90.0)?,
                        longitude_deg: degrees("lon", 180.0)?,
                        elevation_m: None,
                        geoid_height_m: 0.0,
                        time_s: None,
                    };
                    open = Some((kind, point, 0));
                }
            }
            XmlEvent::Characters(text) | XmlEvent::CData(text) => {
                if matches!(open, Some((_, _, 1))) {
                    content.push_str(&text);
                }
            }
            XmlEvent::EndElement { name } => {
                depth_in_file -= 1;
                match open.take() {
                    Some((kind, point, 0)) => by_kind[kind].push(point),
                    Some((kind, mut point, depth)) => {
                        if depth == 1 {
                            set(&mut point, &name.local_name, content.trim()).map_err(|p| {
                                FileFault::at_line(line, p).in_field(&name.local_name)
                            })?;
                        }
                        open = Some((kind, point, depth - 1));
                    }
                    None => {}
                }
            }
            XmlEvent::EndDocument => break,
            _ => {}
        }
    }
    Ok(by_kind.into_iter().find(|points| !points.is_empty()).unwrap_or_default())
}

/// Limits for the XML reader, far above the needs of real files. Without them, a short file could expand to a huge text
/// by entities or repeated names.
fn limits() -> ParserConfig2 {
    ParserConfig2::new()
        .max_entity_expansion_length(64)
        .max_entity_expansion_depth(2)
        .max_attributes(64)
        .max_attribute_length(1 << 12)
        .max_data_length(1 << 20)
        .max_name_length(1 << 10)
}

fn attribute(
    line: u64,
    attributes: &[OwnedAttribute],
    name: &str,
    limit: f64,
) -> Result<f64, FileFault> {
    let found = attributes.iter().find(|a| a.name.local_name == name);
    number(found.map_or("", |a| &a.value), limit)
        .map_err(|problem| FileFault::at_line(line, problem).in_field(name))
}

/// Sets a point's value from the child element `name`.
fn set(point: &mut Point, name: &str, content: &str) -> Result<(), String> {
    match name {
        "ele" if content.is_empty() => {}
        "ele" => point.elevation_m = Some(number(content, MAX_COORDINATE_M)?),
        "geoidheight" => point.geoid_height_m = number(content, MAX_COORDINATE_M)?,
        "time" => {
            let stamp: jiff::Timestamp = content
                .parse()
                .or_else(|_| {
                    // A time without an offset is UTC, as GPX requires.
                    let civil: jiff::civil::DateTime = content.parse()?;
                    civil.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp())
                })
                .map_err(|_: jiff::Error| {
                    let shown: String = content.chars().take(40).collect();
                    format!("found `{shown}`; allowed: a time like 2026-06-01T12:00:00Z")
                })?;
            // The sum of seconds and fraction is rounded to a quarter of a microsecond, the resolution of an `f64` for
            // present dates.
            point.time_s =
                Some(stamp.as_second() as f64 + f64::from(stamp.subsec_nanosecond()) * 1e-9);
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    fn origin() -> GeoOrigin {
        GeoOrigin::new(Geodetic {
            latitude_deg: 33.4712,
            longitude_deg: -88.7933,
            altitude_m: 92.0,
        })
    }

    #[test]
    fn gpx_points_round_trip_near_the_origin() {
        let geo = origin();
        let places = [DVec3::new(12.0, -34.0, 5.0), DVec3::new(-900.0, 450.0, -3.0)];
        let points: String = places
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let g = geo.geodetic_from_world(*p);
                format!(
                    "<trkpt lat=\"{:.11}\" lon=\"{:.11}\"><ele>{:.6}</ele>\
                     <time>2026-06-01T12:00:0{i}.250Z</time></trkpt>\n",
                    g.latitude_deg, g.longitude_deg, g.altitude_m
                )
            })
            .collect();
        let text = format!("<gpx version=\"1.1\"><trk><trkseg>\n{points}</trkseg></trk></gpx>");
        let poses = parse_gpx(&text, &geo).unwrap();
        for (pose, place) in poses.iter().zip(places) {
            assert!(pose.position_m.distance(place) < 1e-5, "{pose:?} {place}");
        }
        assert_eq!(poses[1].time_s.unwrap() - poses[0].time_s.unwrap(), 1.0);
    }

    #[test]
    fn gpx_without_heights_stays_at_zero() {
        let text = "<gpx version=\"1.1\"><rte><rtept lat=\"33.48\" lon=\"-88.79\"/></rte></gpx>";
        let poses = parse_gpx(text, &origin()).unwrap();
        assert_eq!((poses[0].position_m.z, poses[0].time_s), (0.0, None));
    }

    #[test]
    fn faults_name_their_line() {
        let message = |text: &str| parse_gpx(text, &origin()).unwrap_err().to_string();
        let gpx = |inner: &str| {
            format!("<?xml version=\"1.0\"?>\n<gpx version=\"1.1\">\n{inner}\n</gpx>")
        };
        assert_eq!(
            message(&gpx("<wpt lat=\"33.5\" lon=\"-88.8\"/>\n<wpt lat=\"91\" lon=\"0\"/>")),
            ":4: lat: found `91`; allowed: a number from -9e1 to 9e1"
        );
        assert_eq!(
            message(&gpx("<wpt lat=\"33.5\"/>")),
            ":3: lon: found ``; allowed: a number from -1.8e2 to 1.8e2"
        );
        let child = |inner: &str| gpx(&format!("<wpt lat=\"33.5\" lon=\"-88.8\">\n{inner}</wpt>"));
        assert_eq!(
            message(&child("<ele>nan</ele>")),
            ":4: ele: found `nan`; allowed: a number from -1e7 to 1e7"
        );
        for time in ["noon", "9999-12-31T23:59:59-23:59", "-009999-01-01T00:00:00+01:00"] {
            assert_eq!(
                message(&child(&format!("<time>{time}</time>"))),
                format!(":4: time: found `{time}`; allowed: a time like 2026-06-01T12:00:00Z")
            );
        }
        assert_eq!(
            message(&gpx("<wpt lat=\"0\" lon=\"0\"/>")),
            ":3: 8936 km from the rig's `origin`; allowed: 200 km (set `origin` near the track)"
        );
        assert_eq!(message("<kml/>"), ":1: found <kml>; allowed: <gpx>");
        assert!(message("").starts_with(":1: not valid XML: "));
        assert!(message(&gpx("<wpt lat=\"33.5\" lon=\"-88.8\">")).contains("not valid XML: "));
        let depth = 100_000;
        let nested = format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert_eq!(message(&child(&nested)), ":4: elements nest deeper than allowed: 64");
        let mut bomb = String::from("<!DOCTYPE b [<!ENTITY e0 \"0123456789\">");
        for i in 1..12 {
            bomb += &format!("<!ENTITY e{i} \"{}\">", format!("&e{};", i - 1).repeat(10));
        }
        bomb += "]><gpx><name>&e11;</name></gpx>";
        assert!(message(&bomb).contains("not valid XML: "));
    }

    #[test]
    fn tracks_come_before_waypoints_and_only_direct_children_count() {
        let text = "<gpx><wpt lat=\"33.47\" lon=\"-88.79\"/><trk><trkseg>\
                    <trkpt lat=\"33.48\" lon=\"-88.79\"><extensions><ele>7</ele></extensions>\
                    <ele>92</ele><time>2026-06-01T12:00:00</time></trkpt></trkseg></trk></gpx>";
        let poses = parse_gpx(text, &origin()).unwrap();
        assert_eq!(poses.len(), 1);
        assert!(poses[0].position_m.y > 900.0 && poses[0].position_m.z.abs() < 0.2, "{poses:?}");
        assert_eq!(poses[0].time_s, Some(1_780_315_200.0));
    }
}
