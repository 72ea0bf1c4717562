//! Chat templates and grammars for Go, in processes of their own. native.h is the interface.

mod budget;
mod failure;
mod grammar;
mod json;
mod process;
mod regex;
mod template;

#[global_allocator]
static ALLOCATOR: budget::Counted = budget::Counted;

/// Answers the client at `socket` until it leaves. Then the process ends.
#[no_mangle]
pub extern "C" fn tandem_native_serve(socket: libc::c_int) -> ! {
    process::serve(socket)
}
