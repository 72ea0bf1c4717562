package api

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tandem/app/wire"
)

// A past is a hash of a conversation from its beginning to one of its messages: its owner, the model,
// the tools, and what each message says and calls. Thoughts do not count, nor what clients write in
// different ways: white space around a text, the order of arguments and the form of numbers in them,
// the ids of calls, and the names of answers and results. A result belongs to a call by its place.
type past struct {
	hash  [sha256.Size]byte
	calls map[string]int // the place of each call from 1, by its id
	n     int            // calls so far
}

// A pastMessage is what counts of a message.
type pastMessage struct {
	Role  string
	Name  string `json:",omitempty"` // that the client gave who speaks
	Text  string
	Calls []pastMessageCall
	Of    int // place of the call whose result it is; 0 = none
}

type pastMessageCall struct {
	Name      string
	Arguments any
}

// newPast returns the past before the first message.
func newPast(owner int64, model string, tools json.RawMessage) past {
	return past{calls: map[string]int{},
		hash: sha256.Sum256(wire.MustJSON([]any{owner, model, string(tools)}))}
}

// clone returns a copy that goes on by itself.
func (p past) clone() past {
	p.calls = maps.Clone(p.calls)
	return p
}

// add adds a message.
func (p *past) add(m *Message) {
	said := pastMessage{Role: m.Role, Text: strings.TrimSpace(m.Text())}
	for _, raw := range m.Calls {
		call, function := readCall(raw)
		var arguments any
		d := json.NewDecoder(bytes.NewReader(function.Get("arguments")))
		d.UseNumber()
		_ = d.Decode(&arguments) // it was read before
		p.n++
		p.calls[unquote(call.Get("id"))] = p.n
		said.Calls = append(said.Calls,
			pastMessageCall{unquote(function.Get("name")), plainNumbers(arguments)})
	}
	switch m.Role {
	case "tool":
		said.Of = p.calls[m.unquoted(resultIDName)] // without an id it has no call
	case "assistant":
	default:
		said.Name = m.unquoted("name")
	}
	p.hash = sha256.Sum256(slices.Concat(p.hash[:], wire.MustJSON(said)))
}

// name returns the name under which the past is looked up. It tells nothing about the key.
func (p *past) name() string {
	sum := p.derive("name")
	return hex.EncodeToString(sum[:16])
}

func (p *past) derive(what string) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat([]byte(what), p.hash[:]))
}

// seal returns a text that only the same past opens.
func (p *past) seal(text string) ([]byte, error) {
	aead, err := p.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(text), nil), nil
}

// open returns a sealed text.
func (p *past) open(sealed []byte) (string, error) {
	aead, err := p.aead()
	if err != nil {
		return "", err
	}
	text, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return "", errors.New("it was sealed with another past")
	}
	return string(text), nil
}

func (p *past) aead() (cipher.AEAD, error) {
	key := p.derive("key")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// plainNumbers returns a value of JSON whose numbers have one form each, with all their digits.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	}
	return v
}

// plainNumber returns a number of JSON as its digits, from the first to the last that is not 0, and
// their exponent: 20, 20.0 and 2e1 are 2e1.
func plainNumber(text string) json.Number {
	text, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || shift > maxShift || shift < -maxShift {
		return json.Number(text + "e" + exponent) // no program writes such a number in two ways
	}
	text, negative := strings.CutPrefix(text, "-")
	whole, part, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+part, "0")
	shift -= len(part)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	if shift += len(digits) - len(short); negative {
		short = "-" + short
	}
	return json.Number(short + "e" + strconv.Itoa(shift))
}

// maxShift bounds an exponent, so that sums with it are numbers too.
const maxShift = 1 << 30
