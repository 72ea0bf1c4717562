//! Regular expressions of the regex crate in Lark rules.
//!
//! Lark has `/EXPRESSION/`, which llguidance reads as that crate does, but for anchors of lines and a
//! group of the name stop. Rules for this module may also have these, with a JSON string:
//!
//!  - `%regex {"regex": "EXPRESSION"}`: the texts that the expression matches whole
//!  - `%regex {"regex_in_json": "EXPRESSION"}`: these texts as a JSON string has them, without its
//!    quotes. A character is written in one way: as itself, or else by its shortest escape.

use std::fmt::Write;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};
use regex_syntax::Error;

use crate::failure::{Failure, Kind};

const WHOLE: &str = r#"%regex {"regex": "#;
const IN_JSON: &str = r#"%regex {"regex_in_json": "#;

/// Bytes of an expression in an error.
const QUOTED_BYTES: usize = 120;

/// Returns rules with expressions of Lark in place of those above.
pub fn expand(rules: &str) -> Result<String, Failure> {
    let mut out = String::with_capacity(rules.len());
    let mut rest = rules;
    while !rest.is_empty() {
        let size = match expression(rest) {
            Some((source, in_json, size)) => {
                out.push_str(&lark(&source, in_json).map_err(|why| fault(&source, &why))?);
                size
            }
            None => {
                let size = part(rest);
                out.push_str(&rest[..size]);
                size
            }
        };
        rest = &rest[size..];
    }
    Ok(out)
}

/// Returns the expression that the rules begin with, whether it is one in JSON, and its length here.
fn expression(rules: &str) -> Option<(String, bool, usize)> {
    let (json, in_json) = match rules.strip_prefix(WHOLE) {
        Some(json) => (json, false),
        None => (rules.strip_prefix(IN_JSON)?, true),
    };
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<String>();
    let source = values.next()?.ok()?;
    let after = &json[values.byte_offset()..];
    let end = after.strip_prefix('}')?;
    Some((source, in_json, rules.len() - end.len()))
}

/// Returns the length of the literal, expression, comment or character that the rules begin with.
fn part(rules: &str) -> usize {
    let first = rules.chars().next().map_or(0, char::len_utf8);
    let line = || rules.find('\n').unwrap_or(rules.len());
    let quote = rules.as_bytes()[0];
    match quote {
        b'#' => return line(),
        b'/' if rules[1..].starts_with('/') => return line(),
        b'"' | b'/' => {}
        _ => return first,
    }
    let mut escaped = false;
    for (i, c) in rules.bytes().enumerate().skip(1) {
        if c == quote && !escaped {
            return i + 1;
        }
        escaped = c == b'\\' && !escaped;
    }
    rules.len() // it has no end, which llguidance tells
}

