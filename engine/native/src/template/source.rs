//! A template's source, made ready for minijinja's compiler.
//!
//! Line ends become \n, as in jinja2's lexer. The generation block of transformers becomes a plain
//! scope. Lines stay where they are, so that errors name the author's lines. Text that minijinja's
//! lexer refuses stays as it is, and its compiler reports it.

use minijinja::machinery::{tokenize, Token};
use minijinja::syntax::SyntaxConfig;

/// Tokens of one tag. minijinja compiles chains of operators by recursion, some in quadratic time.
const MAX_TOKENS: usize = 4_000;

/// Branches of a template's ifs together: minijinja nests each in the one before.
const MAX_BRANCHES: usize = 1_000;

/// Tags that compile to templates of their own, which would run without the checks.
const OTHERS: [&str; 5] = ["block", "extends", "from", "import", "include"];

/// The name of a variable that is 1. minijinja multiplies constants while it compiles, and no limit
/// holds there. So each `*` becomes `*__one*`, which is no constant.
pub const ONE: &str = "__one";

/// Returns the source for minijinja, or what is wrong and in which line.
pub fn prepare(source: &str, syntax: &SyntaxConfig) -> Result<String, String> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::with_capacity(source.len());
    let (mut copied, mut place, mut branches) = (0, 0, 0);
    let mut splat = false; // a star would spread an argument here
    for token in tokenize(&source, false, syntax.clone()) {
        let Ok((token, span)) = token else { break };
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        let mut replace = |text: &str| {
            out.push_str(&source[copied..start]);
            out.push_str(text);
            copied = end;
        };
        place += 1;
        match token {
            Token::BlockStart => place = 0,
            // No name of a tag follows.
            Token::TemplateData(_) | Token::VariableStart => place = 1,
            Token::Ident("generation") if place == 1 => replace("with"),
            Token::Ident("endgeneration") if place == 1 => replace("endwith"),
            Token::Ident("elif") if place == 1 => branches += 1,
            Token::Ident(tag) if place == 1 && OTHERS.contains(&tag) => {
                let line = span.start_line;
                return Err(format!("line {line}: the tag {tag} is not supported"));
            }
            Token::Mul if !splat => replace(&format!("*{ONE}*")),
            _ => {}
        }
        splat = matches!(token, Token::ParenOpen | Token::Comma);
        let line = span.start_line;
        if place > MAX_TOKENS {
            return Err(format!(
                "line {line}: the tag is longer than {MAX_TOKENS} tokens"
            ));
        }
        if branches > MAX_BRANCHES {
            return Err(format!(
                "line {line}: more than {MAX_BRANCHES} elif branches"
            ));
        }
    }
    out.push_str(&source[copied..]);
    Ok(out)
}
