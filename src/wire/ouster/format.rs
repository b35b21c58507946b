//! Layout of lidar packets for each `udp_profile_lidar`.

/// Columns of a packet.
pub const COLUMNS: usize = 16;
/// Bytes of the header and of the footer of every packet but those of [`LidarFormat::Legacy`].
pub const EDGE_LEN: usize = 32;
/// Encoder ticks of a rotation, in packets of [`LidarFormat::Legacy`].
pub const ENCODER_TICKS: u32 = 90_112;
/// Pixels of a column that units can have.
pub const PIXELS: [usize; 3] = [32, 64, 128];
/// Range of a count in the formats of low bandwidth, millimetres.
pub const COARSE_MM: u32 = 8;
/// Photons of near infrared of a count in the formats of low bandwidth.
pub const COARSE_PHOTONS: u16 = 16;

/// Layout of a packet's pixels: a value of `udp_profile_lidar`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LidarFormat {
    /// Packets without header, 12 bytes a pixel.
    Legacy,
    /// One return, 12 bytes per pixel.
    #[default]
    Single,
    /// Two returns, 16 bytes a pixel.
    Dual,
    /// One return of low bandwidth, 4 bytes a pixel.
    Low,
    /// Two returns of low bandwidth, 8 bytes a pixel.
    LowDual,
    /// Two returns of low bandwidth with the header of functional safety, 8 bytes a pixel.
    Fusa,
}

impl LidarFormat {
    /// Every format with its name in the configuration.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("LEGACY", Self::Legacy),
        ("RNG19_RFL8_SIG16_NIR16", Self::Single),
        ("RNG19_RFL8_SIG16_NIR16_DUAL", Self::Dual),
        ("RNG15_RFL8_NIR8", Self::Low),
        ("RNG15_RFL8_NIR8_DUAL", Self::LowDual),
        ("FUSA_RNG15_RFL8_NIR8_DUAL", Self::Fusa),
    ];

    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "LEGACY",
            Self::Single => "RNG19_RFL8_SIG16_NIR16",
            Self::Dual => "RNG19_RFL8_SIG16_NIR16_DUAL",
            Self::Low => "RNG15_RFL8_NIR8",
            Self::LowDual => "RNG15_RFL8_NIR8_DUAL",
            Self::Fusa => "FUSA_RNG15_RFL8_NIR8_DUAL",
        }
    }

    /// Returns of a pixel.
    pub fn returns(self) -> usize {
        match self {
            Self::Legacy | Self::Single | Self::Low => 1,
            Self::Dual | Self::LowDual | Self::Fusa => 2,
        }
    }

    /// Bytes of a pixel.
    pub fn pixel_len(self) -> usize {
        match self {
            Self::Legacy | Self::Single => 12,
            Self::Dual => 16,
            Self::Low => 4,
            Self::LowDual | Self::Fusa => 8,
        }
    }

    /// Bytes before the first column.
    pub fn header_len(self) -> usize {
        if self == Self::Legacy { 0 } else { EDGE_LEN }
    }

    /// Bytes after the last column.
    pub fn footer_len(self) -> usize {
        self.header_len()
    }

    /// Bytes of a column before its pixels.
    pub fn column_header_len(self) -> usize {
        if self == Self::Legacy { 16 } else { 12 }
    }

    /// Bytes of a column of `pixels` pixels.
    pub fn column_len(self, pixels: usize) -> usize {
        let footer = if self == Self::Legacy { 4 } else { 0 };
        self.column_header_len() + pixels * self.pixel_len() + footer
    }

    /// Bytes of a packet of a unit with `pixels` pixels a column.
    pub fn packet_len(self, pixels: usize) -> usize {
        self.header_len() + COLUMNS * self.column_len(pixels) + self.footer_len()
    }

    /// The largest range that a pixel can express, millimetres.
    pub fn max_range_mm(self) -> u32 {
        match self {
            Self::Legacy => (1 << 20) - 1,
            Self::Single | Self::Dual => (1 << 19) - 1,
            Self::Low | Self::LowDual | Self::Fusa => ((1 << 15) - 1) * COARSE_MM,
        }
    }

    /// The formats that a packet of `len` bytes can have, each with the pixels of a column.
    pub fn of_len(len: usize) -> impl Iterator<Item = (Self, usize)> {
        Self::NAMES.into_iter().flat_map(move |(_, format)| {
            let fits = move |pixels: &usize| format.packet_len(*pixels) == len;
            PIXELS.into_iter().filter(fits).map(move |pixels| (format, pixels))
        })
    }
}
