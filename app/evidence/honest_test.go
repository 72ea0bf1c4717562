package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// sample is one answer: right, 40 tokens, restored rows in its banks, 12 verified blocks.
func sample() Sample {
	return Sample{
		Prompt: 1400, Text: "It is OMEGA-4711.", Expected: "OMEGA-4711",
		Correct: new(true), Tokens: 40,
		Restore: 300 * time.Millisecond, Prefill: 2 * time.Second, Decode: 800 * time.Millisecond,
		RestoredRows: 4 * 1332, EvictedRows: 4 * 1332, Blocks: 12, MeanAccept: 3.3,
		LoopedFrom: new(0), Held: &Held{Exact: 2_870_000, Bounded: 278_528, Restored: 1_900_000},
	}
}

// wrong makes an answer one that names no code.
func wrong(s *Sample) { s.Text, s.Correct = "I do not know.", new(false) }

// plain is the answer of the oracle.
func plain() Sample {
	return Sample{Prompt: 1400, Text: "It is OMEGA-4711.", Expected: "OMEGA-4711",
		Correct: new(true), Tokens: 40,
		Prefill: 2 * time.Second, Decode: 1600 * time.Millisecond, LoopedFrom: new(0),
		Held: &Held{Exact: 8_610_000}}
}

// arms repeats a sample, after change.
func arms(n int, s Sample, change func(i int, s *Sample)) *Arm {
	a := &Arm{Name: "arm", RestoredFrom: FromFTheta}
	for i := range n {
		one := s
		if change != nil {
			change(i, &one)
		}
		a.Samples = append(a.Samples, one)
	}
	return a
}

// held are the bytes of a stack with 2 exact layers and 4 bounded ones.
func held() *Bytes {
	return &Bytes{Held: *sample().Held, RestoredAs: "latents", RestoredWhere: "memory", Full: 8_610_000, FormulaExact: 2_867_200, FormulaBounded: 278_528,
		Tokens: 1400, SinkWindow: 68, Peak: 90_000_000}
}

// fusedRun is an honest run with all three claims, with no sample more than they need.
func fusedRun() Run {
	return Run{Kind: KindRecall, At: time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC),
		Config: map[string]any{"sink": 4, "window": 64, "block": 8},
		Cross:  arms(minSamples, sample(), nil), Oracle: arms(minSamples, plain(), nil), Memory: held()}
}

// written returns the reports that Read makes of what was written.
func written(t testing.TB, v any) *Report {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(reports) != 1 {
		t.Fatalf("%d reports, want 1", len(reports))
	}
	return reports[0]
}

