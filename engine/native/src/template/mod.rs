//! Chat templates: minijinja, made to give the text that jinja2 gives under transformers.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::failure::{Failure, Kind};
use crate::json;

mod filters;
mod format;
mod methods;
mod operators;
mod source;
mod strftime;
mod text;
mod tojson;
mod token;

pub use strftime::Clock;

/// Bytes of template source. The largest published ones are about 40 KiB.
const MAX_SOURCE: usize = 1 << 20;
/// Bytes of rendered text.
const MAX_OUTPUT: usize = 4 << 20;
/// Bytes that operators, filters and methods may produce on the way to it.
const MAX_WORK: usize = 128 << 20;
/// Instructions of one render: a conversation of 1,000 messages needs some 100,000.
const MAX_INSTRUCTIONS: u64 = 20_000_000;
/// Macros and loops inside one another.
const MAX_RECURSION: usize = 200;
/// Ends what the other limits let through. Looked at in every operator, method and print.
const MAX_TIME: Duration = Duration::from_secs(10);

const NAME: &str = "chat template";

/// What one render may still use. It lives in the thread because a render has its thread to
/// itself and minijinja hands filters no room of ours.
struct Budget {
    work: Cell<usize>,
    deadline: Cell<Option<Instant>>,
    clock: Cell<Clock>,
    /// Why the template stopped, where minijinja's error kinds cannot say it.
    stopped: RefCell<Option<Failure>>,
}

thread_local! {
    static BUDGET: Budget = const {
        Budget {
            work: Cell::new(0),
            deadline: Cell::new(None),
            clock: Cell::new(Clock::ZERO),
            stopped: RefCell::new(None),
        }
    };
}

/// Stops the render; the error returned is only the way out.
fn stop(kind: Kind, message: impl Into<String>) -> Error {
    let message = message.into();
    BUDGET.with(|b| *b.stopped.borrow_mut() = Some(Failure::new(kind, message.clone())));
    Error::new(ErrorKind::InvalidOperation, message)
}

fn limit(message: impl Into<String>) -> Error {
    stop(Kind::Limit, message)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// Counts n bytes of new text or values against the render.
fn charge(n: usize) -> Result<(), Error> {
    BUDGET.with(|b| {
        let work = b.work.get().saturating_add(n);
        b.work.set(work);
        if work > MAX_WORK {
            return Err(limit(format!(
                "the template builds more than {} MiB of text",
                MAX_WORK >> 20
            )));
        }
        match b.deadline.get() {
            Some(d) if Instant::now() > d => Err(limit(format!(
                "the template runs longer than {} s",
                MAX_TIME.as_secs()
            ))),
            _ => Ok(()),
        }
    })
}

pub struct Template {
    env: Environment<'static>,
}

impl Template {
    pub fn new(source: &str) -> Result<Template, Failure> {
        if source.len() > MAX_SOURCE {
            let message = format!(
                "template of {} bytes, the limit is {MAX_SOURCE}",
                source.len()
            );
            return Err(Failure::new(Kind::Limit, message));
        }
        let source = source::rewrite(source).map_err(|m| Failure::new(Kind::Syntax, m))?;
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_debug(false);
        env.set_fuel(Some(MAX_INSTRUCTIONS));
        env.set_recursion_limit(MAX_RECURSION);
        env.set_unknown_method_callback(methods::call);
        env.set_formatter(|out, _, value| {
            charge(0)?;
            out.write_str(&text::display(value)?).map_err(Error::from)
        });
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        env.set_syntax(syntax.map_err(|e| failure(&e, Kind::Syntax))?);
        operators::register(&mut env);
        filters::register(&mut env);
        env.add_filter("tojson", tojson::tojson);
        env.add_function(
            "raise_exception",
            |message: Value| -> Result<Value, Error> {
                Err(stop(Kind::Raise, text::display(&message)?))
            },
        );
        env.add_function("strftime_now", |format: String| {
            strftime::strftime(&format, &BUDGET.with(|b| b.clock.get()))
        });
        env.add_template_owned(NAME, source)
            .map_err(|e| failure(&e, Kind::Syntax))?;
        Ok(Template { env })
    }

    /// Runs on a thread of its own: see `Budget`.
    pub fn render(&self, vars: &str, clock: Clock) -> Result<String, Failure> {
        let vars = json::parse(vars).map_err(|e| match e {
            json::Error::Depth => Failure::new(
                Kind::Limit,
                format!("template variables nest deeper than {}", json::MAX_DEPTH),
            ),
            json::Error::Syntax(at, what) => Failure::new(
                Kind::Render,
                format!("template variables: expected {what} at byte {at}"),
            ),
        })?;
        if vars.kind() != minijinja::value::ValueKind::Map {
            return Err(Failure::new(
                Kind::Render,
                "template variables: expected a JSON object",
            ));
        }
        BUDGET.with(|b| {
            b.work.set(0);
            b.deadline.set(Some(Instant::now() + MAX_TIME));
            b.clock.set(clock);
            b.stopped.take();
        });
        let mut out = Bounded(Vec::new());
        let template = self
            .env
            .get_template(NAME)
            .map_err(|e| failure(&e, Kind::Render))?;
        template
            .render_captured_to(vars, &mut out)
            .map_err(|e| failure(&e, Kind::Render))?;
        String::from_utf8(out.0).map_err(|e| Failure::new(Kind::Render, e.to_string()))
    }
}

/// A writer that refuses to grow past MAX_OUTPUT.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, b: &[u8]) -> io::Result<usize> {
        if self.0.len() + b.len() > MAX_OUTPUT {
            limit(format!(
                "the template's output is longer than {} MiB",
                MAX_OUTPUT >> 20
            ));
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(b);
        Ok(b.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failure(e: &Error, kind: Kind) -> Failure {
    if let Some(stopped) = BUDGET.with(|b| b.stopped.take()) {
        return stopped;
    }
    let mut message = String::new();
    if let Some(line) = e.line() {
        message = format!("line {line}: ");
    }
    message += &e.kind().to_string();
    if let Some(detail) = e.detail() {
        message += ": ";
        message += detail;
    }
    match e.kind() {
        ErrorKind::OutOfFuel => {
            let n = MAX_INSTRUCTIONS / 1_000_000;
            Failure::new(
                Kind::Limit,
                format!("the template runs more than {n} million instructions"),
            )
        }
        _ if e.detail().is_some_and(|d| d.contains("recursion limit")) => {
            Failure::new(Kind::Limit, message)
        }
        _ => Failure::new(kind, message),
    }
}

/// A bound method that a template names without calling: true, and nothing more.
#[derive(Debug)]
struct BoundMethod;

impl Object for BoundMethod {
    fn repr(self: &std::sync::Arc<Self>) -> minijinja::value::ObjectRepr {
        minijinja::value::ObjectRepr::Plain
    }

    fn render(self: &std::sync::Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<built-in method>")
    }
}
