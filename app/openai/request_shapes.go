package openai

import (
	"math"

	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var chatRequestShape = wire.Both(
	api.CommonRequestShape,
	wire.Object(
		wire.Need("messages", wire.List(api.ChatMessageShape).Least(1)),
		wire.Opt("continue_final_message", wire.Flag,
			"The answer goes on from the last message, if that is the assistant's, as in vLLM."),
		wire.Opt("max_tokens", api.LimitShape(0),
			"Of the answer; absent for what the context leaves."),
		wire.Opt("max_completion_tokens", api.LimitShape(0), "Wins over max_tokens."),
		wire.Opt("logprobs", wire.Flag),
		wire.Opt("top_logprobs", wire.Int(0, engine.MaxTopLogprobs), "Needs logprobs."),
		wire.Opt("prediction", wire.Object(
			wire.Need("type", wire.Just("content")),
			wire.Need("content", wire.Either(wire.Text, wire.List(api.TextPartShape))),
		), "Text that is likely to come, tried as a draft."),
		wire.Opt("tools", wire.List(api.ToolShape)),
		wire.Opt("tool_choice", api.ToolChoiceShape),
		wire.Opt("parallel_tool_calls", wire.Flag, "false for one call at most."),
		wire.Opt("functions", wire.List(wire.AnyMap), "The older form of tools."),
		wire.Opt("function_call", wire.Either(
			wire.Word(api.ToolChoices...),
			wire.Object(wire.Need("name", wire.Filled)),
		)),
		wire.Opt("modalities", wire.Either(wire.Just("text"), wire.List(wire.Just("text")))),
		wire.Opt("audio", wire.Null, "Not supported."),
		wire.Opt("web_search_options", wire.Null, "Not supported."),
	).Add(api.ThinkingFields...),
).Named("ChatRequest")

var promptShape = wire.Either(
	wire.Text,
	wire.List(wire.Text).Least(1).Most(api.MaxChoices),
	wire.List(wire.TokenID).Least(1).Doc("Token ids."),
	wire.List(wire.List(wire.TokenID).Least(1)).Least(1).Most(api.MaxChoices),
).Named("Prompt")

var completionRequestShape = wire.Both(
	api.CommonRequestShape,
	wire.Object(
		wire.Need("prompt", promptShape),
		wire.Opt("suffix", wire.Text,
			"The text after the gap, for models with tokens for it; prompt is text then."),
		wire.Opt("max_tokens", api.LimitShape(0),
			"Of the answer; absent for what the context leaves."),
		wire.Opt("logprobs", wire.Int(0, maxLegacyLogprobs), "Alternatives of each token."),
		wire.Opt("echo", wire.Flag, "The prompt is part of the answer, and scored."),
		wire.Opt("best_of", wire.Int(1, api.MaxN),
			"Continuations that are computed; the n likeliest are returned."),
	),
).Named("CompletionRequest")

var fimRequestShape = wire.Both(
	completionRequestShape,
	wire.Object(wire.Opt("random_seed", wire.Int(-wire.MaxExact, wire.MaxExact),
		"Mistral's name for seed.")),
).Named("FIMRequest")

var embeddingsRequestShape = wire.Object(
	wire.Need("model", wire.Filled, "An id of /v1/models that makes embeddings."),
	wire.Need("input", wire.Either(
		wire.Filled,
		wire.List(wire.Filled).Least(1),
		wire.List(wire.TokenID).Least(1).Doc("Token ids."),
		wire.List(wire.List(wire.TokenID).Least(1)).Least(1),
	)),
	wire.Opt("encoding_format", wire.Choice("float", "base64")),
	wire.Opt("dimensions", wire.Int(1, math.MaxInt32), "The first ones only."),
).Named("EmbeddingsRequest")

var rerankRequestShape = wire.Object(
	wire.Need("model", wire.Filled, "An id of /v1/models that ranks."),
	wire.Need("query", wire.Filled),
	wire.Need("documents", wire.List(wire.Either(
		wire.Filled,
		wire.Object(wire.Need("text", wire.Filled)),
	)).Least(1)),
	wire.Opt("instruction", wire.Text,
		"What makes a document relevant, where it is not that it answers the query."),
	wire.Opt("top_n", wire.Int(1, math.MaxInt32), "The best ones only."),
	wire.Opt("return_documents", wire.Flag),
).Named("RerankRequest")
