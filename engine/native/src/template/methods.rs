//! Python's methods of strings, where pycompat lacks one or differs in white space, line ends,
//! keyword arguments or size limits. Everything else goes on to pycompat.

use minijinja::value::{Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, State};
use minijinja_contrib::pycompat;

use super::format::{self, pad, Side};
use super::text::is_space;
use super::{charge, invalid};

/// The arguments of a Python function, by position or name.
pub struct Arguments {
    name: &'static str,
    values: Vec<Option<Value>>,
}

impl Arguments {
    pub fn bind(name: &'static str, args: &[Value], params: &[&str]) -> Result<Arguments, Error> {
        let mut values: Vec<Option<Value>> = vec![None; params.len()];
        let (kwargs, positional) = match args.split_last() {
            Some((last, rest)) if last.is_kwargs() => (Some(Kwargs::try_from(last.clone())?), rest),
            _ => (None, args),
        };
        if positional.len() > params.len() {
            return Err(invalid(format!("{name} takes {} arguments", params.len())));
        }
        for (slot, v) in values.iter_mut().zip(positional) {
            *slot = Some(v.clone());
        }
        for key in kwargs.iter().flat_map(|k| k.args()) {
            match (params.iter().position(|p| *p == key), &kwargs) {
                (Some(i), Some(k)) if values[i].is_none() => values[i] = Some(k.peek(key)?),
                _ => return Err(invalid(format!("{name} has no argument {key} to set"))),
            }
        }
        Ok(Arguments { name, values })
    }

    /// What the caller passed, None included.
    pub fn given(&self, i: usize) -> Option<Value> {
        self.values[i].clone()
    }

    /// What the caller passed, where None asks for the default.
    pub fn get(&self, i: usize) -> Option<&Value> {
        self.values[i].as_ref().filter(|v| !v.is_none())
    }

    fn string(&self, i: usize) -> Result<&str, Error> {
        let v = self.get(i).and_then(Value::as_str);
        v.ok_or_else(|| invalid(format!("{}: argument {} is a string", self.name, i + 1)))
    }

    pub fn integer(&self, i: usize) -> Result<Option<i64>, Error> {
        match self.get(i) {
            None => Ok(None),
            Some(v) if v.kind() == ValueKind::Bool => Ok(Some(v.is_true() as i64)),
            Some(v) if v.is_integer() => Ok(v.as_i64()),
            Some(_) => Err(invalid(format!(
                "{}: argument {} is an integer",
                self.name,
                i + 1
            ))),
        }
    }

    pub fn is_true(&self, i: usize) -> bool {
        self.get(i).is_some_and(Value::is_true)
    }
}

