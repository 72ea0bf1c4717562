package llamacpp

import (
	"context"
	"net/http"
	"strings"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
)

// maxTokenized limits a text of /tokenize, in bytes. It may be longer than the context: programs
// count tokens to learn what to leave out.
const maxTokenized = 4 << 20

// tokenize answers with the ids of a text.
func (v Routes) tokenize(w http.ResponseWriter, r *http.Request) error {
	return v.withModel(w, r, tokenizeRequestShape, func(f *wire.Fields, m model.Model) error {
		text, prompt := f.String("content"), f.String("prompt")
		special, around := f.Bool("add_special"), wire.ReadOptional(f, "add_special_tokens", f.Bool)
		plain := !api.First(true, wire.ReadOptional(f, "parse_special", f.Bool))
		pieces, param := f.Bool("with_pieces"), "content"
		switch {
		case f.Raw("content") != nil:
		case f.Raw("prompt") != nil: // vLLM's request
			param, text, special = "prompt", prompt, api.First(true, around)
		default:
			f.Fail(param, "is missing: send a text.")
		}
		if len(text) > maxTokenized {
			f.Fail(param, "has %d bytes; %d are allowed.", len(text), maxTokenized)
		}
		if f.Err() != nil {
			return f.Err()
		}
		ids, err := encode(m, text, special, plain)
		if err != nil {
			return err
		}
		list := tokenList{ids: ids}
		if pieces {
			list.pieces = []tokenPiece{}
			for _, id := range ids {
				list.pieces = append(list.pieces, tokenPiece{id, m.Tokenizer().TokenBytes(id)})
			}
		}
		return wire.WriteJSON(w,
			tokenized{Tokens: list, Count: len(ids), MaxModelLen: m.ContextLength()})
	})
}

// encode returns the ids of a text. plain reads the text of special tokens as ordinary text.
func encode(m model.Model, text string, special, plain bool) ([]int32, error) {
	switch {
	case !plain && special:
		return api.EncodeAlone(m.Tokenizer(), text)
	case !plain:
		return m.Tokenizer().Encode(text, false)
	}
	ids, err := m.Tokenizer().EncodePlain(text)
	if err != nil || !special {
		return ids, err
	}
	around, err := m.Tokenizer().Encode("", true) // the tokenizer's own, such as a BOS
	return append(around, ids...), err
}

// detokenize answers with the text of ids, by llama.cpp's name and by vLLM's.
func (v Routes) detokenize(w http.ResponseWriter, r *http.Request) error {
	return v.withModel(w, r, detokenizeRequestShape, func(f *wire.Fields, m model.Model) error {
		list := f.Raw("tokens")
		if list == nil {
			f.Fail("tokens", "is missing: send a list of token ids.")
			return f.Err()
		}
		ids, err := api.TokenIDs(list, m, "tokens")
		if err != nil {
			return err
		}
		text := strings.ToValidUTF8(m.Tokenizer().Decode(ids), "\ufffd")
		return wire.WriteJSON(w, detokenized{Content: text, Prompt: text})
	})
}

// withModel reads a body and lends answer the model that it names.
func (v Routes) withModel(w http.ResponseWriter, r *http.Request, s *wire.Shape,
	answer func(*wire.Fields, model.Model) error) error {
	var held wire.Reservation
	defer held.Release()
	_, f, err := v.ReadFields(w, r, &held)
	if err != nil {
		return err
	}
	name := f.As(s).String("model")
	if f.Err() != nil {
		return f.Err()
	}
	return v.Lend(r, &held, name, func(_ context.Context, m model.Model) error { return answer(f, m) })
}
