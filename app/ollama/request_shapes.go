package ollama

import (
	"math"

	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var showRequestShape = nameShape().Named("OllamaShowRequest")

var pullRequestShape = nameShape(
	wire.Optional("stream", wire.Bool, "true where absent."),
).Named("OllamaPullRequest")

// nameShape returns the shape of a body that names a model, with more fields.
func nameShape(more ...wire.Field) *wire.Shape {
	return wire.Object(
		wire.Optional("model", wire.String, "A name of /api/tags."),
		wire.Optional("name", wire.String, "Older programs' name for it."),
	).Add(more...).Or(
		wire.Object(wire.Required("model", wire.NonEmpty)),
		wire.Object(wire.Required("name", wire.NonEmpty)),
	)
}

var optionsShape = wire.Object(
	wire.Optional("temperature", wire.NumberBetween(0, math.MaxFloat64)),
	wire.Optional("repeat_penalty", wire.NumberBetween(0.01, 100), "1 for none."),
	wire.Optional("stop", api.StopShape),
	wire.Optional("seed", wire.Integer.Max(wire.MaxExact), "Below 0 for any."),
	wire.Optional("num_predict", wire.Int(math.MinInt32, math.MaxInt32),
		"Tokens; 0 and less for what the context leaves."),
).Add(api.SamplingFields...).Named("OllamaOptions").Doc("Others are ignored.")

var keepAliveField = wire.Optional("keep_alive", wire.Either(
	wire.Number, wire.String.With("pattern",
		"^[-+]?(0|(([0-9]{1,5}(\\.[0-9]*)?|\\.[0-9]+)(ns|us|ms|s|m|h)){1,4})$"),
), "Seconds or a duration such as 5m; 0 frees the model after the answer.")

var requestShape = wire.Object(
	wire.Required("model", wire.NonEmpty, "A name of /api/tags; the tag may be missing."),
	wire.Optional("stream", wire.Bool, "true where absent."),
	wire.Optional("format", wire.Either(wire.EnumOrEmpty("json"), wire.AnyMap.Doc("A JSON schema.")),
		"What the answer may be."),
	wire.Optional("response_format", api.ResponseFormatShape, "OpenAI's name for format."),
	wire.Optional("options", optionsShape),
	wire.Optional("think", wire.Either(wire.Bool, wire.EnumOrEmpty(api.Efforts...))),
	wire.Optional("logprobs", wire.Bool),
	wire.Optional("top_logprobs", wire.Int(0, engine.MaxTopLogprobs)),
	keepAliveField,
).Named("OllamaRequest").Doc("The fields of both generating routes of Ollama.")

var generateRequestShape = wire.AllOf(
	requestShape,
	wire.Object(
		wire.Optional("prompt", wire.String, "Absent or empty to load the model, or to free it."),
		wire.Optional("suffix", wire.String),
		wire.Optional("system", wire.String),
		wire.Optional("raw", wire.Bool, "The prompt is the text itself."),
		wire.Optional("template", wire.String.Max(0), "Must be empty."),
		wire.Optional("context", wire.List(wire.Integer).Max(0), "Must be empty."),
		wire.Optional("images", wire.List(wire.String).Max(0), "Must be empty."),
		wire.Optional("width", wire.Const(0), "Not supported."),
		wire.Optional("height", wire.Const(0), "Not supported."),
		wire.Optional("steps", wire.Const(0), "Not supported."),
	),
).Named("OllamaGenerateRequest")

var messageShape = wire.Object(
	wire.Required("role", wire.Enum(api.Roles...)),
	wire.OmitOnly("content", api.ContentShape),
	wire.Optional("thinking", wire.String),
	wire.Optional("reasoning_content", wire.String, "Other servers' name for it."),
	wire.Optional("reasoning", wire.String),
	wire.Optional("images", wire.List(wire.String),
		"A line of text takes their place. In the user's last message they are refused."),
	wire.Optional("tool_name", wire.String),
	wire.Optional("tool_calls", wire.List(wire.Object(wire.Required("function", wire.Object(
		wire.Required("name", wire.String),
		wire.Optional("arguments", wire.Either(wire.AnyMap, wire.String)),
	))))),
).Named("OllamaMessage").Doc("Reaches the template with all its names, without images and files beside the content.")

var chatRequestShape = wire.AllOf(
	requestShape,
	wire.Object(
		wire.Optional("messages", wire.List(messageShape),
			"Absent or empty to load the model, or to free it."),
		wire.Optional("truncate", wire.Bool, "true where absent: the earliest turns of a conversation "+
			"that does not fit the context are left out."),
	).Add(api.ToolFields...),
).Named("OllamaChatRequest")

var embedRequestShape = wire.Object(
	wire.Required("model", wire.NonEmpty, "A name of /api/tags."),
	wire.Optional("input", wire.Either(wire.String, wire.List(wire.NonEmpty)), "Absent or empty to load the model."),
	wire.Optional("truncate", wire.Bool, "true where absent: a text that is too long is cut at its end."),
	wire.Optional("dimensions", wire.Int(math.MinInt32, math.MaxInt32), "The first ones only, if there are more; 0 and less for all."),
	keepAliveField,
).Named("OllamaEmbedRequest")

var embeddingsRequestShape = wire.Object(
	wire.Required("model", wire.NonEmpty, "A name of /api/tags."),
	wire.Optional("prompt", wire.Either(wire.String, wire.List(wire.NonEmpty).Max(1)), "Absent or empty to load the model."),
	keepAliveField,
).Named("OllamaEmbeddingsRequest")
