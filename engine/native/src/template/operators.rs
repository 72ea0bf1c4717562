//! What the rewritten source calls in place of minijinja's own operators: see source.rs.
//!
//! Python's results, and sizes that are counted before anything is built.

use minijinja::value::{Rest, Tuple, Value, ValueKind};
use minijinja::{Environment, Error};

use super::text::{self, display, is_dict, is_namespace};
use super::{charge, format, invalid, limit, BoundMethod};

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("__cat", cat);
    env.add_filter("__add", add);
    env.add_filter("__mul", mul);
    env.add_filter("__mod", modulo);
    env.add_filter("__slice", slice);
    env.add_filter("__attr", attr);
    env.add_filter("__item", item);
    env.add_filter("__stored", stored);
}

/// `a ~ b`: the texts of both.
fn cat(a: &Value, b: &Value) -> Result<Value, Error> {
    let mut s = display(a)?;
    s.push_str(&display(b)?);
    charge(s.len())?;
    Ok(Value::from(s))
}

enum Number {
    Int(i128),
    Float(f64),
}

/// Python's numbers, bool among them. None for anything else, integers beyond 128 bits included.
fn number(v: &Value) -> Option<Number> {
    match v.kind() {
        ValueKind::Bool => Some(Number::Int(v.is_true() as i128)),
        ValueKind::Number => match text::float(v) {
            Some(f) => Some(Number::Float(f)),
            None => i128::try_from(v.clone()).ok().map(Number::Int),
        },
        _ => None,
    }
}

fn arithmetic(
    op: &str,
    a: &Value,
    b: &Value,
    ints: fn(i128, i128) -> Option<i128>,
    floats: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let float = |n| match n {
        Number::Int(i) => i as f64,
        Number::Float(f) => f,
    };
    match (number(a), number(b)) {
        (Some(Number::Int(x)), Some(Number::Int(y))) => match ints(x, y) {
            Some(v) => Ok(i64::try_from(v).map_or_else(|_| Value::from(v), Value::from)),
            None => Err(invalid(format!("integer overflow or zero divisor in {op}"))),
        },
        (Some(x), Some(y)) => Ok(Value::from(floats(float(x), float(y)))),
        _ => Err(unsupported(op, a, b)),
    }
}

fn unsupported(op: &str, a: &Value, b: &Value) -> Error {
    invalid(format!(
        "{op} does not work on {} and {}",
        a.kind(),
        b.kind()
    ))
}

fn is_list(v: &Value) -> bool {
    matches!(v.kind(), ValueKind::Seq | ValueKind::Iterable)
}

/// The elements as a value of a's type: tuples stay tuples.
fn list_like(a: &Value, items: Vec<Value>) -> Value {
    if a.is_tuple() {
        Value::from(Tuple::from(items))
    } else {
        Value::from(items)
    }
}

fn add(a: &Value, b: &Value) -> Result<Value, Error> {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => {
            charge(a.len() + b.len())?;
            Ok(Value::from([a, b].concat()))
        }
        _ if is_list(a) && is_list(b) && a.is_tuple() == b.is_tuple() => {
            let items: Vec<Value> = a.try_iter()?.chain(b.try_iter()?).collect();
            charge(items.len() * size_of::<Value>())?;
            Ok(list_like(a, items))
        }
        _ => arithmetic("+", a, b, i128::checked_add, |x, y| x + y),
    }
}

fn mul(a: &Value, b: &Value) -> Result<Value, Error> {
    let (seq, times) = if number(a).is_some() { (b, a) } else { (a, b) };
    let n = match number(times) {
        Some(Number::Int(n)) => n.clamp(0, u32::MAX.into()) as usize,
        _ => 0,
    };
    if let (Some(s), Some(Number::Int(_))) = (seq.as_str(), number(times)) {
        charge(s.len().saturating_mul(n))?;
        return Ok(Value::from(s.repeat(n)));
    }
    if let (true, Some(Number::Int(_))) = (is_list(seq), number(times)) {
        let items: Vec<Value> = seq.try_iter()?.collect();
        charge(
            items
                .len()
                .saturating_mul(n)
                .saturating_mul(size_of::<Value>()),
        )?;
        let items = std::iter::repeat_n(items, n).flatten().collect();
        return Ok(list_like(seq, items));
    }
    arithmetic("*", a, b, i128::checked_mul, |x, y| x * y)
}

