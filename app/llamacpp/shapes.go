package llamacpp

import (
	"math"
	"slices"

	"tandem/app/api"
	"tandem/app/wire"
)

// modelField names a model of a request.
var modelField = wire.Optional("model", wire.String, "An id of /v1/models; absent for the current model.")

var tokenizeRequestShape = wire.Object(
	modelField,
	wire.Optional("content", wire.String, "The text."),
	wire.Optional("prompt", wire.String, "vLLM's name for it."),
	wire.Optional("add_special", wire.Bool, "Adds the tokens around a text, such as a BOS."),
	wire.Optional("add_special_tokens", wire.Bool, "vLLM's name for it, with prompt; true where absent."),
	wire.Optional("parse_special", wire.Bool, "false reads special tokens as ordinary text."),
	wire.Optional("with_pieces", wire.Bool, "Adds the text of each token."),
).Or(
	wire.Object(wire.Required("content", wire.String)),
	wire.Object(wire.Required("prompt", wire.String)),
).Named("TokenizeRequest")

var detokenizeRequestShape = wire.Object(
	modelField,
	wire.Required("tokens", wire.List(wire.TokenID), "No more than the context."),
).Named("DetokenizeRequest")

// answerFields are the fields of /infill and /completion that say how to answer.
var answerFields = slices.Concat([]wire.Field{
	wire.Optional("stream", wire.Bool),
	wire.Optional("response_format", api.ResponseFormatShape),
	wire.Optional("n_predict", api.LimitShape(0), "Tokens; absent for what the context leaves."),
	wire.Optional("max_tokens", api.LimitShape(0), "Another name of n_predict."),
	wire.Optional("stop", api.StopShape),
	wire.Optional("seed", wire.Int(-wire.MaxExact, wire.MaxExact), "-1 for any."),
	wire.Optional("temperature", wire.NumberBetween(0, math.MaxFloat64)),
}, api.SamplingFields, []wire.Field{
	wire.Optional("repeat_penalty", wire.NumberBetween(0.01, 100), "1 for none."),
})

var completionRequestShape = wire.Object(
	modelField,
	wire.Required("prompt", wire.Either(wire.String, wire.List(wire.TokenID).Min(1)),
		"A text or token ids."),
).Add(answerFields...).Named("LlamaCompletionRequest").Doc("Others are ignored.")

var infillRequestShape = wire.Object(
	modelField,
	wire.Optional("input_prefix", wire.String, "The text before the gap."),
	wire.Optional("input_suffix", wire.String, "The text after the gap."),
	wire.Optional("prompt", wire.String, "The line of the gap up to it, after input_prefix."),
	wire.Optional("input_extra", wire.List(wire.Object(
		wire.Optional("filename", wire.String),
		wire.Optional("text", wire.String),
	)), "Texts of other files, before input_prefix."),
).Add(answerFields...).Named("InfillRequest").Doc("Others are ignored.")

// Operations describe the routes for OpenAPI.
var Operations = []wire.Operation{
	{
		Method: "GET", Path: "/props", ID: "props",
		Summary: "The current model's context, as llama.cpp has it.",
		Parameters: []wire.Parameter{{Name: "model", In: "query", Shape: wire.String,
			Doc: "Another model."}},
		Answer: wire.AnswerOf[Props](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: "POST", Path: "/tokenize", ID: "tokenize",
		Summary: "The tokens of a text.",
		Body:    tokenizeRequestShape,
		Answer:  wire.AnswerOf[tokenized](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: "POST", Path: "/detokenize", ID: "detokenize",
		Summary: "The text of tokens.",
		Body:    detokenizeRequestShape,
		Answer:  wire.AnswerOf[detokenized](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: "POST", Path: "/completion", ID: "llamaComplete",
		Summary: "What follows a text, as llama.cpp's editors ask for it.",
		Body:    completionRequestShape,
		Answer:  wire.AnswerOf[textAnswer](), Chunk: wire.AnswerOf[textAnswer](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: "POST", Path: "/infill", ID: "infill",
		Summary: "What stands in a gap of a text, as llama.cpp's editors ask for it.",
		Body:    infillRequestShape,
		Answer:  wire.AnswerOf[textAnswer](), Chunk: wire.AnswerOf[textAnswer](), Error: wire.OpenAIErrorShape,
	},
}
