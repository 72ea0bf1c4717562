//! strftime_now: the caller's time, as Python's strftime prints it in the C locale.

use std::fmt::Write;

use minijinja::Error;

use super::invalid;

/// Local time, broken down by the caller. The fields are those of native.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    pub year: i32,
    /// 1 to 12.
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    /// 0 is Sunday.
    pub weekday: i32,
}

impl From<&[u8]> for Clock {
    /// Reads seven numbers of four bytes. A number that is missing is 0.
    fn from(bytes: &[u8]) -> Clock {
        let mut n = bytes
            .chunks_exact(4)
            .map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        let mut next = || n.next().unwrap_or(0);
        Clock {
            year: next(),
            month: next(),
            day: next(),
            hour: next(),
            minute: next(),
            second: next(),
            weekday: next(),
        }
    }
}

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the time in a format of dates and times of day. `%-d` and its like drop the padding, as
/// glibc and macOS do. Published templates use %Y, %m, %d and %b.
pub fn strftime(format: &str, t: &Clock) -> Result<String, Error> {
    let day = DAYS[t.weekday.rem_euclid(7) as usize];
    let month = MONTHS[(t.month - 1).rem_euclid(12) as usize];
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut directive = chars.next();
        let bare = directive == Some('-');
        if bare {
            directive = chars.next();
        }
        let number = match directive {
            Some('d') => t.day,
            Some('H') => t.hour,
            Some('I') => (t.hour + 11) % 12 + 1,
            Some('m') => t.month,
            Some('M') => t.minute,
            Some('S') => t.second,
            Some('y') => t.year.rem_euclid(100),
            _ => -1,
        };
        match directive {
            _ if number >= 0 => {
                let width = if bare { 1 } else { 2 };
                let _ = write!(out, "{number:0>width$}");
            }
            Some('Y') => out.push_str(&t.year.to_string()),
            Some('a') => out.push_str(&day[..3]),
            Some('A') => out.push_str(day),
            Some('b') => out.push_str(&month[..3]),
            Some('B') => out.push_str(month),
            Some('p') => out.push_str(if t.hour < 12 { "AM" } else { "PM" }),
            Some('%') => out.push('%'),
            Some(c) => return Err(invalid(format!("strftime_now: %{c} is not supported"))),
            None => return Err(invalid("strftime_now: the format ends in a lone %")),
        }
    }
    Ok(out)
}
