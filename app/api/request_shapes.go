package api

import (
	"math"

	"tandem/app/control"
	"tandem/app/wire"
	"tandem/engine"
)

// StopShape is stop: the texts that end an answer.
var StopShape = wire.Either(
	wire.Text.Most(engine.MaxStopLength),
	wire.List(wire.Text.Most(engine.MaxStopLength)).Most(engine.MaxStops),
).Doc("Texts that end the answer. In thoughts and calls only texts with their marks count, such as </think>.")

// GrammarShape is a response format given by a grammar.
var GrammarShape = wire.Object(
	wire.Need("type", wire.Just("grammar")),
	wire.Need("grammar", wire.Object(
		wire.Need("syntax", wire.Word("lark", "regex")),
		wire.Need("definition", wire.Filled),
	)),
).Doc("Ours.")

// ThinkingFields say how the model should think. They have the names of several servers.
var ThinkingFields = []wire.Field{
	wire.Opt("reasoning_effort", wire.Choice(Efforts...)),
	wire.Opt("enable_thinking", wire.Flag),
	budgetField(budgetFields[0]),
	budgetField(budgetFields[1]),
	budgetField(budgetFields[2]),
	wire.Opt("reasoning", wire.Object(
		wire.Opt("effort", wire.Choice(Efforts...)),
		budgetField("max_tokens"),
		wire.Opt("enabled", wire.Flag),
		wire.Opt("exclude", wire.Flag, "Thoughts are not part of the answer."),
	)),
	wire.Opt("chat_template_kwargs", wire.AnyMap.With("properties",
		map[string]any{"messages": false, "tools": false}),
		"Variables of the template."),
}

// LimitShape is a limit of tokens. It is a number from least on, or -1 or -2 for none.
func LimitShape(least float64) *wire.Shape {
	return wire.Either(wire.Int(least, math.MaxInt32), wire.Values(-1, -2).Doc("For no limit."))
}

// budgetField returns the field of a token limit of a thought.
func budgetField(name string) wire.Field {
	return wire.Opt(name, wire.Int(-1, math.MaxInt32), "Tokens; -1 for any number.")
}

// speculationShape is Speculation in OpenAPI.
var speculationShape = wire.Object(
	wire.Opt("drafter", wire.Choice(control.Drafters...)),
	wire.Opt("depth", wire.Int(0, control.MaxDepth),
		"Tokens proposed at a time; absent for as many as pay off."),
	wire.Opt("rollback", wire.Choice(control.Rollbacks...)),
	wire.Opt("rule", wire.Choice(control.Rules...)),
	wire.Opt("exact", wire.Flag, "No rounding differs between drafted and plain decoding."),
).With("additionalProperties", false).Named("Speculation").
	Doc("How to decode; the text is the same whatever is chosen.")

// NamedSchemaShape is a JSON schema in the form of chats.
var NamedSchemaShape = wire.Object(
	wire.Opt("name", wire.Text),
	wire.Need("schema", wire.AnyMap, "A JSON schema."),
	wire.Opt("strict", wire.Flag),
)

// objectSchemaShape is the schema of an object.
var objectSchemaShape = wire.Object(wire.Opt("type", wire.Either(
	wire.Just("object"),
	wire.List(wire.Text).With("contains", map[string]any{"const": "object"}),
)))

// ObjectFormatShape is a response format that is any object, or one by a schema.
var ObjectFormatShape = wire.Object(
	wire.Need("type", wire.Just("json_object")),
	wire.Opt("schema", objectSchemaShape, "A JSON schema, as in llama.cpp."),
	wire.Opt("strict", wire.Flag),
	wire.Opt("json_schema", wire.Object(
		wire.Opt("name", wire.Text),
		wire.Need("schema", objectSchemaShape, "A JSON schema."),
		wire.Opt("strict", wire.Flag),
	), "The schema as json_schema has it."),
)