// honest lists reports that claim what they measured. headline is what is printed of them.
func honest(t testing.TB) []struct {
	name     string
	report   *Report
	headline string
} {
	notJudged := func(_ int, s *Sample) { s.Correct, s.RestoredRows, s.EvictedRows = nil, 0, 0 }
	native := func(_ int, s *Sample) { s.Blocks, s.RestoredRows, s.EvictedRows, s.KVBits = 0, 0, 0, 4 }
	untimed := func(_ int, s *Sample) { s.Restore, s.Prefill, s.Decode = 0, 0, 0 }
	more := held()
	more.Restored = 7_000_000
	bare := flagged(false)
	delete(bare["throughput"].(map[string]any), "oracle_native_ar")
	slack := held()
	slack.Bounded *= 8
	bytesAlone := func(b *Bytes) *Report {
		held := func(s Sample, h Held) *Arm {
			return arms(1, s, func(i int, s *Sample) {
				notJudged(i, s)
				untimed(i, s)
				s.Held = &h
			})
		}
		return Run{Kind: KindMemory, Memory: b, Cross: held(sample(), b.Held),
			Oracle: held(plain(), *plain().Held)}.Report()
	}
	return []struct {
		name     string
		report   *Report
		headline string
	}{
		{"recall with restoration", Run{Kind: KindRecall,
			Cross: arms(20, sample(), func(i int, s *Sample) {
				if s.Blocks, s.Tokens = 0, 8; i == 0 {
					wrong(s)
				}
			}),
			Oracle: arms(20, plain(), func(_ int, s *Sample) { s.Tokens = 8 })}.Report(),
			"recall 0.950 with restoration from f_theta (\"arm\"), oracle 1.000, 20 samples\n" +
				"speedup withheld: SPEEDUP_DECODE_TOKENS: "},
		{"oracle alone", Run{Kind: KindRecall, Oracle: arms(10, plain(), nil)}.Report(),
			"recall oracle alone 1.000, 10 samples"},
		{"native bypass, labelled", Run{Kind: KindRecall, Bypass: true,
			Cross: arms(5, sample(), native), Oracle: arms(5, plain(), nil)}.Report(),
			"recall 1.000 of native bypass, oracle 1.000, 5 samples\n" +
				"speedup withheld: SPEEDUP_SELF_COMPARISON: "},
		{"fused", fusedRun().Report(),
			"recall 1.000 with restoration from f_theta (\"arm\"), oracle 1.000, 5 samples\n" +
				"speedup 1.161 times as fast end to end, 2.000 times in decoding alone, 5 samples\n" +
				"memory 41.4 % less than full caches; 5.05 MB held: "},
		{"code", Run{Kind: KindCode, Cross: arms(8, sample(), notJudged),
			Oracle: arms(8, plain(), notJudged)}.Report(),
			"speedup 1.161 times as fast end to end, 2.000 times in decoding alone, 8 samples"},
		{"quantized caches", Run{Kind: KindKVQuant, Cross: arms(10, sample(), native),
			Oracle:  arms(10, plain(), nil),
			Details: map[string]any{"arms": []any{map[string]any{"name": "affine4", "rel_mse": 0.0144}}},
		}.Report(), "recall 1.000 of quantized_kv, oracle 1.000, 10 samples\nspeedup 1.161"},
		{"memory alone", bytesAlone(held()),
			"speedup withheld: an arm decoded no tokens in measured time\n" +
				"memory 41.4 % less than full caches; 5.05 MB held: 2.87 exact layers, " +
				"0.28 own rows of bounded layers, 1.90 restored"},
		{"figures that claim nothing", Run{Kind: KindParity,
			Details: map[string]any{"drafted": 96, "equal": 91}}.Report(), ""},
		{"chat", chatReport(true, sample(), sample()), ""},
		{"at each limit", Run{Kind: KindRecall,
			Cross: arms(minSamples, sample(), func(i int, s *Sample) { s.Tokens = 30 + i }),
			Oracle: arms(minSamples, plain(), func(i int, s *Sample) {
				s.Tokens, s.Prefill = 30+i, time.Second
				if i == 0 {
					s.Prefill = 3 * time.Second
				}
			})}.Report(), "recall 1.000 with restoration from f_theta (\"arm\"), oracle 1.000, " +
			"5 samples\nspeedup "},
		{"an answer without a token", Run{Kind: KindRecall,
			Cross:  arms(1, sample(), func(_ int, s *Sample) { s.Tokens, s.Blocks = 0, 0 }),
			Oracle: arms(1, plain(), func(_ int, s *Sample) { s.Tokens = 0 })}.Report(),
			"recall 1.000 with restoration from f_theta (\"arm\"), oracle 1.000, 1 sample\n" +
				"speedup withheld: an arm decoded no tokens in measured time"},
		{"worse in all", Run{Kind: KindRecall, Memory: more,
			Cross: arms(10, sample(), func(i int, s *Sample) {
				wrong(s)
				s.Decode, s.Held = time.Minute, &more.Held
			}), Oracle: arms(10, plain(), nil)}.Report(),
			"recall 0.000 with restoration from f_theta (\"arm\"), oracle 1.000, 10 samples\n" +
				"speedup 0.058 times as fast end to end, 0.027 times in decoding alone, 10 samples\n" +
				"memory 17.9 % more than full caches"},
		{"bounded caches alone", Run{Kind: KindRecall,
			Cross: arms(20, sample(), func(i int, s *Sample) {
				wrong(s)
				s.RestoredRows, s.Blocks = 0, 0
			}), Oracle: arms(20, plain(), nil)}.Report(),
			"recall 0.000 with bounded caches alone, oracle 1.000, 20 samples\nspeedup "},
		{"teacher-forced", Run{Kind: KindRecall, Oracle: arms(5, plain(), nil),
			Cross: &Arm{Name: "forced", TeacherForced: true, RestoredFrom: FromOwnRows,
				Samples: arms(5, sample(), nil).Samples}}.Report(),
			"recall 1.000 with restoration from own rows (\"forced\"), oracle 1.000, 5 samples; " +
				"teacher-forced, which measures too little\nspeedup withheld: SPEEDUP_SCOPE_MISMATCH: "},
		{"not timed", Run{Kind: KindKVQuant, Cross: arms(5, sample(), untimed),
			Oracle: arms(5, plain(), untimed)}.Report(),
			"recall 1.000 with restoration from f_theta (\"arm\"), oracle 1.000, 5 samples\n" +
				"speedup withheld: an arm decoded no tokens in measured time"},
		{"answers without drafts", Run{Kind: KindCode, Oracle: arms(8, plain(), notJudged),
			Cross: arms(8, sample(), func(i int, s *Sample) {
				notJudged(i, s)
				s.Blocks = max(0, i-2)
			})}.Report(), "speedup 1.161 times as fast end to end, 2.000 times in decoding alone, " +
			"8 samples, 3 of them without drafts"},
		{"half of the answers without drafts", Run{Kind: KindCode,
			Oracle: arms(8, plain(), notJudged), Cross: arms(8, sample(), func(i int, s *Sample) {
				notJudged(i, s)
				s.Blocks = max(0, i-3)
			})}.Report(), "speedup withheld: SPEEDUP_SELF_COMPARISON: 4 of 8 answers were decoded "},
		{"an answer that loops", Run{Kind: KindCode, Oracle: arms(8, plain(), notJudged),
			Cross: arms(8, sample(), func(i int, s *Sample) {
				notJudged(i, s)
				s.Text = strings.Repeat("so ", 40)
			})}.Report(), "speedup withheld: OUTPUT_DEGENERATE: 8 of 8 answers "},
		{"an answer whose lines loop", Run{Kind: KindCode, Oracle: arms(8, plain(), notJudged),
			Cross: arms(8, sample(), func(i int, s *Sample) {
				notJudged(i, s)
				s.Text = strings.Repeat("    print(counter + 1)\n", 12)
			})}.Report(), "speedup withheld: OUTPUT_DEGENERATE: 8 of 8 answers "},
		{"an answer whose tokens loop", Run{Kind: KindCode, Oracle: arms(8, plain(), notJudged),
			Cross: arms(8, sample(), func(i int, s *Sample) {
				notJudged(i, s)
				if i == 5 {
					s.LoopedFrom = new(9)
				}
			})}.Report(), "speedup withheld: OUTPUT_DEGENERATE: 1 of 8 answers "},
		{"buffers with slack", bytesAlone(slack),
			"speedup withheld: an arm decoded no tokens in measured time\n" +
				"memory 18.7 % less than full caches; 7.00 MB held: "},
		{"Kakeya's fields alone", written(t, flagged(true)),
			"recall 1.000 with restoration, oracle 1.000, 5 samples; restored by the report's own word, " +
				"no rows were counted\nspeedup 1.120 times"},
		{"Kakeya's baseline, labelled", written(t, flagged(false)),
			"recall 1.000 of native_ar_baseline, oracle 1.000, 5 samples"},
		{"Kakeya's baseline, the oracle without rows", written(t, bare),
			"recall 1.000 of native_ar_baseline, oracle 1.000, 5 samples"},
		{"Kakeya's chat", written(t, map[string]any{"kind": KindMacChat, "schema_version": 1,
			"f_theta_intended": false, "fallbacks_taken": []any{}, "turns": []any{
				map[string]any{"user": "q", "text": "Paris.", "blocks": 2, "f_theta_ran": false}}}), ""},
	}
}

