//! The C interface of native.h: chat templates and grammars for Go.
//!
//! Exports that compile or render run inside [`guarded`]:
//!
//! - on a thread of their own, since a deep template would overflow the stack of the calling Go
//!   thread (512 KiB on a Mac);
//! - with a stack large enough for the limits of the template module;
//! - with panics turned into error texts. Nothing unwinds into C.
//!
//! A matcher's work for one token takes microseconds and no recursion. It runs in the caller's
//! thread, inside [`caught`].

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

mod failure;
mod grammar;
mod json;
mod template;

use failure::{Failure, Kind};
use grammar::{Matcher, Vocabulary};
use template::{Clock, Template};

/// Bytes of stack for a guarded call. Only the touched part takes memory.
const STACK_BYTES: usize = 64 << 20;

/// Objects and buffers handed out and not yet freed. Leak tests read it.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Bytes that this library owns until `tandem_buffer_free`.
#[repr(C)]
pub struct Buffer {
    ptr: *mut u8,
    len: usize,
}

impl Buffer {
    fn of(text: String) -> Buffer {
        let bytes = text.into_bytes().into_boxed_slice();
        let len = bytes.len();
        LIVE.fetch_add(1, Ordering::Relaxed);
        Buffer {
            ptr: Box::into_raw(bytes).cast(),
            len,
        }
    }
}

/// Compiles a template. Returns 0 and sets `out`, or a kind of native.h and sets `message`.
///
/// # Safety
/// `source` points to `len` readable bytes; `out` and `message` are writable.
#[no_mangle]
pub unsafe extern "C" fn tandem_template_new(
    source: *const u8,
    len: usize,
    out: *mut *mut Template,
    message: *mut Buffer,
) -> i32 {
    let source = items(source, len);
    match guarded(|| Template::new(text(source, "template")?)) {
        Ok(t) => hand(t, out),
        Err(failure) => report(failure, message),
    }
}

/// Renders with the variables of one JSON object. Returns 0 and the text, or a kind and a message.
///
/// # Safety
/// `t` comes from `tandem_template_new` and is not freed during the call; any number of threads
/// may render at once. `vars` points to `len` readable bytes; `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn tandem_template_render(
    t: *const Template,
    vars: *const u8,
    len: usize,
    clock: Clock,
    out: *mut Buffer,
) -> i32 {
    let (t, vars) = (&*t, items(vars, len));
    match guarded(|| t.render(text(vars, "template variables")?, clock)) {
        Ok(rendered) => {
            ptr::write(out, Buffer::of(rendered));
            0
        }
        Err(failure) => report(failure, out),
    }
}

/// # Safety
/// `t` comes from `tandem_template_new`, no call uses it any more, and it is freed once.
#[no_mangle]
pub unsafe extern "C" fn tandem_template_free(t: *mut Template) {
    release(t);
}

/// Takes in the tokens of a model. Returns 0 and sets `out`, or a kind and sets `message`.
///
/// # Safety
/// `text` points to `len` readable bytes, `ends` to `n` numbers and `eos` to `count`; `out` and
/// `message` are writable.
#[no_mangle]
pub unsafe extern "C" fn tandem_vocabulary_new(
    text: *const u8,
    len: usize,
    ends: *const u32,
    n: usize,
    eos: *const u32,
    count: usize,
    out: *mut *mut Vocabulary,
    message: *mut Buffer,
) -> i32 {
    let (text, ends, eos) = (items(text, len), items(ends, n), items(eos, count));
    match guarded(|| Vocabulary::new(text, ends, eos)) {
        Ok(v) => hand(v, out),
        Err(failure) => report(failure, message),
    }
}

/// # Safety
/// `v` comes from `tandem_vocabulary_new`, no call uses it any more, and it is freed once. Its
/// matchers may outlive it.
#[no_mangle]
pub unsafe extern "C" fn tandem_vocabulary_free(v: *mut Vocabulary) {
    release(v);
}

/// Compiles a grammar. Returns 0 and sets `out`, or a kind and sets `message`.
///
/// # Safety
/// `v` comes from `tandem_vocabulary_new` and is not freed during the call; any number of threads
/// may use it at once. `source` points to `len` readable bytes; `out` and `message` are writable.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_new(
    v: *const Vocabulary,
    source: *const u8,
    len: usize,
    out: *mut *mut Matcher,
    message: *mut Buffer,
) -> i32 {
    let (v, source) = (&*v, items(source, len));
    match guarded(|| Matcher::new(v, text(source, "grammar")?)) {
        Ok(m) => hand(m, out),
        Err(failure) => report(failure, message),
    }
}

