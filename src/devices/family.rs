//! Interface of a product family.
//!
//! A family is one folder: profile and settings with their readers, device, faults, description and decoder,
//! connected by one implementation of [`Family`]. Code outside the folder names a family only in
//! [`super::FAMILIES`].

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::commands::CommandTable;
use super::decoder::datagram::DatagramDecoder;
use super::decoder::{Hints, StreamDecoder};
use super::describe::Section;
use super::device::Built;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{FamilyData, FamilyReader, GpsInputRefusal, Product, Profile};
use crate::config::rig::DeviceConfig;
use crate::config::rig::faults::DeviceFaults;
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::reader::TableReader;
use crate::sensors::imu::settings::TriadErrors;
use crate::sensors::noise::NoiseSource;
use crate::time::Epoch;
use crate::wire::ptp::Transport;

/// A product family: products that share a profile format, device code and decoders.
pub trait Family: Sync + 'static {
    /// Data of a firmware profile.
    type Profile: Debug + Send + Sync + 'static;
    /// Settings of a unit in a rig.
    type Settings: Clone + Debug + Send + Sync + 'static;

    /// Value of a profile's `driver` key.
    fn key(&self) -> &'static str;

    /// Readers and describers of the family's profiles and settings.
    const READERS: Readers<Self>;

    /// Properties of a firmware that code outside the family uses.
    fn product(&self, profile: &Self::Profile) -> Product;

    /// The settings of a unit, changed so that the unit streams from power-on without a request by a host. `None` if
    /// all units of the family do so anyway, or none can.
    fn streaming(
        &self,
        _profile: &Self::Profile,
        _settings: &Self::Settings,
    ) -> Option<Self::Settings> {
        None
    }

    /// Fault kinds that a unit can have.
    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[]
    }

    /// Further fault kinds of a unit with a PTP slave.
    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        &[]
    }

    /// Reason why a unit with these settings would ignore its GPS input or corrections; `None` if there is no such reason.
    fn gps_input_refusal(&self, _settings: &Self::Settings) -> Option<GpsInputRefusal> {
        None
    }

    /// Port to which a unit's link is connected, one of the product's `line_ports`; `None` if the product has no such ports.
    fn link_port(&self, _settings: &Self::Settings) -> Option<u8> {
        None
    }

    /// Whether a unit uses PTP on the network; such a unit needs an address of its own.
    fn speaks_ptp(&self, _settings: &Self::Settings) -> bool {
        false
    }

    /// Transport of a unit's PTP messages at power-on.
    fn ptp_transport(&self, _settings: &Self::Settings) -> Transport {
        Transport::Udp
    }

    /// Whether a unit has a PTP slave, on the network or within Menura.
    fn follows_ptp(&self, _settings: &Self::Settings) -> bool {
        false
    }

    /// Builds the device and its sensor model.
    fn build(&self, unit: &Unit<'_, Self>) -> Built;

    /// Summary of a unit's settings for `menura check`.
    fn summary(&self, profile: &Self::Profile, settings: &Self::Settings) -> String;

    /// Decoder of a unit's byte streams: for one profile or, without a `profile`, for any firmware of the family. `None` if
    /// units send no byte streams.
    fn stream_decoder(&self, _profile: Option<&Self::Profile>) -> Option<Box<dyn StreamDecoder>> {
        None
    }

    /// Decoder of a unit's datagrams. `profile` is the profile in the user's hints, if it belongs to this family.
    /// Without a profile, the packets determine the model, and the decoder searches `known` for a profile of that
    /// model. `None` if units send no datagrams.
    ///
    /// # Errors
    /// Errors in files that the hints name.
    fn datagram_decoder(
        &self,
        _profile: Option<&Self::Profile>,
        _hints: &Hints<'_>,
        _known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        Ok(None)
    }

    /// Text of a unit's calibration file. `_extension` selects the format; an empty one selects the default format. `None`
    /// if the product has no such file, or not in this format. For the right camera of a stereo pair, `_baseline_m` is its
    /// distance from the left camera, metres; otherwise 0.
    fn calibration_file(
        &self,
        _profile: &Self::Profile,
        _settings: &Self::Settings,
        _extension: &str,
        _baseline_m: f64,
    ) -> Option<String> {
        None
    }

    /// Whether units of the family send images.
    fn sends_images(&self) -> bool {
        false
    }

    /// Errors of gyro, accelerometer and magnetometer of an IMU; `None` for other products.
    fn inertial_errors(&self, _profile: &Self::Profile) -> Option<[TriadErrors; 3]> {
        None
    }

    /// Command tables of the product's protocols, with the reaction of this firmware to each command.
    fn commands(&self, _profile: &Self::Profile) -> Vec<CommandTable> {
        Vec::new()
    }
}

