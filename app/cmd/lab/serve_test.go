package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/lab"
	"tandem/engine/enginetest"
)

// serve runs `tandem-lab serve` until its model is loaded or refused, calls fn with the state, and stops
// it. It returns what serve prints to standard error.
func (c *console) serve(t *testing.T, fn func(control.State), flags ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan int)
	go func() { done <- c.lab(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...) }()
	client := control.Dial(c.env["TANDEM_HOME"])
	defer client.Close()
	for {
		s, err := control.Ask(ctx, client, control.GetState)
		if err == nil && (s.Phase == control.PhaseReady || s.Phase == control.PhaseFailed) {
			fn(s)
			break
		}
		select {
		case code := <-done:
			t.Fatalf("tandem-lab serve %s: exit %d\n%s", strings.Join(flags, " "), code, c.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("tandem-lab serve %s: exit %d\n%s", strings.Join(flags, " "), code, c.stderr)
	}
	return c.stderr
}

// tinyModel writes a random model into a folder of that name and returns the folder.
func tinyModel(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Rename(enginetest.TinyModel(t, "llama"), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The retrieval model is served by its name, with bounded layers, from any working folder. A file of
// it that was changed is written again when it is named. Standard output has the address alone. What
// tandem serves stays the choice.
func TestRetrievalModelIsServedByItsName(t *testing.T) {
	c := newConsole(newHome(t))
	weights := filepath.Join(c.env["TANDEM_HOME"], "models", lab.RetrievalModel, "model.safetensors")
	named := []string{"--model", lab.RetrievalModel, "--kv-layout", lab.Bounded}
	for _, when := range []string{"at first", "with other weights in its folder"} {
		t.Run(when, func(t *testing.T) {
			said := c.serve(t, func(s control.State) {
				l := s.Resident(lab.RetrievalModel)
				if l == nil || l.KVLayout != lab.Bounded {
					t.Fatalf("in memory is %+v, %s", l, s.Error)
				}
				resp, err := http.Post(s.Address+"/v1/completions", "application/json",
					strings.NewReader(`{"model":"tandem","prompt":"abc","max_tokens":4}`))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err := errors.Join(err, resp.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != http.StatusOK ||
					!bytes.Contains(body, []byte(`"model":"retrieval"`)) {
					t.Errorf("status %d: %s", resp.StatusCode, body)
				}
			}, named...)
			if !strings.HasPrefix(c.stdout, "http://") || strings.Count(c.stdout, "\n") != 1 {
				t.Errorf("serve prints %q, want its address", c.stdout)
			}
			if !strings.Contains(said, "Serving retrieval.") {
				t.Errorf("serve says %q", said)
			}
		})
		if err := os.WriteFile(weights, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last, err := app.LastChoice(t.Context(), c.env["TANDEM_HOME"], "")
	if err != nil || last.ID == lab.RetrievalModel {
		t.Errorf("the next start of tandem serves %q, error %v, want its own choice", last.ID, err)
	}
}

// A model whose layers cannot be bounded is refused with what to do. The advice has a command
// that tries bounded layers, unless that very command failed. A model that fails otherwise gets no such advice.
func TestRefusedBoundedLayersNameAModelThatHasThem(t *testing.T) {
	const try = "`tandem-lab serve --model retrieval --kv-layout bounded`"
	gone := tinyModel(t, "gone")
	c := newConsole(newHome(t))
	c.serve(t, func(control.State) {}, "--model", gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		model       string
		flags       []string
		says, lacks []string
	}{
		{"pocket", nil, []string{try}, nil},
		{"retrieval", []string{"--f-theta", t.TempDir()}, []string{"f_theta_config.json is missing"},
			[]string{try}},
		{"gone", nil, []string{"is no longer at"}, []string{try, "leave out --kv-layout"}},
	} {
		text := c.serve(t, func(s control.State) {
			if s.Phase != control.PhaseFailed {
				t.Errorf("%s is served", x.model)
			}
		}, append([]string{"--model", x.model, "--kv-layout", "bounded"}, x.flags...)...)
		if x.model != "gone" {
			x.says = append(x.says, "leave out --kv-layout bounded.\nUntil it can, ")
		}
		for _, want := range x.says {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s: %q is not there once: %s", x.model, want, text)
			}
		}
		for _, not := range append(x.lacks, "..") {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is there: %s", x.model, not, text)
			}
		}
	}
}
