package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnprovenClaimsAreRefused reads reports whose claims follow from nothing that they list.
func TestUnprovenClaimsAreRefused(t *testing.T) {
	want := map[string][]Code{
		"bytes_unchecked.json":    {MemoryClaimMismatch},  // another total than the sum
		"chat_silent.json":        {MissingLiveness},      // neither texts nor what was intended
		"e2e_not_rows.json":       {SpeedupScopeMismatch}, // equal rows, 10 times the tokens per second
		"formula_missing.json":    {MemoryClaimMismatch},  // 99.9 % by a formula without figures
		"full_by_formula.json":    {MemoryClaimMismatch},  // a saving against unmeasured bytes
		"no_times.json":           {MissingStageTimings},  // 100 times as fast, no row has a time
		"no_tps.json":             {SpeedupScopeMismatch}, // 77 times as fast, with equal rows
		"nothing.json":            {MissingStageTimings},  // details without any
		"nothing_evicted.json":    {RecallScope},          // rows restored that were never missing
		"one_quantized.json":      {MixedRestorationPaths},
		"oracle_no_rows.json":     {RecallScope}, // 50 samples, 1 row
		"oracle_restored.json":    {RecallScope, SpeedupOracleLoop},
		"recall_no_counts.json":   {RecallScope},
		"sink_from_native.json":   {RecallScope},
		"sink_from_restored.json": {RecallScope},
		"teacher_forced.json":     {SpeedupScopeMismatch},
	}
	files, err := filepath.Glob("testdata/unproven/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, want %d, %v", len(files), len(want), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reports, err := Read(f)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found := Check(reports[0])
		for _, code := range want[filepath.Base(file)] {
			if !breaks(found, code) {
				t.Errorf("%s breaks %q, not %s", file, codes(found), code)
			}
		}
		if h := HeadlineOf(reports[0]); h.Recall.Text+h.Speedup.Text+h.Memory.Text != "" {
			t.Errorf("%s has the headline %q", file, h.Lines())
		}
	}
}