fn modulo(a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(text) = a.as_str() {
        let args: Vec<Value> = if b.is_tuple() {
            b.try_iter()?.collect()
        } else {
            vec![b.clone()]
        };
        return format::printf(text, &args);
    }
    if matches!(number(b), Some(Number::Float(0.0))) {
        return Err(invalid("zero divisor in %"));
    }
    let int = |x: i128, y: i128| {
        let r = x.checked_rem(y)?;
        Some(if r != 0 && (r < 0) != (y < 0) {
            r + y
        } else {
            r
        })
    };
    arithmetic("%", a, b, int, |x, y| {
        let r = x % y;
        match r == 0.0 {
            true => 0f64.copysign(y),
            false if (r < 0.0) != (y < 0.0) => r + y,
            false => r,
        }
    })
}

/// `a[start:stop:step]`. A slice of a list is a list, where minijinja makes an iterator.
fn slice(v: &Value, bounds: Rest<Value>) -> Result<Value, Error> {
    let mut parts = [None; 3];
    for (part, bound) in parts.iter_mut().zip(bounds.iter()) {
        *part = match number(bound) {
            None if bound.is_none() => None,
            Some(Number::Int(i)) => Some(i.clamp(i64::MIN.into(), i64::MAX.into())),
            _ => {
                return Err(invalid(format!(
                    "a slice bound is an integer, not {}",
                    bound.kind()
                )))
            }
        };
    }
    let step = parts[2].unwrap_or(1);
    if step == 0 {
        return Err(invalid("slice step cannot be zero"));
    }
    if let Some(s) = v.as_str() {
        charge(s.len())?;
        let chars: Vec<char> = s.chars().collect();
        let picked = indices(chars.len(), parts[0], parts[1], step).map(|i| chars[i]);
        return Ok(Value::from(picked.collect::<String>()));
    }
    if !is_list(v) {
        return Err(invalid(format!("{} cannot be sliced", v.kind())));
    }
    let items: Vec<Value> = v.try_iter()?.collect();
    charge(items.len() * size_of::<Value>())?;
    let picked = indices(items.len(), parts[0], parts[1], step).map(|i| items[i].clone());
    Ok(list_like(v, picked.collect()))
}

/// Python's slice.indices, walked.
fn indices(
    len: usize,
    start: Option<i128>,
    stop: Option<i128>,
    step: i128,
) -> impl Iterator<Item = usize> {
    let len = len as i128;
    let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let place = |bound: i128| (if bound < 0 { bound + len } else { bound }).clamp(low, high);
    let (first, last) = if step < 0 { (high, low) } else { (low, high) };
    let mut at = start.map_or(first, place);
    let stop = stop.map_or(last, place);
    std::iter::from_fn(move || {
        let inside = if step < 0 { at > stop } else { at < stop };
        let i = at as usize;
        at += step;
        inside.then_some(i)
    })
}

/// `v.name` where dict has a method of that name: Python finds the method before the key.
fn attr(v: &Value, name: &str) -> Result<Value, Error> {
    if is_dict(v) {
        return Ok(Value::from_object(BoundMethod));
    }
    v.get_attr(name)
}

/// `v['name']` where dict has a method of that name: jinja2 falls back to it without the key.
fn item(v: &Value, name: &Value) -> Result<Value, Error> {
    let found = v.get_item(name)?;
    if found.is_undefined() && is_dict(v) {
        return Ok(Value::from_object(BoundMethod));
    }
    Ok(found)
}

/// A value on its way into a namespace. Namespaces are all that a template can change, so this
/// is where values could grow without end or hold themselves.
fn stored(v: Value) -> Result<Value, Error> {
    fn check(v: &Value, depth: usize) -> Result<(), Error> {
        if depth > text::MAX_DEPTH {
            return Err(limit(format!(
                "a namespace holds a value deeper than {}",
                text::MAX_DEPTH
            )));
        }
        let Some(o) = v.as_object() else {
            return Ok(());
        };
        if is_namespace(o) {
            return Err(limit("a namespace cannot be stored in a namespace"));
        }
        match v.kind() {
            ValueKind::Seq => {
                for item in v.try_iter()? {
                    charge(1)?;
                    check(&item, depth + 1)?;
                }
            }
            ValueKind::Map => {
                for key in v.try_iter()? {
                    charge(1)?;
                    check(&v.get_item(&key)?, depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
    // An iterator may stand on another one, layer upon layer: a list has its items only.
    let v = if v.kind() == ValueKind::Iterable {
        Value::from_iter(v.try_iter()?)
    } else {
        v
    };
    check(&v, 0)?;
    Ok(v)
}
