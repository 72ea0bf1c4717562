package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/engine/enginetest"
)

// On a full disk Tandem starts, however the last process ended, and answers without history. What must be
// stored is refused. With room again what happens is kept, and what was there before is there.
func TestStartOnFullDisk(t *testing.T) {
	for name, killed := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			disk := enginetest.SmallDisk(t, 16<<20)
			dir, left := filepath.Join(disk, "home"), filepath.Join(disk, "left")
			// A checkpoint that cannot be written makes room when it is removed.
			o := Options{Home: dir, Model: writeModel(t, "tiny"), NoCheckpoints: true}
			t.Run("before", func(t *testing.T) {
				r := start(t, o, "127.0.0.1:0")
				if status, body := r.complete(t, "tandem", "before"); status != http.StatusOK {
					t.Fatal(status, body)
				}
				enginetest.Await(t, "the run has ended in the history", func() bool {
					runs, err := r.history.Runs(t.Context(), control.RunQuery{Finish: "length"})
					return err == nil && len(runs) == 1
				})
				if err := os.Mkdir(left, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{home.DatabaseFile, home.DatabaseFile + "-wal"} {
					data, err := os.ReadFile(filepath.Join(dir, name))
					if err == nil {
						err = os.WriteFile(filepath.Join(left, name), data, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			})
			if killed {
				dir = left
			}
			stray := filepath.Join(dir, pool.CheckpointFolder, "stray.checkpoint")
			if err := errors.Join(os.MkdirAll(filepath.Dir(stray), 0o700), os.WriteFile(stray, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			free := enginetest.FillDisk(t, disk)
			r := start(t, Options{Home: dir, NoCheckpoints: true}, "127.0.0.1:0")
			freeMore := enginetest.FillDisk(t, disk) // the log of a killed process may have made room
			if status, body := r.complete(t, "tiny", "on a full disk"); status != http.StatusOK {
				t.Error(status, body)
			}
			if _, err := r.change(t, `{"menu_speed": true}`); codeOf(err) != control.CodeDiskFull {
				t.Errorf("a change of a setting gives %v", err)
			}
			if _, err := r.history.Forget(t.Context(), control.ForgetRequest{Day: "2001-01-01"}); err != nil &&
				codeOf(err) != control.CodeDiskFull {
				t.Errorf("to forget a day gives %v", err)
			}
			free()
			freeMore()
			if _, err := r.change(t, `{"menu_speed": true}`); err != nil {
				t.Error(err)
			}
			if status, body := r.complete(t, "tiny", "after"); status != http.StatusOK {
				t.Error(status, body)
			}
			enginetest.Await(t, "the first and the last run are there", func() bool {
				runs, err := r.history.Runs(t.Context(), control.RunQuery{Finish: "length"})
				return err == nil && len(runs) >= 2 && runs[len(runs)-1].ID == 1
			})
		})
	}
}
