//! Python's texts with fields: str.format as jinja2's sandbox calls it, and `%` on a text.
//!
//! minijinja writes the digits of a number. Its widths count bytes and have no limit, and its
//! fields are neither converted nor nested, so the rest is here.

use minijinja::formatting::{self, FormatStyle};
use minijinja::value::{from_args, Kwargs, Value, ValueKind};
use minijinja::Error;

use super::text::{display, float, int, is_dict, repr};
use super::{charge, invalid};

/// `text.format(...)`.
pub fn fields(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (values, named) = from_args(args)?;
    let mut fields = Fields {
        values,
        named,
        place: Place::Unknown,
    };
    // A field may stand in the form of another, and no deeper.
    Ok(Value::from(fields.expand(text, 1)?))
}

/// How the fields of a text name their values.
enum Place {
    Unknown,
    Next(usize),
    Numbered,
}

struct Fields<'a> {
    values: &'a [Value],
    named: Kwargs,
    place: Place,
}

impl Fields<'_> {
    fn expand(&mut self, text: &str, depth: usize) -> Result<String, Error> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                out.push_str(&rest[..1]);
                rest = &rest[2..];
                continue;
            }
            let end = closing(rest)
                .ok_or_else(|| invalid("a brace in a text for format has no partner; double it"))?;
            let field = self.field(&rest[1..end], depth)?;
            charge(field.len())?;
            out.push_str(&field);
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        charge(out.len())?;
        Ok(out)
    }

    /// `name!conversion:form` of one field.
    fn field(&mut self, field: &str, depth: usize) -> Result<String, Error> {
        let mut key = false; // within [ ]
        let end = field.find(|c| {
            key = c == '[' || key && c != ']';
            !key && (c == ':' || c == '!')
        });
        let (name, tail) = field.split_at(end.unwrap_or(field.len()));
        let (conversion, form) = match tail.strip_prefix('!') {
            None => ("", tail),
            Some(tail) => tail.split_at(tail.find(':').unwrap_or(tail.len())),
        };
        let mut value = self.value(name)?;
        match conversion {
            "" if !tail.starts_with('!') => {}
            "s" => value = Value::from(display(&value)?),
            "r" => value = Value::from(repr(&value)?),
            _ => return Err(invalid(format!("format has no conversion !{conversion}"))),
        }
        let form = form.strip_prefix(':').unwrap_or_default();
        if !form.contains(['{', '}']) {
            return one(&value, form);
        }
        if depth == 0 {
            return Err(invalid("the fields of a format nest too deep"));
        }
        let form = self.expand(form, depth - 1)?;
        one(&value, &form)
    }

    /// The value that a field names: `0`, `name` or nothing, then any of `.name` and `[key]`.
    fn value(&mut self, name: &str) -> Result<Value, Error> {
        let (first, mut path) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let mixed = || invalid("the fields of a format are numbered all or not at all");
        let value = if first.is_empty() {
            let n = match self.place {
                Place::Unknown => 0,
                Place::Next(n) => n,
                Place::Numbered => return Err(mixed()),
            };
            self.place = Place::Next(n + 1);
            self.values.get(n).cloned()
        } else if let Ok(n) = first.parse::<usize>() {
            if matches!(self.place, Place::Next(_)) {
                return Err(mixed());
            }
            self.place = Place::Numbered;
            self.values.get(n).cloned()
        } else {
            self.named.peek::<Option<Value>>(first)?
        };
        let mut value = value
            .ok_or_else(|| invalid(format!("format has no value for the field {{{name}}}")))?;
        while !path.is_empty() {
            let part;
            if let Some(key) = path.strip_prefix('[') {
                (part, path) = key.split_once(']').unwrap_or_default();
                value = match part.parse::<usize>() {
                    Ok(n) => value.get_item(&Value::from(n))?,
                    Err(_) => value.get_item(&Value::from(part))?,
                };
            } else {
                let attribute = path.strip_prefix('.').unwrap_or_default();
                let end = attribute.find(['.', '[']).unwrap_or(attribute.len());
                (part, path) = attribute.split_at(end);
                value = value.get_attr(part)?;
            }
            if part.is_empty() {
                return Err(invalid(format!("format cannot read the field {{{name}}}")));
            }
        }
        Ok(value)
    }
}

