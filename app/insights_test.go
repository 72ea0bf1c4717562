package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/engine/checkpoint"
	"tandem/engine/enginetest"
)

// A report has the words on both sides of the place where a prompt parts from an earlier one. Without
// the files of the texts it has the place alone.
func TestReportHasTheWordsAroundADivergence(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	code := strings.Repeat("func Contains(list []string, s string) bool {\n", 8)
	kept := r.ran(t, code+"// at 13:31 o'clock\n")
	given := r.ran(t, code+"// at 14:52 o'clock\n")
	parting := func() control.DivergenceText {
		t.Helper()
		resp, err := r.client(t).Do(t.Context(), http.MethodGet, fmt.Sprintf("/app/runs/%d/report", given), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var report control.Report
		if err := json.NewDecoder(resp.Body).Decode(&report); err != nil || report.Divergence == nil {
			t.Fatalf("%+v, %v", report, err)
		}
		return *report.Divergence
	}
	got := parting()
	want := control.DivergenceText{Divergence: control.Divergence{At: got.At, Kept: "3", Given: "4", Run: kept},
		Before: " string) bool {\nfunc Contains(list []string, s string) bool {\n// at 1", KeptText: "3:31 o'clock", GivenText: "4:52 o'clock"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, run := range []int64{kept, given} {
		if text, err := r.db.Runs.Text(t.Context(), run); err != nil || text.Tokens <= got.At {
			t.Fatalf("the files have %d tokens of run %d, %v, so their deletion shows nothing", text.Tokens, run, err)
		}
	}
	ids, _, err := checkpoint.List(r.home.Path(pool.CheckpointFolder))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Delete(r.home.Path(pool.CheckpointFolder), ids); err != nil {
		t.Fatal(err)
	}
	want.Before, want.KeptText, want.GivenText = "", "", ""
	if got := parting(); got != want {
		t.Errorf("without files: %+v, want %+v", got, want)
	}
}

// ran completes a prompt, and returns the run once its text is in files.
func (r *running) ran(t *testing.T, prompt string) int64 {
	t.Helper()
	a := r.Send("/v1/completions", `{"model":"pocket","prompt":`+string(quote(prompt))+`,"max_tokens":70,"temperature":0}`)
	if a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := control.Call(t.Context(), r.client(t), control.ListRuns, control.RunQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Await(t, "the run has a checkpoint", func() bool {
		_, err := r.db.Checkpoints.OfRun(t.Context(), runs.Runs[0].ID)
		return err == nil
	})
	return runs.Runs[0].ID
}

// Today's figures tell the speed of an answer, and the tokens of a prompt that did not fit.
func TestInsightsTellOfRealRequests(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	r.ran(t, "func Contains(list []string, s string) bool {\n")
	prompt := strings.Repeat("func Contains(list []string, s string) bool {\n", 4000)
	a := r.Send("/v1/completions", `{"model":"pocket","prompt":`+string(quote(prompt))+`}`)
	if a.status != http.StatusBadRequest {
		t.Fatalf("%+v", a)
	}
	got, err := control.Ask(t.Context(), r.client(t), control.GetInsights)
	if err != nil || got.Today.PerSecond == 0 || got.Today.Requests != 2 || got.Today.Failed != 1 {
		t.Errorf("%+v, %v", got.Today, err)
	}
	if !slices.ContainsFunc(got.Slow, func(x control.Insight) bool {
		return x.Kind == control.SlowTooLong && x.Tokens > 32768 && strings.Contains(a.body, strconv.Itoa(x.Tokens))
	}) {
		t.Errorf("%+v, but the client was told %s", got.Slow, a.body)
	}
}
