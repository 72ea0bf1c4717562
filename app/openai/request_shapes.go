package openai

import (
	"math"

	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var chatRequestShape = wire.AllOf(
	api.CommonRequestShape,
	wire.Object(
		wire.Required("messages", wire.List(api.ChatMessageShape).Min(1)),
		wire.Optional("continue_final_message", wire.Bool,
			"The answer continues the last message, if that is the assistant's, as in vLLM."),
		wire.Optional("max_tokens", api.LimitShape(0),
			"Of the answer; absent for what the context leaves."),
		wire.Optional("max_completion_tokens", api.LimitShape(0), "Wins over max_tokens."),
		wire.Optional("logprobs", wire.Bool),
		wire.Optional("top_logprobs", wire.Int(0, engine.MaxTopLogprobs), "Needs logprobs."),
		wire.Optional("prediction", wire.Typed("content",
			wire.Required("content", wire.Either(wire.String, wire.List(api.TextPartShape))),
		), "Text that is likely to come, tried as a draft."),
		wire.Optional("modalities", wire.Either(wire.Const("text"), wire.List(wire.Const("text")))),
		wire.Optional("audio", wire.Null, "Not supported."),
		wire.Optional("moderation", wire.Null, "Not supported."),
		wire.Optional("web_search_options", wire.Null, "Not supported."),
	).Add(api.ToolFields...).Add(api.ThinkingFields...),
).Named("ChatRequest")

var promptShape = wire.Either(
	wire.String,
	wire.List(wire.String).Min(1).Max(api.MaxChoices),
	wire.List(wire.TokenID).Min(1).Doc("Token ids."),
	wire.List(wire.List(wire.TokenID).Min(1)).Min(1).Max(api.MaxChoices),
).Named("Prompt")

var completionRequestShape = wire.AllOf(
	api.CommonRequestShape,
	wire.Object(
		wire.Required("prompt", promptShape),
		wire.Optional("suffix", wire.String,
			"The text after the gap, for models with tokens for it; prompt is text then."),
		wire.Optional("max_tokens", api.LimitShape(0),
			"Of the answer; absent for what the context leaves."),
		wire.Optional("logprobs", wire.Int(0, maxLegacyLogprobs), "Alternatives of each token."),
		wire.Optional("echo", wire.Bool, "The prompt is part of the answer, and scored."),
		wire.Optional("best_of", wire.Int(1, api.MaxN),
			"Continuations that are computed; the n likeliest are returned."),
	),
).Named("CompletionRequest")

var fimRequestShape = wire.AllOf(
	completionRequestShape,
	wire.Object(wire.Optional("random_seed", wire.Int(-wire.MaxExact, wire.MaxExact),
		"Mistral's name for seed.")),
).Named("FIMRequest")

var embeddingsRequestShape = wire.Object(
	wire.Optional("model", wire.String, "An id of /v1/models that makes embeddings; the current model where absent."),
	wire.Required("input", wire.Either(
		wire.NonEmpty,
		wire.List(wire.NonEmpty).Min(1),
		wire.List(wire.TokenID).Min(1).Doc("Token ids."),
		wire.List(wire.List(wire.TokenID).Min(1)).Min(1),
	)),
	wire.Optional("encoding_format", wire.EnumOrEmpty("float", "base64")),
	wire.Optional("dimensions", wire.Int(1, math.MaxInt32), "The first ones only."),
).Named("EmbeddingsRequest")

var rerankRequestShape = wire.Object(
	wire.Optional("model", wire.String, "An id of /v1/models that ranks; the current model where absent."),
	wire.Required("query", wire.NonEmpty),
	wire.Required("documents", wire.List(wire.Either(
		wire.NonEmpty,
		wire.Object(wire.Required("text", wire.NonEmpty)),
	)).Min(1)),
	wire.Optional("instruction", wire.String,
		"What makes a document relevant, where it is not that it answers the query."),
	wire.Optional("top_n", wire.Int(1, math.MaxInt32), "The best ones only."),
	wire.Optional("max_tokens_per_doc", wire.Int(1, math.MaxInt32),
		"Longer documents are cut. On /v2/rerank 4096 where absent."),
	wire.Optional("return_documents", wire.Bool),
).Named("RerankRequest")
