//! Permitted imports between modules: layers, circles of files, and imports between device families.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::{Said, UsedPath, module_of, paths_of, said_in};
use crate::{Fault, fault};

/// The layers in order: each may import the ones before it, unless [`MAY_IMPORT_ONLY`] permits fewer. Every file in
/// `src/` belongs to a layer.
pub const LAYERS: &[&str] = &[
    "time",
    "frames",
    "wire",
    "links",
    "config",
    "world",
    "sensors",
    "devices",
    "timing",
    "engine",
    "plot",
    "analysis",
    "validation",
    "kit",
    "cli",
];

/// Layers with fewer permitted imports.
const MAY_IMPORT_ONLY: &[(&str, &[&str])] = &[
    ("frames", &[]),
    ("wire", &["time"]),
    ("links", &["time", "wire"]),
    ("timing", &["time"]),
    ("plot", &[]),
];

/// Paths that a layer must not use, with the reason, although the order of the layers or the layer's manifest permits
/// them. Tests may use them.
const MUST_NOT_USE: &[(&str, &[&str], &str)] = &[
    (
        "world",
        &["crate", "config", "toml", "reader"],
        "`config` reads TOML, and physics gets its values",
    ),
    (
        "sensors",
        &["crate", "config", "toml", "reader"],
        "`devices` reads TOML, and physics gets its values",
    ),
    (
        "analysis",
        &["crate", "engine"],
        "streams are judged by their bytes and times; `timing` has clocks and statistics",
    ),
    ("validation", &["clap"], "the options of experiments are in `cli/experiments.rs`"),
];

/// Folders of `src/devices` that are not families. Families may import these folders and the single files beside them.
/// None of these folders and files imports a family, except [`TABLE_OF_FAMILIES`].
const SHARED_BY_FAMILIES: &[&str] = &[
    "decoder",
    "describe",
    "drive_base",
    "family",
    "imu",
    "motor_stall",
    "ptp",
    "serial",
    "spinning",
];

/// The file of `src/devices` that lists the families. This file imports all families, and no family imports this file.
const TABLE_OF_FAMILIES: &str = "src/devices/families.rs";

/// Crate roots of layers that only declare modules and re-export items.
const ONLY_DECLARE: &[&str] = &["src/devices/lib.rs"];

pub fn layer_of(file: &str) -> Option<&'static str> {
    let module = module_of(file)?;
    LAYERS.iter().copied().find(|layer| *layer == module[0])
}

pub fn layer_faults(file: &str, text: &str) -> Vec<Fault> {
    let Some(module) = module_of(file) else { return Vec::new() };
    let Some(place) = LAYERS.iter().position(|layer| *layer == module[0]) else {
        return vec![fault(file, 1, format!("`{}` is on no layer of the map", module[0]))];
    };
    let layer = LAYERS[place];
    let few = MAY_IMPORT_ONLY.iter().find(|(few, _)| *few == layer);
    let may_import = few.map_or(&LAYERS[..place], |(_, may)| may);
    paths_of(file, text)
        .into_iter()
        .filter_map(|path| {
            if let Some((_, _, why)) = MUST_NOT_USE.iter().find(|(barred, start, _)| {
                *barred == layer
                    && !path.in_tests
                    && path.names.iter().take(start.len()).eq(start.iter())
            }) {
                let used = path.names.join("::");
                return Some(fault(
                    file,
                    path.line,
                    format!("`{layer}` must not use `{used}`: {why}"),
                ));
            }
            let target = path.names.get(1).filter(|_| path.names[0] == "crate")?.as_str();
            let allowed = target == layer || may_import.contains(&target);
            (LAYERS.contains(&target) && !allowed)
                .then(|| fault(file, path.line, format!("`{layer}` must not import `{target}`")))
        })
        .collect()
}

