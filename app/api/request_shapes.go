package api

import (
	"maps"
	"math"
	"slices"

	"tandem/app/control"
	"tandem/app/wire"
	"tandem/engine"
)

// StopShape is stop: the texts that end an answer.
var StopShape = wire.Either(
	wire.String.Max(engine.MaxStopLength),
	wire.List(wire.String.Max(engine.MaxStopLength)).Max(engine.MaxStops),
).Doc("Texts that end the answer. In thoughts and calls only texts with their marks count, such as </think>.")

// GrammarShape is a response format given by a grammar.
var GrammarShape = wire.Typed("grammar",
	wire.Required("grammar", wire.Object(
		wire.Required("syntax", wire.Enum("lark", "regex")),
		wire.Required("definition", wire.NonEmpty),
	)),
).Doc("Ours.")

// ThinkingFields say how the model should think. They have the names of several servers.
var ThinkingFields = []wire.Field{
	wire.Optional("reasoning_effort", wire.EnumOrEmpty(Efforts...)),
	wire.Optional("enable_thinking", wire.Bool),
	budgetField(budgetFields[0]),
	budgetField(budgetFields[1]),
	budgetField(budgetFields[2]),
	wire.Optional("reasoning", wire.Object(
		wire.Optional("effort", wire.EnumOrEmpty(Efforts...)),
		budgetField("max_tokens"),
		wire.Optional("enabled", wire.Bool),
		wire.Optional("exclude", wire.Bool, "Thoughts are not part of the answer."),
	)),
	wire.Optional("chat_template_kwargs", wire.AnyMap.With("properties",
		map[string]any{"messages": false, "tools": false}),
		"Variables of the template."),
}

// LimitShape is a limit of tokens. It is a number of lo or more, or -1 or -2 for none.
func LimitShape(lo float64) *wire.Shape {
	return wire.Either(wire.Int(lo, math.MaxInt32), wire.Values(-1, -2).Doc("For no limit."))
}

// budgetField returns the field of a token limit of a thought.
func budgetField(name string) wire.Field {
	return wire.Optional(name, wire.Int(-1, math.MaxInt32), "Tokens; -1 for any number.")
}

// speculationShape is Speculation in OpenAPI.
var speculationShape = wire.Object(
	wire.Optional("drafter", wire.EnumOrEmpty(control.Drafters...)),
	wire.Optional("depth", wire.Int(0, control.MaxDepth),
		"Tokens proposed at a time; absent for as many as pay off."),
	wire.Optional("rollback", wire.EnumOrEmpty(control.Rollbacks...)),
	wire.Optional("rule", wire.EnumOrEmpty(control.Rules...)),
	wire.Optional("exact", wire.Bool, "No rounding differs between drafted and plain decoding."),
).With("additionalProperties", false).Named("Speculation").
	Doc("How to decode; the text is the same whatever is chosen.")

// NamedSchemaShape is a JSON schema in the form of chats.
var NamedSchemaShape = wire.Object(
	wire.Optional("name", wire.String),
	wire.Required("schema", wire.AnyMap, "A JSON schema."),
	wire.Optional("strict", wire.Bool),
)

// objectSchemaShape is the schema of an object.
var objectSchemaShape = wire.Object(wire.Optional("type", wire.Either(
	wire.Const("object"),
	wire.List(wire.String).With("contains", map[string]any{"const": "object"}),
)))

// ObjectFormatShape is a response format that is any object, or one by a schema.
var ObjectFormatShape = wire.Typed("json_object",
	wire.Optional("schema", objectSchemaShape, "A JSON schema, as in llama.cpp."),
	wire.Optional("strict", wire.Bool),
	wire.Optional("json_schema", wire.Object(
		wire.Optional("name", wire.String),
		wire.Required("schema", objectSchemaShape, "A JSON schema."),
		wire.Optional("strict", wire.Bool),
	), "The schema as json_schema has it."),
)