// chatReport is an honest chat with speculation.
func chatReport(restoring bool, answers ...Sample) *Report {
	r := &Report{SchemaVersion: new(Count(SchemaVersion)), Kind: KindChat, Turns: []Turn{},
		FThetaIntended: new(restoring)}
	for _, s := range answers {
		r.Turns = append(r.Turns, Turn{Text: new(s.Text), Blocks: new(Count(s.Blocks)),
			FThetaRan: new(s.RestoredRows > 0), RestoredRows: new(Count(s.RestoredRows))})
	}
	return r
}

// flagged is a report as Kakeya's schema has it, whose rows have a flag and no counts. Without
// restoration it is a labelled baseline.
func flagged(restoration bool) map[string]any {
	rows, oracle := []any{}, []any{}
	tokens := []any{64, 64, 64, 64, 64}
	for i := range 5 {
		row := map[string]any{"sample": i, "prefill_s": 20.0 + float64(i), "decode_s": 3.0,
			"restoration_active": restoration, "decode_loop": "fused_specdecode"}
		if restoration {
			row["fused"] = map[string]any{"blocks": 20, "mean_accept_len": 3.2}
		}
		rows = append(rows, row)
		oracle = append(oracle, map[string]any{"sample": i, "prefill_s": 20.0 + float64(i),
			"decode_s": 6.0, "decode_loop": LoopGenerateStep})
	}
	recall := map[string]any{"recall": 1.0, "samples_total": 5, "samples_correct": 5,
		"per_sample_decode_tokens": tokens}
	cross := map[string]any{"recall": 1.0, "samples_total": 5, "samples_correct": 5,
		"per_sample_decode_tokens": tokens, "system_under_test": Restored}
	gate := map[string]any{"recall_cross_model": 1.0, "recall_oracle": 1.0,
		"recall_delta_vs_oracle_pp": 0.0, "recall_delta_within_5pp": true}
	times := map[string]any{"eval_mode": ModeFused, "timing_scope": ScopeEndToEnd,
		"tokens_per_second": 2.56, "stage_timings": rows}
	throughput := map[string]any{"k3_cross_model": times,
		"oracle_native_ar": map[string]any{"timing_scope": ScopeEndToEnd, "tokens_per_second": 2.2857,
			"decode_loop": LoopGenerateStep, "stage_timings": oracle},
		"decode_only": map[string]any{"cross_median_tok_s": 21.3333, "oracle_median_tok_s": 10.6667,
			"speedup": 2.0},
		"cross_model_speedup_vs_oracle_ar": 1.12}
	memory := map[string]any{"s5": map[string]any{"formula_matches_run": true,
		"total_resident_bytes": 132_915_200}, "savings_vs_naive_pct": 89.8,
		"naive_full_kv": map[string]any{"total_resident_mb": 1308.88}}
	if !restoration {
		cross["system_under_test"] = NativeBaseline
		gate["recall_native_baseline"], gate["recall_cross_model"] = 1.0, nil
		gate["recall_delta_vs_oracle_pp"], gate["recall_delta_within_5pp"] = nil, false
		times["eval_mode"] = NativeBaseline
		throughput["cross_model_speedup_vs_oracle_ar"], memory["savings_vs_naive_pct"] = nil, nil
	}
	return map[string]any{"schema_version": 2, "kind": KindMac,
		"results": map[string]any{"k3_cross_model": cross, "oracle": recall},
		"gate":    gate, "throughput": throughput, "memory": memory}
}