// TestClaimsNeedTheirRows edits one field of a report whose claims hold.
func TestClaimsNeedTheirRows(t *testing.T) {
	const (
		cross   = "throughput.k3_cross_model."
		oracle  = "throughput.oracle_native_ar."
		results = "results.k3_cross_model."
	)
	fused := fusedRun().Report()
	silent := fusedRun()
	silent.Memory.Full = 0
	held := silent.Report() // bytes, and no saving
	full := Run{Kind: KindRecall, Oracle: arms(5, plain(), nil)}.Report()
	others := flagged(true)
	code := Run{Kind: KindCode, Cross: arms(5, sample(), func(_ int, s *Sample) { s.Correct = nil }),
		Oracle: arms(5, plain(), func(_ int, s *Sample) { s.Correct = nil })}.Report()
	slow := fusedRun() // its prefill takes what its decoding saves
	for i := range slow.Cross.Samples {
		slow.Cross.Samples[i].Prefill += time.Second
	}
	slower := slow.Report()
	bounded := boundedRun().Report()
	bypass := Run{Kind: KindRecall, Bypass: true, Cross: arms(5, plain(), nil)}.Report()
	quantized := Run{Kind: KindKVQuant, Cross: arms(5, plain(), func(_ int, s *Sample) {
		s.KVBits, s.Correct = 8, nil
	})}.Report()
	for _, p := range []plant{
		// A speed-up follows from the rows of both arms.
		{MissingStageTimings, fused, oracle + "stage_timings[1].prefill_s", deleted, nil},
		{MissingStageTimings, fused, cross + "stage_timings[4].decode_s", deleted, nil},
		{MissingStageTimings, others, oracle + "stage_timings[4].decode_s", deleted, nil},
		{SpeedupScopeMismatch, fused, cross + "tokens_per_second", 1000, nil},
		{SpeedupScopeMismatch, others, oracle + "tokens_per_second", 1.5, nil},
		{SpeedupScopeMismatch, fused, cross + "stage_timings[0].build_restoration_s", 9, nil},
		{SpeedupScopeMismatch, others, cross + "stage_timings[0].aux_prompt_capture_s", 34, nil},
		{SpeedupScopeMismatch, fused, cross + "stage_timings[3].e2e_s", 100, nil},
		{SpeedupScopeMismatch, fused, cross + "stage_timings[3].e2e_s", deleted, nil},
		{SpeedupScopeMismatch, others, cross + "stage_timings[3].e2e_s", 100, nil},
		{SpeedupScopeMismatch, fused, cross + "wall_seconds", 100, nil},
		{SpeedupScopeMismatch, fused, oracle + "wall_seconds", deleted, nil},
		{SpeedupScopeMismatch, others, cross + "wall_seconds", 1000, nil},
		{SpeedupDecodeOnly, fused, "throughput.decode_only.cross_median_tok_s", 100, nil},
		{SpeedupDecodeOnly, fused, "throughput.decode_only.oracle_median_tok_s", deleted, nil},
		{SpeedupPrefillVariance, fused, oracle + "stage_timings[0].prefill_s", 0,
			[]Code{SpeedupScopeMismatch}},
		{SpeedupScopeMismatch, fused, cross + "eval_mode", ModeTeacherForced, nil},
		{SpeedupScopeMismatch, fused, cross + "stage_timings[3].decode_loop", ModeTeacherForced, nil},
		{SpeedupOracleLoop, fused, oracle + "stage_timings[3].kv_bits", 4, []Code{RecallScope}},
		{SpeedupOracleLoop, others, oracle + "stage_timings[3].fused", map[string]any{"blocks": 2},
			[]Code{RecallScope}},
		{SpeedupOracleLoop, others, oracle + "stage_timings[3].restoration_active", true,
			[]Code{RecallScope}},
		{OutputDegenerate, fused, results + "per_sample_decoded[3]", "OMEGA-4711 aaaaaaaaaaaaaaaaaaaaaaa", nil},
		{OutputDegenerate, fused, results + "per_sample_decoded[3]",
			"OMEGA-4711\n" + strings.Repeat("    print(counter + 1)\n", 12), nil},
		{OutputDegenerate, others, results + "per_sample_decoded",
			[]any{"", strings.Repeat("Proof of work is a consensus mechanism. ", 60)}, nil},
		{OutputDegenerate, fused, results + "per_sample_decoded", deleted, []Code{RecallScope}},
		{OutputDegenerate, fused, results + "per_sample_decoded", []any{"", "", "", ""},
			[]Code{RecallScope}},
		{OutputDegenerate, fused, cross + "stage_timings[3].looped_from", 17, nil},
		{OutputDegenerate, fused, cross + "stage_timings[3].looped_from", deleted, nil},
		{OutputDegenerate, others, cross + "stage_timings[3].fused.stopped_on_runaway", true, nil},

		{OutputDegenerate, slower, cross + "stage_timings[3].looped_from", 17, nil},
		{SpeedupScopeMismatch, fused, "throughput.cross_model_speedup_vs_oracle_ar", deleted, nil},

		// Recall follows from what ran in each row, and from a row for each sample.
		{RecallScope, fused, cross + "stage_timings[2].evicted_rows", 0, nil},
		{RecallScope, others, cross + "stage_timings[2].evicted_rows", 0, nil},
		{RecallScope, fused, results + "restored_from", "thin air", nil},
		{RecallScope, fused, results + "samples_total", deleted, nil},
		{RecallScope, fused, results + "per_sample_expected", deleted, nil},
		{RecallScope, fused, results + "per_sample_expected[1]", "", nil},
		{RecallScope, fused, results + "per_sample_expected[1]", "OMEGA-4712", nil},
		{RecallScope, fused, "results.oracle.per_sample_decoded[4]", "It is OMEGA.", nil},
		{MixedRestorationPaths, fused, cross + "stage_timings[2].restored_rows", 4*1332 - 1,
			nil},
		{RecallScope, fused, results + "samples_correct", 4, nil},
		{RecallScope, fused, results + "per_sample_correct", []any{true}, nil},
		{RecallScope, fused, cross + "stage_timings[2].sample", deleted,
			[]Code{RecallScope, SpeedupSamples, SpeedupScopeMismatch}},
		{RecallScope, others, "results.oracle.samples_total", deleted, nil},
		{RecallScope, others, "results.oracle.samples_total", 6, nil},
		{RecallScope, full, oracle + "stage_timings[0].sample", 1, nil},
		{MissingStageTimings, full, oracle + "stage_timings", []any{}, []Code{RecallScope}},
		{RecallScope, full, oracle + "stage_timings[0].evicted_rows", 1, nil},
		{RecallScope, bypass, "gate.recall_sink_window", 1.0, nil},
		{BaselineAsSUT, bypass, cross + "stage_timings[0].evicted_rows", 9, []Code{RecallScope}},
		{RecallScope, bounded, "gate.recall_native_baseline", 0.0, nil},
		{MixedRestorationPaths, bounded, cross + "stage_timings[1].evicted_rows", 0, []Code{RecallScope}},
		{MixedRestorationPaths, quantized, cross + "stage_timings[1].kv_bits", 0, nil},

		// Both arms answer the same prompts.
		{RecallScope, fused, oracle + "stage_timings[2].sample", 9, []Code{SpeedupScopeMismatch}},
		{RecallScope, others, oracle + "stage_timings[2].sample", 9, []Code{SpeedupScopeMismatch}},
		{RecallScope, fused, oracle + "stage_timings[2].prompt_tokens", 10000,
			[]Code{SpeedupScopeMismatch}},
		{RecallScope, fused, cross + "stage_timings[2].prompt_tokens", deleted,
			[]Code{SpeedupScopeMismatch}},
		{SpeedupScopeMismatch, code, oracle + "stage_timings[2].prompt_tokens", 10000, nil},

		// Bytes are held to each other, whatever they save.
		{MemoryClaimMismatch, held, "memory.measured.total_bytes", 99, nil},
		{MemoryClaimMismatch, held, "memory.measured.exact_layer_bytes", deleted,
			[]Code{MemoryClaimMismatch}},
		{MemoryClaimMismatch, held, "memory.s5.formula_matches_run", false, nil},
		{MemoryClaimMismatch, held, "memory.measured.source_bytes", 9, nil},
		{MemoryClaimMismatch, fused, "memory.naive_full_kv.measured_bytes", 8_610_001, nil},
		{MemoryClaimMismatch, others, "memory.s5.total_resident_bytes", deleted, nil},
		{MemoryClaimMismatch, others, "memory.naive_full_kv", deleted, nil},
		{MemoryClaimMismatch, others, "memory.naive_full_kv.total_resident_mb", 2000, nil},
		{MemoryClaimMismatch, others, "memory.savings_vs_naive_pct", 99.9, nil},
		{MemoryClaimMismatch, fused, "memory.naive_full_kv", map[string]any{"total_resident_mb": 8.61},
			nil},
	} {
		if !p.check(t) {
			t.Errorf("%s = %v is not caught", p.path, p.value)
		}
	}
}

