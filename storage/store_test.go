package storage

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// noon is the time at which every test clock starts.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// ticking is a clock that moves a second at each reading.
func ticking() func() time.Time {
	var mu sync.Mutex
	t := noon
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		t = t.Add(time.Second)
		return t
	}
}

func mustOpen(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path, Options{Now: ticking(),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func wantCode(t *testing.T, err error, code Code) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != code {
		t.Fatalf("error %v, want code %s", err, code)
	}
	return e
}

// files hashes the file at path and the files beside it. The shared-memory index is left out: it
// holds no data.
func files(t *testing.T, path string) string {
	t.Helper()
	h := sha256.New()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestFileIsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?#%41.db") // characters with a meaning in a URI
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	db := mustOpen(t, path)
	if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		st, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", st.Name(), st.Mode().Perm())
		}
	}
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "1",
		"foreign_keys": "1", "busy_timeout": fmt.Sprint(busyTimeout)} {
		var w, r string
		if err := errors.Join(db.w.QueryRow("PRAGMA "+name).Scan(&w),
			db.r.QueryRow("PRAGMA "+name).Scan(&r)); err != nil {
			t.Fatal(err)
		}
		if w != want || r != want {
			t.Errorf("PRAGMA %s is %s for the writer and %s for readers, want %s", name, w, r, want)
		}
	}
	if _, err := db.r.Exec("DELETE FROM settings"); err == nil {
		t.Error("a reader could write")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the log is there after Close")
	}
}

func TestDatabaseIsStrict(t *testing.T) {
	db := mustOpen(t, "")
	rows, err := db.r.Query("SELECT name FROM pragma_table_list WHERE schema = 'main' AND NOT strict " +
		"AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		rows.Scan(&name)
		t.Errorf("table %s is not STRICT", name)
	}
}

func TestOpenReportsItsCode(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "missing", "x.db"), Options{})
	if e := wantCode(t, err, ReadOnly); !strings.Contains(e.Message, "does not exist") {
		t.Errorf("message %q does not name the missing folder", e.Message)
	}
	linked := filepath.Join(dir, "linked.db")
	if err := os.Symlink(filepath.Join(dir, "missing", "x.db"), linked); err != nil {
		t.Fatal(err)
	}
	_, err = Open(linked, Options{})
	if e := wantCode(t, err, ReadOnly); !strings.Contains(e.Message, "mend the link") {
		t.Errorf("message %q does not name the link", e.Message)
	}

	newer := filepath.Join(dir, "newer.db")
	db := mustOpen(t, newer)
	if _, err := db.w.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	_, err = Open(newer, Options{})
	if e := wantCode(t, err, Newer); !strings.Contains(e.Message, "update Tandem") {
		t.Errorf("message %q does not say what to do", e.Message)
	}
}

