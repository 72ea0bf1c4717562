// Package sample turns logits into tokens.
//
// The processed distribution p of a request comes from the model's logits by
// penalties, logit bias, a grammar's mask, temperature, top-k, top-p and min-p, in
// this order.
// The token at absolute position i is
//
//	argmax over ids of log p(id) + g(seed, i)(id)
//
// with Gumbel noise g keyed by (seed, i) alone, which is a draw from p. So for
// one seed the output is the same token for token however the positions were
// grouped into forwards, after a restore, and on a replay; there is no sampler
// state beyond seed and position. (Daliri, Musco, Suresh: Coupling without
// Communication and Drafter-Invariant Speculative Decoding, 2024.) Greedy
// decoding is the case without noise. Ties go to the lowest id throughout.
//
// Everything is built as graph nodes: a draw costs no sync.
package sample
