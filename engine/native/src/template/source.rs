//! Rewrites a template's source before minijinja compiles it.
//!
//! minijinja reads jinja2's language, but its operators are its own and cannot be replaced: `%`
//! does not format, `~` prints floats its way and may build gigabytes, a slice is no list, and
//! `d.items` is a key where Python finds a method. So each such operator becomes a filter of
//! operators.rs with the same operands: `a ~ b` turns into `a|__cat(b)`. Filters bind tighter
//! than every binary operator, which is why chains need no parentheses around the whole.
//! Lines stay where they are, so that errors name the author's lines. Whatever the rewriter does
//! not understand it copies, and minijinja reports it.
//!
//! The rest: line ends become \n and one at the end goes, as jinja2's lexer has it, and the
//! generation block of transformers becomes a plain scope.

use std::collections::HashSet;

use super::token::{literal, tokens, Sort, Token};

/// Names for which Python's dict has a method.
const DICT_METHODS: [&str; 11] = [
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

/// Names that end an operand.
const KEYWORDS: [&str; 9] = ["and", "else", "elif", "for", "if", "in", "is", "not", "or"];

/// Parentheses inside one another. minijinja refuses a little more than this.
const MAX_DEPTH: usize = 100;

/// Tokens of one tag. minijinja follows chains of operators by recursion, some in quadratic time.
const MAX_TOKENS: usize = 4_000;

/// Branches of a template's ifs together: minijinja nests each in the one before.
const MAX_BRANCHES: usize = 1_000;

/// The source for minijinja, or what is wrong and in which line.
pub fn rewrite(source: &str) -> Result<String, String> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut out = String::with_capacity(source.len() * 2);
    let mut macros = Macros::default();
    let mut branches = 0;
    let (mut line, mut counted) = (1, 0);
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        let start = at + found;
        let tail = &source[start..];
        let end = match tail.as_bytes().get(1) {
            Some(b'#') => tail.find("#}").map(|i| start + i + 2),
            Some(b'%') if tag_name(&tail[2..]) == "raw" => {
                // jinja2 keeps the line end behind {% raw %}; the plus makes minijinja keep it.
                if let Some(close) = tail
                    .find("%}")
                    .filter(|i| !tail[..*i].ends_with(['-', '+']))
                {
                    out.push_str(&source[at..start + close]);
                    out.push('+');
                    at = start + close;
                }
                raw_end(source, start)
            }
            Some(b @ (b'%' | b'{')) => {
                let marks = if *b == b'%' { "%}" } else { "}}" };
                let mut open = start + 2;
                open += tail[2..].starts_with(['-', '+']) as usize;
                line += source[counted..start].matches('\n').count();
                counted = start;
                let Some((tokens, end)) = tokens(source, open, marks) else {
                    break;
                };
                if tokens.len() > MAX_TOKENS {
                    return Err(format!(
                        "line {line}: the tag is longer than {MAX_TOKENS} tokens"
                    ));
                }
                branches +=
                    (marks == "%}" && tokens.first().is_some_and(|t| t.text == "elif")) as usize;
                if branches > MAX_BRANCHES {
                    return Err(format!(
                        "line {line}: more than {MAX_BRANCHES} elif branches"
                    ));
                }
                if let Some(t) = tokens
                    .iter()
                    .find(|t| t.sort == Sort::Text && literal(t.text).is_none())
                {
                    return Err(format!("line {line}: bad escape in {}", t.text));
                }
                out.push_str(&source[at..open]);
                macros.follow(&tokens, line, marks == "%}")?;
                let mut tag = Tag {
                    tokens: &tokens,
                    at: 0,
                    depth: 0,
                };
                let text = if marks == "%}" {
                    tag.statement()
                } else {
                    tag.sequence()
                };
                out.push_str(&text.ok_or(format!(
                    "line {line}: the expression nests deeper than {MAX_DEPTH}"
                ))?);
                at = end;
                continue;
            }
            _ => Some(start + 1),
        };
        let Some(end) = end else { break };
        out.push_str(&source[at..end]);
        at = end;
    }
    out.push_str(&source[at..]);
    Ok(out)
}

fn tag_name(s: &str) -> &str {
    let s = s.trim_start_matches(['-', '+']).trim_start();
    &s[..s
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(s.len())]
}

fn raw_end(source: &str, start: usize) -> Option<usize> {
    let mut at = start + 2;
    loop {
        at += source[at..].find("{%")? + 2;
        if tag_name(&source[at..]) == "endraw" {
            return Some(at + source[at..].find("%}")? + 2);
        }
    }
}

/// An operand as text; `plain` if a filter may follow it without parentheses.
struct Operand {
    text: String,
    plain: bool,
}

