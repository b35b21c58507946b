//! Suggests the known word that is most similar to a wrong one.

/// Length of the longest word that is compared, bytes.
const LONGEST_WORD: usize = 100;
/// Length of the shortest wrong word that is searched for within known words, bytes. Shorter words occur in too many
/// known words by chance.
const SHORTEST_PART: usize = 3;

/// The word of `known` that is most similar to `written`; `None` if none is similar. A known word is similar if few of
/// its letters differ, if it contains `written`, or if it contains all parts of `written`, as `rotation_rate_rpm`
/// contains `rpm`.
pub fn nearest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // The time for comparing is proportional to the product of the lengths.
    if written.is_empty() || written.len() > LONGEST_WORD {
        return None;
    }
    let known: Vec<&str> = known.collect();
    let by_letters = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(written, word), *word))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, word)| {
            *distance <= written.len().max(word.len()) / 3 || word.starts_with(written)
        });
    by_letters.map(|(_, word)| word).or_else(|| by_parts(written, &known))
}

/// The shortest word that contains all parts of `written`; otherwise the shortest word that contains `written` as a
/// substring. Parts are separated by characters other than letters and digits.
fn by_parts<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let written = written.to_ascii_lowercase();
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        parts.map(str::to_ascii_lowercase).collect()
    };
    let wanted = parts(&written);
    let has_all = |word: &&&str| {
        let own = parts(word);
        !wanted.is_empty() && wanted.iter().all(|part| own.contains(part))
    };
    let holds = |word: &&&str| {
        written.len() >= SHORTEST_PART && word.to_ascii_lowercase().contains(&written)
    };
    let shortest = |word: &&&str| word.len();
    let whole = known.iter().filter(has_all).min_by_key(shortest);
    whole.or_else(|| known.iter().filter(holds).min_by_key(shortest)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_before_parts_and_parts_before_nothing() {
        let known = ["rotation_rate_rpm", "return_mode", "noise", "sector_deg", "rate_hz"];
        let near = |written| nearest(written, known.into_iter());
        assert_eq!(near("retrun_mode"), Some("return_mode"));
        assert_eq!(near("rpm"), Some("rotation_rate_rpm"));
        assert_eq!(near("RPM"), Some("rotation_rate_rpm"));
        assert_eq!(near("fov_deg"), None);
        assert_eq!(near("sector"), Some("sector_deg"));
        assert_eq!(near("rate"), Some("rate_hz"));
        assert_eq!(near("rpm_rate"), Some("rotation_rate_rpm"));
        assert_eq!(near("otation"), Some("rotation_rate_rpm"));
        assert_eq!(near("hue"), None);
        assert_eq!(near(""), None);
    }
}
