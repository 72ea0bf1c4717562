package pool

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/storage"
)

// Abilities come from a model's present files, without a load. The loaded model has the same ones.
// The log names the dialect.
func TestAbilitiesAreReadFromTheFilesWithoutALoad(t *testing.T) {
	dir, log := writeModel(t, "tiny"), &loadLog{Handler: slog.DiscardHandler}
	r := start(t, setup{Logger: slog.New(log)})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		template, dialect string
		want              model.Abilities
	}{
		{"{{ messages[0].content }}<tool_call>", "tool_call", model.Abilities{Tools: true}},
		{"{{ messages[0].content }}<tool_call><function=</think>", "xml",
			model.Abilities{Tools: true, Thinking: true}},
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
			t.Error("the model was loaded to read its abilities")
		}
		m := r.acquire(t, "tiny")
		if d := m.Dialect(); d.Tools() != c.want.Tools || d.Reasons() != c.want.Thinking ||
			d.Name() != c.dialect {
			t.Errorf("%s is loaded as %s", c.template, d.Name())
		}
		m.Release()
		if !slices.Contains(log.dialects, "tiny "+c.dialect) {
			t.Errorf("the log does not name the dialect %s: %q", c.dialect, log.dialects)
		}
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.pool.Abilities(t.Context(), "pocket"); err != nil || got.FIM == nil {
		t.Errorf("the embedded model: %+v, %v", got, err)
	}
	if _, err := r.pool.abilities.Get("pocket", storage.SourcePocket,
		func() (model.Abilities, error) { return model.Abilities{}, errors.New("read") }); err != nil {
		t.Error("the abilities of the embedded model are read again each time")
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	for id, code := range map[string]control.Code{
		"tiny": control.CodeModelInvalid, "none": control.CodeModelNotFound,
	} {
		_, err := r.pool.Abilities(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", id, err)
		}
	}
}
