//! Writes tables of points as files for other programs.
//!
//! The crate `las` writes LAS. PCD, PLY and NPZ consist of text and numbers, which this module writes itself: crates
//! for them are made for reading, are slow to compile, or need much memory per point.

use std::io::{self, Write};

use las::point::{Classification, Format};
use las::{Builder, GpsTimeType, Transform, Vector, Version};

use super::table::{PointTable, Values};
use crate::time::gps_minus_utc_s;

/// Origin of standard GPS time in LAS files, as POSIX time without leap seconds: 10^9 s after the GPS epoch.
const LAS_EPOCH_UNIX_S: f64 = 1_315_964_800.0;
/// A time from this number of seconds on is POSIX time; below, it is the time of a run.
const LEAST_UNIX_S: f64 = 1e9;

/// A format for points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CloudFormat {
    /// Point Cloud Library, binary.
    Pcd,
    /// ASPRS LAS 1.4. The class is 64 + the number of the label, at most 255, or 1 without a label. The point source ID is
    /// the index of the laser.
    Las,
    /// Polygon file, binary.
    Ply,
    /// NumPy: an array for each column.
    Npz,
}

/// Writes `table` to `out`.
///
/// # Errors
/// `out` cannot be written.
pub fn write_cloud(
    table: &PointTable,
    format: CloudFormat,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        CloudFormat::Pcd => write_pcd(table, out),
        CloudFormat::Ply => write_ply(table, out),
        CloudFormat::Npz => write_npz(table, out),
        CloudFormat::Las => write_las(table, out),
    }
}

fn write_pcd(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let words = |word: &dyn Fn(&super::table::Column) -> String| -> String {
        table.columns.iter().map(|column| format!(" {}", word(column))).collect()
    };
    writeln!(out, "# .PCD v0.7 - points by Menura")?;
    for (number, label) in table.labels.iter().enumerate() {
        writeln!(out, "# label {number}: {label}")?;
    }
    writeln!(out, "VERSION 0.7")?;
    writeln!(out, "FIELDS{}", words(&|column| column.name.to_owned()))?;
    writeln!(out, "SIZE{}", words(&|column| column.values.size().to_string()))?;
    let kind = |values: &Values| if values.is_fraction() { "F" } else { "U" };
    writeln!(out, "TYPE{}", words(&|column| kind(&column.values).to_owned()))?;
    writeln!(out, "COUNT{}", words(&|_| "1".to_owned()))?;
    writeln!(out, "WIDTH {}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0", table.len)?;
    writeln!(out, "POINTS {}\nDATA binary", table.len)?;
    write_rows(table, out)
}

/// Writes the values point by point, little-endian.
fn write_rows(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let mut row = Vec::new();
    for index in 0..table.len {
        row.clear();
        table.columns.iter().for_each(|column| column.values.put(index, &mut row));
        out.write_all(&row)?;
    }
    Ok(())
}

fn write_ply(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "ply\nformat binary_little_endian 1.0")?;
    for (number, label) in table.labels.iter().enumerate() {
        writeln!(out, "comment label {number}: {label}")?;
    }
    writeln!(out, "element vertex {}", table.len)?;
    for column in &table.columns {
        let kind = match column.values {
            Values::F32(_) => "float",
            Values::F64(_) => "double",
            Values::U8(_) => "uchar",
            Values::U16(_) => "ushort",
            Values::U32(_) => "uint",
        };
        writeln!(out, "property {kind} {}", column.name)?;
    }
    writeln!(out, "end_header")?;
    write_rows(table, out)
}

fn write_las(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let wrong = |error: las::Error| io::Error::other(error.to_string());
    let mut builder = Builder::from(Version::new(1, 4));
    builder.point_format = Format::new(6).map_err(wrong)?;
    builder.generating_software = format!("Menura {}", env!("CARGO_PKG_VERSION"));
    let axis = Transform { scale: 1e-4, offset: 0.0 };
    builder.transforms = Vector { x: axis, y: axis, z: axis };
    let is_unix = table
        .column("time_s")
        .is_some_and(|times| (0..table.len).all(|index| times.number(index) >= LEAST_UNIX_S));
    if is_unix {
        builder.gps_time_type = GpsTimeType::Standard;
    }
    let header = builder.into_header().map_err(wrong)?;
    let mut writer = las::Writer::new(io::Cursor::new(Vec::new()), header).map_err(wrong)?;
    let number = |name: &str, index: usize| {
        table.column(name).map(|values| values.number(index)).filter(|value| value.is_finite())
    };
    for index in 0..table.len {
        let [x, y, z] = ["x", "y", "z"].map(|name| number(name, index).unwrap_or(0.0));
        let time_s = number("time_s", index).unwrap_or(0.0);
        let gps_time_s = match is_unix {
            true => time_s - LAS_EPOCH_UNIX_S + f64::from(gps_minus_utc_s(time_s as i64)),
            false => time_s,
        };
        let label = number("label", index).unwrap_or(0.0);
        let class = match label {
            0.0 => 1,
            label => (64.0 + label).min(255.0) as u8,
        };
        writer
            .write_point(las::Point {
                x,
                y,
                z,
                intensity: (number("intensity", index).unwrap_or(0.0) * 257.0) as u16,
                return_number: 1,
                number_of_returns: 1,
                classification: Classification::new(class).map_err(wrong)?,
                point_source_id: number("laser", index).unwrap_or(0.0) as u16,
                user_data: number("why", index).unwrap_or(0.0) as u8,
                gps_time: Some(gps_time_s),
                ..las::Point::default()
            })
            .map_err(wrong)?;
    }
    let bytes = writer.into_inner().map_err(wrong)?;
    out.write_all(bytes.get_ref())
}

