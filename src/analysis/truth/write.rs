//! Writes tables of points as files for other programs.
//!
//! The crate `las` writes LAS and `ply-rs-bw` writes PLY. PCD and NPZ consist of text and numbers, which this module
//! writes itself: crates for them are made for reading, and are slow to compile.

use std::io::{self, Write};

use las::point::{Classification, Format};
use las::{Builder, Transform, Vector, Version};
use ply_rs_bw::ply::{
    Addable, DefaultElement, ElementDef, Encoding, Ply, Property, PropertyDef, PropertyType,
    ScalarType,
};

use super::table::{PointTable, Values};

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
    let mut row = Vec::new();
    for index in 0..table.len {
        row.clear();
        table.columns.iter().for_each(|column| column.values.put(index, &mut row));
        out.write_all(&row)?;
    }
    Ok(())
}

fn write_ply(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let mut ply = Ply::<DefaultElement>::new();
    ply.header.encoding = Encoding::BinaryLittleEndian;
    for (number, label) in table.labels.iter().enumerate() {
        ply.header.comments.push(format!("label {number}: {label}"));
    }
    let mut vertex = ElementDef::new("vertex".to_owned());
    for column in &table.columns {
        let scalar = match column.values {
            Values::F32(_) => ScalarType::Float,
            Values::F64(_) => ScalarType::Double,
            Values::U8(_) => ScalarType::UChar,
            Values::U16(_) => ScalarType::UShort,
            Values::U32(_) => ScalarType::UInt,
        };
        vertex
            .properties
            .add(PropertyDef::new(column.name.to_owned(), PropertyType::Scalar(scalar)));
    }
    ply.header.elements.add(vertex);
    let element = |index: usize| -> DefaultElement {
        let mut element = DefaultElement::new();
        for column in &table.columns {
            let property = match &column.values {
                Values::F32(all) => Property::Float(all[index]),
                Values::F64(all) => Property::Double(all[index]),
                Values::U8(all) => Property::UChar(all[index]),
                Values::U16(all) => Property::UShort(all[index]),
                Values::U32(all) => Property::UInt(all[index]),
            };
            element.insert(column.name.into(), property);
        }
        element
    };
    ply.payload.insert("vertex".into(), (0..table.len).map(element).collect());
    let written = ply_rs_bw::writer::Writer::new().write_ply(out, &mut ply);
    written.map(|_| ()).map_err(|error| io::Error::other(error.to_string()))
}

fn write_las(table: &PointTable, out: &mut impl Write) -> io::Result<()> {
    let wrong = |error: las::Error| io::Error::other(error.to_string());
    let mut builder = Builder::from(Version::new(1, 4));
    builder.point_format = Format::new(6).map_err(wrong)?;
    builder.generating_software = format!("Menura {}", env!("CARGO_PKG_VERSION"));
    let axis = Transform { scale: 1e-4, offset: 0.0 };
    builder.transforms = Vector { x: axis, y: axis, z: axis };
    let header = builder.into_header().map_err(wrong)?;
    let mut writer = las::Writer::new(io::Cursor::new(Vec::new()), header).map_err(wrong)?;
    let number = |name: &str, index: usize| {
        table.column(name).map(|values| values.number(index)).filter(|value| value.is_finite())
    };
    for index in 0..table.len {
        let [x, y, z] = ["x", "y", "z"].map(|name| number(name, index).unwrap_or(0.0));
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
                gps_time: Some(number("time_s", index).unwrap_or(0.0)),
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
