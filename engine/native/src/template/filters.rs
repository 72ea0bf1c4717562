//! Filters and tests in jinja2's meaning where minijinja's own differ or have no size limit.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error};

use super::methods::{self, Arguments};
use super::text::display;
use super::{charge, invalid};

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("string", |v: &Value| display(v));
    env.add_filter("trim", trim);
    env.add_filter("join", join);
    env.add_filter("replace", replace);
    env.add_filter("indent", indent);
    env.add_filter("format", format);
    env.add_filter("center", center);
    env.add_test("sequence", |v: &Value| {
        matches!(v.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined)
    });
    env.add_test("integer", is_integer);
    env.add_test("callable", |v: &Value| v.kind() == ValueKind::Plain);
}

fn is_integer(v: &Value) -> bool {
    v.is_integer() || v.downcast_object_ref::<crate::json::LongInt>().is_some()
}

fn trim(v: &Value, args: Rest<Value>) -> Result<Value, Error> {
    methods::strip(&display(v)?, &args, true, true)
}

fn join(v: &Value, args: Rest<Value>) -> Result<String, Error> {
    let args = Arguments::bind("join", &args, &["d", "attribute"])?;
    let separator = args.get(0).map_or(Ok(String::new()), display)?;
    let mut out = String::new();
    for (i, item) in v.try_iter()?.enumerate() {
        if i > 0 {
            out.push_str(&separator);
        }
        let item = match args.get(1).and_then(Value::as_str) {
            Some(path) => path.split('.').try_fold(item, |v, name| match name.parse::<usize>() {
                Ok(i) => v.get_item_by_index(i),
                Err(_) => v.get_attr(name),
            })?,
            None => item,
        };
        charge(separator.len())?;
        out.push_str(&display(&item)?);
    }
    Ok(out)
}

fn replace(v: &Value, args: Rest<Value>) -> Result<Value, Error> {
    let args = Arguments::bind("replace", &args, &["old", "new", "count"])?;
    let old = args.get(0).map_or(Ok(String::new()), display)?;
    let new = args.get(1).map_or(Ok(String::new()), display)?;
    methods::replace(&display(v)?, &old, &new, args.integer(2)?)
}

fn indent(v: &Value, args: Rest<Value>) -> Result<String, Error> {
    let args = Arguments::bind("indent", &args, &["width", "first", "blank"])?;
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
    let lines = methods::lines(&s, false);
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // blank concerns the lines after the first; first indents even an empty one.
        let indented = if i == 0 { first } else { blank || !line.is_empty() };
        if indented {
            charge(width.len())?;
            out.push_str(&width);
        }
        out.push_str(line);
    }
    charge(out.len())?;
    Ok(out)
}

fn format(v: &Value, args: Rest<Value>) -> Result<Value, Error> {
    methods::printf(&display(v)?, &args)
}

fn center(v: &Value, width: Option<u32>, kwargs: Kwargs) -> Result<String, Error> {
    let width = match kwargs.get::<Option<u32>>("width")? {
        Some(w) => w,
        None => width.unwrap_or(80),
    };
    kwargs.assert_all_used().map_err(|_| invalid("center takes width"))?;
    methods::pad(&display(v)?, width as usize, ' ', methods::Side::Both)
}
