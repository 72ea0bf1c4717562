//! A process that does the crate's work for one client, and copies of it.
//!
//! The client is the other end of a socket. It sends one request at a time and reads one answer.
//! native.h has their form. A process keeps what a request made: a template, a vocabulary or a
//! matcher. A copy begins with what its original has, shares that memory, and answers at a socket
//! of its own. So one call may end its process without harm to any other.

use std::any::Any;
use std::mem::{size_of, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::thread;

use libc::{c_int, c_void};

use crate::budget::{self, Budget};
use crate::failure::{Failure, Kind};
use crate::grammar::{Matcher, Vocabulary};
use crate::template::{Clock, Template};

/// Bytes of stack for a call. Only the touched part takes memory.
const STACK_BYTES: usize = 64 << 20;

/// The head of a request, as in native.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Head {
    what: u8,
    low: u8,
    unused: [u8; 2],
    len: u32,
    time: u32,   // milliseconds
    memory: u32, // KiB
}

/// What the process has made so far.
#[derive(Default)]
struct Made {
    template: Option<Template>,
    vocabulary: Option<Vocabulary>,
    matcher: Option<Matcher>,
}

/// Answers the client at `socket` until it leaves. Then the process ends.
pub fn serve(socket: c_int) -> ! {
    // SAFETY: signals of a terminal or of a service manager are for the client. When it ends, its
    // socket closes. Nobody waits for copies that have ended.
    unsafe {
        for signal in [
            libc::SIGINT,
            libc::SIGTERM,
            libc::SIGHUP,
            libc::SIGPIPE, // a client that has left is told by the result of a write
            libc::SIGCHLD,
        ] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    let answers = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            answer_all(socket);
            // A copy has no other thread, and what it has made need not be taken apart.
            // SAFETY: nothing is left to be done.
            unsafe { libc::_exit(0) }
        });
    if let Ok(answers) = answers {
        let _ = answers.join();
    }
    // SAFETY: nothing is left to be done.
    unsafe { libc::_exit(1) }
}

/// Answers requests in this thread. A copy has this thread alone.
fn answer_all(mut socket: c_int) {
    budget::watch(socket);
    let mut made = Made::default();
    while let Some((head, client)) = read_head(socket) {
        let mut body = vec![0; head.len as usize];
        if !read_all(socket, &mut body) {
            return;
        }
        if head.what == b'f' {
            socket = fork(socket, client);
            continue;
        }
        let budget = Budget::new(u64::from(head.time) * 1_000_000, (head.memory as usize) << 10);
        let mut call = || caught(|| made.answer(head.what, &body));
        let answer = match head.low {
            0 => call(),
            _ => lowered(call),
        };
        drop(budget);
        let sent = match answer {
            Ok(bytes) => send(socket, 0, &bytes),
            Err(f) => send(socket, f.kind as u8, f.message.as_bytes()),
        };
        if !sent {
            return;
        }
    }
}

/// Makes a copy that answers at `client`. Returns the socket at which the caller goes on.
fn fork(socket: c_int, client: Option<c_int>) -> c_int {
    let Some(client) = client else { return socket };
    // SAFETY: this thread is the only one that does work, and a copy continues it.
    unsafe {
        match libc::fork() {
            0 => {
                libc::close(socket);
                budget::watch(client);
                return client;
            }
            -1 => {
                let e = std::io::Error::last_os_error();
                let message = format!("the system makes no process for it: {e}");
                send(client, Kind::Render as u8, message.as_bytes());
            }
            _ => {}
        }
        libc::close(client);
    }
    socket
}

impl Made {
    fn answer(&mut self, what: u8, body: &[u8]) -> Result<Vec<u8>, Failure> {
        match what {
            b't' => {
                self.template = Some(Template::new(text(body, "template")?)?);
                Ok(Vec::new())
            }
            b'r' => {
                let (clock, vars) = body.split_at_checked(size_of::<Clock>()).ok_or(malformed())?;
                let template = self.template.as_ref().ok_or(malformed())?;
                let vars = text(vars, "template variables")?;
                Ok(template.render(vars, Clock::from(clock))?.into_bytes())
            }
            b'v' => {
                self.vocabulary = Some(vocabulary(body)?);
                Ok(Vec::new())
            }
            b'g' => {
                let vocabulary = self.vocabulary.as_ref().ok_or(malformed())?;
                self.matcher = Some(Matcher::new(vocabulary, text(body, "grammar")?)?);
                self.stopped()
            }
            b'w' => {
                let from = number(body, 0)? as usize;
                let drafts: Result<Vec<u32>, _> =
                    (1..body.len() / 4).map(|i| number(body, i)).collect();
                let drafts = drafts?;
                let matcher = self.matcher()?;
                if from > drafts.len() || drafts.iter().any(|&id| id as usize >= matcher.size()) {
                    return Err(malformed());
                }
                matcher.walk(&drafts, from)
            }
            b'a' => {
                self.matcher()?.accept(number(body, 0)?)?;
                self.stopped()
            }
            b'b' => {
                self.matcher()?.rollback(number(body, 0)? as usize)?;
                self.stopped()
            }
            _ => Err(malformed()),
        }
    }

    /// Returns one byte: whether only the end may follow.
    fn stopped(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(vec![self.matcher()?.stopped() as u8])
    }

