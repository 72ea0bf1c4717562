package llamacpp

import (
	"math"

	"tandem/app/api"
	"tandem/app/wire"
)

// modelField names a model of a request.
var modelField = wire.Opt("model", wire.Text, "An id of /v1/models; absent for the chosen model.")

var tokenizeRequestShape = wire.Object(
	modelField,
	wire.Opt("content", wire.Text, "The text."),
	wire.Opt("prompt", wire.Text, "vLLM's name for it."),
	wire.Opt("add_special", wire.Flag, "Adds the tokens around a text, such as a BOS."),
	wire.Opt("add_special_tokens", wire.Flag, "vLLM's name for it, with prompt; true where absent."),
	wire.Opt("parse_special", wire.Flag, "false reads special tokens as ordinary text."),
	wire.Opt("with_pieces", wire.Flag, "Adds the text of each token."),
).Or(
	wire.Object(wire.Need("content", wire.Text)),
	wire.Object(wire.Need("prompt", wire.Text)),
).Named("TokenizeRequest")

var detokenizeRequestShape = wire.Object(
	modelField,
	wire.Need("tokens", wire.List(wire.TokenID), "No more than the context."),
).Named("DetokenizeRequest")

// answerFields are the fields of /infill and /completion that say how to answer.
var answerFields = []wire.Field{
	wire.Opt("stream", wire.Flag),
	wire.Opt("response_format", api.ResponseFormatShape),
	wire.Opt("n_predict", api.LimitShape(0), "Tokens; absent for what the context leaves."),
	wire.Opt("max_tokens", api.LimitShape(0), "Another name of n_predict."),
	wire.Opt("stop", api.StopShape),
	wire.Opt("seed", wire.Int(-wire.MaxExact, wire.MaxExact), "-1 for any."),
	wire.Opt("temperature", wire.Number(0, math.MaxFloat64)),
	wire.Opt("top_p", wire.Number(0, 1)),
	wire.Opt("min_p", wire.Number(0, 1)),
	wire.Opt("top_k", wire.Int(-1, math.MaxInt32), "-1 or 0 for all."),
	wire.Opt("presence_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("frequency_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("repeat_penalty", wire.Number(0.01, 100), "1 for none."),
}

var completionRequestShape = wire.Object(
	modelField,
	wire.Need("prompt", wire.Either(wire.Text, wire.List(wire.TokenID).Least(1)),
		"A text or token ids."),
).Add(answerFields...).Named("LlamaCompletionRequest").Doc("Others are ignored.")

var infillRequestShape = wire.Object(
	modelField,
	wire.Opt("input_prefix", wire.Text, "The text before the gap."),
	wire.Opt("input_suffix", wire.Text, "The text after the gap."),
	wire.Opt("prompt", wire.Text, "The line of the gap up to it, after input_prefix."),
	wire.Opt("input_extra", wire.List(wire.Object(
		wire.Opt("filename", wire.Text),
		wire.Opt("text", wire.Text),
	)), "Texts of other files, before input_prefix."),
).Add(answerFields...).Named("InfillRequest").Doc("Others are ignored.")

// Operations describe the routes for OpenAPI.
var Operations = []wire.Operation{
	{
		Method: "GET", Path: "/props", ID: "props",
		Summary: "The chosen model's context, as llama.cpp has it.",
		Parameters: []wire.Parameter{{Name: "model", In: "query", Shape: wire.Text,
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
