package responses

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Store keeps responses for a while, for the programs that asked for them. An owner is the name of
// a key, or empty for programs without a key. A response of another owner is not found.
type Store interface {
	// KeepResponse stores a response. It returns ErrNoResponse if its owner is gone, or if its run
	// was forgotten in flight.
	KeepResponse(context.Context, control.KeptResponse) error
	// Response returns a response of an owner, or ErrNoResponse.
	Response(ctx context.Context, owner, id string) (control.KeptResponse, error)
	// ResponseChain returns a response and all responses before it, the earliest first. They have
	// only inputs and outputs. Errors: ErrNoResponse if one of them is gone, CodeInvalid if they
	// are too many.
	ResponseChain(ctx context.Context, owner, id string) ([]control.KeptResponse, error)
	// DeleteResponse deletes a response of an owner, or returns ErrNoResponse.
	DeleteResponse(ctx context.Context, owner, id string) error
}

// KeepAnswer puts an answered response into k, with its output apart from the rest.
func KeepAnswer(k *control.KeptResponse, response []byte) (err error) {
	k.Response, k.Output, err = exchangeOutput(response, json.RawMessage("[]"))
	return err
}

// answered returns the response as it was answered.
func answered(k control.KeptResponse) (json.RawMessage, error) {
	response, _, err := exchangeOutput(k.Response, k.Output)
	return response, err
}

// exchangeOutput returns a response with another output, and the output that it had.
func exchangeOutput(response, output json.RawMessage) (with, had json.RawMessage, err error) {
	list, err := wire.ReadMembers(response)
	if had = list.Get("output"); had == nil {
		had = json.RawMessage("[]")
	}
	return list.With("output", output).JSON(), had, err
}

// itemsOf returns the items of a response: those of its input, then those of its answer.
func itemsOf(k control.KeptResponse) (input, output []json.RawMessage, err error) {
	return input, output, errors.Join(json.Unmarshal(k.Input, &input),
		json.Unmarshal(k.Output, &output))
}

// maxRecalled limits the items that a request continues and refers to, in bytes. A body has the
// same limit.
const maxRecalled = wire.MaxBody

// An itemLookup finds the stored items of a request.
type itemLookup struct {
	ctx   context.Context
	to    Routes
	owner string
	held  *wire.Reservation
	bytes int // found
	taken int // of these, bytes of the place

	items map[string]map[string]json.RawMessage // by id, of the responses that were read
}

// found counts n bytes. Tools and instructions belong to the request and were counted with it.
func (r *itemLookup) found(n int, param string) error {
	if r.bytes += n; r.bytes > maxRecalled {
		return &control.Error{Code: wire.CodeTooLarge, Param: param,
			Message: "The responses and items that the request continues are larger than a " +
				"request may be; begin a new conversation."}
	}
	if more := r.bytes - r.taken; r.bytes > wire.SmallBody {
		r.taken = r.bytes
		return r.to.Grow(r.held, more)
	}
	return nil
}

// chain returns the items of a response and of all responses that it continues.
func (r *itemLookup) chain(id string) (items []json.RawMessage, err error) {
	const param = "previous_response_id"
	list, err := r.to.Kept.ResponseChain(r.ctx, r.owner, id)
	if errors.Is(err, control.ErrNoResponse) {
		return nil, &control.Error{Code: wire.CodeNoPrevious, Param: param,
			Message: "Previous response with id '" + wire.Clip(id) +
				"' not found: it or one before it " +
				"was not stored, was deleted, is over a day old, or belongs to another key. Send " +
				"the conversation as input."}
	}
	if err != nil {
		return nil, api.NameParam(err, param)
	}
	for _, k := range list {
		if err := r.found(len(k.Input)+len(k.Output), param); err != nil {
			return nil, err
		}
		input, output, err := itemsOf(k)
		if err != nil {
			return nil, err
		}
		items = append(append(items, input...), output...)
	}
	return items, nil
}

