//! All families of devices, and the profiles that are part of the program.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{DeviceFaultKind, FamilyReader, Profile, read};
use crate::toml::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use crate::toml::reader::nearest;
use crate::toml::spec::TableSpec;

// `EMBEDDED`: file name and text of each profile in `firmware-profiles/`, in the order of their names.
include!(concat!(env!("OUT_DIR"), "/embedded_profiles.rs"));

/// Largest size of a profile, bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// The product families of Menura, with their profiles.
#[derive(Debug)]
pub struct Catalogue {
    families: Vec<&'static dyn FamilyReader>,
    /// Profiles of `EMBEDDED` that were already read, in the same order.
    embedded: [OnceLock<Arc<Profile>>; EMBEDDED.len()],
    profiles: OnceLock<Vec<Arc<Profile>>>,
}

impl Catalogue {
    /// A catalogue of `families`, in the order in which messages list them.
    pub fn new(families: Vec<&'static dyn FamilyReader>) -> Self {
        let embedded = [const { OnceLock::new() }; EMBEDDED.len()];
        Self { families, embedded, profiles: OnceLock::new() }
    }

    /// All families.
    pub fn families(&self) -> &[&'static dyn FamilyReader] {
        &self.families
    }

    /// Keys of a profile; they depend on its `driver` key.
    pub fn profile_spec(&self) -> TableSpec {
        read::spec(&self.families)
    }

    /// All kinds of internal faults that devices can have, each once.
    pub fn device_faults(&self) -> Vec<&'static DeviceFaultKind> {
        let mut all: Vec<&'static DeviceFaultKind> = Vec::new();
        let of_family =
            |family: &&'static dyn FamilyReader| family.faults().iter().chain(family.ptp_faults());
        for kind in self.families.iter().flat_map(of_family) {
            if !all.iter().any(|known| known.word == kind.word) {
                all.push(kind);
            }
        }
        all
    }

    /// The profiles that are part of the program, in the order of their names.
    pub fn profiles(&self) -> &[Arc<Profile>] {
        self.profiles
            .get_or_init(|| (0..EMBEDDED.len()).map(|index| self.embedded(index)).collect())
    }

    fn embedded(&self, index: usize) -> Arc<Profile> {
        let (file, text) = EMBEDDED[index];
        let parse = || match self.parse_profile(file, text) {
            Ok(profile) => Arc::new(profile),
            // The text is part of the program, so an error in it is a bug in Menura, which tests find.
            Err(faults) => panic!("{faults}"),
        };
        Arc::clone(self.embedded[index].get_or_init(parse))
    }

    /// A profile by name, or by the path of a `.toml` file.
    ///
    /// # Errors
    /// The name is unknown, or the file has errors.
    pub fn profile(&self, name_or_path: &str) -> Result<Arc<Profile>, Diagnostics> {
        if Self::is_path(name_or_path) {
            return self.load_profile(name_or_path, Path::new(name_or_path)).map(Arc::new);
        }
        self.by_name(name_or_path).ok_or_else(|| {
            let fault = Diagnostic::new(format!("there is no profile `{name_or_path}`"));
            Diagnostics::from(fault.help(self.suggestion(name_or_path)))
        })
    }

    /// Whether the value of a rig's `profile` key is a path instead of a name.
    pub fn is_path(name_or_path: &str) -> bool {
        name_or_path.contains(['/', '\\']) || name_or_path.ends_with(".toml")
    }

    /// The profile of [`Catalogue::profiles`] with this name; `None` if there is none. Reads only this profile.
    pub fn by_name(&self, name: &str) -> Option<Arc<Profile>> {
        let is_its =
            |(file, _): &(&str, &str)| Path::new(file).file_stem().is_some_and(|stem| stem == name);
        EMBEDDED.iter().position(is_its).map(|index| self.embedded(index))
    }

    /// Suggestions for an unknown name: the profiles whose names contain it, otherwise the most similar name and all
    /// profiles. Several profiles are listed by kind.
    pub fn suggestion(&self, name: &str) -> String {
        let compact = |text: &str| -> String {
            let kept = text.chars().filter(|c| c.is_ascii_alphanumeric());
            kept.map(|c| c.to_ascii_lowercase()).collect()
        };
        let word = compact(name);
        let holds =
            |profile: &&Arc<Profile>| word.len() > 1 && compact(&profile.name).contains(&word);
        let held: Vec<_> = self.profiles().iter().filter(holds).collect();
        match held.as_slice() {
            [] => {}
            [one] => return format!("did you mean `{}`, {}?", one.name, one.product.noun),
            several => return format!("profiles with this in their names: {}", by_kind(several)),
        }
        let all: Vec<_> = self.profiles().iter().collect();
        let near = nearest(name, all.iter().map(|profile| &*profile.name));
        let mean = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("{mean}allowed: {}; or the path of a .toml file", by_kind(&all))
    }

    /// Reads the profile at `path`. Messages call it `file`.
    ///
    /// # Errors
    /// All errors in the profile.
    pub fn load_profile(&self, file: &str, path: &Path) -> Result<Profile, Diagnostics> {
        let source = SourceFile::read(file, path, MAX_PROFILE_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read profile `{file}`: {why}")))
        })?;
        read::parse(&source, &self.families)
    }

    /// Reads a profile from TOML text. `file` is the name of the text in messages; the stem of `file` is the profile's
    /// name.
    ///
    /// # Errors
    /// All errors in the profile.
    pub fn parse_profile(&self, file: &str, text: &str) -> Result<Profile, Diagnostics> {
        read::parse(&SourceFile::new(file, text, ""), &self.families)
    }
}

/// Names of profiles by kind, in order of occurrence: `a spinning lidar: A, B; an IMU: C`.
fn by_kind(profiles: &[&Arc<Profile>]) -> String {
    let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
    for profile in profiles {
        let noun = profile.product.noun;
        match kinds.iter_mut().find(|(known, _)| *known == noun) {
            Some((_, names)) => names.push(&profile.name),
            None => kinds.push((noun, vec![&profile.name])),
        }
    }
    let lines: Vec<_> =
        kinds.iter().map(|(noun, names)| format!("{noun}: {}", names.join(", "))).collect();
    lines.join("; ")
}
