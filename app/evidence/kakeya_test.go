package evidence

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The figures below are those of reports by FluffyAIcode/Kakeya-LLM-Inference-engine. They were
// published in June 2026 under results/research. The machine was a Mac mini M4, the model Gemma 4
// 26B in 4 bits, and the texts 5 prompts of 4,406 to 5,810 tokens. Only fields that rules read are
// typed here.

// A published report lists seconds of prefill and of decoding for each sample of both arms.
type published struct {
	cross, oracle  [][2]float64
	capture        []float64 // seconds of aux_prompt_capture_s
	tokens         []int     // of the answers of the system under test
	oracleTokens   []int
	row, oracleRow map[string]any // the same in each row
	blocks         []int
	mode, loop     string
	perSecond      [2]float64
	decodeOnly     any
	speedup        any
	formula        map[string]any
}

// report puts the figures into the schema.
func (p published) report(version int) map[string]any {
	rows := func(times [][2]float64, same map[string]any) []any {
		var list []any
		for i, t := range times {
			row := map[string]any{"sample": i, "prefill_s": t[0], "decode_s": t[1]}
			maps.Copy(row, same)
			if len(p.capture) > 0 && same["restoration_active"] != nil {
				row["aux_prompt_capture_s"] = p.capture[i]
			}
			if len(p.blocks) > 0 && same["restoration_active"] != nil {
				row["fused"] = map[string]any{"blocks": p.blocks[i]}
			}
			list = append(list, row)
		}
		return list
	}
	answers := func(tokens []int) map[string]any {
		n := len(tokens)
		return map[string]any{"samples_total": n, "samples_correct": n, "recall": 1.0,
			"per_sample_decode_tokens": tokens}
	}
	cross := answers(p.tokens)
	if version >= SchemaVersion {
		cross["system_under_test"] = Restored
	}
	return map[string]any{"schema_version": version, "kind": KindMac,
		"results": map[string]any{"k3_cross_model": cross, "oracle": answers(p.oracleTokens)},
		"gate": map[string]any{"recall_cross_model": 1.0, "recall_oracle": 1.0,
			"recall_delta_vs_oracle_pp": 0.0, "recall_delta_within_5pp": true},
		"memory": map[string]any{"s5": p.formula, "savings_vs_naive_pct": 89.8,
			"naive_full_kv": map[string]any{"total_resident_mb": 1308.88}},
		"throughput": map[string]any{
			"k3_cross_model": map[string]any{"eval_mode": p.mode, "timing_scope": ScopeEndToEnd,
				"tokens_per_second": p.perSecond[0], "stage_timings": rows(p.cross, p.row)},
			"oracle_native_ar": map[string]any{"timing_scope": ScopeEndToEnd, "decode_loop": p.loop,
				"tokens_per_second": p.perSecond[1], "stage_timings": rows(p.oracle, p.oracleRow)},
			"decode_only": p.decodeOnly, "cross_model_speedup_vs_oracle_ar": p.speedup}}
}

// step1 is k3_mac_bridge_k3_step1_incremental.json.
var step1 = published{
	cross: [][2]float64{{25.356, 2.81}, {19.705, 2.883}, {19.611, 2.88}, {15.846, 2.802},
		{31.666, 4.947}},
	oracle: [][2]float64{{26.508, 2.813}, {20.998, 8.086}, {24.1, 6.287}, {20.471, 10.677},
		{28.227, 3.401}},
	tokens: []int{64, 64, 64, 64, 64}, oracleTokens: []int{64, 64, 64, 64, 64},
	row:       map[string]any{"restoration_active": true, "decode_loop": "generate_step"},
	oracleRow: map[string]any{"decode_loop": "generate_step"},
	mode:      ModeIncremental, loop: "generate_step", perSecond: [2]float64{2.49, 2.1113},
	decodeOnly: map[string]any{"cross_median_tok_s": 22.2222, "oracle_median_tok_s": 10.1797,
		"speedup": 2.183},
	speedup: 1.179,
	formula: map[string]any{"formula_matches_run": true, "scope": "analytical_formula",
		"sliding_resident_bytes": 13926400, "full_resident_bytes": 118988800,
		"total_resident_bytes": 132915200},
}

