package pool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

// Tokenizer returns the tokenizer of a model, in memory or not.
func (p *Pool) Tokenizer(ctx context.Context, id string) (*tokenizer.Tokenizer, error) {
	if m := find(p.look().models, id); m != nil {
		return m.bundle.Tokenizer, nil
	}
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	files, err := p.filesOf(row)
	if err != nil {
		return nil, err
	}
	return files.Tokenizer()
}

// tokenizerFiles returns the model's folder with the dates of its tokenizer and its chat template.
// Another value means other files.
func tokenizerFiles(row storage.Model) string {
	if row.Source == storage.SourcePocket { // it has no folder and never changes
		return row.Source
	}
	if file := models.GGUFDates(row.Path); file != "" {
		return row.Path + "\n" + file
	}
	files := row.Path
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json",
		"chat_template.jinja", "chat_template.json", models.MoreTemplates} {
		if info, err := disk.FS(row.Path).Stat(name); err == nil {
			files += "\n" + name + " " + info.ModTime().String()
		}
	}
	return files
}

// dialectOf returns the dialect of a model with that chat template.
func dialectOf(template string, tokens *tokenizer.Tokenizer) *dialect.Dialect {
	return dialect.Detect(template, func(text string) (id int32, special, ok bool) {
		id, ok = tokens.ID(text)
		return id, ok && tokens.IsSpecial(id), ok
	})
}

// fims are the fill-in-the-middle tokens of the families that have them.
var fims = []model.FIM{
	{Prefix: "<|fim_prefix|>", Suffix: "<|fim_suffix|>", Middle: "<|fim_middle|>"},    // Qwen Coder, the pocket model
	{Prefix: "<fim_prefix>", Suffix: "<fim_suffix>", Middle: "<fim_middle>"},          // StarCoder, Granite
	{Prefix: "<｜fim▁begin｜>", Suffix: "<｜fim▁hole｜>", Middle: "<｜fim▁end｜>"},          // DeepSeek Coder
	{Prefix: "▁<PRE>", Suffix: "▁<SUF>", Middle: "▁<MID>"},                            // Code Llama
	{Prefix: "<|code_prefix|>", Suffix: "<|code_suffix|>", Middle: "<|code_middle|>"}, // GLM
}

// fimOf returns the fill-in-the-middle tokens of a tokenizer. ok is false if it has none.
func fimOf(tokens *tokenizer.Tokenizer) (model.FIM, bool) {
	for _, f := range fims {
		known := true
		for _, token := range []string{f.Prefix, f.Suffix, f.Middle} {
			_, ok := tokens.ID(token)
			known = known && ok
		}
		if known {
			return f, true
		}
	}
	return model.FIM{}, false
}

// longestToken returns the bytes of the longest token, at least 1.
func longestToken(t *tokenizer.Tokenizer) int {
	n := 1
	for id := range t.Size() {
		n = max(n, len(t.TokenBytes(int32(id))))
	}
	return n
}

// readTokenizer keeps what requests need from the tokenizer and the chat template: the dialect, its
// special tokens, the longest token and the variables of each rendering.
func (m *Model) readTokenizer(ctx context.Context) {
	tokens := m.bundle.Tokenizer
	m.tokenizerKey = sync.OnceValue(func() string { return tokenizerHash(tokens) })
	m.longest, m.always = longestToken(tokens), alwaysVars(tokens)
	m.dialect = dialectOf(m.bundle.Chat.Source, tokens)
	for _, text := range m.dialect.Special() {
		if id, ok := tokens.ID(text); ok {
			m.special = append(m.special, id)
		}
	}
	m.chats = openChats(ctx, chatReader{m.row.ID, m.always, m.ContextLength, m.longest},
		&m.bundle.Chat, m.dialect.Histories())
}

// alwaysVars returns the variables that transformers passes to each template, as the beginning of a
// JSON object.
func alwaysVars(tokens *tokenizer.Tokenizer) []byte {
	always := struct {
		Tools     *struct{} `json:"tools"`
		Documents *struct{} `json:"documents"`
		BOSToken  string    `json:"bos_token"`
		EOSToken  string    `json:"eos_token"`
	}{}
	if id, ok := tokens.BOS(); ok {
		always.BOSToken = tokens.Token(id)
	}
	if id, ok := tokens.EOS(); ok {
		always.EOSToken = tokens.Token(id)
	}
	out, _ := json.Marshal(always) // two texts and two nulls never fail
	out[len(out)-1] = ','
	return out
}

// tokenizerHash returns a key that differs between tokenizers whose tokens differ.
func tokenizerHash(tokens *tokenizer.Tokenizer) string {
	h := sha256.New()
	var size [4]byte
	for id := range int32(tokens.Size()) {
		token := tokens.TokenBytes(id)
		binary.LittleEndian.PutUint32(size[:], uint32(len(token)))
		h.Write(size[:])
		h.Write(token)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tokens implements model.Tokenizer.
type tokens struct {
	tokenizer *tokenizer.Tokenizer
	longest   int // bytes of the longest token
}

func (t tokens) Encode(text string, addSpecial bool) ([]int32, error) {
	return t.encode(text, tokenizer.EncodeOptions{AddSpecial: addSpecial})
}

func (t tokens) EncodePlain(text string) ([]int32, error) {
	return t.encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

func (t tokens) encode(text string, o tokenizer.EncodeOptions) ([]int32, error) {
	ids, err := t.tokenizer.Encode(text, o)
	return ids, tooMuchText(err)
}

// tooMuchText returns CodeInvalid for a text that takes the tokenizer too long, else err.
func tooMuchText(err error) error {
	if _, ok := errors.AsType[*tokenizer.Error](err); ok {
		return &control.Error{Code: control.CodeInvalid, Message: err.Error(), Err: err}
	}
	return err
}

func (t tokens) Decode(ids []int32) string  { return t.tokenizer.Decode(ids, false) }
func (t tokens) TokenBytes(id int32) []byte { return t.tokenizer.TokenBytes(id) }
func (t tokens) LongestToken() int          { return t.longest }
func (t tokens) FIM() (model.FIM, bool)     { return fimOf(t.tokenizer) }
