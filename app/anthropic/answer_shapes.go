package anthropic

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// ModelShape is AnthropicModel in OpenAPI.
var ModelShape = wire.Object(
	wire.Need("type", wire.Just("model")),
	wire.Need("id", wire.Text),
	wire.Need("display_name", wire.Text),
	wire.Need("created_at", wire.Moment),
	wire.Need("max_input_tokens", wire.Whole),
	wire.Need("max_tokens", wire.Whole),
).Named("AnthropicModel")

// ModelListShape is AnthropicModelList in OpenAPI.
var ModelListShape = wire.Object(
	wire.Need("data", wire.List(ModelShape)),
	wire.Need("has_more", wire.Flag),
	wire.Need("first_id", wire.Text.OrNull()),
	wire.Need("last_id", wire.Text.OrNull()),
).Named("AnthropicModelList")

var tokenCountShape = wire.Object(wire.Need("input_tokens", wire.Whole)).Named("TokenCount")

var messageUsageShape = wire.AnswerOf[MessageUsage]().Named("MessageUsage")

var answerBlockShape = wire.Either(
	wire.Object(wire.Need("type", wire.Just("text")), wire.Need("text", wire.Text)),
	wire.Object(
		wire.Need("type", wire.Just("thinking")),
		wire.Need("thinking", wire.Text),
		wire.Need("signature", wire.Text),
	),
	wire.Object(
		wire.Need("type", wire.Just("tool_use")),
		wire.Need("id", wire.Text),
		wire.Need("name", wire.Text),
		wire.Need("input", wire.AnyMap.With("additionalProperties", true)),
	),
).Named("AnswerBlock")

var messageShape = wire.Object(
	wire.Need("id", wire.Text),
	wire.Need("type", wire.Just("message")),
	wire.Need("role", wire.Just("assistant")),
	wire.Need("model", wire.Text, "The id."),
	wire.Need("content", wire.List(answerBlockShape)),
	wire.Need("stop_reason",
		wire.Word(
			"end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded",
		)),
	wire.Need("stop_sequence", wire.Text.OrNull()),
	wire.Need("usage", messageUsageShape),
	wire.Need("timings", api.TimingsShape),
).Named("Message")

var messageEventShape = wire.Either(
	wire.Object(
		wire.Need("type", wire.Just("message_start")),
		wire.Need("message", wire.Object(
			wire.Need("id", wire.Text),
			wire.Need("type", wire.Just("message")),
			wire.Need("role", wire.Just("assistant")),
			wire.Need("model", wire.Text, "The id."),
			wire.Need("content", wire.List(answerBlockShape)),
			wire.Need("stop_reason", wire.Null),
			wire.Need("stop_sequence", wire.Null),
			wire.Need("usage", messageUsageShape),
		)),
	),
	wire.Object(
		wire.Need("type", wire.Just("content_block_start")),
		wire.Need("index", wire.Whole),
		wire.Need("content_block", answerBlockShape),
	),
	wire.Object(
		wire.Need("type", wire.Just("content_block_delta")),
		wire.Need("index", wire.Whole),
		wire.Need("delta", wire.Either(
			wire.Object(wire.Need("type", wire.Just("text_delta")), wire.Need("text", wire.Text)),
			wire.Object(
				wire.Need("type", wire.Just("thinking_delta")),
				wire.Need("thinking", wire.Text),
			),
			wire.Object(
				wire.Need("type", wire.Just("signature_delta")),
				wire.Need("signature", wire.Text),
			),
			wire.Object(
				wire.Need("type", wire.Just("input_json_delta")),
				wire.Need("partial_json", wire.Text),
			),
		)),
	),
	wire.Object(wire.Need("type", wire.Just("content_block_stop")), wire.Need("index", wire.Whole)),
	wire.Object(
		wire.Need("type", wire.Just("message_delta")),
		wire.Need("delta", wire.Object(
			wire.Need("stop_reason",
				wire.Word(
					"end_turn", "max_tokens", "stop_sequence", "tool_use",
					"model_context_window_exceeded",
				)),
			wire.Need("stop_sequence", wire.Text.OrNull()),
		)),
		wire.Need("usage", messageUsageShape),
		wire.Need("timings", api.TimingsShape),
	),
	wire.Object(wire.Need("type", wire.Just("message_stop"))),
	wire.Object(wire.Need("type", wire.Just("ping"))),
).Named("MessageEvent")
