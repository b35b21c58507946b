//! Command tables: every command, message, register and key in the public documentation of a product, and its
//! treatment by the emulated product.
//!
//! A family has one table for each protocol, a CSV file in its folder, such as `commands.csv`:
//!
//! ```text
//! # source: the document or the library that lists the commands
//! code,name,conduct,request,note
//! 0x01,Ping,acts,75 65 01 02 01 01,
//! ```
//!
//! `code` is the command in the notation of its protocol. `request` is a valid example: hexadecimal bytes or text,
//! depending on the family; empty if hosts never send it. `note` is the rest of the line: the effect of the command,
//! the source that documents a refusal, or a limit of the emulation. Unit tests of the family send each request in four
//! forms (valid, shortened, lengthened and doubled) and compare the answers with `conduct`.

use std::fmt::Write as _;

/// Reaction of an emulated product to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conduct {
    /// The command has the documented effect, or the unit computes the answer from its present state.
    Acts,
    /// The unit stores the value of the command and reads it back; the value has no other effect.
    Kept,
    /// The answer to the command is always the same.
    Constant,
    /// The unit refuses or ignores the command as the real product does.
    Refused,
    /// A limit of the emulation: Menura does not implement the command.
    NotMade,
}

words!(Conduct: "acts" => Acts, "kept" => Kept, "constant" => Constant, "refused" => Refused, "not made" => NotMade);

/// A command of a product, and the reaction of the emulated product to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Code of the command, in the notation of the product's protocol.
    pub code: &'static str,
    /// Name in the product's documentation.
    pub name: &'static str,
    /// Reaction of the unit.
    pub conduct: Conduct,
    /// A valid request; empty if hosts never send it.
    pub request: &'static str,
    /// Effect of the command, source that documents a refusal, or limit of the emulation.
    pub note: &'static str,
}

/// The commands of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTable {
    /// Title of the table, for example "MIP commands".
    pub title: &'static str,
    /// The documents and libraries that list the commands.
    pub sources: Vec<&'static str>,
    /// Rows in the order of the table.
    pub rows: Vec<CommandRow>,
}

impl CommandTable {
    /// Parses tables, each with title and text.
    pub fn parse_all(tables: &[(&'static str, &'static str)]) -> Vec<Self> {
        tables.iter().map(|(title, text)| Self::parse(title, text)).collect()
    }

    /// Parses a table that is compiled into the program.
    ///
    /// # Panics
    /// A line lacks a column, or its conduct is not a word of [`Conduct`].
    pub fn parse(title: &'static str, text: &'static str) -> Self {
        let mut table = Self { title, sources: Vec::new(), rows: Vec::new() };
        for line in text.lines().filter(|line| !line.starts_with("code,") && !line.is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                table.sources.extend(comment.trim().strip_prefix("source: "));
                continue;
            }
            let row = row(line).unwrap_or_else(|| panic!("{title}: not a row: {line}"));
            table.rows.push(row);
        }
        table
    }

    /// Number of rows with the given conduct.
    pub fn count(&self, conduct: Conduct) -> usize {
        self.rows.iter().filter(|row| row.conduct == conduct).count()
    }

    /// Text such as "40 in all, 12 acts, 3 kept, …".
    pub fn summary(&self) -> String {
        let mut text = format!("{} in all", self.rows.len());
        for (word, conduct) in Conduct::WORDS {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {} {word}", self.count(conduct));
        }
        text
    }
}

fn row(line: &'static str) -> Option<CommandRow> {
    let mut columns = line.splitn(5, ',').map(str::trim);
    let (code, name, word) = (columns.next()?, columns.next()?, columns.next()?);
    let (_, conduct) = Conduct::WORDS.into_iter().find(|(known, _)| *known == word)?;
    Some(CommandRow { code, name, conduct, request: columns.next()?, note: columns.next()? })
}

/// Four variants of `payload`: unchanged, without the last byte, with a zero byte appended, and doubled. For tests of
/// command tables.
#[cfg(test)]
pub(crate) fn variants(payload: &[u8]) -> [Vec<u8>; 4] {
    let short = payload[..payload.len().saturating_sub(1)].to_vec();
    [payload.to_vec(), short, [payload, &[0]].concat(), [payload, payload].concat()]
}

/// Sends the requests of all constant rows, then of all other rows, then of the constant rows again. The answers of
/// constant rows must not change. `ask` sends a row's request to the unit. Other rows are skipped if their code is in
/// `apart`.
#[cfg(test)]
pub(crate) fn constants_hold<A: PartialEq + std::fmt::Debug>(
    rows: &[CommandRow],
    apart: &[&str],
    mut ask: impl FnMut(&CommandRow) -> A,
) {
    let (constant, others): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row.conduct == Conduct::Constant);
    let before: Vec<A> = constant.iter().map(|row| ask(row)).collect();
    for is_changed in [false, true] {
        for row in others.iter().filter(|row| is_changed && !apart.contains(&row.code)) {
            ask(row);
        }
        for (row, answer) in constant.iter().zip(&before) {
            assert_eq!(ask(row), *answer, "{row:?}, settings changed: {is_changed}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_its_sources_and_rows() {
        let text = "# source: a manual\ncode,name,conduct,request,note\n\
                    0x01,Ping,acts,01 01,answers, at once\n\n0x02,Old,not made,,\n";
        let table = CommandTable::parse("commands", text);
        assert_eq!(table.sources, ["a manual"]);
        assert_eq!(table.rows[0].note, "answers, at once");
        assert_eq!(table.rows[1].conduct, Conduct::NotMade);
        assert_eq!(table.summary(), "2 in all, 1 acts, 0 kept, 0 constant, 0 refused, 1 not made");
    }

    #[test]
    #[should_panic(expected = "not a row: 0x01,Ping,perhaps,,")]
    fn a_row_with_another_conduct_is_refused() {
        CommandTable::parse("commands", "0x01,Ping,perhaps,,");
    }
}
