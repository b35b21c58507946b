//! `menura scenes`: the built-in scenes with purpose, parameters and pictures.

mod camera;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use glam::DVec3;

use self::camera::{Camera, picture};
use super::out_file::write_file;
use super::out_paths::spare_what_was_read;
use super::schema::rows::rows_of;
use super::{CliError, console};
use crate::config::rig::Rig;
use crate::config::rig::scenes::{BUILTIN, BuiltinScene, builtin};
use crate::config::toml::overrides::Override;
use crate::devices::families::catalogue;
use crate::links::part_file::OutPath;
use crate::world::loaders::{self, Disk, MAX_COORDINATE_M};

/// Arguments of `menura scenes`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// A built-in scene, or a scene file with --plot [default: all built-in scenes]
    #[arg(value_name = "NAME|FILE")]
    scene: Option<String>,
    /// Draw the scene
    #[arg(long, value_name = "FILE.png", requires = "scene", value_parser = png)]
    plot: Option<OutPath>,
    /// Set one key of the world for the picture, as in world.parameters.trees=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "plot")]
    set: Vec<Override>,
    /// Position of the viewer, metres [default: a place with a good view of the scene]
    #[arg(long, value_name = "X,Y,Z", requires = "plot", value_parser = place,
          allow_hyphen_values = true)]
    from: Option<DVec3>,
    /// Point at the centre of the picture, metres [default: as for --from]
    #[arg(long, value_name = "X,Y,Z", requires = "plot", value_parser = place,
          allow_hyphen_values = true)]
    to: Option<DVec3>,
    /// Width of the picture
    #[arg(long, value_name = "PIXELS", requires = "plot", default_value_t = 640,
          value_parser = clap::value_parser!(u32).range(16..=8192))]
    width: u32,
}

fn png(name: &str) -> Result<OutPath, &'static str> {
    let path = Path::new(name);
    let is_png = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    if is_png {
        Ok(OsString::from(name).into())
    } else {
        Err("the file name of the picture must end in .png")
    }
}

fn place(text: &str) -> Result<DVec3, &'static str> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z]) if [x, y, z].iter().all(|c| c.abs() <= MAX_COORDINATE_M) => {
            Ok(DVec3::new(x, y, z))
        }
        _ => Err("write three coordinates in metres, such as -10,2.5,3"),
    }
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match (&self.scene, &self.plot) {
            (Some(name), Some(path)) => self.draw(name, path),
            (Some(name), None) => match builtin(name) {
                Some(scene) => {
                    let mut text = String::new();
                    describe(&mut text, scene);
                    console::print(text)
                }
                None => {
                    let names: Vec<&str> = BUILTIN.iter().map(|scene| scene.name).collect();
                    let text = format!(
                        "error: no built-in scene is called `{name}`\n  Allowed: {}. To draw a \
                         scene file, add --plot.",
                        names.join(", ")
                    );
                    Err(CliError::Input(text))
                }
            },
            (None, _) => console::print(listing()),
        }
    }

    fn draw(&self, name: &str, path: &std::path::Path) -> Result<(), CliError> {
        let set = Override { key: "world.scene".into(), value: format!("{name:?}") };
        let sets: Vec<Override> = [set].into_iter().chain(self.set.iter().cloned()).collect();
        let rig = Rig::default_rig(&sets, catalogue())?;
        let scene = loaders::load(&rig.world.scene, &Disk::default())
            .map_err(|error| CliError::Input(format!("error: {error}")))?;
        spare_what_was_read()?;
        let [from_m, to_m] = match builtin(name) {
            Some(known) => known.view_m.map(Into::into),
            None => camera::view_of(&scene),
        };
        let camera = Camera::new(self.from.unwrap_or(from_m), self.to.unwrap_or(to_m), self.width);
        let camera = camera.ok_or_else(|| {
            CliError::Input("error: the positions --from and --to must differ".to_owned())
        })?;
        let file =
            picture(scene, &camera).map_err(|error| CliError::Input(format!("error: {error}")))?;
        let shown = path.display();
        write_file(path, &file)?;
        console::say(format_args!("drew {name} to {shown}"));
        Ok(())
    }
}

/// Largest width of printed lines, characters.
const WIDTH: usize = 100;

fn listing() -> String {
    let mut out = String::new();
    for scene in BUILTIN {
        describe(&mut out, scene);
        out.push('\n');
    }
    out.push_str(concat!(
        "In a rig:\n",
        "  [world]\n",
        "  scene = \"courtyard\"\n",
        "  parameters = { grass_blades = 200000, trees = 50 }\n",
        "\n",
        "Pictures of all are in docs/SCENES.md; `menura scenes NAME --plot FILE.png` draws one.\n",
        "A path instead of a name loads a file: MAVS .json, .gltf, .glb, .obj, .ply, .stl.\n",
        "`up_axis`, `scale`, `rotate_deg` and `offset_m` beside it turn, scale and move the scene.\n",
    ));
    out
}

fn describe(out: &mut String, scene: &BuiltinScene) {
    let _ = writeln!(out, "{}", scene.name);
    for line in wrapped(scene.summary, WIDTH - 2) {
        let _ = writeln!(out, "  {line}");
    }
    let head = ["parameter", "default", "allowed", "meaning"].map(str::to_owned);
    let parameters = rows_of(&scene.parameters());
    let cells = parameters
        .into_iter()
        .map(|row| [row.key, row.default.replace('`', ""), row.allowed, row.sentence]);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(cells).collect();
    let widths: [usize; 3] =
        std::array::from_fn(|c| rows.iter().map(|row| row[c].len()).max().unwrap_or_default());
    out.push('\n');
    let [a, b, c] = widths;
    let indent = a + b + c + 8;
    for [name, default, allowed, meaning] in rows {
        let meaning = wrapped(&meaning, WIDTH.saturating_sub(indent).max(20));
        let meaning = meaning.join(&format!("\n{:indent$}", ""));
        let _ = writeln!(out, "  {name:a$}  {default:b$}  {allowed:c$}  {meaning}");
    }
}

/// Breaks `text` into lines of at most `width` characters, between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_and_parameter_is_listed() {
        for scene in BUILTIN {
            let mut text = String::new();
            describe(&mut text, scene);
            assert!(listing().contains(&text) && text.lines().next() == Some(scene.name));
            for key in scene.parameters().keys {
                let mut rows = text.lines().map(|line| line.split_whitespace().next());
                assert!(rows.any(|first| first == Some(&*key.name)), "{} is not listed", key.name);
            }
        }
    }

    #[test]
    fn the_page_shows_every_scene() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let page = std::fs::read_to_string(docs.join("SCENES.md")).unwrap();
        for BuiltinScene { name, .. } in BUILTIN {
            let picture = format!("images/scenes/{name}.png");
            assert!(page.contains(&format!("## {name}\n")) && page.contains(&picture), "{name}");
            assert!(std::fs::read(docs.join(&picture)).unwrap().starts_with(b"\x89PNG"), "{name}");
        }
    }

    #[test]
    fn words_are_wrapped_whole() {
        assert_eq!(wrapped("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
    }
}