// ResponseFormatShape is ResponseFormat in OpenAPI.
var ResponseFormatShape = wire.Either(
	wire.Typed("text"),
	ObjectFormatShape,
	wire.Typed("json_schema", wire.Required("json_schema", NamedSchemaShape)),
	wire.Typed("json_schema",
		wire.Required("schema", wire.AnyMap, "A JSON schema."),
		wire.Optional("strict", wire.Bool),
	),
	GrammarShape,
).Named("ResponseFormat").Doc("What the answer may be.")

// ToolShape is Tool in OpenAPI.
var ToolShape = wire.Either(
	wire.Object(
		wire.OmitOnly("type", wire.Const("function")),
		wire.Required("function", functionShape),
	),
	wire.Object(
		wire.OmitOnly("type", wire.Const("function")),
		wire.Optional("function", wire.Null),
		wire.Required("name", wire.NonEmpty),
	).Add(FunctionFields...).Doc("A function without the object around it gets one."),
	wire.Typed(CustomTool, wire.Required("custom", wire.Object(CustomFields...))),
	wire.Typed(CustomTool, wire.Optional("custom", wire.Null)).Add(CustomFields...),
	HostedToolShape,
).Named("Tool")

// functionShape is a function that a request offers.
var functionShape = wire.Object(wire.Required("name", wire.NonEmpty)).Add(FunctionFields...)

// HostedToolShape is a tool that OpenAI's servers run.
var HostedToolShape = wire.Object(wire.Required("type", wire.String.With("pattern", hosted.String()))).
	Doc("Left out, which left_out in the timings says.")

// CustomFields are those of a tool that is called with a text.
var CustomFields = []wire.Field{
	wire.Required("name", wire.NonEmpty),
	wire.Optional("description", wire.String),
	wire.Optional("format", wire.Either(
		wire.Typed("text"),
		wire.Typed("grammar", wire.Required("grammar", wire.Object(textRuleFields...))),
		wire.Typed("grammar", wire.Optional("grammar", wire.Null)).Add(textRuleFields...),
	), "What the text is; a call that is asked for follows it."),
}

// textRuleFields are the rules of a text.
var textRuleFields = []wire.Field{
	wire.Required("syntax", wire.Enum("lark", "regex")),
	wire.Required("definition", wire.NonEmpty),
}

// FunctionFields are those of a function beside its name.
var FunctionFields = []wire.Field{
	wire.Optional("description", wire.String),
	wire.Optional("parameters", wire.AnyMap),
	wire.Optional("strict", wire.Bool),
	wire.Optional("input_schema", wire.Null, "Not read: parameters has it."),
}

// NoFunctions is the field of a route that does not read the older form of tools.
var NoFunctions = wire.Optional("functions", wire.List(wire.Anything).Max(0), "Not read: tools has them.")

// TextPartShape is TextPart in OpenAPI.
var TextPartShape = wire.Either(
	wire.Typed("text", wire.Required("text", wire.String)),
	wire.Typed("refusal", wire.Required("refusal", wire.String)),
).Named("TextPart")

// textsShape is a text, or parts that are text alone.
var textsShape = wire.Either(wire.String, wire.List(TextPartShape))

// attachedShape describes a file attachment, as OpenAI has it.
var attachedShape = wire.Object(
	wire.Optional("filename", wire.String),
	wire.Required("file_data", wire.NonEmpty, "Base64, or a data URL."),
)

// sourceShape is where a document has its text.
var sourceShape = wire.Either(
	wire.Typed("text", wire.Required("data", wire.String)),
	wire.Typed("content", wire.Required("content", textsShape)),
	wire.Typed("base64", wire.Optional("media_type", wire.String), wire.Required("data", wire.NonEmpty)),
)

// fileKinds returns the kinds of files that are never text.
func fileKinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(kind string) bool {
		return kind == documentPart || kind == "file" || kind == "input_file"
	})
}

