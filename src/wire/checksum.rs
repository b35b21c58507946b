//! Checksums of the byte formats.

use crc::{
    Algorithm, CRC_8_MAXIM_DOW, CRC_16_IBM_3740, CRC_16_KERMIT, CRC_16_UMTS, CRC_16_XMODEM,
    CRC_24_LTE_A, CRC_32_ISO_HDLC, Crc,
};

const VELODYNE: Crc<u16> = Crc::<u16>::new(&CRC_16_UMTS);
const XMODEM: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);
const IBM_3740: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
const KERMIT: Crc<u16> = Crc::<u16>::new(&CRC_16_KERMIT);
const MAXIM: Crc<u8> = Crc::<u8>::new(&CRC_8_MAXIM_DOW);
const QUALCOMM: Crc<u32> = Crc::<u32>::new(&CRC_24_LTE_A);

/// CRC-16 of Livox's SDK 1. For a reflected CRC, the register starts with the bits of `init` in reverse order: here
/// with 0x4c49.
const LIVOX_16: Crc<u16> =
    Crc::<u16>::new(&Algorithm { init: 0x4c49_u16.reverse_bits(), check: 0xab4e, ..CRC_16_KERMIT });
/// CRC-32 of Livox's SDK 1. The register starts with 0x564f580a xor all ones.
const LIVOX_32: Crc<u32> = Crc::<u32>::new(&Algorithm {
    init: (0x564f_580a_u32 ^ u32::MAX).reverse_bits(),
    check: 0xb08d_b5b1,
    ..CRC_32_ISO_HDLC
});

/// CRC-16 of the HDL-64E S3's calibration: polynomial 0x8005, start 0, not reflected, no final xor. The
/// catalogue of CRCs calls it CRC-16/UMTS.
pub fn crc16_umts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u16 {
    let mut digest = VELODYNE.digest();
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

/// CRC-16 of the SICK LMS 2xx: polynomial 0x8005, start 0. For each byte, the register is shifted by
/// one bit and combined with this byte and the previous one. No catalogue of CRCs has this CRC; all drivers use it.
pub fn crc16_sick(bytes: &[u8]) -> u16 {
    let step = |(crc, previous): (u16, u8), &byte: &u8| {
        let shifted = if crc & 0x8000 != 0 { (crc << 1) ^ 0x8005 } else { crc << 1 };
        (shifted ^ u16::from_be_bytes([previous, byte]), byte)
    };
    bytes.iter().fold((0, 0), step).0
}

/// CRC-16/XMODEM: polynomial 0x1021, start 0, not reflected. Used for FDILink's payloads, VectorNav and RoboClaw.
pub fn crc16_xmodem(bytes: &[u8]) -> u16 {
    XMODEM.checksum(bytes)
}

/// CRC-16/IBM-3740: polynomial 0x1021, start 0xffff, not reflected. Used for Clearpath's Horizon.
pub fn crc16_ibm_3740(bytes: &[u8]) -> u16 {
    IBM_3740.checksum(bytes)
}

/// CRC-14 of Dimension Engineering's Kangaroo: polynomial 0x22f0 reflected, start and final xor 0x3fff, over the low
/// seven bits of each byte. No catalogue of CRCs has this CRC.
pub fn crc14_kangaroo(bytes: &[u8]) -> u16 {
    let step = |crc: u16, byte: &u8| {
        (0..7).fold(crc ^ u16::from(byte & 0x7f), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0x22f0 } else { crc >> 1 }
        })
    };
    bytes.iter().fold(0x3fff, step) ^ 0x3fff
}

/// CRC-16/KERMIT: polynomial 0x1021 reflected, start 0. Used for sbgECom.
pub fn crc16_kermit(bytes: &[u8]) -> u16 {
    KERMIT.checksum(bytes)
}

/// CRC-8/MAXIM-DOW: polynomial 0x31 reflected, start 0. Used for FDILink's headers.
pub fn crc8_maxim(bytes: &[u8]) -> u8 {
    MAXIM.checksum(bytes)
}

/// Fletcher's checksum with sums of eight bits, for u-blox and MicroStrain: the sum of all bytes, then the sum of the
/// successive sums.
pub fn fletcher8(bytes: &[u8]) -> [u8; 2] {
    bytes.iter().fold([0u8, 0], |[first, second], byte| {
        let first = first.wrapping_add(*byte);
        [first, second.wrapping_add(first)]
    })
}

/// Exclusive or of all bytes, for NMEA 0183.
pub fn xor8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum ^ byte)
}

/// CRC-24Q of RTCM 3: polynomial 0x864cfb, start 0, not reflected, no final xor. The catalogue of CRCs calls
/// it CRC-24/LTE-A.
pub fn crc24q(bytes: &[u8]) -> u32 {
    QUALCOMM.checksum(bytes)
}

/// CRC-32/ISO-HDLC of Ethernet and Livox: polynomial 0x04c11db7 reflected, start and final xor all ones.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// CRC-16 of a frame's header in Livox's SDK 1: polynomial 0x1021 reflected, start 0x4c49, no final xor.
pub fn crc16_livox(bytes: &[u8]) -> u16 {
    LIVOX_16.checksum(bytes)
}

/// The CRC-32 of a frame in Livox's SDK 1: polynomial 0x04c11db7 reflected, start 0x564f580a xor all ones, final xor
/// all ones.
pub fn crc32_livox(bytes: &[u8]) -> u32 {
    LIVOX_32.checksum(bytes)
}

/// CRC-64/XZ of Ouster: polynomial 0x42f0e1eba9ea3693 reflected, start and final xor all ones.
pub fn crc64_xz(bytes: &[u8]) -> u64 {
    let mut digest = crc64fast::Digest::new();
    digest.write(bytes);
    digest.sum64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_check_value_is_the_catalogues() {
        assert_eq!(crc64_xz(b"123456789"), 0x995d_c9bb_df19_39fa);
    }

    #[test]
    fn livoxs_check_values_are_those_of_the_makers_sdk() {
        assert_eq!(crc16_livox(b"123456789"), 0xab4e);
        assert_eq!(crc32_livox(b"123456789"), 0xb08d_b5b1);
    }

    #[test]
    fn sicks_sum_is_that_of_a_telegram_known_from_drivers() {
        // Reset, and the rate 38400.
        assert_eq!(crc16_sick(&[0x02, 0x00, 0x01, 0x00, 0x10]), 0x1234);
        assert_eq!(crc16_sick(&[0x02, 0x00, 0x02, 0x00, 0x20, 0x40]), 0x0850);
    }

    #[test]
    fn the_check_value_is_the_catalogues() {
        assert_eq!(crc16_umts([b"123456789".as_slice()]), 0xfee8);
        assert_eq!(crc16_umts([b"1234".as_slice(), b"".as_slice(), b"56789".as_slice()]), 0xfee8);
    }

    #[test]
    fn horizons_check_value_is_the_catalogues() {
        assert_eq!(crc16_ibm_3740(b"123456789"), 0x29b1);
    }

    #[test]
    fn kangaroos_sum_is_that_of_a_recorded_answer() {
        let answer = [0x80, 0x43, 0x06, 0x44, 0x51, 0x01, 0x30, 0x01, 0x08];
        let crc = crc14_kangaroo(&answer);
        assert_eq!([crc & 0x7f, crc >> 7], [0x01, 0x4e]);
    }

    #[test]
    fn rtcm_check_value_is_the_catalogues() {
        assert_eq!(crc24q(b"123456789"), 0x00cd_e703);
    }
}
