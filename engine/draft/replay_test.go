package draft

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A recorded text has, for each token of an answer, what each drafter proposes after it. The
// answer is the same whichever drafter proposes, so that any choice can be replayed. The test
// TestRecordRounds of app/bench writes testdata/rounds.json.
type recorded struct {
	Model string
	Kind  string
	Arms  []recordedArm
}

// A recordedArm has one digit to base 36 for each token.
type recordedArm struct {
	Name                string
	Offered, Stood      string
	Match, Count, Share string
	First, Hope         string
}

func figure(digits string, i int) int {
	if i >= len(digits) {
		return 0
	}
	return strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz", digits[i])
}

// loadRecorded returns the recorded texts.
func loadRecorded(t *testing.T) (list []recorded) {
	t.Helper()
	data, err := os.ReadFile("testdata/rounds.json")
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// storyStart is the length of the prompts. story is prompt and answer: the id of a token is its
// position.
const storyStart = 500

var story = func() (ids []int32) {
	for i := range int32(storyStart + 1000) {
		ids = append(ids, i)
	}
	return ids
}()

// candidate is what the arm can propose after i tokens of the answer.
func (a *recordedArm) candidate(i int) Candidate {
	p := Candidate{Limit: figure(a.Offered, i), Features: Features{
		Match: min(figure(a.Match, i), maxFeature), Count: figure(a.Count, i),
		Share: float64(figure(a.Share, i)) / 35,
	}}
	if a.Name == "ngram" && p.Limit > 0 {
		at, stood := storyStart+i, figure(a.Stood, i)
		p.Preview = append(slices.Clone(story[at:at+stood]), slices.Repeat([]int32{-1}, p.Limit-stood)...)
	}
	return p
}

// trained returns the name of the text's drafter with weights.
func (r recorded) trained() string {
	for _, a := range r.Arms {
		if a.Name != "ngram" && !strings.HasPrefix(a.Name, "lookup+") {
			return a.Name
		}
	}
	return ""
}

// A machine has the costs of rounds in plain steps: of a verify forward by its drafts, and of
// drafting.
type machine struct {
	name   string
	verify []float64 // at 1, 2, 4, 8, 16 and 32 rows
	block  float64   // of a block of drafts
	chain  float64   // of each draft of a chain
}

func (m machine) cost(arm string, depth int) float64 {
	rows := math.Log2(float64(depth + 1))
	i := int(rows)
	steps := m.verify[i]
	if part := (float64(depth+1) - math.Exp2(float64(i))) / math.Exp2(float64(i)); part > 0 {
		steps += part * (m.verify[i+1] - m.verify[i])
	}
	switch {
	case depth == 0 || arm == "ngram":
	case strings.HasSuffix(arm, "model"):
		steps += m.chain * float64(depth)
	default:
		steps += m.block
	}
	return steps
}

var machines = []machine{
	{"cheap rows", []float64{1, 1.02, 1.04, 1.33, 1.27, 1.9}, 0.45, 0.2},
	{"dear rows", []float64{1, 1.07, 1.5, 2.64, 3.42, 6}, 0.25, 0.15},
	{"half a step more", []float64{1, 1.3, 1.4, 1.6, 2.2, 3.4}, 0.5, 0.3},
}

// A replay decodes recorded texts.
type replay struct {
	machine
	mix   []string
	rng   *rand.Rand
	clock float64 // plain steps
	n     int     // tokens
}

// text decodes one text, with a choice before and a report after each round.
func (r *replay) text(t recorded, next func(at []*recordedArm, i int) (arm, depth int),
	report func(arm, depth, accepted int, cost time.Duration)) {
	var arms []*recordedArm
	for _, name := range r.mix {
		i := slices.IndexFunc(t.Arms, func(a recordedArm) bool { return a.Name == name })
		arms = append(arms, &t.Arms[i])
	}
	for i := 0; i < len(t.Arms[0].Offered); {
		arm, depth := next(arms, i)
		name, accepted := "", 0
		if arm >= 0 {
			name = arms[arm].Name
			accepted = min(depth, figure(arms[arm].Stood, i))
		}
		steps := r.cost(name, depth)
		if r.rng != nil {
			steps *= math.Exp(0.05 * r.rng.NormFloat64())
		}
		r.clock += r.cost(name, depth)
		r.n += accepted + 1
		report(arm, depth, accepted, time.Duration(steps*float64(plainStep)))
		i += accepted + 1
	}
}

// fixed returns the time per token of a drafter at a fixed depth wherever it proposes, by arm; 0
// drafts nothing. Elsewhere a round is plain.
func fixed(m machine, texts []recorded, mix []string, depths []int) float64 {
	r := replay{machine: m, mix: mix}
	for _, t := range texts {
		r.text(t, func(arms []*recordedArm, i int) (int, int) {
			for j, d := range depths {
				if n := min(d, figure(arms[j].Offered, i)); n > 0 {
					return j, n
				}
			}
			return -1, 0
		}, func(int, int, int, time.Duration) {})
	}
	return r.clock / float64(r.n)
}

// hindsight returns the least time per token of a fixed choice: one drafter at one depth wherever it
// proposes, or plain decoding.
func hindsight(m machine, texts []recorded, mix []string) (least float64, what string) {
	least, what = 1, "plain"
	for j, name := range mix {
		depths := []int{1, 2, 3, 4, 5, 6, 7}
		if name == "ngram" {
			depths = []int{1, 2, 3, 4, 5, 7, 10, 15, 20, 31}
		}
		for _, d := range depths {
			all := make([]int, len(mix))
			all[j] = d
			if x := fixed(m, texts, mix, all); x < least {
				least, what = x, fmt.Sprintf("%s, %d drafts", name, d)
			}
		}
	}
	return least, what
}

// fewTexts is how many texts make a row that is judged. In fewer of them the best choice in
// hindsight is luck, and they are over before anything is learned.
const fewTexts = 4

// The selector is replayed on recorded rounds of real texts, on three machines, with each mix of
// drafters. It is compared with the best drafter at the best depth, chosen in hindsight.
func TestSelectorIsNearTheBestChoiceOnRecordedRounds(t *testing.T) {
	kinds := map[string][]recorded{}
	for _, x := range loadRecorded(t) {
		for _, k := range []string{x.Model + ", " + x.Kind, x.Model + ", all"} {
			kinds[k] = append(kinds[k], x)
		}
	}
	judged := 0
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		texts := kinds[kind]
		trained := texts[0].trained()
		for _, mix := range [][]string{{"ngram"}, {trained}, {"ngram", trained},
			{"ngram", trained, "lookup+" + trained}} {
			if len(mix) == 3 && len(texts[0].Arms) < 3 {
				continue
			}
			for _, m := range machines {
				best, what := hindsight(m, texts, mix)
				got := average(func(seed uint64) float64 { return adapt(m, texts, mix, seed) })
				line := fmt.Sprintf("%s, %d texts, %s, %s: %.2f times as fast as plain, %.3f of the best fixed choice (%s)",
					kind, len(texts), strings.Join(mix, " and "), m.name, 1/got, best/got, what)
				if t.Log(line); len(texts) < fewTexts {
					continue
				}
				if judged++; best/got < 0.97 {
					t.Errorf("%s; want 0.97", line)
				}
			}
		}
	}
	if judged < 30 {
		t.Errorf("only %d rows were judged", judged)
	}
}