pub fn call(state: &mut State, v: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    charge(0)?;
    let Some(s) = v.as_str() else {
        return pycompat::unknown_method_callback(state, v, method, args);
    };
    charge(s.len())?;
    match method {
        "strip" => strip(s, args, true, true),
        "lstrip" => strip(s, args, true, false),
        "rstrip" => strip(s, args, false, true),
        "split" => split(
            s,
            &Arguments::bind("split", args, &["sep", "maxsplit"])?,
            false,
        ),
        "rsplit" => split(
            s,
            &Arguments::bind("rsplit", args, &["sep", "maxsplit"])?,
            true,
        ),
        "splitlines" => {
            let args = Arguments::bind("splitlines", args, &["keepends"])?;
            Ok(lines(s, args.is_true(0))
                .into_iter()
                .map(Value::from)
                .collect())
        }
        "replace" => {
            let args = Arguments::bind("replace", args, &["old", "new", "count"])?;
            replace(s, args.string(0)?, args.string(1)?, args.integer(2)?)
        }
        "join" => {
            let args = Arguments::bind("join", args, &["iterable"])?;
            join(s, args.get(0).unwrap_or(&Value::UNDEFINED))
        }
        "isspace" => {
            Arguments::bind("isspace", args, &[])?;
            Ok(Value::from(!s.is_empty() && s.chars().all(is_space)))
        }
        "title" => {
            Arguments::bind("title", args, &[])?;
            Ok(Value::from(title(s)))
        }
        "capitalize" => {
            Arguments::bind("capitalize", args, &[])?;
            let mut chars = s.chars();
            let first = chars.next().map(titlecase).unwrap_or_default();
            Ok(Value::from(first + &chars.as_str().to_lowercase()))
        }
        "swapcase" => {
            Arguments::bind("swapcase", args, &[])?;
            let swap = |c: char| {
                if c.is_uppercase() {
                    c.to_lowercase().to_string()
                } else {
                    c.to_uppercase().to_string()
                }
            };
            Ok(Value::from(s.chars().map(swap).collect::<String>()))
        }
        "removeprefix" => {
            let args = Arguments::bind("removeprefix", args, &["prefix"])?;
            Ok(Value::from(s.strip_prefix(args.string(0)?).unwrap_or(s)))
        }
        "removesuffix" => {
            let args = Arguments::bind("removesuffix", args, &["suffix"])?;
            Ok(Value::from(s.strip_suffix(args.string(0)?).unwrap_or(s)))
        }
        "partition" | "rpartition" => {
            let args = Arguments::bind("partition", args, &["sep"])?;
            partition(s, args.string(0)?, method == "rpartition")
        }
        "find" | "rfind" | "index" | "rindex" | "count" => search(
            s,
            method,
            &Arguments::bind("find", args, &["sub", "start", "end"])?,
        ),
        "startswith" | "endswith" => {
            let args = Arguments::bind("startswith", args, &["prefix", "start", "end"])?;
            affix(s, &args, method == "endswith")
        }
        "zfill" => {
            let args = Arguments::bind("zfill", args, &["width"])?;
            let width = args.integer(0)?.unwrap_or(0).max(0) as usize;
            let sign = s.len() - s.trim_start_matches(['+', '-']).len();
            let (sign, digits) = s.split_at(sign.min(1));
            let padded = pad(digits, width.saturating_sub(sign.len()), '0', Side::Left)?;
            Ok(Value::from(format!("{sign}{padded}")))
        }
        "ljust" | "rjust" | "center" => {
            let args = Arguments::bind("ljust", args, &["width", "fillchar"])?;
            let fill = match args.get(1) {
                Some(_) => args.string(1)?.chars().next().unwrap_or(' '),
                None => ' ',
            };
            let side = match method {
                "ljust" => Side::Right,
                "rjust" => Side::Left,
                _ => Side::Both,
            };
            pad(s, args.integer(0)?.unwrap_or(0).max(0) as usize, fill, side).map(Value::from)
        }
        "format" => format::method(s, args),
        _ => pycompat::unknown_method_callback(state, v, method, args),
    }
}

pub fn strip(s: &str, args: &[Value], left: bool, right: bool) -> Result<Value, Error> {
    let args = Arguments::bind("strip", args, &["chars"])?;
    let chars: Option<Vec<char>> = match args.get(0) {
        Some(_) => Some(args.string(0)?.chars().collect()),
        None => None,
    };
    let stripped = |c: char| {
        chars
            .as_ref()
            .map_or_else(|| is_space(c), |set| set.contains(&c))
    };
    let mut s = s;
    if left {
        s = s.trim_start_matches(stripped);
    }
    if right {
        s = s.trim_end_matches(stripped);
    }
    Ok(Value::from(s))
}

fn split(s: &str, args: &Arguments, from_right: bool) -> Result<Value, Error> {
    let max = match args.integer(1)? {
        Some(n) if n >= 0 => n as usize,
        _ => usize::MAX,
    };
    let mut parts: Vec<&str> = Vec::new();
    if args.get(0).is_some() {
        let separator = args.string(0)?;
        if separator.is_empty() {
            return Err(invalid("split: empty separator"));
        }
        let n = max.saturating_add(1);
        if from_right {
            parts.extend(s.rsplitn(n, separator));
        } else {
            parts.extend(s.splitn(n, separator));
        }
    } else {
        // Runs of white space count as one separator; the rest keeps its own white space.
        let mut rest = s;
        loop {
            rest = if from_right {
                rest.trim_end_matches(is_space)
            } else {
                rest.trim_start_matches(is_space)
            };
            if rest.is_empty() {
                break;
            }
            let cut = if from_right {
                rest.rfind(is_space)
            } else {
                rest.find(is_space)
            };
            let Some(at) = cut.filter(|_| parts.len() < max) else {
                let end = if from_right {
                    rest.trim_start_matches(is_space)
                } else {
                    rest.trim_end_matches(is_space)
                };
                parts.push(if parts.len() < max { end } else { rest });
                break;
            };
            if from_right {
                let width = rest[at..].chars().next().map_or(1, char::len_utf8);
                parts.push(&rest[at + width..]);
                rest = &rest[..at];
            } else {
                parts.push(&rest[..at]);
                rest = &rest[at..];
            }
        }
    }
    if from_right {
        parts.reverse();
    }
    charge(parts.len() * size_of::<Value>())?;
    Ok(Value::from_iter(parts))
}

