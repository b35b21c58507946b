//! Reports of a driver: events with fields and points, and lines.

use std::time::Instant;

use serde_json::{Map, Value};

/// A report of a driver about its sensor.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Time of arrival at the kit.
    pub at: Instant,
    /// Name of the event: `points`, `fix`, `imu`, or a user-defined name.
    pub event: String,
    /// Fields of the observation, without the points.
    pub fields: Map<String, Value>,
    /// Points in the sensor's axes (x forward, y left, z up), metres; points with a non-finite coordinate are omitted.
    /// After [`Observation::thin`], a part of the points.
    pub points: Vec<[f32; 3]>,
    /// Number of points before any call of [`Observation::thin`].
    pub point_count: usize,
    /// Whether the report has a list of points, even an empty one.
    pub has_points: bool,
}

impl Observation {
    /// A report with these fields; the field `points` becomes the points.
    pub fn new(at: Instant, event: String, mut fields: Map<String, Value>) -> Self {
        let written = fields.shift_remove("points");
        let has_points = matches!(written, Some(Value::Array(_)));
        let mut points = Vec::new();
        if let Some(Value::Array(items)) = written {
            points.extend(items.iter().filter_map(point));
        }
        let point_count = points.len();
        Self { at, event, fields, points, point_count, has_points }
    }

    /// Keeps the first of each `one_in` points.
    pub fn thin(&mut self, one_in: usize) {
        self.points = self.points.iter().copied().step_by(one_in).collect();
    }

    /// The number in `field`; `None` if the field contains no number. A string counts if it contains a number, or an
    /// instant (RFC 3339), which is returned as seconds of POSIX time. `true` and `false` count as 1 and 0.
    pub fn number(&self, field: &str) -> Option<f64> {
        number(self.fields.get(field)?)
    }

    /// Whether a field exists and is not null.
    pub fn tells(&self, field: &str) -> bool {
        !matches!(self.fields.get(field), None | Some(Value::Null))
    }

    /// The vector in a field; `None` if the field is not a list of three numbers.
    pub fn vector(&self, field: &str) -> Option<[f64; 3]> {
        let items = self.fields.get(field)?.as_array()?;
        let numbers: Vec<f64> = items.iter().map(number).collect::<Option<_>>()?;
        numbers.try_into().ok()
    }

    /// Event, first fields and number of points as a short text for messages.
    pub fn brief(&self) -> String {
        let mut text = self.event.clone();
        for (key, value) in self.fields.iter().take(8) {
            let value = value.to_string();
            text += &format!(" {key}={}", value.chars().take(40).collect::<String>());
        }
        if self.has_points {
            text += &format!(" ({} points)", self.point_count);
        }
        text
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().or_else(|| {
            let instant: jiff::Timestamp = text.trim().parse().ok()?;
            Some(instant.as_nanosecond() as f64 / 1e9)
        }),
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

fn point(value: &Value) -> Option<[f32; 3]> {
    let items = value.as_array()?;
    let coordinate = |index: usize| items.get(index)?.as_f64().map(|x| x as f32);
    Some([coordinate(0)?, coordinate(1)?, coordinate(2)?])
}

/// Value at a path of keys, such as `position.lat` or `values.0`; `None` if there is none.
pub fn at_path<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(object, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    })
}

/// A line of a driver's output.
#[derive(Clone, Debug)]
pub struct Line {
    /// Time of arrival.
    pub at: Instant,
    /// Text of the line, perhaps shortened.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::clock;
    use serde_json::json;

    #[test]
    fn fields_are_numbers_texts_and_points() {
        let Value::Object(fields) = json!({"points": [[1, 2, 3], [1, null, 2], [4.5, 5, 6, 7]], "a": "1.5", "v": [1, 2, 3]})
        else {
            panic!("an object")
        };
        let seen = Observation::new(clock::now(), "points".into(), fields);
        assert_eq!(seen.points, [[1.0, 2.0, 3.0], [4.5, 5.0, 6.0]]);
        assert_eq!((seen.number("a"), seen.vector("v")), (Some(1.5), Some([1.0, 2.0, 3.0])));
        assert_eq!((seen.number("v"), seen.number("b")), (None, None));
        assert_eq!(number(&json!("1970-01-01T00:01:00.5Z")), Some(60.5));
        assert_eq!(seen.brief(), "points a=\"1.5\" v=[1,2,3] (2 points)");
        let nested = json!({"a": [{"b": 3}]});
        assert_eq!(at_path(&nested, "a.0.b"), Some(&json!(3)));
        assert_eq!(at_path(&nested, "a.1.b"), None);
    }

    #[test]
    fn a_thinned_observation_knows_how_many_points_it_had() {
        let Value::Object(fields) = json!({"points": [[1, 0, 0], [2, 0, 0], [3, 0, 0]]}) else {
            panic!("an object")
        };
        let mut seen = Observation::new(clock::now(), "points".into(), fields);
        seen.thin(2);
        assert_eq!(seen.points, [[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
        assert_eq!(seen.brief(), "points (3 points)");
    }
}
