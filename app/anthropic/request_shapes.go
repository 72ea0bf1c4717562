package anthropic

import (
	"tandem/app/api"
	"tandem/app/wire"
)

var userBlockShape = wire.Either(
	api.PartShape,
	wire.Object(
		wire.Need("type", wire.Just("tool_result")),
		wire.Need("tool_use_id", wire.Filled),
		wire.Opt("content", api.PartsShape),
		wire.Opt("is_error", wire.Flag),
	),
).Named("UserBlock")

var assistantBlockShape = wire.Either(
	api.PartShape,
	wire.Object(wire.Need("type", wire.Just("thinking")), wire.Opt("thinking", wire.Text)),
	wire.Object(
		wire.Need("type", wire.Just("tool_use")),
		wire.Opt("id", wire.Text),
		wire.Need("name", wire.Filled),
		wire.Opt("input", wire.Either(wire.AnyMap, wire.Text), "A JSON object, or one as text."),
	),
	wire.Object(wire.Need("type", wire.Word(
		"redacted_thinking", "server_tool_use", "web_search_tool_result",
	))),
).Named("AssistantBlock").Doc("Blocks of the vendor's own tools are skipped.")

var messageToolShape = wire.Object(
	wire.Opt("type", wire.Text),
	wire.May("name", wire.Filled),
	wire.Opt("description", wire.Text),
	wire.May("input_schema", wire.AnyMap),
	wire.Opt("strict", wire.Flag),
).Or(
	wire.Anything.With("required", []string{"name", "input_schema"}),
	wire.Object(wire.Need("type", wire.Just("web_search_20250305"))),
).Named("MessageTool").Doc("A tool of another type than custom is skipped.")

var outputFormatShape = wire.Object(
	wire.Need("type", wire.Just("json_schema")),
	wire.Need("schema", wire.AnyMap),
)

var countTokensRequestShape = wire.Both(
	api.CommonRequestShape,
	wire.Object(
		wire.Need("messages", wire.List(wire.Either(
			wire.Object(
				wire.Need("role", wire.Just("user")),
				wire.Need("content", wire.Either(wire.Text, wire.List(userBlockShape))),
			),
			wire.Object(
				wire.Need("role", wire.Just("assistant")),
				wire.Need("content", wire.Either(wire.Text, wire.List(assistantBlockShape))),
			),
			wire.Object(
				wire.Need("role", wire.Just("system")),
				wire.Need("content", api.PartsShape),
			),
		)).Least(1)),
		wire.May("system", api.PartsShape),
		wire.Opt("stop_sequences", api.StopShape),
		wire.Opt("tools", wire.List(messageToolShape)),
		wire.Opt("tool_choice", wire.Either(
			wire.Object(
				wire.Need("type", wire.Word(namelessUses()...)),
				wire.Opt("disable_parallel_tool_use", wire.Flag),
			),
			wire.Object(
				wire.Need("type", wire.Just(useTool)),
				wire.Need("name", wire.Filled),
				wire.Opt("disable_parallel_tool_use", wire.Flag),
			),
		)),
		wire.Opt("thinking", wire.Object(
			wire.Need("type", wire.Filled, "enabled, adaptive or disabled."),
			wire.Opt("budget_tokens", api.LimitShape(0)),
			wire.Opt("display", wire.Text, "omitted leaves thoughts out of the answer."),
		)),
		wire.Opt("output_config", wire.Object(
			wire.Opt("effort", wire.Choice(api.Efforts...)),
			wire.Opt("format", outputFormatShape),
		)),
		wire.Opt("output_format", outputFormatShape, "The older place of the format."),
	).Add(api.ThinkingFields...),
).Named("CountTokensRequest")

var messagesRequestShape = wire.Both(
	countTokensRequestShape,
	wire.Object(wire.Need("max_tokens", api.LimitShape(0))),
).Named("MessagesRequest")
