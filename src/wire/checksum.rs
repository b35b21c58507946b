//! Checksums of the byte formats.

use crc::{CRC_16_UMTS, Crc};

const VELODYNE: Crc<u16> = Crc::<u16>::new(&CRC_16_UMTS);

/// The CRC-16 of the HDL-64E S3's calibration: polynomial 0x8005, start 0, nothing reflected,
/// no final xor. The catalogue of CRCs knows it as CRC-16/UMTS.
pub fn crc16_velodyne<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u16 {
    let mut digest = VELODYNE.digest();
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_the_catalogues() {
        assert_eq!(crc16_velodyne([b"123456789".as_slice()]), 0xfee8);
        assert_eq!(
            crc16_velodyne([b"1234".as_slice(), b"".as_slice(), b"56789".as_slice()]),
            0xfee8
        );
    }
}