// item returns the stored item of a reference.
func (r *itemLookup) item(f *wire.Fields) (json.RawMessage, error) {
	id := f.String("id")
	if f.Err() != nil {
		return nil, f.Err()
	}
	missing := &control.Error{Code: wire.CodeNoItem, Param: f.Path + "id",
		Message: "Item with id '" + wire.Clip(id) +
			"' not found: only items of stored responses of " +
			"the same key are kept, for a day. Send the item itself."}
	response, ok := ResponseOf(id)
	if !ok {
		return nil, missing
	}
	items, ok := r.items[response]
	if !ok {
		k, err := r.to.Kept.Response(r.ctx, r.owner, response)
		if errors.Is(err, control.ErrNoResponse) {
			return nil, missing
		}
		if err != nil {
			return nil, err
		}
		if err := r.found(len(k.Input)+len(k.Output), f.Path+"id"); err != nil {
			return nil, err
		}
		if items, err = itemsByID(k); err != nil {
			return nil, err
		}
		if r.items == nil {
			r.items = map[string]map[string]json.RawMessage{}
		}
		r.items[response] = items
	}
	v, ok := items[id]
	if !ok {
		return nil, missing
	}
	return v, r.found(len(v), f.Path+"id")
}

// itemsByID returns the items of a response by their ids.
func itemsByID(k control.KeptResponse) (map[string]json.RawMessage, error) {
	input, output, err := itemsOf(k)
	if err != nil {
		return nil, err
	}
	items := map[string]json.RawMessage{}
	for _, v := range append(input, output...) { // of two with one id, the output's stays
		if id := itemID(v); id != "" {
			items[id] = v
		}
	}
	return items, nil
}

func itemID(v json.RawMessage) string {
	var item struct{ ID string }
	_ = json.Unmarshal(v, &item) // an item without an id gets none
	return item.ID
}

// The id of an item has the prefix of its type, the random part of its response's id, and a number.
// The random part leads from a reference to the response.
const (
	ResponsePrefix = "resp_"
	RandomID       = 26 // characters, of rand.Text
)

func itemIDOf(response, prefix string, n int) string {
	return prefix + strings.TrimPrefix(response, ResponsePrefix) + strconv.Itoa(n)
}

func ResponseOf(item string) (id string, ok bool) {
	_, rest, ok := strings.Cut(item, "_")
	if !ok || len(rest) <= RandomID {
		return "", false
	}
	return ResponsePrefix + rest[:RandomID], true
}

// storedItems returns the items of an input in a form that can be listed and referred to. Each has
// an id, a type, and parts in place of a text. first is the number of the first item.
func storedItems(items []json.RawMessage, response string, first int) (json.RawMessage, error) {
	list := make([]json.RawMessage, len(items))
	for i, v := range items {
		f, err := wire.ParseFields(v, "")
		if err != nil {
			return nil, err
		}
		kind := itemType(f)
		id := wire.Quote(itemIDOf(response, itemPrefix(kind), first+i))
		if given := f.Values["id"]; len(given) > 2 && given[0] == '"' {
			id = given
		}
		item := wire.Members{{Key: "id", Value: id}, {Key: "type", Value: wire.Quote(kind)}}
		item = append(item, f.Members().Without("id", "type")...)
		if text := f.Values["content"]; kind == "message" && len(text) > 0 && text[0] == '"' {
			part := "input_text"
			if f.String("role") == "assistant" {
				part = "output_text"
			}
			item = item.With("content", wire.MustJSON([]any{map[string]any{"type": part, "text": text}}))
		}
		list[i] = item.JSON()
	}
	return wire.MustJSON(list), nil
}

// itemPrefix returns the beginning of the ids of items of a type.
func itemPrefix(kind string) string {
	if k := kindBy((*toolKind).callType, kind); k != nil {
		return k.prefix
	}
	if k := kindBy((*toolKind).outputType, kind); k != nil {
		return strings.TrimSuffix(k.prefix, "_") + "o_"
	}
	switch kind {
	case "reasoning":
		return "rs_"
	case compactionItem:
		return "cmp_"
	case additionalTools:
		return "at_"
	}
	return "msg_"
}
