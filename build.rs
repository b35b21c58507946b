//! Writes the list of suites and rigs of the driver test kit that become part of the program: every `.toml` in
//! `test-suites/` and `test-suites/rigs/`. For musl targets, it also creates an empty `libdl.a`, because the linker
//! asks for one.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    println!("cargo::rerun-if-changed=test-suites");
    let mut suites = String::new();
    for (constant, folder) in
        [("EMBEDDED_SUITES", "test-suites"), ("EMBEDDED_RIGS", "test-suites/rigs")]
    {
        let path = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join(folder);
        let mut names: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".toml").map(str::to_owned)
            })
            .collect();
        names.sort();
        writeln!(suites, "const {constant}: &[(&str, &str, &str)] = &[").unwrap();
        for name in names {
            let shown = format!("{folder}/{name}.toml");
            let file = path.join(format!("{name}.toml"));
            writeln!(suites, "({name:?}, {shown:?}, include_str!({file:?})),").unwrap();
        }
        suites += "];\n";
    }
    fs::write(Path::new(&out).join("embedded_suites.rs"), suites).unwrap();
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("musl") {
        // `libloading` links libdl, which is part of musl's libc: an empty archive is enough.
        fs::write(Path::new(&out).join("libdl.a"), "!<arch>\n").unwrap();
        println!("cargo::rustc-link-search=native={out}");
    }
}
