package anthropic

import (
	"maps"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

var userBlockShape = wire.Either(
	api.PartShape,
	toolChangeShape,
	wire.Typed("tool_result",
		wire.Required("tool_use_id", wire.NonEmpty),
		wire.Optional("content", api.PartsShape),
		wire.Optional("is_error", wire.Bool),
	),
).Named("UserBlock")

var assistantBlockShape = wire.Either(
	api.PartShape,
	toolChangeShape,
	wire.Typed("compaction",
		wire.Optional("content", wire.String),
		wire.Optional("tool_changes", wire.List(toolChangeShape)),
	),
	wire.Typed("thinking",
		wire.Optional("thinking", wire.String),
		wire.OmitOnly("signature", wire.Anything, "Not checked."),
	),
	wire.Typed("tool_use",
		wire.Optional("id", wire.String),
		wire.Required("name", wire.NonEmpty),
		wire.Optional("input", wire.Either(wire.AnyMap, wire.String), "A JSON object, or one as text."),
	),
	wire.Object(wire.Required("type", wire.Enum(
		"redacted_thinking", "server_tool_use", "web_search_tool_result",
	))),
).Named("AssistantBlock").
	Doc("Of the vendor's own tools the text is read; left_out in the timings names what has none.")

var messageToolShape = wire.Object(
	wire.Optional("type", wire.String),
	wire.OmitOnly("name", wire.NonEmpty),
	wire.Optional("description", wire.String),
	wire.OmitOnly("input_schema", wire.AnyMap),
	wire.Optional("strict", wire.Bool),
	wire.Optional("defer_loading", wire.Bool,
		"The model gets the tool once a tool_reference names it, if tools has another that is not deferred."),
	wire.Optional("input_examples", wire.List(wire.AnyMap)),
).Or(
	wire.Anything.With("required", []string{"name", "input_schema"}),
	wire.Object(wire.Required("type", wire.Enum(slices.Sorted(maps.Keys(clientTools))...))),
	wire.Object(wire.Required("type", wire.String.With("pattern",
		"^("+strings.Join(servedTools, "|")+`)(_\d{8})?$`))),
).Named("MessageTool").Doc("The client runs it. One that Anthropic's servers would run is left out.")

// toolChangeShape is a block that changes the list of tools.
var toolChangeShape = wire.Object(
	wire.Required("type", wire.Enum(toolAddition, toolRemoval)),
	wire.Required("tool", wire.Either(
		wire.Typed("tool_reference", wire.Required("name", wire.NonEmpty)),
		wire.Typed("tool_definition", wire.Required("definition", messageToolShape)),
		wire.Object(wire.Required("type", wire.Enum("mcp_tool_reference", "mcp_toolset_reference"))),
	)),
).Named("ToolChange")

var outputFormatShape = wire.Typed("json_schema", wire.Required("schema", wire.AnyMap))

var countTokensRequestShape = wire.AllOf(
	api.CommonRequestShape,
	wire.Object(
		wire.Required("messages", wire.List(wire.Either(
			wire.Object(
				wire.Required("role", wire.Const("user")),
				wire.Required("content", wire.Either(wire.String, wire.List(userBlockShape))),
			),
			wire.Object(
				wire.Required("role", wire.Const("assistant")),
				wire.Required("content", wire.Either(wire.String, wire.List(assistantBlockShape))),
			),
			wire.Object(
				wire.Required("role", wire.Const("system")),
				wire.Required("content",
					wire.Either(wire.String, wire.List(wire.Either(api.PartShape, toolChangeShape)))),
			),
		)).Min(1)),
		wire.OmitOnly("system", api.PartsShape),
		wire.Optional("max_tokens", api.LimitShape(0)),
		wire.Optional("stop_sequences", api.StopShape),
		wire.Optional("tools", wire.List(messageToolShape)),
		api.NoFunctions,
		wire.Optional("mcp_servers", wire.List(wire.AnyMap), "Left out."),
		wire.Optional("container", wire.Either(wire.String, wire.AnyMap), "Left out."),
		wire.Optional("tool_choice", wire.Either(
			wire.Object(
				wire.Required("type", wire.Enum(namelessUses()...)),
				wire.Optional("disable_parallel_tool_use", wire.Bool),
			),
			wire.Typed(useTool,
				wire.Required("name", wire.NonEmpty),
				wire.Optional("disable_parallel_tool_use", wire.Bool),
			),
		)),
		wire.Optional("thinking", wire.Object(
			wire.Required("type", wire.NonEmpty, "enabled, adaptive or disabled."),
			wire.Optional("budget_tokens", api.LimitShape(0)),
			wire.Optional("display", wire.String, "omitted leaves thoughts out of the answer."),
		)),
		wire.Optional("output_config", wire.Object(
			wire.Optional("effort", wire.EnumOrEmpty(api.Efforts...)),
			wire.Optional("format", outputFormatShape),
		)),
		wire.Optional("context_management", contextManagementShape),
		wire.Optional("output_format", outputFormatShape, "The older place of the format."),
	).Add(api.ThinkingFields...),
).Named("CountTokensRequest")

var messagesRequestShape = wire.AllOf(
	countTokensRequestShape,
	wire.Object(
		wire.Required("max_tokens", api.LimitShape(0)),
		wire.Optional("thread", wire.Null, "Not supported."),
		wire.Optional("compaction", wire.Null, "Not supported."),
	),
).Named("MessagesRequest")
