//! Reads the parameters of the built-in scenes.

use crate::toml::key_types::OptionalKeys;
use crate::toml::reader::{Field, TableReader, Text};

/// A rig's choice of a built-in scene.
#[derive(Debug)]
pub struct ChosenScene<'a, 'f> {
    /// Name of the scene, with its position in the file.
    pub scene: &'a Text,
    /// The value of `world.parameters`.
    pub parameters: &'a Field<'f>,
    /// The seed of the scene if the parameters have none.
    pub rig_seed: u64,
}

/// Refuses parameters the scene does not have. When `--set` chose the scene, those that the file
/// has for another scene are left out instead: one key is enough to run a rig in another scene.
pub fn finish_parameters(mut table: TableReader<'_>, scene: &Text) {
    if scene.place.is_override() {
        table.drop_unknown(|place| !place.is_override());
    }
    table.finish();
}

impl ChosenScene<'_, '_> {
    /// Reads the parameters into `all`, which holds the defaults; messages call the scene `what`.
    pub(super) fn read<P: OptionalKeys>(&self, what: &str, all: P) -> Option<P> {
        self.read_parameters(what, all, false)
    }

    /// Like [`ChosenScene::read`], for a scene that shares words with other scenes. If `--set` chose the
    /// scene, the file's parameters belong to another scene and are dropped.
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
