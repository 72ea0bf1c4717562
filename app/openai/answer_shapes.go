package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// ModelShape is Model in OpenAPI.
var ModelShape = wire.Object(
	wire.Need("id", wire.Text,
		"org/name, a folder's name, or tandem for the model that is chosen."),
	wire.Need("object", wire.Just("model")),
	wire.Need("created", wire.Whole, "Unix seconds."),
	wire.Need("owned_by", wire.Text),
	wire.Need("context_length", wire.Whole, "Tokens."),
	wire.Need("max_model_len", wire.Whole, "vLLM's name for it."),
	wire.Need("root", wire.Text, "The model of an alias."),
	wire.May("short_context", wire.Text, "Why a context that --context asks for cannot be had."),
).Named("Model")

// ModelListShape is ModelList in OpenAPI.
var ModelListShape = wire.Object(
	wire.Need("object", wire.Just("list")),
	wire.Need("data", wire.List(ModelShape)),
).Named("ModelList")

var toolCallShape = wire.Object(
	wire.Need("id", wire.Text),
	wire.Need("type", wire.Just("function")),
	wire.Need("function", wire.Object(
		wire.Need("name", wire.Text),
		wire.Need("arguments", wire.Text, "A JSON object, as text."),
	)),
).Named("ToolCall")

var chatLogprobsShape = wire.Object(
	wire.Need("content", wire.List(api.ScoredShape)),
	wire.Need("refusal", wire.Null),
).OrNull().Named("ChatLogprobs")

var completionLogprobsShape = wire.Object(
	wire.Need("tokens", wire.List(wire.Text)),
	wire.Need("token_logprobs", wire.List(wire.Real.OrNull())),
	wire.Need("top_logprobs", wire.List(wire.Map(wire.Real).OrNull())),
	wire.Need("text_offset", wire.List(wire.Whole)),
).OrNull().Named("CompletionLogprobs")

var chatAnswerShape = wire.Object(
	wire.Need("role", wire.Just("assistant")),
	wire.Need("content", wire.Text.OrNull()),
	wire.Need("refusal", wire.Null),
	wire.May("reasoning_content", wire.Text),
	wire.May("reasoning", wire.Text),
	wire.May("tool_calls", wire.List(toolCallShape)),
	wire.May("function_call", wire.Object(
		wire.Need("name", wire.Text),
		wire.Need("arguments", wire.Text),
	)),
).Named("ChatAnswer")

// wholeShape returns the shape of a whole answer. choice has the fields of a choice that not every
// route has.
func wholeShape(object string, choice ...wire.Field) *wire.Shape {
	return repliesShape(object, choice,
		wire.Need("usage", api.UsageShape), wire.Need("timings", api.TimingsShape))
}

// chunkShape is wholeShape for a piece of a stream. Only the last piece has the figures.
func chunkShape(object string, choice ...wire.Field) *wire.Shape {
	return repliesShape(object, choice,
		wire.Opt("usage", api.UsageShape), wire.May("timings", api.TimingsShape))
}

func repliesShape(object string, choice []wire.Field, figures ...wire.Field) *wire.Shape {
	choices := wire.Object(wire.Need("index", wire.Whole)).Add(choice...).Add(
		wire.May("prompt_token_ids", wire.List(wire.Whole)),
		wire.May("token_ids", wire.List(wire.Whole)),
		wire.May("draft", api.DraftShape),
	)
	return wire.Object(
		wire.Need("id", wire.Text),
		wire.Need("object", wire.Just(object)),
		wire.Need("created", wire.Whole, "Unix seconds."),
		wire.Need("model", wire.Text, "The id."),
		wire.Need("choices", wire.List(choices)),
	).Add(figures...)
}

var chatCompletionShape = wholeShape("chat.completion",
	wire.Need("message", chatAnswerShape),
	wire.Need("logprobs", chatLogprobsShape),
	wire.Need("finish_reason", wire.Word("stop", "length", "tool_calls", "function_call")),
).Named("ChatCompletion")

var chatDeltaShape = wire.Object(
	wire.May("role", wire.Just("assistant")),
	wire.May("content", wire.Text),
	wire.May("reasoning_content", wire.Text),
	wire.May("reasoning", wire.Text),
	wire.May("tool_calls", wire.List(wire.Object(
		wire.Need("index", wire.Whole),
		wire.May("id", wire.Text),
		wire.May("type", wire.Just("function")),
		wire.Need("function", wire.Object(
			wire.May("name", wire.Text),
			wire.Need("arguments", wire.Text),
		)),
	))),
	wire.May("function_call", wire.Object(
		wire.May("name", wire.Text),
		wire.Need("arguments", wire.Text),
	)),
).Named("ChatDelta")

var chatCompletionChunkShape = chunkShape("chat.completion.chunk",
	wire.Need("delta", chatDeltaShape),
	wire.Need("logprobs", chatLogprobsShape),
	wire.Need("finish_reason",
		wire.Word("stop", "length", "tool_calls", "function_call").OrNull()),
).Named("ChatCompletionChunk")

var completionShape = wholeShape("text_completion",
	wire.Need("text", wire.Text),
	wire.Need("logprobs", completionLogprobsShape),
	wire.Need("finish_reason", wire.Word("stop", "length")),
).Named("Completion")

var completionChunkShape = chunkShape("text_completion",
	wire.Need("text", wire.Text),
	wire.Need("logprobs", completionLogprobsShape),
	wire.Need("finish_reason", wire.Word("stop", "length").OrNull()),
).Named("CompletionChunk")

var fimCompletionShape = wholeShape("text_completion",
	wire.Need("text", wire.Text),
	wire.Need("message", wire.Object(
		wire.Need("role", wire.Just("assistant")),
		wire.Need("content", wire.Text),
	)),
	wire.Need("logprobs", completionLogprobsShape),
	wire.Need("finish_reason", wire.Word("stop", "length")),
).Named("FIMCompletion")

var fimCompletionChunkShape = chunkShape("text_completion",
	wire.Need("text", wire.Text),
	wire.Need("delta", wire.Object(wire.Need("content", wire.Text))),
	wire.Need("logprobs", completionLogprobsShape),
	wire.Need("finish_reason", wire.Word("stop", "length").OrNull()),
).Named("FIMCompletionChunk")

var readUsageShape = wire.Object(
	wire.Need("prompt_tokens", wire.Whole),
	wire.Need("total_tokens", wire.Whole),
).Named("ReadUsage")

var embeddingsShape = wire.Object(
	wire.Need("object", wire.Just("list")),
	wire.Need("data", wire.List(wire.Object(
		wire.Need("object", wire.Just("embedding")),
		wire.Need("index", wire.Whole),
		wire.Need("embedding", wire.Either(
			wire.List(wire.Real),
			wire.Text.Doc("float32, the little end first, in base64."),
		)),
	))),
	wire.Need("model", wire.Text),
	wire.Need("usage", readUsageShape),
).Named("Embeddings")

var rankedShape = wire.Object(
	wire.Need("object", wire.Just("list")),
	wire.Need("id", wire.Text),
	wire.Need("model", wire.Text),
	wire.Need("results", wire.List(wire.Object(
		wire.Need("index", wire.Whole, "Of the document."),
		wire.Need("relevance_score", wire.Real),
		wire.May("document", wire.Object(wire.Need("text", wire.Text))),
	))),
	wire.Need("usage", readUsageShape),
).Named("Ranked")
