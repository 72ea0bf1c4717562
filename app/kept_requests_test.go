package app

import (
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
)

// Tokens of a run are kept while keep_requests says so. "off" deletes them, and the replay of a
// run without tokens fails with not_kept.
func TestTokensOfARunAreKeptOnlyUnderTheSetting(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	c := r.client(t)
	complete := func() int64 {
		t.Helper()
		if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
		runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return runs.Runs[0].ID
	}
	kept := complete()
	if v, err := control.Call(t.Context(), c, control.VerifyRun,
		control.RunVerification{Run: kept}); err != nil || v.Same != v.Tokens {
		t.Errorf("the replay of a kept run: %+v %v", v, err)
	}
	if _, err := r.change(t, `{"keep_requests": "off"}`); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{kept, complete()} {
		if _, err := control.Call(t.Context(), c, control.VerifyRun,
			control.RunVerification{Run: id}); codeOf(err) != control.CodeNotKept {
			t.Errorf("the replay of run %d with keep_requests off: %v", id, err)
		}
	}
	if _, err := r.change(t, `{"keep_requests": "30d"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), c, control.VerifyRun,
		control.RunVerification{Run: complete()}); err != nil {
		t.Errorf("the replay after keep_requests is on again: %v", err)
	}
}

// The tokens at which a prompt parted from another are kept as long as the tokens of the run,
// and no longer.
func TestDivergenceIsKeptAsLongAsTokensAre(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	c := r.client(t)
	// parted completes prompts that begin alike. It returns the runs that say where they parted.
	parted := func(ends ...string) (ids []int64) {
		t.Helper()
		for _, end := range ends {
			if status, body := r.complete(t, control.Alias,
				strings.Repeat("abc", 20)+end); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
		}
		await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
		runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs.Runs {
			if r.Divergence != nil {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	if got := parted("xxxx", "yyyy"); len(got) == 0 {
		t.Fatal("no run says where it parted, so the test shows nothing")
	}
	if _, err := r.change(t, `{"keep_requests": "off"}`); err != nil {
		t.Fatal(err)
	}
	if got := parted(); got != nil {
		t.Errorf("after the change the runs %v still say where they parted", got)
	}
	if got := parted("zzzz", "wwww"); got != nil {
		t.Errorf("with keep_requests off the runs %v say where they parted", got)
	}
}