/// The families: each has a folder of its own in `src/devices`.
pub fn families(files: &[(String, String)]) -> BTreeSet<String> {
    let folder =
        |file: &str| Some(file.strip_prefix("src/devices/")?.split_once('/')?.0.to_owned());
    let mut families: BTreeSet<_> = files.iter().filter_map(|(file, _)| folder(file)).collect();
    families.retain(|family| !SHARED_BY_FAMILIES.contains(&family.as_str()));
    families
}

/// Checks that a family imports no other family, and that code shared by families imports no family.
pub fn family_faults(file: &str, text: &str, families: &BTreeSet<String>) -> Vec<Fault> {
    let Some(own) = module_of(file).filter(|module| module[0] == "devices") else {
        return Vec::new();
    };
    if file == TABLE_OF_FAMILIES {
        return Vec::new();
    }
    let other = |path: &UsedPath| match &*path.names {
        [root, devices, other, ..] if root == "crate" && devices == "devices" => {
            (families.contains(other) && Some(other) != own.get(1)).then(|| other.clone())
        }
        _ => None,
    };
    let paths = paths_of(file, text).into_iter();
    let faults = paths.filter_map(|path| {
        let from = own[..own.len().min(2)].join("::");
        let what = format!("`{from}` must not import `devices::{}`", other(&path)?);
        Some(fault(file, path.line, what))
    });
    faults.collect()
}

/// Circles of files that import one another. Each circle is reported once, at the line where its first file imports the
/// next. Imports between a module and its submodules (`a.rs` or `a/mod.rs`, and `a/b.rs`) are not counted, except for
/// [`ONLY_DECLARE`]; nor are imports in test code. A re-exported name (`pub use`) counts as an import of the file that
/// defines it.
pub fn circles(files: &[(String, String)]) -> Vec<Fault> {
    let faults = circles_in(&Tree::of(files).imports).into_iter().map(|(circle, file, line)| {
        fault(file, line, format!("imports in a circle: {}", circle.join(", ")))
    });
    faults.collect()
}

/// Circles of modules in the same folder: for example, a file of module `a` imports one of module `b`, and a file of
/// `b` imports one of `a`. A module includes all files in its folder.
pub fn circles_of_folders(files: &[(String, String)]) -> Vec<Fault> {
    let tree = Tree::of(files);
    let mut imports: BTreeMap<String, BTreeMap<String, (&str, usize)>> = BTreeMap::new();
    for (file, others) in &tree.imports {
        let Some(own) = module_of(file) else { continue };
        for (other, line) in others {
            let Some(other) = module_of(other) else { continue };
            let shared = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            // Both are in the same folder and neither contains the other. Layers already have an order.
            if shared > 0 && own.len() > shared && other.len() > shared {
                let folder = |module: &[String]| module[..=shared].join("/");
                imports.entry(folder(&other)).or_default();
                let of_own = imports.entry(folder(&own)).or_default();
                of_own.entry(folder(&other)).or_insert((file, *line));
            }
        }
    }
    let faults = circles_in(&imports).into_iter().map(|(circle, _, (file, line))| {
        fault(file, line, format!("folders in a circle: {}", circle.join(", ")))
    });
    faults.collect()
}

/// Circles of items that import one another: all members, the first member, and the place where it imports another one.
fn circles_in<T: Ord + Clone, P: Copy + Ord>(
    imports: &BTreeMap<T, BTreeMap<T, P>>,
) -> Vec<(Vec<T>, T, P)> {
    let reached: BTreeMap<&T, BTreeSet<&T>> =
        imports.keys().map(|from| (from, reached_from(imports, from))).collect();
    let mut circles = Vec::new();
    let mut told = BTreeSet::new();
    for (from, others) in &reached {
        if !others.contains(from) || told.contains(from) {
            continue;
        }
        let circle: Vec<&T> =
            others.iter().copied().filter(|other| reached[other].contains(from)).collect();
        let place = circle.iter().filter_map(|other| imports[from].get(other)).min();
        let place = *place.expect("it imports one of its circle");
        circles.push((circle.iter().copied().cloned().collect(), (*from).clone(), place));
        told.extend(circle);
    }
    circles
}

