//! Reads the parameters of the built-in scenes.

use super::parts::seed_limit;
use crate::rig::scenes::ParameterHelp;
use crate::rig::{
    AndabataFieldParameters, CourtyardParameters, FortDrumParameters, GrassStandParameters,
    MeadowWallParameters, PuddleChoice, RodsParameters, RoomParameters, RootStepParameters,
    SceneSource, ShrubParameters, StreetParameters,
};
use crate::toml::reader::{Field, Limit, TableReader, Text};

/// The built-in scene that `scene` names, with its `parameters`; `rig_seed` is its seed if they name
/// none.
pub fn built_in(scene: &Text, parameters: &Field<'_>, rig_seed: u64) -> Option<SceneSource> {
    let asked = Asked { scene, parameters, rig_seed };
    Some(match scene.value.as_str() {
        "courtyard" => SceneSource::Courtyard(asked.courtyard()?),
        "room" => SceneSource::Room(asked.room()?),
        "root-step" => SceneSource::RootStep(asked.root_step()?),
        "rods" => SceneSource::Rods(asked.rods()?),
        "meadow-wall" => SceneSource::MeadowWall(asked.meadow_wall()?),
        "grass-stand" => SceneSource::GrassStand(asked.grass_stand()?),
        "shrub" => SceneSource::Shrub(asked.shrub()?),
        "street" => SceneSource::Street(asked.street()?),
        "andabata-field" => SceneSource::AndabataField(asked.andabata_field()?),
        "fort-drum" => SceneSource::FortDrum(asked.fort_drum()?),
        other => unreachable!("{other} is listed and not read"),
    })
}

/// Refuses parameters the scene does not have. When `--set` chose the scene, those that the file
/// has for another scene are left out instead: one key is enough to run a rig in another scene.
pub fn finish_parameters(mut table: TableReader<'_>, scene: &Text) {
    if scene.place.is_override() {
        table.drop_unknown(|place| !place.is_override());
    }
    table.finish();
}

/// A rig's choice of a built-in scene.
struct Asked<'a, 'f> {
    scene: &'a Text,
    parameters: &'a Field<'f>,
    rig_seed: u64,
}

/// A table of parameters, with what `menura scenes` prints of them.
struct Written<'a, 'f> {
    table: TableReader<'f>,
    help: &'static [ParameterHelp],
    scene: &'a Text,
}

