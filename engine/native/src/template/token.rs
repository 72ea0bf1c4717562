//! The tokens of a tag, as jinja2's lexer cuts them.

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sort {
    Name,
    Number,
    Text,
    Mark,
}

/// One token and the white space in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub space: &'a str,
    pub text: &'a str,
    pub sort: Sort,
}

/// The tokens from `at` up to the closing marks of the tag, and the offset of what follows the
/// tokens: closing marks and their white space control stay in the copied text.
pub fn tokens<'a>(source: &'a str, mut at: usize, marks: &str) -> Option<(Vec<Token<'a>>, usize)> {
    let mut out: Vec<Token> = Vec::new();
    let mut open = 0usize;
    loop {
        let from = at;
        at = source.len() - source[at..].trim_start().len();
        let space = &source[from..at];
        let tail = &source[at..];
        let signed = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        if open == 0 && (tail.starts_with(marks) || signed.starts_with(marks)) {
            return Some((out, from));
        }
        let first = tail.chars().next()?;
        let (len, sort) = match first {
            '"' | '\'' => (string_len(tail, first)?, Sort::Text),
            '0'..='9' => (
                number_len(tail, out.last().is_some_and(|t| t.text == ".")),
                Sort::Number,
            ),
            c if c.is_alphabetic() || c == '_' => {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                (tail.find(|c| !word(c)).unwrap_or(tail.len()), Sort::Name)
            }
            _ => {
                let double = ["//", "**", "==", "!=", ">=", "<="];
                match first {
                    '(' | '[' | '{' => open += 1,
                    ')' | ']' | '}' => open = open.saturating_sub(1),
                    _ => {}
                }
                let len = if double.iter().any(|d| tail.starts_with(d)) {
                    2
                } else {
                    first.len_utf8()
                };
                (len, Sort::Mark)
            }
        };
        out.push(Token {
            space,
            text: &tail[..len],
            sort,
        });
        at += len;
    }
}

fn string_len(s: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in s.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(i + 1),
            _ => {}
        }
    }
    None
}

fn number_len(s: &str, index: bool) -> usize {
    let b = s.as_bytes();
    let digits = |mut i: usize, hex: bool| {
        while i < b.len()
            && (b[i] == b'_' || b[i].is_ascii_digit() || hex && b[i].is_ascii_hexdigit())
        {
            i += 1;
        }
        i
    };
    if b[0] == b'0' && b.get(1).is_some_and(|c| b"xXoObB".contains(c)) {
        return digits(2, true);
    }
    let mut end = digits(0, false);
    if !index && b.get(end) == Some(&b'.') && b.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1, false);
    }
    if b.get(end).is_some_and(|c| b"eE".contains(c)) {
        let sign = b.get(end + 1).is_some_and(|c| b"+-".contains(c)) as usize;
        if b.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign, false);
        }
    }
    end
}

/// A string literal with Python's escapes resolved, of which minijinja knows fewer. None: an
/// escape that is wrong or, by character name, not supported.
pub fn literal(text: &str) -> Option<String> {
    let mut out = String::from(&text[..1]);
    let mut rest = &text[1..text.len() - 1];
    while let Some(i) = rest.find('\\') {
        out.push_str(&rest[..i]);
        rest = &rest[i + 1..];
        let c = rest.chars().next()?;
        let octal = rest.chars().take(3).take_while(|c| c.is_digit(8)).count();
        let (width, radix) = match c {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => (octal, 8),
            _ => (0, 0),
        };
        if radix > 0 {
            let skip = (radix == 16) as usize;
            let code = u32::from_str_radix(rest.get(skip..skip + width)?, radix).ok()?;
            match char::from_u32(code)? {
                c @ ('\\' | '\'' | '"') => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
            rest = &rest[skip + width..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' | '\'' | '"' | 'n' | 'r' | 't' => out.extend(['\\', c]),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'v' => out.push('\x0b'),
            'N' => return None,
            // The line goes on. Errors further down name a line too few.
            '\n' => {}
            c => out.extend(['\\', '\\', c]),
        }
    }
    out.push_str(rest);
    out.push_str(&text[..1]);
    Some(out)
}
