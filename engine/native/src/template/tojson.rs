//! The filter tojson of transformers: json.dumps with ensure_ascii off.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::Error;

use super::text::{float, float_repr, is_dict, MAX_DEPTH};
use super::{charge, invalid, limit};
use crate::json::LongInt;

struct Style {
    ascii: bool,
    /// Text in front of a line for each level of nesting. None: all on one line.
    indent: Option<String>,
    comma: String,
    colon: String,
    sort: bool,
}

pub fn tojson(value: Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let arg = |i: usize, name: &str| -> Option<Value> {
        args.get(i)
            .cloned()
            .or_else(|| kwargs.get::<Option<Value>>(name).ok().flatten())
    };
    let indent = match arg(1, "indent") {
        None => None,
        Some(v) if v.is_none() || v.is_undefined() => None,
        Some(v) => Some(match (v.as_str(), v.kind()) {
            (Some(s), _) => s.to_string(),
            (_, ValueKind::Bool) => " ".repeat(v.is_true() as usize),
            _ => match v.as_i64() {
                Some(n) if n <= 100 => " ".repeat(n.max(0) as usize),
                _ => return Err(invalid("tojson: indent is a number up to 100 or a string")),
            },
        }),
    };
    let (comma, colon) = match arg(2, "separators") {
        Some(v) if !v.is_none() => {
            let pair: Vec<Value> = v.try_iter()?.collect();
            match (
                pair.len(),
                pair.first().and_then(Value::as_str),
                pair.last().and_then(Value::as_str),
            ) {
                (2, Some(comma), Some(colon)) => (comma.to_string(), colon.to_string()),
                _ => return Err(invalid("tojson: separators is a pair of strings")),
            }
        }
        _ => (
            if indent.is_some() { "," } else { ", " }.into(),
            ": ".into(),
        ),
    };
    let style = Style {
        ascii: arg(0, "ensure_ascii").is_some_and(|v| v.is_true()),
        sort: arg(3, "sort_keys").is_some_and(|v| v.is_true()),
        indent,
        comma,
        colon,
    };
    if args.len() > 4 {
        return Err(invalid("tojson: too many arguments"));
    }
    kwargs.assert_all_used()?;
    let mut out = String::new();
    write(&mut out, &value, &style, 0)?;
    charge(out.len())?;
    Ok(out)
}

fn write(out: &mut String, v: &Value, style: &Style, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(limit(format!(
            "tojson: a value nests deeper than {MAX_DEPTH}"
        )));
    }
    match v.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if v.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(v)),
        ValueKind::String => write_string(out, v.as_str().unwrap_or_default(), style.ascii),
        ValueKind::Seq | ValueKind::Iterable => {
            let mut items = v.try_iter()?;
            let first = items.next();
            out.push('[');
            for (i, item) in first.iter().cloned().chain(items).enumerate() {
                separate(out, style, depth, i)?;
                write(out, &item, style, depth + 1)?;
            }
            close(out, style, depth, first.is_some(), ']');
        }
        ValueKind::Map if is_dict(v) => {
            let mut keys: Vec<Value> = v.try_iter()?.collect();
            if style.sort {
                if !keys.iter().all(|k| k.as_str().is_some()) && !keys.iter().all(Value::is_number)
                {
                    return Err(invalid("tojson: keys of different types cannot be sorted"));
                }
                keys.sort();
            }
            out.push('{');
            for (i, key) in keys.iter().enumerate() {
                separate(out, style, depth, i)?;
                match key.kind() {
                    ValueKind::String => {
                        write_string(out, key.as_str().unwrap_or_default(), style.ascii)
                    }
                    ValueKind::None => out.push_str("\"null\""),
                    ValueKind::Bool => out.push_str(if key.is_true() {
                        "\"true\""
                    } else {
                        "\"false\""
                    }),
                    ValueKind::Number => {
                        out.push('"');
                        out.push_str(&number(key));
                        out.push('"');
                    }
                    kind => return Err(invalid(format!("tojson: a {kind} cannot be a key"))),
                }
                out.push_str(&style.colon);
                write(out, &v.get_item(key)?, style, depth + 1)?;
            }
            close(out, style, depth, !keys.is_empty(), '}');
        }
        ValueKind::Plain if v.downcast_object_ref::<LongInt>().is_some() => {
            out.push_str(&v.to_string());
        }
        kind => return Err(invalid(format!("tojson: {kind} is not JSON serializable"))),
    }
    Ok(())
}

fn separate(out: &mut String, style: &Style, depth: usize, i: usize) -> Result<(), Error> {
    if i > 0 {
        out.push_str(&style.comma);
    }
    if let Some(indent) = &style.indent {
        charge(indent.len() * (depth + 1))?;
        out.push('\n');
        out.push_str(&indent.repeat(depth + 1));
    }
    charge(1)
}

fn close(out: &mut String, style: &Style, depth: usize, filled: bool, bracket: char) {
    if let (Some(indent), true) = (&style.indent, filled) {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
    out.push(bracket);
}

fn number(v: &Value) -> String {
    match float(v) {
        Some(f) if f.is_nan() => "NaN".into(),
        Some(f) if f.is_infinite() => if f > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Some(f) => float_repr(f),
        None => v.to_string(),
    }
}

fn write_string(out: &mut String, s: &str, ascii: bool) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ascii && c > '~' => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
