package api

import (
	"tandem/app/wire"
)

// ScoredShape is a token with its log-probability, and those of other tokens in its place.
var ScoredShape = wire.Object(
	wire.Need("token", wire.Text),
	wire.Need("logprob", wire.Real),
	wire.Need("bytes", wire.List(wire.Whole)),
	wire.Need("top_logprobs", wire.List(tokenLogprobShape)),
)

// UsageShape is Usage in OpenAPI.
var UsageShape = wire.AnswerOf[Usage]().Named("Usage")

// TimingsShape is Timings in OpenAPI.
var TimingsShape = wire.AnswerOf[Timings]().Named("Timings").Doc("llama.cpp's, then ours.")

// tokenLogprobShape is TokenLogprob in OpenAPI.
var tokenLogprobShape = wire.Object(
	wire.Need("token", wire.Text),
	wire.Need("logprob", wire.Real),
	wire.Need("bytes", wire.List(wire.Int(0, 255))),
).Named("TokenLogprob")

// DraftShape is Draft in OpenAPI.
var DraftShape = wire.Object(
	wire.Need("proposed", wire.Whole),
	wire.Need("accepted", wire.Whole),
	wire.May("depths", wire.List(wire.Whole)),
	wire.May("accepts", wire.List(wire.Whole)),
).Named("Draft")