// ResponseFormatShape is ResponseFormat in OpenAPI.
var ResponseFormatShape = wire.Either(
	wire.Object(wire.Need("type", wire.Just("text"))),
	ObjectFormatShape,
	wire.Object(
		wire.Need("type", wire.Just("json_schema")),
		wire.Need("json_schema", NamedSchemaShape),
	),
	wire.Object(
		wire.Need("type", wire.Just("json_schema")),
		wire.Need("schema", wire.AnyMap, "A JSON schema."),
		wire.Opt("strict", wire.Flag),
	),
	GrammarShape,
).Named("ResponseFormat").Doc("What the answer may be.")

// ToolShape is Tool in OpenAPI.
var ToolShape = wire.Object(
	wire.May("type", wire.Text),
	wire.May("function", wire.Object(functionFields...)),
).Add(functionFields...).Named("Tool").
	Doc("Reaches the template as it is; a function without the object around it gets one.")

var functionFields = []wire.Field{
	wire.Opt("name", wire.Text),
	wire.Opt("description", wire.Text),
	wire.Opt("parameters", wire.AnyMap),
	wire.Opt("strict", wire.Flag),
}

// TextPartShape is TextPart in OpenAPI.
var TextPartShape = wire.Either(
	wire.Object(wire.Need("type", wire.Just("text")), wire.Need("text", wire.Text)),
	wire.Object(wire.Need("type", wire.Just("refusal")), wire.Need("refusal", wire.Text)),
).Named("TextPart")

// sourceShape is where a document has its text.
var sourceShape = wire.Either(
	wire.Object(wire.Need("type", wire.Just("text")), wire.Need("data", wire.Text)),
	wire.Object(
		wire.Need("type", wire.Just("content")),
		wire.Need("content", wire.Either(wire.Text, wire.List(TextPartShape))),
	),
)

// PartShape is ContentPart in OpenAPI.
var PartShape = wire.Either(
	wire.Text,
	wire.Object(wire.May("type", wire.Text, "Mostly text, input_text or output_text."),
		wire.Need("text", wire.Text)),
	wire.Object(wire.Need("type", wire.Just("refusal")), wire.Need("refusal", wire.Text)),
	wire.Object(
		wire.Need("type", wire.Just("thinking")),
		wire.Need("thinking", wire.Either(wire.Text, wire.List(TextPartShape))),
	),
	wire.Object(wire.Need("type", wire.Just("redacted_thinking"))),
	wire.Object(
		wire.Need("type", wire.Just("tool_reference")),
		wire.Need("tool_name", wire.Text),
	),
	wire.Object(
		wire.Need("type", wire.Just("search_result")),
		wire.Opt("title", wire.Text),
		wire.Opt("source", wire.Text),
		wire.Need("content", wire.Either(wire.Text, wire.List(TextPartShape))),
	),
	wire.Object(
		wire.Need("type", wire.Just("document")),
		wire.Opt("title", wire.Text),
		wire.Opt("context", wire.Text),
		wire.Need("source", sourceShape),
	),
).Named("ContentPart").Doc("Whatever holds text; the thoughts of an answer are not part of it.")

// PartsShape is a text, or parts with text.
var PartsShape = wire.Either(wire.Text, wire.List(PartShape)).Named("Parts")

// ContentShape is Content in OpenAPI.
var ContentShape = PartsShape.OrNull().Named("Content")

