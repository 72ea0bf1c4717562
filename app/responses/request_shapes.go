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
		wire.Required("content", api.PartsShape),
	),
	wire.Typed(thoughtItem,
		wire.Optional("id", wire.String),
		wire.Optional("content", api.PartsShape),
		wire.Optional("summary", api.PartsShape),
		wire.Optional("encrypted_content", wire.String, "Another server's, which is not read."),
	),
	callShape("function_call",
		wire.Required("name", wire.NonEmpty),
		wire.Optional("namespace", wire.String),
		wire.Optional("arguments", wire.Either(wire.String, wire.AnyMap)),
	),
	callShape("custom_tool_call",
		wire.Required("name", wire.NonEmpty),
		wire.Optional("namespace", wire.String),
		wire.Optional("input", wire.String),
	),
	callShape("shell_call", wire.Required("action", wire.AnyMap)),
	callShape("local_shell_call", wire.Required("action", wire.AnyMap)),
	callShape("apply_patch_call", wire.Required("operation", wire.AnyMap)),
	callShape("computer_call", wire.Optional("action", wire.AnyMap), wire.Optional("actions", wire.List(wire.AnyMap))),
	callShape("tool_search_call", wire.Optional("arguments", wire.Either(wire.String, wire.AnyMap))),
	resultShape("function_call_output", wire.Required("output", api.PartsShape)),
	resultShape("custom_tool_call_output", wire.Required("output", api.PartsShape)),
	resultShape("shell_call_output", wire.Required("output", wire.List(wire.Object(
		wire.Optional("stdout", wire.String),
		wire.Optional("stderr", wire.String),
		wire.Optional("outcome", wire.Object(
			wire.Optional("type", wire.String),
			wire.Optional("exit_code", wire.Integer),
		)),
	)))),
	wire.Typed("local_shell_call_output",
		wire.Required("id", wire.NonEmpty, "The call's, if there is no call_id."),
		wire.Optional("call_id", wire.String),
		wire.Required("output", api.PartsShape),
	),
	resultShape("computer_call_output", wire.Required("output", wire.Typed("computer_screenshot"),
		"A line of text takes the picture's place.")),
	resultShape("apply_patch_call_output",
		wire.Required("status", wire.Enum("completed", "failed")),
		wire.Optional("output", wire.String),
	),
	wire.Typed("tool_search_output",
		wire.Optional("id", wire.String),
		wire.Optional("call_id", wire.String),
		wire.OmitOnly("tools", wire.List(responseToolShape)),
	),
	wire.Typed(additionalTools,
		wire.Optional("id", wire.String),
		wire.OmitOnly("tools", wire.List(responseToolShape)),
	),
	wire.Typed("item_reference", wire.Required("id", wire.String)),
	wire.Typed("compaction",
		wire.Optional("id", wire.String),
		wire.Required("encrypted_content", wire.String),
	),
	wire.Object(wire.Required("type", wire.Enum(servedItems...))).
		Doc("Left out, which left_out in the timings says."),
	wire.Object(
		wire.Required("type", wire.NonEmpty.With("not", map[string]any{"enum": itemTypes()})),
		wire.Optional("role", wire.Null),
		wire.Optional("call_id", wire.Null),
	).Doc("Others are left out too, except messages, calls and results of unknown types, and texts and files "+
		"outside of a message."),
).Named("InputItem")

// callShape is the shape of a call's item.
func callShape(kind string, more ...wire.Field) *wire.Shape {
	return wire.Typed(kind, wire.Optional("id", wire.String), wire.Optional("call_id", wire.String)).Add(more...)
}

// resultShape is the shape of a result's item.
func resultShape(kind string, more ...wire.Field) *wire.Shape {
	return wire.Typed(kind, wire.Optional("id", wire.String), wire.Required("call_id", wire.NonEmpty)).Add(more...)
}

// itemTypes returns the types of items that are read or refused.
func itemTypes() []any {
	list := []any{"message", thoughtItem, "item_reference", compactionItem, compactionTrigger, additionalTools}
	for _, kind := range servedItems {
		list = append(list, kind)
	}
	for _, kind := range api.PartTypes() {
		list = append(list, kind)
	}
	for i := range toolKinds {
		list = append(list, toolKinds[i].call, toolKinds[i].output)
	}
	return list
}

var responseFunctionShape = wire.Typed("function",
	wire.Required("name", wire.NonEmpty),
	wire.Optional("namespace", wire.String),
).Add(api.FunctionFields...).Named("ResponseFunction")

var spacedToolShape = wire.Either(
	responseFunctionShape,
	wire.Typed("function", wire.Required("function",
		wire.Object(wire.Required("name", wire.NonEmpty)).Add(api.FunctionFields...), "As chats have it.")),
	wire.Typed(api.CustomTool).Add(api.CustomFields...),
	wire.Typed(api.CustomTool, wire.Required("custom", wire.Object(api.CustomFields...), "As chats have it.")),
	api.HostedToolShape,
)

var responseToolShape = wire.Either(
	spacedToolShape,
	wire.Typed("namespace",
		wire.Required("name", wire.NonEmpty),
		wire.Optional("description", wire.String),
		wire.OmitOnly("tools", wire.List(spacedToolShape)),
	),
	wire.Typed("shell", wire.Optional("environment", wire.Object(
		wire.Required("type", wire.Enum("local", "container_auto", "container_reference"),
			"A tool that runs in a container of OpenAI's is left out."),
	))),
	wire.Typed("local_shell"),
	wire.Typed("apply_patch"),
	wire.Typed("tool_search",
		wire.Optional("execution", wire.EnumOrEmpty("client", "server"),
			"A search on OpenAI's servers, also where it is absent, is left out."),
		wire.Optional("description", wire.String),
		wire.Optional("parameters", wire.AnyMap),
	),
).Named("ResponseTool")

var inputShape = wire.Either(wire.NonEmpty, wire.List(inputItemShape).Min(1))

// promptFields are part of the prompt, beside the input.
var promptFields = []wire.Field{
	wire.Optional("instructions", wire.String),
	wire.Optional("previous_response_id", wire.String, "Continues a response of the last day."),
	wire.Optional("tools", wire.List(responseToolShape)),
	api.NoFunctions,
	wire.Optional("tool_choice", wire.Either(
		wire.Enum(api.ToolChoices...),
		api.ChoiceTypeShape,
		wire.Object(
			wire.OmitOnly("type", wire.Enum("function", "tool", api.CustomTool)),
			wire.Optional("function", wire.Null),
			wire.Optional("custom", wire.Null),
			wire.Required("name", wire.NonEmpty),
			wire.Optional("namespace", wire.String),
		),
		wire.Object(wire.Required("type", wire.Enum("shell", "local_shell", "apply_patch", "tool_search"))),
		wire.Typed(api.CustomTool, wire.Required("custom", api.ChosenShape, "As chats have it.")),
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
	wire.Optional("model", wire.String, "The current model where absent."),
	wire.Optional("input", inputShape, "Absent for a response that is continued as it is."),
	wire.Optional("max_output_tokens", api.LimitShape(1), "Of the answer to come, whose room the prompt leaves."),
	wire.Optional("conversation", wire.Null, "Not supported."),
).Add(promptFields...).Add(api.ThinkingFields...).Named("InputTokensRequest")

var compactRequestShape = wire.Object(
	wire.Optional("model", wire.String, "The current model where absent."),
	wire.Optional("input", inputShape, "Absent for a response that is continued as it is."),
	wire.Optional("instructions", wire.String),
	wire.Optional("previous_response_id", wire.String, "Continues a response of the last day."),
).Named("CompactRequest")
