//! Grammars by llguidance: which tokens may follow a text.
//!
//! A [`Vocabulary`] knows the bytes of a model's tokens. It is made once and shared. A [`Matcher`]
//! reads one text by one grammar, token by token.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::ParserFactory;
use toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};

use crate::failure::{Failure, Kind};
use crate::regex;

/// Bytes of a token. llguidance's tree holds no longer ones.
const TOKEN_BYTES: usize = 1 << 10;

/// Bytes of a grammar with its schemas.
const SOURCE_BYTES: usize = 1 << 20;

/// The tokens of a model.
pub struct Vocabulary {
    factory: ParserFactory,
    size: usize,
}

impl Vocabulary {
    /// `ends` says where each token's bytes end in `bytes`. A special token's bytes begin with 0xFF.
    /// A token without bytes is never allowed. `eos` end a text.
    pub fn new(bytes: &[u8], ends: &[u32], eos: &[u32]) -> Result<Vocabulary, Failure> {
        let mut words = Vec::with_capacity(ends.len());
        let mut from = 0;
        for &end in ends {
            let to = end as usize;
            if to < from || to > bytes.len() {
                return Err(invalid("the tokens' bytes are out of order"));
            }
            let word = &bytes[from..to];
            words.push(if word.len() < TOKEN_BYTES {
                word.to_vec()
            } else {
                Vec::new()
            });
            from = to;
        }
        let size = words.len();
        if eos.is_empty() || eos.iter().any(|&id| id as usize >= size) {
            return Err(invalid("a vocabulary needs a token that ends a text"));
        }
        let trie = TokTrie::from(&TokRxInfo::new(size as u32, eos[0]), &words).with_eos_tokens(eos);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new(
            &env,
            InferenceCapabilities::default(),
            &llguidance::earley::SlicedBiasComputer::general_slices(),
        )
        .map_err(invalid)?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Vocabulary { factory, size })
    }
}

/// One text and what may follow it.
pub struct Matcher {
    inner: llguidance::Matcher,
    size: usize,
}

impl Matcher {
    /// `source` is one grammar, or a list of grammars that refer to each other by name, in
    /// llguidance's form: `{"grammars": [{"json_schema": ...}]}`. Rules in Lark may have the expressions
    /// of [`regex`].
    pub fn new(vocabulary: &Vocabulary, source: &str) -> Result<Matcher, Failure> {
        if source.len() > SOURCE_BYTES {
            return Err(Failure::new(
                Kind::Limit,
                format!(
                    "it has {} bytes, at most {SOURCE_BYTES} are read",
                    source.len()
                ),
            ));
        }
        let mut grammar: TopLevelGrammar =
            serde_json::from_str(source).map_err(|e| Failure::new(Kind::Syntax, e.to_string()))?;
        for rules in grammar
            .grammars
            .iter_mut()
            .filter_map(|g| g.lark_grammar.as_mut())
        {
            *rules = regex::expand(rules)?;
        }
        let parser = vocabulary.factory.create_parser(grammar);
        let inner = llguidance::Matcher::new(parser);
        match inner.get_error() {
            Some(message) => Err(Failure::new(Kind::Syntax, message)),
            None => Ok(Matcher {
                inner,
                size: vocabulary.size,
            }),
        }
    }

    /// Returns the bits of the tokens that may follow, as native.h says. If nothing else may, these
    /// are the tokens that end a text.
    fn mask(&mut self) -> Result<Vec<u8>, Failure> {
        let set = self.inner.compute_mask_or_eos().map_err(broken)?;
        let words = self.size.div_ceil(32);
        let mut bits = vec![0u32; words];
        let n = set.as_slice().len().min(words);
        bits[..n].copy_from_slice(&set.as_slice()[..n]);
        if self.size % 32 != 0 {
            bits[self.size / 32] &= (1 << (self.size % 32)) - 1;
        }
        Ok(bits.iter().flat_map(|w| w.to_ne_bytes()).collect())
    }

    /// Returns the masks of what may follow the text and each draft, from the row `from` on. After a
    /// draft that is not allowed, or that ends the text, every token is. Drafts before `from` are
    /// taken as allowed. The text stays as it is.
    pub fn walk(&mut self, drafts: &[u32], from: usize) -> Result<Vec<u8>, Failure> {
        let row = self.size.div_ceil(32) * 4;
        let mut rows = Vec::new();
        let mut walked = 0;
        while !(walked > 0 && self.stopped()) {
            let next = drafts.get(walked).copied();
            if walked >= from {
                let mask = self.mask()?;
                let allowed = |id: &u32| mask[*id as usize / 8] >> (id % 8) & 1 != 0;
                let forbidden = !next.as_ref().is_some_and(allowed);
                rows.extend(mask);
                if forbidden {
                    break;
                }
            }
            let Some(id) = next else { break };
            self.accept(id)?;
            walked += 1;
        }
        self.rollback(walked)?;
        rows.resize(row * (drafts.len() + 1 - from), 0xff);
        Ok(rows)
    }

    /// Moves on by a token that the mask allows. Any other token breaks the matcher.
    pub fn accept(&mut self, token: u32) -> Result<(), Failure> {
        self.inner.consume_token(token).map_err(broken)
    }

    /// Takes the last n tokens back.
    pub fn rollback(&mut self, n: usize) -> Result<(), Failure> {
        self.inner.rollback(n).map_err(broken)
    }

    /// The number of the vocabulary's tokens.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether only the end may follow.
    pub fn stopped(&self) -> bool {
        self.inner.is_stopped()
    }
}

fn invalid(e: impl ToString) -> Failure {
    Failure::new(Kind::Render, e.to_string())
}

fn broken(e: impl ToString) -> Failure {
    Failure::new(Kind::Limit, e.to_string())
}