impl<'f> Asked<'_, 'f> {
    /// The table `what`, if it is written and is one.
    fn table(&self, what: &str, help: &'static [ParameterHelp]) -> Option<Written<'_, 'f>> {
        Some(Written { table: self.parameters.table(what)?, help, scene: self.scene })
    }

    /// The same of a scene with words that other scenes have, too: when `--set` chose the scene, what
    /// the file says is meant for its own scene.
    fn own_table(&self, what: &str, help: &'static [ParameterHelp]) -> Option<Written<'_, 'f>> {
        let mut written = self.table(what, help)?;
        if self.scene.place.is_override() {
            written.table.drop_unknown(|place| !place.is_override());
        }
        Some(written)
    }

    fn courtyard(&self) -> Option<CourtyardParameters> {
        let mut all = CourtyardParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let mut table =
                self.table("the parameters of the courtyard", CourtyardParameters::HELP)?;
            table.seed(&mut all.seed);
            table.whole("grass_blades", "blades", &mut all.grass_blades);
            table.whole("trees", "trees", &mut all.trees);
            table.whole("tree_triangles", "triangles", &mut all.tree_triangles);
            table.number("ground_relief_m", "m", &mut all.ground_relief_m);
            table.finish();
        }
        Some(all)
    }

    fn room(&self) -> Option<RoomParameters> {
        let mut all = RoomParameters::default();
        if self.parameters.is_written() {
            let mut table = self.table("the parameters of the room", RoomParameters::HELP)?;
            table.numbers("size_m", "m", &mut all.size_m);
            table.number("reflectance", "", &mut all.reflectance);
            table.number("puddle_radius_m", "m", &mut all.puddle_radius_m);
            table.finish();
        }
        Some(all)
    }

    fn root_step(&self) -> Option<RootStepParameters> {
        let mut all = RootStepParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let what = "the parameters of the forest floor";
            let mut table = self.own_table(what, RootStepParameters::HELP)?;
            table.seed(&mut all.seed);
            table.whole("ground_triangles", "triangles", &mut all.ground_triangles);
            table.whole("trees", "trees", &mut all.trees);
            table.whole("tree_triangles", "triangles", &mut all.tree_triangles);
            table.whole("plants", "plants", &mut all.plants);
            table.number("ground_relief_m", "m", &mut all.ground_relief_m);
            table.number("step_height_m", "m", &mut all.step_height_m);
            table.finish();
        }
        Some(all)
    }

    fn rods(&self) -> Option<RodsParameters> {
        let mut all = RodsParameters::default();
        if self.parameters.is_written() {
            let mut table = self.own_table("the parameters of the rods", RodsParameters::HELP)?;
            table.whole("sides", "sides", &mut all.sides);
            table.whole("rods", "rods", &mut all.rods);
            table.number("diameter_m", "m", &mut all.diameter_m);
            table.number("middle_diameter_m", "m", &mut all.middle_diameter_m);
            table.number("spacing_m", "m", &mut all.spacing_m);
            table.number("height_m", "m", &mut all.height_m);
            table.number("row_distance_m", "m", &mut all.row_distance_m);
            table.number("wall_behind_m", "m", &mut all.wall_behind_m);
            table.number("wall_width_m", "m", &mut all.wall_width_m);
            table.number("rod_reflectance", "", &mut all.rod_reflectance);
            table.number("wall_reflectance", "", &mut all.wall_reflectance);
            table.finish();
        }
        Some(all)
    }

    fn meadow_wall(&self) -> Option<MeadowWallParameters> {
        let mut all = MeadowWallParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let what = "the parameters of the walled meadow";
            let mut table = self.own_table(what, MeadowWallParameters::HELP)?;
            table.seed(&mut all.seed);
            table.whole("grass_blades", "blades", &mut all.grass_blades);
            table.number("fence_distance_m", "m", &mut all.fence_distance_m);
            table.number("fence_height_m", "m", &mut all.fence_height_m);
            table.number("post_spacing_m", "m", &mut all.post_spacing_m);
            table.number("post_diameter_m", "m", &mut all.post_diameter_m);
            table.number("wire_spacing_m", "m", &mut all.wire_spacing_m);
            table.number("wire_diameter_m", "m", &mut all.wire_diameter_m);
            table.number("wall_behind_m", "m", &mut all.wall_behind_m);
            table.number("wall_height_m", "m", &mut all.wall_height_m);
            table.finish();
        }
        Some(all)
    }

    fn grass_stand(&self) -> Option<GrassStandParameters> {
        let mut all = GrassStandParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let what = "the parameters of the stand of grass";
            let mut table = self.own_table(what, GrassStandParameters::HELP)?;
            table.seed(&mut all.seed);
            table.number("stems_per_m2", "stems", &mut all.stems_per_m2);
            table.number("diameter_m", "m", &mut all.diameter_m);
            table.number("distance_m", "m", &mut all.distance_m);
            table.number("width_m", "m", &mut all.width_m);
            table.number("depth_m", "m", &mut all.depth_m);
            table.number("height_m", "m", &mut all.height_m);
            table.number("reflectance", "", &mut all.reflectance);
            table.finish();
        }
        Some(all)
    }

    fn shrub(&self) -> Option<ShrubParameters> {
        let mut all = ShrubParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let mut table = self.own_table("the parameters of the shrub", ShrubParameters::HELP)?;
            table.seed(&mut all.seed);
            table.whole("leaves", "leaves", &mut all.leaves);
            table.number("leaf_radius_m", "m", &mut all.leaf_radius_m);
            table.numbers("crown_m", "m", &mut all.crown_m);
            table.number("stem_diameter_m", "m", &mut all.stem_diameter_m);
            table.number("bare_stem_m", "m", &mut all.bare_stem_m);
            table.number("leaf_reflectance", "", &mut all.leaf_reflectance);
            table.number("stem_reflectance", "", &mut all.stem_reflectance);
            table.finish();
        }
        Some(all)
    }

    fn street(&self) -> Option<StreetParameters> {
        let mut all = StreetParameters::default();
        if self.parameters.is_written() {
            let what = "the parameters of the street";
            let mut table = self.own_table(what, StreetParameters::HELP)?;
            table.number("length_m", "m", &mut all.length_m);
            table.number("sign_distance_m", "m", &mut all.sign_distance_m);
            table.number("puddle_radius_m", "m", &mut all.puddle_radius_m);
            table.number("wetness", "", &mut all.wetness);
            table.finish();
        }
        Some(all)
    }

    fn andabata_field(&self) -> Option<AndabataFieldParameters> {
        let mut all = AndabataFieldParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let what = "the parameters of the field";
            let mut table = self.own_table(what, AndabataFieldParameters::HELP)?;
            table.seed(&mut all.seed);
            table.number("ground_relief_m", "m", &mut all.ground_relief_m);
            table.number("ditch_depth_m", "m", &mut all.ditch_depth_m);
            table.whole("rocks", "rocks", &mut all.rocks);
            table.whole("trees", "trees", &mut all.trees);
            table.whole("tree_triangles", "triangles", &mut all.tree_triangles);
            table.whole("grass_blades", "blades", &mut all.grass_blades);
            table.word("puddle", &PuddleChoice::WORDS, &mut all.puddle);
            table.finish();
        }
        Some(all)
    }

    fn fort_drum(&self) -> Option<FortDrumParameters> {
        let mut all = FortDrumParameters { seed: self.rig_seed, ..Default::default() };
        if self.parameters.is_written() {
            let what = "the parameters of the apron";
            let mut table = self.own_table(what, FortDrumParameters::HELP)?;
            table.seed(&mut all.seed);
            table.number("roughness_m", "m", &mut all.roughness_m);
            table.number("plants_per_m2", "stems", &mut all.plants_per_m2);
            table.number("plant_diameter_m", "m", &mut all.plant_diameter_m);
            table.number("plant_height_m", "m", &mut all.plant_height_m);
            table.number("plant_reflectance", "", &mut all.plant_reflectance);
            table.whole("grass_blades", "blades", &mut all.grass_blades);
            table.finish();
        }
        Some(all)
    }
}