/// str.splitlines.
pub fn lines(s: &str, keep_ends: bool) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = s;
    while !rest.is_empty() {
        let end = rest.find([
            '\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}',
        ]);
        let Some(end) = end else {
            out.push(rest);
            break;
        };
        let width = match rest[end..].strip_prefix("\r\n") {
            Some(_) => 2,
            None => rest[end..].chars().next().map_or(1, char::len_utf8),
        };
        out.push(&rest[..if keep_ends { end + width } else { end }]);
        rest = &rest[end + width..];
    }
    out
}

pub fn replace(s: &str, old: &str, new: &str, count: Option<i64>) -> Result<Value, Error> {
    let n = match count {
        Some(n) if n >= 0 => n as usize,
        _ => usize::MAX,
    };
    let found = if old.is_empty() {
        s.chars().count() + 1
    } else {
        s.matches(old).count()
    };
    let found = found.min(n);
    charge(
        (s.len() + found.saturating_mul(new.len())).saturating_sub(found.saturating_mul(old.len())),
    )?;
    Ok(Value::from(s.replacen(old, new, n)))
}

fn join(separator: &str, items: &Value) -> Result<Value, Error> {
    let mut out = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let Some(s) = item.as_str() else {
            return Err(invalid(format!(
                "join: item {i} is {}, not a string",
                item.kind()
            )));
        };
        if i > 0 {
            out.push_str(separator);
        }
        charge(s.len() + separator.len())?;
        out.push_str(s);
    }
    Ok(Value::from(out))
}

fn titlecase(c: char) -> String {
    let mut upper = c.to_uppercase();
    let first = upper.next().unwrap_or(c);
    std::iter::once(first)
        .chain(upper.flat_map(char::to_lowercase))
        .collect()
}

fn title(s: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in s.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&titlecase(c));
        }
        inside = c.is_lowercase() || c.is_uppercase();
    }
    out
}

fn partition(s: &str, separator: &str, last: bool) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(invalid("partition: empty separator"));
    }
    let found = if last {
        s.rfind(separator)
    } else {
        s.find(separator)
    };
    let parts = match found {
        Some(i) => [&s[..i], separator, &s[i + separator.len()..]],
        None if last => ["", "", s],
        None => [s, "", ""],
    };
    Ok(Value::from(Tuple::from(parts.map(Value::from))))
}

/// The part of s between two character positions in Python's counting, and where it starts.
fn window<'a>(s: &'a str, args: &Arguments) -> Result<(&'a str, usize), Error> {
    let (start, end) = (args.integer(1)?, args.integer(2)?);
    if start.is_none() && end.is_none() {
        return Ok((s, 0));
    }
    let n = s.chars().count() as i64;
    let place = |i: i64| (if i < 0 { i + n } else { i }).clamp(0, n) as usize;
    let (start, end) = (start.map_or(0, place), end.map_or(n as usize, place));
    let offset = |i: usize| s.char_indices().nth(i).map_or(s.len(), |(at, _)| at);
    Ok((&s[offset(start)..offset(end.max(start))], start))
}

fn search(s: &str, method: &str, args: &Arguments) -> Result<Value, Error> {
    let what = args.string(0)?;
    let (s, start) = window(s, args)?;
    let found = match method {
        "count" if what.is_empty() => return Ok(Value::from(s.chars().count() + 1)),
        "count" => return Ok(Value::from(s.matches(what).count())),
        "find" | "index" => s.find(what),
        _ => s.rfind(what),
    };
    match found {
        Some(at) => Ok(Value::from(start + s[..at].chars().count())),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(invalid(format!("{method}: substring not found"))),
    }
}

fn affix(s: &str, args: &Arguments, end: bool) -> Result<Value, Error> {
    let (s, _) = window(s, args)?;
    let holds = |v: &Value| match v.as_str() {
        Some(a) => Ok(if end {
            s.ends_with(a)
        } else {
            s.starts_with(a)
        }),
        None => Err(invalid(format!(
            "startswith and endswith take strings, not {}",
            v.kind()
        ))),
    };
    let v = args.get(0).unwrap_or(&Value::UNDEFINED);
    if !v.is_tuple() {
        return holds(v).map(Value::from);
    }
    for item in v.try_iter()? {
        if holds(&item)? {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}
