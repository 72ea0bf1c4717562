package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
)

const (
	maxN        = 8  // continuations of one prompt
	maxChoices  = 64 // continuations of one request, over all its prompts
	maxParallel = 8  // of one request's continuations generated at once
)

// params are what both generating routes take.
type params struct {
	model          string
	n              int
	bestOf         int  // continuations that are computed, of which n are returned; 0 where that is not asked for
	several        int  // prompts; 0 where a request has one
	maxTokens      *int // nil = what the context leaves
	stop           []string
	ignoreEOS      bool
	speculation    engine.Speculation
	prediction     string         // what the client expects to be generated
	grammar        *model.Grammar // nil for any text
	grammarParam   string         // the field it is of
	thinking       thinking
	single         bool // one call at most
	returnTokenIDs bool
	returnDrafts   bool
	stream         bool
	includeUsage   bool
	seed           *uint64

	temperature, topP, minP  *float64
	repetition               *float64
	presence, frequency      *float64
	topK                     *int
	logitBias                map[int32]float32
	logprobs, promptLogprobs bool
	topLogprobs              int
	keepPrompt               bool   // echo
	promptParam              string // how this route spells it, for errors

	resumes *resumption // nil for a request of its own
}

// continuations returns how many are computed.
func (p *params) continuations() int { return max(p.n, p.bestOf) * max(1, p.several) }

// readParams reads the shared fields of a request into p.
func (p *params) read(f *fields) {
	p.model = f.string("model")
	if f.err == nil && p.model == "" {
		f.fail("model", "is missing: name a model of /v1/models, or \"tandem\" for the chosen one.")
	}
	p.stream = f.bool("stream")
	if o := f.object("stream_options"); o != nil {
		p.includeUsage = o.bool("include_usage")
		f.take(o)
	}
	p.n = 1
	if n := f.int("n", 1, maxN); n != nil {
		p.n = *n
	}
	p.readSampling(f, "repetition_penalty")
	p.logitBias = readLogitBias(f)
	p.seed = readSeed(f, "seed")
	p.stop = readStop(f, "stop")
	p.ignoreEOS = f.bool("ignore_eos")
	p.returnTokenIDs = f.bool("return_token_ids")
	p.returnDrafts = f.bool("return_draft_info")
	p.speculation = readSpeculation(f)
	p.grammar, p.grammarParam = readResponseFormat(f), "response_format"
}

// readSampling reads how to draw; key is what the protocol calls the repetition penalty.
func (p *params) readSampling(f *fields, key string) {
	p.temperature = f.number("temperature", 0, math.MaxFloat64)
	p.topP = f.number("top_p", 0, 1)
	p.minP = f.number("min_p", 0, 1)
	p.topK = f.int("top_k", -1, math.MaxInt32)
	p.presence = f.number("presence_penalty", -math.MaxFloat32, math.MaxFloat32)
	p.frequency = f.number("frequency_penalty", -math.MaxFloat32, math.MaxFloat32)
	p.repetition = f.number(key, 0, math.MaxFloat64)
	if p.repetition != nil && *p.repetition == 0 {
		f.fail(key, "must be above 0 (1 = off).")
	}
}

func readSeed(f *fields, key string) *uint64 {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	if x, err := strconv.ParseUint(string(v), 10, 64); err == nil {
		return &x
	}
	x, ok := wholeNumber(v)
	if !ok {
		f.fail(key, "must be a whole number.")
		return nil
	}
	return new(uint64(x))
}

func readStop(f *fields, key string) []string {
	// An empty stop text comes from forms left blank; it stops nothing.
	stop := slices.DeleteFunc(f.strings(key), func(s string) bool { return s == "" })
	if len(stop) > engine.MaxStops {
		f.fail(key, "may hold %d texts, not %d.", engine.MaxStops, len(stop))
	}
	for _, s := range stop {
		if n := utf8.RuneCountInString(s); n > engine.MaxStopLength {
			f.fail(key, "holds a text of %d characters; %d are allowed.", n, engine.MaxStopLength)
		}
	}
	return stop
}

