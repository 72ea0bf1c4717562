package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
)

// benchTexts is code that the pocket model was not trained on. build/bench/_code_prompts.py writes
// it. The source and the licence are in it.
//
//go:embed texts.json
var benchTexts []byte

// A Prompt is one text to continue.
type Prompt struct {
	IDs []int32

	// Script is what the target is made to say, or nil. See dictated.
	Script []int32
}

// A Workload is a set of prompts of one kind.
type Workload struct {
	Name    string
	Doc     string
	Prompts []Prompt
	Picks   []int // indices of the prompts that are used, in order
	others  []int // indices of the other prompts; nil if all are used
	Limit   int   // tokens of an answer

	unusable map[unusable]string // why a prompt does not count, by the first side's answer; "" if it does
}

// An unusable is the key of a prompt whose answer loops or is too short in a setting.
type unusable struct {
	setting Setting
	index   int
}

// half returns a workload of every second prompt, from the given one on. The other prompts become
// its others.
func (w *Workload) half(from int) *Workload {
	part := *w
	part.Picks = nil
	for i := range w.Prompts {
		if i%2 == from {
			part.Picks = append(part.Picks, i)
		} else {
			part.others = append(part.others, i)
		}
	}
	return &part
}

const (
	CodeAnswer  = 64  // tokens, at most: what an editor asks for
	noisePrompt = 64  // tokens
	otherAnswer = 128 // tokens, at most
)

// Workloads are all workloads.
type Workloads struct {
	Code         *Workload // what a drafter is for
	Edit, copied *Workload // what a lookup is for: as the model copies, and copied right
	noise, after *Workload // where no draft helps: dictated, and what the model says after it

	chatCode, chatProse *Workload // nil for a model that does not chat

	again, dictatedAgain memoryTexts // similar prompts
	words                []int32     // of all code
}

// An editText is a function, and a name in it that is changed to another.
type editText struct{ Text, From, To string }

// readTexts returns the texts of texts.json.
func readTexts() (texts struct {
	Code []struct{ Text string }
	Edit []editText
}, err error) {
	if err = json.Unmarshal(benchTexts, &texts); err != nil {
		err = fmt.Errorf("texts.json: %w", err)
	}
	return texts, err
}

// HeldOutCode returns code that the pocket model was not trained on.
func HeldOutCode() (code []string, err error) {
	texts, err := readTexts()
	for _, c := range texts.Code {
		code = append(code, c.Text)
	}
	return code, err
}

// NewWorkloads encodes the texts for a tokenizer.
func NewWorkloads(t *tokenizer.Tokenizer) (w Workloads, err error) {
	texts, err := readTexts()
	if err != nil {
		return w, err
	}
	encode := func(text string) []int32 {
		ids, e := t.Encode(text, tokenizer.EncodeOptions{NoSpecial: true})
		if e != nil && err == nil {
			err = e
		}
		return ids
	}
	w.Code = &Workload{Name: "code",
		Doc: "prompts of Go code that the pocket model was not trained on", Limit: CodeAnswer}
	var pool []int32
	for _, c := range texts.Code {
		ids := encode(c.Text)
		pool = append(pool, ids...)
		w.Code.Prompts = append(w.Code.Prompts, Prompt{IDs: ids})
	}

	w.Edit = &Workload{Name: "edit", Doc: "a function, and its first line again with another name",
		Limit: otherAnswer}
	w.copied = &Workload{Name: "edit, dictated", Limit: 2 * otherAnswer,
		Doc: "the same, and the target is made to copy it right: the pocket model is too small for that"}
	for _, e := range texts.Edit {
		given, rest := renamed(e.Text, e.From, e.To)
		ids := encode(given)
		w.Edit.Prompts = append(w.Edit.Prompts, Prompt{IDs: ids})
		w.copied.Prompts = append(w.copied.Prompts, Prompt{IDs: ids, Script: encode(rest)})
	}

	w.words = pool
	w.again, w.dictatedAgain = newMemoryTexts(texts.Edit, encode)

	w.noise = &Workload{Name: "shuffled, dictated", Limit: coldRequest,
		Doc: "the target is made to say tokens of code in random order, which no drafter can guess"}
	w.after = &Workload{Name: "shuffled",
		Doc: "what the model says after tokens of code in random order", Limit: otherAnswer}
	random := rand.New(rand.NewPCG(1, 2))
	drawn := func(n int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = pool[random.IntN(len(pool))]
		}
		return ids
	}
	for range w.Code.Prompts {
		ids := drawn(noisePrompt)
		w.noise.Prompts = append(w.noise.Prompts, Prompt{IDs: ids, Script: drawn(coldRequest)})
		w.after.Prompts = append(w.after.Prompts, Prompt{IDs: ids})
	}
	for _, one := range []*Workload{w.Code, w.Edit, w.copied, w.noise, w.after} {
		one.unusable = map[unusable]string{}
		for i := range one.Prompts {
			one.Picks = append(one.Picks, i)
		}
	}
	return w, err
}

// renamed returns the text followed by its first line with another identifier, and the rest of the
// text with that identifier. The first line has the identifier.
func renamed(text, from, to string) (given, rest string) {
	again := regexp.MustCompile(`\b`+regexp.QuoteMeta(from)+`\b`).ReplaceAllLiteralString(text, to)
	first, rest, _ := strings.Cut(again, "\n")
	return text + "\n" + first + "\n", rest
}

// A Dictated model says a script. It computes everything that the model computes, and raises the
// logits of the script. It measures speed on a text that the model would not write itself. A
// drafter's accepted drafts are the same there, and so is the time they save.
type Dictated struct {
	lm.Model
	script map[int]int32 // by position
	end    int           // position after the last row of the last forward
}

// Dictate sets the script of the next request.
func (d *Dictated) Dictate(p Prompt) {
	d.script = map[int]int32{}
	for i, id := range p.Script {
		d.script[len(p.IDs)+i] = id
	}
}

// Forward implements lm.Model, for one sequence.
func (d *Dictated) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	d.end = b[0].Pos + b[0].N
	return d.Model.Forward(s, b, taps)
}

// certain is added to the logit of each token of the script.
const certain = 1e4

// Unembed implements lm.Model, for the last rows of the last forward.
func (d *Dictated) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := d.Model.Unembed(s, hidden)
	if len(d.script) == 0 {
		return logits
	}
	n, vocab := logits.Dim(0), logits.Dim(1)
	raise := make([]float32, n*vocab)
	for i := range n {
		if id, ok := d.script[d.end-n+i+1]; ok {
			raise[i*vocab+int(id)] = certain
		}
	}
	return s.Add(s.AsType(logits, mlx.Float32), mlx.New(s, raise, n, vocab))
}
