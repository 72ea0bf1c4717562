package bench

import (
	"strings"
	"testing"

	"tandem/app/evidence"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
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

// TestNeedlesAreTheSameEveryTime checks what the seed fixes, and where needles lie.
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
			tables, reports, err := evaluated(t, func(o Options) (bench, error) {
				e := loadSubject(t, shape)
				if addRestoration(t, e); shape == "qwen3" {
					e.terse = true
				}
				return newRecall(e, o)
			}, Options{Home: t.TempDir(), Tokens: 8})
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
				delete(want, name)
				if r.MeasuredAt == "" {
					t.Errorf("%s has no date", name)
				}
			}
			if len(want) > 0 {
				t.Errorf("there is no report of %v", want)
			}
			live := startsWith(t, tables, "recall: ctx70")
			if same := live.cell(t, armIdentity, "same tokens"); same != "1/1" {
				t.Errorf("identity says what the oracle says in %v", same)
			}
			own := startsWith(t, tables, "own rows")
			for _, row := range own.Rows {
				if row[2] != float64(cache.DefaultSink+cache.DefaultWindow) || row[3] != float64(slack) {
					t.Errorf("own rows: %v", row)
				}
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
	run := func(o Options) map[string]benchTable {
		tables, _, err := evaluated(t, func(o Options) (bench, error) {
			e := loadSubject(t, "qwen3", map[string]any{"max_position_embeddings": 32768})
			e.terse = true
			r, err := newRecall(e, o)
			if err == nil {
				r.arms = r.arms[:2] // oracle, sink-window
			}
			return r, err
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	empty := startsWith(t, run(Options{Home: home, Tokens: 2}), "recall: ctx280, from saved")
	if len(empty.Rows) > 0 || len(empty.Notes) != 1 {
		t.Errorf("nothing is saved yet, and it shows %v", empty)
	}
	run(Options{Home: home, Tokens: 2, Size: "ctx280"})
	saved := startsWith(t, run(Options{Home: home, Tokens: 2}), "recall: ctx280, from saved")
	if len(saved.Rows) != 1 || saved.Rows[0][0] != armSinkWindow ||
		!strings.HasPrefix(saved.Rows[0][1].(string), "20") ||
		!strings.Contains(saved.Rows[0][2].(string), "with bounded caches alone") {
		t.Errorf("the saved report is shown as %v", saved.Rows)
	}
}
