package evidence

// SchemaVersion is the oldest version of a report that can be evidence.
const SchemaVersion = 2

// Kinds of reports. Others are judged by their sections.
const (
	KindRecall   = "tandem_recall"
	KindCode     = "tandem_code"
	KindKVQuant  = "tandem_kvquant"
	KindMemory   = "tandem_memory"
	KindParity   = "tandem_drafter_parity" // its figures are details
	KindChat     = "tandem_chat"
	KindMac      = "k3_integrated_niah_acceptance_mac" // Kakeya's evaluation
	KindMacChat  = "mac_gemma4_kakeya_fused_chat"      // Kakeya's chat
	ownKindStart = "tandem_"
)

// Systems under test. All but Restored are baselines: they claim no recall for restoration.
const (
	Restored       = "restored_cross_model"
	NativeBypass   = "native bypass"      // the native cache, plain or quantized
	NativeBaseline = "native_ar_baseline" // Kakeya's word for it
	SinkWindow     = "sink_window"        // bounded caches without restored rows
	Speculation    = "speculation"        // verified blocks over full caches
	QuantizedKV    = "quantized_kv"       // full caches in fewer bits
)

// Origins of restored rows.
const (
	FromOwnRows = "own rows" // of the model itself: they show the machinery alone
	FromCapture = "capture"  // of the model's own rows, after a codec
	FromFTheta  = "f_theta"  // of a drafter's keys and values, projected
)

// Loops that decode.
const (
	LoopPlain        = "tandem_plain" // Tandem's pipelined loop: counts as oracle
	LoopSpeculative  = "tandem_speculative"
	LoopGenerateStep = "generate_step" // mlx_lm's pipelined loop: counts as oracle
)

// Ways to evaluate.
const (
	ModeFused         = "free_gen_fused_specdecode"
	ModeIncremental   = "free_gen_incremental"
	ModeTeacherForced = "teacher_forced" // one forward over the answer; it measures too little
)

// ScopeEndToEnd is the timing scope of Tandem's reports.
const ScopeEndToEnd = "e2e_prefill_plus_decode"

// A Report is what one evaluation measured and claims. A nil field is not there.
type Report struct {
	SchemaVersion *Count         `json:"schema_version"`
	Kind          string         `json:"kind"`
	MeasuredAt    string         `json:"measured_at,omitempty"` // RFC 3339
	Config        map[string]any `json:"config,omitempty"`      // options; no rule reads them
	Results       *Results       `json:"results,omitempty"`
	Gate          *Gate          `json:"gate,omitempty"`
	Memory        *Memory        `json:"memory,omitempty"`
	Throughput    *Throughput    `json:"throughput,omitempty"`
	Details       any            `json:"details,omitempty"` // other figures, which claim nothing

	// Of a chat.
	FThetaIntended *bool    `json:"f_theta_intended,omitempty"`
	Fallbacks      []string `json:"fallbacks_taken,omitempty"`
	Turns          []Turn   `json:"turns,omitzero"`
}

// Results are the answers of both arms.
type Results struct {
	Cross  *Answers `json:"k3_cross_model,omitempty"`
	Oracle *Answers `json:"oracle,omitempty"`
}

// Answers are what an arm said, and how many of its answers were right.
type Answers struct {
	Name            string   `json:"name"`
	Total           *Count   `json:"samples_total"`
	Right           *Count   `json:"samples_correct"`
	Recall          *Share   `json:"recall"` // nil where answers are not judged
	Decoded         []string `json:"per_sample_decoded,omitempty"`
	Expected        []string `json:"per_sample_expected,omitempty"` // see Found
	Correct         []bool   `json:"per_sample_correct,omitempty"`
	Tokens          []Count  `json:"per_sample_decode_tokens"`
	Rates           []*Rate  `json:"per_sample_throughput_tokens_per_sec,omitempty"`
	MedianRate      *Rate    `json:"median_throughput_tokens_per_sec,omitempty"`
	SystemUnderTest string   `json:"system_under_test,omitempty"`
	RestoredFrom    string   `json:"restored_from,omitempty"` // an origin of restored rows
}

// Gate has the claims of recall.
type Gate struct {
	Recall         *Share      `json:"recall_cross_model"` // for restoration
	RecallNative   *Share      `json:"recall_native_baseline"`
	RecallBounded  *Share      `json:"recall_sink_window,omitempty"`
	RecallOracle   *Share      `json:"recall_oracle"`
	DeltaPoints    *Number     `json:"recall_delta_vs_oracle_pp"`
	Within5Points  *bool       `json:"recall_delta_within_5pp"`
	RecallWithheld []string    `json:"recall_withheld_reasons,omitempty"`
	Violations     []Violation `json:"evidence_violations"` // by the writer; Check does not read them
}

// Memory has the bytes that caches held, the formula beside them, and the saving claimed.
type Memory struct {
	Formula  *Formula  `json:"s5,omitempty"`
	Measured *Measured `json:"measured,omitempty"`
	Full     *FullKV   `json:"naive_full_kv,omitempty"`
	// SavingPercent is the saving against full caches. It is negative where more was held.
	SavingPercent  *Number  `json:"savings_vs_naive_pct"`
	SavingWithheld []string `json:"savings_withheld_reasons,omitempty"`
	PeakMB         *Rate    `json:"measured_peak_mb,omitempty"`
}

