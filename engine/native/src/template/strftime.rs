//! strftime_now: the time the caller gives, in the C locale as Python's strftime prints it.

use std::fmt::Write;

use minijinja::Error;

use super::invalid;

/// Local time, broken down by the caller. The fields are those of native.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub year: i32,
    /// 1 to 12.
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub microsecond: i32,
    /// 0 is Sunday.
    pub weekday: i32,
    /// 1 to 366.
    pub yearday: i32,
}

impl Clock {
    pub const ZERO: Clock = Clock {
        year: 1970,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        microsecond: 0,
        weekday: 4,
        yearday: 1,
    };
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

/// `%-d` and its like drop the padding, as glibc and macOS do. The time carries no zone, so
/// `%z` and `%Z` are empty.
pub fn strftime(format: &str, t: &Clock) -> Result<String, Error> {
    let day = DAYS[t.weekday.rem_euclid(7) as usize];
    let month = MONTHS[(t.month - 1).rem_euclid(12) as usize];
    let hour12 = (t.hour + 11) % 12 + 1;
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
        let mut padded = |n: i32, width: usize, fill: char| {
            let _ = match (bare, fill) {
                (true, _) => write!(out, "{n}"),
                (_, ' ') => write!(out, "{n:>width$}"),
                _ => write!(out, "{n:0>width$}"),
            };
        };
        match directive {
            Some('d') => padded(t.day, 2, '0'),
            Some('e') => padded(t.day, 2, ' '),
            Some('H') => padded(t.hour, 2, '0'),
            Some('I') => padded(hour12, 2, '0'),
            Some('j') => padded(t.yearday, 3, '0'),
            Some('k') => padded(t.hour, 2, ' '),
            Some('l') => padded(hour12, 2, ' '),
            Some('m') => padded(t.month, 2, '0'),
            Some('M') => padded(t.minute, 2, '0'),
            Some('S') => padded(t.second, 2, '0'),
            Some('y') => padded(t.year.rem_euclid(100), 2, '0'),
            Some('C') => padded(t.year.div_euclid(100), 2, '0'),
            Some('U') => padded((t.yearday + 6 - t.weekday) / 7, 2, '0'),
            Some('W') => padded((t.yearday + 6 - (t.weekday + 6) % 7) / 7, 2, '0'),
            Some('w') => padded(t.weekday, 1, '0'),
            Some('u') => padded((t.weekday + 6) % 7 + 1, 1, '0'),
            Some('Y') => padded(t.year, 1, '0'),
            Some('f') => padded(t.microsecond, 6, '0'),
            Some('a') => out.push_str(&day[..3]),
            Some('A') => out.push_str(day),
            Some('b' | 'h') => out.push_str(&month[..3]),
            Some('B') => out.push_str(month),
            Some('p') => out.push_str(if t.hour < 12 { "AM" } else { "PM" }),
            Some('c') => out.push_str(&strftime("%a %b %e %H:%M:%S %Y", t)?),
            Some('D' | 'x') => out.push_str(&strftime("%m/%d/%y", t)?),
            Some('F') => out.push_str(&strftime("%Y-%m-%d", t)?),
            Some('T' | 'X') => out.push_str(&strftime("%H:%M:%S", t)?),
            Some('R') => out.push_str(&strftime("%H:%M", t)?),
            Some('r') => out.push_str(&strftime("%I:%M:%S %p", t)?),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('%') => out.push('%'),
            Some('z' | 'Z') => {}
            Some(c) => return Err(invalid(format!("strftime_now: %{c} is not supported"))),
            None => return Err(invalid("strftime_now: the format ends in a lone %")),
        }
    }
    Ok(out)
}
