package responses

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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
	with, had = json.RawMessage{'{'}, json.RawMessage("[]")
	err = wire.EachMember(response, func(key string, value json.RawMessage) error {
		if key == "output" {
			value, had = output, value
		}
		if len(with) > 1 {
			with = append(with, ',')
		}
		with = append(append(wire.AppendString(with, key), ':'), value...)
		return nil
	})
	return append(with, '}'), had, err
}

// outputOf returns the items of the answer.
func outputOf(k control.KeptResponse) (list []json.RawMessage, err error) {
	err = json.Unmarshal(k.Output, &list)
	return list, err
}

func inputItemsOf(k control.KeptResponse) (list []json.RawMessage, err error) {
	err = json.Unmarshal(k.Input, &list)
	return list, err
}

// maxRecalled limits the items that a request continues and refers to, in bytes. A body has the
// same limit.
const maxRecalled = wire.MaxBody

// A recollection finds the stored items of a request.
type recollection struct {
	ctx   context.Context
	to    Routes
	owner string
	held  *wire.Place
	bytes int // found

	items map[string]map[string]json.RawMessage // by id, of the responses that were read
}

// found counts n bytes. Tools and instructions belong to the request and were counted with it.
func (r *recollection) found(n int, param string) error {
	if r.bytes += n; r.bytes > maxRecalled {
		return &control.Error{Code: wire.CodeTooLarge, Param: param,
			Message: "The responses and items that the request continues are larger than a " +
				"request may be; begin a new conversation."}
	}
	if r.bytes > wire.SmallBody && !r.held.Held() {
		return r.to.Take(r.held)
	}
	return nil
}

// chain returns the items of a response and of all responses that it continues.
func (r *recollection) chain(id string) (items []json.RawMessage, err error) {
	const param = "previous_response_id"
	list, err := r.to.Kept.ResponseChain(r.ctx, r.owner, id)
	if errors.Is(err, control.ErrNoResponse) {
		return nil, &control.Error{Code: wire.CodeNoPrevious, Param: param,
			Message: "Previous response with id '" + wire.Clip(id) + "' not found: it or one before it " +
				"was not stored, was deleted, is over a day old, or belongs to another key. Send " +
				"the conversation as input."}
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = param
		return nil, &named
	}
	for _, k := range list {
		if err := r.found(len(k.Input)+len(k.Output), param); err != nil {
			return nil, err
		}
		input, err := inputItemsOf(k)
		if err != nil {
			return nil, err
		}
		output, err := outputOf(k)
		if err != nil {
			return nil, err
		}
		items = append(append(items, input...), output...)
	}
	return items, err
}

// item returns the stored item of a reference.
func (r *recollection) item(f *wire.Fields) (json.RawMessage, error) {
	id := f.String("id")
	if f.Err != nil {
		return nil, f.Err
	}
	missing := &control.Error{Code: wire.CodeNoItem, Param: f.Path + "id",
		Message: "Item with id '" + wire.Clip(id) + "' not found: only items of stored responses of " +
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
	input, err := inputItemsOf(k)
	if err != nil {
		return nil, err
	}
	output, err := outputOf(k)
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
		b := wire.AppendString([]byte(`{"id":`), itemIDOf(response, itemPrefix(kind), first+i))
		if id := f.Values["id"]; len(id) > 2 && id[0] == '"' {
			b = append([]byte(`{"id":`), id...)
		}
		b = wire.AppendString(append(b, `,"type":`...), kind)
		for key, value := range f.Members() {
			switch {
			case key == "id", key == "type":
				continue
			case key == "content" && kind == "message" && value[0] == '"':
				part := "input_text"
				if f.String("role") == "assistant" {
					part = "output_text"
				}
				value = wire.MustJSON([]any{map[string]any{"type": part, "text": value}})
			}
			b = append(append(wire.AppendString(append(b, ','), key), ':'), value...)
		}
		list[i] = append(b, '}')
	}
	return wire.MustJSON(list), nil
}

// itemPrefix returns the beginning of the ids of items of a type.
func itemPrefix(kind string) string {
	switch kind {
	case "function_call":
		return "fc_"
	case "function_call_output":
		return "fco_"
	case "reasoning":
		return "rs_"
	}
	return "msg_"
}

