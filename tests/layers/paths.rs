//! Paths in Rust source text, read from its tokens: comments and strings are ignored.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::imports::LAYERS;

/// Layers that are crates of their own: in their folders, `crate::x` is converted to `crate::<layer>::x`, unless `x` is
/// the name of a layer.
const CRATES: &[&str] = &["config", "devices", "wire"];

/// A path in source text. A path that starts with `menura`, `crate`, `self` or `super` is converted to `crate::…`,
/// counted from the root of `menura`. Other paths are as written.
#[derive(Clone, Debug)]
pub struct UsedPath {
    pub names: Vec<String>,
    pub line: usize,
    /// Name that a `use` gives the path in its module; `*` for all items of the path; `None` outside of a `use`.
    pub imported_as: Option<String>,
    /// Whether the path is in test code.
    pub in_tests: bool,
}

/// Paths that a file uses, and modules that it declares for tests only.
#[derive(Debug, Default)]
pub struct Said {
    /// Every path in the code, including macros and tests; groups (`a::{b, c}`) are split.
    pub paths: Vec<UsedPath>,
    /// Modules that the file declares for tests only (`#[cfg(test)] mod tests;`), from the crate's root.
    pub test_modules: Vec<Vec<String>>,
}

/// Module path of a file in `src/`; `None` for crate roots and for other files.
pub fn module_of(file: &str) -> Option<Vec<String>> {
    let inner = file.strip_prefix("src/")?.strip_suffix(".rs")?;
    if ["lib", "main", "config/build", "engine/lib", "mpi/main", "validation/lib", "world/lib"]
        .contains(&inner)
    {
        return None;
    }
    // These two layers are in the crate of `wire`.
    let inner = ["wire/time", "wire/frames"]
        .iter()
        .find(|layer| inner.starts_with(*layer))
        .map_or(inner, |_| &inner["wire/".len()..]);
    let is_root = |part: &&str| !["mod", "lib"].contains(part);
    Some(inner.split('/').filter(is_root).map(str::to_owned).collect())
}

pub fn said_in(file: &str, text: &str) -> Said {
    let mut said = Said::default();
    let module = module_of(file).unwrap_or_default();
    Reader { module: &module, in_tests: false, said: &mut said }.read(tokens_of(file, text));
    said
}

pub fn paths_of(file: &str, text: &str) -> Vec<UsedPath> {
    said_in(file, text).paths
}

pub fn tokens_of(file: &str, text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{file}: {error}"))
}

struct Reader<'a> {
    module: &'a [String],
    in_tests: bool,
    said: &'a mut Said,
}

impl Reader<'_> {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // Whether the current item is test code, and whether it is a `use`; both end at `;` or after braces.
        let (mut for_tests, mut is_use) = (false, false);
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(keyword) if keyword == "mod" => {
                    at += self.read_module(&tokens[at + 1..], for_tests);
                    for_tests = false;
                }
                TokenTree::Ident(keyword) if keyword == "use" => {
                    is_use = true;
                    at += 1;
                }
                TokenTree::Ident(_) => {
                    let outer = self.in_tests;
                    self.in_tests |= for_tests;
                    at = self.take_path(&tokens, at, Vec::new(), is_use);
                    self.in_tests = outer;
                }
                TokenTree::Group(group) => {
                    for_tests |= group.delimiter() == Delimiter::Bracket
                        && group.stream().to_string().replace(' ', "") == "cfg(test)";
                    Reader {
                        module: self.module,
                        in_tests: self.in_tests || for_tests,
                        said: self.said,
                    }
                    .read(group.stream());
                    for_tests &= group.delimiter() != Delimiter::Brace;
                    at += 1;
                }
                TokenTree::Punct(end) if end.as_char() == ';' => {
                    (for_tests, is_use) = (false, false);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Reads the tokens after `mod`; returns the number of tokens including `mod`.
    fn read_module(&mut self, tokens: &[TokenTree], for_tests: bool) -> usize {
        let [TokenTree::Ident(name), next, ..] = tokens else { return 1 };
        let mut inner = self.module.to_vec();
        inner.push(name.to_string());
        match next {
            TokenTree::Group(body) => {
                let in_tests = self.in_tests || for_tests;
                Reader { module: &inner, in_tests, said: self.said }.read(body.stream());
            }
            _ if for_tests => self.said.test_modules.push(inner),
            _ => {}
        }
        3
    }

    /// Reads the path that starts at `tokens[at]`; `names` are the segments before it. Returns the index of the token
    /// after the path.
    fn take_path(
        &mut self,
        tokens: &[TokenTree],
        mut at: usize,
        mut names: Vec<String>,
        is_use: bool,
    ) -> usize {
        let line = tokens[at].span().start().line;
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(name)) => {
                    names.push(name.to_string());
                    at += 1;
                }
                Some(TokenTree::Group(group)) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for item in inner.split(|token| is_punct(Some(token), ',')) {
                        if !item.is_empty() {
                            self.take_path(item, 0, names.clone(), is_use);
                        }
                    }
                    return at + 1;
                }
                // The path ends before `*` or generics.
                _ => break,
            }
            match tokens.get(at..at + 2) {
                Some([TokenTree::Punct(first), TokenTree::Punct(second)])
                    if first.as_char() == ':'
                        && first.spacing() == Spacing::Joint
                        && second.as_char() == ':' =>
                {
                    at += 2;
                }
                _ => break,
            }
        }
        let mut imported_as = names.last().cloned().filter(|_| is_use);
        if is_use && is_punct(tokens.get(at), '*') {
            imported_as = Some("*".to_owned());
        } else if let (true, Some([TokenTree::Ident(as_), TokenTree::Ident(alias)])) =
            (is_use, tokens.get(at..at + 2))
            && as_ == "as"
        {
            imported_as = Some(alias.to_string());
            at += 2;
        }
        let mut names = from_the_root(names, self.module);
        if names.len() > 1 && names.last().is_some_and(|last| last == "self") {
            names.pop();
            if imported_as.as_deref() == Some("self") {
                imported_as = names.last().cloned();
            }
        }
        self.said.paths.push(UsedPath { names, line, imported_as, in_tests: self.in_tests });
        at
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == wanted)
}