func readLogitBias(f *fields) map[int32]float32 {
	o := f.object("logit_bias")
	if o == nil || len(o.values) == 0 {
		return nil
	}
	bias := make(map[int32]float32, len(o.values))
	for key := range o.values {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 {
			f.fail("logit_bias", "must map token ids to numbers; %q is no token id.", clip(key))
			return nil
		}
		if x := o.number(key, -100, 100); x != nil {
			bias[int32(id)] = float32(*x)
		}
	}
	f.take(o)
	return bias
}

// speculationKeys are all that a request can say of speculation. The protocol
// is ours, so that another name is a mistake.
var speculationKeys = []string{"drafter", "depth", "rollback", "rule", "exact"}

// readSpeculation reads how to decode. Whether the model has the drafter is for
// the engine to say. A request that says anything chooses for itself, whatever
// the default is.
func readSpeculation(f *fields) (r engine.Speculation) {
	o := f.object("speculation")
	if o == nil {
		return r
	}
	oneOf := func(key string, known ...string) string {
		v := o.string(key)
		if o.err == nil && v != "" && !slices.Contains(known, v) {
			o.fail(key, "is one of %q, not %q.", control.Words(known), clip(v))
		}
		return v
	}
	r.Drafter = oneOf("drafter", control.Drafters...)
	r.Rollback = engine.Rollback(oneOf("rollback", control.Rollbacks...))
	r.Rule = engine.Rule(oneOf("rule", control.Rules...))
	r.Depth = o.int("depth", 0, control.MaxDepth)
	r.Exact = o.bool("exact")
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		if !slices.Contains(speculationKeys, key) {
			f.fail("speculation", "has no %q; it takes %s.", clip(key), control.Word(strings.Join(speculationKeys, ", ")))
		}
	}
	f.take(o)
	r.Drafter = cmp.Or(r.Drafter, engine.Auto)
	return r
}

// request fills an engine.Request for one prompt; d fills what the client left open.
func (p *params) request(prompt []int32, d model.Defaults, index int) engine.Request {
	r := engine.Request{
		Prompt:         prompt,
		MaxTokens:      p.maxTokens,
		Stop:           p.stop,
		IgnoreEOS:      p.ignoreEOS,
		Speculation:    p.speculation,
		Logprobs:       p.logprobs,
		TopLogprobs:    p.topLogprobs,
		PromptLogprobs: p.promptLogprobs,
	}
	if p.seed != nil {
		r.Seed = new(*p.seed + uint64(index))
	}
	s := &r.Sampling
	s.Temperature = first(1, p.temperature, d.Temperature)
	s.TopK = max(0, first(0, p.topK, d.TopK)) // -1 = off, as in vLLM
	s.TopP = first(1, p.topP, d.TopP)
	if s.TopP == 0 {
		s.TopP = math.SmallestNonzeroFloat32 // the engine's 0 is off; the client's means the likeliest only
	}
	s.MinP = first(0, p.minP, d.MinP)
	s.RepetitionPenalty = first(1, p.repetition, d.RepetitionPenalty)
	s.PresencePenalty = first(0, p.presence)
	s.FrequencyPenalty = first(0, p.frequency)
	s.LogitBias = p.logitBias
	return r
}

// first returns the first value that is set, or otherwise.
func first[T any](otherwise T, values ...*T) T {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}

// tokenIDs reads a list of token ids below vocab, also of such that a client wrote as 16.0.
func tokenIDs(v json.RawMessage, vocab int, param string) ([]int32, error) {
	var list []*float64 // so that a null is no 0
	err := json.Unmarshal(v, &list)
	if err != nil || slices.ContainsFunc(list, func(id *float64) bool { return id == nil || *id != math.Trunc(*id) || math.Abs(*id) > math.MaxInt32 }) {
		return nil, invalid(param, "%s must be a list of token ids.", param)
	}
	ids := make([]int32, len(list))
	for i, id := range list {
		if ids[i] = int32(*id); ids[i] < 0 || int(ids[i]) >= vocab {
			return nil, invalid(param, "%s holds token id %d; the model's ids are below %d.", param, ids[i], vocab)
		}
	}
	return ids, nil
}
