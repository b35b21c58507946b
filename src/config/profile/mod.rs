//! A product's firmware as typed and checked data without optional values.
//!
//! This module has the part of profiles that all families share. The other keys belong to the family, which this
//! layer knows only as a [`FamilyReader`].

mod catalogue;
pub mod drift;
pub mod errors;
mod family;
pub mod lag;
pub mod lidar;
pub mod network;
mod product;
pub mod read;

use std::sync::Arc;

pub use self::catalogue::Catalogue;
pub use self::family::{DeviceFaultKind, FamilyData, FamilyReader, GpsInputRefusal};
use self::network::DatagramPort;
pub use self::product::{
    AngleSense, Control, ControlKind, Interface, JointRole, LidarTraits, Product,
};
use super::toml::diagnostic::SourceFile;
use super::toml::explore::explore;
use super::toml::reader::{Faults, TableReader};
use super::toml::spec::TableSpec;

/// One firmware of one product.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Stem of the file name: `<vendor>-<model>-<firmware>`, or `<vendor>-<model>` if the firmware is unknown.
    pub name: String,
    /// File name for messages about limits.
    pub file: String,
    /// Text of the profile.
    pub source: Arc<SourceFile>,
    /// Description in one line, for `menura profiles`.
    pub summary: String,
    /// Sources of the values: manuals, captures, drivers.
    pub sources: Vec<String>,
    /// Values that are not confirmed by two sources. Each is a key of the profile, not a constant of the code.
    pub unsure: Vec<String>,
    /// Facts about the product that all layers may use.
    pub product: Product,
    /// Product family that the profile's key `driver` names.
    pub family: &'static dyn FamilyReader,
    /// Data of the family.
    pub data: Arc<dyn FamilyData>,
}

impl Profile {
    /// Ports that the product sends datagrams from; empty for products without datagrams.
    pub fn ports(&self) -> &[DatagramPort] {
        &self.product.ports
    }

    /// Keys of a rig's `settings` for this firmware, with defaults and limits.
    pub fn settings_spec(&self) -> TableSpec {
        explore(|survey| {
            let faults = Faults::default();
            self.family.read_settings(self, Some(TableReader::surveyed(survey, &faults)));
        })
    }

    /// The profile's family data if they are of the type `P`; `None` for a profile of another family.
    pub fn data<P: 'static>(&self) -> Option<&P> {
        self.data.get()
    }
}
