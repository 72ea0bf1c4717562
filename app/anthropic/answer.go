package anthropic

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// A message is the whole answer of /v1/messages.
type message struct {
	_ struct{} `schema:"Message"`
	messageHead
	stop
	Usage   MessageUsage `json:"usage"`
	Timings api.Timings  `json:"timings"`
}

type messageHead struct {
	ID      string  `json:"id"`
	Type    string  `json:"type" enum:"message"`
	Role    string  `json:"role" enum:"assistant"`
	Model   string  `json:"model" doc:"The id."`
	Content []block `json:"content"`
}

// A stop says why an answer ended.
type stop struct {
	StopReason   string  `json:"stop_reason" enum:"end_turn,max_tokens,stop_sequence,tool_use,model_context_window_exceeded"`
	StopSequence *string `json:"stop_sequence"`
}

// MessageUsage counts tokens. Cached tokens are not part of the input.
type MessageUsage struct {
	_            struct{} `schema:"MessageUsage"`
	Input        int      `json:"input_tokens" doc:"That were computed."`
	CacheCreated int      `json:"cache_creation_input_tokens"` // always 0: Tandem charges nothing for it
	CacheRead    int      `json:"cache_read_input_tokens"`
	Output       int      `json:"output_tokens"`
	Details      struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// A block is a stretch of a message's content: a textBlock, a thinkingBlock or a toolUse.
type block struct{ any }

func (b block) MarshalJSON() ([]byte, error) { return wire.Marshal(b.any) }

// Shape describes the block to wire.AnswerOf.
func (block) Shape() *wire.Shape {
	return wire.Either(wire.AnswerOf[textBlock](), wire.AnswerOf[thinkingBlock](),
		wire.AnswerOf[toolUse]()).Named("AnswerBlock")
}

type textBlock struct {
	Type string `json:"type" enum:"text"`
	Text string `json:"text"`
}

type thinkingBlock struct {
	Type      string `json:"type" enum:"thinking"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type toolUse struct {
	Type  string         `json:"type" enum:"tool_use"`
	ID    string         `json:"id"`
	Name  string         `json:"name"`
	Input wire.RawObject `json:"input"`
}

// signature is the signature of every thought. Programs send it back with the thought, and Tandem
// does not check it.
const signature = "VGFuZGVt"

// newBlock returns a block that has ended.
func newBlock(b *api.Block) block {
	switch text := string(b.Text); b.Kind {
	case dialect.Reasoning:
		return block{thinkingBlock{"thinking", text, signature}}
	case dialect.Call:
		return block{toolUse{"tool_use", b.ID, b.Name, b.Text}}
	default:
		return block{textBlock{"text", text}}
	}
}

// The events of a message, in the order in which they come.
type (
	messageStart struct {
		Type    string       `json:"type" enum:"message_start"`
		Message begunMessage `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type" enum:"content_block_start"`
		Index int    `json:"index"`
		Block block  `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type" enum:"content_block_delta"`
		Index int    `json:"index"`
		Delta delta  `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type" enum:"content_block_stop"`
		Index int    `json:"index"`
	}
	messageDelta struct {
		Type    string       `json:"type" enum:"message_delta"`
		Delta   stop         `json:"delta"`
		Usage   MessageUsage `json:"usage"`
		Timings api.Timings  `json:"timings"`
	}
	messageStop struct {
		Type string `json:"type" enum:"message_stop"`
	}
	// A ping may come at any time, also before the message begins.
	ping struct {
		Type string `json:"type" enum:"ping"`
	}
)

// messageEventShape is any of the events in OpenAPI.
var messageEventShape = wire.Either(wire.AnswerOf[messageStart](), wire.AnswerOf[blockStart](),
	wire.AnswerOf[blockDelta](), wire.AnswerOf[blockStop](), wire.AnswerOf[messageDelta](),
	wire.AnswerOf[messageStop](), wire.AnswerOf[ping]()).Named("MessageEvent")

// A begunMessage is a message without its content.
type begunMessage struct {
	messageHead
	StopReason   wire.AlwaysNull `json:"stop_reason"`
	StopSequence wire.AlwaysNull `json:"stop_sequence"`
	Usage        MessageUsage    `json:"usage"`
}

// A delta is a piece of a block: a textDelta, a thinkingDelta, a signatureDelta or an inputDelta.
type delta struct{ any }

func (d delta) MarshalJSON() ([]byte, error) { return wire.Marshal(d.any) }

// Shape describes the delta to wire.AnswerOf.
func (delta) Shape() *wire.Shape {
	return wire.Either(wire.AnswerOf[textDelta](), wire.AnswerOf[thinkingDelta](),
		wire.AnswerOf[signatureDelta](), wire.AnswerOf[inputDelta]())
}

type textDelta struct {
	Type string `json:"type" enum:"text_delta"`
	Text string `json:"text"`
}

type thinkingDelta struct {
	Type     string `json:"type" enum:"thinking_delta"`
	Thinking string `json:"thinking"`
}

type signatureDelta struct {
	Type      string `json:"type" enum:"signature_delta"`
	Signature string `json:"signature"`
}

type inputDelta struct {
	Type        string `json:"type" enum:"input_json_delta"`
	PartialJSON string `json:"partial_json"`
}

// A tokenCount is the answer of /v1/messages/count_tokens.
type tokenCount struct {
	_           struct{} `schema:"TokenCount"`
	InputTokens int      `json:"input_tokens"`
}