// TestMemorySurvivesCancel expects that a cancelled call does not drop the one connection that
// holds a database in memory.
func TestMemorySurvivesCancel(t *testing.T) {
	db := mustOpen(t, "")
	if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Setting(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read gives %v, want its cancellation", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var n int
	err := db.r.QueryRowContext(ctx,
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c").Scan(&n)
	if err == nil {
		t.Error("an endless query ended")
	}
	if v, err := db.Setting(t.Context(), "a"); v != "b" || err != nil {
		t.Errorf("after a cancel the setting is %q, %v; want it as set", v, err)
	}
}

func TestReadersAndWritersRunTogether(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "x.db"))
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				r, err := db.Runs.Begin(t.Context(), Run{Model: fmt.Sprint("m", w)})
				if err != nil {
					t.Error(err)
					return
				}
				// Every reader sees a committed row at once.
				if _, err := db.Runs.Get(t.Context(), r.ID); err != nil {
					t.Error(err)
				}
				r.FinishReason = "stop"
				if err := db.Runs.Finish(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range each {
				if _, _, err := db.Runs.List(t.Context(), RunQuery{}); err != nil {
					t.Error(err)
				}
				if _, err := db.Models.Register(t.Context(),
					Model{ID: "same", Path: fmt.Sprint("/", w), Source: SourceFolder}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	runs, _, err := db.Runs.List(t.Context(), RunQuery{Limit: MaxRunsLimit})
	if err != nil || len(runs) != writers*each {
		t.Errorf("%d runs, %v, want %d", len(runs), err, writers*each)
	}
	models, err := db.Models.List(t.Context())
	if err != nil || len(models) != writers {
		t.Errorf("%d models, %v, want %d", len(models), err, writers)
	}
}

// TestKilledWriterLosesNoCommit kills a process in the middle of its writes and opens its file
// again.
func TestKilledWriterLosesNoCommit(t *testing.T) {
	const variable = "STORAGE_TEST_KILLED"
	if path := os.Getenv(variable); path != "" {
		db, err := Open(path, Options{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for {
			r, err := db.Runs.Begin(context.Background(),
				Run{Model: "m", Client: strings.Repeat("x", 2000)})
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("begun", r.ID)
			if r.ID%2 == 0 {
				if err := db.Runs.Finish(context.Background(), r); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				fmt.Println("finished", r.ID)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "x.db")
	for round := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriterLosesNoCommit$")
		cmd.Env = append(os.Environ(), variable+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begun, finished := map[int64]bool{}, map[int64]bool{}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var verb string
			var id int64
			if n, _ := fmt.Sscan(lines.Text(), &verb, &id); n != 2 {
				cmd.Process.Kill()
				t.Fatalf("child says %q", lines.Text())
			}
			begun[id] = true
			if verb == "finished" {
				finished[id] = true
			}
			if len(begun) == 300+round {
				// SIGKILL flushes nothing. Ids that are still in the pipe were committed too.
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if len(begun) < 300 {
			t.Fatalf("the child ended by itself after %d runs", len(begun))
		}

		db := mustOpen(t, path)
		for id := range begun {
			r, err := db.Runs.Get(t.Context(), id)
			switch {
			case err != nil:
				t.Fatalf("run %d was committed and is lost: %v", id, err)
			case r.EndedAt.IsZero():
				t.Fatalf("run %d is in flight after its process ended", id)
			case finished[id] && r.FinishReason == FinishInterrupted:
				t.Fatalf("run %d had ended and is marked interrupted", id)
			case id%2 == 1 && r.FinishReason != FinishInterrupted:
				t.Fatalf("run %d never ended and its finish reason is %q", id, r.FinishReason)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDiskIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := mustOpen(t, path)
	var pages int
	if err := db.w.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := db.w.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+8)); err != nil {
		t.Fatal(err)
	}
	var stored []int64
	var err error
	for range 1000 {
		var r Run
		if r, err = db.Runs.Begin(t.Context(), Run{Client: strings.Repeat("x", 1000)}); err != nil {
			break
		}
		stored = append(stored, r.ID)
	}
	if e := wantCode(t, err, Full); !strings.Contains(e.Message, path) ||
		!strings.Contains(e.Message, "free some space") {
		t.Errorf("message %q names neither the file nor what to do", e.Message)
	}
	if len(stored) == 0 {
		t.Fatal("nothing was stored before the disk was full")
	}
	// On a full disk reads work, and so does the end of a run, which needs no page. Writes work
	// once there is room.
	if err := db.Runs.Finish(t.Context(), Run{ID: stored[0]}); err != nil {
		t.Error(err)
	}
	if _, err := db.w.Exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Runs.Begin(t.Context(), Run{}); err != nil {
		t.Error(err)
	}
	db.Close()
	db = mustOpen(t, path)
	for _, id := range stored {
		if _, err := db.Runs.Get(t.Context(), id); err != nil {
			t.Errorf("run %d is lost: %v", id, err)
		}
	}
}

// TestDrafterGoesWithItsModel expects that the choice of a drafter goes with its model.
func TestDrafterGoesWithItsModel(t *testing.T) {
	db := mustOpen(t, "")
	ctx := t.Context()
	_, err := db.Models.Drafter(ctx, "m")
	wantCode(t, err, NotFound)
	if err := db.Models.SetDrafter(ctx, "m", "auto"); err == nil {
		t.Error("a drafter was chosen for a model that is not registered")
	}
	if _, err := db.Models.Register(ctx, Model{ID: "m", Path: "/m",
		Source: SourceFolder}); err != nil {
		t.Fatal(err)
	}
	for _, choice := range []string{"/d", "none"} {
		if err := db.Models.SetDrafter(ctx, "m", choice); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Models.Drafter(ctx, "m"); got != choice || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, choice)
		}
	}
	_, err = db.Models.Reading(ctx, "m", "/d")
	wantCode(t, err, NotFound)
	for _, settings := range []string{`{}`, `{"embedding":"raw"}`} {
		want := Reading{Model: "m", Drafter: "/d", Settings: []byte(settings),
			Trials: []byte(`[1]`)}
		if err := db.Models.SetReading(ctx, want); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Models.Reading(ctx, "m", "/d"); err != nil || string(got.Settings) != settings ||
			string(got.Trials) != `[1]` {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if err := db.Models.Remove(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Models.Drafter(ctx, "m")
	wantCode(t, err, NotFound)
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		path := filepath.Join(t.TempDir(), "tandem.db")
		if err := syscall.Mkfifo(path+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
		for how, open := range map[string]func() (*DB, error){
			"Open":         func() (*DB, error) { return Open(path, Options{}) },
			"OpenReadOnly": func() (*DB, error) { return OpenReadOnly(path) },
		} {
			_, err := open()
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != ReadOnly || !strings.Contains(e.Message, "a named pipe") {
				t.Errorf("%s with a pipe as %q gives %v", how, "tandem.db"+suffix, err)
			}
		}
	}
}

func TestLongPathIsToldAsSuch(t *testing.T) {
	root := t.TempDir()
	deep := func(n int) string { // a folder whose database has a path of n bytes
		dir := root
		for rest := n - len("/x.db") - len(dir); rest > 0; rest = n - len("/x.db") - len(dir) {
			dir += "/" + strings.Repeat("d", min(rest-1, 100))
			if rest == 102 { // no name of no letter is left
				dir = dir[:len(dir)-1]
			}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := filepath.Join(t.TempDir(), "short")
	if err := os.Symlink(deep(600), link); err != nil {
		t.Fatal(err)
	}
	for dir, fits := range map[string]bool{deep(maxPath): true, deep(maxPath + 1): false,
		deep(513): false, deep(1000): false, link: false} {
		db, err := Open(filepath.Join(dir, "x.db"), Options{})
		if fits {
			if err != nil {
				t.Fatal(err)
			}
			db.Close()
			continue
		}
		if e := wantCode(t, err, ReadOnly); !strings.Contains(e.Message, "shorter path") {
			t.Errorf("a path of %d bytes gives %q", len(dir)+5, e.Message)
		}
	}
}

// Work that goes on while the database is closed gets an error.
func TestCallsAfterCloseFail(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "x.db"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Responses.Sweep(t.Context()); err == nil {
		t.Error("a closed database was written")
	}
	if _, err := db.Setting(t.Context(), "a"); err == nil {
		t.Error("a closed database was read")
	}
}
