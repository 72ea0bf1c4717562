package app

import (
	"database/sql"
	"errors"
	"net/http"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/enginetest"
)

// holdDatabase holds the database as another program would, until release is called.
func (r *running) holdDatabase(t *testing.T) (release func()) {
	t.Helper()
	other, err := sql.Open("sqlite", "file:"+r.home.Path(home.DatabaseFile)+
		"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := other.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

// While another program holds the database, one answer waits for it and no other. A change of a
// setting is refused with the reason, and the history goes on when the database is free.
func TestAnswersGoOnWhileTheDatabaseIsHeld(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	if status, body := r.complete(t, "tandem", "before"); status != http.StatusOK {
		t.Fatal(status, body)
	}
	release := r.holdDatabase(t)
	if status, body := r.complete(t, "tandem", "first"); status != http.StatusOK {
		t.Error(status, body)
	}
	began := time.Now()
	for range 3 {
		if status, body := r.complete(t, "tandem", "while it is held"); status != http.StatusOK {
			t.Error(status, body)
		}
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("three answers took %v", d)
	}
	_, err := r.change(t, `{"menu_speed": true}`)
	e, ok := errors.AsType[*control.Error](err)
	if !ok || e.Code != control.CodeDatabaseBusy {
		t.Errorf("a change of a setting gives %v", err)
	}
	if r.settings.Current().MenuSpeed {
		t.Error("the refused change is in force")
	}
	release()
	enginetest.Await(t, "a setting can be changed", func() bool {
		_, err := r.change(t, `{"menu_speed": true}`)
		return err == nil
	})
	if status, body := r.complete(t, "tandem", "after"); status != http.StatusOK {
		t.Error(status, body)
	}
	enginetest.Await(t, "the end of the second run is noted", func() bool {
		runs, err := control.Call(t.Context(), r.client(t), control.ListRuns,
			control.RunQuery{Limit: 9})
		return err == nil && len(runs.Runs) == 2 && !runs.Runs[0].EndedAt.IsZero()
	})
}

// A run that ended while the database was held is complete in the history later.
func TestRunThatEndedWhileTheDatabaseWasHeldIsCompletedLater(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	id, err := r.history.BeginRun(t.Context(), control.Run{Client: "a"})
	if err != nil {
		t.Fatal(err)
	}
	release := r.holdDatabase(t)
	if err := r.history.FinishRun(t.Context(), control.Run{ID: id, FinishReason: "stop"}); err == nil {
		t.Error("a held database was written")
	}
	release()
	enginetest.Await(t, "a run can begin", func() bool {
		_, err := r.history.BeginRun(t.Context(), control.Run{Client: "b"})
		return err == nil
	})
	run, err := r.history.Run(t.Context(), id)
	if err != nil || run.FinishReason != "stop" || run.EndedAt.IsZero() {
		t.Errorf("the run is %+v, %v", run, err)
	}
}
