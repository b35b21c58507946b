//! What is wrong with a file a user wrote: where, what is allowed, and where the limit comes from.
//!
//! ```text
//! error: `rotation_rate_rpm` is out of range
//!   --> rig.toml:14:21
//!    |
//! 14 | rotation_rate_rpm = 2400
//!    |                     ^^^^ allowed: 300 to 900 rpm
//!    |
//!    = note: limit from firmware-profiles/velodyne-hdl64e-s1.toml, [rotation]
//! ```

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A text that was read, with the name messages call it by.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as given, or what stands for one (`--set`).
    pub name: String,
    /// All of it.
    pub text: String,
    /// Paths written in it are relative to this folder.
    pub base_dir: PathBuf,
}

impl SourceFile {
    /// A text named `name` whose relative paths start at `base_dir`.
    pub fn new(
        name: impl Into<String>,
        text: impl Into<String>,
        base_dir: impl Into<PathBuf>,
    ) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), base_dir: base_dir.into() })
    }

    /// Reads the file at `path`, which messages call `name`.
    ///
    /// # Errors
    /// When it cannot be read, is not UTF-8 or is longer than `max_bytes`; the text says which.
    pub fn read(name: &str, path: &Path, max_bytes: u64) -> Result<Arc<Self>, String> {
        use std::io::Read;
        let cannot = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_string(),
            std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_string(),
            _ => e.to_string(),
        };
        let file = std::fs::File::open(path).map_err(cannot)?;
        let mut text = String::new();
        file.take(max_bytes + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > max_bytes {
            return Err(format!("it is longer than {max_bytes} bytes"));
        }
        let base_dir = path.parent().unwrap_or(Path::new(""));
        Ok(Self::new(name, text, base_dir))
    }

    /// `path`, if relative from [`SourceFile::base_dir`].
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.base_dir.join(path)
    }
}

/// What the text of a `--set` is called.
pub const OVERRIDE_NAME: &str = "--set";

/// Where something was written.
#[derive(Clone, Debug)]
pub struct Place {
    /// The text.
    pub source: Arc<SourceFile>,
    /// Bytes of the text.
    pub span: Range<usize>,
}

impl Place {
    /// The bytes `span` of `source`.
    pub fn new(source: &Arc<SourceFile>, span: Range<usize>) -> Self {
        Self { source: Arc::clone(source), span }
    }

    /// Whether it is in the argument of a `--set`.
    pub fn is_override(&self) -> bool {
        self.source.name == OVERRIDE_NAME
    }

    /// A fault here: `title` says what is wrong, `text` stands beside the caret.
    pub fn fault(&self, title: impl Into<String>, text: impl Into<String>) -> Diagnostic {
        Diagnostic {
            title: title.into(),
            primary: Some(Label { place: self.clone(), text: text.into() }),
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// The span as the renderer may have it: within the text, on character boundaries, and ending
    /// with the line it starts on.
    fn shown(&self) -> Range<usize> {
        let text = &self.source.text;
        let start = text.floor_char_boundary(self.span.start);
        let end = text.floor_char_boundary(self.span.end).max(start);
        let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |i| start + i);
        start..end.min(line_end)
    }
}

/// A place and what to say there.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// Beside the caret.
    pub text: String,
}

/// One fault.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What is wrong, in one line.
    pub title: String,
    /// Where; `None` when there is no text to point at.
    pub primary: Option<Label>,
    /// Other places that matter.
    pub related: Vec<Label>,
    /// Where a limit comes from, what is allowed.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault without a place.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            primary: None,
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Adds a note, unless it is empty.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        let note = note.into();
        if !note.is_empty() {
            self.notes.push(note);
        }
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, place: &Place, text: impl Into<String>) -> Self {
        self.related.push(Label { place: place.clone(), text: text.into() });
        self
    }

    fn render(&self, renderer: &Renderer) -> String {
        let mut group = Level::ERROR.primary_title(clean(&self.title)).elements(
            self.primary.iter().map(|label| snippet(label, AnnotationKind::Primary, &self.related)),
        );
        let elsewhere = self.related.iter().filter(|related| {
            self.primary
                .as_ref()
                .is_none_or(|p| !Arc::ptr_eq(&p.place.source, &related.place.source))
        });
        for label in elsewhere {
            group = group.element(snippet(label, AnnotationKind::Context, &[]));
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(clean(note)));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        renderer.render(&[group])
    }
}

