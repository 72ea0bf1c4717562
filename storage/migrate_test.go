package storage

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// schema is the text of every table and index.
func schema(t *testing.T, db *DB) string {
	t.Helper()
	var all string
	err := db.r.QueryRow("SELECT group_concat(name || ': ' || sql, char(10)) FROM (SELECT * FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)").Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// atVersion makes a file with the schema of an earlier release and a row in each table it had.
func atVersion(t *testing.T, path string, version int64) {
	t.Helper()
	w, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p, err := (&DB{w: w, log: mustOpen(t, "").log}).provider()
	if err != nil {
		t.Fatal(err)
	}
	if version == 0 {
		_, err = p.GetDBVersion(t.Context()) // makes goose's own table
	} else {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{
		1: "INSERT INTO models (id, path, source, revision, architecture, quantization, dtype, parameters, bytes, context_length, downloaded_by_us, added_at, last_used_at) VALUES ('org/name', '/m', 'hub', 'abc', 'llama', '', 'bfloat16', 1, 2, 3, 1, '2026-11-21T12:00:00.000Z', NULL)",
		2: `INSERT INTO runs (id, started_at, ended_at, client, endpoint, model, drafter, prompt_tokens, cached_tokens, completion_tokens,
			drafted, accepted, rounds, syncs, load_ms, restore_ms, prefill_ms, first_token_ms, draft_ms, verify_ms, total_ms,
			peak_bytes, finish_reason, miss_reason, error, seed) VALUES (7, '2026-11-21T12:00:00.000Z', '2026-11-21T12:00:01.000Z', 'c', 'e', 'org/name', '',
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 'stop', '', '', 16)`,
		3: "INSERT INTO settings VALUES ('model', 'org/name', '2026-11-21T12:00:00.000Z')",
	}
	for v, row := range rows {
		if v == 0 || int64(v) > version {
			continue
		}
		if _, err := w.Exec(row); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMigrationKeepsRows(t *testing.T) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	want := schema(t, mustOpen(t, filepath.Join(t.TempDir(), "new.db")))
	for version := range int64(len(names)) {
		path := filepath.Join(t.TempDir(), "old.db")
		atVersion(t, path, version)
		db := mustOpen(t, path)
		if got := schema(t, db); got != want {
			t.Errorf("from version %d the schema is\n%s\nwant\n%s", version, got, want)
		}
		if m, err := db.Model(t.Context(), "org/name"); version >= 1 &&
			(err != nil || !m.DownloadedByUs || m.ContextLength != 3) {
			t.Errorf("from version %d the model is %+v, %v; want it as it was", version, m, err)
		}
		if r, err := db.Run(t.Context(), 7); version >= 2 &&
			(err != nil || r.Seed != 16 || r.FinishReason != "stop") {
			t.Errorf("from version %d the run is %+v, %v; want it as it was", version, r, err)
		}

		backups := db.backups()
		if version == 0 {
			if len(backups) != 0 {
				t.Errorf("a new file was backed up: %v", backups)
			}
			continue
		}
		if len(backups) != 1 {
			t.Fatalf("from version %d there are backups %v, want one", version, backups)
		}
		st, err := os.Stat(backups[0])
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("backup %v, %v, want mode 600", st, err)
		}
		// The backup is complete and has the old version: it migrates too.
		if m, err := mustOpen(t, backups[0]).Model(t.Context(), "org/name"); err != nil ||
			m.Path != "/m" {
			t.Errorf("the model in the backup is %+v, %v", m, err)
		}
	}
}

func TestNewestBackupsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := mustOpen(t, path)
	day := noon
	db.now = func() time.Time { day = day.Add(24 * time.Hour); return day }
	// Their times order them. Their versions would not: 10 sorts before 9 as text.
	for _, version := range []int64{8, 9, 10, 11} {
		if err := db.backup(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, b := range db.backups() {
		got = append(got, filepath.Base(b))
	}
	want := []string{"x.db.v9-20261123T120000Z.backup", "x.db.v10-20261124T120000Z.backup",
		"x.db.v11-20261125T120000Z.backup"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("backups %v, want %v", got, want)
	}
	// A failed backup leaves nothing and does not hide an older one.
	db.w.Close()
	if err := db.backup(t.Context(), 12); err == nil {
		t.Error("a backup of a closed file succeeded")
	}
	if left, _ := filepath.Glob(path + "*.tmp"); len(left) != 0 ||
		len(db.backups()) != KeepBackups {
		t.Errorf("left %v, backups %v; want the backups of before", left, db.backups())
	}
}
