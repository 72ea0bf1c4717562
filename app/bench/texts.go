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
// it. The source and the licence stand in it.
//
//go:embed texts.json
var benchTexts []byte

// A prompt is one text to continue.
type prompt struct {
	ids []int32

	// script is what the target is made to say; nil if it says what it would. See dictated.
	script []int32
}

// A workload is a set of prompts of one kind.
type workload struct {
	name    string
	doc     string
	prompts []prompt
	picks   []int // indices of the prompts that are used, in order
	others  []int // indices of the other prompts; nil if all are used
	limit   int   // tokens of an answer

	unusable map[unusable]string // why a prompt does not count, by the first side's answer; empty if it does
}

// An unusable is the key of a prompt whose answer loops or is too short in a setting.
type unusable struct {
	setting setting
	index   int
}

// half returns a workload of every second prompt, from the given one on. The other prompts become
// its others.
func (w *workload) half(from int) *workload {
	part := *w
	part.picks = nil
	for i := range w.prompts {
		if i%2 == from {
			part.picks = append(part.picks, i)
		} else {
			part.others = append(part.others, i)
		}
	}
	return &part
}

const (
	codeAnswer  = 64  // tokens, at most: what an editor asks for
	noisePrompt = 64  // tokens
	otherAnswer = 128 // tokens, at most
)

// workloads are all there are.
type workloads struct {
	code         *workload // what a drafter is for
	edit, copied *workload // what a lookup is for: as the model copies, and copied right
	noise, after *workload // where no draft helps: dictated, and what the model says after it

	chatCode, chatProse *workload // nil for a model that does not chat

	again, dictatedAgain memoryTexts // similar prompts
	words                []int32     // of all code
}

// An editText is a function, and a name in it that is changed to another.
type editText struct{ Text, From, To string }

// newWorkloads encodes the texts for a tokenizer.
func newWorkloads(t *tokenizer.Tokenizer) (w workloads, err error) {
	var texts struct {
		Code []struct{ Text string }
		Edit []editText
	}
	if err := json.Unmarshal(benchTexts, &texts); err != nil {
		return w, fmt.Errorf("texts.json: %w", err)
	}
	encode := func(text string) []int32 {
		ids, e := t.Encode(text, tokenizer.EncodeOptions{NoSpecial: true})
		if e != nil && err == nil {
			err = e
		}
		return ids
	}
	w.code = &workload{name: "code",
		doc: "prompts of Go code that the pocket model was not trained on", limit: codeAnswer}
	var pool []int32
	for _, c := range texts.Code {
		ids := encode(c.Text)
		pool = append(pool, ids...)
		w.code.prompts = append(w.code.prompts, prompt{ids: ids})
	}

	w.edit = &workload{name: "edit", doc: "a function, and its first line again with another name",
		limit: otherAnswer}
	w.copied = &workload{name: "edit, dictated", limit: 2 * otherAnswer,
		doc: "the same, and the target is made to copy it right: the pocket model is too small for that"}
	for _, e := range texts.Edit {
		given, rest := renamed(e.Text, e.From, e.To)
		ids := encode(given)
		w.edit.prompts = append(w.edit.prompts, prompt{ids: ids})
		w.copied.prompts = append(w.copied.prompts, prompt{ids: ids, script: encode(rest)})
	}

	w.words = pool
	w.again, w.dictatedAgain = newMemoryTexts(texts.Edit, encode)

	w.noise = &workload{name: "shuffled, dictated", limit: coldRequest,
		doc: "the target is made to say tokens of code in random order, which no drafter can guess"}
	w.after = &workload{name: "shuffled",
		doc: "what the model says after tokens of code in random order", limit: otherAnswer}
	random := rand.New(rand.NewPCG(1, 2))
	drawn := func(n int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = pool[random.IntN(len(pool))]
		}
		return ids
	}
	for range w.code.prompts {
		ids := drawn(noisePrompt)
		w.noise.prompts = append(w.noise.prompts, prompt{ids: ids, script: drawn(coldRequest)})
		w.after.prompts = append(w.after.prompts, prompt{ids: ids})
	}
	for _, one := range []*workload{w.code, w.edit, w.copied, w.noise, w.after} {
		one.unusable = map[unusable]string{}
		for i := range one.prompts {
			one.picks = append(one.picks, i)
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

// A dictated model says a script. It computes everything that the model computes, and raises the
// logits of the script. It measures speed on a text that the model would not write itself. A
// drafter's right guesses are the same there, and so is what they save.
type dictated struct {
	lm.Model
	script map[int]int32 // by position
	end    int           // position after the last row of the last forward
}

// dictate sets the script of the next request.
func (d *dictated) dictate(p prompt) {
	d.script = map[int]int32{}
	for i, id := range p.script {
		d.script[len(p.ids)+i] = id
	}
}

// Forward implements lm.Model, for one sequence.
func (d *dictated) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	d.end = b[0].Pos + b[0].N
	return d.Model.Forward(s, b, taps)
}

// certain is added to the logit of each token of the script.
const certain = 1e4

// Unembed implements lm.Model, for the last rows of the last forward.
func (d *dictated) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
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
