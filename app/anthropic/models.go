package anthropic

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Bounds of a page of Anthropic's list of models.
const (
	pageModels    = 20
	maxPageModels = 1000
)

// PageShape is the shape of a page's limit.
var PageShape = wire.Int(1, maxPageModels).With("default", pageModels)

// A Model is one model in Anthropic's list.
type Model struct {
	_              struct{}  `schema:"AnthropicModel"`
	Type           string    `json:"type" enum:"model"`
	ID             string    `json:"id"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      time.Time `json:"created_at"`
	Lifecycle      string    `json:"lifecycle" enum:"active"`
	MaxInputTokens int       `json:"max_input_tokens"`
	MaxTokens      int       `json:"max_tokens"` // of an answer: only the context limits it
}

// A ModelPage is a part of Anthropic's list.
type ModelPage struct {
	_       struct{} `schema:"AnthropicModelList"`
	Data    []Model  `json:"data"`
	HasMore bool     `json:"has_more"` // after this page, in its direction from the cursor
	FirstID *string  `json:"first_id"` // null if Data is empty
	LastID  *string  `json:"last_id"`
}

// newModel returns an entry in Anthropic's form.
func newModel(e api.ModelEntry) Model {
	m := Model{Type: "model", ID: e.ID, DisplayName: e.ID, CreatedAt: time.Unix(e.Created, 0).UTC(),
		Lifecycle: "active", MaxInputTokens: e.ContextLength, MaxTokens: e.ContextLength}
	if e.ID == control.Alias {
		m.DisplayName = "Tandem (" + e.Root + ")"
	}
	return m
}

// ListModels answers GET /v1/models.
func (v Routes) ListModels(w http.ResponseWriter, r *http.Request) error {
	list, err := v.Entries(r.Context())
	if err != nil {
		return err
	}
	page, err := cutPage(r, list)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, page)
}

// GetModel answers GET /v1/models/{id}.
func (v Routes) GetModel(w http.ResponseWriter, r *http.Request) error {
	e, err := v.Entry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, newModel(e))
}

// cutPage returns the page of the list that a request asks for.
func cutPage(r *http.Request, list []api.ModelEntry) (ModelPage, error) {
	q, limit := r.URL.Query(), pageModels
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxPageModels {
			return ModelPage{}, wire.Invalid("limit",
				"limit must be between 1 and %d, not %q.", maxPageModels, wire.Clip(v))
		}
		limit = n
	}
	at := func(param string) (int, error) {
		i := slices.IndexFunc(list, func(e api.ModelEntry) bool { return e.ID == q.Get(param) })
		if i < 0 {
			return 0, wire.Invalid(param,
				"%s names no model of the list: %q.", param, wire.Clip(q.Get(param)))
		}
		return i, nil
	}
	from, to := 0, len(list)
	more := func() bool { return to < len(list) }
	switch after, before := q.Has("after_id"), q.Has("before_id"); {
	case after && before:
		return ModelPage{}, wire.Invalid("before_id", "before_id cannot be combined with after_id.")
	case after:
		i, err := at("after_id")
		if err != nil {
			return ModelPage{}, err
		}
		from = i + 1
	case before:
		i, err := at("before_id")
		if err != nil {
			return ModelPage{}, err
		}
		from, to = max(0, i-limit), i
		more = func() bool { return from > 0 }
	}
	to = min(to, from+limit)
	p := ModelPage{Data: []Model{}, HasMore: more()}
	for _, e := range list[from:to] {
		p.Data = append(p.Data, newModel(e))
	}
	if n := len(p.Data); n > 0 {
		p.FirstID, p.LastID = &p.Data[0].ID, &p.Data[n-1].ID
	}
	return p, nil
}
