package ollama

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// MaxLoadBody limits a body without a prompt.
const MaxLoadBody = 64 << 10 // bytes

// ollamaGeneration returns the handler of one of Ollama's generating routes. A request without a
// prompt, which isLoadOnly recognizes, loads the model, or unloads it if keep_alive is 0. Any other
// request with keep_alive 0 unloads the model after the answer.
func (v *Routes) ollamaGeneration(endpoint string, read api.ReadBody,
	isLoadOnly func(*wire.Fields) bool) wire.Handler {
	v.Resumable(endpoint, read)
	return func(w http.ResponseWriter, r *http.Request) error {
		if f := v.readShortBody(w, r); f != nil && isLoadOnly(f) {
			return v.ollamaLoad(w, r, f, endpoint)
		}
		var asked *ollamaRequest
		err := v.Generate(w, r, endpoint, func(f *wire.Fields) (api.Request, error) {
			req, err := read(f)
			asked, _ = req.(*ollamaRequest)
			return req, err
		})
		if asked != nil {
			v.unloadAfter(r, asked.Common().Model, asked.keepAlive)
		}
		return err
	}
}

// ollamaTexts returns the handler of one of Ollama's routes for embeddings. A request with keep_alive 0
// unloads the model after the answer.
func (v *Routes) ollamaTexts(endpoint string,
	read func(*wire.Fields) (*ollamaEmbedRequest, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var asked *ollamaEmbedRequest
		err := v.TextsRoute(endpoint, func(f *wire.Fields) (api.ReadRequest, error) {
			req, err := read(f)
			if err == nil {
				asked = req
			}
			return req, err
		})(w, r)
		if asked != nil {
			v.unloadAfter(r, asked.name, asked.keepAlive)
		}
		return err
	}
}

// unloadAfter frees the model of an answered request whose keep_alive is 0.
func (v *Routes) unloadAfter(r *http.Request, model string, keepAlive *time.Duration) {
	if keepAlive == nil || *keepAlive != 0 {
		return
	}
	if err := v.unloadIfIdle(context.WithoutCancel(r.Context()), model); err != nil {
		v.Log.Warn("a model that was to be freed stays", "model", model, "err", err)
	}
}

// readShortBody reads a short body and puts it back. It returns nil for a long body, and for one
// that is no object.
func (v *Routes) readShortBody(w http.ResponseWriter, r *http.Request) *wire.Fields {
	if wire.CheckJSON(r.Header) != nil || r.ContentLength > MaxLoadBody {
		return nil
	}
	end := v.LimitReading(http.NewResponseController(w))
	b, err := io.ReadAll(io.LimitReader(r.Body, MaxLoadBody+1))
	whole := err == nil && len(b) <= MaxLoadBody
	end(whole)
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failedReader{err}
	}
	r.Body = readCloser{io.MultiReader(bytes.NewReader(b), rest), r.Body}
	held := wire.Reservation{Client: wire.ClientOf(r)}
	defer held.Release()
	if whole {
		b, err = v.Unpack(r.Header, b, &held)
	}
	if !whole || err != nil || wire.CheckText(b) != nil {
		return nil
	}
	f, err := wire.ParseFields(b, "")
	if err != nil {
		return nil
	}
	return f
}

type readCloser struct {
	io.Reader
	io.Closer
}

// A failedReader returns the error of the body that it replaces.
type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// noPrompt reports whether a request to /api/generate has no prompt.
func noPrompt(f *wire.Fields) bool {
	return f.String("prompt") == "" && f.String("suffix") == "" && f.Err() == nil
}

// noMessages reports whether a request to /api/chat has no messages.
func noMessages(f *wire.Fields) bool {
	v := f.Raw("messages")
	_, n := wire.FirstValues(v, 0)
	return v == nil || n == 0
}

// ollamaLoad answers a request without a prompt.
func (v *Routes) ollamaLoad(w http.ResponseWriter, r *http.Request, f *wire.Fields,
	endpoint string) error {
	f.As(requestShape)
	p, keep := readOllama(f), readKeepAlive(f)
	api.RefuseMedia(f)
	if f.Err() != nil {
		return f.Err()
	}
	reason := "load"
	if keep != nil && *keep == 0 {
		reason = "unload"
		if err := v.unloadIfIdle(r.Context(), p.Model); err != nil {
			return err
		}
	} else {
		m, err := v.Acquire(r.Context(), p.Model, true) // true: in either case of letters
		if err != nil {
			return err
		}
		m.Release()
	}
	form := lineFormat{chat: endpoint == "/api/chat", model: p.Model}
	return wire.WriteJSON(w, form.line(piece{}, lineEnd{Done: true, DoneReason: reason}))
}

// unloadIfIdle unloads the model of a name. A model that a request uses stays, without an error.
func (v *Routes) unloadIfIdle(ctx context.Context, name string) error {
	list, err := v.Entries(ctx)
	if err != nil {
		return err
	}
	id, err := v.ModelID(ctx, name, true) // as Acquire above
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.ID != id {
			continue
		}
		st := v.To.Status.State()
		if st.Resident(e.Root) == nil {
			return nil
		}
		err := v.Residents.Unload(ctx, e.Root)
		if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeModelBusy {
			return nil
		}
		return err
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not installed. /api/tags lists the installed models.", wire.Clip(name))
}