// A Formula computes bytes from shapes: exact layers hold every row, others sink + window rows.
type Formula struct {
	Tokens       *Count `json:"seq_len,omitempty"`
	SinkWindow   *Count `json:"sink_window,omitempty"`
	BoundedBytes *Count `json:"sliding_resident_bytes,omitempty"`
	ExactBytes   *Count `json:"full_resident_bytes,omitempty"`
	TotalBytes   *Count `json:"total_resident_bytes,omitempty"`
	Scope        string `json:"scope,omitempty"`
	MatchesRun   *bool  `json:"formula_matches_run"` // see Measured.Matches
}

// Measured are the bytes of live arrays, as the caches counted them.
type Measured struct {
	ExactBytes    *Count `json:"exact_layer_bytes"`
	BoundedBytes  *Count `json:"bounded_own_bytes"`
	RestoredBytes *Count `json:"restored_bytes"`           // of rows, or of the latents they come from, with the source's
	SourceBytes   *Count `json:"source_bytes,omitempty"`   // of restored_bytes: caches of what restores rows
	RestoredAs    string `json:"restored_as,omitempty"`    // rows or latents
	RestoredWhere string `json:"restored_where,omitempty"` // where they live
	TotalBytes    *Count `json:"total_bytes"`
}

// FullKV are full caches of the same tokens.
type FullKV struct {
	MeasuredBytes *Count `json:"measured_bytes,omitempty"`
	FormulaMB     *Rate  `json:"total_resident_mb,omitempty"`
}

// Throughput has the times of both arms and the speed-up claimed.
type Throughput struct {
	Cross           *Times      `json:"k3_cross_model,omitempty"`
	Oracle          *Times      `json:"oracle_native_ar,omitempty"`
	DecodeOnly      *DecodeOnly `json:"decode_only"`
	Speedup         *Rate       `json:"cross_model_speedup_vs_oracle_ar"` // end to end
	SpeedupWithheld []string    `json:"speedup_withheld_reasons"`
}

// Times are an arm's times, with a row per sample.
type Times struct {
	Tokens          *Count   `json:"tokens"`
	WallSeconds     *Seconds `json:"wall_seconds"`
	TokensPerSecond *Rate    `json:"tokens_per_second"`
	Scope           string   `json:"timing_scope"`
	Mode            string   `json:"eval_mode,omitempty"`
	Loop            string   `json:"decode_loop,omitempty"`
	Rows            []Row    `json:"stage_timings"`
}

// A Row is how one sample ran.
type Row struct {
	Sample          *Count   `json:"sample"`
	PromptTokens    *Count   `json:"prompt_tokens,omitempty"`
	BuildSeconds    *Seconds `json:"build_restoration_s,omitempty"`
	CaptureSeconds  *Seconds `json:"aux_prompt_capture_s,omitempty"`
	PrefillSeconds  *Seconds `json:"prefill_s,omitempty"`
	RestoredPrefill *Seconds `json:"restored_prefill_s,omitempty"` // an older name of prefill_s
	DecodeSeconds   *Seconds `json:"decode_s,omitempty"`           // Tandem's: from the first token
	EndToEndSeconds *Seconds `json:"e2e_s,omitempty"`
	Active          *bool    `json:"restoration_active,omitempty"`
	RestoredRows    *Count   `json:"restored_rows,omitempty"` // in the banks of all layers
	EvictedRows     *Count   `json:"evicted_rows,omitempty"`  // own rows that bounded layers gave up
	KVBits          *Count   `json:"kv_bits,omitempty"`       // of quantized caches; 0 = not quantized
	LoopedFrom      *Count   `json:"looped_from,omitempty"`   // token at which the answer's loop begins; 0 = none
	Loop            string   `json:"decode_loop,omitempty"`
	Fused           *Fused   `json:"fused,omitempty"`

	Held *Measured `json:"held,omitempty"` // by the caches at the end of the prompt
}

// Fused is what the loop that verifies blocks did.
type Fused struct {
	Blocks        *Count   `json:"blocks"`
	MeanAccept    *Rate    `json:"mean_accept_len"`
	DecodeTokens  *Count   `json:"decode_tokens,omitempty"`
	FirstBlocks   []Number `json:"block_eval_s_first8,omitempty"` // seconds each
	MaxBlock      *Seconds `json:"block_eval_s_max,omitempty"`
	MeanBlock     *Seconds `json:"block_eval_s_mean,omitempty"`
	StoppedLooped *bool    `json:"stopped_on_runaway,omitempty"`
}

// DecodeOnly are the medians of decoding alone.
type DecodeOnly struct {
	Cross   *Rate `json:"cross_median_tok_s"`
	Oracle  *Rate `json:"oracle_median_tok_s"`
	Speedup *Rate `json:"speedup"`
}

// A Turn is one answer of a chat.
type Turn struct {
	User         string   `json:"user,omitempty"`
	Text         *string  `json:"text,omitempty"`
	Tokens       *Count   `json:"tokens,omitempty"`
	Blocks       *Count   `json:"blocks,omitempty"`
	MeanAccept   *Rate    `json:"mean_accept_len,omitempty"`
	FThetaRan    *bool    `json:"f_theta_ran,omitempty"`
	RestoredRows *Count   `json:"restored_rows,omitempty"`
	Fallbacks    []string `json:"fallbacks_taken,omitempty"`
}

// isLegacy reports whether the report is older than the gate.
func (r *Report) isLegacy() bool { return value(r.SchemaVersion) < SchemaVersion }

// isChat reports whether the rules of chats apply.
func (r *Report) isChat() bool {
	return r.Kind == KindChat || r.Kind == KindMacChat || r.Turns != nil
}

// isEvaluation reports whether the rules of evaluations apply.
func (r *Report) isEvaluation() bool {
	return !r.isChat() || r.Results != nil || r.Gate != nil || r.Memory != nil || r.Throughput != nil
}
