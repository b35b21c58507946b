//! Layout of lidar packets for each `udp_profile_lidar`.

/// Number of columns in a packet.
pub const COLUMNS: usize = 16;
/// Length of a packet's header, and of its footer, bytes. Packets of [`LidarFormat::Legacy`] have neither.
pub const EDGE_LEN: usize = 32;
/// Number of encoder ticks per rotation, in packets of [`LidarFormat::Legacy`].
pub const ENCODER_TICKS: u32 = 90_112;
/// Possible numbers of pixels per column.
pub const PIXELS: [usize; 3] = [32, 64, 128];
/// Resolution of ranges in formats of low bandwidth, millimetres.
pub const COARSE_MM: u32 = 8;
/// Near-infrared photons per count in formats of low bandwidth.
pub const COARSE_PHOTONS: u16 = 16;

/// Layout of a packet's pixels; value of `udp_profile_lidar`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LidarFormat {
    /// One return, 12 bytes per pixel, no packet header or footer.
    Legacy,
    /// One return, 12 bytes per pixel.
    #[default]
    Single,
    /// Two returns, 16 bytes per pixel.
    Dual,
    /// One return, low bandwidth, 4 bytes per pixel.
    Low,
    /// Two returns, low bandwidth, 8 bytes per pixel.
    LowDual,
    /// Two returns, low bandwidth, with the header for functional safety, 8 bytes per pixel.
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

    /// Number of returns per pixel.
    pub fn returns(self) -> usize {
        match self {
            Self::Legacy | Self::Single | Self::Low => 1,
            Self::Dual | Self::LowDual | Self::Fusa => 2,
        }
    }

    /// Length of a pixel, bytes.
    pub fn pixel_len(self) -> usize {
        match self {
            Self::Legacy | Self::Single => 12,
            Self::Dual => 16,
            Self::Low => 4,
            Self::LowDual | Self::Fusa => 8,
        }
    }

    /// Length of the header before the first column, bytes.
    pub fn header_len(self) -> usize {
        if self == Self::Legacy { 0 } else { EDGE_LEN }
    }

    /// Length of the footer after the last column, bytes.
    pub fn footer_len(self) -> usize {
        self.header_len()
    }

    /// Length of a column before its pixels, bytes.
    pub fn column_header_len(self) -> usize {
        if self == Self::Legacy { 16 } else { 12 }
    }

    /// Length of a column of `pixels` pixels, bytes.
    pub fn column_len(self, pixels: usize) -> usize {
        let footer = if self == Self::Legacy { 4 } else { 0 };
        self.column_header_len() + pixels * self.pixel_len() + footer
    }

    /// Length of a packet with `pixels` pixels per column, bytes.
    pub fn packet_len(self, pixels: usize) -> usize {
        self.header_len() + COLUMNS * self.column_len(pixels) + self.footer_len()
    }

    /// Largest range that a pixel can contain, millimetres.
    pub fn max_range_mm(self) -> u32 {
        match self {
            Self::Legacy => (1 << 20) - 1,
            Self::Single | Self::Dual => (1 << 19) - 1,
            Self::Low | Self::LowDual | Self::Fusa => ((1 << 15) - 1) * COARSE_MM,
        }
    }

    /// Possible formats of a packet of `len` bytes, each with the number of pixels per column.
    pub fn of_len(len: usize) -> impl Iterator<Item = (Self, usize)> {
        Self::NAMES.into_iter().flat_map(move |(_, format)| {
            let fits = move |pixels: &usize| format.packet_len(*pixels) == len;
            PIXELS.into_iter().filter(fits).map(move |pixels| (format, pixels))
        })
    }
}
