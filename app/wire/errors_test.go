package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// The client gets general words, and the log has the error.
func TestUnknownErrorsAreLoggedNotTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		fake := roomtest.NewBackend()
		fake.Model.Script = func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				if stream && !yield(engine.Token{ID: 'a', Text: "a"}, nil) {
					return
				}
				yield(engine.Token{}, errors.New("open /home/somebody: no"))
			}
		}
		var log bytes.Buffer
		fake.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s := serve(fake)
		w := roomtest.Post(s, "/v1/completions",
			fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%t}`, stream))
		if strings.Contains(w.Body.String(), "somebody") ||
			!strings.Contains(w.Body.String(), "its log tells more") {
			t.Errorf("stream %t: %s", stream, w.Body)
		}
		if !strings.Contains(log.String(), "somebody") {
			t.Errorf("stream %t: the log has %s", stream, log.String())
		}
		if r := fake.LastRun(); r.Error != string(engine.CodeInternal) {
			t.Errorf("stream %t: the history has %q", stream, r.Error)
		}
	}
}

// advice returns the table of what to do in a terminal, by name.
func advice(t *testing.T) map[string]string {
	f, err := parser.ParseFile(token.NewFileSet(), "../control/advice.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	table, name := map[string]string{}, ""
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl, *ast.ImportSpec:
			return false
		case *ast.ValueSpec:
			name = n.Names[0].Name
		case *ast.BasicLit:
			text, _ := strconv.Unquote(n.Value)
			table[name] += text
		}
		return true
	})
	if len(table) < 7 {
		t.Fatalf("the table has only %v", table)
	}
	return table
}

// Each error that has commands for a terminal ends with them, in an answer and in a stream. The window
// takes that end off: no command is left then. The history keeps none.
func TestEveryAdviceIsTheEndOfItsMessage(t *testing.T) {
	for name, text := range advice(t) {
		if !strings.Contains(text, "`") || !strings.HasSuffix(text, ".") {
			t.Errorf("%s is %q, which is no sentence with a command", name, text)
		}
		fake := roomtest.NewBackend()
		fake.OnLoad = func(context.Context) error {
			return fmt.Errorf("load: %w", control.Errorf(control.CodeModelInvalid, "It failed.").Advise(text))
		}
		body := roomtest.DecodeError(t, roomtest.Post(serve(fake), "/v1/completions", `{"model":"tandem","prompt":"x"}`))
		if body.Advice != text || body.Message != "It failed. "+text {
			t.Errorf("%s: %+v", name, body)
		}
		if r := fake.LastRun(); r.Message != "It failed." {
			t.Errorf("%s: the history has %q", name, r.Message)
		}
		fake = roomtest.NewBackend()
		fake.Model.Script = func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				_ = yield(engine.Token{ID: 'a', Text: "a"}, nil) && yield(engine.Token{},
					control.Errorf(control.CodeModelInvalid, "It failed.").Advise(text))
			}
		}
		w := roomtest.Post(serve(fake), "/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`)
		if want := `{"error":{"message":` + string(wire.Quote("It failed. "+text)) + `,"advice":` +
			string(wire.Quote(text)) + `,`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: a stream has %s, want %s", name, w.Body, want)
		}
	}
}