// TestHonestReportsAreAdmitted reads each report as it is written.
func TestHonestReportsAreAdmitted(t *testing.T) {
	refused := 0
	list := honest(t)
	for _, h := range list {
		r := written(t, h.report)
		if found := Check(r); len(found) > 0 {
			refused++
			t.Errorf("%s is refused: %v", h.name, found)
		}
		head := strings.Join(HeadlineOf(r).Lines(), "\n")
		if got := strings.Join(strings.Fields(head), " "); !strings.HasPrefix(got,
			strings.Join(strings.Fields(h.headline), " ")) || (got == "") != (h.headline == "") {
			t.Errorf("%s has the headline\n%s\nwant\n%s", h.name, head, h.headline)
		}
	}
	t.Logf("honest reports refused: %d of %d", refused, len(list))
}

// TestHeadlineHasALineForEachReason keeps cells of tables short: they name the codes alone.
func TestHeadlineHasALineForEachReason(t *testing.T) {
	h := Headline{Speedup: Claim{Withheld: []string{"SPEEDUP_SAMPLES: few", "SPEEDUP_SAMPLES: fewer",
		"SPEEDUP_DECODE_TOKENS: short"}}}
	want := "speedup  withheld: SPEEDUP_SAMPLES: few\n" +
		"                   SPEEDUP_SAMPLES: fewer\n" +
		"                   SPEEDUP_DECODE_TOKENS: short"
	if got := strings.Join(h.Lines(), "\n"); got != want {
		t.Errorf("it has the lines\n%s", got)
	}
	if got := h.Speedup.Brief(); got != "withheld: SPEEDUP_SAMPLES, SPEEDUP_DECODE_TOKENS" {
		t.Errorf("in a table it is %q", got)
	}
	bare := Claim{Withheld: []string{"the oracle did not run"}}
	if got := bare.Brief(); got != "withheld: the oracle did not run" {
		t.Errorf("a reason without a code is %q", got)
	}
}

