//! Lists the profiles that become part of the program: every `.toml` in `firmware-profiles/` except the examples,
//! which explain the keys.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../../firmware-profiles")
        .canonicalize()
        .unwrap();
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml") && !name.starts_with("example"))
        .collect();
    names.sort_by_key(|name| name.trim_end_matches(".toml").to_owned());
    let mut list = String::from("const EMBEDDED: &[(&str, &str)] = &[\n");
    for name in names {
        let shown = format!("firmware-profiles/{name}");
        writeln!(list, "({shown:?}, include_str!({:?})),", folder.join(&name)).unwrap();
    }
    list += "];\n";
    let out = env::var("OUT_DIR").unwrap();
    fs::write(Path::new(&out).join("embedded_profiles.rs"), list).unwrap();
}
