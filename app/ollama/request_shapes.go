package ollama

import (
	"math"

	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var showRequestShape = wire.Object(
	wire.Opt("model", wire.Text, "A name of /api/tags."),
	wire.Opt("name", wire.Text, "Older programs' name for it."),
).Or(
	wire.Object(wire.Need("model", wire.Filled)),
	wire.Object(wire.Need("name", wire.Filled)),
).Named("OllamaShowRequest")

var optionsShape = wire.Object(
	wire.Opt("temperature", wire.Number(0, math.MaxFloat64)),
	wire.Opt("top_p", wire.Number(0, 1)),
	wire.Opt("min_p", wire.Number(0, 1)),
	wire.Opt("top_k", wire.Int(-1, math.MaxInt32)),
	wire.Opt("presence_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("frequency_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("repeat_penalty", wire.Number(0.01, 100), "1 for none."),
	wire.Opt("stop", api.StopShape),
	wire.Opt("seed", wire.Whole.Most(wire.MaxExact), "Below 0 for any."),
	wire.Opt("num_predict", wire.Int(math.MinInt32, math.MaxInt32),
		"Tokens; 0 and less for what the context leaves."),
).Named("OllamaOptions").Doc("Others are ignored.")

var requestShape = wire.Object(
	wire.Need("model", wire.Filled, "A name of /api/tags; the tag may be missing."),
	wire.Opt("stream", wire.Flag, "true where absent."),
	wire.Opt("format", wire.Either(wire.Choice("json"), wire.AnyMap.Doc("A JSON schema.")),
		"What the answer may be."),
	wire.Opt("response_format", api.ResponseFormatShape, "OpenAI's name for format."),
	wire.Opt("options", optionsShape),
	wire.Opt("think", wire.Either(wire.Flag, wire.Choice(api.Efforts...))),
	wire.Opt("logprobs", wire.Flag),
	wire.Opt("top_logprobs", wire.Int(0, engine.MaxTopLogprobs)),
	wire.Opt("keep_alive", wire.Either(
		wire.Real, wire.Text.With("pattern",
			"^[-+]?(0|(([0-9]{1,5}(\\.[0-9]*)?|\\.[0-9]+)(ns|us|ms|s|m|h)){1,4})$"),
	), "Seconds or a duration such as 5m; 0 frees the model after the answer."),
).Named("OllamaRequest").Doc("The fields of both generating routes of Ollama.")

var generateRequestShape = wire.Both(
	requestShape,
	wire.Object(
		wire.Opt("prompt", wire.Text, "Absent or empty to load the model, or to free it."),
		wire.Opt("suffix", wire.Text),
		wire.Opt("system", wire.Text),
		wire.Opt("raw", wire.Flag, "The prompt is the text itself."),
		wire.Opt("template", wire.Text.Most(0), "Must be empty."),
		wire.Opt("context", wire.List(wire.Whole).Most(0), "Must be empty."),
		wire.Opt("images", wire.List(wire.Text).Most(0), "Must be empty."),
	),
).Named("OllamaGenerateRequest")

var messageShape = wire.Object(
	wire.Need("role", wire.Word(api.Roles...)),
	wire.May("content", api.ContentShape),
	wire.Opt("thinking", wire.Text),
	wire.Opt("reasoning_content", wire.Text, "Other servers' name for it."),
	wire.Opt("reasoning", wire.Text),
	wire.Opt("images", wire.List(wire.Text).Most(0), "Must be empty."),
	wire.Opt("tool_name", wire.Text),
	wire.Opt("tool_calls", wire.List(wire.Object(wire.Need("function", wire.Object(
		wire.Need("name", wire.Text),
		wire.Opt("arguments", wire.Either(wire.AnyMap, wire.Text)),
	))))),
).Named("OllamaMessage").Doc("Reaches the template with all its names.")

var chatRequestShape = wire.Both(
	requestShape,
	wire.Object(
		wire.Opt("messages", wire.List(messageShape),
			"Absent or empty to load the model, or to free it."),
		wire.Opt("tools", wire.List(api.ToolShape)),
		wire.Opt("tool_choice", api.ToolChoiceShape),
		wire.Opt("parallel_tool_calls", wire.Flag),
		wire.Opt("functions", wire.List(wire.AnyMap)),
		wire.Opt("function_call", wire.Either(
			wire.Word(api.ToolChoices...),
			wire.Object(wire.Need("name", wire.Filled)),
		)),
	),
).Named("OllamaChatRequest")

var embedRequestShape = wire.Object(
	wire.Need("model", wire.Filled, "A name of /api/tags."),
	wire.Need("input", wire.Either(wire.Filled, wire.List(wire.Filled).Least(1))),
	wire.Opt("dimensions", wire.Int(1, math.MaxInt32), "The first ones only."),
).Named("OllamaEmbedRequest")

var embeddingsRequestShape = wire.Object(
	wire.Need("model", wire.Filled, "A name of /api/tags."),
	wire.Need("prompt", wire.Either(wire.Filled, wire.List(wire.Filled).Least(1).Most(1))),
).Named("OllamaEmbeddingsRequest")
