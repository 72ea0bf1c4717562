package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRecordsMatchTheirTables expects that the JSON names of a record are the columns of its table,
// in the table's order.
func TestRecordsMatchTheirTables(t *testing.T) {
	db := mustOpen(t, "")
	for table, record := range map[string]any{"models": Model{}, "runs": Run{},
		"checkpoints": Checkpoint{}, "benches": Bench{}, "chats": Chat{},
		"chat_messages": Message{}, "model_settings": ModelSettings{}, "downloads": Download{}} {
		rows, err := db.r.Query("SELECT name FROM pragma_table_info(?)", table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var columns, names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			columns = append(columns, name)
		}
		for f := range reflect.TypeOf(record).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" { // it is not sent
				name = strings.ToLower(f.Name)
			}
			names = append(names, name)
		}
		if table == "runs" { // a column that no record has
			columns = slices.DeleteFunc(columns,
				func(name string) bool { return name == "forgotten" })
		}
		if !slices.Equal(columns, names) {
			t.Errorf("%s has columns\n%v, its record\n%v", table, columns, names)
		}
	}
}

// filled sets every field of a record to a different value, so that a test sees when two columns
// are mixed up.
func filled[T any]() T {
	var record T
	v := reflect.ValueOf(&record).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprint("text ", i))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Float64:
			f.SetFloat(float64(i) + 0.125)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.SetBytes(fmt.Appendf(nil, "[%d]", i))
		case reflect.Struct:
			f.Set(reflect.ValueOf(noon.Add(time.Duration(i) * 1001 * time.Millisecond)))
		default:
			panic(f.Kind())
		}
	}
	return record
}

