package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestHistoryIsNarrowed: every field of the query reaches the backend. A value that no run could
// match is refused.
func TestHistoryIsNarrowed(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	all := control.RunQuery{
		Limit: 7, Before: 9, Model: "acme/coder", Client: "zed/1.0 (linux)",
		Endpoint: "/v1/completions", Finish: control.FinishRunning,
		Day: "2026-11-22", Search: `50%_"quoted"`,
		Since: time.Date(2026, 11, 22, 9, 30, 0, 5e6, time.UTC), Failed: true,
		Slow: true, Sort: "time", Up: true,
	}
	query := url.Values{"limit": {"7"}, "before": {"9"}, "since": {"2026-11-22T09:30:00.005Z"},
		"failed": {"true"}, "slow": {"true"}, "sort": {"time"}, "up": {"true"}}
	for name, text := range control.RunTexts(&all) {
		query.Set(name, *text)
	}
	if w := roomtest.Get(s.Socket(), "/app/runs?"+query.Encode()); w.Code != http.StatusOK || !reflect.DeepEqual(fake.Query, all) ||
		w.Body.String() != `{"runs":[]}` {
		t.Errorf("%d %s, narrowed by %+v", w.Code, w.Body, fake.Query)
	}
	for name := range control.RunTexts(&all) {
		if name == "day" {
			continue
		}
		w := roomtest.Get(s.Socket(), "/app/runs?"+url.Values{name: {strings.Repeat("x",
			control.MaxRunText)}}.Encode())
		if w.Code != http.StatusOK {
			t.Errorf("%s of %d bytes: %d %s", name, control.MaxRunText, w.Code, w.Body)
		}
		w = roomtest.Get(s.Socket(), "/app/runs?"+url.Values{name: {strings.Repeat("x",
			control.MaxRunText+1)}}.Encode())
		if e := roomtest.DecodeError(t, w); w.Code != http.StatusBadRequest || e.Param == nil ||
			*e.Param != name {
			t.Errorf("%s of a byte more: %d %s", name, w.Code, w.Body)
		}
	}
	for _, bad := range []string{"day=yesterday", "day=2026-13-01", "limit=1001", "limit=x",
		"before=-1", "since=1h", "sort=colour"} {
		if w := roomtest.Get(s.Socket(), "/app/runs?"+bad); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
	if w := roomtest.Get(s.Socket(), "/app/runs/values"); w.Body.String() != `{"models":[],"clients":[],"endpoints":[],"finishes":[],"days":[]}` {
		t.Errorf("values of no runs: %s", w.Body)
	}
}

// TestReportOfRunHasPhasesAndVerdict: the report of a run that ended has facts and phases. A
// verdict is kept and reported.
func TestReportOfRunHasPhasesAndVerdict(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	if w := roomtest.Get(s.Socket(), "/app/runs/1/report"); w.Code != http.StatusNotFound {
		t.Errorf("no such run: %d %s", w.Code, w.Body)
	}
	if w := roomtest.Post(s.Endpoint(), "/v1/completions",
		`{"model":"tandem","prompt":"x"}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	run := fake.LastRun()
	read := func() (r control.Report, facts map[string]string) {
		t.Helper()
		w := roomtest.Get(s.Socket(), "/app/runs/1/report")
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		facts = map[string]string{}
		for _, f := range r.Facts {
			facts[f.Name] = f.Text
		}
		return r, facts
	}
	r, facts := read()
	if len(r.Phases) != 5 || r.Run.ID != run.ID {
		t.Errorf("of run %d phases %+v", r.Run.ID, r.Phases)
	}
	if facts["finish"] != "stop" || facts["tokens"] == "" || facts["verified"] != "" {
		t.Errorf("facts %v", facts)
	}
	if w := roomtest.Post(s.Socket(), "/app/runs/1/verify", `{}`); w.Code != http.StatusOK {
		t.Fatalf("verify: %d %s", w.Code, w.Body)
	}
	r, facts = read()
	v, err := control.VerdictOf(r.Run)
	if err != nil {
		t.Fatal(err)
	}
	if v == nil {
		t.Fatal("v is nil")
	}
	if v.Run != 1 {
		t.Errorf("v.Run = %v, want 1", v.Run)
	}
	if v.At.IsZero() {
		t.Error("v.At is zero")
	}
	if facts["verified"] != v.String() {
		t.Errorf(`facts["verified"] = %v, want %v`, facts["verified"], v.String())
	}
	if v.Word() != "same" {
		t.Errorf(`v.Word() = %q, want "same"`, v.Word())
	}
}

// TestCheckpointTextIsEndOrWhole: the route returns the end of a text, and the whole text on
// request.
func TestCheckpointTextIsEndOrWhole(t *testing.T) {
	s := New(services(roomtest.Lettered(control.KindAnswer)), Options{})
	for path, want := range map[string]string{"/app/checkpoints/abc": `"text":"xyz"`,
		"/app/checkpoints/abc?whole=true": `"text":"abcdef`} {
		if w := roomtest.Get(s.Socket(), path); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// A person reads how a run speculated, as its row has it.
func TestRunIsShownWithItsSpeculation(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	roomtest.Post(s.Endpoint(), "/v1/chat/completions",
		roomtest.ChatBody(`"prediction":{"type":"content","content":"héllo wörms"}`))
	kept := fake.LastRun().Speculation
	if w := roomtest.Get(s.Socket(), "/app/runs/1"); len(kept) == 0 ||
		!strings.Contains(w.Body.String(), `"speculation":`+string(kept)) {
		t.Errorf("the run is %s, its row has %s", w.Body, kept)
	}
}
