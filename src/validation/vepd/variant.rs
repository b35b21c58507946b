//! The compared error models, and the parameters that Mahajan et al. 2024 do not fix.

use crate::sensors::gnss::settings::{ErrorKind, ErrorModel, ErrorPreset, ReceiverSettings};
use crate::sensors::imu::settings::{ImuModel, TriadErrors};

choices! {
    /// Error model of the receiver.
    Variant {
        /// No position error
        None = "none",
        /// The profile's own error model of a GNSS receiver with an RTK fixed solution
        Profile = "profile",
        /// Chrono's Gaussian error
        ChGauss = "ch-gauss",
        /// Chrono's random walk
        ChRw = "ch-rw",
        /// AirSim's falling HDOP without position errors
        Airsim = "airsim",
        /// Chrono's Gaussian error and AirSim's HDOP
        ChGaussAirsim = "ch-gauss+airsim",
        /// Chrono's random walk and AirSim's HDOP
        ChRwAirsim = "ch-rw+airsim",
        /// The GNSS receiver of the reference with the IMU of the five models above: shows the
        /// effect of the IMU alone
        ImuAlone = "imu-alone",
    }
}

impl Variant {
    /// The five error models that Mahajan et al. 2024 compare.
    pub const PAPER: [Self; 5] =
        [Self::ChGauss, Self::ChRw, Self::Airsim, Self::ChGaussAirsim, Self::ChRwAirsim];
    /// The five error models that Mahajan et al. 2024 compare, and the IMU alone (section III-A).
    pub const USUAL: [Self; 6] = [
        Self::ChGauss,
        Self::ChRw,
        Self::Airsim,
        Self::ChGaussAirsim,
        Self::ChRwAirsim,
        Self::ImuAlone,
    ];

    fn preset(self) -> Option<ErrorPreset> {
        match self {
            Self::Profile | Self::ImuAlone => None,
            Self::None => Some(ErrorPreset::None),
            Self::ChGauss => Some(ErrorPreset::ChGauss),
            Self::ChRw => Some(ErrorPreset::ChRw),
            Self::Airsim => Some(ErrorPreset::Airsim),
            Self::ChGaussAirsim => Some(ErrorPreset::ChGaussAirsim),
            Self::ChRwAirsim => Some(ErrorPreset::ChRwAirsim),
        }
    }

    /// Whether the variant has AirSim's falling HDOP.
    fn has_airsims_hdop(self) -> bool {
        matches!(self, Self::Airsim | Self::ChGaussAirsim | Self::ChRwAirsim)
    }

    /// Whether the variant has Chrono's IMU; otherwise it has the profile's.
    pub fn has_chronos_imu(self) -> bool {
        !matches!(self, Self::None | Self::Profile)
    }

    /// Whether the receiver has the profile's own errors and the same random numbers as the reference's receiver.
    pub fn has_reference_receiver(self) -> bool {
        self == Self::ImuAlone
    }

    /// Applies the variant's errors to a receiver.
    pub fn apply(self, receiver: &mut ReceiverSettings, preset: Preset, stated: Stated) {
        if let Some(errors) = self.preset() {
            receiver.apply(errors);
        }
        if matches!(self, Self::ChRw | Self::ChRwAirsim) {
            for grade in &mut receiver.grades {
                grade.errors = vec![ErrorModel { kind: bounded_walk(), times_dop: false }];
            }
        }
        let acquisition = &mut receiver.acquisition;
        acquisition.is_filtered = self.has_airsims_hdop();
        if acquisition.is_filtered {
            let (time_constant_s, hdop_final) = preset.hdop();
            acquisition.time_constant_s = time_constant_s;
            acquisition.hdop_final = Some(hdop_final);
            acquisition.hdop_initial = 100.0;
        }
        receiver.states_zero = stated == Stated::Zero && matches!(self, Self::ChGauss | Self::ChRw);
    }
}

choices! {
    /// Final value and time constant of AirSim's HDOP.
    Preset {
        /// 0.85 with a time constant of 12.4 s, as in the paper's public code
        Paper = "paper",
        /// 0.1 with a time constant of 0.9 s
        AirsimDefault = "airsim-default",
    }
}

impl Preset {
    /// Time constant (seconds) and final value of the HDOP.
    pub fn hdop(self) -> (f64, f64) {
        match self {
            Self::Paper => (12.4, 0.85),
            Self::AirsimDefault => (0.9, 0.1),
        }
    }
}

choices! {
    /// Accuracy that a receiver reports if its error model has none.
    Stated {
        /// A covariance of zero, as in Chrono
        Zero = "zero",
        /// The accuracy of the profile
        Model = "model",
    }
}

/// Chrono's random walk with the parameters in the public code of Mahajan et al. 2024. The mean of the steps pulls
/// the error `p` back to zero: `mu = -p / p_max` with p_max = 0.06 m. The paper prints the opposite sign, with which
/// the error would grow without limit. Chrono's formula `mu = -0.2 std p / radius` gives the same mean with the radius
/// set here.
fn bounded_walk() -> ErrorKind {
    const STD_M_S2: f64 = 0.047;
    const P_MAX_M: f64 = 0.06;
    ErrorKind::RandomWalk {
        std_m_s2: STD_M_S2,
        update_hz: 100.0,
        max_speed_m_s: 0.016,
        max_acceleration_m_s2: 0.152,
        radius_m: 0.2 * STD_M_S2 * P_MAX_M,
    }
}

/// The simulated IMU of Mahajan et al. 2024 (equation 5): white noise of the data sheet, and a bias that walks by
/// N(0, b0 sqrt(dt / t_b)) with b0 = 1e-4 and t_b = 0.1 s.
pub fn papers_imu(sheet: &ImuModel) -> ImuModel {
    let triad = |of: &TriadErrors| TriadErrors {
        noise_density: of.white_density(),
        chrono_drift: 1e-4,
        chrono_drift_time_s: 0.1,
        range: of.range,
        ..TriadErrors::NONE
    };
    ImuModel { gyro: triad(&sheet.gyro), accel: triad(&sheet.accel), ..sheet.clone() }
}
