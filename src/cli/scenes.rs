//! `menura scenes`: the built-in scenes, what each is for, and their parameters.

use std::fmt::Write;

use super::{CliError, console};
use crate::config::rig::scenes::{BUILTIN, BuiltinScene};

/// Arguments of `menura scenes`.
#[derive(Debug, clap::Args)]
pub struct Cmd {}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        console::print(listing())
    }
}

/// Columns of text before it is wrapped.
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
    let rows: Vec<[String; 4]> =
        std::iter::once(["parameter", "default", "allowed", "meaning"].map(str::to_owned))
            .chain(scene.parameters.iter().map(|p| {
                [p.name.to_owned(), p.default.to_owned(), p.allowed(), p.meaning.to_owned()]
            }))
            .collect();
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

/// `text` in lines of at most `width` columns, broken between words.
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
    fn every_scene_and_parameter_is_listed_with_its_default_and_limits() {
        for scene in BUILTIN {
            let mut text = String::new();
            describe(&mut text, scene);
            assert!(listing().contains(&text) && text.lines().next() == Some(scene.name));
            for parameter in scene.parameters {
                let row = text.lines().find(|line| {
                    line.split_whitespace().next() == Some(parameter.name)
                        && line.contains(parameter.default)
                });
                let row = row.unwrap_or_else(|| panic!("{} is not listed", parameter.name));
                assert!(row.contains(&parameter.allowed()), "{row}");
            }
        }
    }

    #[test]
    fn words_are_wrapped_whole() {
        assert_eq!(wrapped("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
    }
}
