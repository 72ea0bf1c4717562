package responses

import (
	"encoding/json"

	"tandem/app/api"
	"tandem/app/wire"
)

// A response is the whole answer of /v1/responses. Before its end it has no output.
type response struct {
	_                  struct{}           `schema:"Response"`
	ID                 string             `json:"id"`
	Object             string             `json:"object" enum:"response"`
	CreatedAt          int64              `json:"created_at" doc:"Unix seconds."`
	Status             string             `json:"status" enum:"in_progress,completed,incomplete,failed"`
	Background         bool               `json:"background" enum:"false"`
	CompletedAt        *int64             `json:"completed_at"`
	Error              *responseError     `json:"error"`
	IncompleteDetails  *incompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions"`
	MaxOutputTokens    *int               `json:"max_output_tokens"`
	MaxToolCalls       wire.AlwaysNull    `json:"max_tool_calls"`
	Model              string             `json:"model" doc:"The id."`
	Output             []outputItem       `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PreviousResponseID *string            `json:"previous_response_id"`
	PromptCacheKey     wire.Raw           `json:"prompt_cache_key"`
	SafetyIdentifier   wire.Raw           `json:"safety_identifier"`
	User               wire.Raw           `json:"user"`
	PresencePenalty    float64            `json:"presence_penalty"`
	FrequencyPenalty   float64            `json:"frequency_penalty"`
	Reasoning          responseReasoning  `json:"reasoning"`
	ServiceTier        string             `json:"service_tier"`
	Store              bool               `json:"store"`
	Temperature        float64            `json:"temperature"`
	Text               responseText       `json:"text"`
	ToolChoice         wire.Raw           `json:"tool_choice"`
	Tools              []wire.RawObject   `json:"tools"`
	TopLogprobs        int                `json:"top_logprobs"`
	TopP               float64            `json:"top_p"`
	Truncation         string             `json:"truncation"`
	Metadata           metadata           `json:"metadata"`
	Usage              *ResponseUsage     `json:"usage"`
	Timings            *api.Timings       `json:"timings,omitempty"`
}

// metadata are the client's, in its spelling.
type metadata wire.Raw

func (m metadata) MarshalJSON() ([]byte, error) { return wire.Raw(m).MarshalJSON() }

// Shape describes the object to wire.AnswerOf.
func (metadata) Shape() *wire.Shape { return wire.Map(wire.String) }

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompleteDetails struct {
	Reason string `json:"reason" enum:"max_output_tokens"`
}

type responseReasoning struct {
	Effort  *string         `json:"effort"`
	Summary wire.AlwaysNull `json:"summary"`
}

type responseText struct {
	Format    wire.RawObject `json:"format"`
	Verbosity string         `json:"verbosity"`
}

// ResponseUsage is the usage of a response.
type ResponseUsage struct {
	_                  struct{} `schema:"ResponseUsage"`
	InputTokens        int      `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"` // other servers charge for these
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// An outputItem is a messageItem, a reasoningItem or the item of a call.
type outputItem struct{ any }

func (i outputItem) MarshalJSON() ([]byte, error) { return wire.Marshal(i.any) }

// Shape describes the item to wire.AnswerOf.
func (outputItem) Shape() *wire.Shape {
	return wire.Either(wire.AnswerOf[messageItem](), wire.AnswerOf[reasoningItem](),
		wire.AnswerOf[callItem](), wire.AnswerOf[customCallItem](), wire.AnswerOf[shellCallItem](),
		wire.AnswerOf[localShellCallItem](), wire.AnswerOf[patchCallItem](),
		wire.AnswerOf[searchItem]()).Named("OutputItem")
}

type messageItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type" enum:"message"`
	Status  string       `json:"status" enum:"in_progress,completed,incomplete"`
	Role    string       `json:"role" enum:"assistant"`
	Content []outputPart `json:"content"`
}

type reasoningItem struct {
	ID               string          `json:"id"`
	Type             string          `json:"type" enum:"reasoning"`
	Status           string          `json:"status" enum:"in_progress,completed,incomplete"`
	Summary          []struct{}      `json:"summary"`
	EncryptedContent wire.AlwaysNull `json:"encrypted_content"`
	Content          []outputPart    `json:"content"`
}

// An outputPart is a textPart or a reasoningPart.
type outputPart struct{ any }

func (p outputPart) MarshalJSON() ([]byte, error) { return wire.Marshal(p.any) }

// Shape describes the part to wire.AnswerOf.
func (outputPart) Shape() *wire.Shape {
	return wire.Either(wire.AnswerOf[textPart](), wire.AnswerOf[reasoningPart]()).
		Named("OutputPart")
}

type textPart struct {
	Type        string            `json:"type" enum:"output_text"`
	Text        string            `json:"text"`
	Annotations []struct{}        `json:"annotations"`
	Logprobs    []api.ScoredToken `json:"logprobs"`
}

type reasoningPart struct {
	Type string `json:"type" enum:"reasoning_text"`
	Text string `json:"text"`
}

// A deletedResponse is the answer to DELETE /v1/responses/{id}.
type deletedResponse struct {
	_       struct{} `schema:"DeletedResponse"`
	Deleted bool     `json:"deleted" enum:"true"`
	ID      string   `json:"id"`
	Object  string   `json:"object" enum:"response"`
}

// An ItemList is the answer of GET /v1/responses/{id}/input_items.
type ItemList struct {
	_       struct{}          `schema:"ItemList"`
	Object  string            `json:"object" enum:"list"`
	Data    []json.RawMessage `json:"data"`
	FirstID string            `json:"first_id"`
	LastID  string            `json:"last_id"`
	HasMore bool              `json:"has_more"`
}
