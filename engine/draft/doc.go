// Package draft proposes tokens for a target model to verify.
//
// A [Drafter] belongs to one loaded target and is shared by its requests. For
// each request it opens a [Draft], whose life is the request's: it sees every
// token the target evaluated and the outputs of the layers it asked for (its
// taps), and guesses what comes next. A draft that guesses badly costs time
// and nothing else: what is emitted is always the target's own.
//
// # Positions
//
// Token i of a request, its prompt included, stands at position i. The newest
// token, history[len(history)-1], is never committed when Propose is called:
// the target has not evaluated it, so there are no taps of it yet. A proposal
// takes the positions after it.
//
// # Coupled proposals
//
// A drafter with a distribution q draws from it by the request's own sampler:
// the token at position i is argmax(log q_i + g(seed, i)) with the same Gumbel
// noise g that the target's draw there uses (package sample). The two agree
// far more often than independent draws would.
package draft
