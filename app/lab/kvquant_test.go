package lab

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// quantizable are sizes of a tiny model whose heads take groups of 64.
var quantizable = map[string]any{"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}

func TestKVQuantJudgesCodecs(t *testing.T) {
	tables, reports, err := evaluated(t, "", func(env bench.Env) (evaluator, error) {
		e := loadSubject(t, "qwen3", quantizable)
		e.terse = true
		k := newKVQuant(e, kvquantOptions{subjectOptions: quickly}, env.Err)
		k.tokens = 8
		return k, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	codecs := startsWith(t, tables, "kvquant: rows")
	for row, bits := range map[string]float64{"identity": 32, "affine8, groups of 64": 9,
		"affine8, groups of 32": 10, "affine4, groups of 64": 5, "affine4, groups of 32": 6} {
		if got := cellOf(t, codecs, row, "bits per value"); got != bits { // float32: scales and biases too
			t.Errorf("%s takes %v bits a value, want %v", row, got, bits)
		}
	}
	mse := func(row string) float64 {
		v, err := strconv.ParseFloat(cellOf(t, codecs, row, "rel_mse").(string), 64)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	if eight, four := mse("affine8, groups of 64"), mse("affine4, groups of 64"); mse("identity") != 0 ||
		eight <= 0 || eight > four/100 {
		t.Errorf("rel_mse: %v", codecs.Rows)
	}
	for row, verdict := range map[string]string{"identity": "control",
		"affine4, groups of 64": "baseline", "affine8, groups of 64": "no better: more bits",
		"affine4, groups of 32": "no better: more bits"} {
		if got := cellOf(t, codecs, row, "verdict"); got != verdict {
			t.Errorf("%s: %v, want %s", row, got, verdict)
		}
	}
	if !strings.Contains(strings.Join(codecs.Notes, "\n"), "so none can win") {
		t.Errorf("no note says that no codec can win: %q", codecs.Notes)
	}
	bits := startsWith(t, tables, "kv-bits: what")
	for row, share := range map[string][2]float64{"8 bits": {0.25, 0.32}, "4 bits": {0.12, 0.2}} {
		if got := cellOf(t, bits, row, "of whole").(float64); got < share[0] || got > share[1] {
			t.Errorf("%s hold %v of whole rows", row, got)
		}
	}
	quantized := 0
	for _, r := range reports {
		name := r.Results.Cross.Name
		_, isCodec := strings.CutPrefix(name, "affine")
		isCodec = isCodec || name == armIdentity
		for i, row := range r.Throughput.Cross.Rows {
			if (*row.BuildSeconds > 0) != isCodec {
				t.Errorf("%s: capturing takes %v s", name, *row.BuildSeconds)
			}
			if want := bitsOf(name); int(*row.KVBits) != want {
				t.Errorf("%s: the caches had %d bits, want %d", name, *row.KVBits, want)
			}
			if isCodec && r.Results.Cross.Tokens[i] != r.Results.Oracle.Tokens[i] {
				t.Errorf("%s may say %d tokens, the oracle %d", name, r.Results.Cross.Tokens[i],
					r.Results.Oracle.Tokens[i])
			}
		}
		if r.Results.Cross.SystemUnderTest == evidence.QuantizedKV {
			quantized++
		}
	}
	if len(reports) != 7 || quantized != 2 {
		t.Errorf("%d reports, %d of quantized caches", len(reports), quantized)
	}
}

// bitsOf returns the bits of the caches that an arm is named after.
func bitsOf(arm string) int {
	n, _, _ := strings.Cut(arm, " bits")
	bits, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return bits
}

// TestBitsAreThoseOfTheCaches asks for 8 bits where every layer slides. None is quantized, and nothing
// says so but the caches.
func TestBitsAreThoseOfTheCaches(t *testing.T) {
	e := loadSubject(t, "llama", quantizable, map[string]any{"sliding_window": 96,
		"layer_types": slices.Repeat([]string{"sliding_attention"}, 3)})
	e.terse = true
	k := newKVQuant(e, kvquantOptions{subjectOptions: quickly}, io.Discard)
	defer k.Close()
	n := needles(haystacks[0], 1, true)[0]
	ids, err := k.directPrompt(t.Context(), n.text)
	if err != nil {
		t.Fatal(err)
	}
	a := &recallArm{name: "8 bits", model: newGauge(e.bundle.Model)}
	if err := k.answerAlone(t.Context(), a, needlePrompt{n, ids}, 4,
		engine.Options{KVBits: 8}); err != nil {
		t.Fatal(err)
	}
	if bits := a.samples[0].KVBits; bits != 0 {
		t.Errorf("the report says %d bits", bits)
	}
	var tables []figures.Table
	err = k.evaluate(t.Context(), func(table figures.Table) error {
		tables = append(tables, table)
		return nil
	}, func(title string, _ measuredRun) error {
		t.Errorf("there is a report %q", title)
		return nil
	})
	if err != nil || len(tables) != 2 || tables[0].Notes[0] != noFullLayer ||
		tables[1].Notes[0] != noFullLayer {
		t.Errorf("%v, %v", tables, err)
	}
}

// TestKVQuantFailsIfIdentityLoses: then the machinery is wrong, and no verdict counts.
func TestKVQuantFailsIfIdentityLoses(t *testing.T) {
	right, wrong := evidence.Sample{Correct: new(true)}, evidence.Sample{Correct: new(false)}
	whole, eight := &bitsArm{perplexity: 10}, &bitsArm{perplexity: 10.04}
	whole.samples, eight.samples = []evidence.Sample{right}, []evidence.Sample{right}
	if err := keepsAt8(whole, eight); err != nil {
		t.Error(err)
	}
	eight.perplexity = 10.06
	if err := keepsAt8(whole, eight); err == nil {
		t.Error("8 bits may change the perplexity")
	}
	eight.perplexity, eight.samples = 10, []evidence.Sample{wrong}
	if err := keepsAt8(whole, eight); !errors.Is(err, errLost) {
		t.Error("8 bits may lose needles")
	}
	oracle := &recallArm{samples: []evidence.Sample{right}}
	base := &codecArm{codec: baseline, loss: loss{0.01, 5}}
	for _, c := range []struct {
		loss
		sample evidence.Sample
		want   string
	}{
		{loss{0.001, 5}, right, "wins"},
		{loss{0.001, 5}, wrong, "loses recall"},
		{loss{0.001, 5.5}, right, "no better: more bits"},
		{loss{0.01, 4}, right, "no better: more error"},
	} {
		a := &codecArm{loss: c.loss, recallArm: recallArm{samples: []evidence.Sample{c.sample}}}
		if got := a.judge(base, oracle); got != c.want {
			t.Errorf("%+v: %s, want %s", c.loss, got, c.want)
		}
	}
}

// TestBlindOracleIsNoted names the retrieval model to users of another one.
func TestBlindOracleIsNoted(t *testing.T) {
	wrong := []evidence.Sample{{Correct: new(false)}}
	for _, terse := range []bool{false, true} {
		notes := (&subject{terse: terse}).blindNote(wrong)
		if len(notes) != 1 || strings.Contains(notes[0], "--model "+RetrievalModel) == terse {
			t.Errorf("terse %t: %q", terse, notes)
		}
	}
	if notes := (&subject{}).blindNote(append(wrong, evidence.Sample{Correct: new(true)})); notes != nil {
		t.Errorf("an oracle that finds one of two: %q", notes)
	}
}

// A forgetful model records other rows than it attends.
type forgetful struct{ lm.Model }

func (f forgetful) KVShapes() []lm.KVShape { return f.Model.(lm.Restorable).KVShapes() }

func (f forgetful) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	out := f.Model.Forward(s, b, taps)
	for _, q := range b {
		for i, kv := range q.Record {
			if kv.K != nil {
				q.Record[i].K = s.Mul(kv.K, s.Scalar(-1, kv.K.Dtype()))
			}
		}
	}
	return out
}

// TestCaptureHasTheRowsOfTheModel injects rows that were captured, right ones and wrong ones.
func TestCaptureHasTheRowsOfTheModel(t *testing.T) {
	e := loadSubject(t, "qwen3", quantizable)
	defer e.Close()
	e.terse = true
	k := newKVQuant(e, kvquantOptions{subjectOptions: quickly}, io.Discard)
	n := needles(haystacks[0], 1, true)[0]
	ids, err := k.directPrompt(t.Context(), n.text)
	if err != nil {
		t.Fatal(err)
	}
	whole := e.bundle.Model
	for _, m := range []lm.Model{whole, forgetful{whole}} {
		e.bundle.Model = m
		oracle := &recallArm{name: armOracle, model: newGauge(whole)}
		one := &codecArm{recallArm: recallArm{name: armIdentity}}
		shapes, others := e.fullLayers()
		if err := k.codecsOn(t.Context(), needlePrompt{n, ids}, shapes, others, oracle,
			[]*codecArm{one}); err != nil {
			t.Fatal(err)
		}
		same := e.bundle.Tokenizer.Decode(one.ids[0], false) ==
			e.bundle.Tokenizer.Decode(oracle.ids[0], false)
		if want := m == whole; same != want {
			t.Errorf("the answer is the oracle's: %t, want %t", same, want)
		}
	}
	k.tokens = 8
	var shown figures.Table
	err = k.codecs(t.Context(), []needlePrompt{{n, ids}},
		func(b figures.Table) error { shown = b; return nil },
		func(string, measuredRun) error { return nil })
	if !errors.Is(err, errLost) || !strings.Contains(err.Error(), "in plain decoding") ||
		cellOf(t, shown, armIdentity, "verdict") != "LOSES: the machinery is wrong" {
		t.Errorf("wrong rows give %v and %v", err, shown.Rows)
	}
	e.bundle.Model = whole
	if cache.GroupSize(64) != 64 {
		t.Error("groups of 64 do not fit 64 elements")
	}
}