/// Bytes of an `.npy` file with one column: `len` elements of the NumPy type `kind`, such as `<f8`, with the bytes
/// `values`.
fn npy(kind: &str, len: usize, values: &[u8]) -> Vec<u8> {
    let mut head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len},), }}");
    // Magic, version and length take ten bytes; the numbers start at a multiple of 64 bytes.
    let padded = (10 + head.len() + 1).next_multiple_of(64) - 10;
    while head.len() + 1 < padded {
        head.push(' ');
    }
    head.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((head.len() as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.extend(values);
    out
}

fn write_npz(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let mut files = Vec::new();
    for column in &table.columns {
        let kind = match column.values {
            Values::F32(_) => "<f4",
            Values::F64(_) => "<f8",
            Values::U8(_) => "|u1",
            Values::U16(_) => "<u2",
            Values::U32(_) => "<u4",
        };
        let mut bytes = Vec::with_capacity(table.len * column.values.size());
        (0..table.len).for_each(|index| column.values.put(index, &mut bytes));
        files.push((format!("{}.npy", column.name), npy(kind, table.len, &bytes)));
    }
    if !table.labels.is_empty() {
        // Texts of fixed length, four bytes per character.
        let longest =
            table.labels.iter().map(|label| label.chars().count()).max().unwrap_or(1).max(1);
        let mut bytes = Vec::new();
        for label in &table.labels {
            let letters = label.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            letters.for_each(|letter| bytes.extend(letter.to_le_bytes()));
        }
        let kind = format!("<U{longest}");
        files.push(("label_names.npy".to_owned(), npy(&kind, table.labels.len(), &bytes)));
    }
    write_zip(&files, out)
}

/// Writes a ZIP archive of uncompressed files (PKWARE APPNOTE 6.3): local headers with the bytes, then the directory.
fn write_zip(files: &[(String, Vec<u8>)], out: &mut impl Write) -> io::Result<()> {
    let crc = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);
    let mut directory = Vec::new();
    let mut offset = 0u32;
    let too_large = || io::Error::other("an .npz file cannot be larger than 4 GB");
    for (name, bytes) in files {
        let size = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let mut fields = Vec::new();
        // Version 2.0, no flags, stored, date 1980-01-01.
        for word in [20u16, 0, 0, 0, 0x21] {
            fields.extend(word.to_le_bytes());
        }
        for number in [crc.checksum(bytes), size, size] {
            fields.extend(number.to_le_bytes());
        }
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend(0u16.to_le_bytes());
        out.write_all(b"PK\x03\x04")?;
        out.write_all(&fields)?;
        out.write_all(name.as_bytes())?;
        out.write_all(bytes)?;
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
        let head = 4 + fields.len() + name.len();
        offset = u32::try_from(head)
            .ok()
            .and_then(|head| head.checked_add(size))
            .and_then(|len| offset.checked_add(len))
            .ok_or_else(too_large)?;
    }
    out.write_all(&directory)?;
    out.write_all(b"PK\x05\x06\0\0\0\0")?;
    let count = files.len() as u16;
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&(directory.len() as u32).to_le_bytes())?;
    out.write_all(&offset.to_le_bytes())?;
    out.write_all(&[0, 0])
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;

    fn table(time_s: f64) -> PointTable {
        let column = |name, values| Column { name, values };
        let columns = vec![
            column("x", Values::F32(vec![1.5])),
            column("y", Values::F32(vec![2.5])),
            column("z", Values::F32(vec![-0.5])),
            column("time_s", Values::F64(vec![time_s])),
            column("label", Values::U16(vec![1])),
        ];
        PointTable { columns, labels: vec![String::new(), "wall".to_owned()], len: 1 }
    }

    #[test]
    fn a_ply_file_is_a_header_and_the_rows() {
        let mut out = Vec::new();
        write_cloud(&table(0.25), CloudFormat::Ply, &mut out).unwrap();
        let header = "ply\nformat binary_little_endian 1.0\ncomment label 0: \ncomment label 1: wall\n\
                      element vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
                      property double time_s\nproperty ushort label\nend_header\n";
        let (text, row) = out.split_at(header.len());
        assert_eq!(String::from_utf8_lossy(text), header);
        let mut expected: Vec<u8> =
            [1.5f32, 2.5, -0.5].iter().flat_map(|number| number.to_le_bytes()).collect();
        expected.extend(0.25f64.to_le_bytes());
        expected.extend(1u16.to_le_bytes());
        assert_eq!(row, expected);
    }

    #[test]
    fn a_las_file_declares_its_kind_of_time() {
        // GPS time is 18 s ahead of UTC from 2017 on.
        for (time_s, kind, gps_time_s) in [
            (0.25, GpsTimeType::Week, 0.25),
            (1_780_315_200.5, GpsTimeType::Standard, 464_350_418.5),
        ] {
            let mut out = Vec::new();
            write_cloud(&table(time_s), CloudFormat::Las, &mut out).unwrap();
            let mut reader = las::Reader::new(io::Cursor::new(out)).unwrap();
            assert_eq!(reader.header().gps_time_type(), kind);
            let points = reader.read_all().unwrap();
            assert_eq!(points.gps_time().unwrap().next(), Some(gps_time_s));
        }
    }
}
