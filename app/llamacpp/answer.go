package llamacpp

import (
	"unicode/utf8"

	"tandem/app/api"
	"tandem/app/wire"
)

// A textAnswer is an answer of /infill or /completion.
type textAnswer struct {
	_       struct{} `schema:"Infilled" doc:"Whole, or an event of a stream."`
	Index   int      `json:"index" enum:"0"`
	Content string   `json:"content" doc:"The new text."`
	Tokens  []int32  `json:"tokens"`
	Stop    bool     `json:"stop" doc:"true in the last one."`
	IDSlot  int      `json:"id_slot" enum:"0"`
	*textEnd
}

// A textEnd is in a whole answer, and in the last event.
type textEnd struct {
	Model           string      `json:"model"`
	StopType        string      `json:"stop_type" enum:"eos,limit,word"`
	StoppingWord    string      `json:"stopping_word"`
	Truncated       bool        `json:"truncated"`
	TokensPredicted int         `json:"tokens_predicted"`
	TokensEvaluated int         `json:"tokens_evaluated" doc:"Of the prompt."`
	TokensCached    int         `json:"tokens_cached"`
	Timings         api.Timings `json:"timings"`
}

// A tokenized is the answer of /tokenize.
type tokenized struct {
	_           struct{}  `schema:"Tokenized"`
	Tokens      tokenList `json:"tokens"`
	Count       int       `json:"count"`
	MaxModelLen int       `json:"max_model_len" doc:"The model's context."`
}

// A tokenList has ids, or ids with their texts.
type tokenList struct {
	ids    []int32
	pieces []tokenPiece // nil for ids
}

func (l tokenList) MarshalJSON() ([]byte, error) {
	if l.pieces != nil {
		return wire.Marshal(l.pieces)
	}
	return wire.AppendInts(nil, l.ids), nil
}

// Shape describes the list to wire.AnswerOf.
func (tokenList) Shape() *wire.Shape {
	return wire.List(wire.Either(wire.TokenID, wire.AnswerOf[tokenPiece]()))
}

type tokenPiece struct {
	ID    int32     `json:"id"`
	Piece pieceText `json:"piece" doc:"A list of bytes where it is no whole text."`
}

// A pieceText is the text of a token.
type pieceText []byte

func (p pieceText) MarshalJSON() ([]byte, error) {
	if utf8.Valid(p) {
		return wire.Marshal(string(p))
	}
	return wire.AppendInts(nil, p), nil
}

// Shape describes the text to wire.AnswerOf.
func (pieceText) Shape() *wire.Shape {
	return wire.Either(wire.String, wire.AnswerOf[wire.Bytes]())
}

// A detokenized is the answer of /detokenize.
type detokenized struct {
	_       struct{} `schema:"Detokenized"`
	Content string   `json:"content"`
	Prompt  string   `json:"prompt" doc:"The same, by vLLM's name."`
}