func TestRunRoundTrip(t *testing.T) {
	db := mustOpen(t, "")
	want := filled[Run]()
	begun, err := db.Runs.Begin(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if begun.ID == want.ID || !begun.EndedAt.IsZero() || !begun.StartedAt.Equal(want.StartedAt) {
		t.Errorf("begun as %+v, want a new id and no end", begun)
	}
	if got, err := db.Runs.Get(t.Context(), begun.ID); err != nil || !reflect.DeepEqual(got, begun) {
		t.Errorf("in flight %+v, %v, want %+v", got, err, begun)
	}
	want.ID = begun.ID
	late := want
	late.StartedAt = noon.Add(time.Hour) // Finish does not change the start
	if err := db.Runs.Finish(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	got, err := db.Runs.Get(t.Context(), begun.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("finished as\n%+v, %v, want\n%+v", got, err, want)
	}
	want.Speculation = nil
	if list, _, err := db.Runs.List(t.Context(), RunQuery{}); err != nil || len(list) != 1 ||
		!reflect.DeepEqual(list[0], want) {
		t.Errorf("listed as\n%+v, %v, want\n%+v", list, err, want)
	}
	wantCode(t, db.Runs.Finish(t.Context(), want), Conflict)
	want.ID = 999
	wantCode(t, db.Runs.Finish(t.Context(), want), NotFound)
	_, err = db.Runs.Get(t.Context(), 999)
	wantCode(t, err, NotFound)

	// Times come from the clock if the caller gives none.
	r, err := db.Runs.Begin(t.Context(), Run{})
	if err != nil || r.StartedAt.IsZero() {
		t.Fatalf("begun as %+v, %v; want a start", r, err)
	}
	if err := db.Runs.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r, err = db.Runs.Get(t.Context(), r.ID); err != nil || !r.EndedAt.After(r.StartedAt) {
		t.Errorf("finished as %+v, %v; want an end after the start", r, err)
	}
	text, err := json.Marshal(begun)
	if err != nil || strings.Contains(string(text), "ended_at") {
		t.Errorf("a run in flight is printed as %s, %v; want no ended_at", text, err)
	}
}

func TestRunsOfAClientAreThoseOfAllItsVersions(t *testing.T) {
	db := mustOpen(t, "")
	for _, client := range []string{"zed/1.2", "zed/1.3 (macos/26)", "zed", "zedra/1", "z"} {
		if _, err := db.Runs.Begin(t.Context(), Run{Client: client}); err != nil {
			t.Fatal(err)
		}
	}
	for client, want := range map[string]int{"zed": 3, "zed/1.2": 1, "zed/1": 0, "": 5} {
		runs, _, err := db.Runs.List(t.Context(), RunQuery{Client: client})
		if err != nil || len(runs) != want {
			t.Errorf("%q has %d runs, %v; want %d", client, len(runs), err, want)
		}
	}
}

func TestRunsAreListedByFilterAndPage(t *testing.T) {
	db := mustOpen(t, "")
	for i := range 10 {
		r, err := db.Runs.Begin(t.Context(), Run{
			StartedAt: time.Date(2026, 11, 21, 18+i, 0, 0, 0, time.UTC),
			Model:     []string{"a", "b"}[i%2], Client: []string{"zed", "aider", "curl"}[i%3],
			Endpoint: "/v1/completions",
		})
		if err != nil {
			t.Fatal(err)
		}
		if i < 8 {
			r.FinishReason, r.Error = []string{"error", "length"}[i%2],
				[]string{"queue_full", ""}[i%2]
			r.Message = []string{"Try again in a second.", ""}[i%2]
			if r.TotalMS = float64(100 * (i + 1)); i == 6 {
				r.TotalMS = 5000
			}
			if err := db.Runs.Finish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		f    RunQuery
		want []int64
		next int64
	}{
		{"all", RunQuery{}, []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0},
		{"first page", RunQuery{Limit: 4}, []int64{10, 9, 8, 7}, 7},
		{"second page", RunQuery{Limit: 4, Before: 7}, []int64{6, 5, 4, 3}, 3},
		{"last page", RunQuery{Limit: 4, Before: 3}, []int64{2, 1}, 0},
		{"a full last page", RunQuery{Limit: 2, Before: 3}, []int64{2, 1}, 0},
		{"model", RunQuery{Model: "a"}, []int64{9, 7, 5, 3, 1}, 0},
		{"a model without runs", RunQuery{Model: "c"}, nil, 0},
		{"a limit beyond the largest", RunQuery{Limit: 1 << 40, Model: "b", Before: 5}, []int64{4, 2}, 0},
		{"model with quotes", RunQuery{Model: "a' OR '1'='1"}, nil, 0},
		{"client", RunQuery{Client: "curl"}, []int64{9, 6, 3}, 0},
		{"a part of a client", RunQuery{Client: "cur"}, nil, 0},
		{"endpoint", RunQuery{Endpoint: "/v1/completions", Before: 3}, []int64{2, 1}, 0},
		{"finish reason", RunQuery{Finish: "length"}, []int64{8, 6, 4, 2}, 0},
		{"in flight", RunQuery{Finish: FinishRunning}, []int64{10, 9}, 0},
		{"day", RunQuery{Day: "2026-11-22"}, []int64{10, 9, 8, 7}, 0},
		{"model and day", RunQuery{Day: "2026-11-21", Model: "b"}, []int64{6, 4, 2}, 0},
		{"search in a client", RunQuery{Search: "AIDE"}, []int64{8, 5, 2}, 0},
		{"search in an error", RunQuery{Search: "queue"}, []int64{7, 5, 3, 1}, 0},
		{"search in a message", RunQuery{Search: "a SECOND"}, []int64{7, 5, 3, 1}, 0},
		{"failed", RunQuery{Failed: true}, []int64{7, 5, 3, 1}, 0},
		{"slow for their client", RunQuery{Slow: true}, []int64{7}, 0},
		{"slow, of another client", RunQuery{Slow: true, Client: "curl"}, nil, 0},
		{"failed since a moment", RunQuery{Failed: true,
			Since: time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)}, []int64{7, 5, 3}, 0},
		{"since a moment of another zone", RunQuery{
			Since: time.Date(2026, 11, 22, 3, 0, 0, 0, time.FixedZone("", 2*60*60))},
			[]int64{10, 9, 8}, 0},
		{"search in the time", RunQuery{Search: "22t01"}, []int64{8}, 0},
		{"search that finds a client by its name", RunQuery{Search: "Code", FoundClients: []string{"aider"}}, []int64{8, 5, 2}, 0},
		{"search that finds a run by its title", RunQuery{Search: "queue", FoundRuns: []int64{4, 99}}, []int64{7, 5, 4, 3, 1}, 0},
		{"search that finds a run of another model", RunQuery{Model: "a", Search: "Code", FoundRuns: []int64{4, 9}}, []int64{9}, 0},
		{"page of what a search finds", RunQuery{Search: "Code", FoundClients: []string{"aider"}, Limit: 2}, []int64{8, 5}, 5},
		{"found without a search", RunQuery{Model: "c", FoundRuns: []int64{4}}, nil, 0},
		{"search across columns", RunQuery{Search: "zed/v1"}, nil, 0},
		{"search for a pattern mark", RunQuery{Search: "%"}, nil, 0},
		{"the longest first", RunQuery{Sort: "time", Limit: 3}, []int64{7, 8, 6}, 3},
		{"the next page of the longest", RunQuery{Sort: "time", Limit: 3, Before: 3}, []int64{5, 4, 3}, 6},
		{"the shortest first", RunQuery{Sort: "time", Up: true, Finish: "length"}, []int64{2, 4, 6, 8}, 0},
		{"by client, then the newest", RunQuery{Sort: "client", Up: true, Limit: 4}, []int64{8, 5, 2, 9}, 4},
		{"the oldest first", RunQuery{Sort: "when", Up: true, Limit: 2}, []int64{1, 2}, 2},
		{"page of a search", RunQuery{Search: "zed", Limit: 2}, []int64{10, 7}, 7},
	}
	for _, test := range tests {
		runs, next, err := db.Runs.List(t.Context(), test.f)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var ids []int64
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		if !slices.Equal(ids, test.want) || next != test.next {
			t.Errorf("%s: runs %v, next %d, want %v, %d",
				test.name, ids, next, test.want, test.next)
		}
	}
	values, err := db.Runs.Values(t.Context())
	want := RunValues{
		Models: []string{"b", "a"}, Clients: []string{"zed", "curl", "aider"},
		Endpoints: []string{"/v1/completions"},
		Finishes:  []string{"length", "error"}, Days: []string{"2026-11-22", "2026-11-21"},
	}
	if err != nil || !reflect.DeepEqual(values, want) {
		t.Errorf("values %+v, %v, want %+v", values, err, want)
	}
	seen, err := db.Runs.Clients(t.Context())
	var names []string
	for _, c := range seen {
		names = append(names, c.Client)
	}
	if err != nil || !slices.Equal(names, want.Clients) || seen[0].At.IsZero() {
		t.Errorf("seen %+v, %v, want %v", seen, err, want.Clients)
	}
	for _, f := range []RunQuery{{Limit: -1}, {Before: -1}} {
		_, _, err := db.Runs.List(t.Context(), f)
		wantCode(t, err, Invalid)
	}
}

// TestRunsSinceHaveNoLimit expects all runs since a moment, however many there are, the newest first.
func TestRunsSinceHaveNoLimit(t *testing.T) {
	db := mustOpen(t, "")
	start := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	for i := range MaxRunsLimit + 5 {
		if _, err := db.Runs.Begin(t.Context(),
			Run{StartedAt: start.Add(time.Duration(i) * time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[time.Time]int{
		start: MaxRunsLimit + 5, start.Add(time.Second): MaxRunsLimit + 4, start.Add(time.Hour): 0,
	} {
		var ids []int64
		if err := db.Runs.Since(t.Context(), since,
			func(r Run) { ids = append(ids, r.ID) }); err != nil {
			t.Fatal(err)
		}
		if len(ids) != want || !slices.IsSortedFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) }) {
			t.Errorf("%d runs since %s, want %d: %v", len(ids), since, want, ids)
		}
	}
}

// TestLatestVerdictIsKept expects the latest verdict both in the list and in the run itself.
func TestLatestVerdictIsKept(t *testing.T) {
	db := mustOpen(t, "")
	r, err := db.Runs.Begin(t.Context(), Run{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Runs.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, verdict := range []string{`{"same":1}`, `{"same":2}`} {
		if err := db.Runs.SetVerdict(t.Context(), r.ID, json.RawMessage(verdict)); err != nil {
			t.Fatal(err)
		}
		one, err := db.Runs.Get(t.Context(), r.ID)
		list, _, errList := db.Runs.List(t.Context(), RunQuery{})
		if err != nil || errList != nil || string(one.Verdict) != verdict ||
			string(list[0].Verdict) != verdict {
			t.Errorf("verdict %s, %v; listed %+v, %v; want %s",
				one.Verdict, err, list, errList, verdict)
		}
	}
	wantCode(t, db.Runs.SetVerdict(t.Context(), 99, json.RawMessage("{}")), NotFound)
}

func TestModelRoundTrip(t *testing.T) {
	db := mustOpen(t, "")
	want := filled[Model]()
	got, err := db.Models.Register(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	want.AddedAt, want.LastUsedAt, want.LoadMS = got.AddedAt, time.Time{}, 0 // storage sets these
	if got != want || got.AddedAt.IsZero() {
		t.Errorf("registered as\n%+v, want\n%+v", got, want)
	}
	if err := db.Models.MarkUsed(t.Context(), want.ID); err != nil {
		t.Fatal(err)
	}
	if err := db.Models.SetLoadTime(t.Context(), want.ID, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	want.LoadMS = 1500
	got, err = db.Models.Register(t.Context(), want) // a second registration keeps the load time
	if err != nil || got.LoadMS != want.LoadMS {
		t.Errorf("registered again as %+v, %v; want a load of %v ms", got, err, want.LoadMS)
	}
	got, err = db.Models.Get(t.Context(), want.ID)
	if want.LastUsedAt = got.LastUsedAt; err != nil || got != want ||
		!got.LastUsedAt.After(got.AddedAt) {
		t.Errorf("read as\n%+v, %v, want\n%+v", got, err, want)
	}
	if err := db.Models.Remove(t.Context(), want.ID); err != nil {
		t.Fatal(err)
	}
	_, err = db.Models.Get(t.Context(), want.ID)
	wantCode(t, err, NotFound)
	wantCode(t, db.Models.Remove(t.Context(), want.ID), NotFound)
	wantCode(t, db.Models.MarkUsed(t.Context(), want.ID), NotFound)
}

func TestRegisterRenewsTheSameModel(t *testing.T) {
	db := mustOpen(t, "")
	steps := []struct {
		name string
		m    Model
		want string // id
		n    int    // rows after it
	}{
		{"a folder", Model{ID: "llama", Path: "/a/llama", Source: SourceFolder}, "llama", 1},
		{"the same folder again", Model{ID: "llama", Path: "/a/llama", Source: SourceFolder, Bytes: 5}, "llama", 1},
		{"another folder of that name", Model{ID: "llama", Path: "/b/llama", Source: SourceFolder}, "llama-2", 2},
		{"a third", Model{ID: "llama", Path: "/c/llama", Source: SourceFolder}, "llama-3", 3},
		{"the second again keeps its id", Model{ID: "llama", Path: "/b/llama", Source: SourceFolder}, "llama-2", 3},
		{"from the hub, by us", Model{ID: "org/name", Path: "/hub/1", Source: SourceHub, Revision: "1", DownloadedByUs: true}, "org/name", 4},
		{"its next revision", Model{ID: "org/name", Path: "/hub/2", Source: SourceHub, Revision: "2"}, "org/name", 4},
		{"a copy in a folder", Model{ID: "org/name", Path: "/lm/name", Source: SourceFolder}, "org/name-2", 5},
		{"the embedded model", Model{ID: "pocket", Source: SourcePocket}, "pocket", 6},
		{"the embedded model again", Model{ID: "pocket", Source: SourcePocket}, "pocket", 6},
		{"a folder called pocket", Model{ID: "pocket", Path: "/pocket", Source: SourceFolder}, "pocket-2", 7},
		{"a folder called starter", Model{ID: "starter", Path: "/starter", Source: SourceFolder}, "starter", 8},
		{"the starter", Model{ID: "starter", Path: "/app/1", Source: SourceStarter}, "starter-2", 9},
		{"the starter of a program elsewhere", Model{ID: "starter", Path: "/app/2", Source: SourceStarter}, "starter-2", 9},
		{"the starter's file, added by hand", Model{ID: "2", Path: "/app/2", Source: SourceFolder}, "starter-2", 9},
	}
	for _, step := range steps {
		got, err := db.Models.Register(t.Context(), step.m)
		if err != nil || got.ID != step.want {
			t.Fatalf("%s: id %q, %v, want %q", step.name, got.ID, err, step.want)
		}
		all, err := db.Models.List(t.Context())
		if err != nil || len(all) != step.n {
			t.Fatalf("%s: %d rows, %v, want %d", step.name, len(all), err, step.n)
		}
	}
	m, err := db.Models.Get(t.Context(), "org/name")
	if err != nil || m.Path != "/hub/2" || m.Revision != "2" || m.DownloadedByUs {
		t.Errorf("the next revision, fetched by others, is %+v, %v; want /hub/2, not ours", m, err)
	}
	// The same files keep their source, their revision and who fetched them.
	ours := Model{ID: "org/name", Path: "/hub/3", Source: SourceHub, Revision: "3",
		DownloadedByUs: true}
	again := ours
	again.DownloadedByUs = false
	for i, m := range []Model{ours, again, {ID: "3", Path: "/hub/3", Source: SourceFolder}} {
		got, err := db.Models.Register(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != "org/name" {
			t.Errorf(`model %d: got.ID = %q, want "org/name"`, i, got.ID)
		}
		if got.Source != SourceHub {
			t.Errorf("model %d: got.Source = %v, want %v", i, got.Source, SourceHub)
		}
		if got.Revision != "3" {
			t.Errorf(`model %d: got.Revision = %q, want "3"`, i, got.Revision)
		}
		if !got.DownloadedByUs {
			t.Errorf("model %d: got.DownloadedByUs = false, want true", i)
		}
	}
	if err := db.Models.MarkUsed(t.Context(), "llama-3"); err != nil {
		t.Fatal(err)
	}
	all, err := db.Models.List(t.Context())
	if err != nil || all[0].ID != "llama-3" || all[1].ID != "starter-2" {
		t.Errorf("models %v, %v; want llama-3 and starter-2 first", all, err)
	}
	for _, m := range []Model{{Path: "/x", Source: SourceFolder}, {ID: "x", Path: "/x"}} {
		_, err := db.Models.Register(t.Context(), m)
		wantCode(t, err, Invalid)
	}
}

func TestSettingsAreSetAndRemoved(t *testing.T) {
	db := mustOpen(t, "")
	if got, err := db.Setting(t.Context(), "model"); got != "" || err != nil {
		t.Errorf("setting %q, %v before it was set", got, err)
	}
	for _, value := range []string{"pocket", "org/name", "", "a\x00b \xff"} {
		if err := db.SetSetting(t.Context(), "model", value); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Setting(t.Context(), "model"); got != value || err != nil {
			t.Errorf("setting %q, %v, want %q", got, err, value)
		}
	}
	if err := db.SetSetting(t.Context(), "addr", "127.0.0.1:8263"); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Setting(t.Context(), "model"); got != "a\x00b \xff" || err != nil {
		t.Errorf("setting %q, %v after another was set; want the old value", got, err)
	}

	if err := db.ChangeSettings(t.Context(), map[string]*string{"model": nil, "addr": new("x"),
		"none": nil}); err != nil {
		t.Fatal(err)
	}
	if all, err := db.Settings(t.Context()); err != nil || len(all) != 1 || all["addr"] != "x" {
		t.Errorf("settings %v, %v after a change; want addr alone", all, err)
	}
}

// TestOnlyNewestRunsKeepRounds expects that only the newest KeepRounds runs keep their decode
// rounds.
func TestOnlyNewestRunsKeepRounds(t *testing.T) {
	db := mustOpen(t, "")
	for i := range KeepRounds + 2 {
		r, err := db.Runs.Begin(t.Context(), Run{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		r.Speculation, r.Rounds = []byte(`{}`), i+1
		if err := db.Runs.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for id, kept := range map[int64]bool{1: false, 2: false, 3: true, KeepRounds + 2: true} {
		if r, err := db.Runs.Get(t.Context(), id); err != nil || (r.Speculation != nil) != kept ||
			r.Rounds != int(id) {
			t.Errorf("run %d is %+v, %v; want rounds kept: %t", id, r, err, kept)
		}
	}
}

func TestPolicyReplacesAnOlderOne(t *testing.T) {
	db := mustOpen(t, "")
	if _, err := db.Models.Policy(t.Context(), "m", "ngram", 1024); err == nil {
		t.Error("a policy is found before any is stored")
	} else {
		wantCode(t, err, NotFound)
	}
	for _, p := range []Policy{
		{"m", "ngram", 1024, []byte(`{"a":1}`)},
		{"m", "ngram", 2048, []byte(`{"b":1}`)},
		{"m", "dflash", 1024, []byte(`{"c":1}`)},
		{"m", "ngram", 1024, []byte(`{"a":2}`)}, // in place of the first
	} {
		if err := db.Models.SetPolicy(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		got, err := db.Models.Policy(t.Context(), p.Model, p.Drafter, p.Bucket)
		if err != nil || string(got.State) != string(p.State) {
			t.Errorf("policy %s is read as %s, %v", p.State, got.State, err)
		}
	}
	if got, _ := db.Models.Policy(t.Context(), "m", "ngram", 2048); string(got.State) != `{"b":1}` {
		t.Errorf("bucket 2048 holds %s, want its own policy", got.State)
	}
}
