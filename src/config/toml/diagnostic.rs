//! Errors in a user's file: position, allowed values, and origin of the limit.
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

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
};

use super::read_files;

/// Text of a file or of a `--set` option, with the name that messages print for the text.
#[derive(Debug)]
pub struct SourceFile {
    /// Path as given, or a substitute such as `--set`.
    pub name: String,
    /// Text of the file.
    pub text: String,
    /// Folder that relative paths in the file refer to.
    pub base_dir: PathBuf,
}

impl SourceFile {
    /// A text called `name` whose relative paths refer to `base_dir`.
    pub fn new(
        name: impl Into<String>,
        text: impl Into<String>,
        base_dir: impl Into<PathBuf>,
    ) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), base_dir: base_dir.into() })
    }

    /// Reads the file at `path`. Messages call it `name`.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or is longer than `max_bytes`; the string is the reason.
    pub fn read(name: &str, path: &Path, max_bytes: u64) -> Result<Arc<Self>, String> {
        use std::io::Read;
        let cannot = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_string(),
            std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_string(),
            _ => e.to_string(),
        };
        let base_dir = path.parent().unwrap_or(Path::new(""));
        if let Some(text) = read_files::given(path) {
            return Ok(Self::new(name, text, base_dir));
        }
        let file = std::fs::File::open(path).map_err(cannot)?;
        read_files::note_read(path);
        let mut text = String::new();
        file.take(max_bytes + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > max_bytes {
            return Err(format!("it is longer than {max_bytes} bytes"));
        }
        read_files::note(path, &text);
        Ok(Self::new(name, text, base_dir))
    }

    /// Number of the line that contains the byte `at`, from 1.
    fn line_of(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    /// `path`; if it is relative, resolved from [`SourceFile::base_dir`].
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.base_dir.join(path)
    }
}

/// Name of the text of a `--set` option.
pub const OVERRIDE_NAME: &str = "--set";

/// A position in a file or in a `--set` option.
#[derive(Clone, Debug)]
pub struct Place {
    /// Text that contains the position.
    pub source: Arc<SourceFile>,
    /// Range of bytes in the text of `source`.
    pub span: Range<usize>,
}

impl Place {
    /// Position of the bytes `span` in the text of `source`.
    pub fn new(source: &Arc<SourceFile>, span: Range<usize>) -> Self {
        Self { source: Arc::clone(source), span }
    }

    /// Whether the text is the argument of a `--set` option.
    pub fn is_override(&self) -> bool {
        self.source.name == OVERRIDE_NAME
    }

    /// An error at this position: `title` states it, and `text` is printed next to the caret.
    pub fn fault(&self, title: impl Into<String>, text: impl Into<String>) -> Diagnostic {
        Diagnostic {
            title: title.into(),
            primary: Some(Label { place: self.clone(), text: text.into() }),
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// The span for the renderer: within the text, at character boundaries, and within one line.
    fn shown(&self) -> Range<usize> {
        let text = &self.source.text;
        let start = text.floor_char_boundary(self.span.start);
        let end = text.floor_char_boundary(self.span.end).max(start);
        let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |i| start + i);
        start..end.min(line_end)
    }

    /// Byte range of the line that contains the start of the span, without the line break.
    fn lines(&self) -> Range<usize> {
        let text = &self.source.text;
        let at = self.shown().start;
        let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let end = text[at..].find('\n').map_or(text.len(), |i| at + i);
        start..end
    }
}

/// A position in a file, with the text that a message shows next to it.
#[derive(Clone, Debug)]
pub struct Label {
    /// Position.
    pub place: Place,
    /// Text next to the caret.
    pub text: String,
}

/// One error.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The error, in one line.
    pub title: String,
    /// Position; `None` if the error has no position in a text.
    pub primary: Option<Label>,
    /// Further relevant positions.
    pub related: Vec<Label>,
    /// Origin of a limit, and allowed values.
    pub notes: Vec<String>,
    /// How to fix the error.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a position.
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

    /// Adds a further position.
    #[must_use]
    pub fn related(mut self, place: &Place, text: impl Into<String>) -> Self {
        self.related.push(Label { place: place.clone(), text: text.into() });
        self
    }