    fn matcher(&mut self) -> Result<&mut Matcher, Failure> {
        self.matcher.as_mut().ok_or(malformed())
    }
}

/// Reads a vocabulary: the numbers of tokens and of end tokens, where each token's bytes end, the
/// end tokens, and the bytes.
fn vocabulary(body: &[u8]) -> Result<Vocabulary, Failure> {
    let tokens = number(body, 0)? as usize;
    let eos = number(body, 1)? as usize;
    let bytes = body.get(4 * (2 + tokens + eos)..).ok_or(malformed())?;
    let numbers = |from: usize, n: usize| {
        let each = (from..from + n).map(|i| number(body, i));
        each.collect::<Result<Vec<u32>, Failure>>()
    };
    let (ends, eos) = (numbers(2, tokens)?, numbers(2 + tokens, eos)?);
    Vocabulary::new(bytes, &ends, &eos)
}

/// Returns the i-th number of four bytes.
fn number(body: &[u8], i: usize) -> Result<u32, Failure> {
    let bytes = body.get(4 * i..4 * i + 4).ok_or(malformed())?;
    Ok(u32::from_ne_bytes(bytes.try_into().map_err(|_| malformed())?))
}

fn malformed() -> Failure {
    Failure::new(Kind::Render, "internal error: the request is malformed")
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

/// Turns a panic into an error.
fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| Err(panicked(p)))
}

/// Runs a call in a thread with the lowest priority. A thread cannot raise its own again.
fn lowered<T: Send>(call: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                lower_priority();
                call()
            });
        match worker {
            Ok(worker) => worker.join().unwrap_or_else(|p| Err(panicked(p))),
            Err(e) => Err(Failure::new(
                Kind::Render,
                format!("the system makes no thread for it: {e}"),
            )),
        }
    })
}

/// Gives this thread the lowest priority.
fn lower_priority() {
    #[cfg(target_os = "macos")]
    const THREAD: (c_int, c_int) = (libc::PRIO_DARWIN_THREAD, libc::PRIO_DARWIN_BG);
    // Linux takes 0 for the calling thread, not for its process.
    #[cfg(not(target_os = "macos"))]
    const THREAD: (libc::__priority_which_t, c_int) = (libc::PRIO_PROCESS, 19);
    // SAFETY: it changes nothing else.
    unsafe { libc::setpriority(THREAD.0, 0, THREAD.1) };
}

fn panicked(payload: Box<dyn Any + Send>) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Failure::new(Kind::Render, format!("internal error: {text}"))
}

/// Reads the head of a request and the socket that may come with it. None means that the client is
/// gone.
fn read_head(socket: c_int) -> Option<(Head, Option<c_int>)> {
    let mut head = Head::default();
    let mut control = [0u64; 8]; // aligned room for one socket
    let mut parts = libc::iovec {
        iov_base: ptr::from_mut(&mut head).cast(),
        iov_len: size_of::<Head>(),
    };
    // SAFETY: the message leads to memory that outlives the call.
    unsafe {
        let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
        message.msg_iov = &mut parts;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let n = loop {
            let n = libc::recvmsg(socket, &mut message, 0);
            if n >= 0 || !interrupted() {
                break n;
            }
        };
        if n <= 0 {
            return None;
        }
        let rest = std::slice::from_raw_parts_mut(
            ptr::from_mut(&mut head).cast::<u8>().add(n as usize),
            size_of::<Head>() - n as usize,
        );
        if !read_all(socket, rest) {
            return None;
        }
        let first = libc::CMSG_FIRSTHDR(&message);
        let client = match first.as_ref() {
            Some(c) if c.cmsg_type == libc::SCM_RIGHTS => {
                Some(ptr::read_unaligned(libc::CMSG_DATA(first).cast::<c_int>()))
            }
            _ => None,
        };
        Some((head, client))
    }
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}

/// Fills `b`. Returns false if the client is gone.
fn read_all(socket: c_int, mut b: &mut [u8]) -> bool {
    while !b.is_empty() {
        // SAFETY: b is writable.
        let n = unsafe { libc::read(socket, b.as_mut_ptr().cast::<c_void>(), b.len()) };
        match n {
            0 => return false,
            n if n > 0 => b = &mut b[n as usize..],
            _ if interrupted() => {}
            _ => return false,
        }
    }
    true
}

/// Sends an answer. Returns false if the client is gone.
fn send(socket: c_int, kind: u8, body: &[u8]) -> bool {
    let mut frame = Vec::with_capacity(5 + body.len());
    frame.push(kind);
    frame.extend_from_slice(&(body.len() as u32).to_ne_bytes());
    frame.extend_from_slice(body);
    let mut rest = frame.as_slice();
    while !rest.is_empty() {
        // SAFETY: rest is readable.
        let n = unsafe { libc::write(socket, rest.as_ptr().cast::<c_void>(), rest.len()) };
        match n {
            n if n > 0 => rest = &rest[n as usize..],
            _ if interrupted() => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let f = caught::<()>(|| panic!("broken {}", 1)).unwrap_err();
        assert_eq!(f.kind, Kind::Render);
        assert_eq!(f.message, "internal error: broken 1");
        assert_eq!(lowered(|| Ok(2)).unwrap(), 2);
    }
}
