package responses

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// The events of a response that is streamed.
type (
	responseEvent struct {
		Type           string   `json:"type" enum:"response.created,response.in_progress,response.completed,response.incomplete,response.failed"`
		SequenceNumber int      `json:"sequence_number"`
		Response       response `json:"response"`
	}
	itemEvent struct {
		Type           string     `json:"type" enum:"response.output_item.added,response.output_item.done"`
		SequenceNumber int        `json:"sequence_number"`
		OutputIndex    int        `json:"output_index"`
		Item           outputItem `json:"item"`
	}
	partEvent struct {
		Type string `json:"type" enum:"response.content_part.added,response.content_part.done"`
		contentPlace
		Part outputPart `json:"part"`
	}
	textDelta struct {
		Type string `json:"type" enum:"response.output_text.delta"`
		contentPlace
		Delta    string            `json:"delta"`
		Logprobs []api.ScoredToken `json:"logprobs"`
	}
	textDone struct {
		Type string `json:"type" enum:"response.output_text.done"`
		contentPlace
		Text     string            `json:"text"`
		Logprobs []api.ScoredToken `json:"logprobs"`
	}
	reasoningDelta struct {
		Type string `json:"type" enum:"response.reasoning_text.delta"`
		contentPlace
		Delta string `json:"delta"`
	}
	reasoningDone struct {
		Type string `json:"type" enum:"response.reasoning_text.done"`
		contentPlace
		Text string `json:"text"`
	}
	argumentsDelta struct {
		Type string `json:"type" enum:"response.function_call_arguments.delta"`
		itemPlace
		Delta string `json:"delta"`
	}
	argumentsDone struct {
		Type string `json:"type" enum:"response.function_call_arguments.done"`
		itemPlace
		toolName
		Arguments string `json:"arguments"`
	}
	inputDelta struct {
		Type string `json:"type" enum:"response.custom_tool_call_input.delta"`
		itemPlace
		Delta string `json:"delta"`
	}
	inputDone struct {
		Type string `json:"type" enum:"response.custom_tool_call_input.done"`
		itemPlace
		Input string `json:"input"`
	}
	commandDelta struct {
		Type string `json:"type" enum:"response.shell_call_command.delta"`
		itemPlace
		CommandIndex int    `json:"command_index"`
		Delta        string `json:"delta"`
	}
	commandEvent struct {
		Type string `json:"type" enum:"response.shell_call_command.added,response.shell_call_command.done"`
		itemPlace
		CommandIndex int    `json:"command_index"`
		Command      string `json:"command"`
	}
)

// responseEventShape is any of the events in OpenAPI.
var responseEventShape = wire.Either(wire.AnswerOf[responseEvent](), wire.AnswerOf[itemEvent](),
	wire.AnswerOf[partEvent](), wire.AnswerOf[textDelta](), wire.AnswerOf[textDone](),
	wire.AnswerOf[reasoningDelta](), wire.AnswerOf[reasoningDone](),
	wire.AnswerOf[argumentsDelta](), wire.AnswerOf[argumentsDone](),
	wire.AnswerOf[inputDelta](), wire.AnswerOf[inputDone](),
	wire.AnswerOf[commandDelta](), wire.AnswerOf[commandEvent]()).Named("ResponseEvent")

// An itemPlace says which item an event belongs to.
type itemPlace struct {
	SequenceNumber int    `json:"sequence_number"`
	ItemID         string `json:"item_id"`
	OutputIndex    int    `json:"output_index"`
}

// A contentPlace says which part of an item an event belongs to. An item has one part.
type contentPlace struct {
	itemPlace
	ContentIndex int `json:"content_index"`
}
