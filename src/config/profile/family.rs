//! Interface of a product family for reading rigs. `devices::family::Family` requires it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::Profile;
use super::product::Product;
use crate::toml::reader::TableReader;
use crate::wire::ptp::Transport;

/// Family-specific data: content of a profile, settings of a device or details of a fault. Only the product family
/// knows the concrete type.
pub trait FamilyData: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> FamilyData for T {}

impl dyn FamilyData {
    /// The data as a `T`; `None` if it has another type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A kind of internal fault of devices.
#[derive(Clone, Copy, Debug)]
pub struct DeviceFaultKind {
    /// Value of a fault's `kind` key.
    pub word: &'static str,
    /// Reads the keys of this kind. If the device is known, its firmware determines the limits.
    pub read: ReadFault,
}

/// Function that reads the keys of one kind of fault. The profile is that of the faulty device, if it is known. Returns
/// `None` after an error.
pub type ReadFault = fn(&mut TableReader<'_>, Option<&Profile>) -> Option<Arc<dyn FamilyData>>;

/// Reads the profiles and settings of one family.
pub trait FamilyReader: Sync {
    /// Value of a profile's `driver` key.
    fn key(&self) -> &'static str;

    /// Reads all keys of a profile except its name and sources.
    fn read_profile(&self, root: TableReader<'_>) -> Option<(Product, Arc<dyn FamilyData>)>;

    /// Reads the `settings` of a rig's device. If the key is missing, returns the settings of the profile.
    fn read_settings(
        &self,
        profile: &Profile,
        written: Option<TableReader<'_>>,
    ) -> Option<Arc<dyn FamilyData>>;

    /// The internal faults that a device of this family can have.
    fn faults(&self) -> &'static [DeviceFaultKind];

    /// The additional faults of a device that follows a PTP master.
    fn ptp_faults(&self) -> &'static [DeviceFaultKind];

    /// Reason why a device with these settings ignores its GPS input or corrections, and the fix; `None` if it uses
    /// them.
    fn gps_input_refusal(&self, settings: &dyn FamilyData) -> Option<GpsInputRefusal>;

    /// Port of the device to which the link connects (see [`Product::line_ports`]); `None` for products with one port.
    fn link_port(&self, settings: &dyn FamilyData) -> Option<u8>;

    /// Whether a device with these settings uses PTP on the network. Such a device needs its own IPv4 address.
    fn speaks_ptp(&self, settings: &dyn FamilyData) -> bool;

    /// Transport of PTP messages at power-on with these settings.
    fn ptp_transport(&self, settings: &dyn FamilyData) -> Transport;

    /// Whether a device with these settings follows a PTP master, on the network or within Menura.
    fn follows_ptp(&self, settings: &dyn FamilyData) -> bool;
}

/// Reason why a device ignores its GPS input or corrections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpsInputRefusal {
    /// Title of the error message, which gives the reason.
    pub title: &'static str,
    /// Label of the error message, which names the key to change.
    pub label: &'static str,
}

impl fmt::Debug for dyn FamilyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "family {}", self.key())
    }
}
