//! The failure of a call.

/// The values are those of native.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Syntax = 1,
    Raise = 2,
    Limit = 3,
    Render = 4,
    Time = 5,   // of the call's budget
    Memory = 6, // of the call's budget
}

#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

impl Failure {
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
        }
    }
}
