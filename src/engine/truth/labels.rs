//! Names of the parts of a world: instances, materials, and their labels.

use crate::config::rig::objects::{ObjectBody, ObjectShape};
use crate::config::rig::short_forms::fits;
use crate::config::rig::{LabelRule, Rig};
use crate::engine::LiveWorld;
use crate::wire::truth::NONE;
use crate::world::scene::{Material, Scene};

/// Labels found so far, and the rules that assign them.
struct Names<'r> {
    all: Vec<String>,
    rules: &'r [LabelRule],
}

impl Names<'_> {
    /// Number of the label that a rule assigns to `name`; `None` if no rule applies.
    fn ruled(&mut self, name: &str) -> Option<u16> {
        let rule = self.rules.iter().find(|rule| fits(&rule.pattern, name))?;
        Some(self.number(&rule.label))
    }

    /// Labels that the rules assign to the materials of `scene`; 0 without a rule.
    fn of_materials(&mut self, scene: &Scene) -> Vec<u16> {
        let ruled = |material: &Material| self.ruled(&material.name).unwrap_or(0);
        scene.materials.iter().map(ruled).collect()
    }

    /// Number of a label; a new label gets the next number. Returns 0 (no label) for an empty label, and if the number
    /// exceeds 16 bits, the limit of the file format.
    fn number(&mut self, label: &str) -> u16 {
        if label.is_empty() {
            return 0;
        }
        let known = self.all.iter().position(|known| known == label);
        let place = known.unwrap_or_else(|| {
            self.all.push(label.to_owned());
            self.all.len() - 1
        });
        u16::try_from(place).unwrap_or(0)
    }
}

/// Name of label 0, for parts without a label.
pub const UNLABELLED: &str = "unlabelled";

/// Names and labels of a world.
pub struct Labels {
    /// Each label once; the first is [`UNLABELLED`].
    names: Vec<String>,
    /// Label of each mesh of the scene.
    of_mesh: Vec<u16>,
    /// Label of each material of the scene; 0 for none.
    of_material: Vec<u16>,
    /// For each instance of the scene, the index of its mesh.
    meshes: Vec<u32>,
    /// For each moving object, the number of its label and the label numbers of its materials.
    of_object: Vec<(u16, Vec<u16>)>,
}

impl Labels {
    /// Labels of `world`, by the rules of `rig`.
    ///
    /// Rules of the rig take precedence over labels in the scene's files. Without a rule or label, a static part is
    /// labelled with the name of its mesh, and an object with its shape or the name of its file.
    pub fn of(rig: &Rig, world: &LiveWorld) -> Self {
        let mut labels = Names { all: vec![UNLABELLED.to_owned()], rules: &rig.world.labels };
        let scene = &world.scene;
        let of_mesh = scene.meshes.iter().map(|mesh| {
            let own = mesh.label.as_deref().unwrap_or(&mesh.name);
            labels.ruled(&mesh.name).unwrap_or_else(|| labels.number(own))
        });
        let of_mesh = of_mesh.collect();
        let of_material = labels.of_materials(scene);
        let configs = rig.world.objects.iter();
        let of_object = world.objects.iter().zip(configs).map(|(object, config)| {
            let own = match &config.body {
                ObjectBody::BuiltIn { shape, .. } => {
                    let word = ObjectShape::WORDS.iter().find(|(_, known)| known == shape);
                    word.map_or_else(String::new, |(word, _)| (*word).to_owned())
                }
                ObjectBody::File { path, .. } => {
                    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
                }
            };
            let whole = labels.ruled(&object.name).unwrap_or_else(|| labels.number(&own));
            (whole, labels.of_materials(object.body()))
        });
        let of_object = of_object.collect();
        let meshes = scene.instances.iter().map(|instance| instance.mesh).collect();
        Self { names: labels.all, of_mesh, of_material, meshes, of_object }
    }

    /// All labels, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For each static instance of the scene, the index of its mesh.
    pub fn meshes(&self) -> &[u32] {
        &self.meshes
    }

    /// The labels of the scene's materials.
    pub fn of_materials(&self) -> &[u16] {
        &self.of_material
    }

    /// The labels of the scene's meshes.
    pub fn of_meshes(&self) -> &[u16] {
        &self.of_mesh
    }

    /// Index of the moving object to which `instance` belongs ([`NONE`] for a static instance), and label number of a
    /// hit on `instance`. The label of a material takes precedence over the label of the mesh or object.
    pub fn look_up(&self, instance: u32, material: u32) -> (u16, u16) {
        let (instance, material) = (instance as usize, material as usize);
        let label_of = |materials: &[u16], whole: u16| match materials.get(material) {
            Some(&label) if label != 0 => label,
            _ => whole,
        };
        if let Some(&mesh) = self.meshes.get(instance) {
            let whole = self.of_mesh.get(mesh as usize).copied().unwrap_or_default();
            return (NONE, label_of(&self.of_material, whole));
        }
        let object = instance - self.meshes.len();
        match self.of_object.get(object) {
            Some((whole, materials)) => (object as u16, label_of(materials, *whole)),
            None => (NONE, 0),
        }
    }

    /// Label number of the moving object with index `object`, and label numbers of its materials; `None` if no object
    /// has this index.
    pub fn of_object(&self, object: usize) -> Option<&(u16, Vec<u16>)> {
        self.of_object.get(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, name, expected) in [
            ("tree", "tree", true),
            ("tree", "trees", false),
            ("tree*", "tree_01.obj", true),
            ("*tree", "oak tree", true),
            ("*oak*.obj", "big_oak_2.obj", true),
            ("*oak*.obj", "big_elm_2.obj", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("a**b", "a-b", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_gives_several_names_one_label() {
        let rule =
            |pattern: &str, label: &str| LabelRule { pattern: pattern.into(), label: label.into() };
        let rules = [rule("oak*", "vegetation"), rule("*grass*", "vegetation")];
        let mut names = Names { all: vec![UNLABELLED.to_owned()], rules: &rules };
        assert_eq!(names.ruled("oak 3"), Some(1));
        assert_eq!(names.ruled("rock"), None);
        assert_eq!(names.number("rock"), 2);
        assert_eq!(names.ruled("long grass"), Some(1));
        assert_eq!(names.number(""), 0);
    }
}