// Routes are OpenAI's routes of responses.
type Routes struct {
	*api.API
	Kept    Store
	Resumed api.Form // of a response that is completed later: its client reads it as a chat
}

// AddRoutes adds the routes.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Post("/v1/responses", v.Generation("/v1/responses", v.readResponse))
	route("/v1/responses/{id}", map[string]wire.Handler{
		http.MethodGet:    v.getResponse,
		http.MethodDelete: v.deleteResponse,
	})
	route.Get("/v1/responses/{id}/input_items", v.inputItems)
	route.Post("/v1/responses/{id}/cancel", v.cancelResponse)
}

// Readers returns the readers of the generating routes' bodies.
func (v Routes) Readers() map[string]api.ReadBody {
	return map[string]api.ReadBody{"/v1/responses": v.readResponse}
}

// keptResponse returns the response whose id is in the path.
func (v *Routes) keptResponse(r *http.Request) (control.KeptResponse, error) {
	id := r.PathValue("id")
	k, err := v.Kept.Response(r.Context(), wire.Caller(r.Context()), id)
	return k, noResponse(err, id)
}

func noResponse(err error, id string) error {
	if errors.Is(err, control.ErrNoResponse) {
		return control.Errorf(wire.CodeNoResponse,
			"Response with id '%s' not found.", wire.Clip(id))
	}
	return err
}

func (v *Routes) getResponse(w http.ResponseWriter, r *http.Request) error {
	if on, _ := strconv.ParseBool(r.URL.Query().Get("stream")); on {
		return wire.Invalid("stream",
			"stream is only for responses in the background, and this server has none; leave it "+
				"out.")
	}
	k, err := v.keptResponse(r)
	if err != nil {
		return err
	}
	response, err := answered(k)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, response)
}

func (v *Routes) deleteResponse(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := v.Kept.DeleteResponse(r.Context(), wire.Caller(r.Context()), id); err != nil {
		return noResponse(err, id)
	}
	return wire.WriteJSON(w, map[string]any{"id": id, "object": "response", "deleted": true})
}

func (v *Routes) cancelResponse(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength != 0 { // OpenAI's clients send no body
		if _, err := v.ReadObject(w, r); err != nil {
			return err
		}
	}
	if _, err := v.keptResponse(r); err != nil {
		return err
	}
	return control.Errorf(control.CodeInvalid,
		"Only a response in the background can be cancelled; this one is complete. To stop one "+
			"that is being generated, close its connection.")
}

// Items of one page.
const (
	someItems = 20 // if the request does not say
	maxItems  = 100
)

// itemOrders are the words for the order of items.
var itemOrders = []string{"asc", "desc"}

// ItemList is the body of GET /v1/responses/{id}/input_items.
type ItemList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID string            `json:"first_id"`
	LastID  string            `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

func (v *Routes) inputItems(w http.ResponseWriter, r *http.Request) error {
	q, limit := r.URL.Query(), someItems
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxItems {
			return wire.Invalid("limit", "limit must be a whole number between 1 and %d.", maxItems)
		}
		limit = n
	}
	order := q.Get("order")
	if order != "" && !slices.Contains(itemOrders, order) {
		return wire.Invalid("order", "order is %q or %q, not %q.", control.Word(itemOrders[0]), control.Word(itemOrders[1]), wire.Clip(order))
	}
	k, err := v.keptResponse(r)
	if err != nil {
		return err
	}
	list, err := inputItemsOf(k)
	if err != nil {
		return err
	}
	if order != itemOrders[0] {
		slices.Reverse(list)
	}
	if after := q.Get("after"); after != "" {
		i := slices.IndexFunc(list, func(v json.RawMessage) bool { return itemID(v) == after })
		if i < 0 {
			return wire.Invalid("after",
				"after names no item of this response: %q.", wire.Clip(after))
		}
		list = list[i+1:]
	}
	out := ItemList{Object: "list", Data: list[:min(limit, len(list))], HasMore: len(list) > limit}
	if n := len(out.Data); n > 0 {
		out.FirstID, out.LastID = itemID(out.Data[0]), itemID(out.Data[n-1])
	}
	return wire.WriteJSON(w, out)
}
