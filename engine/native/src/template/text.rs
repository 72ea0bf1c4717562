//! Python's str() and repr() of template values.

use minijinja::value::{DynObject, Value, ValueKind};
use minijinja::Error;

use super::{charge, invalid, limit};
use crate::json::LongInt;

/// Lists and dicts inside one another, in printed text and in JSON.
pub const MAX_DEPTH: usize = 100;

/// Returns str(v), and an empty text for an undefined value.
pub fn display(v: &Value) -> Result<String, Error> {
    let mut out = String::new();
    match v.as_str() {
        Some(s) => out.push_str(s),
        None if v.is_undefined() => {}
        None => write_repr(&mut out, v, 0)?,
    }
    charge(out.len())?;
    Ok(out)
}

/// Returns repr(v).
pub fn repr(v: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_repr(&mut out, v, 0)?;
    charge(out.len())?;
    Ok(out)
}

fn write_repr(out: &mut String, v: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(limit(format!(
            "a printed value nests deeper than {MAX_DEPTH}"
        )));
    }
    match v.kind() {
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if v.is_true() { "True" } else { "False" }),
        ValueKind::String => write_string(out, v.as_str().unwrap_or_default()),
        ValueKind::Number => match float(v) {
            Some(f) => out.push_str(&float_repr(f)),
            None => out.push_str(&v.to_string()),
        },
        ValueKind::Seq | ValueKind::Iterable => {
            let (open, close) = if v.is_tuple() { ('(', ')') } else { ('[', ']') };
            out.push(open);
            let mut n = 0;
            for item in v.try_iter()? {
                if n > 0 {
                    out.push_str(", ");
                }
                write_repr(out, &item, depth + 1)?;
                charge(1)?;
                n += 1;
            }
            if v.is_tuple() && n == 1 {
                out.push(',');
            }
            out.push(close);
        }
        ValueKind::Map if is_dict(v) => {
            out.push('{');
            for (i, key) in v.try_iter()?.enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, &key, depth + 1)?;
                out.push_str(": ");
                write_repr(out, &v.get_item(&key)?, depth + 1)?;
                charge(1)?;
            }
            out.push('}');
        }
        ValueKind::Plain if v.downcast_object_ref::<LongInt>().is_some() => {
            out.push_str(&v.to_string());
        }
        // Python prints an address or a class name here. No template means to.
        kind => return Err(invalid(format!("a {} cannot be printed", name(kind, v)))),
    }
    Ok(())
}

fn name(kind: ValueKind, v: &Value) -> String {
    match kind {
        ValueKind::Map => "namespace".into(),
        ValueKind::Plain => "function or method".into(),
        _ => v.kind().to_string(),
    }
}

/// Whether v is a dict. minijinja's namespace looks like one and is none.
pub fn is_dict(v: &Value) -> bool {
    v.kind() == ValueKind::Map && !v.as_object().is_some_and(is_namespace)
}

pub fn is_namespace(o: &DynObject) -> bool {
    o.type_name().ends_with("::Namespace")
}

/// Returns the float in v, None for integers and everything else.
pub fn float(v: &Value) -> Option<f64> {
    if v.is_number() && !v.is_integer() {
        f64::try_from(v.clone()).ok()
    } else {
        None
    }
}

/// Returns the integer in v, a bool as 0 or 1, None for everything else.
pub fn int(v: &Value) -> Option<i128> {
    match v.kind() {
        ValueKind::Bool => Some(i128::from(v.is_true())),
        _ if v.is_integer() => i128::try_from(v.clone()).ok(),
        _ => None,
    }
}

/// Returns the shortest digits that read back as f, with an exponent below 1e-4 and from 1e16 on.
pub fn float_repr(f: f64) -> String {
    if f.is_nan() {
        return "nan".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{f:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if f != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{f:?}")
}

/// Writes Python's repr of a string: single quotes, unless only double quotes avoid an escape.
fn write_string(out: &mut String, s: &str) {
    let quote = if s.contains('\'') && !s.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in s.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            c if printable(c) => out.push(c),
            c => out.push_str(&match c as u32 {
                n @ 0..=0xff => format!("\\x{n:02x}"),
                n @ 0x100..=0xffff => format!("\\u{n:04x}"),
                n => format!("\\U{n:08x}"),
            }),
        }
    }
    out.push(quote);
}

/// Whether Python prints c as it is: Unicode categories other than C* and Z*. escape_debug has the
/// same table. It also escapes a combining mark at the start of a string, so an a stands first.
fn printable(c: char) -> bool {
    let mut s = String::from("a");
    s.push(c);
    s.escape_debug().nth(1) == Some(c)
}

/// Python's str.isspace. It takes the four separators of ASCII too.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}
