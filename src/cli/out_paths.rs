//! Checks a command's input and output files: no input file is overwritten, and no output file is written twice.

use std::any::TypeId;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::CliError;
use super::truth_target::TruthTarget;
use crate::config::toml::overrides::Override;
use crate::config::toml::read_files::files_read;
use crate::links::part_file::{OutPath, part_of, resolved};
use crate::plot::PlotFile;

/// Output paths of the command line.
static WRITTEN: OnceLock<Vec<Named>> = OnceLock::new();

/// A path, with the option that names it.
#[derive(Clone, Debug)]
struct Named {
    option: String,
    path: PathBuf,
}

/// The file to which a path leads, independent of the path's spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// An existing file or folder: its device and inode number.
    There(u64, u64),
    /// A file that does not exist yet: its resolved path.
    New(PathBuf),
}

/// Use of an option's value: a file to write, a file to read, a setting, or none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Written,
    Read,
    /// A `KEY=VALUE` setting of a rig.
    Set,
    Neither,
}

impl Role {
    fn of(arg: &Arg) -> Self {
        let is_one_of = |types: &[TypeId]| {
            let of_value = arg.get_value_parser().type_id();
            types.iter().any(|known| of_value == *known)
        };
        let written =
            [TypeId::of::<OutPath>(), TypeId::of::<PlotFile>(), TypeId::of::<TruthTarget>()];
        // Names of profiles, scenes and suites can be paths.
        let read = [TypeId::of::<PathBuf>(), TypeId::of::<String>()];
        if is_one_of(&written) {
            Self::Written
        } else if is_one_of(&read) {
            Self::Read
        } else if is_one_of(&[TypeId::of::<Override>()]) {
            Self::Set
        } else {
            Self::Neither
        }
    }
}

/// Returns an error if the command line writes a file twice or writes a file that it reads.
pub fn check(command: &Command, matches: &ArgMatches) -> Result<(), CliError> {
    let (mut written, mut read) = (Vec::new(), Vec::new());
    collect(command, matches, &mut written, &mut read);
    let written = WRITTEN.get_or_init(|| written);
    refuse_same(written, &read)
}

/// Returns an error if an output file of the command line was also read as an input of the rig.
pub fn spare_what_was_read() -> Result<(), CliError> {
    spare_with("", [])
}

/// Like [`spare_what_was_read`], with `files` as additional output files, which the option `option` writes.
pub fn spare_with(option: &str, files: impl IntoIterator<Item = PathBuf>) -> Result<(), CliError> {
    let files = files.into_iter().map(|path| Named { option: option.to_owned(), path });
    let written: Vec<_> = WRITTEN.get().into_iter().flatten().cloned().chain(files).collect();
    let read = files_read().into_iter().map(|path| Named { option: "the rig".into(), path });
    refuse_same(&written, &read.collect::<Vec<_>>())
}

/// Returns an error if emptying one of `folders` would delete a file that was read; `option` is the option that names
/// the folders, for the message.
pub fn spare_within(
    option: &str,
    folders: impl IntoIterator<Item = PathBuf>,
) -> Result<(), CliError> {
    let read: Vec<_> = files_read().iter().filter_map(|path| path.canonicalize().ok()).collect();
    for folder in folders.into_iter().filter_map(|folder| folder.canonicalize().ok()) {
        if let Some(file) = read.iter().find(|file| file.starts_with(&folder)) {
            return Err(CliError::Input(format!(
                "error: {option} would empty {}, which holds {}\n  help: name another folder",
                folder.display(),
                file.display()
            )));
        }
    }
    Ok(())
}

fn collect(
    command: &Command,
    matches: &ArgMatches,
    written: &mut Vec<Named>,
    read: &mut Vec<Named>,
) {
    for arg in command.get_arguments() {
        let role = Role::of(arg);
        let id = arg.get_id().as_str();
        let is_given = matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        if role == Role::Neither || !is_given {
            continue;
        }
        let option = match arg.get_long() {
            Some(long) => format!("--{long}"),
            None => arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect(),
        };
        for value in matches.get_raw(id).into_iter().flatten() {
            let Some(path) = path_of(value, role) else { continue };
            let list = if role == Role::Written { &mut *written } else { &mut *read };
            list.push(Named { option: option.clone(), path });
        }
    }
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        collect(command, matches, written, read);
    }
}

/// Path in the value of an option, according to its `role`. `None` if the value is standard output, an address, an
/// input that does not exist, or no path.
fn path_of(value: &OsStr, role: Role) -> Option<PathBuf> {
    let Some(text) = value.to_str() else { return Some(value.into()) };
    let read = match role {
        Role::Written => return (text != "-" && !text.starts_with("udp:")).then(|| text.into()),
        Role::Read => text,
        Role::Set => text.split_once('=')?.1.trim_matches(['"', '\'']),
        Role::Neither => return None,
    };
    Some(PathBuf::from(read)).filter(|path| path.exists())
}

fn refuse_same(written: &[Named], read: &[Named]) -> Result<(), CliError> {
    for (place, one) in written.iter().enumerate() {
        let others = written[..place].iter().chain(read);
        let Some(other) = others.into_iter().find(|other| is_same(one, other)) else { continue };
        let shown = one.path.display();
        let as_well = match other.path == one.path {
            true => String::new(),
            false => format!(", which is {}", other.path.display()),
        };
        return Err(CliError::Input(format!(
            "error: {} would overwrite the file of {}: {shown}{as_well}\n  help: name another file",
            one.option, other.option
        )));
    }
    Ok(())
}