fn reached_from<'a, T: Ord, P>(
    imports: &'a BTreeMap<T, BTreeMap<T, P>>,
    from: &T,
) -> BTreeSet<&'a T> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&T> = imports[from].keys().collect();
    while let Some(from) = next.pop() {
        if reached.insert(from) {
            next.extend(imports[from].keys());
        }
    }
    reached
}

/// Source files, and the imports between them.
#[derive(Default)]
struct Tree<'a> {
    files: BTreeMap<Vec<String>, &'a str>,
    /// Paths of the names that a `use` introduces in a module.
    uses: BTreeMap<(Vec<String>, String), Vec<String>>,
    /// Imports from file to file, with the line of the first one.
    imports: BTreeMap<&'a str, BTreeMap<&'a str, usize>>,
}

impl<'a> Tree<'a> {
    fn of(files: &'a [(String, String)]) -> Self {
        let mut tree = Self::default();
        let said: Vec<(Vec<String>, &str, Said)> = files
            .iter()
            .filter_map(|(file, text)| Some((module_of(file)?, file.as_str(), said_in(file, text))))
            .collect();
        let tests: Vec<&Vec<String>> =
            said.iter().flat_map(|(_, _, said)| &said.test_modules).collect();
        let said: Vec<_> = said
            .iter()
            .filter(|(module, ..)| !tests.iter().any(|test| module.starts_with(test)))
            .map(|(module, file, said)| {
                let paths: Vec<&UsedPath> =
                    said.paths.iter().filter(|path| !path.in_tests).collect();
                (module, *file, paths)
            })
            .collect();
        tree.files = said.iter().map(|(module, file, _)| ((*module).clone(), *file)).collect();
        for (module, _, paths) in &said {
            for path in paths {
                if let Some(name) = &path.imported_as {
                    let key = ((*module).clone(), name.clone());
                    tree.uses.insert(key, tree.path_from_root(module, &path.names));
                }
            }
        }
        for (module, file, paths) in &said {
            let mut imports = BTreeMap::new();
            for path in paths {
                let from_root = tree.path_from_root(module, &path.names);
                let Some(target) = tree.file_of(&from_root, 0) else { continue };
                let other = module_of(target).expect("a file of a module");
                let is_aside = other.starts_with(module) || module.starts_with(&other);
                // `pub(crate)` names the root but imports nothing from it.
                let is_root = [*file, target].iter().any(|root| ONLY_DECLARE.contains(root));
                if !is_aside || is_root && from_root.len() > 1 {
                    imports.entry(target).or_insert(path.line);
                }
            }
            tree.imports.insert(file, imports);
        }
        tree
    }

    /// The path `names`, as written in `module`, counted from the crate's root, without `crate`; empty for a path of
    /// another crate.
    fn path_from_root(&self, module: &[String], names: &[String]) -> Vec<String> {
        if names[0] == "crate" {
            return names[1..].to_vec();
        }
        let as_child: Vec<String> = module.iter().chain(names).cloned().collect();
        let child = &as_child[..=module.len()];
        if self.files.contains_key(child) { as_child } else { Vec::new() }
    }

    /// File that defines the item at `path`, which is counted from the crate's root. Re-exports are followed; `steps`
    /// is the number of those followed so far.
    fn file_of(&self, path: &[String], steps: usize) -> Option<&'a str> {
        let at = (1..=path.len()).rev().find(|at| self.files.contains_key(&path[..*at]))?;
        if let Some(name) = path.get(at).filter(|_| steps < 8)
            && let Some(origin) = self.uses.get(&(path[..at].to_vec(), name.clone()))
        {
            let behind: Vec<String> = origin.iter().chain(&path[at + 1..]).cloned().collect();
            return self.file_of(&behind, steps + 1);
        }
        Some(self.files[&path[..at]])
    }
}