impl Operand {
    /// The text with a filter put behind it: the white space in front stays in front.
    fn filtered(self, name: &str, args: &str) -> Operand {
        let body = self.text.trim_start();
        let space = &self.text[..self.text.len() - body.len()];
        let text = match self.plain {
            true => format!("{space}{body}|{name}({args})"),
            false => format!("{space}({body})|{name}({args})"),
        };
        Operand { text, plain: true }
    }

    /// A primary again, for a postfix to follow.
    fn closed(self) -> Operand {
        let body = self.text.trim_start();
        let space = &self.text[..self.text.len() - body.len()];
        Operand {
            text: format!("{space}({body})"),
            plain: true,
        }
    }
}

struct Tag<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
}

/// None from any of these: too deep.
impl<'a> Tag<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |t| t.text)
    }

    fn sort(&self, ahead: usize) -> Option<Sort> {
        self.tokens.get(self.at + ahead).map(|t| t.sort)
    }

    /// The next token as it stands.
    fn copy(&mut self) -> String {
        let Some(t) = self.tokens.get(self.at) else {
            return String::new();
        };
        self.at += 1;
        match t.sort {
            Sort::Text => t.space.to_owned() + &literal(t.text).unwrap_or_default(),
            _ => [t.space, t.text].concat(),
        }
    }

    fn statement(&mut self) -> Option<String> {
        let mut out = match self.peek(0) {
            "generation" => self.copy().replace("generation", "with"),
            "endgeneration" => self.copy().replace("endgeneration", "endwith"),
            _ => self.copy(),
        };
        if out.trim() == "set" && self.peek(1) == "." && self.peek(3) == "=" {
            for _ in 0..4 {
                out += &self.copy();
            }
            let value = Operand {
                text: self.sequence()?,
                plain: false,
            };
            return Some(out + &value.filtered("__stored", "").text);
        }
        Some(out + &self.sequence()?)
    }

    /// Expressions and what stands between them, up to the closing bracket or the end.
    fn sequence(&mut self) -> Option<String> {
        let mut out = String::new();
        while self.at < self.tokens.len() {
            match self.peek(0) {
                ")" | "]" | "}" => break,
                t if KEYWORDS.contains(&t) && self.sort(0) == Some(Sort::Name) => {
                    out += &self.copy()
                }
                "-" | "+" | "(" | "[" | "{" => out += &self.sum()?.text,
                _ if self.sort(0) != Some(Sort::Mark) => out += &self.sum()?.text,
                _ => out += &self.copy(),
            }
        }
        Some(out)
    }

    /// One level of jinja2's binary operators: those of `ops` in filters where `names` has one.
    fn chain(
        &mut self,
        ops: &[(&str, &str)],
        next: fn(&mut Self) -> Option<Operand>,
    ) -> Option<Operand> {
        let mut left = next(self)?;
        while let Some((_, filter)) = ops.iter().find(|(op, _)| *op == self.peek(0)) {
            let op = self.copy();
            let right = next(self)?;
            left = if filter.is_empty() {
                Operand {
                    text: left.text + &op + &right.text,
                    plain: false,
                }
            } else {
                // The operator's white space may hold line ends.
                let space = &op[..op.len() - op.trim_start().len()];
                left.filtered(filter, &[space, &right.text].concat())
            };
        }
        Some(left)
    }

    fn sum(&mut self) -> Option<Operand> {
        self.chain(&[("+", "__add"), ("-", "")], Self::concatenation)
    }

    fn concatenation(&mut self) -> Option<Operand> {
        self.chain(&[("~", "__cat")], Self::product)
    }

    fn product(&mut self) -> Option<Operand> {
        self.chain(
            &[("*", "__mul"), ("%", "__mod"), ("/", ""), ("//", "")],
            Self::power,
        )
    }

    fn power(&mut self) -> Option<Operand> {
        self.chain(&[("**", "")], Self::unary)
    }

    /// A signed operand with its postfixes, filters and tests.
    fn unary(&mut self) -> Option<Operand> {
        let mut sign = String::new();
        while matches!(self.peek(0), "-" | "+") {
            sign += &self.copy();
        }
        let mut v = self.postfix()?;
        if !sign.is_empty() {
            v = Operand {
                text: sign + &v.text,
                plain: false,
            };
        }
        loop {
            match self.peek(0) {
                "|" => {
                    if !v.plain {
                        v = v.closed();
                    }
                    v.text += &self.copy();
                    v.text += &self.dotted();
                    if self.peek(0) == "(" {
                        v.text += &self.bracket()?;
                    }
                }
                "is" if self.sort(0) == Some(Sort::Name) => {
                    v.text += &self.copy();
                    if self.peek(0) == "not" {
                        v.text += &self.copy();
                    }
                    v.text += &self.dotted();
                    v.plain = false;
                    let argument = match (self.peek(0), self.sort(0)) {
                        ("(" | "[" | "{", _) | (_, Some(Sort::Text | Sort::Number)) => true,
                        (t, Some(Sort::Name)) => !KEYWORDS.contains(&t),
                        _ => false,
                    };
                    if argument {
                        v.text += &self.postfix()?.text;
                    }
                }
                _ => return Some(v),
            }
        }
    }

    /// The name of a filter or test.
    fn dotted(&mut self) -> String {
        let mut out = self.copy();
        while self.peek(0) == "." {
            out += &self.copy();
            out += &self.copy();
        }
        out
    }

    fn bracket(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut out = self.copy();
        out += &self.sequence()?;
        out += &self.copy();
        self.depth -= 1;
        Some(out)
    }

    fn primary(&mut self) -> Option<Operand> {
        match (self.peek(0), self.sort(0)) {
            ("(" | "[" | "{", _) => Some(Operand {
                text: self.bracket()?,
                plain: true,
            }),
            (_, Some(Sort::Text)) => {
                // Adjacent texts are one text, as in Python.
                let mut v = Operand {
                    text: self.copy(),
                    plain: true,
                };
                while self.sort(0) == Some(Sort::Text) {
                    let next = self.copy();
                    v = v.filtered("__cat", &next).closed();
                }
                Some(v)
            }
            (_, sort) => Some(Operand {
                text: self.copy(),
                plain: sort != Some(Sort::Mark),
            }),
        }
    }

    fn postfix(&mut self) -> Option<Operand> {
        let mut v = self.primary()?;
        loop {
            match self.peek(0) {
                "." => {
                    let name = self.peek(1);
                    if DICT_METHODS.contains(&name) && self.peek(2) != "(" {
                        self.at += 2;
                        v = v.filtered("__attr", &format!("'{name}'")).closed();
                    } else {
                        v.text += &self.copy();
                        v.text += &self.copy();
                    }
                }
                "(" => v.text += &self.bracket()?,
                "[" => {
                    let key = self.peek(1).trim_matches(['"', '\'']);
                    if self.peek(2) == "]"
                        && self.sort(1) == Some(Sort::Text)
                        && DICT_METHODS.contains(&key)
                    {
                        self.at += 3;
                        v = v.filtered("__item", &format!("'{key}'")).closed();
                    } else if self.at_slice() {
                        let bounds = self.slice()?;
                        v = v.filtered("__slice", &bounds).closed();
                    } else {
                        v.text += &self.bracket()?;
                    }
                }
                _ => return Some(v),
            }
        }
    }

    /// Whether the bracket that comes next holds a colon of its own.
    fn at_slice(&self) -> bool {
        let mut open = 0;
        for t in &self.tokens[self.at..] {
            match t.text {
                "(" | "[" | "{" => open += 1,
                ")" | "]" | "}" if open == 1 => return false,
                ")" | "]" | "}" => open -= 1,
                ":" if open == 1 => return true,
                _ => {}
            }
        }
        false
    }

    /// `[start:stop:step]` as the arguments of a filter.
    fn slice(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.at += 1;
        let mut bounds = vec![String::new()];
        loop {
            match self.peek(0) {
                "]" | ")" | "}" | "" => break,
                ":" => {
                    self.at += 1;
                    bounds.push(String::new());
                }
                t if KEYWORDS.contains(&t) => *bounds.last_mut()? += &self.copy(),
                _ => *bounds.last_mut()? += &self.sum()?.text,
            }
        }
        self.at += 1;
        self.depth -= 1;
        let bounds = bounds
            .iter()
            .map(|b| if b.trim().is_empty() { "none" } else { b });
        Some(bounds.collect::<Vec<&str>>().join(", "))
    }
}