/// Whether writing to `one` would change `other` or the temporary file of `other`.
fn is_same(one: &Named, other: &Named) -> bool {
    let [to, from] = [&one.path, &other.path].map(|path| resolved(path).ok());
    let (Some(to), Some(from)) = (to, from) else { return false };
    let (to, from) = (targets(to), targets(from));
    to.iter().any(|target| from.contains(target))
}

/// Files that writing to `path` changes: the file itself and its temporary file. Empty for a device or a pipe, which
/// may have several writers.
fn targets(path: PathBuf) -> Vec<Target> {
    let is_special = std::fs::metadata(&path).is_ok_and(|at| !at.is_file() && !at.is_dir());
    let paths = if is_special { vec![] } else { vec![part_of(&path), path] };
    let target = |path: PathBuf| match std::fs::metadata(&path) {
        Ok(about) => Target::There(about.dev(), about.ino()),
        Err(_) => Target::New(path),
    };
    paths.into_iter().map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn checked(words: &[&str]) -> Result<(), CliError> {
        let command = Cli::command();
        let matches = command.clone().try_get_matches_from(words).unwrap();
        let (mut written, mut read) = (Vec::new(), Vec::new());
        collect(&command, &matches, &mut written, &mut read);
        refuse_same(&written, &read)
    }

    #[test]
    fn no_command_writes_what_it_reads() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("x"), "x").unwrap();
        fs::write(at("x.svg"), "x").unwrap();
        fs::hard_link(at("x"), at("hard")).unwrap();
        symlink("x", at("soft")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        let (x, hard, soft) = (at("x"), at("hard"), at("soft"));
        let (svg, nothing, dangling) = (at("x.svg"), at("nothing"), at("dangling"));
        let part = at("nothing.part");
        let detour = format!("{}/../{}/x", folder.path().display(), {
            folder.path().file_name().unwrap().to_str().unwrap()
        });
        let set = format!("world.scene=\"{x}\"");
        let refused: &[&[&str]] = &[
            &["menura", "export", &x, "--to", "las", "--out", &x],
            &["menura", "export", &x, "--to", "las", "--out", &hard],
            &["menura", "export", &soft, "--to", "las", "--out", &detour],
            &["menura", "join", &x, &soft, "--out", &hard],
            &["menura", "run", &x, "--certificate", &x],
            &["menura", "run", "--certificate", &nothing, "--report", &dangling],
            &["menura", "run", "--certificate", &nothing, "--certificate", &nothing],
            &["menura", "run", "--truth", &nothing, "--fault-log", &part],
            &["menura", "run", "--set", &set, "--host-log", &x],
            &["menura", "replay", &x, "--certificate", &hard],
            &["menura", "inspect", &svg, "--plot", &svg],
            &["menura", "fit", "gnss", &x, "--profile", "p", "--out", &x],
            &["menura", "twin", &svg, "--profile", "p", "--plot", &svg],
            &["menura", "probe", "--listen", "1", "--compare", &x, "--plot", &x],
            &["menura", "profiles", &x, "--calibration", &x],
            &["menura", "test", &x, "--junit", &x],
            &["menura", "test", "lidar", "--rig", &x, "--html", &x],
        ];
        for words in refused {
            let Err(CliError::Input(text)) = checked(words) else { panic!("{words:?}") };
            assert!(text.contains(" would overwrite the file of "), "{text}");
        }
        // A file name that looks like a key with a value.
        let named = format!("a={nothing}");
        let allowed: &[&[&str]] = &[
            &["menura", "export", &x, "--to", "las", "--out", &nothing],
            &["menura", "run", "--certificate", "/dev/null", "--report", "/dev/null"],
            &["menura", "run", &x, "--truth", "udp:127.0.0.1:9", "--truth", &nothing],
            &["menura", "run", "--set", &format!("seed={nothing}"), "--report", &named],
            &["menura", "profiles", &nothing, "--calibration", &nothing],
            &[
                "menura",
                "run",
                "--report",
                "/no/such/folder/a",
                "--certificate",
                "/no/such/folder/b",
            ],
        ];
        for words in allowed {
            checked(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        }
    }

    /// If the help of an option indicates an output file, the type of the option is one that the check recognises. This
    /// covers every option of every command.
    #[test]
    fn every_option_that_writes_a_file_is_known() {
        fn look(command: &Command, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let option = format!("{} --{}", command.get_name(), arg.get_id());
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let writes = [
                    "Write",
                    "Draw",
                    "Leave capture",
                    "Folder",
                    "The file",
                    "Save",
                    "Picture",
                    "Output",
                ];
                let takes = arg.get_action().takes_values();
                // `replay --pty` creates a symbolic link, which replaces no file.
                let takes = takes && option != "replay --pty";
                if takes
                    && writes.iter().any(|word| help.contains(word))
                    && Role::of(arg) != Role::Written
                {
                    found.push(format!("{option}: {help}"));
                }
            }
            command.get_subcommands().for_each(|command| look(command, found));
        }
        let mut found = Vec::new();
        look(&Cli::command(), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
