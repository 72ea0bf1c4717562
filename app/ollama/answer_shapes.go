package ollama

import (
	"tandem/app/api"
	"tandem/app/wire"
)

var versionShape = wire.Object(
	wire.Need("version", wire.Text, "Of Ollama whose API this is."),
).Named("OllamaVersion")

var detailsShape = wire.AnswerOf[Details]().Named("OllamaDetails")

var tagsShape = wire.Object(wire.Need("models", wire.List(wire.Object(
	wire.Need("name", wire.Text, "With the tag latest."),
	wire.Need("model", wire.Text),
	wire.Need("modified_at", wire.Moment),
	wire.Need("size", wire.Whole, "Bytes."),
	wire.Need("digest", wire.Text),
	wire.Need("details", detailsShape),
)))).Named("OllamaTags")

var runningShape = wire.Object(wire.Need("models", wire.List(wire.Object(
	wire.Need("name", wire.Text, "With the tag latest."),
	wire.Need("model", wire.Text),
	wire.Need("modified_at", wire.Moment),
	wire.Need("size", wire.Whole, "Bytes."),
	wire.Need("digest", wire.Text),
	wire.Need("details", detailsShape),
	wire.Need("expires_at", wire.Moment),
	wire.Need("size_vram", wire.Whole, "Bytes."),
	wire.Need("context_length", wire.Whole, "Tokens."),
)))).Named("OllamaRunning")

var showShape = wire.Object(
	wire.Need("modelfile", wire.Text),
	wire.Need("parameters", wire.Text),
	wire.Need("template", wire.Text),
	wire.Need("details", detailsShape),
	wire.Need("model_info", wire.AnyMap.With("additionalProperties", true)),
	wire.Need("capabilities", wire.List(wire.Word(
		"completion", "tools", "thinking", "insert", "embedding",
	)), "Of a model in memory; of others only the first is known."),
	wire.Need("modified_at", wire.Moment),
).Named("OllamaShow")

// answerEnd are the last fields of an answer of both generating routes.
var answerEnd = []wire.Field{
	wire.Need("done", wire.Flag),
	wire.May("done_reason", wire.Word("stop", "length", "load", "unload")),
	wire.May("total_duration", wire.Whole, "Nanoseconds."),
	wire.May("load_duration", wire.Whole),
	wire.May("prompt_eval_count", wire.Whole),
	wire.May("prompt_eval_duration", wire.Whole),
	wire.May("eval_count", wire.Whole),
	wire.May("eval_duration", wire.Whole),
	wire.May("logprobs", wire.List(api.ScoredShape)),
}

var generatedShape = wire.Object(
	wire.Need("model", wire.Text),
	wire.Need("created_at", wire.Moment),
	wire.Need("response", wire.Text),
	wire.May("thinking", wire.Text),
).Add(answerEnd...).Named("OllamaGenerated").Doc("Whole, or a line of a stream.")

var chattedShape = wire.Object(
	wire.Need("model", wire.Text),
	wire.Need("created_at", wire.Moment),
	wire.Need("message", wire.Object(
		wire.Need("role", wire.Just("assistant")),
		wire.Need("content", wire.Text),
		wire.May("thinking", wire.Text),
		wire.May("tool_calls", wire.List(wire.Object(
			wire.Need("id", wire.Text),
			wire.Need("function", wire.Object(
				wire.Need("name", wire.Text),
				wire.Need("arguments", wire.AnyMap.With("additionalProperties", true)),
			)),
		))),
	)),
).Add(answerEnd...).Named("OllamaChatted").Doc("Whole, or a line of a stream.")

var embeddedShape = wire.Object(
	wire.Need("model", wire.Text),
	wire.Need("embeddings", wire.List(wire.List(wire.Real))),
	wire.Need("total_duration", wire.Whole, "Nanoseconds."),
	wire.Need("load_duration", wire.Whole),
	wire.Need("prompt_eval_count", wire.Whole),
).Named("OllamaEmbedded")

var embeddingShape = wire.Object(wire.Need("embedding",
	wire.List(wire.Real))).Named("OllamaEmbedding")
