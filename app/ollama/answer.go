package ollama

import (
	"time"

	"tandem/app/api"
	"tandem/app/wire"
)

// A GenerateResponse is the answer of /api/generate.
type GenerateResponse struct {
	_ struct{} `schema:"OllamaGenerated" doc:"Whole, or a line of a stream."`
	lineHead
	Response string `json:"response"`
	Thinking string `json:"thinking,omitempty"`
	lineEnd
}

// A ChatResponse is the answer of /api/chat.
type ChatResponse struct {
	_ struct{} `schema:"OllamaChatted" doc:"Whole, or a line of a stream."`
	lineHead
	Message chatMessage `json:"message"`
	lineEnd
}

type chatMessage struct {
	Role      string     `json:"role" enum:"assistant"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Index     int            `json:"index"`
	Name      string         `json:"name"`
	Arguments wire.RawObject `json:"arguments"`
}

// A lineHead begins the answers of both routes.
type lineHead struct {
	Model     string    `json:"model"`
	CreatedAt time.Time `json:"created_at"`
}

// A lineEnd ends the answers of both routes. Only the last line of a stream has a reason and
// figures.
type lineEnd struct {
	Logprobs   []api.ScoredToken `json:"logprobs,omitzero"`
	Done       bool              `json:"done"`
	DoneReason string            `json:"done_reason,omitempty" enum:"stop,length,load,unload"`
	*figures
}

// figures are the durations of an answer, in nanoseconds, and its tokens.
type figures struct {
	TotalDuration      time.Duration `json:"total_duration" doc:"Nanoseconds."`
	LoadDuration       time.Duration `json:"load_duration"`
	PromptEvalCount    int           `json:"prompt_eval_count"`
	PromptEvalDuration time.Duration `json:"prompt_eval_duration"`
	EvalCount          int           `json:"eval_count"`
	EvalDuration       time.Duration `json:"eval_duration"`
	LeftOut            string        `json:"left_out,omitempty" doc:"Ours: what of the request the model did not get."`
}

// An embedded is the answer of /api/embed.
type embedded struct {
	_               struct{}      `schema:"OllamaEmbedded"`
	Model           string        `json:"model"`
	Embeddings      []wire.Floats `json:"embeddings"`
	TotalDuration   time.Duration `json:"total_duration" doc:"Nanoseconds."`
	LoadDuration    time.Duration `json:"load_duration"`
	PromptEvalCount int           `json:"prompt_eval_count"`
	LeftOut         string        `json:"left_out,omitempty" doc:"Ours: how many texts lost their ends."`
}

// An embedding is the answer of the older /api/embeddings.
type embedding struct {
	_         struct{}    `schema:"OllamaEmbedding"`
	Embedding wire.Floats `json:"embedding"`
	LeftOut   string      `json:"left_out,omitempty" doc:"Ours, as in the other answer."`
}