// adapt returns the time per token of the selector, after it has seen the texts once or more.
func adapt(m machine, texts []recorded, mix []string, seed uint64) float64 {
	var arms []Arm
	for _, name := range mix {
		limit := 7
		if name == "ngram" {
			limit = MaxDepth
		}
		arms = append(arms, Arm{Name: name, Limit: limit})
	}
	s := NewSelector("m", arms, nil)
	r := &replay{machine: m, mix: mix, rng: rand.New(rand.NewPCG(seed, 5))}
	var choice Choice
	var now int
	var here []*recordedArm
	pass := func() {
		for _, i := range r.rng.Perm(len(texts)) {
			course := s.NewRecentAcceptance()
			r.text(texts[i], func(at []*recordedArm, i int) (int, int) {
				list := make([]Candidate, len(at))
				for j, a := range at {
					list[j] = a.candidate(i)
				}
				now, here = i, at
				choice, _ = s.Next(course, story[:i+storyStart], list)
				return choice.Arm, choice.Depth
			}, func(arm, depth, accepted int, cost time.Duration) {
				if arm < 0 {
					s.Plain(choice, cost)
					return
				}
				out := Round{Depth: depth, Accepted: accepted, Cost: cost,
					Confidence: float64(figure(here[arm].Hope, now)) / 4 / 7}
				course.Record(arm, out)
				s.Round(choice, out)
			})
		}
	}
	for r.n < 1000 {
		pass()
	}
	r.clock, r.n = 0, 0
	for r.n < 2000 {
		pass()
	}
	return r.clock / float64(r.n)
}