/// Finds the variables that jinja2 gives a macro unasked. minijinja has none, and taking them
/// for undefined would drop what the caller passed.
#[derive(Default)]
struct Macros<'a> {
    /// Parameters of the macros around.
    open: Vec<HashSet<&'a str>>,
}

impl<'a> Macros<'a> {
    fn follow(&mut self, tokens: &[Token<'a>], line: usize, statement: bool) -> Result<(), String> {
        match tokens.first().map_or("", |t| t.text) {
            "macro" if statement => {
                self.open.push(
                    tokens
                        .iter()
                        .filter(|t| t.sort == Sort::Name)
                        .map(|t| t.text)
                        .collect(),
                );
            }
            "endmacro" if statement => {
                self.open.pop();
            }
            _ => {}
        }
        if self.open.is_empty() {
            return Ok(());
        }
        for (i, t) in tokens.iter().enumerate() {
            let name = matches!(t.text, "kwargs" | "varargs") && t.sort == Sort::Name;
            let attribute = i > 0 && tokens[i - 1].text == ".";
            let keyword = tokens.get(i + 1).is_some_and(|t| t.text == "=");
            if name && !attribute && !keyword && !self.open.iter().any(|p| p.contains(t.text)) {
                return Err(format!(
                    "line {line}: a macro's implicit {} is not supported",
                    t.text
                ));
            }
        }
        Ok(())
    }
}
