//! Recordings of serial devices: the bytes, and a table of their times.
//!
//! `<device>.bin` has the bytes without gaps. `<device>.idx.csv` has a row for each write: `time_s` after the run's
//! first instant (nine decimals, exact), `offset` in the `.bin`, and `length` in bytes.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::part_file::PartFile;
use crate::time::SimTime;

/// Times in an index must be below this, seconds: a thousand years.
const MAX_TIME_S: f64 = 3.2e10;

/// Start times of a recording's writes.
#[derive(Debug, Default)]
pub struct SerialIndex {
    /// Offsets in the `.bin` file with their times in seconds; the offsets increase.
    rows: Vec<(u64, f64)>,
}

impl SerialIndex {
    /// Reads `NAME.idx.csv` beside `NAME.bin`; if it is missing, the index is empty. Errors name the file.
    pub fn beside(bytes_path: &Path) -> io::Result<Self> {
        let path = bytes_path.with_extension("idx.csv");
        if !path.exists() {
            return Ok(Self::default());
        }
        let read = || -> csv::Result<Vec<(u64, f64)>> {
            let mut reader = csv::Reader::from_path(&path)?;
            let mut end = 0;
            let rows = reader.deserialize::<(f64, u64, u64)>();
            let rows = rows.enumerate().map(|(row, read)| {
                let (time_s, offset, length) = read?;
                let is_time = (0.0..MAX_TIME_S).contains(&time_s);
                if !is_time || offset != end {
                    let (line, what) = (row + 2, if is_time { "offset" } else { "time_s" });
                    let text = format!("line {line}: `{what}` is out of range or not continuous");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text).into());
                }
                end = offset.saturating_add(length);
                Ok((offset, time_s))
            });
            let rows = rows.collect::<csv::Result<_>>()?;
            let length = bytes_path.metadata()?.len();
            if length != end {
                let shown = bytes_path.display();
                tracing::warn!("{shown}: the index describes {end} bytes, the file has {length}");
            }
            Ok(rows)
        };
        let rows = read().map_err(|error| told("read", &path, &error.into()))?;
        Ok(Self { rows })
    }

    /// Start time of the write that contains the byte at `offset`, seconds; `None` before the first write.
    pub fn time_s(&self, offset: u64) -> Option<f64> {
        let after = self.rows.partition_point(|(start, _)| *start <= offset);
        after.checked_sub(1).map(|row| self.rows[row].1)
    }

    /// For each write, its start time in seconds and the range of its bytes; `total` is the number of recorded bytes.
    pub fn writes(&self, total: usize) -> impl Iterator<Item = (f64, std::ops::Range<usize>)> {
        let start = move |offset: u64| usize::try_from(offset).map_or(total, |at| at.min(total));
        let ends = self.rows.iter().skip(1).map(|(offset, _)| *offset);
        let ends = ends.chain(std::iter::once(total as u64));
        let rows = self.rows.iter().zip(ends);
        rows.map(move |((offset, time_s), end)| (*time_s, start(*offset)..start(end)))
    }

    /// Time from the first write to the last, seconds; `None` without writes.
    pub fn span_s(&self) -> Option<f64> {
        self.rows.first().zip(self.rows.last()).map(|(first, last)| last.1 - first.1)
    }
}

/// Writes one device's bytes to a pair of files.
#[derive(Debug)]
pub struct SerialRecorder {
    bytes_path: PathBuf,
    index_path: PathBuf,
    bytes: BufWriter<PartFile>,
    index: BufWriter<PartFile>,
    offset: u64,
}

impl SerialRecorder {
    /// Creates `<device>.bin` and `<device>.idx.csv` in `folder`; their names end in `.part` until they are finished.
    /// Errors name the file.
    pub fn create(folder: &Path, device: &str) -> io::Result<Self> {
        let bytes_path = folder.join(format!("{device}.bin"));
        let index_path = folder.join(format!("{device}.idx.csv"));
        let create = |path: &Path| {
            let file = PartFile::create_growing(path);
            file.map(BufWriter::new).map_err(|error| told("create", path, &error))
        };
        let bytes = create(&bytes_path)?;
        let mut index = create(&index_path)?;
        let bytes_path = bytes.get_ref().path().to_owned();
        let index_path = index.get_ref().path().to_owned();
        writeln!(index, "time_s,offset,length")
            .map_err(|error| told("write", &index_path, &error))?;
        Ok(Self { bytes_path, index_path, bytes, index, offset: 0 })
    }

