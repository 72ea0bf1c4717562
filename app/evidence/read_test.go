package evidence

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBadInputIsRefused expects an error that names the place and the remedy.
func TestBadInputIsRefused(t *testing.T) {
	const start = `{"schema_version": 2, "kind": "tandem_recall", `
	deep := func(n int) string {
		return start + `"config": {"x": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}}"
	}
	row := func(field string) string {
		return start + `"throughput": {"k3_cross_model": {"stage_timings": [{}, {` + field + `}]}}}`
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \n ", "empty; a report is a JSON object"},
		{"a text", `"report"`, "a report is an object, not a text"},
		{"a list", `[{}]`, "a report is an object, not a list"},
		{"no JSON", "schema_version: 2", "line 1: not JSON: "},
		{"cut off", start + "\n\"gate\": {", "line 2: the text ends inside a value"},
		{"cut off in a name", start + `"ga`, "the text ends inside a value"},
		{"a comma too many", start + `"gate": {},}`, "not JSON: "},
		{"NaN", row(`"decode_s": NaN`), "write null for NaN and Infinity"},
		{"Infinity", row(`"decode_s": Infinity`), "write null for NaN and Infinity"},
		{"minus Infinity", row(`"decode_s": -Infinity`), "write null for NaN and Infinity"},
		{"huge", row(`"decode_s": 1e999`), "throughput.k3_cross_model.stage_timings[1].decode_s is " +
			"1e999; a number of seconds, at least 0 belongs there"},
		{"negative time", row(`"prefill_s": -0.5`), "prefill_s is -0.5; a number of seconds"},
		{"negative count", row(`"restored_rows": -1`), "restored_rows is -1; a whole number of at least"},
		{"half a count", row(`"restored_rows": 1.5`), "restored_rows is 1.5; a whole number"},
		{"a count past 2^53", row(`"restored_rows": 9007199254740994`), "a whole number"},
		{"true for a count", row(`"fused": {"blocks": true}`), "fused.blocks is true or false; a whole"},
		{"a text for a flag", row(`"restoration_active": "yes"`), "_active is a text; true or false"},
		{"a flag for a text", row(`"decode_loop": true`), "decode_loop is true or false; a text"},
		{"a number for a text", row(`"decode_loop": 7`), "decode_loop is a number; a text"},
		{"null in a list", start + `"results": {"oracle": {"per_sample_decode_tokens": [1, null]}}}`,
			"per_sample_decode_tokens[1] is null; a whole number"},
		{"a list for an object", start + `"gate": []}`, "gate is a list; an object belongs there"},
		{"an object for a list", start + `"turns": {}}`, "turns is an object; a list belongs there"},
		{"a share above 1", start + `"gate": {"recall_cross_model": 1.2}}`, "is 1.2; a number between 0"},
		{"a text for a share", start + `"gate": {"recall_cross_model": "1"}}`, "is a text; a number"},
		{"a version in words", `{"schema_version": "two", "kind": "tandem_recall", "gate": {}}`,
			"schema_version is a text"},
		{"a field twice", row(`"decode_s": 1, "decode_s": 2`),
			"throughput.k3_cross_model.stage_timings[1].decode_s is there twice"},
		{"an unknown field twice", start + `"a": 1, "a": 1}`, "a is there twice"},
		{"no kind", `{"schema_version": 2, "gate": {}}`, "kind is missing"},
		{"nothing to judge", start + `"numbers": {}}`, "none of the sections"},
		{"too deep", deep(MaxDepth), "nested more than 64 deep"},
		{"far too deep", strings.Repeat(`{"a":`, 1<<20), "nested more than 64 deep"},
		{"too many values", start + `"x": [` + strings.Repeat("0,", MaxValues) + "0]}", "values"},
		{"too large", start + `"x": "` + strings.Repeat("x", MaxBytes) + `"}`, "more than 16 MiB"},
		{"a bad second report", start + "\"gate\": {}}\n{}", "report 2: kind is missing"},
		{"a long name", start + `"` + strings.Repeat("n", 1000) + `": {"b": 1, "b": 2}}`,
			"… is there twice"},
	} {
		began := time.Now()
		reports, err := Read(strings.NewReader(c.text))
		switch {
		case err == nil:
			t.Errorf("%s: %d reports", c.name, len(reports))
		case !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400:
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", c.name, took)
		}
	}
	if _, err := Read(strings.NewReader(deep(MaxDepth - 2))); err == nil ||
		!strings.Contains(err.Error(), "none of the sections") {
		t.Errorf("at the depth that is allowed: %v", err)
	}
}

// TestReadTakesWhatOthersWrite has unknown fields, numbers in other forms, several reports.
func TestReadTakesWhatOthersWrite(t *testing.T) {
	const text = `
{"schema_version": 2.0, "kind": "k3_integrated_niah_acceptance_mac", "host": {"chip": "M4"},
 "gate": {"recall_cross_model": null, "evidence_violations": [{"code": "X", "message": "m"}]},
 "throughput": {"k3_cross_model": {"stage_timings": [
   {"sample": 0, "restoration_active": false, "decode_s": 1e-3,
    "fused": {"blocks": 0.0, "tokens": [1]}}]}},
 "results": {"k3_cross_model": {"system_under_test": "native_ar_baseline",
   "per_sample_throughput_tokens_per_sec": [null, 4], "Recall": "not ours"}}}
{"schema_version": 1, "kind": "k3_integrated_niah_acceptance_mac", "gate": "of another type"}
{"kind": "mac_gemma4_kakeya_fused_chat", "turns": [{"blocks": 3, "text": "Hello."}]}`
	reports, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Code{nil, {LegacySchema}, nil}
	for i, r := range reports {
		if found := Check(r); len(found) != len(want[i]) ||
			len(found) > 0 && found[0].Code != want[i][0] {
			t.Errorf("report %d breaks %v, want %q", i+1, found, want[i])
		}
	}
	if len(reports) != 3 || reports[0].Results.Cross.Recall != nil {
		t.Errorf("%d reports; a field in other letters was taken for recall", len(reports))
	}
}

// FuzzRead gives Read any bytes. What it takes, the gate judges, and it can be written and read
// with the same verdict.
func FuzzRead(f *testing.F) {
	for _, h := range honest(f) {
		text, err := json.Marshal(h.report)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"kind":"x","schema_version":2,"gate":{}}`, `{"kind":"x","turns":[]}`,
		`{"kind":"tandem_chat","turns":[{"blocks":9007199254740992,"text":"aaaaaaaaaaaaaaaa"}]}`,
		`{"kind":"x","schema_version":3,"memory":{"savings_vs_naive_pct":-1e308,"measured":{}}}`,
		`{"kind":"x","schema_version":3,"throughput":{"cross_model_speedup_vs_oracle_ar":1e308,` +
			`"oracle_native_ar":{"tokens_per_second":1e-308,"stage_timings":[{},{"decode_s":5e-324}]}}}`,
		"{}{}", "[[[[", `{"a":{"a":{"a":`, "\xff\xfe", `{"kind":"\u0000","gate":null}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		reports, err := Read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		for _, r := range reports {
			found := Check(r)
			head := HeadlineOf(r)
			if breaks(found, LegacySchema) && len(head.Lines()) > 0 {
				t.Fatalf("a report that is no evidence has the headline %q", head.Lines())
			}
			again := written(t, r)
			if r.isEvaluation() && r.isLegacy() {
				continue
			}
			if got := Check(again); !slices.Equal(codes(got), codes(found)) {
				t.Fatalf("written again it breaks %v, before %v", got, found)
			}
		}
	})
}
