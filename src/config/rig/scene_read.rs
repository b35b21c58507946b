//! Reads the parameters of the built-in scenes.

use crate::toml::key_types::OptionalKeys;
use crate::toml::reader::{Field, TableReader, Text};

/// The built-in scene that a rig selects.
#[derive(Debug)]
pub struct ChosenScene<'a, 'f> {
    /// Name of the scene.
    pub scene: &'a Text,
    /// The value of `world.parameters`.
    pub parameters: &'a Field<'f>,
    /// Default seed of the scene.
    pub rig_seed: u64,
}

/// Rejects parameters that the scene does not have. If `--set` selected the scene, such parameters in the rig file are
/// ignored, because they belong to the scene in the file. So one option is enough to run a rig in another scene.
pub fn finish_parameters(mut table: TableReader<'_>, scene: &Text) {
    if scene.place.is_override() {
        table.drop_unknown(|place| !place.is_override());
    }
    table.finish();
}

impl ChosenScene<'_, '_> {
    /// Returns `all`, the defaults, with the parameters that the file sets. Messages call the scene `what`.
    pub(super) fn read<P: OptionalKeys>(&self, what: &str, all: P) -> Option<P> {
        self.read_parameters(what, all, false)
    }

    /// Like [`ChosenScene::read`], for a scene that shares names of keys with other scenes. If `--set` selected the
    /// scene, the file's parameters are ignored: they are for the scene that the file names.
    pub(super) fn read_own<P: OptionalKeys>(&self, what: &str, all: P) -> Option<P> {
        self.read_parameters(what, all, self.scene.place.is_override())
    }

    fn read_parameters<P: OptionalKeys>(
        &self,
        what: &str,
        mut all: P,
        drops_file: bool,
    ) -> Option<P> {
        if self.parameters.is_written() {
            let mut table = self.parameters.table(&format!("the parameters of {what}"))?;
            if drops_file {
                table.drop_unknown(|place| !place.is_override());
            }
            all.read_into(&mut table);
            finish_parameters(table, self.scene);
        }
        Some(all)
    }
}
