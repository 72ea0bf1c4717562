//! What one call may take: processor time, memory, and a client that still waits.
//!
//! llguidance and minijinja cannot be stopped from outside, and not all of their work counts
//! against a limit of theirs. So the process watches itself and ends when a call has used up its
//! budget. That ends everything the call has begun, and gives all its memory back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use libc::c_int;

use crate::failure::Kind;

/// Microseconds between two looks at the clock and at the client.
const TICK: libc::suseconds_t = 20_000;

/// Bytes allocated now, when the process began to answer, and how many may be.
static USED: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The processor time of this process at which the call ends, in nanoseconds.
static END: AtomicU64 = AtomicU64::new(u64::MAX);
/// Where the client is told.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

/// Lets budgets act on this process, which begins to answer. `socket` leads to the client.
pub fn watch(socket: c_int) {
    SOCKET.store(socket, Relaxed);
    BEGUN.store(USED.load(Relaxed), Relaxed);
    // SAFETY: the handler calls only what a handler may call.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = tick as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &action, ptr::null_mut());
    }
}

/// The budget of the call under way. It is lifted when this is dropped.
pub struct Budget;

impl Budget {
    /// `time` is in nanoseconds, `memory` in bytes above what the process began with.
    pub fn new(time: u64, memory: usize) -> Budget {
        END.store(processor_time().saturating_add(time), Relaxed);
        MOST.store(BEGUN.load(Relaxed).saturating_add(memory), Relaxed);
        set_timer(TICK);
        Budget
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        set_timer(0);
        MOST.store(usize::MAX, Relaxed);
        END.store(u64::MAX, Relaxed);
    }
}

fn set_timer(every: libc::suseconds_t) {
    let interval = libc::timeval {
        tv_sec: 0,
        tv_usec: every,
    };
    let timer = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    // SAFETY: the timer is read before the call returns.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) };
}

/// Ends the process if its client is gone or its time is used up. It runs as a signal handler.
extern "C" fn tick(_: c_int) {
    // SAFETY: all of these calls may be made in a handler. The code that it interrupts finds errno
    // unchanged.
    unsafe {
        let errno = *errno();
        let mut byte = 0u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        let socket = SOCKET.load(Relaxed);
        if libc::recv(socket, ptr::from_mut(&mut byte).cast(), 1, flags) == 0 {
            libc::_exit(0);
        }
        if processor_time() >= END.load(Relaxed) {
            end(Kind::Time);
        }
        *self::errno() = errno;
    }
}

/// Tells the client why, and ends the process. It allocates nothing.
fn end(why: Kind) -> ! {
    let frame = [why as u8, 0, 0, 0, 0];
    // SAFETY: both calls may be made in a signal handler, and in the allocator.
    unsafe {
        libc::write(SOCKET.load(Relaxed), frame.as_ptr().cast(), frame.len());
        libc::_exit(1)
    }
}

fn processor_time() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock is written before the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

unsafe fn errno() -> *mut c_int {
    #[cfg(target_os = "macos")]
    return libc::__error();
    #[cfg(not(target_os = "macos"))]
    libc::__errno_location()
}

/// The system's allocator, which counts. A call that asks for more than its budget ends the
/// process.
pub struct Counted;

impl Counted {
    fn take(&self, size: usize) {
        let used = USED.fetch_add(size, Relaxed).saturating_add(size);
        if used > MOST.load(Relaxed) {
            end(Kind::Memory);
        }
    }
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        System.alloc_zeroed(layout)
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.take(size);
        USED.fetch_sub(layout.size(), Relaxed);
        System.realloc(p, layout, size)
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        System.dealloc(p, layout)
    }
}
