package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deleted stands for the value of a field that is taken away.
var deleted = new(int)

// set changes one field of a JSON value. A path is as Violation.Where has it.
func set(t *testing.T, tree any, path string, value any) {
	t.Helper()
	steps := strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(".[]", c) })
	for i, step := range steps {
		last := i == len(steps)-1
		switch at := tree.(type) {
		case map[string]any:
			if _, ok := at[step]; !ok && (!last || value == any(deleted)) {
				t.Fatalf("the honest report has no %s, at %s", step, path)
			}
			switch {
			case last && value == any(deleted):
				delete(at, step)
			case last:
				at[step] = value
			}
			tree = at[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(at) {
				t.Fatalf("the honest report has no %s, at %s", step, path)
			}
			if last {
				at[n] = value
			}
			tree = at[n]
		default:
			t.Fatalf("the honest report has no %s, at %s", step, path)
		}
	}
}

// asTree returns what a report is written as, to be changed.
func asTree(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// codes returns the codes of violations.
func codes(found []Violation) []Code {
	var list []Code
	for _, v := range found {
		list = append(list, v.Code)
	}
	return list
}

// A plant is one edit of an honest report.
type plant struct {
	code  Code // that the edit breaks
	base  any
	path  string
	value any
	also  []Code // what follows from the same edit
}

// check plants the edit and expects its code, what follows from it, and nothing else.
func (p plant) check(t *testing.T) (caught bool) {
	t.Helper()
	tree := asTree(t, p.base)
	if found := Check(written(t, tree)); len(found) > 0 {
		t.Errorf("%s: the base is refused: %v", p.code, found)
	}
	set(t, tree, p.path, p.value)
	found := Check(written(t, tree))
	want := append([]Code{p.code}, p.also...)
	got := codes(found)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v breaks %q, want %q\n%v", p.path, p.value, got, want, found)
	}
	for _, v := range found {
		if v.Where == "" || !strings.Contains(v.Text, ";") && !strings.Contains(v.Text, ", so ") ||
			len(strings.Fields(v.Text)) > 30 {
			t.Errorf("%s says no place, no remedy, or too much: %v", v.Code, v)
		}
	}
	return breaks(found, p.code)
}

// allPlants has a plant for each rule of evaluations: in Tandem's reports, and in those of Kakeya,
// which have flags in place of counts.
func allPlants() (own, foreign []plant) {
	const (
		cross  = "throughput.k3_cross_model."
		oracle = "throughput.oracle_native_ar."
		row    = cross + "stage_timings[2]."
	)
	fused := fusedRun().Report()
	silent := fusedRun() // claims nothing: its answers are not judged
	silent.Memory, silent.Oracle = nil, nil
	for i := range silent.Cross.Samples {
		silent.Cross.Samples[i].Correct, silent.Cross.Samples[i].Blocks = nil, 0
	}
	quiet := silent.Report()
	bypass := Run{Kind: KindRecall, Bypass: true,
		Cross: arms(5, plain(), nil), Oracle: arms(5, plain(), nil)}.Report()
	own = []plant{
		{LegacySchema, fused, "schema_version", 1, nil},
		{MissingStageTimings, quiet, cross + "stage_timings", []any{}, nil},
		{MissingRestorationFlag, quiet, row + "restored_rows", deleted, nil},
		{MixedRestorationPaths, quiet, row, map[string]any{"restored_rows": 0,
			"prefill_s": 2, "decode_s": 0.8}, nil},
		{BaselineAsSUT, bypass, "results.k3_cross_model.system_under_test", Restored, nil},
		{BaselineRecallClaim, bypass, "gate.recall_cross_model", 1.0, []Code{RecallScope}},
		{RecallScope, fused, "gate.recall_cross_model", 0.97, []Code{RecallScope}},
		{FusedNeverRan, quiet, cross + "eval_mode", ModeFused, nil},
		{SpeedupSelfComparison, bypass, "throughput.cross_model_speedup_vs_oracle_ar", 1.0,
			[]Code{SpeedupDecodeOnly}},
		{SpeedupSamples, fused, oracle + "stage_timings[4].sample", 3,
			[]Code{RecallScope, RecallScope, SpeedupScopeMismatch}},
		{SpeedupDecodeTokens, fused, "results.oracle.per_sample_decode_tokens",
			[]any{31, 31, 31, 40, 40}, []Code{SpeedupDecodeOnly, SpeedupScopeMismatch}},
		{SpeedupDecodeOnly, fused, "throughput.decode_only", deleted, nil},
		{SpeedupScopeMismatch, fused, oracle + "timing_scope", "decode_only", nil},
		{SpeedupOracleLoop, fused, oracle + "decode_loop", "per_token_eval", nil},
		{SpeedupPrefillVariance, fused, oracle + "stage_timings[0].prefill_s", 6.2,
			[]Code{SpeedupScopeMismatch}},
		{MemoryClaimMismatch, fused, "memory.s5.formula_matches_run", false, nil},
	}
	honest, baseline := flagged(true), flagged(false)
	quietly := flagged(true)
	quietly["gate"].(map[string]any)["recall_cross_model"] = nil
	quietly["gate"].(map[string]any)["recall_delta_within_5pp"] = false
	quietly["gate"].(map[string]any)["recall_delta_vs_oracle_pp"] = nil
	quietly["throughput"].(map[string]any)["cross_model_speedup_vs_oracle_ar"] = nil
	quietly["throughput"].(map[string]any)["k3_cross_model"].(map[string]any)["eval_mode"] =
		ModeIncremental
	foreign = []plant{
		{LegacySchema, honest, "schema_version", 1, nil},
		{MissingStageTimings, quietly, cross + "stage_timings", []any{}, nil},
		{MissingRestorationFlag, quietly, row + "restoration_active", deleted, nil},
		{MixedRestorationPaths, quietly, row + "restoration_active", false, nil},
		{BaselineAsSUT, baseline, "results.k3_cross_model.system_under_test", Restored, nil},
		{BaselineRecallClaim, baseline, "gate.recall_cross_model", 1.0, []Code{RecallScope}},
		{RecallScope, honest, row + "restoration_active", nil, []Code{MissingRestorationFlag}},
		{FusedNeverRan, baseline, cross + "eval_mode", ModeFused, nil},
		{SpeedupSelfComparison, baseline, "throughput.cross_model_speedup_vs_oracle_ar", 1.12, nil},
		{SpeedupSamples, honest, oracle + "stage_timings[4].sample", 3,
			[]Code{RecallScope, SpeedupScopeMismatch}},
		{SpeedupDecodeTokens, honest, "results.oracle.per_sample_decode_tokens", []any{},
			[]Code{}},
		{SpeedupDecodeOnly, honest, "throughput.decode_only.speedup", nil, nil},
		{SpeedupScopeMismatch, honest, oracle + "timing_scope", "decode_only", nil},
		{SpeedupOracleLoop, honest, oracle + "decode_loop", "per_token_eval", nil},
		{SpeedupPrefillVariance, honest, cross + "stage_timings[0].prefill_s", 80.0,
			[]Code{SpeedupScopeMismatch}},
		{MemoryClaimMismatch, honest, "memory.s5.formula_matches_run", false, nil},
	}
	return own, foreign
}

