// Package sample turns logits into tokens.
//
// The processed distribution p of a request comes from the model's logits in this order:
// penalties, logit bias, a grammar's mask, temperature, top-k, top-p, min-p.
//
// The token at absolute position i is
//
//	argmax over ids of log p(id) + g(seed, i)(id)
//
// with Gumbel noise g keyed by (seed, i) alone, which is a draw from p. There is no sampler
// state beyond seed and position. So for one seed the output is the same token for token:
//
//   - however the positions were grouped into forwards;
//   - after a restore;
//   - on a replay.
//
// (Daliri, Musco, Suresh: Coupling without Communication and Drafter-Invariant Speculative
// Decoding, 2024.) Greedy decoding is the case without noise. Ties go to the lowest id.
//
// Everything is built as graph nodes: a draw costs no sync.
package sample
