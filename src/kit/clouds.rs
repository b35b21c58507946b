//! Point-cloud files of a driver: PCD (text and binary), and text with one point per line.

use serde_json::{Map, Value};

/// Points in the file `name` with the content `bytes`, metres in the sensor's axes. `None` if the file has another
/// format or is incomplete, for example because the driver is still writing it.
pub fn read(name: &str, bytes: &[u8]) -> Option<Vec<[f32; 3]>> {
    if name.to_ascii_lowercase().ends_with(".pcd") { pcd(bytes) } else { text(bytes) }
}

/// Whether `bytes` are a PCD file with `DATA binary_compressed`, which [`read`] does not support.
pub fn is_compressed(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let data = lines.find(|line| line.starts_with(b"DATA "));
    data.is_some_and(|line| line.trim_ascii() == b"DATA binary_compressed")
}

/// The points as the field `points` of an event.
pub fn fields(points: &[[f32; 3]]) -> Map<String, Value> {
    let points = points.iter().map(|point| point.iter().map(|x| Value::from(*x)).collect());
    Map::from_iter([("points".to_owned(), Value::Array(points.collect()))])
}

/// One point per line. Lines that do not start with three numbers, such as a header, are ignored.
fn text(bytes: &[u8]) -> Option<Vec<[f32; 3]>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let line = |line: &str| {
        point_of(line.split([',', ';', ' ', '\t']).filter(|w| !w.is_empty()), [0, 1, 2])
    };
    Some(text.lines().filter_map(line).collect())
}

fn point_of<'w>(words: impl Iterator<Item = &'w str>, columns: [usize; 3]) -> Option<[f32; 3]> {
    let words: Vec<&str> = words.collect();
    let mut point = [0.0; 3];
    for (value, column) in point.iter_mut().zip(columns) {
        *value = words.get(column)?.parse().ok()?;
    }
    Some(point)
}

fn pcd(bytes: &[u8]) -> Option<Vec<[f32; 3]>> {
    let mut names: Vec<String> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut types: Vec<String> = Vec::new();
    let (mut points, mut at) = (0_usize, 0_usize);
    let is_binary = loop {
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&bytes[at..end]).ok()?.trim();
        at = end + 1;
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = || rest.split_whitespace();
        match key {
            "FIELDS" => names = words().map(str::to_owned).collect(),
            "SIZE" => sizes = words().map(|word| word.parse().ok()).collect::<Option<_>>()?,
            "TYPE" => types = words().map(str::to_owned).collect(),
            "COUNT" => counts = words().map(|word| word.parse().ok()).collect::<Option<_>>()?,
            "POINTS" => points = rest.trim().parse().ok()?,
            "DATA" => match rest.trim() {
                "ascii" => break false,
                "binary" => break true,
                _ => return None,
            },
            _ => {}
        }
    };
    counts.resize(names.len(), 1);
    let place = |name: &str| names.iter().position(|known| known == name);
    let fields = [place("x")?, place("y")?, place("z")?];
    if !is_binary {
        let column =
            |field: usize| counts[..field].iter().fold(0_usize, |c, n| c.saturating_add(*n));
        let body = std::str::from_utf8(bytes.get(at..)?).ok()?;
        let lines: Vec<_> = body.lines().filter(|line| !line.trim().is_empty()).collect();
        let read = lines.iter().filter_map(|l| point_of(l.split_whitespace(), fields.map(column)));
        return (lines.len() >= points).then(|| read.collect());
    }
    if sizes.len() != names.len() || types.len() != names.len() {
        return None;
    }
    let width = |field: usize| sizes[field].checked_mul(counts[field]);
    let offset = |field: usize| (0..field).try_fold(0_usize, |sum, f| sum.checked_add(width(f)?));
    let step = offset(names.len()).filter(|step| *step > 0)?;
    let body = bytes.get(at..)?.get(..step.checked_mul(points)?)?;
    let mut found = Vec::new();
    for record in body.chunks_exact(step) {
        let mut point = [0.0_f32; 3];
        for (value, field) in point.iter_mut().zip(fields) {
            let from = record.get(offset(field)?..)?;
            *value = match (types[field].as_str(), sizes[field]) {
                ("F", 4) => f32::from_le_bytes(from.get(..4)?.try_into().ok()?),
                ("F", 8) => f64::from_le_bytes(from.get(..8)?.try_into().ok()?) as f32,
                _ => return None,
            };
        }
        found.push(point);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_out_of_text_and_pcd() {
        assert_eq!(text(b"x,y,z\n1,2,3,9\n4;5;6\n"), Some(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        let head = "VERSION 0.7\nFIELDS i x y z\nSIZE 1 4 4 4\nTYPE U F F F\nCOUNT 2 1 1 1\nWIDTH 1\n\
                    HEIGHT 1\nPOINTS 1\n";
        let ascii = format!("{head}DATA ascii\n7 7 1 2 3\n");
        assert_eq!(pcd(ascii.as_bytes()), Some(vec![[1.0, 2.0, 3.0]]));
        let mut binary = format!("{head}DATA binary\n").into_bytes();
        binary.extend([7, 7]);
        for value in [1.0_f32, 2.0, 3.0] {
            binary.extend(value.to_le_bytes());
        }
        assert_eq!(read("a.PCD", &binary), Some(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(pcd(&binary[..binary.len() - 1]), None, "not whole yet");
        assert!(!is_compressed(ascii.as_bytes()) && !is_compressed(&binary));
        let compressed = format!("{head}DATA binary_compressed\n1234");
        assert_eq!(pcd(compressed.as_bytes()), None);
        assert!(is_compressed(compressed.as_bytes()));
    }

    #[test]
    fn hostile_files_are_refused() {
        let huge = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 18446744073709551615\n\
                    POINTS 18446744073709551615\nDATA binary\n";
        assert_eq!(pcd(huge.as_bytes()), None);
        let empty = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 0 0 0\nPOINTS 99999999999999999\nDATA binary\n";
        assert_eq!(pcd(empty.as_bytes()), None);
        let wide = "FIELDS x y z\nCOUNT 18446744073709551615 18446744073709551615 1\nPOINTS 1\nDATA ascii\n1 2 3\n";
        assert_eq!(pcd(wide.as_bytes()), Some(Vec::new()));
        assert_eq!(pcd(b"FIELDS x\nDATA binary\n"), None);
        assert_eq!(pcd(b""), None);
    }
}