    /// Appends bytes; the first one leaves at `at`.
    pub fn write(&mut self, at: SimTime, bytes: &[u8]) -> io::Result<()> {
        self.bytes.write_all(bytes).map_err(|error| told("write", &self.bytes_path, &error))?;
        let (seconds, nanos) = (at.0 / 1_000_000_000, at.0 % 1_000_000_000);
        writeln!(self.index, "{seconds}.{nanos:09},{},{}", self.offset, bytes.len())
            .map_err(|error| told("write", &self.index_path, &error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes buffered data and renames the files; returns the number of recorded bytes.
    pub fn finish(self) -> io::Result<u64> {
        // The index is renamed first, so that a finished `.bin` always has its index.
        for (file, path) in [(self.index, self.index_path), (self.bytes, self.bytes_path)] {
            let file = file.into_inner().map_err(|error| error.into_error());
            file.and_then(PartFile::finish).map_err(|error| told("write", &path, &error))?;
        }
        Ok(self.offset)
    }
}

fn told(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_index_agree() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = SerialRecorder::create(folder.path(), "gnss").unwrap();
        recorder.write(SimTime(1), b"$GPGGA\r\n").unwrap();
        recorder.write(SimTime(12_345_678_901), b"").unwrap();
        recorder.write(SimTime(13_000_000_000), b"\xb5\x62").unwrap();
        assert_eq!(recorder.finish().unwrap(), 10);
        let read = |name| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("gnss.bin"), b"$GPGGA\r\n\xb5\x62");
        assert_eq!(
            String::from_utf8(read("gnss.idx.csv")).unwrap(),
            "time_s,offset,length\n0.000000001,0,8\n12.345678901,8,0\n13.000000000,8,2\n"
        );
        let index = SerialIndex::beside(&folder.path().join("gnss.bin")).unwrap();
        let times = [0, 7, 8, 9].map(|offset| index.time_s(offset));
        assert_eq!(times, [1e-9, 1e-9, 13.0, 13.0].map(Some));
        assert_eq!(index.span_s(), Some(13.0 - 1e-9));
    }

    #[test]
    fn without_an_index_no_time_is_known_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = folder.path().join("gnss.bin");
        assert_eq!(SerialIndex::beside(&bytes).unwrap().time_s(0), None);
        std::fs::write(bytes.with_extension("idx.csv"), "time_s,offset,length\n1,x,2\n").unwrap();
        let error = SerialIndex::beside(&bytes).unwrap_err().to_string();
        assert!(error.contains("gnss.idx.csv"), "{error}");
        std::fs::write(&bytes, "12345").unwrap();
        for (rows, told) in [
            ("0,0,2\n1,2,3\n", None),
            ("0,0,2\n1,3,2\n", Some("line 3: `offset`")),
            ("0,0,2\n1e300,2,3\n", Some("line 3: `time_s`")),
            ("NaN,0,5\n", Some("line 2: `time_s`")),
            ("-1,0,5\n", Some("line 2: `time_s`")),
            ("0,0,18446744073709551615\n0,18446744073709551615,9\n", None),
        ] {
            let text = format!("time_s,offset,length\n{rows}");
            std::fs::write(bytes.with_extension("idx.csv"), text).unwrap();
            let read = SerialIndex::beside(&bytes).map(drop).map_err(|error| error.to_string());
            match told {
                None => assert_eq!(read, Ok(()), "{rows}"),
                Some(told) => assert!(read.unwrap_err().contains(told), "{rows}"),
            }
        }
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = SerialRecorder::create(Path::new("/no/such/folder"), "x").unwrap_err();
        assert!(error.to_string().starts_with("cannot create /no/such/folder/x.bin: "), "{error}");
    }
}
