//! Filters and tests in jinja2's meaning where minijinja's own differ or have no size limit.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error};

use super::charge;
use super::format::{pad, printf, Side};
use super::methods::{self, Arguments};
use super::text::{self, display};

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("string", |v: &Value| display(v));
    env.add_filter("trim", trim);
    env.add_filter("join", join);
    env.add_filter("replace", replace);
    env.add_filter("indent", indent);
    env.add_filter("format", format);
    env.add_filter("center", center);
    env.add_filter("default", default);
    env.add_filter("d", default);
    env.add_filter("int", int);
    env.add_filter("float", float);
    env.add_test("sequence", |v: &Value| {
        matches!(
            v.kind(),
            ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined
        )
    });
    env.add_test("iterable", |v: &Value| {
        !v.is_none() && (v.try_iter().is_ok() || v.kind() == ValueKind::String)
    });
    env.add_test("integer", is_integer);
    env.add_test("callable", |v: &Value| v.kind() == ValueKind::Plain);
}

/// Positional arguments with the named ones behind them, as methods get them.
fn joined(args: Rest<Value>, kwargs: Kwargs) -> Vec<Value> {
    let mut args = args.0;
    if kwargs.args().next().is_some() {
        args.push(Value::from(kwargs));
    }
    args
}

fn is_integer(v: &Value) -> bool {
    v.is_integer() || v.downcast_object_ref::<crate::json::LongInt>().is_some()
}

fn default(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let args = Arguments::bind(
        "default",
        &joined(args, kwargs),
        &["default_value", "boolean"],
    )?;
    if v.is_undefined() || args.is_true(1) && !v.is_true() {
        return Ok(args.given(0).unwrap_or(Value::from("")));
    }
    Ok(v.clone())
}

fn int(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let args = Arguments::bind("int", &joined(args, kwargs), &["default", "base"])?;
    let base = args.integer(1)?.unwrap_or(10).clamp(2, 36) as u32;
    let number = match (v.as_str(), text::float(v)) {
        (Some(s), _) => match i128::from_str_radix(s.trim_matches(text::is_space), base) {
            Ok(i) => Some(i),
            Err(_) => parse_float(s).map(|f| f as i128),
        },
        (_, Some(f)) if f.is_finite() => Some(f as i128),
        _ if v.kind() == ValueKind::Bool => Some(v.is_true() as i128),
        _ if v.is_integer() => return Ok(v.clone()),
        _ => None,
    };
    Ok(match number {
        Some(i) => i64::try_from(i).map_or_else(|_| Value::from(i), Value::from),
        None => args.given(0).unwrap_or(Value::from(0)),
    })
}

fn float(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let args = Arguments::bind("float", &joined(args, kwargs), &["default"])?;
    let number = match v.kind() {
        ValueKind::Bool => Some(v.is_true() as u8 as f64),
        ValueKind::Number => f64::try_from(v.clone()).ok(),
        _ => v.as_str().and_then(parse_float),
    };
    Ok(number.map_or_else(|| args.given(0).unwrap_or(Value::from(0.0)), Value::from))
}

/// A finite number, as texts have them.
fn parse_float(s: &str) -> Option<f64> {
    s.trim_matches(text::is_space)
        .parse()
        .ok()
        .filter(|f: &f64| f.is_finite())
}

fn trim(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    methods::strip(&display(v)?, &joined(args, kwargs), true, true)
}

fn join(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let args = Arguments::bind("join", &joined(args, kwargs), &["d", "attribute"])?;
    let separator = args.get(0).map_or(Ok(String::new()), display)?;
    let mut out = String::new();
    for (i, item) in v.try_iter()?.enumerate() {
        if i > 0 {
            out.push_str(&separator);
        }
        let item = match args.get(1).and_then(Value::as_str) {
            Some(path) => {
                path.split('.')
                    .try_fold(item, |v, name| match name.parse::<usize>() {
                        Ok(i) => v.get_item_by_index(i),
                        Err(_) => v.get_attr(name),
                    })?
            }
            None => item,
        };
        charge(separator.len())?;
        out.push_str(&display(&item)?);
    }
    Ok(out)
}

fn replace(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let args = Arguments::bind("replace", &joined(args, kwargs), &["old", "new", "count"])?;
    let old = args.get(0).map_or(Ok(String::new()), display)?;
    let new = args.get(1).map_or(Ok(String::new()), display)?;
    methods::replace(&display(v)?, &old, &new, args.integer(2)?)
}

fn indent(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let args = Arguments::bind(
        "indent",
        &joined(args, kwargs),
        &["width", "first", "blank"],
    )?;
    let width = match args.get(0) {
        Some(w) if w.as_str().is_some() => display(w)?,
        Some(_) => {
            let n = args.integer(0)?.unwrap_or(4).clamp(0, 1 << 30) as usize;
            charge(n)?;
            " ".repeat(n)
        }
        None => "    ".into(),
    };
    let (first, blank) = (args.is_true(1), args.is_true(2));
    let s = display(v)? + "\n";
    let mut out = String::new();
    // Python cuts at more line ends than \n, and puts \n in their place.
    for (i, line) in methods::lines(&s, false).iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // blank concerns the lines after the first; first indents even an empty one.
        let indented = if i == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        if indented {
            charge(width.len())?;
            out.push_str(&width);
        }
        out.push_str(line);
    }
    charge(out.len())?;
    Ok(out)
}

fn format(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    printf(&display(v)?, &joined(args, kwargs))
}

fn center(v: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let args = Arguments::bind("center", &joined(args, kwargs), &["width"])?;
    let width = args.integer(0)?.unwrap_or(80).max(0) as usize;
    pad(&display(v)?, width, ' ', Side::Both)
}