// PartShape is ContentPart in OpenAPI.
var PartShape = wire.Either(
	wire.String,
	wire.Object(wire.OmitOnly("type", wire.String, "Mostly text, input_text or output_text."),
		wire.Required("text", wire.String)),
	wire.Typed("refusal", wire.Required("refusal", wire.String)),
	wire.Typed("thinking", wire.Required("thinking", textsShape)),
	wire.Typed(redactedThought),
	wire.Typed(encryptedPart),
	wire.Typed("tool_reference", wire.Required("tool_name", wire.String)),
	wire.Typed("search_result",
		wire.Optional("title", wire.String),
		wire.Optional("source", wire.String),
		wire.Required("content", textsShape),
	),
	wire.Typed("document",
		wire.Optional("title", wire.String),
		wire.Optional("context", wire.String),
		wire.Required("source", sourceShape),
	),
	wire.AllOf(wire.Typed("input_file"), attachedShape),
	wire.Typed("file", wire.Required("file", attachedShape)),
	wire.Object(wire.Required("type", wire.Enum(fileKinds()...))).
		Doc("A line of text takes the place of what is no text. In the user's last message it is refused."),
).Named("ContentPart").Doc("Whatever holds text; the thoughts of an answer are not part of it.")

// PartsShape is a text, or parts with text.
var PartsShape = wire.Either(wire.String, wire.List(PartShape)).Named("Parts")

// ContentShape is Content in OpenAPI.
var ContentShape = PartsShape.OrNull().Named("Content")

// ChatMessageShape is ChatMessage in OpenAPI.
var ChatMessageShape = wire.Object(
	wire.Required("role", wire.Enum(Roles...)),
	wire.OmitOnly("content", ContentShape),
	wire.Optional("audio", wire.Object(wire.Optional("transcript", wire.String)),
		"Of an answer in sound the transcript is read."),
	wire.Optional("name", wire.String),
	wire.Optional("tool_call_id", wire.String),
	wire.Optional("tool_calls", wire.List(wire.Either(
		wire.Object(
			wire.OmitOnly("type", wire.String),
			wire.Required("function", wire.Object(
				wire.Required("name", wire.String),
				wire.OmitOnly("arguments", wire.Anything, "A JSON object, or one as text; absent for none."),
			)),
		),
		wire.Object(
			wire.OmitOnly("type", wire.Const(CustomTool)),
			wire.Required("custom", wire.Object(
				wire.Required("name", wire.String),
				wire.Optional("input", wire.String),
			)),
		),
	))),
	wire.Optional("function_call", wire.Object(
		wire.Required("name", wire.String),
		wire.Optional("arguments", wire.Either(wire.String, wire.AnyMap)),
	), "The older form of one call."),
	wire.Optional("reasoning_content", wire.String, "What the model thought."),
	wire.Optional("reasoning", wire.String, "Other servers' name for it."),
	wire.Optional("prefix", wire.Bool, "The answer continues this message, if it is the last."),
	wire.Optional("partial", wire.Bool, "Another server's name for it."),
	wire.Optional("refusal", wire.String, "An answer in place of content."),
).Or(
	wire.Object(wire.Required("role", wire.Const("assistant")),
		wire.Required("tool_calls", wire.List(wire.Anything).With("minItems", 1))),
	wire.Object(wire.Required("role", wire.Const("assistant")), wire.Required("function_call", wire.AnyMap)),
	wire.Object(wire.Required("role", wire.Const("assistant")), wire.Required("refusal", wire.NonEmpty)),
	wire.Object(wire.Required("role", wire.Const("assistant")),
		wire.Required("audio", wire.Object(wire.Required("transcript", wire.NonEmpty)))),
	wire.Object(wire.Required("role", wire.Const("function")), wire.Required("content", ContentShape)),
	wire.Object(wire.Required("role", wire.Enum("system", "developer", "user", "assistant", "tool")),
		wire.Required("content", PartsShape)),
).Named("ChatMessage").Doc("Reaches the template with all its names, without images and files beside the content.")

// ChosenShape is the tool that a choice names.
var ChosenShape = wire.Object(wire.Required("name", wire.NonEmpty))

var allowedShape = wire.Object(
	wire.Optional("mode", wire.EnumOrEmpty("auto", "required")),
	wire.Required("tools", wire.List(ToolShape)),
)

