//! Puts the checks of a render between minijinja's instructions.
//!
//! minijinja's operators cannot be replaced and count no memory. Its compiled instructions can be
//! changed, so filters of our own stand after each instruction that builds or searches something.

use minijinja::machinery::{Instruction, Instructions};
use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Environment, Error};

use super::text::{self, display, float, int, is_namespace};
use super::{charge, format, invalid, limit};

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("__cat", cat);
    env.add_filter("__made", made);
    env.add_filter("__rem", rem);
    env.add_filter("__seen", seen);
    env.add_filter("__slice", slice);
    env.add_filter("__times", times);
    env.add_filter("__stored", stored);
}

/// Returns the same instructions with the checks between them. Jumps lead where they led.
pub fn watched<'s>(from: &Instructions<'s>) -> Instructions<'s> {
    use Instruction::*;
    const ANY_LOCAL: u8 = !0; // look the filter up each time
    let call = |name, arguments| ApplyFilter(name, Some(arguments), ANY_LOCAL);
    let mut out = Instructions::new(from.name(), from.source());
    let mut moved = Vec::new(); // where each instruction went
    let mut end = 0;
    for at in 0.. {
        moved.push(end);
        let Some(instruction) = from.get(at) else {
            break;
        };
        let same = instruction.clone();
        let steps = match instruction {
            // The formatter counts values and no raw text.
            EmitRaw(text) => vec![LoadConst(Value::from(*text)), Emit],
            StringConcat => vec![call("__cat", 2)],
            Slice => vec![call("__slice", 4)],
            Add => vec![same, call("__made", 1)],
            Rem => vec![call("__rem", 2)],
            Mul => vec![
                call("__times", 1),
                Swap,
                call("__times", 1),
                Swap,
                same,
                call("__made", 1),
            ],
            Eq | Ne | Lt | Lte | Gt | Gte | In => vec![same, call("__seen", 1)],
            ApplyFilter(..) | PerformTest(..) => vec![same, call("__seen", 1)],
            // The namespace lies on top of the value.
            SetAttr(_) => vec![Swap, call("__stored", 1), Swap, same],
            _ => vec![same],
        };
        let line = from.get_line(at).unwrap_or(0) as u16;
        for step in steps {
            end = out.add_with_line(step, line) + 1;
        }
    }
    for at in 0..end {
        if let Some(
            Jump(to)
            | JumpIfFalse(to)
            | JumpIfFalseOrPop(to)
            | JumpIfTrueOrPop(to)
            | Iterate(to)
            | BuildMacro(_, to, _),
        ) = out.get_mut(at)
        {
            *to = moved[*to as usize];
        }
    }
    out
}

/// `a ~ b`: both operands as Python prints them.
fn cat(a: &Value, b: &Value) -> Result<Value, Error> {
    let mut s = display(a)?;
    s.push_str(&display(b)?);
    charge(s.len())?;
    Ok(Value::from(s))
}

/// `a % b`: a text with fields, or Python's remainder, which has the sign of b.
fn rem(a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(text) = a.as_str() {
        return format::percent(text, b);
    }
    let failed = || invalid(format!("{a} % {b} has no value"));
    let (x, y) = match (int(a), int(b)) {
        (Some(a), Some(b)) => {
            let rest = a.checked_rem(b).ok_or_else(failed)?;
            let below = rest != 0 && (rest < 0) != (b < 0);
            return Ok(Value::from(if below { rest + b } else { rest }));
        }
        (x, y) => (x.map(|n| n as f64).or(float(a)), y.map(|n| n as f64).or(float(b))),
    };
    let (Some(x), Some(y)) = (x, y.filter(|y| *y != 0.0)) else {
        return Err(failed());
    };
    let rest = x % y;
    let below = rest != 0.0 && (rest < 0.0) != (y < 0.0);
    Ok(Value::from(match below {
        true => rest + y,
        false if rest == 0.0 => rest.copysign(y),
        false => rest,
    }))
}