/// Functions of a family that read and describe profiles and settings.
pub struct Readers<F: Family + ?Sized> {
    /// Reads a profile except its name and sources.
    pub profile: fn(&F, TableReader<'_>) -> Option<F::Profile>,
    /// Default settings of a unit.
    pub defaults: fn(&F::Profile) -> &F::Settings,
    /// Reads a rig's `settings`; the profile has the defaults. Error messages name the profile's file.
    pub settings: fn(TableReader<'_>, &Profile, &F::Profile) -> Option<F::Settings>,
    /// Sections of `menura profiles NAME` between name and sources.
    pub describe: fn(&F::Profile) -> Vec<Section>,
}

/// A unit to be built.
pub struct Unit<'a, F: Family + ?Sized> {
    /// Firmware profile of the unit.
    pub profile: &'a F::Profile,
    /// Settings in the rig.
    pub settings: &'a F::Settings,
    /// Configuration of the device in the rig: name, mount, link, cable.
    pub config: &'a DeviceConfig,
    /// Faults inside the unit.
    pub faults: &'a DeviceFaults,
    /// Seed of the run's random numbers.
    pub seed: u64,
    /// UTC at the start of the run.
    pub epoch: Epoch,
}

impl<F: Family> Unit<'_, F> {
    /// Random number source of this unit.
    pub fn noise(&self) -> NoiseSource {
        NoiseSource::new(self.seed, &self.config.name)
    }
}

/// A [`Family`] without its associated types.
pub trait AnyFamily: FamilyReader {
    /// Builds the device that `config` describes, including the faults that act inside the device.
    fn build(&self, config: &DeviceConfig, faults: &DeviceFaults, seed: u64, epoch: Epoch)
    -> Built;

    /// Sections of `menura profiles NAME` between name and sources.
    fn describe(&self, profile: &Profile) -> Vec<Section>;

    /// Summary of a device's settings for `menura check`.
    fn summary(&self, config: &DeviceConfig) -> String;

    /// Like [`Family::stream_decoder`]; `None` also for another family's profile.
    fn stream_decoder(&self, profile: Option<&Profile>) -> Option<Box<dyn StreamDecoder>>;

    /// Like [`Family::datagram_decoder`]; another family's profile is ignored.
    ///
    /// # Errors
    /// Errors in files that the hints name.
    fn datagram_decoder(
        &self,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics>;

    /// Like [`Family::calibration_file`], for a unit with the profile's settings, or for `device` of a rig. If `device` is
    /// the right camera of a stereo pair, `baseline_m` is its distance from the left camera, metres; otherwise 0.
    fn calibration_file(
        &self,
        profile: &Profile,
        device: Option<&DeviceConfig>,
        extension: &str,
        baseline_m: f64,
    ) -> Option<String>;

    /// See [`Family::sends_images`].
    fn sends_images(&self) -> bool;

    /// See [`Family::inertial_errors`].
    fn inertial_errors(&self, profile: &Profile) -> Option<[TriadErrors; 3]>;

    /// See [`Family::commands`].
    fn commands(&self, profile: &Profile) -> Vec<CommandTable>;

    /// Like [`Family::streaming`], for the settings of a device in a rig.
    fn streaming(&self, config: &DeviceConfig) -> Option<Arc<dyn FamilyData>>;
}

/// Downcasts data that this family has read.
fn own<T: Any>(data: &dyn FamilyData) -> &T {
    data.get().expect("a family is handed what it has read itself")
}

/// Downcasts the data of a profile; `None` if the profile belongs to another family.
fn own_profile<'p, F: Family>(family: &F, profile: &'p Profile) -> Option<&'p F::Profile> {
    (profile.family.key() == Family::key(family)).then(|| own(&*profile.data))
}

