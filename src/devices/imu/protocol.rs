//! The protocols that IMUs speak.

/// The protocol an IMU speaks; what a profile's `driver` key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImuProtocol {
    /// Wheeltec's FDILink.
    FdiLink,
    /// VectorNav's registers and binary outputs.
    VectorNav,
    /// Xsens's Xbus.
    Xbus,
    /// MicroStrain's MIP.
    Mip,
    /// SBG's sbgECom.
    SbgEcom,
    /// Menura's sentence for a phone.
    Phone,
}

words!(ImuProtocol:
    "wheeltec-fdilink" => FdiLink, "vectornav" => VectorNav, "xsens-xbus" => Xbus,
    "microstrain-mip" => Mip, "sbg-ecom" => SbgEcom, "phone-imu" => Phone);