/// Where the limits of parameters come from.
const SOURCE: &str = "the scene, see `menura scenes`";

impl<'f> Written<'_, 'f> {
    fn field(&mut self, name: &'static str) -> (Field<'f>, &'static ParameterHelp) {
        let help = self.help.iter().find(|help| help.name == name).expect("a listed parameter");
        let field = self.table.optional(name).meaning(help.meaning);
        if let Ok(default) = serde_json::from_str::<serde_json::Value>(help.default) {
            field.defaults_to(default);
        }
        (field, help)
    }

    fn seed(&mut self, seed: &mut u64) {
        let (field, _) = self.field("seed");
        *seed = field.integer(&seed_limit()).unwrap_or(*seed);
    }

    fn whole<T: TryFrom<i128> + Copy>(
        &mut self,
        name: &'static str,
        unit: &'static str,
        value: &mut T,
    ) {
        let (field, help) = self.field(name);
        let limit = Limit::new(help.min as i128..=help.max as i128, unit, SOURCE);
        *value = field.integer(&limit).unwrap_or(*value);
    }

    fn number(&mut self, name: &'static str, unit: &'static str, value: &mut f64) {
        let (field, help) = self.field(name);
        let limit = Limit::new(help.min..=help.max, unit, SOURCE);
        *value = field.number(&limit).unwrap_or(*value);
    }

    fn numbers<const N: usize>(
        &mut self,
        name: &'static str,
        unit: &'static str,
        values: &mut [f64; N],
    ) {
        let (field, help) = self.field(name);
        let limit = Limit::new(help.min..=help.max, unit, SOURCE);
        *values = field.numbers(&limit).unwrap_or(*values);
    }

    fn word<T: Clone>(&mut self, name: &'static str, words: &[(&str, T)], value: &mut T) {
        let (field, _) = self.field(name);
        if let Some(chosen) = field.choice(words, SOURCE) {
            *value = chosen;
        }
    }

    fn finish(self) {
        finish_parameters(self.table, self.scene);
    }
}
