//! Filters and tests in jinja2's meaning where minijinja's own differ or have no size limit.

use minijinja::value::{Kwargs, Rest, StringInput, Tuple, Value, ValueKind};
use minijinja::{filters, Environment, Error};

use super::text::display;
use super::{charge, format, methods};

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("string", |v: &Value| display(v));
    env.add_filter("trim", |v: &Value, chars: Option<&str>| {
        Ok::<_, Error>(methods::strip(&display(v)?, chars, true, true))
    });
    env.add_filter("join", join);
    env.add_filter(
        "replace",
        |v: &Value, old: &Value, new: &Value, count: Option<i64>| {
            methods::replace(&display(v)?, &display(old)?, &display(new)?, count)
        },
    );
    env.add_filter("indent", indent);
    env.add_filter("format", |v: &Value, values: Rest<Value>, named: Kwargs| {
        let keyed = named.args().next().is_some();
        let given = match keyed {
            true => Value::from(named),
            false => Value::from(Tuple::from(values.0)),
        };
        format::percent(&display(v)?, &given)
    });
    // These build as much as a number in the template says, and no published template uses them.
    for name in ["batch", "slice"] {
        env.remove_filter(name);
    }
    env.add_test("sequence", |v: &Value| {
        matches!(
            v.kind(),
            ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined
        )
    });
    env.add_test("iterable", |v: &Value| {
        !v.is_none() && (v.try_iter().is_ok() || v.kind() == ValueKind::String)
    });
}

fn join(v: &Value, separator: Option<&Value>, attribute: Option<&str>) -> Result<String, Error> {
    let separator = separator.map_or(Ok(String::new()), display)?;
    let mut out = String::new();
    for (i, mut item) in v.try_iter()?.enumerate() {
        if i > 0 {
            out.push_str(&separator);
        }
        if let Some(name) = attribute {
            item = item.get_attr(name)?;
        }
        charge(separator.len())?;
        out.push_str(&display(&item)?);
    }
    Ok(out)
}

fn indent(
    text: StringInput<'_>,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    named: Kwargs,
) -> Result<Value, Error> {
    let lines = text.as_str().lines().count() + 1;
    let each = width.or(named.peek("width").ok()).unwrap_or(4);
    charge(lines.saturating_mul(each))?;
    filters::indent(text, width, first, blank, named)
}
