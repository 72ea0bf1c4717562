package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// addRestoration gives a subject a random drafter and a random f_theta.
func addRestoration(t *testing.T, e *subject) {
	t.Helper()
	var err error
	if e.drafter, err = models.LoadDrafter(t.Context(), e.bundle, enginetest.TinyDrafter(t, nil),
		models.DrafterSettings{}, models.Options{}); err != nil {
		t.Fatal(err)
	}
	if e.ftheta, err = models.LoadFTheta(t.Context(), e.bundle, e.drafter,
		enginetest.TinyFTheta(t, nil), models.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestNeedlesAreTheSameEveryTime checks what the seed fixes, and where needles are.
func TestNeedlesAreTheSameEveryTime(t *testing.T) {
	for _, h := range haystacks {
		one, two := needles(h, 4, false), needles(h, 4, false)
		for i, n := range one {
			if n != two[i] {
				t.Errorf("%s: prompt %d differs", h.name, i)
			}
			lines := strings.Split(n.text, "\n")
			lines = lines[:len(lines)-2] // an empty one and the question
			at := -1
			for j, line := range lines {
				if strings.Contains(line, n.code) {
					at = j
				}
			}
			if notes := len(lines) - 1; notes < h.from || notes > h.to ||
				at < needleEdge || at > notes-needleEdge {
				t.Errorf("%s: the needle is line %d of %d", h.name, at, len(lines))
			}
			if !n.found("It is "+n.code+".") || n.found(n.code[1:]) {
				t.Errorf("%s: %q is judged wrong", h.name, n.code)
			}
		}
	}
}

// TestRecallLabelsWhatRan measures all arms of random models. Labels and counts come from what ran,
// and identity says what the oracle says.
func TestRecallLabelsWhatRan(t *testing.T) {
	for _, shape := range []string{"qwen3", "gemma3_text"} {
		t.Run(shape, func(t *testing.T) {
			tables, reports, err := evaluated(t, t.TempDir(), func(env bench.Env) (evaluator, error) {
				e := loadSubject(t, shape)
				if addRestoration(t, e); shape == "qwen3" {
					e.terse = true
				}
				return newRecall(e, recallOptions{subjectOptions: quickly, tokens: 8}, env)
			})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{armSinkWindow: evidence.SinkWindow,
				armIdentity: evidence.Restored, exactLayers + armIdentity: evidence.Restored,
				armFTheta: evidence.Restored, exactLayers + armFTheta: evidence.Restored,
				restore.NativeBypass: evidence.NativeBypass}
			if shape == "gemma3_text" { // its sliding layers look back no further than the window
				delete(want, exactLayers+armIdentity)
				delete(want, exactLayers+armFTheta)
			}
			for _, r := range reports {
				name := r.Results.Cross.Name
				row := r.Throughput.Cross.Rows[0]
				forced := r.Throughput.Cross.Mode == evidence.ModeTeacherForced
				if forced != strings.Contains(name, "teacher-forced") {
					t.Errorf("%s is evaluated by %s", name, r.Throughput.Cross.Mode)
				}
				if label, ok := want[name]; ok && r.Results.Cross.SystemUnderTest != label {
					t.Errorf("%s is called %s", name, r.Results.Cross.SystemUnderTest)
				}
				if n := *row.RestoredRows; (n > 0) != (want[name] == evidence.Restored) && !forced {
					t.Errorf("%s restored %d rows", name, n)
				}
				if row.LoopedFrom == nil {
					t.Errorf("nobody looked whether answers of %s loop", name)
				}
				delete(want, name)
				if r.MeasuredAt == "" {
					t.Errorf("%s has no date", name)
				}
			}
			if len(want) > 0 {
				t.Errorf("there is no report of %v", want)
			}
			live := startsWith(t, tables, "recall: ctx70")
			if same := cellOf(t, live, armIdentity, "same tokens"); same != "1/1" {
				t.Errorf("identity says what the oracle says in %v", same)
			}
			if as := cellOf(t, live, armSinkWindow, "as oracle"); as != nil {
				t.Errorf("both find nothing, and %v agree", as)
			}
			own := startsWith(t, tables, "own rows")
			for _, row := range own.Rows {
				if row[2] != float64(cache.DefaultSink+cache.DefaultWindow) || row[3] != float64(slack) {
					t.Errorf("own rows: %v", row)
				}
			}
			if full := cellOf(t, own, armFTheta, "full caches MB, by formula").(float64); shape != "qwen3" &&
				full != float64(2*2*16*4*(2*16+200))/1e6 { // two layers slide over 16 positions
				t.Errorf("full caches of 200 tokens take %v MB", full)
			}
			if len(own.Rows) < 4 || own.Rows[0][4] != own.Rows[1][4] {
				t.Errorf("own rows grow: %v", own.Rows)
			}
		})
	}
}

// TestLongRecallIsReadFromItsReport measures ctx280, and then shows it with its date.
func TestLongRecallIsReadFromItsReport(t *testing.T) {
	home := t.TempDir()
	run := func(o recallOptions, samples int) map[string]figures.Table {
		o.quick = true
		tables, _, err := evaluated(t, home, func(env bench.Env) (evaluator, error) {
			e := loadSubject(t, "qwen3", map[string]any{"max_position_embeddings": 32768})
			e.terse = true
			r, err := newRecall(e, o, env)
			if err == nil {
				r.arms = r.arms[:2] // oracle, sink-window
				r.samples = samples
			}
			return r, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	long, short := recallOptions{size: "ctx280"}, recallOptions{tokens: 2}
	run(long, recallSamples-1) // too little to be kept
	run(recallOptions{size: "ctx280", tokens: recallTokens - 1}, recallSamples)
	empty := startsWith(t, run(short, 1), "recall: ctx280, from saved")
	if len(empty.Rows) > 0 || len(empty.Notes) != 1 {
		t.Errorf("nothing is saved yet, and it shows %v", empty)
	}
	run(long, recallSamples)
	saved := startsWith(t, run(short, 1), "recall: ctx280, from saved")
	if len(saved.Rows) != 1 || saved.Rows[0][0] != armSinkWindow ||
		!strings.HasPrefix(saved.Rows[0][1].(string), "20") ||
		!strings.Contains(saved.Rows[0][2].(string), "with bounded caches alone") {
		t.Errorf("the saved report is shown as %v", saved.Rows)
	}
	files, err := filepath.Glob(filepath.Join(home, "bench", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v are kept, %v", files, err)
	}
	one, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"{": "cannot be read: line 1",
		string(one) + string(one): "has 2 reports in place of one; delete it"} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readReport(files[0])
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "; delete it") {
			t.Errorf("%.9s is refused with %v, want %s", text, err, want)
		}
	}
	broken := startsWith(t, run(short, 1), "recall: ctx280, from saved")
	if len(broken.Rows) != 1 || broken.Rows[0][2] != "not admitted" || len(broken.Notes) != 1 ||
		!strings.HasSuffix(broken.Notes[0], "delete it") {
		t.Errorf("a broken report is shown as %v, %q", broken.Rows, broken.Notes)
	}
}

// TestSavedReportsAreTheirModels keeps reports of models with one name apart, and no report that the
// gate refuses.
func TestSavedReportsAreTheirModels(t *testing.T) {
	e := loadSubject(t, "qwen3")
	defer e.Close()
	home := t.TempDir()
	r := &recall{subject: e, env: bench.Env{Home: home}, samples: recallSamples,
		tokens: recallTokens}
	files := map[string]bool{}
	for _, place := range []string{"", folderKey([]string{"a/model"}), folderKey([]string{"b/model"}),
		folderKey([]string{"b/model", "drafter"})} {
		e.place = place
		files[r.reportFile(haystacks[1], armSinkWindow)] = true
	}
	if len(files) != 4 {
		t.Errorf("four models have the files %v", files)
	}
	for file := range files {
		if !strings.Contains(file, "-f32-") {
			t.Errorf("%s does not name the type", file)
		}
	}
	mine := subjectOptions{starter: "mine", drafter: "drafts"}
	if place := e.placeOf("mine", mine); place != "" {
		t.Errorf("a draft model that restores nothing gives the starter the place %q", place)
	}
	e.ftheta = &models.FTheta{}
	if e.placeOf("mine", mine) == "" || e.placeOf("mine", subjectOptions{starter: "mine"}) != "" {
		t.Error("what a drafter of another folder restores has the starter's place")
	}
	e.ftheta = nil
	a := &recallArm{name: armSinkWindow}
	refused := &evidence.Report{Kind: evidence.KindRecall}
	if len(evidence.Check(refused)) == 0 {
		t.Error("the gate admits an empty report")
	}
	if err := r.save(haystacks[1], a, refused); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, "bench")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused report is kept: %v", err)
	}
}

// A rigged model has the test's own logits for the token at a position.
type rigged struct {
	lm.Model
	position, end int // end is the position after the last row of the last forward
	row           []float32
}

func (m *rigged) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	m.end = b[0].Pos + b[0].N
	return m.Model.Forward(s, b, taps)
}