/// Sets a bit for each token that may follow. Returns 0, or a kind and sets `message`.
///
/// # Safety
/// `m` comes from `tandem_matcher_new`. No other call uses it meanwhile, here and below. `bits` points to `words` writable numbers; `message` is writable.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_mask(
    m: *mut Matcher,
    bits: *mut u32,
    words: usize,
    message: *mut Buffer,
) -> i32 {
    let bits = slice::from_raw_parts_mut(bits, words);
    done(caught(|| (*m).mask(bits)), message)
}

/// Moves on by a token that the mask allows.
///
/// # Safety
/// As for `tandem_matcher_mask`.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_accept(
    m: *mut Matcher,
    token: u32,
    message: *mut Buffer,
) -> i32 {
    done(caught(|| (*m).accept(token)), message)
}

/// Takes the last `n` tokens back.
///
/// # Safety
/// As for `tandem_matcher_mask`.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_rollback(
    m: *mut Matcher,
    n: usize,
    message: *mut Buffer,
) -> i32 {
    done(caught(|| (*m).rollback(n)), message)
}

/// Returns 1 if only the end may follow, else 0.
///
/// # Safety
/// As for `tandem_matcher_mask`.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_stopped(m: *const Matcher) -> i32 {
    (*m).stopped() as i32
}

/// # Safety
/// `m` comes from `tandem_matcher_new` and is freed once.
#[no_mangle]
pub unsafe extern "C" fn tandem_matcher_free(m: *mut Matcher) {
    release(m);
}

/// # Safety
/// `b` was filled by this library and is freed once.
#[no_mangle]
pub unsafe extern "C" fn tandem_buffer_free(b: Buffer) {
    LIVE.fetch_sub(1, Ordering::Relaxed);
    drop(Box::from_raw(ptr::slice_from_raw_parts_mut(b.ptr, b.len)));
}

#[no_mangle]
pub extern "C" fn tandem_native_live() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

/// Hands an object out. [`release`] takes it back.
unsafe fn hand<T>(object: T, out: *mut *mut T) -> i32 {
    LIVE.fetch_add(1, Ordering::Relaxed);
    ptr::write(out, Box::into_raw(Box::new(object)));
    0
}

unsafe fn release<T>(object: *mut T) {
    LIVE.fetch_sub(1, Ordering::Relaxed);
    let object = Box::from_raw(object);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
}

/// Returns a slice. Go passes a nil pointer for an empty one, which a Rust slice must not hold.
unsafe fn items<'a, T>(p: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        &[]
    } else {
        slice::from_raw_parts(p, len)
    }
}

fn text<'a>(b: &'a [u8], what: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(b).map_err(|e| {
        let kind = if what == "template variables" {
            Kind::Render
        } else {
            Kind::Syntax
        };
        Failure::new(
            kind,
            format!("{what}: invalid UTF-8 at byte {}", e.valid_up_to()),
        )
    })
}

unsafe fn report(failure: Failure, message: *mut Buffer) -> i32 {
    let kind = failure.kind as i32;
    ptr::write(message, Buffer::of(failure.message));
    kind
}

unsafe fn done(result: Result<(), Failure>, message: *mut Buffer) -> i32 {
    match result {
        Ok(()) => 0,
        Err(failure) => report(failure, message),
    }
}

/// Turns a panic into an error.
fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| Err(panicked(p)))
}

fn guarded<T: Send>(f: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || caught(f));
        match worker {
            Ok(worker) => worker.join().unwrap_or_else(|p| Err(panicked(p))),
            Err(e) => Err(Failure::new(
                Kind::Render,
                format!("no thread for the call: {e}"),
            )),
        }
    })
}

fn panicked(payload: Box<dyn Any + Send>) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Failure::new(Kind::Render, format!("internal error: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let f = guarded::<()>(|| panic!("broken {}", 1)).unwrap_err();
        assert_eq!(f.kind, Kind::Render);
        assert_eq!(f.message, "internal error: broken 1");
        assert_eq!(guarded(|| Ok(2)).unwrap(), 2);
    }

    #[test]
    fn a_buffer_is_counted_until_freed() {
        let before = LIVE.load(Ordering::Relaxed);
        let b = Buffer::of(String::new());
        assert_eq!(LIVE.load(Ordering::Relaxed), before + 1);
        unsafe { tandem_buffer_free(b) };
        assert_eq!(LIVE.load(Ordering::Relaxed), before);
    }
}