/// Returns an expression of Lark.
fn lark(source: &str, in_json: bool) -> Result<String, String> {
    let hir = regex_syntax::parse(source).map_err(|e| reason(&e))?;
    if !in_json && !is_satisfiable(&hir) {
        return Err("no text matches it".into());
    }
    let mut w = Writer {
        out: String::new(),
        in_json,
        changed: source.is_empty() || source.contains('\n'), // both would begin or be in a comment
    };
    w.write(&hir, true, true)?;
    if w.changed {
        return Ok(format!("/(?:{})/", w.out));
    }
    let mut out = String::from("/");
    let mut escaped = false;
    for c in source.chars() {
        if c == '/' && !escaped {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out.push('/');
    Ok(out)
}

/// Reports whether any text matches, where its lookarounds are ignored.
fn is_satisfiable(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => !class.ranges().is_empty(),
        HirKind::Class(Class::Bytes(class)) => !class.ranges().is_empty(),
        HirKind::Repetition(r) => r.min == 0 || is_satisfiable(&r.sub),
        HirKind::Capture(c) => is_satisfiable(&c.sub),
        HirKind::Concat(parts) => parts.iter().all(is_satisfiable),
        HirKind::Alternation(parts) => parts.iter().any(is_satisfiable),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => true,
    }
}

/// Writes an expression without anchors, for texts in JSON with their escapes.
struct Writer {
    out: String,
    in_json: bool,
    changed: bool, // it is another one for llguidance
}

impl Writer {
    /// `first` and `last` say whether the text begins and ends with what `hir` matches.
    fn write(&mut self, hir: &Hir, first: bool, last: bool) -> Result<(), String> {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(bytes) => {
                let text = std::str::from_utf8(&bytes.0).map_err(|e| e.to_string())?;
                for c in text.chars() {
                    self.write_class(&ClassUnicode::new([range(c, c)]));
                }
            }
            HirKind::Class(Class::Unicode(class)) => self.write_class(class),
            HirKind::Class(Class::Bytes(class)) => {
                let class = class.to_unicode_class();
                self.write_class(&class.ok_or("it matches bytes that are no text")?);
            }
            HirKind::Look(look) => {
                if !(first && begins(look) || last && ends(look)) {
                    return Err(refused(look).into());
                }
                self.changed = true;
            }
            HirKind::Repetition(r) => {
                self.group(&r.sub, false, false)?;
                let _ = match r.max {
                    Some(max) => write!(self.out, "{{{},{max}}}", r.min),
                    None => write!(self.out, "{{{},}}", r.min),
                };
            }
            HirKind::Capture(c) => {
                // llguidance takes such a group for what follows the text
                self.changed |= c.name.as_deref() == Some("stop");
                self.group(&c.sub, first, last)?;
            }
            HirKind::Concat(parts) => {
                let is =
                    |h: &Hir, of: fn(&Look) -> bool| matches!(h.kind(), HirKind::Look(l) if of(l));
                let from = parts.iter().position(|p| !is(p, begins));
                let to = parts.iter().rposition(|p| !is(p, ends));
                let (from, to) = (from.unwrap_or(parts.len()), to.unwrap_or(0));
                for (i, p) in parts.iter().enumerate() {
                    self.write(p, first && i <= from, last && i >= to)?;
                }
            }
            HirKind::Alternation(parts) => {
                self.out.push_str("(?:");
                for (i, p) in parts.iter().enumerate() {
                    if i > 0 {
                        self.out.push('|');
                    }
                    self.write(p, first, last)?;
                }
                self.out.push(')');
            }
        }
        Ok(())
    }

    fn group(&mut self, hir: &Hir, first: bool, last: bool) -> Result<(), String> {
        self.out.push_str("(?:");
        self.write(hir, first, last)?;
        self.out.push(')');
        Ok(())
    }

    /// Writes a class, in JSON as its escapes and the characters that need none.
    fn write_class(&mut self, class: &ClassUnicode) {
        let mut plain = class.clone();
        if self.in_json {
            plain.difference(&escaped_characters());
        }
        let mut needing = class.clone();
        needing.difference(&plain);
        if needing.ranges().is_empty() {
            return self.write_ranges(class);
        }
        self.changed = true;
        self.out.push_str("(?:");
        for c in needing.iter().flat_map(|r| r.start()..=r.end()) {
            let quoted = serde_json::Value::from(c.to_string()).to_string();
            for c in quoted[1..quoted.len() - 1].chars() {
                self.write_char(c);
            }
            self.out.push('|');
        }
        if plain.ranges().is_empty() {
            self.out.pop();
        } else {
            self.write_ranges(&plain);
        }
        self.out.push(')');
    }

    fn write_ranges(&mut self, class: &ClassUnicode) {
        match class.ranges() {
            [] => self.out.push_str("[a&&b]"),
            [one] if one.start() == one.end() => self.write_char(one.start()),
            ranges => {
                self.out.push('[');
                for r in ranges {
                    self.write_char(r.start());
                    self.out.push('-');
                    self.write_char(r.end());
                }
                self.out.push(']');
            }
        }
    }

    fn write_char(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:X}}}", c as u32);
        }
    }
}

/// The characters that a JSON string has only as escapes.
fn escaped_characters() -> ClassUnicode {
    ClassUnicode::new([range('\0', '\x1F'), range('"', '"'), range('\\', '\\')])
}

fn range(from: char, to: char) -> ClassUnicodeRange {
    ClassUnicodeRange::new(from, to)
}

fn begins(look: &Look) -> bool {
    matches!(look, Look::Start | Look::StartLF | Look::StartCRLF)
}

fn ends(look: &Look) -> bool {
    matches!(look, Look::End | Look::EndLF | Look::EndCRLF)
}

fn refused(look: &Look) -> &'static str {
    if begins(look) || ends(look) {
        "^ must be at the beginning and $ at the end"
    } else {
        "no grammar can follow a word boundary"
    }
}

fn reason(e: &Error) -> String {
    match e {
        Error::Parse(e) => e.kind().to_string(),
        Error::Translate(e) => e.kind().to_string(),
        e => e.to_string(),
    }
}

fn fault(source: &str, why: &str) -> Failure {
    let mut end = source.len().min(QUOTED_BYTES);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let more = if end < source.len() { "..." } else { "" };
    let quoted = source[..end].replace('\n', "\\n");
    Failure::new(
        Kind::Syntax,
        format!("the regular expression {quoted}{more} cannot be followed: {why}"),
    )
}
