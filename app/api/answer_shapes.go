package api

import (
	"tandem/app/wire"
)

// ScoredShape is a token with its log-probability, and those of other tokens in its place.
var ScoredShape = wire.AnswerOf[ScoredToken]()

// TimingsShape is Timings in OpenAPI.
var TimingsShape = wire.AnswerOf[Timings]()
