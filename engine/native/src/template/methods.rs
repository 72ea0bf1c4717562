//! Python's methods of strings, where pycompat differs in white space or could build without
//! limit. Everything else goes on to pycompat.

use minijinja::value::{from_args, Value};
use minijinja::{Error, State};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::text::is_space;
use super::{charge, format, invalid};

pub fn call(state: &mut State, v: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    charge(0)?;
    let Some(s) = v.as_str() else {
        return unknown_method_callback(state, v, method, args);
    };
    charge(s.len())?;
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,) = from_args(args)?;
            Ok(strip(s, chars, method != "rstrip", method != "lstrip"))
        }
        "replace" => {
            let (old, new, count) = from_args(args)?;
            replace(s, old, new, count)
        }
        "join" => {
            let (items,) = from_args(args)?;
            join(s, items)
        }
        "split" | "splitlines" => {
            let pieces = match args.first().and_then(Value::as_str) {
                Some(separator) => s.matches(separator).count(),
                None => s.matches(is_space).count(),
            };
            charge(pieces * size_of::<Value>())?;
            unknown_method_callback(state, v, method, args)
        }
        "format" => format::fields(s, args),
        _ => unknown_method_callback(state, v, method, args),
    }
}

pub fn strip(s: &str, chars: Option<&str>, left: bool, right: bool) -> Value {
    let stripped = |c: char| chars.map_or_else(|| is_space(c), |set| set.contains(c));
    let mut s = s;
    if left {
        s = s.trim_start_matches(stripped);
    }
    if right {
        s = s.trim_end_matches(stripped);
    }
    Value::from(s)
}

pub fn replace(s: &str, old: &str, new: &str, count: Option<i64>) -> Result<Value, Error> {
    let most = count
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(usize::MAX);
    let found = match old {
        "" => s.chars().count() + 1,
        _ => s.matches(old).count(),
    };
    let (gone, come) = (old.len(), new.len());
    let found = found.min(most);
    charge((s.len() + found.saturating_mul(come)).saturating_sub(found.saturating_mul(gone)))?;
    Ok(Value::from(s.replacen(old, new, most)))
}

fn join(separator: &str, items: &Value) -> Result<Value, Error> {
    let mut out = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let Some(s) = item.as_str() else {
            let kind = item.kind();
            return Err(invalid(format!("join: item {i} is {kind}, not a string")));
        };
        if i > 0 {
            out.push_str(separator);
        }
        charge(s.len() + separator.len())?;
        out.push_str(s);
    }
    Ok(Value::from(out))
}
