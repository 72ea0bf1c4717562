package responses

import (
	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var inputItemShape = wire.Either(
	wire.Object(
		wire.May("type", wire.Values("message", nil)),
		wire.Opt("id", wire.Text),
		wire.Need("role", wire.Word("system", "developer", "user", "assistant")),
		wire.Opt("content", api.PartsShape),
	),
	wire.Object(
		wire.Need("type", wire.Just("reasoning")),
		wire.Opt("id", wire.Text),
		wire.Opt("content", api.PartsShape),
		wire.Opt("summary", api.PartsShape),
	),
	wire.Object(
		wire.Need("type", wire.Just("function_call")),
		wire.Opt("id", wire.Text),
		wire.Opt("call_id", wire.Text),
		wire.Need("name", wire.Filled),
		wire.Opt("namespace", wire.Text),
		wire.Opt("arguments", wire.Either(wire.Text, wire.AnyMap)),
	),
	wire.Object(
		wire.Need("type", wire.Just("function_call_output")),
		wire.Opt("id", wire.Text),
		wire.Need("call_id", wire.Filled),
		wire.Need("output", api.PartsShape),
	),
	wire.Object(wire.Need("type", wire.Just("item_reference")), wire.Need("id", wire.Text)),
	wire.Object(
		wire.Need("type", wire.Just("compaction")),
		wire.Opt("id", wire.Text),
		wire.Need("encrypted_content", wire.Text),
	),
	wire.Object(wire.Need("type",
		wire.Filled.With("not", map[string]any{"enum": []any{"message", "reasoning",
			"function_call", "function_call_output", "item_reference", "compaction"}}))),
).Named("InputItem").Doc("A message, reasoning, function_call, function_call_output, item_reference or compaction; others are skipped.")

var responseFunctionShape = wire.Object(
	wire.Need("type", wire.Just("function")),
	wire.Need("name", wire.Filled),
	wire.Opt("namespace", wire.Text),
	wire.Opt("description", wire.Text),
	wire.Opt("parameters", wire.AnyMap),
	wire.Opt("strict", wire.Flag),
).Named("ResponseFunction")

var responseToolShape = wire.Either(
	responseFunctionShape,
	wire.Object(
		wire.Need("type", wire.Just("function")),
		wire.Need("function", wire.Object(
			wire.Need("name", wire.Filled),
			wire.Opt("description", wire.Text),
			wire.Opt("parameters", wire.AnyMap),
			wire.Opt("strict", wire.Flag),
		), "As chats have it."),
	),
	wire.Object(
		wire.Need("type", wire.Just("namespace")),
		wire.Need("name", wire.Filled),
		wire.Opt("description", wire.Text),
		wire.May("tools", wire.List(responseFunctionShape)),
	),
	wire.Object(wire.Need("type",
		wire.Text.With("not", map[string]any{"enum": []any{"function", "namespace"}}))),
).Named("ResponseTool").Doc("A function or a namespace of functions; others are skipped.")

var inputShape = wire.Either(wire.Filled, wire.List(inputItemShape).Least(1))

// promptFields are part of the prompt, beside the input.
var promptFields = []wire.Field{
	wire.Opt("instructions", wire.Text),
	wire.Opt("previous_response_id", wire.Text, "Continues a response of the last day."),
	wire.Opt("tools", wire.List(responseToolShape)),
	wire.Opt("tool_choice", wire.Either(
		wire.Word(api.ToolChoices...),
		api.ChoiceTypeShape,
		wire.Object(
			wire.May("type", wire.Word("function", "tool")),
			wire.Opt("function", wire.Null),
			wire.Need("name", wire.Filled),
			wire.Opt("namespace", wire.Text),
		),
		wire.Object(
			wire.May("type", wire.Word("function", "tool")),
			wire.Need("function", api.ChosenShape, "As chats have it."),
		),
		wire.Object(
			wire.Need("type", wire.Just("allowed_tools")),
			wire.Opt("mode", wire.Choice("auto", "required")),
			wire.May("tools", wire.List(responseToolShape)),
			wire.Opt("allowed_tools", wire.Object(
				wire.Opt("mode", wire.Choice("auto", "required")),
				wire.Need("tools", wire.List(responseToolShape)),
			), "As chats have it."),
		),
	)),
	wire.Opt("parallel_tool_calls", wire.Flag),
	wire.Opt("truncation", wire.Choice("auto", "disabled")),
}

var responseRequestShape = wire.Both(
	api.CommonRequestShape,
	wire.Object(
		wire.Need("input", inputShape),
		wire.Opt("store", wire.Flag, "true where absent."),
		wire.Opt("max_output_tokens", api.LimitShape(1)),
		wire.Opt("top_logprobs", wire.Int(0, engine.MaxTopLogprobs)),
		wire.Opt("include", wire.Either(wire.Text, wire.List(wire.Text)),
			"message.output_text.logprobs, for one."),
		wire.Opt("text", wire.Object(wire.Opt("format", wire.Either(
			wire.Object(wire.Need("type", wire.Just("text"))),
			api.ObjectFormatShape,
			wire.Object(
				wire.Need("type", wire.Just("json_schema")),
				wire.Opt("name", wire.Text),
				wire.Need("schema", wire.AnyMap, "A JSON schema."),
				wire.Opt("strict", wire.Flag),
			),
			wire.Object(
				wire.Need("type", wire.Just("json_schema")),
				wire.Opt("schema", wire.Null),
				wire.Need("json_schema", api.NamedSchemaShape, "The schema as chats have it."),
			),
			api.GrammarShape,
		)))),
		wire.Opt("metadata",
			wire.Map(wire.Text.Most(MaxMetadataValue)).
				With("propertyNames", map[string]any{"maxLength": maxMetadataKey}).
				With("maxProperties", maxMetadata)),
		wire.Opt("response_format", wire.Null, "Not supported: text has it."),
		wire.May("background", wire.Values(false, nil), "Not supported."),
		wire.Opt("conversation", wire.Null, "Not supported."),
		wire.Opt("prompt", wire.Null, "Not supported."),
	).Add(promptFields...).Add(api.ThinkingFields...),
).Named("ResponseRequest")

var inputTokensShape = wire.Object(
	wire.Opt("model", wire.Text, "The chosen one where absent."),
	wire.Opt("input", inputShape, "Absent for a response that is continued as it is."),
).Add(promptFields...).Add(api.ThinkingFields...).Named("InputTokensRequest")

var compactRequestShape = wire.Object(
	wire.Need("model", wire.Filled),
	wire.Opt("input", inputShape, "Absent for a response that is continued as it is."),
	wire.Opt("instructions", wire.Text),
	wire.Opt("previous_response_id", wire.Text, "Continues a response of the last day."),
).Named("CompactRequest")