/// Wrapper that makes a [`Family`] an [`AnyFamily`], for the table of all families.
#[derive(Debug)]
pub struct Erased<F>(pub F);

impl<F: Family> FamilyReader for Erased<F> {
    fn key(&self) -> &'static str {
        Family::key(&self.0)
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<(Product, Arc<dyn FamilyData>)> {
        let profile = (F::READERS.profile)(&self.0, root)?;
        Some((self.0.product(&profile), Arc::new(profile)))
    }

    fn read_settings(
        &self,
        profile: &Profile,
        written: Option<TableReader<'_>>,
    ) -> Option<Arc<dyn FamilyData>> {
        let data = own::<F::Profile>(&*profile.data);
        let settings = match written {
            Some(table) => (F::READERS.settings)(table, profile, data)?,
            None => (F::READERS.defaults)(data).clone(),
        };
        Some(Arc::new(settings))
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        Family::faults(&self.0)
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        Family::ptp_faults(&self.0)
    }

    fn gps_input_refusal(&self, settings: &dyn FamilyData) -> Option<GpsInputRefusal> {
        Family::gps_input_refusal(&self.0, own(settings))
    }

    fn link_port(&self, settings: &dyn FamilyData) -> Option<u8> {
        Family::link_port(&self.0, own(settings))
    }

    fn speaks_ptp(&self, settings: &dyn FamilyData) -> bool {
        Family::speaks_ptp(&self.0, own(settings))
    }

    fn ptp_transport(&self, settings: &dyn FamilyData) -> Transport {
        Family::ptp_transport(&self.0, own(settings))
    }

    fn follows_ptp(&self, settings: &dyn FamilyData) -> bool {
        Family::follows_ptp(&self.0, own(settings))
    }
}

impl<F: Family> AnyFamily for Erased<F> {
    fn build(
        &self,
        config: &DeviceConfig,
        faults: &DeviceFaults,
        seed: u64,
        epoch: Epoch,
    ) -> Built {
        let profile = own(&*config.profile.data);
        let settings = own(&*config.settings);
        Family::build(&self.0, &Unit { profile, settings, config, faults, seed, epoch })
    }

    fn describe(&self, profile: &Profile) -> Vec<Section> {
        (F::READERS.describe)(own(&*profile.data))
    }

    fn summary(&self, config: &DeviceConfig) -> String {
        Family::summary(&self.0, own(&*config.profile.data), own(&*config.settings))
    }

    fn stream_decoder(&self, profile: Option<&Profile>) -> Option<Box<dyn StreamDecoder>> {
        let own = profile.map(|profile| own_profile(&self.0, profile));
        match own {
            Some(None) => None,
            own => Family::stream_decoder(&self.0, own.flatten()),
        }
    }

    fn datagram_decoder(
        &self,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let own = hints.profile.and_then(|profile| own_profile(&self.0, profile));
        Family::datagram_decoder(&self.0, own, hints, known)
    }

    fn calibration_file(
        &self,
        profile: &Profile,
        device: Option<&DeviceConfig>,
        extension: &str,
        baseline_m: f64,
    ) -> Option<String> {
        let data = own::<F::Profile>(&*profile.data);
        let settings = match device {
            Some(device) => own(&*device.settings),
            None => (F::READERS.defaults)(data),
        };
        Family::calibration_file(&self.0, data, settings, extension, baseline_m)
    }

    fn sends_images(&self) -> bool {
        Family::sends_images(&self.0)
    }

    fn inertial_errors(&self, profile: &Profile) -> Option<[TriadErrors; 3]> {
        Family::inertial_errors(&self.0, own(&*profile.data))
    }

    fn commands(&self, profile: &Profile) -> Vec<CommandTable> {
        Family::commands(&self.0, own(&*profile.data))
    }

    fn streaming(&self, config: &DeviceConfig) -> Option<Arc<dyn FamilyData>> {
        let (profile, settings) = (own(&*config.profile.data), own(&*config.settings));
        Family::streaming(&self.0, profile, settings).map(|settings| Arc::new(settings) as _)
    }
}
