package responses

import (
	"tandem/app/api"
	"tandem/app/wire"
)

var outputPartShape = wire.Either(
	wire.Object(
		wire.Need("type", wire.Just("output_text")),
		wire.Need("text", wire.Text),
		wire.Need("annotations", wire.List(wire.AnyMap)),
		wire.Need("logprobs", wire.List(api.ScoredShape)),
	),
	wire.Object(wire.Need("type", wire.Just("reasoning_text")), wire.Need("text", wire.Text)),
).Named("OutputPart")

var outputItemShape = wire.Either(
	wire.Object(
		wire.Need("id", wire.Text),
		wire.Need("type", wire.Just("message")),
		wire.Need("status", wire.Word("in_progress", "completed", "incomplete")),
		wire.Need("role", wire.Just("assistant")),
		wire.Need("content", wire.List(outputPartShape)),
	),
	wire.Object(
		wire.Need("id", wire.Text),
		wire.Need("type", wire.Just("reasoning")),
		wire.Need("status", wire.Word("in_progress", "completed", "incomplete")),
		wire.Need("summary", wire.List(wire.AnyMap)),
		wire.Need("encrypted_content", wire.Null),
		wire.Need("content", wire.List(outputPartShape)),
	),
	wire.Object(
		wire.Need("id", wire.Text),
		wire.Need("type", wire.Just("function_call")),
		wire.Need("status", wire.Word("in_progress", "completed", "incomplete")),
		wire.Need("call_id", wire.Text),
		wire.May("namespace", wire.Text),
		wire.Need("name", wire.Text),
		wire.Need("arguments", wire.Text),
	),
).Named("OutputItem")

var responseUsageShape = wire.AnswerOf[ResponseUsage]().Named("ResponseUsage")

var responseShape = wire.Object(
	wire.Need("id", wire.Text),
	wire.Need("object", wire.Just("response")),
	wire.Need("created_at", wire.Whole, "Unix seconds."),
	wire.Need("status", wire.Word("in_progress", "completed", "incomplete", "failed")),
	wire.Need("background", wire.Just(false)),
	wire.Need("completed_at", wire.Whole.OrNull()),
	wire.Need("error", wire.Object(
		wire.Need("code", wire.Text),
		wire.Need("message", wire.Text),
	).OrNull()),
	wire.Need("incomplete_details", wire.Object(wire.Need("reason",
		wire.Just("max_output_tokens"))).OrNull()),
	wire.Need("instructions", wire.Text.OrNull()),
	wire.Need("max_output_tokens", wire.Whole.OrNull()),
	wire.Need("max_tool_calls", wire.Null),
	wire.Need("model", wire.Text, "The id."),
	wire.Need("output", wire.List(outputItemShape)),
	wire.Need("parallel_tool_calls", wire.Flag),
	wire.Need("previous_response_id", wire.Text.OrNull()),
	wire.Need("prompt_cache_key", wire.Anything),
	wire.Need("safety_identifier", wire.Anything),
	wire.Need("user", wire.Anything),
	wire.Need("presence_penalty", wire.Real),
	wire.Need("frequency_penalty", wire.Real),
	wire.Need("reasoning", wire.Object(
		wire.Need("effort", wire.Text.OrNull()),
		wire.Need("summary", wire.Null),
	)),
	wire.Need("service_tier", wire.Text),
	wire.Need("store", wire.Flag),
	wire.Need("temperature", wire.Real),
	wire.Need("text", wire.Object(
		wire.Need("format", wire.AnyMap.With("additionalProperties", true)),
		wire.Need("verbosity", wire.Text),
	)),
	wire.Need("tool_choice", wire.Anything),
	wire.Need("tools", wire.List(wire.AnyMap.With("additionalProperties", true))),
	wire.Need("top_logprobs", wire.Whole),
	wire.Need("top_p", wire.Real),
	wire.Need("truncation", wire.Text),
	wire.Need("metadata", wire.Map(wire.Text)),
	wire.Need("usage", responseUsageShape.OrNull()),
	wire.May("timings", api.TimingsShape),
).Named("Response")

var responseEventShape = wire.Either(
	wire.Object(
		wire.Need("type",
			wire.Word(
				"response.created", "response.in_progress", "response.completed",
				"response.incomplete", "response.failed",
			)),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("response", responseShape),
	),
	wire.Object(
		wire.Need("type", wire.Word("response.output_item.added", "response.output_item.done")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("output_index", wire.Whole),
		wire.Need("item", outputItemShape),
	),
	wire.Object(
		wire.Need("type", wire.Word("response.content_part.added", "response.content_part.done")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("content_index", wire.Whole),
		wire.Need("part", outputPartShape),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.output_text.delta")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("content_index", wire.Whole),
		wire.Need("delta", wire.Text),
		wire.Need("logprobs", wire.List(api.ScoredShape)),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.output_text.done")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("content_index", wire.Whole),
		wire.Need("text", wire.Text),
		wire.Need("logprobs", wire.List(api.ScoredShape)),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.reasoning_text.delta")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("content_index", wire.Whole),
		wire.Need("delta", wire.Text),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.reasoning_text.done")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("content_index", wire.Whole),
		wire.Need("text", wire.Text),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.function_call_arguments.delta")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.Need("delta", wire.Text),
	),
	wire.Object(
		wire.Need("type", wire.Just("response.function_call_arguments.done")),
		wire.Need("sequence_number", wire.Whole),
		wire.Need("item_id", wire.Text),
		wire.Need("output_index", wire.Whole),
		wire.May("namespace", wire.Text),
		wire.Need("name", wire.Text),
		wire.Need("arguments", wire.Text),
	),
).Named("ResponseEvent")

var inputTokensAnswer = wire.AnswerOf[inputTokens]().Named("InputTokens")

var compactionShape = wire.Object(
	wire.Need("id", wire.Text),
	wire.Need("object", wire.Just("response.compaction")),
	wire.Need("created_at", wire.Whole, "Unix seconds."),
	wire.Need("model", wire.Text, "The id."),
	wire.Need("output", wire.List(wire.AnyMap.With("additionalProperties", true)),
		"The user's messages, then the summary; the input of what follows."),
	wire.Need("usage", responseUsageShape),
	wire.Need("timings", api.TimingsShape),
).Named("Compaction")

var deletedResponseShape = wire.Object(
	wire.Need("id", wire.Text),
	wire.Need("object", wire.Just("response")),
	wire.Need("deleted", wire.Just(true)),
).Named("DeletedResponse")

var itemListShape = wire.Object(
	wire.Need("object", wire.Just("list")),
	wire.Need("data", wire.List(wire.AnyMap.With("additionalProperties", true))),
	wire.Need("first_id", wire.Text),
	wire.Need("last_id", wire.Text),
	wire.Need("has_more", wire.Flag),
).Named("ItemList")
