//! Only one file prints. With the macros of the standard library, a full disk or a closed pipe
//! would cause a panic in the middle of a run.

use proc_macro2::{Punct, Spacing, TokenStream, TokenTree};

use crate::paths::{paths_of, tokens_of};
use crate::{Fault, fault};

/// The file that may print.
const PRINTER: &str = "src/cli/console.rs";

const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

pub fn printing_faults(file: &str, text: &str) -> Vec<Fault> {
    // Cargo reads the output of a build script, and an example is a separate program.
    if file == PRINTER || file.ends_with("/build.rs") || file.contains("/examples/") {
        return Vec::new();
    }
    let mut faults = Vec::new();
    search(tokens_of(file, text), &mut |name, line| {
        faults.push(fault(file, line, format!("`{name}!` panics; {PRINTER} prints")));
    });
    for path in paths_of(file, text) {
        let is_stream =
            |pair: &[String]| pair[0] == "io" && ["stdout", "stderr"].contains(&&*pair[1]);
        if path.names.windows(2).any(is_stream) {
            let names = path.names.join("::");
            faults.push(fault(file, path.line, format!("`{names}` is for {PRINTER}")));
        }
    }
    faults
}

fn search(tokens: TokenStream, found: &mut dyn FnMut(&str, usize)) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => search(group.stream(), found),
            TokenTree::Ident(ident) => {
                let is_macro =
                    matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if is_bang(mark));
                if let Some(name) = MACROS.iter().find(|name| is_macro && ident == **name) {
                    found(name, ident.span().start().line);
                }
            }
            _ => {}
        }
    }
}

/// Whether this is the `!` of a macro, and not the first character of `!=`.
fn is_bang(mark: &Punct) -> bool {
    mark.as_char() == '!' && mark.spacing() == Spacing::Alone
}

mod checker {
    use super::*;
    use crate::lines;

    #[test]
    fn finds_what_prints() {
        let text = "\
// println!(\"no code\")
fn f() { println!(\"x\"); if a { std::eprint!(\"y\") } }
fn g(print: u8) -> bool { print != 3 && \"print!\".is_empty() }
use std::io::{self, stdout};
fn h() { io::stderr().lock(); writeln!(out, \"fine\"); ProgressDrawTarget::stderr(); }
mod tests { fn i() { dbg!(1); } }
";
        assert_eq!(lines(&printing_faults("src/a.rs", text)), [2, 2, 6, 4, 5]);
        assert_eq!(printing_faults(PRINTER, text), []);
    }
}
