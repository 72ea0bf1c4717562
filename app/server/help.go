package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// Help is what the pages of settings and of help ask for beside the settings.
type Help interface {
	// Log returns the lines behind the one that is numbered so, as far as they are
	// kept, and what is closed when there is another.
	Log(after int64) (lines []control.LogLine, more <-chan struct{})
	// Report makes a control.Diagnosis.
	Report(context.Context) (json.RawMessage, error)
	// SaveReport and ExportSettings write a file where downloads go.
	SaveReport(context.Context) (control.Saved, error)
	ExportSettings(context.Context) (control.Saved, error)

	// CommandLine says whether the command line tool can be called by its name, and
	// LinkCommandLine makes it so, unless something else has the name, which is
	// CodeFolder.
	CommandLine(context.Context) (control.CommandLine, error)
	LinkCommandLine(context.Context) (control.CommandLine, error)

	// Updates says what is known, and CheckUpdates asks.
	Updates() control.Updates
	CheckUpdates(context.Context) (control.Updates, error)
}

// logLines is the body of GET /app/log.
type logLines struct {
	Lines []control.LogLine `json:"lines"`
}

// logRoute answers with the latest lines of the log; to who accepts text/event-stream
// each is an event, and so are those to come.
func (s *Server) logRoute(w http.ResponseWriter, r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		lines, _ := s.services.Help.Log(0)
		return wire.WriteJSON(w, logLines{append([]control.LogLine{}, lines...)})
	}
	out := wire.NewEventStream(w)
	out.First, out.Next = heartbeat, heartbeat
	ctx := r.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var seen int64
		for {
			lines, more := s.services.Help.Log(seen)
			for _, l := range lines {
				if !out.Send(wire.MustJSON(l)) {
					out.End(nil)
					return
				}
				seen = l.Seq
			}
			select {
			case <-more:
			case <-ctx.Done():
				out.End(nil)
				return
			case <-s.Draining.Done():
				out.End(nil)
				return
			}
		}
	}()
	began, err := out.Serve(ctx)
	<-done
	if began {
		return nil // the client left, or was told
	}
	return err
}

func (s *Server) diagnosis(w http.ResponseWriter, r *http.Request) error {
	b, err := s.services.Help.Report(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, b)
}

// ask answers with what a method of a service does, on a POST whose body says
// nothing.
func ask[T any](s *Server, do func(context.Context) (T, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost {
			if _, err := s.ReadObject(w, r); err != nil {
				return err
			}
		}
		v, err := do(r.Context())
		if err != nil {
			return err
		}
		return wire.WriteJSON(w, v)
	}
}

func (s *Server) updates(w http.ResponseWriter, _ *http.Request) error {
	return wire.WriteJSON(w, s.services.Help.Updates())
}