// TestFalsifiedReportsContradictTheirRows changes a claim with all figures that follow from it, and
// leaves what the rows measured.
func TestFalsifiedReportsContradictTheirRows(t *testing.T) {
	const (
		memory  = "memory."
		results = "results.k3_cross_model."
		rows    = "throughput.k3_cross_model.stage_timings"
	)
	repeated := func(v any) []any { return []any{v, v, v, v, v} }
	for name, c := range map[string]struct {
		run   Run
		edits map[string]any
		want  Code
	}{
		"bytes of restored rows": {fusedRun(), map[string]any{memory + "measured.restored_bytes": 1000,
			memory + "measured.total_bytes": 2_870_000 + 278_528 + 1000,
			memory + "savings_vs_naive_pct": SavingPercent(3_149_528, 8_610_000)}, MemoryClaimMismatch},
		"bytes of full caches": {fusedRun(), map[string]any{
			memory + "naive_full_kv.measured_bytes": 861_000_000,
			memory + "savings_vs_naive_pct":         SavingPercent(5_048_528, 861_000_000)},
			MemoryClaimMismatch},
		"bytes of restored rows without the rows": {fusedRun(), map[string]any{"results": deleted,
			"throughput": deleted, "gate": deleted, memory + "measured.restored_bytes": 1000,
			memory + "measured.total_bytes": 2_870_000 + 278_528 + 1000,
			memory + "savings_vs_naive_pct": SavingPercent(3_149_528, 8_610_000)}, MemoryClaimMismatch},
		"bytes of full caches without the rows": {fusedRun(), map[string]any{"results": deleted,
			"throughput": deleted, "gate": deleted,
			memory + "naive_full_kv.measured_bytes": 861_000_000,
			memory + "savings_vs_naive_pct":         SavingPercent(5_048_528, 861_000_000)},
			MemoryClaimMismatch},
		"one row restored": {fusedRun(), map[string]any{rows + "[0].restored_rows": 1,
			rows + "[1].restored_rows": 1, rows + "[2].restored_rows": 1,
			rows + "[3].restored_rows": 1, rows + "[4].restored_rows": 1}, MixedRestorationPaths},
		"other texts": {fusedRun(), map[string]any{
			results + "per_sample_decoded": repeated("nothing")}, RecallScope},
		"wrong answers that count as right": {boundedRun(), map[string]any{
			results + "per_sample_correct": repeated(true), results + "samples_correct": 5,
			results + "recall": 1.0, "gate.recall_sink_window": 1.0}, RecallScope},
	} {
		tree := asTree(t, c.run.Report())
		if found := Check(written(t, tree)); len(found) > 0 {
			t.Errorf("%s: the base is refused: %v", name, found)
		}
		for path, v := range c.edits {
			set(t, tree, path, v)
		}
		r := written(t, tree)
		if found := Check(r); fmt.Sprint(codes(found)) != fmt.Sprintf("[%s]", c.want) {
			t.Errorf("%s: it breaks %v", name, found)
		}
		if h := HeadlineOf(r); c.want == MixedRestorationPaths &&
			h.Recall.Text+h.Speedup.Text+h.Memory.Text != "" {
			t.Errorf("%s: the headline is %q", name, h.Lines())
		}
	}
}

