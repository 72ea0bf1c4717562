// Package draft proposes tokens for a target model to verify.
//
// A [Drafter] belongs to one loaded target and is shared by its requests. For each request it opens
// a [Draft], which lives as long as the request. The draft sees every token that the target
// evaluated, and the outputs of the layers it asked for (its taps). It proposes the next tokens. A
// bad proposal costs only time: every emitted token is the target's own.
//
// A [Selector] chooses, round by round, which drafter proposes and how many tokens. It decides by
// what rounds cost and how many drafts were accepted. What is known before the round counts too:
// how long the match is, how the request's last rounds went ([RecentAcceptance]), the drafter's own
// confidence. To draft nothing is a choice. A [Continued] drafter joins two: where a match ends, a
// trained drafter goes on.
//
// # Positions
//
// Token i of a request, its prompt included, is at position i. When Propose is called, the newest
// token, history[len(history)-1], is not committed: the target has not evaluated it, so it has no
// taps yet. A proposal takes the positions after it.
//
// # Coupled proposals
//
// A drafter with a distribution q draws from it by the request's own sampler. The token at
// position i is argmax(log q_i + g(seed, i)), with the same Gumbel noise g that the target
// draws with there (package sample). The two agree far more often than independent draws.
package draft
