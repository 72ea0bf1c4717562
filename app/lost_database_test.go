package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/home"
	"tandem/app/pool"
)

// TestLostDatabaseIsTold starts in homes whose database is missing, empty, or a link that leads
// nowhere, with checkpoints of earlier runs and without.
func TestLostDatabaseIsTold(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"missing":     func(string) error { return nil },
		"empty":       func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a dead link": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "nowhere"), path) },
	} {
		for _, had := range []bool{true, false} {
			dir := t.TempDir()
			path := filepath.Join(dir, home.DatabaseFile)
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			if had {
				if err := os.MkdirAll(filepath.Join(dir, pool.CheckpointFolder, "a"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			a, err := Open(t.Context(), Options{Home: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if told := strings.Contains(log.String(), "missing or empty") && strings.Contains(log.String(), path); told != had {
				t.Errorf("%s, with checkpoints %t: the log is %q", name, had, log.String())
			}
		}
	}
}