// TestBytesOfTheSourceStandApart has both parts of what restoration holds.
func TestBytesOfTheSourceStandApart(t *testing.T) {
	run := fusedRun()
	run.Memory.Source = 100_000
	for i := range run.Cross.Samples {
		run.Cross.Samples[i].Held = &run.Memory.Held
	}
	tree := asTree(t, run.Report())
	text := HeadlineOf(written(t, tree)).Memory.Text
	if !strings.HasSuffix(text, "5.15 MB held: 2.87 exact layers, 0.28 own rows of bounded layers, "+
		"1.90 restored, 0.10 what restores them") {
		t.Errorf("the headline has %q", text)
	}
	set(t, tree, "memory.measured.source_bytes", 2_000_001)
	if found := Check(written(t, tree)); !breaks(found, MemoryClaimMismatch) {
		t.Errorf("a part that is more than the whole breaks %v", found)
	}
}

// TestBlindOracleShowsNothing: where full caches find nothing, no other arm can lose anything.
func TestBlindOracleShowsNothing(t *testing.T) {
	wrong := func(_ int, s *Sample) { wrong(s) }
	run := Run{Kind: KindRecall, Cross: arms(5, sample(), wrong), Oracle: arms(5, plain(), wrong)}
	if text := HeadlineOf(run.Report()).Recall.Text; !strings.Contains(text,
		"oracle 0.000 (it found none, so this shows nothing), 5 samples") {
		t.Errorf("the headline has %q", text)
	}
}

// TestWriterKeepsNoClaimThatTheGateRefuses gives the writer runs that prove nothing.
func TestWriterKeepsNoClaimThatTheGateRefuses(t *testing.T) {
	mixed := fusedRun()
	mixed.Cross.Samples[2].RestoredRows = 0
	r := mixed.Report()
	if r.Gate.Recall != nil || r.Throughput.Speedup != nil || r.Memory.SavingPercent != nil {
		t.Errorf("a mixed run claims %+v", HeadlineOf(r))
	}
	if !breaks(r.Gate.Violations, MixedRestorationPaths) {
		t.Errorf("a mixed run notes %v", r.Gate.Violations)
	}
	few := fusedRun()
	few.Oracle.Samples = few.Oracle.Samples[:minSamples-1]
	r = few.Report()
	if r.Throughput.Speedup != nil || r.Throughput.DecodeOnly != nil || r.Gate.Recall == nil ||
		len(r.Gate.Violations) > 0 {
		t.Errorf("with 4 samples of the oracle: speed-up %s, recall %s, violations %v",
			shown(r.Throughput.Speedup), shown(r.Gate.Recall), r.Gate.Violations)
	}
	if reasons := fmt.Sprint(r.Throughput.SpeedupWithheld); !strings.Contains(reasons,
		"SPEEDUP_SAMPLES: the oracle has 4 samples; measure at least 5") {
		t.Errorf("the speed-up is withheld because %s", reasons)
	}
	hidden := fusedRun()
	hidden.Memory.Restored = 0
	if r = hidden.Report(); r.Memory.SavingPercent != nil {
		t.Errorf("restored rows that take no bytes save %s %%", shown(r.Memory.SavingPercent))
	}
}