/// Converts `menura::a`, `self::a`, `super::a` and a crate's own `crate::a`, as seen from `module`, to `crate::…` of
/// `menura`.
fn from_the_root(names: Vec<String>, module: &[String]) -> Vec<String> {
    let mut place = match names[0].as_str() {
        "menura" => Vec::new(),
        "crate" => {
            let layer = module.first().filter(|layer| CRATES.contains(&layer.as_str()));
            let is_layer = names.get(1).is_some_and(|name| LAYERS.contains(&name.as_str()));
            layer.filter(|_| !is_layer).cloned().into_iter().collect()
        }
        "self" | "super" => module.to_vec(),
        _ => return names,
    };
    let mut rest = names.iter().skip(usize::from(names[0] != "super")).peekable();
    while rest.next_if(|name| *name == "super").is_some() {
        place.pop();
    }
    std::iter::once("crate".to_owned()).chain(place).chain(rest.cloned()).collect()
}

#[test]
fn paths_are_read_with_their_names_and_whether_tests_alone_use_them() {
    let text = "\
use super::b::{self, C as D, e::*};
#[cfg(test)]
use crate::only::Tests;
fn f() { crate::g::h::<u8>(x) }
#[cfg(test)]
mod tests { use super::i; }
#[cfg(test)]
mod more;
mod most;
use crate::last;
";
    let said = said_in("src/a/x.rs", text);
    let paths: Vec<(String, Option<&str>, bool)> = said
        .paths
        .iter()
        .filter(|path| path.names.len() > 1)
        .map(|path| (path.names.join("::"), path.imported_as.as_deref(), path.in_tests))
        .collect();
    let wanted = [
        ("crate::a::b", Some("b"), false),
        ("crate::a::b::C", Some("D"), false),
        ("crate::a::b::e", Some("*"), false),
        ("crate::only::Tests", Some("Tests"), true),
        ("crate::g::h", None, false),
        ("crate::a::x::i", Some("i"), true),
        ("crate::last", Some("last"), false),
    ];
    assert_eq!(paths, wanted.map(|(path, name, test)| (path.to_owned(), name, test)));
    assert_eq!(said.test_modules, [["a", "x", "more"]]);
}

#[test]
fn paths_in_a_layer_that_is_a_crate_are_read_from_the_root_of_all() {
    let text = "use crate::uart::{A, B};\nuse crate::wire::line;\nuse super::C;\n";
    let names = |file: &str| -> Vec<String> {
        paths_of(file, text).iter().map(|path| path.names.join("::")).collect()
    };
    let of_devices = ["uart::A", "uart::B"].map(|name| format!("crate::devices::{name}"));
    assert_eq!(names("src/devices/lib.rs")[..2], of_devices);
    assert_eq!(names("src/devices/a/b.rs")[2..], ["crate::wire::line", "crate::devices::a::C"]);
    assert_eq!(names("src/engine/a.rs")[0], "crate::uart::A");
    assert_eq!(module_of("src/wire/time/duration.rs").unwrap(), ["time", "duration"]);
}
