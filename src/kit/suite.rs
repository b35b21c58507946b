//! A suite: related cases, and the rig on which they run if the user names none.

use std::path::Path;
use std::sync::Arc;

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use crate::kit::case::Case;
use crate::kit::rig_source::RigSource;
use crate::kit::{library, suite_read};

/// Largest size of a suite, bytes.
const MAX_SUITE_BYTES: u64 = 4 << 20;
/// Largest depth of nested includes.
const MAX_DEPTH: usize = 8;

/// A suite with its own cases and the cases of all included suites.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name of the suite, or path of its file.
    pub name: String,
    /// Purpose of the suite.
    pub summary: String,
    /// Rig of the suite, if it sets one.
    pub rig: Option<RigSource>,
    /// Cases of the suite; the cases of included suites come first.
    pub cases: Vec<Case>,
}

impl Suite {
    /// Loads a suite. `name` is the name of a built-in suite, or the path of a suite file, which ends in `.toml`.
    ///
    /// # Errors
    /// All errors in the name or the files of the suite.
    pub fn load(name: &str) -> Result<Self, Diagnostics> {
        let mut suite =
            Self { name: name.into(), summary: String::new(), rig: None, cases: vec![] };
        suite.add(name, Path::new(""), 0)?;
        Ok(suite)
    }

    /// The case with this name.
    ///
    /// # Errors
    /// No case has this name; the message lists the allowed names.
    pub fn case(&self, name: &str) -> Result<&Case, String> {
        self.cases.iter().find(|case| case.name == name).ok_or_else(|| {
            let names: Vec<_> = self.cases.iter().map(|case| case.name.as_str()).collect();
            format!(
                "error: the suite `{}` has no case \"{name}\"; allowed: {}",
                self.name,
                names.join(", ")
            )
        })
    }

    fn add(&mut self, name: &str, folder: &Path, depth: usize) -> Result<(), Diagnostics> {
        if depth > MAX_DEPTH {
            let text = format!("`include` nests suites more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(text).into());
        }
        let source = source_of(name, folder)?;
        let base = source.base_dir.clone();
        let file = suite_read::suite(&source)?;
        for included in &file.include {
            self.add(included, &base, depth + 1)?;
        }
        if depth == 0 {
            self.summary = file.summary;
        }
        if let Some(rig) = &file.rig {
            self.rig = Some(RigSource::find(rig, &base)?);
        }
        for mut case in file.cases {
            if let Some(RigSource::File(path)) = &case.rig {
                // The name of a rig, or a path relative to the suite's folder.
                case.rig = Some(RigSource::find(&path.to_string_lossy(), &base)?);
            }
            for capture in case.strangers.iter_mut().filter_map(|one| one.capture.as_mut()) {
                *capture = base.join(&capture);
            }
            // A case that is included twice runs once; a suite's own case replaces an included one
            // of the same name.
            match self.cases.iter_mut().find(|known| known.name == case.name) {
                Some(known) => *known = case,
                None => self.cases.push(case),
            }
        }
        Ok(())
    }
}

fn source_of(name: &str, folder: &Path) -> Result<Arc<SourceFile>, Diagnostics> {
    if name.ends_with(".toml") {
        let path = folder.join(name);
        let shown = path.display().to_string();
        return SourceFile::read(&shown, &path, MAX_SUITE_BYTES).map_err(|why| {
            Diagnostic::new(format!("cannot read the suite `{shown}`: {why}")).into()
        });
    }
    match library::suite(name) {
        Some((file, text)) => Ok(SourceFile::new(file, text, "")),
        None => {
            let names: Vec<_> = library::suite_names().collect();
            let fault = Diagnostic::new(format!("there is no suite `{name}`"));
            Err(fault
                .help(format!("allowed: {}; or the path of a .toml file", names.join(", ")))
                .into())
        }
    }
}