// ChoiceTypeShape is a word of tool_choice as an object, as Anthropic has it.
var ChoiceTypeShape = wire.Object(wire.Required("type", wire.Enum(ToolChoices...)))

// ToolChoiceShape is ToolChoice in OpenAPI.
var ToolChoiceShape = wire.Either(
	wire.Enum(ToolChoices...),
	ChoiceTypeShape,
	wire.Object(
		wire.OmitOnly("type", wire.Enum("function", "tool")),
		wire.Required("function", ChosenShape),
	),
	wire.Object(
		wire.OmitOnly("type", wire.Enum("function", "tool", CustomTool)),
		wire.Optional("function", wire.Null),
		wire.Optional("custom", wire.Null),
		wire.Required("name", wire.NonEmpty),
	),
	wire.Typed(CustomTool, wire.Required("custom", ChosenShape)),
	wire.Typed("allowed_tools", wire.Required("allowed_tools", allowedShape)),
	wire.AllOf(wire.Typed("allowed_tools"), allowedShape),
).OrNull().Named("ToolChoice").Doc("Whether an answer is a call.")

// ToolFields are tools, whether an answer calls them, and the older form of both.
var ToolFields = []wire.Field{
	wire.Optional("tools", wire.List(ToolShape)),
	wire.Optional("tool_choice", ToolChoiceShape),
	wire.Optional("parallel_tool_calls", wire.Bool, "false for one call at most."),
	wire.Optional("functions", wire.List(functionShape), "The older form of tools."),
	wire.Optional("function_call", wire.Either(wire.Enum(ToolChoices...), ChosenShape)),
}

// SamplingFields are the fields of sampling that the routes of several vendors spell alike.
var SamplingFields = []wire.Field{
	wire.Optional("top_p", wire.NumberBetween(0, 1)),
	wire.Optional("min_p", wire.NumberBetween(0, 1)),
	wire.Optional("top_k", wire.Int(-1, math.MaxInt32), "-1 or 0 for all."),
	wire.Optional("presence_penalty", wire.NumberBetween(-math.MaxFloat32, math.MaxFloat32)),
	wire.Optional("frequency_penalty", wire.NumberBetween(-math.MaxFloat32, math.MaxFloat32)),
}

// CommonRequestShape is CommonRequest in OpenAPI.
var CommonRequestShape = wire.Object(
	wire.Optional("model", wire.String, "An id of /v1/models, or tandem for the current model, as where it is absent."),
	wire.Optional("stream", wire.Bool),
	wire.Optional("stream_options", wire.Object(wire.Optional("include_usage", wire.Bool,
		"A last chunk has the usage."))),
	wire.Optional("n", wire.Int(1, MaxN), "Continuations of each prompt."),
	wire.Optional("temperature", wire.NumberBetween(0, math.MaxFloat64),
		"0 takes the likeliest token; the model's own where absent."),
).Add(SamplingFields...).Add(
	wire.Optional("repetition_penalty", wire.NumberBetween(0.01, 100), "1 for none."),
	wire.Optional("logit_bias", wire.Map(wire.NumberBetween(
		-100, 100,
	)).With("propertyNames", map[string]any{"pattern": "^[0-9]{1,9}$"}), "Of token ids."),
	wire.Optional("seed", wire.Int(-wire.MaxExact, wire.MaxExact),
		"The same seed gives the same answer; -1 for any."),
	wire.Optional("stop", StopShape),
	wire.Optional("ignore_eos", wire.Bool, "Goes on after the model's end, as in vLLM."),
	wire.Optional("return_token_ids", wire.Bool, "Adds prompt_token_ids and token_ids, as in vLLM."),
	wire.Optional("return_draft_info", wire.Bool, "Adds what was drafted."),
	wire.Optional("speculation", speculationShape),
	wire.Optional("response_format", ResponseFormatShape),
).Named("CommonRequest").Doc("The fields of all generating routes of OpenAI and Mistral.")
