package model

import (
	"context"
	"errors"
	"iter"

	"tandem/app/dialect"
	"tandem/engine"
)

// ErrNoTemplate is returned by Chat.Render for a model without a chat template.
var ErrNoTemplate = errors.New("the model has no chat template")

// ErrTemplateLimit is in the error of Chat.Render for a template that took all that it may.
var ErrTemplateLimit = errors.New("the chat template reached a limit")

// A Model is one model in memory. It is held until Release.
type Model interface {
	ID() string
	// Key differs between any two models that are loaded differently. State that one of them
	// computed is useless to the other. Key is empty if no state is kept.
	Key() string
	ContextLength() int // tokens
	// LongerContext reports whether the user could set a context of that many tokens, in place of a
	// shorter one that is set.
	LongerContext(tokens int) bool
	VocabSize() int // ids are below it
	Format() Format // as it was loaded
	Defaults() Defaults

	// Generate is the method of engine.Engine with that name. It stops within one step
	// when the range is broken or ctx is cancelled.
	Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error]

	Reader() Reader
	Tokenizer() Tokenizer

	// Dialect says how the model writes thoughts and calls. Special lists the tokens whose
	// text the dialect's parser has to see.
	Dialect() *dialect.Dialect
	Special() []int32

	// Chat returns the chat template for conversations with tools, or for those without.
	Chat(tools bool) Chat

	// Matcher compiles a grammar that an answer has to follow. The caller closes it. A
	// grammar that cannot be followed gives a *control.Error with CodeInvalid. Matcher
	// returns when ctx ends.
	Matcher(ctx context.Context, g Grammar) (Matcher, error)
	// CheckTexts compiles the grammar of each custom tool. It returns a *control.Error with CodeInvalid, which names
	// the tool, for one that no text can follow.
	CheckTexts(ctx context.Context, tools []dialect.Tool) error

	// Release lets the model be unloaded again.
	Release()
}

// A Format says how a model is held in memory. Its fields are those of control.Loaded.
type Format struct {
	KVBits   int
	KVLayout string
}

// A Chat is a chat template of a model.
type Chat interface {
	// History says in which form the template takes earlier messages.
	History() dialect.History
	// Render applies the template. vars is a JSON object with messages, tools and
	// add_generation_prompt, and with the members of the request's chat_template_kwargs.
	// Its keys keep the order of the request. A template that refuses the messages gives a
	// *control.Error with CodeInvalid, and one that reached a limit has ErrTemplateLimit in it.
	// Without a template the error is ErrNoTemplate.
	Render(ctx context.Context, vars []byte) (string, error)
}

// A Matcher holds one answer to a grammar, until Close.
type Matcher interface {
	engine.Matcher
	Close() error
}

// A Tokenizer turns text into token ids and back.
type Tokenizer interface {
	// Encode parses special tokens that are written out in the text as themselves.
	// addSpecial adds the tokens that the tokenizer puts around a text, such as a BOS.
	// A text that takes the tokenizer too long gives a *control.Error with CodeInvalid.
	Encode(text string, addSpecial bool) ([]int32, error)
	// EncodePlain reads the text of special tokens as ordinary text, and adds nothing.
	EncodePlain(text string) ([]int32, error)
	// Decode keeps the text of special tokens.
	Decode(ids []int32) string
	// TokenBytes returns the bytes of one token, which may be a part of a rune. It is nil for an id
	// without text.
	TokenBytes(id int32) []byte
	// LongestToken returns the length of the longest token in bytes, at least 1.
	LongestToken() int
	// FIM returns the texts of the special tokens for fill-in-the-middle.
	FIM() (FIM, bool)
}

// A Reader computes vectors and scores from texts. It generates nothing.
type Reader interface {
	// Kind returns control.KindEmbedding, control.KindReranker or an empty text.
	Kind() string

	// Dimensions returns the length of the vectors of a KindEmbedding.
	Dimensions() int
	// Embed returns a vector for each text. dimensions cuts the vectors, which are then
	// normalised again; 0 leaves them whole. The model decides which rows a reading
	// returns, not r. Cancelling ctx stops within one chunk.
	Embed(ctx context.Context, r engine.EncodeRequest, dimensions int) ([][]float32, engine.Stats, error)

	// RerankPrompt returns the prompt by which a KindReranker judges a document. An empty
	// instruction means the model's own.
	RerankPrompt(instruction, query, document string) ([]int32, error)
	// Relevance takes such prompts as texts. It returns for each one the probability, from
	// 0 to 1, that the document answers the query.
	Relevance(ctx context.Context, r engine.EncodeRequest) ([]float64, engine.Stats, error)
}

// Defaults are the sampling values that a model's authors recommend. A field is nil where they
// recommend none. A model that says do_sample false has Temperature 0.
type Defaults struct {
	Temperature       *float64
	TopK              *int
	TopP              *float64
	MinP              *float64
	RepetitionPenalty *float64
}