    /// Whether another error has the same title and position; false for errors without a position.
    fn is_same(&self, other: &Self) -> bool {
        let place = |fault: &Self| {
            let place = &fault.primary.as_ref()?.place;
            Some((Arc::as_ptr(&place.source), place.span.clone()))
        };
        self.title == other.title && place(self).is_some() && place(self) == place(other)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let title = clean(&self.title);
        let mut group = Group::with_title(Level::ERROR.primary_title(title));
        if let Some(primary) = &self.primary {
            group = group.elements(shown_text(primary, &self.related));
        }
        let elsewhere = self.related.iter().filter(|related| {
            self.primary
                .as_ref()
                .is_none_or(|p| !Arc::ptr_eq(&p.place.source, &related.place.source))
        });
        for label in elsewhere {
            group = group.elements(alone(label, AnnotationKind::Context));
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

/// Largest number of errors that are stored and shown. Further errors are only counted, so that the time for a file
/// with an error in every line is proportional to its length.
const MAX_SHOWN: usize = 50;

/// The errors in all files that were read.
#[derive(Clone, Debug, Default, thiserror::Error)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    untold: usize,
}

impl Diagnostics {
    /// Adds an error, or counts it if the list is full. A repeated error is dropped, because `[defaults]` are read
    /// once for each device that they apply to.
    pub fn push(&mut self, fault: Diagnostic) {
        if self.list.iter().any(|told| told.is_same(&fault)) {
            return;
        }
        if self.is_full() {
            self.untold += 1;
        } else {
            self.list.push(fault);
        }
    }

    /// Whether the list is full, so that further errors are only counted.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MAX_SHOWN
    }

    /// Adds `faults` to the number of errors that are counted without text.
    pub fn count(&mut self, faults: usize) {
        self.untold += faults;
    }

    /// Adds all errors of `other`.
    pub fn append(&mut self, other: Diagnostics) {
        self.untold += other.untold;
        other.list.into_iter().for_each(|fault| self.push(fault));
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Number of errors, including those that are not shown.
    pub fn len(&self) -> usize {
        self.list.len() + self.untold
    }

    /// Assigns `place` and `text` to all errors that have no position.
    #[must_use]
    pub fn placed(mut self, place: &Place, text: &str) -> Self {
        for fault in &mut self.list {
            fault.primary.get_or_insert_with(|| Label { place: place.clone(), text: text.into() });
        }
        self
    }

    /// Text of the errors, sorted by file and position; with colours if `styled`.
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
        let mut parts: Vec<_> = keyed.iter().map(|(_, fault)| fault.render(&renderer)).collect();
        if self.untold > 0 {
            let title = format!("{} more errors are not shown", self.untold);
            let help = format!("fix the {MAX_SHOWN} errors above, then check again");
            parts.push(Diagnostic::new(title).help(help).render(&renderer));
        }
        parts.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(fault: Diagnostic) -> Self {
        Self { list: vec![fault], untold: 0 }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// Largest excerpt of a file that is passed to the renderer as a whole, bytes. Of a larger excerpt, only the lines with
/// positions are passed; a line that is longer than this is cut. The renderer scans its whole input for each error.
const MAX_WINDOW: usize = 16 << 10;
/// Number of bytes that are shown before and after the start of a position, if the line is longer than `MAX_WINDOW`.
const CONTEXT: (usize, usize) = (40, 120);
/// Largest length of a line of a title, label or note, characters; longer lines are cut.
const MAX_LINE: usize = 2000;

/// Renderer input for the lines of `label`, with the `related` positions in the same text.
fn shown_text<'a>(label: &'a Label, related: &'a [Label]) -> Vec<Element<'a>> {
    let source = &label.place.source;
    let near = || related.iter().filter(|other| Arc::ptr_eq(&other.place.source, source));
    let spans = std::iter::once(label).chain(near()).map(|l| l.place.lines());
    let window = spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default();
    if window.len() > MAX_WINDOW {
        let others = near().flat_map(|other| alone(other, AnnotationKind::Context));
        return alone(label, AnnotationKind::Primary).into_iter().chain(others).collect();
    }
    let mut snippet = Snippet::source(&source.text[window.clone()])
        .line_start(source.line_of(window.start))
        .path(source.name.as_str())
        .annotation(annotation(label, AnnotationKind::Primary, window.start));
    for other in near() {
        snippet = snippet.annotation(annotation(other, AnnotationKind::Context, window.start));
    }
    vec![snippet.into()]
}

/// Renderer input that shows the line of `label`, or a part of the line if it is long.
fn alone(label: &Label, kind: AnnotationKind) -> Vec<Element<'_>> {
    let source = &label.place.source;
    let line = label.place.lines();
    if line.len() <= MAX_WINDOW {
        let snippet = Snippet::source(&source.text[line.clone()])
            .line_start(source.line_of(line.start))
            .path(source.name.as_str())
            .annotation(annotation(label, kind, line.start));
        return vec![snippet.into()];
    }
    let text = &source.text;
    let at = label.place.shown().start;
    let start = text.ceil_char_boundary(at.saturating_sub(CONTEXT.0).max(line.start));
    let end = text.floor_char_boundary((at + CONTEXT.1).min(line.end)).max(at);
    let number = source.line_of(at);
    let column = text[line.start..at].chars().count() + 1;
    let span = label.place.shown();
    let span = span.start - start..span.end.min(end) - start;
    vec![
        Origin::path(source.name.as_str()).line(number).char_column(column).into(),
        Snippet::source(&text[start..end])
            .line_start(number)
            .annotation(kind.span(span).label(clean(&label.text)))
            .into(),
    ]
}

/// Renderer input for `label`, in a text that begins at byte `start` of the label's source.
fn annotation(label: &Label, kind: AnnotationKind, start: usize) -> Annotation<'_> {
    let span = label.place.shown();
    kind.span(span.start - start..span.end - start).label(clean(&label.text))
}

/// Text that may quote a file, without control characters that would affect the terminal, and shortened.
fn clean(text: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        for (at, c) in line.chars().enumerate() {
            if at == MAX_LINE {
                out.push_str("...");
                break;
            }
            match c.is_control() {
                true => out.extend(c.escape_default()),
                false => out.push(c),
            }
        }
    }
    out
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

    /// If every line has an error, the first ones and a count are reported.
    #[test]
    fn many_faults_are_counted_not_shown() {
        let source = SourceFile::new("rig.toml", "x = 1\n".repeat(100_000), "");
        let mut faults = Diagnostics::default();
        for line in 0..100_000 {
            faults.push(fault_at(&source, 6 * line..6 * line + 1, "unknown"));
        }
        assert_eq!((faults.len(), faults.list.len()), (100_000, MAX_SHOWN));
        let text = faults.to_string();
        assert!(text.len() < 20_000, "{} bytes", text.len());
        assert!(text.contains("--> rig.toml:50:1\n"), "{text}");
        assert!(text.contains("error: 99950 more errors are not shown\n"), "{text}");
        assert!(text.ends_with("help: fix the 50 errors above, then check again"), "{text}");
        let mut outer = Diagnostics::default();
        outer.append(faults);
        assert_eq!(outer.len(), 100_000);
    }

    /// Long lines and distant positions, for which the renderer would need seconds, are shown in part.
    #[test]
    fn long_lines_and_far_places_are_shown_in_part() {
        let line = format!("a = 1\npoints = [{}]\n", "1, ".repeat(1_000_000));
        let source = SourceFile::new("rig.toml", format!("{line}b = 2\n"), "");
        let within = fault_at(&source, 2_000_003..2_000_004, "wrong");
        let text = Diagnostics::from(within).to_string();
        assert!(text.len() < 1000 && text.contains("--> rig.toml:2:1999998\n"), "{text}");
        let last = source.text.len() - 6;
        let far = fault_at(&source, last..last + 1, "twice");
        let far = far.related(&Place::new(&source, 0..1), "first here");
        let text = Diagnostics::from(far).to_string();
        assert!(text.contains("--> rig.toml:3:1\n") && text.contains("first here"), "{text}");
        assert!(text.contains("rig.toml:1:1\n") && text.len() < 1000, "{text}");
        let title = fault_at(&source, 0..1, &"k".repeat(1_000_000));
        assert!(Diagnostics::from(title).to_string().len() < 3000);
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