/// Returns where the brace that opens the text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth < 2 => return (depth == 1).then_some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `text % value`, and the filter format.
pub fn percent(text: &str, given: &Value) -> Result<Value, Error> {
    let dict = is_dict(given);
    let values = match given.is_tuple() {
        true => given.try_iter()?.collect(),
        false => vec![given.clone()],
    };
    let mut next = values.iter();
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('%') {
            out.push('%');
            rest = tail;
            continue;
        }
        let mut value = next.next().cloned();
        if let Some(tail) = rest.strip_prefix('(') {
            let (key, tail) = tail.split_once(')').unwrap_or_default();
            value = dict.then(|| given.get_item(&Value::from(key))).transpose()?;
            value = value.filter(|v| !v.is_undefined());
            rest = tail;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let kind = end.and_then(|at| rest[at..].chars().next());
        let mut form = Form::flagged(&rest[..end.unwrap_or(0)])
            .ok_or_else(|| invalid(format!("the form %{rest} is not supported")))?;
        let value = value.ok_or_else(|| invalid("a text with % has a field without a value"))?;
        let field = match kind {
            Some('s') => form.text(&display(&value)?)?,
            Some('r') => form.text(&repr(&value)?)?,
            Some('c') if value.as_str().is_some_and(|s| s.chars().count() == 1) => {
                form.text(&display(&value)?)?
            }
            Some('d' | 'i' | 'u') if form.precision.is_none() => {
                form.kind = 'd';
                match float(&value).filter(|f| f.is_finite()) {
                    Some(f) => form.number(&Value::from(f.trunc() as i128))?,
                    None => form.number(&value)?,
                }
            }
            Some(kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'x' | 'X' | 'o')) => {
                form.kind = kind;
                form.number(&value)?
            }
            _ => return Err(invalid(format!("the form %{rest} is not supported"))),
        };
        charge(field.len())?;
        out.push_str(&field);
        rest = &rest[end.unwrap_or(0) + 1..];
    }
    if !dict && next.next().is_some() {
        return Err(invalid("a text with % has a value without a field"));
    }
    out.push_str(rest);
    charge(out.len())?;
    Ok(Value::from(out))
}

/// A value in a form such as `>8.2f`.
fn one(value: &Value, form: &str) -> Result<String, Error> {
    if form.is_empty() {
        return display(value);
    }
    let kind = value.kind();
    let unknown = || invalid(format!("a {kind} has no form {form}"));
    let form = Form::parse(form).ok_or_else(unknown)?;
    match kind {
        ValueKind::String if matches!(form.kind, '\0' | 's') && form.plain() => {
            form.text(&display(value)?)
        }
        ValueKind::Number | ValueKind::Bool => form.number(value),
        _ => Err(unknown()),
    }
}

/// How a field is written. Zero characters were not given.
#[derive(Default)]
struct Form {
    fill: char,
    align: char,
    sign: char,
    alternate: bool,
    zero: bool,
    width: usize,
    group: char,
    precision: Option<usize>,
    kind: char,
}

impl Form {
    /// `[[fill]align][sign][#][0][width][,][.precision][kind]`
    fn parse(form: &str) -> Option<Form> {
        let is_align = |c: &char| "<>=^".contains(*c);
        let mut f = Form::default();
        let mut rest = form;
        let mut first = form.chars();
        let (fill, align) = (first.next(), first.next());
        if let (Some(fill), Some(align)) = (fill, align.filter(is_align)) {
            (f.fill, f.align) = (fill, align);
            rest = first.as_str();
        } else if let Some(align) = fill.filter(is_align) {
            f.align = align;
            rest = &form[1..];
        }
        let mut take = |set: &str| {
            let c = rest.chars().next().filter(|c| set.contains(*c));
            rest = &rest[c.map_or(0, char::len_utf8)..];
            c.unwrap_or_default()
        };
        f.sign = take("+- ");
        f.alternate = take("#") == '#';
        f.zero = take("0") == '0';
        f.width = digits(&mut take)?.unwrap_or(0);
        f.group = take(",_");
        if take(".") == '.' {
            f.precision = Some(digits(&mut take)??);
        }
        f.kind = take("bdeEfFgGosxX%");
        rest.is_empty().then_some(f)
    }

