package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// If checkpoints cannot be written, requests are answered and the state has a warning.
func TestRequestsAreAnsweredWhereCheckpointsCannotBeWritten(t *testing.T) {
	home := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(home, CheckpointFolder), nil, 0o600),
		os.WriteFile(filepath.Join(home, "lock"), nil, 0o600), // marks a home folder
	); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Home: home, Model: writeModel(t, "tiny")})
	for range 2 {
		r.say(t, "tiny", fmt.Sprintf(fixedDepth, "ngram"))
	}
	if s := r.State(); !strings.Contains(s.Warning, "not written to disk") {
		t.Errorf("the state warns of %q", s.Warning)
	}
}

// A checkpoint budget in memory counts from the next load on, and the settings say so until then.
func TestCheckpointBudgetsCountFromTheNextLoad(t *testing.T) {
	r := open(t, setup{Model: writeModel(t, "tiny")})
	later := func(st control.SettingsState, name string) control.Later {
		for _, s := range st.Sources {
			if s.Name == name {
				return s.Later
			}
		}
		return ""
	}
	if err := r.pool.Load(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	change := control.SettingsChange{"checkpoint_memory": []byte("134217728")}
	st, err := r.ChangeSettings(t.Context(), change)
	if err != nil || later(st, "checkpoint_memory") != control.AtNextLoad ||
		later(st, "checkpoint_disk") != "" {
		t.Errorf("%+v: %v", st.Sources, err)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	if st := r.settings.State(r.pool.SettingsLater()); later(st, "checkpoint_memory") != "" {
		t.Errorf("after a load: %+v", st.Sources)
	}
}

// Backups leave checkpoints out, also where the folder was deleted while the program ran.
func TestBackupsLeaveCheckpointsOut(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	dir := r.home.Path(CheckpointFolder)
	for _, gone := range []bool{false, true} {
		if gone {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		r.ask(t, map[string]any{"model": "tiny", "max_tokens": 60, "ignore_eos": true,
			"prompt": fmt.Sprintf("func main%t() { ", gone)}, false)
		if err := r.pool.Unload(t.Context(), ""); err != nil { // what was computed is on disk then
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
		if err != nil || len(files) == 0 {
			t.Errorf("%d checkpoints are there, %v", len(files), err)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", info, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "CACHEDIR.TAG")); err != nil {
			t.Error(err)
		}
	}
}
