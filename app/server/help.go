package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// Help serves the pages of settings and of help, except for the settings themselves.
type Help interface {
	// Log returns the kept lines after the given line number. It also returns a channel that is
	// closed when there is another line.
	Log(after int64) (lines []control.LogLine, more <-chan struct{})
	// Report makes a control.Diagnosis.
	Report(context.Context) (json.RawMessage, error)
	// SaveReport and ExportSettings write a file where downloads go.
	SaveReport(context.Context) (control.Saved, error)
	ExportSettings(context.Context) (control.Saved, error)

	// CommandLine returns whether the command line tool can be called by its name. LinkCommandLine
	// makes it so. The error is CodeFolder if something else has the name.
	CommandLine(context.Context) (control.CommandLine, error)
	LinkCommandLine(context.Context) (control.CommandLine, error)

	// Updates returns what is known. CheckUpdates asks for newer versions now.
	Updates() control.Updates
	CheckUpdates(context.Context) (control.Updates, error)
}

// logLines is the body of GET /app/log.
type logLines struct {
	Lines []control.LogLine `json:"lines"`
}

// logRoute answers with the latest lines of the log. A client that accepts text/event-stream gets
// each line as an event, and later lines too.
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
			case <-s.api.Draining.Done():
				out.End(nil)
				return
			}
		}
	}()
	began, err := out.Serve(ctx)
	<-done
	if began {
		return nil // the client left, or has the error
	}
	return err
}

func (s *Server) updates(context.Context) (control.Updates, error) {
	return s.services.Help.Updates(), nil
}

func (s *Server) diagnosis(ctx context.Context) (json.RawMessage, error) {
	return s.services.Help.Report(ctx)
}

func (s *Server) saveReport(ctx context.Context) (control.Saved, error) {
	return s.services.Help.SaveReport(ctx)
}

func (s *Server) exportSettings(ctx context.Context) (control.Saved, error) {
	return s.services.Help.ExportSettings(ctx)
}

func (s *Server) commandLine(ctx context.Context) (control.CommandLine, error) {
	return s.services.Help.CommandLine(ctx)
}

func (s *Server) linkCommandLine(ctx context.Context) (control.CommandLine, error) {
	return s.services.Help.LinkCommandLine(ctx)
}

func (s *Server) checkUpdates(ctx context.Context) (control.Updates, error) {
	return s.services.Help.CheckUpdates(ctx)
}
