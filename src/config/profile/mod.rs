//! A product's firmware as data: typed, checked, nothing optional left.
//!
//! What profiles of all families share is here; the rest of a profile is its family's, which this
//! layer knows as a [`FamilyReader`] only.

pub mod baud_rate;
mod catalogue;
pub mod drift;
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
    /// The file's stem: `<vendor>-<model>-<firmware>`, or `<vendor>-<model>` if one is known.
    pub name: String,
    /// The file, as messages about its limits name it.
    pub file: String,
    /// Its text.
    pub source: Arc<SourceFile>,
    /// One line for `menura profiles`.
    pub summary: String,
    /// Where the numbers come from: manuals, captures, drivers.
    pub sources: Vec<String>,
    /// What no two sources confirm; each is a setting of the profile, not a constant of the code.
    pub unsure: Vec<String>,
    /// Facts about the product that all of Menura may use.
    pub product: Product,
    /// The family that reads it, by the word of its `driver` key.
    pub family: &'static dyn FamilyReader,
    /// Data of the family.
    pub data: Arc<dyn FamilyData>,
}

impl Profile {
    /// The ports the product sends datagrams to; none of products that send no datagrams.
    pub fn ports(&self) -> &[DatagramPort] {
        &self.product.ports
    }

    /// The keys of a rig's `settings` for this firmware, with its defaults and limits.
    pub fn settings_spec(&self) -> TableSpec {
        explore(|survey| {
            let faults = Faults::default();
            self.family.read_settings(self, Some(TableReader::surveyed(survey, &faults)));
        })
    }

    /// The family's own data, if it is of the family whose profiles are a `P`.
    pub fn data<P: 'static>(&self) -> Option<&P> {
        self.data.get()
    }
}
