//! Chat templates: minijinja with the text of jinja2 under transformers.
//!
//! - source.rs prepares a template, minijinja compiles it, bytecode.rs adds checks.
//! - text.rs prints values as Python does. tojson.rs is json.dumps. strftime.rs prints the time.
//! - format.rs writes texts with fields.
//! - filters.rs and methods.rs replace what differs in a published template, or has no size limit.
//!
//! The entry of 2026-11-25 in engine/log measures which templates need which part.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::machinery::{
    eval, make_string_output, CompiledTemplate, Instructions, TemplateConfig,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output};

use crate::failure::{Failure, Kind};
use crate::json;

mod bytecode;
mod filters;
mod format;
mod methods;
mod source;
mod strftime;
mod text;
mod tojson;

pub use strftime::Clock;

/// Bytes of template source. The largest published ones are about 40 KiB.
const MAX_SOURCE: usize = 1 << 20;
/// Bytes of rendered text.
const MAX_OUTPUT: usize = 4 << 20;
/// Bytes that operators, filters, methods and prints may make in one render.
const MAX_WORK: usize = 128 << 20;
/// Instructions of one render, checks included. 1,000 messages need some 200,000.
const MAX_INSTRUCTIONS: u64 = 20_000_000;
/// Macros and loops inside one another.
const MAX_RECURSION: usize = 200;

const NAME: &str = "chat template";

/// The state of one render. It lives in the thread: a render has its thread to itself, and
/// minijinja hands filters no room of ours.
#[derive(Default)]
struct Budget {
    work: Cell<usize>,
    clock: Cell<Clock>,
    /// Why the template stopped, if minijinja's error kinds cannot say it.
    stopped: RefCell<Option<Failure>>,
}

thread_local! {
    static BUDGET: Budget = Budget::default();
}

/// Stops the render. `failure` reports the reason and drops the returned error.
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
    let work = BUDGET.with(|b| {
        b.work.set(b.work.get().saturating_add(n));
        b.work.get()
    });
    match work {
        0..=MAX_WORK => Ok(()),
        _ => Err(limit(format!(
            "the template builds more than {} MiB of text",
            MAX_WORK >> 20
        ))),
    }
}

pub struct Template {
    env: Environment<'static>,
    instructions: Instructions<'static>, // they borrow from the source
    _source: Source,                     // dropped last
}

/// A text that lives until its owner drops it.
struct Source(&'static str);

impl Drop for Source {
    fn drop(&mut self) {
        // SAFETY: Template::new leaked this box. Only the instructions borrow from it, and they are
        // gone.
        drop(unsafe { Box::from_raw(self.0 as *const str as *mut str) });
    }
}

impl Template {
    pub fn new(source: &str) -> Result<Template, Failure> {
        let bytes = source.len();
        if bytes > MAX_SOURCE {
            let message = format!("template of {bytes} bytes, the limit is {MAX_SOURCE}");
            return Err(Failure::new(Kind::Limit, message));
        }
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|e| failure(&e, Kind::Syntax))?;
        let source = source::prepare(source, &syntax).map_err(|m| Failure::new(Kind::Syntax, m))?;
        let source = Source(Box::leak(source.into_boxed_str()));
        let config = TemplateConfig {
            syntax_config: syntax,
            default_auto_escape: Arc::new(|_| AutoEscape::None),
        };
        let compiled = CompiledTemplate::new(NAME, source.0, &config)
            .map_err(|e| failure(&e, Kind::Syntax))?;
        Ok(Template {
            env: environment(),
            instructions: bytecode::watched(&compiled.instructions),
            _source: source,
        })
    }

    /// Renders with the variables of one JSON object. It needs a thread to itself: see `Budget`.
    pub fn render(&self, vars: &str, clock: Clock) -> Result<String, Failure> {
        let vars = variables(vars)?;
        BUDGET.with(|b| {
            b.work.set(0);
            b.clock.set(clock);
            b.stopped.take();
        });
        let render = || {
            let (mut text, blocks) = (String::new(), BTreeMap::new());
            let mut out = make_string_output(&mut text);
            eval(
                &self.env,
                &self.instructions,
                vars,
                &blocks,
                &mut out,
                AutoEscape::None,
            )?;
            match text.len() {
                0..=MAX_OUTPUT => Ok(text),
                _ => Err(limit(format!(
                    "the template's output is longer than {} MiB",
                    MAX_OUTPUT >> 20
                ))),
            }
        };
        render().map_err(|e| failure(&e, Kind::Render))
    }
}

/// The variables of one JSON object.
fn variables(json: &str) -> Result<Value, Failure> {
    let message = match json::parse(json) {
        Ok(v) if v.kind() == ValueKind::Map => return Ok(v),
        Ok(_) => "template variables: expected a JSON object".to_owned(),
        Err(json::Error::Depth) => {
            let most = json::MAX_DEPTH;
            let message = format!("template variables nest deeper than {most}");
            return Err(Failure::new(Kind::Limit, message));
        }
        Err(json::Error::Syntax(at, what)) => {
            format!("template variables: expected {what} at byte {at}")
        }
    };
    Err(Failure::new(Kind::Render, message))
}

/// minijinja's environment with what transformers adds to jinja2's, and our limits.
fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_debug(false);
    env.set_fuel(Some(MAX_INSTRUCTIONS));
    env.set_recursion_limit(MAX_RECURSION);
    env.set_unknown_method_callback(methods::call);
    env.set_formatter(|out, _, value| emit(out, value));
    bytecode::register(&mut env);
    filters::register(&mut env);
    env.add_filter("tojson", tojson::tojson);
    env.add_global(source::ONE, 1);
    env.add_function(
        "raise_exception",
        |message: Value| -> Result<Value, Error> {
            Err(stop(Kind::Raise, text::display(&message)?))
        },
    );
    env.add_function("strftime_now", |format: String| {
        strftime::strftime(&format, &BUDGET.with(|b| b.clock.get()))
    });
    env
}

/// Writes a value as Python prints it.
fn emit(out: &mut Output<'_>, value: &Value) -> Result<(), Error> {
    let printed;
    let text = match value.as_str() {
        Some(s) => {
            charge(s.len())?;
            s
        }
        None => {
            printed = text::display(value)?;
            &printed
        }
    };
    out.write_str(text).map_err(Error::from)
}

/// Whether an error's text tells of a limit of minijinja's own.
fn minijinjas_limit(detail: &str) -> bool {
    detail.contains("recursion limit") || detail.contains("is too large")
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
        _ if e.detail().is_some_and(|d| minijinjas_limit(d)) => Failure::new(Kind::Limit, message),
        _ => Failure::new(kind, message),
    }
}