func (m *rigged) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	if m.end != m.position {
		return m.Model.Unembed(s, hidden)
	}
	return mlx.New(s, m.row, 1, len(m.row))
}

// TestIdentityMustSayWhatTheOracleSays: random models find no needle, and that is not a pass. Where
// the oracle's best two tokens are nearly equal, either is right.
func TestIdentityMustSayWhatTheOracleSays(t *testing.T) {
	const one, two, three = 20, 30, 40
	e := loadSubject(t, "qwen3")
	defer e.Close()
	prompt := bench.TokenIDs(9, e.bundle.Model.Config().VocabSize)
	row := slices.Repeat([]float32{-1000}, e.bundle.Model.Config().VocabSize)
	row[one], row[two], row[three] = 1, 1-5e-5, 0.5
	e.bundle.Model = &rigged{Model: e.bundle.Model, position: len(prompt) + 1, row: row}
	oracle := &recallArm{name: armOracle, model: newGauge(e.bundle.Model)}
	oracle.engine = e.open(oracle.model, engine.Options{})
	defer oracle.engine.Close()
	said, err := e.answer(t.Context(), oracle, prompt, needle{code: "no code"}, 3)
	if err != nil || len(said.ids) != 3 || said.ids[1] != one {
		t.Fatalf("%v, %v", said.ids, err)
	}
	oracle.add(said)
	for _, name := range []string{armIdentity, exactLayers + armIdentity} {
		for id, want := range map[int32]bool{one: true, two: true, three: false} {
			a := &recallArm{name: name}
			other := said
			other.ids = slices.Clone(said.ids)
			other.ids[1] = id
			a.add(other)
			r := &recall{subject: e, arms: []*recallArm{oracle, a}}
			err := r.controls(t.Context(), haystacks[0])
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "token 1 is 40") {
				t.Errorf("%s says %d: %v", name, id, err)
			}
		}
	}
}

