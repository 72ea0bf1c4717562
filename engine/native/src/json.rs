//! Reads JSON into template values.
//!
//! A template must see what Python's json.loads gives: object order, integers of any length as
//! their digits, 1.0 as a float. serde_json offers long integers only through a marker key, which a
//! client could send as data. So the reader is our own.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

/// Arrays and objects inside one another.
pub const MAX_DEPTH: usize = 64;

/// An integer beyond 128 bits. A template can only print it.
#[derive(Debug)]
pub struct LongInt(pub String);

impl Object for LongInt {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, PartialEq)]
pub enum Error {
    Depth,
    /// Byte offset and what was expected there.
    Syntax(usize, &'static str),
}

pub fn parse(text: &str) -> Result<Value, Error> {
    let mut r = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let v = r.value()?;
    r.space();
    if r.at < text.len() {
        return Err(r.expected("the end"));
    }
    Ok(v)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn expected(&self, what: &'static str) -> Error {
        Error::Syntax(self.at, what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, b: u8) -> bool {
        let found = self.peek() == Some(b);
        self.at += found as usize;
        found
    }

    fn word(&mut self, word: &'static str, v: Value) -> Result<Value, Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(v)
    }

    fn value(&mut self) -> Result<Value, Error> {
        self.space();
        match self.peek() {
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'"') => self.string().map(Value::from),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::from(true)),
            Some(b'f') => self.word("false", Value::from(false)),
            Some(b'n') => self.word("null", Value::from(())),
            _ => Err(self.expected("a value")),
        }
    }

    fn nested(&mut self, f: fn(&mut Self) -> Result<Value, Error>) -> Result<Value, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::Depth);
        }
        self.depth += 1;
        self.at += 1;
        let v = f(self)?;
        self.depth -= 1;
        Ok(v)
    }

    fn object(&mut self) -> Result<Value, Error> {
        let mut pairs = Vec::new();
        self.space();
        if !self.take(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.expected("a key"));
                }
                let key = self.string()?;
                self.space();
                if !self.take(b':') {
                    return Err(self.expected("':'"));
                }
                pairs.push((key, self.value()?));
                self.space();
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.expected("',' or '}'"));
                }
            }
        }
        // A repeated key keeps its first place and its last value, as in Python.
        Ok(Value::from_pairs(pairs))
    }

    fn array(&mut self) -> Result<Value, Error> {
        let mut items = Vec::new();
        self.space();
        if !self.take(b']') {
            loop {
                items.push(self.value()?);
                self.space();
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.expected("',' or ']'"));
                }
            }
        }
        Ok(Value::from(items))
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut float = false;
        if self.take(b'.') {
            float = true;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            float = true;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let digits = &self.text[start..self.at];
        if float {
            // Out of range is infinity or zero, as in Python.
            return Ok(Value::from(digits.parse::<f64>().unwrap_or(f64::NAN)));
        }
        Ok(match (digits.parse::<i64>(), digits.parse::<i128>()) {
            (Ok(v), _) => Value::from(v),
            (_, Ok(v)) => Value::from(v),
            _ => Value::from_object(LongInt(digits.to_string())),
        })
    }

    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut s = String::new();
        let mut start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    s.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(s);
                }
                Some(b'\\') => {
                    s.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    s.push(self.escape()?);
                    start = self.at;
                }
                Some(0..=0x1f) | None => return Err(self.expected("'\"'")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let c = self.peek().ok_or(self.expected("an escape"))?;
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => c as char,
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                let tail = &self.text.as_bytes()[self.at..];
                if (0xd800..0xdc00).contains(&high) && tail.starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        let c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        return Ok(char::from_u32(c).unwrap_or('\u{fffd}'));
                    }
                    self.at = back;
                }
                // Half a surrogate pair has no UTF-8 form. encoding/json replaces it too.
                char::from_u32(high).unwrap_or('\u{fffd}')
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("an escape"));
            }
        })
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let mut v = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| (b as char).to_digit(16));
            v = v << 4 | digit.ok_or(self.expected("four hex digits"))?;
            self.at += 1;
        }
        Ok(v)
    }
}
