package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"tandem/app/control"
)

// maxLoadBody is the most that a request without anything to say takes.
const maxLoadBody = 64 << 10 // bytes

// ollamaGeneration answers one of Ollama's generating routes. A request that says
// nothing loads the model, or frees it where it is to be kept for no time at all;
// after another one the model is freed as well.
func (v *ollamaRoutes) ollamaGeneration(endpoint string, read func(*fields) (request, error), nothing func(*fields) bool) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if f := v.peek(w, r); f != nil && nothing(f) {
			return v.ollamaLoad(w, r, f, endpoint)
		}
		var asked *ollamaRequest
		err := v.generation(endpoint, func(f *fields) (request, error) {
			req, err := read(f)
			asked, _ = req.(*ollamaRequest)
			return req, err
		})(w, r)
		if asked != nil && asked.keepAlive != nil && *asked.keepAlive == 0 {
			if err := v.free(context.WithoutCancel(r.Context()), asked.common().model); err != nil {
				v.log.Warn("a model that was to be freed stays", "model", asked.common().model, "err", err)
			}
		}
		return err
	}
}

// peek reads a short body ahead and puts it back; nil for one that is not short, or
// no object.
func (v *ollamaRoutes) peek(w http.ResponseWriter, r *http.Request) *fields {
	if checkJSON(r.Header) != nil || r.ContentLength > maxLoadBody {
		return nil
	}
	end := v.limitReading(http.NewResponseController(w))
	b, err := io.ReadAll(io.LimitReader(r.Body, maxLoadBody+1))
	whole := err == nil && len(b) <= maxLoadBody
	end(whole)
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failedReader{err}
	}
	r.Body = readCloser{io.MultiReader(bytes.NewReader(b), rest), r.Body}
	if !whole || checkText(b) != nil {
		return nil
	}
	f, err := parseFields(b, "")
	if err != nil {
		return nil
	}
	return f
}

type readCloser struct {
	io.Reader
	io.Closer
}

// A failedReader fails as what it stands for did.
type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// noPrompt reports whether a request to /api/generate says nothing.
func noPrompt(f *fields) bool {
	return f.string("prompt") == "" && f.string("suffix") == "" && f.err == nil
}

// noMessages reports whether one to /api/chat does.
func noMessages(f *fields) bool {
	var list []json.RawMessage
	v := f.raw("messages")
	return v == nil || json.Unmarshal(v, &list) == nil && len(list) == 0
}

// ollamaLoad answers a request that says nothing.
func (v *ollamaRoutes) ollamaLoad(w http.ResponseWriter, r *http.Request, f *fields, endpoint string) error {
	p, keep := readOllama(f), readKeepAlive(f)
	if f.err != nil {
		return f.err
	}
	reason := "load"
	if keep != nil && *keep == 0 {
		reason = "unload"
		if err := v.free(r.Context(), p.model); err != nil {
			return err
		}
	} else {
		m, err := v.hold(r.Context(), p.model)
		if err != nil {
			return err
		}
		m.Release()
	}
	form := ollamaForm{chat: endpoint == "/api/chat"}
	b := form.appendPiece(form.appendHead(nil, p.model), ollamaPiece{})
	b = append(appendString(append(b, `,"done":true,"done_reason":`...), reason), "}"...)
	w.Header().Set("Content-Type", "application/json")
	_ = writeWhole(w, http.StatusOK, b) // the client left
	return nil
}

// free unloads the model of a name if it is in memory. One that answers others stays.
func (v *ollamaRoutes) free(ctx context.Context, name string) error {
	list, err := v.entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.ID != name {
			continue
		}
		st := v.to.Status.State()
		if st.Resident(e.Root) == nil {
			return nil
		}
		err := v.residents.Unload(ctx, e.Root)
		if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeModelBusy {
			return nil
		}
		return err
	}
	return control.Errorf(control.CodeModelNotFound, "The model %q is not registered; /api/tags lists those that are.", clip(name))
}
