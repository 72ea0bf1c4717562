package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
)

// TestAbilities: what a model can do is told from its files as they are now, without
// loading it, and is what it can do when it is loaded. The log says how it writes.
func TestAbilities(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, Options{}, "127.0.0.1:0")
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		template, dialect string
		want              model.Abilities
	}{
		{"{{ messages[0].content }}<tool_call>", "tool_call", model.Abilities{Tools: true}},
		{"{{ messages[0].content }}<tool_call><function=</think>", "xml", model.Abilities{Tools: true, Thinking: true}},
		{"{{ messages[0].content }}", "plain", model.Abilities{}},
	} {
		file := filepath.Join(dir, "chat_template.jinja")
		if err := os.WriteFile(file, []byte(c.template), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Unix(1700000000+int64(i), 0)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := r.pool.Abilities(t.Context(), "tiny"); err != nil || got != c.want {
				t.Errorf("%s: %+v, %v", c.template, got, err)
			}
		}
		if l := r.State().Loaded; l != nil && l.ID == "tiny" {
			t.Error("it is loaded to be looked at")
		}
		m, err := r.pool.Acquire(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		if d := m.Dialect(); d.Tools() != c.want.Tools || d.Reasons() != c.want.Thinking || d.Name() != c.dialect {
			t.Errorf("%s is loaded as %s", c.template, d.Name())
		}
		m.Release()
		lines, _ := r.lines.after(0)
		if !slices.ContainsFunc(lines, func(l control.LogLine) bool {
			return strings.HasPrefix(l.Text, "model loaded model=tiny") && strings.HasSuffix(l.Text, " dialect="+c.dialect)
		}) {
			t.Errorf("the log does not say that it writes as %s: %+v", c.dialect, lines)
		}
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.pool.Abilities(t.Context(), "pocket"); err != nil || got.FIM == nil {
		t.Errorf("the embedded model: %+v, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	for id, code := range map[string]control.Code{"tiny": control.CodeModelInvalid, "none": control.CodeModelNotFound} {
		_, err := r.pool.Abilities(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", id, err)
		}
	}
}