// TestBytesAreThoseOfTheFormulaAndOfThePrompt measures a model whose bounded layers keep slack beside
// what the formula of sink and window gives. The next column has full caches of the same tokens.
func TestBytesAreThoseOfTheFormulaAndOfThePrompt(t *testing.T) {
	const kv, dim, layers, size = 2, 16, 3, 4
	var last *recall
	tables, reports, err := evaluated(t, "", func(env bench.Env) (evaluator, error) {
		e := loadSubject(t, "qwen3")
		e.terse = true
		r, err := newRecall(e, recallOptions{subjectOptions: quickly, tokens: 8}, env)
		last = r
		return r, err
	})
	if err != nil {
		t.Fatal(err)
	}
	const row = 2 * kv * dim * size
	const bounded = cache.DefaultSink + cache.DefaultWindow
	for _, a := range last.arms {
		for i, h := range a.held {
			if n := a.samples[i].Prompt; h.positions != n {
				t.Errorf("%s: bytes are those of %d tokens, the prompt has %d", a.name, h.positions, n)
			}
		}
	}
	for _, r := range reports {
		name, memory := r.Results.Cross.Name, r.Memory
		rows := r.Throughput.Cross.Rows
		if alone := *rows[0].BuildSeconds; alone != 0 {
			t.Errorf("%s: %v s of restoring were measured in another run", name, alone)
		}
		if loop := rows[0].Loop; (loop == loopNative) != (name == restore.NativeBypass) {
			t.Errorf("%s decodes by %s", name, loop)
		}
		if memory == nil {
			continue
		}
		n := 0 // of bounded layers
		switch strings.TrimSuffix(name, ", teacher-forced") {
		case armSinkWindow, armIdentity:
			n = layers
		case exactLayers + armIdentity:
			n = layers - 1
		}
		if got := int(*memory.Formula.BoundedBytes); got != n*bounded*row {
			t.Errorf("%s: the formula gives %d bytes for %d bounded layers of %d rows", name, got, n, bounded)
		}
		if got := int(*memory.Measured.BoundedBytes); got != n*(bounded+slack)*row {
			t.Errorf("%s: %d layers hold %d bytes of own rows", name, n, got)
		}
		if full := int(*memory.Full.MeasuredBytes); full < layers*row*int(*memory.Formula.Tokens) {
			t.Errorf("%s: full caches hold %d bytes", name, full)
		}
	}
	own := startsWith(t, tables, "own rows")
	if cellOf(t, own, armIdentity, "restored MB") == nil {
		t.Errorf("no restored rows are beside: %v", own.Rows)
	}
}
