package responses

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Routes are OpenAI's routes of responses.
type Routes struct {
	*api.API
	Kept    Store
	Resumed api.ReplyFormat // of a response that is completed later: its client reads it as a chat
}

// AddRoutes adds the routes.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Post("/v1/responses", v.Generation("/v1/responses", v.readResponse))
	route.Post("/v1/responses/input_tokens", v.countInput)
	route.Post("/v1/responses/compact", func(w http.ResponseWriter, r *http.Request) error {
		return v.Generate(w, r, "/v1/responses/compact", v.readCompaction)
	})
	route("/v1/responses/{id}", map[string]wire.Handler{
		http.MethodGet:    v.getResponse,
		http.MethodDelete: v.deleteResponse,
	})
	route.Get("/v1/responses/{id}/input_items", v.inputItems)
	route.Post("/v1/responses/{id}/cancel", v.cancelResponse)
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
	_ = wire.WriteAnswer(w, response) // the client left
	return nil
}

func (v *Routes) deleteResponse(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := v.Kept.DeleteResponse(r.Context(), wire.Caller(r.Context()), id); err != nil {
		return noResponse(err, id)
	}
	return wire.WriteJSON(w, deletedResponse{Deleted: true, ID: id, Object: "response"})
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
		return wire.Invalid("order", "order is %q or %q, not %q.", control.Word(itemOrders[0]),
			control.Word(itemOrders[1]), wire.Clip(order))
	}
	k, err := v.keptResponse(r)
	if err != nil {
		return err
	}
	list, _, err := itemsOf(k)
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
	_ = wire.WriteAnswer(w, wire.Encode(out)) // the client left
	return nil
}
