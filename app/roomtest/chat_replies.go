package roomtest

import (
	"encoding/json"

	"tandem/app/api"
)

// A ChatCall is a call in a reply. Its parts in a stream have an index.
type ChatCall struct {
	Index    *int
	ID, Type string
	Function *struct {
		Name      string
		Arguments *string
	}
}

// A ChatMessage is the message of a choice, or its delta.
type ChatMessage struct {
	Role, Content, Reasoning *string
	ReasoningContent         *string    `json:"reasoning_content"`
	ToolCalls                []ChatCall `json:"tool_calls"`
	FunctionCall             *struct{ Name, Arguments *string }
}

func (m *ChatMessage) UnmarshalJSON(b []byte) error {
	type plain ChatMessage
	v := struct {
		*plain
		FunctionCall *struct{ Name, Arguments *string } `json:"function_call"`
	}{plain: (*plain)(m)}
	err := json.Unmarshal(b, &v)
	m.FunctionCall = v.FunctionCall
	return err
}

// A ChatReply is a reply or one of its chunks.
type ChatReply struct {
	Choices []struct {
		Index        int
		Message      ChatMessage
		Delta        ChatMessage
		FinishReason *string `json:"finish_reason"`
		TokenIDs     []int32 `json:"token_ids"`
		Logprobs     *struct{ Content []struct{ Token string } }
	}
	Usage api.Usage
}

// Value returns the string, or an empty one for nil.
func Value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
