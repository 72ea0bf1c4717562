package responses

import (
	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

var inputItemShape = wire.Either(
	wire.Object(
		wire.OmitOnly("type", wire.Values("message", nil)),
		wire.Optional("id", wire.String),
		wire.Required("role", wire.Enum("system", "developer", "user", "assistant")),
		wire.Optional("content", api.PartsShape),
	),
	wire.Typed("reasoning",
		wire.Optional("id", wire.String),
		wire.Optional("content", api.PartsShape),
		wire.Optional("summary", api.PartsShape),
	),
	wire.Typed("function_call",
		wire.Optional("id", wire.String),
		wire.Optional("call_id", wire.String),
		wire.Required("name", wire.NonEmpty),
		wire.Optional("namespace", wire.String),
		wire.Optional("arguments", wire.Either(wire.String, wire.AnyMap)),
	),
	wire.Typed("function_call_output",
		wire.Optional("id", wire.String),
		wire.Required("call_id", wire.NonEmpty),
		wire.Required("output", api.PartsShape),
	),
	wire.Typed("item_reference", wire.Required("id", wire.String)),
	wire.Typed("compaction",
		wire.Optional("id", wire.String),
		wire.Required("encrypted_content", wire.String),
	),
	wire.Object(wire.Required("type",
		wire.NonEmpty.With("not", map[string]any{"enum": []any{"message", "reasoning",
			"function_call", "function_call_output", "item_reference", "compaction"}}))),
).Named("InputItem").Doc("A message, reasoning, function_call, function_call_output, item_reference or compaction; others are skipped.")

var responseFunctionShape = wire.Typed("function",
	wire.Required("name", wire.NonEmpty),
	wire.Optional("namespace", wire.String),
).Add(api.FunctionFields...).Named("ResponseFunction")

var responseToolShape = wire.Either(
	responseFunctionShape,
	wire.Typed("function", wire.Required("function",
		wire.Object(wire.Required("name", wire.NonEmpty)).Add(api.FunctionFields...), "As chats have it.")),
	wire.Typed("namespace",
		wire.Required("name", wire.NonEmpty),
		wire.Optional("description", wire.String),
		wire.OmitOnly("tools", wire.List(responseFunctionShape)),
	),
	wire.Object(wire.Required("type",
		wire.String.With("not", map[string]any{"enum": []any{"function", "namespace"}}))),
).Named("ResponseTool").Doc("A function or a namespace of functions; others are skipped.")

var inputShape = wire.Either(wire.NonEmpty, wire.List(inputItemShape).Min(1))

// promptFields are part of the prompt, beside the input.
var promptFields = []wire.Field{
	wire.Optional("instructions", wire.String),
	wire.Optional("previous_response_id", wire.String, "Continues a response of the last day."),
	wire.Optional("tools", wire.List(responseToolShape)),
	wire.Optional("tool_choice", wire.Either(
		wire.Enum(api.ToolChoices...),
		api.ChoiceTypeShape,
		wire.Object(
			wire.OmitOnly("type", wire.Enum("function", "tool")),
			wire.Optional("function", wire.Null),
			wire.Required("name", wire.NonEmpty),
			wire.Optional("namespace", wire.String),
		),
		wire.Object(
			wire.OmitOnly("type", wire.Enum("function", "tool")),
			wire.Required("function", api.ChosenShape, "As chats have it."),
		),
		wire.Typed("allowed_tools",
			wire.Optional("mode", wire.EnumOrEmpty("auto", "required")),
			wire.OmitOnly("tools", wire.List(responseToolShape)),
			wire.Optional("allowed_tools", wire.Object(
				wire.Optional("mode", wire.EnumOrEmpty("auto", "required")),
				wire.Required("tools", wire.List(responseToolShape)),
			), "As chats have it."),
		),
	)),
	wire.Optional("parallel_tool_calls", wire.Bool),
	wire.Optional("truncation", wire.EnumOrEmpty("auto", "disabled"),
		"auto leaves out the earliest turns of a conversation that does not fit the context."),
}

var responseRequestShape = wire.AllOf(
	api.CommonRequestShape,
	wire.Object(
		wire.Required("input", inputShape),
		wire.Optional("store", wire.Bool, "true where absent."),
		wire.Optional("context_management", contextManagementShape),
		wire.Optional("max_output_tokens", api.LimitShape(1)),
		wire.Optional("top_logprobs", wire.Int(0, engine.MaxTopLogprobs)),
		wire.Optional("include", wire.Either(wire.String, wire.List(wire.String)),
			"message.output_text.logprobs, for one."),
		wire.Optional("text", wire.Object(wire.Optional("format", wire.Either(
			wire.Typed("text"),
			api.ObjectFormatShape,
			wire.Typed("json_schema",
				wire.Optional("name", wire.String),
				wire.Required("schema", wire.AnyMap, "A JSON schema."),
				wire.Optional("strict", wire.Bool),
			),
			wire.Typed("json_schema",
				wire.Optional("schema", wire.Null),
				wire.Required("json_schema", api.NamedSchemaShape, "The schema as chats have it."),
			),
			api.GrammarShape,
		)))),
		wire.Optional("metadata",
			wire.Map(wire.String.Max(MaxMetadataValue)).
				With("propertyNames", map[string]any{"maxLength": maxMetadataKey}).
				With("maxProperties", maxMetadata)),
		wire.Optional("response_format", wire.Null, "Not supported: text has it."),
		wire.OmitOnly("background", wire.Values(false, nil), "Not supported."),
		wire.Optional("background_options", wire.Null, "Not supported."),
		wire.Optional("conversation", wire.Null, "Not supported."),
		wire.Optional("moderation", wire.Null, "Not supported."),
		wire.Optional("prompt", wire.Null, "Not supported."),
	).Add(promptFields...).Add(api.ThinkingFields...),
).Named("ResponseRequest")

var inputTokensShape = wire.Object(
	wire.Optional("model", wire.String, "The chosen one where absent."),
	wire.Optional("input", inputShape, "Absent for a response that is continued as it is."),
	wire.Optional("conversation", wire.Null, "Not supported."),
).Add(promptFields...).Add(api.ThinkingFields...).Named("InputTokensRequest")

var compactRequestShape = wire.Object(
	wire.Optional("model", wire.String, "The chosen one where absent."),
	wire.Optional("input", inputShape, "Absent for a response that is continued as it is."),
	wire.Optional("instructions", wire.String),
	wire.Optional("previous_response_id", wire.String, "Continues a response of the last day."),
).Named("CompactRequest")
