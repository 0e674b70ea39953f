//! Just enough of Rust's grammar to measure it: a mask over comments and literals, and the extent of functions.
//!
//! This is no parser: code that `rustfmt` accepts is measured right, anything else only approximately.

/// The text with comments, strings and character literals blanked out; lines and columns (in bytes) are kept.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        if end > at {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    // Whatever was not ASCII stood in a comment or a literal, or is of no interest.
    for byte in &mut out {
        if !byte.is_ascii() {
            *byte = b' ';
        }
    }
    String::from_utf8(out).expect("only ASCII is left")
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none starts there.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let previous_is_word = at > 0 && is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_end(bytes, at),
        [b'"', ..] => string_end(bytes, at + 1),
        [b'r', ..] | [b'b', b'r', ..] | [b'c', b'r', ..] if !previous_is_word => raw_string_end(bytes, at),
        [b'\'', ..] => char_end(bytes, at),
        _ => at,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `r"…"`, `br#"…"#` and so on; `start` itself when it is only a word that begins with these letters.
fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let Some(letters) = bytes[start..].iter().position(|byte| !byte.is_ascii_lowercase()) else {
        return start;
    };
    if letters > 2 {
        return start;
    }
    let open = start + letters;
    let hashes = bytes[open..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(open + hashes) != Some(&b'"') {
        return start;
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let body = open + hashes + 1;
    let found = bytes[body..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |offset| body + offset + close.len())
}

/// A character literal, as against a lifetime.
fn char_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at + 1..];
    match rest {
        [b'\\', ..] => {
            // The character after the backslash may itself be a quote.
            let found = rest.iter().skip(2).position(|&byte| byte == b'\'');
            found.map_or(at, |offset| at + 1 + 2 + offset + 1)
        }
        _ => {
            let Ok(text) = std::str::from_utf8(&rest[..rest.len().min(8)])
                .or_else(|error| std::str::from_utf8(&rest[..error.valid_up_to()]))
            else {
                return at;
            };
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(first), Some('\'')) => at + 1 + first.len_utf8() + 1,
                _ => at,
            }
        }
    }
}

/// Whether a byte can be part of a name.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The offsets at which `word` stands as a whole word.
pub(crate) fn find_words(masked: &str, word: &str) -> Vec<usize> {
    let bytes = masked.as_bytes();
    let stands_alone = |&at: &usize| {
        let before = at == 0 || !is_word(bytes[at - 1]);
        let after = bytes.get(at + word.len()).is_none_or(|&byte| !is_word(byte));
        before && after
    };
    masked.match_indices(word).map(|(at, _)| at).filter(stands_alone).collect()
}

/// The line, from 1, of an offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// A function's name, first line and number of lines, from `fn` to its closing brace.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// All functions with a body, nested ones too.
pub(crate) fn functions(masked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for start in find_words(masked, "fn") {
        let rest = &masked[start + 2..];
        let name: String =
            rest.trim_start().bytes().take_while(|&byte| is_word(byte)).map(char::from).collect();
        if name.is_empty() {
            continue; // A function pointer's type.
        }
        let Some(open) = body_start(masked, start) else { continue };
        let close = matching_brace(masked, open);
        let (first, last) = (line_of(masked, start), line_of(masked, close));
        found.push(Function { name, line: first, lines: last - first + 1 });
    }
    found
}

/// The `{` of a function's body; `None` when it ends with `;`. Brackets in the signature are skipped.
fn body_start(masked: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in masked.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return None,
            b'{' if depth == 0 => return Some(offset),
            _ => {}
        }
    }
    None
}

/// The offset of the `}` that closes the `{` at `open`.
pub(crate) fn matching_brace(masked: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in masked.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return offset;
                }
            }
            _ => {}
        }
    }
    masked.len()
}

#[test]
fn comments_and_literals_are_masked_and_code_is_kept() {
    let text =
        "let a = \"unsafe\"; // unsafe\nlet b = r#\"x\"unsafe\"#; /* unsafe /* */ */ c('\\'', 'x', &'a str);";
    let masked = mask(text);
    assert_eq!(masked.len(), text.len());
    assert!(find_words(&masked, "unsafe").is_empty(), "{masked}");
    assert!(masked.contains("let b =") && masked.contains("&'a str);"), "{masked}");
}

#[test]
fn functions_are_measured_to_their_closing_brace() {
    let text =
        "fn one() -> [u8; 2] {\n    let s = \"}\";\n    inner(|| {})\n}\ntrait T { fn none(&self); }\n";
    let found = functions(&mask(text));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].line, found[0].lines), ("one", 1, 4));
}
