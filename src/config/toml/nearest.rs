//! Guesses which word was meant.

/// No known word is longer.
const LONGEST_WORD: usize = 100;

/// The word of `known` that `written` is most like, if any is like it at all.
pub fn nearest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // Comparing takes as long as the product of the lengths.
    if written.len() > LONGEST_WORD {
        return None;
    }
    known
        .map(|word| (strsim::damerau_levenshtein(written, word), word))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, word)| {
            *distance <= written.len().max(word.len()) / 3 || word.starts_with(written)
        })
        .map(|(_, word)| word)
}