mod checker {
    use super::*;
    use crate::lines;

    #[test]
    fn finds_imports_to_the_right_however_they_are_written() {
        let text = "\
use crate::devices::Device;
use crate::{frames::World, engine};
use crate::{time, devices::{self, velodyne::Hdl64e}};
use super::super::sensors::Lidar;
// use crate::engine::Clock;
/// See [`crate::engine`].
fn f() -> menura::cli::Cli { crate::time::now() }
fn g() { println!(\"{}\", crate::engine::NAME); }
fn h() { let crate_engine = \"crate::engine\"; }
mod tests {
    use super::*;
    use super::super::super::engine;
}
use self::super::super::devices;
use ::std::time::Duration;
";
        let faults = layer_faults("src/config/rig.rs", text);
        assert_eq!(lines(&faults), [1, 2, 3, 3, 4, 7, 8, 12, 14], "{faults:?}");
        assert_eq!(
            faults[0].to_string(),
            "src/config/rig.rs:1: `config` must not import `devices`"
        );
    }

    #[test]
    fn knows_what_each_layer_may_import() {
        assert_eq!(layer_faults("src/wire/time.rs", "use crate::frames::World;").len(), 1);
        assert_eq!(layer_faults("src/wire/velodyne.rs", "use crate::time::SimTime;"), []);
        assert_eq!(layer_faults("src/wire/velodyne.rs", "use crate::links::Udp;").len(), 1);
        assert_eq!(layer_faults("src/links/mod.rs", "use crate::wire::a; use super::time;"), []);
        assert_eq!(layer_faults("src/engine/a.rs", "use crate::analysis::gaps;").len(), 1);
        assert_eq!(layer_faults("src/analysis/a.rs", "use crate::validation::b;").len(), 1);
        assert_eq!(layer_faults("src/validation/a.rs", "use crate::analysis::b;"), []);
        assert_eq!(layer_faults("src/validation/a.rs", "use crate::cli::b;").len(), 1);
        assert_eq!(layer_faults("src/cli/run.rs", "use crate::engine::Engine;"), []);
        assert_eq!(layer_faults("src/lib.rs", "use crate::engine::Engine;"), []);
        assert_eq!(layer_faults("src/helpers.rs", "").len(), 1);
    }

    #[test]
    fn finds_what_a_layer_must_not_use() {
        let text = "\
use crate::config::toml::diagnostic::Place;
use crate::config::toml::{reader::Limit, diagnostic::Place};
#[cfg(test)]
mod tests {
    use crate::config::toml::reader::Limit;
}
";
        let faults = layer_faults("src/sensors/a.rs", text);
        assert_eq!(lines(&faults), [2], "{faults:?}");
        assert_eq!(layer_faults("src/devices/a.rs", text), []);
    }

    #[test]
    fn finds_imports_of_another_family() {
        let text = "\
use crate::devices::velodyne::Rotor;
use crate::devices::{Device, gnss::Clock, spinning::Rotor, uart::Uart};
use super::optics::Optics;
use super::super::hokuyo::Hokuyo;
use crate::devices::family::Family;
fn f() { crate::devices::build() }
";
        let files =
            ["hdl64e/mod", "velodyne/mod", "gnss/a/b", "hokuyo/mod", "spinning/rotor", "uart"];
        let files = files.map(|file| (format!("src/devices/{file}.rs"), String::new()));
        let families = families(&files);
        assert!(families.iter().eq(["gnss", "hdl64e", "hokuyo", "velodyne"]));
        let lines_of = |file: &str| lines(&family_faults(file, text, &families));
        let faults = family_faults("src/devices/hdl64e/planner.rs", text, &families);
        assert_eq!(lines(&faults), [1, 2, 4], "{faults:?}");
        let what = "`devices::hdl64e` must not import `devices::velodyne`";
        assert_eq!(faults[0].what, what);
        assert_eq!(lines_of("src/devices/spinning/rotor.rs"), [1, 2, 4]);
        assert_eq!(lines_of("src/devices/uart.rs"), [1, 2]);
        assert_eq!(lines_of("src/devices/families.rs"), [0; 0]);
        assert_eq!(lines_of("src/engine/mod.rs"), [0; 0]);
    }

    /// Circles of small files, each given as its path below `src/` and its text.
    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(file, text)| (format!("src/{file}"), (*text).to_owned())).collect();
        circles(&files).iter().map(|fault| fault.to_string()).collect()
    }

    #[test]
    fn finds_circles_of_files() {
        let found = circles_of(&[
            ("config/a.rs", "use std::fmt;\nuse super::b::B;"),
            ("config/b.rs", "fn f() { crate::config::c::g() }"),
            ("config/c.rs", "use crate::config::{a::A, d};"),
            ("config/d.rs", "use crate::time::SimTime;"),
            ("wire/x.rs", "use super::y::Y;"),
            ("wire/y/z.rs", "use crate::wire::x::X;"),
            ("wire/y/mod.rs", "mod z; pub use z::Y;"),
        ]);
        let wanted = [
            "src/config/a.rs:2: imports in a circle: src/config/a.rs, src/config/b.rs, src/config/c.rs",
            "src/wire/x.rs:1: imports in a circle: src/wire/x.rs, src/wire/y/z.rs",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn finds_a_crates_root_and_the_table_of_families_in_circles() {
        let found = circles_of(&[
            ("devices/lib.rs", "mod a; mod families; pub use families::TABLE; pub struct Content;"),
            ("devices/families.rs", "use crate::a::Family; pub static TABLE: u8 = 0;"),
            ("devices/a/mod.rs", "use crate::TABLE;"),
            ("devices/a/b.rs", "use crate::Content;"),
        ]);
        let wanted = [
            "src/devices/a/mod.rs:1: imports in a circle: src/devices/a/mod.rs, src/devices/families.rs",
        ];
        assert_eq!(found, wanted);
        let found = circles_of(&[
            ("devices/lib.rs", "mod a; pub use a::A; pub struct Content;"),
            ("devices/a/mod.rs", "pub use crate::Content; pub struct A;"),
        ]);
        let wanted = [
            "src/devices/a/mod.rs:1: imports in a circle: src/devices/a/mod.rs, src/devices/lib.rs",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn finds_circles_of_folders() {
        let files = [
            ("devices/a/x.rs", "use crate::devices::b::Y;"),
            ("devices/a/z.rs", "pub struct Z;"),
            ("devices/a/mod.rs", "use super::c::C; mod x;"),
            ("devices/b.rs", "pub struct Y; mod w;"),
            ("devices/b/w.rs", "use crate::devices::a::z::Z;"),
            ("devices/c.rs", "#[cfg(test)]\nmod tests { use super::super::a::z::Z; }"),
        ];
        let files = files.map(|(file, text)| (format!("src/{file}"), text.to_owned()));
        assert_eq!(circles(&files), []);
        let found: Vec<String> =
            circles_of_folders(&files).iter().map(|fault| fault.to_string()).collect();
        assert_eq!(found, ["src/devices/a/x.rs:1: folders in a circle: devices/a, devices/b"]);
    }

    #[test]
    fn a_folders_own_files_and_tests_make_no_circle() {
        let found = circles_of(&[
            ("config/mod.rs", "mod a; mod b; pub use a::A; use b::B as Own; struct C;"),
            ("config/a.rs", "use super::{Own, C};"),
            ("config/b.rs", "use super::C;\n#[cfg(test)]\nmod tests { use super::super::A; }"),
            ("wire/x.rs", "mod y; #[cfg(test)] mod tests; use y::Y;"),
            ("wire/x/y.rs", "use super::X;"),
            ("wire/x/tests.rs", "use crate::wire::z::Z;"),
            ("wire/z.rs", "use super::x::tests::T;"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
