package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tandem/app/api"
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
	SaveReport(context.Context, control.SaveReport) (control.Saved, error)
	ExportSettings(context.Context) (control.Saved, error)

	// CommandLine returns whether the command line tool can be called by its name. LinkCommandLine
	// makes it so. The error is CodeFolder if something else has the name.
	CommandLine(context.Context) (control.CommandLine, error)
	LinkCommandLine(context.Context) (control.CommandLine, error)

	// Updates returns what is known. CheckUpdates asks for newer versions now.
	Updates() control.Updates
	CheckUpdates(context.Context) (control.Updates, error)
}

// helpRoutes answer for Help.
type helpRoutes struct {
	Help
	api *api.API
}

func addHelp(to *controlRoutes, of Help) {
	stream(to, control.GetLog, helpRoutes{of, to.api}.log)
	stream(to, control.GetDiagnosis, helpRoutes{of, to.api}.report)
	handle(to, control.SaveDiagnosis, of.SaveReport)
	handle(to, control.ExportSettings, ask(of.ExportSettings))
	handle(to, control.GetCommandLine, ask(of.CommandLine))
	handle(to, control.LinkCommandLine, ask(of.LinkCommandLine))
	handle(to, control.GetUpdates, ask(func(context.Context) (control.Updates, error) {
		return of.Updates(), nil
	}))
	handle(to, control.CheckUpdates, ask(of.CheckUpdates))
}

// report answers with a report as it will be saved, since a person reads it.
func (h helpRoutes) report(w http.ResponseWriter, r *http.Request, _ control.None) error {
	b, err := h.Report(r.Context())
	if err != nil {
		return err
	}
	_ = wire.WriteAnswer(w, b) // an error here means that the client left
	return nil
}

// log answers with the latest lines of the log. A client that accepts text/event-stream gets
// each line as an event, and later lines too.
func (h helpRoutes) log(w http.ResponseWriter, r *http.Request, _ control.None) error {
	if !strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		lines, _ := h.Log(0)
		return wire.WriteJSON(w, control.LogLines{Lines: append([]control.LogLine{}, lines...)})
	}
	out := newHeartbeatStream(w)
	return h.api.Stream(r, out, func(ctx context.Context) error {
		var seen int64
		for {
			lines, more := h.Log(seen)
			for _, l := range lines {
				if !out.Send(wire.Encode(l)) {
					return nil
				}
				seen = l.Seq
			}
			select {
			case <-more:
			case <-ctx.Done():
				return nil
			}
		}
	})
}