    /// The flags, width and precision of a field of `%`.
    fn flagged(form: &str) -> Option<Form> {
        let mut f = Form {
            align: '>',
            ..Form::default()
        };
        let rest = form.trim_start_matches(['#', '0', '-', ' ', '+']);
        let flags = &form[..form.len() - rest.len()];
        let mut rest = rest.chars().peekable();
        let mut take = |set: &str| rest.next_if(|c| set.contains(*c)).unwrap_or_default();
        f.width = digits(&mut take)?.unwrap_or(0);
        if take(".") == '.' {
            f.precision = Some(digits(&mut take)?.unwrap_or(0));
        }
        f.alternate = flags.contains('#');
        if flags.contains('-') {
            f.align = '<';
        } else if flags.contains('0') {
            f.zero = true;
        }
        for sign in [' ', '+'] {
            if flags.contains(sign) {
                f.sign = sign;
            }
        }
        rest.next().is_none().then_some(f)
    }

    /// Whether nothing is asked that only a number has.
    fn plain(&self) -> bool {
        self.align != '=' && self.sign == '\0' && self.group == '\0' && !self.alternate
    }

    fn text(&self, s: &str) -> Result<String, Error> {
        let most = self.precision.unwrap_or(usize::MAX);
        let s: String = s.chars().take(most).collect();
        self.padded("", &s, if self.align == '\0' { '<' } else { self.align })
    }

    fn number(&self, value: &Value) -> Result<String, Error> {
        let unknown = || invalid(format!("the number {value} does not have the asked form"));
        let kind = if self.kind == '%' { 'f' } else { self.kind };
        let value = match (int(value), float(value)) {
            (Some(n), _) if "\0bdoxX".contains(kind) && self.precision.is_none() => Value::from(n),
            (_, Some(_)) if kind == '\0' && self.precision.is_none() => value.clone(),
            (n, f) if "eEfFgG".contains(kind) => {
                let f = f.or(n.map(|n| n as f64)).ok_or_else(unknown)?;
                Value::from(if self.kind == '%' { f * 100.0 } else { f })
            }
            _ => return Err(unknown()),
        };
        let mut form = String::from("{:");
        form.extend(Some(self.sign).filter(|c| *c != '\0'));
        form.push_str(if self.alternate { "#" } else { "" });
        let zeros = self.zero && matches!(self.align, '\0' | '>') && self.fill == '\0';
        if zeros {
            charge(self.width)?;
            let more = usize::from(self.kind == '%'); // the sign itself
            form.push_str(&format!("0{}", self.width.saturating_sub(more)));
        }
        form.extend(Some(self.group).filter(|c| *c != '\0'));
        if let Some(precision) = self.precision {
            charge(precision)?;
            form.push_str(&format!(".{precision}"));
        }
        form.extend(Some(kind).filter(|c| *c != '\0'));
        form.push('}');
        let mut text = formatting::format(FormatStyle::StrFormat, &form, &[value])?;
        if self.kind == '%' {
            text.push('%');
        }
        if zeros {
            return Ok(text);
        }
        let digits = text.find(|c: char| !"+- ".contains(c)).unwrap_or(0);
        let base = if self.alternate && "boxX".contains(kind) { 2 } else { 0 };
        let (sign, digits) = text.split_at(digits + base);
        self.padded(sign, digits, if self.align == '\0' { '>' } else { self.align })
    }

    /// The text with its fill around it. `=` puts the fill between a sign and the digits.
    fn padded(&self, sign: &str, s: &str, align: char) -> Result<String, Error> {
        let fill = match self.fill {
            '\0' if self.zero => '0',
            '\0' => ' ',
            c => c,
        };
        let missing = self.width.saturating_sub(sign.len() + s.chars().count());
        charge(missing.saturating_mul(fill.len_utf8()))?;
        let some = |n: usize| fill.to_string().repeat(n);
        Ok(match align {
            '<' => format!("{sign}{s}{}", some(missing)),
            '^' => format!("{}{sign}{s}{}", some(missing / 2), some(missing - missing / 2)),
            '=' => format!("{sign}{}{s}", some(missing)),
            _ => format!("{}{sign}{s}", some(missing)),
        })
    }
}

/// Reads digits. The outer None is a number too large to count.
fn digits(take: &mut impl FnMut(&str) -> char) -> Option<Option<usize>> {
    let mut n: Option<usize> = None;
    loop {
        match take("0123456789").to_digit(10) {
            Some(d) => n = Some(n.unwrap_or(0).checked_mul(10)?.checked_add(d as usize)?),
            None => return Some(n),
        }
    }
}
