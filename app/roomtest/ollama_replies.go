package roomtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// An OllamaAnswer has the fields of an object that Ollama's programs read.
type OllamaAnswer struct {
	Model      string
	CreatedAt  time.Time `json:"created_at"`
	Response   *string
	Thinking   string
	Message    *OllamaMessage
	Done       *bool
	DoneReason string `json:"done_reason"`
	Error      string
	Logprobs   []struct {
		Token string
		Top   []struct{ Token string } `json:"top_logprobs"`
	}
	TotalDuration      *int64 `json:"total_duration"`
	LoadDuration       *int64 `json:"load_duration"`
	PromptEvalCount    *int   `json:"prompt_eval_count"`
	PromptEvalDuration *int64 `json:"prompt_eval_duration"`
	EvalCount          *int   `json:"eval_count"`
	EvalDuration       *int64 `json:"eval_duration"`
}

// An OllamaMessage is the message of a chat.
type OllamaMessage struct {
	Role, Content, Thinking string
	Calls                   []struct {
		ID       string
		Function struct {
			Index     *int
			Name      string
			Arguments map[string]any
		}
	} `json:"tool_calls"`
}

// ReadOllamaLines reads a stream as Ollama's programs do: each line is an object.
func ReadOllamaLines(t *testing.T, body *bytes.Buffer) []OllamaAnswer {
	t.Helper()
	var list []OllamaAnswer
	for line := range strings.SplitSeq(strings.TrimSuffix(body.String(), "\n"), "\n") {
		var a OllamaAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		list = append(list, a)
	}
	return list
}