/// The faults that were found, of all files that were read.
#[derive(Clone, Debug, Default, thiserror::Error)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a fault.
    pub fn push(&mut self, fault: Diagnostic) {
        self.list.push(fault);
    }

    /// Adds all faults of `other`.
    pub fn append(&mut self, other: Diagnostics) {
        self.list.extend(other.list);
    }

    /// Nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many faults.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The faults; those without a place get `place` and `text`.
    pub fn into_placed(self, place: &Place, text: &str) -> impl Iterator<Item = Diagnostic> {
        self.list.into_iter().map(move |mut fault| {
            fault.primary.get_or_insert_with(|| Label { place: place.clone(), text: text.into() });
            fault
        })
    }

    /// The faults as text, file by file, each file's by place; with colours if `styled`.
    pub fn render(&self, styled: bool) -> String {
        let mut sources: Vec<*const SourceFile> = Vec::new();
        let mut keyed: Vec<_> = self
            .list
            .iter()
            .map(|fault| {
                let key = fault.primary.as_ref().map(|label| {
                    let source = Arc::as_ptr(&label.place.source);
                    let rank = sources.iter().position(|s| *s == source).unwrap_or_else(|| {
                        sources.push(source);
                        sources.len() - 1
                    });
                    (rank, label.place.span.start)
                });
                (key, fault)
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let parts: Vec<_> = keyed.iter().map(|(_, fault)| fault.render(&renderer)).collect();
        parts.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(fault: Diagnostic) -> Self {
        Self { list: vec![fault] }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

fn snippet<'a>(
    label: &'a Label,
    kind: AnnotationKind,
    related: &'a [Label],
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let source = &label.place.source;
    let mut snippet = Snippet::source(source.text.as_str())
        .path(source.name.as_str())
        .annotation(kind.span(label.place.shown()).label(clean(&label.text)));
    for other in related.iter().filter(|other| Arc::ptr_eq(&other.place.source, source)) {
        snippet = snippet.annotation(
            AnnotationKind::Context.span(other.place.shown()).label(clean(&other.text)),
        );
    }
    snippet
}

/// Text that may quote a file, without control characters that would act on the terminal.
fn clean(text: &str) -> String {
    text.chars()
        .map(
            |c| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.into() },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_at(source: &Arc<SourceFile>, span: Range<usize>, title: &str) -> Diagnostic {
        Place::new(source, span).fault(title, "here")
    }

    #[test]
    fn faults_come_file_by_file_and_top_down() {
        let rig = SourceFile::new("rig.toml", "a = 1\nb = 2\n", "");
        let other = SourceFile::new("other.toml", "c = 3\n", "");
        let mut faults = Diagnostics::default();
        faults.push(fault_at(&rig, 6..7, "second"));
        faults.push(fault_at(&other, 0..1, "third"));
        faults.push(fault_at(&rig, 0..1, "first"));
        let text = faults.to_string();
        let at = |word| text.find(word).unwrap_or_else(|| panic!("no {word} in {text}"));
        assert!(at("first") < at("second") && at("second") < at("third"), "{text}");
    }

    #[test]
    fn any_span_and_any_text_render() {
        for text in ["", "\n", "ü", "a\r\nb", "\u{1b}[31mred"] {
            let source = SourceFile::new("x", text, "");
            for start in 0..text.len() + 3 {
                for end in 0..text.len() + 3 {
                    let shown = Diagnostics::from(fault_at(&source, start..end, text)).to_string();
                    assert!(!shown.contains('\u{1b}'), "{shown:?}");
                }
            }
        }
    }
}