/// Counts what an operator made. A sum of lists becomes a list. minijinja would keep an iterator
/// over the operands, and layers of those exhaust the stack.
fn made(v: Value) -> Result<Value, Error> {
    if v.kind() != ValueKind::Iterable {
        return seen(v);
    }
    charge(v.len().unwrap_or(0).saturating_mul(size_of::<Value>()))?;
    Ok(Value::from_iter(v.try_iter()?))
}

/// Counts a value, and looks at the clock.
fn seen(v: Value) -> Result<Value, Error> {
    let size = match v.as_str() {
        Some(s) => s.len(),
        None if v.kind() == ValueKind::Seq => v.len().unwrap_or(0) * size_of::<Value>(),
        None => 0,
    };
    charge(size)?;
    Ok(v)
}

/// `v[start:stop:step]`. minijinja's own panics where it turns around an empty list.
fn slice(v: &Value, start: &Value, stop: &Value, step: &Value) -> Result<Value, Error> {
    let bound = |b: &Value| match b.is_none() {
        true => Ok(None),
        false => i64::try_from(b.clone()).map(Some),
    };
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return Err(invalid("a slice's step cannot be zero"));
    }
    if let Some(s) = v.as_str() {
        charge(s.len())?;
        let chars: Vec<char> = s.chars().collect();
        let picked = indices(chars.len(), start, stop, step).map(|i| chars[i]);
        return Ok(Value::from(picked.collect::<String>()));
    }
    if !matches!(v.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(invalid(format!("{} cannot be sliced", v.kind())));
    }
    charge(v.len().unwrap_or(0).saturating_mul(size_of::<Value>()))?;
    let items: Vec<Value> = v.try_iter()?.collect();
    let picked: Vec<Value> = indices(items.len(), start, stop, step)
        .map(|i| items[i].clone())
        .collect();
    Ok(match v.is_tuple() {
        true => Value::from(Tuple::from(picked)),
        false => Value::from(picked),
    })
}

/// Python's slice.indices, walked.
fn indices(
    len: usize,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let len = len as i64;
    let back = step < 0;
    let (low, high) = if back { (-1, len - 1) } else { (0, len) };
    let (first, last) = if back { (high, low) } else { (low, high) };
    let place = |b: i64| (if b < 0 { b.saturating_add(len) } else { b }).clamp(low, high);
    let mut at = start.map_or(first, place);
    let stop = stop.map_or(last, place);
    std::iter::from_fn(move || {
        let inside = if back { at > stop } else { at < stop };
        let i = at as usize;
        at = at.saturating_add(step);
        inside.then_some(i)
    })
}

/// Passes an operand of `*`, but no tuple. minijinja repeats a text up to 100 MB and a list lazily.
/// A tuple it would repeat at once, without a limit in bytes.
fn times(v: Value) -> Result<Value, Error> {
    match v.downcast_object_ref::<Tuple>() {
        Some(_) => Err(invalid("a tuple cannot be multiplied")),
        None => Ok(v),
    }
}

/// Checks a value before a namespace holds it. A template can change nothing else, so only here
/// could a value grow without end or hold itself.
fn stored(v: Value) -> Result<Value, Error> {
    let v = made(v)?;
    check(&v, 0)?;
    Ok(v)
}

fn check(v: &Value, depth: usize) -> Result<(), Error> {
    if depth > text::MAX_DEPTH {
        let most = text::MAX_DEPTH;
        return Err(limit(format!(
            "a namespace holds a value deeper than {most}"
        )));
    }
    let Some(o) = v.as_object() else {
        return Ok(());
    };
    if is_namespace(o) {
        return Err(limit("a namespace cannot be stored in a namespace"));
    }
    let kind = v.kind();
    if !matches!(kind, ValueKind::Seq | ValueKind::Map) {
        return Ok(());
    }
    for item in v.try_iter()? {
        charge(1)?;
        match kind {
            ValueKind::Map => check(&v.get_item(&item)?, depth + 1)?,
            _ => check(&item, depth + 1)?,
        }
    }
    Ok(())
}