// TestPlantedViolationsAreCaught has one edit for each rule.
func TestPlantedViolationsAreCaught(t *testing.T) {
	own, foreign := allPlants()
	for name, plants := range map[string][]plant{"Tandem": own, "Kakeya": foreign} {
		caught := 0
		for _, p := range plants {
			if p.check(t) {
				caught++
			}
		}
		t.Logf("%s: planted violations caught: %d of %d", name, caught, len(plants))
		if caught != 16 || len(plants) != 16 {
			t.Errorf("%s: %d of %d plants are caught, want 16 of 16", name, caught, len(plants))
		}
	}
}

// TestFlagsDoNotOverruleCounts edits what a report says against what its rows counted.
func TestFlagsDoNotOverruleCounts(t *testing.T) {
	const (
		cross   = "throughput.k3_cross_model.stage_timings"
		results = "results.k3_cross_model."
	)
	fused := fusedRun().Report()
	unrestored := asTree(t, fused)
	for i := range minSamples {
		set(t, unrestored, fmt.Sprintf("%s[%d].restored_rows", cross, i), 0)
	}
	found := Check(written(t, unrestored))
	for _, code := range []Code{MissingRestorationFlag, BaselineAsSUT, BaselineRecallClaim,
		RecallScope, SpeedupSelfComparison} {
		if !breaks(found, code) {
			t.Errorf("empty banks under restoration_active break %q, not %s", codes(found), code)
		}
	}
	for _, p := range []plant{
		{RecallScope, fused, results + "samples_total", 9, nil},
		{RecallScope, fused, results + "per_sample_correct[1]", false, nil},
		{RecallScope, fused, "gate.recall_oracle", 0.8, []Code{RecallScope, RecallScope}},
		{RecallScope, fused, "gate.recall_delta_vs_oracle_pp", 3, nil},
		{SpeedupDecodeOnly, fused, "throughput.decode_only.speedup", 2.5, nil},
		{SpeedupScopeMismatch, fused, "throughput.cross_model_speedup_vs_oracle_ar", 2.0, nil},
		{SpeedupOracleLoop, fused,
			"throughput.oracle_native_ar.stage_timings[3].decode_loop", "per_token_eval", nil},
		{MemoryClaimMismatch, fused, "memory.savings_vs_naive_pct", 89.8, nil},
		{MemoryClaimMismatch, fused, "memory.measured", deleted, nil},
		{MemoryClaimMismatch, fused, "memory.measured.total_bytes", 3_148_528, nil},
		{MemoryClaimMismatch, fused, "memory.naive_full_kv", deleted, nil},
		{MemoryClaimMismatch, fused, "memory.s5.total_resident_bytes", 9_000_000, nil},
	} {
		if !p.check(t) {
			t.Errorf("%s = %v is not caught", p.path, p.value)
		}
	}
}

// TestOptionsProveNothing changes each option of a report. No verdict changes.
func TestOptionsProveNothing(t *testing.T) {
	tree := flagged(false)
	tree["config"] = map[string]any{"native_baseline_bypass": false, "fused_specdecode": true,
		"s5_exact_full_attn": true, "identity_restore": true}
	set(t, tree, "results.k3_cross_model.system_under_test", Restored)
	if found := Check(written(t, tree)); !slices.Equal(codes(found), []Code{BaselineAsSUT}) {
		t.Errorf("options turn the verdict into %v", found)
	}
}
