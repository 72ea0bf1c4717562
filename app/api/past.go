package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"tandem/app/wire"
)

// A past is a hash of a conversation from its beginning to one of its messages. It covers whose
// conversation it is, the model, the tools, and what each message says and calls. Thoughts do not
// count, so a conversation has one past whether its client sends them or not.
//
// Neither does what clients write in their own way: white space around a text, the order of a
// call's arguments, and the ids of calls. A result counts as that of a call by its place.
type past struct {
	hash  [sha256.Size]byte
	calls map[string]int // the place of each call from 1, by its id
	n     int            // calls so far
}

// A pastMessage is what counts of a message.
type pastMessage struct {
	Role  string
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
		var call struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments any    `json:"arguments"`
			} `json:"function"`
		}
		_ = json.Unmarshal(raw, &call) // it was read before
		p.n++
		p.calls[call.ID] = p.n
		said.Calls = append(said.Calls,
			pastMessageCall{call.Function.Name, call.Function.Arguments})
	}
	if m.Role == "tool" {
		var id string
		_ = json.Unmarshal([]byte(m.text(resultIDName)), &id) // without an id it has no call
		said.Of = p.calls[id]
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
