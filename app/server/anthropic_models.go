package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"tandem/app/control"
)

// Bounds of a page of Anthropic's list of models.
const (
	pageModels    = 20
	maxPageModels = 1000
)

// An anthropicModel is one model in Anthropic's list.
type anthropicModel struct {
	Type           string    `json:"type"`
	ID             string    `json:"id"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      time.Time `json:"created_at"`
	MaxInputTokens int       `json:"max_input_tokens"`
	MaxTokens      int       `json:"max_tokens"` // of an answer: the context has no other bound
}

// An anthropicPage is a part of Anthropic's list.
type anthropicPage struct {
	Data    []anthropicModel `json:"data"`
	HasMore bool             `json:"has_more"` // further away from the cursor
	FirstID *string          `json:"first_id"` // null where Data is empty
	LastID  *string          `json:"last_id"`
}

// anthropicModelOf lays an entry out as Anthropic does.
func anthropicModelOf(e modelEntry) anthropicModel {
	m := anthropicModel{"model", e.ID, e.ID, time.Unix(e.Created, 0).UTC(), e.ContextLength, e.ContextLength}
	if e.ID == control.Alias {
		m.DisplayName = "Tandem (" + e.Root + ")"
	}
	return m
}

// listModels answers GET /v1/models.
func (v anthropicRoutes) listModels(w http.ResponseWriter, r *http.Request) error {
	list, err := v.entries(r.Context())
	if err != nil {
		return err
	}
	page, err := anthropicModels(r, list)
	if err != nil {
		return err
	}
	return writeJSON(w, page)
}

// getModel answers GET /v1/models/{id}.
func (v anthropicRoutes) getModel(w http.ResponseWriter, r *http.Request) error {
	e, err := v.entry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, anthropicModelOf(e))
}

// anthropicModels cuts the page that a request asks for out of the list.
func anthropicModels(r *http.Request, list []modelEntry) (anthropicPage, error) {
	q, limit := r.URL.Query(), pageModels
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxPageModels {
			return anthropicPage{}, invalid("limit", "limit must lie between 1 and %d, not %q.", maxPageModels, clip(v))
		}
		limit = n
	}
	at := func(param string) (int, error) {
		i := slices.IndexFunc(list, func(e modelEntry) bool { return e.ID == q.Get(param) })
		if i < 0 {
			return 0, invalid(param, "%s names no model of the list: %q.", param, clip(q.Get(param)))
		}
		return i, nil
	}
	from, to := 0, len(list)
	more := func() bool { return to < len(list) }
	switch after, before := q.Has("after_id"), q.Has("before_id"); {
	case after && before:
		return anthropicPage{}, invalid("before_id", "before_id cannot be combined with after_id.")
	case after:
		i, err := at("after_id")
		if err != nil {
			return anthropicPage{}, err
		}
		from = i + 1
	case before:
		i, err := at("before_id")
		if err != nil {
			return anthropicPage{}, err
		}
		from, to = max(0, i-limit), i
		more = func() bool { return from > 0 }
	}
	to = min(to, from+limit)
	p := anthropicPage{Data: []anthropicModel{}, HasMore: more()}
	for _, e := range list[from:to] {
		p.Data = append(p.Data, anthropicModelOf(e))
	}
	if n := len(p.Data); n > 0 {
		p.FirstID, p.LastID = &p.Data[0].ID, &p.Data[n-1].ID
	}
	return p, nil
}
