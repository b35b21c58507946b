//! Table of all families, and functions on any of them. No family imports this module.

use std::sync::LazyLock;

use super::device::Built;
use super::family::{AnyFamily, Erased};
use super::{
    clearpath_horizon, create_oi, fdilink, gige_camera, gnss, hdl64e, hesai, hokuyo, joint_encoder,
    kangaroo, livox, mip, ouster, phone_imu, roboclaw, robosense, sabertooth, sbg_ecom,
    sick_lms1xx, sick_lms2xx, vectornav, velodyne, xbus,
};
use crate::config::profile::{Catalogue, Profile};
use crate::config::rig::DeviceConfig;
use crate::config::rig::faults::DeviceFaults;
use crate::time::Epoch;

/// All families, in the order in which messages list them.
pub static FAMILIES: &[&dyn AnyFamily] = &[
    &Erased(hdl64e::Hdl64eFamily),
    &Erased(velodyne::VelodyneFamily),
    &Erased(sick_lms2xx::SickLms2xxFamily),
    &Erased(fdilink::FAMILY),
    &Erased(vectornav::FAMILY),
    &Erased(xbus::FAMILY),
    &Erased(mip::FAMILY),
    &Erased(sbg_ecom::FAMILY),
    &Erased(phone_imu::FAMILY),
    &Erased(gnss::GnssFamily),
    &Erased(sick_lms1xx::SickLms1xxFamily),
    &Erased(roboclaw::FAMILY),
    &Erased(create_oi::FAMILY),
    &Erased(kangaroo::FAMILY),
    &Erased(sabertooth::FAMILY),
    &Erased(clearpath_horizon::FAMILY),
    &Erased(joint_encoder::JointEncoderFamily),
    &Erased(hokuyo::HokuyoFamily),
    &Erased(ouster::OusterFamily),
    &Erased(hesai::HesaiFamily),
    &Erased(livox::LivoxFamily),
    &Erased(livox::first::LivoxFirstFamily),
    &Erased(robosense::RobosenseFamily),
    &Erased(gige_camera::GigeCameraFamily),
];

/// All families and built-in profiles, for the readers of rigs and profiles.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::new(FAMILIES.iter().map(|family| *family as _).collect()));
    &CATALOGUE
}

/// The family that reads `profile`.
pub fn family_of(profile: &Profile) -> &'static dyn AnyFamily {
    let found = FAMILIES.iter().find(|family| family.key() == profile.family.key());
    *found.expect("a profile's family is one of the catalogue")
}

/// Whether a device sends images.
pub fn is_camera(device: &DeviceConfig) -> bool {
    family_of(&device.profile).sends_images()
}

/// Builds the device that `config` describes, including the faults that act inside the device.
pub fn build(config: &DeviceConfig, faults: &DeviceFaults, seed: u64, epoch: Epoch) -> Built {
    family_of(&config.profile).build(config, faults, seed, epoch)
}