// iterC is k3_mlx_gate_sync_iterC_block4_ignoreturn_n5_gen64_20260612_161535.json.
var iterC = published{
	cross: [][2]float64{{71.455, 62.463}, {24.634, 101.45}, {66.539, 100.768}, {73.165, 90.042},
		{28.31, 58.545}},
	oracle: [][2]float64{{32.911, 4.12}, {22.481, 2.722}, {22.739, 2.825}, {17.881, 2.746},
		{19.646, 2.81}},
	capture: []float64{34.042, 16.984, 23.474, 22.147, 18.018},
	tokens:  []int{64, 64, 64, 64, 23}, oracleTokens: []int{64, 64, 64, 64, 64},
	row:       map[string]any{"restoration_active": true, "decode_loop": "fused_specdecode"},
	oracleRow: map[string]any{"decode_loop": "generate_step"},
	blocks:    []int{23, 20, 21, 20, 7},
	mode:      ModeFused, loop: "generate_step", perSecond: [2]float64{0.3522, 2.445},
	decodeOnly: map[string]any{"cross_median_tok_s": 0.6351, "oracle_median_tok_s": 22.7758,
		"speedup": 0.028},
	speedup: 0.144, formula: step1.formula,
}

// fair is k3_mlx_fused_fair_ctx280_n5_gen32_20260612_105807.json: no sample verified a block.
var fair = published{
	cross: [][2]float64{{32.857, 0.43}, {37.284, 2.262}, {32.612, 5.505}, {21.529, 0.432},
		{41.982, 0.996}},
	oracle: [][2]float64{{80.599, 11.452}, {35.268, 5.217}, {89.521, 19.528}, {146.333, 24.985},
		{39.17, 2.411}},
	tokens: []int{8, 7, 8, 8, 8}, oracleTokens: []int{8, 7, 8, 8, 8},
	mode: ModeFused, perSecond: [2]float64{0.2217, 0.0858}, speedup: 2.584,
}

// TestPublishedReports records the verdict on reports of others.
func TestPublishedReports(t *testing.T) {
	counted := step1 // with the rows that its empty banks held
	counted.row = maps.Clone(step1.row)
	counted.row["restored_rows"] = 0
	bypass := fair // with what is known of it since: it ran the native cache
	bypass.row = map[string]any{"restoration_active": false}
	for _, c := range []struct {
		name     string
		report   map[string]any
		want     []Code
		headline string
	}{
		{"incremental, as published", step1.report(2), nil,
			"recall   1.000 with restoration, oracle 1.000, 5 samples; " +
				"restored by the report's own word, no rows were counted\n" +
				"speedup  1.179 times as fast end to end, 2.183 times in decoding alone, 5 samples\n" +
				"memory   89.8 % less than full caches; by formula, no bytes were measured"},
		{"incremental, counted", counted.report(2), []Code{MissingRestorationFlag, BaselineAsSUT,
			BaselineRecallClaim, RecallScope, SpeedupSelfComparison}, ""},
		{"fused and slower, as published", iterC.report(2), nil,
			"recall   1.000 with restoration, oracle 1.000, 5 samples; " +
				"restored by the report's own word, no rows were counted\n" +
				"speedup  0.144 times as fast end to end, 0.028 times in decoding alone, 5 samples\n" +
				"memory   89.8 % less than full caches; by formula, no bytes were measured"},
		{"2.584 times, as published", fair.report(1), []Code{LegacySchema}, ""},
		{"2.584 times, in version 2", fair.report(2), []Code{MissingRestorationFlag, RecallScope,
			FusedNeverRan, SpeedupDecodeTokens, SpeedupDecodeTokens, SpeedupDecodeOnly,
			SpeedupOracleLoop, SpeedupPrefillVariance, MemoryClaimMismatch}, ""},
		{"2.584 times, with the path that ran", bypass.report(2), []Code{BaselineAsSUT,
			BaselineRecallClaim, RecallScope, FusedNeverRan, SpeedupSelfComparison,
			SpeedupDecodeTokens, SpeedupDecodeTokens, SpeedupDecodeOnly, SpeedupOracleLoop,
			SpeedupPrefillVariance, MemoryClaimMismatch}, ""},
		// k3_identity_restore_ctx70.json, on another machine: 10 of 10, without a row per sample.
		{"identity without rows, as published", map[string]any{"schema_version": 2,
			"kind": "k3_integrated_niah_acceptance",
			"results": map[string]any{"k3_cross_model": map[string]any{"samples_total": 10,
				"samples_correct": 10, "recall": 1.0}},
			"gate": map[string]any{"recall_cross_model": 1.0, "recall_oracle": nil}},
			[]Code{MissingStageTimings, RecallScope}, ""},
	} {
		r := written(t, c.report)
		if got := codes(Check(r)); !slices.Equal(got, c.want) {
			t.Errorf("%s breaks %q, want %q", c.name, got, c.want)
		}
		head := HeadlineOf(r)
		if c.headline != "" && strings.Join(head.Lines(), "\n") != c.headline {
			t.Errorf("%s has the headline\n%s", c.name, strings.Join(head.Lines(), "\n"))
		}
		if c.headline == "" && head.Recall.Text+head.Speedup.Text != "" {
			t.Errorf("%s is refused, but has the headline %q", c.name, head.Lines())
		}
	}
}
