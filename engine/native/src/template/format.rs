//! Text laid out: padding and both of Python's format languages, with limits on their widths.

use minijinja::formatting::{self, FormatStyle};
use minijinja::value::Value;
use minijinja::Error;

use super::text::{self, display};
use super::{charge, invalid, limit};

/// The widest field a format may ask for.
const MAX_WIDTH: usize = 9_999;

#[derive(Clone, Copy)]
pub enum Side {
    Left,
    Right,
    /// An odd blank goes where str.center puts it.
    Both,
}

pub fn pad(s: &str, width: usize, fill: char, side: Side) -> Result<String, Error> {
    let missing = width.saturating_sub(s.chars().count());
    charge(
        missing
            .saturating_mul(fill.len_utf8())
            .saturating_add(s.len()),
    )?;
    let left = match side {
        Side::Left => missing,
        Side::Right => 0,
        Side::Both => missing / 2 + (missing & width & 1),
    };
    let blanks = |n| std::iter::repeat_n(fill, n);
    Ok(blanks(left)
        .chain(s.chars())
        .chain(blanks(missing - left))
        .collect())
}

/// str.format.
pub fn method(format: &str, args: &[Value]) -> Result<Value, Error> {
    check_widths(format, '{')?;
    let out = formatting::format(FormatStyle::StrFormat, format, args)?;
    charge(out.len())?;
    Ok(Value::from(out))
}

/// The % operator and the format filter.
pub fn printf(format: &str, args: &[Value]) -> Result<Value, Error> {
    let conversions = check_widths(format, '%')?;
    let mut args = args.to_vec();
    let mapping = args.len() == 1 && (text::is_dict(&args[0]) || args[0].is_kwargs());
    if !mapping && args.len() != conversions.len() {
        return Err(invalid(format!(
            "a format with {} fields got {} values",
            conversions.len(),
            args.len()
        )));
    }
    for (arg, conversion) in args.iter_mut().zip(conversions) {
        // Only here can a float or a list print otherwise than in Python.
        if conversion == 's' && arg.as_str().is_none() && !arg.is_kwargs() && !text::is_dict(arg) {
            *arg = Value::from(display(arg)?);
        }
    }
    let out = formatting::format(FormatStyle::Printf, format, &args)?;
    charge(out.len())?;
    Ok(Value::from(out))
}

/// Refuses widths and precisions that make megabytes of blanks; gives the conversions in order.
fn check_widths(format: &str, marker: char) -> Result<Vec<char>, Error> {
    let mut conversions = Vec::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != marker || chars.next_if_eq(&marker).is_some() {
            continue;
        }
        let mut number = 0usize;
        let ends = |c: char| {
            if marker == '{' {
                c == '}'
            } else {
                c.is_ascii_alphabetic() || c == '*'
            }
        };
        if chars.next_if_eq(&'(').is_some() {
            chars.by_ref().find(|c| *c == ')');
        }
        for c in chars.by_ref() {
            number = c
                .to_digit(10)
                .map_or(0, |d| number.saturating_mul(10) + d as usize);
            if number > MAX_WIDTH {
                return Err(limit(format!(
                    "a format asks for more than {MAX_WIDTH} characters"
                )));
            }
            if c == '*' {
                return Err(invalid("formats with * are not supported"));
            }
            if ends(c) {
                conversions.push(c);
                break;
            }
        }
    }
    Ok(conversions)
}