// ChatMessageShape is ChatMessage in OpenAPI.
var ChatMessageShape = wire.Object(
	wire.Need("role", wire.Word(Roles...)),
	wire.May("content", ContentShape),
	wire.Opt("name", wire.Text),
	wire.Opt("tool_call_id", wire.Text),
	wire.Opt("tool_calls", wire.List(wire.Object(wire.Need("function", wire.Object(
		wire.Need("name", wire.Text),
		wire.May("arguments", wire.Anything, "A JSON object, or one as text; absent for none."),
	))))),
	wire.Opt("function_call", wire.Object(
		wire.Need("name", wire.Text),
		wire.Opt("arguments", wire.Either(wire.Text, wire.AnyMap)),
	), "The older form of one call."),
	wire.Opt("reasoning_content", wire.Text, "What the model thought."),
	wire.Opt("reasoning", wire.Text, "Other servers' name for it."),
	wire.Opt("prefix", wire.Flag, "The answer goes on from this message, if it is the last."),
	wire.Opt("partial", wire.Flag, "Another server's name for it."),
).Named("ChatMessage").Doc("Reaches the template with all its names.")

// ChosenShape is the function that a choice names.
var ChosenShape = wire.Object(wire.Need("name", wire.Filled))

var allowedShape = wire.Object(
	wire.Opt("mode", wire.Choice("auto", "required")),
	wire.Need("tools", wire.List(ToolShape)),
)

// ChoiceTypeShape is a word of tool_choice as an object, as Anthropic has it.
var ChoiceTypeShape = wire.Object(wire.Need("type", wire.Word(ToolChoices...)))

// ToolChoiceShape is ToolChoice in OpenAPI.
var ToolChoiceShape = wire.Either(
	wire.Word(ToolChoices...),
	ChoiceTypeShape,
	wire.Object(
		wire.May("type", wire.Word("function", "tool")),
		wire.Need("function", ChosenShape),
	),
	wire.Object(
		wire.May("type", wire.Word("function", "tool")),
		wire.Opt("function", wire.Null),
		wire.Need("name", wire.Filled),
	),
	wire.Object(
		wire.Need("type", wire.Just("allowed_tools")),
		wire.Need("allowed_tools", allowedShape),
	),
	wire.Both(wire.Object(wire.Need("type", wire.Just("allowed_tools"))), allowedShape),
).OrNull().Named("ToolChoice").Doc("Whether an answer is a call.")

// CommonRequestShape is CommonRequest in OpenAPI.
var CommonRequestShape = wire.Object(
	wire.Need("model", wire.Filled, "An id of /v1/models, or tandem for the model that is chosen."),
	wire.Opt("stream", wire.Flag),
	wire.Opt("stream_options", wire.Object(wire.Opt("include_usage", wire.Flag,
		"A last chunk has the usage."))),
	wire.Opt("n", wire.Int(1, MaxN), "Continuations of each prompt."),
	wire.Opt("temperature", wire.Number(0, math.MaxFloat64),
		"0 takes the likeliest token; the model's own where absent."),
	wire.Opt("top_p", wire.Number(0, 1)),
	wire.Opt("min_p", wire.Number(0, 1)),
	wire.Opt("top_k", wire.Int(-1, math.MaxInt32), "-1 or 0 for all."),
	wire.Opt("presence_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("frequency_penalty", wire.Number(-math.MaxFloat32, math.MaxFloat32)),
	wire.Opt("repetition_penalty", wire.Number(0.01, 100), "1 for none."),
	wire.Opt("logit_bias", wire.Map(wire.Number(
		-100, 100,
	)).With("propertyNames", map[string]any{"pattern": "^[0-9]{1,9}$"}), "Of token ids."),
	wire.Opt("seed", wire.Int(-wire.MaxExact, wire.MaxExact),
		"The same seed gives the same answer; -1 for any."),
	wire.Opt("stop", StopShape),
	wire.Opt("ignore_eos", wire.Flag, "Goes on after the model's end, as in vLLM."),
	wire.Opt("return_token_ids", wire.Flag, "Adds prompt_token_ids and token_ids, as in vLLM."),
	wire.Opt("return_draft_info", wire.Flag, "Adds what was drafted."),
	wire.Opt("speculation", speculationShape),
	wire.Opt("response_format", ResponseFormatShape),
).Named("CommonRequest").Doc("The fields of all generating routes of OpenAI and Mistral.")