// boundedRun is a run with bounded caches alone, which finds nothing.
func boundedRun() Run {
	return Run{Kind: KindRecall, Cross: arms(5, sample(), func(_ int, s *Sample) {
		s.RestoredRows, s.Blocks = 0, 0
		wrong(s)
	})}
}

// TestOtherPromptsAreNotCompared gives arms prompts of other lengths, or more of them. Each has its
// recall, and nothing is said of both.
func TestOtherPromptsAreNotCompared(t *testing.T) {
	longer, more := fusedRun(), fusedRun()
	for i := range longer.Oracle.Samples {
		longer.Oracle.Samples[i].Prompt = 10_000
	}
	more.Oracle = arms(50, plain(), nil)
	for name, run := range map[string]Run{"longer prompts": longer, "more prompts": more} {
		r := written(t, run.Report())
		g := r.Gate
		if g.Recall == nil {
			t.Errorf("%s: g.Recall is nil", name)
		}
		if g.RecallOracle == nil {
			t.Errorf("%s: g.RecallOracle is nil", name)
		}
		if g.DeltaPoints != nil {
			t.Errorf("%s: g.DeltaPoints = %v, want nil", name, g.DeltaPoints)
		}
		if g.Within5Points != nil {
			t.Errorf("%s: g.Within5Points = %v, want nil", name, g.Within5Points)
		}
		if r.Throughput.Speedup != nil {
			t.Errorf("%s: r.Throughput.Speedup = %v, want nil", name, r.Throughput.Speedup)
		}
		if len(Check(r)) > 0 {
			t.Errorf("%s: len(Check(r)) = %v, want at most 0", name, len(Check(r)))
		}
		if text := HeadlineOf(r).Recall.Text; !strings.Contains(text, "oracle 1.000 on other prompts") {
			t.Errorf("%s: the headline is %q", name, text)
		}
		tree := asTree(t, r)
		set(t, tree, "gate.recall_delta_vs_oracle_pp", 0)
		if found := Check(written(t, tree)); fmt.Sprint(codes(found)) != "[RECALL_SCOPE]" {
			t.Errorf("%s: a distance breaks %v", name, found)
		}
	}
}

// TestOneWrongOfManyIsShown: a claim of 1.000 for 199 of 200 is refused.
func TestOneWrongOfManyIsShown(t *testing.T) {
	tree := asTree(t, Run{Kind: KindRecall, Cross: arms(200, sample(), func(i int, s *Sample) {
		if i == 0 {
			wrong(s)
		}
	})}.Report())
	set(t, tree, "gate.recall_cross_model", 1.0)
	if found := Check(written(t, tree)); fmt.Sprint(codes(found)) != "[RECALL_SCOPE]" {
		t.Errorf("it breaks %v", found)
	}
}

// TestWriterWithholdsEachRecall gives the writer runs that may claim no recall.
func TestWriterWithholdsEachRecall(t *testing.T) {
	short := fusedRun()
	short.Cross.Samples[1].EvictedRows = 0
	r := short.Report()
	if g := r.Gate; g.Recall != nil || g.RecallOracle == nil || len(g.RecallWithheld) != 1 ||
		len(g.Violations) > 0 {
		t.Errorf("of a short prompt: %+v", g)
	}
	oracle := fusedRun()
	oracle.Oracle.Samples[1].EvictedRows = 9
	r = oracle.Report()
	if g := r.Gate; g.RecallOracle != nil || r.Throughput.Speedup != nil || len(g.Violations) > 0 {
		t.Errorf("of an oracle with bounded caches: %+v", g)
	}
	nobody := fusedRun()
	nobody.Cross.RestoredFrom = ""
	if g := nobody.Report().Gate; g.Recall != nil || len(g.Violations) > 0 {
		t.Errorf("of rows from nowhere: %+v", g)
	}
}
