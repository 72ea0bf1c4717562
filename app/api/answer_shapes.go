package api

import (
	"tandem/app/wire"
)

// ScoredShape is a token with its log-probability, and those of others in its place.
var ScoredShape = wire.Object(
	wire.Need("token", wire.Text),
	wire.Need("logprob", wire.Real),
	wire.Need("bytes", wire.List(wire.Whole)),
	wire.Need("top_logprobs", wire.List(TokenLogprobShape)),
)

// UsageShape is Usage in OpenAPI.
var UsageShape = wire.Object(
	wire.Need("prompt_tokens", wire.Whole),
	wire.Need("completion_tokens", wire.Whole),
	wire.Need("total_tokens", wire.Whole),
	wire.Need("prompt_tokens_details", wire.Object(wire.Need("cached_tokens", wire.Whole,
		"That were not computed again."))),
	wire.Need("completion_tokens_details", wire.Object(
		wire.Need("reasoning_tokens", wire.Whole),
		wire.Need("accepted_prediction_tokens", wire.Whole),
		wire.Need("rejected_prediction_tokens", wire.Whole),
	)),
).Named("Usage")

// TimingsShape is Timings in OpenAPI.
var TimingsShape = wire.Object(
	wire.Need("cache_n", wire.Whole),
	wire.Need("prompt_n", wire.Whole),
	wire.Need("prompt_ms", wire.Real),
	wire.Need("prompt_per_token_ms", wire.Real),
	wire.Need("prompt_per_second", wire.Real),
	wire.Need("predicted_n", wire.Whole),
	wire.Need("predicted_ms", wire.Real),
	wire.Need("predicted_per_token_ms", wire.Real),
	wire.Need("predicted_per_second", wire.Real),
	wire.Need("draft_n", wire.Whole),
	wire.Need("draft_n_accepted", wire.Whole),
	wire.Need("drafter", wire.Text),
	wire.Need("no_drafter", wire.Text, "Why none drafted."),
	wire.Need("rounds", wire.Whole),
	wire.Need("verifies", wire.Whole),
	wire.Need("tokens_per_verify", wire.Real),
	wire.Need("syncs", wire.Whole),
	wire.Need("repeats", wire.Whole),
	wire.Need("queue_ms", wire.Real),
	wire.Need("first_token_ms", wire.Real),
	wire.Need("draft_ms", wire.Real),
	wire.Need("verify_ms", wire.Real),
	wire.Need("restore_ms", wire.Real),
	wire.Need("matched_n", wire.Whole),
	wire.Need("miss_reason", wire.Text),
	wire.Need("run_id", wire.Whole),
	wire.May("stopped", wire.Flag),
).Named("Timings").Doc("llama.cpp's, then ours.")

// TokenLogprobShape is TokenLogprob in OpenAPI.
var TokenLogprobShape = wire.Object(
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
